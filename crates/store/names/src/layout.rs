//! The file layout of a sidecar: a footer at the end, and before it an index
//! that the footer locates.
//!
//! ```text
//! symbols | name blocks | directory blocks | name pages | directory pages | index | footer
//! ```
//! Parts follow each other without gaps, so lengths determine offsets. Numbers
//! are little-endian.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{NamesError, Part, Result};
use crate::trigrams::{KEYS, Page};

/// The format version that this program reads and writes.
pub(crate) const VERSION: u32 = 3;
/// The magic bytes in the footer.
const MAGIC: &[u8; 8] = b"trawlnam";
/// Rows in a block of names; the last block may have fewer.
pub(crate) const BLOCK_ROWS: usize = 256;
/// Directories in a block; the last block may have fewer.
pub(crate) const BLOCK_DIRS: usize = 256;
/// Maximum bytes of a decompressed block.
pub(crate) const BLOCK_BYTES_MOST: usize = 64 << 20;
/// Bytes in the footer.
pub(crate) const FOOTER_BYTES: usize = 8 + 5 * 4 + 8 + 16 + 8 + 8;
/// Bytes in the index for each block or page.
const NAME_BLOCK_BYTES: usize = 16;
const DIR_BLOCK_BYTES: usize = 24;
const PAGE_BYTES: usize = 16;

/// A compressed block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) offset: u64,
    pub(crate) len: u32,
    pub(crate) raw_len: u32,
    pub(crate) hash: u64,
}

/// A compressed block of directories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DirBlock {
    pub(crate) block: Block,
    /// The first row of its first directory.
    pub(crate) first_row: u32,
    /// The fewest bytes that any of its directories shares with the directory
    /// before it.
    pub(crate) shared_least: u32,
}

/// A page of trigram lists and its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlacedPage {
    pub(crate) offset: u64,
    pub(crate) page: Page,
}

/// The layout of a whole sidecar.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) rows: u32,
    pub(crate) dirs: u32,
    pub(crate) segment: u128,
    /// The table of symbols; empty if there are no rows.
    pub(crate) symbols: Block,
    pub(crate) names: Vec<Block>,
    pub(crate) dir_blocks: Vec<DirBlock>,
    pub(crate) name_pages: Vec<PlacedPage>,
    pub(crate) dir_pages: Vec<PlacedPage>,
}

/// The contents of a footer.
pub(crate) struct Footer {
    rows: u32,
    dirs: u32,
    name_pages: u32,
    dir_pages: u32,
    index_hash: u64,
    segment: u128,
    /// Bytes before the index, which is also its offset.
    body_len: u64,
}

impl Footer {
    /// Parses a footer and checks its hash and version.
    pub(crate) fn read(bytes: &[u8; FOOTER_BYTES], path: &Path) -> Result<Footer> {
        let damaged = |problem| Err(NamesError::damaged(path, Part::Footer, problem));
        let (rest, hash) = bytes.split_at(FOOTER_BYTES - 8);
        if !rest.ends_with(MAGIC) {
            return damaged("it does not belong to a name sidecar");
        }
        let mut rest = Numbers(rest);
        let version = rest.u32();
        if version != VERSION {
            return Err(NamesError::Version {
                path: path.to_owned(),
                found: version,
                known: VERSION,
            });
        }
        if hash != xxh3_64(&bytes[..FOOTER_BYTES - 8]).to_le_bytes() {
            return damaged("its bytes do not match their hash");
        }
        Ok(Footer::parse(bytes))
    }

    fn parse(bytes: &[u8; FOOTER_BYTES]) -> Footer {
        let mut rest = Numbers(bytes);
        rest.u32();
        Footer {
            rows: rest.u32(),
            dirs: rest.u32(),
            name_pages: rest.u32(),
            dir_pages: rest.u32(),
            body_len: rest.u64(),
            index_hash: rest.u64(),
            segment: u128::from(rest.u64()) | u128::from(rest.u64()) << 64,
        }
    }

    /// Returns the offset and length of the index; `None` if body, index and
    /// footer do not add up to `file_len` bytes.
    pub(crate) fn index_place(&self, file_len: u64) -> Option<(u64, usize)> {
        let index_len = (1 + name_blocks(self.rows)) * NAME_BLOCK_BYTES
            + dir_blocks(self.dirs) * DIR_BLOCK_BYTES
            + (self.name_pages as usize).checked_add(self.dir_pages as usize)? * PAGE_BYTES;
        let end = self.body_len.checked_add(index_len as u64)?;
        (end.checked_add(FOOTER_BYTES as u64)? == file_len).then_some((self.body_len, index_len))
    }
}

fn name_blocks(rows: u32) -> usize {
    (rows as usize).div_ceil(BLOCK_ROWS)
}

fn dir_blocks(dirs: u32) -> usize {
    (dirs as usize).div_ceil(BLOCK_DIRS)
}

/// Reads numbers in sequence; yields zeros after the end.
struct Numbers<'b>(&'b [u8]);

impl Numbers<'_> {
    fn u32(&mut self) -> u32 {
        let (first, rest) = self.0.split_first_chunk().unwrap_or((&[0; 4], &[]));
        self.0 = rest;
        u32::from_le_bytes(*first)
    }

    fn u64(&mut self) -> u64 {
        u64::from(self.u32()) | u64::from(self.u32()) << 32
    }

    fn block(&mut self, offset: &mut u64) -> Block {
        let (len, raw_len, hash) = (self.u32(), self.u32(), self.u64());
        let block = Block {
            offset: *offset,
            len,
            raw_len,
            hash,
        };
        *offset = offset.saturating_add(u64::from(len));
        block
    }

    fn pages(&mut self, count: u32, offset: &mut u64) -> Vec<PlacedPage> {
        let mut page = |_| {
            let (first_key, len, hash) = (self.u32(), self.u32(), self.u64());
            let page = Page {
                first_key,
                len,
                hash,
            };
            let placed = PlacedPage {
                offset: *offset,
                page,
            };
            *offset = offset.saturating_add(u64::from(len));
            placed
        };
        (0..count).map(&mut page).collect()
    }
}

impl Layout {
    /// Parses an index and checks its hash and invariants.
    pub(crate) fn read(footer: &Footer, index: &[u8], path: &Path) -> Result<Layout> {
        let damaged = |problem| Err(NamesError::damaged(path, Part::Footer, problem));
        if xxh3_64(index) != footer.index_hash {
            return damaged("the bytes before it do not match their hash");
        }
        let (layout, end) = Layout::parse(footer, index);
        match layout.problem(end, footer.body_len) {
            Some(problem) => damaged(problem),
            None => Ok(layout),
        }
    }

    /// Parses an index. Also returns the offset that the body's lengths add up
    /// to.
    fn parse(footer: &Footer, index: &[u8]) -> (Layout, u64) {
        let (mut numbers, mut offset) = (Numbers(index), 0);
        let layout = Layout {
            rows: footer.rows,
            dirs: footer.dirs,
            segment: footer.segment,
            symbols: numbers.block(&mut offset),
            names: (0..name_blocks(footer.rows))
                .map(|_| numbers.block(&mut offset))
                .collect(),
            dir_blocks: (0..dir_blocks(footer.dirs))
                .map(|_| DirBlock {
                    block: numbers.block(&mut offset),
                    first_row: numbers.u32(),
                    shared_least: numbers.u32(),
                })
                .collect(),
            name_pages: numbers.pages(footer.name_pages, &mut offset),
            dir_pages: numbers.pages(footer.dir_pages, &mut offset),
        };
        (layout, offset)
    }

    /// Checks the invariants that readers rely on.
    fn problem(&self, end: u64, body_len: u64) -> Option<&'static str> {
        let rows: Vec<u32> = self.dir_blocks.iter().map(|dir| dir.first_row).collect();
        let starts_at_0 = rows.first().is_none_or(|row| *row == 0);
        let blocks = self.dir_blocks.iter().map(|dir| &dir.block);
        let is_large = |block: &Block| block.raw_len as usize > BLOCK_BYTES_MOST;
        let sorted = |pages: &[PlacedPage]| {
            let keys = pages.iter().map(|placed| placed.page.first_key);
            keys.is_sorted_by(|a, b| a < b)
                && pages.iter().all(|placed| placed.page.first_key < KEYS)
        };
        if end != body_len {
            Some("its block lengths do not add up to the file's length")
        } else if !rows.is_sorted() || !starts_at_0 || rows.last() > Some(&self.rows) {
            Some("its directories are not in order")
        } else if self.rows > 0 && self.dirs == 0 {
            Some("it has rows but no directories")
        } else if is_large(&self.symbols) || self.names.iter().chain(blocks).any(is_large) {
            Some("one of its blocks is too large")
        } else if !sorted(&self.name_pages) || !sorted(&self.dir_pages) {
            Some("its pages are not in order")
        } else {
            None
        }
    }

    /// Appends index and footer to the body.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let body_len = out.len() as u64;
        let push_block = |out: &mut Vec<u8>, block: &Block| {
            out.extend(block.len.to_le_bytes());
            out.extend(block.raw_len.to_le_bytes());
            out.extend(block.hash.to_le_bytes());
        };
        for block in std::iter::once(&self.symbols).chain(&self.names) {
            push_block(out, block);
        }
        for dir in &self.dir_blocks {
            push_block(out, &dir.block);
            out.extend(dir.first_row.to_le_bytes());
            out.extend(dir.shared_least.to_le_bytes());
        }
        for PlacedPage { page, .. } in self.name_pages.iter().chain(&self.dir_pages) {
            out.extend(page.first_key.to_le_bytes());
            out.extend(page.len.to_le_bytes());
            out.extend(page.hash.to_le_bytes());
        }
        let index_hash = xxh3_64(&out[body_len as usize..]);
        let footer = out.len();
        let pages = [self.name_pages.len() as u32, self.dir_pages.len() as u32];
        for number in [VERSION, self.rows, self.dirs].into_iter().chain(pages) {
            out.extend(number.to_le_bytes());
        }
        out.extend(body_len.to_le_bytes());
        out.extend(index_hash.to_le_bytes());
        out.extend(self.segment.to_le_bytes());
        out.extend(MAGIC);
        let hash = xxh3_64(&out[footer..]);
        out.extend(hash.to_le_bytes());
    }
}

/// Returns the same bytes with correct hashes, so that tests reach the code
/// behind the checks; `None` if the bytes have no room for an index.
#[doc(hidden)]
pub fn sealed(bytes: &[u8]) -> Option<Vec<u8>> {
    let footer = Footer::parse(bytes.last_chunk()?);
    let (offset, len) = footer.index_place(bytes.len() as u64)?;
    let start = usize::try_from(offset).ok()?;
    let index = bytes.get(start..)?.get(..len)?;
    let (mut layout, _) = Layout::parse(&footer, index);
    let body = &bytes[..start];
    let hash = |offset: u64, len: u32| {
        let rest = usize::try_from(offset).ok().and_then(|at| body.get(at..));
        rest.and_then(|rest| rest.get(..len as usize))
            .map_or(0, xxh3_64)
    };
    let dirs = layout.dir_blocks.iter_mut().map(|dir| &mut dir.block);
    let names = std::iter::once(&mut layout.symbols).chain(&mut layout.names);
    for block in names.chain(dirs) {
        block.hash = hash(block.offset, block.len);
    }
    for placed in layout.name_pages.iter_mut().chain(&mut layout.dir_pages) {
        placed.page.hash = hash(placed.offset, placed.page.len);
    }
    let mut out = body.to_vec();
    layout.write(&mut out);
    Some(out)
}
