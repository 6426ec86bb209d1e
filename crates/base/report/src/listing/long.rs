//! The long format: fields aligned within a listing, as in GNU ls.
//!
//! Widths are those of the listing; a field that no item has takes no space. Widths are in terminal
//! columns.

use crate::listing::name::Name;
use crate::width::width;

/// A field that is padded to the width of its column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// Aligned to the left: names.
    Left(Vec<u8>),
    /// Aligned to the right: numbers.
    Right(Vec<u8>),
}

/// The size of a file, or the device number of a device file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SizeField {
    /// A size, already in its unit.
    Size(String),
    /// Major and minor number.
    Device(u32, u32),
}

/// One line before it is aligned.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Inode number, if asked for.
    pub(crate) inode: Option<String>,
    /// Allocated blocks, if asked for.
    pub(crate) blocks: Option<String>,
    /// The ten characters of the mode.
    pub(crate) mode: Vec<u8>,
    /// Mark after the mode; a space if there is none.
    pub(crate) mark: u8,
    /// Number of hard links.
    pub(crate) nlink: String,
    /// Owner and group, as far as they were asked for.
    pub(crate) owners: Vec<Field>,
    /// Size or device number.
    pub(crate) size: SizeField,
    /// Time, if it is known.
    pub(crate) time: Option<String>,
    /// True if the attributes are known.
    pub(crate) is_known: bool,
    /// The name and everything after it.
    pub(crate) name: LongName,
}

/// A name in the long format.
#[derive(Clone, Debug)]
pub(crate) struct LongName {
    pub(crate) own: Name,
    /// Target of a link.
    pub(crate) target: Option<Name>,
    /// Indicator after the last of the names.
    pub(crate) mark: Option<u8>,
}

/// Widths of the fields in a listing.
#[derive(Debug, Default)]
pub(crate) struct Widths {
    inode: usize,
    blocks: usize,
    nlink: usize,
    owners: Vec<usize>,
    size: usize,
    major: usize,
    minor: usize,
    time: usize,
    marked: bool,
}

impl Widths {
    /// Widens the fields to fit these lines.
    pub(crate) fn widen(&mut self, lines: &[Line]) {
        lines.iter().for_each(|line| self.widen_by(line));
    }

    /// Sets the width of a time that is not known.
    pub(crate) fn expect_time(&mut self, width: usize) {
        self.time = width;
    }

    fn widen_by(&mut self, line: &Line) {
        let widths = self;
        let length = |field: &Option<String>| field.as_ref().map_or(0, String::len);
        widths.inode = widths.inode.max(length(&line.inode));
        widths.blocks = widths.blocks.max(length(&line.blocks));
        widths.nlink = widths.nlink.max(line.nlink.len());
        widths.marked |= line.is_known && line.mark != b' ';
        widths
            .owners
            .resize(widths.owners.len().max(line.owners.len()), 0);
        for (wide, owner) in widths.owners.iter_mut().zip(&line.owners) {
            *wide = (*wide).max(owner.width());
        }
        match &line.size {
            SizeField::Size(size) => widths.size = widths.size.max(size.len()),
            SizeField::Device(major, minor) => {
                widths.major = widths.major.max(digits(*major));
                widths.minor = widths.minor.max(digits(*minor));
                widths.size = widths.size.max(widths.major + 2 + widths.minor);
            }
        }
    }
}

/// Writes the fields before the name. Returns the column at which GNU ls assumes the name begins,
/// which it counts from the end of the owners.
pub(crate) fn push_fields(out: &mut Vec<u8>, line: &Line, widths: &Widths) -> usize {
    let mut start = out.len();
    if let Some(inode) = &line.inode {
        push_right(out, inode.as_bytes(), widths.inode);
    }
    if let Some(blocks) = &line.blocks {
        push_right(out, blocks.as_bytes(), widths.blocks);
    }
    out.extend_from_slice(&line.mode);
    if widths.marked {
        out.push(line.mark);
    }
    out.push(b' ');
    push_right(out, line.nlink.as_bytes(), widths.nlink);
    for (owner, wide) in line.owners.iter().zip(&widths.owners) {
        match owner {
            Field::Left(name) => {
                out.extend_from_slice(name);
                pad(out, wide.saturating_sub(width(name)) + 1);
            }
            Field::Right(number) => push_right(out, number, *wide),
        }
        start = out.len();
    }
    match &line.size {
        SizeField::Size(size) => push_right(out, size.as_bytes(), widths.size),
        SizeField::Device(major, minor) => {
            let room = widths
                .size
                .saturating_sub(2 + widths.minor)
                .max(widths.major);
            let text = format!("{major:>room$}, {minor:>wide$} ", wide = widths.minor);
            out.extend_from_slice(text.as_bytes());
        }
    }
    match &line.time {
        Some(time) => push_right(out, time.as_bytes(), 0),
        None => push_right(out, b"?", widths.time),
    }
    out.len() - start
}

impl Field {
    fn width(&self) -> usize {
        match self {
            Field::Left(bytes) | Field::Right(bytes) => width(bytes),
        }
    }
}

fn push_right(out: &mut Vec<u8>, text: &[u8], wide: usize) {
    pad(out, wide.saturating_sub(width(text)));
    out.extend_from_slice(text);
    out.push(b' ');
}

fn pad(out: &mut Vec<u8>, count: usize) {
    out.resize(out.len() + count, b' ');
}

fn digits(number: u32) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}
