//! Compares two complete profiles operation by operation (§3.1.3, §3.2.2).
//!
//! Our "automated profiles analysis tool […] performs the following steps: 1. sorts individual
//! profiles of a complete profile according to their total latencies; 2. compares two profiles and
//! calculates their degree of similarity; and 3. performs these steps on two complete sets of
//! profiles to automatically select a small set of profiles for manual analysis." (§3.2.2) This
//! module does the first two for all operations; [`select`](crate::select) does the third.
//!
//! "Third, we use one of several methods to rate the difference between the profiles." (§3.2.2) All
//! six methods of the paper rate here after both preparing phases. GROUPSHIFT keeps only the test
//! for insignificance.

use std::collections::BTreeSet;

use trawl_histogram::{Histogram, Profile};

use super::groupshift::{self, Group};
use super::phases::{self, Verdict};
use super::{Context, Method, Settings, Totals};
use crate::view::{Pair, View};
use crate::{AnalysisError, Result};

/// Two complete profiles, compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison<'a> {
    /// The method that rated the operations.
    pub method: Method,
    /// Totals of the runs and the scale between them.
    pub context: Context,
    /// Every operation of either profile, greatest total latency first.
    pub rows: Vec<Compared<'a>>,
}

/// One operation of two profiles.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared<'a> {
    /// Name of the operation.
    pub operation: &'a str,
    /// Total latency in the first profile, 0 if it lacks the operation.
    pub first_latency: f64,
    /// Total latency in the second profile.
    pub second_latency: f64,
    /// Requests in the first profile.
    pub first_operations: u64,
    /// Requests in the second profile.
    pub second_operations: u64,
    /// Verdict of the preparing phases; `None` for GROUPSHIFT, which has none.
    pub verdict: Option<Verdict>,
    /// The peaks of both, with how they changed beyond chance.
    pub groups: Vec<Group>,
    /// The difference in percent.
    pub score: f64,
}

/// Compares two complete profiles.
///
/// # Errors
/// Profiles of different units or resolutions cannot be compared.
pub fn compare<'a>(
    first: &'a Profile,
    second: &'a Profile,
    method: Method,
    settings: &Settings,
) -> Result<Comparison<'a>> {
    if !first.unit().is_comparable_to(second.unit()) {
        return Err(AnalysisError::Units {
            first: first.unit().to_string(),
            second: second.unit().to_string(),
        });
    }
    let context = context(first, second);
    let names = |profile: &'a Profile| profile.operations().map(|(name, _)| name);
    let names: BTreeSet<&str> = names(first).chain(names(second)).collect();
    let empty = (
        Histogram::new(first.resolution()),
        Histogram::new(second.resolution()),
    );
    let mut rows = Vec::with_capacity(names.len());
    for name in names {
        let pair = (
            first.get(name).unwrap_or(&empty.0),
            second.get(name).unwrap_or(&empty.1),
        );
        rows.push(compare_one(name, pair, method, &context, settings)?);
    }
    rows.sort_by(|a, b| b.latency().total_cmp(&a.latency()));
    Ok(Comparison {
        method,
        context,
        rows,
    })
}

impl Compared<'_> {
    /// Returns the total latency in both profiles.
    #[must_use]
    pub fn latency(&self) -> f64 {
        self.first_latency + self.second_latency
    }
}

fn compare_one<'a>(
    operation: &'a str,
    (first, second): (&Histogram, &Histogram),
    method: Method,
    context: &Context,
    settings: &Settings,
) -> Result<Compared<'a>> {
    let pair = Pair::new(View::from(first), View::from(second))?;
    let (verdict, score) = rate(pair, method, context, settings);
    Ok(Compared {
        operation,
        first_latency: first.counts().total as f64,
        second_latency: second.counts().total as f64,
        first_operations: pair.first.operations(),
        second_operations: pair.second.operations(),
        verdict,
        groups: groupshift::groups(pair, context, &settings.shifts),
        score,
    })
}

/// Goes through the phases, and rates what they leave open.
fn rate(
    pair: Pair<'_>,
    method: Method,
    context: &Context,
    settings: &Settings,
) -> (Option<Verdict>, f64) {
    if method == Method::GroupShift {
        return (None, method.score(pair, context, settings));
    }
    let verdict = phases::prepare(pair, context, &settings.phases);
    let score = verdict.score(|peaks| match method {
        Method::GroupOperations => super::groupops::rate(peaks),
        Method::GroupLatency => super::grouplat::rate(peaks),
        _ => method.score(pair, context, settings),
    });
    (Some(verdict), score)
}

/// Requests that an operation needs in both runs to tell of their scale.
const SCALE_OPERATIONS_LEAST: u64 = 20;

/// Returns the totals of two runs, and how much more the second did: the median, over operations,
/// of the factor by which their requests grew. The median ignores the few operations that changed.
#[must_use]
pub fn context(first: &Profile, second: &Profile) -> Context {
    let mut factors: Vec<f64> = first
        .operations()
        .filter_map(|(name, n)| {
            let m = View::from(second.get(name)?).operations();
            let n = View::from(n).operations();
            (n.min(m) >= SCALE_OPERATIONS_LEAST).then(|| m as f64 / n as f64)
        })
        .collect();
    factors.sort_by(f64::total_cmp);
    let middle = factors.len() / 2;
    let scale = match (factors.len() % 2, factors.get(middle)) {
        (1, Some(factor)) => Some(*factor),
        // Between two factors lies their geometric mean.
        (_, Some(factor)) => Some((factor * factors[middle - 1]).sqrt()),
        (_, None) => None,
    };
    Context {
        first: Some(totals(first)),
        second: Some(totals(second)),
        scale,
    }
}

/// Adds up all operations of a profile, with latencies estimated from buckets, as all methods
/// estimate them.
fn totals(profile: &Profile) -> Totals {
    let mut totals = Totals::default();
    for (_, histogram) in profile.operations() {
        let view = View::from(histogram);
        totals.operations += view.operations() as f64;
        totals.latency += view.latency();
    }
    totals
}
