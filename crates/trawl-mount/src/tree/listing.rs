//! What is in a directory, as of when.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use trawl_call::Attributes;
use trawl_sys::Errno;

/// The bits of `st_mode` that say of what type a file is, and those of a directory and a link.
const TYPE_MASK: u32 = 0o170_000;
const DIRECTORY: u32 = 0o040_000;
const LINK: u32 = 0o120_000;

/// True of a directory's attributes.
pub fn is_directory(attributes: &Attributes) -> bool {
    attributes.mode & TYPE_MASK == DIRECTORY
}

/// True of a symbolic link's attributes.
pub fn is_link(attributes: &Attributes) -> bool {
    attributes.mode & TYPE_MASK == LINK
}

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Any bytes but `/` and NUL.
    pub name: Box<[u8]>,
    /// What lstat(2) says of it, or why nothing is known.
    pub found: Result<Attributes, Errno>,
}

/// All that is in a directory, by name.
#[derive(Debug)]
pub struct Listing {
    /// No other listing has it.
    pub number: u64,
    /// The number under which readers go on in it: that of the listing before it, if that had the
    /// same names.
    names: AtomicU64,
    /// When it came.
    pub at: Instant,
    /// When it was asked for: what happened before is in it.
    pub asked: Instant,
    /// By name, each once.
    pub entries: Vec<Entry>,
    /// Why the directory could not be listed. There are no entries then.
    pub trouble: Option<Errno>,
}

static NUMBER: AtomicU64 = AtomicU64::new(1);

impl Listing {
    /// What was asked for and came then.
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

    /// The number under which readers go on in it.
    pub fn names(&self) -> u64 {
        self.names.load(Ordering::Relaxed)
    }

    /// Takes the place of an older one: whoever reads that can go on in this one, if it has the
    /// same names.
    pub(super) fn follow(&self, before: &Listing) {
        let mut both = self.entries.iter().zip(&before.entries);
        let is_same = self.entries.len() == before.entries.len()
            && both.all(|(now, then)| now.name == then.name);
        if is_same {
            self.names.store(before.names(), Ordering::Relaxed);
        }
    }

    /// The entry of this name.
    pub fn get(&self, name: &[u8]) -> Option<&Entry> {
        self.place(name).map(|at| &self.entries[at])
    }

    /// Which entry has this name.
    pub(crate) fn place(&self, name: &[u8]) -> Option<usize> {
        let entries = &self.entries;
        entries
            .binary_search_by(|entry| (*entry.name).cmp(name))
            .ok()
    }

    /// How much memory it takes, about.
    pub(super) fn bytes(&self) -> usize {
        let names: usize = self.entries.iter().map(|entry| entry.name.len()).sum();
        size_of::<Listing>() + names + self.entries.len() * size_of::<Entry>()
    }
}
