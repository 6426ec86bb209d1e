//! Identifies directories independently of their paths, so that a moved
//! directory is recognised.

use crate::error::Result;
use crate::index::{SegmentAt, View};
use crate::segment::{Scratch, SegmentFile, read_dir_numbers, read_dirs};
use crate::superseded::RowsOf;
use std::ops::Range;
use trawl_format::schema::{DirColumn, Table};
use trawl_model::{Dev, Meta};

/// Rows of a dirs table that are read together.
const DIRS_ROWS: u64 = 8 * 1024;

/// Columns that identify a directory.
pub(crate) const COLUMNS: [DirColumn; 4] = [
    DirColumn::OwnDev,
    DirColumn::OwnIno,
    DirColumn::OwnBtime,
    DirColumn::OwnBtimeNs,
];

/// The identity of a directory: its device, its inode number and, if known, its
/// time of creation, because inode numbers are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DirObject([u64; 4]);

impl DirObject {
    /// Returns the identity of the directory with these attributes.
    pub fn of(own: &Meta) -> DirObject {
        let born = own.btime.unwrap_or_default();
        let born = [born.secs as u64, u64::from(born.nanos)];
        DirObject([own.dev.as_u64(), own.ino, born[0], born[1]])
    }

    /// False if no inode number was recorded, as in some traces.
    pub fn is_known(&self) -> bool {
        self.0[1] != 0
    }

    /// True if the directory has this inode number on this device.
    pub fn has_number(&self, dev: Dev, ino: u64) -> bool {
        (self.0[0], self.0[1]) == (dev.as_u64(), ino)
    }

    /// Reads an identity; `number` returns the values of [`COLUMNS`].
    pub(crate) fn read(number: impl Fn(usize) -> u64) -> DirObject {
        DirObject([0, 1, 2, 3].map(number))
    }
}

/// A directory that a dead row records at a path where it no longer is.
#[derive(Debug)]
pub struct GoneDirectory<'v> {
    /// The former path.
    pub path: Vec<u8>,
    /// The identity of the directory.
    pub object: DirObject,
    /// The dead row.
    pub rows: RowsOf<'v>,
}

impl View {
    /// Finds directories that are `wanted` among dead rows: those of the view,
    /// and those in `killed`.
    ///
    /// # Errors
    /// If part of the index cannot be read.
    pub fn gone_directories<'v>(
        &'v self,
        killed: &[RowsOf<'v>],
        wanted: impl Fn(&DirObject) -> bool,
    ) -> Result<Vec<GoneDirectory<'v>>> {
        let mut scratch = Scratch::default();
        let mut found = Vec::new();
        for (at, shard, segment) in self.segments() {
            let mut dead = self.dead(at, Table::Dirs).to_vec();
            let is_here = |rows: &&RowsOf<'_>| {
                rows.segment == segment.id
                    && rows.table == Table::Dirs
                    && rows.shard.components() == shard.components()
            };
            dead.extend(killed.iter().filter(is_here).map(|rows| rows.rows.clone()));
            dead.sort_by_key(|rows| (rows.start, rows.end));
            for rows in dead {
                let rows = rows.start.max(u64::from(segment.own_row))..rows.end;
                self.objects_in(at, rows, &mut scratch, &wanted, |path, object, row| {
                    let rows = RowsOf {
                        shard,
                        segment: segment.id,
                        table: Table::Dirs,
                        rows: row..row + 1,
                    };
                    found.push(GoneDirectory { path, object, rows });
                })?;
            }
        }
        Ok(found)
    }

    /// Passes the directories that are `wanted` among rows of a segment's dirs
    /// table to `give`.
    fn objects_in(
        &self,
        at: SegmentAt,
        rows: Range<u64>,
        scratch: &mut Scratch,
        wanted: impl Fn(&DirObject) -> bool,
        mut give: impl FnMut(Vec<u8>, DirObject, u64),
    ) -> Result<()> {
        let Some(file) = self.file(at, Table::Dirs)? else {
            return Ok(());
        };
        for start in rows.clone().step_by(DIRS_ROWS as usize) {
            let some = start..rows.end.min(start + DIRS_ROWS);
            let found = objects_of(&file, some, scratch, &wanted)?;
            let (Some((first, _)), Some((last, _))) = (found.first(), found.last()) else {
                continue;
            };
            let first = *first;
            // Read in one piece, so that each page is decoded once.
            let chunk = read_dirs(&file, first..last + 1, &[], scratch)?;
            for (row, object) in found {
                let path = chunk.path.get((row - first) as usize).to_vec();
                give(path, object, row);
            }
        }
        Ok(())
    }

    /// Passes the directories that are `wanted` among those that a segment
    /// lists to `give`, each with its path and row.
    ///
    /// # Errors
    /// If part of the index cannot be read.
    pub fn stored_objects(
        &self,
        segment: usize,
        wanted: impl Fn(&DirObject) -> bool,
        give: impl FnMut(Vec<u8>, DirObject, u64),
    ) -> Result<()> {
        let rows = self.segment(segment).map_or(0..0, |(_, info)| {
            u64::from(info.own_row)..info.dirs.max(u64::from(info.own_row))
        });
        self.objects_in(segment, rows, &mut Scratch::default(), wanted, give)
    }
}

/// Returns the directories that are `wanted` among these rows of a dirs table,
/// ascending.
fn objects_of(
    file: &SegmentFile,
    rows: Range<u64>,
    scratch: &mut Scratch,
    wanted: impl Fn(&DirObject) -> bool,
) -> Result<Vec<(u64, DirObject)>> {
    let numbers = read_dir_numbers(file, rows.clone(), &COLUMNS, scratch)?;
    let number = |column: usize, nth: usize| {
        let values: Option<&Vec<u64>> = numbers.get(column);
        values.and_then(|values| values.get(nth)).copied()
    };
    let objects = rows.enumerate().map(|(nth, row)| {
        let object = DirObject::read(|column| number(column, nth).unwrap_or_default());
        (row, object)
    });
    Ok(objects.filter(|(_, object)| wanted(object)).collect())
}
