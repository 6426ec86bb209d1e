//! Encodes columns of byte strings: `DELTA_LENGTH_BYTE_ARRAY`, `DELTA_BYTE_ARRAY`, and `PLAIN` for
//! dictionaries.

use super::numbers::push_delta;
use std::ops::Range;
use trawl_model::rows::ByteColumn;

/// Returns the concatenated bytes of the values in `range`.
pub(super) fn data_of<'a>(column: &'a ByteColumn, range: &Range<usize>) -> &'a [u8] {
    let at = |i: usize| column.offsets.get(i).copied().unwrap_or(0) as usize;
    column
        .data
        .get(at(range.start)..at(range.end))
        .unwrap_or_default()
}

/// Appends the values in `range` as `DELTA_LENGTH_BYTE_ARRAY`.
pub(super) fn push_delta_length(out: &mut Vec<u8>, column: &ByteColumn, range: Range<usize>) {
    let offsets = column
        .offsets
        .get(range.start..=range.end)
        .unwrap_or_default();
    let lengths: Vec<u32> = offsets.windows(2).map(|pair| pair[1] - pair[0]).collect();
    push_delta(out, &lengths);
    out.extend_from_slice(data_of(column, &range));
}

/// Appends values as `DELTA_BYTE_ARRAY`: the length of each value's common prefix with the previous
/// value in the page, then the rest.
pub(super) fn push_delta_prefix<'a>(out: &mut Vec<u8>, values: impl Iterator<Item = &'a [u8]>) {
    let (mut prefixes, mut lengths, mut rests) = (Vec::new(), Vec::new(), Vec::new());
    let mut before: &[u8] = &[];
    for value in values {
        let common = before.iter().zip(value).take_while(|(a, b)| a == b).count();
        let rest = value.get(common..).unwrap_or_default();
        prefixes.push(common as u32);
        lengths.push(rest.len() as u32);
        rests.extend_from_slice(rest);
        before = value;
    }
    push_delta(out, &prefixes);
    push_delta(out, &lengths);
    out.extend_from_slice(&rests);
}

/// Appends all values as `PLAIN`: length, then bytes.
pub(super) fn push_plain(out: &mut Vec<u8>, column: &ByteColumn) {
    out.reserve(column.data.len() + 4 * column.len());
    for at in 0..column.len() {
        let value = column.get(at);
        out.extend_from_slice(&(value.len() as u32).to_le_bytes());
        out.extend_from_slice(value);
    }
}
