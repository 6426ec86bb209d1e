//! Names of rows from the segment's sidecar, which are the same as those of
//! its entries table and cost less.

use super::file::{Scratch, row_count};
use crate::open_sidecars::Sidecar;
use std::ops::Range;
use trawl_model::rows::ByteColumn;
use trawl_names::NameText;

/// Of fewer rows than these a page is read as fast as a sidecar is opened.
const ROWS: usize = 512;

/// Whether the names of `rows` are worth to be looked for in a sidecar.
pub(crate) fn is_worth_a_sidecar(rows: &[Range<u64>]) -> bool {
    row_count(rows) >= ROWS
}

/// Puts the names in `rows` into `names`, which is empty; false, and nothing
/// in there, if the sidecar cannot be read.
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
