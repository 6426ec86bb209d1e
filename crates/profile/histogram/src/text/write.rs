//! Writes the text format.

use std::fmt::Write as _;

use super::{EMPTY, PREFIX};
use crate::Sliced;

/// Returns a profile as text, with columns from a bucket that contains the lower ones too: 0 to lose
/// nothing. All slices have the same number of columns.
pub fn write(profile: &Sliced, first_bucket: u16) -> String {
    let first = usize::from(first_bucket);
    let used = profile
        .whole()
        .operations()
        .map(|(_, one)| one.buckets().len());
    let columns = used.max().unwrap_or(0).saturating_sub(first).max(1);
    let mut text = String::new();
    for (name, one) in profile.whole().operations() {
        let counts = one.counts();
        let entered = counts.entered.saturating_add(counts.carried);
        if entered == 0 {
            continue;
        }
        // Writing to a string never fails.
        let _ = writeln!(text, "{PREFIX}{name} {entered} {}", counts.total);
        for slice in profile.slices() {
            write_slice(&mut text, slice.buckets(name), first, columns);
        }
    }
    text
}

fn write_slice(text: &mut String, buckets: &[u64], first: usize, columns: usize) {
    if buckets.is_empty() {
        text.push_str(EMPTY);
    } else {
        let (lower, rest) = buckets.split_at(buckets.len().min(first + 1));
        // Counts of one operation, whose sum a check has compared with a number of 64 bits.
        let lowest = lower
            .iter()
            .fold(0_u64, |sum, one| sum.saturating_add(*one));
        let rest = rest.iter().copied().chain(std::iter::repeat(0));
        for count in std::iter::once(lowest).chain(rest).take(columns) {
            let _ = write!(text, " {count}");
        }
    }
    text.push('\n');
}
