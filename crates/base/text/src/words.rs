//! Words of messages: paths, causes, counts and issues, as every command shows them.

use std::fmt::Write as _;
use std::io;

use trawl_model::Issue;
use trawl_model::mapped::theirs;

use crate::locale::Locale;
use crate::quote::message;

/// Returns a path as messages show it: escaped, `/` for the root.
pub fn shown(path: &[u8]) -> String {
    without_controls(&trawl_model::escape::escape(trawl_model::path::display(
        path,
    )))
}

/// Returns a path in quotes, for messages like those of the GNU tools.
pub fn quoted(path: &[u8]) -> String {
    message(path, Locale::from_env())
}

/// Escapes control characters as `\n` or `\u{1b}`, so that a path cannot move a terminal's cursor.
fn without_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
    out
}

/// Returns the system's error text in lower case, without the error number.
pub fn cause(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => "unknown error".into(),
    }
}

/// Formats a number with its digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a count with its noun: `1 issue`, `2 issues`.
pub fn counted(number: u64, noun: &str) -> String {
    let plural = match (number, noun.strip_suffix('y')) {
        (1, _) => noun.to_owned(),
        (_, Some(stem)) => format!("{stem}ies"),
        (_, None) => format!("{noun}s"),
    };
    format!("{} {plural}", grouped(number))
}

/// Returns the operation of an issue, its path as the asker calls it, and its error.
pub fn described(issue: &Issue) -> String {
    let mut line = format!("{} {}", issue.op, shown(&theirs(&issue.path)));
    if issue.errno.0 != 0 {
        let text = io::Error::from_raw_os_error(issue.errno.0).to_string();
        let text = text.split(" (os error").next().unwrap_or(&text);
        let _ = write!(line, ": {}", text.to_lowercase());
    }
    if !issue.detail.is_empty() {
        let _ = write!(line, ": {}", issue.detail);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_harmless() {
        assert_eq!(shown(b""), "/");
        assert_eq!(shown(b"/a\x1b[m\n"), "/a\\u{1b}[m\\n");
        assert_eq!(shown(b"/\xff"), "/\\xff");
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(counted(1, "issue"), "1 issue");
        assert_eq!(counted(1000, "directory"), "1,000 directories");
    }

    #[test]
    fn causes_are_lower_case() {
        let full = io::Error::from_raw_os_error(28);
        assert_eq!(cause(&full), "no space left on device");
    }
}
