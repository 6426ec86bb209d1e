//! Sorting a complete profile, and reports.

use trawl_analysis::peaks::CharacteristicTime;
use trawl_analysis::preemption::Machine;
use trawl_analysis::preprocess::preprocess;
use trawl_analysis::report::{Options, report};
use trawl_histogram::{Counts, Histogram, Resolution};

use crate::{close, histogram};

/// Table 3.1: operation, count, total delay in 10⁴ CPU cycles.
const TABLE: [(&str, u64, u64); 11] = [
    ("follow_link", 110, 9),
    ("lookup", 13_640, 306_965),
    ("open", 12_915, 199),
    ("read", 27_408, 732_015),
    ("read_inode", 13_641, 294_322),
    ("readdir", 1_687, 773_604),
    ("readpage", 43_991, 47_775),
    ("release", 12_915, 129),
    ("sync_page", 20_141, 10_873),
    ("write_inode", 12_107, 1_057),
    ("write_super", 1, 0),
];

/// Returns a histogram with this many requests and this total.
fn totals(operations: u64, total: u64) -> Histogram {
    let counts = Counts {
        entered: operations,
        left: operations,
        total: total.into(),
        ..Counts::default()
    };
    Histogram::from_parts(Resolution::ONE, counts, vec![operations]).expect("one bucket")
}

#[test]
fn operations_are_sorted_as_in_the_papers_table() {
    let all: Vec<(&str, Histogram)> = TABLE
        .iter()
        .map(|(name, operations, total)| (*name, totals(*operations, total * 10_000)))
        .collect();
    let given = || all.iter().map(|(name, one)| (*name, one));
    let sorted = preprocess(given(), 0.0);
    let names: Vec<&str> = sorted.rows.iter().map(|row| row.operation).collect();
    let table = [
        "readdir",
        "read",
        "lookup",
        "read_inode",
        "readpage",
        "sync_page",
        "write_inode",
        "open",
        "release",
        "follow_link",
        "write_super",
    ];
    assert_eq!(names, table);
    // The delays of Table 3.1 add up to 21,669.48; the counts to 158,556.
    assert_eq!(sorted.operations, 158_556);
    close(sorted.rows[0].latency_share, 7_736.04 / 21_669.48, 1e-12);

    // 1 % of the latency is 216.7: `readpage` stays, `sync_page` and what follows goes.
    let large = preprocess(given(), 0.01);
    assert_eq!(large.rows.len(), 5);
    assert_eq!(large.left_out.operations, 6);
    // 108.73 + 10.57 + 1.99 + 1.29 + 0.09 + 0 = 122.67.
    close(large.left_out.latency_share, 122.67 / 21_669.48, 1e-12);
}

#[test]
fn nothing_has_no_shares() {
    let empty = Histogram::new(Resolution::ONE);
    let sorted = preprocess([("read", &empty)], 0.0);
    assert!(sorted.rows.is_empty());
    assert_eq!(sorted.left_out.operations, 1);
    assert_eq!(sorted.left_out.latency_share, 0.0);
}

#[test]
fn a_report_names_peaks_and_warns() {
    let read = histogram(&[(600, 100_000), (5_900_000, 50)]);
    let close_file = histogram(&[(300, 10)]);
    let options = Options {
        times: vec![CharacteristicTime {
            name: "seek".to_owned(),
            time: 8e6,
        }],
        machine: Some(Machine {
            quantum: 4e6,
            period: 1e6,
            processes: 2,
            cpus: 1,
            wait_from: 50e3,
        }),
        ..Options::default()
    };
    let report = report([("close", &close_file), ("read", &read)], &options);
    // 3,000 ns of 60,000,000 + 295,000,000 are less than 0.1 %.
    assert_eq!(report.left_out.operations, 1);
    let described = &report.operations[0];
    assert_eq!(described.row.operation, "read");
    let near: Vec<usize> = described.peaks.iter().map(|one| one.near.len()).collect();
    assert_eq!(near, [0, 1]);
    assert_eq!(described.peaks[1].near[0].name, "seek");
    let warning = described.warning.as_ref().expect("requests were preempted");
    // 600 ns lies in bucket 9: t_cpu = 768. Y = 50 / 100,050. Q / t_period = 4.
    // 100,050 · 768/10⁶ · (1 − Y)⁴ = 76.8384 · 0.998002 = 76.685.
    close(warning.expected_most, 76.685, 0.001);
}
