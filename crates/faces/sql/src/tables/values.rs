//! Columns under construction: rows are copied into them before they become Arrow arrays.
//!
//! Texts are views into a heap, so a directory's path is stored once however many entries it has.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewArray, Float64Array, Int32Array, Int64Array, ListArray, StringViewArray,
    TimestampNanosecondArray, UInt32Array, UInt64Array, make_view,
};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Field, TimeUnit};
use arrow::error::ArrowError;
use trawl_model::Timestamp;

/// The time zone of every time.
const ZONE: &str = "UTC";

/// Size at which a heap is closed: offsets into it have 31 bits.
const HEAP_BYTES: usize = 1 << 29;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text.
    Text,
    /// Bytes.
    Bytes,
    /// Signed 32-bit numbers.
    I32,
    /// Signed 64-bit numbers.
    I64,
    /// Unsigned 32-bit numbers.
    U32,
    /// Unsigned 64-bit numbers.
    U64,
    /// Real numbers.
    F64,
    /// Nanoseconds since 1970, UTC.
    Time,
    /// Lists of texts.
    Texts,
}

impl Kind {
    /// Returns the Arrow type.
    pub(crate) fn arrow(self) -> DataType {
        match self {
            Kind::Text => DataType::Utf8View,
            Kind::Bytes => DataType::BinaryView,
            Kind::I32 => DataType::Int32,
            Kind::I64 => DataType::Int64,
            Kind::U32 => DataType::UInt32,
            Kind::U64 => DataType::UInt64,
            Kind::F64 => DataType::Float64,
            Kind::Time => DataType::Timestamp(TimeUnit::Nanosecond, Some(ZONE.into())),
            Kind::Texts => DataType::List(Arc::new(item())),
        }
    }

    /// Returns the type's name in SQL and its documentation.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Bytes => "bytes",
            Kind::I32 | Kind::I64 | Kind::U32 | Kind::U64 | Kind::F64 => "number",
            Kind::Time => "timestamp",
            Kind::Texts => "list of text",
        }
    }
}

fn item() -> Field {
    Field::new_list_field(DataType::Utf8View, false)
}

/// A column under construction.
#[derive(Debug)]
pub(crate) enum Values {
    /// See [`Kind`].
    Text(Strings),
    /// See [`Kind`].
    Bytes(Strings),
    /// See [`Kind`].
    I32(Vec<i32>),
    /// See [`Kind`].
    I64(Vec<Option<i64>>),
    /// See [`Kind`].
    U32(Vec<Option<u32>>),
    /// See [`Kind`]. The second is the number that stands for null, if the column has nulls.
    U64(Vec<u64>, Option<u64>),
    /// See [`Kind`].
    F64(Vec<Option<f64>>),
    /// See [`Kind`].
    Time(Vec<Option<i64>>),
    /// See [`Kind`].
    Texts(Lists),
}

/// Byte strings; short ones lie in their views, others in a heap.
#[derive(Debug, Default)]
pub(crate) struct Strings {
    views: Vec<u128>,
    present: Vec<bool>,
    nulls: usize,
    heap: Vec<u8>,
    closed: Vec<Buffer>,
}

/// Lists of texts.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    items: Strings,
    lengths: Vec<usize>,
    present: Vec<bool>,
}

impl Values {
    /// Makes an empty column.
    pub(crate) fn new(kind: Kind) -> Values {
        match kind {
            Kind::Text => Values::Text(Strings::default()),
            Kind::Bytes => Values::Bytes(Strings::default()),
            Kind::I32 => Values::I32(Vec::new()),
            Kind::I64 => Values::I64(Vec::new()),
            Kind::U32 => Values::U32(Vec::new()),
            Kind::U64 => Values::U64(Vec::new(), None),
            Kind::F64 => Values::F64(Vec::new()),
            Kind::Time => Values::Time(Vec::new()),
            Kind::Texts => Values::Texts(Lists::default()),
        }
    }

    /// Makes an empty column of the same kind.
    pub(crate) fn new_like(&self) -> Values {
        Values::new(match self {
            Values::Text(_) => Kind::Text,
            Values::Bytes(_) => Kind::Bytes,
            Values::I32(_) => Kind::I32,
            Values::I64(_) => Kind::I64,
            Values::U32(_) => Kind::U32,
            Values::U64(..) => Kind::U64,
            Values::F64(_) => Kind::F64,
            Values::Time(_) => Kind::Time,
            Values::Texts(_) => Kind::Texts,
        })
    }

    /// Returns the finished column.
    pub(crate) fn finish(self) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Values::Text(strings) => {
                let (views, buffers, nulls) = strings.parts();
                Arc::new(StringViewArray::try_new(views, buffers, nulls)?)
            }
            Values::Bytes(strings) => {
                let (views, buffers, nulls) = strings.parts();
                Arc::new(BinaryViewArray::try_new(views, buffers, nulls)?)
            }
            Values::I32(numbers) => Arc::new(Int32Array::from(numbers)),
            Values::I64(numbers) => Arc::new(Int64Array::from(numbers)),
            Values::U32(numbers) => Arc::new(UInt32Array::from(numbers)),
            Values::U64(numbers, None) => Arc::new(UInt64Array::from(numbers)),
            Values::U64(numbers, Some(null)) => {
                let known = numbers.into_iter().map(|n| (n != null).then_some(n));
                Arc::new(known.collect::<UInt64Array>())
            }
            Values::F64(numbers) => Arc::new(Float64Array::from(numbers)),
            Values::Time(times) => {
                Arc::new(TimestampNanosecondArray::from(times).with_timezone(ZONE))
            }
            Values::Texts(lists) => Arc::new(lists.finish()?),
        })
    }
}

impl Strings {
    /// Adds a string.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let view = self.store(&[bytes]);
        self.repeat(view, 1);
    }

    /// Adds a string made of pieces.
    pub(crate) fn push_joined(&mut self, pieces: &[&[u8]]) {
        let view = self.store(pieces);
        self.repeat(view, 1);
    }

    /// Adds a string several times.
    pub(crate) fn push_times(&mut self, bytes: &[u8], times: usize) {
        let view = self.store(&[bytes]);
        self.repeat(view, times);
    }

    /// Adds a null.
    pub(crate) fn push_null(&mut self) {
        self.views.push(0);
        self.present.push(false);
        self.nulls += 1;
    }

    /// Adds a string, or a null for an empty one.
    pub(crate) fn push_or_null(&mut self, bytes: &[u8]) {
        match bytes {
            b"" => self.push_null(),
            _ => self.push(bytes),
        }
    }

    /// Returns the number of strings.
    fn len(&self) -> usize {
        self.views.len()
    }

    fn repeat(&mut self, view: u128, times: usize) {
        self.views.resize(self.views.len() + times, view);
        self.present.resize(self.present.len() + times, true);
    }

    /// Stores a string in the heap and returns its view. A short string is stored in the view only.
    fn store(&mut self, pieces: &[&[u8]]) -> u128 {
        let start = self.heap.len();
        pieces
            .iter()
            .for_each(|piece| self.heap.extend_from_slice(piece));
        let bytes = self.heap.get(start..).unwrap_or_default();
        let view = make_view(bytes, self.closed.len() as u32, start as u32);
        match bytes.len() {
            // The view holds the string itself.
            0..=12 => self.heap.truncate(start),
            _ if self.heap.len() > HEAP_BYTES => {
                self.closed
                    .push(Buffer::from(std::mem::take(&mut self.heap)));
            }
            _ => {}
        }
        view
    }

    fn parts(mut self) -> (ScalarBuffer<u128>, Vec<Buffer>, Option<NullBuffer>) {
        // Unused capacity would count as used memory.
        self.heap.shrink_to_fit();
        self.views.shrink_to_fit();
        self.closed.push(Buffer::from(self.heap));
        let nulls = (self.nulls > 0).then(|| NullBuffer::from(self.present));
        (ScalarBuffer::from(self.views), self.closed, nulls)
    }
}

impl Lists {
    /// Adds a list, or a null for an empty one.
    pub(crate) fn push<'a>(&mut self, texts: impl Iterator<Item = &'a [u8]>) {
        let before = self.items.len();
        for text in texts {
            self.items
                .push(trawl_model::escape::escape(text).as_bytes());
        }
        self.lengths.push(self.items.len() - before);
        self.present.push(self.items.len() > before);
    }

    fn finish(self) -> Result<ListArray, ArrowError> {
        let items = Values::Text(self.items).finish()?;
        let offsets = OffsetBuffer::from_lengths(self.lengths);
        let nulls = Some(NullBuffer::from(self.present));
        ListArray::try_new(Arc::new(item()), offsets, items, nulls)
    }
}

/// Returns a time in nanoseconds since 1970; times before 1677 and after 2262 become the first and
/// the last possible value.
pub(crate) fn nanoseconds(time: Timestamp) -> i64 {
    time.as_nanos().clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Array, AsArray};

    #[test]
    fn strings_come_back_as_they_were_given() {
        let long = "x".repeat(40);
        let mut strings = Strings::default();
        strings.push_times(long.as_bytes(), 2);
        strings.push_or_null(b"");
        strings.push_joined(&[b"/some/where", b"/", b"else"]);
        strings.push(b"short");
        let array = Values::Text(strings).finish().unwrap();
        let texts: Vec<Option<&str>> = array.as_string_view().iter().collect();
        let joined = "/some/where/else";
        let expected = [
            Some(&long[..]),
            Some(&long),
            None,
            Some(joined),
            Some("short"),
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn bytes_that_are_no_text_are_an_error_and_not_a_column() {
        let mut strings = Strings::default();
        strings.push(b"\xff and more than twelve bytes");
        assert!(Values::Text(strings).finish().is_err());
    }

    #[test]
    fn times_beyond_the_range_are_its_ends() {
        let time = |secs| nanoseconds(Timestamp { secs, nanos: 7 });
        assert_eq!(time(1), 1_000_000_007);
        assert_eq!((time(i64::MIN), time(i64::MAX)), (i64::MIN, i64::MAX));
    }

    #[test]
    fn empty_lists_are_null() {
        let mut lists = Lists::default();
        lists.push([&b"user.a"[..], b"user.\xff"].into_iter());
        lists.push(std::iter::empty());
        let array = Values::Texts(lists).finish().unwrap();
        assert!(array.is_valid(0) && array.is_null(1));
    }
}
