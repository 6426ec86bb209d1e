//! A block of names, either decompressed (a zero byte, then each name followed
//! by a zero byte) or as codes. Both have one bit for each row, which is set
//! for directories.

use memchr::{memchr, memchr_iter, memrchr};

use crate::fold;
use crate::layout::BLOCK_ROWS;
use crate::symbols::Symbols;
use crate::writer::RowKind;

/// A row of a block and its position in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowPosition {
    /// Offset of the zero byte before its name.
    pub(crate) at: usize,
    /// The row, counted from the first of the block.
    pub(crate) row: usize,
}

/// A decompressed block and its current row, which only moves forward.
#[derive(Debug, Default)]
pub(crate) struct NameBlock {
    number: Option<usize>,
    /// Names, followed by bytes that decompression left behind.
    raw: Vec<u8>,
    /// Bytes of the names.
    text_len: usize,
    kinds: Vec<u8>,
    /// The names in lower case (ASCII only); computed on first use.
    folded: Vec<u8>,
    current: RowPosition,
}

/// A block as stored in the file.
#[derive(Debug, Default)]
pub(crate) struct CodedBlock {
    pub(crate) number: Option<usize>,
    pub(crate) rows: usize,
    /// Bytes of the names when decompressed.
    text_len: usize,
    /// Codes, then the bits of the rows.
    packed: Vec<u8>,
    codes_len: usize,
}

impl CodedBlock {
    /// The buffer to fill before calling [`CodedBlock::filled`].
    pub(crate) fn packed(&mut self) -> &mut Vec<u8> {
        self.number = None;
        &mut self.packed
    }

    /// Accepts the filled buffer as a block that decompresses to `raw_len`
    /// bytes; returns false if the lengths are inconsistent.
    pub(crate) fn filled(&mut self, number: usize, rows: usize, raw_len: usize) -> bool {
        let bits_len = rows.div_ceil(8);
        let text_len = raw_len.checked_sub(bits_len);
        let codes_len = self.packed.len().checked_sub(bits_len);
        let (Some(text_len), Some(codes_len)) = (text_len, codes_len) else {
            return false;
        };
        (self.rows, self.text_len, self.codes_len) = (rows, text_len, codes_len);
        self.number = Some(number);
        rows > 0
    }

    pub(crate) fn is(&self, number: usize) -> bool {
        self.number == Some(number)
    }

    /// Bytes of the names, each with its terminating zero byte.
    pub(crate) fn names_len(&self) -> usize {
        self.text_len.saturating_sub(1)
    }

    pub(crate) fn codes(&self) -> &[u8] {
        &self.packed[..self.codes_len]
    }

    pub(crate) fn kind(&self, row: usize) -> RowKind {
        kind(&self.packed[self.codes_len..], row)
    }
}

/// Returns the kind of a row from its bit.
fn kind(bits: &[u8], row: usize) -> RowKind {
    match bits.get(row / 8).map(|bits| bits >> (row % 8) & 1) {
        Some(1) => RowKind::Directory,
        _ => RowKind::Other,
    }
}

impl NameBlock {
    /// Decompresses a block; returns false if it is invalid.
    pub(crate) fn unpack(&mut self, symbols: &Symbols, coded: &CodedBlock) -> bool {
        self.number = None;
        let text_len = coded.text_len;
        if !symbols.unpack(coded.codes(), text_len, &mut self.raw) {
            return false;
        }
        let text = &self.raw[..text_len];
        let is_ended = text.last() == Some(&0);
        if !is_ended || memchr_iter(0, text).count() != coded.rows + 1 {
            return false;
        }
        self.kinds.clear();
        self.kinds
            .extend_from_slice(&coded.packed[coded.codes_len..]);
        (self.number, self.text_len) = (coded.number, text_len);
        self.folded.clear();
        self.current = RowPosition::default();
        true
    }

    pub(crate) fn is(&self, number: usize) -> bool {
        self.number == Some(number)
    }

    pub(crate) fn text(&self) -> &[u8] {
        &self.raw[..self.text_len]
    }

    /// Returns the names in lower case (ASCII only).
    pub(crate) fn folded(&mut self) -> &[u8] {
        if self.folded.is_empty() {
            self.folded.extend_from_slice(&self.raw[..self.text_len]);
            self.folded.make_ascii_lowercase();
        }
        &self.folded
    }

    /// True if the block contains a non-ASCII character that matches an ASCII
    /// letter when case is ignored.
    pub(crate) fn has_special(&self) -> bool {
        fold::has_special(self.text())
    }

    /// The current row.
    pub(crate) fn current(&self) -> RowPosition {
        self.current
    }

    /// Moves to a place.
    pub(crate) fn set(&mut self, place: RowPosition) {
        self.current = place;
    }

    /// Moves to a row, which must not be before the current one.
    pub(crate) fn go_to(&mut self, row: usize) {
        let RowPosition { at, row: current } = self.current;
        if let Some(skipped) = row.checked_sub(current + 1) {
            let mut ends = memchr_iter(0, &self.raw[at + 1..self.text_len]);
            if let Some(end) = ends.nth(skipped) {
                let at = at + 1 + end;
                self.current = RowPosition { at, row };
            }
        }
    }

    /// Returns the row that the text at `at` belongs to, searching from `from`
    /// on. The zero byte before a name belongs to that name.
    pub(crate) fn place_of(&self, at: usize, from: RowPosition) -> RowPosition {
        let at = at.min(self.text_len.saturating_sub(2));
        let first = from.at + 1;
        let passed = &self.raw[first..(at + 1).max(first)];
        RowPosition {
            at: memrchr(0, passed).map_or(from.at, |zero| first + zero),
            row: from.row + memchr_iter(0, passed).count(),
        }
    }

    /// The current row's number in the segment.
    pub(crate) fn segment_row(&self) -> u64 {
        (self.number.unwrap_or(0) * BLOCK_ROWS + self.current.row) as u64
    }

    /// Offset of the zero byte that ends the current row's name.
    pub(crate) fn end(&self) -> usize {
        let first = self.current.at + 1;
        let rest = &self.raw[first..self.text_len];
        first + memchr(0, rest).unwrap_or(rest.len())
    }

    /// The current row's name.
    pub(crate) fn name(&self) -> &[u8] {
        &self.raw[self.current.at + 1..self.end()]
    }

    pub(crate) fn kind(&self) -> RowKind {
        kind(&self.kinds, self.current.row)
    }
}
