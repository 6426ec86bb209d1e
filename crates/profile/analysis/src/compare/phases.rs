//! The two phases that prepare a comparison of complete profiles (§3.2.2, §5.7.2).
//!
//! 1. "First, it ignores any profile pairs that have very similar total latencies, or where the
//!    total latency or number of operations is very small, when compared to the rest of the
//!    profiles (this threshold is configurable)." And: "We first use the total number of operations
//!    and the total latency to determine if the profiles are very similar, very different, or
//!    insignificant in the context of the set of profiles. In these cases, the analysis is done,
//!    and the profiles are either the same or different (they receive a score of 0 or 100)."
//! 2. "Otherwise, we distinguish the peaks on the profiles using derivatives. If the number of
//!    peaks differs between the profiles, or their locations are not similar, the profiles are
//!    considered to be different (score of 100)."
//!
//! The paper states no numbers. Ours, and what they settle, are documented at [`Phases`].

use super::{Context, Totals, of_empty, percent};
use crate::peaks::{Detection, Peak, peaks};
use crate::view::{Pair, View};

/// Thresholds of the preparing phases.
#[derive(Clone, Debug, PartialEq)]
pub struct Phases {
    /// Phase 1: profiles whose operations and latency both differ by at most this are the same.
    /// Small, because equal totals can hide peaks that moved against each other.
    pub similar_percent: f64,
    /// Phase 1: profiles whose operations or latency differ by at least this are different.
    pub different_percent: f64,
    /// Phase 1: profiles with a smaller share of their run's latency, in both runs, are
    /// insignificant. Needs a [`Context`].
    pub insignificant_share: f64,
    /// Phase 1: profiles with fewer operations, both of them, are insignificant. (A share of all
    /// operations would drop ten slow `fsync` calls beside a million cached reads.)
    pub operations_least: u64,
    /// Phase 2: peaks with a smaller share of their profile's operations and of its latency are
    /// not compared.
    pub peak_share: f64,
    /// Phase 2: peaks whose centres are at most this far apart are at similar locations.
    pub location_doublings: f64,
    /// Phase 2: what a peak is.
    pub detection: Detection,
}

impl Default for Phases {
    fn default() -> Self {
        Self {
            similar_percent: 1.0,
            different_percent: 100.0,
            insignificant_share: 0.001,
            operations_least: 5,
            peak_share: 0.01,
            location_doublings: 0.5,
            detection: Detection::default(),
        }
    }
}

/// Verdict of the preparing phases.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The profiles are the same: score 0.
    Same(Sameness),
    /// The profiles are different: score 100.
    Different(Difference),
    /// The analysis is not over: the peaks correspond to each other in this order.
    Open(Vec<(Peak, Peak)>),
}

/// Why phase 1 calls two profiles the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sameness {
    /// Both are empty.
    Empty,
    /// Neither matters in its run.
    Insignificant,
    /// Operations and latency are very similar.
    SimilarTotals,
}

/// Why phase 1 or 2 calls two profiles different.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// One profile is empty.
    OneEmpty,
    /// The number of operations is very different.
    Operations {
        /// TOTOPS of the pair.
        percent: f64,
    },
    /// The total latency is very different.
    Latency {
        /// TOTLAT of the pair.
        percent: f64,
    },
    /// The number of peaks differs.
    PeakCount {
        /// Peaks of the first profile.
        first: usize,
        /// Peaks of the second profile.
        second: usize,
    },
    /// A peak lies elsewhere.
    PeakPlace {
        /// The peak in the first profile.
        first: Peak,
        /// Its counterpart in the second.
        second: Peak,
    },
}

impl Verdict {
    /// Returns the final score, or what `rate` says of the peaks if the analysis is not over.
    #[must_use]
    pub fn score(&self, rate: impl FnOnce(&[(Peak, Peak)]) -> f64) -> f64 {
        match self {
            Self::Same(_) => 0.0,
            Self::Different(_) => 100.0,
            Self::Open(pairs) => rate(pairs),
        }
    }
}

/// Goes through both phases.
#[must_use]
pub fn prepare(pair: Pair<'_>, context: &Context, phases: &Phases) -> Verdict {
    totals(pair, context, phases).unwrap_or_else(|| match_peaks(pair, phases))
}

/// Phase 1: returns a verdict if the totals are enough for one.
fn totals(pair: Pair<'_>, context: &Context, phases: &Phases) -> Option<Verdict> {
    match of_empty(pair) {
        Some(0.0) => return Some(Verdict::Same(Sameness::Empty)),
        _ if is_insignificant(pair, context, phases) => {
            return Some(Verdict::Same(Sameness::Insignificant));
        }
        Some(_) => return Some(Verdict::Different(Difference::OneEmpty)),
        None => {}
    }
    let operations = super::totops::score(pair);
    let latency = super::totlat::score(pair);
    if operations <= phases.similar_percent && latency <= phases.similar_percent {
        Some(Verdict::Same(Sameness::SimilarTotals))
    } else if operations >= phases.different_percent {
        let percent = operations;
        Some(Verdict::Different(Difference::Operations { percent }))
    } else if latency >= phases.different_percent {
        let percent = latency;
        Some(Verdict::Different(Difference::Latency { percent }))
    } else {
        None
    }
}

/// Returns whether neither profile matters in its run.
pub(crate) fn is_insignificant(pair: Pair<'_>, context: &Context, phases: &Phases) -> bool {
    let is_small = |view: View<'_>, run: Option<Totals>| {
        let share = run.map(|run| view.latency() / run.latency.max(f64::MIN_POSITIVE));
        view.operations() < phases.operations_least
            || share.is_some_and(|share| share < phases.insignificant_share)
    };
    is_small(pair.first, context.first) && is_small(pair.second, context.second)
}

/// Phase 2.
fn match_peaks(pair: Pair<'_>, phases: &Phases) -> Verdict {
    let (first, second) = (visible(pair.first, phases), visible(pair.second, phases));
    if first.len() != second.len() {
        return Verdict::Different(Difference::PeakCount {
            first: first.len(),
            second: second.len(),
        });
    }
    let pairs: Vec<(Peak, Peak)> = first.into_iter().zip(second).collect();
    let apart =
        |(a, b): &&(Peak, Peak)| (a.centre / b.centre).log2().abs() > phases.location_doublings;
    match pairs.iter().find(apart) {
        Some((first, second)) => Verdict::Different(Difference::PeakPlace {
            first: first.clone(),
            second: second.clone(),
        }),
        None => Verdict::Open(pairs),
    }
}

/// Returns the peaks that hold enough operations or latency to be compared.
fn visible(view: View<'_>, phases: &Phases) -> Vec<Peak> {
    let mut found = peaks(view, &phases.detection);
    found.retain(|peak| peak.operations_share.max(peak.latency_share) >= phases.peak_share);
    found
}

/// Returns the normalised difference of individual peaks, |nₚ − mₚ| / nₚ × 100, on average over the
/// peaks p; at most 100, the score of profiles that a phase finds different.
///
/// The average of peaks, not the sum of differences over the sum of operations: a disk access in 50
/// requests would hardly count in the sum, and people see its peak all the same.
pub(crate) fn by_peak(pairs: &[(Peak, Peak)], amount: impl Fn(&Peak) -> f64) -> f64 {
    let each = pairs.iter().map(|(a, b)| percent(amount(a), amount(b)));
    (each.sum::<f64>() / pairs.len().max(1) as f64).min(100.0)
}
