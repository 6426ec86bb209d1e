//! Reads the names of rows by row number into one text, as a read of the
//! table's name column would.
//!
//! Whole blocks are decompressed in place. If only some rows of a block are
//! wanted, it is decompressed into a buffer and these are copied.

use std::ops::Range;

use crate::error::Result;
use crate::layout::BLOCK_ROWS;
use crate::name_block::CodedBlock;
use crate::read_at::ReadAt;
use crate::reader::{Buffers, Names};
use crate::symbols::{ENDS_MOST, Ends, SPARE_BYTES, Symbols};

/// Names, each followed by a separator: a zero byte.
#[derive(Debug)]
pub struct NameText<'t> {
    /// The names; bytes after the last separator are undefined.
    pub bytes: &'t mut Vec<u8>,
    /// The offset of each name, starting with 0, and the offset after the last
    /// separator.
    pub offsets: &'t mut Vec<u32>,
}

/// Buffers for reading names; used by one thread.
pub struct RowReader {
    buffers: Option<Buffers>,
    coded: CodedBlock,
    ends: Box<Ends>,
    /// The names of the block that was read in part, and its number.
    part: Vec<u8>,
    number: Option<usize>,
}

impl Default for RowReader {
    fn default() -> RowReader {
        RowReader {
            buffers: None,
            coded: CodedBlock::default(),
            ends: Box::new([0; ENDS_MOST]),
            part: Vec::new(),
            number: None,
        }
    }
}

impl std::fmt::Debug for RowReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowReader").finish_non_exhaustive()
    }
}

impl RowReader {
    /// Puts the names of `rows` into `text`, replacing its contents. The ranges
    /// must be ascending and disjoint.
    ///
    /// # Errors
    /// If a block is damaged or holds invalid names, or there are no such rows.
    pub fn read<R: ReadAt>(
        &mut self,
        names: &Names<R>,
        rows: &[Range<u64>],
        text: &mut NameText<'_>,
    ) -> Result<()> {
        text.offsets.clear();
        text.offsets.push(0);
        // The buffered block may belong to another sidecar.
        self.number = None;
        let mut buffers = self.buffers.take().unwrap_or_default();
        let symbols = names.symbols(&mut buffers);
        self.buffers = Some(buffers);
        let symbols = symbols?;
        let mut end = 0;
        for range in rows {
            end = self.range(names, symbols, range, (text, end))?;
        }
        grow(text.bytes, end);
        Ok(())
    }

    /// Puts the names of a range after the first `end` bytes of the text.
    /// Returns the new end.
    fn range<R: ReadAt>(
        &mut self,
        names: &Names<R>,
        symbols: &Symbols,
        rows: &Range<u64>,
        (text, mut end): (&mut NameText<'_>, usize),
    ) -> Result<usize> {
        let size = BLOCK_ROWS as u64;
        let mut start = rows.start;
        while start < rows.end {
            let number = (start / size) as usize;
            let first = number as u64 * size;
            let until = rows.end.min(first + size);
            let wanted = (start - first) as usize..(until - first) as usize;
            let whole = (names.rows().saturating_sub(first)).min(size) as usize;
            end = match wanted == (0..whole) {
                true => self.whole(names, symbols, number, (text, end))?,
                false => self.part(names, symbols, (number, wanted), (text, end))?,
            };
            start = until;
        }
        Ok(end)
    }

    /// Reads a block of which all rows are wanted.
    fn whole<R: ReadAt>(
        &mut self,
        names: &Names<R>,
        symbols: &Symbols,
        number: usize,
        (text, end): (&mut NameText<'_>, usize),
    ) -> Result<usize> {
        names.read_coded(number, &mut self.coded)?;
        self.number = None;
        let rows = unpack(symbols, &self.coded, (text.bytes, end), &mut self.ends);
        let ends = rows.and_then(|rows| self.ends.get(..rows));
        let upto = end + self.coded.names_len();
        let is_sound = text.bytes.get(end..upto).is_some_and(are_names);
        let ends = ends.filter(|_| is_sound);
        let ends = ends.ok_or_else(|| names.damaged_names(number))?;
        text.offsets.extend_from_slice(ends);
        Ok(upto)
    }

    /// Reads a block of which some rows are wanted.
    fn part<R: ReadAt>(
        &mut self,
        names: &Names<R>,
        symbols: &Symbols,
        (number, rows): (usize, Range<usize>),
        (text, end): (&mut NameText<'_>, usize),
    ) -> Result<usize> {
        if self.number != Some(number) {
            self.number = None;
            names.read_coded(number, &mut self.coded)?;
            let place = (&mut self.part, 0);
            let unpacked = unpack(symbols, &self.coded, place, &mut self.ends);
            unpacked.ok_or_else(|| names.damaged_names(number))?;
            self.number = Some(number);
        }
        let start_of = |row: usize| match row.checked_sub(1) {
            Some(before) => self.ends.get(before).map(|end| *end as usize),
            None => Some(0),
        };
        let bytes = start_of(rows.start).zip(start_of(rows.end));
        let bytes = bytes.and_then(|(from, upto)| Some((from, self.part.get(from..upto)?)));
        let bytes = bytes.filter(|(_, bytes)| rows.end <= self.coded.rows && are_names(bytes));
        let (from, bytes) = bytes.ok_or_else(|| names.damaged_names(number))?;
        let upto = end + bytes.len();
        grow(text.bytes, upto);
        text.bytes[end..upto].copy_from_slice(bytes);
        let ends = self.ends.get(rows).unwrap_or_default();
        let shifted = |place: &u32| (*place as usize - from + end) as u32;
        text.offsets.extend(ends.iter().map(shifted));
        Ok(upto)
    }
}

/// Makes room for a text of `len` bytes and for the spare bytes that
/// decompression writes after it.
fn grow(text: &mut Vec<u8>, len: usize) {
    if text.len() < len + SPARE_BYTES {
        text.resize(len + SPARE_BYTES, 0);
    }
}

/// Decompresses a block's names to offset `end` of a text. Returns the number
/// of rows, or `None` if the block is invalid.
fn unpack(
    symbols: &Symbols,
    coded: &CodedBlock,
    (text, end): (&mut Vec<u8>, usize),
    ends: &mut Ends,
) -> Option<usize> {
    let (len, codes) = (coded.names_len(), coded.codes());
    u32::try_from(end.checked_add(len)?).ok()?;
    if !symbols.can_be(codes, len) {
        return None;
    }
    grow(text, end + len);
    let rows = symbols.unpack_rows(codes, (end, len), text, ends)?;
    (rows == coded.rows).then_some(rows)
}

/// Number of bytes compared at a time.
const BYTES: usize = 128;

/// True if no name is empty or contains a slash. Each name ends with a zero
/// byte.
fn are_names(text: &[u8]) -> bool {
    // Loops over fixed blocks without an early exit compile to vector code.
    let odd = |found: u8, (a, b): (&u8, &u8)| {
        found | u8::from(*a == b'/') | (u8::from(*a == 0) & u8::from(*b == 0))
    };
    let after = text.get(1..).unwrap_or_default();
    let mut pairs = text.chunks(BYTES).zip(after.chunks(BYTES));
    text.first() != Some(&0) && !pairs.any(|(a, b)| a.iter().zip(b).fold(0, odd) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_neither_empty_nor_hold_slashes() {
        let long = "n".repeat(200);
        for (text, expected) in [
            ("a\0bc\0", true),
            ("a/\0", false),
            ("\0", false),
            ("a\0\0", false),
            ("\0a\0", false),
            ("a\0/\0b\0", false),
        ] {
            assert_eq!(are_names(text.as_bytes()), expected, "{text:?}");
            let text = format!("{long}\0{text}");
            assert_eq!(are_names(text.as_bytes()), expected, "{text:?}");
        }
    }
}
