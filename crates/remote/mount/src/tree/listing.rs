//! The listing of a directory, and its times.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use trawl_call::Attributes;
use trawl_sys::Errno;

/// The type bits of `st_mode`, and their values for a directory and a symbolic link.
const TYPE_MASK: u32 = 0o170_000;
const DIRECTORY: u32 = 0o040_000;
const LINK: u32 = 0o120_000;

/// Returns whether the attributes are those of a directory.
pub fn is_directory(attributes: &Attributes) -> bool {
    attributes.mode & TYPE_MASK == DIRECTORY
}

/// Returns whether the attributes are those of a symbolic link.
pub fn is_link(attributes: &Attributes) -> bool {
    attributes.mode & TYPE_MASK == LINK
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name: any bytes except `/` and NUL.
    pub name: Box<[u8]>,
    /// The attributes as by lstat(2), or the error of reading them.
    pub found: Result<Attributes, Errno>,
}

/// All entries of a directory, by name.
#[derive(Debug)]
pub struct Listing {
    /// A number that no other listing has.
    pub number: u64,
    /// The number by which readers continue in this listing: that of the previous listing, if it
    /// had the same names.
    names: AtomicU64,
    /// When it arrived.
    pub at: Instant,
    /// When it was requested; it contains all changes made before.
    pub asked: Instant,
    /// The entries, sorted by name without duplicates.
    pub entries: Vec<Entry>,
    /// Why the directory could not be listed. There are no entries then.
    pub trouble: Option<Errno>,
}

static NUMBER: AtomicU64 = AtomicU64::new(1);

impl Listing {
    /// Creates a listing that was requested at `asked` and arrived at `at`.
    pub(super) fn new([asked, at]: [Instant; 2], found: Result<Vec<Entry>, Errno>) -> Arc<Listing> {
        let (entries, trouble) = match found {
            Ok(entries) => (entries, None),
            Err(errno) => (Vec::new(), Some(errno)),
        };
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Arc::new(Listing {
            number,
            names: AtomicU64::new(number),
            at,
            asked,
            entries,
            trouble,
        })
    }

    /// Returns the number by which readers continue in it.
    pub fn names(&self) -> u64 {
        self.names.load(Ordering::Relaxed)
    }

    /// Takes the place of an older listing, whose readers can continue in this one if it has the
    /// same names.
    pub(super) fn follow(&self, before: &Listing) {
        let mut both = self.entries.iter().zip(&before.entries);
        let is_same = self.entries.len() == before.entries.len()
            && both.all(|(now, then)| now.name == then.name);
        if is_same {
            self.names.store(before.names(), Ordering::Relaxed);
        }
    }

    /// Returns the entry with this name.
    pub fn get(&self, name: &[u8]) -> Option<&Entry> {
        self.place(name).map(|at| &self.entries[at])
    }

    /// Returns the position of the entry with this name.
    pub(crate) fn place(&self, name: &[u8]) -> Option<usize> {
        let entries = &self.entries;
        entries
            .binary_search_by(|entry| (*entry.name).cmp(name))
            .ok()
    }

    /// Returns its approximate memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        let names: usize = self.entries.iter().map(|entry| entry.name.len()).sum();
        size_of::<Listing>() + names + self.entries.len() * size_of::<Entry>()
    }
}
