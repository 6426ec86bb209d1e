//! The output of a part of a search, with columns whose width is known only
//! once everything before them has been printed.
//!
//! `-ls` widens its columns as it goes. Since parts of a search run in
//! parallel, they leave the padding out and record where it belongs. The
//! padding is inserted when the parts are written in order.

use trawl_text::quote::Terminal;

/// Columns of `-ls` whose width grows, as indices into [`Widths`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LsColumn {
    /// Inode number.
    Inode,
    /// Blocks.
    Blocks,
    /// Link count.
    Links,
    /// Owner's name.
    Owner,
    /// Group's name.
    Group,
    /// Major device number.
    Major,
    /// Minor device number.
    Minor,
    /// Size.
    Size,
}

/// All columns, in the order of their numbers.
const COLUMNS: [LsColumn; 8] = [
    LsColumn::Inode,
    LsColumn::Blocks,
    LsColumn::Links,
    LsColumn::Owner,
    LsColumn::Group,
    LsColumn::Major,
    LsColumn::Minor,
    LsColumn::Size,
];

/// Maximum width of a column that another process may send.
const WIDTH_MAX: usize = 1 << 10;
/// Maximum number of pads of a row that another process may send: more than all words of a command
/// line can give.
const PADS_MAX: usize = 1 << 15;

/// Reads a number at the beginning; returns what follows it, too.
fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    let number = usize::try_from(u64::from_le_bytes(*number)).ok()?;
    Some((number, rest))
}

/// The current minimum width of each column.
#[derive(Clone, Debug)]
pub struct Widths([usize; 8]);

impl Default for Widths {
    fn default() -> Self {
        Widths([9, 6, 3, 8, 8, 3, 3, 8])
    }
}

/// The destination of a leaf's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sink {
    /// Standard output.
    Stdout,
    /// A file, by its number in [`crate::Program::files`].
    File(usize, Terminal),
}

impl Sink {
    /// The file's number; `None` for standard output.
    pub fn number(self) -> Option<usize> {
        match self {
            Sink::Stdout => None,
            Sink::File(number, _) => Some(number),
        }
    }

    /// Whether the file is a terminal. `Terminal::Absent` for standard output,
    /// whose terminal the context knows.
    pub fn terminal(self) -> Terminal {
        match self {
            Sink::Stdout => Terminal::Absent,
            Sink::File(_, terminal) => terminal,
        }
    }
}

/// A position where padding belongs, or where a column becomes wider without
/// padding.
#[derive(Clone, Copy, Debug)]
struct Pad {
    at: usize,
    column: LsColumn,
    width: usize,
    fill: Fill,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fill {
    Blanks,
    Nothing,
}

/// The amount of output at some point, to return to it later.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mark {
    bytes: usize,
    pads: usize,
}

/// Printed bytes, with positions where padding is missing.
#[derive(Debug, Default)]
pub struct Output {
    /// The printed bytes.
    pub bytes: Vec<u8>,
    pads: Vec<Pad>,
}

impl Output {
    /// Prints a field that is aligned to the right edge of its column.
    pub fn push_right(&mut self, column: LsColumn, text: &[u8]) {
        self.note(column, text);
        self.bytes.extend_from_slice(text);
    }

    /// Prints a field that is aligned to the left edge of its column.
    pub fn push_left(&mut self, column: LsColumn, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.note(column, text);
    }

    fn note(&mut self, column: LsColumn, text: &[u8]) {
        self.pads.push(Pad {
            at: self.bytes.len(),
            column,
            width: String::from_utf8_lossy(text).chars().count(),
            fill: Fill::Blanks,
        });
    }

    /// Makes the column at least `width` characters wide from here on.
    pub fn widen(&mut self, column: LsColumn, width: usize) {
        self.pads.push(Pad {
            at: self.bytes.len(),
            column,
            width,
            fill: Fill::Nothing,
        });
    }

    /// True if nothing was printed.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.pads.is_empty()
    }

    /// Returns a mark of the current amount of output.
    pub fn mark(&self) -> Mark {
        Mark {
            bytes: self.bytes.len(),
            pads: self.pads.len(),
        }
    }

    /// Discards the output after the mark.
    pub fn truncate(&mut self, mark: Mark) {
        self.bytes.truncate(mark.bytes);
        self.pads.truncate(mark.pads);
    }

    /// Removes the output after the mark and returns it.
    #[must_use]
    pub fn split_off(&mut self, mark: Mark) -> Output {
        let mut pads = self.pads.split_off(mark.pads);
        pads.iter_mut().for_each(|pad| pad.at -= mark.bytes);
        let bytes = self.bytes.split_off(mark.bytes);
        Output { bytes, pads }
    }

    /// Appends other output to this output.
    pub fn append(&mut self, mut other: Output) {
        let before = self.bytes.len();
        other.pads.iter_mut().for_each(|pad| pad.at += before);
        self.pads.append(&mut other.pads);
        self.bytes.append(&mut other.bytes);
    }

    /// Returns the output as bytes that [`Output::decode`] reads: number of pads, for each pad its
    /// position, its column, whether it is filled, and its width (8 each), then the printed bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut all = (self.pads.len() as u64).to_le_bytes().to_vec();
        for pad in &self.pads {
            let fill = u64::from(pad.fill == Fill::Blanks);
            for number in [pad.at as u64, pad.column as u64, fill, pad.width as u64] {
                all.extend(number.to_le_bytes());
            }
        }
        all.extend(&self.bytes);
        all
    }

    /// Returns output that another process has encoded; `None` if the bytes are none.
    pub fn decode(bytes: &[u8]) -> Option<Output> {
        let (count, mut rest) = number(bytes).filter(|(count, _)| *count <= PADS_MAX)?;
        let mut pads = Vec::new();
        for _ in 0..count {
            let mut next = || {
                let (number, left) = number(rest)?;
                rest = left;
                Some(number)
            };
            let at = next()?;
            let column = COLUMNS.get(next()?)?;
            let fill = match next()? {
                0 => Fill::Nothing,
                1 => Fill::Blanks,
                _ => return None,
            };
            let width = next().filter(|width| *width <= WIDTH_MAX)?;
            pads.push(Pad {
                at,
                column: *column,
                width,
                fill,
            });
        }
        let is_in_order = pads.is_sorted_by_key(|pad| pad.at);
        let is_within = pads.last().is_none_or(|pad| pad.at <= rest.len());
        (is_in_order && is_within).then(|| Output {
            bytes: rest.to_vec(),
            pads,
        })
    }

    /// Returns the bytes with their padding, and widens `widths` accordingly.
    pub fn finish(self, widths: &mut Widths) -> Vec<u8> {
        if self.pads.is_empty() {
            return self.bytes;
        }
        let mut out = Vec::with_capacity(self.bytes.len() + 8 * self.pads.len());
        let mut done = 0;
        for pad in &self.pads {
            out.extend_from_slice(&self.bytes[done..pad.at]);
            done = pad.at;
            let width = &mut widths.0[pad.column as usize];
            *width = (*width).max(pad.width);
            if pad.fill == Fill::Blanks {
                out.resize(out.len() + *width - pad.width, b' ');
            }
        }
        out.extend_from_slice(&self.bytes[done..]);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_widen_from_there_on() {
        let mut widths = Widths::default();
        let line = |links: &[u8], owner: &[u8], widths: &mut Widths| {
            let mut out = Output::default();
            out.push_right(LsColumn::Links, links);
            out.bytes.push(b' ');
            out.push_left(LsColumn::Owner, owner);
            out.bytes.push(b'|');
            String::from_utf8(out.finish(widths)).unwrap()
        };
        assert_eq!(line(b"1", b"root", &mut widths), "  1 root    |");
        assert_eq!(
            line(b"12345", b"longername", &mut widths),
            "12345 longername|"
        );
        assert_eq!(line(b"1", b"root", &mut widths), "    1 root      |");
    }

    #[test]
    fn what_is_encoded_is_read_and_nothing_else() {
        let mut out = Output::default();
        out.push_right(LsColumn::Size, b"12");
        out.bytes.push(b' ');
        out.push_left(LsColumn::Owner, b"root");
        let encoded = out.encode();
        let again = Output::decode(&encoded).unwrap();
        let (mut one, mut other) = (Widths::default(), Widths::default());
        assert_eq!(out.finish(&mut one), again.finish(&mut other));
        // A pad after the end, an unknown column, an unknown fill, a column that is too wide, a
        // count without its pads, a count above the maximum.
        for (at, byte) in [(8, 9), (16, 8), (24, 2), (34, 1), (0, 3), (7, 1)] {
            let mut bad = encoded.clone();
            bad[at] = byte;
            assert!(Output::decode(&bad).is_none(), "{at}");
        }
        for end in 0..8 + 2 * 32 {
            assert!(Output::decode(&encoded[..end]).is_none(), "{end}");
        }
    }
}
