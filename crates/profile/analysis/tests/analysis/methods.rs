//! The comparison methods on labelled pairs, as in Figures 6.3–6.8.
//!
//! The seeds of these tests were never used to choose a threshold. `examples/methods.rs` prints the
//! tables.

use trawl_analysis::compare::{Method, Settings};
use trawl_histogram::Resolution;

use crate::labelled::{Change, Errors, Generator, Labelled, Work, errors, good_range};

fn pairs(seed: u64, work: Work, noise: f64) -> Vec<Labelled> {
    let generator = Generator {
        seed,
        runs: 60,
        work,
        resolution: Resolution::ONE,
        noise,
    };
    generator.pairs()
}

fn rates(pairs: &[Labelled], method: Method) -> Vec<Errors> {
    errors(pairs, method, &Settings::default())
}

/// Checks that both errors stay below 5 % over so many percent.
#[track_caller]
fn stays_good(pairs: &[Labelled], method: Method, width_percent: f64) {
    let errors = rates(pairs, method);
    let range = good_range(&errors, 0.05);
    let width = range.map_or(0.0, |(low, high)| high - low);
    assert!(width >= width_percent, "{}: {range:?}", method.name());
    let (low, high) = range.unwrap_or_default();
    let default = method.threshold_percent();
    assert!(
        (low..=high).contains(&default),
        "{}: {range:?}",
        method.name()
    );
}

#[test]
fn every_label_occurs() {
    let pairs = pairs(20_070_101, Work::Fixed, 1.0);
    assert!(pairs.len() >= 300);
    for change in Change::ALL {
        let of = pairs.iter().filter(|pair| pair.change == change).count();
        assert!(of >= 10, "{change:?}: {of}");
    }
    let different = pairs
        .iter()
        .filter(|pair| pair.change.is_different())
        .count();
    assert!(different * 5 > pairs.len() && different * 2 < pairs.len());
}

/// "However, both our custom-made methods GROUPOPS and GROUPLAT have a wide range of difference
/// thresholds where both errors are below 5%." (§6.3)
#[test]
fn group_methods_make_few_errors_over_a_wide_range_if_the_work_is_fixed() {
    let pairs = pairs(20_070_101, Work::Fixed, 1.0);
    stays_good(&pairs, Method::GroupOperations, 15.0);
    stays_good(&pairs, Method::GroupLatency, 15.0);
    stays_good(&pairs, Method::GroupShift, 40.0);
}

/// The paper's methods compare amounts, so no threshold suits runs of different lengths; that is why
/// GROUPSHIFT exists.
#[test]
fn only_groupshift_compares_runs_that_did_not_do_the_same_work() {
    let pairs = pairs(20_070_102, Work::Scaled, 1.0);
    stays_good(&pairs, Method::GroupShift, 40.0);
    for method in Method::ALL {
        let range = good_range(&rates(&pairs, method), 0.05);
        assert_eq!(
            range.is_some(),
            method == Method::GroupShift,
            "{}: {range:?}",
            method.name()
        );
    }
}

#[test]
fn groupshift_makes_few_errors_on_both_kinds_together() {
    let mut pairs = pairs(20_070_103, Work::Fixed, 1.0);
    pairs.extend(self::pairs(20_070_104, Work::Scaled, 1.0));
    stays_good(&pairs, Method::GroupShift, 40.0);
}

#[test]
fn groupshift_bears_twice_the_noise_between_runs() {
    let pairs = pairs(20_070_105, Work::Scaled, 2.0);
    stays_good(&pairs, Method::GroupShift, 25.0);
}

/// The four methods that look at histograms alone make more errors than those with phases: "these
/// preparation steps alone significantly decrease the number of incorrectly classified profiles"
/// (§5.7.2).
#[test]
fn preparing_phases_decrease_errors() {
    let pairs = pairs(20_070_101, Work::Fixed, 1.0);
    let best = |method| {
        let worse = |one: &Errors| one.false_positives.max(one.false_negatives);
        rates(&pairs, method).iter().map(worse).fold(1.0, f64::min)
    };
    let alone = [
        Method::TotalOperations,
        Method::TotalLatency,
        Method::ChiSquare,
        Method::EarthMover,
    ];
    for method in alone {
        assert!(best(method) > 0.1, "{}: {}", method.name(), best(method));
    }
    for method in [
        Method::GroupOperations,
        Method::GroupLatency,
        Method::GroupShift,
    ] {
        assert!(best(method) < 0.03, "{}: {}", method.name(), best(method));
    }
}
