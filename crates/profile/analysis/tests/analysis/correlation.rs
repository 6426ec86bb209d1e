//! Values by peak, on the paper's example: §3.1.6 multiplies the value `readdir_past_EOF` by 1,024,
//! and finds all calls past the end in the first peak and none elsewhere.

use trawl_analysis::correlation::{Correlation, correlate};
use trawl_analysis::peaks::Detection;
use trawl_histogram::{Correlated, Histogram, Resolution};

/// Correlates calls, each with its latency and its value.
fn correlation(calls: &[(u64, u64, usize)]) -> Correlation {
    let mut latencies = Histogram::new(Resolution::ONE);
    let mut by_bucket = vec![Histogram::new(Resolution::ONE); 64];
    for (latency, value, times) in calls {
        for _ in 0..*times {
            latencies.record(*latency);
            by_bucket[latency.ilog2() as usize].record(*value);
        }
    }
    let mut correlated = Correlated::new("past_end", Resolution::ONE).expect("a name");
    let buckets = (0..64).zip(by_bucket);
    correlated
        .from_buckets("readdir", buckets)
        .expect("ordered");
    correlate("readdir", &latencies, &correlated, &Detection::default()).expect("it fits")
}

#[test]
fn a_value_that_is_only_in_the_first_peak_tells_it() {
    let found = correlation(&[
        (100, 1024, 900),
        (1 << 13, 0, 400),
        (1 << 14, 0, 700),
        (1 << 22, 0, 300),
    ]);
    assert_eq!(found.peaks.len(), 3);
    let first = &found.peaks[0];
    assert_eq!(first.values.counts().total, 900 * 1024);
    assert_eq!(first.telling.len(), 1);
    let told = first.telling[0];
    assert_eq!((told.first, told.last), (10, 10));
    assert!((told.of_peak, told.of_value) == (1.0, 1.0));
    // The other two have the value 0 both: 1,100 of the 1,400 calls are in the second.
    assert_eq!(found.differences, [1.0, 0.0]);
    assert!(found.peaks[2].telling.is_empty());
    assert!(!found.is_separated());
}

#[test]
fn values_that_are_alike_separate_nothing() {
    let alike = [
        (100, 4096, 500),
        (100, 8192, 500),
        (1 << 20, 4096, 500),
        (1 << 20, 8192, 500),
    ];
    let found = correlation(&alike);
    assert_eq!(found.differences, [0.0]);
    assert!(found.peaks.iter().all(|peak| peak.telling.is_empty()));
    let apart = correlation(&[(100, 512, 500), (1 << 20, 1 << 20, 500)]);
    assert!(apart.is_separated());
    assert_eq!(apart.peaks[1].telling[0].first, 20);
}

#[test]
fn one_peak_is_told_by_nothing_and_no_call_is_forgotten() {
    let found = correlation(&[(100, 7, 1000), (1 << 30, 9, 1)]);
    let inside: u128 = found.peaks.iter().map(|peak| peak.values.recorded()).sum();
    assert_eq!(inside + u128::from(found.outside), 1001);
    assert!(correlation(&[(100, 7, 10)]).peaks[0].telling.is_empty());
    assert!(correlation(&[]).peaks.is_empty());
}
