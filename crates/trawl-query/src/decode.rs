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
pub(crate) fn decode(
    view: &View,
    morsel: &Morsel,
    request: &Request<'_>,
    scratch: &mut Scratch,
) -> Result<Decoded> {
    let part = |part| decode_part(view, part, request, scratch);
    let parts = morsel.parts.iter().map(part).collect::<Result<_>>()?;
    Ok(Decoded { parts })
}

fn decode_part(
    view: &View,
    part: &Part,
    request: &Request<'_>,
    scratch: &mut Scratch,
) -> Result<DecodedPart> {
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
        let rows = || part.ranges.iter().cloned().flatten().collect();
        let kept = request.rows.map(|_| rows());
        return match is_good {
            true => Ok(DecodedPart { batch, kept }),
            false => Err(file.damaged("it holds impossible names")),
        };
    }
    let mut ranges = part.ranges.clone();
    let mut kept = Vec::new();
    for clause in clauses {
        let batch = read_rows(&file, ColumnSet::of(&[clause.column]), &ranges, scratch)?;
        kept = admitted(clause, &batch, &ranges);
        scratch.recycle(batch);
        ranges = to_ranges(&kept);
        if kept.is_empty() {
            break;
        }
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

/// The rows of `ranges` whose value in `batch` fulfils `clause`. A column
/// that is not a number fulfils it always: a filter says what is necessary
/// only.
fn admitted(clause: &Clause, batch: &RowBatch, ranges: &[Range<u64>]) -> Vec<u64> {
    match clause.column {
        Column::Ino => unsigned(clause, &batch.ino, ranges),
        Column::Dev => unsigned(clause, &batch.dev, ranges),
        Column::Rdev => unsigned(clause, &batch.rdev, ranges),
        Column::Size => unsigned(clause, &batch.size, ranges),
        Column::Blocks => unsigned(clause, &batch.blocks, ranges),
        Column::Attributes => unsigned(clause, &batch.attributes, ranges),
        Column::Mode => small(clause, &batch.mode, ranges),
        Column::Nlink => small(clause, &batch.nlink, ranges),
        Column::Uid => small(clause, &batch.uid, ranges),
        Column::Gid => small(clause, &batch.gid, ranges),
        Column::Blksize => small(clause, &batch.blksize, ranges),
        Column::AtimeNs => small(clause, &batch.atime_ns, ranges),
        Column::MtimeNs => small(clause, &batch.mtime_ns, ranges),
        Column::CtimeNs => small(clause, &batch.ctime_ns, ranges),
        Column::BtimeNs => small(clause, &batch.btime_ns, ranges),
        Column::Project => small(clause, &batch.project, ranges),
        Column::Atime => signed(clause, &batch.atime, ranges),
        Column::Mtime => signed(clause, &batch.mtime, ranges),
        Column::Ctime => signed(clause, &batch.ctime, ranges),
        Column::Btime => signed(clause, &batch.btime, ranges),
        Column::Dir
        | Column::Name
        | Column::NameRaw
        | Column::Type
        | Column::LinkTarget
        | Column::XattrNames
        | Column::Acl
        | Column::AclDefault => ranges.iter().cloned().flatten().collect(),
    }
}

fn unsigned(clause: &Clause, values: &[u64], ranges: &[Range<u64>]) -> Vec<u64> {
    match (bound(clause.low), bound(clause.high)) {
        (Bound::At(low), Bound::At(high)) => {
            select(values, ranges, |value| low <= value && value <= high)
        }
        (Bound::Below, Bound::At(high)) => select(values, ranges, |value| value <= high),
        (Bound::At(low), Bound::Above) => select(values, ranges, |value| low <= value),
        (Bound::Below, Bound::Above) => select(values, ranges, |_| true),
        (Bound::Above, _) | (_, Bound::Below) => Vec::new(),
    }
}

fn small(clause: &Clause, values: &[u32], ranges: &[Range<u64>]) -> Vec<u64> {
    select(values, ranges, |value| clause.admits(value.into()))
}

fn signed(clause: &Clause, values: &[i64], ranges: &[Range<u64>]) -> Vec<u64> {
    let clamp = |bound: i128| bound.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
    let (low, high) = (clamp(clause.low), clamp(clause.high));
    if clause.low > i64::MAX.into() || clause.high < i64::MIN.into() {
        return Vec::new();
    }
    select(values, ranges, |value| low <= value && value <= high)
}

/// A bound as an unsigned number, if it is among them.
enum Bound {
    Below,
    At(u64),
    Above,
}

fn bound(value: i128) -> Bound {
    match u64::try_from(value) {
        Ok(value) => Bound::At(value),
        Err(_) if value < 0 => Bound::Below,
        Err(_) => Bound::Above,
    }
}

/// The rows of `ranges` whose value is admitted.
fn select<T: Copy>(values: &[T], ranges: &[Range<u64>], admits: impl Fn(T) -> bool) -> Vec<u64> {
    let rows = ranges.iter().cloned().flatten();
    let pairs = rows.zip(values).filter(|(_, value)| admits(**value));
    pairs.map(|(row, _)| row).collect()
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
    /// Gives the memory back.
    pub(crate) fn recycle(self, scratch: &mut Scratch) {
        self.parts
            .into_iter()
            .for_each(|part| scratch.recycle(part.batch));
    }

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
            let (Some(part), Some(next)) = (self.parts.get(item.part), next.get_mut(item.part))
            else {
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
        let give_empty = request.filter.clauses.is_empty() && request.rows.is_none();
        for (item, range) in morsel.items.iter().zip(&places) {
            let Some(part) = self.parts.get(item.part) else {
                continue;
            };
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
