//! Lists the names in those directories of a search path that lie in mounts, so that lookups of
//! absent names need no kernel call.
//!
//! A directory may be reached through links, as long as they stay in the mount. Directories that
//! the reader may not search, that lie elsewhere, or whose listing has not arrived yet are left to
//! the kernel.

use std::collections::HashMap;
use std::time::Instant;

use trawl_call::Attributes;
use trawl_model::relative_path::split;
use trawl_sys::Errno;
use trawl_table_service::search_path::{DirectoryNames, Name, search_table};
use trawl_table_service::{Builder, Demand, Search};

use super::Open;
use super::shown::kind;
use super::walk::{PATIENCE, PATIENCE_FIRST, Walk};
use crate::file_system::{below, file_attr};
use crate::tree::{Entry, is_directory, is_link};

/// Maximum number of links followed, as in the kernel.
const LINKS_MAX: u32 = 40;

/// Makes a table about the directories that are demanded.
pub(super) fn table(demand: &Demand, open: &Open) -> Result<Builder, Errno> {
    // The table describes `/` as seen outside of the mounts, so `/` must not lie in a mount.
    if open.find(b"/").is_some() {
        return Err(Errno::NOTSUP);
    }
    let mut walks: HashMap<Vec<u8>, Option<Walk<'_>>> = HashMap::new();
    let mut until = Instant::now() + PATIENCE_FIRST;
    let found = search_table(demand, |path, room| {
        let Some((seen, rest)) = open.find(path) else {
            return Ok(DirectoryNames::Unknown);
        };
        let point = path[..path.len() - rest.len()].to_vec();
        let walk = walks.entry(point).or_insert_with(|| {
            let covered = open.covered(seen).ok()?;
            Some(Walk::new(demand, seen, &open.reader, covered))
        });
        let found = match walk {
            Some(walk) => walk.names(rest, room, until),
            None => Ok(DirectoryNames::Unknown),
        };
        until = until.min(Instant::now() + PATIENCE);
        match found {
            // The listing will have arrived when the table is demanded again.
            Err(Errno::WOULDBLOCK) => Err(Errno::WOULDBLOCK),
            found => Ok(found.unwrap_or(DirectoryNames::Unknown)),
        }
    });
    let mut builder = found?;
    for walk in walks.values().flatten() {
        builder.as_of(walk.oldest_ns());
    }
    Ok(builder)
}

/// A way through directories, from the top of a mount.
#[derive(Default)]
struct DirectoryChain {
    /// The directory reached so far, without links.
    path: Vec<u8>,
    /// The attributes of the directories passed, including the current one.
    passed: Vec<Attributes>,
    /// The remaining names, the next one last.
    names: Vec<Vec<u8>>,
    links: u32,
}

impl DirectoryChain {
    fn follow(&mut self, path: &[u8]) {
        let names = path.split(|byte| *byte == b'/');
        let names = names.filter(|name| !matches!(*name, b"" | b"."));
        self.names.extend(names.rev().map(<[u8]>::to_vec));
    }

    /// Goes to the parent; the parent of the top lies outside of the mount.
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
    /// Returns the names in a directory below the top, if there are at most `room`. On an error the
    /// kernel has to answer.
    fn names(&mut self, path: &[u8], room: usize, until: Instant) -> Result<DirectoryNames, Errno> {
        let Some(dir) = self.resolve(path, until)? else {
            return Ok(DirectoryNames::Missing);
        };
        let told = self.known(&dir, until)?.ok_or(Errno::WOULDBLOCK)?;
        let entries = &told.listing.entries;
        if told.listing.trouble.is_some() || entries.len() > room {
            return Ok(DirectoryNames::Unknown);
        }
        let name = |entry: &Entry| {
            let known = entry.found.as_ref().ok();
            Name {
                name: entry.name.to_vec(),
                ino: known.map_or(0, |found| found.ino),
                kind: known.map_or(0, |found| kind(file_attr(0, found).kind)),
            }
        };
        Ok(DirectoryNames::Names(
            entries.iter().map(name).collect(),
            Search::Allowed,
        ))
    }

    /// Returns the directory that a path leads to, if the reader may search it and all on the way;
    /// `None` if it does not exist.
    fn resolve(&mut self, path: &[u8], until: Instant) -> Result<Option<Vec<u8>>, Errno> {
        let tree = self.seen.tree();
        let top = tree.attributes(b"")?;
        self.note(tree.entry_as_of(b"", b"", &top));
        let mut way = DirectoryChain {
            passed: vec![top.what],
            ..DirectoryChain::default()
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

    /// Enters a name; false if it does not exist.
    fn step(
        &mut self,
        way: &mut DirectoryChain,
        name: &[u8],
        until: Instant,
    ) -> Result<bool, Errno> {
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
