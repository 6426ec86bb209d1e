//! Reads a trace that can be read only once.
//!
//! Its directories must be in depth-first order and sorted by name, so that each directory comes
//! once and after its parent. A directory's own entries are sent when its stanza ends. The rows of
//! its subdirectories become known one by one as their lines are read, and are sent after the last
//! one. Memory is proportional to the directories on the path from the root to the current one,
//! whatever the length of the trace.

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
/// Returns the errors of [`super::read_trace`].
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

/// Input that has been read and not yet used.
struct Input<'a> {
    file: &'a File,
    buffer: Vec<u8>,
    used: usize,
    filled: usize,
    at_end: bool,
    /// Offset in the trace of the first unused byte.
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

    /// Reads more data after the unused bytes; returns false if none are left at the end.
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

    /// Returns true if the unused bytes may end within a line.
    fn may_be_cut(&self) -> bool {
        !self.at_end && self.filled - self.used < LINE_BYTES_MAX
    }
}

/// A directory of which more may follow.
struct Open {
    id: DirId,
    /// Path in the trace, with a leading slash; empty for the trace's own `/`.
    path: Vec<u8>,
    collector: Collector,
    /// True if no batch of it has been sent.
    is_new: bool,
}

struct Stream<'a, S: Sink> {
    name: &'a [u8],
    root: Vec<u8>,
    progress: &'a ScanProgress,
    sink: &'a mut S,
    /// Path of the first directory, which contains all others; same form as in [`Open`].
    trace_root: Vec<u8>,
    /// Path of the last directory, in the same form.
    last: Option<Vec<u8>>,
    /// The directories from the root to the last directory.
    open: Vec<Open>,
    next: u64,
    /// Lines before the first directory: number of the first one, and their count.
    stray: Option<(u64, u64)>,
}

impl<S: Sink> Stream<'_, S> {
    /// Processes all lines that are completely in the buffer.
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

    /// Sends the collected entries of the innermost directory.
    fn send(&mut self) -> Result<(), ScanError<S::Error>> {
        let Some(open) = self.open.last_mut() else {
            return Ok(());
        };
        open.is_new = false;
        let batch = open.collector.take_batch();
        self.progress.add(open.collector.take_counts());
        self.sink.batch(batch).map_err(ScanError::Sink)
    }

    /// Processes a directory's line.
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

    /// Returns the source's path for a path in the trace.
    fn absolute_path(&self, path: &[u8]) -> Vec<u8> {
        let rest = path.strip_prefix(&self.trace_root[..]).unwrap_or(path);
        match rest.strip_prefix(b"/").unwrap_or(rest) {
            b"" => self.root.clone(),
            rest => path::join(&self.root, rest),
        }
    }

    /// Ends the directories below `parent`; returns false if `parent` is not open.
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

    /// Adds a directory's row to its parent, whose own entries are sent first.
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
