//! Decoded rows, the common input of all queries.
//!
//! A [`RowBatch`] holds the requested columns (and only those) of rows from one or several
//! directories; a [`Row`] is one row with its directory. The index reader and the live walk both
//! produce them, so that each predicate is written only once.

use crate::column::{Column, ColumnSet};
use crate::entry::{FileType, Meta};
use crate::id::{Dev, Gid, Uid};
use crate::time::Timestamp;

/// A column of byte strings: value `i` is `data[offsets[i]..offsets[i + 1] - gap]`.
#[derive(Clone, Debug)]
pub struct ByteColumn {
    /// Offsets of the values, one more than there are values; the first is 0, and they never
    /// decrease.
    pub offsets: Vec<u32>,
    /// The bytes of all values. Unused bytes may follow the last value.
    pub data: Vec<u8>,
    /// Number of bytes after each value that do not belong to it; 0 unless a reader has filled the
    /// column with a gap. Nothing may be appended to a column with a gap.
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

    /// Returns value `at`; empty if it does not exist.
    pub fn get(&self, at: usize) -> &[u8] {
        match (self.offsets.get(at), self.offsets.get(at + 1)) {
            (Some(start), Some(end)) => self
                .data
                .get(*start as usize..end.saturating_sub(self.gap) as usize)
                .unwrap_or_default(),
            _ => &[],
        }
    }

    /// Removes all values but keeps the memory.
    pub fn clear(&mut self) {
        self.offsets.clear();
        self.offsets.push(0);
        self.data.clear();
        self.gap = 0;
    }

    /// Keeps only the values at `places`, which are in ascending order.
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

    /// Returns a column with a copy of value `at` only; empty if it does not exist.
    fn alone(&self, at: usize) -> ByteColumn {
        let mut column = ByteColumn::default();
        if at < self.len() {
            column.push(self.get(at));
        }
        column
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Columns of some rows. A column that was not requested is empty; its getters return zero, the
/// epoch, an empty string or `None`.
#[derive(Clone, Debug, Default)]
pub struct RowBatch {
    /// The number of rows.
    pub len: usize,
    /// Names, raw bytes.
    pub name: ByteColumn,
    /// Inode numbers.
    pub ino: Vec<u64>,
    /// Devices of the file systems, encoded as in [`Dev::as_u64`].
    pub dev: Vec<u64>,
    /// Modes with type bits.
    pub mode: Vec<u32>,
    /// Link counts.
    pub nlink: Vec<u32>,
    /// Owners.
    pub uid: Vec<u32>,
    /// Groups.
    pub gid: Vec<u32>,
    /// Devices that device files represent, encoded as in [`Dev::as_u64`].
    pub rdev: Vec<u64>,
    /// Sizes, bytes.
    pub size: Vec<u64>,
    /// Allocated 512-byte units.
    pub blocks: Vec<u64>,
    /// Preferred I/O sizes, bytes.
    pub blksize: Vec<u32>,
    /// Access times: seconds since 1970.
    pub atime: Vec<i64>,
    /// Access times: nanoseconds.
    pub atime_ns: Vec<u32>,
    /// Modification times: seconds since 1970.
    pub mtime: Vec<i64>,
    /// Modification times: nanoseconds.
    pub mtime_ns: Vec<u32>,
    /// Change times: seconds since 1970.
    pub ctime: Vec<i64>,
    /// Change times: nanoseconds.
    pub ctime_ns: Vec<u32>,
    /// Creation times: seconds since 1970; [`NO_BTIME`] if unknown.
    pub btime: Vec<i64>,
    /// Creation times: nanoseconds.
    pub btime_ns: Vec<u32>,
    /// Targets of symbolic links; empty for other types.
    pub link_target: ByteColumn,
    /// Extended attribute names, each terminated by a NUL; empty if there are none.
    pub xattr_names: ByteColumn,
    /// Access ACL values; empty if there are none.
    pub acl: ByteColumn,
    /// Default ACL values; empty if there are none.
    pub acl_default: ByteColumn,
    /// Project ids; [`NO_PROJECT`] if unknown.
    pub project: Vec<u32>,
    /// Attribute flags (`stx_attributes`).
    pub attributes: Vec<u64>,
}

impl RowBatch {
    /// Removes all rows but keeps the memory.
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

    /// Keeps only the values at `places`, which are in ascending order. All non-empty columns must
    /// have the same number of values.
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

    /// Empties the given columns; used for numeric columns.
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

    /// Appends a copy of a row. A column that the row does not have stays empty, so all appended
    /// rows must have the same columns.
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
        // Names every field, so that a new column cannot be forgotten.
        let RowBatch {
            len,
            name,
            ino,
            dev,
            mode,
            nlink,
            uid,
            gid,
            rdev,
            size,
            blocks,
            blksize,
            atime,
            atime_ns,
            mtime,
            mtime_ns,
            ctime,
            ctime_ns,
            btime,
            btime_ns,
            link_target,
            xattr_names,
            acl,
            acl_default,
            project,
            attributes,
        } = self;
        *len += 1;
        copy_bytes(name, &from.name, at);
        copy(ino, &from.ino, at);
        copy(dev, &from.dev, at);
        copy(mode, &from.mode, at);
        copy(nlink, &from.nlink, at);
        copy(uid, &from.uid, at);
        copy(gid, &from.gid, at);
        copy(rdev, &from.rdev, at);
        copy(size, &from.size, at);
        copy(blocks, &from.blocks, at);
        copy(blksize, &from.blksize, at);
        copy(atime, &from.atime, at);
        copy(atime_ns, &from.atime_ns, at);
        copy(mtime, &from.mtime, at);
        copy(mtime_ns, &from.mtime_ns, at);
        copy(ctime, &from.ctime, at);
        copy(ctime_ns, &from.ctime_ns, at);
        copy(btime, &from.btime, at);
        copy(btime_ns, &from.btime_ns, at);
        copy_bytes(link_target, &from.link_target, at);
        copy_bytes(xattr_names, &from.xattr_names, at);
        copy_bytes(acl, &from.acl, at);
        copy_bytes(acl_default, &from.acl_default, at);
        copy(project, &from.project, at);
        copy(attributes, &from.attributes, at);
    }

    /// Returns all columns, grouped by type.
    fn buffers(&mut self) -> RowBuffers<'_> {
        // Names every field, so that a new column cannot be forgotten.
        let RowBatch {
            len: _,
            name,
            link_target,
            xattr_names,
            acl,
            acl_default,
            ino,
            dev,
            rdev,
            size,
            blocks,
            attributes,
            mode,
            nlink,
            uid,
            gid,
            blksize,
            atime_ns,
            mtime_ns,
            ctime_ns,
            btime_ns,
            project,
            atime,
            mtime,
            ctime,
            btime,
        } = self;
        RowBuffers {
            bytes: [name, link_target, xattr_names, acl, acl_default],
            u64s: [ino, dev, rdev, size, blocks, attributes],
            u32s: [
                mode, nlink, uid, gid, blksize, atime_ns, mtime_ns, ctime_ns, btime_ns, project,
            ],
            i64s: [atime, mtime, ctime, btime],
        }
    }
}

/// The columns of a [`RowBatch`], grouped by type.
struct RowBuffers<'a> {
    bytes: [&'a mut ByteColumn; 5],
    u64s: [&'a mut Vec<u64>; 6],
    u32s: [&'a mut Vec<u32>; 10],
    i64s: [&'a mut Vec<i64>; 4],
}

/// Keeps only the values at `places`, which are in ascending order.
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

/// Stored value that means "no creation time".
pub const NO_BTIME: i64 = i64::MIN;
/// Stored value that means "no project id".
pub const NO_PROJECT: u32 = u32::MAX;

/// One row and the directory it lies in.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The columns.
    pub batch: &'a RowBatch,
    /// Index of the row.
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

/// Returns a vector with value `at` only; empty if it does not exist.
fn one<T: Copy>(column: &[T], at: usize) -> Vec<T> {
    column.get(at).map(|value| vec![*value]).unwrap_or_default()
}

impl<'a> Row<'a> {
    /// Returns a batch with a copy of this row only.
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
        /// Returns the inode number.
        ino: ino -> u64;
        /// Returns the type and permission bits.
        mode: mode -> u32;
        /// Returns the number of hard links.
        nlink: nlink -> u32;
        /// Returns the apparent size in bytes.
        size: size -> u64;
        /// Returns the allocated space in units of 512 bytes.
        blocks: blocks -> u64;
        /// Returns the preferred I/O size in bytes.
        blksize: blksize -> u32;
        /// Returns the attribute flags (statx).
        attributes: attributes -> u64;
    }

    byte_getters! {
        /// Returns the name's bytes; empty only for the row of `/` itself.
        name;
        /// Returns a symbolic link's target; empty for other types.
        link_target;
        /// Returns the extended attribute names, each terminated by a NUL.
        xattr_names;
        /// Returns the access ACL's value; empty if there is none.
        acl;
        /// Returns the default ACL's value; empty if there is none.
        acl_default;
    }

    time_getters! {
        /// Returns the time of the last access.
        atime, atime_ns;
        /// Returns the time of the last change of the content.
        mtime, mtime_ns;
        /// Returns the time of the last change of the inode.
        ctime, ctime_ns;
    }

    /// Returns the time of creation, if known.
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

    /// Returns all attributes as one value; those whose columns were not read are zero or `None`.
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

    /// Returns the project id, if known.
    pub fn project(&self) -> Option<u32> {
        self.batch
            .project
            .get(self.at)
            .copied()
            .filter(|id| *id != NO_PROJECT)
    }

    /// Returns the owner.
    pub fn uid(&self) -> Uid {
        Uid(self.batch.uid.get(self.at).copied().unwrap_or_default())
    }

    /// Returns the owning group.
    pub fn gid(&self) -> Gid {
        Gid(self.batch.gid.get(self.at).copied().unwrap_or_default())
    }

    /// Returns the device number of the file system that holds the object.
    pub fn dev(&self) -> Dev {
        Dev::from_u64(self.batch.dev.get(self.at).copied().unwrap_or_default())
    }

    /// Returns the device number that a device file represents.
    pub fn rdev(&self) -> Dev {
        Dev::from_u64(self.batch.rdev.get(self.at).copied().unwrap_or_default())
    }

    /// Returns the object's type, from the mode column.
    pub fn file_type(&self) -> FileType {
        FileType::from_mode(self.mode())
    }

    /// Returns the absolute path as stored: `dir/name`, empty for `/` itself.
    pub fn path(&self) -> Vec<u8> {
        if self.name().is_empty() {
            return self.dir.to_vec();
        }
        crate::path::join(self.dir, self.name())
    }
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
