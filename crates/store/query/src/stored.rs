//! Reads the contents of a snapshot's shards as they are stored, for code that
//! moves rows between shards.
//!
//! A [`RowAddress`] locates a row: a segment of the view and a row of one of its
//! tables. [`Listings`] and [`Values`] iterate over all segments in path order
//! and read only keys; the functions of [`View`] here return the full contents
//! of given rows.

use crate::error::Result;
use crate::issues::read_issue_rows;
use crate::locate::Span;
use crate::merge::Merge;
use crate::objects::{self, DirObject};
use crate::segment::{Scratch, SegmentFile, read_dirs, read_rows};
use crate::view::View;
use crate::walk::Order;
use crate::xattrs::{Chunk, order};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::Range;
use std::result::Result as Outcome;
use std::sync::Arc;
use trawl_format::schema::{DirColumn, Table};
use trawl_format::{ListingKind, SegmentInfo, Shard};
use trawl_model::column::ColumnSet;
use trawl_model::rows::{Row, RowBatch};
use trawl_model::{Dev, DirBatch, Entry, Gid, Issue, Meta, Timestamp, Uid, path};

/// Rows of a dirs table read together.
const DIRS_ROWS: u64 = 1024;
/// Approximate number of entries read together; also the maximum in a batch.
const ENTRY_ROWS: u64 = 32 * 1024;
/// Rows of an xattrs table read together.
const VALUE_ROWS: u64 = 1024;

/// A segment of a view, and a row of one of its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowAddress {
    /// Number of the segment: see [`View::stored_segment`].
    pub segment: usize,
    /// Number of the row.
    pub row: u64,
}

/// Iterates over the listed directories of a view in path order. A directory
/// with rows in several segments comes several times.
pub struct Listings<'a> {
    merge: Merge<'a>,
    segment: usize,
    /// Remaining rows of the current chunk; the first is the current row.
    run: Range<usize>,
}

impl View {
    /// Number of its segments.
    pub fn stored_segments(&self) -> usize {
        self.segment_count()
    }

    /// Returns whether the scan read extended attributes: it was told to, and was one of files.
    pub fn has_xattrs(&self) -> bool {
        let options = &self.info().options;
        !["no-xattr", "from-trace"]
            .iter()
            .any(|option| options.contains_key(*option))
    }

    /// Returns a segment, its shard, and the shard's position in
    /// [`View::shards`] (of a snapshot without its bundle).
    pub fn stored_segment(&self, at: usize) -> Option<(usize, &Shard, &SegmentInfo)> {
        let (number, _) = self.shard_of(at)?;
        let (shard, segment) = self.segment(at)?;
        Some((number, shard, segment))
    }

    /// Iterates over all listed directories.
    pub fn listings(&self) -> Result<Listings<'_>> {
        self.listings_where(&[], |_| true)
    }

    /// Iterates over the listed directories of one of [`View::shards`].
    pub fn listings_in(&self, shard: usize) -> Result<Listings<'_>> {
        self.listings_where(&[], |at| at == shard)
    }

    /// Like [`View::listings_in`], but also reads [`Listings::object`].
    pub fn objects_in_shard(&self, shard: usize) -> Result<Listings<'_>> {
        self.listings_where(&objects::COLUMNS, |at| at == shard)
    }

    fn listings_where(
        &self,
        columns: &'static [DirColumn],
        is_wanted: impl Fn(usize) -> bool,
    ) -> Result<Listings<'_>> {
        let spans = self.segments().filter_map(|(segment, _, info)| {
            let dirs = u64::from(info.own_row)..info.dirs;
            let (shard, _) = self.shard_of(segment)?;
            (is_wanted(shard) && !dirs.is_empty()).then_some(Span { segment, dirs })
        });
        Ok(Listings {
            merge: Merge::new(self, spans.collect(), columns, Order::Forward)?,
            segment: 0,
            run: 0..0,
        })
    }

    /// Iterates over all attribute values.
    pub fn values(&self) -> Result<Values<'_>> {
        Values::new(self)
    }

    /// Passes rows of a segment's dirs table to `visit`, with their entries. A
    /// large directory comes in pieces, as fragments numbered from 0.
    pub fn stored_listings<E: From<crate::QueryError>>(
        &self,
        segment: usize,
        rows: Range<u64>,
        mut visit: impl FnMut(Stored<'_>, DirBatch) -> Outcome<(), E>,
    ) -> Outcome<(), E> {
        let Some(reader) = Reader::open(self, segment)? else {
            return Ok(());
        };
        let mut scratch = Scratch::default();
        let mut start = rows.start;
        while start < rows.end {
            let end = rows.end.min(start + DIRS_ROWS);
            reader.read(start..end, &mut scratch, &mut visit)?;
            start = end;
        }
        Ok(())
    }

    /// Passes the paths in some rows of a segment's dirs table, which must be
    /// ascending, to `visit`.
    pub fn stored_paths<E: From<crate::QueryError>>(
        &self,
        segment: usize,
        rows: &[Range<u64>],
        mut visit: impl FnMut(&[u8]) -> Outcome<(), E>,
    ) -> Outcome<(), E> {
        let Some(file) = self.file(segment, Table::Dirs)? else {
            return Ok(());
        };
        let mut scratch = Scratch::default();
        let mut rest = rows;
        // Rows within the range of one read are read together.
        while let Some(first) = rest.first() {
            let most = first.start + DIRS_ROWS;
            let count = rest.iter().take_while(|rows| rows.end <= most).count();
            let (near, after) = rest.split_at(count.max(1));
            rest = after;
            let all = first.start..near.last().map_or(first.end, |last| last.end);
            let mut near = near.iter();
            let mut next = near.next();
            let mut start = all.start;
            while start < all.end {
                let end = all.end.min(start + DIRS_ROWS);
                let chunk = read_dirs(&file, start..end, &[], &mut scratch)?;
                for (at, row) in (start..end).enumerate() {
                    while next.is_some_and(|rows| rows.end <= row) {
                        next = near.next();
                    }
                    if next.is_some_and(|rows| rows.contains(&row)) {
                        visit(chunk.path.get(at))?;
                    }
                }
                start = end;
            }
        }
        Ok(())
    }

    /// Passes all values in a segment to `visit`, each with its row number:
    /// directory, entry, attribute, value.
    pub fn stored_values<E: From<crate::QueryError>>(
        &self,
        segment: usize,
        mut visit: impl FnMut(u64, [&[u8]; 4]) -> Outcome<(), E>,
    ) -> Outcome<(), E> {
        let Some(file) = self.file(segment, Table::Xattrs)? else {
            return Ok(());
        };
        let mut scratch = Scratch::default();
        let mut start = 0;
        while start < file.rows() {
            let end = file.rows().min(start + VALUE_ROWS);
            let chunk = Chunk::read(&file, start..end, &mut scratch)?;
            for at in 0..chunk.name.len() {
                let Chunk {
                    dir,
                    name,
                    attr,
                    value,
                } = &chunk;
                let row = [dir, name, attr, value].map(|column| column.get(at));
                visit(start + at as u64, row)?;
            }
            start = end;
        }
        Ok(())
    }

    /// Returns rows of a segment's issues.
    pub fn stored_issues(&self, segment: usize, rows: Range<u64>) -> Result<Vec<Issue>> {
        let mut issues = Vec::new();
        if let Some(file) = self.file(segment, Table::Issues)? {
            let mut visit = |issue| issues.push(issue);
            read_issue_rows(&file, rows, &mut Scratch::default(), &mut visit)?;
        }
        Ok(issues)
    }
}

impl Listings<'_> {
    /// Moves to the next directory; returns false at the end.
    pub fn advance(&mut self) -> Result<bool> {
        if self.run.start + 1 < self.run.end {
            self.run.start += 1;
            return Ok(true);
        }
        self.run = 0..0;
        if let Some(run) = self.merge.next_run()? {
            (self.segment, self.run) = (run.segment, run.range);
        }
        Ok(!self.run.is_empty())
    }

    /// The current directory's path.
    pub fn path(&self) -> &[u8] {
        let chunk = self.merge.given_chunk();
        chunk.map_or(&[], |chunk| chunk.path(self.run.start))
    }

    /// The current directory's identity, if its columns were read.
    pub fn object(&self) -> DirObject {
        let chunk = self.merge.given_chunk();
        let number = |column| chunk.map_or(0, |chunk| chunk.number(column, self.run.start));
        DirObject::read(number)
    }

    /// The current directory's place.
    pub fn place(&self) -> RowAddress {
        let first = self.merge.given_chunk().map_or(0, |chunk| chunk.rows.start);
        RowAddress {
            segment: self.segment,
            row: first + self.run.start as u64,
        }
    }
}

/// A row of a dirs table.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'a> {
    /// Its row number.
    pub row: u64,
    /// The kind of the row.
    pub kind: ListingKind,
    /// The shard.
    pub shard: &'a Shard,
}

/// Columns read of a dirs table.
const COLUMNS: [DirColumn; 18] = [
    DirColumn::FirstRow,
    DirColumn::Rows,
    DirColumn::OwnIno,
    DirColumn::OwnDev,
    DirColumn::OwnMode,
    DirColumn::OwnNlink,
    DirColumn::OwnUid,
    DirColumn::OwnGid,
    DirColumn::OwnSize,
    DirColumn::OwnBlocks,
    DirColumn::OwnAtime,
    DirColumn::OwnAtimeNs,
    DirColumn::OwnMtime,
    DirColumn::OwnMtimeNs,
    DirColumn::OwnCtime,
    DirColumn::OwnCtimeNs,
    DirColumn::OwnBtime,
    DirColumn::OwnBtimeNs,
];

/// The tables of a segment that make up listings.
struct Reader<'a> {
    shard: &'a Shard,
    info: &'a SegmentInfo,
    dirs: Arc<SegmentFile>,
    entries: Option<Arc<SegmentFile>>,
}

/// A row of a dirs table: its path, its attributes and its entries.
struct Dir {
    row: u64,
    path: Vec<u8>,
    own: Meta,
    entries: Range<u64>,
}

impl<'a> Reader<'a> {
    fn open(view: &'a View, segment: usize) -> Result<Option<Reader<'a>>> {
        let (Some((shard, info)), Some(dirs)) =
            (view.segment(segment), view.file(segment, Table::Dirs)?)
        else {
            return Ok(None);
        };
        Ok(Some(Reader {
            shard,
            info,
            dirs,
            entries: view.file(segment, Table::Entries)?,
        }))
    }

    fn read<E: From<crate::QueryError>>(
        &self,
        rows: Range<u64>,
        scratch: &mut Scratch,
        visit: &mut impl FnMut(Stored<'_>, DirBatch) -> Outcome<(), E>,
    ) -> Outcome<(), E> {
        let dirs = self.read_dirs(rows, scratch)?;
        let mut rest = &dirs[..];
        while let Some(first) = rest.first() {
            let from = first.entries.start;
            let near = |dir: &&Dir| dir.entries.end <= from.saturating_add(ENTRY_ROWS);
            // Both tables have the same order.
            let count = rest.iter().take_while(near).count();
            let (group, after) = rest.split_at(count.max(1));
            rest = after;
            let end = group.last().map_or(from, |last| last.entries.end);
            if count > 0 {
                let batch = self.read_entries(from..end, scratch)?;
                for dir in group {
                    self.give(dir, &batch, from, 0, dir.entries.clone(), visit)?;
                }
                scratch.recycle(batch);
            } else {
                self.read_large(first, scratch, visit)?;
            }
        }
        Ok(())
    }

    fn read_large<E: From<crate::QueryError>>(
        &self,
        dir: &Dir,
        scratch: &mut Scratch,
        visit: &mut impl FnMut(Stored<'_>, DirBatch) -> Outcome<(), E>,
    ) -> Outcome<(), E> {
        let starts = dir.entries.clone().step_by(ENTRY_ROWS as usize);
        for (fragment, start) in (0u32..).zip(starts) {
            let rows = start..dir.entries.end.min(start + ENTRY_ROWS);
            let batch = self.read_entries(rows.clone(), scratch)?;
            self.give(dir, &batch, start, fragment, rows, visit)?;
            scratch.recycle(batch);
        }
        Ok(())
    }

    fn read_dirs(&self, rows: Range<u64>, scratch: &mut Scratch) -> Result<Vec<Dir>> {
        let file = &self.dirs;
        let chunk = read_dirs(file, rows.clone(), &COLUMNS, scratch)?;
        let mut births = Vec::new();
        let at = DirColumn::OwnBtime as usize;
        file.numbers(
            at,
            NO_BIRTH,
            std::slice::from_ref(&rows),
            scratch,
            &mut births,
        )?;
        let mut dirs = Vec::with_capacity(chunk.len());
        for at in 0..chunk.len() {
            let number = |column: usize| chunk.number(column, at);
            let (first, count) = (number(0), number(1));
            let end = first
                .checked_add(count)
                .filter(|end| *end <= self.info.rows);
            let end = end.ok_or_else(|| file.damaged("it refers to rows that are not there"))?;
            let birth = births.get(at).copied().unwrap_or(NO_BIRTH);
            dirs.push(Dir {
                row: rows.start + at as u64,
                path: chunk.path.get(at).to_vec(),
                own: own_meta(number, birth),
                entries: first..end,
            });
        }
        Ok(dirs)
    }

    fn read_entries(&self, rows: Range<u64>, scratch: &mut Scratch) -> Result<RowBatch> {
        match &self.entries {
            Some(file) => read_rows(file, ColumnSet::all(), &[rows], scratch),
            None => Ok(RowBatch::default()),
        }
    }

    fn give<E: From<crate::QueryError>>(
        &self,
        dir: &Dir,
        batch: &RowBatch,
        from: u64,
        fragment: u32,
        rows: Range<u64>,
        visit: &mut impl FnMut(Stored<'_>, DirBatch) -> Outcome<(), E>,
    ) -> Outcome<(), E> {
        let mut out = DirBatch {
            path: dir.path.clone(),
            own: dir.own,
            fragment,
            ..DirBatch::default()
        };
        for row in rows {
            let at = (row - from) as usize;
            let row = Row {
                batch,
                at,
                dir: b"",
            };
            row.push_to(&mut out);
        }
        let kind = self.kind(dir.row, &out);
        let is_odd = |entry: &Entry| {
            let name = out.bytes(entry.name);
            name.is_empty() || name.iter().any(|byte| matches!(byte, b'/' | 0))
        };
        if kind == ListingKind::Listed && out.entries.iter().any(is_odd) {
            return Err(self.dirs.damaged("it contains invalid names").into());
        }
        let stored = Stored {
            row: dir.row,
            kind,
            shard: self.shard,
        };
        visit(stored, out)
    }

    fn kind(&self, row: u64, batch: &DirBatch) -> ListingKind {
        if row > 0 || !self.info.own_row {
            return ListingKind::Listed;
        }
        let name = batch.entries.first().map(|entry| batch.bytes(entry.name));
        let path = path::join(&batch.path, name.unwrap_or_default());
        match self.shard.barrier() == Some(&path[..]) {
            true => ListingKind::Barrier,
            false => ListingKind::Root,
        }
    }
}

/// Marks an unknown time of creation.
const NO_BIRTH: i64 = trawl_model::rows::NO_BTIME;

/// Returns a directory's own attributes, read from [`COLUMNS`].
fn own_meta(number: impl Fn(usize) -> u64, birth: i64) -> Meta {
    let time = |column: usize| Timestamp {
        secs: number(column) as i64,
        nanos: number(column + 1) as u32,
    };
    Meta {
        ino: number(2),
        dev: Dev::from_u64(number(3)),
        mode: number(4) as u32,
        nlink: number(5) as u32,
        uid: Uid(number(6) as u32),
        gid: Gid(number(7) as u32),
        size: number(8),
        blocks: number(9),
        atime: time(10),
        mtime: time(12),
        ctime: time(14),
        btime: (birth != NO_BIRTH).then(|| time(16)),
        ..Meta::default()
    }
}

/// Iterates over the keys of all attribute values of a view in the order of
/// entries: directories in path order, then names.
pub struct Values<'a> {
    view: &'a View,
    cursors: Vec<Cursor>,
    heads: BinaryHeap<Reverse<Head>>,
    scratch: Scratch,
}

/// A value's key and place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The directory of the entry.
    pub dir: Vec<u8>,
    /// The entry's name.
    pub name: Vec<u8>,
    /// The attribute's full name.
    pub attr: Vec<u8>,
    /// Where the value is stored.
    pub place: RowAddress,
}

impl Value {
    /// Compares entries in path order, then attributes by name.
    pub fn order(&self, other: &Value) -> Ordering {
        order((&self.dir, &self.name), (&other.dir, &other.name))
            .then_with(|| self.attr.cmp(&other.attr))
    }

    /// The path of the entry; `/` itself has an empty name.
    pub fn path(&self) -> Vec<u8> {
        match &self.name[..] {
            b"" => self.dir.clone(),
            name => path::join(&self.dir, name),
        }
    }
}

/// The remaining rows of one table.
struct Cursor {
    segment: usize,
    file: Arc<SegmentFile>,
    next: u64,
    /// Keys of the current and following entries, in reverse order.
    ready: Vec<Value>,
}

/// The next value of a cursor.
struct Head {
    value: Value,
    cursor: usize,
}

impl Ord for Head {
    fn cmp(&self, other: &Head) -> Ordering {
        self.value
            .order(&other.value)
            .then(self.cursor.cmp(&other.cursor))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Head) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Head) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head {}

impl<'a> Values<'a> {
    fn new(view: &'a View) -> Result<Values<'a>> {
        let mut values = Values {
            view,
            cursors: Vec::new(),
            heads: BinaryHeap::new(),
            scratch: Scratch::default(),
        };
        for segment in 0..view.stored_segments() {
            if let Some(file) = view.file(segment, Table::Xattrs)? {
                values.cursors.push(Cursor {
                    segment,
                    file,
                    next: 0,
                    ready: Vec::new(),
                });
                values.push_head(values.cursors.len() - 1)?;
            }
        }
        Ok(values)
    }

    /// The view that the values belong to.
    pub fn view(&self) -> &'a View {
        self.view
    }

    /// Returns the next value; `None` at the end.
    pub fn next_value(&mut self) -> Result<Option<Value>> {
        let Some(Reverse(head)) = self.heads.pop() else {
            return Ok(None);
        };
        self.push_head(head.cursor)?;
        Ok(Some(head.value))
    }

    fn push_head(&mut self, at: usize) -> Result<()> {
        let Some(cursor) = self.cursors.get_mut(at) else {
            return Ok(());
        };
        if cursor.ready.is_empty() {
            cursor.fill(&mut self.scratch)?;
        }
        if let Some(value) = cursor.ready.pop() {
            self.heads.push(Reverse(Head { value, cursor: at }));
        }
        Ok(())
    }
}

impl Cursor {
    /// Reads some rows and sorts them. An entry's attributes are in order only
    /// if they are read together, but few entries have more than fit.
    fn fill(&mut self, scratch: &mut Scratch) -> Result<()> {
        let end = self.file.rows().min(self.next + VALUE_ROWS);
        if self.next >= end {
            return Ok(());
        }
        let chunk = Chunk::read(&self.file, self.next..end, scratch)?;
        let value = |at: usize| Value {
            dir: chunk.dir.get(at).to_vec(),
            name: chunk.name.get(at).to_vec(),
            attr: chunk.attr.get(at).to_vec(),
            place: RowAddress {
                segment: self.segment,
                row: self.next + at as u64,
            },
        };
        self.ready = (0..chunk.name.len()).map(value).collect();
        self.ready.sort_by(|a, b| b.order(a));
        self.next = end;
        Ok(())
    }
}
