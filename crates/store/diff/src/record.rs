//! One difference, with the state of the entry before and after.

use trawl_model::FileType;
use trawl_model::rows::{OwnedRow, Row};

use crate::attribute::AttributeSet;

/// The kind of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The entry is new.
    Created,
    /// The entry no longer exists.
    Deleted,
    /// The entry still exists, with other attributes.
    Changed,
    /// The entry has another path.
    Moved,
}

impl Kind {
    /// Returns its name in output for programs and for people.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Created => "created",
            Kind::Deleted => "deleted",
            Kind::Changed => "changed",
            Kind::Moved => "moved",
        }
    }
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The kind of difference.
    pub kind: Kind,
    /// Absolute path, as stored; for a deleted entry, its former path.
    pub path: Vec<u8>,
    /// The former path of a moved entry.
    pub from: Option<Vec<u8>>,
    /// The entry in the first snapshot. Attributes that were not read are zero or empty.
    pub before: Option<OwnedRow>,
    /// The entry in the second snapshot.
    pub after: Option<OwnedRow>,
    /// The attributes that differ, if there are two states.
    pub attributes: AttributeSet,
}

impl Difference {
    /// Returns a creation.
    pub fn created(row: &Row<'_>) -> Difference {
        Difference {
            kind: Kind::Created,
            path: row.path(),
            from: None,
            before: None,
            after: Some(row.owned()),
            attributes: AttributeSet::EMPTY,
        }
    }

    /// Returns a deletion.
    pub fn deleted(row: &Row<'_>) -> Difference {
        Difference {
            kind: Kind::Deleted,
            path: row.path(),
            from: None,
            before: Some(row.owned()),
            after: None,
            attributes: AttributeSet::EMPTY,
        }
    }

    /// Returns a change of attributes.
    pub fn changed(before: &Row<'_>, after: &Row<'_>, attributes: AttributeSet) -> Difference {
        Difference {
            kind: Kind::Changed,
            path: after.path(),
            from: None,
            before: Some(before.owned()),
            after: Some(after.owned()),
            attributes,
        }
    }

    /// True if the entry is a directory; for a deleted entry, if it was one.
    pub fn is_dir(&self) -> bool {
        let state = self.after.as_ref().or(self.before.as_ref());
        state.is_some_and(|state| state.meta.file_type() == FileType::Directory)
    }

    /// Apparent size in bytes before and after; 0 where the entry does not
    /// exist.
    pub fn sizes(&self) -> (u64, u64) {
        let size = |state: &Option<OwnedRow>| state.as_ref().map_or(0, |state| state.meta.size);
        (size(&self.before), size(&self.after))
    }

    /// Approximate memory in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let states = [&self.before, &self.after].into_iter().flatten();
        size_of::<Difference>()
            + self.path.capacity()
            + states.map(OwnedRow::heap_bytes).sum::<usize>()
    }
}
