//! Reads from the index as much of a directory as is needed to compare it with its present state.

use std::collections::HashMap;
use trawl_model::column::{Column, ColumnSet};
use trawl_model::guard::Bit;
use trawl_model::rows::Row;
use trawl_model::{Acl, Dev, DirAccess, DirBatch, Entry, FileType, Timestamp};
use trawl_query::{ListingPlace, Listings, Values};

use crate::access::{self, Change};
use crate::error::Result;

/// Prefix of attributes whose values are shown to everyone who may read the file.
const USER: &[u8] = b"user.";

/// An entry that others depend on: a directory, or a file with attribute values that not everyone
/// who sees the file may read.
#[derive(Clone, Debug)]
pub(crate) struct KnownEntry {
    is_dir: bool,
    ino: u64,
    dev: Dev,
    btime: Option<Timestamp>,
    ctime: Timestamp,
    access: DirAccess,
}

/// The result of comparing a directory's entry with its earlier row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Became {
    /// The same directory with the same access; or not a directory, and nothing to do.
    Same,
    /// Another object, or a directory with other permissions.
    Another,
    /// Fewer users may see it.
    Stricter,
}

/// The entries of a directory that others depend on.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    entries: HashMap<Vec<u8>, KnownEntry>,
    /// Whether any entry had an attribute.
    values: bool,
}

/// The columns read for a comparison.
pub(crate) const COLUMNS: ColumnSet = ColumnSet::of(&[
    Column::Name,
    Column::Ino,
    Column::Dev,
    Column::Mode,
    Column::Uid,
    Column::Gid,
    Column::Acl,
    Column::Btime,
    Column::BtimeNs,
    Column::Ctime,
    Column::CtimeNs,
    Column::XattrNames,
]);

impl KnownEntry {
    /// Takes the values from a row.
    pub(crate) fn of_row(row: &Row<'_>) -> KnownEntry {
        KnownEntry {
            is_dir: row.file_type() == FileType::Directory,
            ino: row.ino(),
            dev: row.dev(),
            btime: row.btime(),
            ctime: row.ctime(),
            access: DirAccess {
                mode: row.mode(),
                uid: row.uid(),
                gid: row.gid(),
                acl: Acl::parse(row.acl()),
            },
        }
    }

    /// Takes the values from an entry as it is now.
    pub(crate) fn of_entry(batch: &DirBatch, entry: &Entry) -> KnownEntry {
        KnownEntry {
            is_dir: entry.meta.file_type() == FileType::Directory,
            ino: entry.meta.ino,
            dev: entry.meta.dev,
            btime: entry.meta.btime,
            ctime: entry.meta.ctime,
            access: DirAccess {
                mode: entry.meta.mode,
                uid: entry.meta.uid,
                gid: entry.meta.gid,
                acl: Acl::parse(batch.bytes(entry.acl)),
            },
        }
    }

    pub(crate) fn is_dir(&self) -> bool {
        self.is_dir
    }

    pub(crate) fn dev(&self) -> Dev {
        self.dev
    }

    pub(crate) fn ino(&self) -> u64 {
        self.ino
    }

    /// The permissions.
    pub(crate) fn access(&self) -> &DirAccess {
        &self.access
    }

    /// Returns true if `access` grants the same users the same rights in a directory.
    pub(crate) fn lets_do_as(&self, access: &DirAccess) -> bool {
        let bits = [Bit::Search, Bit::Read];
        access::change(&self.access, access, &bits) == Change::None
    }

    fn is_same_object(&self, other: &KnownEntry) -> bool {
        (self.is_dir, self.ino, self.dev, self.btime)
            == (other.is_dir, other.ino, other.dev, other.btime)
    }
}

impl Listing {
    /// Reads the listing of `dir` from the index; also returns where it lies.
    pub(crate) fn read(listings: &mut Listings<'_>, dir: &[u8]) -> Result<(Listing, ListingPlace)> {
        let place = listings.find(dir)?;
        let mut listing = Listing::default();
        listings.rows(dir, &place, |row| listing.note(row))?;
        Ok((listing, place))
    }

    /// Adds a row.
    pub(crate) fn note(&mut self, row: &Row<'_>) {
        self.values |= !row.xattr_names().is_empty();
        let names = row.xattr_names().split(|byte| *byte == 0);
        let has_values = names.into_iter().any(|name| name.starts_with(USER));
        if row.file_type() == FileType::Directory || has_values {
            self.entries
                .insert(row.name().to_vec(), KnownEntry::of_row(row));
        }
    }

    /// Says whether entries had attributes.
    pub(crate) fn values(&self) -> Values {
        match self.values {
            true => Values::Some,
            false => Values::Unnamed,
        }
    }

    /// Returns true if others depend on the entry with this name.
    pub(crate) fn has(&self, name: &[u8]) -> bool {
        self.entries.contains_key(name)
    }

    /// Returns the earlier row of a directory whose attributes changed since: its content may have
    /// been read while other permissions held.
    pub(crate) fn touched(&self, name: &[u8], now: &KnownEntry) -> Option<&KnownEntry> {
        let before = self.entries.get(name)?;
        (now.is_dir && before.ctime != now.ctime).then_some(before)
    }

    /// Removes the earlier entry of a name and compares it with the present one.
    pub(crate) fn compare(&mut self, name: &[u8], now: &KnownEntry) -> Became {
        let Some(before) = self.entries.remove(name) else {
            return match now.is_dir {
                true => Became::Another,
                false => Became::Same,
            };
        };
        if !before.is_same_object(now) {
            // Users who saw the values of the previous object may continue to see them.
            return match now.is_dir || before.is_dir {
                true => Became::Another,
                false => Became::Same,
            };
        }
        let bits: &[Bit] = match now.is_dir {
            true => &[Bit::Search, Bit::Read],
            false => &[Bit::Read],
        };
        match (
            access::change(&before.access, &now.access, bits),
            now.is_dir,
        ) {
            (Change::None, _) | (Change::Loosened, false) => Became::Same,
            (Change::Loosened, true) => Became::Another,
            (Change::Tightened, _) => Became::Stricter,
        }
    }

    /// Returns the directories that were not compared: they no longer exist.
    pub(crate) fn gone(self) -> impl Iterator<Item = Vec<u8>> {
        let dirs = self.entries.into_iter().filter(|(_, known)| known.is_dir);
        dirs.map(|(name, _)| name)
    }
}
