//! The files below a directory by an index that a daemon keeps as of now: only those that can match
//! are named, and no other file is looked at.
//!
//! A file is left out if its row has the identity of a content that cannot match. The daemon's
//! answer says that the times of rows show every change of contents that was made before the
//! question, so that the row's identity is the file's. Where the index cannot answer, the caller
//! walks.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use trawl_call::auto::IsFresh;
use trawl_call::index::{FileRow, IndexRead};
use trawl_call::request::Cancel;
use trawl_grams::{Identity, Stamp};
use trawl_model::Timestamp;

use crate::covered::{Covered, Fate};
use crate::walk::{Admits, Kind};

/// Number of entries from which a directory is worth a question to a daemon, even if there is no
/// directory in it.
const WORTH_ASKING: usize = 64;

/// Opens the index and asks its daemons; `None` if nobody says that it shows every change of
/// contents.
pub type Opens = Box<dyn Fn() -> Option<(IndexRead, IsFresh)> + Send + Sync>;

/// Something below a start.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A file that is read.
    File(Vec<u8>),
    /// A file that cannot match, and counts.
    Blank(Vec<u8>),
    /// A directory that only a walk can list.
    Live(Vec<u8>),
}

impl Item {
    fn name(&self) -> &[u8] {
        match self {
            Item::File(name) | Item::Blank(name) | Item::Live(name) => name,
        }
    }
}

/// The index, which is asked once.
pub struct Listed {
    covered: Arc<Covered>,
    opens: Opens,
    opened: OnceLock<Option<(IndexRead, IsFresh)>>,
}

impl Listed {
    /// Prepares the question, whose contents `covered` knows.
    pub fn new(covered: Arc<Covered>, opens: Opens) -> Listed {
        Listed {
            covered,
            opens,
            opened: OnceLock::new(),
        }
    }

    /// Returns the files below a directory in path order; `None` if a walk is quicker, or the index
    /// cannot answer.
    pub(crate) fn below(
        &self,
        start: &[u8],
        admits: &Admits,
        cancel: &Cancel,
    ) -> Option<VecDeque<Item>> {
        if self.opened.get().is_none() && is_small(start) {
            return None;
        }
        // Packs are read while the daemon is asked and the index is opened.
        std::thread::scope(|scope| {
            let asked = || self.covered.excluded().len();
            let asks = std::thread::Builder::new().spawn_scoped(scope, asked);
            if asks.is_err() {
                asked();
            }
            let found = self.found(start, admits, cancel);
            if let Ok(asks) = asks {
                // If it panicked, this thread has read the packs.
                let _ = asks.join();
            }
            found.filter(|_| !self.covered.excluded().is_empty())
        })
    }

    /// Asks the index, while another thread reads the packs.
    fn found(&self, start: &[u8], admits: &Admits, cancel: &Cancel) -> Option<VecDeque<Item>> {
        let opened = self.opened.get_or_init(&self.opens).as_ref();
        let (index, is_fresh) = opened.filter(|_| self.covered.has_packs())?;
        let fate = self.covered.fate();
        let selects = |file: &FileRow<'_>| {
            let excluded = self.covered.excluded();
            let is_blank = excluded.contains(&identity(file).id());
            let is_member = !is_blank || fate == Fate::Blank;
            (is_member && is_admitted(admits, file)).then_some(is_blank)
        };
        let top = if start.is_empty() { b"." } else { start };
        let found = index.files(top, (is_fresh, cancel), selects).ok()?;
        let files = found.files.into_iter().map(|(name, is_blank)| {
            let name = named(start, &name);
            match is_blank {
                true => Item::Blank(name),
                false => Item::File(name),
            }
        });
        let is_entered = |dir: &Vec<u8>| all_entered(admits, dir);
        let live = found.live.into_iter().filter(is_entered);
        let live = live.map(|dir| Item::Live(named(start, &dir)));
        Some(merge(files.collect(), live.collect()))
    }
}

/// Merges two lists in path order.
fn merge(mut files: VecDeque<Item>, mut live: VecDeque<Item>) -> VecDeque<Item> {
    if live.is_empty() {
        return files;
    }
    let mut all = VecDeque::with_capacity(files.len() + live.len());
    while let (Some(file), Some(dir)) = (files.front(), live.front()) {
        let next = match trawl_model::path::cmp(file.name(), dir.name()).is_lt() {
            true => files.pop_front(),
            false => live.pop_front(),
        };
        all.extend(next);
    }
    all.extend(files);
    all.extend(live);
    all
}

/// Returns the name of what lies below a start, as the walk spells it.
fn named(start: &[u8], below: &[u8]) -> Vec<u8> {
    crate::walk::join(start, below)
}

/// Returns whether a directory has few entries and no directory, so that a walk is over at once.
fn is_small(start: &[u8]) -> bool {
    let place = if start.is_empty() { b"." } else { start };
    let Ok(entries) = std::fs::read_dir(Path::new(OsStr::from_bytes(place))) else {
        return true;
    };
    let mut count = 0;
    for entry in entries.flatten() {
        count += 1;
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if count >= WORTH_ASKING || is_directory {
            return false;
        }
    }
    true
}

/// Returns whether the file is searched and all directories between the start and it are entered.
fn is_admitted(admits: &Admits, file: &FileRow<'_>) -> bool {
    admits(file.row().name(), Kind::File) && all_entered(admits, file.below)
}

fn all_entered(admits: &Admits, below: &[u8]) -> bool {
    let mut parts = below.split(|byte| *byte == b'/');
    parts.all(|part| part.is_empty() || admits(part, Kind::Directory))
}

fn identity(file: &FileRow<'_>) -> Identity {
    let row = file.row();
    let stamp = |time: Timestamp| Stamp {
        secs: time.secs,
        nanos: time.nanos,
    };
    Identity {
        dev: row.dev().as_u64(),
        ino: row.ino(),
        size_bytes: row.size(),
        mtime: stamp(row.mtime()),
        ctime: stamp(row.ctime()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_directories_come_in_their_place() {
        let file = |name: &str| Item::File(name.into());
        let live = |name: &str| Item::Live(name.into());
        let files = ["a", "b/x", "b-c", "z"].map(file);
        let merged = merge(files.into(), ["b/a", "b/y", "c"].map(live).into());
        let names: Vec<_> = merged.iter().map(Item::name).collect();
        assert_eq!(
            names,
            [&b"a"[..], b"b/a", b"b/x", b"b/y", b"b-c", b"c", b"z"]
        );
    }

    #[test]
    fn excluded_directories_hide_all_below() {
        let admits: Admits = Arc::new(|name, kind| kind == Kind::File || name != b"no");
        assert!(all_entered(&admits, b"") && all_entered(&admits, b"a/b"));
        assert!(!all_entered(&admits, b"a/no/b") && !all_entered(&admits, b"no"));
    }
}
