//! GROUPLAT: "This method is same as GROUPOPS, except that we calculate latency differences for
//! individual peaks." (§5.7.2)
//!
//! The score is the average of |Lₚ − L′ₚ| / Lₚ × 100 over peaks p, with their estimated latencies L
//! and L′.

use super::Context;
use super::phases::{self, Phases};
use crate::peaks::Peak;
use crate::view::Pair;

/// Returns the difference in percent.
#[must_use]
pub fn score(pair: Pair<'_>, context: &Context, settings: &Phases) -> f64 {
    let verdict = phases::prepare(pair, context, settings);
    verdict.score(rate)
}

/// Returns the difference of peaks that correspond to each other.
#[must_use]
pub fn rate(peaks: &[(Peak, Peak)]) -> f64 {
    phases::by_peak(peaks, |peak| peak.latency)
}
