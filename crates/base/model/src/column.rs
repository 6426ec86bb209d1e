//! The table of columns: names, types, units and origin of the values, and where they are shown.
//!
//! A column has two rows here. The row in `columns!` describes it: the Parquet schema, the column
//! documentation, JSON, CSV, the SQL catalogue and the comparison of snapshots are made from
//! [`COLUMNS`]. The row in `with_fields!` says what holds it in memory:
//! [`Meta`](crate::Meta), [`Entry`](crate::Entry), [`RowBatch`](crate::rows::RowBatch) and
//! [`OwnedRow`](crate::rows::OwnedRow) are generated from it, with everything that reads, copies or
//! hashes all columns. A column without the second row, or with two columns in one place of the
//! hash, does not compile.

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
    /// Where the column is a field of an entry's record.
    pub report: Report,
    /// How the comparison of two snapshots names the column.
    pub comparison: Comparison,
}

/// Where a column is a field of an entry's record, and its place among the fields. Fields with the
/// same place follow in stored order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// Nowhere.
    Never,
    /// In JSON.
    Json(u8),
    /// In JSON and CSV.
    JsonAndCsv(u8),
}

/// Whether and how two snapshots are compared by a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Not at all, or as part of another column.
    Never,
    /// Under this name, at this place among the names.
    As(u8, &'static str),
}

macro_rules! columns {
    ($($variant:ident, $name:literal, $kind:ident, $null:literal, $enc:ident, $unit:literal, $doc:literal, $report:expr, $comparison:expr;)*) => {
        /// A column of the entries table, in stored order.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Column {
            $(#[doc = $doc] $variant,)*
        }

        /// Every column, in stored order.
        pub static COLUMNS: &[ColumnInfo] = TABLE;

        const TABLE: &[ColumnInfo] = &[
            $(ColumnInfo {
                column: Column::$variant,
                name: $name,
                kind: ColumnType::$kind,
                nullable: $null,
                encoding: ColumnEncoding::$enc,
                unit: $unit,
                doc: $doc,
                since: 1,
                report: $report,
                comparison: $comparison,
            },)*
        ];
    };
}

use Comparison::As;
use Report::{Json, JsonAndCsv};

columns! {
    Dir, "dir", Text, false, Dictionary, "path", "Absolute path of the directory that holds the entry, without a trailing slash (empty for `/`), so that `dir || '/' || name` is the entry's path", Report::Never, Comparison::Never;
    Name, "name", Text, false, Bytes, "name", "The entry's name; escaped where it is not UTF-8", Report::Never, Comparison::Never;
    NameRaw, "name_raw", Bytes, true, Bytes, "bytes", "The name's bytes, only where they differ from `name`", Report::Never, Comparison::Never;
    Type, "type", Text, false, Dictionary, "letter", "Kind of object: f, d, l, p, s, b, c as find -type; U if unknown", JsonAndCsv(1), As(1, "type");
    Ino, "ino", U64, false, Delta, "number", "Inode number, statx(2) stx_ino", JsonAndCsv(8), As(18, "inode");
    Dev, "dev", U64, false, Dictionary, "device", "Device that the object lies on, makedev(3) of stx_dev_major and stx_dev_minor; 0 from a trace", JsonAndCsv(9), As(19, "device");
    Mode, "mode", U32, false, Dictionary, "bits", "Type and permission bits, stx_mode", JsonAndCsv(4), As(4, "mode");
    Nlink, "nlink", U32, false, Dictionary, "count", "Hard links, stx_nlink", JsonAndCsv(5), As(11, "links");
    Uid, "uid", U32, false, Dictionary, "id", "Owner, stx_uid", JsonAndCsv(6), As(5, "owner");
    Gid, "gid", U32, false, Dictionary, "id", "Owning group, stx_gid", JsonAndCsv(7), As(6, "group");
    Rdev, "rdev", U64, false, Dictionary, "device", "Device that a device file stands for, else 0", JsonAndCsv(10), As(20, "rdev");
    Size, "size", U64, false, Delta, "bytes", "Apparent size, stx_size", JsonAndCsv(2), As(2, "size");
    Blocks, "blocks", U64, false, Delta, "512 bytes", "Allocated space, stx_blocks", JsonAndCsv(3), As(3, "blocks");
    Blksize, "blksize", U32, false, Dictionary, "bytes", "Preferred I/O size, stx_blksize", Json(11), Comparison::Never;
    Atime, "atime", I64, false, Delta, "s since 1970", "Last access, stx_atime", JsonAndCsv(12), As(9, "atime");
    AtimeNs, "atime_ns", U32, false, Delta, "ns", "Nanoseconds of `atime`", Report::Never, Comparison::Never;
    Mtime, "mtime", I64, false, Delta, "s since 1970", "Last change of the content, stx_mtime", JsonAndCsv(13), As(7, "mtime");
    MtimeNs, "mtime_ns", U32, false, Delta, "ns", "Nanoseconds of `mtime`", Report::Never, Comparison::Never;
    Ctime, "ctime", I64, false, Delta, "s since 1970", "Last change of the inode, stx_ctime", JsonAndCsv(14), As(8, "ctime");
    CtimeNs, "ctime_ns", U32, false, Delta, "ns", "Nanoseconds of `ctime`", Report::Never, Comparison::Never;
    Btime, "btime", I64, true, Delta, "s since 1970", "Creation, stx_btime, where the file system keeps it", JsonAndCsv(15), As(10, "btime");
    BtimeNs, "btime_ns", U32, true, Delta, "ns", "Nanoseconds of `btime`", Report::Never, Comparison::Never;
    LinkTarget, "link_target", Bytes, true, Bytes, "bytes", "Target of a symbolic link, readlink(2)", JsonAndCsv(16), As(12, "target");
    XattrNames, "xattr_names", Bytes, true, Bytes, "NUL-ended names", "Names of extended attributes, listxattr(2)", Report::Never, As(15, "xattrs");
    Acl, "acl", Bytes, true, Bytes, "bytes", "Access ACL beyond the mode: value of system.posix_acl_access", Report::Never, As(13, "acl");
    AclDefault, "acl_default", Bytes, true, Bytes, "bytes", "Default ACL of a directory: value of system.posix_acl_default", Report::Never, As(14, "default-acl");
    Project, "project", U32, true, Dictionary, "id", "Project quota id, FS_IOC_FSGETXATTR, where the file system keeps one", Report::Never, As(16, "project");
    Attributes, "attributes", U64, false, Dictionary, "bits", "stx_attributes & stx_attributes_mask: immutable, append-only, compressed, …", Report::Never, As(17, "flags");
}

/// Passes the fields that hold the columns to a macro: numbers, times of two columns, and byte
/// strings. The columns of the directory, the name and the type are not listed, since the path, the
/// name and the mode hold them.
///
/// Behind `=` stands the column, with its place in the words of an entry that are hashed
/// ([`Entry::words`](crate::Entry::words)). A new column takes a place that no other has; the
/// others stay where they are, so that a new program recognises the content of an older one.
macro_rules! with_fields {
    ($callback:ident) => {
        $callback! {
            numbers {
                /// Inode number.
                ino: u64 as u64 = Ino whole(0);
                /// Device number of the file system that holds the object.
                dev: Dev as u64 = Dev whole(1);
                /// Device number that a device file represents; otherwise 0:0.
                rdev: Dev as u64 = Rdev whole(2);
                /// Type and permissions (`st_mode`).
                mode: u32 as u32 = Mode low(3);
                /// Number of hard links.
                nlink: u32 as u32 = Nlink high(3);
                /// Owner.
                uid: Uid as u32 = Uid low(4);
                /// Owning group.
                gid: Gid as u32 = Gid high(4);
                /// Apparent size, bytes.
                size: u64 as u64 = Size whole(5);
                /// Allocated space, in units of 512 bytes.
                blocks: u64 as u64 = Blocks whole(6);
                /// Preferred I/O size, bytes.
                blksize: u32 as u32 = Blksize low(7);
                /// `stx_attributes & stx_attributes_mask`.
                attributes: u64 as u64 = Attributes whole(14);
                /// Project (quota) id, if the file system has one.
                project: Option<u32> as u32 = Project low(15).known(1);
            }
            times {
                /// Time of the last access.
                atime: Timestamp = Atime whole(8), atime_ns AtimeNs low(12);
                /// Time of the last change of the content.
                mtime: Timestamp = Mtime whole(9), mtime_ns MtimeNs high(12);
                /// Time of the last change of the inode.
                ctime: Timestamp = Ctime whole(10), ctime_ns CtimeNs low(13);
                /// Time of creation, if the file system records it.
                btime: Option<Timestamp> = Btime whole(11).known(0), btime_ns BtimeNs high(13);
            }
            strings {
                /// Target of a symbolic link; empty for other types.
                link_target = LinkTarget low(16);
                /// Names of the extended attributes, each terminated by a NUL, as listxattr(2)
                /// returns them; the names of POSIX ACLs are included.
                xattr_names = XattrNames high(16);
                /// Access ACL: the value of `system.posix_acl_access`; empty if there is none.
                acl = Acl low(17);
                /// Default ACL of a directory: the value of `system.posix_acl_default`; empty if
                /// there is none.
                acl_default = AclDefault high(17);
            }
        }
    };
}
pub(crate) use with_fields;

/// Number of leading columns that every segment has.
///
/// The columns behind them may have been added after a segment was written. A reader takes such a
/// segment's value as null, or as 0 where the column has no nulls. Only trailing columns can be
/// added: a column's position is fixed within a format version.
pub const REQUIRED_COLUMNS: usize = Column::Project as usize;

impl Column {
    /// The column's row in [`COLUMNS`].
    pub const fn info(self) -> &'static ColumnInfo {
        &TABLE[self as usize]
    }

    /// Returns the name under which snapshots are compared by the column; `None` if they are not.
    pub fn compared_as(self) -> Option<&'static str> {
        match self.info().comparison {
            Comparison::As(_, name) => Some(name),
            Comparison::Never => None,
        }
    }
}

macro_rules! time_parts {
    (
        numbers { $($numbers:tt)* }
        times { $(
            $(#[$doc:meta])*
            $time:ident: $time_ty:ty = $secs:ident $secs_at:expr, $nanos_field:ident $nanos:ident $nanos_at:expr;
        )* }
        strings { $($strings:tt)* }
    ) => {
        impl Column {
            /// Returns the columns that a value of this column is made from: both parts of a time,
            /// the name, the mode for the type; for the others the column itself.
            pub const fn sources(self) -> ColumnSet {
                match self {
                    $(Column::$secs | Column::$nanos => {
                        ColumnSet::of(&[Column::$secs, Column::$nanos])
                    })*
                    Column::Dir | Column::NameRaw => ColumnSet::of(&[Column::Name]),
                    Column::Type => ColumnSet::of(&[Column::Mode]),
                    other => ColumnSet::of(&[other]),
                }
            }

            /// Returns the column of the nanoseconds if this one holds the seconds of a time.
            pub const fn nanoseconds(self) -> Option<Column> {
                match self {
                    $(Column::$secs => Some(Column::$nanos),)*
                    _ => None,
                }
            }

            /// Returns true for the nanoseconds of a time.
            pub const fn is_nanoseconds(self) -> bool {
                matches!(self, $(Column::$nanos)|*)
            }
        }
    };
}
with_fields!(time_parts);

/// The columns that are fields of an entry's record in JSON, in the order of the fields.
pub const REPORTED: &[Column] = &in_order::<{ count(REPORT_PLACES) }>(REPORT_PLACES);
/// The columns that snapshots are compared by, in the order of their names.
pub const COMPARED: &[Column] = &in_order::<{ count(COMPARISON_PLACES) }>(COMPARISON_PLACES);

type Places = [Option<u8>; TABLE.len()];

const REPORT_PLACES: &Places = &{
    let mut places = [None; TABLE.len()];
    let mut at = 0;
    while at < TABLE.len() {
        places[at] = match TABLE[at].report {
            Report::Never => None,
            Report::Json(place) | Report::JsonAndCsv(place) => Some(place),
        };
        at += 1;
    }
    places
};

const COMPARISON_PLACES: &Places = &{
    let mut places = [None; TABLE.len()];
    let mut at = 0;
    while at < TABLE.len() {
        places[at] = match TABLE[at].comparison {
            Comparison::Never => None,
            Comparison::As(place, _) => Some(place),
        };
        at += 1;
    }
    places
};

/// Counts the columns that have a place.
const fn count(places: &Places) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < places.len() {
        count += places[at].is_some() as usize;
        at += 1;
    }
    count
}

/// Returns the columns that have a place, in the order of the places.
const fn in_order<const N: usize>(places: &Places) -> [Column; N] {
    let mut columns = [Column::Dir; N];
    let (mut place, mut filled) = (0, 0);
    while filled < N {
        let mut at = 0;
        while at < places.len() {
            if let Some(here) = places[at]
                && here == place
            {
                columns[filled] = TABLE[at].column;
                filled += 1;
            }
            at += 1;
        }
        place += 1;
    }
    columns
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

    /// Returns the columns that the values of the given columns are made from.
    pub const fn sources_of(columns: &[Column]) -> ColumnSet {
        let mut set = ColumnSet::EMPTY;
        let mut i = 0;
        while i < columns.len() {
            set = set.union(columns[i].sources());
            i += 1;
        }
        set
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
