//! Rows of the dirs table: where the rows of each directory lie.

use super::file::{Scratch, SegmentFile};
use super::rows::read_text;
use crate::error::Result;
use std::ops::Range;
use trawl_index::schema::DirColumn;
use trawl_model::rows::ByteColumn;

/// Some consecutive rows of a dirs table.
#[derive(Debug, Default)]
pub(crate) struct DirChunk {
    /// Which rows of the table.
    pub(crate) rows: Range<u64>,
    /// Their paths, raw bytes.
    pub(crate) path: ByteColumn,
    /// The number of components of each path.
    pub(crate) depth: Vec<u32>,
    /// The columns that were asked for, in that order; signed numbers as
    /// their bits.
    pub(crate) numbers: Vec<Vec<u64>>,
}

impl DirChunk {
    /// A number of row `at` (counted within the chunk): of the column that
    /// was the `column`th to be asked for.
    pub(crate) fn number(&self, column: usize, at: usize) -> u64 {
        self.numbers
            .get(column)
            .and_then(|values| values.get(at))
            .copied()
            .unwrap_or_default()
    }

    /// The depth of row `at`, counted within the chunk.
    pub(crate) fn depth(&self, at: usize) -> usize {
        self.depth.get(at).copied().unwrap_or_default() as usize
    }

    pub(crate) fn len(&self) -> usize {
        (self.rows.end - self.rows.start) as usize
    }
}

/// Reads paths and `columns` of `rows`.
pub(crate) fn read_dirs(
    file: &SegmentFile,
    rows: Range<u64>,
    columns: &[DirColumn],
    scratch: &mut Scratch,
) -> Result<DirChunk> {
    let ranges = [rows.clone()];
    let path = read_text(
        file,
        DirColumn::Path as usize,
        DirColumn::PathRaw as usize,
        &ranges,
        scratch,
    )?;
    let depth: Option<Vec<u32>> = (0..path.len()).map(|at| depth(path.get(at))).collect();
    let depth = depth.ok_or_else(|| file.damaged("a directory in it has no possible path"))?;
    let mut numbers = Vec::with_capacity(columns.len());
    for column in columns {
        let mut values = Vec::new();
        file.numbers(*column as usize, 0u64, &ranges, scratch, &mut values)?;
        numbers.push(values);
    }
    Ok(DirChunk {
        rows,
        path,
        depth,
        numbers,
    })
}

/// The kind of the first row.
pub(crate) fn read_root_kind(file: &SegmentFile, scratch: &mut Scratch) -> Result<u32> {
    let mut kind = Vec::new();
    let first = 0..file.rows().min(1);
    file.numbers(DirColumn::Kind as usize, 0u32, &[first], scratch, &mut kind)?;
    Ok(kind.first().copied().unwrap_or_default())
}

/// The number of components of `path`; `None` if it is not absolute and
/// normal, as [`trawl_model::path`] says.
fn depth(path: &[u8]) -> Option<u32> {
    let Some((last, before)) = path.split_last() else {
        return Some(0);
    };
    // Without an early end: so these are loops over many bytes at once.
    let pairs = before.iter().zip(&path[1..]);
    let doubled = pairs.fold(false, |found, (a, b)| found | ((*a == b'/') & (*b == b'/')));
    let nul = path.iter().fold(false, |found, byte| found | (*byte == 0));
    let slashes = path.iter().map(|byte| u32::from(*byte == b'/')).sum();
    let is_path = path[0] == b'/' && *last != b'/' && !doubled && !nul;
    is_path.then_some(slashes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_normal_absolute_paths_are_paths() {
        for good in ["", "/a", "/a/b", "/..."] {
            assert_eq!(
                depth(good.as_bytes()),
                Some(trawl_model::path::depth(good.as_bytes()) as u32)
            );
        }
        for bad in ["/", "a", "/a/", "//a", "/a//b", "/a\0"] {
            assert_eq!(depth(bad.as_bytes()), None, "{bad:?}");
        }
    }
}
