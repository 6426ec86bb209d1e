//! The columns of a Parquet file, whoever wrote it: in any order, in any number of row groups, with
//! further columns beside them, required or optional, integers of any width or as floating-point
//! numbers, as sums of databases are.
//!
//! The bytes are untrusted: wrong types, missing values, too many rows and too long names are errors.

use std::collections::HashSet;
use std::rc::Rc;

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::file::reader::{FileReader, RowGroupReader};

/// The most rows that are read.
const ROWS_MAX: usize = 1 << 23;
/// The most bytes of different names in a column. Each is in memory once, however many rows have it.
const NAMES_MAX_BYTES: usize = 16 << 20;
/// Values that are decoded at a time.
const BATCH: usize = 8192;

/// The rows.
#[derive(Default)]
pub(super) struct Columns {
    pub(super) layer: Vec<Rc<str>>,
    pub(super) slice: Vec<u64>,
    pub(super) operation: Vec<Rc<str>>,
    pub(super) bucket: Vec<u64>,
    pub(super) calls: Vec<u64>,
    /// Empty, as the next two, in files of earlier versions.
    pub(super) resolution: Vec<u64>,
    pub(super) units_per_second: Vec<u64>,
    pub(super) slice_ns: Vec<u64>,
}

/// Checks numbers of the metadata that the library asserts, which would end the program.
fn check(reader: &dyn FileReader) -> Result<(), String> {
    let groups = reader.metadata().row_groups().iter();
    for column in groups.flat_map(|group| group.columns()) {
        let first = column.dictionary_page_offset();
        let first = first.unwrap_or(column.data_page_offset());
        let (values, size) = (column.num_values(), column.compressed_size());
        if first < 0 || size < 0 || values < 0 || column.uncompressed_size() < 0 {
            return Err("its metadata has negative sizes".to_owned());
        }
    }
    Ok(())
}

/// Reads all rows.
pub(super) fn read(reader: &dyn FileReader) -> Result<Columns, String> {
    let mut columns = Columns::default();
    check(reader)?;
    let (mut layers, mut operations) = (Names::default(), Names::default());
    let mut rows = 0_usize;
    for at in 0..reader.num_row_groups() {
        let group = reader
            .get_row_group(at)
            .map_err(|error| error.to_string())?;
        let own = usize::try_from(group.metadata().num_rows()).unwrap_or(usize::MAX);
        rows = rows.saturating_add(own);
        if rows > ROWS_MAX {
            return Err(format!("it has more than {ROWS_MAX} rows"));
        }
        let group = Group {
            group: &*group,
            rows: own,
        };
        group.texts("layer", &mut layers, &mut columns.layer)?;
        group.numbers("slice", &mut columns.slice)?;
        group.texts("operation", &mut operations, &mut columns.operation)?;
        group.numbers("bucket", &mut columns.bucket)?;
        group.numbers("calls", &mut columns.calls)?;
        group.optional("resolution", &mut columns.resolution)?;
        group.optional("units_per_second", &mut columns.units_per_second)?;
        group.optional("slice_ns", &mut columns.slice_ns)?;
    }
    Ok(columns)
}

/// Names that were met.
#[derive(Default)]
struct Names {
    met: HashSet<Rc<str>>,
    bytes: usize,
}

impl Names {
    /// Returns the name; `None` if there would be too many.
    fn of(&mut self, name: &str) -> Option<Rc<str>> {
        if let Some(met) = self.met.get(name) {
            return Some(Rc::clone(met));
        }
        self.bytes += name.len();
        if self.bytes > NAMES_MAX_BYTES {
            return None;
        }
        let name = Rc::<str>::from(name);
        self.met.insert(Rc::clone(&name));
        Some(name)
    }
}

struct Group<'g> {
    group: &'g dyn RowGroupReader,
    rows: usize,
}

impl Group<'_> {
    fn texts(&self, name: &str, names: &mut Names, into: &mut Vec<Rc<str>>) -> Result<(), String> {
        let text = |bytes: &ByteArray| names.of(std::str::from_utf8(bytes.data()).ok()?);
        match self.reader(name)? {
            ColumnReader::ByteArrayColumnReader(reader) => self.values(name, reader, text, into),
            _ => Err(format!("its column {name} has no text")),
        }
    }

    fn numbers(&self, name: &str, into: &mut Vec<u64>) -> Result<(), String> {
        let whole = |number: f64| {
            let is_count = number.fract() == 0.0 && (0.0..9e15).contains(&number);
            is_count.then_some(number as u64)
        };
        match self.reader(name)? {
            ColumnReader::Int32ColumnReader(reader) => {
                self.values(name, reader, |number| u64::try_from(*number).ok(), into)
            }
            // The bits are those of an unsigned number.
            ColumnReader::Int64ColumnReader(reader) => {
                self.values(name, reader, |number| Some(number.cast_unsigned()), into)
            }
            ColumnReader::DoubleColumnReader(reader) => {
                self.values(name, reader, |number| whole(*number), into)
            }
            _ => Err(format!("its column {name} has no whole numbers")),
        }
    }

    fn optional(&self, name: &str, into: &mut Vec<u64>) -> Result<(), String> {
        match self.place(name) {
            Some(_) => self.numbers(name, into),
            None => Ok(()),
        }
    }

    fn place(&self, name: &str) -> Option<usize> {
        let schema = self.group.metadata().schema_descr();
        let mut all = schema.columns().iter();
        all.position(|one| one.path().parts() == [name])
    }

    fn reader(&self, name: &str) -> Result<ColumnReader, String> {
        let missing = || format!("it has no column {name}");
        let place = self.place(name).ok_or_else(missing)?;
        let reader = self.group.get_column_reader(place);
        reader.map_err(|error| error.to_string())
    }

    /// Reads the values of a column, each of which must be there.
    fn values<T: DataType, V>(
        &self,
        name: &str,
        mut reader: ColumnReaderImpl<T>,
        mut value: impl FnMut(&T::T) -> Option<V>,
        into: &mut Vec<V>,
    ) -> Result<(), String> {
        let wrong = || format!("its column {name} has a value that does not belong there");
        let (mut left, mut levels, mut batch) = (self.rows, Vec::new(), Vec::new());
        while left > 0 {
            levels.clear();
            batch.clear();
            let most = left.min(BATCH);
            let read = reader.read_records(most, Some(&mut levels), None, &mut batch);
            let (records, values, _) = read.map_err(|error| error.to_string())?;
            if records == 0 || records != values {
                return Err(wrong());
            }
            for one in &batch {
                into.push(value(one).ok_or_else(wrong)?);
            }
            left = left.saturating_sub(records);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_memory_once_and_not_without_limit() {
        let mut names = Names::default();
        let long = "x".repeat(NAMES_MAX_BYTES / 2);
        let first = names.of(&long).unwrap();
        for _ in 0..1000 {
            assert!(Rc::ptr_eq(&first, &names.of(&long).unwrap()));
        }
        assert!(names.of(&"y".repeat(NAMES_MAX_BYTES)).is_none());
    }
}
