//! Which values go with which latency peak: "we sort OS requests based on the peak they belong to
//! according to their measured latency. We then store logarithmic profiles of internal OS parameters
//! in separate profiles for separate peaks" (§3.1.6).
//!
//! A value *tells* a peak if most calls with that value are in it. Two neighbouring peaks are
//! *separated* as far as their values differ: by the total variation of their distributions, the
//! share of the calls that would have to have other values.

use trawl_histogram::{Correlated, Error, Histogram};

use crate::peaks::{Detection, Peak, peaks};
use crate::preprocess::share;
use crate::view::View;

/// Least share of the calls with a value that are in one peak, if the value tells the peak.
const TELLING_LEAST: f64 = 0.8;

/// Least share of a peak's calls that have a value, if the value tells the peak.
const COMMON_LEAST: f64 = 0.05;

/// Least difference of the values of two peaks that the values separate.
const SEPARATED_LEAST: f64 = 0.75;

/// The values of an operation's calls, by peak.
#[derive(Clone, Debug, PartialEq)]
pub struct Correlation {
    /// The peaks, the lowest latency first.
    pub peaks: Vec<PeakValues>,
    /// Calls with a value that are in no peak.
    pub outside: u64,
    /// The difference of the values of each two neighbouring peaks, 0 (alike) to 1 (no value is in
    /// both).
    pub differences: Vec<f64>,
}

/// The values of the calls in one peak.
#[derive(Clone, Debug, PartialEq)]
pub struct PeakValues {
    /// The peak.
    pub peak: Peak,
    /// The values.
    pub values: Histogram,
    /// The values that tell this peak from others.
    pub telling: Vec<Telling>,
}

/// Values that are in one peak rather than in others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Telling {
    /// First bucket of the values.
    pub first: u16,
    /// Last bucket of the values.
    pub last: u16,
    /// Share of the peak's calls that have such a value, 0 to 1.
    pub of_peak: f64,
    /// Share of the calls with such a value that are in the peak, 0 to 1.
    pub of_value: f64,
}

impl Correlation {
    /// Returns whether the values separate all neighbouring peaks, of which there are at least two.
    #[must_use]
    pub fn is_separated(&self) -> bool {
        let is_far = |difference: &f64| *difference >= SEPARATED_LEAST;
        !self.differences.is_empty() && self.differences.iter().all(is_far)
    }
}

/// Finds the peaks of an operation, and the values in each.
///
/// # Errors
/// Fails if counts are too great to be added.
pub fn correlate(
    operation: &str,
    histogram: &Histogram,
    correlated: &Correlated,
    detection: &Detection,
) -> Result<Correlation, Error> {
    let found = peaks(View::from(histogram), detection);
    let ranges: Vec<_> = found.iter().map(Peak::buckets).collect();
    let joined = correlated.joined(operation, &ranges)?;
    let values: Vec<&Histogram> = joined.iter().map(|peak| peak.values()).collect();
    let all = correlated.peaks(operation).iter();
    let all: u128 = all.map(|peak| peak.values().recorded()).sum();
    let inside: u128 = values.iter().map(|one| one.recorded()).sum();
    let differences = values.windows(2).map(|two| difference(two[0], two[1]));
    Ok(Correlation {
        outside: u64::try_from(all.saturating_sub(inside)).unwrap_or(u64::MAX),
        differences: differences.collect(),
        peaks: (found.into_iter().enumerate())
            .map(|(at, peak)| PeakValues {
                peak,
                values: values[at].clone(),
                telling: telling(&values, at),
            })
            .collect(),
    })
}

/// Returns the total variation of two distributions; 0 if either is empty.
fn difference(one: &Histogram, other: &Histogram) -> f64 {
    let (ours, theirs) = (one.recorded() as f64, other.recorded() as f64);
    if ours == 0.0 || theirs == 0.0 {
        return 0.0;
    }
    let most = one.buckets().len().max(other.buckets().len());
    let part = |at: u16| (one.count(at) as f64 / ours - other.count(at) as f64 / theirs).abs();
    (0..most as u16).map(part).sum::<f64>() / 2.0
}

/// Returns the values that tell a peak from the others; neighbouring ones together. A single peak is
/// told by nothing.
fn telling(values: &[&Histogram], peak: usize) -> Vec<Telling> {
    let Some(own) = values.get(peak).filter(|_| values.len() > 1) else {
        return Vec::new();
    };
    let everywhere = |at: u16| values.iter().map(|one| one.count(at) as f64).sum::<f64>();
    let is_own = |at: &u16| {
        let count = own.count(*at) as f64;
        count > 0.0 && share(count, everywhere(*at)) >= TELLING_LEAST
    };
    let mut runs: Vec<(u16, u16)> = Vec::new();
    for at in (0..own.buckets().len() as u16).filter(is_own) {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == at => *last = at,
            _ => runs.push((at, at)),
        }
    }
    let told = runs.into_iter().map(|(first, last)| {
        let count: f64 = (first..=last).map(|at| own.count(at) as f64).sum();
        Telling {
            first,
            last,
            of_peak: share(count, own.recorded() as f64),
            of_value: share(count, (first..=last).map(everywhere).sum()),
        }
    });
    told.filter(|one| one.of_peak >= COMMON_LEAST).collect()
}
