//! Finds files that may be duplicates: of equal size, or of equal size and
//! name.
//!
//! Memory is bounded whatever the scope. A first pass over sizes (and names)
//! records in two bitmaps which hashes occur once and which occur again, and
//! counts files by size class. Further passes, from large sizes to small ones,
//! collect the files of a range of size classes whose hash occurs again. The
//! ranges are chosen so that each holds a limited number of files. (A single
//! size class cannot be divided: if it has more files, all of them are held.)

use crate::entries_at::{Entry, RowAt, entries_at};
use crate::error::Result;
use crate::index::{Index, Start, View};
use crate::stats::size_bucket;
use crate::sweep::{Columns, LinkCount, SweepRequest};
use std::cmp::Reverse;
use std::num::NonZeroUsize;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use trawl_model::column::{Column, ColumnSet};
use trawl_model::operation::Operation;
use trawl_model::{FileType, path};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Approximate maximum number of candidates collected in one pass.
const MOST_COLLECTED: u64 = 4 << 20;
/// Approximate number of entries whose paths are decoded together.
const ENTRIES_AT_ONCE: usize = 64 * 1024;
/// Minimum and maximum bits in a bitmap.
const MAP_BITS: Range<u64> = (1 << 16)..(1 << 29);
/// Number of size classes for each power of two.
const CLASSES: usize = 32;

/// The properties that duplicates share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Alike {
    /// The size.
    #[default]
    Size,
    /// The size and the name.
    SizeAndName,
}

/// A query for duplicates.
#[derive(Clone, Copy, Debug, Default)]
pub struct DuplicateRequest<'a> {
    /// The properties that duplicates share.
    pub alike: Alike,
    /// Minimum size in bytes; smaller files are left out.
    pub least_bytes: u64,
    /// Columns to read of each file.
    pub columns: ColumnSet,
    /// Number of threads; `None` for as many as there are processors.
    pub threads: Option<NonZeroUsize>,
    /// Cancels the query with
    /// [`QueryError::Cancelled`](crate::QueryError::Cancelled) soon after it is
    /// set.
    pub cancel: Option<&'a AtomicBool>,
}

impl Index {
    /// Passes groups of alike regular files below `start` to `visit`, largest
    /// files first, each group sorted by path. Of a file with several hard
    /// links only the first name counts.
    ///
    /// # Errors
    /// If part of the index cannot be read, or with
    /// [`QueryError::Cancelled`](crate::QueryError::Cancelled).
    pub fn duplicates(
        &self,
        start: &Start,
        request: &DuplicateRequest<'_>,
        mut visit: impl FnMut(&[Entry]) -> ControlFlow<()>,
    ) -> Result<()> {
        let search = Search {
            index: self,
            start,
            request,
        };
        let survey = search.survey()?;
        for sizes in survey.ranges() {
            let candidates = search.collect(&survey, sizes)?;
            if search.tell(&candidates, &mut visit)?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// A file that may have a duplicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    size: Reverse<u64>,
    /// Hash of the other shared properties.
    hash: u64,
    place: RowAt,
}

struct Search<'a> {
    index: &'a Index,
    start: &'a Start,
    request: &'a DuplicateRequest<'a>,
}

impl Search<'_> {
    /// Calls `visit` with size, hash and place of every file that counts.
    fn each_file(&self, columns: &Columns<'_>, mut visit: impl FnMut(u64, u64, RowAt)) {
        let batch = columns.batch;
        let value = |column: &[u64], at: usize| column.get(at).copied().unwrap_or_default();
        for at in columns.rows() {
            let size = value(&batch.size, at);
            let mode = batch.mode.get(at).copied().unwrap_or_default();
            if size < self.request.least_bytes || FileType::from_mode(mode) != FileType::Regular {
                continue;
            }
            let hash = match self.request.alike {
                Alike::Size => 0,
                Alike::SizeAndName => xxh3_64(batch.name.get(at)),
            };
            let (segment, first) = columns.place;
            visit(size, hash, (segment, first + at as u64));
        }
    }

    fn sweep(&self) -> SweepRequest<'_> {
        let named: &[Column] = match self.request.alike {
            Alike::Size => &[],
            Alike::SizeAndName => &[Column::Name],
        };
        let own = ColumnSet::of(&[Column::Size, Column::Mode]);
        SweepRequest {
            columns: own.union(ColumnSet::of(named)),
            links: LinkCount::Once,
            threads: self.request.threads,
            cancel: self.request.cancel,
        }
    }

    fn survey(&self) -> Result<Survey> {
        let rows = self.index.totals(self.start)?.sums.entries();
        let mut survey = Survey::new(rows);
        let mut classes = vec![0u64; survey.classes.len()];
        let work = |columns: &Columns<'_>, counts: &mut Vec<u64>| {
            counts.resize(classes_in_all(), 0);
            self.each_file(columns, |size, hash, _| {
                survey.note(size, hash);
                counts[class(size)] += 1;
            });
        };
        let add = |counts: Vec<u64>| classes.iter_mut().zip(counts).for_each(|(a, b)| *a += b);
        self.index.sweep(self.start, &self.sweep(), work, add)?;
        survey.classes = classes;
        Ok(survey)
    }

    /// Collects the files in these size classes whose hash occurs again.
    fn collect(&self, survey: &Survey, sizes: Range<usize>) -> Result<Vec<Candidate>> {
        let work = |columns: &Columns<'_>, found: &mut Vec<Candidate>| {
            self.each_file(columns, |size, hash, place| {
                if sizes.contains(&class(size)) && survey.is_repeated(size, hash) {
                    found.push(Candidate {
                        size: Reverse(size),
                        hash,
                        place,
                    });
                }
            });
        };
        let mut all = Vec::new();
        let add = |found: Vec<Candidate>| all.extend(found);
        self.index.sweep(self.start, &self.sweep(), work, add)?;
        let _span = Operation::Sort.span();
        all.sort_unstable();
        Ok(all)
    }

    /// Reads the entries of candidates, which are sorted, and reports the
    /// groups.
    fn tell(
        &self,
        candidates: &[Candidate],
        visit: &mut impl FnMut(&[Entry]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let groups = candidates.chunk_by(|a, b| (a.size, a.hash) == (b.size, b.hash));
        let mut some: Vec<&[Candidate]> = Vec::new();
        let mut waiting = 0;
        for group in groups.filter(|group| group.len() > 1) {
            some.push(group);
            waiting += group.len();
            if waiting >= ENTRIES_AT_ONCE {
                if self.tell_some(&some, visit)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                some.clear();
                waiting = 0;
            }
        }
        self.tell_some(&some, visit)
    }

    fn tell_some(
        &self,
        groups: &[&[Candidate]],
        visit: &mut impl FnMut(&[Entry]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let view: &View = &self.start.view;
        let members = groups.iter().copied().flatten();
        let places: Vec<RowAt> = members.map(|candidate| candidate.place).collect();
        let columns = self.request.columns;
        let mut entries = entries_at(view, &places, columns, self.request.cancel)?.into_iter();
        for group in groups {
            let mut members: Vec<Entry> = entries.by_ref().take(group.len()).collect();
            if self.request.alike == Alike::SizeAndName {
                // Different names may have the same hash.
                members.sort_by(|a, b| a.row().name().cmp(b.row().name()));
            }
            let is_same = |a: &Entry, b: &Entry| {
                self.request.alike == Alike::Size || a.row().name() == b.row().name()
            };
            for alike in members
                .chunk_by_mut(is_same)
                .filter(|alike| alike.len() > 1)
            {
                alike.sort_by(|a, b| path::cmp(&a.path, &b.path));
                if visit(alike).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Results of the first pass.
struct Survey {
    /// Hashes that occurred at least once.
    once: Vec<AtomicU64>,
    /// Hashes that occurred more than once.
    again: Vec<AtomicU64>,
    /// Number of files by [`class`] of size.
    classes: Vec<u64>,
}

impl Survey {
    fn new(rows: u64) -> Survey {
        let bits = rows.saturating_mul(8).clamp(MAP_BITS.start, MAP_BITS.end);
        let words = bits.next_power_of_two() / 64;
        let map = || (0..words).map(|_| AtomicU64::new(0)).collect();
        Survey {
            once: map(),
            again: map(),
            classes: vec![0; classes_in_all()],
        }
    }

    /// Returns word and bit of the shared properties in the bitmaps.
    fn place(&self, size: u64, hash: u64) -> (usize, u64) {
        let hash = xxh3_64_with_seed(&size.to_le_bytes(), hash);
        let words = self.once.len() as u64;
        (((hash >> 6) % words) as usize, 1 << (hash & 63))
    }

    fn note(&self, size: u64, hash: u64) {
        let (word, bit) = self.place(size, hash);
        if self.once[word].load(Ordering::Relaxed) & bit != 0
            || self.once[word].fetch_or(bit, Ordering::Relaxed) & bit != 0
        {
            self.again[word].fetch_or(bit, Ordering::Relaxed);
        }
    }

    fn is_repeated(&self, size: u64, hash: u64) -> bool {
        let (word, bit) = self.place(size, hash);
        self.again[word].load(Ordering::Relaxed) & bit != 0
    }

    /// Divides the classes into ranges with a limited number of files each,
    /// largest sizes first.
    fn ranges(&self) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        let mut end = self.classes.len();
        let mut files = 0;
        for at in (0..self.classes.len()).rev() {
            let more = self.classes[at];
            if files > 0 && more > 0 && files + more > MOST_COLLECTED {
                ranges.push(at + 1..end);
                (end, files) = (at + 1, 0);
            }
            files += more;
        }
        ranges.push(0..end);
        ranges
    }
}

fn classes_in_all() -> usize {
    class(u64::MAX) + 1
}

/// Returns the class of a size. Larger sizes never have a smaller class.
fn class(size: u64) -> usize {
    let bucket = size_bucket(size);
    let rest = match bucket {
        0 | 1 => 0,
        // The bits after the leading one.
        _ => {
            let behind = bucket - 1;
            let bits = size & !(1 << behind);
            match behind.checked_sub(CLASSES.ilog2() as usize) {
                Some(low) => bits >> low,
                None => bits << (CLASSES.ilog2() as usize - behind),
            }
        }
    };
    bucket * CLASSES + rest as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_rise_with_sizes() {
        let mut before = 0;
        for shift in 0..64 {
            for part in 0..100u128 {
                let size = (1u128 << shift) + ((1u128 << shift) * part / 100);
                let class = class(u64::try_from(size).unwrap());
                assert!(class >= before && class < classes_in_all(), "{size}");
                before = class;
            }
        }
        assert!(class(0) < class(1));
    }

    #[test]
    fn ranges_hold_every_class_once_and_not_too_many_files() {
        let mut survey = Survey::new(0);
        survey.classes[5] = MOST_COLLECTED + 7;
        survey.classes[6] = MOST_COLLECTED / 2;
        survey.classes[900] = MOST_COLLECTED / 2;
        let ranges = survey.ranges();
        let all: Vec<usize> = ranges.iter().rev().cloned().flatten().collect();
        assert_eq!(all, (0..survey.classes.len()).collect::<Vec<_>>());
        let files = |range: &Range<usize>| survey.classes[range.clone()].iter().sum::<u64>();
        assert_eq!(
            ranges.iter().map(files).collect::<Vec<_>>(),
            [MOST_COLLECTED, MOST_COLLECTED + 7]
        );
    }

    #[test]
    fn what_occurred_again_is_known() {
        let survey = Survey::new(1000);
        for size in 0..1000 {
            survey.note(size, 0);
        }
        for size in 0..500 {
            survey.note(size, 0);
        }
        assert!((0..500).all(|size| survey.is_repeated(size, 0)));
        // Few other hashes collide with it.
        assert!(
            (500..1000)
                .filter(|size| survey.is_repeated(*size, 0))
                .count()
                < 50
        );
    }
}
