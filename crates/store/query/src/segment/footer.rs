//! Parses a segment file's footer, which locates column chunks and their pages.
//!
//! The footer is part of the file's tail, whose hash is in the manifest. Its
//! contents are validated nevertheless, because an index may be forged: chunks
//! must lie before the tail, pages must fill their chunk without gaps, and row
//! counts must add up.

use trawl_format::schema::{FieldInfo, KEY_CHUNKS, KEY_FORMAT, KEY_TABLE, PAGE_ROWS, Table};
use trawl_model::column::ColumnType;
use trawl_thrift::{Compact, Kind};

/// The magic bytes at both ends of the file.
const MAGIC: &[u8] = b"PAR1";
/// Maximum rows of a page; more than our writer puts in one.
const MOST_PAGE_ROWS: u64 = 4 * PAGE_ROWS as u64;
/// Maximum rows of a row group; more than our writer puts in one.
const MOST_GROUP_ROWS: u64 = 1 << 24;
/// Maximum number of columns to reserve memory for in advance.
const MOST_RESERVED: usize = 64;
/// Length of a chunk's hash in [`KEY_CHUNKS`].
const HASH_DIGITS: usize = 16;

/// Physical type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Physical {
    Int32,
    Int64,
    Bytes,
}

/// Compression of a chunk's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    Plain,
    Zstd,
}

/// One column of one row group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    /// Offset of its bytes in the file, starting with the dictionary page.
    pub(crate) start: u64,
    pub(crate) len: usize,
    pub(crate) codec: Codec,
    /// Offset of its offset index in the tail.
    index_start: usize,
    index_len: usize,
}

/// One page of a chunk: offset and length within the chunk, and its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PagePlace {
    pub(crate) start: usize,
    pub(crate) len: usize,
    /// Counted within the row group.
    pub(crate) first_row: usize,
    pub(crate) rows: usize,
}

/// The pages of a chunk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pages {
    /// Length of the dictionary page at the chunk's start; 0 if there is none.
    pub(crate) dictionary_len: usize,
    pub(crate) data: Vec<PagePlace>,
}

/// A row group: its rows in all columns.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) first_row: u64,
    pub(crate) rows: usize,
    pub(crate) chunks: Vec<Chunk>,
}

/// The parsed tail of a segment file.
#[derive(Clone, Debug)]
pub(crate) struct Footer {
    pub(crate) groups: Vec<Group>,
    /// Number of columns in the file. If it is not the number that this program
    /// knows, the last ones are unknown or missing.
    columns: usize,
    hashes: Vec<u8>,
    tail: Vec<u8>,
}

/// A description of a damaged file, for error messages.
pub(crate) type Problem = &'static str;

impl Footer {
    /// Parses `tail`, the last bytes of a file of `size_bytes` bytes, which
    /// must hold `rows` rows of `table`.
    pub(crate) fn parse(
        tail: Vec<u8>,
        size_bytes: u64,
        table: Table,
        rows: u64,
    ) -> Result<Footer, Problem> {
        let data_end = size_bytes
            .checked_sub(tail.len() as u64)
            .ok_or("its tail is longer than the file")?;
        let body = footer_bytes(&tail).ok_or("it does not end like a Parquet file")?;
        let mut raw = RawFooter::default();
        raw.read(body, data_end)
            .ok_or("its footer cannot be read")?;
        if raw.format != Some(trawl_format::schema::FORMAT) || raw.table != Some(table) {
            return Err("its footer belongs to another table or format");
        }
        check_schema(&raw.schema, table)?;
        let mut first_row = 0u64;
        for group in &mut raw.groups {
            if group.rows as u64 > MOST_GROUP_ROWS || group.chunks.len() != raw.schema.len() {
                return Err("a row group is invalid");
            }
            group.first_row = first_row;
            first_row += group.rows as u64;
        }
        if first_row != rows {
            return Err("its row count differs from its manifest");
        }
        if raw.hashes.len() != raw.groups.len() * raw.schema.len() * HASH_DIGITS {
            return Err("it does not have one hash for each chunk");
        }
        let (columns, groups, hashes) = (raw.schema.len(), raw.groups, raw.hashes.to_vec());
        Ok(Footer {
            groups,
            columns,
            hashes,
            tail,
        })
    }

    /// Returns the expected hash of a chunk's bytes.
    pub(crate) fn hash(&self, group: usize, column: usize) -> Option<u64> {
        let at = (group * self.columns + column) * HASH_DIGITS;
        let digits = self.hashes.get(at..at + HASH_DIGITS)?;
        u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    }

    /// Approximate memory in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let chunks: usize = self.groups.iter().map(|group| group.chunks.len()).sum();
        self.tail.len() + self.hashes.len() + chunks * (size_of::<Chunk>() + size_of::<Pages>())
    }

    /// Number of columns in the file.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the pages of a chunk, from its offset index.
    pub(crate) fn pages(&self, group: usize, column: usize) -> Result<Pages, Problem> {
        let group = self.groups.get(group).ok_or("it has no such row group")?;
        let chunk = group.chunks.get(column).ok_or("it has no such column")?;
        let index = chunk.index_start..chunk.index_start + chunk.index_len;
        let bytes = self
            .tail
            .get(index)
            .ok_or("an offset index lies outside its tail")?;
        let mut places = Vec::new();
        read_offset_index(bytes, &mut places).ok_or("an offset index cannot be read")?;
        to_pages(&places, chunk, group.rows).ok_or("an offset index is invalid")
    }
}

/// Converts page locations to offsets within the chunk. Checks that pages fill
/// the chunk and that their rows add up.
fn to_pages(places: &[(u64, u64, u64)], chunk: &Chunk, rows: usize) -> Option<Pages> {
    let mut pages = Pages::default();
    let mut end = 0usize;
    for (at, (offset, len, first_row)) in places.iter().enumerate() {
        let start = usize::try_from(offset.checked_sub(chunk.start)?).ok()?;
        if at == 0 {
            pages.dictionary_len = start;
        } else if start != end {
            return None;
        }
        let next_row = places.get(at + 1).map_or(rows as u64, |next| next.2);
        let page_rows = next_row.checked_sub(*first_row)?;
        if page_rows == 0 || page_rows > MOST_PAGE_ROWS || (at == 0 && *first_row != 0) {
            return None;
        }
        let len = usize::try_from(*len).ok()?;
        end = start.checked_add(len)?;
        pages.data.push(PagePlace {
            start,
            len,
            first_row: usize::try_from(*first_row).ok()?,
            rows: usize::try_from(page_rows).ok()?,
        });
    }
    (end == chunk.len && !pages.data.is_empty()).then_some(pages)
}

/// Parses an `OffsetIndex`: offset in the file, length and first row of each
/// page.
fn read_offset_index(bytes: &[u8], places: &mut Vec<(u64, u64, u64)>) -> Option<()> {
    Compact::new(bytes).structure(|at, id, kind| match (id, kind) {
        (1, Kind::List) => {
            let (_, len) = at.list().filter(|(kind, _)| *kind == Kind::Struct)?;
            for _ in 0..len {
                let (mut offset, mut len, mut row) = (None, None, None);
                at.structure(|at, id, kind| match (id, kind) {
                    (1, Kind::Int) => at.unsigned().map(|v| offset = Some(v)),
                    (2, Kind::Int) => at.unsigned().map(|v| len = Some(v)),
                    (3, Kind::Int) => at.unsigned().map(|v| row = Some(v)),
                    _ => at.skip(kind),
                })?;
                places.push((offset?, len?, row?));
            }
            Some(())
        }
        _ => at.skip(kind),
    })
}

fn footer_bytes(tail: &[u8]) -> Option<&[u8]> {
    let rest = tail.strip_suffix(MAGIC)?;
    let (rest, len) = rest.split_last_chunk::<4>()?;
    let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
    rest.get(rest.len().checked_sub(len)?..)
}

/// Checks that the file's columns are those of the table, as far as both go.
/// The file may have more at the end, or lack some that are not required.
fn check_schema(found: &[Leaf<'_>], table: Table) -> Result<(), Problem> {
    let fits = |(leaf, field): (&Leaf<'_>, &FieldInfo)| {
        let physical = match field.kind {
            ColumnType::Text | ColumnType::Bytes => Physical::Bytes,
            ColumnType::U32 => Physical::Int32,
            ColumnType::U64 | ColumnType::I64 => Physical::Int64,
        };
        leaf.name == field.name.as_bytes()
            && leaf.physical == Some(physical)
            && leaf.optional == field.nullable
    };
    let is_complete = found.len() >= table.required_fields();
    if !is_complete || !found.iter().zip(table.fields()).all(fits) {
        return Err("its columns are not those of the format");
    }
    Ok(())
}

#[derive(Default)]
struct Leaf<'a> {
    name: &'a [u8],
    physical: Option<Physical>,
    optional: bool,
}

/// The needed parts of `FileMetaData`.
#[derive(Default)]
struct RawFooter<'a> {
    schema: Vec<Leaf<'a>>,
    groups: Vec<Group>,
    hashes: &'a [u8],
    format: Option<u32>,
    table: Option<Table>,
}

impl<'a> RawFooter<'a> {
    fn read(&mut self, bytes: &'a [u8], data_end: u64) -> Option<()> {
        Compact::new(bytes).structure(|at, id, kind| match (id, kind) {
            (2, Kind::List) => self.read_schema(at),
            (4, Kind::List) => {
                let (_, len) = at.list().filter(|(kind, _)| *kind == Kind::Struct)?;
                (0..len).try_for_each(|_| {
                    self.groups.push(read_group(at, data_end)?);
                    Some(())
                })
            }
            (5, Kind::List) => {
                let (_, len) = at.list().filter(|(kind, _)| *kind == Kind::Struct)?;
                (0..len).try_for_each(|_| self.read_pair(at))
            }
            _ => at.skip(kind),
        })
    }

    fn read_schema(&mut self, at: &mut Compact<'a>) -> Option<()> {
        let (_, len) = at.list().filter(|(kind, _)| *kind == Kind::Struct)?;
        self.schema.reserve(len.min(MOST_RESERVED));
        for place in 0..len {
            let mut leaf = Leaf::default();
            let mut children = 0;
            at.structure(|at, id, kind| match (id, kind) {
                (1, Kind::Int) => at.int().map(|code| {
                    leaf.physical = match code {
                        1 => Some(Physical::Int32),
                        2 => Some(Physical::Int64),
                        6 => Some(Physical::Bytes),
                        _ => None,
                    }
                }),
                (3, Kind::Int) => at.int().map(|code| leaf.optional = code != 0),
                (4, Kind::Binary) => at.binary().map(|name| leaf.name = name),
                (5, Kind::Int) => at.int().map(|n| children = n),
                _ => at.skip(kind),
            })?;
            // The first element is the table itself; its columns are not
            // nested.
            match (place, children) {
                (0, _) => {}
                (_, 0) => self.schema.push(leaf),
                _ => return None,
            }
        }
        Some(())
    }

    fn read_pair(&mut self, at: &mut Compact<'a>) -> Option<()> {
        let (mut key, mut value) = (&b""[..], &b""[..]);
        at.structure(|at, id, kind| match (id, kind) {
            (1, Kind::Binary) => at.binary().map(|bytes| key = bytes),
            (2, Kind::Binary) => at.binary().map(|bytes| value = bytes),
            _ => at.skip(kind),
        })?;
        let text = || std::str::from_utf8(value).ok();
        if key == KEY_CHUNKS.as_bytes() {
            self.hashes = value;
        } else if key == KEY_FORMAT.as_bytes() {
            self.format = text().and_then(|text| text.parse().ok());
        } else if key == KEY_TABLE.as_bytes() {
            self.table = text().and_then(Table::from_name);
        }
        Some(())
    }
}

fn read_group(at: &mut Compact<'_>, data_end: u64) -> Option<Group> {
    let mut group = Group {
        first_row: 0,
        rows: 0,
        chunks: Vec::new(),
    };
    at.structure(|at, id, kind| match (id, kind) {
        (1, Kind::List) => {
            let (_, len) = at.list().filter(|(kind, _)| *kind == Kind::Struct)?;
            group.chunks.reserve(len.min(MOST_RESERVED));
            (0..len).try_for_each(|_| {
                group.chunks.push(read_chunk(at, data_end)?);
                Some(())
            })
        }
        (3, Kind::Int) => {
            group.rows = usize::try_from(at.unsigned()?).ok()?;
            Some(())
        }
        _ => at.skip(kind),
    })?;
    Some(group)
}

fn read_chunk(at: &mut Compact<'_>, data_end: u64) -> Option<Chunk> {
    let (mut meta, mut index_offset, mut index_len) = (None, None, None);
    at.structure(|at, id, kind| match (id, kind) {
        (3, Kind::Struct) => read_chunk_meta(at).map(|found| meta = Some(found)),
        (4, Kind::Int) => at.unsigned().map(|v| index_offset = Some(v)),
        (5, Kind::Int) => at.unsigned().map(|v| index_len = Some(v)),
        _ => at.skip(kind),
    })?;
    let (start, len, codec) = meta?;
    if start.checked_add(len)? > data_end {
        return None;
    }
    let index_start = usize::try_from(index_offset?.checked_sub(data_end)?).ok()?;
    let index_len = usize::try_from(index_len?).ok()?;
    index_start.checked_add(index_len)?;
    Some(Chunk {
        start,
        len: usize::try_from(len).ok()?,
        codec,
        index_start,
        index_len,
    })
}

/// Parses `ColumnMetaData`: offset, length and compression of the chunk.
fn read_chunk_meta(at: &mut Compact<'_>) -> Option<(u64, u64, Codec)> {
    let (mut codec, mut len, mut data, mut dictionary) = (None, None, None, None);
    at.structure(|at, id, kind| match (id, kind) {
        (4, Kind::Int) => {
            codec = Some(match at.int()? {
                0 => Codec::Plain,
                6 => Codec::Zstd,
                _ => return None,
            });
            Some(())
        }
        (7, Kind::Int) => at.unsigned().map(|v| len = Some(v)),
        (9, Kind::Int) => at.unsigned().map(|v| data = Some(v)),
        (11, Kind::Int) => at.unsigned().map(|v| dictionary = Some(v)),
        _ => at.skip(kind),
    })?;
    let data = data?;
    Some((
        dictionary.map_or(data, |at: u64| at.min(data)),
        len?,
        codec?,
    ))
}
