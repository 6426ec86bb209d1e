//! Disk usage: the space of each directory with everything below it, as du(1)
//! counts.
//!
//! One pass visits the directories in path order with a stack of the open ones,
//! so memory is proportional to the depth and not to the size of the tree. A
//! directory is reported after everything below it. An object with several
//! names counts once, at the first name in path order. (GNU du uses the order
//! of readdir(3): single directories may differ if hard links cross them, but a
//! sum over all links does not.)

use crate::decode::decode;
use crate::denied::DeniedRequest;
use crate::directories::{DirRequest, DirStream, Directory, Facts};
use crate::error::Result;
use crate::index::{Index, Start, View};
use crate::links::{LinkReader, SeenLinks};
use crate::plan::Plan;
use crate::segment::Scratch;
use crate::walk::{Listing, Order, Request, check_cancelled_by};
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use trawl_model::column::{Column, ColumnSet};
use trawl_model::filter::{Clause, Filter};
use trawl_model::rows::Row;
use trawl_model::{FileType, Regions, path};

/// The space used by an entry and everything below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Allocated 512-byte units.
    pub blocks: u64,
    /// Sum of apparent sizes in bytes.
    pub size_bytes: u64,
    /// The part of `size_bytes` that is the directories' own sizes (newer
    /// versions of du leave it out).
    pub dir_size_bytes: u64,
    /// Number of objects, each counted once, including the entry itself.
    pub inodes: u64,
}

impl Usage {
    /// Adds the usage of another entry.
    pub fn add(&mut self, other: &Usage) {
        self.blocks = self.blocks.wrapping_add(other.blocks);
        self.size_bytes = self.size_bytes.wrapping_add(other.size_bytes);
        self.dir_size_bytes = self.dir_size_bytes.wrapping_add(other.dir_size_bytes);
        self.inodes = self.inodes.wrapping_add(other.inodes);
    }

    fn subtract(&mut self, other: &Usage) {
        self.blocks = self.blocks.wrapping_sub(other.blocks);
        self.size_bytes = self.size_bytes.wrapping_sub(other.size_bytes);
        self.dir_size_bytes = self.dir_size_bytes.wrapping_sub(other.dir_size_bytes);
        self.inodes = self.inodes.wrapping_sub(other.inodes);
    }

    /// Returns the usage of one object.
    fn of_row(row: &Row<'_>) -> Usage {
        let is_dir = row.file_type() == FileType::Directory;
        Usage {
            blocks: row.blocks(),
            size_bytes: row.size(),
            dir_size_bytes: if is_dir { row.size() } else { 0 },
            inodes: 1,
        }
    }
}

/// The entries that are reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Directories.
    #[default]
    Directories,
    /// Listed directories. The others have no known contents, and their rows
    /// are not read.
    Listed,
    /// All entries (`du -a`).
    Everything,
}

/// A disk usage query.
#[derive(Clone, Copy, Debug, Default)]
pub struct UsageRequest<'a> {
    /// Maximum depth of reported entries, as in `du -d`; deeper ones are still
    /// counted.
    pub max_depth: Option<usize>,
    /// The entries to report.
    pub detail: Detail,
    /// Cancels the query with
    /// [`QueryError::Cancelled`](crate::QueryError::Cancelled) soon after it is
    /// set.
    pub cancel: Option<&'a AtomicBool>,
}

/// The usage of a directory or, with [`Detail::Everything`], of any entry.
#[derive(Clone, Copy, Debug)]
pub struct UsageOf<'a> {
    /// Absolute path, as stored.
    pub path: &'a [u8],
    /// Depth below the start, which has depth 0.
    pub depth: usize,
    /// True if it is a directory.
    pub is_dir: bool,
    /// The usage of the entry with everything below it.
    pub usage: Usage,
}

impl Index {
    /// Reports the usage of `start` and each directory below it, children
    /// before their parents and `start` last. Returns the usage of `start`.
    /// `seen` holds the links counted before, for queries with several starts.
    ///
    /// If `visit` breaks, returns the usage counted so far.
    pub fn usage(
        &self,
        start: &Start,
        request: &UsageRequest<'_>,
        seen: &mut SeenLinks,
        visit: impl FnMut(&UsageOf<'_>) -> ControlFlow<()>,
    ) -> Result<Usage> {
        let closed = match request.detail {
            Detail::Listed => Closed::new(),
            _ => self.closed_below(start, request)?,
        };
        let mut tally = Tally {
            start,
            request,
            closed,
            frames: Vec::new(),
            seen,
            links: LinkReader::default(),
            visit,
            total: None,
        };
        tally.run()?;
        Ok(tally.total.unwrap_or_default())
    }

    /// Returns the directories below `start` that the asker may not list.
    fn closed_below(&self, start: &Start, request: &UsageRequest<'_>) -> Result<Closed> {
        let denied = DeniedRequest {
            cancel: request.cancel,
            ..DeniedRequest::default()
        };
        let (mut paths, mut parents) = (HashSet::new(), Regions::default());
        self.denied(start, &denied, |dir| {
            if let Some((parent, _)) = path::split(dir) {
                parents.add(parent);
                paths.insert(dir.to_vec());
            }
            ControlFlow::Continue(())
        })?;
        let mut closed = Closed::new();
        if paths.is_empty() || paths.contains(&start.path) {
            return Ok(closed);
        }
        let rows = Request {
            columns: OF_DIRECTORY,
            filter: Filter {
                clauses: vec![Clause::directories()],
                ..Filter::default()
            },
            only: Some(&parents),
            cancel: request.cancel,
            ..Request::default()
        };
        let work = |listing: &Listing<'_>, found: &mut Vec<Unlisted>| {
            let (batch, dir) = (listing.batch, listing.dir.path);
            let rows = listing.range.clone().map(|at| Row { batch, at, dir });
            let rows = rows.map(|row| (row.path(), Usage::of_row(&row)));
            found.extend(rows.filter(|(path, _)| paths.contains(path)));
        };
        self.walk(start, &rows, work, |found: Vec<Unlisted>| {
            for one in found {
                if let Some((parent, _)) = path::split(&one.0) {
                    closed.entry(parent.to_vec()).or_default().push(one);
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok(closed)
    }
}

/// A directory that was not listed, and its own usage.
type Unlisted = (Vec<u8>, Usage);

/// Directories that the asker may not list, by the directory that contains
/// them.
type Closed = HashMap<Vec<u8>, Vec<Unlisted>>;

/// The columns read for a directory that was not listed.
const OF_DIRECTORY: ColumnSet =
    ColumnSet::of(&[Column::Name, Column::Mode, Column::Size, Column::Blocks]);

/// An open directory.
struct Frame {
    path: Vec<u8>,
    depth: usize,
    /// Usage of the directory itself.
    own: Usage,
    /// Usage of the directory and of everything below it so far.
    usage: Usage,
    /// Number of directories among its rows.
    dirs: u64,
    /// Number of its direct subdirectories that were listed.
    listed: u64,
}

struct Tally<'a, V> {
    start: &'a Start,
    request: &'a UsageRequest<'a>,
    closed: Closed,
    frames: Vec<Frame>,
    seen: &'a mut SeenLinks,
    links: LinkReader,
    visit: V,
    total: Option<Usage>,
}

impl<'a, V: FnMut(&UsageOf<'_>) -> ControlFlow<()>> Tally<'a, V> {
    fn run(&mut self) -> Result<()> {
        let row = Row {
            batch: &self.start.row,
            at: 0,
            dir: b"",
        };
        let own = Usage::of_row(&row);
        if !self.start.is_dir {
            let is_new = row.nlink() < 2 || self.seen.is_first(row.dev().as_u64(), row.ino());
            if is_new {
                self.total = Some(own);
                let _ = self.give(&self.start.path, 0, false, own);
            }
            return Ok(());
        }
        let done = match self.request.detail {
            Detail::Directories | Detail::Listed => self.count_directories()?,
            Detail::Everything => self.count_everything()?,
        };
        if done.is_continue() && self.total.is_none() {
            // The start was not listed: it counts alone.
            self.total = Some(own);
            let _ = self.give(&self.start.path, 0, true, own);
        }
        Ok(())
    }

    fn give(&mut self, path: &[u8], depth: usize, is_dir: bool, usage: Usage) -> ControlFlow<()> {
        if self
            .request
            .max_depth
            .is_some_and(|deepest| depth > deepest)
        {
            return ControlFlow::Continue(());
        }
        let of = UsageOf {
            path,
            depth,
            is_dir,
            usage,
        };
        (self.visit)(&of)
    }

    fn count_directories(&mut self) -> Result<ControlFlow<()>> {
        let start = self.start;
        let mut stream = DirStream::new(start, &self.dir_request(), Facts::Usage)?;
        while let Some(directory) = stream.next()? {
            if self.enter(&directory)?.is_break() {
                return self.abandon();
            }
            let repeats = self.links.repeats(&start.view, &directory, self.seen)?;
            if let Some(frame) = self.frames.last_mut() {
                frame.usage.subtract(&Usage {
                    blocks: repeats.blocks,
                    size_bytes: repeats.size_bytes,
                    dir_size_bytes: 0,
                    inodes: repeats.entries,
                });
            }
        }
        self.leave_all()
    }

    fn dir_request(&self) -> DirRequest<'a> {
        DirRequest {
            max_depth: None,
            order: Order::Forward,
            cancel: self.request.cancel,
        }
    }

    /// Like [`Tally::count_directories`], but also reads the rows of each
    /// directory.
    fn count_everything(&mut self) -> Result<ControlFlow<()>> {
        let start = self.start;
        let view: &View = &start.view;
        let rows = Request {
            columns: ColumnSet::of(&[
                Column::Name,
                Column::Ino,
                Column::Dev,
                Column::Mode,
                Column::Nlink,
                Column::Size,
                Column::Blocks,
            ]),
            cancel: self.request.cancel,
            ..Request::default()
        };
        let mut stream = DirStream::new(start, &self.dir_request(), Facts::Usage)?;
        let mut plan = Plan::new(start, &rows)?;
        let mut scratch = Scratch::default();
        while let Some(morsel) = plan.next_morsel()? {
            check_cancelled_by(self.request.cancel)?;
            let decoded = decode(view, &morsel, &rows, &mut scratch)?;
            let mut result = Ok(ControlFlow::Continue(()));
            decoded.for_each_listing(&morsel, &rows, |listing| {
                if !matches!(result, Ok(ControlFlow::Continue(()))) {
                    return;
                }
                result = self.enter_up_to(&mut stream, listing.dir.path);
                for at in listing.range.clone() {
                    if matches!(result, Ok(ControlFlow::Continue(()))) {
                        let dir = listing.dir.path;
                        let batch = listing.batch;
                        result = Ok(self.count_row(&Row { batch, at, dir }, listing.dir.depth + 1));
                    }
                }
            });
            decoded.recycle(&mut scratch);
            if result?.is_break() {
                return self.abandon();
            }
        }
        self.leave_all()
    }

    /// Opens directories of the stream until `path` is open.
    fn enter_up_to(&mut self, stream: &mut DirStream<'_>, path: &[u8]) -> Result<ControlFlow<()>> {
        while self.frames.last().is_none_or(|frame| frame.path != path) {
            let Some(directory) = stream.next()? else {
                break;
            };
            if self.enter(&directory)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Subtracts an object that was counted before, or reports a new one.
    fn count_row(&mut self, row: &Row<'_>, depth: usize) -> ControlFlow<()> {
        if row.file_type() == FileType::Directory {
            return ControlFlow::Continue(());
        }
        let usage = Usage::of_row(row);
        if row.nlink() > 1 && !self.seen.is_first(row.dev().as_u64(), row.ino()) {
            if let Some(frame) = self.frames.last_mut() {
                frame.usage.subtract(&usage);
            }
            return ControlFlow::Continue(());
        }
        self.give(&row.path(), depth, false, usage)
    }

    /// Closes the directories that do not contain this one, then opens it.
    fn enter(&mut self, directory: &Directory) -> Result<ControlFlow<()>> {
        while self
            .frames
            .last()
            .is_some_and(|frame| !path::is_within(&directory.path, &frame.path))
        {
            if self.leave()?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        if let Some(parent) = self
            .frames
            .last_mut()
            .filter(|parent| parent.depth + 1 == directory.depth)
        {
            parent.listed += 1;
        }
        let own = Usage {
            blocks: directory.own.blocks,
            size_bytes: directory.own.size,
            dir_size_bytes: directory.own.size,
            inodes: 1,
        };
        let mut usage = own;
        usage.add(&Usage {
            blocks: directory.sums.blocks,
            size_bytes: directory.sums.size_bytes,
            dir_size_bytes: 0,
            inodes: directory.rows(),
        });
        self.frames.push(Frame {
            path: directory.path.clone(),
            depth: directory.depth,
            own,
            usage,
            dirs: directory.sums.dirs,
            listed: 0,
        });
        Ok(ControlFlow::Continue(()))
    }

    /// Closes the innermost directory.
    fn leave(&mut self) -> Result<ControlFlow<()>> {
        let Some(mut frame) = self.frames.pop() else {
            return Ok(ControlFlow::Continue(()));
        };
        let tells_others = self.request.detail != Detail::Listed;
        if tells_others && frame.dirs != frame.listed && self.leave_unlisted(&mut frame)?.is_break()
        {
            return Ok(ControlFlow::Break(()));
        }
        // The parent's rows already include this directory's own share. But
        // their sums do not tell which part of the sizes belongs to
        // directories.
        if let Some(parent) = self.frames.last_mut() {
            let mut below = frame.usage;
            below.subtract(&frame.own);
            below.dir_size_bytes = frame.usage.dir_size_bytes;
            parent.usage.add(&below);
        } else {
            self.total = Some(frame.usage);
        }
        Ok(self.give(&frame.path, frame.depth, true, frame.usage))
    }

    /// Reports the directories in `frame` that were not listed: because the
    /// asker may not, or because they could not be read or were left out.
    fn leave_unlisted(&mut self, frame: &mut Frame) -> Result<ControlFlow<()>> {
        let closed = self.closed.remove(&frame.path).unwrap_or_default();
        let unlisted = match closed.len() as u64 == frame.dirs.wrapping_sub(frame.listed) {
            true => closed,
            false => self.find_unlisted(frame)?,
        };
        for (path, usage) in unlisted {
            frame.usage.dir_size_bytes = frame.usage.dir_size_bytes.wrapping_add(usage.size_bytes);
            if self.give(&path, frame.depth + 1, true, usage).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Compares the rows of a directory with the listed directories.
    fn find_unlisted(&self, frame: &Frame) -> Result<Vec<Unlisted>> {
        let inner = (&self.start.view, &frame.path[..]);
        let mut unlisted = Vec::new();
        unlisted_in(inner, OF_DIRECTORY, self.request.cancel, |row| {
            unlisted.push((row.path(), Usage::of_row(row)));
        })?;
        Ok(unlisted)
    }

    fn leave_all(&mut self) -> Result<ControlFlow<()>> {
        while !self.frames.is_empty() {
            if self.leave()?.is_break() {
                return self.abandon();
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Sums up the usage counted until the caller broke off.
    fn abandon(&mut self) -> Result<ControlFlow<()>> {
        while let Some(frame) = self.frames.pop() {
            let mut below = frame.usage;
            match self.frames.last_mut() {
                Some(parent) => {
                    below.subtract(&frame.own);
                    below.dir_size_bytes = frame.usage.dir_size_bytes;
                    parent.usage.add(&below);
                }
                None => self.total = Some(below),
            }
        }
        Ok(ControlFlow::Break(()))
    }
}

/// Gives the rows of the directories directly in `dir` that are not listed. The columns must contain
/// the name and the mode.
pub(crate) fn unlisted_in(
    (view, dir): (&Arc<View>, &[u8]),
    columns: ColumnSet,
    cancel: Option<&AtomicBool>,
    mut visit: impl FnMut(&Row<'_>),
) -> Result<()> {
    let dir = Start::at(view, dir);
    let mut listed = HashSet::new();
    let request = DirRequest {
        max_depth: Some(1),
        order: Order::Forward,
        cancel,
    };
    let mut stream = DirStream::new(&dir, &request, Facts::Usage)?;
    while let Some(directory) = stream.next()? {
        listed.insert(directory.path);
    }
    let request = Request {
        columns,
        max_depth: Some(1),
        cancel,
        ..Request::default()
    };
    let mut plan = Plan::new(&dir, &request)?;
    let mut scratch = Scratch::default();
    while let Some(morsel) = plan.next_morsel()? {
        let decoded = decode(view, &morsel, &request, &mut scratch)?;
        decoded.for_each_listing(&morsel, &request, |listing| {
            let (batch, dir) = (listing.batch, listing.dir.path);
            let rows = listing.range.clone().map(|at| Row { batch, at, dir });
            let dirs = rows.filter(|row| row.file_type() == FileType::Directory);
            dirs.filter(|row| !listed.contains(&row.path()))
                .for_each(|row| visit(&row));
        });
    }
    Ok(())
}
