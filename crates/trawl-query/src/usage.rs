//! Disk usage: for each directory what it and all below it take up, as du(1)
//! counts.
//!
//! One pass over the directories in path order with a stack of those that
//! are open, so that memory goes with the depth and not with the tree. A
//! directory is given when everything below it was. Objects with several
//! names are counted once, at the first name in that order (GNU du takes
//! the order of readdir(3), so that single directories may differ where
//! links cross them, but no sum over all links does).

use crate::decode::decode;
use crate::directories::{DirRequest, DirStream, Directory, Facts};
use crate::error::Result;
use crate::index::{Index, Start, View};
use crate::links::{LinkReader, SeenLinks};
use crate::plan::Plan;
use crate::segment::Scratch;
use crate::walk::{Order, Request, check_cancelled_by};
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use trawl_model::column::{Column, ColumnSet};
use trawl_model::rows::Row;
use trawl_model::{FileType, path};

/// What something and all below it take up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Allocated 512-byte units.
    pub blocks: u64,
    /// Apparent sizes, bytes.
    pub size_bytes: u64,
    /// The part of `size_bytes` that is directories' own sizes (which newer
    /// versions of du leave out).
    pub dir_size_bytes: u64,
    /// Objects, each counted once, the thing itself included.
    pub inodes: u64,
}

impl Usage {
    /// Adds what something else takes up.
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

    /// One object of this size.
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

/// What is given one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Directories.
    #[default]
    Directories,
    /// Directories that were listed; for the others, which hold nothing that
    /// is known, no rows are read.
    Listed,
    /// And all else (`du -a`).
    Everything,
}

/// Which usage is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct UsageRequest<'a> {
    /// What lies deeper is counted, but not given (`du -d`).
    pub max_depth: Option<usize>,
    /// What is given.
    pub detail: Detail,
    /// Ends it with [`QueryError::Cancelled`](crate::QueryError::Cancelled)
    /// soon after it is set.
    pub cancel: Option<&'a AtomicBool>,
}

/// A directory, or with [`Detail::Everything`] something else.
#[derive(Clone, Copy, Debug)]
pub struct UsageOf<'a> {
    /// Absolute path, as stored.
    pub path: &'a [u8],
    /// How far below the start, which is at depth 0.
    pub depth: usize,
    /// True if it is a directory.
    pub is_dir: bool,
    /// What it takes up with all below it.
    pub usage: Usage,
}

impl Index {
    /// Gives what each directory from `start` downwards takes up, those
    /// below a directory before it, `start` last; and returns that of
    /// `start`. `seen` are links counted before, for several starts.
    ///
    /// If `visit` ends it, what was counted so far is returned.
    pub fn usage(
        &self,
        start: &Start,
        request: &UsageRequest<'_>,
        seen: &mut SeenLinks,
        visit: impl FnMut(&UsageOf<'_>) -> ControlFlow<()>,
    ) -> Result<Usage> {
        let mut tally = Tally {
            start,
            request,
            frames: Vec::new(),
            seen,
            links: LinkReader::default(),
            visit,
            total: None,
        };
        tally.run()?;
        Ok(tally.total.unwrap_or_default())
    }
}

/// An open directory.
struct Frame {
    path: Vec<u8>,
    depth: usize,
    /// Its own attributes' share.
    own: Usage,
    /// Itself and everything below so far.
    usage: Usage,
    /// Directories among its rows.
    dirs: u64,
    /// Directories right below that were listed.
    listed: u64,
}

struct Tally<'a, V> {
    start: &'a Start,
    request: &'a UsageRequest<'a>,
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
            // It was not listed: it counts, with nothing below.
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

    /// As [`Tally::count_directories`], with the rows in step with the
    /// directories that they lie in.
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

    /// Counts out what was counted before, and gives what is new.
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

    /// Opens a directory, having closed those that it does not lie in.
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
        // Its parent's rows have its own share already, except that the
        // sums there do not tell what of the sizes are directories'.
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

    /// Gives the directories in `frame` that were not listed: those that
    /// could not be read, or were left out.
    fn leave_unlisted(&mut self, frame: &mut Frame) -> Result<ControlFlow<()>> {
        let inner = Start {
            view: self.start.view.clone(),
            path: frame.path.clone(),
            row: self.start.row.clone(),
            is_dir: true,
        };
        let mut listed = HashSet::new();
        let request = DirRequest {
            max_depth: Some(1),
            ..self.dir_request()
        };
        let mut stream = DirStream::new(&inner, &request, Facts::Usage)?;
        while let Some(directory) = stream.next()? {
            listed.insert(directory.path);
        }
        let columns = ColumnSet::of(&[Column::Name, Column::Mode, Column::Size, Column::Blocks]);
        let request = Request {
            columns,
            max_depth: Some(1),
            cancel: self.request.cancel,
            ..Request::default()
        };
        let mut plan = Plan::new(&inner, &request)?;
        let mut scratch = Scratch::default();
        let mut flow = ControlFlow::Continue(());
        while let Some(morsel) = plan.next_morsel()? {
            let decoded = decode(&inner.view, &morsel, &request, &mut scratch)?;
            decoded.for_each_listing(&morsel, &request, |listing| {
                for at in listing.range.clone() {
                    let (batch, dir) = (listing.batch, listing.dir.path);
                    let row = Row { batch, at, dir };
                    let path = row.path();
                    if row.file_type() == FileType::Directory
                        && !listed.contains(&path)
                        && flow.is_continue()
                    {
                        let usage = Usage::of_row(&row);
                        frame.usage.dir_size_bytes =
                            frame.usage.dir_size_bytes.wrapping_add(usage.size_bytes);
                        flow = self.give(&path, frame.depth + 1, true, usage);
                    }
                }
            });
        }
        Ok(flow)
    }

    fn leave_all(&mut self) -> Result<ControlFlow<()>> {
        while !self.frames.is_empty() {
            if self.leave()?.is_break() {
                return self.abandon();
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// What was counted until the caller ended it.
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
