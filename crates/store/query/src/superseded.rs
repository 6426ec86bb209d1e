//! Finds the rows that reading a directory again supersedes.

use crate::error::Result;
use crate::index::{SegmentAt, View};
use crate::locate::{Reach, Span, is_own_row_dead, scope};
use crate::places::Having;
use crate::segment::{Scratch, read_dirs, read_root_kind};
use crate::selection::without;
use crate::{issues, xattrs};
use std::ops::Range;
use trawl_format::schema::{KIND_ROOT, Table};
use trawl_format::{SegmentId, SegmentInfo, Shard};
use trawl_model::path;

/// The part of a directory that was read again or no longer exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Its listing.
    Listing,
    /// Its listing and those of all directories below.
    Subtree,
    /// The root's own row.
    Root,
}

/// Which entries may have attribute values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Any entry.
    Some,
    /// Rows name no attributes; only values of attributes that rows never name
    /// are looked for.
    Unnamed,
}

/// Rows of a segment's dirs, xattrs or issues table. Rows of its entries and
/// links tables belong to rows of the dirs table.
#[derive(Clone, Debug)]
pub struct RowsOf<'v> {
    /// The shard.
    pub shard: &'v Shard,
    /// The segment.
    pub segment: SegmentId,
    /// The table.
    pub table: Table,
    /// Rows of the table.
    pub rows: Range<u64>,
}

/// The value of an attribute of an entry in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueIn {
    /// The entry.
    pub name: Vec<u8>,
    /// The attribute's full name.
    pub attr: Vec<u8>,
    /// Its value.
    pub value: Vec<u8>,
}

impl View {
    /// Returns all live attribute values of entries in the listing of `dir`, in
    /// the order of each shard. Values of a directory behind a barrier are
    /// returned again from there. Returns `None` if the values take more
    /// than `most` bytes of memory.
    pub fn values_in(&self, dir: &[u8], most: usize) -> Result<Option<Vec<ValueIn>>> {
        let mut scratch = Scratch::default();
        let (mut values, mut bytes) = (Vec::new(), 0);
        let reach = Reach::Itself;
        for (at, rows) in xattrs::rows_of(self, dir, reach, Values::Some, &mut scratch)? {
            let Some(file) = self.file(at, Table::Xattrs)? else {
                continue;
            };
            for rows in xattrs::chunks(rows, xattrs::SCAN_ROWS) {
                let chunk = xattrs::Chunk::read(&file, rows, &mut scratch)?;
                let there = (0..chunk.name.len()).filter(|row| chunk.dir.get(*row) == dir);
                for row in there {
                    let value = ValueIn {
                        name: chunk.name.get(row).to_vec(),
                        attr: chunk.attr.get(row).to_vec(),
                        value: chunk.value.get(row).to_vec(),
                    };
                    bytes += size_of::<ValueIn>()
                        + value.name.len()
                        + value.attr.len()
                        + value.value.len();
                    if bytes > most {
                        return Ok(None);
                    }
                    values.push(value);
                }
            }
        }
        Ok(Some(values))
    }

    /// Returns the live rows that describe `part` of the directory at `dir`
    /// (absolute, as stored); the directory's current state supersedes them.
    /// With [`Values::Unnamed`], rows of attributes that entries name are not
    /// looked for.
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
        let spans = scope(self, dir, reach, &mut scratch)?;
        self.rows_with(spans, (dir, part, reach), values, &mut scratch)
    }

    /// Like [`View::rows_of`] for a listing whose rows lie in these spans.
    pub(crate) fn rows_of_listing(
        &self,
        dir: &[u8],
        spans: Vec<Span>,
        values: Values,
        scratch: &mut Scratch,
    ) -> Result<Vec<RowsOf<'_>>> {
        let what = (dir, Part::Listing, Reach::Itself);
        self.rows_with(spans, what, values, scratch)
    }

    fn rows_with(
        &self,
        spans: Vec<Span>,
        (dir, part, reach): (&[u8], Part, Reach),
        values: Values,
        scratch: &mut Scratch,
    ) -> Result<Vec<RowsOf<'_>>> {
        let spans = spans.into_iter();
        let mut found: Vec<_> = spans
            .map(|span| (span.segment, Table::Dirs, span.dirs))
            .collect();
        self.own_rows(dir, part, scratch, &mut found)?;
        for (at, rows) in xattrs::rows_of(self, dir, reach, values, scratch)? {
            found.push((at, Table::Xattrs, rows));
        }
        for (at, rows) in issues::rows_of(self, dir, reach, scratch)? {
            found.push((at, Table::Issues, rows));
        }
        Ok(self.named(found))
    }

    /// Returns the live rows with attribute values of one entry.
    pub fn values_of(&self, dir: &[u8], name: &[u8]) -> Result<Vec<RowsOf<'_>>> {
        let found = xattrs::rows_of_entry(self, (dir, name), &mut Scratch::default())?;
        let found = found.into_iter();
        Ok(self.named(found.map(|(at, rows)| (at, Table::Xattrs, rows)).collect()))
    }

    /// Returns the directories that a segment has live rows of. Once they have
    /// all been read again, nothing in the segment is live. Rows that concern
    /// only the source's root are returned as the root.
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

    /// Finds live own rows: copies of rows in the listing of `dir`, or in any
    /// listing below it, or the root's.
    fn own_rows(
        &self,
        dir: &[u8],
        part: Part,
        scratch: &mut Scratch,
        found: &mut Vec<(SegmentAt, Table, Range<u64>)>,
    ) -> Result<()> {
        let above_root = path::split(self.root()).map_or(&[][..], |(above, _)| above);
        let segments = match part {
            Part::Listing => self.having_own_rows_in(dir),
            Part::Subtree => self.having(Having::OwnRow),
            Part::Root => self.having_own_rows_in(above_root),
        };
        for at in segments {
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
