//! Tables of mounted trees, for programs that ask the bulk service instead of the kernel.
//!
//! A table says what the kernel would say of the mount, in the namespace in which it is seen: it is
//! made of the answers that the mount itself gets ([`Tree`]), with the numbers that the mount
//! gives ([`crate::nodes`]), and as the kernel passes both on ([`shown`]).
//!
//! Invariants: no table holds what the kernel would keep from its reader, nor a listing that is
//! not whole; what is not certain is left to the kernel; a table is as old as the oldest of what it
//! is made of; the mount itself is never asked, since this process serves it.

mod mounts;
mod search_path;
mod shown;
mod walk;

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use trawl_bulk::{ATTRIBUTE_NAMES, Begun, Builder, Demand, Extent, Source};
use trawl_sys::Errno;
use trawl_sys::enclosure::{Top, View};

use crate::serving::Mounted;
use crate::tree::Tree;
use mounts::MountTable;
use shown::Reader;
use walk::Walk;

/// What has less left than this part of the age that was agreed on is asked for anew before it is
/// put in a table.
const LEFT_PART: u32 = 8;

/// A tree and where it is mounted.
#[derive(Clone, Debug)]
pub struct Place {
    /// The tree.
    pub mounted: Mounted,
    /// An absolute path without links and dots.
    pub point: PathBuf,
}

/// A mount as it is seen.
#[derive(Debug)]
struct Seen {
    place: Place,
    top: Top,
}

/// All mounts, and who sees them.
#[derive(Debug)]
struct Open {
    seen: Vec<Seen>,
    mounts: MountTable,
    reader: Reader,
}

/// Says what is in mounted trees, from [`Tables::open`] to [`Tables::close`].
#[derive(Debug, Default)]
pub struct Tables(Mutex<Option<Arc<Open>>>);

impl Tables {
    /// How little a table may have left before it is made anew, if trees are kept so long.
    pub fn age_left(max_age: Duration) -> Duration {
        max_age / LEFT_PART
    }

    /// The attributes that are to be looked for, for the view.
    pub fn attributes() -> Vec<CString> {
        let names = ATTRIBUTE_NAMES.iter();
        names.filter_map(|name| CString::new(*name).ok()).collect()
    }

    /// Begins to answer: the trees are mounted, in the order in which the view has them.
    ///
    /// # Errors
    /// If it cannot be found out what the kernel would keep from whom.
    pub fn open(&self, places: Vec<Place>, view: View) -> std::io::Result<()> {
        let reader = Reader::in_namespace(view.namespaces[1])?;
        let seen = places.into_iter().zip(view.tops);
        let open = Open {
            seen: seen.map(|(place, top)| Seen { place, top }).collect(),
            mounts: MountTable::new(view.mounts),
            reader,
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(open));
        Ok(())
    }

    /// Answers no more, and lets go of the mounts.
    pub fn close(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn now(&self) -> Option<Arc<Open>> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
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
    /// Where something else is mounted in a mount.
    fn covered(&self, seen: &Seen) -> Result<Vec<Vec<u8>>, Errno> {
        let point = seen.place.point.as_os_str().as_bytes();
        let above = self.mounts.above(point, seen.top.stat.dev).map_err(errno)?;
        // It is not what is seen there: something else was mounted over it.
        above.ok_or(Errno::XDEV)
    }

    /// The mount that a path lies in, and the path below its top.
    fn find<'a>(&self, path: &'a [u8]) -> Option<(&Seen, &'a [u8])> {
        let below = |seen: &Seen| {
            let rest = path.strip_prefix(seen.place.point.as_os_str().as_bytes())?;
            match rest.split_first() {
                None => Some(rest),
                Some((b'/', rest)) => Some(rest),
                Some(_) => None,
            }
        };
        // Of one mount in another the inner one is meant.
        let found = self
            .seen
            .iter()
            .filter_map(|seen| Some((seen, below(seen)?)));
        found.min_by_key(|(_, rest)| rest.len())
    }
}

impl Seen {
    fn tree(&self) -> &Tree {
        &self.place.mounted.tree
    }
}
