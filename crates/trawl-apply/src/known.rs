//! What the index had of a directory: as much as tells what became of it.

use std::collections::HashMap;
use trawl_model::column::{Column, ColumnSet};
use trawl_model::guard::Bit;
use trawl_model::rows::Row;
use trawl_model::{Acl, Dev, DirAccess, DirBatch, Entry, FileType, Timestamp};
use trawl_query::{ListingPlace, Listings, Values};

use crate::access::{self, Change};
use crate::error::Result;

/// Whose values are shown to those who may read the file.
const USER: &[u8] = b"user.";

/// An entry that something depends on: a directory, or what has values that
/// not all who see it may read.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    is_dir: bool,
    ino: u64,
    dev: Dev,
    btime: Option<Timestamp>,
    ctime: Timestamp,
    access: DirAccess,
}

/// What is to be done about a directory's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Became {
    /// The same directory, for the same users; or no directory, and nothing
    /// to be done.
    Same,
    /// Something else is there now, or it is for others.
    Another,
    /// It is for fewer.
    Stricter,
}

/// What a directory held.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    entries: HashMap<Vec<u8>, Known>,
    /// Whether any entry had an attribute.
    values: bool,
}

/// What is read of rows.
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

impl Known {
    /// What a row says.
    pub(crate) fn of_row(row: &Row<'_>) -> Known {
        Known {
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

    /// The same of what is there now.
    pub(crate) fn of_entry(batch: &DirBatch, entry: &Entry) -> Known {
        Known {
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

    /// Who may do what.
    pub(crate) fn access(&self) -> &DirAccess {
        &self.access
    }

    /// True if this access lets the same users do the same in a directory.
    pub(crate) fn lets_do_as(&self, access: &DirAccess) -> bool {
        let bits = [Bit::Search, Bit::Read];
        access::change(&self.access, access, &bits) == Change::None
    }

    fn is_same_object(&self, other: &Known) -> bool {
        (self.is_dir, self.ino, self.dev, self.btime)
            == (other.is_dir, other.ino, other.dev, other.btime)
    }
}

impl Listing {
    /// What the index has of `dir`, and where.
    pub(crate) fn read(listings: &mut Listings<'_>, dir: &[u8]) -> Result<(Listing, ListingPlace)> {
        let place = listings.find(dir)?;
        let mut listing = Listing::default();
        listings.rows(dir, &place, |row| listing.note(row))?;
        Ok((listing, place))
    }

    /// Notes what a row says.
    pub(crate) fn note(&mut self, row: &Row<'_>) {
        self.values |= !row.xattr_names().is_empty();
        let names = row.xattr_names().split(|byte| *byte == 0);
        let has_values = names.into_iter().any(|name| name.starts_with(USER));
        if row.file_type() == FileType::Directory || has_values {
            self.entries.insert(row.name().to_vec(), Known::of_row(row));
        }
    }

    /// Whether entries had attributes.
    pub(crate) fn values(&self) -> Values {
        match self.values {
            true => Values::Some,
            false => Values::Unnamed,
        }
    }

    /// True if something depends on what became of a name.
    pub(crate) fn has(&self, name: &[u8]) -> bool {
        self.entries.contains_key(name)
    }

    /// What was known of a directory whose attributes changed since: it may
    /// have been read while it was for others.
    pub(crate) fn touched(&self, name: &[u8], now: &Known) -> Option<&Known> {
        let before = self.entries.get(name)?;
        (now.is_dir && before.ctime != now.ctime).then_some(before)
    }

    /// Takes out what was known of a name, and says what became of it.
    pub(crate) fn compare(&mut self, name: &[u8], now: &Known) -> Became {
        let Some(before) = self.entries.remove(name) else {
            return match now.is_dir {
                true => Became::Another,
                false => Became::Same,
            };
        };
        if !before.is_same_object(now) {
            // Whoever saw the values of what is gone may go on to.
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

    /// The directories that were not compared: they are gone.
    pub(crate) fn gone(self) -> impl Iterator<Item = Vec<u8>> {
        let dirs = self.entries.into_iter().filter(|(_, known)| known.is_dir);
        dirs.map(|(name, _)| name)
    }
}
