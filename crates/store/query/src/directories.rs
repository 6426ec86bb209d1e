//! Lists the directories of a scope with sums over their rows, without reading
//! the rows.

use crate::error::Result;
use crate::index::{Index, SegmentAt, Start, View};
use crate::locate::{Reach, scope};
use crate::merge::Merge;
use crate::segment::Scratch;
use crate::walk::{Order, check_cancelled_by};
use std::collections::VecDeque;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::AtomicBool;
use trawl_format::schema::DirColumn;
use trawl_model::{Dev, Gid, Timestamp, Uid, path};

/// Sums over rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Regular files.
    pub files: u64,
    /// Directories.
    pub dirs: u64,
    /// Symbolic links.
    pub symlinks: u64,
    /// Anything else.
    pub others: u64,
    /// Sum of apparent sizes, bytes.
    pub size_bytes: u64,
    /// Sum of allocated 512-byte units.
    pub blocks: u64,
}

impl Sums {
    /// The number of rows.
    pub fn entries(&self) -> u64 {
        let parts = [self.files, self.dirs, self.symlinks, self.others];
        parts.into_iter().fold(0, u64::wrapping_add)
    }

    pub(crate) fn add(&mut self, other: &Sums) {
        // Modulo 2^64, like the stored sums.
        self.files = self.files.wrapping_add(other.files);
        self.dirs = self.dirs.wrapping_add(other.dirs);
        self.symlinks = self.symlinks.wrapping_add(other.symlinks);
        self.others = self.others.wrapping_add(other.others);
        self.size_bytes = self.size_bytes.wrapping_add(other.size_bytes);
        self.blocks = self.blocks.wrapping_add(other.blocks);
    }

    pub(crate) fn subtract(&mut self, other: &Sums) {
        self.files = self.files.wrapping_sub(other.files);
        self.dirs = self.dirs.wrapping_sub(other.dirs);
        self.symlinks = self.symlinks.wrapping_sub(other.symlinks);
        self.others = self.others.wrapping_sub(other.others);
        self.size_bytes = self.size_bytes.wrapping_sub(other.size_bytes);
        self.blocks = self.blocks.wrapping_sub(other.blocks);
    }
}

/// A directory's own attributes, recorded when it was listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// Inode number.
    pub ino: u64,
    /// Device number.
    pub dev: Dev,
    /// Type and permission bits.
    pub mode: u32,
    /// Hard links.
    pub nlink: u32,
    /// Owner.
    pub uid: Uid,
    /// Owning group.
    pub gid: Gid,
    /// Apparent size, bytes.
    pub size: u64,
    /// Allocated 512-byte units.
    pub blocks: u64,
    /// Last change of its entries.
    pub mtime: Timestamp,
}

/// A listed directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory {
    /// Absolute path, as stored.
    pub path: Vec<u8>,
    /// Depth below the start, which has depth 0.
    pub depth: usize,
    /// Its own attributes.
    pub own: Own,
    /// Sums over its own rows, without those of its subdirectories. Each hard
    /// link counts.
    pub sums: Sums,
    /// Where its rows and links are stored.
    pub(crate) places: Vec<RowPlace>,
}

/// Rows of a directory in one segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowPlace {
    pub(crate) segment: SegmentAt,
    pub(crate) rows: Range<u64>,
    /// The row of the links table where its links begin.
    pub(crate) links: u64,
}

/// The directories to visit, and their order.
#[derive(Clone, Copy, Debug, Default)]
pub struct DirRequest<'a> {
    /// Maximum depth below the start.
    pub max_depth: Option<usize>,
    /// The order of directories.
    pub order: Order,
    /// Cancels the query with
    /// [`QueryError::Cancelled`](crate::QueryError::Cancelled) soon after it is
    /// set.
    pub cancel: Option<&'a AtomicBool>,
}

/// Columns read for each directory; usage needs only the first of them.
const COLUMNS: [DirColumn; 19] = [
    DirColumn::FirstRow,
    DirColumn::Rows,
    DirColumn::LinksBefore,
    DirColumn::Dirs,
    DirColumn::SizeSum,
    DirColumn::BlocksSum,
    DirColumn::OwnSize,
    DirColumn::OwnBlocks,
    DirColumn::Files,
    DirColumn::Symlinks,
    DirColumn::Others,
    DirColumn::OwnIno,
    DirColumn::OwnDev,
    DirColumn::OwnMode,
    DirColumn::OwnNlink,
    DirColumn::OwnUid,
    DirColumn::OwnGid,
    DirColumn::OwnMtime,
    DirColumn::OwnMtimeNs,
];
/// Number of leading [`COLUMNS`] that usage needs.
const USAGE_COLUMNS: usize = 8;

/// The facts to read for each directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Facts {
    /// Numbers of rows and of directories among them, and sizes; other sums and
    /// attributes are not read.
    Usage,
    /// Everything.
    All,
}

impl Directory {
    /// Number of its rows.
    pub fn rows(&self) -> u64 {
        let len = |place: &RowPlace| place.rows.end - place.rows.start;
        self.places.iter().map(len).fold(0, u64::wrapping_add)
    }
}

impl Index {
    /// Passes each listed directory at or below `start` to `visit`, in order.
    /// Sums of a directory in several segments are added up.
    pub fn directories(
        &self,
        start: &Start,
        request: &DirRequest<'_>,
        mut visit: impl FnMut(&Directory) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut stream = DirStream::new(start, request, Facts::All)?;
        while let Some(directory) = stream.next()? {
            if visit(&directory).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// Iterates over directories.
pub(crate) struct DirStream<'a> {
    merge: Merge<'a>,
    start_depth: usize,
    max_depth: usize,
    order: Order,
    cancel: Option<&'a AtomicBool>,
    ready: VecDeque<Directory>,
    ended: bool,
}

impl<'a> DirStream<'a> {
    pub(crate) fn new(
        start: &'a Start,
        request: &DirRequest<'a>,
        facts: Facts,
    ) -> Result<DirStream<'a>> {
        let view: &View = &start.view;
        let reach = match request.max_depth {
            Some(0) => Reach::Itself,
            _ => Reach::Subtree,
        };
        let spans = match start.is_dir {
            true => scope(view, &start.path, reach, &mut Scratch::for_lookups())?,
            false => Vec::new(),
        };
        let columns = match facts {
            Facts::Usage => &COLUMNS[..USAGE_COLUMNS],
            Facts::All => &COLUMNS[..],
        };
        Ok(DirStream {
            merge: Merge::new(view, spans, columns, request.order)?,
            start_depth: path::depth(&start.path),
            max_depth: request.max_depth.unwrap_or(usize::MAX),
            order: request.order,
            cancel: request.cancel,
            ready: VecDeque::new(),
            ended: false,
        })
    }

    /// Returns the next directory; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Directory>> {
        // Another segment may have a further part of the last one.
        while self.ready.len() < 2 && !self.ended {
            check_cancelled_by(self.cancel)?;
            self.read_run()?;
        }
        Ok(self.ready.pop_front())
    }

    fn read_run(&mut self) -> Result<()> {
        let Some(run) = self.merge.next_run()? else {
            self.ended = true;
            return Ok(());
        };
        let (forward, backward) = match self.order {
            Order::Forward => (Some(run.range.clone()), None),
            Order::Backward => (None, Some(run.range.clone().rev())),
        };
        for at in forward
            .into_iter()
            .flatten()
            .chain(backward.into_iter().flatten())
        {
            let path = run.chunk.path(at);
            let depth = run.chunk.depth(at).saturating_sub(self.start_depth);
            if depth > self.max_depth {
                continue;
            }
            let number = |column| run.chunk.number(column, at);
            let (sums, place) = read_sums(run.segment, &number);
            match self.ready.back_mut() {
                Some(last) if last.path == path => {
                    last.sums.add(&sums);
                    last.places.push(place);
                }
                _ => self.ready.push_back(Directory {
                    path: path.to_vec(),
                    depth,
                    own: read_own(&number),
                    sums,
                    places: vec![place],
                }),
            }
        }
        Ok(())
    }
}

fn read_sums(segment: SegmentAt, number: &impl Fn(usize) -> u64) -> (Sums, RowPlace) {
    let sums = Sums {
        files: number(8),
        dirs: number(3),
        symlinks: number(9),
        others: number(10),
        size_bytes: number(4),
        blocks: number(5),
    };
    let place = RowPlace {
        segment,
        rows: number(0)..number(0).saturating_add(number(1)),
        links: number(2),
    };
    (sums, place)
}

fn read_own(number: &impl Fn(usize) -> u64) -> Own {
    Own {
        ino: number(11),
        dev: Dev::from_u64(number(12)),
        mode: number(13) as u32,
        nlink: number(14) as u32,
        uid: Uid(number(15) as u32),
        gid: Gid(number(16) as u32),
        size: number(6),
        blocks: number(7),
        mtime: Timestamp {
            secs: number(17) as i64,
            nanos: number(18) as u32,
        },
    }
}
