//! Compares two outputs line by line and shows where they differ, with every odd byte visible.

use std::fmt::Write as _;

/// Whether the order of lines matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Same lines in the same order.
    Exact,
    /// Same lines, equally often; both sides are sorted first.
    Any,
}

/// The byte that ends a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// A newline.
    Newline,
    /// A zero byte, as `-print0` writes.
    Zero,
}

/// Maximum number of differing lines shown per side.
const SHOWN_LINES: usize = 20;

/// Splits at each ending; text after the last one is a line, too.
pub fn split(output: &[u8], ending: Ending) -> Vec<&[u8]> {
    let byte = match ending {
        Ending::Newline => b'\n',
        Ending::Zero => 0,
    };
    let mut lines: Vec<&[u8]> = output.split(|&b| b == byte).collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
}

/// Returns a line as printable text; bytes outside plain ASCII are escaped.
pub fn visible(line: &[u8]) -> String {
    line.escape_ascii().to_string()
}

/// Returns a description of the differences for a person; `None` if there are none.
pub fn difference(expected: &[u8], actual: &[u8], order: Order, ending: Ending) -> Option<String> {
    let (mut expected, mut actual) = (split(expected, ending), split(actual, ending));
    if order == Order::Any {
        expected.sort_unstable();
        actual.sort_unstable();
    }
    if expected == actual {
        return None;
    }
    let mut text = format!("expected {} lines, got {}\n", expected.len(), actual.len());
    if order == Order::Exact {
        let same = expected
            .iter()
            .zip(&actual)
            .take_while(|(a, b)| a == b)
            .count();
        let _ = writeln!(text, "first difference in line {}:", same + 1);
        show(&mut text, "- ", expected.get(same..).unwrap_or_default());
        show(&mut text, "+ ", actual.get(same..).unwrap_or_default());
    } else {
        show(&mut text, "- ", &only_in_first(&expected, &actual));
        show(&mut text, "+ ", &only_in_first(&actual, &expected));
    }
    Some(text)
}

fn show(text: &mut String, mark: &str, lines: &[&[u8]]) {
    for line in lines.iter().take(SHOWN_LINES) {
        let _ = writeln!(text, "{mark}{}", visible(line));
    }
    if lines.len() > SHOWN_LINES {
        let _ = writeln!(text, "{mark}… and {} more", lines.len() - SHOWN_LINES);
    }
}

/// Returns lines of the first sorted list that the second lacks, counting repeats.
fn only_in_first<'a>(first: &[&'a [u8]], second: &[&[u8]]) -> Vec<&'a [u8]> {
    let mut second = second.iter().peekable();
    let mut only = Vec::new();
    for line in first {
        while second.next_if(|other| *other < line).is_some() {}
        if second.next_if(|other| *other == line).is_none() {
            only.push(*line);
        }
    }
    only
}

/// Fails the test, with the difference, unless both have the same lines.
///
/// # Panics
/// If they differ.
#[track_caller]
pub fn assert_same(what: &str, expected: &[u8], actual: &[u8], order: Order, ending: Ending) {
    if let Some(difference) = difference(expected, actual, order, ending) {
        panic!("{what}: {difference}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_matters_only_if_asked() {
        assert_eq!(
            difference(b"a\nb\n", b"b\na\n", Order::Any, Ending::Newline),
            None
        );
        let text =
            difference(b"a\nb\n", b"b\na\n", Order::Exact, Ending::Newline).expect("they differ");
        assert!(text.contains("line 1"), "{text}");
    }

    #[test]
    fn repeats_count_and_odd_bytes_show() {
        let text =
            difference(b"a\0a\0", b"a\0\xff\n\0", Order::Any, Ending::Zero).expect("they differ");
        assert_eq!(text, "expected 2 lines, got 2\n- a\n+ \\xff\\n\n");
    }

    #[test]
    fn an_empty_line_is_a_line() {
        assert_eq!(split(b"\n\n", Ending::Newline).len(), 2);
        assert_eq!(split(b"", Ending::Newline).len(), 0);
        assert_eq!(split(b"a", Ending::Newline), [b"a"]);
    }

    #[test]
    fn long_differences_are_cut() {
        let many: Vec<u8> = (0..100)
            .flat_map(|n| format!("{n}\n").into_bytes())
            .collect();
        let text = difference(&many, b"", Order::Exact, Ending::Newline).expect("they differ");
        assert!(text.contains("and 80 more"), "{text}");
    }
}
