//! GROUPOPS: "If the peaks in the profiles are similar, the score is the normalized difference of
//! operations for individual peaks." (§5.7.2)
//!
//! The phases decide first; see [`phases`]. Every peak's difference is normalised as
//! TOTOPS normalises the total's, |nₚ − mₚ| / nₚ × 100, and the score is their average.

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
    phases::by_peak(peaks, |peak| peak.operations as f64)
}
