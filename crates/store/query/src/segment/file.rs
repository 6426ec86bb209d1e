//! One file of a segment, opened to read columns of row ranges.
//!
//! Opening a file reads the tail (page indexes and footer) and checks it
//! against the manifest's hash; a small file is read whole. If more than half
//! of a column chunk's pages are wanted, or its pages have no CRC, the whole
//! chunk is read and checked against its hash in the tail the first time.
//! Otherwise, and for chunks checked before, only the wanted pages are read; a
//! page of an unchecked chunk is checked by its CRC, and all pages against the
//! offset index. So nothing is decoded that the index writer did not write,
//! unless someone has forged the hashes; even then every length is checked
//! before it is used.

use super::footer::{Chunk, Codec, Footer, Group, PagePlace, Pages, Problem};
use super::kept::{self, KeptPages};
use super::page::{self, Number, Page, PageBuffers, PageHeader, PageKind, Width};
use super::scratch::Scratch;
use crate::error::{QueryError, Result};
use std::fs::File;
use std::iter::repeat_n;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use trawl_format::schema::Table;
use trawl_format::{FileRef, Hash, SegmentInfo, Shard};
use trawl_model::column::ColumnType;
use trawl_model::operation::Operation;
use trawl_model::rows::ByteColumn;
use xxhash_rust::xxh3::xxh3_64;

/// Files up to this length are read whole when they are opened.
const SMALL_FILE_BYTES: u64 = 24 * 1024;
/// Maximum bytes of a tail; our writer makes none that is longer.
const MOST_TAIL_BYTES: u64 = 1 << 30;

/// Maximum number of values to reserve memory for in advance.
const MOST_RESERVED: usize = 1 << 17;

enum Body {
    Whole(Vec<u8>),
    File(File),
}

/// An open file of a segment.
pub struct SegmentFile {
    path: PathBuf,
    table: Table,
    rows: u64,
    body: Body,
    footer: Footer,
    pages: Vec<OnceLock<Pages>>,
    checked: Vec<AtomicBool>,
    page_checksums: OnceLock<bool>,
    tail_hash: Hash,
    /// Where lookups keep pages.
    kept: Option<Arc<KeptPages>>,
}

impl std::fmt::Debug for SegmentFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SegmentFile")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// The loaded bytes of a chunk, beginning at offset `start` of the chunk.
struct Loaded<'a> {
    start: usize,
    bytes: &'a [u8],
    /// True if the CRC of each page must still be checked.
    check_pages: bool,
}

/// A column of a file, and whether its values may be null.
#[derive(Clone, Copy)]
struct ColumnAt {
    column: usize,
    optional: bool,
}

impl SegmentFile {
    /// Opens the file of `table`.
    pub fn open(
        shard: &Shard,
        segment: &SegmentInfo,
        table: Table,
        expected: &FileRef,
    ) -> Result<SegmentFile> {
        let path = shard.file_path(segment.id, table);
        let file = shard.open_file(segment, table)?;
        SegmentFile::from_file(file, path, table, expected)
    }

    /// Like [`SegmentFile::open`]; `path` is used in messages.
    pub fn from_file(
        file: File,
        path: PathBuf,
        table: Table,
        expected: &FileRef,
    ) -> Result<SegmentFile> {
        let _span = Operation::ReadFooter.span();
        let damaged = |problem| QueryError::damaged(&path, problem);
        let is_small = expected.size_bytes <= SMALL_FILE_BYTES;
        if expected.tail_bytes > expected.size_bytes || expected.tail_bytes > MOST_TAIL_BYTES {
            return Err(damaged("its tail is too long"));
        }
        let tail_start = expected.size_bytes - expected.tail_bytes;
        let start = if is_small { 0 } else { tail_start };
        let mut bytes = vec![0; (expected.size_bytes - start) as usize];
        read_at(&file, &mut bytes, start).map_err(|cause| read_error(&path, cause))?;
        let tail = bytes.split_off((tail_start - start) as usize);
        if Hash::of(&tail) != expected.tail_hash {
            return Err(damaged("its footer does not match its hash"));
        }
        let footer =
            Footer::parse(tail, expected.size_bytes, table, expected.rows).map_err(damaged)?;
        let chunks = footer.groups.len() * footer.columns();
        let body = if is_small {
            Body::Whole(bytes)
        } else {
            Body::File(file)
        };
        Ok(SegmentFile {
            path,
            table,
            rows: expected.rows,
            body,
            footer,
            pages: (0..chunks).map(|_| OnceLock::new()).collect(),
            checked: (0..chunks).map(|_| AtomicBool::new(false)).collect(),
            page_checksums: OnceLock::new(),
            tail_hash: expected.tail_hash,
            kept: None,
        })
    }

    /// Lets lookups keep the pages that they decode.
    pub(crate) fn keeping(self, pages: &Arc<KeptPages>) -> SegmentFile {
        SegmentFile {
            kept: Some(Arc::clone(pages)),
            ..self
        }
    }

    pub(super) fn kept_pages(&self) -> Option<&KeptPages> {
        self.kept.as_deref()
    }

    /// Returns the cache of pages if this read is to use it.
    fn kept_for(&self, ranges: &[Range<u64>], scratch: &Scratch) -> Option<&KeptPages> {
        let is_lookup = scratch.is_for_lookups() && kept::is_lookup(ranges);
        self.kept_pages().filter(|_| is_lookup)
    }

    /// The hash of the tail, by which the file is known: it depends on all of
    /// the contents.
    pub(super) fn tail_hash(&self) -> Hash {
        self.tail_hash
    }

    /// Disables all hash checks, as if the hashes had been forged.
    #[cfg(test)]
    pub(super) fn trust_everything(&mut self) {
        self.checked
            .iter_mut()
            .for_each(|checked| *checked.get_mut() = true);
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Memory in bytes that its contents take if it was read whole; `None` if
    /// it holds a descriptor instead.
    pub(crate) fn memory_bytes(&self) -> Option<usize> {
        match &self.body {
            Body::Whole(bytes) => Some(bytes.capacity() + self.footer.memory_bytes()),
            Body::File(_) => None,
        }
    }

    /// Returns an error about this file.
    pub(crate) fn damaged(&self, problem: Problem) -> QueryError {
        QueryError::damaged(&self.path, problem)
    }

    /// Appends the numbers of `column` in `ranges` (ascending, disjoint) to
    /// `out`; `null` replaces missing values, which are all those of a column
    /// that the file lacks.
    pub(crate) fn numbers<T: Number>(
        &self,
        column: usize,
        null: T,
        ranges: &[Range<u64>],
        scratch: &mut Scratch,
        out: &mut Vec<T>,
    ) -> Result<()> {
        if self.lacks(column) {
            self.column(column)?;
            out.extend(repeat_n(null, self.lacking_rows(ranges)?));
            return Ok(());
        }
        match self.kept_for(ranges, scratch) {
            Some(pages) => kept::numbers(self, pages, (column, null), ranges, scratch, out),
            None => self.decode_numbers(column, null, ranges, scratch, out),
        }
    }

    /// As [`SegmentFile::numbers`], of a column that the file has. Decodes each
    /// page.
    pub(super) fn decode_numbers<T: Number>(
        &self,
        column: usize,
        null: T,
        ranges: &[Range<u64>],
        scratch: &mut Scratch,
        out: &mut Vec<T>,
    ) -> Result<()> {
        let (at, kind) = self.column(column)?;
        let width = match kind {
            ColumnType::U32 => Width::Bits32,
            _ => Width::Bits64,
        };
        let mut dictionary = Vec::new();
        out.reserve(row_count(ranges).min(MOST_RESERVED));
        self.for_each_page(at, ranges, scratch, &mut |step, keep, buffers| match step {
            Step::Dictionary(bytes, values) => {
                dictionary.clear();
                page::plain_numbers(bytes, width, values, values, &mut dictionary)
                    .ok_or("a dictionary cannot be decoded")
            }
            Step::Data(page) => {
                let start = out.len();
                let wanted = keep.last().map_or(0, |range| range.end);
                page.numbers(
                    width,
                    at.optional.then_some(null),
                    &dictionary,
                    wanted,
                    buffers,
                    out,
                )?;
                keep_ranges(out, start, keep);
                Ok(())
            }
        })
    }

    /// Appends the byte strings of `column` in `ranges` to `out`; nulls become
    /// empty strings.
    pub(crate) fn strings(
        &self,
        column: usize,
        ranges: &[Range<u64>],
        scratch: &mut Scratch,
        out: &mut ByteColumn,
    ) -> Result<()> {
        if self.lacks(column) {
            self.column(column)?;
            let end = out.offsets.last().copied().unwrap_or_default();
            let rows = self.lacking_rows(ranges)?;
            out.offsets.extend(repeat_n(end, rows));
            return Ok(());
        }
        match self.kept_for(ranges, scratch) {
            Some(pages) => kept::strings(self, pages, column, ranges, scratch, out),
            None => self.decode_strings(column, ranges, scratch, out),
        }
    }

    /// As [`SegmentFile::strings`], of a column that the file has. Decodes each
    /// page.
    pub(super) fn decode_strings(
        &self,
        column: usize,
        ranges: &[Range<u64>],
        scratch: &mut Scratch,
        out: &mut ByteColumn,
    ) -> Result<()> {
        let (at, _) = self.column(column)?;
        let mut dictionary = ByteColumn::default();
        out.offsets.reserve(row_count(ranges).min(MOST_RESERVED));
        self.for_each_page(at, ranges, scratch, &mut |step, keep, buffers| match step {
            Step::Dictionary(bytes, values) => {
                dictionary = ByteColumn::default();
                page::plain_strings(bytes, values, &mut dictionary)
                    .ok_or("a dictionary cannot be decoded")
            }
            Step::Data(page) => page.strings(at.optional, &dictionary, keep, buffers, out),
        })
    }

    fn column(&self, column: usize) -> Result<(ColumnAt, ColumnType)> {
        let field = self.table.fields().get(column);
        let field = field.ok_or_else(|| self.damaged("it has no such column"))?;
        let at = ColumnAt {
            column,
            optional: field.nullable,
        };
        Ok((at, field.kind))
    }

    /// True if the file was written before this column was added to its table.
    /// True for a column that the program which wrote the file did not know.
    pub(crate) fn lacks(&self, column: usize) -> bool {
        column >= self.footer.columns()
    }

    /// Returns the number of rows in `ranges`. Looks at the page index of a
    /// column that the file has, so that a forged footer cannot claim more rows
    /// than its pages can have.
    fn lacking_rows(&self, ranges: &[Range<u64>]) -> Result<usize> {
        self.check_ranges(ranges)?;
        for (number, group) in self.footer.groups.iter().enumerate() {
            let end = group.first_row + group.rows as u64;
            let first = ranges.partition_point(|range| range.end <= group.first_row);
            if ranges.get(first).is_some_and(|range| range.start < end) {
                self.pages(number, 0)?;
            }
        }
        Ok(row_count(ranges))
    }

    fn check_ranges(&self, ranges: &[Range<u64>]) -> Result<()> {
        match ranges.last().is_some_and(|last| last.end > self.rows) {
            true => Err(self.damaged("rows beyond its end are referred to")),
            false => Ok(()),
        }
    }

    /// Calls `visit` for each page that holds rows of `ranges`, with these rows
    /// counted within the page; before that, for the dictionary.
    fn for_each_page(
        &self,
        at: ColumnAt,
        ranges: &[Range<u64>],
        scratch: &mut Scratch,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        self.check_ranges(ranges)?;
        let mut next = 0;
        for (number, group) in self.footer.groups.iter().enumerate() {
            let end = group.first_row + group.rows as u64;
            let first = next;
            next = first + ranges[first..].partition_point(|range| range.start < end);
            let inside = ranges.get(first..next).unwrap_or_default();
            if !inside.is_empty() {
                self.visit_group(at, number, inside, scratch, visit)?;
            }
            // A range may continue in the next group.
            if next > first && ranges[next - 1].end > end {
                next -= 1;
            }
        }
        Ok(())
    }

    fn visit_group(
        &self,
        at: ColumnAt,
        group: usize,
        ranges: &[Range<u64>],
        scratch: &mut Scratch,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let pages = self.pages(group, at.column)?;
        let Group {
            first_row,
            rows,
            chunks,
        } = &self.footer.groups[group];
        let codec = chunks[at.column].codec;
        let local = LocalRanges {
            ranges,
            first_row: *first_row,
            rows: *rows,
        };
        let places: Vec<&PagePlace> = pages
            .data
            .iter()
            .filter(|place| local.touches(place))
            .collect();
        let Scratch {
            zstd,
            chunk,
            page,
            buffers,
            keep,
            ..
        } = scratch;
        let loaded = self.load(group, at.column, pages, &places, chunk)?;
        let _span = Operation::DecodePages.span();
        let damaged = |problem| self.damaged(problem);
        if pages.dictionary_len > 0 && !places.is_empty() {
            let bytes = self.dictionary_bytes(&chunks[at.column], &loaded, pages.dictionary_len)?;
            let header = open_page(
                &bytes,
                PageKind::Dictionary,
                loaded.check_pages,
                codec,
                zstd,
                page,
            );
            let values = header.map_err(damaged)?.values;
            visit(Step::Dictionary(page, values), &[], buffers).map_err(damaged)?;
        }
        for place in places {
            local.inside(place, keep);
            let bytes = loaded
                .page(place)
                .ok_or_else(|| damaged("a page lies outside its chunk"))?;
            let header = open_page(bytes, PageKind::Data, loaded.check_pages, codec, zstd, page)
                .map_err(damaged)?;
            if header.values != place.rows {
                return Err(damaged("a page's row count differs from its index"));
            }
            let page = Page {
                bytes: page,
                rows: place.rows,
                encoding: header.encoding,
            };
            visit(Step::Data(page), keep, buffers).map_err(damaged)?;
        }
        Ok(())
    }

    /// Returns the rows of the page of a column that holds `row`.
    pub(super) fn page_around(&self, column: usize, row: u64) -> Result<Range<u64>> {
        let groups = &self.footer.groups;
        let before = groups.partition_point(|group| group.first_row <= row);
        let found = before
            .checked_sub(1)
            .and_then(|at| Some((at, groups.get(at)?)))
            .filter(|(_, group)| row - group.first_row < group.rows as u64);
        let Some((at, group)) = found else {
            return Err(self.damaged("rows beyond its end are referred to"));
        };
        let within = (row - group.first_row) as usize;
        let pages = &self.pages(at, column)?.data;
        let before = pages.partition_point(|place| place.first_row <= within);
        let found = before.checked_sub(1).and_then(|at| pages.get(at));
        let place = found.ok_or_else(|| self.damaged("an offset index is invalid"))?;
        let start = group.first_row + place.first_row as u64;
        Ok(start..start + place.rows as u64)
    }

    fn pages(&self, group: usize, column: usize) -> Result<&Pages> {
        let known = self.pages.get(group * self.footer.columns() + column);
        let known = known.ok_or_else(|| self.damaged("it has no such column"))?;
        if let Some(pages) = known.get() {
            return Ok(pages);
        }
        let pages = self
            .footer
            .pages(group, column)
            .map_err(|problem| self.damaged(problem))?;
        Ok(known.get_or_init(|| pages))
    }

    /// Reads the bytes of a chunk that are needed for `places`.
    fn load<'a>(
        &'a self,
        group: usize,
        column: usize,
        pages: &Pages,
        places: &[&PagePlace],
        buffer: &'a mut Vec<u8>,
    ) -> Result<Loaded<'a>> {
        let (Some(first), Some(last)) = (places.first(), places.last()) else {
            return Ok(Loaded {
                start: 0,
                bytes: &[],
                check_pages: false,
            });
        };
        let chunk = &self.footer.groups[group].chunks[column];
        let checked = &self.checked[group * self.footer.columns() + column];
        let is_checked = checked.load(Ordering::Relaxed);
        let many = places.len() * 2 > pages.data.len();
        let whole = !is_checked && (many || !self.has_page_checksums(chunk, first, buffer)?);
        let span = if whole {
            0..chunk.len
        } else {
            first.start..last.start + last.len
        };
        let start = span.start;
        let bytes = self.bytes(chunk.start, span, buffer)?;
        if whole {
            if Some(xxh3_64(bytes)) != self.footer.hash(group, column) {
                return Err(self.damaged("a column does not match its hash"));
            }
            checked.store(true, Ordering::Relaxed);
        }
        Ok(Loaded {
            start,
            bytes,
            check_pages: !whole && !is_checked,
        })
    }

    /// True if the pages of this file can be checked individually, judged by
    /// one of them: the general Parquet writer omits page checksums.
    fn has_page_checksums(
        &self,
        chunk: &Chunk,
        place: &PagePlace,
        buffer: &mut Vec<u8>,
    ) -> Result<bool> {
        if let Some(known) = self.page_checksums.get() {
            return Ok(*known);
        }
        let bytes = self.bytes(chunk.start, place.start..place.start + place.len, buffer)?;
        let found = PageHeader::parse(bytes).is_some_and(|header| header.crc.is_some());
        Ok(*self.page_checksums.get_or_init(|| found))
    }

    /// Returns the bytes of `span` within the chunk at `chunk_start`.
    fn bytes<'a>(
        &'a self,
        chunk_start: u64,
        span: Range<usize>,
        buffer: &'a mut Vec<u8>,
    ) -> Result<&'a [u8]> {
        let start = chunk_start + span.start as u64;
        match &self.body {
            Body::Whole(bytes) => {
                let start = usize::try_from(start).ok();
                start
                    .and_then(|start| bytes.get(start..start.checked_add(span.len())?))
                    .ok_or_else(|| self.damaged("a page lies outside the file"))
            }
            Body::File(file) => {
                let _span = Operation::ReadColumn.span();
                buffer.resize(span.len(), 0);
                read_at(file, buffer, start).map_err(|cause| read_error(&self.path, cause))?;
                Ok(buffer)
            }
        }
    }

    /// Returns the dictionary page: the first `len` bytes of a chunk.
    fn dictionary_bytes(&self, chunk: &Chunk, loaded: &Loaded<'_>, len: usize) -> Result<Vec<u8>> {
        if loaded.start == 0
            && let Some(bytes) = loaded.bytes.get(..len)
        {
            return Ok(bytes.to_vec());
        }
        let mut buffer = Vec::new();
        Ok(self.bytes(chunk.start, 0..len, &mut buffer)?.to_vec())
    }
}

impl Loaded<'_> {
    fn page(&self, place: &PagePlace) -> Option<&[u8]> {
        let start = place.start.checked_sub(self.start)?;
        self.bytes.get(start..start + place.len)
    }
}

/// Ranges of a file's rows, relative to one of its row groups.
struct LocalRanges<'a> {
    ranges: &'a [Range<u64>],
    first_row: u64,
    rows: usize,
}

impl LocalRanges<'_> {
    fn local(&self, row: u64) -> usize {
        row.saturating_sub(self.first_row).min(self.rows as u64) as usize
    }

    /// The ranges that end after the page's start.
    fn from(&self, place: &PagePlace) -> &[Range<u64>] {
        let before = |range: &Range<u64>| self.local(range.end) <= place.first_row;
        self.ranges
            .get(self.ranges.partition_point(before)..)
            .unwrap_or_default()
    }

    fn touches(&self, place: &PagePlace) -> bool {
        let end = place.first_row + place.rows;
        let first = self.from(place).first();
        first.is_some_and(|range| self.local(range.start) < end && range.start < range.end)
    }

    /// Collects the rows of the page that are in the ranges, counted within the
    /// page.
    fn inside(&self, place: &PagePlace, keep: &mut Vec<Range<usize>>) {
        keep.clear();
        let page_end = place.first_row + place.rows;
        for range in self.from(place) {
            let start = self.local(range.start).max(place.first_row);
            let end = self.local(range.end).min(page_end);
            if start >= page_end {
                break;
            }
            if start < end {
                keep.push(start - place.first_row..end - place.first_row);
            }
        }
    }
}

/// Input of a page visitor.
enum Step<'a> {
    /// Decompressed bytes and number of values.
    Dictionary(&'a [u8], usize),
    Data(Page<'a>),
}

type Visit<'a> =
    dyn FnMut(Step<'_>, &[Range<usize>], &mut PageBuffers) -> std::result::Result<(), Problem> + 'a;

/// Parses a page's header and decompresses its bytes into `out`.
fn open_page(
    bytes: &[u8],
    kind: PageKind,
    check: bool,
    codec: Codec,
    zstd: &mut zstd::bulk::Decompressor<'static>,
    out: &mut Vec<u8>,
) -> std::result::Result<PageHeader, Problem> {
    let header = PageHeader::parse(bytes).ok_or("a page's header cannot be read")?;
    let data = &bytes[header.header_len..];
    if header.kind != kind || header.compressed_len != data.len() {
        return Err("a page's header is invalid");
    }
    if check && header.crc != Some(crc32fast::hash(data)) {
        return Err("a page does not match its checksum");
    }
    out.clear();
    match codec {
        Codec::Plain => out.extend_from_slice(data),
        Codec::Zstd if header.len == 0 => {}
        Codec::Zstd => {
            out.reserve(header.len);
            zstd.decompress_to_buffer(data, out)
                .map_err(|_| "a page cannot be decompressed")?;
        }
    }
    if out.len() != header.len {
        return Err("a page is not as long as its header says");
    }
    Ok(header)
}

/// Returns the number of rows in `ranges`.
pub(crate) fn row_count(ranges: &[Range<u64>]) -> usize {
    ranges
        .iter()
        .map(|range| range.end.saturating_sub(range.start) as usize)
        .sum()
}

/// Keeps only the rows `keep` of the values appended to `out` from `start` on.
fn keep_ranges<T: Copy>(out: &mut Vec<T>, start: usize, keep: &[Range<usize>]) {
    let mut end = start;
    for range in keep {
        if range.start + start != end {
            out.copy_within(start + range.start..start + range.end, end);
        }
        end += range.len();
    }
    out.truncate(end);
}

fn read_at(file: &File, bytes: &mut [u8], start: u64) -> std::io::Result<()> {
    file.read_exact_at(bytes, start)
}

fn read_error(path: &std::path::Path, cause: std::io::Error) -> QueryError {
    if cause.kind() == std::io::ErrorKind::UnexpectedEof {
        return QueryError::damaged(path, "it is shorter than its manifest says");
    }
    QueryError::Read {
        path: path.to_owned(),
        cause,
    }
}
