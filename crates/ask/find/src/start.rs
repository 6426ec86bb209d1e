//! Spelling of start points.

/// Returns true if the spelling asks for a directory: it ends in a slash, `.`
/// or `..`.
pub fn asks_for_directory(spelled: &[u8]) -> bool {
    let last = spelled.rsplit(|byte| *byte == b'/').next();
    matches!(last.unwrap_or_default(), b"" | b"." | b"..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_or_dots_at_the_end_ask_for_a_directory() {
        for (spelled, expected) in [
            ("a/", true),
            ("a/..", true),
            (".", true),
            ("/", true),
            ("a", false),
            ("a..", false),
            (".a", false),
        ] {
            assert_eq!(
                asks_for_directory(spelled.as_bytes()),
                expected,
                "{spelled}"
            );
        }
    }
}
