//! Holds columns while a row group is being filled.

use trawl_format::schema::FieldInfo;
use trawl_model::column::ColumnType;
use trawl_model::rows::ByteColumn;

/// Values of a column without its nulls.
#[derive(Debug)]
pub(crate) enum Values {
    /// 32-bit numbers.
    U32(Vec<u32>),
    /// 64-bit numbers; signed ones as their two's complement.
    U64(Vec<u64>),
    /// Text or bytes.
    Bytes(ByteColumn),
    /// Repetitive text as codes: the distinct values, and each row's index into them.
    Coded {
        /// The distinct values.
        dictionary: ByteColumn,
        /// One index for each row.
        indices: Vec<u32>,
    },
}

/// One column of a row group.
#[derive(Debug)]
pub(crate) struct ColumnData {
    /// The values that are not null.
    pub(crate) values: Values,
    /// For a nullable column: 1 for each row that has a value, else 0.
    pub(crate) present: Option<Vec<u32>>,
}

/// Whether a text column is filled with codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Coded,
    Plain,
}

impl ColumnData {
    /// Makes an empty column for a field.
    pub(crate) fn new(field: &FieldInfo, coding: Coding) -> ColumnData {
        let values = match (field.kind, coding) {
            (ColumnType::U32, _) => Values::U32(Vec::new()),
            (ColumnType::U64 | ColumnType::I64, _) => Values::U64(Vec::new()),
            (_, Coding::Plain) => Values::Bytes(ByteColumn::default()),
            (_, Coding::Coded) => Values::Coded {
                dictionary: ByteColumn::default(),
                indices: Vec::new(),
            },
        };
        ColumnData {
            values,
            present: field.nullable.then(Vec::new),
        }
    }

    /// Reserves memory for this number of rows. For a nullable column only the null flags are
    /// reserved; its values grow as they come.
    pub(crate) fn reserve(&mut self, rows: usize) {
        if let Some(present) = &mut self.present {
            return present.reserve(rows);
        }
        match &mut self.values {
            Values::U32(values) => values.reserve(rows),
            Values::U64(values) => values.reserve(rows),
            Values::Bytes(column) => column.offsets.reserve(rows),
            Values::Coded { indices, .. } => indices.reserve(rows),
        }
    }

    /// Removes the rows but keeps the memory.
    pub(crate) fn clear(&mut self) {
        let clear_bytes = |column: &mut ByteColumn| {
            column.offsets.truncate(1);
            column.data.clear();
        };
        match &mut self.values {
            Values::U32(values) => values.clear(),
            Values::U64(values) => values.clear(),
            Values::Bytes(column) => clear_bytes(column),
            Values::Coded {
                dictionary,
                indices,
            } => {
                clear_bytes(dictionary);
                indices.clear();
            }
        }
        if let Some(present) = &mut self.present {
            present.clear();
        }
    }

    /// Returns the size of the text in bytes, which limits row groups.
    pub(crate) fn text_bytes(&self) -> usize {
        match &self.values {
            Values::Bytes(column) => column.data.len(),
            Values::Coded { dictionary, .. } => dictionary.data.len(),
            _ => 0,
        }
    }

    /// Appends a 32-bit number for each row.
    pub(crate) fn extend_u32(&mut self, new: impl Iterator<Item = u32>) {
        if let Values::U32(values) = &mut self.values {
            values.extend(new);
        }
    }

    /// Appends a 64-bit number for each row.
    pub(crate) fn extend_u64(&mut self, new: impl Iterator<Item = u64>) {
        if let Values::U64(values) = &mut self.values {
            values.extend(new);
        }
    }

    /// Appends a 32-bit number or null for each row.
    pub(crate) fn extend_optional_u32(&mut self, new: impl Iterator<Item = Option<u32>>) {
        if let (Values::U32(values), Some(present)) = (&mut self.values, &mut self.present) {
            for value in new {
                values.extend(value);
                present.push(u32::from(value.is_some()));
            }
        }
    }

    /// Appends a 64-bit number or null for each row.
    pub(crate) fn extend_optional_u64(&mut self, new: impl Iterator<Item = Option<u64>>) {
        if let (Values::U64(values), Some(present)) = (&mut self.values, &mut self.present) {
            for value in new {
                values.extend(value);
                present.push(u32::from(value.is_some()));
            }
        }
    }

    /// Appends a byte string for each row.
    pub(crate) fn extend_bytes<'a>(&mut self, new: impl Iterator<Item = &'a [u8]>) {
        if let Values::Bytes(column) = &mut self.values {
            new.for_each(|value| column.push(value));
        }
    }

    /// Appends a byte string for each row, or null for `None`.
    pub(crate) fn extend_optional_bytes<'a>(
        &mut self,
        new: impl Iterator<Item = Option<&'a [u8]>>,
    ) {
        if let (Values::Bytes(column), Some(present)) = (&mut self.values, &mut self.present) {
            for value in new {
                value.into_iter().for_each(|value| column.push(value));
                present.push(u32::from(value.is_some()));
            }
        }
    }

    /// Appends `rows` nulls.
    pub(crate) fn extend_nulls(&mut self, rows: usize) {
        if let Some(present) = &mut self.present {
            present.resize(present.len() + rows, 0);
        }
    }

    /// Adds a distinct value to a coded column and returns its code.
    pub(crate) fn add_code(&mut self, value: &[u8]) -> u32 {
        match &mut self.values {
            Values::Coded { dictionary, .. } => {
                dictionary.push(value);
                dictionary.len() as u32 - 1
            }
            _ => 0,
        }
    }

    /// Appends `rows` rows with this code.
    pub(crate) fn repeat_code(&mut self, code: u32, rows: usize) {
        if let Values::Coded { indices, .. } = &mut self.values {
            indices.resize(indices.len() + rows, code);
        }
    }

    /// Appends a code for each row.
    pub(crate) fn extend_codes(&mut self, codes: impl Iterator<Item = u32>) {
        if let Values::Coded { indices, .. } = &mut self.values {
            indices.extend(codes);
        }
    }
}
