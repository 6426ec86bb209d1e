//! The long format: fields aligned within a listing, as in GNU ls.
//!
//! Widths are those of the listing; a field that no item has takes no space. Widths are in terminal
//! columns.

use std::io::Write as _;
use std::sync::Arc;

use crate::listing::name::Name;
use crate::width::width;

/// The owner or group of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OwnerField {
    /// A name, aligned to the left.
    Name(Arc<[u8]>),
    /// An ID without a name, aligned to the right.
    Id(u32),
    /// Not known: `?`, aligned to the left.
    Unknown,
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
    pub(crate) mode: [u8; 10],
    /// Mark after the mode; a space if there is none.
    pub(crate) mark: u8,
    /// Number of hard links, if it is known.
    pub(crate) nlink: Option<u32>,
    /// User, group and author, as far as they were asked for.
    pub(crate) owners: [Option<OwnerField>; 3],
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
    owners: [usize; 3],
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
        widths.nlink = widths.nlink.max(line.nlink.map_or(1, digits));
        widths.marked |= line.is_known && line.mark != b' ';
        for (wide, owner) in widths.owners.iter_mut().zip(&line.owners) {
            *wide = (*wide).max(owner.as_ref().map_or(0, OwnerField::width));
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
    match line.nlink {
        Some(nlink) => push_number(out, nlink, widths.nlink),
        None => push_right(out, b"?", widths.nlink),
    }
    for (owner, wide) in line.owners.iter().zip(&widths.owners) {
        let Some(owner) = owner else { continue };
        match owner {
            OwnerField::Name(name) => push_left(out, name, *wide),
            OwnerField::Id(id) => push_number(out, *id, *wide),
            OwnerField::Unknown => push_left(out, b"?", *wide),
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

impl OwnerField {
    fn width(&self) -> usize {
        match self {
            OwnerField::Name(name) => width(name),
            OwnerField::Id(id) => digits(*id),
            OwnerField::Unknown => 1,
        }
    }
}

fn push_left(out: &mut Vec<u8>, text: &[u8], wide: usize) {
    out.extend_from_slice(text);
    pad(out, wide.saturating_sub(width(text)) + 1);
}

fn push_number(out: &mut Vec<u8>, number: u32, wide: usize) {
    pad(out, wide.saturating_sub(digits(number)));
    // Writing to memory cannot fail.
    let _ = write!(out, "{number} ");
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
