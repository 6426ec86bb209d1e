//! Profiles for the tests of the formats.

use std::num::NonZeroU64;

use proptest::prelude::*;

use crate::{Capture, Correlated, Histogram, Peak, Profile, Resolution, Slice, Sliced, Unit};

/// Returns histograms of latencies of every magnitude, with calls in flight and dropped calls.
pub(crate) fn any_histogram(resolution: Resolution) -> impl Strategy<Value = Histogram> {
    let latency = (any::<u64>(), 0_u32..64).prop_map(|(bits, shift)| bits >> shift);
    let calls = (prop::collection::vec(latency, 0..20), 0..3, 0..3);
    calls.prop_map(move |(latencies, in_flight, dropped)| {
        let mut one = Histogram::new(resolution);
        latencies.iter().for_each(|latency| one.record(*latency));
        (0..in_flight + dropped).for_each(|_| one.enter());
        (0..dropped).for_each(|_| one.drop_one());
        one
    })
}

/// Returns profiles with up to five operations.
pub(crate) fn any_profile() -> impl Strategy<Value = Profile> {
    let unit = prop_oneof![
        Just(Unit::Nanoseconds),
        (1_u64..).prop_map(|hz| Unit::Cycles {
            frequency_hz: NonZeroU64::new(hz).expect("from 1")
        }),
    ];
    let about = (unit, "\\PC{0,20}", "[a-z]{0,6}", any::<[Option<u64>; 2]>());
    (about, 1_u8..=8).prop_flat_map(|((unit, title, layer, times), r)| {
        let resolution = Resolution::new(r).expect("1 to 8");
        let names = "[A-Za-z_.\"\\\\é-]{1,12}";
        prop::collection::btree_map(names, any_histogram(resolution), 0..5).prop_map(
            move |operations| {
                let mut profile = Profile::new(unit, resolution);
                profile.title.clone_from(&title);
                profile.layer.clone_from(&layer);
                [profile.start_unix_ns, profile.duration_ns] = times;
                for (name, one) in operations {
                    profile.insert(&name, one).expect("a new name");
                }
                profile
            },
        )
    })
}

/// Returns the profile with three slices: lower half of each bucket, nothing, the rest.
pub(crate) fn sliced_in_two(profile: &Profile) -> Sliced {
    let mut slices = [Slice::new(), Slice::new(), Slice::new()];
    for (name, one) in profile.operations() {
        let lower: Vec<u64> = one.buckets().iter().map(|count| count / 2).collect();
        let rest = one.buckets().iter().map(|count| count - count / 2);
        slices[2].set(name, rest.collect());
        slices[0].set(name, lower);
    }
    Sliced::new(profile.clone(), Some(2_500_000_000), slices.to_vec()).expect("they add up")
}

/// Returns captures: a profile with or without a timeline, and a value for its first operation.
pub(crate) fn any_capture() -> impl Strategy<Value = Capture> {
    let values = (1_u8..=8).prop_flat_map(|r| {
        let resolution = Resolution::new(r).expect("1 to 8");
        (any_histogram(resolution), any_histogram(resolution))
    });
    (any_profile(), any::<bool>(), values).prop_map(|(profile, is_sliced, (low, high))| {
        let first = profile.operations().next().map(|(name, _)| name.to_owned());
        let mut size = Correlated::new("size_bytes", low.resolution()).expect("a name");
        if let Some(name) = first {
            let peaks = vec![Peak::new(2..=5, low), Peak::new(7..=7, high)];
            size.insert(&name, peaks).expect("ordered");
        }
        let profile = match is_sliced {
            true => sliced_in_two(&profile),
            false => profile.into(),
        };
        Capture {
            profile,
            correlated: vec![size],
        }
    })
}
