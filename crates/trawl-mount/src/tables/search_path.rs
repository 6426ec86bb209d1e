//! The names in directories of a search path that lie in mounts, as the mounts know them: of names
//! that they are not there.
//!
//! A directory may be reached through links, as far as they stay in the mount. One that the kernel
//! would not let the reader into, that lies elsewhere or has not come yet is the kernel's.

use std::collections::HashMap;
use std::time::Instant;

use trawl_bulk::search_path::{Found, Name, search_table};
use trawl_bulk::{Builder, Demand, Search};
use trawl_call::Attributes;
use trawl_model::relative_path::split;
use trawl_sys::Errno;

use super::Open;
use super::shown::kind;
use super::walk::{PATIENCE, PATIENCE_FIRST, Walk};
use crate::file_system::{below, file_attr};
use crate::tree::{Entry, is_directory, is_link};

/// As many links as the kernel follows.
const LINKS_MAX: u32 = 40;

/// A table about the directories whose paths are demanded.
pub(super) fn table(demand: &Demand, open: &Open) -> Result<Builder, Errno> {
    // The table is about the root, and says of it what it is outside.
    if open.find(b"/").is_some() {
        return Err(Errno::NOTSUP);
    }
    let mut walks: HashMap<Vec<u8>, Option<Walk<'_>>> = HashMap::new();
    let mut until = Instant::now() + PATIENCE_FIRST;
    let found = search_table(demand, |path, room| {
        let Some((seen, rest)) = open.find(path) else {
            return Ok(Found::Unknown);
        };
        let point = path[..path.len() - rest.len()].to_vec();
        let walk = walks.entry(point).or_insert_with(|| {
            let covered = open.covered(seen).ok()?;
            Some(Walk::new(demand, seen, &open.reader, covered))
        });
        let found = match walk {
            Some(walk) => walk.names(rest, room, until),
            None => Ok(Found::Unknown),
        };
        until = until.min(Instant::now() + PATIENCE);
        match found {
            // All will be there when it is asked for again.
            Err(Errno::WOULDBLOCK) => Err(Errno::WOULDBLOCK),
            found => Ok(found.unwrap_or(Found::Unknown)),
        }
    });
    let mut builder = found?;
    for walk in walks.values().flatten() {
        builder.as_of(walk.oldest_ns());
    }
    Ok(builder)
}

/// A way through directories, from the top of a mount on.
#[derive(Default)]
struct Way {
    /// Where it has come to, without links.
    path: Vec<u8>,
    /// The directories above, and that one.
    passed: Vec<Attributes>,
    /// Names that follow, the next one last.
    names: Vec<Vec<u8>>,
    links: u32,
}

impl Way {
    fn follow(&mut self, path: &[u8]) {
        let names = path.split(|byte| *byte == b'/');
        let names = names.filter(|name| !matches!(*name, b"" | b"."));
        self.names.extend(names.rev().map(<[u8]>::to_vec));
    }

    /// Goes up; what is above the top is elsewhere.
    fn go_up(&mut self) -> Result<(), Errno> {
        self.passed.pop();
        match self.passed.is_empty() {
            true => Err(Errno::XDEV),
            false => {
                self.path = split(&self.path).0.to_vec();
                Ok(())
            }
        }
    }
}

impl Walk<'_> {
    /// The names in a directory below the top, if there are no more than so many. An error is for
    /// the kernel to find.
    fn names(&mut self, path: &[u8], room: usize, until: Instant) -> Result<Found, Errno> {
        let Some(dir) = self.resolve(path, until)? else {
            return Ok(Found::Missing);
        };
        let told = self.known(&dir, until)?.ok_or(Errno::WOULDBLOCK)?;
        let entries = &told.listing.entries;
        if told.listing.trouble.is_some() || entries.len() > room {
            return Ok(Found::Unknown);
        }
        let name = |entry: &Entry| {
            let known = entry.found.as_ref().ok();
            Name {
                name: entry.name.to_vec(),
                ino: known.map_or(0, |found| found.ino),
                kind: known.map_or(0, |found| kind(file_attr(0, found).kind)),
            }
        };
        Ok(Found::Names(
            entries.iter().map(name).collect(),
            Search::Allowed,
        ))
    }

    /// Where a path leads to a directory in which the reader may look for names; `None` if nothing is
    /// there.
    fn resolve(&mut self, path: &[u8], until: Instant) -> Result<Option<Vec<u8>>, Errno> {
        let tree = self.seen.tree();
        let top = tree.attributes(b"")?;
        self.note(tree.entry_as_of(b"", b"", &top));
        let mut way = Way {
            passed: vec![top.what],
            ..Way::default()
        };
        way.follow(path);
        loop {
            let is_open = way
                .passed
                .last()
                .is_some_and(|of| self.reader.may_look_into(of));
            if !is_open {
                return Err(Errno::ACCES);
            }
            match way.names.pop() {
                None => return Ok(Some(way.path)),
                Some(name) if name == b".." => way.go_up()?,
                Some(name) if self.step(&mut way, &name, until)? => {}
                Some(_) => return Ok(None),
            }
        }
    }

    /// Goes on to a name; false if there is none.
    fn step(&mut self, way: &mut Way, name: &[u8], until: Instant) -> Result<bool, Errno> {
        let told = self.known(&way.path, until)?.ok_or(Errno::WOULDBLOCK)?;
        if let Some(errno) = told.listing.trouble {
            return Err(errno);
        }
        let Some(at) = told.listing.place(name) else {
            return Ok(false);
        };
        let found = told.listing.entries[at].found?;
        let path = below(&way.path, name);
        if self.is_covered(&path) || !told.holds.is_certain(at) {
            return Err(Errno::XDEV);
        }
        if is_link(&found) {
            way.links += 1;
            let target = self.target(&path).ok_or(Errno::XDEV)?;
            if way.links > LINKS_MAX || target.starts_with(b"/") {
                return Err(Errno::XDEV);
            }
            way.follow(&target);
        } else if is_directory(&found) {
            way.path = path;
            way.passed.push(found);
        } else {
            return Err(Errno::NOTDIR);
        }
        Ok(true)
    }
}
