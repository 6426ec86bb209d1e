//! Decoded rows, the common input of all queries.
//!
//! A [`RowBatch`] holds the requested columns (and only those) of rows from one or several
//! directories; a [`Row`] is one row with its directory. The index reader and the live walk both
//! produce them, so that each predicate is written only once.

use crate::column::{Column, ColumnSet, with_fields};
use crate::entry::{DirBatch, Entry, FileType, Meta};
use crate::field::{NumberField, TimeField, Value};
use crate::id::{Dev, Gid, Uid};
use crate::time::Timestamp;

pub use crate::field::{NO_BTIME, NO_PROJECT};

/// A column of byte strings: value `i` is `data[offsets[i]..offsets[i + 1] - gap]`.
#[derive(Clone, Debug)]
pub struct ByteColumn {
    /// Offsets of the values, one more than there are values; the first is 0, and they never
    /// decrease.
    pub offsets: Vec<u32>,
    /// The bytes of all values. Unused bytes may follow the last value.
    pub data: Vec<u8>,
    /// Number of bytes after each value that do not belong to it; 0 unless a reader has filled the
    /// column with a gap. Nothing may be appended to a column with a gap.
    pub gap: u32,
}

impl Default for ByteColumn {
    fn default() -> Self {
        ByteColumn {
            offsets: vec![0],
            data: Vec::new(),
            gap: 0,
        }
    }
}

impl ByteColumn {
    /// Appends a value.
    pub fn push(&mut self, value: &[u8]) {
        self.data.extend_from_slice(value);
        self.offsets.push(self.data.len() as u32);
    }

    /// Returns value `at`; empty if it does not exist.
    pub fn get(&self, at: usize) -> &[u8] {
        match (self.offsets.get(at), self.offsets.get(at + 1)) {
            (Some(start), Some(end)) => self
                .data
                .get(*start as usize..end.saturating_sub(self.gap) as usize)
                .unwrap_or_default(),
            _ => &[],
        }
    }

    /// Removes all values but keeps the memory.
    pub fn clear(&mut self) {
        self.offsets.clear();
        self.offsets.push(0);
        self.data.clear();
        self.gap = 0;
    }

    /// Keeps only the values at `places`, which are in ascending order.
    fn keep(&mut self, places: &[u32]) {
        if self.is_empty() {
            return;
        }
        let mut kept = ByteColumn::default();
        for place in places {
            kept.push(self.get(*place as usize));
        }
        *self = kept;
    }

    /// Returns a column with a copy of value `at` only; empty if it does not exist.
    fn alone(&self, at: usize) -> ByteColumn {
        let mut column = ByteColumn::default();
        if at < self.len() {
            column.push(self.get(at));
        }
        column
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

macro_rules! rows {
    (
        numbers { $(
            $(#[$doc:meta])*
            $field:ident: $ty:ty as $stored:ty = $column:ident $at:expr;
        )* }
        times { $(
            $(#[$time_doc:meta])*
            $time:ident: $time_ty:ty = $secs:ident $secs_at:expr, $nanos_field:ident $nanos:ident $nanos_at:expr;
        )* }
        strings { $(
            $(#[$string_doc:meta])*
            $string:ident = $string_column:ident $len_at:expr;
        )* }
    ) => {
        /// Columns of some rows, with the numbers that are stored. A column that was not requested
        /// is empty; its getters return zero, the epoch, an empty string or `None`.
        #[derive(Clone, Debug, Default)]
        pub struct RowBatch {
            /// The number of rows.
            pub len: usize,
            /// Names, raw bytes.
            pub name: ByteColumn,
            $($(#[$doc])* pub $field: Vec<$stored>,)*
            $(
                $(#[$time_doc])*
                /// Seconds since 1970.
                pub $time: Vec<i64>,
                $(#[$time_doc])*
                /// Nanoseconds of the second.
                pub $nanos_field: Vec<u32>,
            )*
            $($(#[$string_doc])* pub $string: ByteColumn,)*
        }

        impl RowBatch {
            /// Removes all rows but keeps the memory.
            pub fn clear(&mut self) {
                self.len = 0;
                self.name.clear();
                $(self.$field.clear();)*
                $(self.$time.clear(); self.$nanos_field.clear();)*
                $(self.$string.clear();)*
            }

            /// Keeps only the values at `places`, which are in ascending order. All non-empty
            /// columns must have the same number of values.
            pub fn keep(&mut self, places: &[u32]) {
                self.name.keep(places);
                $(keep(&mut self.$field, places);)*
                $(keep(&mut self.$time, places); keep(&mut self.$nanos_field, places);)*
                $(self.$string.keep(places);)*
            }

            /// Appends a copy of a row. A column that the row does not have stays empty, so all
            /// appended rows must have the same columns.
            pub fn push(&mut self, row: &Row<'_>) {
                let (from, at) = (row.batch, row.at);
                self.len += 1;
                copy_bytes(&mut self.name, &from.name, at);
                $(copy(&mut self.$field, &from.$field, at);)*
                $(
                    copy(&mut self.$time, &from.$time, at);
                    copy(&mut self.$nanos_field, &from.$nanos_field, at);
                )*
                $(copy_bytes(&mut self.$string, &from.$string, at);)*
            }

            /// Appends a row's attributes to the number columns. The caller increments `len` and
            /// appends the strings.
            pub fn push_meta(&mut self, meta: &Meta) {
                $(self.$field.push(meta.$field.stored());)*
                $(
                    let (secs, nanos) = meta.$time.stored();
                    self.$time.push(secs);
                    self.$nanos_field.push(nanos);
                )*
            }

            /// Returns the values of a column.
            pub fn values(&self, column: Column) -> Values<'_> {
                match column {
                    Column::Name => Values::Bytes(&self.name),
                    $(Column::$column => {
                        Values::from((&self.$field, <$ty as NumberField>::NULL))
                    })*
                    $(
                        Column::$secs => Values::from((&self.$time, <$time_ty as TimeField>::NULL)),
                        Column::$nanos => Values::from((&self.$nanos_field, None)),
                    )*
                    $(Column::$string_column => Values::Bytes(&self.$string),)*
                    Column::Dir | Column::NameRaw | Column::Type => Values::Derived,
                }
            }

            /// Returns the values of a column, for changes.
            pub fn values_mut(&mut self, column: Column) -> ValuesMut<'_> {
                match column {
                    Column::Name => ValuesMut::Bytes(&mut self.name),
                    $(Column::$column => {
                        ValuesMut::from((&mut self.$field, <$ty as NumberField>::NULL))
                    })*
                    $(
                        Column::$secs => {
                            ValuesMut::from((&mut self.$time, <$time_ty as TimeField>::NULL))
                        }
                        Column::$nanos => ValuesMut::from((&mut self.$nanos_field, None)),
                    )*
                    $(Column::$string_column => ValuesMut::Bytes(&mut self.$string),)*
                    Column::Dir | Column::NameRaw | Column::Type => ValuesMut::Derived,
                }
            }
        }

        impl<'a> Row<'a> {
            /// Returns a batch with a copy of this row only.
            pub fn alone(&self) -> RowBatch {
                let (from, at) = (self.batch, self.at);
                RowBatch {
                    len: 1,
                    name: from.name.alone(at),
                    $($field: one(&from.$field, at),)*
                    $($time: one(&from.$time, at), $nanos_field: one(&from.$nanos_field, at),)*
                    $($string: from.$string.alone(at),)*
                }
            }

            $(
                $(#[$doc])*
                #[inline]
                pub fn $field(&self) -> $ty {
                    let stored = self.batch.$field.get(self.at).copied();
                    stored.map(<$ty as NumberField>::of).unwrap_or_default()
                }
            )*

            $(
                $(#[$time_doc])*
                #[inline]
                pub fn $time(&self) -> $time_ty {
                    <$time_ty as TimeField>::of(
                        self.batch.$time.get(self.at).copied(),
                        self.batch.$nanos_field.get(self.at).copied(),
                    )
                }
            )*

            $(
                $(#[$string_doc])*
                #[inline]
                pub fn $string(&self) -> &'a [u8] {
                    self.batch.$string.get(self.at)
                }
            )*

            /// Returns all attributes as one value; those whose columns were not read are zero or
            /// `None`.
            pub fn meta(&self) -> Meta {
                Meta {
                    $($field: self.$field(),)*
                    $($time: self.$time(),)*
                }
            }

            /// Returns the value of a column; a column that was not read has zero, an empty string
            /// or null.
            pub fn value(&self, column: Column) -> Value<'a> {
                match column {
                    Column::Dir => Value::Bytes(self.dir),
                    Column::Name | Column::NameRaw => Value::Bytes(self.name()),
                    Column::Type => Value::Type(self.file_type()),
                    $(Column::$column => self.$field().value(),)*
                    $(
                        Column::$secs => self.$time().value(),
                        Column::$nanos => self.$time().nanos_value(),
                    )*
                    $(Column::$string_column => Value::Bytes(self.$string()),)*
                }
            }

            /// Returns the row with its own copies of the byte strings.
            pub fn owned(&self) -> OwnedRow {
                OwnedRow {
                    meta: self.meta(),
                    $($string: self.$string().to_vec(),)*
                }
            }

            /// Appends the row with all columns to the entries of `batch`.
            pub fn push_to(&self, batch: &mut DirBatch) {
                let entry = Entry {
                    meta: self.meta(),
                    name: batch.push_bytes(self.name()),
                    $($string: batch.push_bytes(self.$string()),)*
                };
                batch.entries.push(entry);
            }
        }

        /// A row that owns its values, without its path. Attributes that were not read are zero or
        /// empty.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct OwnedRow {
            /// Attributes.
            pub meta: Meta,
            $($(#[$string_doc])* pub $string: Vec<u8>,)*
        }

        impl OwnedRow {
            /// Returns the row as a batch of one row, without its name.
            pub fn batch(&self) -> RowBatch {
                let mut batch = RowBatch {
                    len: 1,
                    ..RowBatch::default()
                };
                batch.push_meta(&self.meta);
                $(batch.$string.push(&self.$string);)*
                batch
            }

            /// Returns the value of a column; null for the directory and the name.
            pub fn value(&self, column: Column) -> Value<'_> {
                match column {
                    $(Column::$string_column => Value::Bytes(&self.$string),)*
                    other => self.meta.value(other),
                }
            }

            /// Returns the bytes of the strings.
            pub fn heap_bytes(&self) -> usize {
                0 $(+ self.$string.len())*
            }
        }
    };
}
with_fields!(rows);

/// The values of one column of a batch; `null` is the stored number of a row without a value, for
/// columns that may be null.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// Unsigned 32-bit numbers.
    U32(&'a Vec<u32>, Option<u32>),
    /// Unsigned 64-bit numbers.
    U64(&'a Vec<u64>, Option<u64>),
    /// Signed 64-bit numbers.
    I64(&'a Vec<i64>, Option<i64>),
    /// Byte strings; empty if there is none.
    Bytes(&'a ByteColumn),
    /// None: the values are made from the path, the name or the mode.
    Derived,
}

/// Like [`Values`], for changes.
#[derive(Debug)]
pub enum ValuesMut<'a> {
    /// Unsigned 32-bit numbers.
    U32(&'a mut Vec<u32>, Option<u32>),
    /// Unsigned 64-bit numbers.
    U64(&'a mut Vec<u64>, Option<u64>),
    /// Signed 64-bit numbers.
    I64(&'a mut Vec<i64>, Option<i64>),
    /// Byte strings; empty if there is none.
    Bytes(&'a mut ByteColumn),
    /// None: the values are made from the path, the name or the mode.
    Derived,
}

macro_rules! from_numbers {
    ($($kind:ident $ty:ty;)*) => {
        $(
            impl<'a> From<(&'a Vec<$ty>, Option<$ty>)> for Values<'a> {
                #[inline]
                fn from((numbers, null): (&'a Vec<$ty>, Option<$ty>)) -> Values<'a> {
                    Values::$kind(numbers, null)
                }
            }

            impl<'a> From<(&'a mut Vec<$ty>, Option<$ty>)> for ValuesMut<'a> {
                #[inline]
                fn from((numbers, null): (&'a mut Vec<$ty>, Option<$ty>)) -> ValuesMut<'a> {
                    ValuesMut::$kind(numbers, null)
                }
            }
        )*
    };
}

from_numbers! {
    U32 u32;
    U64 u64;
    I64 i64;
}

impl RowBatch {
    /// Empties the given columns.
    pub fn drop_columns(&mut self, columns: ColumnSet) {
        for column in columns.iter() {
            match self.values_mut(column) {
                ValuesMut::U32(numbers, _) => numbers.clear(),
                ValuesMut::U64(numbers, _) => numbers.clear(),
                ValuesMut::I64(numbers, _) => numbers.clear(),
                ValuesMut::Bytes(strings) => strings.clear(),
                ValuesMut::Derived => {}
            }
        }
    }
}

/// Appends a copy of value `at`, if it exists.
#[inline]
fn copy<T: Copy>(to: &mut Vec<T>, from: &[T], at: usize) {
    to.extend(from.get(at));
}

/// Appends a copy of value `at`, if it exists.
#[inline]
fn copy_bytes(to: &mut ByteColumn, from: &ByteColumn, at: usize) {
    if at < from.len() {
        to.push(from.get(at));
    }
}

/// Returns a vector with value `at` only; empty if it does not exist.
fn one<T: Copy>(column: &[T], at: usize) -> Vec<T> {
    column.get(at).map(|value| vec![*value]).unwrap_or_default()
}

/// Keeps only the values at `places`, which are in ascending order.
fn keep<T: Copy>(column: &mut Vec<T>, places: &[u32]) {
    if column.is_empty() {
        return;
    }
    let mut kept = 0;
    for place in places {
        if let Some(value) = column.get(*place as usize).copied() {
            column[kept] = value;
            kept += 1;
        }
    }
    column.truncate(kept);
}

/// One row and the directory it lies in.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The columns.
    pub batch: &'a RowBatch,
    /// Index of the row.
    pub at: usize,
    /// The directory's absolute path as stored (see [`crate::path`]).
    pub dir: &'a [u8],
}

impl<'a> Row<'a> {
    /// Returns the name's bytes; empty only for the row of `/` itself.
    #[inline]
    pub fn name(&self) -> &'a [u8] {
        self.batch.name.get(self.at)
    }

    /// Returns the object's type, from the mode column.
    pub fn file_type(&self) -> FileType {
        FileType::from_mode(self.mode())
    }

    /// Returns the absolute path as stored: `dir/name`, empty for `/` itself.
    pub fn path(&self) -> Vec<u8> {
        if self.name().is_empty() {
            return self.dir.to_vec();
        }
        crate::path::join(self.dir, self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeping_leaves_just_what_was_named() {
        let mut name = ByteColumn::default();
        [&b"a"[..], b"", b"ccc", b"d"]
            .iter()
            .for_each(|n| name.push(n));
        let mut batch = RowBatch {
            len: 4,
            name,
            size: vec![10, 11, 12, 13],
            mtime: vec![-1, -2, -3, -4],
            uid: vec![5, 6, 7, 8],
            ..RowBatch::default()
        };
        batch.keep(&[0, 2, 3]);
        let names: Vec<&[u8]> = (0..batch.name.len()).map(|at| batch.name.get(at)).collect();
        assert_eq!(names, [&b"a"[..], b"ccc", b"d"]);
        assert_eq!(batch.size, [10, 12, 13]);
        assert_eq!(
            (batch.mtime.clone(), batch.uid.clone()),
            (vec![-1, -3, -4], vec![5, 7, 8])
        );
        assert!(batch.gid.is_empty());
        batch.drop_columns(ColumnSet::of(&[Column::Uid]));
        assert!(batch.uid.is_empty() && batch.size.len() == 3);
        batch.clear();
        assert!(batch.len == 0 && batch.name.is_empty() && batch.size.is_empty());
    }
}
