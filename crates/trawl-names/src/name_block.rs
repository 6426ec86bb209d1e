//! A block of names: unpacked, a zero byte and each name with a zero byte
//! behind it; or as its codes. With either a bit for each row that is a
//! directory.

use memchr::{memchr, memchr_iter, memrchr};

use crate::fold;
use crate::layout::BLOCK_ROWS;
use crate::symbols::Symbols;
use crate::writer::RowKind;

/// A row of a block and where it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Where the zero byte before its name is.
    pub(crate) at: usize,
    /// The row, counted from the block's first.
    pub(crate) row: usize,
}

/// A block and the current row in it, which only moves forward.
#[derive(Debug, Default)]
pub(crate) struct NameBlock {
    number: Option<usize>,
    /// Names, and what unpacking left behind them.
    raw: Vec<u8>,
    /// Bytes of the names.
    text_len: usize,
    kinds: Vec<u8>,
    /// The names in small letters of ASCII, once they are asked for.
    folded: Vec<u8>,
    current: Place,
}

/// A block as it is in the file.
#[derive(Debug, Default)]
pub(crate) struct CodedBlock {
    pub(crate) number: Option<usize>,
    pub(crate) rows: usize,
    /// Bytes of the names, unpacked.
    text_len: usize,
    /// Codes, then bits.
    packed: Vec<u8>,
    codes_len: usize,
}

impl CodedBlock {
    /// What to fill before [`CodedBlock::filled`].
    pub(crate) fn packed(&mut self) -> &mut Vec<u8> {
        self.number = None;
        &mut self.packed
    }

    /// Takes what was filled in, of a block that unpacked has `raw_len`
    /// bytes; false if it makes no sense.
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

    /// Bytes of the names, each with its zero byte.
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

/// By its bit, what a row is.
fn kind(bits: &[u8], row: usize) -> RowKind {
    match bits.get(row / 8).map(|bits| bits >> (row % 8) & 1) {
        Some(1) => RowKind::Directory,
        _ => RowKind::Other,
    }
}

impl NameBlock {
    /// Unpacks a block; false if it makes no sense.
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
        self.current = Place::default();
        true
    }

    pub(crate) fn is(&self, number: usize) -> bool {
        self.number == Some(number)
    }

    pub(crate) fn text(&self) -> &[u8] {
        &self.raw[..self.text_len]
    }

    /// The names in small letters of ASCII.
    pub(crate) fn folded(&mut self) -> &[u8] {
        if self.folded.is_empty() {
            self.folded.extend_from_slice(&self.raw[..self.text_len]);
            self.folded.make_ascii_lowercase();
        }
        &self.folded
    }

    /// True if a character beyond ASCII is equal to one of ASCII where case
    /// is folded.
    pub(crate) fn has_special(&self) -> bool {
        fold::has_special(self.text())
    }

    /// The current row.
    pub(crate) fn current(&self) -> Place {
        self.current
    }

    /// Goes on to a place.
    pub(crate) fn set(&mut self, place: Place) {
        self.current = place;
    }

    /// Goes on to a row, which is none before the current one.
    pub(crate) fn go_to(&mut self, row: usize) {
        let Place { at, row: current } = self.current;
        if let Some(skipped) = row.checked_sub(current + 1) {
            let mut ends = memchr_iter(0, &self.raw[at + 1..self.text_len]);
            if let Some(end) = ends.nth(skipped) {
                let at = at + 1 + end;
                self.current = Place { at, row };
            }
        }
    }

    /// The row that the text at `at` belongs to, no row before `from`; the
    /// zero byte before a name is the name's.
    pub(crate) fn place_of(&self, at: usize, from: Place) -> Place {
        let at = at.min(self.text_len.saturating_sub(2));
        let first = from.at + 1;
        let passed = &self.raw[first..(at + 1).max(first)];
        Place {
            at: memrchr(0, passed).map_or(from.at, |zero| first + zero),
            row: from.row + memchr_iter(0, passed).count(),
        }
    }

    /// Its number in the segment.
    pub(crate) fn segment_row(&self) -> u64 {
        (self.number.unwrap_or(0) * BLOCK_ROWS + self.current.row) as u64
    }

    /// The zero byte behind the current row's name.
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
