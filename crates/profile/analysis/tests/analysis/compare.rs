//! Phases, group methods and GROUPSHIFT, computed by hand.

use trawl_analysis::compare::groupshift::{self, Shifts};
use trawl_analysis::compare::phases::{Difference, Phases, Sameness, Verdict, prepare};
use trawl_analysis::compare::{Context, Method, Settings, Totals, grouplat, groupops};
use trawl_analysis::{Pair, View};
use trawl_histogram::Resolution;

use crate::{buckets, close, view};

fn verdict(n: &[(usize, u64)], m: &[(usize, u64)], phases: &Phases) -> Verdict {
    within(n, m, &Context::default(), phases)
}

fn within(n: &[(usize, u64)], m: &[(usize, u64)], context: &Context, phases: &Phases) -> Verdict {
    let (n, m) = (buckets(n), buckets(m));
    let pair = Pair::new(view(&n), view(&m)).expect("one resolution");
    prepare(pair, context, phases)
}

#[test]
fn the_first_phase_settles_what_totals_tell() {
    let phases = Phases::default();
    // 1,000 and 1,005 operations in one bucket: 0.5 % more operations and latency.
    let similar = verdict(&[(10, 1000)], &[(10, 1005)], &phases);
    assert_eq!(similar, Verdict::Same(Sameness::SimilarTotals));
    // Twice as many: 100 %.
    let more = verdict(&[(10, 1000)], &[(10, 2000)], &phases);
    let percent = 100.0;
    assert_eq!(more, Verdict::Different(Difference::Operations { percent }));
    // As many operations, at twice the latency: 100 %.
    let slower = verdict(&[(10, 1000)], &[(11, 1000)], &phases);
    assert_eq!(slower, Verdict::Different(Difference::Latency { percent }));
    assert_eq!(verdict(&[], &[], &phases), Verdict::Same(Sameness::Empty));
    let appeared = verdict(&[], &[(10, 1000)], &phases);
    assert_eq!(appeared, Verdict::Different(Difference::OneEmpty));
}

#[test]
fn the_first_phase_ignores_what_hardly_matters() {
    let phases = Phases::default();
    let run = |latency| {
        Some(Totals {
            operations: 1e6,
            latency,
        })
    };
    // 1,000 · 1,536 ns = 1.5 ms of 10 s; four times as many are 6 ms. Both are below 0.1 %.
    let small = Context {
        first: run(1e10),
        second: run(1e10),
        scale: None,
    };
    let ignored = within(&[(10, 1000)], &[(10, 4000)], &small, &phases);
    assert_eq!(ignored, Verdict::Same(Sameness::Insignificant));
    // In a second run of 1 s, 6 ms are 0.6 %.
    let large = Context {
        second: run(1e9),
        ..small
    };
    let seen = within(&[(10, 1000)], &[(10, 4000)], &large, &phases);
    assert!(matches!(seen, Verdict::Different(_)));
    // Four requests and one tell nothing.
    let few = verdict(&[(10, 4)], &[(30, 1)], &phases);
    assert_eq!(few, Verdict::Same(Sameness::Insignificant));
}

#[test]
fn the_second_phase_compares_number_and_places_of_peaks() {
    let phases = Phases::default();
    let one = [(10, 1000), (20, 100)];
    // A third peak with 60 of 1,160 operations, and little latency.
    let third = verdict(&one, &[(10, 1000), (14, 60), (20, 110)], &phases);
    let (first, second) = (2, 3);
    assert_eq!(
        third,
        Verdict::Different(Difference::PeakCount { first, second })
    );
    // The first peak is one bucket to the right; its latency is small beside the second's.
    let moved = verdict(&one, &[(11, 1000), (20, 110)], &phases);
    match moved {
        Verdict::Different(Difference::PeakPlace { first, second }) => {
            assert_eq!((first.mode, second.mode), (10, 11));
        }
        other => panic!("{other:?}"),
    }
    // A third peak with 8 of 1,118 operations, and even less latency, is not compared.
    let tiny = verdict(&one, &[(10, 1000), (14, 8), (20, 110)], &phases);
    assert!(matches!(tiny, Verdict::Open(_)), "{tiny:?}");
    // Nothing is wrong with 10 % more of the second.
    let open = verdict(&one, &[(10, 1000), (20, 110)], &phases);
    assert!(matches!(open, Verdict::Open(peaks) if peaks.len() == 2));
}

#[test]
fn group_methods_average_the_differences_of_peaks() {
    let phases = Phases {
        similar_percent: 0.0,
        ..Phases::default()
    };
    let score = |n: &[(usize, u64)], m: &[(usize, u64)]| {
        let (n, m) = (buckets(n), buckets(m));
        let pair = Pair::new(view(&n), view(&m)).expect("one resolution");
        let context = Context::default();
        (
            groupops::score(pair, &context, &phases),
            grouplat::score(pair, &context, &phases),
        )
    };
    // |100 − 150| / 100 and |50 − 40| / 50: (50 + 20) / 2.
    let (operations, latency) = score(&[(10, 100), (20, 50)], &[(10, 150), (20, 40)]);
    close(operations, 35.0, 1e-9);
    close(latency, 35.0, 1e-9);
    // As many requests, but 20 of the first peak's 100 took 3,072 instead of 1,536: 80·1,536 +
    // 20·3,072 = 184,320 instead of 153,600, 20 % more; and the other peak is the same.
    let (operations, latency) = score(&[(10, 100), (20, 50)], &[(10, 80), (11, 20), (20, 50)]);
    assert_eq!(operations, 0.0);
    close(latency, 10.0, 1e-9);
}

fn shift_groups(n: &[u64], m: &[u64], scale: Option<f64>) -> Vec<groupshift::Group> {
    let pair = Pair::new(view(n), view(m)).expect("one resolution");
    let context = Context {
        scale,
        ..Context::default()
    };
    groupshift::groups(pair, &context, &Shifts::default())
}

#[test]
fn groupshift_subtracts_chance_from_growth() {
    let n = buckets(&[(9, 1000), (20, 100)]);
    let m = buckets(&[(9, 1000), (20, 400)]);
    let groups = shift_groups(&n, &m, Some(1.0));
    assert_eq!(groups.len(), 2);
    assert_eq!(groups[0].percent(), 0.0);
    // log₂(400.5 / 100.5) = 1.99461.
    // 3 · √(1/100.5 + 1/400.5) / ln 2 = 3 · 0.111567 / 0.693147 = 0.48287.
    close(groups[1].growth, 1.994_61, 1e-4);
    close(groups[1].grown, 1.511_74, 1e-4);
    // With no context, the second run did 1400/1100 as much: log₂ of that is 0.34792.
    // The first peak shrank by 0.34792, of which 3 · √(2/1000.5) / ln 2 = 0.19351 is chance.
    let alone = shift_groups(&n, &m, None);
    close(alone[0].grown, 0.154_41, 1e-4);
    close(alone[1].grown, 1.994_61 - 0.347_92 - 0.482_87, 1e-4);
}

#[test]
fn groupshift_subtracts_chance_from_movement() {
    let n = buckets(&[(9, 50), (10, 50)]);
    let m = buckets(&[(10, 50), (11, 50)]);
    let groups = shift_groups(&n, &m, None);
    assert_eq!(groups.len(), 1);
    // The cumulative shares are ½, 1, 1 and 0, ½, 1: the work is ½ + ½.
    close(groups[0].movement, 1.0, 1e-12);
    // Those of both together are ¼ and ¾: 2 · 2 · √(¼ · ¾ · (1/100 + 1/100)) = 0.244949.
    close(groups[0].moved, 1.0 - 0.244_949, 1e-5);
}

#[test]
fn groupshift_needs_the_run_to_tell_more_work_from_more_calls() {
    let n = buckets(&[(9, 1000), (20, 100)]);
    let m: Vec<u64> = n.iter().map(|count| count * 4).collect();
    let percent = |scale| {
        let groups = shift_groups(&n, &m, scale);
        groups.iter().map(|one| one.percent()).fold(0.0, f64::max)
    };
    assert_eq!(percent(None), 0.0);
    assert_eq!(percent(Some(4.0)), 0.0);
    // Called four times as often in a run that did as much as the first: two doublings, less chance.
    assert!((150.0..200.0).contains(&percent(Some(1.0))));
}

#[test]
fn a_peak_that_only_a_long_run_has_is_seen() {
    // The second run has a hundredth of the requests; its new peak has 200 of them.
    let n = buckets(&[(9, 100_000)]);
    let m = buckets(&[(9, 800), (20, 200)]);
    let groups = shift_groups(&n, &m, None);
    assert_eq!(groups.len(), 2);
    assert_eq!((groups[1].first, groups[1].second), (0, 200));
    assert!(groups[1].grown > 5.0);
}

#[test]
fn groupshift_ignores_groups_that_hold_little() {
    // 40 of 5,040 requests, 0.8 %, and next to no latency.
    let n = buckets(&[(20, 5000)]);
    let small = shift_groups(&n, &buckets(&[(9, 40), (20, 5000)]), None);
    assert_eq!(small.len(), 1);
    // 60 of 5,060 are 1.2 %.
    let larger = shift_groups(&n, &buckets(&[(9, 60), (20, 5000)]), None);
    assert_eq!(larger.len(), 2);
}

#[test]
fn all_methods_have_the_papers_names() {
    let names: Vec<&str> = Method::ALL.iter().map(|method| method.name()).collect();
    let paper = [
        "TOTOPS",
        "TOTLAT",
        "CHISQUARE",
        "EARTHMOVER",
        "GROUPOPS",
        "GROUPLAT",
    ];
    assert_eq!(names[..6], paper);
}

#[test]
fn an_empty_profile_differs_from_a_filled_one_by_every_method() {
    let full = [0, 0, 0, 0, 0, 0, 0, 0, 0, 50];
    let views = (View::new(&[], Resolution::ONE), view(&full));
    let pair = Pair::new(views.0, views.1).expect("one resolution");
    for method in Method::ALL {
        let score = |pair| method.score(pair, &Context::default(), &Settings::default());
        assert_eq!(score(pair), 100.0, "{method:?}");
        assert_eq!(score(pair.swapped()), 100.0, "{method:?}");
    }
}
