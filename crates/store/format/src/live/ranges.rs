//! Represents sets of rows as ranges.

use std::ops::Range;

/// Adds rows to a list of ranges that is ascending, neither overlapping nor touching, and keeps it
/// so.
pub fn add(ranges: &mut Vec<Range<u64>>, rows: Range<u64>) {
    if rows.is_empty() {
        return;
    }
    let from = ranges.partition_point(|known| known.end < rows.start);
    let to = ranges.partition_point(|known| known.start <= rows.end);
    let mut merged = rows;
    for known in ranges.get(from..to).unwrap_or_default() {
        merged = merged.start.min(known.start)..merged.end.max(known.end);
    }
    ranges.splice(from..to.max(from), [merged]);
}

/// True if the list is in the form that [`add`] keeps.
pub fn is_sound(ranges: &[Range<u64>]) -> bool {
    ranges.iter().all(|range| range.start < range.end)
        && ranges.windows(2).all(|pair| pair[0].end < pair[1].start)
}

/// Returns the parts of `rows` that lie in `ranges`, which are ascending.
pub fn within(ranges: &[Range<u64>], rows: &Range<u64>) -> Vec<Range<u64>> {
    let from = ranges.partition_point(|range| range.end <= rows.start);
    let ranges = ranges.get(from..).unwrap_or_default().iter();
    let ranges = ranges.take_while(|range| range.start < rows.end);
    ranges
        .map(|range| range.start.max(rows.start)..range.end.min(rows.end))
        .collect()
}

/// Returns the parts of `rows` that do not lie in `ranges`, which are ascending.
pub fn without(ranges: &[Range<u64>], rows: &Range<u64>) -> Vec<Range<u64>> {
    let mut start = rows.start;
    let mut pieces = Vec::new();
    for range in within(ranges, rows) {
        pieces.push(start..range.start);
        start = range.end;
    }
    pieces.push(start..rows.end);
    pieces.retain(|piece| piece.start < piece.end);
    pieces
}

/// Returns the number of rows.
pub fn count(ranges: &[Range<u64>]) -> u64 {
    ranges.iter().map(|range| range.end - range.start).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_hold_what_was_added(added in proptest::collection::vec((0u64..80, 0u64..9), 0..20)) {
            let mut ranges = Vec::new();
            let mut rows = std::collections::BTreeSet::new();
            for (start, len) in added {
                add(&mut ranges, start..start + len);
                rows.extend(start..start + len);
                let some = 5..60;
                let both = [within(&ranges, &some), without(&ranges, &some)];
                prop_assert!(both.iter().all(|ranges| ranges.iter().all(|r| !r.is_empty())));
                let is_in = |row: &u64| ranges.iter().any(|range| range.contains(row));
                let (inside, outside): (Vec<u64>, Vec<u64>) = some.clone().partition(is_in);
                let [within, without] = both.map(|ranges| ranges.into_iter().flatten());
                prop_assert!(within.eq(inside) && without.eq(outside));
                prop_assert!(is_sound(&ranges));
                prop_assert_eq!(count(&ranges), rows.len() as u64);
            }
            prop_assert!(ranges.into_iter().flatten().eq(rows));
        }
    }
}
