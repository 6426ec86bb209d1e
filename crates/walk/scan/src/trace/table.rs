//! The first pass: finds the directories of a trace and the positions of their entries.
//!
//! Memory is about 120 bytes and the path for each directory, whatever the number of entries. Paths
//! are stored with NULs instead of slashes (names contain neither), so that comparing bytes gives
//! depth-first order: a directory, everything below it, its next sibling.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use trawl_model::Meta;

use super::line::{self, LINE_BYTES_MAX};
use super::window::{READ_AHEAD_BYTES, Window};

/// One directory of the trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceDir {
    path_start: u64,
    path_len: u32,
    xattrs_len: u32,
    /// Number of its line, from 1.
    pub(crate) line: u64,
    /// Offsets in bytes of the start and end of its entries in the file.
    pub(crate) entries_start: u64,
    pub(crate) entries_end: u64,
    /// Number of the line at `entries_start`.
    pub(crate) entries_line: u64,
    /// Index after the last directory below it.
    pub(crate) subtree_end: u32,
    pub(crate) place: Reachability,
    row: Row,
}

/// Whether a directory can be reached from the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reachability {
    /// Its parent exists (or it is the root).
    InTree,
    /// The line of its parent is missing.
    Orphan,
    /// The same path occurred before.
    Twice,
}

/// [`Meta`] without the fields that a trace never has, so that a directory takes little memory.
#[derive(Clone, Copy, Debug)]
struct Row {
    ino: u64,
    size: u64,
    blocks: u64,
    atime: i64,
    mtime: i64,
    ctime: i64,
    btime: i64,
    mode: u32,
    nlink: u32,
    uid: u32,
    gid: u32,
    blksize: u32,
}

/// All directories, in depth-first order after [`Table::read`].
#[derive(Debug, Default)]
pub(crate) struct Table {
    dirs: Vec<TraceDir>,
    /// Paths with NULs instead of slashes, each followed by its field of extended attributes.
    heap: Vec<u8>,
    /// Bad or stray lines before the first directory: number of the first one, and their count.
    pub(crate) stray: Option<(u64, u64)>,
}

/// How reading the trace ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Complete,
    Cancelled,
}

impl Table {
    /// Reads the whole trace once.
    pub(crate) fn read(
        window: &mut Window<'_>,
        cancel: &AtomicBool,
    ) -> io::Result<(Table, Outcome)> {
        let mut table = Table::default();
        let (mut offset, mut number) = (0, 1);
        let size = window.size();
        while offset < size {
            if cancel.load(Ordering::Relaxed) {
                return Ok((table, Outcome::Cancelled));
            }
            let bytes = window.get(offset, LINE_BYTES_MAX, READ_AHEAD_BYTES)?;
            if bytes.is_empty() {
                break;
            }
            let at_end = offset + bytes.len() as u64 >= size;
            offset += table.note_lines(bytes, at_end, offset, &mut number) as u64;
        }
        if let Some(last) = table.dirs.last_mut() {
            last.entries_end = offset;
        }
        table.arrange();
        Ok((table, Outcome::Complete))
    }

    /// Processes the lines that lie completely in `bytes`, and returns their length in bytes.
    /// `number` is the number of the first line; it becomes that of the line after the last.
    fn note_lines(&mut self, bytes: &[u8], at_end: bool, offset: u64, number: &mut u64) -> usize {
        let (mut at, mut counted) = (0, 0);
        while at < bytes.len() {
            let rest = bytes.get(at..).unwrap_or_default();
            let length = match line::split(rest) {
                Ok(line) if line.kind == b'd' || self.dirs.is_empty() => {
                    *number += line::newlines(bytes.get(counted..at).unwrap_or_default());
                    counted = at;
                    let whole = rest.get(..line.len).unwrap_or_default();
                    self.note(&line, offset + at as u64, *number, line::newlines(whole));
                    line.len
                }
                Ok(line) => line.len,
                // The line may only be cut off by the end of the buffer.
                Err(_) if !at_end && rest.len() < LINE_BYTES_MAX => break,
                Err(_) => {
                    self.note_stray(*number);
                    line::resynchronise(rest).unwrap_or(rest.len())
                }
            };
            at += length;
        }
        *number += line::newlines(bytes.get(counted..at).unwrap_or_default());
        at
    }

    /// Records a directory's line. A bad one stays part of the previous stanza, which reports it.
    fn note(&mut self, line: &line::Line<'_>, offset: u64, number: u64, newlines: u64) {
        let (b'd', Ok(meta), Ok(path)) = (line.kind, line.meta(), line.clean_path()) else {
            return self.note_stray(number);
        };
        if let Some(before) = self.dirs.last_mut() {
            before.entries_end = offset;
        }
        let path_start = self.heap.len() as u64;
        self.heap
            .extend(path.iter().map(|b| if *b == b'/' { 0 } else { *b }));
        self.heap.extend_from_slice(line.xattrs);
        let entries_start = offset + line.len as u64;
        self.dirs.push(TraceDir {
            path_start,
            path_len: path.len() as u32,
            xattrs_len: line.xattrs.len() as u32,
            line: number,
            entries_start,
            entries_end: entries_start,
            entries_line: number + newlines,
            subtree_end: 0,
            place: Reachability::InTree,
            row: Row::new(&meta),
        });
    }

    /// Records a line that belongs to no directory, if there is none yet.
    fn note_stray(&mut self, number: u64) {
        if self.dirs.is_empty() {
            self.stray.get_or_insert((number, 0)).1 += 1;
        }
    }

    /// Sorts the directories and finds each one's subtree.
    fn arrange(&mut self) {
        let heap = &self.heap;
        // The sort is stable: of two lines with the same path, the first in the file is used.
        self.dirs
            .sort_by(|a, b| stored_path(heap, a).cmp(stored_path(heap, b)));
        let mut above: Vec<usize> = Vec::new();
        for index in 0..self.dirs.len() {
            let place = self.place(index, &mut above);
            if let Some(dir) = self.dirs.get_mut(index) {
                dir.place = place;
                dir.subtree_end = index as u32 + 1;
            }
            if place != Reachability::Twice {
                above.push(index);
            }
        }
        let end = self.dirs.len();
        self.close(&mut above, 0, end);
    }

    /// Determines the place of the directory `index`, and closes the directories that do not
    /// contain it.
    fn place(&mut self, index: usize, above: &mut Vec<usize>) -> Reachability {
        let mut keep = above.len();
        let place = loop {
            let Some(candidate) = keep.checked_sub(1).and_then(|i| above.get(i)) else {
                break if index == 0 {
                    Reachability::InTree
                } else {
                    Reachability::Orphan
                };
            };
            match below(self.stored(index), self.stored(*candidate)) {
                Some(Below::Itself) => break Reachability::Twice,
                Some(Below::Directly) => break Reachability::InTree,
                Some(Below::Deeper) => break Reachability::Orphan,
                None => keep -= 1,
            }
        };
        self.close(above, keep, index);
        place
    }

    /// Ends the subtrees of the directories in `above` from `keep` on.
    fn close(&mut self, above: &mut Vec<usize>, keep: usize, end: usize) {
        for index in above.drain(keep..) {
            if let Some(dir) = self.dirs.get_mut(index) {
                dir.subtree_end = end as u32;
            }
        }
    }

    fn stored(&self, index: usize) -> &[u8] {
        self.dirs
            .get(index)
            .map_or(&[], |dir| stored_path(&self.heap, dir))
    }

    pub(crate) fn len(&self) -> usize {
        self.dirs.len()
    }

    pub(crate) fn dir(&self, index: usize) -> Option<&TraceDir> {
        self.dirs.get(index)
    }

    /// Returns the path of `dir` relative to the first directory, with slashes; empty for the first
    /// itself.
    pub(crate) fn relative_path(&self, dir: &TraceDir) -> Vec<u8> {
        let path = stored_path(&self.heap, dir);
        let root = self.stored(0);
        let rest = path.strip_prefix(root).unwrap_or(path);
        let rest = rest.strip_prefix(b"\0").unwrap_or(rest);
        rest.iter()
            .map(|b| if *b == 0 { b'/' } else { *b })
            .collect()
    }

    /// Returns the path of `dir` as in the trace.
    pub(crate) fn path(&self, dir: &TraceDir) -> Vec<u8> {
        stored_path(&self.heap, dir)
            .iter()
            .map(|b| if *b == 0 { b'/' } else { *b })
            .collect()
    }

    /// Returns the field of extended attributes of `dir`.
    pub(crate) fn xattrs(&self, dir: &TraceDir) -> &[u8] {
        let start = dir.path_start as usize + dir.path_len as usize;
        self.heap
            .get(start..start + dir.xattrs_len as usize)
            .unwrap_or_default()
    }

    /// Returns the directories directly below `index`, including duplicates, and the orphans whose
    /// nearest recorded ancestor it is.
    pub(crate) fn children(&self, index: usize) -> impl Iterator<Item = (usize, &TraceDir)> {
        let end = self
            .dirs
            .get(index)
            .map_or(0, |dir| dir.subtree_end as usize);
        let mut next = index + 1;
        std::iter::from_fn(move || {
            let current = next;
            let dir = self.dirs.get(current).filter(|_| current < end)?;
            next = (dir.subtree_end as usize).max(current + 1);
            Some((current, dir))
        })
    }
}

fn stored_path<'a>(heap: &'a [u8], dir: &TraceDir) -> &'a [u8] {
    let start = dir.path_start as usize;
    heap.get(start..start + dir.path_len as usize)
        .unwrap_or_default()
}

enum Below {
    Itself,
    Directly,
    Deeper,
}

/// Returns how `path` lies below `dir`, both in stored form; `None` if it does not.
fn below(path: &[u8], dir: &[u8]) -> Option<Below> {
    let rest = path.strip_prefix(dir)?;
    let name = match (rest, dir) {
        ([], _) => return Some(Below::Itself),
        (rest, []) => rest,
        ([0, name @ ..], _) => name,
        _ => return None,
    };
    Some(if memchr::memchr(0, name).is_some() {
        Below::Deeper
    } else {
        Below::Directly
    })
}

impl Row {
    fn new(meta: &Meta) -> Row {
        Row {
            ino: meta.ino,
            size: meta.size,
            blocks: meta.blocks,
            atime: meta.atime.secs,
            mtime: meta.mtime.secs,
            ctime: meta.ctime.secs,
            btime: meta.btime.map_or(0, |t| t.secs),
            mode: meta.mode,
            nlink: meta.nlink,
            uid: meta.uid.0,
            gid: meta.gid.0,
            blksize: meta.blksize,
        }
    }
}

impl TraceDir {
    /// The directory's attributes.
    pub(crate) fn meta(&self) -> Meta {
        use trawl_model::{Gid, Timestamp, Uid};
        let row = &self.row;
        let time = |secs| Timestamp { secs, nanos: 0 };
        Meta {
            ino: row.ino,
            size: row.size,
            blocks: row.blocks,
            atime: time(row.atime),
            mtime: time(row.mtime),
            ctime: time(row.ctime),
            btime: (row.btime != 0).then_some(time(row.btime)),
            mode: row.mode,
            nlink: row.nlink,
            uid: Uid(row.uid),
            gid: Gid(row.gid),
            blksize: row.blksize,
            ..Meta::default()
        }
    }
}
