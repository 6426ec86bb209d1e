//! Decodes the rows of a morsel, filters them, and passes them on listing by
//! listing.
//!
//! The columns of a filter are read first and compared column by column. Of the
//! other columns, only the rows that pass are decoded. A directory's path is
//! decoded when a listing of it is passed on.

use crate::error::Result;
use crate::index::View;
use crate::plan::{Item, Morsel, Part};
use crate::search::holders;
use crate::segment::{
    Scratch, SegmentFile, add_rows, check_names, is_worth_a_sidecar, read_sidecar, row_count,
};
use crate::walk::{DirInfo, Listing, Order, Request};
use std::ops::Range;
use trawl_format::schema::Table;
use trawl_model::column::{Column, ColumnSet};
use trawl_model::filter::Clause;
use trawl_model::need::Need;
use trawl_model::rows::{RowBatch, Values};

/// The decoded rows of a morsel.
pub(crate) struct Decoded {
    parts: Vec<DecodedPart>,
}

struct DecodedPart {
    batch: RowBatch,
    /// The segment rows that are in the batch, if some were filtered out.
    kept: Option<Vec<u64>>,
}

/// Reads the rows of `morsel`.
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
    let columns = request.columns;
    let of = PartOf {
        view,
        part,
        file: &file,
    };
    if clauses.is_empty() {
        let known = request
            .rows
            .is_some_and(|rows| rows.is_looked_at(part.segment));
        let holders = match known {
            true => None,
            false => of.holders(&request.filter.need),
        };
        let ranges = holders.as_ref().unwrap_or(&part.ranges);
        let mut batch = scratch.take_batch(row_count(ranges));
        batch.len = row_count(ranges);
        of.add(columns, ranges, scratch, &mut batch)?;
        let is_some = request.rows.is_some() || holders.is_some();
        let kept = is_some.then(|| ranges.iter().cloned().flatten().collect());
        return Ok(DecodedPart { batch, kept });
    }
    let mut batch = scratch.take_batch(row_count(&part.ranges));
    let mut ranges = part.ranges.clone();
    let mut read = ColumnSet::EMPTY;
    let mut places = Vec::new();
    for clause in clauses {
        add_rows(&file, clause.column, &ranges, scratch, &mut batch)?;
        read = read.union(ColumnSet::of(&[clause.column]));
        let rows = row_count(&ranges);
        admitted(clause, &batch, rows, &mut places);
        if places.len() < rows {
            ranges = rows_at(&places, &ranges);
            // Keeps only the rows that have passed all clauses so far.
            batch.keep(&places);
        }
        if ranges.is_empty() {
            break;
        }
    }
    batch.len = row_count(&ranges);
    batch.drop_columns(read.minus(request.columns));
    of.add(columns.minus(read), &ranges, scratch, &mut batch)?;
    Ok(DecodedPart {
        batch,
        kept: Some(ranges.into_iter().flatten().collect()),
    })
}

/// A part of a morsel and its open file.
struct PartOf<'p> {
    view: &'p View,
    part: &'p Part,
    file: &'p SegmentFile,
}

impl PartOf<'_> {
    /// Reads columns of the rows in `ranges` into a batch that does not have
    /// these columns yet.
    fn add(
        &self,
        columns: ColumnSet,
        ranges: &[Range<u64>],
        scratch: &mut Scratch,
        batch: &mut RowBatch,
    ) -> Result<()> {
        for column in columns.iter() {
            match column {
                Column::Name => self.add_names(ranges, scratch, batch)?,
                other => add_rows(self.file, other, ranges, scratch, batch)?,
            }
        }
        Ok(())
    }

    /// Returns the part's rows that may contain the needed bytes, according to
    /// the sidecar; `None` if the sidecar cannot tell.
    fn holders(&self, need: &Need) -> Option<Vec<Range<u64>>> {
        let ranges = &self.part.ranges;
        if need.is_nothing() || !is_worth_a_sidecar(ranges) {
            return None;
        }
        let sidecar = self.view.names(self.part.segment)?;
        // A damaged sidecar is ignored; the tables are read instead.
        holders(&sidecar, need, ranges)?.ok()
    }

    /// Reads names, from the sidecar if there is one. Its blocks are much smaller than pages, so an
    /// open one is read for few rows, too.
    fn add_names(
        &self,
        ranges: &[Range<u64>],
        scratch: &mut Scratch,
        batch: &mut RowBatch,
    ) -> Result<()> {
        let sidecar = match is_worth_a_sidecar(ranges) {
            true => self.view.names(self.part.segment),
            false => self.view.open_names(self.part.segment),
        };
        if let Some(sidecar) = sidecar
            && read_sidecar(&sidecar, ranges, scratch, &mut batch.name)
        {
            return Ok(());
        }
        add_rows(self.file, Column::Name, ranges, scratch, batch)?;
        match check_names(&batch.name) {
            true => Ok(()),
            false => Err(self.file.damaged("it contains invalid names")),
        }
    }
}

/// Collects the positions of the values in `batch` that satisfy `clause`. A
/// column that is not numeric always passes, because a filter states only
/// necessary conditions.
fn admitted(clause: &Clause, batch: &RowBatch, rows: usize, places: &mut Vec<u32>) {
    places.clear();
    match batch.values(clause.column) {
        Values::U32(numbers, _) => small(clause, numbers, places),
        Values::U64(numbers, _) => unsigned(clause, numbers, places),
        Values::I64(numbers, _) => signed(clause, numbers, places),
        Values::Bytes(_) | Values::Derived => places.extend((0u32..).take(rows)),
    }
}

fn unsigned(clause: &Clause, values: &[u64], places: &mut Vec<u32>) {
    if let Some((low, high)) = clause.within(0, u64::MAX.into()) {
        let (low, high) = (low as u64, high as u64);
        select(values, places, |value| (low <= value) & (value <= high));
    }
}

fn small(clause: &Clause, values: &[u32], places: &mut Vec<u32>) {
    if let Some((low, high)) = clause.within(0, u32::MAX.into()) {
        let (low, high) = (low as u32, high as u32);
        select(values, places, |value| (low <= value) & (value <= high));
    }
}

fn signed(clause: &Clause, values: &[i64], places: &mut Vec<u32>) {
    if let Some((low, high)) = clause.within(i64::MIN.into(), i64::MAX.into()) {
        let (low, high) = (low as i64, high as i64);
        select(values, places, |value| (low <= value) & (value <= high));
    }
}

/// Number of values compared together.
const STRIDE: usize = 64;

/// Collects the positions of the admitted values.
fn select<T: Copy>(values: &[T], places: &mut Vec<u32>, admits: impl Fn(T) -> bool) {
    let mut found = [0u32; STRIDE];
    let starts = (0u32..).step_by(STRIDE);
    for (start, values) in starts.zip(values.chunks(STRIDE)) {
        // Avoids a branch that depends on the data.
        let mut count = 0;
        for (place, value) in (start..).zip(values) {
            found[count % STRIDE] = place;
            count += usize::from(admits(*value));
        }
        places.extend_from_slice(found.get(..count).unwrap_or_default());
    }
}

/// Returns the rows at `places` within `ranges`; both are ascending.
fn rows_at(places: &[u32], ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut found: Vec<Range<u64>> = Vec::new();
    let mut ranges = ranges.iter();
    // Positions from `first` on correspond to rows from `row` on.
    let (mut first, mut row, mut count) = (0, 0, 0);
    for place in places.iter().map(|place| u64::from(*place)) {
        while place - first >= count {
            let Some(range) = ranges.next() else {
                return found;
            };
            (first, row, count) = (first + count, range.start, range.end - range.start);
        }
        let here = row + (place - first);
        match found.last_mut() {
            Some(last) if last.end == here => last.end += 1,
            _ => found.push(here..here + 1),
        }
    }
    found
}

impl Decoded {
    /// Returns the memory to `scratch` for reuse.
    pub(crate) fn recycle(self, scratch: &mut Scratch) {
        self.parts
            .into_iter()
            .for_each(|part| scratch.recycle(part.batch));
    }

    /// Returns a part's rows.
    pub(crate) fn batch(&self, part: usize) -> Option<&RowBatch> {
        self.parts.get(part).map(|part| &part.batch)
    }

    /// Returns the part and the range of rows for each item. Only for forward
    /// order and without a filter.
    pub(crate) fn places(&self, morsel: &Morsel) -> Vec<(usize, Range<usize>)> {
        let mut next = vec![0usize; self.parts.len()];
        let place = |item: &Item| {
            let count = (item.rows.end - item.rows.start) as usize;
            let start = next.get(item.part).copied().unwrap_or_default();
            if let Some(next) = next.get_mut(item.part) {
                *next = start + count;
            }
            let len = self.batch(item.part).map_or(0, |batch| batch.len);
            (item.part, start.min(len)..(start + count).min(len))
        };
        morsel.items.iter().map(place).collect()
    }

    /// The batches of all parts.
    pub(crate) fn batches(&self) -> impl Iterator<Item = &RowBatch> {
        self.parts.iter().map(|part| &part.batch)
    }

    /// Calls `visit` for each listing in order. The morsel's paths must have
    /// been decoded.
    pub(crate) fn for_each_listing(
        &self,
        morsel: &Morsel,
        request: &Request<'_>,
        visit: impl FnMut(&Listing<'_>),
    ) {
        let known = |item: &Item| Ok(morsel.path(item));
        // Paths are already decoded, so this cannot fail.
        let _ = self.give_listings(morsel, request, known, visit);
    }

    /// Like [`Decoded::for_each_listing`], but decodes the paths that it needs.
    pub(crate) fn try_each_listing(
        &self,
        morsel: &Morsel,
        request: &Request<'_>,
        scratch: &mut Scratch,
        visit: impl FnMut(&Listing<'_>),
    ) -> Result<()> {
        let decoded = |item: &Item| morsel.decoded_path(item, scratch);
        self.give_listings(morsel, request, decoded, visit)
    }

    fn give_listings<'m>(
        &self,
        morsel: &'m Morsel,
        request: &Request<'_>,
        mut path_of: impl FnMut(&Item) -> Result<&'m [u8]>,
        mut visit: impl FnMut(&Listing<'_>),
    ) -> Result<()> {
        let mut places = ItemPositions::new(self, request.order);
        let filter = &request.filter;
        let is_filtered = !filter.clauses.is_empty() || !filter.need.is_nothing();
        let give_empty = !is_filtered && request.rows.is_none();
        for item in &morsel.items {
            let Some((part, range)) = places.of(item) else {
                continue;
            };
            if range.is_empty() && !give_empty {
                continue;
            }
            let dir = DirInfo {
                path: path_of(item)?,
                depth: item.depth,
                rows: item.dir_rows,
            };
            visit(&Listing {
                dir: &dir,
                batch: &part.batch,
                range: &range,
            });
        }
        Ok(())
    }
}

/// Tracks the position of a morsel's items in the batches, where they follow
/// each other.
struct ItemPositions<'d> {
    decoded: &'d Decoded,
    order: Order,
    /// For each part, the start of its remaining rows; in backward order, their
    /// end.
    next: Vec<usize>,
}

impl<'d> ItemPositions<'d> {
    fn new(decoded: &'d Decoded, order: Order) -> ItemPositions<'d> {
        let next = |part: &DecodedPart| match order {
            Order::Forward => 0,
            Order::Backward => part.batch.len,
        };
        ItemPositions {
            decoded,
            order,
            next: decoded.parts.iter().map(next).collect(),
        }
    }

    /// Returns the part and the rows of the next item.
    fn of(&mut self, item: &Item) -> Option<(&'d DecodedPart, Range<usize>)> {
        let part = self.decoded.parts.get(item.part)?;
        let next = self.next.get_mut(item.part)?;
        let whole = (item.rows.end - item.rows.start) as usize;
        let range = match (self.order, &part.kept) {
            (Order::Forward, None) => *next..*next + whole,
            (Order::Backward, None) => next.saturating_sub(whole)..*next,
            (Order::Forward, Some(kept)) => {
                let rest = kept.get(*next..).unwrap_or_default().iter();
                *next..*next + rest.take_while(|row| **row < item.rows.end).count()
            }
            (Order::Backward, Some(kept)) => {
                let rest = kept.get(..*next).unwrap_or_default().iter().rev();
                let count = rest.take_while(|row| **row >= item.rows.start).count();
                *next - count..*next
            }
        };
        *next = match self.order {
            Order::Forward => range.end,
            Order::Backward => range.start,
        };
        Some((part, range))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_selected_is_what_the_clause_admits(
            values in proptest::collection::vec(prop_oneof![any::<i64>(), -5i64..5], 0..300),
            low in prop_oneof![any::<i64>().prop_map(i128::from), -5i128..5, Just(i128::MIN)],
            len in prop_oneof![0i128..7, any::<u64>().prop_map(i128::from), Just(i128::MAX / 2)],
        ) {
            let clause = Clause { column: Column::Mtime, low, high: low.saturating_add(len) };
            let batch = RowBatch {
                mtime: values.clone(),
                size: values.iter().map(|v| *v as u64).collect(),
                uid: values.iter().map(|v| *v as u32).collect(),
                ..RowBatch::default()
            };
            let wanted = |admits: &dyn Fn(usize) -> bool| -> Vec<u32> {
                (0..values.len()).filter(|at| admits(*at)).map(|at| at as u32).collect()
            };
            let mut got = Vec::new();
            admitted(&clause, &batch, values.len(), &mut got);
            prop_assert_eq!(&got, &wanted(&|at| clause.admits(values[at].into())));
            let sizes = Clause { column: Column::Size, ..clause };
            admitted(&sizes, &batch, values.len(), &mut got);
            prop_assert_eq!(&got, &wanted(&|at| clause.admits(batch.size[at].into())));
            let users = Clause { column: Column::Uid, ..clause };
            admitted(&users, &batch, values.len(), &mut got);
            prop_assert_eq!(&got, &wanted(&|at| clause.admits(batch.uid[at].into())));
        }

        #[test]
        fn places_become_rows(picks in proptest::collection::vec((1u64..4, 1u64..70, any::<u64>()), 0..9)) {
            let (mut row, mut ranges, mut places, mut wanted) = (0, Vec::new(), Vec::new(), Vec::new());
            let mut place = 0u32;
            for (gap, len, bits) in picks {
                row += gap;
                ranges.push(row..row + len);
                for at in 0..len {
                    if bits >> (at % 64) & 1 == 1 {
                        places.push(place);
                        wanted.push(row + at);
                    }
                    place += 1;
                }
                row += len;
            }
            let got: Vec<u64> = rows_at(&places, &ranges).into_iter().flatten().collect();
            prop_assert_eq!(got, wanted);
        }
    }
}
