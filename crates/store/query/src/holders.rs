//! Finds the directories that hold objects given by device and inode number.
//!
//! No table is sorted by inode number, so the pages of all segments are
//! scanned. A view that is queried repeatedly ([`View::with_places`]) remembers
//! a filter of the numbers on each page of the segments that it begins with.
//! Later queries skip the pages that cannot contain the numbers.

use crate::entries_at::Owners;
use crate::error::Result;
use crate::index::{SegmentAt, View};
use crate::segment::{Scratch, read_rows};
use crate::walk::check_cancelled_by;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use trawl_format::schema::{PAGE_ROWS, Table};
use trawl_model::column::{Column, ColumnSet};
use trawl_model::path;

/// Maximum memory for filters, enough for 64 million rows. Pages without a
/// filter are decoded each time.
const MOST_BYTES: usize = 64 << 20;
/// Bits in a filter for each row; about one page in 40 is decoded in vain.
const BITS_A_ROW: usize = 8;
/// Number of bits set for each number.
const PROBES: u32 = 4;

/// Filters of the numbers on pages of entries tables, by segment and page
/// number.
#[derive(Debug, Default)]
pub(crate) struct InodeFilters {
    pages: HashMap<(SegmentAt, u64), Filter>,
    bytes: usize,
}

/// A Bloom filter: a set of numbers with false positives but no false
/// negatives.
#[derive(Debug)]
struct Filter(Box<[u64]>);

impl Filter {
    fn of(objects: impl ExactSizeIterator<Item = (u64, u64)>) -> Filter {
        let bits = (objects.len() * BITS_A_ROW).next_power_of_two().max(64);
        let mut words = vec![0u64; bits / 64].into_boxed_slice();
        for object in objects {
            for bit in probes(object, bits) {
                if let Some(word) = words.get_mut(bit / 64) {
                    *word |= 1 << (bit % 64);
                }
            }
        }
        Filter(words)
    }

    fn may_have(&self, object: (u64, u64)) -> bool {
        let is_set = |bit: usize| {
            let word = self.0.get(bit / 64);
            word.is_some_and(|word| word & (1 << (bit % 64)) != 0)
        };
        probes(object, self.0.len() * 64).all(is_set)
    }
}

/// Returns the bits of an object in a filter of `bits` bits (a power of two).
fn probes((dev, ino): (u64, u64), bits: usize) -> impl Iterator<Item = usize> {
    let mut hash = ino ^ dev.rotate_left(32);
    // Every bit of the numbers affects every bit of the hash.
    for factor in [0xff51_afd7_ed55_8ccd_u64, 0xc4ce_b9fe_1a85_ec53] {
        hash = (hash ^ (hash >> 33)).wrapping_mul(factor);
    }
    let (first, step) = (hash, (hash >> 32) | 1);
    let mask = bits - 1;
    (0..PROBES).map(move |nth| {
        let at = first.wrapping_add(step.wrapping_mul(u64::from(nth)));
        usize::try_from(at & mask as u64).unwrap_or_default()
    })
}

impl View {
    /// Returns the directories that hold these objects, given by device and
    /// inode number, according to live rows; in path order.
    pub fn holders_of(
        &self,
        objects: &HashSet<(u64, u64)>,
        cancel: Option<&AtomicBool>,
    ) -> Result<Vec<Vec<u8>>> {
        let mut scratch = Scratch::default();
        let mut dirs = Vec::new();
        for at in 0..self.segment_count() {
            check_cancelled_by(cancel)?;
            let rows = self.rows_of_objects(at, objects, &mut scratch)?;
            self.add_holders(at, &rows, &mut scratch, &mut dirs)?;
        }
        dirs.sort_by(|a, b| path::cmp(a, b));
        dirs.dedup();
        Ok(dirs)
    }

    /// Returns the rows of a segment that are these objects; ascending.
    fn rows_of_objects(
        &self,
        at: SegmentAt,
        objects: &HashSet<(u64, u64)>,
        scratch: &mut Scratch,
    ) -> Result<Vec<u64>> {
        let page_rows = PAGE_ROWS as u64;
        let rows = self.segment(at).map_or(0, |(_, segment)| segment.rows);
        let mut found = Vec::new();
        for page in 0..rows.div_ceil(page_rows) {
            if !self.may_have(at, page, objects) {
                continue;
            }
            let range = page * page_rows..rows.min((page + 1) * page_rows);
            self.look_in_page(at, range, objects, scratch, &mut found)?;
        }
        Ok(found)
    }

    fn look_in_page(
        &self,
        at: SegmentAt,
        rows: Range<u64>,
        objects: &HashSet<(u64, u64)>,
        scratch: &mut Scratch,
        found: &mut Vec<u64>,
    ) -> Result<()> {
        let Some(file) = self.file(at, Table::Entries)? else {
            return Ok(());
        };
        let (page, first) = (rows.start / PAGE_ROWS as u64, rows.start);
        let columns = ColumnSet::of(&[Column::Ino, Column::Dev]);
        let batch = read_rows(&file, columns, &[rows], scratch)?;
        let numbers = || batch.dev.iter().copied().zip(batch.ino.iter().copied());
        let meant = numbers().zip(first..);
        found.extend(meant.filter_map(|(object, row)| objects.contains(&object).then_some(row)));
        if let Some(mut filters) = self.inode_filters(at) {
            filters.note((at, page), || Filter::of(numbers()));
        }
        scratch.recycle(batch);
        Ok(())
    }

    fn may_have(&self, at: SegmentAt, page: u64, objects: &HashSet<(u64, u64)>) -> bool {
        let Some(filters) = self.inode_filters(at) else {
            return true;
        };
        let filter = filters.pages.get(&(at, page));
        filter.is_none_or(|filter| objects.iter().any(|object| filter.may_have(*object)))
    }

    /// Adds the directories of these rows, unless the listings are dead.
    fn add_holders(
        &self,
        at: SegmentAt,
        rows: &[u64],
        scratch: &mut Scratch,
        dirs: &mut Vec<Vec<u8>>,
    ) -> Result<()> {
        let file = match rows.is_empty() {
            true => None,
            false => self.file(at, Table::Dirs)?,
        };
        let (Some(file), Some((_, segment))) = (file, self.segment(at)) else {
            return Ok(());
        };
        let dead = self.dead(at, Table::Dirs);
        let mut owners = Owners::new(&file);
        for row in rows {
            let (listing, dir) = owners.listing_of(*row, scratch)?;
            let is_own_row = segment.own_row && listing == 0;
            let nth = dead.partition_point(|rows| rows.end <= listing);
            let is_dead = dead.get(nth).is_some_and(|rows| rows.start <= listing);
            if !is_own_row && !is_dead {
                dirs.push(dir.to_vec());
            }
        }
        Ok(())
    }
}

impl InodeFilters {
    /// Records a page's filter if there is room and the page has none yet.
    fn note(&mut self, page: (SegmentAt, u64), filter: impl FnOnce() -> Filter) {
        if self.bytes >= MOST_BYTES || self.pages.contains_key(&page) {
            return;
        }
        let filter = filter();
        self.bytes += filter.0.len() * 8;
        self.pages.insert(page, filter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_never_misses_and_seldom_errs() {
        let objects: Vec<(u64, u64)> = (0..8192).map(|n| (2049, 100_000 + 3 * n)).collect();
        let filter = Filter::of(objects.iter().copied());
        assert!(objects.iter().all(|object| filter.may_have(*object)));
        let others = (0..8192).map(|n| (2049, 100_001 + 3 * n));
        let wrong = others.filter(|object| filter.may_have(*object)).count();
        assert!(wrong < 8192 / 20, "{wrong}");
        assert!(!Filter::of(std::iter::empty()).may_have((1, 2)));
    }
}
