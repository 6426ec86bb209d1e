//! Peaks are ordered; values have one resolution.

use super::*;
use crate::{Capture, Profile, Unit};

fn peak(buckets: RangeInclusive<u16>, values: &[u64]) -> Peak {
    let mut histogram = Histogram::new(Resolution::ONE);
    values.iter().for_each(|value| histogram.record(*value));
    Peak::new(buckets, histogram)
}

#[test]
fn peaks_are_ordered_and_apart() {
    let mut sizes = Correlated::new("size_bytes", Resolution::ONE).expect("a name");
    let backwards = RangeInclusive::new(3, 2);
    for wrong in [[3..=5, 5..=7], [6..=7, 3..=5], [backwards, 4..=5]] {
        let peaks = wrong.map(|buckets| peak(buckets, &[])).to_vec();
        assert!(sizes.insert("read", peaks).is_err());
    }
    let peaks = vec![peak(3..=5, &[4096]), peak(6..=7, &[1 << 20])];
    sizes.insert("read", peaks.clone()).expect("ordered");
    assert_eq!(sizes.peaks("read"), peaks);
    assert_eq!(sizes.peaks("write"), []);
    assert!(matches!(sizes.insert("read", peaks), Err(Error::Twice(_))));
    let finer = Histogram::new(Resolution::new(2).expect("2"));
    assert!(
        sizes
            .insert("write", vec![Peak::new(0..=1, finer)])
            .is_err()
    );
    assert!(Correlated::new("size bytes", Resolution::ONE).is_err());
}

#[test]
fn a_capture_correlates_only_operations_of_its_profile() {
    let mut capture = Capture::from(Profile::new(Unit::Nanoseconds, Resolution::ONE));
    let mut sizes = Correlated::new("size_bytes", Resolution::ONE).expect("a name");
    sizes
        .insert("read", vec![peak(3..=5, &[1])])
        .expect("ordered");
    capture.correlated.push(sizes);
    assert!(capture.check().is_err());
}

fn histogram(values: &[u64]) -> Histogram {
    peak(0..=0, values).values().clone()
}

#[test]
fn buckets_are_joined_to_peaks_and_earlier_readings_subtracted() {
    let reading = |buckets: &[(u16, &[u64])]| {
        let mut sizes = Correlated::new("size_bytes", Resolution::ONE).expect("a name");
        let buckets = buckets.iter();
        let buckets = buckets.map(|(bucket, values)| (*bucket, histogram(values)));
        sizes.from_buckets("read", buckets).expect("ordered");
        sizes
    };
    let earlier = reading(&[(10, &[512])]);
    let later = reading(&[
        (10, &[512, 600]),
        (11, &[700, 800]),
        (12, &[]),
        (20, &[9000]),
    ]);
    assert_eq!(later.peaks("read").len(), 3, "empty buckets are left out");
    let between = later.since(&earlier).expect("it grew");
    let joined = between
        .joined("read", &[9..=12, 13..=30])
        .expect("no overflow");
    let totals: Vec<u128> = joined
        .iter()
        .map(|one| one.values().counts().total)
        .collect();
    assert_eq!(totals, [600 + 700 + 800, 9000]);
    let counts: Vec<u128> = joined.iter().map(|one| one.values().recorded()).collect();
    assert_eq!(counts, [3, 1]);
    between.check().expect("consistent");
    assert!(earlier.since(&later).is_err());
}
