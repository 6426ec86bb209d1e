//! Compares two profiles of one operation by the paper's six methods and a seventh.
//!
//! "Our goodness-of-fit tests return percent difference D between two profiles" (§5.7.1). The first
//! four look at the two histograms only. GROUPOPS and GROUPLAT go through the two preparing phases
//! of §5.7.2 first ([`phases`]), which need to know what share of its run the operation has
//! ([`Context`]). GROUPSHIFT ([`groupshift`]) is ours; its module says why it exists.
//!
//! | method | two profiles of one shape, one with more requests | symmetric |
//! |---|---|---|
//! | TOTOPS, TOTLAT, GROUPOPS, GROUPLAT | differ | no: relative to the first |
//! | CHISQUARE | differ | yes |
//! | EARTHMOVER | are the same | yes |
//! | GROUPSHIFT | are the same if the whole run has more | yes |

pub mod chisquare;
pub mod complete;
pub mod earthmover;
pub mod grouplat;
pub mod groupops;
pub mod groupshift;
pub mod phases;
pub mod totlat;
pub mod totops;

use crate::view::Pair;
pub use groupshift::Shifts;
pub use phases::Phases;

/// A way to compare two profiles of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    /// TOTOPS: total number of operations.
    TotalOperations,
    /// TOTLAT: total latency.
    TotalLatency,
    /// CHISQUARE: bucket by bucket.
    ChiSquare,
    /// EARTHMOVER: the work of turning one histogram into the other.
    EarthMover,
    /// GROUPOPS: phases, then operations by peak.
    GroupOperations,
    /// GROUPLAT: phases, then latency by peak.
    GroupLatency,
    /// GROUPSHIFT: how far peaks moved or grew, beyond chance.
    GroupShift,
}

impl Method {
    /// All methods, the paper's in its order first.
    pub const ALL: [Self; 7] = [
        Self::TotalOperations,
        Self::TotalLatency,
        Self::ChiSquare,
        Self::EarthMover,
        Self::GroupOperations,
        Self::GroupLatency,
        Self::GroupShift,
    ];

    /// Returns the name in the paper's spelling.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TotalOperations => "TOTOPS",
            Self::TotalLatency => "TOTLAT",
            Self::ChiSquare => "CHISQUARE",
            Self::EarthMover => "EARTHMOVER",
            Self::GroupOperations => "GROUPOPS",
            Self::GroupLatency => "GROUPLAT",
            Self::GroupShift => "GROUPSHIFT",
        }
    }

    /// Returns the percentage above which this method calls two profiles different.
    ///
    /// The paper shows curves in its Figures 6.3–6.8 and states no thresholds. Those of the group
    /// methods lie where they make less than 5 % errors on the labelled pairs of
    /// `tests/analysis/labelled`. The other four have no such range; theirs are a compromise.
    #[must_use]
    pub const fn threshold_percent(self) -> f64 {
        match self {
            Self::TotalOperations => 10.0,
            Self::TotalLatency => 30.0,
            Self::ChiSquare => 99.9,
            Self::EarthMover => 10.0,
            Self::GroupOperations | Self::GroupLatency => 20.0,
            Self::GroupShift => 35.0,
        }
    }

    /// Returns the difference of two profiles in percent, by this method alone or, for the group
    /// methods, after the phases that belong to them.
    ///
    /// Two empty histograms do not differ; an empty and a filled one differ by 100.
    #[must_use]
    pub fn score(self, pair: Pair<'_>, context: &Context, settings: &Settings) -> f64 {
        match self {
            Self::TotalOperations => totops::score(pair),
            Self::TotalLatency => totlat::score(pair),
            Self::ChiSquare => chisquare::score(pair),
            Self::EarthMover => earthmover::score(pair),
            Self::GroupOperations => groupops::score(pair, context, &settings.phases),
            Self::GroupLatency => grouplat::score(pair, context, &settings.phases),
            Self::GroupShift => groupshift::score(pair, context, &settings.shifts),
        }
    }
}

/// Context of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Thresholds of the preparing phases.
    pub phases: Phases,
    /// Settings of GROUPSHIFT.
    pub shifts: Shifts,
}

/// The totals of a run: all operations of a complete profile.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Number of operations.
    pub operations: f64,
    /// Total latency.
    pub latency: f64,
}

/// Facts about the two runs that a pair of profiles comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Context {
    /// Totals of the first run; `None` if nothing but the pair is known.
    pub first: Option<Totals>,
    /// Totals of the second run.
    pub second: Option<Totals>,
    /// How much more the second run did than the first, as a factor; `None`: as much more as this
    /// operation was called more often.
    pub scale: Option<f64>,
}

/// Returns the normalised difference of two totals in percent: |n − m| / n × 100.
pub(crate) fn percent(first: f64, second: f64) -> f64 {
    if first > 0.0 {
        (first - second).abs() / first * 100.0
    } else if second > 0.0 {
        100.0
    } else {
        0.0
    }
}

/// Returns the score that needs no comparison: one histogram, or both, are empty.
fn of_empty(pair: Pair<'_>) -> Option<f64> {
    match (pair.first.operations(), pair.second.operations()) {
        (0, 0) => Some(0.0),
        (0, _) | (_, 0) => Some(100.0),
        _ => None,
    }
}
