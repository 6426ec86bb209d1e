//! Names, merges and differences of profiles.

use super::*;
use crate::Counts;

fn profile(operations: &[(&str, &[u64])]) -> Profile {
    let mut profile = Profile::new(Unit::Nanoseconds, Resolution::ONE);
    profile.layer = "vfs".to_owned();
    for (name, latencies) in operations {
        let mut one = Histogram::new(Resolution::ONE);
        latencies.iter().for_each(|latency| one.record(*latency));
        profile.insert(name, one).expect("a new name");
    }
    profile
}

#[test]
fn the_check_names_the_operation() {
    let mut wrong = profile(&[("lookup", &[1]), ("read", &[2])]);
    let counts = Counts {
        entered: 2,
        left: 2,
        ..Counts::default()
    };
    let unbalanced = Histogram::from_parts(Resolution::ONE, counts, vec![1]).expect("few buckets");
    assert!(wrong.check().is_ok());
    wrong.insert("open", unbalanced).expect("a new name");
    let message = wrong.check().expect_err("unbalanced").to_string();
    assert_eq!(
        message,
        "operation open: 2 operations entered, but 1 are in buckets, 0 in flight and 0 dropped"
    );
}

#[test]
fn operations_are_sorted_by_total_latency() {
    let all = profile(&[("lookup", &[10, 20]), ("read", &[500]), ("open", &[1])]);
    let names: Vec<&str> = all.by_total().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["read", "lookup", "open"]);
}

#[test]
fn profiles_merge_by_name_and_grow_in_time() {
    let mut one = profile(&[("read", &[1, 2])]);
    let mut two = profile(&[("read", &[3]), ("open", &[4])]);
    (one.start_unix_ns, one.duration_ns) = (Some(100), Some(50));
    (two.start_unix_ns, two.duration_ns) = (Some(120), Some(90));
    let mut expected = profile(&[("read", &[1, 2, 3]), ("open", &[4])]);
    (expected.start_unix_ns, expected.duration_ns) = (Some(100), Some(110));
    one.merge(&two).expect("alike");
    assert_eq!(one, expected);
    assert_eq!(
        expected.coarsened(Resolution::ONE).expect("equal"),
        expected
    );
}

#[test]
fn differences_follow_the_earlier_reading() {
    let mut earlier = profile(&[("read", &[1])]);
    let mut later = profile(&[("read", &[1, 6]), ("open", &[4])]);
    (earlier.start_unix_ns, earlier.duration_ns) = (Some(100), Some(50));
    (later.start_unix_ns, later.duration_ns) = (Some(100), Some(70));
    let difference = later.since(&earlier).expect("later");
    assert_eq!(difference.start_unix_ns, Some(150));
    assert_eq!(difference.duration_ns, Some(20));
    assert_eq!(
        difference.get("read").map(Histogram::buckets),
        Some(&[0, 0, 1][..])
    );
    assert_eq!(difference.get("open"), later.get("open"));
    assert!(earlier.since(&later).is_err());
}

#[test]
fn unlike_profiles_do_not_combine() {
    let one = profile(&[]);
    let frequency_hz = NonZeroU64::new(1_700_000_000).expect("not zero");
    let mut cycles = Profile::new(Unit::Cycles { frequency_hz }, Resolution::ONE);
    cycles.layer = "vfs".to_owned();
    let message = one
        .clone()
        .merge(&cycles)
        .expect_err("other unit")
        .to_string();
    assert_eq!(
        message,
        "the profiles differ in unit: nanoseconds and cycles at 1700000000 Hz"
    );
    let finer = Histogram::new(Resolution::new(2).expect("2"));
    assert!(one.clone().insert("read", finer).is_err());
    let user = Profile::new(Unit::Nanoseconds, Resolution::ONE);
    assert!(one.since(&user).is_err());
    // Table 3.1: "1 sec. = 1.7 billion CPU cycles"; readdir took 7,736.04 · 10^6 cycles, 4,550.61 ms.
    let ms = cycles.unit().seconds(7_736.04e6) * 1e3;
    assert!((ms - 4_550.61).abs() < 0.01, "{ms}");
}

#[test]
fn names_without_spaces_are_accepted_once() {
    let mut one = profile(&[("read", &[])]);
    let empty = || Histogram::new(Resolution::ONE);
    for bad in ["", "a b", "a\nb", "a\u{2028}b", "\u{7f}", &"x".repeat(256)] {
        assert!(
            matches!(one.insert(bad, empty()), Err(Error::Name(_))),
            "{bad:?}"
        );
    }
    assert!(matches!(one.insert("read", empty()), Err(Error::Twice(_))));
    one.insert(&"x".repeat(255), empty()).expect("255 bytes");
    one.insert("öffne", empty()).expect("letters");
}

#[test]
fn the_number_of_operations_is_limited() {
    let mut one = profile(&[]);
    for number in 0..OPERATIONS_MAX {
        one.add(&format!("op{number}"), &Histogram::new(Resolution::ONE))
            .expect("below the limit");
    }
    let more = one.add("more", &Histogram::new(Resolution::ONE));
    assert!(matches!(more, Err(Error::TooMany { .. })));
    one.add("op0", &Histogram::new(Resolution::ONE))
        .expect("known");
}

#[test]
fn cycles_that_were_measured_twice_are_comparable() {
    let cycles = |hz: u64| Unit::Cycles {
        frequency_hz: hz.try_into().expect("not 0"),
    };
    assert!(cycles(2_499_998_143).is_comparable_to(cycles(2_499_997_653)));
    assert!(!cycles(2_500_000_000).is_comparable_to(cycles(2_600_000_000)));
    assert!(!cycles(1_000_000_000).is_comparable_to(Unit::Nanoseconds));
    assert!(Unit::Nanoseconds.is_comparable_to(Unit::Nanoseconds));
}
