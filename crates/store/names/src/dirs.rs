//! Blocks of directories, and a cursor over them.

use std::ops::Range;

use crate::error::{Part, Result};
use crate::read_at::ReadAt;
use crate::reader::{Buffers, Names};
use crate::varint;

/// A decompressed block of directories.
#[derive(Debug, Default)]
pub(crate) struct DirBlock {
    number: Option<usize>,
    raw: Vec<u8>,
    dirs: Vec<Dir>,
    text_at: usize,
    rows: Range<u32>,
}

/// One directory of a block.
#[derive(Clone, Copy, Debug)]
struct Dir {
    rows: u32,
    /// Bytes of the whole leading components shared with the directory before.
    shared: u32,
    /// Bytes of the rest of its path.
    len: u32,
}

/// The position of a walk over a block: the current directory.
#[derive(Clone, Debug, Default)]
pub(crate) struct DirWalk {
    next: usize,
    text_at: usize,
    /// The directory's path followed by a slash.
    text: Vec<u8>,
    /// Bytes that its path shares with that of the directory before it.
    pub(crate) shared: usize,
    pub(crate) rows: Range<u64>,
}

impl DirBlock {
    /// The buffer to fill before calling [`DirBlock::filled`].
    pub(crate) fn raw(&mut self) -> &mut Vec<u8> {
        self.number = None;
        &mut self.raw
    }

    /// Parses the filled buffer as `count` directories that cover these rows.
    pub(crate) fn filled(
        &mut self,
        number: usize,
        count: usize,
        rows: Range<u32>,
    ) -> std::result::Result<(), &'static str> {
        let short = "it is too short";
        let mut rest = &self.raw[..];
        self.dirs.clear();
        for _ in 0..count {
            let rows = varint::take(&mut rest).ok_or(short)?;
            self.dirs.push(Dir {
                rows,
                shared: 0,
                len: 0,
            });
        }
        for dir in &mut self.dirs {
            dir.shared = varint::take(&mut rest).ok_or(short)?;
        }
        for dir in &mut self.dirs {
            dir.len = varint::take(&mut rest).ok_or(short)?;
        }
        self.text_at = self.raw.len() - rest.len();
        self.check(rest.len(), &rows)?;
        self.rows = rows;
        self.number = Some(number);
        Ok(())
    }

    /// Rejects lengths that are inconsistent.
    fn check(&self, text_len: usize, rows: &Range<u32>) -> std::result::Result<(), &'static str> {
        let (mut path_len, mut text, mut row_count) = (0u64, 0u64, 0u64);
        for (at, dir) in self.dirs.iter().enumerate() {
            let (shared, len) = (u64::from(dir.shared), u64::from(dir.len));
            match at {
                0 if shared <= len => path_len = len,
                _ if at > 0 && shared <= path_len => path_len = shared + len,
                _ => return Err("a path shares more than the previous path has"),
            }
            text += len;
            row_count += u64::from(dir.rows);
        }
        if text != text_len as u64 {
            return Err("its path lengths do not match its text");
        }
        match row_count == u64::from(rows.end) - u64::from(rows.start) {
            true => Ok(()),
            false => Err("the row counts of its directories do not add up"),
        }
    }

    pub(crate) fn is(&self, number: usize) -> bool {
        self.number == Some(number)
    }

    /// Places a walk before the first directory.
    pub(crate) fn begin(&self, walk: &mut DirWalk) {
        let start = u64::from(self.rows.start);
        (walk.next, walk.text_at, walk.rows) = (0, self.text_at, start..start);
    }

    /// Moves to the next directory; returns false at the end.
    pub(crate) fn step(&self, walk: &mut DirWalk) -> bool {
        let Some(dir) = self.dirs.get(walk.next) else {
            return false;
        };
        let kept = if walk.next == 0 {
            0
        } else {
            dir.shared as usize
        };
        walk.text.truncate(kept);
        let end = walk.text_at + dir.len as usize;
        walk.text.extend_from_slice(&self.raw[walk.text_at..end]);
        walk.text.push(b'/');
        walk.text_at = end;
        walk.shared = dir.shared as usize;
        walk.next += 1;
        walk.rows = walk.rows.end..walk.rows.end + u64::from(dir.rows);
        true
    }
}

impl DirWalk {
    /// The directory's path.
    pub(crate) fn path(&self) -> &[u8] {
        self.text.strip_suffix(b"/").unwrap_or_default()
    }

    /// The directory's path followed by a slash.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }
}

/// Finds the directories that rows belong to.
#[derive(Debug, Default)]
pub(crate) struct DirCursor {
    block: DirBlock,
    pub(crate) dir: DirWalk,
}

impl DirCursor {
    /// Moves to the directory that holds a row. Returns true if it differs from
    /// the current one.
    pub(crate) fn go_to<R: ReadAt>(
        &mut self,
        names: &Names<R>,
        row: u64,
        buffers: &mut Buffers,
    ) -> Result<bool> {
        if self.dir.rows.contains(&row) {
            return Ok(false);
        }
        let blocks = &names.layout().dir_blocks;
        let after = blocks.partition_point(|block| u64::from(block.first_row) <= row);
        let number = after.saturating_sub(1);
        if !self.block.is(number) {
            names.read_dirs(number, &mut self.block, buffers)?;
            self.block.begin(&mut self.dir);
        } else if row < self.dir.rows.start {
            self.block.begin(&mut self.dir);
        }
        while self.block.step(&mut self.dir) {
            if self.dir.rows.contains(&row) {
                return Ok(true);
            }
        }
        Err(names.damaged(
            Part::DirBlock(number),
            "a row belongs to none of its directories",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn hostile_blocks_never_panic(raw: Vec<u8>, count in 0usize..9, start in 0u32..9, rows in 0u32..99) {
            let mut block = DirBlock::default();
            *block.raw() = raw;
            if block.filled(0, count, start..start + rows).is_ok() {
                let mut walk = DirWalk::default();
                block.begin(&mut walk);
                while block.step(&mut walk) {
                    prop_assert!(walk.shared <= walk.path().len());
                }
                prop_assert_eq!(walk.rows.end, u64::from(start + rows));
            }
        }
    }
}
