//! Tables of mounted trees, for programs that ask the bulk service instead of the kernel.
//!
//! A table says what the kernel would say about the mount in its mount namespace. It is made of the
//! answers that the mount itself gives ([`Tree`]), with the mount's inode numbers
//! ([`crate::nodes`]), as the kernel would present both ([`shown`]).
//!
//! Invariants: no table contains anything that the kernel would hide from its reader, or an
//! incomplete listing; anything uncertain is left to the kernel; a table is as old as its oldest
//! fact; the mount itself is never accessed, since this process serves it.

mod mounts;
mod search_path;
mod shown;
mod walk;

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use trawl_model::sync::lock;
use trawl_sys::Errno;
use trawl_sys::enclosure::{Top, View};
use trawl_table_service::{ATTRIBUTE_NAMES, Begun, Builder, Demand, Extent, Source};

use crate::serving::Mounted;
use crate::tree::Tree;
use mounts::MountTable;
use shown::Reader;
use walk::Walk;

/// Facts with less than this fraction of the maximum age left are requested anew before they are
/// put in a table.
const LEFT_PART: u32 = 8;

/// A tree and its mount point.
#[derive(Clone, Debug)]
pub struct MountedTree {
    /// The tree.
    pub mounted: Mounted,
    /// The mount point: an absolute path without links and dots.
    pub point: PathBuf,
}

/// A mount, as it is seen in the namespace.
#[derive(Debug)]
struct NamespaceMount {
    place: MountedTree,
    top: Top,
}

/// All mounts, and the reader of the tables.
#[derive(Debug)]
struct Open {
    seen: Vec<NamespaceMount>,
    mounts: MountTable,
    reader: Reader,
}

/// Makes tables of mounted trees, between [`Tables::open`] and [`Tables::close`].
#[derive(Debug, Default)]
pub struct Tables(Mutex<Option<Arc<Open>>>);

impl Tables {
    /// Returns the minimum remaining age of a table before it is made anew, for trees with this
    /// maximum age.
    pub fn age_left(max_age: Duration) -> Duration {
        max_age / LEFT_PART
    }

    /// Returns the names of the attributes that the view has to probe.
    pub fn attributes() -> Vec<CString> {
        let names = ATTRIBUTE_NAMES.iter();
        names.filter_map(|name| CString::new(*name).ok()).collect()
    }

    /// Begins to answer. The trees are mounted, and `places` is in the order of the view.
    ///
    /// # Errors
    /// Fails if the reader's credentials cannot be determined.
    pub fn open(&self, places: Vec<MountedTree>, view: View) -> std::io::Result<()> {
        let reader = Reader::in_namespace(view.namespaces[1])?;
        let seen = places.into_iter().zip(view.tops);
        let open = Open {
            seen: seen
                .map(|(place, top)| NamespaceMount { place, top })
                .collect(),
            mounts: MountTable::new(view.mounts),
            reader,
        };
        *lock(&self.0) = Some(Arc::new(open));
        Ok(())
    }

    /// Stops answering, and releases the mounts.
    pub fn close(&self) {
        *lock(&self.0) = None;
    }

    fn now(&self) -> Option<Arc<Open>> {
        lock(&self.0).clone()
    }
}

impl Source for Tables {
    fn table(&self, demand: &Demand, _: Begun) -> Result<Builder, Errno> {
        let open = self.now().ok_or(Errno::NODEV)?;
        if demand.extent == Extent::Each {
            return search_path::table(demand, &open);
        }
        let (seen, path) = open.find(&demand.path).ok_or(Errno::NOENT)?;
        Walk::new(demand, seen, &open.reader, open.covered(seen)?).table(path)
    }
}

fn errno(error: std::io::Error) -> Errno {
    Errno(error.raw_os_error().unwrap_or(Errno::IO.0))
}

impl Open {
    /// Returns the points in a mount at which other file systems are mounted.
    fn covered(&self, seen: &NamespaceMount) -> Result<Vec<Vec<u8>>, Errno> {
        let point = seen.place.point.as_os_str().as_bytes();
        let above = self.mounts.above(point, seen.top.stat.dev).map_err(errno)?;
        // Another file system is mounted over it, so it is not visible at its point.
        above.ok_or(Errno::XDEV)
    }

    /// Returns the mount that a path lies in, and the path below its top.
    fn find<'a>(&self, path: &'a [u8]) -> Option<(&NamespaceMount, &'a [u8])> {
        let below = |seen: &NamespaceMount| {
            let rest = path.strip_prefix(seen.place.point.as_os_str().as_bytes())?;
            match rest.split_first() {
                None => Some(rest),
                Some((b'/', rest)) => Some(rest),
                Some(_) => None,
            }
        };
        // For nested mounts, the inner one counts.
        let found = self
            .seen
            .iter()
            .filter_map(|seen| Some((seen, below(seen)?)));
        found.min_by_key(|(_, rest)| rest.len())
    }
}

impl NamespaceMount {
    fn tree(&self) -> &Tree {
        &self.place.mounted.tree
    }
}
