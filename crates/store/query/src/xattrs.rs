//! Extended attributes: names and values of an entry, or of everything below
//! it.
//!
//! An entry's row has the attribute names that may be known to every user who
//! may list its directory. The values lie in xattrs tables of shards that may
//! be restricted further. So a value that the asking user may not read is
//! missing, and an attribute whose name is hidden as well is either present
//! with its value or absent. ACLs have columns of their own.
//!
//! The tables of all segments are read in path order alongside the walk over
//! the rows, a bounded number of rows at a time. In addition, only the names
//! and attribute names of one directory's entries are held.

use crate::error::Result;
use crate::index::{Index, SegmentAt, Start, View};
use crate::locate::Reach;
use crate::places::Having;
use crate::segment::{Scratch, SegmentFile, read_text};
use crate::selection::without;
use crate::superseded::Values;
use crate::walk::{Listing, Request, check_cancelled_by};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use trawl_format::GuardStep;
use trawl_format::schema::{Table, XattrColumn};
use trawl_model::column::{Column, ColumnSet};
use trawl_model::guard::Predicate;
use trawl_model::rows::{ByteColumn, Row};
use trawl_model::{FileType, path};

/// Rows of an xattrs table read together.
const CHUNK_ROWS: u64 = 256;
/// Rows read together by scans without merging.
pub(crate) const SCAN_ROWS: u64 = 4096;

/// Name of the attribute that holds a file's access ACL.
pub const ACL_ACCESS: &[u8] = b"system.posix_acl_access";
/// Name of the attribute that holds a directory's default ACL.
pub const ACL_DEFAULT: &[u8] = b"system.posix_acl_default";

/// An extended attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its full name.
    pub name: Vec<u8>,
    /// Its value; `None` if it may not be read or was not recorded.
    pub value: Option<Vec<u8>>,
}

/// An entry and its attributes, sorted by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributed {
    /// Absolute path, as stored.
    pub path: Vec<u8>,
    /// True if it is a symbolic link.
    pub is_link: bool,
    /// Its attributes.
    pub attributes: Vec<Attribute>,
}

/// Which symbolic links are reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Links {
    /// Only links with attributes, like other entries.
    #[default]
    LikeOthers,
    /// All links.
    Always,
}

/// A query for attributes of entries.
#[derive(Clone, Copy, Debug, Default)]
pub struct AttributeRequest<'a> {
    /// Maximum depth below the start.
    pub max_depth: Option<usize>,
    /// Which symbolic links are reported.
    pub links: Links,
    /// Cancels the query with
    /// [`QueryError::Cancelled`](crate::QueryError::Cancelled) soon after it is
    /// set.
    pub cancel: Option<&'a AtomicBool>,
}

/// Columns that [`Noted`] is made from.
const NOTED: ColumnSet = ColumnSet::of(&[
    Column::Name,
    Column::Mode,
    Column::XattrNames,
    Column::Acl,
    Column::AclDefault,
]);

impl Index {
    /// Returns the attributes of `start` itself.
    pub fn attributes(&self, start: &Start) -> Result<Vec<Attribute>> {
        let (dir, name) = path::split(&start.path).unwrap_or_default();
        let mut stream = Stream::new(&start.view, &Scope::Entry { dir, name })?;
        let values = match stream.next_entry()? {
            Some((_, values)) => values,
            None => Vec::new(),
        };
        let (batch, at) = (&start.row, 0);
        Ok(Noted::of(&Row { batch, at, dir }).with(values))
    }

    /// Passes the entries below `start` that have attributes to `visit`, in the
    /// order of [`Index::walk`].
    pub fn attributes_below(
        &self,
        start: &Start,
        request: &AttributeRequest<'_>,
        visit: impl FnMut(Attributed) -> ControlFlow<()>,
    ) -> Result<()> {
        let deepest = request.max_depth.unwrap_or(usize::MAX);
        let mut join = Join {
            stream: Stream::new(&start.view, &Scope::Below(&start.path))?,
            deepest: path::depth(&start.path).saturating_add(deepest),
            pending: (Vec::new(), Vec::new()),
            visit,
        };
        let walk = Request {
            columns: NOTED,
            max_depth: request.max_depth,
            cancel: request.cancel,
            ..Request::default()
        };
        let links = request.links;
        let mut ended = Ok(ControlFlow::Continue(()));
        self.walk(
            start,
            &walk,
            |listing, out: &mut Vec<Directory>| note(listing, links, out),
            |directories| {
                ended = join.add_all(directories);
                match ended {
                    Ok(flow) => flow,
                    Err(_) => ControlFlow::Break(()),
                }
            },
        )?;
        if ended?.is_continue() && join.flush()?.is_continue() {
            let _ = join.give_before(None)?;
        }
        Ok(())
    }

    /// Passes path, attribute and value of all attributes with a `wanted` name,
    /// of `start` and everything below it, to `visit`, in no particular order.
    /// ACLs are not included: rows hold their values.
    pub fn attribute_values(
        &self,
        start: &Start,
        cancel: Option<&AtomicBool>,
        wanted: impl Fn(&[u8]) -> bool,
        mut visit: impl FnMut(&[u8], &[u8], &[u8]),
    ) -> Result<()> {
        let mut scratch = Scratch::default();
        for attribute in self.attributes(start)? {
            let is_acl = [ACL_ACCESS, ACL_DEFAULT].contains(&&attribute.name[..]);
            if let Some(value) = attribute
                .value
                .filter(|_| !is_acl && wanted(&attribute.name))
            {
                visit(&start.path, &attribute.name, &value);
            }
        }
        for (file, rows) in Scope::Below(&start.path).files(&start.view, &mut scratch)? {
            for chunk in chunks(rows, SCAN_ROWS) {
                check_cancelled_by(cancel)?;
                scan(&file, chunk, &wanted, &mut scratch, &mut visit)?;
            }
        }
        Ok(())
    }
}

/// Splits rows into pieces.
pub(crate) fn chunks(rows: Range<u64>, most: u64) -> impl Iterator<Item = Range<u64>> {
    let starts = (rows.start..rows.end).step_by(most as usize);
    starts.map(move |start| start..rows.end.min(start + most))
}

/// Reads values of `rows` if any of their attributes is wanted.
fn scan(
    file: &SegmentFile,
    rows: Range<u64>,
    wanted: &impl Fn(&[u8]) -> bool,
    scratch: &mut Scratch,
    visit: &mut impl FnMut(&[u8], &[u8], &[u8]),
) -> Result<()> {
    let mut attrs = ByteColumn::default();
    let ranges = [rows.clone()];
    file.strings(XattrColumn::Attr as usize, &ranges, scratch, &mut attrs)?;
    let hits: Vec<usize> = (0..attrs.len())
        .filter(|at| wanted(attrs.get(*at)))
        .collect();
    if hits.is_empty() {
        return Ok(());
    }
    let chunk = Chunk::read(file, rows, scratch)?;
    for at in hits {
        visit(&chunk.path(at), chunk.attr.get(at), chunk.value.get(at));
    }
    Ok(())
}

/// A segment, its xattrs table, and rows of it.
type Placed = (SegmentAt, Arc<SegmentFile>, Range<u64>);

/// The rows of xattrs tables that are wanted.
enum Scope<'a> {
    /// Rows of one entry.
    Entry { dir: &'a [u8], name: &'a [u8] },
    /// Rows of entries below a directory.
    Below(&'a [u8]),
    /// Like `Below`, including copies behind barriers.
    AllBelow(&'a [u8]),
    /// Rows of a directory's entries, including copies behind barriers.
    In(&'a [u8]),
}

impl Scope<'_> {
    /// Returns the rows of each segment's table.
    fn files(
        &self,
        view: &View,
        scratch: &mut Scratch,
    ) -> Result<Vec<(Arc<SegmentFile>, Range<u64>)>> {
        let found = self.places(view, |_| true, scratch)?.into_iter();
        Ok(found.map(|(_, file, rows)| (file, rows)).collect())
    }

    /// Like [`Scope::files`], with the segment, and only for guards that are
    /// meant.
    fn places(
        &self,
        view: &View,
        is_meant: impl Fn(&[GuardStep]) -> bool,
        scratch: &mut Scratch,
    ) -> Result<Vec<Placed>> {
        let mut files = Vec::new();
        for at in view.having(Having::Xattrs) {
            let Some((shard, _)) = view.glance(at) else {
                continue;
            };
            let guard = &shard.manifest.guard;
            if self.is_elsewhere(guard) || !is_meant(guard) {
                continue;
            }
            let barrier = last_barrier(guard);
            if let Some(file) = view.file(at, Table::Xattrs)? {
                let rows = self.rows(&file, barrier, scratch)?;
                let live = without(view.dead(at, Table::Xattrs), &rows);
                files.extend(live.map(|rows| (at, Arc::clone(&file), rows)));
            }
        }
        Ok(files)
    }

    /// True if a shard lies behind a barrier that does not concern the scope.
    fn is_elsewhere(&self, guard: &[GuardStep]) -> bool {
        let is_elsewhere = |barrier: &[u8]| match self {
            Scope::Entry { dir, name } => {
                // Behind an entry's own barrier lies a copy of its attributes.
                !path::is_within(dir, barrier) && path::append(dir, name) != barrier
            }
            Scope::Below(dir) | Scope::AllBelow(dir) => {
                !path::is_within(dir, barrier) && !path::is_within(barrier, dir)
            }
            Scope::In(dir) => {
                let is_child = path::split(barrier).is_some_and(|(above, _)| above == *dir);
                !path::is_within(dir, barrier) && !is_child
            }
        };
        guard.iter().any(|step| match step {
            GuardStep::Barrier { path, .. } => is_elsewhere(path),
            GuardStep::Predicate { .. } => false,
        })
    }

    /// Returns the rows of a table. The table may begin with copies of the
    /// attributes of the directory behind `barrier`, which `Below` leaves out.
    fn rows(
        &self,
        file: &SegmentFile,
        barrier: Option<&[u8]>,
        scratch: &mut Scratch,
    ) -> Result<Range<u64>> {
        let mut start = lower_bound(
            file,
            0..file.rows(),
            scratch,
            |at_dir, at_name| match self {
                Scope::Entry { dir, name } => {
                    order((at_dir, at_name), (dir, name)) == Ordering::Less
                }
                Scope::In(dir) => path::cmp(at_dir, dir) == Ordering::Less,
                // The row of `/` itself has an empty name.
                Scope::Below(dir) | Scope::AllBelow(dir) => {
                    order((at_dir, at_name), (dir, b"")) != Ordering::Greater
                }
            },
        )?;
        if let (Scope::Below(_), Some(copied)) = (self, barrier.and_then(path::split)) {
            start = lower_bound(file, start..file.rows(), scratch, |at_dir, at_name| {
                order((at_dir, at_name), copied) != Ordering::Greater
            })?;
        }
        let end = lower_bound(
            file,
            start..file.rows(),
            scratch,
            |at_dir, at_name| match self {
                Scope::Entry { dir, name } => at_dir == *dir && at_name == *name,
                Scope::Below(dir) | Scope::AllBelow(dir) => path::is_within(at_dir, dir),
                Scope::In(dir) => at_dir == *dir,
            },
        )?;
        Ok(start..end)
    }
}

/// Returns the rows of xattrs tables for the entries of a directory, or for
/// everything below it.
pub(crate) fn rows_of(
    view: &View,
    dir: &[u8],
    reach: Reach,
    values: Values,
    scratch: &mut Scratch,
) -> Result<Vec<(SegmentAt, Range<u64>)>> {
    let scope = match reach {
        Reach::Itself => Scope::In(dir),
        Reach::Subtree => Scope::AllBelow(dir),
    };
    let is_meant = |guard: &[GuardStep]| values == Values::Some || is_superusers(guard);
    let found = scope.places(view, is_meant, scratch)?.into_iter();
    Ok(found.map(|(at, _, rows)| (at, rows)).collect())
}

/// Adds the directories that a segment has live values of.
pub(crate) fn directories_in(
    view: &View,
    at: SegmentAt,
    scratch: &mut Scratch,
    dirs: &mut Vec<Vec<u8>>,
) -> Result<()> {
    let Some(file) = view.file(at, Table::Xattrs)? else {
        return Ok(());
    };
    for rows in without(view.dead(at, Table::Xattrs), &(0..file.rows())) {
        for rows in chunks(rows, SCAN_ROWS) {
            let (keys, _) = read_keys(&file, rows, scratch)?;
            dirs.extend((0..keys.len()).map(|row| keys.get(row).to_vec()));
        }
    }
    Ok(())
}

/// Returns the rows of xattrs tables for one entry.
pub(crate) fn rows_of_entry(
    view: &View,
    (dir, name): (&[u8], &[u8]),
    scratch: &mut Scratch,
) -> Result<Vec<(SegmentAt, Range<u64>)>> {
    let found = Scope::Entry { dir, name }.places(view, |_| true, scratch)?;
    let found = found.into_iter();
    Ok(found.map(|(at, _, rows)| (at, rows)).collect())
}

/// True if only the superuser may read what is behind a guard. Attributes that
/// rows do not name are stored there.
fn is_superusers(guard: &[GuardStep]) -> bool {
    let last = guard.last();
    let who = last.and_then(|step| match step {
        GuardStep::Predicate { who } => Predicate::parse(who),
        GuardStep::Barrier { .. } => None,
    });
    who.is_some_and(|who| who.is_superuser_only())
}

/// Returns the path of the innermost barrier of a guard.
fn last_barrier(guard: &[GuardStep]) -> Option<&[u8]> {
    guard.iter().rev().find_map(|step| match step {
        GuardStep::Barrier { path, .. } => Some(&path[..]),
        GuardStep::Predicate { .. } => None,
    })
}

/// Compares entries in path order, given as directory and name.
pub(crate) fn order(a: (&[u8], &[u8]), b: (&[u8], &[u8])) -> Ordering {
    path::cmp(a.0, b.0).then_with(|| a.1.cmp(b.1))
}

/// Returns the first of `rows` that is not `before`, or their end.
fn lower_bound(
    file: &SegmentFile,
    rows: Range<u64>,
    scratch: &mut Scratch,
    before: impl Fn(&[u8], &[u8]) -> bool,
) -> Result<u64> {
    let Range { mut start, mut end } = rows;
    while start < end {
        let middle = start + (end - start) / 2;
        let (dir, name) = read_keys(file, middle..middle + 1, scratch)?;
        match before(dir.get(0), name.get(0)) {
            true => start = middle + 1,
            false => end = middle,
        }
    }
    Ok(start)
}

/// Reads directories and names of rows.
fn read_keys(
    file: &SegmentFile,
    rows: Range<u64>,
    scratch: &mut Scratch,
) -> Result<(ByteColumn, ByteColumn)> {
    let ranges = [rows];
    let mut read = |text: XattrColumn, raw: XattrColumn| {
        read_text(file, text as usize, raw as usize, &ranges, scratch)
    };
    let dir = read(XattrColumn::Dir, XattrColumn::DirRaw)?;
    let name = read(XattrColumn::Name, XattrColumn::NameRaw)?;
    Ok((dir, name))
}

/// Consecutive rows of an xattrs table.
#[derive(Default)]
pub(crate) struct Chunk {
    pub(crate) dir: ByteColumn,
    pub(crate) name: ByteColumn,
    pub(crate) attr: ByteColumn,
    pub(crate) value: ByteColumn,
}

impl Chunk {
    pub(crate) fn read(
        file: &SegmentFile,
        rows: Range<u64>,
        scratch: &mut Scratch,
    ) -> Result<Chunk> {
        let (dir, name) = read_keys(file, rows.clone(), scratch)?;
        let mut chunk = Chunk {
            dir,
            name,
            ..Chunk::default()
        };
        let ranges = [rows];
        let (attr, value) = (XattrColumn::Attr as usize, XattrColumn::Value as usize);
        file.strings(attr, &ranges, scratch, &mut chunk.attr)?;
        file.strings(value, &ranges, scratch, &mut chunk.value)?;
        let odd = |at: usize| {
            let (dir, name) = (chunk.dir.get(at), chunk.name.get(at));
            name.iter().any(|byte| matches!(byte, b'/' | 0))
                || (name.is_empty() && !dir.is_empty())
                || dir.contains(&0)
                || chunk.attr.get(at).contains(&0)
        };
        if (0..chunk.name.len()).any(odd) {
            return Err(file.damaged("it contains invalid names"));
        }
        Ok(chunk)
    }

    fn path(&self, at: usize) -> Vec<u8> {
        path::append(self.dir.get(at), self.name.get(at))
    }
}

/// An entry of a stream: its directory and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    dir: Vec<u8>,
    name: Vec<u8>,
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        order((&self.dir, &self.name), (&other.dir, &other.name))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The remaining rows of one table.
struct Cursor {
    file: Arc<SegmentFile>,
    rest: Range<u64>,
    chunk: Chunk,
    next: usize,
}

impl Cursor {
    /// Returns the key of the next row, reading it if necessary.
    fn key(&mut self, scratch: &mut Scratch) -> Result<Option<Key>> {
        if self.next >= self.chunk.name.len() {
            let end = self.rest.end.min(self.rest.start + CHUNK_ROWS);
            if self.rest.start >= end {
                return Ok(None);
            }
            self.chunk = Chunk::read(&self.file, self.rest.start..end, scratch)?;
            (self.rest.start, self.next) = (end, 0);
        }
        Ok(Some(Key {
            dir: self.chunk.dir.get(self.next).to_vec(),
            name: self.chunk.name.get(self.next).to_vec(),
        }))
    }
}

/// Iterates over the values of all segments, entry by entry in path order.
struct Stream {
    cursors: Vec<Cursor>,
    heads: BinaryHeap<Reverse<(Key, usize)>>,
    scratch: Scratch,
}

impl Stream {
    fn new(view: &View, scope: &Scope<'_>) -> Result<Stream> {
        let mut scratch = match scope {
            Scope::Entry { .. } => Scratch::for_lookups(),
            _ => Scratch::default(),
        };
        let files = scope.files(view, &mut scratch)?;
        let cursor = |(file, rest)| Cursor {
            file,
            rest,
            chunk: Chunk::default(),
            next: 0,
        };
        let mut stream = Stream {
            cursors: files.into_iter().map(cursor).collect(),
            heads: BinaryHeap::new(),
            scratch,
        };
        for at in 0..stream.cursors.len() {
            stream.push_head(at)?;
        }
        Ok(stream)
    }

    fn push_head(&mut self, at: usize) -> Result<()> {
        if let Some(cursor) = self.cursors.get_mut(at)
            && let Some(key) = cursor.key(&mut self.scratch)?
        {
            self.heads.push(Reverse((key, at)));
        }
        Ok(())
    }

    fn peek(&self) -> Option<&Key> {
        self.heads.peek().map(|Reverse((key, _))| key)
    }

    /// Returns the next entry and its values.
    fn next_entry(&mut self) -> Result<Option<(Key, Vec<Attribute>)>> {
        let Some(key) = self.peek().cloned() else {
            return Ok(None);
        };
        let mut values = Vec::new();
        while self.peek() == Some(&key) {
            let Some(Reverse((_, at))) = self.heads.pop() else {
                break;
            };
            if let Some(cursor) = self.cursors.get_mut(at) {
                values.push(Attribute {
                    name: cursor.chunk.attr.get(cursor.next).to_vec(),
                    value: Some(cursor.chunk.value.get(cursor.next).to_vec()),
                });
                cursor.next += 1;
            }
            self.push_head(at)?;
        }
        Ok(Some((key, values)))
    }
}

/// An entry's attributes according to its row.
struct Noted {
    name: Vec<u8>,
    is_link: bool,
    names: Vec<u8>,
    acl: Vec<u8>,
    acl_default: Vec<u8>,
}

impl Noted {
    fn of(row: &Row<'_>) -> Noted {
        Noted {
            name: row.name().to_vec(),
            is_link: row.file_type() == FileType::Symlink,
            names: row.xattr_names().to_vec(),
            acl: row.acl().to_vec(),
            acl_default: row.acl_default().to_vec(),
        }
    }

    /// Returns all attributes, given the values that can be read.
    fn with(&self, mut values: Vec<Attribute>) -> Vec<Attribute> {
        let acls = [(ACL_ACCESS, &self.acl), (ACL_DEFAULT, &self.acl_default)];
        for (name, value) in acls.into_iter().filter(|(_, value)| !value.is_empty()) {
            values.push(Attribute {
                name: name.to_vec(),
                value: Some(value.clone()),
            });
        }
        let names = self.names.split(|byte| *byte == 0);
        for name in names.filter(|name| !name.is_empty()) {
            if !values.iter().any(|attribute| attribute.name == name) {
                values.push(Attribute {
                    name: name.to_vec(),
                    value: None,
                });
            }
        }
        values.sort_by(|a, b| a.name.cmp(&b.name));
        values.dedup_by(|a, b| a.name == b.name);
        values
    }
}

/// A directory, and its entries with attributes.
type Directory = (Vec<u8>, Vec<Noted>);

/// Collects the rows of a listing that have attributes.
fn note(listing: &Listing<'_>, links: Links, out: &mut Vec<Directory>) {
    let dir = listing.dir.path;
    let rows = listing.range.clone().map(|at| Row {
        batch: listing.batch,
        at,
        dir,
    });
    let has_any = |row: &Row<'_>| {
        let is_wanted = links == Links::Always && row.file_type() == FileType::Symlink;
        let values = [row.xattr_names(), row.acl(), row.acl_default()];
        is_wanted || values.iter().any(|value| !value.is_empty())
    };
    let noted: Vec<Noted> = rows.filter(has_any).map(|row| Noted::of(&row)).collect();
    if !noted.is_empty() {
        out.push((dir.to_vec(), noted));
    }
}

/// Joins rows and values.
struct Join<V> {
    stream: Stream,
    /// Maximum depth of an entry's path.
    deepest: usize,
    /// A directory that may have more rows.
    pending: Directory,
    visit: V,
}

impl<V: FnMut(Attributed) -> ControlFlow<()>> Join<V> {
    fn add_all(&mut self, directories: Vec<Directory>) -> Result<ControlFlow<()>> {
        for directory in directories {
            if self.add(directory)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn add(&mut self, (dir, noted): Directory) -> Result<ControlFlow<()>> {
        if dir != self.pending.0 && self.flush()?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        self.pending.0 = dir;
        self.pending.1.extend(noted);
        Ok(ControlFlow::Continue(()))
    }

    /// Reports the pending directory's entries.
    fn flush(&mut self) -> Result<ControlFlow<()>> {
        let (dir, mut noted) = std::mem::take(&mut self.pending);
        noted.sort_by(|a, b| a.name.cmp(&b.name));
        for noted in noted {
            let key = Key {
                dir: dir.clone(),
                name: noted.name.clone(),
            };
            if self.give_before(Some(&key))?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            let values = match self.stream.peek() == Some(&key) {
                true => self.stream.next_entry()?.map(|(_, values)| values),
                false => None,
            };
            let attributes = noted.with(values.unwrap_or_default());
            if self.give(&key, noted.is_link, attributes).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Reports entries before `end` whose attributes are known only from
    /// values.
    fn give_before(&mut self, end: Option<&Key>) -> Result<ControlFlow<()>> {
        while let Some(next) = self.stream.peek() {
            if end.is_some_and(|end| next >= end) {
                break;
            }
            let Some((key, values)) = self.stream.next_entry()? else {
                break;
            };
            let row = Noted {
                name: Vec::new(),
                is_link: false,
                names: Vec::new(),
                acl: Vec::new(),
                acl_default: Vec::new(),
            };
            if path::depth(&key.dir) < self.deepest
                && self.give(&key, false, row.with(values)).is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn give(&mut self, key: &Key, is_link: bool, attributes: Vec<Attribute>) -> ControlFlow<()> {
        (self.visit)(Attributed {
            path: path::append(&key.dir, &key.name),
            is_link,
            attributes,
        })
    }
}
