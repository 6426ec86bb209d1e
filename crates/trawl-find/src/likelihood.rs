//! How often a test is likely to be true, as GNU find guesses it: among tests
//! that cost the same, the order goes by that, and so does what is complained of.
//!
//! The numbers are those that GNU find 4.9 prints with `-D tree`.

use crate::age::DAY_SECS;
use crate::file_systems::FileSystems;
use crate::leaf::Leaf;
use crate::parser::Settings;
use trawl_model::Timestamp;

/// The guess for a leaf that was read from `words`, its arguments. `now` is the present.
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
        "-size" => of_relation(word),
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

/// Larger than a number is likely, smaller is not, and equal is rare.
fn of_relation(number: &[u8]) -> f32 {
    match number.first() {
        Some(b'+') => 0.9,
        Some(b'-') => 0.1,
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

/// The system's own users have low numbers, and most files.
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

/// A number without what says how to compare with it.
fn digits(word: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(word).ok()?;
    text.trim_start_matches(['+', '-', ' ']).parse().ok()
}

/// 0 for what is mounted nowhere: find then asks no file.
fn of_file_system(kind: &[u8]) -> f32 {
    let kind = String::from_utf8_lossy(kind);
    if kind == "unknown" || !FileSystems::default().has_kind(&kind) {
        return 0.0;
    }
    // proc(5): `nodev` stands before kinds that lie on no device.
    let kinds = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    match kinds.lines().any(|line| line.trim() == kind) {
        true => 0.7,
        false => 0.3,
    }
}

/// By the days from a time until the day that ages are counted from.
fn of_time(origin: Timestamp, moment: Timestamp) -> f32 {
    match origin.secs.saturating_sub(moment.secs) / DAY_SECS {
        ..=0 => 0.01,
        1..=100 => 0.39,
        _ => 0.3,
    }
}
