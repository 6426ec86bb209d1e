//! Makes the file of a segment's index.
//!
//! ```text
//! head | table of blocks | blocks
//! ```
//!
//! `docs/format.md` specifies the bytes.

use std::ops::Range;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::block;
use crate::definition::{Definition, Kind};

pub(crate) const MAGIC: &[u8; 8] = b"trawlidx";
pub(crate) const VERSION: u32 = 1;
pub(crate) const HEAD_BYTES: usize = 80;
/// A block ends with the entry that fills it.
pub(crate) const BLOCK_BYTES: usize = 4096;
/// Length of the facts about a block that both kinds have: place, length, rows, hash.
pub(crate) const BLOCK_AT_BYTES: usize = 32;

/// What a file was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Hash of the segment's entries file.
    pub segment: u128,
    /// Number of rows of the segment.
    pub rows: u64,
    /// The first row that the file has; 0 if the index is of the whole source.
    pub first: u64,
    /// Number of rows that the file has, from the first one on.
    pub listed: u64,
}

impl Subject {
    /// Returns the subject of a file that has all rows of a segment.
    pub fn whole(segment: u128, rows: u64) -> Subject {
        Subject {
            segment,
            rows,
            first: 0,
            listed: rows,
        }
    }

    /// Returns the rows that the file has.
    pub fn range(&self) -> Range<u64> {
        self.first..self.first.saturating_add(self.listed)
    }
}

/// Keys with their rows, in any order.
#[derive(Debug)]
pub struct Builder {
    kind: Kind,
    id: u64,
    keys: Vec<u8>,
    /// Place and length of the key, and the row.
    entries: Vec<(u64, u32, u32)>,
}

impl Builder {
    /// Returns a builder without entries.
    pub fn new(definition: &Definition) -> Builder {
        Builder {
            kind: definition.kind(),
            id: definition.id(),
            keys: Vec::new(),
            entries: Vec::new(),
        }
    }

    /// Adds a row with this key.
    pub fn add(&mut self, key: &[u8], row: u32) {
        let at = self.keys.len() as u64;
        self.entries.push((at, key.len() as u32, row));
        self.keys.extend_from_slice(key);
    }

    /// Returns the bytes of the file.
    pub fn finish(mut self, subject: Subject) -> Vec<u8> {
        let mut entries = std::mem::take(&mut self.entries);
        entries.sort_unstable_by(|a, b| {
            let (a_key, b_key) = (self.key(a), self.key(b));
            a_key.cmp(b_key).then(a.2.cmp(&b.2))
        });
        let blocks = match self.kind {
            Kind::Ordered => self.ordered(&entries),
            Kind::Hashed | Kind::Inverted | Kind::Graph => self.hashed(&entries),
        };
        self.assembled(subject, entries.len() as u64, &blocks)
    }

    fn key(&self, (at, length, _): &(u64, u32, u32)) -> &[u8] {
        let at = *at as usize;
        &self.keys[at..at + *length as usize]
    }

    /// Returns blocks in the order of keys.
    fn ordered(&self, entries: &[(u64, u32, u32)]) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        for same in entries.chunk_by(|a, b| self.key(a) == self.key(b)) {
            let key = self.key(&same[0]);
            let is_long = same.len() >= BLOCK_BYTES;
            match blocks.last_mut() {
                Some(last) if last.bytes.len() < BLOCK_BYTES && !is_long => last.push(key, same),
                _ => {
                    let mut block = Block::default();
                    block.push(key, same);
                    blocks.push(block);
                }
            }
        }
        blocks
    }

    /// Returns a power of two of blocks; a key is in the one that its hash begins with.
    fn hashed(&self, entries: &[(u64, u32, u32)]) -> Vec<Block> {
        let chunks = || entries.chunk_by(|a, b| self.key(a) == self.key(b));
        // Key, lengths, and about one byte for each row.
        let bytes: usize = chunks()
            .map(|same| same.len().min(BLOCK_BYTES) + same[0].1 as usize + 3)
            .sum();
        let count = (bytes / BLOCK_BYTES).next_power_of_two();
        let mut blocks: Vec<Block> = Vec::new();
        blocks.resize_with(count, Block::default);
        for same in chunks() {
            let key = self.key(&same[0]);
            if let Some(block) = blocks.get_mut(bucket_of(key, count as u32) as usize) {
                block.push(key, same);
            }
        }
        blocks
    }

    fn assembled(&self, subject: Subject, entries: u64, blocks: &[Block]) -> Vec<u8> {
        let (mut table, mut offset) = (Vec::new(), 0u64);
        for (number, block) in blocks.iter().enumerate() {
            table.extend(offset.to_le_bytes());
            table.extend((block.bytes.len() as u64).to_le_bytes());
            table.extend(block.rows.to_le_bytes());
            table.extend(block_hash(&block.bytes, number).to_le_bytes());
            if self.kind == Kind::Ordered {
                table.extend((block.first.len() as u32).to_le_bytes());
                table.extend_from_slice(&block.first);
            }
            offset += block.bytes.len() as u64;
        }
        let mut out = Vec::with_capacity(HEAD_BYTES + table.len() + offset as usize);
        out.extend_from_slice(MAGIC);
        out.extend(VERSION.to_le_bytes());
        out.extend(kind_number(self.kind).to_le_bytes());
        out.extend(self.id.to_le_bytes());
        out.extend(subject.segment.to_le_bytes());
        out.extend(subject.rows.to_le_bytes());
        out.extend(entries.to_le_bytes());
        out.extend((blocks.len() as u32).to_le_bytes());
        out.extend((table.len() as u32).to_le_bytes());
        out.extend(xxh3_64(&table).to_le_bytes());
        out.extend(xxh3_64(&out).to_le_bytes());
        out.extend(table);
        blocks
            .iter()
            .for_each(|block| out.extend_from_slice(&block.bytes));
        out
    }
}

/// A block that is being made.
#[derive(Debug, Default)]
struct Block {
    bytes: Vec<u8>,
    rows: u64,
    first: Vec<u8>,
    last: Vec<u8>,
}

impl Block {
    fn push(&mut self, key: &[u8], same: &[(u64, u32, u32)]) {
        let rows: Vec<u32> = same.iter().map(|(_, _, row)| *row).collect();
        block::push(&mut self.bytes, &self.last, key, &rows);
        if self.rows == 0 {
            self.first = key.to_vec();
        }
        self.last = key.to_vec();
        self.rows += rows.len() as u64;
    }
}

/// Returns the number that stands for a kind.
pub(crate) fn kind_number(kind: Kind) -> u32 {
    match kind {
        Kind::Ordered => 0,
        Kind::Hashed => 1,
        // No file has these: what stores contents and relations serves such indices.
        Kind::Inverted => 2,
        Kind::Graph => 3,
    }
}

/// Returns the hash of a block, which depends on the block's place.
pub(crate) fn block_hash(bytes: &[u8], number: usize) -> u64 {
    xxh3_64_with_seed(bytes, number as u64)
}

/// Returns the block of a key among a power of two of blocks.
pub(crate) fn bucket_of(key: &[u8], blocks: u32) -> u32 {
    (xxh3_64(key) & u64::from(blocks.wrapping_sub(1))) as u32
}
