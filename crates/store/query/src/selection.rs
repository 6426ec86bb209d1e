//! A selection of rows that a walk is restricted to.
//!
//! A caller that knows by other means which rows may matter (for example from
//! an index of names) passes them to a walk. The walk then visits no other rows
//! and decodes no page without a selected row.

use crate::index::SegmentAt;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// The rows that a walk visits, for each segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowSelection {
    /// Ranges that are ascending, not empty, and neither overlap nor touch.
    segments: HashMap<SegmentAt, Vec<Range<u64>>>,
    /// Segments for which the names of all selected rows have been examined.
    looked_at: HashSet<SegmentAt>,
}

impl RowSelection {
    /// Restricts a segment (numbered as in
    /// [`View::stored_segment`](crate::View::stored_segment)) to these rows of
    /// its entries table. Segments without a restriction are visited
    /// completely; several restrictions of one segment are intersected.
    pub fn restrict(&mut self, segment: SegmentAt, mut ranges: Vec<Range<u64>>) {
        ranges.retain(|range| !range.is_empty());
        ranges.sort_unstable_by_key(|range| range.start);
        ranges.dedup_by(|later, kept| {
            let meets = later.start <= kept.end;
            if meets {
                kept.end = kept.end.max(later.end);
            }
            meets
        });
        let both = match self.segments.remove(&segment) {
            Some(before) => ranges.iter().flat_map(|r| within(&before, r)).collect(),
            None => ranges,
        };
        self.segments.insert(segment, both);
    }

    /// Records that the names of a segment's selected rows have all been
    /// examined: doing so again would rule out no more rows.
    pub(crate) fn set_looked_at(&mut self, segment: SegmentAt) {
        self.looked_at.insert(segment);
    }

    /// True if [`RowSelection::set_looked_at`] was called.
    pub(crate) fn is_looked_at(&self, segment: SegmentAt) -> bool {
        self.looked_at.contains(&segment)
    }

    /// The selected rows of a segment; `None` for all.
    pub(crate) fn of(&self, segment: SegmentAt) -> Option<&[Range<u64>]> {
        self.segments.get(&segment).map(Vec::as_slice)
    }
}

/// The parts of `ranges`, which must be ascending, that lie in `rows`.
pub(crate) fn within<'r>(
    ranges: &'r [Range<u64>],
    rows: &Range<u64>,
) -> impl DoubleEndedIterator<Item = Range<u64>> + use<'r> {
    let Range { start, end } = *rows;
    let from = ranges.partition_point(|range| range.end <= start);
    let to = ranges.partition_point(|range| range.start < end).max(from);
    let inside = ranges.get(from..to).unwrap_or_default();
    inside
        .iter()
        .map(move |range| range.start.max(start)..range.end.min(end))
}

/// The parts of `rows` that do not lie in `ranges`, which must be ascending.
pub(crate) fn without<'r>(
    ranges: &'r [Range<u64>],
    rows: &Range<u64>,
) -> impl Iterator<Item = Range<u64>> + use<'r> {
    let (mut start, end) = (rows.start, rows.end);
    let last = end..end;
    let left_out = within(ranges, rows).chain([last]);
    let pieces = left_out.map(move |range| {
        let piece = start..range.start;
        start = range.end;
        piece
    });
    pieces.filter(|piece| !piece.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(ranges: &[Range<u64>]) -> Vec<u64> {
        ranges.iter().cloned().flatten().collect()
    }

    fn any_ranges() -> impl Strategy<Value = Vec<Range<u64>>> {
        let range = (0u64..60, 0u64..9).prop_map(|(start, len)| start..start + len);
        proptest::collection::vec(range, 0..9)
    }

    proptest! {
        #[test]
        fn what_is_said_twice_holds_both_times(a in any_ranges(), b in any_ranges(), cut in any_ranges()) {
            let mut selection = RowSelection::default();
            selection.restrict(3, a.clone());
            selection.restrict(3, b.clone());
            let (a, b) = (rows(&a), rows(&b));
            let wanted: Vec<u64> = (0..99).filter(|row| a.contains(row) && b.contains(row)).collect();
            let got = selection.of(3).unwrap();
            prop_assert!(got.iter().all(|range| !range.is_empty()));
            prop_assert!(got.windows(2).all(|pair| pair[0].end <= pair[1].start));
            prop_assert_eq!(rows(got), wanted.clone());
            prop_assert_eq!(selection.of(2), None);
            for cut in cut {
                let wanted: Vec<u64> = wanted.iter().copied().filter(|row| cut.contains(row)).collect();
                prop_assert_eq!(rows(&within(got, &cut).collect::<Vec<_>>()), wanted.clone());
                let others = cut.clone().filter(|row| !wanted.contains(row)).collect::<Vec<_>>();
                prop_assert_eq!(rows(&without(got, &cut).collect::<Vec<_>>()), others);
            }
        }
    }
}
