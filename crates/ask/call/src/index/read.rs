//! Reads one root's part of an answer: the index's threads turn rows into records, and a bounded
//! channel passes the records to the reader.

use std::cmp::Ordering;
use std::ffi::CString;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use trawl_model::FileType;
use trawl_model::column::{Column, ColumnSet};
use trawl_model::filter::Filter;
use trawl_model::path;
use trawl_model::relative_path::join;
use trawl_model::rows::Row;
use trawl_query::{Listing, QueryError, Request as Walk};
use trawl_sys::directory::{Links, Purpose, open_below};
use trawl_sys::{CWD, Errno, Op, SysError};

use super::merge::{Listed, Merge, Turned};
use super::{Prepared, relative};
use crate::cookie::{Cookie, Stage};
use crate::error::CallError;
use crate::executor::{Block, ServedBy, Stream};
use crate::live::records::Writer;
use crate::options::{DEPTH_DEFAULT, Metadata};
use crate::record::{Attributes, Outcome, Source};
use crate::request::{Cancel, Root};

/// Maximum number of blocks that wait to be read.
const WAITING_MAX: usize = 4;
/// How often a waiting reader checks for cancellation.
const LOOKS_UP: Duration = Duration::from_millis(50);

/// A message from the reading thread.
pub(super) enum Message {
    Block(Vec<u8>),
    Failed(CallError),
    End,
}

/// The receiving end.
struct Reading {
    receiver: Option<Receiver<Message>>,
    thread: Option<JoinHandle<()>>,
    /// The caller's switch.
    cancel: Cancel,
    /// The switch that stops the thread.
    stop: Cancel,
}

/// Begins to read.
pub(super) fn begin(mut prepared: Prepared) -> Result<Box<dyn Stream>, CallError> {
    let (cancel, stop) = (prepared.request.cancel().clone(), Cancel::default());
    prepared.request = prepared.request.cancelled_by(stop.clone());
    let (sender, receiver) = sync_channel(WAITING_MAX);
    let read = move || {
        let last = match read(&prepared, &sender) {
            Ok(()) => Message::End,
            Err(error) => Message::Failed(error),
        };
        // The receiver may be gone.
        let _ = sender.send(last);
    };
    let thread = std::thread::Builder::new().name("search-index".to_owned());
    let thread = thread.spawn(read).map_err(CallError::Thread)?;
    Ok(Box::new(Reading {
        receiver: Some(receiver),
        thread: Some(thread),
        cancel,
        stop,
    }))
}

impl Stream for Reading {
    fn next_block(&mut self) -> Result<Option<Block>, CallError> {
        let Some(receiver) = &self.receiver else {
            return Ok(None);
        };
        let message = loop {
            self.cancel.check()?;
            match receiver.recv_timeout(LOOKS_UP) {
                Ok(message) => break message,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let lost = std::io::Error::other("a thread ended before its work was done");
                    return Err(CallError::Thread(lost));
                }
            }
        };
        if let Message::Block(packed) = message {
            let served_by = ServedBy::Index;
            return Ok(Some(Block { served_by, packed }));
        }
        self.receiver = None;
        match message {
            Message::Failed(error) => Err(error),
            _ => Ok(None),
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.stop.cancel();
        self.receiver = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The context in which rows are turned into records; the threads share it.
struct Turning<'a> {
    prepared: &'a Prepared,
    root: &'a Root,
    resume: Option<&'a Cookie>,
}

fn read(prepared: &Prepared, sender: &SyncSender<Message>) -> Result<(), CallError> {
    let request = &prepared.request;
    let root = &request.roots()[0];
    let mut merge = Merge::new(prepared, sender);
    if merge.root()?.is_break() {
        return Ok(());
    }
    let resume = request.resume();
    let turning = Turning {
        prepared,
        root,
        resume,
    };
    let mut flow = Ok(ControlFlow::Continue(()));
    let work = |listing: &Listing<'_>, out: &mut Turned| turning.take(listing, out);
    let emit = |turned: Turned| {
        flow = merge.add(&turned);
        match flow {
            Ok(flow) => flow,
            Err(_) => ControlFlow::Break(()),
        }
    };
    let walked = match root.pattern().levels(root.pattern().start()) {
        Some(0) => Ok(()),
        levels => {
            let walk = walk(prepared, root, levels);
            prepared.index.walk(&prepared.start, &walk, work, emit)
        }
    };
    match walked {
        Err(QueryError::Cancelled) => return Err(CallError::Cancelled),
        walked => walked?,
    }
    match flow? {
        ControlFlow::Break(()) => Ok(()),
        ControlFlow::Continue(()) => merge.finish(),
    }
}

/// Returns the walk of the index for one root, whose matches lie at most `levels` levels below it.
fn walk<'p>(prepared: &'p Prepared, root: &Root, levels: Option<usize>) -> Walk<'p> {
    let request = &prepared.request;
    let options = request.options();
    // One level more than is entered, to report directories that are too deep.
    let deepest = options.max_depth + 1;
    let skip = prepared.live.iter();
    let skip = skip.map(|dir| path::append(&prepared.start.path, dir));
    Walk {
        columns: columns(options.metadata),
        // Directories that are too deep are reported whatever their names, so no filter by name
        // applies.
        filter: match options.max_depth < DEPTH_DEFAULT {
            true => Filter::default(),
            false => Filter::of_need(root.pattern().need()),
        },
        max_depth: Some(levels.map_or(deepest, |levels| levels.min(deepest))),
        skip: skip.collect(),
        cancel: Some(request.cancel().flag()),
        ..Walk::default()
    }
}

fn columns(metadata: Metadata) -> ColumnSet {
    let basic = ColumnSet::of(&[Column::Name, Column::Mode]);
    let all = ColumnSet::of(&[
        Column::Dev,
        Column::Ino,
        Column::Nlink,
        Column::Rdev,
        Column::Size,
        Column::Blocks,
        Column::Uid,
        Column::Gid,
        Column::Blksize,
        Column::Atime,
        Column::AtimeNs,
        Column::Mtime,
        Column::MtimeNs,
        Column::Ctime,
        Column::CtimeNs,
    ]);
    match metadata {
        Metadata::Omit => basic,
        _ => basic.union(all),
    }
}

impl Turning<'_> {
    /// Turns the rows of one directory into records.
    fn take(&self, listing: &Listing<'_>, out: &mut Turned) {
        let Some(below) = relative(listing.dir.path, &self.prepared.start.path) else {
            return;
        };
        let pattern = self.root.pattern();
        let state = pattern.state_at(below);
        if state.is_none() {
            return;
        }
        let request = &self.prepared.request;
        let begin = out.packed.len();
        let packed = std::mem::take(&mut out.packed);
        let mut writer = Writer::behind(packed, request, self.root, below);
        let mut open = Open::new(listing.dir.path);
        for row in rows(listing) {
            let name = row.name();
            if pattern.accepts(&state, name) && self.gives(below, name) {
                self.entry(&row, &mut open, &mut writer);
            }
            if writer.is_full() {
                break;
            }
        }
        let is_full = writer.is_full();
        let mut records = writer.finish();
        if listing.dir.depth >= request.options().max_depth && !is_full {
            let dirs = rows(listing).filter(|row| row.file_type() == FileType::Directory);
            let dirs = dirs.filter(|row| !pattern.enter(&state, row.name()).is_none());
            dirs.for_each(|row| self.tell_too_deep(below, row.name(), &mut records.packed));
        }
        out.packed = records.packed;
        if out.packed.len() > begin {
            out.listed.push(Listed {
                dir: below.to_vec(),
                packed: begin..out.packed.len(),
                has_match: records.has_match,
            });
        }
    }

    /// Returns whether this entry is still to be returned.
    fn gives(&self, below: &[u8], name: &[u8]) -> bool {
        let Some(cookie) = self.resume else {
            return true;
        };
        match (path::cmp(below, &cookie.dir), &cookie.stage) {
            (Ordering::Less, _) => false,
            (Ordering::Equal, Stage::Name(last)) => name > &last[..],
            _ => true,
        }
    }

    fn entry(&self, row: &Row<'_>, open: &mut Open<'_>, writer: &mut Writer<'_>) {
        let options = self.prepared.request.options();
        let is_link = row.file_type() == FileType::Symlink;
        let known = match options.metadata {
            Metadata::Omit => None,
            Metadata::OfTarget if is_link => None,
            Metadata::OfTarget | Metadata::OfLink => Some(Attributes::of(&row.meta())),
        };
        let asks_nothing = options.metadata == Metadata::Omit || known.is_some();
        if asks_nothing && options.access.is_none() {
            writer.named(row.name(), Outcome::Match(known));
        } else if let Some(fd) = open.get()
            && let Ok(name) = CString::new(row.name())
        {
            writer.entry(fd.as_fd(), &name, known);
        }
    }

    /// Writes the error about a directory that is too deep, unless it was returned before.
    fn tell_too_deep(&self, below: &[u8], name: &[u8], packed: &mut Vec<u8>) {
        let dir = join(below, name);
        let was_told = self
            .resume
            .is_some_and(|cookie| match path::cmp(&dir, &cookie.dir) {
                Ordering::Less => true,
                Ordering::Equal => cookie.stage >= Stage::Own,
                Ordering::Greater => false,
            });
        if !was_told {
            let mut writer = Writer::new(&self.prepared.request, self.root, &dir);
            writer.trouble(Source::Depth, &SysError::new(Op::Openat, Errno::OVERFLOW));
            packed.extend_from_slice(&writer.finish().packed);
        }
    }
}

/// Returns the rows of a listing.
fn rows<'l>(listing: &'l Listing<'l>) -> impl Iterator<Item = Row<'l>> {
    let (batch, dir) = (listing.batch, listing.dir.path);
    listing.range.clone().map(move |at| Row { batch, at, dir })
}

/// A directory that is opened when it is first needed.
struct Open<'a> {
    path: &'a [u8],
    fd: Option<Option<OwnedFd>>,
}

impl<'a> Open<'a> {
    fn new(path: &'a [u8]) -> Open<'a> {
        Open { path, fd: None }
    }

    /// Returns the descriptor; `None` if the directory cannot be opened, so that nothing in it can
    /// be reached.
    fn get(&mut self) -> Option<&OwnedFd> {
        let path = self.path;
        let open = || {
            let path = CString::new(path::display(path)).ok()?;
            open_below(CWD, &path, Purpose::Pass, Links::Followed).ok()
        };
        self.fd.get_or_insert_with(open).as_ref()
    }
}
