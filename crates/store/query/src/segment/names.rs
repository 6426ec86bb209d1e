//! Reads names of rows from the segment's sidecar. They equal those of its
//! entries table and cost less to read.

use super::file::row_count;
use super::scratch::Scratch;
use crate::open_sidecars::Sidecar;
use std::ops::Range;
use trawl_model::rows::ByteColumn;
use trawl_names::NameText;

/// For fewer rows, reading a page is as fast as opening a sidecar.
const ROWS: usize = 512;

/// True if a sidecar is worth opening for the names of `rows`.
pub(crate) fn is_worth_a_sidecar(rows: &[Range<u64>]) -> bool {
    row_count(rows) >= ROWS
}

/// Reads the names of `rows` into `names`, which must be empty. Returns false
/// and leaves it empty if the sidecar cannot be read.
pub(crate) fn read_sidecar(
    sidecar: &Sidecar,
    rows: &[Range<u64>],
    scratch: &mut Scratch,
    names: &mut ByteColumn,
) -> bool {
    names.data = std::mem::take(&mut scratch.name_bytes);
    names.gap = 1;
    let mut text = NameText {
        bytes: &mut names.data,
        offsets: &mut names.offsets,
    };
    let is_read = scratch.names.read(sidecar, rows, &mut text).is_ok();
    if !is_read {
        names.clear();
    }
    is_read
}
