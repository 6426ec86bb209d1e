//! Tables about the directories of a search path: `PATH`, `LD_LIBRARY_PATH` and similar variables.
//!
//! Such a table is about `/`. Directories on the way have only the next names; the directories of
//! the search path have all their names. The table shows which names do not exist, and nothing
//! else: the kernel answers for the names that do. So a directory that is reached through links is
//! listed like any other, and a missing directory like an empty one.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};

use trawl_sys::directory::{self, AccessTime, Links, Purpose, ReadBuffer};
use trawl_sys::filesystem;
use trawl_sys::stat::{self, stat_at};
use trawl_sys::{CWD, Errno, SysError};
use trawl_table::{Builder, EntryParts, Level, NewEntry, Search};

use crate::source::Demand;
use crate::walk::{LEFT_ALONE, converted};

/// The names in a directory of a search path, as far as they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirectoryNames {
    /// All names in it.
    Names(Vec<Name>, Search),
    /// The directory does not exist, nor does anything in it.
    Missing,
    /// Unknown: programs must look themselves.
    Unknown,
}

/// A name in a directory of a search path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub name: Vec<u8>,
    /// Its inode number.
    pub ino: u64,
    /// `d_type`; 0 if unknown.
    pub kind: u8,
}

const BUFFER_BYTES: usize = 32 << 10;
/// Directories with more path components are left out: each level is a recursion, too.
const DEPTH_MAX: usize = 256;
const LIST: Purpose = Purpose::List(AccessTime::Keep);

/// Makes a table about the demanded directories. Directories that cannot be read, are on synthetic
/// file systems or have too many names are not listed.
pub(crate) fn table(demand: &Demand) -> Result<Builder, Errno> {
    let mut names = ReadBuffer::new(BUFFER_BYTES);
    search_table(demand, |path, room| Ok(look(&mut names, path, room)))
}

/// Makes a table about the demanded directories ([`Extent::Each`](crate::Extent::Each)). `look`
/// returns the names at a path, if they are no more than the given number.
///
/// # Errors
/// Errors of `look`, and failures to look at the root directory.
pub fn search_table(
    demand: &Demand,
    look: impl FnMut(&[u8], usize) -> Result<DirectoryNames, Errno>,
) -> Result<Builder, Errno> {
    let errno = |error: SysError| error.errno;
    let top = directory::open_path(CWD, c"/", LIST, Links::Refused).map_err(errno)?;
    let root = converted(&stat::stat_fd(&top).map_err(errno)?);
    let mut way = Node::default();
    for path in demand.path.split(|byte| *byte == b':') {
        way.add(path);
    }
    let mut listing = Listing {
        demand,
        builder: Builder::new(b"/", &root, Level::Names),
        look,
    };
    listing.put(0, &way)?;
    Ok(listing.builder)
}

/// A directory of the search path, or on the way to one.
#[derive(Default)]
struct Node<'a> {
    below: BTreeMap<&'a [u8], Node<'a>>,
    /// Its path, if it is in the search path.
    wanted: Option<&'a [u8]>,
}

impl<'a> Node<'a> {
    fn add(&mut self, path: &'a [u8]) {
        let names = path.split(|byte| *byte == b'/');
        if names.clone().count() > DEPTH_MAX {
            return;
        }
        let mut at = self;
        let mut is_root = true;
        for name in names.filter(|name| !name.is_empty()) {
            at = at.below.entry(name).or_default();
            is_root = false;
        }
        // The root directory only serves as the way to others; it is never searched.
        at.wanted = (!is_root).then_some(path);
    }
}

struct Listing<'a, Look> {
    demand: &'a Demand,
    builder: Builder,
    look: Look,
}

impl<Look: FnMut(&[u8], usize) -> Result<DirectoryNames, Errno>> Listing<'_, Look> {
    /// Adds what is known about a directory, and those below it.
    fn put(&mut self, number: u32, node: &Node<'_>) -> Result<(), Errno> {
        let room = (self.demand.entries_max as usize).saturating_sub(self.builder.len());
        let known = match node.wanted {
            Some(path) => (self.look)(path, room)?,
            None => DirectoryNames::Unknown,
        };
        let first = self.builder.len();
        let mut below: Vec<(NewEntry, &Node<'_>)> = Vec::new();
        match known {
            DirectoryNames::Names(names, search) => {
                for name in names {
                    let entry = self.builder.push(&EntryParts {
                        name: &name.name,
                        kind: name.kind,
                        ino: name.ino,
                        ..EntryParts::default()
                    });
                    below.extend(node.below.get(&*name.name).map(|node| (entry, node)));
                }
                self.builder.listed(number, first, search);
            }
            DirectoryNames::Missing => self.builder.listed(number, first, Search::Allowed),
            DirectoryNames::Unknown if node.below.is_empty() => {}
            DirectoryNames::Unknown => {
                for (name, node) in &node.below {
                    let entry = self.builder.push(&EntryParts {
                        name,
                        ..EntryParts::default()
                    });
                    below.push((entry, node));
                }
                self.builder.partly_listed(number, first);
            }
        }
        for (entry, node) in below {
            let number = self.builder.add_directory(entry, Some(number));
            self.put(number, node)?;
        }
        Ok(())
    }
}

fn look(buffer: &mut ReadBuffer, path: &[u8], room: usize) -> DirectoryNames {
    let Ok(path) = CString::new(path) else {
        return DirectoryNames::Unknown;
    };
    let opened = match directory::open_path(CWD, &path, LIST, Links::Followed) {
        Ok(opened) => opened,
        Err(error) if error.errno == Errno::NOENT => return DirectoryNames::Missing,
        Err(_) => return DirectoryNames::Unknown,
    };
    let is_plain =
        filesystem::of_fd(&opened).is_ok_and(|system| !LEFT_ALONE.contains(&system.magic));
    let names = match is_plain {
        true => read(buffer, &opened, room),
        false => None,
    };
    let Some(names) = names else {
        return DirectoryNames::Unknown;
    };
    // Even looking at `.` needs search permission.
    let search = match stat_at(&opened, c".") {
        Ok(_) => Search::Allowed,
        Err(_) => Search::Unknown,
    };
    DirectoryNames::Names(names, search)
}

/// Returns all names, if they are not too many.
fn read(buffer: &mut ReadBuffer, opened: &OwnedFd, room: usize) -> Option<Vec<Name>> {
    let mut names = Vec::new();
    let mut reader = buffer.read(opened.as_fd());
    while let Some(entry) = reader.next() {
        let entry = entry.ok()?;
        let name = entry.name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        if names.len() >= room {
            return None;
        }
        names.push(Name {
            name: name.to_owned(),
            ino: entry.ino(),
            kind: entry.type_bits().map_or(0, |bits| (bits >> 12) as u8),
        });
    }
    Some(names)
}
