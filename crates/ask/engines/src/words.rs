//! The words of a query, split as a shell splits them.

use crate::error::EngineError;

/// Splits a text at blanks. `'…'` and `"…"` join; in double quotes and outside of quotes, a
/// backslash takes the next byte literally (in double quotes only before `"` and `\`). Nothing else
/// has a meaning: no variable, no wildcard, no command.
///
/// # Errors
/// [`EngineError::Quote`].
pub(crate) fn split(text: &[u8]) -> Result<Vec<Vec<u8>>, EngineError> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote: Option<u8> = None;
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (Some(open), byte) if byte == open => quote = None,
            (Some(b'"'), b'\\') if matches!(bytes.peek(), Some(b'"' | b'\\')) => {
                word.get_or_insert_default().extend(bytes.next());
            }
            (None, b'\'' | b'"') => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (None, b'\\') => {
                let next = bytes.next().unwrap_or(b'\\');
                word.get_or_insert_default().push(next);
            }
            (None, b' ' | b'\t' | b'\n') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    match quote {
        Some(open) => Err(EngineError::Quote(char::from(open))),
        None => {
            words.extend(word);
            Ok(words)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        for text in [
            r#"-name "*.c" -size +1M"#,
            r"\( -name 'a b' -o -name a\ b \)",
            r#"-name "a\"b\\c\d" '' x''y"#,
            "  -type\tf\n",
        ] {
            // `set -f` takes the meaning of wildcards away.
            let script = format!("set -f; printf '%s\\0' {}", text.replace('\n', " "));
            let mut shell = trawl_testkit::oracle::command("sh");
            shell.arg("-c").arg(script);
            let mut shell = shell.output().unwrap().stdout;
            shell.pop();
            let expected: Vec<Vec<u8>> =
                shell.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
            assert_eq!(split(text.as_bytes()).unwrap(), expected, "{text}");
        }
        assert!(matches!(split(b"-name 'x"), Err(EngineError::Quote('\''))));
        assert_eq!(split(b" ").unwrap(), Vec::<Vec<u8>>::new());
    }
}
