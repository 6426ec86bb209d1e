//! Writes sidecars.

use memchr::memchr2;
use xxhash_rust::xxh3::xxh3_64;

use crate::codec::Packer;
use crate::error::{NamesError, Part, Result};
use crate::layout::{
    BLOCK_BYTES_MOST, BLOCK_DIRS, BLOCK_ROWS, Block, DirBlock, Layout, PlacedPage,
};
use crate::pack::Encoder;
use crate::train::train;
use crate::trigrams::{ListWriter, Page};
use crate::varint;

/// Approximate bytes of names that are buffered before symbols are chosen.
const HELD_BYTES: usize = 8 << 20;

/// The kind of a row, as far as a sidecar distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// A directory.
    Directory,
    /// Anything else.
    Other,
}

/// Writes a sidecar. Input comes in the segment's order: each directory, then
/// its rows. In memory it holds the first names uncompressed, until there are
/// enough to choose symbols for all; the finished part compressed; and four
/// bytes for each distinct trigram of each block.
pub struct NamesWriter {
    body: Vec<u8>,
    layout: Layout,
    packer: Packer,
    name_lists: ListWriter,
    dir_lists: ListWriter,
    held: HeldNames,
    encoder: Option<Encoder>,
    block_rows: usize,
    dir_block: PendingDirs,
    /// Compressed blocks of directories, which follow the name blocks in the
    /// file.
    dir_body: Vec<u8>,
    /// The path of the last directory.
    path: Vec<u8>,
    dir_rows: u32,
}

/// Names that are not compressed yet.
struct HeldNames {
    /// A zero byte, then each name followed by one: complete blocks, and the
    /// one being filled.
    text: Vec<u8>,
    /// Where the names of complete blocks end.
    ends: Vec<usize>,
    /// For each block, one bit for each row.
    kinds: Vec<u8>,
}

/// The block of directories being filled.
#[derive(Default)]
struct PendingDirs {
    dirs: usize,
    first_row: u32,
    shared_least: u32,
    /// For each directory: its rows, the bytes shared with the one before, and
    /// the bytes of its own.
    rows: Vec<u8>,
    shared: Vec<u8>,
    lens: Vec<u8>,
    text: Vec<u8>,
}

fn limit(problem: &'static str) -> NamesError {
    NamesError::Limit { problem }
}

/// Returns the length of the leading components that both paths share.
fn shared_len(a: &[u8], b: &[u8]) -> usize {
    let common = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let ends = |path: &[u8]| path.get(common).is_none_or(|byte| *byte == b'/');
    match ends(a) && ends(b) {
        true => common,
        false => a[..common]
            .iter()
            .rposition(|byte| *byte == b'/')
            .unwrap_or(0),
    }
}

impl NamesWriter {
    /// Starts an empty sidecar.
    ///
    /// # Errors
    /// If the compressor cannot be allocated.
    pub fn new() -> Result<NamesWriter> {
        let packer = Packer::new().map_err(|cause| NamesError::Compress {
            part: Part::NameBlock(0),
            cause,
        })?;
        Ok(NamesWriter {
            body: Vec::new(),
            layout: Layout::default(),
            packer,
            name_lists: ListWriter::new(),
            dir_lists: ListWriter::new(),
            held: HeldNames {
                text: vec![0],
                ends: Vec::new(),
                kinds: Vec::new(),
            },
            encoder: None,
            block_rows: 0,
            dir_block: PendingDirs::default(),
            dir_body: Vec::new(),
            path: Vec::new(),
            dir_rows: 0,
        })
    }

    /// Begins the next directory of the dirs table, whatever its kind. The rows
    /// that follow belong to it.
    ///
    /// # Errors
    /// If there are too many directories, or the path contains a zero byte.
    pub fn dir(&mut self, path: &[u8]) -> Result<()> {
        if path.contains(&0) {
            return Err(limit("a path contains a zero byte"));
        }
        self.end_dir();
        if self.dir_block.dirs == BLOCK_DIRS {
            self.end_dir_block()?;
        }
        self.layout.dirs = self
            .layout
            .dirs
            .checked_add(1)
            .ok_or(limit("too many directories"))?;
        let shared = match self.layout.dirs {
            1 => 0,
            _ => shared_len(path, &self.path),
        };
        self.index_components(path, shared);
        let block = &mut self.dir_block;
        if block.dirs == 0 {
            block.first_row = self.layout.rows;
            block.shared_least = u32::MAX;
        }
        block.shared_least = block.shared_least.min(shared as u32);
        // The first path of a block is stored whole; its shared length is
        // stored as well.
        let kept = if block.dirs == 0 { 0 } else { shared };
        varint::push(&mut block.shared, shared as u32);
        varint::push(&mut block.lens, (path.len() - kept) as u32);
        block.text.extend_from_slice(&path[kept..]);
        block.dirs += 1;
        self.path.clear();
        self.path.extend_from_slice(path);
        Ok(())
    }

    /// Indexes the components that no earlier directory has, with their
    /// slashes.
    fn index_components(&mut self, path: &[u8], shared: usize) {
        if shared < path.len() {
            self.path.clear();
            self.path.extend_from_slice(&path[shared..]);
            self.path.push(b'/');
            self.dir_lists.add(&self.path);
        }
    }

    /// Adds the next row.
    ///
    /// # Errors
    /// If names cannot be compressed, there are too many rows, no directory has
    /// begun, or the name contains a slash or a zero byte.
    pub fn row(&mut self, name: &[u8], kind: RowKind) -> Result<()> {
        if memchr2(0, b'/', name).is_some() {
            return Err(limit("a name contains a slash or a zero byte"));
        }
        if self.layout.dirs == 0 {
            return Err(limit("a row belongs to no directory"));
        }
        if self.block_rows == BLOCK_ROWS {
            self.end_name_block()?;
        }
        self.held.push(name, kind, self.block_rows);
        self.block_rows += 1;
        self.dir_rows += 1;
        self.layout.rows = self
            .layout
            .rows
            .checked_add(1)
            .ok_or(limit("too many rows"))?;
        Ok(())
    }

    /// Number of rows so far.
    pub fn rows(&self) -> u64 {
        u64::from(self.layout.rows)
    }

    /// Returns the whole file. `segment` is the hash of the entries file that
    /// the sidecar belongs to; readers compare it.
    ///
    /// # Errors
    /// As [`NamesWriter::row`].
    pub fn finish(mut self, segment: u128) -> Result<Vec<u8>> {
        self.end_dir();
        self.end_name_block()?;
        self.pack_names()?;
        self.end_dir_block()?;
        let mut layout = self.layout;
        layout.segment = segment;
        let mut out = self.body;
        out.append(&mut self.dir_body);
        layout.name_pages = placed(self.name_lists.finish(&mut out));
        layout.dir_pages = placed(self.dir_lists.finish(&mut out));
        layout.write(&mut out);
        Ok(out)
    }

    fn end_dir(&mut self) {
        if self.dir_block.dirs > 0 {
            varint::push(&mut self.dir_block.rows, self.dir_rows);
        }
        self.dir_rows = 0;
    }

    fn end_name_block(&mut self) -> Result<()> {
        if self.block_rows == 0 {
            return Ok(());
        }
        let start = self.held.ends.last().copied().unwrap_or(1);
        // Starts at the zero byte before the first name.
        self.name_lists.add(&self.held.text[start - 1..]);
        self.name_lists.end_block();
        self.held.ends.push(self.held.text.len());
        self.block_rows = 0;
        match self.encoder.is_some() || self.held.text.len() >= HELD_BYTES {
            true => self.pack_names(),
            false => Ok(()),
        }
    }

    /// Compresses the complete blocks that are buffered.
    fn pack_names(&mut self) -> Result<()> {
        if self.held.ends.is_empty() {
            return Ok(());
        }
        let encoder = match self.encoder.take() {
            Some(encoder) => encoder,
            None => self.choose_symbols()?,
        };
        let (mut start, mut kinds) = (1, &self.held.kinds[..]);
        for end in &self.held.ends {
            let text = &self.held.text[start..*end];
            let rows = memchr::memchr_iter(0, text).count();
            let (bits, rest) = kinds.split_at(rows.div_ceil(8).min(kinds.len()));
            let packed_at = self.body.len();
            encoder.pack(text, &mut self.body);
            self.body.extend_from_slice(bits);
            let block = block(text.len() + 1 + bits.len(), &self.body[packed_at..])?;
            self.layout.names.push(block);
            (start, kinds) = (*end, rest);
        }
        self.encoder = Some(encoder);
        self.held.text.truncate(1);
        self.held.ends.clear();
        self.held.kinds.clear();
        Ok(())
    }

    /// Chooses the table of symbols from the buffered names, for them and all
    /// that follow.
    fn choose_symbols(&mut self) -> Result<Encoder> {
        let symbols = train(&self.held.text[1..]);
        let symbols = symbols.ok_or(limit("its symbols are invalid"))?;
        let raw = symbols.write();
        self.layout.symbols = block(raw.len(), &raw)?;
        self.body.extend_from_slice(&raw);
        Ok(Encoder::new(&symbols))
    }

    fn end_dir_block(&mut self) -> Result<()> {
        let block = std::mem::take(&mut self.dir_block);
        if block.dirs == 0 {
            return Ok(());
        }
        self.dir_lists.end_block();
        let raw = [block.rows, block.shared, block.lens, block.text].concat();
        let part = Part::DirBlock(self.layout.dir_blocks.len());
        self.layout.dir_blocks.push(DirBlock {
            block: pack(&mut self.packer, part, &raw, &mut self.dir_body)?,
            first_row: block.first_row,
            shared_least: block.shared_least,
        });
        Ok(())
    }
}

impl HeldNames {
    fn push(&mut self, name: &[u8], kind: RowKind, block_row: usize) {
        self.text.extend_from_slice(name);
        self.text.push(0);
        if block_row.is_multiple_of(8) {
            self.kinds.push(0);
        }
        if let Some(bits) = self.kinds.last_mut() {
            *bits |= u8::from(kind == RowKind::Directory) << (block_row % 8);
        }
    }
}

fn pack(packer: &mut Packer, part: Part, raw: &[u8], out: &mut Vec<u8>) -> Result<Block> {
    let start = out.len();
    let packed = packer.pack(raw, out);
    packed.map_err(|cause| NamesError::Compress { part, cause })?;
    block(raw.len(), &out[start..])
}

fn block(raw_len: usize, packed: &[u8]) -> Result<Block> {
    if raw_len > BLOCK_BYTES_MOST {
        return Err(limit("names or paths are too long"));
    }
    Ok(Block {
        // Not stored: lengths determine offsets.
        offset: 0,
        len: packed.len() as u32,
        raw_len: raw_len as u32,
        hash: xxh3_64(packed),
    })
}

fn placed(pages: Vec<Page>) -> Vec<PlacedPage> {
    let place = |page| PlacedPage { offset: 0, page };
    pages.into_iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_components_are_whole() {
        for (a, b, expected) in [
            ("", "", 0),
            ("", "/a", 0),
            ("/a", "/ab", 0),
            ("/a/b", "/a/c", 2),
            ("/a/b", "/a", 2),
            ("/a/b", "/a/b", 4),
            ("/a/bc/d", "/a/bd/d", 2),
        ] {
            assert_eq!(shared_len(a.as_bytes(), b.as_bytes()), expected, "{a} {b}");
        }
    }
}
