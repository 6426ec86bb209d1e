//! Finds changes through all inodes of an xfs. They are delivered in the order of their numbers,
//! many per call, and the rows of the index are looked up among them.
//!
//! For each inode its number and a hash of the compared attributes are stored. At most `KEPT`
//! inodes are held at a time, which bounds memory; the rows are read once for each such window.

use trawl_model::Dev;
use trawl_model::column::ColumnSet;
use trawl_model::rows::{Row, RowBatch};
use trawl_query::{Batch, Start};
use trawl_sys::directory::{AccessTime, Purpose, open_at};
use trawl_sys::filesystem;
use trawl_sys::xfs::Inodes;

use super::digest::{of_inode, of_row};
use super::{COMPARED, CatchUpResult, Judge, Method, Piece, Search, Suspect, Top, Unfit};

/// Maximum number of inodes held at a time, 16 bytes each.
const KEPT: usize = 2 << 20;

/// If the file system has more inodes per row of the index than this, reading them is not
/// worthwhile.
const INODES_A_ROW: u64 = 8;

struct Window<'a> {
    search: &'a Search<'a>,
    top: &'a Top,
    /// The root's device number, as rows have it.
    dev: u64,
    /// The window of inode numbers: from `first` to below `end`, or to the last one if `None`.
    first: u64,
    end: Option<u64>,
    /// Pairs of number and hash, by number.
    inodes: Vec<(u64, u64)>,
}

/// Finds rows that differ from their inodes, or whose inodes do not exist.
pub(super) fn find(
    search: &Search<'_>,
    start: &Start,
    top: &Top,
) -> std::result::Result<CatchUpResult, Unfit> {
    let mut found = CatchUpResult::by(Method::Inodes);
    let system = filesystem::of_fd(&top.fd)?;
    let used = system.inodes.saturating_sub(system.inodes_free);
    if used > search.rows.saturating_mul(INODES_A_ROW).max(KEPT as u64) {
        return super::times::find(search, start, top);
    }
    let list = open_at(&top.fd, c".", Purpose::List(AccessTime::Keep))?;
    let mut inodes = Inodes::of(list);
    let mut window = Window {
        search,
        top,
        dev: top.stat.dev.as_u64(),
        first: 0,
        end: Some(0),
        inodes: Vec::new(),
    };
    let mut looked_at = 0;
    while window.end.is_some() {
        window.fill(&mut inodes)?;
        looked_at += window.inodes.len() as u64;
        search.judge(start, &window, &mut found)?;
    }
    found.looked_at = looked_at;
    // In the order of the tree, whatever the inode numbers are.
    found
        .suspects
        .sort_by(|a, b| trawl_model::path::cmp(&a.dir, &b.dir).then(a.name.cmp(&b.name)));
    Ok(found)
}

impl Window<'_> {
    /// Reads the next window of inodes.
    fn fill(&mut self, from: &mut Inodes) -> std::result::Result<(), Unfit> {
        self.first = self.end.unwrap_or(u64::MAX);
        self.inodes.clear();
        while self.inodes.len() < KEPT {
            let before = self.inodes.len();
            let search = self.search;
            let some = from.next_ones()?;
            let kept = some.map(|inode| (inode.ino, of_inode(search, &inode)));
            self.inodes.extend(kept);
            if self.inodes.len() == before {
                self.end = None;
                return Ok(());
            }
        }
        self.end = self.inodes.last().map(|(ino, _)| ino.saturating_add(1));
        Ok(())
    }

    /// Returns true if the row's inode in this window differs from the row.
    fn is_other(&self, rows: &RowBatch, at: usize) -> bool {
        let number = |column: &[u64]| column.get(at).copied().unwrap_or_default();
        let ino = number(&rows.ino);
        if number(&rows.dev) != self.dev {
            // A row on another device is looked at individually, in the first window.
            return self.first == 0;
        }
        if ino < self.first || self.end.is_some_and(|end| ino >= end) {
            return false;
        }
        match self.inodes.binary_search_by_key(&ino, |(ino, _)| *ino) {
            Ok(place) => {
                let now = self.inodes.get(place).map(|(_, hash)| *hash);
                let dir = &b""[..];
                now != Some(of_row(&Row {
                    batch: rows,
                    at,
                    dir,
                }))
            }
            Err(_) => true,
        }
    }
}

impl Judge for Window<'_> {
    fn columns(&self) -> ColumnSet {
        COMPARED
    }

    fn judge(&self, batch: &mut Batch<'_>, into: &mut Piece) -> trawl_query::Result<()> {
        let mut is_any = false;
        for rows in batch.columns() {
            is_any |= (0..rows.ino.len()).any(|at| self.is_other(rows, at));
        }
        if !is_any {
            return Ok(());
        }
        batch.for_each_listing(|listing| {
            for at in listing.range.clone() {
                let (batch, dir) = (listing.batch, listing.dir.path);
                let row = Row { batch, at, dir };
                if !self.is_other(batch, at) {
                    continue;
                }
                let is_elsewhere = row.dev() != Dev::from_u64(self.dev);
                if !is_elsewhere || self.top.differs(self.search, &row) {
                    into.suspects.push(Suspect::of(&row));
                }
            }
        })
    }
}
