//! One difference, with the state of the entry before and after.

use trawl_model::rows::{NO_BTIME, NO_PROJECT, Row, RowBatch};
use trawl_model::{FileType, Meta};

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

/// The state of an entry in one snapshot. Attributes that were not read are
/// zero or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Its attributes.
    pub meta: Meta,
    /// A symbolic link's target.
    pub link_target: Vec<u8>,
    /// Names of extended attributes, each terminated by NUL.
    pub xattr_names: Vec<u8>,
    /// The access ACL.
    pub acl: Vec<u8>,
    /// A directory's default ACL.
    pub acl_default: Vec<u8>,
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
    /// The state in the first snapshot.
    pub before: Option<State>,
    /// The state in the second snapshot.
    pub after: Option<State>,
    /// The attributes that differ, if there are two states.
    pub attributes: AttributeSet,
}

impl State {
    /// Reads the state from a row.
    pub fn of(row: &Row<'_>) -> State {
        State {
            meta: row.meta(),
            link_target: row.link_target().to_vec(),
            xattr_names: row.xattr_names().to_vec(),
            acl: row.acl().to_vec(),
            acl_default: row.acl_default().to_vec(),
        }
    }

    /// Returns the state as a batch of one row.
    pub(crate) fn batch(&self) -> RowBatch {
        let mut batch = RowBatch::default();
        let Meta {
            ino,
            dev,
            rdev,
            mode,
            nlink,
            uid,
            gid,
            size,
            blocks,
            blksize,
            atime,
            mtime,
            ctime,
            btime,
            attributes,
            project,
        } = self.meta;
        batch.len = 1;
        batch.ino = vec![ino];
        batch.dev = vec![dev.as_u64()];
        batch.rdev = vec![rdev.as_u64()];
        batch.mode = vec![mode];
        batch.nlink = vec![nlink];
        batch.uid = vec![uid.0];
        batch.gid = vec![gid.0];
        batch.size = vec![size];
        batch.blocks = vec![blocks];
        batch.blksize = vec![blksize];
        (batch.atime, batch.atime_ns) = (vec![atime.secs], vec![atime.nanos]);
        (batch.mtime, batch.mtime_ns) = (vec![mtime.secs], vec![mtime.nanos]);
        (batch.ctime, batch.ctime_ns) = (vec![ctime.secs], vec![ctime.nanos]);
        batch.btime = vec![btime.map_or(NO_BTIME, |time| time.secs)];
        batch.btime_ns = vec![btime.map_or(0, |time| time.nanos)];
        batch.project = vec![project.unwrap_or(NO_PROJECT)];
        batch.attributes = vec![attributes];
        batch.link_target.push(&self.link_target);
        batch.xattr_names.push(&self.xattr_names);
        batch.acl.push(&self.acl);
        batch.acl_default.push(&self.acl_default);
        batch
    }

    fn heap_bytes(&self) -> usize {
        let strings = [
            &self.link_target,
            &self.xattr_names,
            &self.acl,
            &self.acl_default,
        ];
        strings.iter().map(|bytes| bytes.len()).sum()
    }
}

impl Difference {
    /// Returns a creation.
    pub fn created(row: &Row<'_>) -> Difference {
        Difference {
            kind: Kind::Created,
            path: row.path(),
            from: None,
            before: None,
            after: Some(State::of(row)),
            attributes: AttributeSet::EMPTY,
        }
    }

    /// Returns a deletion.
    pub fn deleted(row: &Row<'_>) -> Difference {
        Difference {
            kind: Kind::Deleted,
            path: row.path(),
            from: None,
            before: Some(State::of(row)),
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
            before: Some(State::of(before)),
            after: Some(State::of(after)),
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
        let size = |state: &Option<State>| state.as_ref().map_or(0, |state| state.meta.size);
        (size(&self.before), size(&self.after))
    }

    /// Approximate memory in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let states = [&self.before, &self.after].into_iter().flatten();
        size_of::<Difference>()
            + self.path.capacity()
            + states.map(State::heap_bytes).sum::<usize>()
    }
}
