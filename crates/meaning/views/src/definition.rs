//! A named question, and its line in a file of definitions:
//!
//! ```text
//! big-logs = /srv -name *.log -size +1M
//! ```
//!
//! Words are separated by spaces. Spaces, percent signs, control characters and bytes above 127 in
//! words are written as `%` and two hexadecimal digits; `%` alone is the empty word. Lines that are
//! empty or begin with `#` mean nothing.

use crate::by_group::BY_GROUP;
use crate::error::ViewError;
use crate::question::Question;

/// Longest name in bytes.
const NAME_BYTES_MAX: usize = 200;
/// Names that are kept for directories of another kind.
const RESERVED: &[&str] = &[BY_GROUP];

/// A named question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The name.
    pub name: String,
    /// The question.
    pub question: Question,
}

impl View {
    /// Makes a view.
    ///
    /// # Errors
    /// If the name cannot be one, or no start point is named.
    pub fn new(name: &str, question: Question) -> Result<View, ViewError> {
        check_name(name)?;
        if question.starts.is_empty() {
            let why = "name the directory that the view searches, before the expression";
            return Err(ViewError::Question(why.into()));
        }
        Ok(View {
            name: name.into(),
            question,
        })
    }

    /// Returns the line that defines it, without a newline.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{} = {}", self.name, self.question.line())
    }

    /// Reads a line; `None` if it defines nothing.
    ///
    /// # Errors
    /// If the line is malformed, or the question does more than test entries.
    pub fn from_line(line: &str) -> Result<Option<View>, ViewError> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(None);
        }
        let malformed = || ViewError::Question("a line must be NAME = WORD ...".into());
        let (name, words) = line.split_once('=').ok_or_else(malformed)?;
        let words: Option<Vec<Vec<u8>>> = words.split_whitespace().map(unescaped).collect();
        let words = words.ok_or_else(malformed)?;
        let question = Question::from_definition(&words)?;
        View::new(name.trim(), question).map(Some)
    }
}

/// Checks that a view may have this name.
///
/// # Errors
/// With the reason.
pub fn check_name(name: &str) -> Result<(), ViewError> {
    let is_odd =
        |letter: char| letter.is_whitespace() || letter.is_control() || "/=".contains(letter);
    let why = match name {
        "" => "it is empty",
        _ if name.len() > NAME_BYTES_MAX => "it is longer than 200 bytes",
        _ if name.starts_with(['.', '?', '-', '%', '#']) => "it begins with a special character",
        _ if name.ends_with('~') => "it ends with ~, as backup files do",
        _ if name.contains(is_odd) => "it contains a slash, a space or an equals sign",
        _ if RESERVED.contains(&name) => "it is reserved",
        _ => return Ok(()),
    };
    Err(ViewError::Name {
        name: name.as_bytes().to_vec(),
        why,
    })
}

pub(crate) fn escaped(word: &[u8]) -> String {
    if word.is_empty() {
        return "%".into();
    }
    let mut text = String::with_capacity(word.len());
    for byte in word {
        match byte {
            b'!'..=b'~' if *byte != b'%' => text.push(char::from(*byte)),
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

fn unescaped(word: &str) -> Option<Vec<u8>> {
    if word == "%" {
        return Some(Vec::new());
    }
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, after) = after.split_at_checked(2)?;
        let is_hexadecimal = digits.iter().all(u8::is_ascii_hexdigit);
        let text = std::str::from_utf8(digits)
            .ok()
            .filter(|_| is_hexadecimal)?;
        bytes.push(u8::from_str_radix(text, 16).ok()?);
        rest = after;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_are_readable() {
        let view = View::from_line(" big-logs = /srv -name *.log -size +1M ")
            .unwrap()
            .unwrap();
        assert_eq!(view.name, "big-logs");
        assert_eq!(view.line(), "big-logs = /srv -name *.log -size +1M");
        assert_eq!(View::from_line("# a remark").unwrap(), None);
        assert_eq!(View::from_line("").unwrap(), None);
    }

    #[test]
    fn lines_that_act_or_name_no_place_are_refused() {
        for line in [
            "x",
            "x = ",
            "x = -name a",
            "x = srv -name a",
            "x = /srv -delete",
            "x = /srv -name %",
            "a b = /srv",
            "x = /srv -name %0",
            "x = /srv -name %00",
        ] {
            let read = View::from_line(line);
            let is_empty_pattern = line.ends_with(" %");
            assert_eq!(read.is_ok(), is_empty_pattern, "{line}: {read:?}");
        }
    }

    #[test]
    fn odd_names_are_refused() {
        for name in [
            "", ".", "..", ".x", "?x", "-x", "%x", "a/b", "a b", "a=b", "a\n", "a~", "by-group",
        ] {
            assert!(check_name(name).is_err(), "{name}");
        }
        assert!(check_name("größte.dateien-1").is_ok());
    }

    proptest! {
        #[test]
        fn words_survive(word in proptest::collection::vec(1..=255_u8, 0..20)) {
            let expression = vec![b"-name".to_vec(), word];
            let question = Question { starts: vec![b"/srv".to_vec()], expression };
            let view = View::new("x", question).unwrap();
            prop_assert_eq!(View::from_line(&view.line()).unwrap().unwrap(), view);
        }
    }
}
