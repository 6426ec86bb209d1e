//! Attributes of a directory's entries that are compared.
//!
//! Attributes that may change without changing ctime are left out: access times (looking changes
//! them), allocated blocks (a file system may allocate late), and the birth time, which not all
//! calls return.

use std::collections::BTreeMap;

use trawl_model::guard::{Bit, Credentials, Predicate};
use trawl_model::rows::Row;
use trawl_model::{Acl, DirAccess, Gid, Timestamp, Uid};

/// The compared attributes of an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) ino: u64,
    pub(super) mode: u32,
    pub(super) nlink: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) size: u64,
    pub(super) mtime: Timestamp,
    pub(super) ctime: Timestamp,
    pub(super) target: Vec<u8>,
    /// Extended attributes, including ACLs; `None` for a value that may not be read.
    pub(super) attributes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

/// Entries of a directory, by name.
pub(super) type Entries = BTreeMap<Vec<u8>, Facts>;

impl Facts {
    /// Returns the attributes in a row, without extended attributes.
    pub(super) fn of_row(row: &Row<'_>) -> Facts {
        Facts {
            ino: row.ino(),
            mode: row.mode(),
            nlink: row.nlink(),
            uid: row.uid().0,
            gid: row.gid().0,
            size: row.size(),
            mtime: row.mtime(),
            ctime: row.ctime(),
            target: row.link_target().to_vec(),
            attributes: BTreeMap::new(),
        }
    }

    /// Returns the permissions of the entry.
    pub(super) fn access(&self) -> DirAccess {
        let acl = self.attributes.get(trawl_query::ACL_ACCESS);
        let acl = acl.and_then(|value| Acl::parse(value.as_deref()?));
        DirAccess {
            mode: self.mode,
            uid: Uid(self.uid),
            gid: Gid(self.gid),
            acl,
        }
    }

    /// Returns the attributes that the user may see, by the kernel's rules for extended attributes.
    pub(super) fn seen_by(&self, who: &Credentials) -> Facts {
        let may_read = Predicate::of(&self.access(), Bit::Read).admits(who);
        let mut seen = self.clone();
        seen.attributes
            .retain(|name, _| !name.starts_with(b"trusted."));
        for (name, value) in &mut seen.attributes {
            if name.starts_with(b"user.") && !may_read {
                *value = None;
            }
        }
        seen
    }

    /// Describes the first attribute in which the index differs from what the user may see.
    pub(super) fn difference(&self, shown: &Facts) -> Option<String> {
        let numbers = [
            ("inode", self.ino, shown.ino),
            ("mode", self.mode.into(), shown.mode.into()),
            ("links", self.nlink.into(), shown.nlink.into()),
            ("owner", self.uid.into(), shown.uid.into()),
            ("group", self.gid.into(), shown.gid.into()),
            ("size", self.size, shown.size),
        ];
        let number = numbers.into_iter().find(|(_, a, b)| a != b);
        if let Some((name, is, shown)) = number {
            return Some(format!("its {name} is {is}, the index shows {shown}"));
        }
        let others = [
            ("modification time", self.mtime != shown.mtime),
            ("change time", self.ctime != shown.ctime),
            ("link target", self.target != shown.target),
        ];
        let other = others.iter().find(|(_, differs)| *differs);
        other.map(|(name, _)| format!("the index shows another {name}"))
    }
}
