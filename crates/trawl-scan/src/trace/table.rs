//! The first pass: which directories a trace has, and where their entries lie.
//!
//! About 120 bytes and its path for each directory, whatever the number of entries. Paths are
//! kept with NUL for the slash (no name holds either), so that comparing bytes gives depth-first
//! order: a directory, all that is below it, its next sibling.

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
    /// The number of its line, from 1.
    pub(crate) line: u64,
    /// Where its entries begin and end in the file, bytes.
    pub(crate) entries_start: u64,
    pub(crate) entries_end: u64,
    /// The number of the line at `entries_start`.
    pub(crate) entries_line: u64,
    /// The index after the last directory below it.
    pub(crate) subtree_end: u32,
    pub(crate) place: Place,
    row: Row,
}

/// Whether a directory can be reached from the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The directory that holds it is there (or it is the root).
    InTree,
    /// The line of the directory that holds it is missing.
    Orphan,
    /// The same path came before.
    Twice,
}

/// [`Meta`] without what a trace never has.
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

/// All directories, in depth-first order once [`Table::read`] is through.
#[derive(Debug, Default)]
pub(crate) struct Table {
    dirs: Vec<TraceDir>,
    /// Paths with NUL for the slash, each followed by the field of its extended attributes.
    heap: Vec<u8>,
    /// Bad or stray lines before the first directory: the first's number and how many.
    pub(crate) stray: Option<(u64, u64)>,
}

/// How reading ended.
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

    /// Goes through the lines that lie wholly in `bytes`; how many bytes they take. `number` is
    /// the number of the first line, and then of the one after the last.
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
                // It may only be cut off by the buffer's end.
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

    /// Notes a directory's line. A bad one stays part of the stanza before, which will tell of it.
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
            place: Place::InTree,
            row: Row::new(&meta),
        });
    }

    /// Notes a line that belongs to no directory, as long as there is none.
    fn note_stray(&mut self, number: u64) {
        if self.dirs.is_empty() {
            self.stray.get_or_insert((number, 0)).1 += 1;
        }
    }

    /// Sorts the directories and finds each one's subtree.
    fn arrange(&mut self) {
        let heap = &self.heap;
        // Stable: of two lines with the same path the first in the file counts.
        self.dirs
            .sort_by(|a, b| stored_path(heap, a).cmp(stored_path(heap, b)));
        let mut above: Vec<usize> = Vec::new();
        for index in 0..self.dirs.len() {
            let place = self.place(index, &mut above);
            if let Some(dir) = self.dirs.get_mut(index) {
                dir.place = place;
                dir.subtree_end = index as u32 + 1;
            }
            if place != Place::Twice {
                above.push(index);
            }
        }
        let end = self.dirs.len();
        self.close(&mut above, 0, end);
    }

    /// Where the directory `index` belongs, after closing those that it isn't below.
    fn place(&mut self, index: usize, above: &mut Vec<usize>) -> Place {
        let mut keep = above.len();
        let place = loop {
            let Some(candidate) = keep.checked_sub(1).and_then(|i| above.get(i)) else {
                break if index == 0 {
                    Place::InTree
                } else {
                    Place::Orphan
                };
            };
            match below(self.stored(index), self.stored(*candidate)) {
                Some(Below::Itself) => break Place::Twice,
                Some(Below::Directly) => break Place::InTree,
                Some(Below::Deeper) => break Place::Orphan,
                None => keep -= 1,
            }
        };
        self.close(above, keep, index);
        place
    }

    /// Ends the subtrees of those in `above` from `keep` on.
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

    /// The path of `dir` below the first directory's, with slashes; empty for the first itself.
    pub(crate) fn relative_path(&self, dir: &TraceDir) -> Vec<u8> {
        let path = stored_path(&self.heap, dir);
        let root = self.stored(0);
        let rest = path.strip_prefix(root).unwrap_or(path);
        let rest = rest.strip_prefix(b"\0").unwrap_or(rest);
        rest.iter()
            .map(|b| if *b == 0 { b'/' } else { *b })
            .collect()
    }

    /// The path of `dir` as the trace has it.
    pub(crate) fn path(&self, dir: &TraceDir) -> Vec<u8> {
        stored_path(&self.heap, dir)
            .iter()
            .map(|b| if *b == 0 { b'/' } else { *b })
            .collect()
    }

    /// The field of extended attributes of `dir`.
    pub(crate) fn xattrs(&self, dir: &TraceDir) -> &[u8] {
        let start = dir.path_start as usize + dir.path_len as usize;
        self.heap
            .get(start..start + dir.xattrs_len as usize)
            .unwrap_or_default()
    }

    /// The directories right below `index`, orphans among them.
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

/// How `path` lies below `dir`, both as stored; `None` if it doesn't.
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
