//! Encodes one column of one row group: its dictionary page, its data pages, and their metadata for
//! the footer and the page indexes.

use super::bits::{push_hybrid, push_run, width_of};
use super::bytes::{push_delta_length, push_delta_prefix, push_plain};
use super::column::{ColumnData, Values};
use super::numbers::{Dictionary, Number, push_delta};
use super::page::{Codec, Compressor, Effort, PageKind, push_page};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::writer::ColumnCloseResult;
use parquet::file::metadata::{ColumnChunkMetaData, ColumnIndexBuilder, OffsetIndexBuilder};
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescPtr;
use std::ops::Range;
use std::path::Path;
use trawl_format::error::{IndexError, Result};
use trawl_format::schema::{DICTIONARY_BYTES, FieldEncoding, FieldInfo};
use trawl_model::column::ColumnType;
use trawl_model::rows::ByteColumn;

/// Maximum bytes of text in a page before encoding (one value may exceed it).
const PAGE_TEXT_BYTES: usize = 1 << 20;
/// Maximum length in bytes of a text's minimum and maximum.
const TEXT_STATISTICS_BYTES: usize = 256;

/// Column chunk to encode.
pub(super) struct ChunkInput<'a> {
    pub(super) field: &'a FieldInfo,
    pub(super) column: ColumnDescPtr,
    pub(super) data: &'a ColumnData,
    pub(super) rows: usize,
    pub(super) page_rows: usize,
    pub(super) path: &'a Path,
}

/// Encoding of the values in the chunk's data pages.
enum Plan<'a> {
    DeltaU32(&'a [u32]),
    DeltaU64(&'a [u64]),
    Length(&'a ByteColumn),
    Prefix(&'a ByteColumn),
    /// Codes whose dictionary became too large, written as `DELTA_BYTE_ARRAY`.
    PrefixOfCodes(&'a ByteColumn, &'a [u32]),
    /// Dictionary page, number of its values, bit width, and indices.
    Dictionary {
        page: Vec<u8>,
        values: usize,
        width: u32,
        indices: std::borrow::Cow<'a, [u32]>,
    },
}

/// A finished column chunk.
pub(super) struct Chunk {
    pub(super) bytes: Vec<u8>,
    pub(super) close: ColumnCloseResult,
}

/// Minimum and maximum of some values, as the page index and the footer store them.
#[derive(Clone)]
enum Bounds {
    None,
    U32(u32, u32),
    U64(u64, u64),
    I64(i64, i64),
    Text(Vec<u8>, Vec<u8>),
}

/// Encodes a column chunk. Offsets are relative to its first byte.
pub(super) fn encode(input: &ChunkInput<'_>, compressor: &mut Compressor) -> Result<Chunk> {
    let plan = Plan::of(input.field, &input.data.values);
    let is_stored = compressor.effort() == Effort::None;
    Encoder {
        input,
        plan,
        compressor,
        codec: is_stored.then_some(Codec::Uncompressed),
        bytes: Vec::new(),
        raw_bytes: 0,
        offsets: OffsetIndexBuilder::new(),
        index: ColumnIndexBuilder::new(input.column.physical_type()),
        bounds: Bounds::None,
    }
    .run()
}

impl<'a> Plan<'a> {
    fn of(field: &FieldInfo, values: &'a Values) -> Plan<'a> {
        fn wanted<T: Number>(wants: bool, values: &[T]) -> Option<Dictionary<T>> {
            wants.then(|| Dictionary::of(values))?
        }
        let wants_dictionary = field.encoding == FieldEncoding::Dictionary;
        match values {
            Values::U32(values) => match wanted(wants_dictionary, values) {
                Some(dictionary) => Plan::of_numbers(dictionary),
                None => Plan::DeltaU32(values),
            },
            Values::U64(values) => match wanted(wants_dictionary, values) {
                Some(dictionary) => Plan::of_numbers(dictionary),
                None => Plan::DeltaU64(values),
            },
            Values::Bytes(column) if field.encoding == FieldEncoding::Bytes => Plan::Length(column),
            Values::Bytes(column) => Plan::Prefix(column),
            Values::Coded {
                dictionary,
                indices,
            } => {
                if dictionary.data.len() + 4 * dictionary.len() > DICTIONARY_BYTES {
                    return Plan::PrefixOfCodes(dictionary, indices);
                }
                let mut page = Vec::new();
                push_plain(&mut page, dictionary);
                Plan::Dictionary {
                    page,
                    values: dictionary.len(),
                    width: index_width(dictionary.len()),
                    indices: indices.into(),
                }
            }
        }
    }

    fn of_numbers<T: Number>(dictionary: Dictionary<T>) -> Plan<'a> {
        let mut page = Vec::new();
        for value in &dictionary.values {
            value.push_plain(&mut page);
        }
        Plan::Dictionary {
            page,
            values: dictionary.values.len(),
            width: index_width(dictionary.values.len()),
            indices: dictionary.indices.into(),
        }
    }

    fn encoding(&self) -> Encoding {
        match self {
            Plan::DeltaU32(_) | Plan::DeltaU64(_) => Encoding::DELTA_BINARY_PACKED,
            Plan::Length(_) => Encoding::DELTA_LENGTH_BYTE_ARRAY,
            Plan::Prefix(_) | Plan::PrefixOfCodes(..) => Encoding::DELTA_BYTE_ARRAY,
            Plan::Dictionary { .. } => Encoding::RLE_DICTIONARY,
        }
    }

    /// Appends the values in `range`, which does not count nulls.
    fn push_values(&self, out: &mut Vec<u8>, range: Range<usize>) {
        match self {
            Plan::DeltaU32(values) => push_delta(out, slice(values, range)),
            Plan::DeltaU64(values) => push_delta(out, slice(values, range)),
            Plan::Length(column) => push_delta_length(out, column, range),
            Plan::Prefix(column) => push_delta_prefix(out, range.map(|at| column.get(at))),
            Plan::PrefixOfCodes(dictionary, indices) => {
                let values = slice(indices, range).iter();
                push_delta_prefix(out, values.map(|code| dictionary.get(*code as usize)));
            }
            Plan::Dictionary { width, indices, .. } => {
                out.push(*width as u8);
                push_hybrid(out, slice(indices, range), *width);
            }
        }
    }

    /// Returns the bytes of text that the value at `at` adds to its page.
    fn text_bytes(&self, at: usize) -> usize {
        match self {
            Plan::Length(column) | Plan::Prefix(column) => column.get(at).len(),
            Plan::PrefixOfCodes(dictionary, indices) => {
                let code = indices.get(at).copied().unwrap_or(0);
                dictionary.get(code as usize).len()
            }
            _ => 0,
        }
    }

    fn holds_text(&self) -> bool {
        matches!(
            self,
            Plan::Length(_) | Plan::Prefix(_) | Plan::PrefixOfCodes(..)
        )
    }
}

fn slice<T>(values: &[T], range: Range<usize>) -> &[T] {
    values.get(range).unwrap_or_default()
}

/// Returns the bit width of indices; at least 1, since some readers reject runs of width 0.
fn index_width(values: usize) -> u32 {
    width_of((values.max(1) - 1) as u64).max(1)
}

struct Encoder<'a> {
    input: &'a ChunkInput<'a>,
    plan: Plan<'a>,
    compressor: &'a mut Compressor,
    /// Compression of all pages, decided by the first one.
    codec: Option<Codec>,
    bytes: Vec<u8>,
    raw_bytes: usize,
    offsets: OffsetIndexBuilder,
    index: ColumnIndexBuilder,
    bounds: Bounds,
}

impl Encoder<'_> {
    fn run(mut self) -> Result<Chunk> {
        let mut page = Vec::new();
        let dictionary_bytes = match &mut self.plan {
            Plan::Dictionary { page, values, .. } => {
                let (page, values) = (std::mem::take(page), *values);
                // The whole chunk has one codec. Indices of a dictionary compress if anything does.
                self.codec.get_or_insert(Codec::Zstd);
                self.push(PageKind::Dictionary, values, &page)?;
                self.bytes.len()
            }
            _ => 0,
        };
        let (mut row, mut value) = (0, 0);
        while row < self.input.rows {
            let (rows, values) = self.next_page(row, value);
            page.clear();
            self.push_levels(&mut page, row..rows, values - value);
            self.plan.push_values(&mut page, value..values);
            let offset = self.bytes.len();
            let kind = PageKind::Data(self.plan.encoding());
            self.push(kind, rows - row, &page)?;
            self.offsets
                .append_offset_and_size(offset as i64, (self.bytes.len() - offset) as i32);
            self.offsets.append_row_count((rows - row) as i64);
            self.note_bounds(value..values, (rows - row) - (values - value));
            (row, value) = (rows, values);
        }
        self.finish(dictionary_bytes)
    }

    /// Returns the end of the page that starts here, in rows and in values.
    fn next_page(&self, row: usize, value: usize) -> (usize, usize) {
        let end = self.input.rows.min(row + self.input.page_rows);
        if !self.plan.holds_text() {
            return (end, value + self.present_in(row..end));
        }
        let (mut at, mut values, mut text_bytes) = (row, value, 0);
        while at < end && (at == row || text_bytes < PAGE_TEXT_BYTES) {
            if self.present_in(at..at + 1) == 1 {
                text_bytes += self.plan.text_bytes(values);
                values += 1;
            }
            at += 1;
        }
        (at, values)
    }

    fn present_in(&self, rows: Range<usize>) -> usize {
        match &self.input.data.present {
            Some(present) => slice(present, rows).iter().sum::<u32>() as usize,
            None => rows.len(),
        }
    }

    /// Appends definition levels: their length, then one bit per row in the hybrid encoding.
    fn push_levels(&self, page: &mut Vec<u8>, rows: Range<usize>, values: usize) {
        let Some(present) = &self.input.data.present else {
            return;
        };
        page.extend_from_slice(&[0; 4]);
        if values == 0 || values == rows.len() {
            push_run(page, u32::from(values > 0), rows.len(), 1);
        } else {
            push_hybrid(page, slice(present, rows), 1);
        }
        let length = (page.len() - 4) as u32;
        page[..4].copy_from_slice(&length.to_le_bytes());
    }

    fn push(&mut self, kind: PageKind, values: usize, page: &[u8]) -> Result<()> {
        let header_bytes = match self.codec {
            Some(Codec::Uncompressed) => push_page(&mut self.bytes, kind, values, page.len(), page),
            decided => {
                let packed = self.compressor.compress(page, self.input.path)?;
                // Data such as nanoseconds does not compress; then neither the writer nor readers
                // should spend time on it.
                let pays = packed.len() + page.len() / 16 < page.len();
                if decided.is_some() || pays {
                    self.codec = Some(Codec::Zstd);
                    push_page(&mut self.bytes, kind, values, page.len(), packed)
                } else {
                    self.codec = Some(Codec::Uncompressed);
                    push_page(&mut self.bytes, kind, values, page.len(), page)
                }
            }
        };
        self.raw_bytes += header_bytes + page.len();
        Ok(())
    }

    fn note_bounds(&mut self, values: Range<usize>, nulls: usize) {
        if !self.input.field.statistics {
            return;
        }
        let bounds = bounds_of(self.input.field, &self.input.data.values, values);
        let (min, max) = bounds.to_bytes();
        let is_null_page = matches!(bounds, Bounds::None);
        self.index.append(is_null_page, min, max, nulls as i64);
        self.bounds = std::mem::replace(&mut self.bounds, Bounds::None).with(bounds);
    }

    fn finish(self, dictionary_bytes: usize) -> Result<Chunk> {
        let input = self.input;
        let failed = |error: parquet::errors::ParquetError| IndexError::Encode {
            path: input.path.to_owned(),
            problem: error.to_string(),
        };
        let mut encodings = vec![Encoding::RLE, self.plan.encoding()];
        if dictionary_bytes > 0 {
            encodings.push(Encoding::PLAIN);
        }
        let compression = match self.codec {
            Some(Codec::Uncompressed) => Compression::UNCOMPRESSED,
            _ => Compression::ZSTD(ZstdLevel::default()),
        };
        let mut metadata = ColumnChunkMetaData::builder(input.column.clone())
            .set_encodings(encodings)
            .set_compression(compression)
            .set_num_values(input.rows as i64)
            .set_total_compressed_size(self.bytes.len() as i64)
            .set_total_uncompressed_size(self.raw_bytes as i64)
            .set_dictionary_page_offset((dictionary_bytes > 0).then_some(0))
            .set_data_page_offset(dictionary_bytes as i64);
        let values = match &input.data.present {
            Some(present) => present.iter().sum::<u32>() as usize,
            None => input.rows,
        };
        let nulls = (input.rows - values) as u64;
        if input.field.statistics
            && let Some(statistics) = self.bounds.to_statistics(nulls)
        {
            metadata = metadata.set_statistics(statistics);
        }
        let column_index = match input.field.statistics {
            true => Some(self.index.build().map_err(failed)?),
            false => None,
        };
        Ok(Chunk {
            close: ColumnCloseResult {
                bytes_written: self.bytes.len() as u64,
                rows_written: input.rows as u64,
                metadata: metadata.build().map_err(failed)?,
                bloom_filter: None,
                column_index,
                offset_index: Some(self.offsets.build()),
            },
            bytes: self.bytes,
        })
    }
}

fn bounds_of(field: &FieldInfo, values: &Values, range: Range<usize>) -> Bounds {
    fn ends<T: Ord + Copy>(values: impl Iterator<Item = T> + Clone) -> Option<(T, T)> {
        Some((values.clone().min()?, values.max()?))
    }
    let found = match values {
        Values::U32(values) => {
            ends(slice(values, range).iter().copied()).map(|(a, b)| Bounds::U32(a, b))
        }
        Values::U64(values) if field.kind == ColumnType::I64 => {
            let signed = slice(values, range).iter().map(|v| *v as i64);
            ends(signed).map(|(a, b)| Bounds::I64(a, b))
        }
        Values::U64(values) => {
            ends(slice(values, range).iter().copied()).map(|(a, b)| Bounds::U64(a, b))
        }
        Values::Bytes(column) => ends(range.map(|at| column.get(at)))
            .map(|(a, b)| Bounds::Text(lower_bound(a), upper_bound(b))),
        Values::Coded { .. } => None,
    };
    found.unwrap_or(Bounds::None)
}

/// Returns a text not larger than `text`, of bounded length and whole characters.
fn lower_bound(text: &[u8]) -> Vec<u8> {
    text[..cut(text)].to_vec()
}

/// Returns a text not smaller than `text`, of bounded length if one exists.
fn upper_bound(text: &[u8]) -> Vec<u8> {
    let end = cut(text);
    if end == text.len() {
        return text.to_vec();
    }
    // Increment the last ASCII character that has a successor.
    let mut bound = text[..end].to_vec();
    while let Some(last) = bound.pop() {
        if last < 0x7f {
            bound.push(last + 1);
            return bound;
        }
    }
    text.to_vec()
}

/// Returns the position to cut at: a character boundary at or before the limit.
fn cut(text: &[u8]) -> usize {
    let mut end = text.len().min(TEXT_STATISTICS_BYTES);
    while end < text.len() && end > 0 && text[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    end
}

impl Bounds {
    fn with(self, other: Bounds) -> Bounds {
        match (self, other) {
            (Bounds::None, other) => other,
            (one, Bounds::None) => one,
            (Bounds::U32(a, b), Bounds::U32(c, d)) => Bounds::U32(a.min(c), b.max(d)),
            (Bounds::U64(a, b), Bounds::U64(c, d)) => Bounds::U64(a.min(c), b.max(d)),
            (Bounds::I64(a, b), Bounds::I64(c, d)) => Bounds::I64(a.min(c), b.max(d)),
            (Bounds::Text(a, b), Bounds::Text(c, d)) => Bounds::Text(a.min(c), b.max(d)),
            (one, _) => one,
        }
    }

    fn to_bytes(&self) -> (Vec<u8>, Vec<u8>) {
        match self {
            Bounds::None => (Vec::new(), Vec::new()),
            Bounds::U32(a, b) => (a.to_le_bytes().to_vec(), b.to_le_bytes().to_vec()),
            Bounds::U64(a, b) => (a.to_le_bytes().to_vec(), b.to_le_bytes().to_vec()),
            Bounds::I64(a, b) => (a.to_le_bytes().to_vec(), b.to_le_bytes().to_vec()),
            Bounds::Text(a, b) => (a.clone(), b.clone()),
        }
    }

    fn to_statistics(&self, nulls: u64) -> Option<Statistics> {
        let nulls = Some(nulls);
        match self {
            Bounds::U32(a, b) => {
                let (min, max) = (*a as i32, *b as i32);
                Some(Statistics::int32(Some(min), Some(max), None, nulls, false))
            }
            Bounds::U64(a, b) => {
                let (min, max) = (*a as i64, *b as i64);
                Some(Statistics::int64(Some(min), Some(max), None, nulls, false))
            }
            Bounds::I64(a, b) => Some(Statistics::int64(Some(*a), Some(*b), None, nulls, false)),
            // Too long for the footer; the page index has them.
            Bounds::Text(..) | Bounds::None => None,
        }
    }
}
