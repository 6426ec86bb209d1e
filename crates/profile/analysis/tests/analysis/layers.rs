//! Two layers under one workload.

use trawl_analysis::layers::{Calls, Origin, differences};
use trawl_analysis::peaks::Detection;
use trawl_histogram::{Profile, Resolution};

use crate::labelled::cycles;
use crate::{close, profile};

#[test]
fn a_layer_answers_hits_and_passes_misses_on() {
    let upper = profile(&[("read", &[(600, 1000), (5_000_000, 100)])]);
    let lower = profile(&[("read", &[(4_900_000, 100)])]);
    let found = differences(&upper, &lower, &[], &Detection::default()).expect("one unit");
    let read = &found[0];
    assert_eq!((read.upper_operations, read.lower_operations), (1100, 100));
    close(read.passed, 100.0 / 1100.0, 1e-12);
    // 1000·600 + 100·5,000,000 − 100·4,900,000.
    assert_eq!(read.own_latency, 10_600_000.0);
    close(read.own_share, 10.6 / 500.6, 1e-12);
    assert_eq!(read.peaks.len(), 2);
    assert_eq!(read.peaks[0].1, Origin::Here);
    assert!(matches!(&read.peaks[1].1, Origin::Below { operation, .. } if operation == "read"));
}

#[test]
fn an_operation_may_call_others_under_other_names() {
    // "the `readdir` operation of Linux 2.6 Ext2 calls `readpage`" (§3.1.4).
    let upper = profile(&[("readdir", &[(70_000, 50)]), ("sync", &[(9_000_000, 20)])]);
    let lower = profile(&[("readpage", &[(50_000, 120)]), ("sync", &[(3_000_000, 20)])]);
    let calls = [Calls {
        upper: "readdir".to_owned(),
        lower: vec!["readpage".to_owned()],
    }];
    let found = differences(&upper, &lower, &calls, &Detection::default()).expect("one unit");
    let names: Vec<&str> = found.iter().map(|one| one.operation).collect();
    assert_eq!(names, ["sync", "readdir"]);
    // 9 ms lies in bucket 23, 3 ms in bucket 21: two doublings, more than its own time explains.
    assert_eq!(found[0].peaks[0].1, Origin::Here);
    // 70 µs lies in bucket 16, 50 µs in bucket 15.
    assert!(matches!(found[1].peaks[0].1, Origin::Below { .. }));
    close(found[1].passed, 2.4, 1e-12);
    // 50·70,000 − 120·50,000: the layer works in parallel.
    assert_eq!(found[1].own_latency, -2_500_000.0);
}

#[test]
fn an_operation_that_never_reaches_the_lower_layer_is_all_its_own() {
    let upper = profile(&[("getpid", &[(100, 40)])]);
    let found = differences(&upper, &profile(&[]), &[], &Detection::default()).expect("one unit");
    assert_eq!((found[0].passed, found[0].own_share), (0.0, 1.0));
}

#[test]
fn layers_of_other_units_or_resolutions_are_refused() {
    let upper = profile(&[]);
    let cycles = Profile::new(cycles(), Resolution::ONE);
    let error = differences(&upper, &cycles, &[], &Detection::default()).expect_err("cycles");
    assert_eq!(
        error.to_string(),
        "cannot compare latencies in nanoseconds with latencies in cycles at 1700000000 Hz"
    );
    let fine = Profile::new(upper.unit(), Resolution::new(2).expect("a resolution"));
    assert!(differences(&upper, &fine, &[], &Detection::default()).is_err());
}
