//! Which rows a walk needs whose filter asks for names.

use super::{candidates, columns, pieces};
use crate::error::Result;
use crate::index::{Start, View};
use crate::locate::{Reach, Span, scope};
use crate::segment::Scratch;
use crate::selection::RowSelection;
use std::ops::Range;
use trawl_index::schema::{SMALL_PAGE_ROWS, Table};
use trawl_model::need::Need;

/// Of so many rows one must be left, or the index of names is of no use.
const WORTH: u64 = 5;
/// Parts of a segment that are looked at by themselves, at most.
const PARTS: usize = 64;

/// The rows below `start` that can have what is needed, as far as the name
/// sidecars tell; `None` if they leave out too little.
pub(crate) fn rows_with(start: &Start, need: &Need) -> Result<Option<RowSelection>> {
    let view: &View = &start.view;
    if need.is_nothing() || !start.is_dir {
        return Ok(None);
    }
    let mut scratch = Scratch::default();
    let mut selection = RowSelection::default();
    let mut is_restricted = false;
    let spans = scope(view, &start.path, Reach::Subtree, &mut scratch)?;
    for spans in spans.chunk_by(|a, b| a.segment == b.segment) {
        let Some(names) = view.names(spans[0].segment) else {
            continue;
        };
        let (mut ranges, mut all) = (Vec::new(), 0);
        for span in spans {
            let rows = pieces::rows(view, span, &mut scratch)?;
            all += rows.end - rows.start;
            match candidates(&names, need, &rows) {
                Ok(found) => ranges.extend(found),
                // What is damaged is left to the tables.
                Err(_) => ranges.push(rows),
            }
        }
        let len = |range: &Range<u64>| range.end - range.start;
        if ranges.iter().map(len).sum::<u64>().saturating_mul(WORTH) <= all {
            selection.restrict(spans[0].segment, ranges);
            is_restricted = true;
        }
    }
    Ok(is_restricted.then_some(selection))
}

/// Leaves out of the spans the directories without a selected row, as far as
/// that is worth it.
pub(crate) fn narrowed(
    view: &View,
    spans: Vec<Span>,
    selection: &RowSelection,
) -> Result<Vec<Span>> {
    let mut scratch = Scratch::default();
    let mut narrowed = Vec::with_capacity(spans.len());
    for span in spans {
        let Some(ranges) = selection.of(span.segment) else {
            narrowed.push(span);
            continue;
        };
        let Some(dirs) = view.file(span.segment, Table::Dirs)? else {
            continue;
        };
        if ranges.len() > PARTS || span.dirs.end - span.dirs.start <= SMALL_PAGE_ROWS as u64 {
            if !ranges.is_empty() {
                narrowed.push(span);
            }
            continue;
        }
        let mut parts: Vec<Range<u64>> = Vec::new();
        for range in ranges {
            let first = columns::dir_of(&dirs, range.start, &mut scratch)?;
            let last = columns::dir_of(&dirs, range.end - 1, &mut scratch)?;
            let part = first.max(span.dirs.start)..(last + 1).min(span.dirs.end);
            match parts.last_mut() {
                Some(before) if part.start <= before.end + SMALL_PAGE_ROWS as u64 => {
                    before.end = before.end.max(part.end);
                }
                _ => parts.push(part),
            }
        }
        parts.retain(|part| !part.is_empty());
        narrowed.extend(parts.into_iter().map(|dirs| Span {
            segment: span.segment,
            dirs,
        }));
    }
    Ok(narrowed)
}
