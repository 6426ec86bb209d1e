//! Prepares a complete profile for a reader: sorts its operations and leaves out the small ones.
//!
//! "If the goal of profiling is performance optimization, then we usually start our analysis by
//! selecting a subset of profiles that contribute the most to the total latency." (§3.1.1) "Unless
//! otherwise specified, figures presented in this dissertation show profiles with operations sorted
//! according to their total latency." (§3.1.1)
//!
//! Latencies here are the recorded totals, not estimates from buckets. An operation that calls
//! another one contains its latency, so shares of a whole overlap where `read` calls `readpage`.

use trawl_histogram::Histogram;

/// An operation with its part of the whole.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Name of the operation.
    pub operation: &'a str,
    /// Its histogram.
    pub histogram: &'a Histogram,
    /// Requests with a latency.
    pub operations: u64,
    /// Share of all operations, 0 to 1.
    pub operations_share: f64,
    /// Total latency.
    pub latency: f64,
    /// Share of the total latency of all operations, 0 to 1.
    pub latency_share: f64,
}

/// Operations that were left out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LeftOut {
    /// How many.
    pub operations: usize,
    /// Their share of the total latency.
    pub latency_share: f64,
}

/// A profile, sorted.
#[derive(Clone, Debug, Default)]
pub struct Preprocessed<'a> {
    /// The operations that contribute, greatest total latency first; equal ones by name.
    pub rows: Vec<Row<'a>>,
    /// The others.
    pub left_out: LeftOut,
    /// Requests of all operations.
    pub operations: u64,
    /// Total latency of all operations.
    pub latency: f64,
}

/// Sorts operations by total latency, and leaves out those that hold less than `least_share` of it.
/// Operations without requests are always left out.
#[must_use]
pub fn preprocess<'a>(
    operations: impl IntoIterator<Item = (&'a str, &'a Histogram)>,
    least_share: f64,
) -> Preprocessed<'a> {
    let mut rows: Vec<Row<'a>> = operations.into_iter().map(row).collect();
    let add = |sum: u64, row: &Row<'_>| sum.saturating_add(row.operations);
    let all = rows.iter().fold(0, add);
    let latency: f64 = rows.iter().map(|row| row.latency).sum();
    for row in &mut rows {
        row.operations_share = share(row.operations as f64, all as f64);
        row.latency_share = share(row.latency, latency);
    }
    rows.sort_by(|a, b| {
        let order = b.latency.total_cmp(&a.latency);
        order.then_with(|| a.operation.cmp(b.operation))
    });
    let contributes = |row: &Row<'_>| row.operations > 0 && row.latency_share >= least_share;
    let (rows, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(contributes);
    Preprocessed {
        rows,
        left_out: LeftOut {
            operations: others.len(),
            latency_share: others.iter().map(|row| row.latency_share).sum(),
        },
        operations: all,
        latency,
    }
}

fn row<'a>((operation, histogram): (&'a str, &'a Histogram)) -> Row<'a> {
    Row {
        operation,
        histogram,
        operations: u64::try_from(histogram.recorded()).unwrap_or(u64::MAX),
        operations_share: 0.0,
        latency: histogram.counts().total as f64,
        latency_share: 0.0,
    }
}

/// Returns part / whole; 0 of nothing.
pub(crate) fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
