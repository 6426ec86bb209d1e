//! The names in each directory of a search path: `PATH`, `LD_LIBRARY_PATH` and their like.
//!
//! A table about `/` in which the directories on the way have nothing but the next names, and those
//! of the search path all. It says of names that they are not there, and nothing else: what a name
//! stands for is for the kernel. So a directory of the search path that is reached through links is
//! listed like any other, and one that is not there like an empty one.

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

/// What is known of a directory of a search path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// All names in it.
    Names(Vec<Name>, Search),
    /// It is not there: nothing is.
    Missing,
    /// Nothing: who looks into it is to do so.
    Unknown,
}

/// A name in a directory of a search path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub name: Vec<u8>,
    /// Its inode number.
    pub ino: u64,
    /// `d_type`; 0 if that is not known.
    pub kind: u8,
}

const BUFFER_BYTES: usize = 32 << 10;
/// Directories with more names in their paths are left out: each level is one of calls, too.
const DEPTH_MAX: usize = 256;
const LIST: Purpose = Purpose::List(AccessTime::Keep);

/// A table about the directories whose paths are demanded. Those that cannot be read, are made up or
/// have too many names are not listed.
pub(crate) fn table(demand: &Demand) -> Result<Builder, Errno> {
    let mut names = ReadBuffer::new(BUFFER_BYTES);
    search_table(demand, |path, room| Ok(look(&mut names, path, room)))
}

/// A table about the directories whose paths are demanded ([`Extent::Each`](crate::Extent::Each)):
/// `look` says of a path which names are there, if they are no more than so many.
///
/// # Errors
/// What `look` fails with; if the root cannot be looked at.
pub fn search_table(
    demand: &Demand,
    look: impl FnMut(&[u8], usize) -> Result<Found, Errno>,
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
    /// Its path, if it is one of the search path.
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
        // Of the root all is said that is said of others; it is never searched.
        at.wanted = (!is_root).then_some(path);
    }
}

struct Listing<'a, Look> {
    demand: &'a Demand,
    builder: Builder,
    look: Look,
}

impl<Look: FnMut(&[u8], usize) -> Result<Found, Errno>> Listing<'_, Look> {
    /// Puts in what is known of a directory, and those below it.
    fn put(&mut self, number: u32, node: &Node<'_>) -> Result<(), Errno> {
        let room = (self.demand.entries_max as usize).saturating_sub(self.builder.len());
        let known = match node.wanted {
            Some(path) => (self.look)(path, room)?,
            None => Found::Unknown,
        };
        let first = self.builder.len();
        let mut below: Vec<(NewEntry, &Node<'_>)> = Vec::new();
        match known {
            Found::Names(names, search) => {
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
            Found::Missing => self.builder.listed(number, first, Search::Allowed),
            Found::Unknown if node.below.is_empty() => {}
            Found::Unknown => {
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

fn look(buffer: &mut ReadBuffer, path: &[u8], room: usize) -> Found {
    let Ok(path) = CString::new(path) else {
        return Found::Unknown;
    };
    let opened = match directory::open_path(CWD, &path, LIST, Links::Followed) {
        Ok(opened) => opened,
        Err(error) if error.errno == Errno::NOENT => return Found::Missing,
        Err(_) => return Found::Unknown,
    };
    let is_plain =
        filesystem::of_fd(&opened).is_ok_and(|system| !LEFT_ALONE.contains(&system.magic));
    let names = match is_plain {
        true => read(buffer, &opened, room),
        false => None,
    };
    let Some(names) = names else {
        return Found::Unknown;
    };
    // Looking even for itself needs that permission.
    let search = match stat_at(&opened, c".") {
        Ok(_) => Search::Allowed,
        Err(_) => Search::Unknown,
    };
    Found::Names(names, search)
}

/// All names, if they are not too many.
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
