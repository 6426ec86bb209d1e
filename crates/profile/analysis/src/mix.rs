//! The operation mix of a workload, as a whole and by phase (§8.1).
//!
//! "We show that even seemingly similar mixes of source files generate considerably different VFS
//! operation mixes. […] We analyzed the preparation and compilation phases separately, as well as
//! together (which we call a 'whole build')." (§8.1)
//!
//! The paper knew its phases, and ran them apart. Here they are found in a sliced profile: every
//! slice has a mix, the shares of its operations; neighbouring slices whose mixes differ least are
//! joined, again and again, until every two neighbours differ by at least
//! [`Detection::difference_least`]. The difference is the *total variation*: the share of operations
//! that would have to be other operations. Stretches with fewer operations than
//! [`Detection::operations_least`] are joined to a neighbour whatever they contain.
//!
//! Latencies are estimated from buckets, so those of the phases add up to the whole's.

use std::collections::BTreeMap;
use std::ops::Range;

use trawl_histogram::{Profile, Sliced};

use crate::preprocess::share;
use crate::view::View;

/// The operations of a workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mix {
    /// Operations that occurred, most requests first; equal ones by name.
    pub rows: Vec<Part>,
    /// Number of all requests.
    pub operations: u64,
    /// Estimated total latency.
    pub latency: f64,
}

/// One operation's part of a mix.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Name of the operation.
    pub operation: String,
    /// Requests.
    pub operations: u64,
    /// Share of all requests.
    pub operations_share: f64,
    /// Estimated latency.
    pub latency: f64,
    /// Share of the estimated total latency.
    pub latency_share: f64,
}

impl Mix {
    /// Returns how many requests of one operation there are for each one of another: "the ratio of
    /// the number of reads to the number of writes is 26,458 / 35,060 = 0.75 for Am-utils" (§8.1).
    /// `None` if the other does not occur.
    #[must_use]
    pub fn ratio(&self, operation: &str, other: &str) -> Option<f64> {
        let count = |name: &str| {
            let part = self.rows.iter().find(|part| part.operation == name);
            part.map_or(0, |part| part.operations)
        };
        let others = count(other);
        (others > 0).then(|| count(operation) as f64 / others as f64)
    }
}

/// Neighbouring slices with one mix.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// The slices.
    pub slices: Range<usize>,
    /// Their mix.
    pub mix: Mix,
}

/// Criteria for a phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detection {
    /// Least difference of the mixes of two neighbouring phases, 0 to 1.
    pub difference_least: f64,
    /// Fewest operations in a phase.
    pub operations_least: u64,
}

impl Default for Detection {
    /// A quarter of the operations, among at least 100: their shares are then known to ±0.05 or
    /// better.
    fn default() -> Self {
        Self {
            difference_least: 0.25,
            operations_least: 100,
        }
    }
}

/// Returns the mix of a profile.
#[must_use]
pub fn of_profile(profile: &Profile) -> Mix {
    let operations = profile.operations();
    mix(operations.map(|(name, one)| (name, View::from(one))))
}

/// Returns the mix of some slices: phases that the caller knows, as the paper did. Slices that do not
/// exist are left out.
#[must_use]
pub fn of_slices(sliced: &Sliced, slices: Range<usize>) -> Mix {
    let resolution = sliced.whole().resolution();
    let chosen = slices.start..slices.end.min(sliced.slices().len());
    let chosen = sliced.slices().get(chosen).unwrap_or(&[]).iter();
    let operations = chosen.flat_map(|slice| slice.operations());
    mix(operations.map(|(name, buckets)| (name, View::new(buckets, resolution))))
}

fn mix<'a>(operations: impl Iterator<Item = (&'a str, View<'a>)>) -> Mix {
    let mut sums: BTreeMap<&str, (u64, f64)> = BTreeMap::new();
    for (name, view) in operations {
        let sum = sums.entry(name).or_default();
        sum.0 = sum.0.saturating_add(view.operations());
        sum.1 += view.latency();
    }
    sums.retain(|_, (operations, _)| *operations > 0);
    let all = sums
        .values()
        .fold(0_u64, |sum, one| sum.saturating_add(one.0));
    let latency: f64 = sums.values().map(|one| one.1).sum();
    let part = |(name, one): (&&str, &(u64, f64))| Part {
        operation: (*name).to_owned(),
        operations: one.0,
        operations_share: share(one.0 as f64, all as f64),
        latency: one.1,
        latency_share: share(one.1, latency),
    };
    let mut rows: Vec<Part> = sums.iter().map(part).collect();
    rows.sort_by_key(|part| std::cmp::Reverse(part.operations));
    Mix {
        rows,
        operations: all,
        latency,
    }
}

/// Slices beyond this number are joined in equal groups before phases are sought: the search takes
/// the square of their number.
const SLICES_SOUGHT_MOST: usize = 4096;

/// Finds the phases of a sliced profile, the earliest first. Every slice belongs to one.
#[must_use]
pub fn by_phase(sliced: &Sliced, detection: &Detection) -> Vec<Phase> {
    let mut spans = spans(sliced);
    let mut gaps: Vec<f64> = spans
        .windows(2)
        .map(|two| two[0].difference(&two[1], detection))
        .collect();
    while let Some((at, gap)) = gaps
        .iter()
        .copied()
        .enumerate()
        .min_by(|a, b| a.1.total_cmp(&b.1))
    {
        if gap >= detection.difference_least {
            break;
        }
        let joined = spans.remove(at + 1);
        spans[at].join(&joined);
        gaps.remove(at);
        if at > 0 {
            gaps[at - 1] = spans[at - 1].difference(&spans[at], detection);
        }
        if at < gaps.len() {
            gaps[at] = spans[at].difference(&spans[at + 1], detection);
        }
    }
    spans
        .into_iter()
        .map(|span| Phase {
            mix: of_slices(sliced, span.slices.clone()),
            slices: span.slices,
        })
        .collect()
}

/// Neighbouring slices with the counts of their operations.
struct Span {
    slices: Range<usize>,
    counts: Vec<u64>,
    all: u64,
}

/// Returns one span for each slice, or for each group of slices if there are too many.
fn spans(sliced: &Sliced) -> Vec<Span> {
    let names: BTreeMap<&str, usize> = sliced
        .whole()
        .operations()
        .zip(0..)
        .map(|((name, _), at)| (name, at))
        .collect();
    let together = sliced.slices().len().div_ceil(SLICES_SOUGHT_MOST).max(1);
    let groups = sliced.slices().chunks(together).enumerate();
    let resolution = sliced.whole().resolution();
    groups
        .map(|(at, slices)| {
            let mut counts = vec![0_u64; names.len()];
            for (name, buckets) in slices.iter().flat_map(|slice| slice.operations()) {
                if let Some(&place) = names.get(name) {
                    let operations = View::new(buckets, resolution).operations();
                    counts[place] = counts[place].saturating_add(operations);
                }
            }
            let from = at * together;
            Span {
                slices: from..from + slices.len(),
                all: counts.iter().fold(0, |sum, one| sum.saturating_add(*one)),
                counts,
            }
        })
        .collect()
}

impl Span {
    fn join(&mut self, next: &Span) {
        self.slices.end = next.slices.end;
        self.all = self.all.saturating_add(next.all);
        for (count, more) in self.counts.iter_mut().zip(&next.counts) {
            *count = count.saturating_add(*more);
        }
    }

    /// Returns the total variation of two mixes. Less than any real difference if either has too
    /// few operations for a mix: those are joined first, to the neighbour that is more alike.
    fn difference(&self, next: &Span, detection: &Detection) -> f64 {
        let apart = |(n, m): (&u64, &u64)| {
            (share(*n as f64, self.all as f64) - share(*m as f64, next.all as f64)).abs()
        };
        let variation = self.counts.iter().zip(&next.counts).map(apart).sum::<f64>() / 2.0;
        if self.all.min(next.all) < detection.operations_least {
            variation - 2.0
        } else {
            variation
        }
    }
}
