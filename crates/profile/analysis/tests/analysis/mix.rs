//! Operation mixes.

use trawl_analysis::mix::{Detection, Phase, by_phase, of_profile, of_slices};
use trawl_analysis::timeline::part;
use trawl_histogram::{Counts, Histogram, Profile, Resolution, Slice, Sliced, Unit};

use crate::close;

/// Returns a profile whose slices have these counts, each operation in a bucket of its own.
fn sliced(names: &[&str], slices: &[&[u64]]) -> Sliced {
    let mut whole = Profile::new(Unit::Nanoseconds, Resolution::ONE);
    for (at, name) in names.iter().enumerate() {
        let all: u64 = slices.iter().map(|counts| counts[at]).sum();
        let mut buckets = vec![0; at];
        buckets.push(all);
        let counts = Counts {
            entered: all,
            left: all,
            ..Counts::default()
        };
        let histogram = Histogram::from_parts(Resolution::ONE, counts, buckets);
        let inserted = whole.insert(name, histogram.expect("few buckets"));
        inserted.expect("names differ");
    }
    let slice = |counts: &&[u64]| {
        let mut slice = Slice::new();
        for (at, name) in names.iter().enumerate() {
            let mut buckets = vec![0; at];
            buckets.push(counts[at]);
            slice.set(name, buckets);
        }
        slice
    };
    let slices = slices.iter().map(slice).collect();
    Sliced::new(whole, None, slices).expect("slices add up")
}

#[test]
fn ratios_are_those_of_the_paper() {
    // §8.1: "the ratio of the number of reads to the number of writes is 26,458/35,060 = 0.75 for
    // Am-utils and 42,381/33,108 = 1.28 for SSH."
    for (reads, writes, ratio) in [(26_458, 35_060, "0.75"), (42_381, 33_108, "1.28")] {
        let mix = of_profile(sliced(&["read", "write"], &[&[reads, writes]]).whole());
        let computed = mix.ratio("read", "write").expect("there are writes");
        assert_eq!(format!("{computed:.2}"), ratio);
        assert_eq!(mix.ratio("read", "fsync"), None);
    }
}

#[test]
fn a_mix_has_shares_of_operations_and_latency() {
    // Bucket 0 has the average latency 1.5, bucket 1 has 3.
    let mix = of_profile(sliced(&["open", "read", "never"], &[&[40, 60, 0]]).whole());
    let names: Vec<&str> = mix
        .rows
        .iter()
        .map(|part| part.operation.as_str())
        .collect();
    assert_eq!(names, ["read", "open"]);
    assert_eq!(mix.rows[0].operations_share, 0.6);
    // 60·3 / (60·3 + 40·1.5) = 180 / 240.
    assert_eq!(mix.rows[0].latency_share, 0.75);
}

fn ranges(phases: &[Phase]) -> Vec<(usize, usize)> {
    let range = |phase: &Phase| (phase.slices.start, phase.slices.end);
    phases.iter().map(range).collect()
}

#[test]
fn preparation_and_compilation_are_two_phases() {
    let build = sliced(
        &["lookup", "read", "write"],
        &[
            &[800, 150, 50],
            &[700, 200, 100],
            &[820, 130, 50],
            &[200, 500, 300],
            &[150, 600, 250],
            &[180, 520, 300],
        ],
    );
    let phases = by_phase(&build, &Detection::default());
    assert_eq!(ranges(&phases), [(0, 3), (3, 6)]);
    // 800 + 700 + 820 of 3,000.
    assert_eq!(phases[0].mix.rows[0].operation, "lookup");
    close(
        phases[0].mix.rows[0].operations_share,
        2_320.0 / 3_000.0,
        1e-12,
    );
    // "This means that the number of invocations of every operation in the case of full build is the
    // sum of the invocations of the same operation during the preparation and compilation stages."
    let whole = of_profile(build.whole());
    assert_eq!(
        whole.operations,
        phases.iter().map(|phase| phase.mix.operations).sum::<u64>()
    );
    close(
        whole.latency,
        phases.iter().map(|phase| phase.mix.latency).sum(),
        1e-6,
    );
    assert_eq!(of_slices(&build, 3..6), phases[1].mix);
}

#[test]
fn idle_slices_and_single_requests_are_no_phases() {
    let quiet = sliced(
        &["read", "write"],
        &[&[0, 0], &[500, 20], &[0, 0], &[0, 3], &[480, 30], &[0, 0]],
    );
    assert_eq!(ranges(&by_phase(&quiet, &Detection::default())), [(0, 6)]);
    assert!(by_phase(&sliced(&["read"], &[]), &Detection::default()).is_empty());
    assert_eq!(of_slices(&quiet, 4..99).operations, 510);
    assert_eq!(of_slices(&quiet, 98..99).operations, 0);
}

#[test]
fn a_phase_that_returns_is_a_phase_again() {
    let (read, write): (&[u64], &[u64]) = (&[900, 100], &[100, 900]);
    let slices = [read, write, write, read, read];
    let found = by_phase(&sliced(&["read", "write"], &slices), &Detection::default());
    assert_eq!(ranges(&found), [(0, 1), (1, 3), (3, 5)]);
}

#[test]
fn many_slices_are_joined_before_phases_are_sought() {
    let (read, write): (&[u64], &[u64]) = (&[90, 10], &[10, 90]);
    let slices: Vec<&[u64]> = (0..20_000)
        .map(|at| if at < 12_000 { read } else { write })
        .collect();
    let found = by_phase(&sliced(&["read", "write"], &slices), &Detection::default());
    // Five slices are joined to one, and 12,000 is a multiple of five.
    assert_eq!(ranges(&found), [(0, 12_000), (12_000, 20_000)]);
}

#[test]
fn a_part_of_the_time_is_a_profile() {
    let build = sliced(&["lookup", "read"], &[&[5, 0], &[7, 2], &[1, 30]]);
    let early = part(&build, 0..2);
    // 12 requests of 1.5 each.
    let lookup = early.get("lookup").expect("it occurs");
    assert_eq!((lookup.buckets(), lookup.counts().total), (&[12][..], 18));
    assert_eq!(
        early.get("read").map(|read| read.buckets()),
        Some(&[0, 2][..])
    );
    assert_eq!(of_profile(&early), of_slices(&build, 0..2));
    early.check().expect("counts add up");
    assert_eq!(of_profile(&part(&build, 0..9)), of_profile(build.whole()));
    assert!(part(&build, 7..9).is_empty());
    assert!(part(&build, 2..2).is_empty());
}
