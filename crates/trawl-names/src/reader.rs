//! Reading a sidecar and searching in it.

use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};

use crate::error::{NamesError, Part, Result};
use crate::pattern::{Needles, Pattern, Subject};
use crate::read_at::ReadAt;
use crate::writer::RowKind;

/// Rows of a segment's entries table: sorted, disjoint, none empty.
pub type RowRanges = Vec<Range<u64>>;

/// A row that matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found<'a> {
    /// Its number in the segment's entries table.
    pub row: u64,
    /// The path of the directory that it is in.
    pub dir: &'a [u8],
    /// Its name.
    pub name: &'a [u8],
    /// Whether it is a directory.
    pub kind: RowKind,
}

/// A sidecar that is open. Shared by threads, each of which searches in rows
/// of its own.
#[derive(Debug)]
pub struct Names<R> {
    file: R,
    path: PathBuf,
    len: u64,
    rows: u64,
    segment: u128,
}

impl<R: ReadAt> Names<R> {
    /// Opens a sidecar of `len` bytes, which `path` names in messages.
    ///
    /// # Errors
    /// If it cannot be read, or its footer makes no sense.
    pub fn open(file: R, len: u64, path: &Path) -> Result<Names<R>> {
        let mut names = Names {
            file,
            path: path.to_owned(),
            len,
            rows: 0,
            segment: 0,
        };
        let mut rows = 0;
        let (bytes, segment) = names.bytes()?;
        names.segment = segment;
        let _ = names.each(&bytes, &mut |_| {
            rows += 1;
            ControlFlow::Continue(())
        })?;
        names.rows = rows;
        Ok(names)
    }

    /// The number of rows, that of the segment's entries table.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The hash of the entries file that it was made for.
    pub fn segment(&self) -> u128 {
        self.segment
    }

    /// Rows among `rows` outside of which nothing has these needles. How
    /// much is left in, and so whether it is worth to follow, the sum of the
    /// ranges tells.
    ///
    /// # Errors
    /// If a block is damaged.
    pub fn select(&self, needles: &Needles, rows: Range<u64>) -> Result<RowRanges> {
        let _ = needles;
        let rows = rows.start..rows.end.min(self.rows);
        Ok(if rows.is_empty() {
            Vec::new()
        } else {
            vec![rows]
        })
    }

    /// Finds what matches among `rows`, in order. Ends when `found` breaks;
    /// returns whether it did.
    ///
    /// # Errors
    /// If a block is damaged; `found` may have been called before that.
    pub fn search(
        &self,
        pattern: &Pattern<'_>,
        rows: Range<u64>,
        found: &mut dyn FnMut(Found<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let (bytes, _) = self.bytes()?;
        let (mut path, mut scratch) = (Vec::new(), Vec::new());
        self.each(&bytes, &mut |row| {
            if !rows.contains(&row.row) {
                return ControlFlow::Continue(());
            }
            let subject = match pattern.needles.subject {
                Subject::Name => row.name,
                Subject::Path => {
                    path.clear();
                    path.extend_from_slice(row.dir);
                    path.push(b'/');
                    path.extend_from_slice(row.name);
                    &path
                }
            };
            match pattern.is_match(subject, &mut scratch) {
                true => found(row),
                false => ControlFlow::Continue(()),
            }
        })
    }

    /// Finds which of `rows` match, as ranges in order, without names where
    /// they are not needed. Ranges may touch. Ends when `found` breaks;
    /// returns whether it did.
    ///
    /// # Errors
    /// As [`Names::search`].
    pub fn ranges(
        &self,
        pattern: &Pattern<'_>,
        rows: Range<u64>,
        found: &mut dyn FnMut(Range<u64>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        self.search(pattern, rows, &mut |row| found(row.row..row.row + 1))
    }

    /// Cuts rows into at most `parts` ranges of about the same work, for
    /// several threads.
    pub fn split(&self, rows: Range<u64>, parts: usize) -> RowRanges {
        let rows = rows.start..rows.end.min(self.rows);
        let parts = parts.max(1) as u64;
        let len = rows.end.saturating_sub(rows.start);
        let cut = |at: u64| rows.start + len * at / parts;
        let ranges = (0..parts).map(|at| cut(at)..cut(at + 1));
        ranges.filter(|range| !range.is_empty()).collect()
    }

    fn bytes(&self) -> Result<(Vec<u8>, u128)> {
        let short = || NamesError::damaged(&self.path, Part::Footer, "it is too short");
        let mut bytes = vec![0; self.len as usize];
        let read = self.file.read_at(&mut bytes, 0);
        read.map_err(|cause| NamesError::Io {
            path: self.path.clone(),
            part: Part::Footer,
            cause,
        })?;
        let end = bytes.len().checked_sub(16).ok_or_else(short)?;
        let segment = bytes.split_off(end);
        let segment = segment.try_into().map_err(|_| short())?;
        Ok((bytes, u128::from_le_bytes(segment)))
    }

    fn each(
        &self,
        mut bytes: &[u8],
        found: &mut dyn FnMut(Found<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let short = || NamesError::damaged(&self.path, Part::NameBlock(0), "it is too short");
        let (mut dir, mut row) = (&bytes[..0], 0);
        while let Some((tag, rest)) = bytes.split_first() {
            let (len, rest) = rest.split_first_chunk().ok_or_else(short)?;
            let len = u32::from_le_bytes(*len) as usize;
            let (text, rest) = rest.split_at_checked(len).ok_or_else(short)?;
            bytes = rest;
            let kind = match tag {
                2 => {
                    dir = text;
                    continue;
                }
                1 => RowKind::Directory,
                _ => RowKind::Other,
            };
            let name = text;
            if found(Found {
                row,
                dir,
                name,
                kind,
            })
            .is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
            row += 1;
        }
        Ok(ControlFlow::Continue(()))
    }
}
