//! Selects the rows that a walk needs by the values of their attributes, from named indices.
//!
//! A named index is optional: a segment whose file is missing, damaged or made for another segment
//! is read as without one. Rows that changed since the segment was written lie in other segments.

use super::pieces;
use crate::error::Result;
use crate::index::{SegmentAt, Start, View};
use crate::locate::{Reach, Span, scope};
use crate::segment::Scratch;
use crate::selection::RowSelection;
use crate::sweep::in_parallel;
use crate::walk::{Request, check_cancelled_by};
use std::ops::Range;
use trawl_indices::{Bounds, Definition, IndexFile};

/// A selection is worth using only if at most one row in this many remains: of more, nearly every
/// page has one.
const WORTH: u64 = 1024;
/// Number of rows that is always worth it.
const FEW_ROWS: u64 = 64;
/// Minimum number of rows of a segment with named indices: reading the columns of fewer is as fast.
pub(crate) const INDEX_ROWS_LEAST: u64 = 1000;

/// A question that an index can answer.
type Asked<'d> = (&'d Definition, Bounds);

/// Selects the rows below `start` that can lie within the filter's clauses according to named
/// indices, where `selection` has not selected rows already.
pub(crate) fn select_by_value(
    start: &Start,
    request: &Request<'_>,
    selection: Option<RowSelection>,
) -> Result<Option<RowSelection>> {
    let (view, filter): (&View, _) = (&start.view, &request.filter);
    if filter.clauses.is_empty() || !start.is_dir {
        return Ok(selection);
    }
    let definitions = view.named_indices();
    let asked = |one| Some((one, Bounds::of(one, filter)?));
    let asked: Vec<Asked<'_>> = definitions.iter().filter_map(asked).collect();
    if asked.is_empty() {
        return Ok(selection);
    }
    let spans = scope(view, &start.path, Reach::Subtree, &mut Scratch::default())?;
    let is_open = |spans: &&[Span]| {
        let segment = spans.first().map_or(0, |span| span.segment);
        let selected = selection.as_ref().and_then(|rows| rows.of(segment));
        let info = view.segment(segment);
        selected.is_none() && info.is_some_and(|(_, info)| info.rows >= INDEX_ROWS_LEAST)
    };
    let spans = spans.chunk_by(|a, b| a.segment == b.segment);
    let spans: Vec<&[Span]> = spans.filter(is_open).collect();
    let mut chosen: Vec<(SegmentAt, Vec<Range<u64>>)> = Vec::new();
    let choose = |spans: &&[Span], scratch: &mut Scratch| {
        check_cancelled_by(request.cancel)?;
        choose(view, spans, &asked, scratch)
    };
    in_parallel(&spans, request.threads, choose, |one| chosen.extend(one))?;
    if chosen.is_empty() {
        return Ok(selection);
    }
    let mut selection = selection.unwrap_or_default();
    for (segment, rows) in chosen {
        selection.restrict(segment, rows);
    }
    Ok(Some(selection))
}

/// Returns the rows of a segment that the index that rules out most leaves; `None` if none rules out
/// enough.
fn choose(
    view: &View,
    spans: &[Span],
    asked: &[Asked<'_>],
    scratch: &mut Scratch,
) -> Result<Option<(SegmentAt, Vec<Range<u64>>)>> {
    let segment = spans.first().map_or(0, |span| span.segment);
    let mut scope = Vec::with_capacity(spans.len());
    for span in spans {
        let rows = pieces::rows(view, span, scratch)?;
        scope.push(rows.start..rows.end.max(rows.start));
    }
    let (mut rows_max, mut best) = ((row_count(&scope) / WORTH).max(FEW_ROWS), None);
    for (definition, bounds) in asked {
        let Some(file) = open(view, segment, definition) else {
            continue;
        };
        // An index of a part says nothing of other rows.
        let mut others = outside(&scope, &file.listed());
        let Some(rows_max_listed) = rows_max.checked_sub(row_count(&others)) else {
            continue;
        };
        // What a damaged file would rule out is read from the tables.
        let found = file.rows_within(bounds, rows_max_listed).ok().flatten();
        if let Some(found) = found {
            others.extend(found);
            rows_max = row_count(&others);
            view.note_index(definition.name());
            best = Some((segment, others));
        }
    }
    Ok(best)
}

fn row_count(ranges: &[Range<u64>]) -> u64 {
    ranges.iter().map(|range| range.end - range.start).sum()
}

/// Returns the parts of ranges that lie outside another.
fn outside(ranges: &[Range<u64>], listed: &Range<u64>) -> Vec<Range<u64>> {
    let cut = |range: &Range<u64>| {
        [
            range.start..range.end.min(listed.start),
            range.start.max(listed.end)..range.end,
        ]
    };
    let parts = ranges.iter().flat_map(cut);
    parts.filter(|range| range.start < range.end).collect()
}

/// Opens the file of a named index for a segment; `None` if there is no usable one.
pub(crate) fn open(
    view: &View,
    segment: SegmentAt,
    definition: &Definition,
) -> Option<IndexFile<std::fs::File>> {
    let subject = view.index_subject(segment, definition).ok().flatten()?;
    let (shard, info) = view.segment(segment)?;
    let file = shard.open_index(info.id, definition.id()).ok()?;
    let size_bytes = file.metadata().ok()?.len();
    IndexFile::open(file, size_bytes, definition, subject).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_part_does_not_have_stays() {
        let scope = [0..10, 20..30, 40..50];
        for listed in [0..0, 0..50, 5..25, 22..24, 30..40, 45..99, 60..70] {
            let naive: Vec<u64> = (scope.iter().cloned().flatten())
                .filter(|row| !listed.contains(row))
                .collect();
            let found: Vec<u64> = outside(&scope, &listed).into_iter().flatten().collect();
            assert_eq!(found, naive, "{listed:?}");
        }
    }
}
