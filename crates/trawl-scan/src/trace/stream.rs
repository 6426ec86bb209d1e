//! A trace that can be read only once.
//!
//! Its directories must come in depth-first order and sorted by name, so that each comes once and
//! after the one that holds it. A directory's own entries are sent when its stanza ends; the rows
//! of the directories in it are known one by one while these go by, and are sent when the last
//! has. Memory is that of the directories from the root to where the reading is, whatever the
//! length of the trace.

use std::cmp::Ordering as Order;
use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};

use trawl_model::{DirBatch, DirId, Meta, Sink, path};

use super::line::{self, LINE_BYTES_MAX, Line};
use super::stanza::{Collector, Position, access, parse_issue};
use super::window::READ_AHEAD_BYTES;
use crate::error::ScanError;
use crate::progress::{Progress, ScanProgress};

/// Reads the whole trace.
///
/// # Errors
/// As [`super::read_trace`].
pub(crate) fn read<S: Sink>(
    file: &File,
    name: &[u8],
    root: Vec<u8>,
    cancel: &AtomicBool,
    progress: &ScanProgress,
    sink: &mut S,
) -> Result<Progress, ScanError<S::Error>> {
    let mut stream = Stream {
        name,
        root,
        progress,
        sink,
        trace_root: Vec::new(),
        last: None,
        open: Vec::new(),
        next: 0,
        stray: None,
    };
    let mut input = Input::new(file);
    while input.fill().map_err(|source| ScanError::Trace {
        path: name.to_vec(),
        source,
    })? {
        if cancel.load(Ordering::Relaxed) {
            return Err(ScanError::Cancelled);
        }
        stream.take_lines(&mut input)?;
    }
    stream.end()?;
    Ok(progress.get())
}

/// What was read and not yet used.
struct Input<'a> {
    file: &'a File,
    buffer: Vec<u8>,
    used: usize,
    filled: usize,
    at_end: bool,
    /// Of the first unused byte.
    offset: u64,
    line: u64,
}

impl<'a> Input<'a> {
    fn new(file: &'a File) -> Input<'a> {
        Input {
            file,
            buffer: vec![0; LINE_BYTES_MAX + READ_AHEAD_BYTES],
            used: 0,
            filled: 0,
            at_end: false,
            offset: 0,
            line: 1,
        }
    }

    /// Reads more behind what is left; false if there is nothing any more.
    fn fill(&mut self) -> io::Result<bool> {
        self.buffer.copy_within(self.used..self.filled, 0);
        self.filled -= self.used;
        self.used = 0;
        while !self.at_end && self.filled < self.buffer.len() {
            let room = self.buffer.get_mut(self.filled..).unwrap_or_default();
            match self.file.read(room) {
                Ok(0) => self.at_end = true,
                Ok(more) => self.filled += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.filled > 0)
    }

    fn unused(&self) -> &[u8] {
        self.buffer.get(self.used..self.filled).unwrap_or_default()
    }

    /// Whether what is left may end within a line.
    fn may_be_cut(&self) -> bool {
        !self.at_end && self.filled - self.used < LINE_BYTES_MAX
    }
}

/// A directory of which more may come.
struct Open {
    id: DirId,
    /// In the trace, with a leading slash; empty for the trace's own `/`.
    path: Vec<u8>,
    collector: Collector,
    /// Nothing has been sent of it.
    is_new: bool,
}

struct Stream<'a, S: Sink> {
    name: &'a [u8],
    root: Vec<u8>,
    progress: &'a ScanProgress,
    sink: &'a mut S,
    /// The path of the first directory, which all others lie below; spelled as in [`Open`].
    trace_root: Vec<u8>,
    /// The path of the last directory, likewise.
    last: Option<Vec<u8>>,
    /// From the root to the last directory.
    open: Vec<Open>,
    next: u64,
    /// Lines before the first directory: the first's number and how many.
    stray: Option<(u64, u64)>,
}

impl<S: Sink> Stream<'_, S> {
    /// Goes through the lines that are wholly there.
    fn take_lines(&mut self, input: &mut Input<'_>) -> Result<(), ScanError<S::Error>> {
        while !input.unused().is_empty() {
            let bytes = input.unused();
            let position = Position {
                line: input.line,
                offset: input.offset,
                before: &[],
            };
            let length = match line::split(bytes) {
                Ok(line) => {
                    self.take_line(&line, position)?;
                    line.len
                }
                Err(_) if input.may_be_cut() => break,
                Err(bad) => {
                    match self.open.last_mut() {
                        Some(open) => open.collector.add_bad_line(bad, position),
                        None => self.note_stray(position),
                    }
                    line::resynchronise(bytes).unwrap_or(bytes.len())
                }
            };
            input.line += line::newlines(bytes.get(..length).unwrap_or_default());
            input.offset += length as u64;
            input.used += length;
        }
        Ok(())
    }

    fn take_line(
        &mut self,
        line: &Line<'_>,
        position: Position<'_>,
    ) -> Result<(), ScanError<S::Error>> {
        if line.kind == b'd'
            && let (Ok(meta), Ok(path)) = (line.meta(), line.clean_path())
        {
            return self.enter(path, meta, line.xattrs, position.line);
        }
        match self.open.last_mut() {
            Some(open) => {
                open.collector.add_line(line, position);
                if open.collector.is_full() {
                    self.send()?;
                }
            }
            None => self.note_stray(position),
        }
        Ok(())
    }

    fn note_stray(&mut self, position: Position<'_>) {
        if self.last.is_none() {
            self.stray.get_or_insert((position.line, 0)).1 += 1;
        }
    }

    /// Sends what has been gathered of the innermost directory.
    fn send(&mut self) -> Result<(), ScanError<S::Error>> {
        let Some(open) = self.open.last_mut() else {
            return Ok(());
        };
        open.is_new = false;
        let batch = open.collector.take_batch();
        self.progress.add(open.collector.take_counts());
        self.sink.batch(batch).map_err(ScanError::Sink)
    }

    /// A directory's line.
    fn enter(
        &mut self,
        in_trace: &[u8],
        meta: Meta,
        xattrs: &[u8],
        line: u64,
    ) -> Result<(), ScanError<S::Error>> {
        let path = match in_trace {
            b"" => Vec::new(),
            below => [b"/", below].concat(),
        };
        match &self.last {
            None => self.tell_root(&path, meta, xattrs)?,
            Some(last) => {
                let (parent, name) = path::split(&path).unwrap_or_default();
                let in_order = path::cmp(last, &path) == Order::Less;
                if !in_order || !self.leave_until(parent)? {
                    return Err(ScanError::TraceOrder {
                        path: self.name.to_vec(),
                        line,
                    });
                }
                self.add_to_parent(name, meta, xattrs, line)?;
            }
        }
        let id = DirId(self.next);
        self.next += 1;
        let model = DirBatch {
            dir: id,
            parent: self.open.last().map(|parent| parent.id),
            path: self.absolute_path(&path),
            access: access(&meta, xattrs),
            own: meta,
            ..DirBatch::default()
        };
        let last = self.last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(&path);
        self.open.push(Open {
            id,
            path,
            collector: Collector::new(model, in_trace),
            is_new: true,
        });
        Ok(())
    }

    fn tell_root(
        &mut self,
        path: &[u8],
        meta: Meta,
        xattrs: &[u8],
    ) -> Result<(), ScanError<S::Error>> {
        self.trace_root = path.to_vec();
        let root = super::source_root(&self.root, meta, xattrs);
        self.sink.root(root).map_err(ScanError::Sink)
    }

    /// Where a path of the trace is on the source.
    fn absolute_path(&self, path: &[u8]) -> Vec<u8> {
        let rest = path.strip_prefix(&self.trace_root[..]).unwrap_or(path);
        match rest.strip_prefix(b"/").unwrap_or(rest) {
            b"" => self.root.clone(),
            rest => path::join(&self.root, rest),
        }
    }

    /// Ends the directories below `parent`; false if that itself is not open.
    fn leave_until(&mut self, parent: &[u8]) -> Result<bool, ScanError<S::Error>> {
        while let Some(open) = self.open.last() {
            if open.path == parent {
                return Ok(true);
            }
            self.leave()?;
        }
        Ok(false)
    }

    fn leave(&mut self) -> Result<(), ScanError<S::Error>> {
        if let Some(open) = self.open.last_mut()
            && (open.is_new || !open.collector.is_empty())
        {
            self.send()?;
        }
        match self.open.pop() {
            Some(open) => self.sink.subtree_done(open.id).map_err(ScanError::Sink),
            None => Ok(()),
        }
    }

    /// The row of a directory goes to the one that holds it, which is told before it.
    fn add_to_parent(
        &mut self,
        name: &[u8],
        meta: Meta,
        xattrs: &[u8],
        line: u64,
    ) -> Result<(), ScanError<S::Error>> {
        let waits = |open: &Open| !open.is_new && !open.collector.is_full();
        if !self.open.last().is_some_and(waits) {
            self.send()?;
        }
        if let Some(parent) = self.open.last_mut() {
            parent.collector.add_directory(name, meta, xattrs, line);
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), ScanError<S::Error>> {
        if self.last.is_none() {
            let path = self.name.to_vec();
            return Err(ScanError::EmptyTrace { path });
        }
        while !self.open.is_empty() {
            self.leave()?;
        }
        let Some((line, count)) = self.stray else {
            return Ok(());
        };
        let detail = format!("{count} lines from line {line} on stand before the first directory");
        self.progress.add(Progress {
            issues: 1,
            ..Progress::default()
        });
        let issue = parse_issue(self.root.clone(), detail);
        self.sink.issue(None, issue).map_err(ScanError::Sink)
    }
}
