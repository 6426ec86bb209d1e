//! Tests of the analysis of profiles: examples of the paper, examples computed by hand, properties,
//! and labelled pairs.

mod compare;
mod correlation;
mod labelled;
mod layers;
mod methods;
mod mix;
mod peaks;
mod preemption;
mod preprocess;
mod properties;
mod select;

use trawl_analysis::View;
use trawl_histogram::{Histogram, Profile, Resolution, Unit};

/// Returns the buckets in which these counts lie, all others empty.
fn buckets(filled: &[(usize, u64)]) -> Vec<u64> {
    let len = filled.iter().map(|one| one.0 + 1).max().unwrap_or(0);
    let mut counts = vec![0; len];
    for (bucket, count) in filled {
        counts[*bucket] = *count;
    }
    counts
}

/// Reads buckets at one for each doubling.
fn view(counts: &[u64]) -> View<'_> {
    View::new(counts, Resolution::ONE)
}

/// Returns a histogram of these latencies, each so many times.
fn histogram(latencies: &[(u64, u64)]) -> Histogram {
    let mut histogram = Histogram::new(Resolution::ONE);
    for (latency, times) in latencies {
        (0..*times).for_each(|_| histogram.record(*latency));
    }
    histogram
}

/// Returns a profile of operations, each with latencies and how many times they occur.
fn profile(operations: &[(&str, &[(u64, u64)])]) -> Profile {
    let mut profile = Profile::new(Unit::Nanoseconds, Resolution::ONE);
    for (name, latencies) in operations {
        let inserted = profile.insert(name, histogram(latencies));
        inserted.expect("operations differ");
    }
    profile
}

#[track_caller]
fn close(computed: f64, expected: f64, tolerance: f64) {
    let apart = (computed - expected).abs();
    assert!(apart <= tolerance, "{computed} is not {expected}");
}
