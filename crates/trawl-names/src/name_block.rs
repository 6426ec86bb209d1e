//! An unpacked block of names: a zero byte, and each name with a zero byte
//! behind it; then a bit for each row that is a directory.

use memchr::{memchr, memchr_iter, memrchr};

use crate::fold;
use crate::layout::BLOCK_ROWS;
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
    rows: usize,
    /// Names, then the bits.
    raw: Vec<u8>,
    /// Bytes of the names.
    text_len: usize,
    /// The names in small letters of ASCII, once they are asked for.
    folded: Vec<u8>,
    current: Place,
}

impl NameBlock {
    /// What to fill before [`NameBlock::filled`].
    pub(crate) fn raw(&mut self) -> &mut Vec<u8> {
        self.number = None;
        &mut self.raw
    }

    /// Takes what was filled in; false if it makes no sense.
    pub(crate) fn filled(&mut self, number: usize, rows: usize) -> bool {
        let Some(text_len) = self.raw.len().checked_sub(rows.div_ceil(8)) else {
            return false;
        };
        let text = &self.raw[..text_len];
        let ends = text.first() == Some(&0) && text.last() == Some(&0);
        if rows == 0 || !ends || memchr_iter(0, text).count() != rows + 1 {
            return false;
        }
        self.number = Some(number);
        (self.rows, self.text_len) = (rows, text_len);
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
        let bits = &self.raw[self.text_len..];
        match bits
            .get(self.current.row / 8)
            .map(|bits| bits >> (self.current.row % 8) & 1)
        {
            Some(1) => RowKind::Directory,
            _ => RowKind::Other,
        }
    }
}
