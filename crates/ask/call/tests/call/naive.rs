//! Naive matching: parses the pattern anew for each path and tries every possibility. It shares no
//! code with the library, and implements both modes and the rule for periods.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use trawl_call::options::Flags;
use trawl_call::{LiveWalk, Mode, Outcome, Period};
use trawl_testkit::prng::Prng;

use super::support::{random, records, request};

/// A piece of a component.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Byte(u8),
    Run,
    Mark,
    Set { is_not: bool, bytes: Vec<u8> },
}

/// Returns whether a path below the searched directory matches; the empty path is that directory
/// itself.
pub(crate) fn matches(text: &str, path: &str, mode: Mode, period: Period) -> bool {
    alternatives(text, mode).iter().any(|(is_anchored, parts)| {
        let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        let fits = match is_anchored {
            true => names.len() == parts.len(),
            false => names.len() >= parts.len() && !names.is_empty(),
        };
        let last = names.iter().rev().zip(parts.iter().rev());
        let mut last = last.map(|(name, part)| name_matches(part, name.as_bytes(), mode, period));
        fits && last.all(|is_match| is_match)
    })
}

fn alternatives(text: &str, mode: Mode) -> Vec<(bool, Vec<Vec<Piece>>)> {
    let mut bytes = text.bytes().peekable();
    let mut all = vec![(bytes.peek() == Some(&b'/'), vec![vec![]])];
    while let Some(byte) = bytes.next() {
        let (_, parts) = all.last_mut().unwrap();
        let part: &mut Vec<Piece> = parts.last_mut().unwrap();
        match byte {
            b'|' => all.push((bytes.peek() == Some(&b'/'), vec![vec![]])),
            b'/' if part.is_empty() => {}
            b'/' => parts.push(vec![]),
            b'*' => part.push(Piece::Run),
            b'?' => part.push(Piece::Mark),
            b'\\' => part.push(Piece::Byte(bytes.next().unwrap())),
            // The sets in these tests are closed and contain no `]`.
            b'[' if mode == Mode::Fnmatch => {
                let is_not = bytes.next_if_eq(&b'!').is_some();
                let set = bytes.by_ref().take_while(|byte| *byte != b']').collect();
                part.push(Piece::Set { is_not, bytes: set });
            }
            byte => part.push(Piece::Byte(byte)),
        }
    }
    for (is_anchored, parts) in &mut all {
        parts.retain(|part| !part.is_empty());
        match &parts[..] {
            // A slash alone: every entry of the searched directory.
            [] if *is_anchored => parts.push(vec![Piece::Run]),
            // The searched directory itself.
            [part] if *is_anchored && matches!(part[..], [Piece::Byte(b'.')]) => parts.clear(),
            _ => {}
        }
    }
    all
}

fn name_matches(part: &[Piece], name: &[u8], mode: Mode, period: Period) -> bool {
    let is_hidden = period == Period::Explicit && name.first() == Some(&b'.');
    (!is_hidden || part.first() == Some(&Piece::Byte(b'.'))) && rest_matches(part, name, mode)
}

fn rest_matches(part: &[Piece], name: &[u8], mode: Mode) -> bool {
    let Some((piece, rest)) = part.split_first() else {
        return name.is_empty();
    };
    let one = |fits: &dyn Fn(u8) -> bool| {
        let first = name.first().is_some_and(|byte| fits(*byte));
        first && rest_matches(rest, &name[1..], mode)
    };
    match piece {
        Piece::Byte(byte) => one(&|given| given == *byte),
        Piece::Set { is_not, bytes } => one(&|given| bytes.contains(&given) != *is_not),
        Piece::Mark if mode == Mode::Fnmatch => one(&|_| true),
        Piece::Mark => one(&|_| true) || rest_matches(rest, name, mode),
        Piece::Run => {
            rest_matches(rest, name, mode)
                || !name.is_empty() && rest_matches(part, &name[1..], mode)
        }
    }
}

/// Returns the language that the flags select.
pub(crate) fn language(flags: u32) -> (Mode, Period) {
    let (language, _) = Flags(flags).read().unwrap();
    (language.mode, language.period)
}

fn a_pattern(prng: &mut Prng) -> String {
    const PARTS: &[&str] = &["a", "b", "*", "?", ".", "[ab]", "[!a]", "\\*", "c", "0"];
    let mut pattern = String::new();
    for alternative in 0..1 + prng.below(3) {
        pattern.push_str(if alternative > 0 { "|" } else { "" });
        pattern.push_str(["", "/"][prng.below(2) as usize]);
        for component in 0..1 + prng.below(3) {
            pattern.push_str(if component > 0 { "/" } else { "" });
            // Never only a period: no entry has that name.
            pattern.push_str(PARTS[prng.below(4) as usize]);
            for _ in 0..prng.below(4) {
                pattern.push_str(PARTS[prng.below(PARTS.len() as u64) as usize]);
            }
        }
    }
    pattern
}

fn paths_below(top: &Path, at: &Path, into: &mut Vec<String>) {
    for entry in std::fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        let below = path.strip_prefix(top).unwrap();
        into.push(below.as_os_str().as_bytes().escape_ascii().to_string());
        if path.symlink_metadata().unwrap().is_dir() {
            paths_below(top, &path, into);
        }
    }
}

/// Compares whole answers in both modes, with and without the rule for periods. Names that are not
/// plain text are left out on both sides.
#[test]
fn naive_matching_says_the_same() {
    let mut matched = [0; 4];
    for seed in 20..23 {
        let scratch = random(seed, 300);
        let top = scratch.join("tree");
        super::support::make(&top, &[".a/b", ".a/.b", "a/.c", "a*/b?", "a0", "a01"]);
        let mut all = Vec::new();
        paths_below(&top, &top, &mut all);
        all.retain(|path| !path.contains('\\'));
        let mut prng = Prng::new(seed);
        for round in 0..80 {
            let pattern = a_pattern(&mut prng);
            let flags = [
                0,
                Flags::FNMATCH,
                Flags::PERIOD,
                Flags::FNMATCH | Flags::PERIOD,
            ];
            let flags = flags[round % 4];
            let (mode, period) = language(flags);
            let answer = records(&LiveWalk::default(), request(&pattern, flags, &[&top]));
            let ours = answer
                .iter()
                .filter(|record| matches!(record.outcome, Outcome::Match(_)));
            let mut ours: Vec<String> = ours
                .map(|record| record.path.escape_ascii().to_string())
                .collect();
            ours.retain(|path| !path.contains('\\'));
            let mut theirs = all.clone();
            theirs.retain(|path| matches(&pattern, path, mode, period));
            ours.sort();
            theirs.sort();
            assert_eq!(ours, theirs, "{pattern} {flags:#x}");
            matched[round % 4] += ours.len();
        }
    }
    assert!(matched.iter().all(|count| *count > 50), "{matched:?}");
}
