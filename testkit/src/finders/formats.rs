//! Formats of `-printf`, composed of every directive, flag, width and escape.

use super::case::Word;
use crate::prng::Prng;

/// Directives of one letter.
pub const DIRECTIVES: &[&str] = &[
    "a", "b", "c", "d", "D", "f", "F", "g", "G", "h", "H", "i", "k", "l", "m", "M", "n", "p", "P",
    "s", "S", "t", "u", "U", "y", "Y", "Z",
];
/// Time directives, which take a second letter.
pub const TIMES: &[&str] = &["A", "C", "T"];
/// Second letters of time directives.
pub const TIME_PARTS: &[&str] = &[
    "@", "H", "I", "k", "l", "M", "p", "r", "S", "T", "+", "X", "Z", "a", "A", "b", "B", "c", "d",
    "D", "h", "j", "m", "U", "w", "W", "x", "y", "Y", "F", "s", "G", "g", "V", "u", "e", "n", "t",
    "R",
];
const FLAGS: &[&str] = &["", "", "", "", "-", "0", "+", " ", "#", "-0", "+-", "# "];
const WIDTHS: &[&str] = &["", "", "", "1", "5", "12", "20", ".3", "8.2", ".0", "."];
const LITERALS: &[&str] = &[
    "x",
    " ",
    "%%",
    "\\t",
    "\\101",
    "\\\\",
    "é",
    "|",
    "\\a",
    "\\q",
    "{}",
    "\\x",
    "\\7",
    "\\b",
    "\\f\\v\\r",
];

/// The endings of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// `\n`
    Newline,
    /// `\0`
    Zero,
}

/// Draws a format; `knows` tells whether a directive, such as `%p`, may be used.
pub fn draw(prng: &mut Prng, ending: Ending, knows: &impl Fn(&str) -> bool) -> Word {
    let mut text = String::new();
    for _ in 0..1 + prng.below(4) {
        if prng.once_in(4) {
            text += prng.word(LITERALS);
        }
        text += &directive(prng, knows);
        // Separated, so that one directive's digits are not taken for the next one's.
        text += prng.word(&["|", " ", ":", "/"]);
    }
    text += match ending {
        Ending::Newline => "\\n",
        Ending::Zero => "\\0",
    };
    if prng.once_in(40) {
        text += "\\cnever";
    }
    text.into_bytes()
}

fn directive(prng: &mut Prng, knows: &impl Fn(&str) -> bool) -> String {
    let (flag, width) = (prng.word(FLAGS), prng.word(WIDTHS));
    if prng.once_in(4) {
        let (time, part) = (prng.word(TIMES), prng.word(TIME_PARTS));
        return format!("%{flag}{width}{time}{part}");
    }
    let letter = prng.word(DIRECTIVES);
    if !knows(&format!("%{letter}")) {
        return "%p".into();
    }
    format!("%{flag}{width}{letter}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_end_as_asked_and_leave_out_what_is_unknown() {
        let mut prng = Prng::new(1);
        for _ in 0..300 {
            let format = draw(&mut prng, Ending::Zero, &|name| name == "%s");
            let text = String::from_utf8(format).expect("text");
            assert!(text.contains("\\0") && !text.contains("%f"), "{text}");
        }
    }
}
