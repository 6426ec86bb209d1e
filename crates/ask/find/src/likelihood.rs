//! Estimates how often a test is true, as GNU find does. Tests of the same cost
//! are ordered by this estimate, and so are the messages they cause.
//!
//! The numbers are those that GNU find 4.9 prints with `-D tree`.

use crate::age::DAY_SECS;
use crate::file_systems::FileSystems;
use crate::leaf::Leaf;
use crate::parser::Settings;
use crate::predicates::size::unit_bytes;
use trawl_model::Timestamp;

/// Returns the estimate for a leaf that was parsed from `words`, its arguments.
/// `now` is the present.
pub(crate) fn guess(
    name: &str,
    words: &[Vec<u8>],
    leaf: &dyn Leaf,
    settings: &Settings,
    now: Timestamp,
) -> f32 {
    let word = words.first().map_or(&[][..], Vec::as_slice);
    if let Some(moment) = leaf.moment() {
        let origin = settings.day_start.unwrap_or(now.minus_secs(DAY_SECS));
        return of_time(origin, moment);
    }
    match name {
        "-name" | "-iname" | "-path" | "-ipath" => of_pattern(word, b"*?["),
        "-regex" | "-iregex" => of_pattern(word, b"*?[."),
        "-lname" | "-ilname" => of_pattern(word, b"*?[") * 0.1,
        "-type" | "-xtype" => word.split(|byte| *byte == b',').map(of_type).sum(),
        "-size" => of_size(word),
        "-perm" => of_mode(word, leaf),
        "-links" => of_links(word),
        "-uid" | "-gid" => of_id(digits(word)),
        "-user" => of_id(user(word)),
        "-group" => 0.99,
        "-fstype" => of_file_system(word),
        "-readable" | "-writable" => 0.9,
        "-executable" => 0.2,
        "-empty" | "-samefile" | "-used" => 0.01,
        "-nouser" => 0.001,
        "-nogroup" => 0.0001,
        "-inum" => 1e-6,
        "-false" => 0.0,
        _ => 1.0,
    }
}

fn of_pattern(pattern: &[u8], special: &[u8]) -> f32 {
    match pattern.iter().any(|byte| special.contains(byte)) {
        true => 0.8,
        false => 0.1,
    }
}

fn of_type(letter: &[u8]) -> f32 {
    match letter {
        b"f" => 0.875,
        b"d" => 0.0922,
        b"l" => 0.0311,
        b"b" => 0.000_888,
        b"c" => 0.000_443,
        b"s" => 1.59e-5,
        b"p" => 7.554e-6,
        _ => 0.0,
    }
}

/// Most files are small; GNU find considers more than 20 KiB large.
fn of_size(number: &[u8]) -> f32 {
    let (unit, digits) = match number.split_last() {
        Some((letter, rest)) if !letter.is_ascii_digit() => (unit_bytes(*letter), rest),
        _ => (Some(512), number),
    };
    let bytes = unit
        .unwrap_or(1)
        .saturating_mul(self::digits(digits).unwrap_or(0));
    match (number.first(), bytes > 20 << 10) {
        (Some(b'+'), false) | (Some(b'-'), true) => 0.9,
        (Some(b'+'), true) | (Some(b'-'), false) => 0.1,
        _ => 0.01,
    }
}

fn of_mode(mode: &[u8], leaf: &dyn Leaf) -> f32 {
    match mode.first() {
        Some(b'/') if leaf.is_always_true() => 0.9986,
        Some(b'/') => 0.3,
        Some(b'-') => 0.2,
        _ => 0.01,
    }
}

fn of_links(number: &[u8]) -> f32 {
    match digits(number) {
        Some(1) => 0.99,
        Some(2) => 0.01,
        _ => 0.001,
    }
}

/// GNU find assumes that most files belong to the system's own users, whose IDs
/// are small.
fn of_id(id: Option<u64>) -> f32 {
    match id {
        Some(0..100) => 0.99,
        _ => 0.2,
    }
}

fn user(name: &[u8]) -> Option<u64> {
    let known = trawl_sys::identity::uid_of(name).ok().flatten();
    known.map(u64::from).or_else(|| digits(name))
}

/// Parses a number without the sign before it.
fn digits(word: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(word).ok()?;
    text.trim_start_matches(['+', '-', ' ']).parse().ok()
}

/// Returns 0 for a type that is mounted nowhere: GNU find then looks at no
/// file.
fn of_file_system(kind: &[u8]) -> f32 {
    let kind = String::from_utf8_lossy(kind);
    if kind == "unknown" || !FileSystems::default().has_kind(&kind) {
        return 0.0;
    }
    // proc(5): `nodev` precedes types that have no device.
    let kinds = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    match kinds.lines().any(|line| line.trim() == kind) {
        true => 0.7,
        false => 0.3,
    }
}

/// Depends on the days between the time and the origin of ages.
fn of_time(origin: Timestamp, moment: Timestamp) -> f32 {
    match origin.secs.saturating_sub(moment.secs) / DAY_SECS {
        ..=0 => 0.01,
        1..=100 => 0.39,
        _ => 0.3,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::expression;
    use trawl_testkit::oracle::{command, run};
    use trawl_testkit::skip;

    /// Covers every test of the list in `expr_order`, and numbers around the
    /// limits.
    #[test]
    fn guesses_are_those_of_gnu_find() {
        if let Some(skip) = skip::without_program("guesses of likelihood", "find") {
            return skip.say();
        }
        let sizes = [
            "40", "41", "20k", "21k", "20480c", "20481c", "10240w", "10241w",
        ];
        let large = ["0", "0M", "1M", "1G", "99999999999G", "40b", "41b"];
        let sizes = sizes
            .iter()
            .chain(&large)
            .flat_map(|size| ["", "+", "-"].map(|relation| format!("-size {relation}{size}")));
        let ids = ["-uid", "-gid", "-user", "-links"];
        let ids = ids
            .iter()
            .flat_map(|test| [0, 1, 2, 3, 99, 100, 101, 65_534].map(|id| format!("{test} {id}")));
        let days = ["-mtime", "-atime", "-ctime"];
        let days = days.iter().flat_map(|test| {
            [0, 1, 2, 98, 99, 100, 101, 102, 5000].map(|day| format!("{test} -{day}"))
        });
        let others = crate::expr_order::tests::TESTS.iter();
        let others = others.map(|test| (*test).to_owned());
        for words in others.chain(sizes).chain(ids).chain(days) {
            // A single test has no visible order, and GNU find omits some tests
            // from the tree.
            let mut find = command("find");
            let line = format!("-D tree /dev/null {words} -print");
            let said = run(find.args(line.split(' '))).errors();
            let tree = said.split("Optimized Eval Tree:").nth(1).expect("a tree");
            let name = words.split(' ').next().expect("a name");
            let of_it = tree
                .lines()
                .find(|line| line.contains(&format!("pred=[{name}")));
            let Some(rate) = of_it.and_then(|line| line.split("est_success_rate=").nth(1)) else {
                continue;
            };
            let rate = rate.split(' ').next().expect("a number");
            let theirs: f32 = rate.parse().expect("a number");
            let mut ours = f32::NAN;
            expression(&format!("{words} -print")).leaves(&mut |node| {
                if ours.is_nan() {
                    ours = node.likelihood();
                }
            });
            // GNU find prints four digits.
            assert!(
                (ours - theirs).abs() <= theirs * 1e-3,
                "{words}: {ours}, {theirs}"
            );
        }
    }
}
