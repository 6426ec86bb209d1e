//! Decoded pages that lookups of single rows share.
//!
//! A lookup wants few rows, but a page is decoded from its start: without this
//! cache, each of a thousand lookups would decode the same pages again. A view
//! has one cache for the files of all its segments; the least recently used
//! pages are dropped first.
//!
//! - Pages are found by the hash of their file's tail, which has the hashes of
//!   all its columns. Files never change, so a page is never stale.
//! - Only an open [`SegmentFile`] reaches its pages. So a page is seen only by a
//!   process that the kernel has let read the file, and only as long as the view
//!   exists that opened the file.
//! - Only reads with [`Scratch::for_lookups`] use the cache, and of these only
//!   reads of few rows. Scans of whole tables neither use it nor fill it.
//! - Values are checked as all others before they are kept; nothing is kept of a
//!   page that is damaged.

use super::dirs::DirChunk;
use super::file::{SegmentFile, row_count};
use super::page::{MOST_COLUMN_BYTES, Number};
use super::scratch::Scratch;
use crate::error::Result;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use trawl_format::schema::PAGE_ROWS;
use trawl_model::rows::ByteColumn;
use trawl_model::sync::lock;

/// Bytes of decoded pages that a view keeps.
pub(crate) const KEPT_PAGE_BYTES: usize = 32 << 20;
/// Reads of more rows are scans.
const MOST_LOOKUP_ROWS: usize = 2 * PAGE_ROWS;
/// Pages larger than this share of the bound are not kept, since they would
/// replace too many others.
const LARGEST_SHARE: usize = 8;
/// Approximate bytes that a page takes besides its values.
const PAGE_BYTES: usize = 256;

/// The values of a column that are kept together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// Numbers; null is replaced by the number with these bits.
    Numbers { null: u64 },
    /// Byte strings.
    Texts,
    /// Paths of directories with their rows.
    Directories,
}

/// Identifies a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PageKey {
    /// Hash of the file's tail.
    file: trawl_format::Hash,
    column: usize,
    first_row: u64,
    kind: Kind,
}

/// Decoded values of the first rows of a page.
#[derive(Debug)]
pub(super) enum Values {
    /// The same number in so many rows.
    Same(u64, usize),
    /// Numbers of 32 bits.
    Short(Vec<u32>),
    /// Numbers.
    Long(Vec<u64>),
    /// Empty strings in so many rows.
    NoTexts(usize),
    /// Byte strings.
    Texts(ByteColumn),
    /// Directories.
    Directories(Arc<DirChunk>),
}

impl Values {
    fn of_numbers(numbers: Vec<u64>) -> Values {
        let first = numbers.first().copied().unwrap_or_default();
        if numbers.iter().all(|number| *number == first) {
            return Values::Same(first, numbers.len());
        }
        let all = numbers.iter().fold(0, |all, number| all | number);
        match u32::try_from(all) {
            Ok(_) => Values::Short(numbers.iter().map(|number| *number as u32).collect()),
            Err(_) => Values::Long(numbers),
        }
    }

    fn of_texts(texts: ByteColumn) -> Values {
        match texts.data.is_empty() {
            true => Values::NoTexts(texts.len()),
            false => Values::Texts(texts),
        }
    }

    /// Number of rows.
    fn rows(&self) -> usize {
        match self {
            Values::Same(_, rows) | Values::NoTexts(rows) => *rows,
            Values::Short(numbers) => numbers.len(),
            Values::Long(numbers) => numbers.len(),
            Values::Texts(texts) => texts.len(),
            Values::Directories(chunk) => chunk.len(),
        }
    }

    /// Memory in bytes.
    fn bytes(&self) -> usize {
        let of_texts = |texts: &ByteColumn| texts.data.capacity() + 4 * texts.offsets.capacity();
        let values = match self {
            Values::Same(..) | Values::NoTexts(_) => 0,
            Values::Short(numbers) => 4 * numbers.capacity(),
            Values::Long(numbers) => 8 * numbers.capacity(),
            Values::Texts(texts) => of_texts(texts),
            Values::Directories(chunk) => {
                let numbers = chunk.numbers.iter();
                let numbers: usize = numbers.map(|column| 8 * column.capacity()).sum();
                numbers + of_texts(&chunk.path)
            }
        };
        values + PAGE_BYTES
    }

    /// Appends the numbers of these rows to `out`.
    fn append_numbers<T: Number>(&self, rows: Range<usize>, out: &mut Vec<T>) -> Option<()> {
        match self {
            Values::Same(number, all) if rows.end <= *all => {
                out.resize(out.len() + rows.len(), T::from_bits(*number));
            }
            Values::Short(all) => {
                let some = all.get(rows)?.iter();
                out.extend(some.map(|number| T::from_bits(u64::from(*number))));
            }
            Values::Long(all) => {
                out.extend(all.get(rows)?.iter().map(|number| T::from_bits(*number)));
            }
            _ => return None,
        }
        Some(())
    }

    /// Appends the byte strings of these rows to `out`.
    fn append_texts(&self, rows: Range<usize>, out: &mut ByteColumn) -> Option<()> {
        let end = *out.offsets.last()?;
        match self {
            Values::NoTexts(all) if rows.end <= *all => {
                out.offsets.resize(out.offsets.len() + rows.len(), end);
            }
            Values::Texts(all) => {
                let offsets = all.offsets.get(rows.start..=rows.end)?;
                let (from, to) = (*offsets.first()?, *offsets.last()?);
                let bytes = all.data.get(from as usize..to as usize)?;
                if out.data.len() + bytes.len() > MOST_COLUMN_BYTES {
                    return None;
                }
                out.data.extend_from_slice(bytes);
                let after = offsets.get(1..)?.iter();
                out.offsets.extend(after.map(|offset| offset - from + end));
            }
            _ => return None,
        }
        Some(())
    }
}

/// A page in the cache.
#[derive(Debug)]
struct Kept {
    values: Arc<Values>,
    bytes: usize,
    /// When it was used last, counted in uses.
    used: u64,
}

#[derive(Debug, Default)]
struct Pages {
    by_key: HashMap<PageKey, Kept>,
    /// Pages by their last use.
    by_use: BTreeMap<u64, PageKey>,
    uses: u64,
    bytes: usize,
}

impl Pages {
    fn get(&mut self, key: &PageKey) -> Option<Arc<Values>> {
        let kept = self.by_key.get_mut(key)?;
        self.by_use.remove(&kept.used);
        self.uses += 1;
        kept.used = self.uses;
        self.by_use.insert(kept.used, *key);
        Some(Arc::clone(&kept.values))
    }

    fn remove(&mut self, key: &PageKey) {
        if let Some(kept) = self.by_key.remove(key) {
            self.by_use.remove(&kept.used);
            self.bytes -= kept.bytes;
        }
    }

    fn put(&mut self, key: PageKey, values: Arc<Values>, bytes: usize) {
        self.remove(&key);
        self.uses += 1;
        let used = self.uses;
        self.bytes += bytes;
        self.by_use.insert(used, key);
        let kept = Kept {
            values,
            bytes,
            used,
        };
        self.by_key.insert(key, kept);
    }
}

/// Pages that were used recently, up to a number of bytes.
#[derive(Debug)]
pub(crate) struct KeptPages {
    most_bytes: usize,
    pages: Mutex<Pages>,
}

impl KeptPages {
    pub(crate) fn new(most_bytes: usize) -> KeptPages {
        KeptPages {
            most_bytes,
            pages: Mutex::default(),
        }
    }

    /// Bytes of the pages that are kept.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        lock(&self.pages).bytes
    }

    fn get(&self, key: &PageKey) -> Option<Arc<Values>> {
        lock(&self.pages).get(key)
    }

    fn put(&self, key: PageKey, values: &Arc<Values>) {
        let bytes = values.bytes();
        if bytes > self.most_bytes / LARGEST_SHARE {
            return;
        }
        let mut pages = lock(&self.pages);
        pages.put(key, Arc::clone(values), bytes);
        while pages.bytes > self.most_bytes
            && let Some((_, oldest)) = pages.by_use.first_key_value()
        {
            let oldest = *oldest;
            pages.remove(&oldest);
        }
    }
}

/// True if a read of these rows is a lookup.
pub(super) fn is_lookup(ranges: &[Range<u64>]) -> bool {
    row_count(ranges) <= MOST_LOOKUP_ROWS
}

/// A column of a file whose pages are kept.
struct KeptColumn<'a> {
    file: &'a SegmentFile,
    pages: &'a KeptPages,
    column: usize,
    kind: Kind,
}

impl KeptColumn<'_> {
    /// Returns at least the first `wanted` rows of the page at `rows`. The first
    /// time, only these are decoded: most pages are needed once. The next time,
    /// all are.
    fn page(
        &self,
        rows: &Range<u64>,
        wanted: usize,
        decode: impl FnOnce(Range<u64>) -> Result<Values>,
    ) -> Result<Arc<Values>> {
        let key = PageKey {
            file: self.file.tail_hash(),
            column: self.column,
            first_row: rows.start,
            kind: self.kind,
        };
        let end = match self.pages.get(&key) {
            Some(known) if known.rows() >= wanted => return Ok(known),
            Some(_) => rows.end,
            None => rows.start + wanted as u64,
        };
        let values = Arc::new(decode(rows.start..end)?);
        self.pages.put(key, &values);
        Ok(values)
    }

    /// Calls `visit` for each page that has rows of `ranges`, with its rows and
    /// with the wanted ones, counted within the page.
    fn for_each_page(
        &self,
        ranges: &[Range<u64>],
        mut visit: impl FnMut(&Range<u64>, &[Range<usize>]) -> Result<()>,
    ) -> Result<()> {
        let mut rest = ranges.iter().filter(|range| !range.is_empty()).cloned();
        let mut next = rest.next();
        let mut keep = Vec::new();
        while let Some(first) = &next {
            let page = self.file.page_around(self.column, first.start)?;
            keep.clear();
            while let Some(range) = next.take_if(|range| range.start < page.end) {
                let end = range.end.min(page.end);
                keep.push((range.start - page.start) as usize..(end - page.start) as usize);
                // A range may continue on the next page.
                next = match end < range.end {
                    true => Some(end..range.end),
                    false => rest.next(),
                };
            }
            visit(&page, &keep)?;
        }
        Ok(())
    }
}

const DAMAGED: &str = "a page has too few rows";

/// As [`SegmentFile::numbers`], by way of kept pages.
pub(super) fn numbers<T: Number>(
    file: &SegmentFile,
    pages: &KeptPages,
    (column, null): (usize, T),
    ranges: &[Range<u64>],
    scratch: &mut Scratch,
    out: &mut Vec<T>,
) -> Result<()> {
    let null = null.bits();
    let kept = KeptColumn {
        file,
        pages,
        column,
        kind: Kind::Numbers { null },
    };
    kept.for_each_page(ranges, |rows, keep| {
        let wanted = keep.last().map_or(0, |range| range.end);
        let values = kept.page(rows, wanted, |rows| {
            let mut numbers = Vec::new();
            file.decode_numbers(column, null, &[rows], scratch, &mut numbers)?;
            Ok(Values::of_numbers(numbers))
        })?;
        let mut keep = keep.iter().cloned();
        let appended = keep.try_for_each(|rows| values.append_numbers(rows, out));
        appended.ok_or_else(|| file.damaged(DAMAGED))
    })
}

/// As [`SegmentFile::strings`], by way of kept pages.
pub(super) fn strings(
    file: &SegmentFile,
    pages: &KeptPages,
    column: usize,
    ranges: &[Range<u64>],
    scratch: &mut Scratch,
    out: &mut ByteColumn,
) -> Result<()> {
    let kept = KeptColumn {
        file,
        pages,
        column,
        kind: Kind::Texts,
    };
    kept.for_each_page(ranges, |rows, keep| {
        let wanted = keep.last().map_or(0, |range| range.end);
        let values = kept.page(rows, wanted, |rows| {
            let mut texts = ByteColumn::default();
            file.decode_strings(column, &[rows], scratch, &mut texts)?;
            texts.data.shrink_to_fit();
            texts.offsets.shrink_to_fit();
            Ok(Values::of_texts(texts))
        })?;
        let mut keep = keep.iter().cloned();
        let appended = keep.try_for_each(|rows| values.append_texts(rows, out));
        appended.ok_or_else(|| file.damaged(DAMAGED))
    })
}

/// Returns the directories of the page that begins at `rows.start`, decoding
/// them with `decode` if they are not kept.
pub(super) fn directories(
    file: &SegmentFile,
    rows: &Range<u64>,
    decode: impl FnOnce() -> Result<DirChunk>,
) -> Result<Arc<DirChunk>> {
    let Some(pages) = file.kept_pages() else {
        return Ok(Arc::new(decode()?));
    };
    let kept = KeptColumn {
        file,
        pages,
        column: 0,
        kind: Kind::Directories,
    };
    let wanted = (rows.end - rows.start) as usize;
    let values = kept.page(rows, wanted, |_| {
        Ok(Values::Directories(Arc::new(decode()?)))
    })?;
    match &*values {
        Values::Directories(chunk) => Ok(Arc::clone(chunk)),
        _ => Err(file.damaged(DAMAGED)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: usize = 64 << 10;

    fn key(first_row: u64) -> PageKey {
        PageKey {
            file: trawl_format::Hash(1),
            column: 3,
            first_row,
            kind: Kind::Texts,
        }
    }

    /// Returns values of some 4 KiB.
    fn page(number: u64) -> Arc<Values> {
        Arc::new(Values::of_numbers(
            (0..512).map(|n| n << 40 | number).collect(),
        ))
    }

    #[test]
    fn the_page_that_was_used_least_recently_is_dropped_first() {
        let pages = KeptPages::new(BOUND);
        for number in 0..10 {
            pages.put(key(number), &page(number));
        }
        assert!(pages.get(&key(0)).is_some());
        for number in 10..24 {
            pages.put(key(number), &page(number));
            assert!(pages.bytes() <= BOUND);
        }
        let is_kept = |number| pages.get(&key(number)).is_some();
        assert!(is_kept(0), "it was used after others");
        assert!(!is_kept(1) && !is_kept(2));
        assert!((12..24).all(is_kept));
    }

    #[test]
    fn the_bound_counts_replaced_pages_once_and_small_ones_too() {
        let pages = KeptPages::new(BOUND);
        for _ in 0..100 {
            pages.put(key(7), &page(7));
        }
        assert_eq!(pages.bytes(), page(7).bytes());
        for number in 0..10_000 {
            pages.put(key(number), &Arc::new(Values::Same(1, 1)));
        }
        assert!(pages.bytes() <= BOUND);
        let kept = lock(&pages.pages);
        assert!(kept.by_key.len() <= BOUND / PAGE_BYTES);
        assert_eq!(kept.by_key.len(), kept.by_use.len());
        let sum: usize = kept.by_key.values().map(|kept| kept.bytes).sum();
        assert_eq!(kept.bytes, sum);
    }

    #[test]
    fn a_page_that_would_replace_many_others_is_not_kept() {
        let pages = KeptPages::new(BOUND);
        pages.put(key(1), &page(1));
        let large = Arc::new(Values::of_numbers((0..2000).map(|n| n << 40).collect()));
        pages.put(key(2), &large);
        assert!(pages.get(&key(1)).is_some() && pages.get(&key(2)).is_none());
        KeptPages::new(0).put(key(1), &page(1));
    }

    #[test]
    fn numbers_are_kept_in_the_shortest_form_that_holds_them() {
        let forms = [
            vec![5; 40],
            vec![u64::MAX; 3],
            vec![0, u64::from(u32::MAX)],
            vec![1, 1 << 32],
            vec![u64::MAX, 0],
        ];
        for numbers in forms {
            let values = Values::of_numbers(numbers.clone());
            let mut back: Vec<u64> = vec![9];
            values.append_numbers(1..numbers.len(), &mut back).unwrap();
            assert_eq!(back[1..], numbers[1..]);
            let beyond = 0..numbers.len() + 1;
            assert!(values.append_numbers(beyond, &mut back).is_none());
        }
    }
}
