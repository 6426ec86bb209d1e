//! Rewrites listings of which only some names are dirty: these are looked at, and the other rows
//! are copied from the index.
//!
//! This is right where a source names its changes: every difference from the index is dirty by its
//! name, or under all names that the index has of it. Where that does not hold, the directory is
//! listed as a whole: if it is new at its path (see [`Targets::of`]), if a part of it could not be
//! read, if another file system is mounted in it (mounting does not change the directory), or if
//! ids were mapped on the way into the index. If most names are dirty, a full listing costs no
//! more.

use std::collections::HashMap;
use std::ffi::CString;

use trawl_format::{IndexError, Table};
use trawl_model::{Dev, DirBatch, Xattr};
use trawl_query::{ListingPlace, Listings, RowsOf, ValueIn, View};
use trawl_scan::{FRAGMENT_BYTES, SomeNames};

use super::Reading;
use super::noted::{self, Noted};
use crate::error::Result;
use crate::known::Listing;
use crate::targets::NameSet;

/// A directory is listed as a whole if it has fewer rows than this per dirty name.
const ROWS_A_NAME: u64 = 2;
/// Maximum number of names looked at together.
const NAMES_MOST: u64 = 1 << 15;
/// Rows of one batch.
const BATCH_ROWS: usize = 1 << 15;
/// A directory whose attribute values take more bytes is listed as a whole, which needs less memory.
const VALUES_BYTES_MOST: usize = 32 << 20;
/// Initial capacity per row for its names, in bytes.
const NAME_BYTES: usize = 24;

/// The part of a listing that is kept.
pub(super) struct KeptRows {
    pub(super) place: ListingPlace,
    /// The entries of it that others depend on.
    pub(super) listing: Listing,
    /// Number of rows.
    rows: usize,
    /// Names to look at, in order.
    names: Vec<CString>,
    /// The directory's device and inode number.
    of: (Dev, u64),
    /// Attribute values by entry, those of each entry in their original order.
    values: HashMap<Vec<u8>, Vec<ValueIn>>,
}

impl Reading<'_> {
    /// Returns what can be kept of the listing of `dir` if these names are dirty; `None` if it must
    /// be listed as a whole.
    pub(super) fn kept(&mut self, dir: &[u8], dirty: Option<&NameSet>) -> Result<Option<KeptRows>> {
        let Some(dirty) = dirty.filter(|_| self.id_map.is_none()) else {
            return Ok(None);
        };
        let place = self.rows.find(dir)?;
        let Some(outline) = self.rows.outline(&place) else {
            return Ok(None);
        };
        let most = outline.rows / ROWS_A_NAME;
        if dirty.len() as u64 > most.min(NAMES_MOST) || most == 0 {
            return Ok(None);
        }
        let names = dirty.iter().map(|name| CString::new(&name[..]));
        let Ok(names) = names.collect::<std::result::Result<Vec<_>, _>>() else {
            return Ok(None);
        };
        let mut listing = Listing::default();
        let mut is_one_device = true;
        self.rows.rows(dir, &place, |row| {
            listing.note(row);
            is_one_device &= row.dev() == outline.dev;
        })?;
        Ok(is_one_device.then_some(KeptRows {
            place,
            listing,
            rows: outline.rows as usize,
            names,
            of: (outline.dev, outline.ino),
            values: HashMap::new(),
        }))
    }
}

impl KeptRows {
    /// Adds the attribute values found in these rows, which are all that the index has of the
    /// directory. Returns `None` if they are too large to be kept in memory, or if a part of the
    /// directory could not be read before: its change would not be named.
    pub(super) fn with_values(
        mut self,
        view: &View,
        dir: &[u8],
        known: &[RowsOf<'_>],
    ) -> Result<Option<KeptRows>> {
        let has = |table| known.iter().any(|rows| rows.table == table);
        if has(Table::Issues) {
            return Ok(None);
        }
        if has(Table::Xattrs) {
            let Some(values) = view.values_in(dir, VALUES_BYTES_MOST)? else {
                return Ok(None);
            };
            for value in values {
                let of_entry = self.values.entry(value.name.clone()).or_default();
                // The values of a directory behind a barrier are stored twice.
                if of_entry.iter().all(|known| known.attr != value.attr) {
                    of_entry.push(value);
                }
            }
        }
        Ok(Some(self))
    }

    pub(super) fn wanted(&self) -> SomeNames<'_> {
        SomeNames {
            names: &self.names,
            of: self.of,
        }
    }

    /// Passes on the kept rows, merged with the entries found under the dirty names.
    pub(super) fn give(
        &self,
        dir: &[u8],
        found: DirBatch,
        rows: &mut Listings<'_>,
        noted: &mut Noted<'_, '_>,
    ) -> Result<()> {
        let mut next = DirBatch {
            fragment: found.fragment + 1,
            ..noted::head_of(&found)
        };
        let mut batch = found;
        batch.entries.reserve(self.rows.min(BATCH_ROWS));
        batch.heap.reserve(self.rows.min(BATCH_ROWS) * NAME_BYTES);
        let mut given: std::result::Result<(), IndexError> = Ok(());
        rows.rows(dir, &self.place, |row| {
            let is_dirty = |name: &CString| name.to_bytes().cmp(row.name());
            if given.is_err() {
                return;
            }
            if self.names.binary_search_by(is_dirty).is_ok() {
                return noted.settling.note_known(row);
            }
            if batch.entries.len() >= BATCH_ROWS || batch.heap.len() >= FRAGMENT_BYTES {
                let full = std::mem::replace(&mut batch, next.clone());
                next.fragment += 1;
                given = noted.pass(full);
            }
            row.push_to(&mut batch);
            self.push_values(&mut batch, row.name());
        })?;
        given?;
        Ok(noted.pass(batch)?)
    }

    /// Adds the values of the entry that was added last.
    fn push_values(&self, batch: &mut DirBatch, name: &[u8]) {
        // A batch has at most 65,536 entries.
        let entry = batch.entries.len().saturating_sub(1) as u32;
        for value in self.values.get(name).into_iter().flatten() {
            let (name, value) = (
                batch.push_bytes(&value.attr),
                batch.push_bytes(&value.value),
            );
            batch.xattrs.push(Xattr { entry, name, value });
        }
    }
}
