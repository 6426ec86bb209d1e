//! Handles entries with several hard links, so that each object counts once.

use crate::directories::{Directory, RowPlace};
use crate::error::Result;
use crate::index::{SegmentAt, View};
use crate::segment::{Scratch, SegmentFile, read_dirs};
use crate::sweep::Stretch;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use trawl_format::schema::{DirColumn, LinkColumn, Table};

/// Rows of a links table that are read together.
const CHUNK_ROWS: u64 = 4096;

/// The objects counted so far, by device and inode number.
#[derive(Clone, Debug, Default)]
pub struct SeenLinks {
    objects: HashSet<(u64, u64)>,
    /// True if every name counts as the first.
    each_name: bool,
}

impl SeenLinks {
    /// Returns an empty set.
    pub fn new() -> SeenLinks {
        SeenLinks::default()
    }

    /// Returns a set that counts an object at each of its names (`du -l`).
    pub fn counting_each_name() -> SeenLinks {
        SeenLinks {
            each_name: true,
            ..SeenLinks::default()
        }
    }

    /// True for the first call about an object.
    pub fn is_first(&mut self, dev: u64, ino: u64) -> bool {
        self.each_name || self.objects.insert((dev, ino))
    }
}

/// Objects counted more than once: the amounts to subtract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repeats {
    /// Number of names beyond the first of each object.
    pub entries: u64,
    /// Sum of their apparent sizes in bytes.
    pub size_bytes: u64,
    /// Sum of their allocated 512-byte units.
    pub blocks: u64,
}

impl Repeats {
    fn add(&mut self, size: u64, blocks: u64) {
        self.entries += 1;
        self.size_bytes = self.size_bytes.wrapping_add(size);
        self.blocks = self.blocks.wrapping_add(blocks);
    }
}

/// Consecutive rows of a links table.
#[derive(Default)]
struct LinkChunk {
    /// Row numbers in the table.
    rows: Range<u64>,
    row: Vec<u64>,
    dev: Vec<u64>,
    ino: Vec<u64>,
    size: Vec<u64>,
    blocks: Vec<u64>,
}

impl LinkChunk {
    fn read(file: &SegmentFile, rows: Range<u64>, scratch: &mut Scratch) -> Result<LinkChunk> {
        let ranges = [rows.clone()];
        let mut chunk = LinkChunk {
            rows,
            ..LinkChunk::default()
        };
        for (column, out) in [
            (LinkColumn::Row, &mut chunk.row),
            (LinkColumn::Dev, &mut chunk.dev),
            (LinkColumn::Ino, &mut chunk.ino),
            (LinkColumn::Size, &mut chunk.size),
            (LinkColumn::Blocks, &mut chunk.blocks),
        ] {
            file.numbers(column as usize, 0u64, &ranges, scratch, out)?;
        }
        Ok(chunk)
    }

    /// Adds repeated objects to `repeats`, from position `at` on, for links
    /// whose entry row is before `end`. Returns the position of the first link
    /// that is not.
    fn count(&self, at: usize, end: u64, seen: &mut SeenLinks, repeats: &mut Repeats) -> usize {
        let columns = self
            .row
            .iter()
            .zip(&self.dev)
            .zip(&self.ino)
            .zip(&self.size)
            .zip(&self.blocks);
        let mut place = at;
        for ((((row, dev), ino), size), blocks) in columns.skip(at) {
            if *row >= end {
                break;
            }
            if !seen.is_first(*dev, *ino) {
                repeats.add(*size, *blocks);
            }
            place += 1;
        }
        place
    }
}

/// Returns the repeats among `rows` of a links table.
pub(crate) fn repeats_in(
    view: &View,
    segment: SegmentAt,
    rows: Range<u64>,
    seen: &mut SeenLinks,
    scratch: &mut Scratch,
) -> Result<Repeats> {
    let mut repeats = Repeats::default();
    let Some(file) = view.file(segment, Table::Links)? else {
        return Ok(repeats);
    };
    let mut start = rows.start;
    while start < rows.end {
        let end = rows.end.min(start + CHUNK_ROWS * 16);
        LinkChunk::read(&file, start..end, scratch)?.count(0, u64::MAX, seen, &mut repeats);
        start = end;
    }
    Ok(repeats)
}

/// Returns the rows of a stretch that are further names of objects in `seen`,
/// ascending. Adds the stretch's objects to `seen`.
pub(crate) fn repeated_rows(
    view: &View,
    stretch: &Stretch,
    seen: &mut SeenLinks,
    scratch: &mut Scratch,
) -> Result<Vec<u64>> {
    let (segment, dirs) = (stretch.span.segment, &stretch.span.dirs);
    let (Some(file), Some((_, known))) = (view.file(segment, Table::Links)?, view.segment(segment))
    else {
        return Ok(Vec::new());
    };
    let mut before = |dir: u64, otherwise: u64| -> Result<u64> {
        match view
            .file(segment, Table::Dirs)?
            .filter(|_| dir < known.dirs)
        {
            Some(file) => {
                let columns = [DirColumn::LinksBefore];
                let chunk = read_dirs(&file, dir..dir + 1, &columns, scratch)?;
                Ok(chunk.number(0, 0).min(otherwise))
            }
            None => Ok(otherwise),
        }
    };
    let end = before(dirs.end, file.rows())?;
    let mut start = before(dirs.start, end)?;
    let mut repeated = Vec::new();
    while start < end {
        let next = end.min(start + CHUNK_ROWS * 16);
        let chunk = LinkChunk::read(&file, start..next, scratch)?;
        let objects = chunk.row.iter().zip(&chunk.dev).zip(&chunk.ino);
        let again = objects.filter(|((_, dev), ino)| !seen.is_first(**dev, **ino));
        repeated.extend(again.map(|((row, _), _)| *row));
        start = next;
    }
    match repeated.is_sorted() {
        true => Ok(repeated),
        false => Err(file.damaged("its rows are not in order")),
    }
}

/// Reads the links of directories. Directories must come in path order.
#[derive(Default)]
pub(crate) struct LinkReader {
    chunks: HashMap<SegmentAt, LinkChunk>,
    scratch: Scratch,
}

impl LinkReader {
    /// Returns the repeats among a directory's entries.
    pub(crate) fn repeats(
        &mut self,
        view: &View,
        directory: &Directory,
        seen: &mut SeenLinks,
    ) -> Result<Repeats> {
        let mut repeats = Repeats::default();
        for place in &directory.places {
            self.count(view, place, seen, &mut repeats)?;
        }
        Ok(repeats)
    }

    fn count(
        &mut self,
        view: &View,
        place: &RowPlace,
        seen: &mut SeenLinks,
        repeats: &mut Repeats,
    ) -> Result<()> {
        let table = view
            .segment(place.segment)
            .and_then(|(_, segment)| segment.files.get(&Table::Links));
        let Some(total) = table.map(|file| file.rows) else {
            return Ok(());
        };
        let mut at = place.links;
        while at < total {
            let known = self
                .chunks
                .get(&place.segment)
                .filter(|chunk| chunk.rows.contains(&at));
            let chunk = match known {
                Some(chunk) => chunk,
                None => {
                    let Some(file) = view.file(place.segment, Table::Links)? else {
                        break;
                    };
                    let rows = at..total.min(at + CHUNK_ROWS);
                    let chunk = LinkChunk::read(&file, rows, &mut self.scratch)?;
                    self.chunks.insert(place.segment, chunk);
                    continue;
                }
            };
            let from = (at - chunk.rows.start) as usize;
            let next = chunk.rows.start + chunk.count(from, place.rows.end, seen, repeats) as u64;
            if next < chunk.rows.end {
                break;
            }
            at = next;
        }
        Ok(())
    }
}
