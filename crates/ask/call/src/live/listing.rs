//! The entries of one directory that are relevant to a search, by name.

use std::ffi::CStr;
use std::ops::Range;
use std::os::fd::BorrowedFd;

use trawl_sys::directory::ReadBuffer;
use trawl_sys::stat::{Stat, stat_at};
use trawl_sys::{Errno, SysError};

use crate::pattern::{Pattern, State};
use crate::request::Cancel;

const DIRECTORY: u32 = 0o040_000;
const LINK: u32 = 0o120_000;

/// The type of an entry, as far as the directory tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Directory,
    Link,
    Other,
    /// Only stat(2) tells the type.
    Unknown,
}

impl Kind {
    fn of_bits(bits: Option<u32>) -> Kind {
        match bits {
            None => Kind::Unknown,
            Some(DIRECTORY) => Kind::Directory,
            Some(LINK) => Kind::Link,
            Some(_) => Kind::Other,
        }
    }
}

/// A relevant entry.
#[derive(Debug)]
pub(super) struct Entry {
    /// Range of the name in `names`, including its NUL byte.
    name: Range<usize>,
    pub(super) kind: Kind,
    /// Whether the entry matches.
    pub(super) is_match: bool,
    /// The state for the entry's own entries, if it may be a directory in which something can
    /// match.
    pub(super) below: Option<State>,
}

/// The test for relevant entries of a directory.
#[derive(Clone, Copy)]
pub(super) struct Sieve<'a> {
    pub(super) pattern: &'a Pattern,
    pub(super) state: &'a State,
    pub(super) follows_links: FollowsLinks,
}

/// Whether a symbolic link may be a directory to enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FollowsLinks {
    Yes,
    No,
}

/// How a listing ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Whole,
    Failed(SysError),
    Cancelled,
}

/// The relevant entries of one directory; reused from directory to directory.
#[derive(Debug, Default)]
pub(super) struct Listing {
    names: Vec<u8>,
    entries: Vec<Entry>,
}

impl Listing {
    /// Clears the listing, and keeps up to 1 MiB of each buffer.
    pub(super) fn clear(&mut self) {
        const KEPT_BYTES: usize = 1 << 20;
        self.names.clear();
        self.entries.clear();
        self.names.shrink_to(KEPT_BYTES);
        self.entries.shrink_to(KEPT_BYTES / size_of::<Entry>());
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns an entry's name.
    pub(super) fn name(&self, entry: &Entry) -> &CStr {
        let bytes = self.names.get(entry.name.clone()).unwrap_or(b"\0");
        CStr::from_bytes_with_nul(bytes).unwrap_or(c"")
    }

    /// Lists an open directory.
    pub(super) fn read(
        &mut self,
        directory: BorrowedFd<'_>,
        sieve: &Sieve<'_>,
        buffer: &mut ReadBuffer,
        cancel: &Cancel,
    ) -> End {
        let mut reader = buffer.read(directory);
        let mut end = End::Whole;
        loop {
            if reader.is_buffer_empty() && cancel.is_cancelled() {
                return End::Cancelled;
            }
            match reader.next() {
                None => break,
                Some(Ok(entry)) => {
                    if !entry.is_dot() {
                        let kind = Kind::of_bits(entry.type_bits());
                        self.take(entry.name(), kind, sieve);
                    }
                }
                Some(Err(error)) if error.errno == Errno::INTR => {}
                // The directory was removed while it was open, so it is empty.
                Some(Err(error)) if error.is_vanished() => break,
                Some(Err(error)) => {
                    end = End::Failed(error);
                    break;
                }
            }
        }
        let names = &self.names;
        let bytes = |entry: &Entry| &names[entry.name.clone()];
        self.entries.sort_unstable_by(|a, b| bytes(a).cmp(bytes(b)));
        end
    }

    /// Looks up names in a directory instead of listing it. Fails if a lookup fails for any other
    /// reason than that the name does not exist.
    pub(super) fn look(
        &mut self,
        directory: BorrowedFd<'_>,
        names: &[&[u8]],
        sieve: &Sieve<'_>,
    ) -> Result<(), SysError> {
        for name in names {
            let at = self.names.len();
            self.names.extend_from_slice(name);
            self.names.push(0);
            let name = CStr::from_bytes_with_nul(&self.names[at..]).unwrap_or(c"");
            let found = stat_at(directory, name);
            let name = name.to_owned();
            self.names.truncate(at);
            match found {
                Ok(stat) => self.take(&name, kind_of(&stat), sieve),
                Err(error) if is_absent(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn take(&mut self, name: &CStr, kind: Kind, sieve: &Sieve<'_>) {
        let bytes = name.to_bytes();
        let is_match = sieve.pattern.accepts(sieve.state, bytes);
        let may_be_entered = match kind {
            Kind::Directory | Kind::Unknown => true,
            Kind::Link => sieve.follows_links == FollowsLinks::Yes,
            Kind::Other => false,
        };
        let below = may_be_entered.then(|| sieve.pattern.enter(sieve.state, bytes));
        let below = below.filter(|state| !state.is_none());
        if is_match || below.is_some() {
            let at = self.names.len();
            self.names.extend_from_slice(name.to_bytes_with_nul());
            self.entries.push(Entry {
                name: at..self.names.len(),
                kind,
                is_match,
                below,
            });
        }
    }
}

/// Returns the type that stat(2) reports.
pub(super) fn kind_of(stat: &Stat) -> Kind {
    Kind::of_bits(Some(stat.type_bits()))
}

/// Returns whether an error only says that the entry does not exist.
pub(super) fn is_absent(error: &SysError) -> bool {
    error.is_vanished() || matches!(error.errno, Errno::NAMETOOLONG | Errno::NOTDIR)
}
