//! GNU find as an oracle, on random trees and random patterns.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use trawl_call::options::Flags;
use trawl_call::{LiveWalk, Outcome, Record};
use trawl_testkit::oracle::Identity;
use trawl_testkit::prng::Prng;

use super::support::{OTHER, as_other, random};

/// Returns a pattern of fnmatch mode, and the regular expression that matches the same whole paths.
fn a_pattern(prng: &mut Prng) -> (String, String) {
    const PARTS: &[(&str, &str)] = &[
        ("a", "a"),
        ("b", "b"),
        ("*", "[^/]*"),
        ("?", "[^/]"),
        ("[ab]", "[ab]"),
        ("[!a]", "[^/a]"),
        (".", "\\."),
        ("\\*", "\\*"),
    ];
    let (mut pattern, mut regex) = (String::new(), String::new());
    for alternative in 0..1 + prng.below(2) {
        if alternative > 0 {
            pattern.push('|');
            regex.push('|');
        }
        if prng.below(2) == 0 {
            pattern.push('/');
        } else {
            regex.push_str("(.*/)?");
        }
        for component in 0..1 + prng.below(3) {
            if component > 0 {
                pattern.push('/');
                regex.push('/');
            }
            // Never only a period: no entry has that name.
            let (part, same) = PARTS[prng.below(5) as usize];
            pattern.push_str(part);
            regex.push_str(same);
            for _ in 0..prng.below(3) {
                let (part, same) = PARTS[prng.below(PARTS.len() as u64) as usize];
                pattern.push_str(part);
                regex.push_str(same);
            }
        }
    }
    (pattern, regex)
}

/// Returns the paths that find prints, in its order.
fn found(top: &Path, regex: &str, who: &Identity) -> Vec<Vec<u8>> {
    let top = top.to_str().unwrap();
    let whole = format!("{top}/({regex})");
    let words = [
        top,
        "-mindepth",
        "1",
        "-regextype",
        "posix-extended",
        "-regex",
        &whole,
        "-printf",
        "%P\\0",
    ];
    let ran = trawl_testkit::oracle::run(who.command("find").env("LC_ALL", "C").args(words));
    paths(&ran.stdout)
}

fn paths(output: &[u8]) -> Vec<Vec<u8>> {
    let paths = output.split(|byte| *byte == 0);
    let paths = paths.filter(|path| !path.is_empty());
    paths.map(<[u8]>::to_vec).collect()
}

/// Returns whether the user may not list the entry's directory, so that find cannot see the entry.
fn is_hidden(top: &Path, path: &[u8]) -> bool {
    let path = top.join(std::ffi::OsStr::from_bytes(path));
    let dir = path.parent().unwrap();
    path.symlink_metadata().is_ok() && std::fs::read_dir(dir).is_err()
}

/// Returns the first three paths that only the first list has.
fn others(these: &[Vec<u8>], those: &[Vec<u8>]) -> Vec<String> {
    let only = these.iter().filter(|path| !those.contains(path));
    let shown = only.map(|path| path.escape_ascii().to_string());
    shown.take(3).collect()
}

fn compare(top: &Path, seed: u64, who: &Identity) {
    let mut prng = Prng::new(seed);
    let mut matched = 0;
    for _ in 0..60 {
        let (pattern, regex) = a_pattern(&mut prng);
        let search = || {
            let request = super::support::request(&pattern, Flags::FNMATCH, &[top]);
            let records = super::support::records(&LiveWalk::default(), request);
            // find reports unreadable directories on standard error.
            let is_match = |record: &Record| matches!(record.outcome, Outcome::Match(_));
            let matches = records
                .into_iter()
                .filter(is_match)
                .map(|record| record.path);
            let (hidden, told): (Vec<_>, Vec<_>) = matches.partition(|path| is_hidden(top, path));
            (hidden, told)
        };
        let (hidden, mut ours) = match who {
            Identity::Ourselves => search(),
            Identity::Other { .. } => as_other(search),
        };
        let mut theirs = found(top, &regex, who);
        // Names found by lookup, where the pattern left no choice of names.
        assert!(hidden.iter().all(|path| !theirs.contains(path)));
        matched += theirs.len();
        ours.sort();
        theirs.sort();
        assert!(
            ours == theirs,
            "{pattern}: only we {:?}, only find {:?}",
            others(&ours, &theirs),
            others(&theirs, &ours)
        );
    }
    assert!(matched > 0, "nothing was tested");
}

#[test]
fn find_says_the_same() {
    for seed in 0..4 {
        let scratch = random(seed, 400);
        compare(&scratch.join("tree"), seed + 100, &Identity::Ourselves);
    }
}

#[test]
fn find_says_the_same_to_another_user() {
    if let Some(skip) = trawl_testkit::skip::without_root("find as another user") {
        return skip.say();
    }
    for seed in 10..13 {
        let scratch = random(seed, 400);
        compare(&scratch.join("tree"), seed + 100, &Identity::user(OTHER));
    }
}

/// Compares names and depths, expressed with find's own tests.
#[test]
fn find_says_the_same_in_other_words() {
    let scratch = random(77, 400);
    let (top, mut matched) = (scratch.join("tree"), 0);
    for (pattern, words) in [
        ("*a*", "-name *a*"),
        ("/*", "-maxdepth 1 -mindepth 1"),
        ("/*/*", "-mindepth 2 -maxdepth 2"),
        ("/*/*b*", "-mindepth 2 -maxdepth 2 -name *b*"),
        ("*.?|b*", "-mindepth 1 ( -name *.? -o -name b* )"),
    ] {
        let mut command = trawl_testkit::oracle::command("find");
        command.env("LC_ALL", "C");
        command.arg(&top).args(words.split(' ')).arg("-print0");
        let ran = trawl_testkit::oracle::run(&mut command);
        let mut theirs = paths(&ran.stdout);
        let flags = Flags::FNMATCH | Flags::INCLUDEROOT;
        let request = super::support::request(pattern, flags, &[&top]);
        let answer = super::support::records(&LiveWalk::default(), request);
        let mut ours: Vec<Vec<u8>> = answer.into_iter().map(|record| record.path).collect();
        ours.sort();
        theirs.sort();
        assert!(ours == theirs, "{pattern}");
        matched += ours.len();
    }
    assert!(matched > 50, "little was tested");
}
