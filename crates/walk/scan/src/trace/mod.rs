//! GUFI's text traces: a tree recorded by `gufi_dir2trace` (or written by hand for a test).
//!
//! A directory's line opens its *stanza*, which contains its entries that are not directories.
//! Stanzas may be in any order. A first pass builds a table of the directories (see `table`); a
//! second pass visits them in depth-first order and reads each stanza from its place in the file.
//! Memory is proportional to the number of directories, not of entries.
//!
//! A trace that comes through a pipe, and so cannot be read twice, is read once. Its directories
//! must be in depth-first order (see `stream`).
//!
//! A trace is untrusted: each error in it is an issue with its line number and byte offset, and
//! reading continues at the next line. A trace does not contain device numbers (0), nanoseconds
//! (0), attribute flags, project ids, the permissions of directories above its root, or usually
//! ACLs.

mod line;
mod stanza;
mod stream;
mod table;
mod window;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use trawl_model::sink::SourceRoot;
use trawl_model::{DirBatch, DirId, Entry, Sink};

use self::line::LINE_BYTES_MAX;
use self::stanza::{Collector, Position, access, parse_issue};
use self::table::{Outcome, Reachability, Table, TraceDir};
use self::window::{READ_AHEAD_BYTES, Window};
use crate::error::ScanError;
use crate::progress::{Progress, ScanProgress};

/// Name that stands for standard input.
pub const STANDARD_INPUT: &[u8] = b"-";

/// The options for reading a trace.
#[derive(Debug)]
pub struct TraceOptions<'a> {
    /// Path at which the tree was mounted: absolute, without a trailing slash, empty for `/`.
    /// `None` means a slash and the file's stem.
    pub root: Option<Vec<u8>>,
    /// Flag that ends the reading soon after it becomes true.
    pub cancel: &'a AtomicBool,
}

/// Reads the trace `file` into `sink` and returns the final counts. [`STANDARD_INPUT`] stands for
/// the process's standard input.
///
/// # Errors
/// Fails only if the file cannot be read or has no directory, if a pipe's directories are not in
/// depth-first order, if the cancel flag is set, or if the sink fails. Damage within the file is an
/// issue in the stream.
pub fn read_trace<S: Sink>(
    file: &Path,
    options: &TraceOptions<'_>,
    progress: &ScanProgress,
    sink: &mut S,
) -> Result<Progress, ScanError<S::Error>> {
    let name = file.as_os_str().as_bytes();
    let failed = |source: io::Error| ScanError::Trace {
        path: name.to_vec(),
        source,
    };
    let opened = open(file).map_err(failed)?;
    let about = opened.metadata().map_err(failed)?;
    let root = options.root.clone().unwrap_or_else(|| default_root(file));
    if !about.is_file() {
        return stream::read(&opened, name, root, options.cancel, progress, sink);
    }
    let size = about.len();
    let mut window = Window::new(&opened, size);
    let (table, outcome) = Table::read(&mut window, options.cancel).map_err(failed)?;
    if outcome == Outcome::Cancelled {
        return Err(ScanError::Cancelled);
    }
    if table.len() == 0 {
        return Err(ScanError::EmptyTrace {
            path: name.to_vec(),
        });
    }
    let mut replay = Replay {
        table: &table,
        window,
        root,
        progress,
        sink,
        failed: &failed,
        last_end: 0,
        in_order: 0,
    };
    replay.tell_root()?;
    replay.tell_tree(options.cancel)?;
    replay.tell_rest()?;
    Ok(progress.get())
}

/// Returns true if a trace can be read only once. Most directories are then delivered in two
/// pieces: their own entries, and their subdirectories.
pub fn is_read_once(file: &Path) -> bool {
    // A named pipe is not opened twice: its writer would see it closed.
    let about = match file.as_os_str().as_bytes() {
        STANDARD_INPUT => open(file).and_then(|opened| opened.metadata()),
        _ => std::fs::metadata(file),
    };
    about.is_ok_and(|about| !about.is_file())
}

fn open(file: &Path) -> io::Result<File> {
    match file.as_os_str().as_bytes() {
        STANDARD_INPUT => Ok(io::stdin().as_fd().try_clone_to_owned()?.into()),
        _ => File::open(file),
    }
}

/// Returns the root's own row in the form that sinks require.
fn source_root(path: &[u8], meta: trawl_model::Meta, xattrs: &[u8]) -> SourceRoot {
    let mut heap = DirBatch::default();
    let name = trawl_model::path::split(path).map_or(&[][..], |(_, name)| name);
    let mut entry = Entry {
        meta,
        name: heap.push_bytes(name),
        ..Entry::default()
    };
    let pairs = line::xattrs(xattrs).unwrap_or_default();
    stanza::add_xattrs(&mut heap, &mut entry, &pairs);
    SourceRoot {
        path: path.to_vec(),
        above: Vec::new(),
        above_on_device: 0,
        entry,
        xattrs: heap.xattrs,
        heap: heap.heap,
    }
}

/// Returns a slash and the file's name up to its last dot.
pub fn default_root(file: &Path) -> Vec<u8> {
    let stem = file.file_stem().map_or(&b"trace"[..], OsStrExt::as_bytes);
    [b"/", stem].concat()
}

/// The second pass.
struct Replay<'a, S: Sink, F> {
    table: &'a Table,
    window: Window<'a>,
    root: Vec<u8>,
    progress: &'a ScanProgress,
    sink: &'a mut S,
    failed: F,
    /// End of the last stanza, used to detect whether the file is in depth-first order.
    last_end: u64,
    /// Number of successive stanzas that each directly followed the previous one.
    in_order: u32,
}

impl<S: Sink, F: Fn(io::Error) -> ScanError<S::Error>> Replay<'_, S, F> {
    /// Returns the absolute path of a directory.
    fn path(&self, dir: &TraceDir) -> Vec<u8> {
        let relative = self.table.relative_path(dir);
        if relative.is_empty() {
            self.root.clone()
        } else {
            trawl_model::path::join(&self.root, &relative)
        }
    }

    fn tell_root(&mut self) -> Result<(), ScanError<S::Error>> {
        let Some(dir) = self.table.dir(0) else {
            return Ok(());
        };
        let root = source_root(&self.root, dir.meta(), self.table.xattrs(dir));
        self.sink.root(root).map_err(ScanError::Sink)
    }

    /// Delivers all directories that can be reached from the root.
    fn tell_tree(&mut self, cancel: &AtomicBool) -> Result<(), ScanError<S::Error>> {
        let table = self.table;
        let end = table.dir(0).map_or(0, |root| root.subtree_end as usize);
        let mut open: Vec<usize> = Vec::new();
        let mut index = 0;
        while let Some(dir) = table.dir(index).filter(|_| index < end) {
            if cancel.load(Ordering::Relaxed) {
                return Err(ScanError::Cancelled);
            }
            self.close(&mut open, index)?;
            if dir.place == Reachability::InTree {
                let parent = open.last().map(|parent| DirId(*parent as u64));
                self.tell_directory(index, dir, parent)?;
                open.push(index);
                index += 1;
            } else {
                // The issue was delivered with the directory above it.
                index = dir.subtree_end as usize;
            }
        }
        self.close(&mut open, usize::MAX)
    }

    /// Ends the subtrees that do not contain `index`.
    fn close(&mut self, open: &mut Vec<usize>, index: usize) -> Result<(), ScanError<S::Error>> {
        while let Some(last) = open.last()
            && self
                .table
                .dir(*last)
                .is_none_or(|dir| dir.subtree_end as usize <= index)
        {
            self.sink
                .subtree_done(DirId(*last as u64))
                .map_err(ScanError::Sink)?;
            open.pop();
        }
        Ok(())
    }

    fn tell_directory(
        &mut self,
        index: usize,
        dir: &TraceDir,
        parent: Option<DirId>,
    ) -> Result<(), ScanError<S::Error>> {
        let own = dir.meta();
        let model = DirBatch {
            dir: DirId(index as u64),
            parent,
            path: self.path(dir),
            access: access(&own, self.table.xattrs(dir)),
            own,
            ..DirBatch::default()
        };
        let mut collector = Collector::new(model, &self.table.path(dir));
        self.tell_children(index, dir, &mut collector)?;
        self.tell_stanza(dir, &mut collector)?;
        self.send(&mut collector)
    }

    /// Delivers the rows of a directory's subdirectories, and issues for those that have no row.
    fn tell_children(
        &mut self,
        index: usize,
        dir: &TraceDir,
        collector: &mut Collector,
    ) -> Result<(), ScanError<S::Error>> {
        let table = self.table;
        let own_len = table.path(dir).len();
        for (_, child) in table.children(index) {
            let line = child.line;
            match child.place {
                Reachability::InTree => {
                    let path = table.path(child);
                    let name = path.get(own_len..).unwrap_or_default();
                    let name = name.strip_prefix(b"/").unwrap_or(name);
                    collector.add_directory(name, child.meta(), table.xattrs(child), line);
                }
                Reachability::Orphan => collector.issue(
                    self.path(child),
                    format!("line {line}: the line of the directory that holds it is missing"),
                ),
                Reachability::Twice => collector.issue(
                    self.path(child),
                    format!("line {line}: this directory came before; the entries after this line are left out"),
                ),
            }
            if collector.is_full() {
                self.send(collector)?;
            }
        }
        Ok(())
    }

    /// Delivers the entries in the directory's own stanza.
    fn tell_stanza(
        &mut self,
        dir: &TraceDir,
        collector: &mut Collector,
    ) -> Result<(), ScanError<S::Error>> {
        let end = dir.entries_end;
        collector.reserve(end.saturating_sub(dir.entries_start));
        let (mut line, mut offset) = (dir.entries_line, dir.entries_start);
        let read_ahead = self.read_ahead(dir);
        while offset < end {
            let left = usize::try_from(end - offset).unwrap_or(usize::MAX);
            let want = left.min(READ_AHEAD_BYTES);
            let bytes = self
                .window
                .get(offset, want, read_ahead)
                .map_err(&self.failed)?;
            let bytes = bytes.get(..left.min(bytes.len())).unwrap_or_default();
            let used = collect(bytes, bytes.len() == left, line, offset, collector);
            if used < left {
                line += line::newlines(bytes.get(..used).unwrap_or_default());
            }
            offset += used as u64;
            if collector.is_full() {
                self.send(collector)?;
            } else if used == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Returns how much to read beyond a stanza: more, the longer the file has been in order.
    fn read_ahead(&mut self, dir: &TraceDir) -> usize {
        let gap = dir.entries_start.checked_sub(self.last_end);
        let is_next = gap.is_some_and(|gap| gap < 1024);
        self.in_order = if is_next {
            (self.in_order + 1).min(8)
        } else {
            0
        };
        self.last_end = dir.entries_end;
        if self.in_order == 0 {
            0
        } else {
            READ_AHEAD_BYTES >> (8 - self.in_order)
        }
    }

    fn send(&mut self, collector: &mut Collector) -> Result<(), ScanError<S::Error>> {
        let batch = collector.take_batch();
        self.progress.add(collector.take_counts());
        self.sink.batch(batch).map_err(ScanError::Sink)
    }

    /// Delivers issues for everything outside the tree: lines before the first directory, and
    /// directories that are not below the first one.
    fn tell_rest(&mut self) -> Result<(), ScanError<S::Error>> {
        let mut details = Vec::new();
        if let Some((line, count)) = self.table.stray {
            details.push(format!(
                "{count} lines from line {line} on stand before the first directory"
            ));
        }
        let mut index = self
            .table
            .dir(0)
            .map_or(0, |root| root.subtree_end as usize);
        while let Some(dir) = self.table.dir(index) {
            let path = self.table.path(dir);
            let name = trawl_model::escape::escape(&path).into_owned();
            details.push(format!(
                "line {}: the directory {name} is not below the trace's first",
                dir.line
            ));
            index = dir.subtree_end as usize;
        }
        self.progress.add(Progress {
            issues: details.len() as u64,
            ..Progress::default()
        });
        for detail in details {
            let issue = parse_issue(self.root.clone(), detail);
            self.sink.issue(None, issue).map_err(ScanError::Sink)?;
        }
        Ok(())
    }
}

/// Collects the lines in `bytes` (which begin at `line` and `offset`) until they end, the collector
/// is full, or (unless `is_all`) a line is cut off; returns the number of bytes used.
fn collect(bytes: &[u8], is_all: bool, line: u64, offset: u64, collector: &mut Collector) -> usize {
    let mut at = 0;
    while at < bytes.len() && !collector.is_full() {
        let (before, rest) = bytes.split_at_checked(at).unwrap_or_default();
        let position = Position {
            line,
            offset,
            before,
        };
        at += match line::split(rest) {
            Ok(line) => {
                collector.add_line(&line, position);
                line.len
            }
            Err(_) if !is_all && rest.len() < LINE_BYTES_MAX => break,
            Err(bad) => {
                collector.add_bad_line(bad, position);
                line::resynchronise(rest).unwrap_or(rest.len())
            }
        };
    }
    at
}
