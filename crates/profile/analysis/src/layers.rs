//! Differences between two layers that were profiled under one workload.
//!
//! "Comparison of the profiles captured at different levels can make the identification of peaks
//! easier and the measurements more precise. For example, the comparison of user-level and
//! file-system-level profiles helps isolate VFS behavior from the behavior of lower file systems."
//! (§3.1.4)
//!
//! A request of the upper layer that calls the lower one takes the lower one's time and its own:
//! log(t_max + δ) ≈ log(t_max), and "even if δ is equal to t_max, the result will only change by 1"
//! (§3, Eq. 3.3). So a peak of the upper layer *comes from below* if the lower layer has a peak at
//! most one doubling to its left; otherwise it *arises here*.

use trawl_histogram::{Histogram, Profile};

use crate::peaks::{Detection, Peak, peaks};
use crate::preprocess::share;
use crate::view::View;
use crate::{AnalysisError, Result};

/// Which operations of the lower layer an operation calls, as `read` calls `readpage`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calls {
    /// Operation of the upper layer.
    pub upper: String,
    /// Operations of the lower layer.
    pub lower: Vec<String>,
}

/// The part of an operation that a layer adds.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference<'a> {
    /// Operation of the upper layer.
    pub operation: &'a str,
    /// Requests to the upper layer.
    pub upper_operations: u64,
    /// Requests that the lower layer got.
    pub lower_operations: u64,
    /// Requests to the lower layer for each one to the upper: below 1, the upper layer answers some
    /// alone, from a cache; above 1, it splits them or reads ahead.
    pub passed: f64,
    /// Total latency of the upper layer less that of the lower: the time spent here. Negative if
    /// the lower layer has other callers, or works in parallel.
    pub own_latency: f64,
    /// Share of the upper layer's latency that is spent here.
    pub own_share: f64,
    /// Peaks of the upper layer, lowest latency first, with where they come from.
    pub peaks: Vec<(Peak, Origin)>,
}

/// Where a peak of the upper layer comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// The lower layer has no such peak.
    Here,
    /// This peak of the lower layer.
    Below {
        /// Operation of the lower layer.
        operation: String,
        /// Its peak.
        peak: Peak,
    },
}

/// How far the lower layer's peak may lie to the right, in doublings: the centres of two histograms
/// of the same requests differ by chance and by rounding.
const RIGHT_MOST: f64 = 0.5;
/// How far it may lie to the left: Eq. 3.3.
const LEFT_MOST: f64 = 1.0;

/// Compares all operations of the upper layer with those that they call, greatest total latency
/// first. An operation that `calls` does not list calls the operation of its own name.
///
/// # Errors
/// Layers whose latencies have different units or resolutions cannot be compared.
pub fn differences<'a>(
    upper: &'a Profile,
    lower: &Profile,
    calls: &[Calls],
    detection: &Detection,
) -> Result<Vec<Difference<'a>>> {
    check(upper, lower)?;
    let operations = upper.by_total().into_iter();
    Ok(operations
        .map(|(name, histogram)| {
            difference(name, histogram, &called(name, lower, calls), detection)
        })
        .collect())
}

/// Returns the operations of the lower layer that an operation calls.
fn called<'b>(name: &str, lower: &'b Profile, calls: &[Calls]) -> Vec<(&'b str, &'b Histogram)> {
    let listed = calls.iter().find(|one| one.upper == name);
    let is_called = |one: &str| match listed {
        Some(listed) => listed.lower.iter().any(|lower| lower == one),
        None => one == name,
    };
    let operations = lower.operations();
    operations.filter(|(one, _)| is_called(one)).collect()
}

fn check(upper: &Profile, lower: &Profile) -> Result<()> {
    let (first, second) = (upper.unit(), lower.unit());
    if !first.is_comparable_to(second) {
        return Err(AnalysisError::Units {
            first: first.to_string(),
            second: second.to_string(),
        });
    }
    let (first, second) = (upper.resolution().get(), lower.resolution().get());
    if first != second {
        return Err(AnalysisError::Resolutions { first, second });
    }
    Ok(())
}

fn difference<'a>(
    operation: &'a str,
    histogram: &Histogram,
    called: &[(&str, &Histogram)],
    detection: &Detection,
) -> Difference<'a> {
    let upper_operations = View::from(histogram).operations();
    let count =
        |sum: u64, (_, one): &(&str, &Histogram)| sum.saturating_add(View::from(*one).operations());
    let lower_operations = called.iter().fold(0, count);
    let total = histogram.counts().total as f64;
    let below: f64 = called
        .iter()
        .map(|(_, one)| one.counts().total as f64)
        .sum();
    let lower: Vec<(&str, Peak)> = called
        .iter()
        .flat_map(|(name, one)| {
            let found = peaks(View::from(*one), detection);
            found.into_iter().map(|peak| (*name, peak))
        })
        .collect();
    let found = peaks(View::from(histogram), detection).into_iter();
    Difference {
        operation,
        upper_operations,
        lower_operations,
        passed: share(lower_operations as f64, upper_operations as f64),
        own_latency: total - below,
        own_share: share(total - below, total),
        peaks: found
            .map(|peak| {
                let origin = origin(&peak, &lower);
                (peak, origin)
            })
            .collect(),
    }
}

fn origin(peak: &Peak, lower: &[(&str, Peak)]) -> Origin {
    let right_of = |other: &Peak| (peak.centre / other.centre).log2();
    let fits = |(_, other): &&(&str, Peak)| (-RIGHT_MOST..=LEFT_MOST).contains(&right_of(other));
    let apart = |other: &Peak| right_of(other).abs();
    let nearest = lower
        .iter()
        .filter(fits)
        .min_by(|(_, a), (_, b)| apart(a).total_cmp(&apart(b)));
    nearest.map_or(Origin::Here, |(operation, peak)| Origin::Below {
        operation: (*operation).to_owned(),
        peak: peak.clone(),
    })
}
