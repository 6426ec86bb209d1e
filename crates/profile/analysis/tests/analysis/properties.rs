//! Properties of methods and peaks, and EARTHMOVER against a solver of transport problems.

use proptest::prelude::*;
use trawl_analysis::compare::{Context, Method, Settings};
use trawl_analysis::peaks::{Detection, peaks};
use trawl_analysis::preemption::preempted;
use trawl_analysis::{Pair, View};
use trawl_histogram::Resolution;

fn score(method: Method, n: &[u64], m: &[u64], r: u8) -> f64 {
    let resolution = Resolution::new(r).expect("a resolution");
    let pair = Pair::new(View::new(n, resolution), View::new(m, resolution));
    let pair = pair.expect("one resolution");
    method.score(pair, &Context::default(), &Settings::default())
}

/// Histograms with many empty buckets and counts of all sizes.
fn histogram() -> impl Strategy<Value = Vec<u64>> {
    let count = prop_oneof![4 => Just(0), 2 => 1..20_u64, 2 => 20..5_000_u64];
    prop::collection::vec(count, 0..40)
}

fn filled() -> impl Strategy<Value = Vec<u64>> {
    histogram().prop_filter("is not empty", |counts| {
        counts.iter().any(|count| *count > 0)
    })
}

/// Methods whose formula does not change if the profiles are swapped.
const SYMMETRIC: [Method; 3] = [Method::ChiSquare, Method::EarthMover, Method::GroupShift];
/// Methods that compare shapes, not amounts.
const SHAPES: [Method; 2] = [Method::EarthMover, Method::GroupShift];

proptest! {
    #[test]
    fn a_profile_does_not_differ_from_itself(n in histogram(), r in 1..=8_u8) {
        for method in Method::ALL {
            prop_assert_eq!(score(method, &n, &n, r), 0.0, "{:?}", method);
        }
    }

    #[test]
    fn scores_are_numbers_from_zero_on(n in histogram(), m in histogram(), r in 1..=8_u8) {
        for method in Method::ALL {
            let score = score(method, &n, &m, r);
            prop_assert!(score.is_finite() && score >= 0.0, "{method:?} {score}");
        }
        for method in [Method::ChiSquare, Method::GroupOperations, Method::GroupLatency, Method::GroupShift] {
            prop_assert!(score(method, &n, &m, r) <= 100.0, "{method:?}");
        }
    }

    #[test]
    fn some_methods_are_symmetric(n in histogram(), m in histogram(), r in 1..=8_u8) {
        for method in SYMMETRIC {
            let apart = score(method, &n, &m, r) - score(method, &m, &n, r);
            prop_assert!(apart.abs() < 1e-6, "{method:?} {apart}");
        }
    }

    #[test]
    fn shapes_do_not_depend_on_amounts(n in filled(), factor in 2..50_u64) {
        let more: Vec<u64> = n.iter().map(|count| count * factor).collect();
        for method in SHAPES {
            prop_assert!(score(method, &n, &more, 1) < 1e-6, "{method:?}");
        }
        let expected = (factor - 1) as f64 * 100.0;
        for method in [Method::TotalOperations, Method::TotalLatency] {
            prop_assert!((score(method, &n, &more, 1) - expected).abs() < 1e-6, "{method:?}");
        }
    }

    #[test]
    fn moving_all_earth_is_as_much_work_as_bins(n in filled(), by in 0..20_usize, r in 1..=8_u8) {
        let mut moved = vec![0; by];
        moved.extend(&n);
        let expected = by as f64 / f64::from(r) * 100.0;
        prop_assert!((score(Method::EarthMover, &n, &moved, r) - expected).abs() < 1e-6);
        // A shift adds no operations.
        prop_assert_eq!(score(Method::TotalOperations, &n, &moved, r), 0.0);
    }

    #[test]
    fn earth_never_gets_cheaper_by_a_detour(a in filled(), b in filled(), c in filled()) {
        let work = |n: &[u64], m: &[u64]| score(Method::EarthMover, n, m, 1);
        prop_assert!(work(&a, &c) <= work(&a, &b) + work(&b, &c) + 1e-6);
    }

    #[test]
    fn the_greedy_plan_is_the_cheapest(
        n in prop::collection::vec(0..6_u64, 1..7),
        m in prop::collection::vec(0..6_u64, 1..7),
    ) {
        let totals = (n.iter().sum::<u64>(), m.iter().sum::<u64>());
        prop_assume!(totals.0 > 0 && totals.1 > 0);
        let cheapest = cheapest_transport(&n, &m) as f64 / (totals.0 * totals.1) as f64;
        prop_assert!((score(Method::EarthMover, &n, &m, 1) - cheapest * 100.0).abs() < 1e-9);
    }

    #[test]
    fn peaks_share_no_bucket(n in histogram(), r in 1..=8_u8) {
        let resolution = Resolution::new(r).expect("a resolution");
        let found = peaks(View::new(&n, resolution), &Detection::default());
        let all: u64 = n.iter().sum();
        prop_assert_eq!(found.is_empty(), all == 0);
        prop_assert!(found.windows(2).all(|two| two[0].last < two[1].first));
        for peak in &found {
            let counts = &n[peak.first..=peak.last];
            prop_assert!(counts[0] > 0 && counts[counts.len() - 1] > 0);
            prop_assert_eq!(peak.operations, counts.iter().sum::<u64>());
            prop_assert_eq!(n[peak.mode], counts.iter().copied().max().unwrap_or(0));
            prop_assert!(peak.from <= peak.centre && peak.centre <= peak.to);
        }
        // Stray requests are few: not enough to rise above nothing.
        let strays = all - found.iter().map(|peak| peak.operations).sum::<u64>();
        prop_assert!(strays as usize <= 4 * n.len());
    }

    #[test]
    fn preemption_loses_no_request(n in histogram(), processes in 1..9_u32, quantum in 1e3..1e9) {
        let moved = preempted(View::new(&n, Resolution::ONE), quantum, processes);
        let all: u64 = n.iter().sum();
        prop_assert!((moved.buckets.iter().sum::<f64>() - all as f64).abs() < 1e-6);
        prop_assert!(moved.buckets.iter().all(|count| *count > -1e-9));
    }
}

/// Solves the transport problem without knowing that bins lie on a line: a minimum-cost flow from
/// earth to holes by successive cheapest augmenting paths (Bellman and Ford). Both histograms are
/// multiplied by the other's total.
fn cheapest_transport(n: &[u64], m: &[u64]) -> u64 {
    let (n_all, m_all) = (n.iter().sum::<u64>() as i64, m.iter().sum::<u64>() as i64);
    let (source, sink) = (n.len() + m.len(), n.len() + m.len() + 1);
    // From, to, capacity, cost; the reverse edge follows each.
    let mut edges: Vec<(usize, usize, i64, i64)> = Vec::new();
    let mut edge = |from, to, capacity, cost| {
        edges.push((from, to, capacity, cost));
        edges.push((to, from, 0, -cost));
    };
    for (i, count) in n.iter().enumerate() {
        edge(source, i, *count as i64 * m_all, 0);
        for j in 0..m.len() {
            edge(i, n.len() + j, i64::MAX / 4, i.abs_diff(j) as i64);
        }
    }
    for (j, count) in m.iter().enumerate() {
        edge(n.len() + j, sink, *count as i64 * n_all, 0);
    }
    let mut cost = 0;
    while let Some(path) = cheapest_path(&edges, source, sink) {
        let amount = path
            .iter()
            .map(|at| edges[*at].2)
            .min()
            .expect("a path has edges");
        for at in path {
            edges[at].2 -= amount;
            edges[at ^ 1].2 += amount;
            cost += amount * edges[at].3;
        }
    }
    cost as u64
}

/// Returns the edges of the cheapest path with capacity left.
fn cheapest_path(
    edges: &[(usize, usize, i64, i64)],
    source: usize,
    sink: usize,
) -> Option<Vec<usize>> {
    let mut costs = vec![None; sink + 1];
    let mut via = vec![0; sink + 1];
    costs[source] = Some(0);
    for _ in 0..=sink {
        for (at, (from, to, capacity, cost)) in edges.iter().enumerate() {
            if let Some(reached) = costs[*from].filter(|_| *capacity > 0)
                && costs[*to].is_none_or(|known| reached + cost < known)
            {
                costs[*to] = Some(reached + cost);
                via[*to] = at;
            }
        }
    }
    costs[sink]?;
    let mut path = Vec::new();
    let mut at = sink;
    while at != source {
        path.push(via[at]);
        at = edges[via[at]].0;
    }
    Some(path)
}
