//! The number of rows in the footer of a Parquet file, which is its end.
//!
//! The footer is a structure of Thrift's compact protocol, whose third field is the number; the other
//! fields are skipped.
//!
//! Source: <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>

use trawl_thrift::{Compact, Kind};

/// What a file ends with.
const ENDS: &[u8] = b"PAR1";
/// Bytes behind the footer: its length, and what the file ends with.
const TAIL_BYTES: usize = 8;
/// Most bytes of a file's end that are kept. A footer has about 100 for each column of each 262,144
/// rows.
const KEPT_BYTES: usize = 1 << 20;

/// Number of the field with the number of rows.
const ROWS: i16 = 3;

/// A file whose rows are counted.
#[derive(Debug, Default)]
pub(super) struct File {
    rows: Option<u64>,
    /// The last bytes.
    kept: Vec<u8>,
}

impl File {
    /// Looks at the next bytes.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.kept.extend_from_slice(bytes);
        if self.kept.len() > 2 * KEPT_BYTES {
            self.kept.drain(..self.kept.len() - KEPT_BYTES);
        }
        // Nobody says before the end that it is the end.
        self.rows = match self.kept.ends_with(ENDS) {
            true => footer(&self.kept).and_then(rows),
            false => None,
        };
    }

    /// Returns the number of rows; `None` if the file has not ended.
    pub(super) fn rows(&self) -> Option<u64> {
        self.rows
    }
}

fn footer(file: &[u8]) -> Option<&[u8]> {
    let end = file.len().checked_sub(TAIL_BYTES)?;
    let length = u32::from_le_bytes(*file.get(end..)?.first_chunk()?);
    let begin = end.checked_sub(usize::try_from(length).ok()?)?;
    file.get(begin..end)
}

fn rows(footer: &[u8]) -> Option<u64> {
    let mut rows = None;
    Compact::new(footer).structure(|at, field, kind| match (field, kind) {
        (ROWS, Kind::Int) => {
            rows = Some(at.unsigned()?);
            Some(())
        }
        _ => at.skip(kind),
    })?;
    rows
}
