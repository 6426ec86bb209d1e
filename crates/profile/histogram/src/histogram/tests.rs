//! Histograms against lists of latencies.

use proptest::prelude::*;

use super::*;

fn of(r: u8, latencies: &[u64]) -> Histogram {
    let mut one = Histogram::new(Resolution::new(r).expect("a resolution"));
    latencies.iter().for_each(|latency| one.record(*latency));
    one
}

fn forged(counts: Counts, buckets: &[u64]) -> Histogram {
    Histogram::from_parts(Resolution::ONE, counts, buckets.to_vec()).expect("few buckets")
}

#[test]
fn calls_are_in_flight_between_entering_and_leaving() {
    let mut one = Histogram::new(Resolution::ONE);
    one.enter();
    one.enter();
    one.enter();
    one.leave(5);
    one.drop_one();
    assert_eq!(one.in_flight(), 1);
    assert_eq!(one.buckets(), [0, 0, 1]);
    assert_eq!((one.counts().min, one.counts().max), (Some(5), Some(5)));
    assert_eq!(one.check(), Ok(()));
}

#[test]
fn an_operation_that_does_not_add_up_is_found() {
    // 10 entered and left, but one is in no bucket: an exit without a probe (§5.8).
    let counts = Counts {
        entered: 10,
        left: 10,
        dropped: 2,
        total: 7,
        ..Counts::default()
    };
    let fault = Fault::Unbalanced {
        entered: 10,
        recorded: 7,
        in_flight: 0,
        dropped: 2,
    };
    assert_eq!(forged(counts, &[7]).check(), Err(fault));
    assert_eq!(forged(counts, &[8]).check(), Ok(()));
    let more_left = Counts { left: 11, ..counts };
    assert!(forged(more_left, &[9]).check().is_err());
    let carried = Counts {
        carried: 1,
        ..more_left
    };
    assert_eq!(forged(carried, &[9]).check(), Ok(()));
}

#[test]
fn latencies_outside_the_buckets_are_found() {
    let right = of(1, &[3, 100, 20]);
    assert_eq!(right.check(), Ok(()));
    let counts = *right.counts();
    let wrong = [
        Counts {
            min: Some(4),
            ..counts
        },
        Counts {
            max: Some(128),
            ..counts
        },
        Counts {
            min: Some(1),
            ..counts
        },
        Counts { total: 8, ..counts },
        Counts {
            total: 301,
            ..counts
        },
    ];
    for counts in wrong {
        let check = forged(counts, right.buckets()).check();
        assert!(matches!(check, Err(Fault::Latency { .. })), "{counts:?}");
    }
    let none = Counts {
        min: Some(0),
        ..Counts::default()
    };
    assert!(forged(none, &[]).check().is_err());
}

/// A call of 110,620 ns was being counted: its latency was in the total, but not yet in the extremes
/// and the bucket.
#[test]
fn a_reading_between_the_steps_of_counting_a_call_is_consistent() {
    let earlier = of(1, &[100_000]);
    let counts = Counts {
        entered: 2,
        total: 210_620,
        ..*earlier.counts()
    };
    assert!(forged(counts, earlier.buckets()).check().is_err());
    let moving = |counts, buckets: &[u64]| {
        Histogram::from_moving(Resolution::ONE, counts, buckets.to_vec()).expect("few buckets")
    };
    let reading = moving(counts, earlier.buckets());
    assert_eq!(reading.check(), Ok(()));
    assert_eq!(
        reading.counts(),
        &Counts {
            total: 100_000,
            ..counts
        }
    );
    // Counted while all was read, but for the bucket.
    let counts = Counts {
        max: Some(110_620),
        min: Some(60_000),
        ..counts
    };
    let reading = moving(counts, earlier.buckets());
    assert_eq!(reading.check(), Ok(()));
    assert_eq!(
        (reading.counts().min, reading.counts().max),
        (None, Some(110_620))
    );
    // The first call ever.
    let first = moving(
        Counts {
            entered: 1,
            total: 7,
            min: Some(7),
            ..Counts::default()
        },
        &[],
    );
    assert_eq!((first.counts().total, first.check()), (0, Ok(())));
}

/// The first reading has the total of a call whose bucket only the second has, or the reverse.
#[test]
fn a_difference_of_readings_between_the_steps_of_counting_a_call_is_consistent() {
    let (before, after) = (
        of(1, &[100_000, 200_000]),
        of(1, &[100_000, 200_000, 90_000]),
    );
    let ahead = |by: u64| Counts {
        entered: 3,
        total: before.counts().total + u128::from(by),
        ..*before.counts()
    };
    let early = forged(ahead(90_000), before.buckets());
    assert_eq!(early.check(), Ok(()), "no error, as the extremes allow it");
    let difference = after.since(&early).expect("later");
    assert_eq!((difference.recorded(), difference.check()), (1, Ok(())));
    let difference = early.since(&before).expect("later");
    assert_eq!((difference.counts().total, difference.check()), (0, Ok(())));
}

#[test]
fn the_greatest_numbers_overflow_nothing() {
    let most = Counts {
        entered: u64::MAX,
        left: u64::MAX,
        total: u128::from(u64::MAX) * u128::from(u64::MAX),
        min: Some(u64::MAX),
        max: Some(u64::MAX),
        ..Counts::default()
    };
    let mut buckets = vec![0; 64];
    buckets[63] = u64::MAX;
    let mut one = forged(most, &buckets);
    assert_eq!(one.check(), Ok(()));
    let before = one.clone();
    assert!(matches!(one.merge(&before), Err(Fault::Overflow(_))));
    assert_eq!(one, before);
    one.record(1);
    assert!(one.check().is_err());
}

#[test]
fn a_resolution_limits_the_buckets() {
    let buckets = |count| Histogram::from_parts(Resolution::ONE, Counts::default(), vec![1; count]);
    assert!(buckets(64).is_ok());
    assert!(matches!(buckets(65), Err(Fault::Buckets { limit: 64, .. })));
    let mut one = of(1, &[1]);
    assert!(one.merge(&of(2, &[1])).is_err());
    assert!(one.since(&of(2, &[])).is_err());
    assert!(
        of(6, &[1])
            .coarsened(Resolution::new(4).expect("4"))
            .is_err()
    );
}

#[test]
fn a_difference_knows_only_what_the_readings_prove() {
    let earlier = of(1, &[10, 50]);
    let mut later = earlier.clone();
    later.record(20);
    let difference = later.since(&earlier).expect("later");
    assert_eq!(
        (difference.counts().min, difference.counts().max),
        (None, None)
    );
    later.record(5);
    let difference = later.since(&earlier).expect("later");
    assert_eq!(
        (difference.counts().min, difference.counts().max),
        (Some(5), None)
    );
    assert!(earlier.since(&later).is_err());
    let nothing = earlier.since(&earlier).expect("equal");
    assert_eq!(nothing, of(1, &[]));
}

#[test]
fn a_call_across_readings_is_carried() {
    let mut one = Histogram::new(Resolution::ONE);
    one.enter();
    let earlier = one.clone();
    one.leave(9);
    let difference = one.since(&earlier).expect("later");
    let expected = Counts {
        carried: 1,
        entered: 0,
        left: 1,
        total: 9,
        min: Some(9),
        max: Some(9),
        ..Counts::default()
    };
    assert_eq!(*difference.counts(), expected);
    assert_eq!((difference.in_flight(), difference.check()), (0, Ok(())));
}

#[test]
fn the_estimated_total_is_that_of_figure_3_6() {
    // "3 · 2^(b−1)" for each call: 2 · 3 · 2^(-1) + 1 · 3 · 2^9.
    assert_eq!(of(1, &[1, 1, 1024]).estimated_total(), 3.0 + 1536.0);
}

#[test]
fn a_histogram_of_buckets_alone_has_the_estimated_total() {
    let one = Histogram::estimated(Resolution::ONE, vec![2, 0, 1, 0]).expect("three buckets");
    // 2 · 1.5 + 1 · 6
    let expected = Counts {
        entered: 3,
        left: 3,
        total: 9,
        ..Counts::default()
    };
    assert_eq!((one.counts(), one.check()), (&expected, Ok(())));
    assert_eq!(one.buckets(), [2, 0, 1]);
    assert!(Histogram::estimated(Resolution::ONE, vec![1; 65]).is_err());
}

/// Latencies of every magnitude.
fn latencies() -> impl Strategy<Value = Vec<u64>> {
    let latency = (any::<u64>(), 0_u32..64).prop_map(|(bits, shift)| bits >> shift);
    prop::collection::vec(latency, 0..60)
}

proptest! {
    #[test]
    fn moving_readings_fit_their_buckets(
        latencies in latencies(), total in any::<u128>(), ends in any::<[Option<u64>; 2]>(),
    ) {
        let one = of(1, &latencies);
        let [min, max] = ends;
        let counts = Counts { total, min, max, ..*one.counts() };
        let read = Histogram::from_moving(Resolution::ONE, counts, one.buckets().to_vec());
        prop_assert_eq!(read.expect("few buckets").check(), Ok(()));
        let same = Histogram::from_moving(Resolution::ONE, *one.counts(), one.buckets().to_vec());
        prop_assert_eq!(same.expect("few buckets"), one);
    }

    #[test]
    fn recording_counts_as_a_list_does(latencies in latencies(), r in 1_u8..=8) {
        let one = of(r, &latencies);
        prop_assert_eq!(one.check(), Ok(()));
        let counts = one.counts();
        prop_assert_eq!(counts.total, latencies.iter().map(|one| u128::from(*one)).sum::<u128>());
        prop_assert_eq!(counts.min, latencies.iter().min().copied());
        prop_assert_eq!(counts.max, latencies.iter().max().copied());
        for bucket in 0..64 * u16::from(r) {
            let bounds = one.resolution().bounds(bucket);
            let within = latencies.iter().filter(|one| bounds.contains(one)).count();
            prop_assert_eq!(one.count(bucket), within as u64);
        }
    }

    #[test]
    fn parts_merge_into_the_whole(all in latencies(), cut in any::<prop::sample::Index>(), r in 1_u8..=8) {
        let cut = cut.index(all.len() + 1);
        let mut merged = of(r, &all[..cut]);
        merged.merge(&of(r, &all[cut..])).expect("one resolution");
        let whole = of(r, &all);
        prop_assert_eq!(&merged, &whole);
        let rest = whole.since(&of(r, &all[..cut])).expect("a prefix");
        let expected = of(r, &all[cut..]);
        prop_assert_eq!(rest.check(), Ok(()));
        prop_assert_eq!(rest.buckets(), expected.buckets());
        prop_assert_eq!(rest.counts().total, expected.counts().total);
        let (min, max) = (rest.counts().min, rest.counts().max);
        prop_assert!(min.is_none() || min == expected.counts().min);
        prop_assert!(max.is_none() || max == expected.counts().max);
    }

    #[test]
    fn coarsening_equals_recording_coarsely(all in latencies(), r in 1_u8..=8) {
        let fine = of(r, &all);
        for coarse in Resolution::all().filter(|one| r % one.get() == 0) {
            prop_assert_eq!(fine.coarsened(coarse), Ok(of(coarse.get(), &all)));
        }
    }
}
