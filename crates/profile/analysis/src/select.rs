//! Selects the few operations that are worth a person's look, and says why.
//!
//! "It is often useful to select operations that contribute the most to the total latency under a
//! given workload. Moreover, it is often desirable to compare two sets of profiles and select a
//! smaller subset of operations with substantially different latency distributions. […] Both of
//! these operations can be performed automatically, leaving a much smaller and simpler set of
//! profiles for manual analysis." (§3.2)
//!
//! The comparison of two profiles "can be used to compare all profiles in a complete set of profiles
//! and select only these profiles that are correlated" (§3.1.1): [`related`].

use crate::Result;
use crate::compare::complete::{Compared, Comparison};
use crate::compare::groupshift::{self, Group, Shifts};
use crate::compare::phases::{Difference, Verdict};
use crate::compare::{Context, Method, percent};
use crate::peaks::{Detection, Peak, peaks};
use crate::preprocess::Preprocessed;
use crate::view::{Pair, View};

/// Why an operation is worth a look.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// It holds this share of the profile's total latency.
    LatencyShare(f64),
    /// Few requests cause most of its latency: "A small number of invocations in buckets 22–25
    /// (1 ms–30 ms) are responsible for a large portion of the operation's overall delay." (§3.1.5)
    SlowPeak(Peak),
    /// Only the first profile has the operation.
    OnlyFirst,
    /// Only the second profile has the operation.
    OnlySecond,
    /// The method rates the difference above its threshold.
    Score {
        /// The method.
        method: Method,
        /// Its score in percent.
        percent: f64,
        /// The threshold in percent.
        threshold_percent: f64,
    },
    /// A preparing phase found the profiles different.
    Phase(Difference),
    /// Only the second profile has this peak.
    Appeared(Group),
    /// Only the first profile has this peak.
    Vanished(Group),
    /// The peak lies elsewhere.
    Moved(Group),
    /// The peak holds more or fewer requests.
    Grew(Group),
}

/// An operation worth a look.
#[derive(Clone, Debug, PartialEq)]
pub struct Selected<'a> {
    /// Name of the operation.
    pub operation: &'a str,
    /// How much latency is at stake: its total latency, or the difference between two profiles
    /// after the runs' scale.
    pub latency: f64,
    /// Why, at least one reason.
    pub reasons: Vec<Reason>,
}

/// The criteria by which operations are selected.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// Select operations until they hold this share of the total latency.
    pub covered_share: f64,
    /// A slow peak holds at most this share of an operation's requests …
    pub slow_operations_most: f64,
    /// … and at least this share of its latency.
    pub slow_latency_least: f64,
    /// Criteria for a peak.
    pub detection: Detection,
    /// Two profiles differ if the score exceeds this; `None`: the method's own threshold.
    pub threshold_percent: Option<f64>,
}

impl Default for Selection {
    /// Operations that hold 99 % of the latency, as `lookup`, `read` and `readdir` do in Table 3.1;
    /// slow peaks of at most 5 % of the requests and at least half the latency.
    fn default() -> Self {
        Self {
            covered_share: 0.99,
            slow_operations_most: 0.05,
            slow_latency_least: 0.5,
            detection: Detection::default(),
            threshold_percent: None,
        }
    }
}

/// Selects operations of one profile, greatest total latency first.
#[must_use]
pub fn of_profile<'a>(profile: &Preprocessed<'a>, selection: &Selection) -> Vec<Selected<'a>> {
    let mut covered = 0.0;
    let mut selected = Vec::new();
    for row in &profile.rows {
        if covered >= selection.covered_share {
            break;
        }
        covered += row.latency_share;
        let mut reasons = vec![Reason::LatencyShare(row.latency_share)];
        let is_slow = |peak: &Peak| {
            peak.operations_share <= selection.slow_operations_most
                && peak.latency_share >= selection.slow_latency_least
        };
        let slow = peaks(View::from(row.histogram), &selection.detection).into_iter();
        reasons.extend(slow.filter(is_slow).map(Reason::SlowPeak));
        selected.push(Selected {
            operation: row.operation,
            latency: row.latency,
            reasons,
        });
    }
    selected
}

/// Selects the operations that differ between two profiles, greatest difference in latency first.
#[must_use]
pub fn of_comparison<'a>(comparison: &Comparison<'a>, selection: &Selection) -> Vec<Selected<'a>> {
    let method = comparison.method;
    let threshold = selection.threshold_percent;
    let threshold = threshold.unwrap_or(method.threshold_percent());
    let scale = comparison.context.scale.unwrap_or(1.0);
    let mut selected: Vec<Selected<'a>> = comparison
        .rows
        .iter()
        .filter(|row| row.score > threshold)
        .map(|row| Selected {
            operation: row.operation,
            latency: (row.second_latency - row.first_latency * scale).abs(),
            reasons: reasons(row, method, threshold),
        })
        .collect();
    selected.sort_by(|a, b| {
        let order = b.latency.total_cmp(&a.latency);
        order.then_with(|| a.operation.cmp(b.operation))
    });
    selected
}

fn reasons(row: &Compared<'_>, method: Method, threshold_percent: f64) -> Vec<Reason> {
    let mut reasons = match (row.first_operations, row.second_operations) {
        (_, 0) => vec![Reason::OnlyFirst],
        (0, _) => vec![Reason::OnlySecond],
        _ => vec![Reason::Score {
            method,
            percent: row.score,
            threshold_percent,
        }],
    };
    if let Some(Verdict::Different(difference)) = &row.verdict
        && *difference != Difference::OneEmpty
    {
        reasons.push(Reason::Phase(difference.clone()));
    }
    let least = Method::GroupShift.threshold_percent();
    let changed = row.groups.iter().filter(|group| group.percent() > least);
    reasons.extend(changed.map(|group| change(*group)));
    reasons
}

/// Names the change of a group. Fewer than one in this many of the other profile's requests are
/// none: a peak has tails, and its neighbours' tails reach into it.
const NONE_IN: u64 = 20;

fn change(group: Group) -> Reason {
    if group.first.saturating_mul(NONE_IN) <= group.second {
        Reason::Appeared(group)
    } else if group.second.saturating_mul(NONE_IN) <= group.first {
        Reason::Vanished(group)
    } else if group.moved >= group.grown {
        Reason::Moved(group)
    } else {
        Reason::Grew(group)
    }
}

/// Two operations of one profile whose latency distributions are alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Related<'a> {
    /// The operation with the greater total latency.
    pub first: &'a str,
    /// The other one.
    pub second: &'a str,
    /// GROUPSHIFT of their distributions, in percent.
    pub score: f64,
    /// TOTOPS of the two, in percent.
    pub operations_percent: f64,
}

/// Returns the pairs of operations whose counts and distributions are alike, as those of Ext2's
/// `lookup` and `read_inode`: "The fact that the number of operations in the corresponding peaks is
/// the same, and that `read_inode` is slightly faster than `lookup`, suggests that `read_inode` is
/// called by the `lookup` operation, which is in fact the case." (§3.1.1)
///
/// The scores of both are at most `most_percent`. An operation and the one that it calls may lie
/// some tens of percent apart.
///
/// # Errors
/// Histograms of different resolutions cannot be compared.
pub fn related<'a>(
    profile: &Preprocessed<'a>,
    shifts: &Shifts,
    most_percent: f64,
) -> Result<Vec<Related<'a>>> {
    let mut found = Vec::new();
    for (at, first) in profile.rows.iter().enumerate() {
        for second in &profile.rows[at + 1..] {
            let operations_percent = percent(first.operations as f64, second.operations as f64);
            if operations_percent > most_percent {
                continue;
            }
            let pair = Pair::new(View::from(first.histogram), View::from(second.histogram))?;
            let score = groupshift::score(pair, &Context::default(), shifts);
            if score <= most_percent {
                found.push(Related {
                    first: first.operation,
                    second: second.operation,
                    score,
                    operations_percent,
                });
            }
        }
    }
    Ok(found)
}
