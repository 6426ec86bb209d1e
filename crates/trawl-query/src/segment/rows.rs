//! Reads rows of the entries table into a [`RowBatch`].

use super::file::{Scratch, SegmentFile, row_count};
use crate::error::Result;
use std::ops::Range;
use trawl_model::column::{Column, ColumnSet};
use trawl_model::rows::{ByteColumn, NO_BTIME, NO_PROJECT, RowBatch};

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
    match column {
        // Derived from the path, the name and the mode.
        Column::Dir | Column::NameRaw | Column::Type => Ok(()),
        Column::Name => {
            let raw = Column::NameRaw as usize;
            append_text(file, at, raw, ranges, scratch, &mut batch.name)
        }
        Column::Ino => file.numbers(at, 0, ranges, scratch, &mut batch.ino),
        Column::Dev => file.numbers(at, 0, ranges, scratch, &mut batch.dev),
        Column::Mode => file.numbers(at, 0, ranges, scratch, &mut batch.mode),
        Column::Nlink => file.numbers(at, 0, ranges, scratch, &mut batch.nlink),
        Column::Uid => file.numbers(at, 0, ranges, scratch, &mut batch.uid),
        Column::Gid => file.numbers(at, 0, ranges, scratch, &mut batch.gid),
        Column::Rdev => file.numbers(at, 0, ranges, scratch, &mut batch.rdev),
        Column::Size => file.numbers(at, 0, ranges, scratch, &mut batch.size),
        Column::Blocks => file.numbers(at, 0, ranges, scratch, &mut batch.blocks),
        Column::Blksize => file.numbers(at, 0, ranges, scratch, &mut batch.blksize),
        Column::Atime => file.numbers(at, 0, ranges, scratch, &mut batch.atime),
        Column::AtimeNs => file.numbers(at, 0, ranges, scratch, &mut batch.atime_ns),
        Column::Mtime => file.numbers(at, 0, ranges, scratch, &mut batch.mtime),
        Column::MtimeNs => file.numbers(at, 0, ranges, scratch, &mut batch.mtime_ns),
        Column::Ctime => file.numbers(at, 0, ranges, scratch, &mut batch.ctime),
        Column::CtimeNs => file.numbers(at, 0, ranges, scratch, &mut batch.ctime_ns),
        Column::Btime => file.numbers(at, NO_BTIME, ranges, scratch, &mut batch.btime),
        Column::BtimeNs => file.numbers(at, 0, ranges, scratch, &mut batch.btime_ns),
        Column::LinkTarget => file.strings(at, ranges, scratch, &mut batch.link_target),
        Column::XattrNames => file.strings(at, ranges, scratch, &mut batch.xattr_names),
        Column::Acl => file.strings(at, ranges, scratch, &mut batch.acl),
        Column::AclDefault => file.strings(at, ranges, scratch, &mut batch.acl_default),
        Column::Project => file.numbers(at, NO_PROJECT, ranges, scratch, &mut batch.project),
        Column::Attributes => file.numbers(at, 0, ranges, scratch, &mut batch.attributes),
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
