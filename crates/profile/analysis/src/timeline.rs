//! Parts of a sliced profile as profiles of their own.
//!
//! "Our profiler is capable of taking successive snapshots by using a new set of buckets to capture
//! latency at predefined intervals of time. In this case we are also comparing one set of profiles
//! against another, as they progress in time." (§3.1.5) Everything in this crate that takes a profile
//! also takes a part of one.

use std::collections::BTreeMap;
use std::ops::Range;

use trawl_histogram::{Histogram, Profile, Sliced};

/// Returns the profile of some slices. Only buckets are sliced, so total latencies are estimated from
/// them, and least and greatest latencies are unknown.
///
/// Slices that do not exist are left out. Counts that exceed 64 bits stay at the greatest number.
#[must_use]
pub fn part(sliced: &Sliced, slices: Range<usize>) -> Profile {
    let whole = sliced.whole();
    let mut sums: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    let chosen = slices.start..slices.end.min(sliced.slices().len());
    let chosen = sliced.slices().get(chosen).unwrap_or(&[]).iter();
    for (name, buckets) in chosen.flat_map(|slice| slice.operations()) {
        let sum = sums.entry(name).or_default();
        sum.resize(sum.len().max(buckets.len()), 0);
        for (sum, count) in sum.iter_mut().zip(buckets) {
            *sum = sum.saturating_add(*count);
        }
    }
    let mut profile = Profile::new(whole.unit(), whole.resolution());
    profile.title.clone_from(&whole.title);
    profile.layer.clone_from(&whole.layer);
    for (name, buckets) in sums {
        // The slices' names and numbers of buckets are those of the whole: nothing is refused.
        if let Ok(histogram) = Histogram::estimated(whole.resolution(), buckets) {
            let _ = profile.insert(name, histogram);
        }
    }
    profile
}
