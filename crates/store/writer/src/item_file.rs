//! Stores the items of the segments written by one snapshot's writer in a private file beside the
//! list of shards.
//!
//! ```text
//! "trawl items 1\n"
//! for each segment:
//!   16 bytes  its shard: hash of the shard's directory names
//!   u32       the segment's number
//!   u32       1 if it continues directories of other segments
//!   u32       number of items
//!   16 bytes  each item
//! 16 bytes    xxh3-128 of all bytes before
//! ```
//! Numbers are little-endian. The file is derived: without it the next scan writes the segments
//! again.

use crate::items::Item;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::PathBuf;
use trawl_format::error::{IndexError, Result};
use trawl_format::store::{Dir, sync_file};
use xxhash_rust::xxh3::Xxh3;

const MAGIC: &[u8] = b"trawl items 1\n";
const HASH_BYTES: u64 = 16;

/// Identifies a shard within its source.
pub(crate) type ShardHash = [u8; 16];

/// Whether a segment continues directories of other segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Continues {
    /// Every directory in it begins there.
    #[default]
    No,
    /// It contains fragments of a directory that began in another segment.
    Yes,
}

/// Header of a segment's items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SectionHead {
    pub(crate) shard: ShardHash,
    pub(crate) number: u32,
    pub(crate) continues: Continues,
    pub(crate) count: u32,
}

/// Returns the identifier of a shard, given the directory names that lead to it.
pub(crate) fn shard_hash(components: &[String]) -> ShardHash {
    let mut hasher = blake3::Hasher::new();
    for name in components {
        hasher.update(name.as_bytes()).update(b"/");
    }
    let hash = hasher.finalize();
    hash.as_bytes().first_chunk().copied().unwrap_or_default()
}

/// An items file while it is being written.
pub(crate) struct ItemWriter {
    file: BufWriter<File>,
    hasher: Xxh3,
    path: PathBuf,
}

impl ItemWriter {
    pub(crate) fn create(private: &Dir, name: &str) -> Result<ItemWriter> {
        let mut writer = ItemWriter {
            file: BufWriter::new(private.create_file(name)?),
            hasher: Xxh3::new(),
            path: private.join(name),
        };
        writer.put(MAGIC)?;
        Ok(writer)
    }

    pub(crate) fn add(&mut self, head: &SectionHead, items: &[Item]) -> Result<()> {
        self.put(&head.shard)?;
        let continues = u32::from(head.continues == Continues::Yes);
        for number in [head.number, continues, head.count] {
            self.put(&number.to_le_bytes())?;
        }
        items.iter().try_for_each(|item| self.put(&item.0))
    }

    /// Writes the checksum and syncs the file.
    pub(crate) fn finish(mut self) -> Result<()> {
        let hash = self.hasher.digest128().to_le_bytes();
        self.put(&hash)?;
        let failed = |error: std::io::Error| IndexError::io("write", &self.path, error);
        let file = self
            .file
            .into_inner()
            .map_err(|error| failed(error.into_error()))?;
        sync_file(&file, &self.path)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.hasher.update(bytes);
        let written = self.file.write_all(bytes);
        written.map_err(|error| IndexError::io("write", &self.path, error))
    }
}

/// Function that returns the items of a section one by one.
pub(crate) type NextItem<'a> = dyn FnMut() -> Result<Item> + 'a;

/// Reads an items file. The checksum comes last, so the items passed to `visit` are valid only if
/// this function succeeds.
pub(crate) fn read(
    private: &Dir,
    name: &str,
    visit: &mut dyn FnMut(&SectionHead, &mut NextItem<'_>) -> Result<()>,
) -> Result<()> {
    let file = private.open_file(name)?;
    let path = private.join(name);
    let failed = |error| IndexError::io("read", &path, error);
    let length = file.metadata().map_err(failed)?.len();
    let left = length
        .checked_sub(HASH_BYTES)
        .ok_or_else(|| IndexError::damaged(&path, "it is too short"))?;
    let mut reader = ItemReader {
        file: BufReader::new(file),
        hasher: Xxh3::new(),
        left,
        path,
    };
    if reader.take::<{ MAGIC.len() }>()? != MAGIC {
        return Err(IndexError::damaged(&reader.path, "it holds no items"));
    }
    while reader.left > 0 {
        let head = reader.head()?;
        let mut taken = 0;
        visit(&head, &mut || {
            taken += 1;
            Ok(Item(reader.take()?))
        })?;
        for _ in taken..head.count {
            reader.take::<{ Item::BYTES }>()?;
        }
    }
    let hash = reader.hasher.digest128();
    reader.left = HASH_BYTES;
    match u128::from_le_bytes(reader.take()?) == hash {
        true => Ok(()),
        false => Err(IndexError::damaged(
            &reader.path,
            "its checksum does not match",
        )),
    }
}

struct ItemReader {
    file: BufReader<File>,
    hasher: Xxh3,
    /// Number of bytes left before the checksum.
    left: u64,
    path: PathBuf,
}

impl ItemReader {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let problem = "it ends within a segment's items";
        self.left = (self.left.checked_sub(N as u64))
            .ok_or_else(|| IndexError::damaged(&self.path, problem))?;
        let mut bytes = [0; N];
        self.file
            .read_exact(&mut bytes)
            .map_err(|error| IndexError::io("read", &self.path, error))?;
        self.hasher.update(&bytes);
        Ok(bytes)
    }

    fn head(&mut self) -> Result<SectionHead> {
        Ok(SectionHead {
            shard: self.take()?,
            number: u32::from_le_bytes(self.take()?),
            continues: match u32::from_le_bytes(self.take()?) {
                0 => Continues::No,
                _ => Continues::Yes,
            },
            count: u32::from_le_bytes(self.take()?),
        })
    }
}
