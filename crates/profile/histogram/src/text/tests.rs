//! The paper's sample, round trips, and malformed files.

use proptest::prelude::*;

use super::*;
use crate::test_profiles::{any_profile, sliced_in_two};
use crate::{Error, Histogram, Profile, Sliced};

fn columns(first_bucket: u16) -> Columns {
    Columns {
        unit: Unit::Nanoseconds,
        resolution: Resolution::ONE,
        first_bucket,
        interval_ns: None,
    }
}

/// The sample of §5.8, as printed there.
const SAMPLE: &str = "OP_WRITE_SUPER 14 213428976
 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0 0
-
 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0
-
 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0
-
 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 9 0 0 0 0 0 0 0 0
 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0
";

#[test]
fn the_sample_of_the_paper_is_read() {
    let sliced = read(SAMPLE.as_bytes(), &columns(2)).expect("well formed");
    let one = sliced.whole().get("WRITE_SUPER").expect("the operation");
    assert_eq!(
        (one.counts().entered, one.counts().total),
        (14, 213_428_976)
    );
    assert_eq!((one.count(23), one.count(24), one.recorded()), (13, 1, 14));
    assert_eq!(one.in_flight(), 0);
    assert_eq!(sliced.slices().len(), 8);
    assert_eq!(sliced.slices()[1].buckets("WRITE_SUPER"), [0; 0]);
    assert_eq!(sliced.slices()[6].buckets("WRITE_SUPER")[23], 9);
    assert_eq!(sliced.slices()[7].buckets("WRITE_SUPER")[24], 1);
}

#[test]
fn the_total_of_the_sample_fits_only_one_first_bucket() {
    for first in 0..8 {
        let sliced = read(SAMPLE.as_bytes(), &columns(first)).expect("well formed");
        let one = sliced.whole().get("WRITE_SUPER").expect("the operation");
        let (mut least, mut greatest) = (0, 0);
        for (bucket, count) in (0..).zip(one.buckets()) {
            let bounds = Resolution::ONE.bounds(bucket);
            least += count * bounds.start();
            greatest += count * bounds.end();
        }
        let fits = (least..=greatest).contains(&213_428_976);
        assert_eq!(fits, first == 2, "{first}");
    }
}

#[test]
fn the_sample_is_written_as_it_was_but_for_trailing_zeros() {
    let sliced = read(SAMPLE.as_bytes(), &columns(2)).expect("well formed");
    let trimmed: String = SAMPLE
        .lines()
        .map(|line| match line.starts_with(' ') {
            // Columns 0 to 22 of 30: the last one that holds something is 22.
            true => format!("{}\n", &line[..2 * 23]),
            false => format!("{line}\n"),
        })
        .collect();
    assert_eq!(write(&sliced, 2), trimmed);
}

#[test]
fn lenient_and_strict_where_documented() {
    let text = "read 3\t100\r\n 1   1\r\n\r\nOP_open 0 0\n-\n  - \n";
    let sliced = read(text.as_bytes(), &columns(0)).expect("lenient");
    let one = sliced.whole().get("read").expect("read");
    assert_eq!((one.buckets(), one.in_flight()), (&[1, 1][..], 1));
    assert!(sliced.whole().get("open").is_some());
    assert_eq!(sliced.slices().len(), 2);
    assert_eq!(read(b"", &columns(0)).expect("empty").slices(), []);
}

#[track_caller]
fn refused(text: &[u8], message: &str) {
    let error = read(text, &columns(0)).expect_err("malformed");
    assert_eq!(error.to_string(), message);
}

#[test]
fn errors_name_line_and_field() {
    refused(
        b" 1 2\n",
        "line 1, field 1: a slice comes before the first operation",
    );
    refused(b"OP_a 1\n", "line 1, field 3: the total latency is missing");
    refused(
        b"\nOP_a\n",
        "line 2, field 2: the number of calls is missing",
    );
    refused(
        b"OP_a 1 2 3\n",
        "line 1, field 4: an operation has three fields",
    );
    refused(
        b"OP_a 1 2\n 1 +1\n",
        "line 2, field 2: \"+1\" is no number of at most 64 bits",
    );
    refused(
        b"OP_a 18446744073709551616 2\n",
        "line 1, field 2: \"18446744073709551616\" is no number of at most 64 bits",
    );
    refused(b"OP_a 1 2\n 0 1 \xff\n", "line 2, field 2: is not UTF-8");
    refused(
        b"OP_a 1 0\nOP_a 1 0\n",
        "line 2, field 1: operation a appears twice",
    );
    refused(
        b"OP_a 1 1\n",
        "operation a: the total latency 1 does not fit the buckets",
    );
    let many = format!("OP_a 1 1\n{}\n", " 0".repeat(65));
    refused(
        many.as_bytes(),
        "line 2, field 65: resolution 1 has buckets 0 to 63",
    );
    refused(
        b"OP_a 2 2\n 3\n",
        "operation a: 2 operations entered, but 3 are in buckets, -1 in flight and 0 dropped",
    );
    refused(
        b"OP_a 2 2\n 18446744073709551615\n 1\n",
        "line 3, field 1: the sum over the slices exceeds 64 bits",
    );
    let long = format!("OP_a {}\n", "x".repeat(1 << 20));
    let error = read(long.as_bytes(), &columns(0)).expect_err("no number");
    assert!(error.to_string().len() < 200);
}

/// What the format keeps of a profile.
fn kept(profile: &Profile) -> Vec<(String, u64, u128, Vec<u64>)> {
    let called = profile
        .operations()
        .filter(|(_, one)| one.counts().entered > 0);
    called
        .map(|(name, one)| {
            let counts = one.counts();
            (
                name.to_owned(),
                counts.entered,
                counts.total,
                one.buckets().to_vec(),
            )
        })
        .collect()
}

proptest! {
    #[test]
    fn what_is_written_is_read(profile in any_profile()) {
        let columns = Columns { resolution: profile.resolution(), ..columns(0) };
        for sliced in [Sliced::from(profile.clone()), sliced_in_two(&profile)] {
            let again = read(write(&sliced, 0).as_bytes(), &columns).expect("well formed");
            prop_assert_eq!(kept(again.whole()), kept(&profile));
            for (at, slice) in again.slices().iter().enumerate() {
                for (name, buckets) in slice.operations() {
                    prop_assert_eq!(buckets, sliced.slices()[at].buckets(name));
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_refused_or_consistent(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(sliced) = read(&bytes, &columns(0)) {
            prop_assert!(sliced.whole().check().is_ok());
        }
    }

    #[test]
    fn any_lines_are_refused_or_consistent(
        lines in prop::collection::vec("(OP_[a-c] [0-9]{1,20} [0-9]{1,40}|( [0-9]{1,3}){1,66}|-|[ -~]{0,9})\n", 0..9),
        first in 0_u16..70,
    ) {
        if let Ok(sliced) = read(lines.concat().as_bytes(), &columns(first)) {
            prop_assert!(sliced.whole().check().is_ok());
        }
    }
}

#[test]
fn lower_buckets_go_to_the_first_column() {
    let mut one = Histogram::new(Resolution::ONE);
    [1, 2, 4, 8, 16]
        .into_iter()
        .for_each(|latency| one.record(latency));
    let mut profile = Profile::new(Unit::Nanoseconds, Resolution::ONE);
    profile.insert("read", one).expect("a name");
    let text = write(&profile.into(), 2);
    assert_eq!(text, "OP_read 5 31\n 3 1 1\n");
    let again = read(text.as_bytes(), &columns(2)).expect("well formed");
    let buckets = again.whole().get("read").map(Histogram::buckets);
    assert_eq!(buckets, Some(&[0, 0, 3, 1, 1][..]));
    let far = columns(64);
    assert!(matches!(
        read(text.as_bytes(), &far),
        Err(Error::Text {
            line: 2,
            field: 1,
            ..
        })
    ));
}
