//! Reads rows of the dirs table, which locate the rows of each directory.
//!
//! Paths are the most expensive column, so scans over many rows decode them on
//! demand.

use super::file::SegmentFile;
use super::kept;
use super::rows::read_text;
use super::scratch::Scratch;
use crate::error::Result;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use trawl_format::schema::{DirColumn, SMALL_PAGE_ROWS};
use trawl_model::rows::ByteColumn;

/// Consecutive rows of a dirs table.
#[derive(Debug, Default)]
pub(crate) struct DirChunk {
    /// Row numbers in the table.
    pub(crate) rows: Range<u64>,
    /// Paths as raw bytes.
    pub(crate) path: ByteColumn,
    /// The requested columns in the requested order; signed numbers as their
    /// bits.
    pub(crate) numbers: Vec<Vec<u64>>,
}

impl DirChunk {
    /// Returns a number of row `at` (counted within the chunk). `column` is a
    /// position among the requested columns.
    pub(crate) fn number(&self, column: usize, at: usize) -> u64 {
        self.numbers
            .get(column)
            .and_then(|values| values.get(at))
            .copied()
            .unwrap_or_default()
    }

    pub(crate) fn len(&self) -> usize {
        (self.rows.end - self.rows.start) as usize
    }
}

/// Number of rows whose paths are decoded together: one page as our writer
/// makes them.
const BLOCK_ROWS: u64 = SMALL_PAGE_ROWS as u64;

/// Consecutive rows of a dirs table whose paths are decoded on demand.
#[derive(Debug)]
pub(crate) struct DirRows {
    file: Arc<SegmentFile>,
    /// Row numbers in the table.
    pub(crate) rows: Range<u64>,
    depth: Vec<u32>,
    /// As in [`DirChunk`].
    numbers: Vec<Vec<u64>>,
    /// Paths in blocks of [`BLOCK_ROWS`] rows, aligned to the start of the
    /// table.
    blocks: Vec<OnceLock<ByteColumn>>,
}

impl DirRows {
    /// Reads `columns` of `rows`.
    pub(crate) fn read(
        file: Arc<SegmentFile>,
        rows: Range<u64>,
        columns: &[DirColumn],
        scratch: &mut Scratch,
    ) -> Result<DirRows> {
        let ranges = [rows.clone()];
        let mut depth = Vec::new();
        let column = DirColumn::Depth as usize;
        file.numbers(column, 0u32, &ranges, scratch, &mut depth)?;
        let numbers = read_numbers(&file, &ranges, columns, scratch)?;
        let blocks = match rows.is_empty() {
            true => 0..0,
            false => rows.start / BLOCK_ROWS..(rows.end - 1) / BLOCK_ROWS + 1,
        };
        Ok(DirRows {
            file,
            rows,
            depth,
            numbers,
            blocks: blocks.map(|_| OnceLock::new()).collect(),
        })
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        (self.rows.end - self.rows.start) as usize
    }

    /// Returns a number of row `at` (counted within these). `column` is a
    /// position among the requested columns.
    pub(crate) fn number(&self, column: usize, at: usize) -> u64 {
        let values = self.numbers.get(column);
        let value = values.and_then(|values| values.get(at));
        value.copied().unwrap_or_default()
    }

    /// The depth of row `at`, counted within these.
    pub(crate) fn depth(&self, at: usize) -> usize {
        self.depth.get(at).copied().unwrap_or_default() as usize
    }

    /// The path of row `at` if it has been decoded, otherwise an empty path.
    pub(crate) fn path(&self, at: usize) -> &[u8] {
        let (block, within) = self.place(at);
        let block = self.blocks.get(block).and_then(OnceLock::get);
        block.map_or(&[], |paths| paths.get(within))
    }

    /// Returns the path of row `at`, decoding it if necessary.
    pub(crate) fn decoded_path(&self, at: usize, scratch: &mut Scratch) -> Result<&[u8]> {
        let (nth, within) = self.place(at);
        let Some(block) = self.blocks.get(nth).filter(|_| at < self.len()) else {
            return Err(self.file.damaged("rows beyond its end are referred to"));
        };
        if let Some(paths) = block.get() {
            return Ok(paths.get(within));
        }
        let paths = self.read_block(nth, scratch)?;
        Ok(block.get_or_init(|| paths).get(within))
    }

    /// Decodes all paths.
    pub(crate) fn decode_paths(&self, scratch: &mut Scratch) -> Result<()> {
        let blocks = self.blocks.iter().enumerate();
        for (nth, block) in blocks.filter(|(_, block)| block.get().is_none()) {
            let paths = self.read_block(nth, scratch)?;
            block.get_or_init(|| paths);
        }
        Ok(())
    }

    /// Returns the block of row `at` and the row's position in it.
    fn place(&self, at: usize) -> (usize, usize) {
        let first = self.rows.start % BLOCK_ROWS;
        let from_block = first as usize + at;
        let (block, within) = (
            from_block / BLOCK_ROWS as usize,
            from_block % BLOCK_ROWS as usize,
        );
        match block {
            // The first block begins with the first of these rows.
            0 => (0, within - first as usize),
            _ => (block, within),
        }
    }

    fn read_block(&self, nth: usize, scratch: &mut Scratch) -> Result<ByteColumn> {
        let start = (self.rows.start / BLOCK_ROWS + nth as u64) * BLOCK_ROWS;
        let rows = start.max(self.rows.start)..(start + BLOCK_ROWS).min(self.rows.end);
        let from = (rows.start - self.rows.start) as usize;
        let (paths, depths) = read_paths(&self.file, rows, scratch)?;
        match self.depth.get(from..from + depths.len()) == Some(&depths[..]) {
            true => Ok(paths),
            false => Err(self
                .file
                .damaged("a directory's depth does not match its path")),
        }
    }
}

/// Reads paths and their depths.
fn read_paths(
    file: &SegmentFile,
    rows: Range<u64>,
    scratch: &mut Scratch,
) -> Result<(ByteColumn, Vec<u32>)> {
    let (text, raw) = (DirColumn::Path as usize, DirColumn::PathRaw as usize);
    let paths = read_text(file, text, raw, &[rows], scratch)?;
    let depths = depths(&paths);
    let depths = depths.ok_or_else(|| file.damaged("a directory has an invalid path"))?;
    Ok((paths, depths))
}

fn read_numbers(
    file: &SegmentFile,
    ranges: &[Range<u64>],
    columns: &[DirColumn],
    scratch: &mut Scratch,
) -> Result<Vec<Vec<u64>>> {
    let mut numbers = Vec::with_capacity(columns.len());
    for column in columns {
        let mut values = Vec::new();
        file.numbers(*column as usize, 0u64, ranges, scratch, &mut values)?;
        numbers.push(values);
    }
    Ok(numbers)
}

/// Reads `columns` of `rows`, without paths.
pub(crate) fn read_dir_numbers(
    file: &SegmentFile,
    rows: Range<u64>,
    columns: &[DirColumn],
    scratch: &mut Scratch,
) -> Result<Vec<Vec<u64>>> {
    read_numbers(file, &[rows], columns, scratch)
}

/// Reads paths and `columns` of `rows`.
pub(crate) fn read_dirs(
    file: &SegmentFile,
    rows: Range<u64>,
    columns: &[DirColumn],
    scratch: &mut Scratch,
) -> Result<DirChunk> {
    let (path, _) = read_paths(file, rows.clone(), scratch)?;
    let numbers = read_numbers(file, std::slice::from_ref(&rows), columns, scratch)?;
    Ok(DirChunk {
        rows,
        path,
        numbers,
    })
}

/// Columns that [`read_dir_page`] reads.
const PAGE_COLUMNS: [DirColumn; 2] = [DirColumn::FirstRow, DirColumn::Rows];

/// Reads the directories around `row`, as many as our writer puts on a page:
/// their paths, and `first_row` and `rows`. The page stays with the view if
/// `scratch` is for lookups.
pub(crate) fn read_dir_page(
    file: &SegmentFile,
    row: u64,
    scratch: &mut Scratch,
) -> Result<Arc<DirChunk>> {
    let start = row / BLOCK_ROWS * BLOCK_ROWS;
    let rows = start..(start + BLOCK_ROWS).min(file.rows());
    match scratch.is_for_lookups() && !rows.is_empty() {
        true => kept::directories(file, &rows, || {
            // Otherwise, each column would be kept a second time.
            scratch.keeping_nothing(|scratch| read_dirs(file, rows.clone(), &PAGE_COLUMNS, scratch))
        }),
        false => Ok(Arc::new(read_dirs(file, rows, &PAGE_COLUMNS, scratch)?)),
    }
}

/// Returns the kind of the first row.
pub(crate) fn read_root_kind(file: &SegmentFile, scratch: &mut Scratch) -> Result<u32> {
    let mut kind = Vec::new();
    let first = 0..file.rows().min(1);
    file.numbers(DirColumn::Kind as usize, 0u32, &[first], scratch, &mut kind)?;
    Ok(kind.first().copied().unwrap_or_default())
}

/// Returns the number of components of each path; `None` if a path is not
/// absolute and normalized in the sense of [`trawl_model::path`].
fn depths(paths: &ByteColumn) -> Option<Vec<u32>> {
    // Checks all paths at once: no path ends with a slash, so two consecutive
    // slashes are within one path. Loops over fixed blocks without an early
    // exit compile to vector code.
    let data = &paths.data;
    let odd = |found: u8, (a, b): (&u8, &u8)| {
        found | (u8::from(*a == b'/') & u8::from(*b == b'/')) | u8::from(*b == 0)
    };
    let after = data.get(1..).unwrap_or_default();
    let mut pairs = data.chunks(BYTES).zip(after.chunks(BYTES));
    if pairs.any(|(a, b)| a.iter().zip(b).fold(0, odd) != 0) {
        return None;
    }
    (0..paths.len()).map(|at| depth(paths.get(at))).collect()
}

/// Bytes examined together; at most as many as a `u8` can count.
const BYTES: usize = 128;

/// Returns the number of components of a path that is known to have no
/// consecutive slashes, and no NUL except perhaps as its first byte.
fn depth(path: &[u8]) -> Option<u32> {
    let (Some(first), Some(last)) = (path.first(), path.last()) else {
        return Some(0);
    };
    let count = |bytes: &[u8]| {
        let slashes = bytes
            .iter()
            .fold(0u8, |n, byte| n + u8::from(*byte == b'/'));
        u32::from(slashes)
    };
    let slashes = path.chunks(BYTES).map(count).sum();
    (*first == b'/' && *last != b'/').then_some(slashes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_normal_absolute_paths_are_paths() {
        let column = |paths: &[&str]| {
            let mut column = ByteColumn::default();
            paths.iter().for_each(|path| column.push(path.as_bytes()));
            column
        };
        let long = "/abc".repeat(200);
        let good = ["", "/a", "/a/b", "", "/...", &long, "/z"];
        let wanted = good.map(|path| trawl_model::path::depth(path.as_bytes()) as u32);
        assert_eq!(depths(&column(&good)), Some(wanted.to_vec()));
        assert_eq!(depths(&column(&[])), Some(Vec::new()));
        assert_eq!(depths(&column(&[""])), Some(vec![0]));
        for bad in ["/", "a", "/a/", "//a", "/a//b", "/a\0", "\0", "/\0a"] {
            let long = [&long[..], bad].concat();
            for paths in [&[bad][..], &["/x", bad], &[bad, "/x"], &["", bad, "/x/y"]] {
                assert_eq!(depths(&column(paths)), None, "{paths:?}");
            }
            if !bad.starts_with('a') && !bad.starts_with('\0') {
                assert_eq!(depths(&column(&[&long])), None, "{bad:?}");
            }
        }
    }
}
