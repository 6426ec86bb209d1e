//! Defines the tables of a segment and their columns. Writers and readers share these definitions.
//!
//! Columns are addressed by position (the enums' values) or by name; both are fixed within a format
//! version.

use std::fmt;
use std::sync::OnceLock;
use trawl_model::column::{COLUMNS, ColumnEncoding, ColumnType, REQUIRED_COLUMNS};

/// The format version that this crate writes and reads.
pub const FORMAT: u32 = 2;
/// Incremented when the same rows produce a different segment although the columns stay the same:
/// then no older segment is taken over into a new snapshot.
pub const SEGMENT_REVISION: u32 = 2;

/// Maximum rows of the entries table in a row group.
pub const ROW_GROUP_ROWS: usize = 128 * 1024;
/// Maximum rows of the other tables in a row group.
pub const SMALL_ROW_GROUP_ROWS: usize = 64 * 1024;
/// Maximum rows of the entries table in a data page.
pub const PAGE_ROWS: usize = 8192;
/// Maximum rows of the other tables in a data page.
pub const SMALL_PAGE_ROWS: usize = 1024;

/// Metadata key of the format version, in decimal.
pub const KEY_FORMAT: &str = "trawl.format";
/// Metadata key of the name of the table that the file holds ([`Table::name`]).
pub const KEY_TABLE: &str = "trawl.table";
/// Metadata key of the source's root path as escaped text.
pub const KEY_ROOT: &str = "trawl.root";
/// Metadata key of the xxh3-64 hashes of all column chunks' bytes, 16 hex digits each without
/// separator, row group by row group, column by column.
pub const KEY_CHUNKS: &str = "trawl.chunks";

/// Maximum size in bytes of a dictionary; a column chunk with a larger one falls back to its other
/// encoding.
pub const DICTIONARY_BYTES: usize = 16 << 20;

/// One of a segment's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// One row per directory entry.
    Entries,
    /// One row per listed directory: the position of its rows, and sums over them.
    Dirs,
    /// Entries with several hard links.
    Links,
    /// Values of extended attributes.
    Xattrs,
    /// Paths that could not be read.
    Issues,
}

/// Encoding of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldEncoding {
    /// Dictionary pages; numbers fall back to `PLAIN`, text to `DELTA_BYTE_ARRAY`.
    Dictionary,
    /// `DELTA_BINARY_PACKED`.
    Delta,
    /// `DELTA_LENGTH_BYTE_ARRAY`.
    Bytes,
    /// `DELTA_BYTE_ARRAY`: each value shares a prefix with the previous one.
    Prefix,
}

/// One column of a table.
#[derive(Clone, Copy, Debug)]
pub struct FieldInfo {
    /// Name in Parquet.
    pub name: &'static str,
    /// Type of its values.
    pub kind: ColumnType,
    /// True if values may be null.
    pub nullable: bool,
    /// Encoding of its values.
    pub encoding: FieldEncoding,
    /// True if pages have minima and maxima.
    pub statistics: bool,
    /// Description of the column.
    pub doc: &'static str,
}

macro_rules! fields {
    ($(#[$doc:meta])* $enum:ident, $table:ident:
     $($variant:ident, $name:literal, $kind:ident, $null:literal, $enc:ident, $stats:literal, $text:literal;)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $enum {
            $(#[doc = $text] $variant,)*
        }

        impl $enum {
            /// Returns the column's name in Parquet.
            pub const fn name(self) -> &'static str {
                $table[self as usize].name
            }
        }

        /// Every column of the table, in stored order.
        pub const $table: &[FieldInfo] = &[
            $(FieldInfo {
                name: $name,
                kind: ColumnType::$kind,
                nullable: $null,
                encoding: FieldEncoding::$enc,
                statistics: $stats,
                doc: $text,
            },)*
        ];
    };
}

fields! {
    /// A column of the dirs table.
    DirColumn, DIR_COLUMNS:
    Path, "path", Text, false, Prefix, true, "The directory: absolute, no trailing slash, empty for `/`; escaped where it is not UTF-8. In a row of kind 1, the parent of the directory that the own row describes";
    PathRaw, "path_raw", Bytes, true, Bytes, false, "The path's bytes, only where they differ from `path`";
    Kind, "kind", U32, false, Dictionary, false, "0 for a listed directory, 1 for an own row: the source root's, or that of the directory behind the barrier";
    Depth, "depth", U32, false, Delta, true, "Components of `path`";
    OwnIno, "own_ino", U64, false, Delta, false, "The directory's inode number";
    OwnDev, "own_dev", U64, false, Dictionary, false, "The device that contains it";
    OwnMode, "own_mode", U32, false, Dictionary, false, "Its type and permission bits";
    OwnNlink, "own_nlink", U32, false, Delta, false, "Its number of hard links";
    OwnUid, "own_uid", U32, false, Dictionary, false, "Its owner";
    OwnGid, "own_gid", U32, false, Dictionary, false, "Its owning group";
    OwnSize, "own_size", U64, false, Delta, false, "Its apparent size in bytes";
    OwnBlocks, "own_blocks", U64, false, Delta, false, "Its allocated space in units of 512 bytes";
    OwnAtime, "own_atime", I64, false, Delta, false, "Its time of last access, seconds since 1970";
    OwnAtimeNs, "own_atime_ns", U32, false, Delta, false, "Nanoseconds of `own_atime`";
    OwnMtime, "own_mtime", I64, false, Delta, false, "Its time of last modification, seconds since 1970";
    OwnMtimeNs, "own_mtime_ns", U32, false, Delta, false, "Nanoseconds of `own_mtime`";
    OwnCtime, "own_ctime", I64, false, Delta, false, "Its time of last status change, seconds since 1970";
    OwnCtimeNs, "own_ctime_ns", U32, false, Delta, false, "Nanoseconds of `own_ctime`";
    OwnBtime, "own_btime", I64, true, Delta, false, "Its time of creation, seconds since 1970, if known";
    OwnBtimeNs, "own_btime_ns", U32, true, Delta, false, "Nanoseconds of `own_btime`";
    FirstRow, "first_row", U64, false, Delta, true, "Number of its first row in the segment's entries table, from 0";
    Rows, "rows", U64, false, Delta, true, "Number of its rows";
    Files, "files", U64, false, Delta, true, "Regular files among its rows";
    Dirs, "dirs", U64, false, Delta, true, "Directories among its rows";
    Symlinks, "symlinks", U64, false, Delta, true, "Symbolic links among its rows";
    Others, "others", U64, false, Delta, true, "Other objects among its rows";
    SizeSum, "size_sum", U64, false, Delta, true, "Sum of `size` over its rows, modulo 2^64";
    BlocksSum, "blocks_sum", U64, false, Delta, true, "Sum of `blocks` over its rows, modulo 2^64";
    SizeMin, "size_min", U64, false, Delta, true, "Smallest `size`; this column and the following ones up to `ctime_max` are 0 if it has no rows";
    SizeMax, "size_max", U64, false, Delta, true, "Largest `size`";
    AtimeMin, "atime_min", I64, false, Delta, true, "Smallest `atime`";
    AtimeMax, "atime_max", I64, false, Delta, true, "Largest `atime`";
    MtimeMin, "mtime_min", I64, false, Delta, true, "Smallest `mtime`";
    MtimeMax, "mtime_max", I64, false, Delta, true, "Largest `mtime`";
    CtimeMin, "ctime_min", I64, false, Delta, true, "Smallest `ctime`";
    CtimeMax, "ctime_max", I64, false, Delta, true, "Largest `ctime`";
    FilesBefore, "files_before", U64, false, Delta, false, "Regular files in the listed directories before this row";
    DirsBefore, "dirs_before", U64, false, Delta, false, "Directories in them";
    SymlinksBefore, "symlinks_before", U64, false, Delta, false, "Symbolic links in them";
    OthersBefore, "others_before", U64, false, Delta, false, "Other objects in them";
    SizeBefore, "size_before", U64, false, Delta, false, "Sum of `size` over their rows, modulo 2^64";
    BlocksBefore, "blocks_before", U64, false, Delta, false, "Sum of `blocks` over their rows, modulo 2^64";
    LinksBefore, "links_before", U64, false, Delta, false, "Rows of the links table that belong to entries before this directory's, and so the number of its first row in the links table";
    Restricted, "restricted", Bytes, true, Bytes, false, "The subdirectories that some users who may read this row may not list or not search, with their permissions (see below); null if there are none";
}

fields! {
    /// A column of the links table.
    LinkColumn, LINK_COLUMNS:
    Row, "row", U64, false, Delta, true, "The entry's row number in the segment's entries table; ascending";
    Dev, "dev", U64, false, Dictionary, false, "The entry's device";
    Ino, "ino", U64, false, Delta, true, "The entry's inode number";
    Nlink, "nlink", U32, false, Delta, false, "Its number of hard links, more than 1";
    Size, "size", U64, false, Delta, false, "Its apparent size in bytes";
    Blocks, "blocks", U64, false, Delta, false, "Its allocated space in units of 512 bytes";
}

fields! {
    /// A column of the xattrs table.
    XattrColumn, XATTR_COLUMNS:
    Dir, "dir", Text, false, Dictionary, false, "Path of the directory that contains the entry, as in the entries table";
    DirRaw, "dir_raw", Bytes, true, Bytes, false, "That path's bytes, only where they differ from `dir`";
    Name, "name", Text, false, Bytes, false, "The entry's name";
    NameRaw, "name_raw", Bytes, true, Bytes, false, "The name's bytes, only where they differ from `name`";
    Attr, "attr", Bytes, false, Bytes, false, "The attribute's full name";
    Value, "value", Bytes, false, Bytes, false, "Its value";
}

fields! {
    /// A column of the issues table.
    IssueColumn, ISSUE_COLUMNS:
    Path, "path", Text, false, Prefix, true, "The path concerned, absolute; escaped where it is not UTF-8";
    PathRaw, "path_raw", Bytes, true, Bytes, false, "The path's bytes, only where they differ from `path`";
    Op, "op", U32, false, Dictionary, false, "The operation that failed (`trawl_model::issue::Op`)";
    Errno, "errno", I64, false, Dictionary, false, "The kernel's error number, errno(3); 0 if there is none";
    Detail, "detail", Text, false, Bytes, false, "Further details that the error number does not express";
}

/// `kind` of a directory that was listed.
pub const KIND_LISTING: u32 = 0;
/// `kind` of the row for a directory's own row: the source root's, or that of a directory behind a
/// barrier.
pub const KIND_ROOT: u32 = 1;

impl Table {
    /// Every table.
    pub const ALL: [Table; 5] = [
        Table::Entries,
        Table::Dirs,
        Table::Links,
        Table::Xattrs,
        Table::Issues,
    ];

    /// Returns the name used in file names and manifests.
    pub const fn name(self) -> &'static str {
        match self {
            Table::Entries => "entries",
            Table::Dirs => "dirs",
            Table::Links => "links",
            Table::Xattrs => "xattrs",
            Table::Issues => "issues",
        }
    }

    /// Returns the table with that name.
    pub fn from_name(name: &str) -> Option<Table> {
        Table::ALL.into_iter().find(|table| table.name() == name)
    }

    /// Returns the table's columns, in stored order.
    pub fn fields(self) -> &'static [FieldInfo] {
        match self {
            Table::Entries => entry_fields(),
            Table::Dirs => DIR_COLUMNS,
            Table::Links => LINK_COLUMNS,
            Table::Xattrs => XATTR_COLUMNS,
            Table::Issues => ISSUE_COLUMNS,
        }
    }

    /// Returns the number of leading columns without which a file is damaged. Columns behind them
    /// are missing in files of programs that did not know them; their values are null there.
    pub fn required_fields(self) -> usize {
        match self {
            Table::Entries => REQUIRED_COLUMNS,
            Table::Dirs => DirColumn::Restricted as usize,
            _ => self.fields().len(),
        }
    }

    /// Returns the maximum number of rows in a row group.
    pub const fn row_group_rows(self) -> usize {
        match self {
            Table::Entries => ROW_GROUP_ROWS,
            _ => SMALL_ROW_GROUP_ROWS,
        }
    }

    /// Returns the maximum number of rows in a data page.
    pub const fn page_rows(self) -> usize {
        match self {
            Table::Entries => PAGE_ROWS,
            _ => SMALL_PAGE_ROWS,
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn entry_fields() -> &'static [FieldInfo] {
    static FIELDS: OnceLock<Vec<FieldInfo>> = OnceLock::new();
    FIELDS.get_or_init(|| {
        let field = |info: &trawl_model::column::ColumnInfo| FieldInfo {
            name: info.name,
            kind: info.kind,
            nullable: info.nullable,
            encoding: match info.encoding {
                ColumnEncoding::Dictionary => FieldEncoding::Dictionary,
                ColumnEncoding::Delta => FieldEncoding::Delta,
                ColumnEncoding::Bytes => FieldEncoding::Bytes,
            },
            statistics: !matches!(info.kind, ColumnType::Text | ColumnType::Bytes),
            doc: info.doc,
        };
        COLUMNS.iter().map(field).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_unique_column_names() {
        for table in Table::ALL {
            let fields = table.fields();
            for (at, field) in fields.iter().enumerate() {
                assert!(fields[..at].iter().all(|other| other.name != field.name));
            }
            assert_eq!(Table::from_name(table.name()), Some(table));
        }
        assert_eq!(DirColumn::LinksBefore.name(), "links_before");
        assert_eq!(IssueColumn::Detail as usize + 1, ISSUE_COLUMNS.len());
    }
}
