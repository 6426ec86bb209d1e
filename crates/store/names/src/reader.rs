//! An open sidecar: reads blocks and pages on demand and checks them before
//! use.

use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use xxhash_rust::xxh3::xxh3_64;

use crate::codec;
use crate::dirs::{DirBlock, DirCursor};
use crate::error::{NamesError, Part, Result};
use crate::layout::{BLOCK_ROWS, Block, FOOTER_BYTES, Footer, Layout, PlacedPage};
use crate::lists::Set;
use crate::name_block::{CodedBlock, NameBlock};
use crate::pattern::{Needles, Pattern};
use crate::read_at::ReadAt;
use crate::search::{Search, WantedResults};
use crate::select::{self, KnownDirs};
use crate::symbols::Symbols;
use crate::trigrams;
use crate::writer::RowKind;

/// Ranges of rows of a segment's entries table: sorted, disjoint and not empty.
pub type RowRanges = Vec<Range<u64>>;

/// Bytes read in one piece from the end of a file: enough for footer and index
/// of most files.
const END_BYTES: u64 = 16 << 10;

/// A matching row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameMatch<'a> {
    /// Its number in the segment's entries table.
    pub row: u64,
    /// The path of the directory that holds the row.
    pub dir: &'a [u8],
    /// The name.
    pub name: &'a [u8],
    /// Whether the row is a directory.
    pub kind: RowKind,
}

/// An open sidecar. Threads can share it; each searches its own range of rows.
#[derive(Debug)]
pub struct Names<R> {
    file: R,
    path: PathBuf,
    layout: Layout,
    /// Loaded on the first access to names.
    symbols: OnceLock<Symbols>,
    known_dirs: KnownDirs,
}

/// Buffers that a reader of blocks reuses.
#[derive(Default)]
pub(crate) struct Buffers {
    packed: Vec<u8>,
    coded: CodedBlock,
}

/// Which of the two trigram tables to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lists {
    Names,
    Dirs,
}

impl<R: ReadAt> Names<R> {
    /// Opens a sidecar of `len` bytes; messages name it as `path`.
    ///
    /// # Errors
    /// If it cannot be read, or its footer or index is invalid.
    pub fn open(file: R, len: u64, path: &Path) -> Result<Names<R>> {
        let damaged = |problem| NamesError::damaged(path, Part::Footer, problem);
        let read = |offset, len| {
            let mut bytes = vec![0; len];
            let done = file.read_at(&mut bytes, offset);
            done.map(|()| bytes).map_err(|cause| NamesError::Io {
                path: path.to_owned(),
                part: Part::Footer,
                cause,
            })
        };
        let end_len = len.min(END_BYTES);
        let end = read(len - end_len, end_len as usize)?;
        let footer = end.last_chunk::<FOOTER_BYTES>();
        let footer = footer.ok_or_else(|| damaged("it is too short"))?;
        let footer = Footer::read(footer, path)?;
        let place = footer.index_place(len);
        let (offset, index_len) =
            place.ok_or_else(|| damaged("its length does not match its footer"))?;
        let layout = match offset.checked_sub(len - end_len) {
            Some(start) => {
                let start = start as usize;
                Layout::read(&footer, &end[start..start + index_len], path)?
            }
            None => Layout::read(&footer, &read(offset, index_len)?, path)?,
        };
        Ok(Names {
            file,
            path: path.to_owned(),
            layout,
            symbols: OnceLock::new(),
            known_dirs: KnownDirs::default(),
        })
    }

    /// The number of rows in the segment's entries table.
    pub fn rows(&self) -> u64 {
        u64::from(self.layout.rows)
    }

    /// The number of directories in the segment's dirs table.
    pub fn dirs(&self) -> u64 {
        u64::from(self.layout.dirs)
    }

    /// The hash of the entries file that the sidecar belongs to.
    pub fn segment(&self) -> u128 {
        self.layout.segment
    }

    /// Returns ranges within `rows` outside of which no row meets these
    /// needles. The total length of the ranges tells whether they are worth
    /// following.
    ///
    /// # Errors
    /// If a block is damaged.
    pub fn select(&self, needles: &Needles, rows: Range<u64>) -> Result<RowRanges> {
        select::select(self, needles, rows)
    }

    /// Passes the matching rows among `rows` to `found`, in order, until it
    /// breaks. Returns whether it did.
    ///
    /// # Errors
    /// If a block is damaged; `found` may already have been called.
    pub fn search(
        &self,
        pattern: &Pattern<'_>,
        rows: Range<u64>,
        found: &mut dyn FnMut(NameMatch<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        Search::new(self, pattern, WantedResults::Rows(found)).run(rows)
    }

    /// Like [`Names::search`], but only searches `selected`: ranges that
    /// [`Names::select`] returned, or parts of them, ascending and disjoint.
    ///
    /// # Errors
    /// As [`Names::search`].
    pub fn search_among(
        &self,
        pattern: &Pattern<'_>,
        selected: &[Range<u64>],
        found: &mut dyn FnMut(NameMatch<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        Search::new(self, pattern, WantedResults::Rows(found)).run_among(selected)
    }

    /// Passes ranges of matching rows among `rows` to `found`, in order, until
    /// it breaks. Returns whether it did. Ranges are disjoint and do not touch.
    /// Names are not decompressed where the codes decide.
    ///
    /// # Errors
    /// As [`Names::search`].
    pub fn ranges(
        &self,
        pattern: &Pattern<'_>,
        rows: Range<u64>,
        found: &mut dyn FnMut(Range<u64>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        Search::new(self, pattern, WantedResults::Ranges(found)).run(rows)
    }

    /// Like [`Names::ranges`], but only searches `selected`, as
    /// [`Names::search_among`] does.
    ///
    /// # Errors
    /// As [`Names::search`].
    pub fn ranges_among(
        &self,
        pattern: &Pattern<'_>,
        selected: &[Range<u64>],
        found: &mut dyn FnMut(Range<u64>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        Search::new(self, pattern, WantedResults::Ranges(found)).run_among(selected)
    }

    /// Returns the path of the directory that holds a row.
    ///
    /// # Errors
    /// If a block is damaged, or there is no such row.
    pub fn dir_of(&self, row: u64) -> Result<Vec<u8>> {
        let mut cursor = DirCursor::default();
        cursor.go_to(self, row, &mut Buffers::default())?;
        Ok(cursor.dir.path().to_vec())
    }

    /// Splits rows into at most `parts` ranges of about equal work, one for
    /// each thread.
    pub fn split(&self, rows: Range<u64>, parts: usize) -> RowRanges {
        let rows = rows.start..rows.end.min(self.rows());
        let block = BLOCK_ROWS as u64;
        let (first, last) = (rows.start / block, rows.end.div_ceil(block));
        let parts = (parts.max(1) as u64).min(last.saturating_sub(first).max(1));
        let cut = |at: u64| {
            let cut = (first + (last.saturating_sub(first)) * at / parts) * block;
            cut.clamp(rows.start, rows.end.max(rows.start))
        };
        let ranges = (0..parts).map(|at| cut(at)..cut(at + 1));
        ranges.filter(|range| !range.is_empty()).collect()
    }

    /// The size of each part of the file in bytes, for measurements.
    pub fn sizes(&self) -> [(&'static str, u64); 5] {
        let layout = &self.layout;
        let blocks = layout.names.iter().map(|block| u64::from(block.len));
        let dirs = layout.dir_blocks.iter().map(|dir| u64::from(dir.block.len));
        let pages = |pages: &[PlacedPage]| pages.iter().map(|p| u64::from(p.page.len)).sum();
        [
            ("symbols", u64::from(layout.symbols.len)),
            ("names", blocks.sum()),
            ("directories", dirs.sum()),
            ("name trigrams", pages(&layout.name_pages)),
            ("directory trigrams", pages(&layout.dir_pages)),
        ]
    }

    /// Reads and checks everything.
    ///
    /// # Errors
    /// The first damage found.
    pub fn check(&self) -> Result<()> {
        let mut count = 0;
        let done = self.search(&Pattern::everything(), 0..u64::MAX, &mut |_| {
            count += 1;
            ControlFlow::Continue(())
        });
        let _ = done?;
        let mut buffers = Buffers::default();
        let mut block = DirBlock::default();
        for number in 0..self.layout.dir_blocks.len() {
            self.read_dirs(number, &mut block, &mut buffers)?;
        }
        for (lists, pages) in [
            (Lists::Names, &self.layout.name_pages),
            (Lists::Dirs, &self.layout.dir_pages),
        ] {
            for at in 0..pages.len() {
                self.read_page(lists, at, &mut buffers)?;
            }
        }
        match count == self.rows() {
            true => Ok(()),
            false => Err(self.damaged(Part::Footer, "its row count is wrong")),
        }
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(crate) fn known_dirs(&self) -> &KnownDirs {
        &self.known_dirs
    }

    pub(crate) fn damaged(&self, part: Part, problem: &'static str) -> NamesError {
        NamesError::damaged(&self.path, part, problem)
    }

    /// Reads and decompresses a block into `raw`.
    fn read_block(
        &self,
        part: Part,
        block: &Block,
        buffers: &mut Buffers,
        raw: &mut Vec<u8>,
    ) -> Result<()> {
        let packed = &mut buffers.packed;
        self.read_checked(part, block.offset, block.len, block.hash, packed)?;
        let raw_len = block.raw_len as usize;
        match codec::unpack(packed, raw_len, raw) {
            true => Ok(()),
            false => Err(self.damaged(part, "it cannot be decompressed")),
        }
    }

    fn read_checked(
        &self,
        part: Part,
        offset: u64,
        len: u32,
        hash: u64,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        bytes.resize(len as usize, 0);
        let read = self.file.read_at(bytes, offset);
        read.map_err(|cause| NamesError::Io {
            path: self.path.clone(),
            part,
            cause,
        })?;
        match xxh3_64(bytes) == hash {
            true => Ok(()),
            false => Err(self.damaged(part, "its bytes do not match their hash")),
        }
    }

    /// Returns the table of symbols that names are compressed with.
    pub(crate) fn symbols(&self, buffers: &mut Buffers) -> Result<&Symbols> {
        if let Some(symbols) = self.symbols.get() {
            return Ok(symbols);
        }
        let (part, placed) = (Part::Symbols, &self.layout.symbols);
        let raw = &mut buffers.packed;
        match self.layout.names.is_empty() {
            // Without names no table is written, since it would have no
            // symbols.
            true => *raw = 0u16.to_le_bytes().to_vec(),
            false => self.read_checked(part, placed.offset, placed.len, placed.hash, raw)?,
        }
        match Symbols::read(raw) {
            Some(symbols) => Ok(self.symbols.get_or_init(|| symbols)),
            None => Err(self.damaged(Part::Symbols, "it is invalid")),
        }
    }

    /// Reads a block of names without decompressing it.
    pub(crate) fn read_coded(&self, number: usize, block: &mut CodedBlock) -> Result<()> {
        let part = Part::NameBlock(number);
        let placed = self.layout.names.get(number);
        let placed = placed.ok_or_else(|| self.damaged(part, "there is no such block"))?;
        let packed = block.packed();
        self.read_checked(part, placed.offset, placed.len, placed.hash, packed)?;
        let rows = self.layout.rows as usize - number * BLOCK_ROWS;
        match block.filled(number, rows.min(BLOCK_ROWS), placed.raw_len as usize) {
            true => Ok(()),
            false => Err(self.damaged(part, "it is too short")),
        }
    }

    /// Reads and decompresses a block of names.
    pub(crate) fn read_names(
        &self,
        number: usize,
        block: &mut NameBlock,
        buffers: &mut Buffers,
    ) -> Result<()> {
        let symbols = self.symbols(buffers)?;
        self.read_coded(number, &mut buffers.coded)?;
        match block.unpack(symbols, &buffers.coded) {
            true => Ok(()),
            false => Err(self.damaged_names(number)),
        }
    }

    /// Returns the error for a block whose codes do not give as many names as
    /// it has rows.
    pub(crate) fn damaged_names(&self, number: usize) -> NamesError {
        self.damaged(
            Part::NameBlock(number),
            "it does not have one name for each row",
        )
    }

    /// Reads a block of directories.
    pub(crate) fn read_dirs(
        &self,
        number: usize,
        block: &mut DirBlock,
        buffers: &mut Buffers,
    ) -> Result<()> {
        let part = Part::DirBlock(number);
        let placed = self.layout.dir_blocks.get(number);
        let placed = placed.ok_or_else(|| self.damaged(part, "there is no such block"))?;
        self.read_block(part, &placed.block, buffers, block.raw())?;
        let next = self.layout.dir_blocks.get(number + 1);
        let end_row = next.map_or(self.layout.rows, |next| next.first_row);
        let dirs = self.layout.dirs as usize - number * crate::layout::BLOCK_DIRS;
        let filled = block.filled(
            number,
            dirs.min(crate::layout::BLOCK_DIRS),
            placed.first_row..end_row,
        );
        filled.map_err(|problem| self.damaged(part, problem))
    }

    /// Returns the blocks that contain a key.
    pub(crate) fn blocks_with(&self, lists: Lists, key: u32, buffers: &mut Buffers) -> Result<Set> {
        let (pages, of) = self.lists(lists);
        let after = pages.partition_point(|placed| placed.page.first_key <= key);
        let Some(at) = after.checked_sub(1) else {
            return Ok(Set::none(of));
        };
        let part = self.read_page(lists, at, buffers)?;
        let first = pages.get(at).map_or(0, |placed| placed.page.first_key);
        let found = trigrams::find_list(&buffers.packed, first, key, of);
        found.ok_or_else(|| self.damaged(part, "its lists are invalid"))
    }

    fn read_page(&self, lists: Lists, at: usize, buffers: &mut Buffers) -> Result<Part> {
        let part = match lists {
            Lists::Names => Part::NamePage(at),
            Lists::Dirs => Part::DirPage(at),
        };
        let placed = self.lists(lists).0.get(at);
        let placed = placed.ok_or_else(|| self.damaged(part, "there is no such page"))?;
        let page = placed.page;
        let packed = &mut buffers.packed;
        self.read_checked(part, placed.offset, page.len, page.hash, packed)?;
        Ok(part)
    }

    /// Returns a table's pages and the number of blocks that it covers.
    fn lists(&self, lists: Lists) -> (&[PlacedPage], u32) {
        match lists {
            Lists::Names => (&self.layout.name_pages, self.layout.names.len() as u32),
            Lists::Dirs => (&self.layout.dir_pages, self.layout.dir_blocks.len() as u32),
        }
    }
}
