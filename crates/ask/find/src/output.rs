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
}
