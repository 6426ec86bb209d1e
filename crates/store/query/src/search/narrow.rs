//! Selects the rows that a walk needs if its filter asks for names.

use super::{candidates, columns, holders, pieces};
use crate::error::Result;
use crate::index::{SegmentAt, Start, View};
use crate::locate::{Reach, Span, scope};
use crate::segment::Scratch;
use crate::selection::RowSelection;
use crate::sweep::in_parallel;
use crate::walk::{Request, check_cancelled_by};
use std::ops::Range;
use trawl_format::schema::{SMALL_PAGE_ROWS, Table};
use trawl_model::need::Need;

/// A selection is worth using only if at most one row in this many remains.
const WORTH: u64 = 5;
/// Maximum number of parts of a segment that are handled separately.
const PARTS: usize = 64;
/// Number of directories that can be scanned in the time of one lookup.
const DIRS_A_LOOKUP: u64 = 256;
/// Maximum number of rows whose names are examined before a walk begins; this
/// takes some tenths of a second on one core.
const LOOKED_AT: u64 = 4 << 20;

/// Rows of a segment that may meet the need.
struct Chosen {
    segment: SegmentAt,
    rows: Vec<Range<u64>>,
}

/// Returns the rows below `start` that can meet the need according to the name
/// sidecars; `None` if they rule out too little.
pub(crate) fn rows_with(start: &Start, request: &Request<'_>) -> Result<Option<RowSelection>> {
    let (view, need): (&View, _) = (&start.view, &request.filter.need);
    if need.is_nothing() || !start.is_dir {
        return Ok(None);
    }
    let spans = scope(view, &start.path, Reach::Subtree, &mut Scratch::default())?;
    let spans: Vec<&[Span]> = spans.chunk_by(|a, b| a.segment == b.segment).collect();
    let mut chosen: Vec<Chosen> = Vec::new();
    let choose = |spans: &&[Span], scratch: &mut Scratch| {
        check_cancelled_by(request.cancel)?;
        choose(view, spans, need, scratch)
    };
    in_parallel(&spans, request.threads, choose, |one| chosen.extend(one))?;
    if chosen.is_empty() {
        return Ok(None);
    }
    let mut selection = RowSelection::default();
    if chosen.iter().map(|one| row_count(&one.rows)).sum::<u64>() > LOOKED_AT {
        for one in chosen {
            selection.restrict(one.segment, one.rows);
        }
        return Ok(Some(selection));
    }
    let look = |one: &Chosen, _: &mut Scratch| {
        check_cancelled_by(request.cancel)?;
        let names = view.names(one.segment);
        let held = names.and_then(|names| holders(&names, need, &one.rows)?.ok());
        Ok((one.segment, held.unwrap_or_else(|| one.rows.clone())))
    };
    in_parallel(&chosen, request.threads, look, |(segment, rows)| {
        selection.restrict(segment, rows);
        selection.set_looked_at(segment);
    })?;
    Ok(Some(selection))
}

/// Returns the rows in spans of one segment that can meet the need; `None` if
/// that rules out too little.
fn choose(
    view: &View,
    spans: &[Span],
    need: &Need,
    scratch: &mut Scratch,
) -> Result<Option<Chosen>> {
    let segment = spans.first().map_or(0, |span| span.segment);
    let Some(names) = view.names(segment) else {
        return Ok(None);
    };
    let (mut chosen, mut all) = (Vec::new(), 0);
    for span in spans {
        let rows = pieces::rows(view, span, scratch)?;
        all += rows.end - rows.start;
        match candidates(&names, need, &rows) {
            Ok(found) => chosen.extend(found),
            // A damaged sidecar is ignored; the tables are read instead.
            Err(_) => chosen.push(rows),
        }
    }
    let is_worth = row_count(&chosen).saturating_mul(WORTH) <= all;
    Ok(is_worth.then_some(Chosen {
        segment,
        rows: chosen,
    }))
}

fn row_count(ranges: &[Range<u64>]) -> u64 {
    ranges.iter().map(|range| range.end - range.start).sum()
}

/// Removes directories without a selected row from the spans, as far as that is
/// worth the effort.
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
        if ranges.is_empty() {
            continue;
        }
        let lookups = (span.dirs.end - span.dirs.start) / DIRS_A_LOOKUP;
        let most = usize::try_from(lookups).map_or(PARTS, |most| most.min(PARTS));
        if most < 2 {
            narrowed.push(span);
            continue;
        }
        let Some(dirs) = view.file(span.segment, Table::Dirs)? else {
            continue;
        };
        let mut parts: Vec<Range<u64>> = Vec::new();
        for near in ranges.chunks(ranges.len().div_ceil(most)) {
            let (Some(first), Some(last)) = (near.first(), near.last()) else {
                continue;
            };
            let first = columns::dir_of(&dirs, first.start, &mut scratch)?;
            let last = columns::dir_of(&dirs, last.end - 1, &mut scratch)?;
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
