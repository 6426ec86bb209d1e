//! The rows of a morsel: decoded, filtered, handed out listing by listing.
//!
//! The columns of a filter are read first; of the others just the rows that
//! fulfil it.

use crate::error::Result;
use crate::index::View;
use crate::plan::{Item, Morsel, Part};
use crate::segment::{Scratch, check_names, read_rows};
use crate::walk::{DirInfo, Listing, Order, Request};
use std::ops::Range;
use trawl_index::schema::Table;
use trawl_model::column::{Column, ColumnSet};
use trawl_model::filter::Clause;
use trawl_model::rows::RowBatch;

/// A morsel's rows.
pub(crate) struct Decoded {
    parts: Vec<DecodedPart>,
}

struct DecodedPart {
    batch: RowBatch,
    /// The rows of the batch, if some were left out.
    kept: Option<Vec<u64>>,
}

/// Reads what `morsel` needs.
pub(crate) fn decode(view: &View, morsel: &Morsel, request: &Request<'_>, scratch: &mut Scratch) -> Result<Decoded> {
    let part = |part| decode_part(view, part, request, scratch);
    let parts = morsel.parts.iter().map(part).collect::<Result<_>>()?;
    Ok(Decoded { parts })
}

fn decode_part(view: &View, part: &Part, request: &Request<'_>, scratch: &mut Scratch) -> Result<DecodedPart> {
    let clauses = &request.filter.clauses;
    let Some(file) = view.file(part.segment, Table::Entries)? else {
        return Ok(DecodedPart {
            batch: RowBatch::default(),
            kept: Some(Vec::new()),
        });
    };
    if clauses.is_empty() {
        let batch = read_rows(&file, request.columns, &part.ranges, scratch)?;
        let is_good = !request.columns.contains(Column::Name) || check_names(&batch.name);
        return match is_good {
            true => Ok(DecodedPart { batch, kept: None }),
            false => Err(file.damaged("it holds impossible names")),
        };
    }
    let mut kept: Vec<u64> = part.ranges.iter().cloned().flatten().collect();
    let mut ranges = part.ranges.clone();
    for clause in clauses {
        let column = ColumnSet::of(&[clause.column]);
        let batch = read_rows(&file, column, &ranges, scratch)?;
        keep_admitted(clause, &batch, &mut kept);
        if kept.is_empty() {
            break;
        }
        ranges = to_ranges(&kept);
    }
    if kept.is_empty() {
        ranges.clear();
    }
    let batch = read_rows(&file, request.columns, &ranges, scratch)?;
    if request.columns.contains(Column::Name) && !check_names(&batch.name) {
        return Err(file.damaged("it holds impossible names"));
    }
    Ok(DecodedPart {
        batch,
        kept: Some(kept),
    })
}

/// Drops the rows whose value does not fulfil `clause`. A column that is not
/// a number fulfils it always: a filter says what is necessary only.
fn keep_admitted(clause: &Clause, batch: &RowBatch, kept: &mut Vec<u64>) {
    fn keep<T: Copy>(values: &[T], kept: &mut Vec<u64>, admits: impl Fn(T) -> bool) {
        let mut at = 0;
        kept.retain(|_| {
            let admitted = values.get(at).is_none_or(|value| admits(*value));
            at += 1;
            admitted
        });
    }
    let (low, high) = (clause.low, clause.high);
    let mut unsigned = |values: &[u64]| {
        if high < 0 || low > high {
            return kept.clear();
        }
        let low = u64::try_from(low.max(0)).unwrap_or(u64::MAX);
        let is_above = clause.low > i128::from(u64::MAX);
        let high = u64::try_from(high).unwrap_or(u64::MAX);
        keep(values, kept, |value| !is_above && low <= value && value <= high);
    };
    match clause.column {
        Column::Ino => unsigned(&batch.ino),
        Column::Dev => unsigned(&batch.dev),
        Column::Rdev => unsigned(&batch.rdev),
        Column::Size => unsigned(&batch.size),
        Column::Blocks => unsigned(&batch.blocks),
        Column::Attributes => unsigned(&batch.attributes),
        Column::Mode => keep(&batch.mode, kept, |v| clause.admits(v.into())),
        Column::Nlink => keep(&batch.nlink, kept, |v| clause.admits(v.into())),
        Column::Uid => keep(&batch.uid, kept, |v| clause.admits(v.into())),
        Column::Gid => keep(&batch.gid, kept, |v| clause.admits(v.into())),
        Column::Blksize => keep(&batch.blksize, kept, |v| clause.admits(v.into())),
        Column::AtimeNs => keep(&batch.atime_ns, kept, |v| clause.admits(v.into())),
        Column::MtimeNs => keep(&batch.mtime_ns, kept, |v| clause.admits(v.into())),
        Column::CtimeNs => keep(&batch.ctime_ns, kept, |v| clause.admits(v.into())),
        Column::BtimeNs => keep(&batch.btime_ns, kept, |v| clause.admits(v.into())),
        Column::Project => keep(&batch.project, kept, |v| clause.admits(v.into())),
        Column::Atime => keep(&batch.atime, kept, |v| clause.admits(v.into())),
        Column::Mtime => keep(&batch.mtime, kept, |v| clause.admits(v.into())),
        Column::Ctime => keep(&batch.ctime, kept, |v| clause.admits(v.into())),
        Column::Btime => keep(&batch.btime, kept, |v| clause.admits(v.into())),
        Column::Dir
        | Column::Name
        | Column::NameRaw
        | Column::Type
        | Column::LinkTarget
        | Column::XattrNames
        | Column::Acl
        | Column::AclDefault => {}
    }
}

/// Rows that follow each other, as ranges.
fn to_ranges(rows: &[u64]) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for row in rows {
        match ranges.last_mut() {
            Some(last) if last.end == *row => last.end += 1,
            _ => ranges.push(*row..*row + 1),
        }
    }
    ranges
}

impl Decoded {
    /// Calls `visit` for each listing in order.
    pub(crate) fn for_each_listing(
        &self,
        morsel: &Morsel,
        request: &Request<'_>,
        mut visit: impl FnMut(&Listing<'_>),
    ) {
        // Items of a part lie one after the other in its batch.
        let mut next = vec![0usize; self.parts.len()];
        let mut place = |item: &Item| -> Range<usize> {
            let (Some(part), Some(next)) = (self.parts.get(item.part), next.get_mut(item.part)) else {
                return 0..0;
            };
            let start = *next;
            *next = match &part.kept {
                None => start + (item.rows.end - item.rows.start) as usize,
                Some(kept) => {
                    let rest = kept.get(start..).unwrap_or_default();
                    start + rest.iter().take_while(|row| **row < item.rows.end).count()
                }
            };
            start..*next
        };
        let mut places: Vec<Range<usize>> = match request.order {
            Order::Forward => morsel.items.iter().map(&mut place).collect(),
            Order::Backward => morsel.items.iter().rev().map(&mut place).collect(),
        };
        if request.order == Order::Backward {
            places.reverse();
        }
        let give_empty = request.filter.clauses.is_empty();
        for (item, range) in morsel.items.iter().zip(&places) {
            let Some(part) = self.parts.get(item.part) else { continue };
            if range.is_empty() && !give_empty {
                continue;
            }
            let dir = DirInfo {
                path: morsel.path(item),
                depth: item.depth,
                rows: item.dir_rows,
            };
            visit(&Listing {
                dir: &dir,
                batch: &part.batch,
                range,
            });
        }
    }
}
