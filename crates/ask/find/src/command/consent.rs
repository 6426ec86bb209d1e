//! The question of `-ok`, and its answer.

use std::io::{BufRead, IsTerminal};

use trawl_text::locale::Locale;
use trawl_text::quote::Terminal;

use crate::context::Context;

/// Asks on standard error whether to run the program for this path, and reads
/// the answer from a line of standard input. On a terminal, a name cannot control it: characters that
/// are not printable are shown as `?`.
pub(super) fn is_given(program: &[u8], path: &[u8], cx: &mut Context<'_>) -> bool {
    cx.flush();
    let device = match std::io::stderr().is_terminal() {
        true => Terminal::Watched(Locale::from_env()),
        false => Terminal::Absent,
    };
    let (program, path) = (device.show(program), device.show(path));
    cx.say(&[b"< ", &*program, b" ... ", &*path, b" > ? "].concat());
    let mut answer = Vec::new();
    let read = std::io::stdin().lock().read_until(b'\n', &mut answer);
    read.is_ok() && is_yes(&answer)
}

/// Like rpmatch(3) in the POSIX locale.
fn is_yes(answer: &[u8]) -> bool {
    matches!(answer.first(), Some(b'y' | b'Y'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_begin_with_a_letter() {
        for (answer, expected) in [("y\n", true), ("Yes", true), ("ja\n", false), ("", false)] {
            assert_eq!(is_yes(answer.as_bytes()), expected, "{answer}");
        }
    }
}
