//! Reads rows of the entries table into a [`RowBatch`].

use super::file::{SegmentFile, row_count};
use super::scratch::Scratch;
use crate::error::Result;
use std::ops::Range;
use trawl_model::column::{Column, ColumnSet};
use trawl_model::rows::{ByteColumn, RowBatch, ValuesMut};

/// Decodes `columns` of the rows in `ranges` (ascending, disjoint). Return the
/// batch with [`Scratch::recycle`] after use.
pub(crate) fn read_rows(
    file: &SegmentFile,
    columns: ColumnSet,
    ranges: &[Range<u64>],
    scratch: &mut Scratch,
) -> Result<RowBatch> {
    let rows = row_count(ranges);
    let mut batch = scratch.take_batch(rows);
    batch.len = rows;
    for column in columns.iter() {
        add_rows(file, column, ranges, scratch, &mut batch)?;
    }
    Ok(batch)
}

/// Appends the values of `column` in `ranges` to `batch`.
pub(crate) fn add_rows(
    file: &SegmentFile,
    column: Column,
    ranges: &[Range<u64>],
    scratch: &mut Scratch,
    batch: &mut RowBatch,
) -> Result<()> {
    let at = column as usize;
    match batch.values_mut(column) {
        ValuesMut::Derived => Ok(()),
        ValuesMut::Bytes(names) if column == Column::Name => {
            let raw = Column::NameRaw as usize;
            append_text(file, at, raw, ranges, scratch, names)
        }
        ValuesMut::Bytes(strings) => file.strings(at, ranges, scratch, strings),
        ValuesMut::U32(numbers, null) => {
            file.numbers(at, null.unwrap_or_default(), ranges, scratch, numbers)
        }
        ValuesMut::U64(numbers, null) => {
            file.numbers(at, null.unwrap_or_default(), ranges, scratch, numbers)
        }
        ValuesMut::I64(numbers, null) => {
            file.numbers(at, null.unwrap_or_default(), ranges, scratch, numbers)
        }
    }
}

/// Reads the names in `ranges` as raw bytes.
pub(crate) fn read_names(
    file: &SegmentFile,
    ranges: &[Range<u64>],
    scratch: &mut Scratch,
) -> Result<ByteColumn> {
    read_text(
        file,
        Column::Name as usize,
        Column::NameRaw as usize,
        ranges,
        scratch,
    )
}

/// Reads a text column. If a text had to be escaped, its raw bytes are in
/// another column.
pub(crate) fn read_text(
    file: &SegmentFile,
    text: usize,
    raw: usize,
    ranges: &[Range<u64>],
    scratch: &mut Scratch,
) -> Result<ByteColumn> {
    let mut texts = ByteColumn::default();
    append_text(file, text, raw, ranges, scratch, &mut texts)?;
    Ok(texts)
}

/// Like [`read_text`], but into `texts`, which must be empty.
fn append_text(
    file: &SegmentFile,
    text: usize,
    raw: usize,
    ranges: &[Range<u64>],
    scratch: &mut Scratch,
    texts: &mut ByteColumn,
) -> Result<()> {
    file.strings(text, ranges, scratch, texts)?;
    let mut raws = scratch.take_raws();
    let done = file.strings(raw, ranges, scratch, &mut raws);
    if !raws.data.is_empty() {
        let mut merged = ByteColumn::default();
        for at in 0..texts.len() {
            // Raw bytes of an escaped text are never empty.
            let raw = raws.get(at);
            merged.push(if raw.is_empty() { texts.get(at) } else { raw });
        }
        *texts = merged;
    }
    scratch.raws = raws;
    done
}

/// True if all names are valid names of directory entries. (The row of `/`
/// itself has an empty name and is not checked here.)
pub(crate) fn check_names(names: &ByteColumn) -> bool {
    let mut lengths = names.offsets.windows(2).map(|pair| pair[1] - pair[0]);
    // An inner loop without an early exit compiles to vector code.
    let odd = |bytes: &[u8]| {
        bytes.iter().fold(0, |odd, byte| {
            odd | u8::from(*byte == b'/') | u8::from(*byte == 0)
        })
    };
    lengths.all(|len| len > 0) && names.data.chunks(4096).all(|bytes| odd(bytes) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_hold_no_slash_and_no_nul() {
        let column = |names: &[&str]| {
            let mut column = ByteColumn::default();
            names.iter().for_each(|name| column.push(name.as_bytes()));
            column
        };
        assert!(check_names(&column(&["a", "..."])));
        assert!(!check_names(&column(&["a", "b/c"])));
        assert!(!check_names(&column(&["a", ""])));
        assert!(!check_names(&column(&["a\0"])));
    }
}
