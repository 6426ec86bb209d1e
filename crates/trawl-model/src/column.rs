//! The table of columns: names, types, units and origin of the values.
//!
//! The Parquet schema, the column documentation and the SQL catalogue are
//! generated from [`COLUMNS`]. A new column needs one variant and one row here,
//! and code in the two places that write and read it (the compiler names them).

/// How a column is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// UTF-8 text; invalid bytes are escaped as described in [`crate::escape`].
    Text,
    /// Raw bytes.
    Bytes,
    /// Unsigned 32-bit.
    U32,
    /// Unsigned 64-bit.
    U64,
    /// Signed 64-bit.
    I64,
}

/// How values of a column are encoded in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnEncoding {
    /// Dictionary pages: few distinct values.
    Dictionary,
    /// `DELTA_BINARY_PACKED`: numbers that resemble their neighbours.
    Delta,
    /// `DELTA_LENGTH_BYTE_ARRAY`: byte strings.
    Bytes,
}

/// One column of the entries table.
#[derive(Clone, Copy, Debug)]
pub struct ColumnInfo {
    /// The column.
    pub column: Column,
    /// Its name in Parquet and SQL.
    pub name: &'static str,
    /// Its storage type.
    pub kind: ColumnType,
    /// True if values may be null.
    pub nullable: bool,
    /// Its encoding in a segment.
    pub encoding: ColumnEncoding,
    /// The unit or domain of a value.
    pub unit: &'static str,
    /// Description of the values and their origin.
    pub doc: &'static str,
    /// The first format version that has the column.
    pub since: u32,
}

macro_rules! columns {
    ($($variant:ident, $name:literal, $kind:ident, $null:literal, $enc:ident, $unit:literal, $doc:literal;)*) => {
        /// A column of the entries table, in stored order.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Column {
            $(#[doc = $doc] $variant,)*
        }

        /// Every column, in stored order.
        pub static COLUMNS: &[ColumnInfo] = &[
            $(ColumnInfo {
                column: Column::$variant,
                name: $name,
                kind: ColumnType::$kind,
                nullable: $null,
                encoding: ColumnEncoding::$enc,
                unit: $unit,
                doc: $doc,
                since: 1,
            },)*
        ];
    };
}

columns! {
    Dir, "dir", Text, false, Dictionary, "path", "Absolute path of the directory that holds the entry, without a trailing slash (empty for `/`), so that `dir || '/' || name` is the entry's path";
    Name, "name", Text, false, Bytes, "name", "The entry's name; escaped where it is not UTF-8";
    NameRaw, "name_raw", Bytes, true, Bytes, "bytes", "The name's bytes, only where they differ from `name`";
    Type, "type", Text, false, Dictionary, "letter", "Kind of object: f, d, l, p, s, b, c as find -type; U if unknown";
    Ino, "ino", U64, false, Delta, "number", "Inode number, statx(2) stx_ino";
    Dev, "dev", U64, false, Dictionary, "device", "Device that the object lies on, makedev(3) of stx_dev_major and stx_dev_minor; 0 from a trace";
    Mode, "mode", U32, false, Dictionary, "bits", "Type and permission bits, stx_mode";
    Nlink, "nlink", U32, false, Dictionary, "count", "Hard links, stx_nlink";
    Uid, "uid", U32, false, Dictionary, "id", "Owner, stx_uid";
    Gid, "gid", U32, false, Dictionary, "id", "Owning group, stx_gid";
    Rdev, "rdev", U64, false, Dictionary, "device", "Device that a device file stands for, else 0";
    Size, "size", U64, false, Delta, "bytes", "Apparent size, stx_size";
    Blocks, "blocks", U64, false, Delta, "512 bytes", "Allocated space, stx_blocks";
    Blksize, "blksize", U32, false, Dictionary, "bytes", "Preferred I/O size, stx_blksize";
    Atime, "atime", I64, false, Delta, "s since 1970", "Last access, stx_atime";
    AtimeNs, "atime_ns", U32, false, Delta, "ns", "Nanoseconds of `atime`";
    Mtime, "mtime", I64, false, Delta, "s since 1970", "Last change of the content, stx_mtime";
    MtimeNs, "mtime_ns", U32, false, Delta, "ns", "Nanoseconds of `mtime`";
    Ctime, "ctime", I64, false, Delta, "s since 1970", "Last change of the inode, stx_ctime";
    CtimeNs, "ctime_ns", U32, false, Delta, "ns", "Nanoseconds of `ctime`";
    Btime, "btime", I64, true, Delta, "s since 1970", "Creation, stx_btime, where the file system keeps it";
    BtimeNs, "btime_ns", U32, true, Delta, "ns", "Nanoseconds of `btime`";
    LinkTarget, "link_target", Bytes, true, Bytes, "bytes", "Target of a symbolic link, readlink(2)";
    XattrNames, "xattr_names", Bytes, true, Bytes, "NUL-ended names", "Names of extended attributes, listxattr(2)";
    Acl, "acl", Bytes, true, Bytes, "bytes", "Access ACL beyond the mode: value of system.posix_acl_access";
    AclDefault, "acl_default", Bytes, true, Bytes, "bytes", "Default ACL of a directory: value of system.posix_acl_default";
    Project, "project", U32, true, Dictionary, "id", "Project quota id, FS_IOC_FSGETXATTR, where the file system keeps one";
    Attributes, "attributes", U64, false, Dictionary, "bits", "stx_attributes & stx_attributes_mask: immutable, append-only, compressed, …";
}

/// Number of leading columns that every segment has.
///
/// The columns behind them may have been added after a segment was written. A reader takes such a
/// segment's value as null, or as 0 where the column has no nulls. Only trailing columns can be
/// added: a column's position is fixed within a format version.
pub const REQUIRED_COLUMNS: usize = Column::Project as usize;

impl Column {
    /// The column's row in [`COLUMNS`].
    pub fn info(self) -> &'static ColumnInfo {
        &COLUMNS[self as usize]
    }
}

/// A set of columns, used to state which columns a query reads.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct ColumnSet(u64);

impl ColumnSet {
    /// The empty set.
    pub const EMPTY: ColumnSet = ColumnSet(0);

    /// Returns the set of the given columns.
    pub const fn of(columns: &[Column]) -> ColumnSet {
        let mut bits = 0;
        let mut i = 0;
        while i < columns.len() {
            bits |= 1 << columns[i] as u64;
            i += 1;
        }
        ColumnSet(bits)
    }

    /// Returns the set of all columns.
    pub fn all() -> ColumnSet {
        ColumnSet((1 << COLUMNS.len()) - 1)
    }

    /// Returns the union of both sets.
    #[must_use]
    pub const fn union(self, other: ColumnSet) -> ColumnSet {
        ColumnSet(self.0 | other.0)
    }

    /// Returns this set without the columns of `other`.
    #[must_use]
    pub const fn minus(self, other: ColumnSet) -> ColumnSet {
        ColumnSet(self.0 & !other.0)
    }

    /// Returns true if `column` is in the set.
    pub const fn contains(self, column: Column) -> bool {
        self.0 & (1 << column as u64) != 0
    }

    /// Returns true if the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the set's columns in stored order.
    pub fn iter(self) -> impl Iterator<Item = Column> {
        COLUMNS
            .iter()
            .map(|info| info.column)
            .filter(move |c| self.contains(*c))
    }
}

impl std::fmt::Debug for ColumnSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set()
            .entries(self.iter().map(|c| c.info().name))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_variant_order_with_unique_names() {
        for (at, info) in COLUMNS.iter().enumerate() {
            assert_eq!(info.column as usize, at, "{}", info.name);
            assert!(COLUMNS[..at].iter().all(|other| other.name != info.name));
        }
        assert!(COLUMNS.len() < 64, "a ColumnSet has 64 places");
        // Segments of format 2 may lack no more than these two, however many are added.
        assert_eq!(COLUMNS[REQUIRED_COLUMNS].name, "project");
    }

    #[test]
    fn sets_hold_what_was_put_in() {
        let set = ColumnSet::of(&[Column::Size, Column::Name]);
        assert_eq!(set.iter().collect::<Vec<_>>(), [Column::Name, Column::Size]);
        assert!(ColumnSet::all().minus(set).union(set) == ColumnSet::all());
        assert!(!ColumnSet::EMPTY.contains(Column::Dir));
    }
}
