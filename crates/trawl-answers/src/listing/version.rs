//! The order of `ls -v`: runs of digits compare as numbers, and a suffix such as `.tar.gz` counts
//! only if everything else is equal.
//!
//! Source: coreutils manual, "Version sort ordering".

use std::cmp::Ordering;

/// Compares two names.
pub(super) fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let dots = rank(a).cmp(&rank(b));
    if dots != Ordering::Equal || rank(a) < 3 {
        return dots;
    }
    let (a_stem, b_stem) = (stem(a), stem(b));
    compare_parts(a_stem, b_stem).then_with(|| compare_parts(a, b))
}

/// Returns the rank of special names, which come first: the empty name, `.`, `..`, other names with
/// a leading dot.
fn rank(name: &[u8]) -> u8 {
    match name {
        b"" => 0,
        b"." => 1,
        b".." => 2,
        [b'.', ..] => 3,
        _ => 4,
    }
}

/// Returns the name without its suffixes; a suffix is a dot, a letter or `~`, and then letters,
/// digits or `~`. The stem of `.a` is empty.
fn stem(name: &[u8]) -> &[u8] {
    let (mut at, mut length) = (0, 0);
    loop {
        let begins = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_alphabetic() || *b == b'~');
        while name.get(at) == Some(&b'.') && begins(name.get(at + 1)) {
            at += 2;
            let goes_on = |b: &&u8| b.is_ascii_alphanumeric() || **b == b'~';
            at += name.iter().skip(at).take_while(goes_on).count();
        }
        if at >= name.len() {
            break;
        }
        at += 1;
        length = at;
    }
    &name[..length]
}

/// Compares runs of text and numbers alternately.
fn compare_parts(a: &[u8], b: &[u8]) -> Ordering {
    let (mut a, mut b) = (a, b);
    while !a.is_empty() || !b.is_empty() {
        let is_text = |rest: &[u8]| rest.first().is_some_and(|b| !b.is_ascii_digit());
        while is_text(a) || is_text(b) {
            match weight(a).cmp(&weight(b)) {
                Ordering::Equal => {}
                unequal => return unequal,
            }
            (a, b) = (after(a, 1), after(b, 1));
        }
        let (a_number, b_number) = (number(a), number(b));
        let by_number = a_number.1.len().cmp(&b_number.1.len());
        let by_number = by_number.then_with(|| a_number.1.cmp(b_number.1));
        if by_number != Ordering::Equal {
            return by_number;
        }
        (a, b) = (after(a, a_number.0), after(b, b_number.0));
    }
    Ordering::Equal
}

fn after(text: &[u8], count: usize) -> &[u8] {
    text.get(count..).unwrap_or_default()
}

/// Returns the number of digits, and the digits without leading zeros.
fn number(text: &[u8]) -> (usize, &[u8]) {
    let length = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let zeros = text.iter().take_while(|b| **b == b'0').count();
    (length, &text[zeros..length])
}

/// Returns the weight of the next character: `~` comes before the end, then the end, then digits,
/// letters, and everything else.
fn weight(text: &[u8]) -> i32 {
    match text.first() {
        None => -1,
        Some(b'~') => -2,
        Some(byte) if byte.is_ascii_digit() => 0,
        Some(byte) if byte.is_ascii_alphabetic() => i32::from(*byte),
        Some(byte) => i32::from(*byte) + 256,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// sort(1) has the same order.
    #[test]
    fn agrees_with_sort() {
        use std::io::Write;
        let names = [
            ".",
            "..",
            ".0",
            ".a",
            ".a1",
            ".a10",
            ".a9",
            "a",
            "a~",
            "a.b~",
            "a1",
            "a1.tar.gz",
            "a1a.tar",
            "a2.c",
            "a02",
            "a10",
            "b",
            "b-1",
            "b.1",
            "ba",
            "1",
            "01",
            "001",
            "1.",
            "1.~",
            "1.2.3",
            "1.10",
            "_x",
            "Z9",
            "Z10",
            "a.1b",
            "a.b1",
            "a..b",
            "a.b.c",
            "..x",
            "..x.y",
            "...a",
            ".h",
            ".x.y",
            ".x.y~",
            "..",
            ".~",
            ".1.~",
            "\u{e9}1",
        ];
        let mut child = trawl_testkit::oracle::command("sort")
            .arg("-V")
            .env("LC_ALL", "C")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("sort(1) is part of every system");
        let mut input = child.stdin.take().expect("a pipe");
        writeln!(input, "{}", names.join("\n")).unwrap();
        drop(input);
        let theirs = child.wait_with_output().unwrap().stdout;
        let mut ours = names;
        ours.sort_by(|a, b| compare(a.as_bytes(), b.as_bytes()).then_with(|| a.cmp(b)));
        assert_eq!(ours.join("\n") + "\n", String::from_utf8(theirs).unwrap());
    }
}
