//! The documented example, round trips, and malformed files.

use proptest::prelude::*;

use super::*;
use crate::test_profiles::any_capture;
use crate::{Resolution, Unit};

/// The example in the module's documentation.
fn example() -> String {
    let source = include_str!("mod.rs");
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    let lines = lines.skip_while(|line| line.trim() != "```json").skip(1);
    lines.take_while(|line| line.trim() != "```").collect()
}

#[test]
fn the_documented_example_is_read() {
    let capture = read(example().as_bytes()).expect("well formed");
    let whole = capture.profile.whole();
    assert!(
        matches!(whole.unit(), Unit::Cycles { frequency_hz } if frequency_hz.get() == 1_700_000_000)
    );
    assert_eq!(whole.resolution(), Resolution::ONE);
    let one = whole.get("read").expect("read");
    assert_eq!((one.buckets(), one.counts().total), (&[0, 1, 2][..], 12));
    assert_eq!(capture.profile.slices()[1].buckets("read"), [0, 0, 2]);
    let peaks = capture.correlated[0].peaks("read");
    assert_eq!(
        (peaks[0].buckets(), peaks[0].values().count(12)),
        (1..=2, 3)
    );
    // It is also what is written, but for white space.
    let compact: serde_json::Value = serde_json::from_str(&example()).expect("JSON");
    let written = write(&capture).expect("it can be written");
    let written: serde_json::Value = serde_json::from_str(&written).expect("JSON");
    assert_eq!(written, compact);
}

#[track_caller]
fn refused(from: &str, to: &str, message: &str) {
    let text = example();
    assert!(text.contains(from), "{from}");
    let error = read(text.replacen(from, to, 1).as_bytes()).expect_err("malformed");
    let found = error.to_string();
    assert!(found.contains(message), "{found}");
}

#[test]
fn malformed_files_are_refused() {
    refused(
        "\"version\": 1",
        "\"version\": 2",
        "has version 2, but this program reads version 1",
    );
    refused(
        "\"version\": 1",
        "\"version\": 2, \"new\": 1",
        "has version 2",
    );
    refused("\"layer\"", "\"colour\"", "unknown field `colour`");
    refused("\"layer\"", "\"title\"", "duplicate field `title`");
    refused(", \"frequency_hz\": 1700000000", "", "needs frequency_hz");
    refused(
        "\"cycles\"",
        "\"nanoseconds\"",
        "belongs to the unit cycles",
    );
    refused(
        "\"frequency_hz\": 1700000000",
        "\"frequency_hz\": 0",
        "nonzero",
    );
    refused(
        "\"resolution\": 1",
        "\"resolution\": 9",
        "from 1 to 8, not 9",
    );
    refused(
        "\"entered\": 3",
        "\"entered\": 2",
        "operation read: 2 operations entered",
    );
    refused("\"total\": 12", "\"total\": -12", "line 1 column");
    refused(
        "\"total\": 12",
        "\"total\": 99",
        "the total latency 99 does not fit",
    );
    refused(
        "[0, 1, 2]",
        "[0, 2, 1]",
        "operation read: bucket 1: the slices have 1",
    );
    refused("\"first\": 1", "\"first\": 3", "must be ordered");
    refused("\"size_bytes\"", "\"size bytes\"", "is no name");
    refused(
        "\"entered\": 3, \"left\": 3",
        "\"entered\": 3, \"left\": 4",
        "operation read",
    );
    let many = format!("[0{}]", ", 0".repeat(512));
    refused("[0, 1, 2]", &many, "an array of at most 512 elements");
    let more_than_r = format!("[0{}, 1]", ", 0".repeat(63));
    refused(
        "[0, 1, 2]",
        &more_than_r,
        "resolution 1 has 64 buckets, not 65",
    );
    let twice = "[ { \"operation\": \"read\", \"buckets\": [0, 1] }, { \"operation\": \"read\", \"buckets\": [0, 1] }";
    refused(
        "[ { \"operation\": \"read\", \"buckets\": [0, 1] }",
        twice,
        "appears twice",
    );
}

proptest! {
    #[test]
    fn what_is_written_is_read(capture in any_capture()) {
        let written = write(&capture).expect("it can be written");
        prop_assert_eq!(read(written.as_bytes()).expect("well formed"), capture);
    }

    #[test]
    fn damaged_files_are_refused_or_consistent(
        capture in any_capture(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = write(&capture).expect("it can be written").into_bytes();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(read) = read(&bytes) {
            prop_assert!(read.check().is_ok());
        }
    }

    #[test]
    fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(read(&bytes).is_err());
    }
}
