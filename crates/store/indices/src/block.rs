//! One block of entries: each has a key and the rows that have it.
//!
//! ```text
//! entry   varint shared   bytes that the key has in common with the key before
//!         varint length   of the rest of the key
//!         rest of the key
//!         varint count    number of rows, at least 1
//!         varints         the first row; then the distance to each next row, less 1
//! ```

use std::ops::Range;

use trawl_names::varint;

use crate::error::IndexFileError;

pub(crate) const NO_SENSE: IndexFileError = IndexFileError::Damaged("a block makes no sense");

/// Appends an entry. `before` is the key of the entry before; empty for the first.
pub(crate) fn push(out: &mut Vec<u8>, before: &[u8], key: &[u8], rows: &[u32]) {
    let same = before.iter().zip(key).take_while(|(a, b)| a == b).count();
    varint::push(out, same as u32);
    varint::push(out, (key.len() - same) as u32);
    out.extend_from_slice(&key[same..]);
    varint::push(out, rows.len() as u32);
    let mut next = 0;
    for row in rows {
        varint::push(out, row - next);
        next = row + 1;
    }
}

/// Calls `take` with the key and the rows of each entry, as ranges, until it returns false.
pub(crate) fn for_each(
    mut bytes: &[u8],
    rows_max: u64,
    mut take: impl FnMut(&[u8], &mut Rows<'_>) -> bool,
) -> Result<(), IndexFileError> {
    let mut key = Vec::new();
    while !bytes.is_empty() {
        let count = entry(&mut bytes, &mut key).ok_or(NO_SENSE)?;
        let mut rows = Rows {
            bytes,
            left: count,
            next: 0,
            rows_max,
        };
        if !take(&key, &mut rows) {
            return Ok(());
        }
        // Skip the rows that the caller did not read.
        while rows.next()?.is_some() {}
        bytes = rows.bytes;
    }
    Ok(())
}

/// Reads the beginning of an entry; returns the number of its rows.
fn entry(bytes: &mut &[u8], key: &mut Vec<u8>) -> Option<u32> {
    let same = varint::take(bytes)? as usize;
    let length = varint::take(bytes)? as usize;
    let (rest, after) = bytes.split_at_checked(length)?;
    *bytes = after;
    if same > key.len() {
        return None;
    }
    key.truncate(same);
    key.extend_from_slice(rest);
    varint::take(bytes).filter(|count| *count > 0)
}

/// The rows of an entry.
pub(crate) struct Rows<'b> {
    bytes: &'b [u8],
    left: u32,
    next: u64,
    rows_max: u64,
}

impl Rows<'_> {
    /// Returns the number of rows that are left.
    pub(crate) fn count(&self) -> u32 {
        self.left
    }

    /// Returns the next row.
    fn next(&mut self) -> Result<Option<u64>, IndexFileError> {
        if self.left == 0 {
            return Ok(None);
        }
        let gap = varint::take(&mut self.bytes).ok_or(NO_SENSE)?;
        let row = self.next + u64::from(gap);
        if row >= self.rows_max {
            return Err(NO_SENSE);
        }
        (self.next, self.left) = (row + 1, self.left - 1);
        Ok(Some(row))
    }

    /// Appends all rows as ranges.
    pub(crate) fn read(&mut self, out: &mut Vec<Range<u64>>) -> Result<(), IndexFileError> {
        let first = out.len();
        while let Some(row) = self.next()? {
            match out[first..].last_mut() {
                Some(last) if last.end == row => last.end = row + 1,
                _ => out.push(row..row + 1),
            }
        }
        Ok(())
    }
}
