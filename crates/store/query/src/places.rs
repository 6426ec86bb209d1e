//! Finds segments by path, for callers that ask about many directories: a query
//! about one directory looks only at the segments around it, however many there
//! are.

use crate::index::{SegmentAt, View};
use crate::locate::Reach;
use std::cmp::Ordering;
use std::collections::HashMap;
use trawl_format::Glance;
use trawl_format::schema::Table;
use trawl_model::path;

/// Contents that few segments have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Having {
    /// An own row, stored apart from a listing.
    OwnRow,
    /// Attribute values.
    Xattrs,
    /// Issues.
    Issues,
}

impl Having {
    const ALL: [Having; 3] = [Having::OwnRow, Having::Xattrs, Having::Issues];

    pub(crate) fn is_of(self, glance: &Glance<'_>) -> bool {
        match self {
            Having::OwnRow => glance.own_row,
            Having::Xattrs => glance.has(Table::Xattrs),
            Having::Issues => glance.has(Table::Issues),
        }
    }
}

/// An index of the segments that a view begins with.
#[derive(Debug, Default)]
pub(crate) struct SegmentIndex {
    segments: usize,
    /// Segments with directories, sorted by their first directory.
    by_first: Vec<SegmentAt>,
    /// A binary tree over `by_first`. Each node is the segment below it whose
    /// last directory comes last; the leaves are the second half.
    latest: Vec<Option<SegmentAt>>,
    having: [Vec<SegmentAt>; 3],
    /// Segments with an own row, by the directory of that entry.
    own_rows: HashMap<Box<[u8]>, Vec<SegmentAt>>,
}

impl SegmentIndex {
    /// Indexes all segments of a view.
    pub(crate) fn of(view: &View) -> SegmentIndex {
        let mut places = SegmentIndex::default();
        for (at, _, glance) in view.glances() {
            places.segments = at + 1;
            if glance.dirs.is_some() {
                places.by_first.push(at);
            }
            for what in Having::ALL {
                if what.is_of(&glance) {
                    places.having[what as usize].push(at);
                }
            }
            if let Some((first, _)) = glance.dirs.filter(|_| glance.own_row) {
                places.own_rows.entry(first.into()).or_default().push(at);
            }
        }
        places
            .by_first
            .sort_by(|a, b| path::cmp(ends(view, *a).0, ends(view, *b).0));
        let leaves = places.by_first.len().next_power_of_two();
        places.latest = vec![None; leaves];
        places
            .latest
            .extend(places.by_first.iter().copied().map(Some));
        places.latest.resize(2 * leaves, None);
        for node in (1..leaves).rev() {
            let (a, b) = (places.latest[2 * node], places.latest[2 * node + 1]);
            places.latest[node] = match (a, b) {
                (Some(a), Some(b)) => {
                    let order = path::cmp(ends(view, a).1, ends(view, b).1);
                    Some(if order == Ordering::Less { b } else { a })
                }
                (one, other) => one.or(other),
            };
        }
        places
    }

    /// Number of segments.
    pub(crate) fn segments(&self) -> usize {
        self.segments
    }

    pub(crate) fn having(&self, what: Having) -> &[SegmentAt] {
        &self.having[what as usize]
    }

    /// Segments with the own row of an entry of `dir`; ascending.
    pub(crate) fn own_rows_in(&self, dir: &[u8]) -> &[SegmentAt] {
        self.own_rows.get(dir).map_or(&[], Vec::as_slice)
    }

    /// Segments that can have listings of `dir`, or of its subtree; ascending.
    pub(crate) fn near(&self, view: &View, dir: &[u8], reach: Reach) -> Vec<SegmentAt> {
        let begins_in_time = |at: &SegmentAt| {
            let first = ends(view, *at).0;
            let order = match reach {
                Reach::Itself => path::cmp(first, dir),
                Reach::Subtree => path::cmp_subtree(first, dir),
            };
            order != Ordering::Greater
        };
        let count = self.by_first.partition_point(begins_in_time);
        let leaves = self.latest.len() / 2;
        let mut found = Vec::new();
        let mut pending = vec![(1, 0, leaves)];
        while let Some((node, start, end)) = pending.pop() {
            if start >= count {
                continue;
            }
            let Some(at) = self.latest.get(node).copied().flatten() else {
                continue;
            };
            if path::cmp(ends(view, at).1, dir) == Ordering::Less {
                continue;
            }
            if end - start == 1 {
                found.push(at);
                continue;
            }
            let middle = start + (end - start) / 2;
            pending.push((2 * node, start, middle));
            pending.push((2 * node + 1, middle, end));
        }
        found.sort_unstable();
        found
    }
}

/// The first and the last directory of a segment.
fn ends(view: &View, at: SegmentAt) -> (&[u8], &[u8]) {
    let glance = view.glance(at).map(|(_, glance)| glance);
    glance.and_then(|glance| glance.dirs).unwrap_or_default()
}
