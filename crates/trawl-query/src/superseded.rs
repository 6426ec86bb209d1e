//! Which rows a directory that is read again takes the place of.

use crate::entries_at::{RowAt, entries_at};
use crate::error::Result;
use crate::index::{SegmentAt, Start, View};
use crate::locate::{Reach, is_own_row_dead, scope};
use crate::places::Having;
use crate::segment::{Scratch, read_dirs, read_root_kind, read_rows};
use crate::selection::without;
use crate::sweep::stretches;
use crate::walk::check_cancelled_by;
use crate::{issues, xattrs};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use trawl_index::schema::{KIND_ROOT, Table};
use trawl_index::{SegmentId, SegmentInfo, Shard};
use trawl_model::column::{Column, ColumnSet};
use trawl_model::path;
use trawl_model::rows::RowBatch;

/// Rows of which inode numbers are looked at together.
const SWEPT_ROWS: u64 = 128 * 1024;

/// What of a directory was read again, or is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Its listing.
    Listing,
    /// And those of all directories below.
    Subtree,
    /// The root's own row.
    Root,
}

/// Whether entries may have attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// They may.
    Some,
    /// Their rows name none; only such as rows do not name are looked for.
    Unnamed,
}

/// Rows of one of a segment's tables: dirs, xattrs or issues. Those of its
/// entries and links go with the dirs.
#[derive(Clone, Debug)]
pub struct RowsOf<'v> {
    /// The shard.
    pub shard: &'v Shard,
    /// Its segment.
    pub segment: SegmentId,
    /// The table.
    pub table: Table,
    /// Rows of it.
    pub rows: Range<u64>,
}

impl View {
    /// The rows that tell of `part` of the directory at `dir` (absolute, as
    /// stored) and still hold: what is there now takes their place. Without
    /// `values`, no entry that is meant has an attribute.
    pub fn rows_of(&self, dir: &[u8], part: Part, values: Values) -> Result<Vec<RowsOf<'_>>> {
        let mut scratch = Scratch::default();
        let mut found: Vec<(SegmentAt, Table, Range<u64>)> = Vec::new();
        let reach = match part {
            Part::Listing => Reach::Itself,
            Part::Subtree => Reach::Subtree,
            Part::Root => {
                self.own_rows(dir, part, &mut scratch, &mut found)?;
                let entry = path::split(dir).unwrap_or_default();
                for (at, rows) in xattrs::rows_of_entry(self, entry, &mut scratch)? {
                    found.push((at, Table::Xattrs, rows));
                }
                return Ok(self.named(found));
            }
        };
        let spans = scope(self, dir, reach, &mut scratch)?.into_iter();
        found.extend(spans.map(|span| (span.segment, Table::Dirs, span.dirs)));
        self.own_rows(dir, part, &mut scratch, &mut found)?;
        for (at, rows) in xattrs::rows_of(self, dir, reach, values, &mut scratch)? {
            found.push((at, Table::Xattrs, rows));
        }
        for (at, rows) in issues::rows_of(self, dir, reach, &mut scratch)? {
            found.push((at, Table::Issues, rows));
        }
        Ok(self.named(found))
    }

    /// The rows with attribute values of one entry that still hold.
    pub fn values_of(&self, dir: &[u8], name: &[u8]) -> Result<Vec<RowsOf<'_>>> {
        let found = xattrs::rows_of_entry(self, (dir, name), &mut Scratch::default())?;
        let found = found.into_iter();
        Ok(self.named(
            found
                .map(|(at, rows)| (at, Table::Xattrs, rows))
                .collect(),
        ))
    }

    /// The directories of which a segment has something that still holds: what
    /// is left of it when they are read again is nothing. The source's root
    /// stands for what is told of it alone.
    pub fn directories_of(&self, segment: SegmentId) -> Result<Vec<Vec<u8>>> {
        let mut scratch = Scratch::default();
        let mut dirs = Vec::new();
        let is_it = |(_, _, info): &(SegmentAt, &Shard, &SegmentInfo)| info.id == segment;
        for (at, _, info) in self.segments().filter(is_it) {
            if let Some(file) = self.file(at, Table::Dirs)? {
                for rows in without(self.dead(at, Table::Dirs), &(0..info.dirs)) {
                    let chunk = read_dirs(&file, rows, &[], &mut scratch)?;
                    dirs.extend((0..chunk.len()).map(|row| chunk.path.get(row).to_vec()));
                }
            }
            xattrs::directories_in(self, at, &mut scratch, &mut dirs)?;
            issues::directories_in(self, at, &mut scratch, &mut dirs)?;
        }
        for dir in &mut dirs {
            if !path::is_within(dir, self.root()) {
                *dir = self.root().to_vec();
            }
        }
        dirs.sort_by(|a, b| path::cmp(a, b));
        dirs.dedup();
        Ok(dirs)
    }

    /// The directories that hold these objects, given by device and inode
    /// number, as far as rows tell that still hold; in path order.
    pub fn holders_of(
        self: &Arc<View>,
        objects: &HashSet<(u64, u64)>,
        cancel: Option<&AtomicBool>,
    ) -> Result<Vec<Vec<u8>>> {
        let start = Start {
            view: Arc::clone(self),
            path: self.root().to_vec(),
            row: RowBatch::default(),
            is_dir: true,
        };
        let mut scratch = Scratch::default();
        let mut places: Vec<RowAt> = Vec::new();
        for stretch in stretches(&start, &mut scratch)? {
            check_cancelled_by(cancel)?;
            let segment = stretch.span.segment;
            let Some(file) = self.file(segment, Table::Entries)? else {
                continue;
            };
            let mut first = stretch.rows.start;
            while first < stretch.rows.end {
                let end = stretch.rows.end.min(first + SWEPT_ROWS);
                let columns = ColumnSet::of(&[Column::Ino, Column::Dev]);
                let batch = read_rows(&file, columns, &[first..end], &mut scratch)?;
                let numbers = batch.dev.iter().zip(&batch.ino).zip(first..);
                let found = numbers.filter(|((dev, ino), _)| objects.contains(&(**dev, **ino)));
                places.extend(found.map(|(_, row)| (segment, row)));
                scratch.recycle(batch);
                first = end;
            }
        }
        let entries = entries_at(self, &places, ColumnSet::default(), cancel)?;
        let above = entries.iter().filter_map(|entry| path::split(&entry.path));
        let mut dirs: Vec<Vec<u8>> = above.map(|(dir, _)| dir.to_vec()).collect();
        dirs.sort_by(|a, b| path::cmp(a, b));
        dirs.dedup();
        Ok(dirs)
    }

    /// Own rows: copies of rows in the listing of `dir`, or in any below it,
    /// or the root's.
    fn own_rows(
        &self,
        dir: &[u8],
        part: Part,
        scratch: &mut Scratch,
        found: &mut Vec<(SegmentAt, Table, Range<u64>)>,
    ) -> Result<()> {
        let above_root = path::split(self.root()).map_or(&[][..], |(above, _)| above);
        for at in self.having(Having::OwnRow) {
            let Some((first, _)) = self.glance(at).and_then(|(_, glance)| glance.dirs) else {
                continue;
            };
            let is_meant = match part {
                Part::Listing => first == dir,
                Part::Subtree => path::is_within(first, dir),
                Part::Root => first == above_root,
            };
            if !is_meant || is_own_row_dead(self, at) {
                continue;
            }
            let Some(dirs) = self.file(at, Table::Dirs)? else {
                continue;
            };
            let is_copy = self.shard_of(at).is_some_and(|(_, shard)| {
                let barrier = shard.barrier().and_then(path::split);
                barrier.is_some_and(|(above, _)| above == first)
            });
            let is_own = read_root_kind(&dirs, scratch)? == KIND_ROOT;
            if is_own && is_copy == (part != Part::Root) {
                found.push((at, Table::Dirs, 0..1));
            }
        }
        Ok(())
    }

    fn named(&self, found: Vec<(SegmentAt, Table, Range<u64>)>) -> Vec<RowsOf<'_>> {
        let named = found.into_iter().filter_map(|(at, table, rows)| {
            let (shard, segment) = self.segment(at)?;
            Some(RowsOf {
                shard,
                segment: segment.id,
                table,
                rows,
            })
        });
        named.collect()
    }
}
