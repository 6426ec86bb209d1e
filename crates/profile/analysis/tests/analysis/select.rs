//! Operations worth a look.

use trawl_analysis::compare::complete::{Comparison, compare};
use trawl_analysis::compare::groupshift::Shifts;
use trawl_analysis::compare::{Method, Settings};
use trawl_analysis::preprocess::preprocess;
use trawl_analysis::select::{Reason, Selected, Selection, of_comparison, of_profile, related};
use trawl_histogram::Profile;

use crate::labelled::cycles;
use crate::{close, profile};

fn names<'a>(selected: &[Selected<'a>]) -> Vec<&'a str> {
    selected.iter().map(|one| one.operation).collect()
}

#[test]
fn operations_are_selected_until_they_hold_the_latency() {
    let workload = profile(&[
        ("read", &[(700, 2000), (6_000_000, 50)]),
        ("readdir", &[(90_000, 1000)]),
        ("open", &[(1_000, 500)]),
        ("close", &[(200, 500)]),
    ]);
    let sorted = preprocess(workload.operations(), 0.0);
    let selected = of_profile(&sorted, &Selection::default());
    // 301.4 ms, 90 ms, 0.5 ms and 0.1 ms: the first two hold 391.4 of 392.
    assert_eq!(names(&selected), ["read", "readdir"]);
    close(selected[0].latency, 301.4e6, 1.0);
    // 50 of 2,050 requests, 2.4 %, take 6 ms: nearly all of the latency.
    let [Reason::LatencyShare(share), Reason::SlowPeak(peak)] = &selected[0].reasons[..] else {
        panic!("{:?}", selected[0].reasons);
    };
    close(*share, 301.4 / 392.0, 1e-9);
    assert_eq!((peak.mode, peak.operations), (22, 50));
    assert!(matches!(selected[1].reasons[..], [Reason::LatencyShare(_)]));
}

/// Two runs; the second did twice as much.
fn runs() -> (Profile, Profile) {
    let first = profile(&[
        ("read", &[(700, 2000), (6_000_000, 100)]),
        ("lookup", &[(900, 2000), (6_000_000, 100)]),
        ("write", &[(3_000, 1000)]),
        ("fsync", &[(6_000_000, 200)]),
        ("stat", &[(900, 500)]),
        ("link", &[(150_000, 300)]),
    ]);
    let second = profile(&[
        ("read", &[(700, 4000), (6_000_000, 200)]),
        ("lookup", &[(900, 4000), (40_000, 400), (6_000_000, 200)]),
        ("write", &[(3_000, 2000)]),
        ("fsync", &[(24_000_000, 400)]),
        ("stat", &[(900, 1000)]),
        ("rename", &[(150_000, 600)]),
    ]);
    (first, second)
}

fn selected<'a>(
    runs: &'a (Profile, Profile),
    method: Method,
) -> (Comparison<'a>, Vec<Selected<'a>>) {
    let comparison = compare(&runs.0, &runs.1, method, &Settings::default()).expect("one unit");
    let selected = of_comparison(&comparison, &Selection::default());
    (comparison, selected)
}

#[test]
fn what_changed_beside_the_run_is_selected_with_reasons() {
    let runs = runs();
    let (comparison, selected) = selected(&runs, Method::GroupShift);
    assert_eq!(comparison.context.scale, Some(2.0));
    assert_eq!(comparison.rows.len(), 7);
    // fsync: 9.6 s instead of 2 · 1.2 s; rename: 90 ms more; link: 2 · 45 ms less; lookup: 16 ms more.
    assert_eq!(names(&selected), ["fsync", "link", "rename", "lookup"]);
    close(selected[0].latency, 7.2e9, 1.0);
    let reasons = |at: usize| &selected[at].reasons;
    assert!(
        matches!(reasons(1)[..], [Reason::OnlyFirst]),
        "{:?}",
        reasons(1)
    );
    assert!(
        matches!(reasons(2)[..], [Reason::OnlySecond]),
        "{:?}",
        reasons(2)
    );
    let [Reason::Score { method, .. }, Reason::Appeared(group)] = &reasons(3)[..] else {
        panic!("{:?}", reasons(3));
    };
    assert_eq!(*method, Method::GroupShift);
    assert_eq!((group.first, group.second), (0, 400));
    assert!(group.from <= 40_000.0 && 40_000.0 < group.to);
    // A peak that moves by two buckets leaves one group and enters another.
    let fsync = &reasons(0)[1..];
    assert!(
        matches!(fsync, [Reason::Vanished(_), Reason::Appeared(_)]),
        "{fsync:?}"
    );
}

#[test]
fn the_papers_methods_select_everything_in_a_longer_run() {
    let runs = runs();
    let (_, selected) = selected(&runs, Method::GroupOperations);
    // All that more than doubled or changed, and all that only doubled; `stat` holds 0.45 ms of 2.45 s.
    assert_eq!(
        names(&selected),
        ["fsync", "link", "rename", "lookup", "read", "write"]
    );
    // The first run against itself has nothing to show.
    let alike = (runs.0.clone(), runs.0.clone());
    for method in Method::ALL {
        let comparison = compare(&alike.0, &alike.1, method, &Settings::default());
        let comparison = comparison.expect("one unit");
        assert!(of_comparison(&comparison, &Selection::default()).is_empty());
    }
}

#[test]
fn a_peak_that_grew_or_moved_is_named_so() {
    let first = profile(&[
        ("read", &[(700, 1000), (40_000, 100)]),
        ("stat", &[(900, 1000)]),
    ]);
    let second = profile(&[
        ("read", &[(700, 1000), (40_000, 300)]),
        ("stat", &[(900, 400), (1_500, 600)]),
    ]);
    let runs = (first, second);
    let (_, selected) = selected(&runs, Method::GroupShift);
    assert_eq!(names(&selected), ["read", "stat"]);
    let reasons = |at: usize| &selected[at].reasons[1..];
    assert!(matches!(reasons(0), [Reason::Grew(group)] if group.second == 300));
    // 600 of 1,000 moved from bucket 9 to bucket 10, which is one peak with it.
    assert!(matches!(reasons(1), [Reason::Moved(group)] if group.movement > 0.59));
}

#[test]
fn every_method_rates_what_the_phases_leave_open() {
    // 10 % more disk accesses: no phase settles that.
    let first = profile(&[("read", &[(700, 1000), (6_000_000, 100)])]);
    let second = profile(&[("read", &[(700, 1000), (6_000_000, 110)])]);
    let rate = |method| {
        let comparison = compare(&first, &second, method, &Settings::default());
        comparison.expect("one unit").rows[0].score
    };
    // Buckets 9 and 22; 10 of 1,100 operations more.
    close(rate(Method::TotalOperations), 1_000.0 / 1_100.0, 1e-9);
    // 1000·768 + 100·6,291,456 = 629,913,600; 10·6,291,456 more.
    close(
        rate(Method::TotalLatency),
        6_291_456_000.0 / 629_913_600.0,
        1e-9,
    );
    // 100/1100 and 110/1110: the difference moves by 13 bins.
    close(
        rate(Method::EarthMover),
        (110.0 / 1110.0 - 100.0 / 1100.0) * 1_300.0,
        1e-9,
    );
    // 0 % of one peak and 10 % of the other.
    close(rate(Method::GroupOperations), 5.0, 1e-9);
    close(rate(Method::GroupLatency), 5.0, 1e-9);
}

#[test]
fn rows_are_sorted_by_total_latency() {
    let runs = runs();
    let (comparison, _) = selected(&runs, Method::EarthMover);
    let names: Vec<&str> = comparison.rows.iter().map(|row| row.operation).collect();
    assert_eq!(names[..3], ["fsync", "lookup", "read"]);
}

#[test]
fn profiles_of_other_units_are_refused() {
    let first = profile(&[]);
    let second = Profile::new(cycles(), first.resolution());
    assert!(compare(&first, &second, Method::TotalLatency, &Settings::default()).is_err());
}

#[test]
fn operations_that_call_each_other_are_alike() {
    // Table 3.1 and Figure 3.2: `lookup` calls `read_inode`.
    let workload = profile(&[
        ("lookup", &[(2_000, 1300), (60_000, 30), (6_700_000, 33)]),
        (
            "read_inode",
            &[(1_600, 1300), (55_000, 30), (6_400_000, 34)],
        ),
        ("readpage", &[(3_000, 4400)]),
        ("open", &[(150, 1291)]),
    ]);
    let sorted = preprocess(workload.operations(), 0.0);
    let found = related(&sorted, &Shifts::default(), 30.0).expect("one resolution");
    let pairs: Vec<(&str, &str)> = found.iter().map(|one| (one.first, one.second)).collect();
    assert_eq!(pairs, [("lookup", "read_inode")]);
}
