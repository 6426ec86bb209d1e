//! The tables of a segment: columns, Arrow and Parquet schemas, and how
//! they are written. Writers and readers share this one place.
//!
//! Columns are addressed by position (the enums' values) or by name; both
//! are fixed within a format version.

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;
use std::fmt;
use std::sync::{Arc, OnceLock};
use trawl_model::column::{COLUMNS, ColumnEncoding, ColumnType};

/// The format that this crate writes and reads.
pub const FORMAT: u32 = 2;
/// Counted up when the same rows make another segment, though the columns
/// stay: then no segment of before is taken over into a new snapshot.
pub(crate) const SEGMENT_REVISION: u32 = 2;

/// Rows of the entries table in a row group, at most.
pub const ROW_GROUP_ROWS: usize = 128 * 1024;
/// Rows of the other tables in a row group, at most.
pub const SMALL_ROW_GROUP_ROWS: usize = 64 * 1024;
/// Rows of the entries table in a data page, at most.
pub const PAGE_ROWS: usize = 8192;
/// Rows of the other tables in a data page, at most.
pub const SMALL_PAGE_ROWS: usize = 1024;

/// Key-value metadata: the format version, decimal.
pub const KEY_FORMAT: &str = "trawl.format";
/// Key-value metadata: which table the file holds ([`Table::name`]).
pub const KEY_TABLE: &str = "trawl.table";
/// Key-value metadata: the source's root path, escaped text.
pub const KEY_ROOT: &str = "trawl.root";
/// Key-value metadata: xxh3-64 of the bytes of every column chunk, 16 hex
/// digits each without separator, row group by row group, column by column.
pub const KEY_CHUNKS: &str = "trawl.chunks";

/// A dictionary of up to this many bytes is kept; a column chunk with a
/// larger one falls back to its other encoding.
pub const DICTIONARY_BYTES: usize = 16 << 20;

/// One of a segment's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// One row per directory entry.
    Entries,
    /// One row per listed directory: where its rows lie, and their sums.
    Dirs,
    /// Entries with several hard links.
    Links,
    /// Values of extended attributes.
    Xattrs,
    /// What could not be read.
    Issues,
}

/// How a column's values are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldEncoding {
    /// Dictionary pages; numbers fall back to `PLAIN`, text to
    /// `DELTA_BYTE_ARRAY`.
    Dictionary,
    /// `DELTA_BINARY_PACKED`.
    Delta,
    /// `DELTA_LENGTH_BYTE_ARRAY`.
    Bytes,
    /// `DELTA_BYTE_ARRAY`: prefixes shared with the value before.
    Prefix,
}

/// One column of a table.
#[derive(Clone, Copy, Debug)]
pub struct FieldInfo {
    /// Its name in Parquet.
    pub name: &'static str,
    /// Its type.
    pub kind: ColumnType,
    /// True if it may be null.
    pub nullable: bool,
    /// How it is encoded.
    pub encoding: FieldEncoding,
    /// True if pages carry minima and maxima.
    pub statistics: bool,
    /// What it says.
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
            /// The column's name in Parquet.
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
    Path, "path", Text, false, Prefix, true, "The directory: absolute, no trailing slash, empty for `/`; escaped where it is not UTF-8. In a row of kind 1 the directory above the source's root";
    PathRaw, "path_raw", Bytes, true, Bytes, false, "The path's bytes, only where they differ from `path`";
    Kind, "kind", U32, false, Dictionary, false, "0 a listed directory; 1 the place of the source root's own row";
    Depth, "depth", U32, false, Delta, true, "Components of `path`";
    OwnIno, "own_ino", U64, false, Delta, false, "The directory's inode number";
    OwnDev, "own_dev", U64, false, Dictionary, false, "The device it lies on";
    OwnMode, "own_mode", U32, false, Dictionary, false, "Its type and permission bits";
    OwnNlink, "own_nlink", U32, false, Delta, false, "Its hard links";
    OwnUid, "own_uid", U32, false, Dictionary, false, "Its owner";
    OwnGid, "own_gid", U32, false, Dictionary, false, "Its owning group";
    OwnSize, "own_size", U64, false, Delta, false, "Its apparent size, bytes";
    OwnBlocks, "own_blocks", U64, false, Delta, false, "Its allocated space, 512 bytes";
    OwnAtime, "own_atime", I64, false, Delta, false, "Its last access, s since 1970";
    OwnAtimeNs, "own_atime_ns", U32, false, Delta, false, "Nanoseconds of `own_atime`";
    OwnMtime, "own_mtime", I64, false, Delta, false, "Its last change, s since 1970";
    OwnMtimeNs, "own_mtime_ns", U32, false, Delta, false, "Nanoseconds of `own_mtime`";
    OwnCtime, "own_ctime", I64, false, Delta, false, "Last change of its inode, s since 1970";
    OwnCtimeNs, "own_ctime_ns", U32, false, Delta, false, "Nanoseconds of `own_ctime`";
    OwnBtime, "own_btime", I64, true, Delta, false, "Its creation, s since 1970, where known";
    OwnBtimeNs, "own_btime_ns", U32, true, Delta, false, "Nanoseconds of `own_btime`";
    FirstRow, "first_row", U64, false, Delta, true, "Number of its first row in the segment's entries table, from 0";
    Rows, "rows", U64, false, Delta, true, "Number of its rows";
    Files, "files", U64, false, Delta, true, "Regular files among its rows";
    Dirs, "dirs", U64, false, Delta, true, "Directories among its rows";
    Symlinks, "symlinks", U64, false, Delta, true, "Symbolic links among its rows";
    Others, "others", U64, false, Delta, true, "Other objects among its rows";
    SizeSum, "size_sum", U64, false, Delta, true, "Sum of `size` over its rows, modulo 2^64";
    BlocksSum, "blocks_sum", U64, false, Delta, true, "Sum of `blocks` over its rows, modulo 2^64";
    SizeMin, "size_min", U64, false, Delta, true, "Smallest `size`; this and the following are 0 where it has no rows";
    SizeMax, "size_max", U64, false, Delta, true, "Largest `size`";
    AtimeMin, "atime_min", I64, false, Delta, true, "Smallest `atime`";
    AtimeMax, "atime_max", I64, false, Delta, true, "Largest `atime`";
    MtimeMin, "mtime_min", I64, false, Delta, true, "Smallest `mtime`";
    MtimeMax, "mtime_max", I64, false, Delta, true, "Largest `mtime`";
    CtimeMin, "ctime_min", I64, false, Delta, true, "Smallest `ctime`";
    CtimeMax, "ctime_max", I64, false, Delta, true, "Largest `ctime`";
    FilesBefore, "files_before", U64, false, Delta, false, "Regular files in the listed directories before this row";
    DirsBefore, "dirs_before", U64, false, Delta, false, "Directories there";
    SymlinksBefore, "symlinks_before", U64, false, Delta, false, "Symbolic links there";
    OthersBefore, "others_before", U64, false, Delta, false, "Other objects there";
    SizeBefore, "size_before", U64, false, Delta, false, "Sum of `size` there, modulo 2^64";
    BlocksBefore, "blocks_before", U64, false, Delta, false, "Sum of `blocks` there, modulo 2^64";
    LinksBefore, "links_before", U64, false, Delta, false, "Rows of the links table that belong to rows before this directory's; the number of its first row there";
}

fields! {
    /// A column of the links table.
    LinkColumn, LINK_COLUMNS:
    Row, "row", U64, false, Delta, true, "The entry's row number in the segment's entries table; ascending";
    Dev, "dev", U64, false, Dictionary, false, "The entry's device";
    Ino, "ino", U64, false, Delta, true, "The entry's inode number";
    Nlink, "nlink", U32, false, Delta, false, "Its hard links, more than 1";
    Size, "size", U64, false, Delta, false, "Its apparent size, bytes";
    Blocks, "blocks", U64, false, Delta, false, "Its allocated space, 512 bytes";
}

fields! {
    /// A column of the xattrs table.
    XattrColumn, XATTR_COLUMNS:
    Dir, "dir", Text, false, Dictionary, false, "Path of the directory that holds the entry, as in the entries table";
    DirRaw, "dir_raw", Bytes, true, Bytes, false, "That path's bytes, only where they differ from `dir`";
    Name, "name", Text, false, Bytes, false, "The entry's name";
    NameRaw, "name_raw", Bytes, true, Bytes, false, "The name's bytes, only where they differ from `name`";
    Attr, "attr", Bytes, false, Bytes, false, "The attribute's full name";
    Value, "value", Bytes, false, Bytes, false, "Its value";
}

fields! {
    /// A column of the issues table.
    IssueColumn, ISSUE_COLUMNS:
    Path, "path", Text, false, Prefix, true, "The path in question, absolute; escaped where it is not UTF-8";
    PathRaw, "path_raw", Bytes, true, Bytes, false, "The path's bytes, only where they differ from `path`";
    Op, "op", U32, false, Dictionary, false, "What was tried (`trawl_model::issue::Op`)";
    Errno, "errno", I64, false, Dictionary, false, "What the kernel answered, errno(3); 0 where none applies";
    Detail, "detail", Text, false, Bytes, false, "More, where the number does not say it all";
}

/// `kind` of a directory that was listed.
pub const KIND_LISTING: u32 = 0;
/// `kind` of the place of a directory's own row: of the source's root, or of
/// the directory behind a barrier.
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

    /// The name in file names and manifests.
    pub const fn name(self) -> &'static str {
        match self {
            Table::Entries => "entries",
            Table::Dirs => "dirs",
            Table::Links => "links",
            Table::Xattrs => "xattrs",
            Table::Issues => "issues",
        }
    }

    /// The table of that name.
    pub fn from_name(name: &str) -> Option<Table> {
        Table::ALL.into_iter().find(|table| table.name() == name)
    }

    /// The table's columns, in stored order.
    pub fn fields(self) -> &'static [FieldInfo] {
        match self {
            Table::Entries => entry_fields(),
            Table::Dirs => DIR_COLUMNS,
            Table::Links => LINK_COLUMNS,
            Table::Xattrs => XATTR_COLUMNS,
            Table::Issues => ISSUE_COLUMNS,
        }
    }

    /// The table's Arrow schema: Text is `Utf8`, Bytes `Binary`, numbers
    /// `UInt32`, `UInt64`, `Int64`. Files hold no Arrow schema; Parquet's
    /// logical types give the same.
    pub fn arrow_schema(self) -> SchemaRef {
        static SCHEMAS: OnceLock<[SchemaRef; 5]> = OnceLock::new();
        let schemas = SCHEMAS.get_or_init(|| Table::ALL.map(|t| arrow_schema_of(t.fields())));
        Arc::clone(&schemas[self as usize])
    }

    /// Rows in a row group, at most.
    pub const fn row_group_rows(self) -> usize {
        match self {
            Table::Entries => ROW_GROUP_ROWS,
            _ => SMALL_ROW_GROUP_ROWS,
        }
    }

    /// Rows in a data page, at most.
    pub const fn page_rows(self) -> usize {
        match self {
            Table::Entries => PAGE_ROWS,
            _ => SMALL_PAGE_ROWS,
        }
    }

    /// How the table is written.
    pub fn writer_properties(self) -> WriterProperties {
        let mut builder = WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_created_by(format!("trawl {}", env!("CARGO_PKG_VERSION")))
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(self.row_group_rows()))
            .set_data_page_row_count_limit(self.page_rows())
            .set_write_batch_size(self.page_rows())
            .set_data_page_size_limit(4 << 20)
            .set_dictionary_page_size_limit(DICTIONARY_BYTES)
            .set_column_index_truncate_length(Some(256))
            .set_statistics_enabled(EnabledStatistics::None)
            .set_dictionary_enabled(false);
        for field in self.fields() {
            let path = || ColumnPath::from(field.name);
            if field.statistics {
                builder = builder.set_column_statistics_enabled(path(), EnabledStatistics::Page);
            }
            if field.encoding == FieldEncoding::Dictionary {
                builder = builder.set_column_dictionary_enabled(path(), true);
            }
            builder = builder.set_column_encoding(path(), field.parquet_encoding());
        }
        builder.build()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FieldInfo {
    /// The column's Arrow type.
    pub fn arrow_type(&self) -> DataType {
        match self.kind {
            ColumnType::Text => DataType::Utf8,
            ColumnType::Bytes => DataType::Binary,
            ColumnType::U32 => DataType::UInt32,
            ColumnType::U64 => DataType::UInt64,
            ColumnType::I64 => DataType::Int64,
        }
    }

    /// The encoding of data pages (of the fall-back, for a dictionary).
    fn parquet_encoding(&self) -> Encoding {
        let is_number = !matches!(self.kind, ColumnType::Text | ColumnType::Bytes);
        match self.encoding {
            FieldEncoding::Dictionary if is_number => Encoding::PLAIN,
            FieldEncoding::Dictionary | FieldEncoding::Prefix => Encoding::DELTA_BYTE_ARRAY,
            FieldEncoding::Delta => Encoding::DELTA_BINARY_PACKED,
            FieldEncoding::Bytes => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        }
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

fn arrow_schema_of(fields: &[FieldInfo]) -> SchemaRef {
    let fields = fields
        .iter()
        .map(|f| Field::new(f.name, f.arrow_type(), f.nullable))
        .collect::<Vec<_>>();
    Arc::new(Schema::new(fields))
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
            assert_eq!(table.arrow_schema().fields().len(), fields.len());
        }
        assert_eq!(DirColumn::LinksBefore.name(), "links_before");
        assert_eq!(IssueColumn::Detail as usize + 1, ISSUE_COLUMNS.len());
    }
}
