//! Decoded rows: what questions are asked of.
//!
//! A [`RowBatch`] holds the columns that were asked for (and only those) of
//! rows that lie in one directory or several; a [`Row`] is one of them with
//! its directory. Index reader and live walk both produce these, so that a
//! predicate is written once.

use crate::column::{Column, ColumnSet};
use crate::entry::{FileType, Meta};
use crate::id::{Dev, Gid, Uid};
use crate::time::Timestamp;

/// Byte strings: value `i` is `data[offsets[i]..offsets[i + 1] - gap]`.
#[derive(Clone, Debug)]
pub struct ByteColumn {
    /// One more than there are values; starts at 0, never decreases.
    pub offsets: Vec<u32>,
    /// All values. Behind the last there may be bytes that mean nothing.
    pub data: Vec<u8>,
    /// Bytes behind each value that are none of it: 0, if a reader has not
    /// filled it otherwise. To what has a gap nothing is appended.
    pub gap: u32,
}

impl Default for ByteColumn {
    fn default() -> Self {
        ByteColumn {
            offsets: vec![0],
            data: Vec::new(),
            gap: 0,
        }
    }
}

impl ByteColumn {
    /// Appends a value.
    pub fn push(&mut self, value: &[u8]) {
        self.data.extend_from_slice(value);
        self.offsets.push(self.data.len() as u32);
    }

    /// Value `at`; empty if there is none.
    pub fn get(&self, at: usize) -> &[u8] {
        match (self.offsets.get(at), self.offsets.get(at + 1)) {
            (Some(start), Some(end)) => self
                .data
                .get(*start as usize..end.saturating_sub(self.gap) as usize)
                .unwrap_or_default(),
            _ => &[],
        }
    }

    /// Forgets all values, and keeps the memory.
    pub fn clear(&mut self) {
        self.offsets.clear();
        self.offsets.push(0);
        self.data.clear();
        self.gap = 0;
    }

    /// Leaves just the values at `places`, which are ascending.
    fn keep(&mut self, places: &[u32]) {
        if self.is_empty() {
            return;
        }
        let mut kept = ByteColumn::default();
        for place in places {
            kept.push(self.get(*place as usize));
        }
        *self = kept;
    }

    /// A column with value `at` alone, or none if there are none.
    fn alone(&self, at: usize) -> ByteColumn {
        let mut column = ByteColumn::default();
        if at < self.len() {
            column.push(self.get(at));
        }
        column
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// True if there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Columns of some rows. A column that was not asked for is empty and reads
/// as zero, epoch or nothing.
#[derive(Clone, Debug, Default)]
pub struct RowBatch {
    /// The number of rows.
    pub len: usize,
    /// Names, raw bytes.
    pub name: ByteColumn,
    /// Inode numbers.
    pub ino: Vec<u64>,
    /// Devices, encoded as [`Dev::as_u64`].
    pub dev: Vec<u64>,
    /// Modes with type bits.
    pub mode: Vec<u32>,
    /// Link counts.
    pub nlink: Vec<u32>,
    /// Owners.
    pub uid: Vec<u32>,
    /// Groups.
    pub gid: Vec<u32>,
    /// Devices that device files are.
    pub rdev: Vec<u64>,
    /// Sizes, bytes.
    pub size: Vec<u64>,
    /// Allocated 512-byte units.
    pub blocks: Vec<u64>,
    /// Preferred I/O sizes, bytes.
    pub blksize: Vec<u32>,
    /// Access times: seconds, nanoseconds.
    pub atime: Vec<i64>,
    /// See `atime`.
    pub atime_ns: Vec<u32>,
    /// Modification times.
    pub mtime: Vec<i64>,
    /// See `mtime`.
    pub mtime_ns: Vec<u32>,
    /// Change times.
    pub ctime: Vec<i64>,
    /// See `ctime`.
    pub ctime_ns: Vec<u32>,
    /// Birth times; `i64::MIN` where unknown.
    pub btime: Vec<i64>,
    /// See `btime`.
    pub btime_ns: Vec<u32>,
    /// Link targets; empty where none.
    pub link_target: ByteColumn,
    /// Extended attribute names, NUL-ended; empty where none.
    pub xattr_names: ByteColumn,
    /// Access ACL values; empty where none.
    pub acl: ByteColumn,
    /// Default ACL values; empty where none.
    pub acl_default: ByteColumn,
    /// Project ids; `u32::MAX` where unknown.
    pub project: Vec<u32>,
    /// Attribute flags.
    pub attributes: Vec<u64>,
}

impl RowBatch {
    /// Forgets all rows, and keeps the memory.
    pub fn clear(&mut self) {
        self.len = 0;
        let RowBuffers {
            bytes,
            u64s,
            u32s,
            i64s,
        } = self.buffers();
        bytes.into_iter().for_each(ByteColumn::clear);
        u64s.into_iter().for_each(Vec::clear);
        u32s.into_iter().for_each(Vec::clear);
        i64s.into_iter().for_each(Vec::clear);
    }

    /// Leaves just the values at `places`, which are ascending, in the
    /// columns that have values, which are as many in each.
    pub fn keep(&mut self, places: &[u32]) {
        let RowBuffers {
            bytes,
            u64s,
            u32s,
            i64s,
        } = self.buffers();
        bytes.into_iter().for_each(|column| column.keep(places));
        u64s.into_iter().for_each(|column| keep(column, places));
        u32s.into_iter().for_each(|column| keep(column, places));
        i64s.into_iter().for_each(|column| keep(column, places));
    }

    /// Empties the columns of `columns`, which are numbers.
    pub fn drop_columns(&mut self, columns: ColumnSet) {
        for column in columns.iter() {
            match column {
                Column::Ino => self.ino.clear(),
                Column::Dev => self.dev.clear(),
                Column::Mode => self.mode.clear(),
                Column::Nlink => self.nlink.clear(),
                Column::Uid => self.uid.clear(),
                Column::Gid => self.gid.clear(),
                Column::Rdev => self.rdev.clear(),
                Column::Size => self.size.clear(),
                Column::Blocks => self.blocks.clear(),
                Column::Blksize => self.blksize.clear(),
                Column::Atime => self.atime.clear(),
                Column::AtimeNs => self.atime_ns.clear(),
                Column::Mtime => self.mtime.clear(),
                Column::MtimeNs => self.mtime_ns.clear(),
                Column::Ctime => self.ctime.clear(),
                Column::CtimeNs => self.ctime_ns.clear(),
                Column::Btime => self.btime.clear(),
                Column::BtimeNs => self.btime_ns.clear(),
                Column::Project => self.project.clear(),
                Column::Attributes => self.attributes.clear(),
                Column::Name => self.name.clear(),
                Column::LinkTarget => self.link_target.clear(),
                Column::XattrNames => self.xattr_names.clear(),
                Column::Acl => self.acl.clear(),
                Column::AclDefault => self.acl_default.clear(),
                Column::Dir | Column::NameRaw | Column::Type => {}
            }
        }
    }

    /// Appends a copy of a row. A column that the row does not have stays
    /// empty, so that all rows must have the same ones.
    pub fn push(&mut self, row: &Row<'_>) {
        fn copy<T: Copy>(to: &mut Vec<T>, from: &[T], at: usize) {
            to.extend(from.get(at));
        }
        fn copy_bytes(to: &mut ByteColumn, from: &ByteColumn, at: usize) {
            if at < from.len() {
                to.push(from.get(at));
            }
        }
        let (from, at) = (row.batch, row.at);
        self.len += 1;
        copy_bytes(&mut self.name, &from.name, at);
        copy(&mut self.ino, &from.ino, at);
        copy(&mut self.dev, &from.dev, at);
        copy(&mut self.mode, &from.mode, at);
        copy(&mut self.nlink, &from.nlink, at);
        copy(&mut self.uid, &from.uid, at);
        copy(&mut self.gid, &from.gid, at);
        copy(&mut self.rdev, &from.rdev, at);
        copy(&mut self.size, &from.size, at);
        copy(&mut self.blocks, &from.blocks, at);
        copy(&mut self.blksize, &from.blksize, at);
        copy(&mut self.atime, &from.atime, at);
        copy(&mut self.atime_ns, &from.atime_ns, at);
        copy(&mut self.mtime, &from.mtime, at);
        copy(&mut self.mtime_ns, &from.mtime_ns, at);
        copy(&mut self.ctime, &from.ctime, at);
        copy(&mut self.ctime_ns, &from.ctime_ns, at);
        copy(&mut self.btime, &from.btime, at);
        copy(&mut self.btime_ns, &from.btime_ns, at);
        copy_bytes(&mut self.link_target, &from.link_target, at);
        copy_bytes(&mut self.xattr_names, &from.xattr_names, at);
        copy_bytes(&mut self.acl, &from.acl, at);
        copy_bytes(&mut self.acl_default, &from.acl_default, at);
        copy(&mut self.project, &from.project, at);
        copy(&mut self.attributes, &from.attributes, at);
    }

    /// All columns, by their kind.
    fn buffers(&mut self) -> RowBuffers<'_> {
        RowBuffers {
            bytes: [
                &mut self.name,
                &mut self.link_target,
                &mut self.xattr_names,
                &mut self.acl,
                &mut self.acl_default,
            ],
            u64s: [
                &mut self.ino,
                &mut self.dev,
                &mut self.rdev,
                &mut self.size,
                &mut self.blocks,
                &mut self.attributes,
            ],
            u32s: [
                &mut self.mode,
                &mut self.nlink,
                &mut self.uid,
                &mut self.gid,
                &mut self.blksize,
                &mut self.atime_ns,
                &mut self.mtime_ns,
                &mut self.ctime_ns,
                &mut self.btime_ns,
                &mut self.project,
            ],
            i64s: [
                &mut self.atime,
                &mut self.mtime,
                &mut self.ctime,
                &mut self.btime,
            ],
        }
    }
}

/// The columns of a [`RowBatch`].
struct RowBuffers<'a> {
    bytes: [&'a mut ByteColumn; 5],
    u64s: [&'a mut Vec<u64>; 6],
    u32s: [&'a mut Vec<u32>; 10],
    i64s: [&'a mut Vec<i64>; 4],
}

/// Leaves just the values at `places`, which are ascending.
fn keep<T: Copy>(column: &mut Vec<T>, places: &[u32]) {
    if column.is_empty() {
        return;
    }
    let mut kept = 0;
    for place in places {
        if let Some(value) = column.get(*place as usize).copied() {
            column[kept] = value;
            kept += 1;
        }
    }
    column.truncate(kept);
}

/// The stored value that stands for "no birth time".
pub const NO_BTIME: i64 = i64::MIN;
/// The stored value that stands for "no project id".
pub const NO_PROJECT: u32 = u32::MAX;

/// One row and the directory it lies in.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The columns.
    pub batch: &'a RowBatch,
    /// Which row of them.
    pub at: usize,
    /// The directory's absolute path as stored (see [`crate::path`]).
    pub dir: &'a [u8],
}

macro_rules! number_getters {
    ($($(#[$doc:meta])* $name:ident: $field:ident -> $ty:ty;)*) => {
        $($(#[$doc])*
        #[inline]
        pub fn $name(&self) -> $ty {
            self.batch.$field.get(self.at).copied().unwrap_or_default()
        })*
    };
}

macro_rules! byte_getters {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $($(#[$doc])*
        #[inline]
        pub fn $name(&self) -> &'a [u8] {
            self.batch.$name.get(self.at)
        })*
    };
}

macro_rules! time_getters {
    ($($(#[$doc:meta])* $name:ident, $nanos:ident;)*) => {
        $($(#[$doc])*
        #[inline]
        pub fn $name(&self) -> Timestamp {
            Timestamp {
                secs: self.batch.$name.get(self.at).copied().unwrap_or_default(),
                nanos: self.batch.$nanos.get(self.at).copied().unwrap_or_default(),
            }
        })*
    };
}

/// Value `at` alone, or nothing if there is none.
fn one<T: Copy>(column: &[T], at: usize) -> Vec<T> {
    column.get(at).map(|value| vec![*value]).unwrap_or_default()
}

impl<'a> Row<'a> {
    /// A batch with a copy of this row and no other.
    pub fn alone(&self) -> RowBatch {
        let (from, at) = (self.batch, self.at);
        RowBatch {
            len: 1,
            name: from.name.alone(at),
            ino: one(&from.ino, at),
            dev: one(&from.dev, at),
            mode: one(&from.mode, at),
            nlink: one(&from.nlink, at),
            uid: one(&from.uid, at),
            gid: one(&from.gid, at),
            rdev: one(&from.rdev, at),
            size: one(&from.size, at),
            blocks: one(&from.blocks, at),
            blksize: one(&from.blksize, at),
            atime: one(&from.atime, at),
            atime_ns: one(&from.atime_ns, at),
            mtime: one(&from.mtime, at),
            mtime_ns: one(&from.mtime_ns, at),
            ctime: one(&from.ctime, at),
            ctime_ns: one(&from.ctime_ns, at),
            btime: one(&from.btime, at),
            btime_ns: one(&from.btime_ns, at),
            link_target: from.link_target.alone(at),
            xattr_names: from.xattr_names.alone(at),
            acl: from.acl.alone(at),
            acl_default: from.acl_default.alone(at),
            project: one(&from.project, at),
            attributes: one(&from.attributes, at),
        }
    }

    number_getters! {
        /// Inode number.
        ino: ino -> u64;
        /// Type and permission bits.
        mode: mode -> u32;
        /// Hard links.
        nlink: nlink -> u32;
        /// Apparent size, bytes.
        size: size -> u64;
        /// Allocated 512-byte units.
        blocks: blocks -> u64;
        /// Preferred I/O size, bytes.
        blksize: blksize -> u32;
        /// Attribute flags (statx).
        attributes: attributes -> u64;
    }

    byte_getters! {
        /// The name's bytes; empty only for the row of `/` itself.
        name;
        /// A symbolic link's target, else empty.
        link_target;
        /// Extended attribute names, each ended by a NUL.
        xattr_names;
        /// The access ACL's value, empty if none.
        acl;
        /// The default ACL's value, empty if none.
        acl_default;
    }

    time_getters! {
        /// Last access.
        atime, atime_ns;
        /// Last change of the content.
        mtime, mtime_ns;
        /// Last change of the inode.
        ctime, ctime_ns;
    }

    /// Creation, where known.
    pub fn btime(&self) -> Option<Timestamp> {
        let secs = *self.batch.btime.get(self.at)?;
        let nanos = self
            .batch
            .btime_ns
            .get(self.at)
            .copied()
            .unwrap_or_default();
        (secs != NO_BTIME).then_some(Timestamp { secs, nanos })
    }

    /// All attributes as one value; those whose columns were not read are zero or unknown.
    pub fn meta(&self) -> Meta {
        Meta {
            ino: self.ino(),
            dev: self.dev(),
            rdev: self.rdev(),
            mode: self.mode(),
            nlink: self.nlink(),
            uid: self.uid(),
            gid: self.gid(),
            size: self.size(),
            blocks: self.blocks(),
            blksize: self.blksize(),
            atime: self.atime(),
            mtime: self.mtime(),
            ctime: self.ctime(),
            btime: self.btime(),
            attributes: self.attributes(),
            project: self.project(),
        }
    }

    /// Project id, where known.
    pub fn project(&self) -> Option<u32> {
        self.batch
            .project
            .get(self.at)
            .copied()
            .filter(|id| *id != NO_PROJECT)
    }

    /// Owner.
    pub fn uid(&self) -> Uid {
        Uid(self.batch.uid.get(self.at).copied().unwrap_or_default())
    }

    /// Owning group.
    pub fn gid(&self) -> Gid {
        Gid(self.batch.gid.get(self.at).copied().unwrap_or_default())
    }

    /// The device it lies on.
    pub fn dev(&self) -> Dev {
        Dev::from_u64(self.batch.dev.get(self.at).copied().unwrap_or_default())
    }

    /// The device it is.
    pub fn rdev(&self) -> Dev {
        Dev::from_u64(self.batch.rdev.get(self.at).copied().unwrap_or_default())
    }

    /// The object's type, from the mode column.
    pub fn file_type(&self) -> FileType {
        FileType::from_mode(self.mode())
    }

    /// The absolute path as stored: `dir/name`, empty for `/` itself.
    pub fn path(&self) -> Vec<u8> {
        if self.name().is_empty() {
            return self.dir.to_vec();
        }
        crate::path::join(self.dir, self.name())
    }
}

/// The columns whose buffers a [`RowBatch`] has (all but `dir`, `type` and
/// `name_raw`, which the path, the mode and the name stand for).
pub fn decoded_columns() -> ColumnSet {
    ColumnSet::all().minus(ColumnSet::of(&[Column::Dir, Column::Type, Column::NameRaw]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeping_leaves_just_what_was_named() {
        let mut name = ByteColumn::default();
        [&b"a"[..], b"", b"ccc", b"d"]
            .iter()
            .for_each(|n| name.push(n));
        let mut batch = RowBatch {
            len: 4,
            name,
            size: vec![10, 11, 12, 13],
            mtime: vec![-1, -2, -3, -4],
            uid: vec![5, 6, 7, 8],
            ..RowBatch::default()
        };
        batch.keep(&[0, 2, 3]);
        let names: Vec<&[u8]> = (0..batch.name.len()).map(|at| batch.name.get(at)).collect();
        assert_eq!(names, [&b"a"[..], b"ccc", b"d"]);
        assert_eq!(batch.size, [10, 12, 13]);
        assert_eq!(
            (batch.mtime.clone(), batch.uid.clone()),
            (vec![-1, -3, -4], vec![5, 7, 8])
        );
        assert!(batch.gid.is_empty());
        batch.drop_columns(ColumnSet::of(&[Column::Uid]));
        assert!(batch.uid.is_empty() && batch.size.len() == 3);
        batch.clear();
        assert!(batch.len == 0 && batch.name.is_empty() && batch.size.is_empty());
    }
}
