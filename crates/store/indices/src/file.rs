//! Reads the file of a segment's index.

use std::ops::Range;

use trawl_names::ReadAt;
use xxhash_rust::xxh3::xxh3_64;

use crate::block;
use crate::bounds::Bounds;
use crate::builder::{
    BLOCK_AT_BYTES, HEAD_BYTES, MAGIC, Subject, VERSION, block_hash, bucket_of, kind_number,
};
use crate::definition::{Definition, Kind};
use crate::error::IndexFileError;

type Result<T> = std::result::Result<T, IndexFileError>;

const NOT_ONE: IndexFileError = IndexFileError::Damaged("it does not begin as an index does");
const CHECKSUM: IndexFileError = IndexFileError::Damaged("a checksum differs");
const TABLE: IndexFileError = IndexFileError::Damaged("its table of blocks makes no sense");

/// Maximum length of a table of blocks that is read as a whole, in bytes.
const TABLE_BYTES_MAX: u32 = 256 << 20;
/// Maximum length of an entry for each of its rows: a key of four values, and numbers.
const ROW_BYTES_MAX: u64 = 64;

/// Where a block lies.
#[derive(Clone, Copy, Debug)]
struct BlockAt {
    number: usize,
    offset: u64,
    size_bytes: u64,
    rows: u64,
    hash: u64,
}

/// An open file.
#[derive(Debug)]
pub struct IndexFile<R> {
    source: R,
    kind: Kind,
    rows: u64,
    /// The rows that the file has.
    listed: Range<u64>,
    entries: u64,
    blocks: u32,
    table_bytes: u32,
    table_hash: u64,
    size_bytes: u64,
}

impl<R: ReadAt> IndexFile<R> {
    /// Reads the head of a file of `size_bytes`, which must be made for this definition and from
    /// this segment.
    ///
    /// # Errors
    /// If the bytes cannot be read, or are not those of the index.
    pub fn open(
        source: R,
        size_bytes: u64,
        definition: &Definition,
        subject: Subject,
    ) -> Result<IndexFile<R>> {
        let mut head = [0; HEAD_BYTES];
        source.read_at(&mut head, 0).map_err(IndexFileError::Read)?;
        let mut rest = &head[..];
        if take(&mut rest) != Some(*MAGIC) {
            return Err(NOT_ONE);
        }
        let version = number(&mut rest).ok_or(NOT_ONE)?;
        if version != VERSION {
            return Err(IndexFileError::Version(version));
        }
        let (begin, hash) = head.split_at(HEAD_BYTES - 8);
        if xxh3_64(begin).to_le_bytes() != hash {
            return Err(CHECKSUM);
        }
        let kind = number(&mut rest).ok_or(NOT_ONE)?;
        let id = long(&mut rest).ok_or(NOT_ONE)?;
        let segment = take(&mut rest).map(u128::from_le_bytes).ok_or(NOT_ONE)?;
        let rows = long(&mut rest).ok_or(NOT_ONE)?;
        let is_its_own = kind == kind_number(definition.kind()) && id == definition.id();
        if !is_its_own || (segment, rows) != (subject.segment, subject.rows) {
            return Err(IndexFileError::Foreign);
        }
        let file = IndexFile {
            source,
            kind: definition.kind(),
            rows,
            listed: subject.range(),
            entries: long(&mut rest).ok_or(NOT_ONE)?,
            blocks: number(&mut rest).ok_or(NOT_ONE)?,
            table_bytes: number(&mut rest).ok_or(NOT_ONE)?,
            table_hash: long(&mut rest).ok_or(NOT_ONE)?,
            size_bytes,
        };
        match file.is_possible() {
            true => Ok(file),
            false => Err(TABLE),
        }
    }

    /// Returns true if the table can have the length that the head says.
    fn is_possible(&self) -> bool {
        let least = u64::from(self.blocks) * BLOCK_AT_BYTES as u64;
        let table = u64::from(self.table_bytes);
        let is_sound = match self.kind {
            Kind::Ordered => table >= least,
            Kind::Hashed => table == least && self.blocks.is_power_of_two(),
            Kind::Inverted | Kind::Graph => false,
        };
        // Every row of the segment, or of its part, has one entry.
        is_sound
            && self.entries == self.listed.end - self.listed.start
            && self.listed.end <= self.rows
            && self.table_bytes <= TABLE_BYTES_MAX
            && HEAD_BYTES as u64 + table <= self.size_bytes
    }

    /// Returns the rows that the file has. Nothing is said of others of the segment.
    pub fn listed(&self) -> Range<u64> {
        self.listed.clone()
    }

    /// Returns the rows within bounds, as ranges in no order; `None` if there are more than
    /// `rows_max`.
    ///
    /// # Errors
    /// If the bytes cannot be read, or make no sense.
    pub fn rows_within(&self, bounds: &Bounds, rows_max: u64) -> Result<Option<Vec<Range<u64>>>> {
        let blocks = match self.kind {
            Kind::Ordered => self.blocks_within(bounds)?,
            Kind::Hashed | Kind::Inverted | Kind::Graph => vec![self.block_of(&bounds.low)?],
        };
        // The first and the last block may have other keys, too.
        let inside = blocks.get(1..blocks.len().saturating_sub(1));
        let least: u64 =
            (inside.unwrap_or_default().iter()).fold(0, |sum, at| sum.saturating_add(at.rows));
        if least > rows_max {
            return Ok(None);
        }
        let (mut found, mut count) = (Vec::new(), 0);
        for at in blocks {
            let bytes = self.block(&at)?;
            let mut failed = None;
            block::for_each(&bytes, self.rows, |key, rows| {
                if bounds.is_before(key) || (self.kind == Kind::Hashed && key != bounds.low) {
                    return true;
                }
                if bounds.is_behind(key) {
                    return false;
                }
                count += u64::from(rows.count());
                if count > rows_max {
                    return false;
                }
                failed = rows.read(&mut found).err();
                failed.is_none()
            })?;
            if let Some(failed) = failed {
                return Err(failed);
            }
            if count > rows_max {
                return Ok(None);
            }
        }
        Ok(Some(found))
    }

    /// Reads everything, and checks that each row that the file should have has one entry.
    ///
    /// # Errors
    /// If the bytes cannot be read, or make no sense.
    pub fn check(&self) -> Result<()> {
        let mut seen = vec![0u64; usize::try_from(self.rows.div_ceil(64)).map_err(|_| TABLE)?];
        let blocks = match self.kind {
            Kind::Ordered => self
                .ordered_table()?
                .into_iter()
                .map(|(at, _)| at)
                .collect(),
            Kind::Hashed | Kind::Inverted | Kind::Graph => self.hashed_table()?,
        };
        let mut count = 0;
        for at in blocks {
            let bytes = self.block(&at)?;
            let mut ranges = Vec::new();
            let mut failed = None;
            block::for_each(&bytes, self.rows, |_, rows| {
                failed = rows.read(&mut ranges).err();
                failed.is_none()
            })?;
            if let Some(failed) = failed {
                return Err(failed);
            }
            for row in ranges.into_iter().flatten() {
                if !self.listed.contains(&row) {
                    return Err(IndexFileError::Damaged("it has a row of another part"));
                }
                seen[(row / 64) as usize] |= 1 << (row % 64);
                count += 1;
            }
        }
        let distinct: u64 = seen.iter().map(|word| u64::from(word.count_ones())).sum();
        match count == self.entries && distinct == self.entries {
            true => Ok(()),
            false => Err(IndexFileError::Damaged("it does not have each row once")),
        }
    }

    /// Reads the table of blocks.
    ///
    /// # Errors
    /// If the bytes cannot be read, or make no sense.
    pub fn check_table(&self) -> Result<()> {
        self.table().map(drop)
    }

    fn table(&self) -> Result<Vec<u8>> {
        let mut table = vec![0; self.table_bytes as usize];
        let read = self.source.read_at(&mut table, HEAD_BYTES as u64);
        read.map_err(IndexFileError::Read)?;
        match xxh3_64(&table) == self.table_hash {
            true => Ok(table),
            false => Err(CHECKSUM),
        }
    }

    /// Returns all blocks with their first keys.
    fn ordered_table(&self) -> Result<Vec<(BlockAt, Vec<u8>)>> {
        let table = self.table()?;
        let mut rest = &table[..];
        let mut all = Vec::new();
        for number in 0..self.blocks as usize {
            let at = block_at(&mut rest, number).ok_or(TABLE)?;
            let length = crate::file::number(&mut rest).ok_or(TABLE)?;
            let (first, after) = rest.split_at_checked(length as usize).ok_or(TABLE)?;
            rest = after;
            all.push((at, first.to_vec()));
        }
        Ok(all)
    }

    fn hashed_table(&self) -> Result<Vec<BlockAt>> {
        let table = self.table()?;
        let mut rest = &table[..];
        let all = (0..self.blocks as usize).map(|number| block_at(&mut rest, number).ok_or(TABLE));
        all.collect()
    }

    /// Returns the blocks that can have keys within bounds.
    fn blocks_within(&self, bounds: &Bounds) -> Result<Vec<BlockAt>> {
        let all = self.ordered_table()?;
        // The block before the first that begins within may end within.
        let from = all.partition_point(|(_, first)| bounds.is_before(first));
        let to = all.partition_point(|(_, first)| !bounds.is_behind(first));
        let some = all.get(from.saturating_sub(1)..to).unwrap_or_default();
        Ok(some.iter().map(|(at, _)| *at).collect())
    }

    /// Returns the block that has a key if any has it. Reads just this block's place.
    fn block_of(&self, key: &[u8]) -> Result<BlockAt> {
        let number = bucket_of(key, self.blocks) as usize;
        let mut bytes = [0; BLOCK_AT_BYTES];
        let offset = (HEAD_BYTES + number * BLOCK_AT_BYTES) as u64;
        let read = self.source.read_at(&mut bytes, offset);
        read.map_err(IndexFileError::Read)?;
        block_at(&mut &bytes[..], number).ok_or(TABLE)
    }

    fn block(&self, at: &BlockAt) -> Result<Vec<u8>> {
        let begin = HEAD_BYTES as u64 + u64::from(self.table_bytes);
        let offset = begin.checked_add(at.offset).ok_or(TABLE)?;
        let end = offset.checked_add(at.size_bytes).ok_or(TABLE)?;
        // The file may be sparse, so its length says nothing about memory.
        let most = self.rows.saturating_mul(ROW_BYTES_MAX);
        if end > self.size_bytes || at.size_bytes > most {
            return Err(TABLE);
        }
        let mut bytes = vec![0; usize::try_from(at.size_bytes).map_err(|_| TABLE)?];
        let read = self.source.read_at(&mut bytes, offset);
        read.map_err(IndexFileError::Read)?;
        match block_hash(&bytes, at.number) == at.hash {
            true => Ok(bytes),
            false => Err(CHECKSUM),
        }
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}

fn number(bytes: &mut &[u8]) -> Option<u32> {
    take(bytes).map(u32::from_le_bytes)
}

fn long(bytes: &mut &[u8]) -> Option<u64> {
    take(bytes).map(u64::from_le_bytes)
}

fn block_at(bytes: &mut &[u8], number: usize) -> Option<BlockAt> {
    Some(BlockAt {
        number,
        offset: long(bytes)?,
        size_bytes: long(bytes)?,
        rows: long(bytes)?,
        hash: long(bytes)?,
    })
}
