//! Decodes one data page: its header, its null marks and its values.
//!
//! Only the page types and encodings that the format uses are supported
//! (`docs/format.md`). A page's CRC does not cover its header, so the header is
//! not trusted: lengths and row counts must match the offset index, and every
//! encoding checks that the number of bytes is exactly what the rows need.

use super::bits::{self, Run};
use super::footer::Problem;
use std::ops::Range;
use trawl_model::rows::ByteColumn;
use trawl_thrift::{Compact, Kind};

/// Maximum bytes of a decompressed page; our writer makes none that is larger.
const MOST_PAGE_BYTES: u64 = 1 << 30;
/// Maximum bytes of one column in a batch of rows.
pub(super) const MOST_COLUMN_BYTES: usize = 1 << 30;

const NOT_DECODABLE: Problem = "a page cannot be decoded";

/// Type of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageKind {
    Data,
    Dictionary,
}

/// Encoding of a page's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Plain,
    DeltaNumbers,
    DeltaLengths,
    DeltaStrings,
    Dictionary,
}

/// A page's header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageHeader {
    pub(crate) kind: PageKind,
    pub(crate) header_len: usize,
    pub(crate) compressed_len: usize,
    pub(crate) len: usize,
    pub(crate) values: usize,
    pub(crate) encoding: Encoding,
    pub(crate) crc: Option<u32>,
}

impl PageHeader {
    pub(crate) fn parse(bytes: &[u8]) -> Option<PageHeader> {
        let (mut kind, mut len, mut compressed, mut crc) = (None, None, None, None);
        let (mut data, mut dictionary) = (None, None);
        let mut at = Compact::new(bytes);
        at.structure(|at, id, field| match (id, field) {
            (1, Kind::Int) => at.int().map(|v| kind = Some(v)),
            (2, Kind::Int) => at.unsigned().map(|v| len = Some(v)),
            (3, Kind::Int) => at.unsigned().map(|v| compressed = Some(v)),
            (4, Kind::Int) => at.int().map(|v| crc = Some(v as u32)),
            (5, Kind::Struct) => values_and_encoding(at).map(|v| data = Some(v)),
            (7, Kind::Struct) => values_and_encoding(at).map(|v| dictionary = Some(v)),
            _ => at.skip(field),
        })?;
        let (kind, (values, encoding)) = match kind? {
            0 => (PageKind::Data, data?),
            2 => (PageKind::Dictionary, dictionary?),
            _ => return None,
        };
        let encoding = match encoding {
            0 => Encoding::Plain,
            2 | 8 => Encoding::Dictionary,
            5 => Encoding::DeltaNumbers,
            6 => Encoding::DeltaLengths,
            7 => Encoding::DeltaStrings,
            _ => return None,
        };
        Some(PageHeader {
            kind,
            header_len: at.position(),
            compressed_len: usize::try_from(compressed?).ok()?,
            len: usize::try_from(len?.min(MOST_PAGE_BYTES + 1)).ok()?,
            values: usize::try_from(values).ok()?,
            encoding,
            crc,
        })
        .filter(|header| header.len as u64 <= MOST_PAGE_BYTES)
    }
}

fn values_and_encoding(at: &mut Compact<'_>) -> Option<(u64, i64)> {
    let (mut values, mut encoding) = (None, None);
    at.structure(|at, id, kind| match (id, kind) {
        (1, Kind::Int) => at.unsigned().map(|v| values = Some(v)),
        (2, Kind::Int) => at.int().map(|v| encoding = Some(v)),
        _ => at.skip(kind),
    })?;
    Some((values?, encoding?))
}

/// The in-memory type of a numeric column.
pub(crate) trait Number: Copy {
    /// Returns the number with these low bits.
    fn from_bits(bits: u64) -> Self;

    /// Returns the bits of a number; zeros come before those of a short one.
    fn bits(self) -> u64;
}

impl Number for u32 {
    fn from_bits(bits: u64) -> u32 {
        bits as u32
    }

    fn bits(self) -> u64 {
        u64::from(self)
    }
}

impl Number for u64 {
    fn from_bits(bits: u64) -> u64 {
        bits
    }

    fn bits(self) -> u64 {
        self
    }
}

impl Number for i64 {
    fn from_bits(bits: u64) -> i64 {
        bits as i64
    }

    fn bits(self) -> u64 {
        self as u64
    }
}

/// Width of a stored number. 32-bit numbers are unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    Bits32,
    Bits64,
}

impl Width {
    fn bytes(self) -> usize {
        match self {
            Width::Bits32 => 4,
            Width::Bits64 => 8,
        }
    }

    fn cut(self, bits: u64) -> u64 {
        match self {
            Width::Bits32 => bits & u64::from(u32::MAX),
            Width::Bits64 => bits,
        }
    }
}

/// Decompressed bytes of a data page, its row count and its encoding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) rows: usize,
    pub(crate) encoding: Encoding,
}

/// Which rows of a page have a value.
enum Presence {
    All,
    None,
    Some,
}

/// Decoding buffers, reused from page to page.
#[derive(Debug, Default)]
pub(crate) struct PageBuffers {
    present: Vec<bool>,
    prefixes: Vec<u32>,
    lengths: Vec<u32>,
}

impl<'a> Page<'a> {
    /// Reads the null marks of an optional column, and removes them from the
    /// page's bytes.
    fn presence(&mut self, optional: bool, marks: &mut Vec<bool>) -> Option<Presence> {
        if !optional {
            return Some(Presence::All);
        }
        let (len, rest) = self.bytes.split_first_chunk::<4>()?;
        let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
        let levels = rest.get(..len)?;
        self.bytes = rest.get(len..)?;
        marks.clear();
        let mut present = 0;
        bits::hybrid(levels, 1, self.rows, |run| {
            match run {
                Run::Same(level @ 0..=1, times) => {
                    present += level as usize * times;
                    marks.resize(marks.len() + times, level == 1);
                }
                Run::Same(..) => return None,
                Run::Each(levels) => {
                    present += levels.iter().filter(|level| **level == 1).count();
                    marks.extend(levels.iter().map(|level| *level == 1));
                }
            }
            Some(())
        })?;
        Some(match present {
            0 => Presence::None,
            all if all == self.rows => Presence::All,
            _ => Presence::Some,
        })
    }

    /// Appends the page's first `wanted` numbers to `out`.
    pub(crate) fn numbers<T: Number>(
        mut self,
        width: Width,
        null: Option<T>,
        dictionary: &[T],
        wanted: usize,
        buffers: &mut PageBuffers,
        out: &mut Vec<T>,
    ) -> Result<(), Problem> {
        let presence = self
            .presence(null.is_some(), &mut buffers.present)
            .ok_or(NOT_DECODABLE)?;
        let start = out.len();
        let Some(null) = null.filter(|_| !matches!(presence, Presence::All)) else {
            self.dense_numbers(width, dictionary, self.rows, wanted, out)
                .ok_or(NOT_DECODABLE)?;
            return whole(out.len() - start, wanted);
        };
        if matches!(presence, Presence::None) {
            out.resize(start + wanted, null);
            return Ok(());
        }
        let marks = &buffers.present;
        let total = marks.iter().filter(|mark| **mark).count();
        let present = marks.iter().take(wanted).filter(|mark| **mark).count();
        self.dense_numbers(width, dictionary, total, present, out)
            .ok_or(NOT_DECODABLE)?;
        whole(out.len() - start, present)?;
        // Spread from the end, so that no value is overwritten before it is
        // moved.
        out.resize(start + wanted, null);
        let mut from = start + present;
        for at in (0..wanted).rev() {
            let value = match marks.get(at) {
                Some(true) => {
                    from -= 1;
                    out[from]
                }
                _ => null,
            };
            out[start + at] = value;
        }
        Ok(())
    }

    /// Appends the first `wanted` of the page's `total` non-null values.
    fn dense_numbers<T: Number>(
        &self,
        width: Width,
        dictionary: &[T],
        total: usize,
        wanted: usize,
        out: &mut Vec<T>,
    ) -> Option<()> {
        match self.encoding {
            Encoding::DeltaNumbers => {
                out.reserve(wanted);
                let (found, end) = bits::delta(self.bytes, total, wanted, |some| {
                    out.extend(some.iter().map(|v| T::from_bits(width.cut(*v))));
                })?;
                let whole = wanted < total || end == self.bytes.len();
                (found == total && whole).then_some(())
            }
            Encoding::Plain => plain_numbers(self.bytes, width, total, wanted, out),
            Encoding::Dictionary => {
                out.reserve(wanted);
                let (index_width, indexes) = self.bytes.split_first()?;
                bits::hybrid(indexes, u32::from(*index_width), wanted, |run| {
                    match run {
                        Run::Same(index, times) => {
                            let value = *dictionary.get(index as usize)?;
                            out.resize(out.len() + times, value);
                        }
                        Run::Each(indexes) => {
                            for index in indexes {
                                out.push(*dictionary.get(*index as usize)?);
                            }
                        }
                    }
                    Some(())
                })
            }
            Encoding::DeltaLengths | Encoding::DeltaStrings => None,
        }
    }

    /// Appends the byte strings of the rows in `keep` (ranges of rows,
    /// ascending) to `out`; nulls become empty strings.
    pub(crate) fn strings(
        mut self,
        optional: bool,
        dictionary: &ByteColumn,
        keep: &[Range<usize>],
        buffers: &mut PageBuffers,
        out: &mut ByteColumn,
    ) -> Result<(), Problem> {
        let mut marks = std::mem::take(&mut buffers.present);
        let done = self.presence(optional, &mut marks).and_then(|presence| {
            self.kept_strings(&presence, &marks, dictionary, keep, buffers, out)
        });
        buffers.present = marks;
        done.ok_or(NOT_DECODABLE)?;
        match out.data.len() <= MOST_COLUMN_BYTES {
            true => Ok(()),
            false => Err("a column holds too many bytes"),
        }
    }

    fn kept_strings(
        &self,
        presence: &Presence,
        marks: &[bool],
        dictionary: &ByteColumn,
        keep: &[Range<usize>],
        buffers: &mut PageBuffers,
        out: &mut ByteColumn,
    ) -> Option<()> {
        let rows: usize = keep.iter().map(ExactSizeIterator::len).sum();
        let total = match presence {
            Presence::None => {
                let end = *out.offsets.last()?;
                out.offsets.resize(out.offsets.len() + rows, end);
                return Some(());
            }
            Presence::All => {
                return self.dense_strings(dictionary, self.rows, keep, buffers, out);
            }
            Presence::Some => marks.iter().filter(|mark| **mark).count(),
        };
        // Positions among the non-null values.
        let before = |row: usize| marks.iter().take(row).filter(|mark| **mark).count();
        let dense: Vec<Range<usize>> = keep
            .iter()
            .map(|range| before(range.start)..before(range.end))
            .collect();
        let mut values = ByteColumn::default();
        self.dense_strings(dictionary, total, &dense, buffers, &mut values)?;
        let mut next = 0;
        for row in keep.iter().cloned().flatten() {
            let is_there = *marks.get(row)?;
            out.push(if is_there { values.get(next) } else { b"" });
            next += usize::from(is_there);
        }
        Some(())
    }

    fn dense_strings(
        &self,
        dictionary: &ByteColumn,
        total: usize,
        keep: &[Range<usize>],
        buffers: &mut PageBuffers,
        out: &mut ByteColumn,
    ) -> Option<()> {
        match self.encoding {
            Encoding::DeltaLengths => lengths_then_bytes(self.bytes, total, keep, buffers, out),
            Encoding::DeltaStrings => shared_prefixes(self.bytes, total, keep, buffers, out),
            Encoding::Plain => {
                let mut all = ByteColumn::default();
                plain_strings(self.bytes, total, &mut all)?;
                keep.iter()
                    .cloned()
                    .flatten()
                    .for_each(|row| out.push(all.get(row)));
                Some(())
            }
            Encoding::Dictionary => {
                let (width, indexes) = self.bytes.split_first()?;
                let mut all = Vec::with_capacity(total);
                bits::hybrid(indexes, u32::from(*width), total, |run| {
                    match run {
                        Run::Same(index, times) => all.resize(all.len() + times, index),
                        // Indexes have at most 32 bits.
                        Run::Each(some) => all.extend(some.iter().map(|index| *index as u32)),
                    }
                    Some(())
                })?;
                if all.iter().any(|index| *index as usize >= dictionary.len()) {
                    return None;
                }
                for row in keep.iter().cloned().flatten() {
                    out.push(dictionary.get(*all.get(row)? as usize));
                    if out.data.len() > MOST_COLUMN_BYTES {
                        return None;
                    }
                }
                Some(())
            }
            Encoding::DeltaNumbers => None,
        }
    }
}

/// Decodes `PLAIN` numbers: little-endian, without gaps.
pub(crate) fn plain_numbers<T: Number>(
    bytes: &[u8],
    width: Width,
    total: usize,
    wanted: usize,
    out: &mut Vec<T>,
) -> Option<()> {
    let each = width.bytes();
    if bytes.len() != total.checked_mul(each)? {
        return None;
    }
    out.extend(bytes.chunks_exact(each).take(wanted).map(|number| {
        let mut bits = [0u8; 8];
        bits[..each].copy_from_slice(number);
        T::from_bits(u64::from_le_bytes(bits))
    }));
    Some(())
}

/// Decodes `PLAIN` byte strings: each is preceded by its length in four bytes.
pub(crate) fn plain_strings(mut bytes: &[u8], total: usize, out: &mut ByteColumn) -> Option<()> {
    for _ in 0..total {
        let (len, rest) = bytes.split_first_chunk::<4>()?;
        let len = usize::try_from(u32::from_le_bytes(*len)).ok()?;
        out.push(rest.get(..len)?);
        bytes = rest.get(len..)?;
    }
    bytes.is_empty().then_some(())
}

/// Decodes `DELTA_LENGTH_BYTE_ARRAY`: all lengths, then all bytes.
fn lengths_then_bytes(
    bytes: &[u8],
    total: usize,
    keep: &[Range<usize>],
    buffers: &mut PageBuffers,
    out: &mut ByteColumn,
) -> Option<()> {
    let lengths = &mut buffers.lengths;
    let end = read_lengths(bytes, total, lengths)?;
    let data = bytes.get(end..)?;
    if lengths.iter().map(|len| u64::from(*len)).sum::<u64>() != data.len() as u64 {
        return None;
    }
    // The page holds at most 2^30 bytes, so sums of lengths fit.
    let (mut row, mut at) = (0, 0usize);
    for range in keep {
        let skipped = lengths.get(row..range.start)?;
        at += skipped.iter().map(|len| *len as usize).sum::<usize>();
        let mut offset = u32::try_from(out.data.len()).ok()?;
        let kept = lengths.get(range.clone())?;
        let kept_len = kept.iter().map(|len| *len as usize).sum::<usize>();
        u32::try_from(out.data.len() + kept_len).ok()?;
        out.data.extend_from_slice(data.get(at..at + kept_len)?);
        out.offsets.extend(kept.iter().map(|len| {
            offset += len;
            offset
        }));
        at += kept_len;
        row = range.end;
    }
    Some(())
}

/// Decodes `DELTA_BYTE_ARRAY`: the length of the prefix shared with the
/// previous string, and the suffix that follows it.
fn shared_prefixes(
    bytes: &[u8],
    total: usize,
    keep: &[Range<usize>],
    buffers: &mut PageBuffers,
    out: &mut ByteColumn,
) -> Option<()> {
    let (prefixes, suffixes) = (&mut buffers.prefixes, &mut buffers.lengths);
    let end = read_lengths(bytes, total, prefixes)?;
    let bytes = bytes.get(end..)?;
    let end = read_lengths(bytes, total, suffixes)?;
    let mut data = bytes.get(end..)?;
    if suffixes.iter().map(|len| u64::from(*len)).sum::<u64>() != data.len() as u64 {
        return None;
    }
    let mut ranges = keep.iter();
    let mut range = ranges.next().cloned();
    let mut current: Vec<u8> = Vec::new();
    for (row, (prefix, suffix)) in prefixes.iter().zip(suffixes.iter()).enumerate() {
        let Some(kept) = &range else { break };
        let (suffix, rest) = data.split_at_checked(*suffix as usize)?;
        data = rest;
        if *prefix as usize > current.len() {
            return None;
        }
        current.truncate(*prefix as usize);
        current.extend_from_slice(suffix);
        if row >= kept.start {
            u32::try_from(out.data.len() + current.len()).ok()?;
            // A string may repeat all of the previous one, so the output must
            // be bounded.
            if out.data.len() > MOST_COLUMN_BYTES {
                return None;
            }
            out.push(&current);
        }
        if row + 1 >= kept.end {
            range = ranges.next().cloned();
        }
    }
    range.is_none().then_some(())
}

fn read_lengths(bytes: &[u8], total: usize, out: &mut Vec<u32>) -> Option<usize> {
    out.clear();
    let mut fits = true;
    let (found, end) = bits::delta(bytes, total, total, |some| {
        fits &= some.iter().all(|len| *len <= u64::from(u32::MAX));
        out.extend(some.iter().map(|len| *len as u32));
    })?;
    (fits && found == total).then_some(end)
}

fn whole(found: usize, wanted: usize) -> Result<(), Problem> {
    if found == wanted {
        Ok(())
    } else {
        Err(NOT_DECODABLE)
    }
}
