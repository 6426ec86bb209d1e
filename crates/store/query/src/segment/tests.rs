//! Reads segment files that the general Parquet writer made with our reader.

use super::file::SegmentFile;
use super::kept::KeptPages;
use super::page::Number;
use super::scratch::Scratch;
use super::{read_dir_page, read_dirs};
use crate::error::QueryError;
use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, UInt32Array, UInt64Array};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;
use proptest::prelude::*;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use trawl_format::schema::{DirColumn, FORMAT, KEY_CHUNKS, KEY_FORMAT, KEY_TABLE, Table};
use trawl_format::{FileRef, Hash};
use trawl_model::column::ColumnType;
use trawl_model::rows::ByteColumn;
use xxhash_rust::xxh3::xxh3_64;

/// A value of any type.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Number(u64),
    Bytes(Vec<u8>),
    Null,
}

/// A small, fast random number generator for tables of many pages.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound.max(1)
    }
}

fn random_columns(table: Table, rows: usize, seed: u64) -> Vec<Vec<Value>> {
    let mut random = Random(seed);
    let columns = table.fields().iter().map(|field| {
        let style = random.below(6);
        let width = random.below(64);
        let value = |random: &mut Random, row: usize| {
            let is_null = field.nullable
                && match style {
                    0 => true,
                    1 => false,
                    2 => row % 5000 < 2500,
                    _ => random.below(3) == 0,
                };
            if is_null {
                return Value::Null;
            }
            let number = match style {
                0 => 7,
                1 => row as u64,
                2 => random.below(3),
                _ => (random.below(u64::MAX) << 32 ^ random.below(u64::MAX)) >> width,
            };
            match field.kind {
                ColumnType::U32 => Value::Number(number & 0xffff_ffff),
                ColumnType::U64 | ColumnType::I64 => Value::Number(number),
                ColumnType::Text => Value::Bytes(format!("/a/{number:x}").into_bytes()),
                ColumnType::Bytes => {
                    Value::Bytes(number.to_le_bytes()[..random.below(9) as usize].to_vec())
                }
            }
        };
        (0..rows).map(|row| value(&mut random, row)).collect()
    });
    columns.collect()
}

fn to_array(kind: ColumnType, values: &[Value]) -> ArrayRef {
    let number = |value: &Value| match value {
        Value::Number(number) => Some(*number),
        _ => None,
    };
    let numbers = values.iter().map(number);
    match kind {
        ColumnType::U32 => Arc::new(
            numbers
                .map(|n| n.map(|n| n as u32))
                .collect::<UInt32Array>(),
        ),
        ColumnType::U64 => Arc::new(numbers.collect::<UInt64Array>()),
        ColumnType::I64 => Arc::new(numbers.map(|n| n.map(|n| n as i64)).collect::<Int64Array>()),
        ColumnType::Text => {
            let mut out = StringBuilder::new();
            for value in values {
                match value {
                    Value::Bytes(bytes) => out.append_value(std::str::from_utf8(bytes).unwrap()),
                    _ => out.append_null(),
                }
            }
            Arc::new(out.finish())
        }
        ColumnType::Bytes => {
            let mut out = BinaryBuilder::new();
            for value in values {
                match value {
                    Value::Bytes(bytes) => out.append_value(bytes),
                    _ => out.append_null(),
                }
            }
            Arc::new(out.finish())
        }
    }
}

/// Returns the bytes of a segment file and its entry in the manifest.
fn encode(table: Table, columns: &[Vec<Value>], group_rows: usize) -> (Vec<u8>, FileRef) {
    let arrays = table.fields().iter().zip(columns);
    let arrays = arrays
        .map(|(field, values)| to_array(field.kind, values))
        .collect();
    let batch =
        RecordBatch::try_new(trawl_writer::parquet_schema::arrow_schema(table), arrays).unwrap();
    let properties = trawl_writer::parquet_schema::writer_properties(table).into_builder();
    let properties = properties
        .set_max_row_group_row_count(Some(group_rows))
        .build();
    // Write once to compute the chunks' hashes, and once to include them.
    let write = |pairs: &[(&str, String)]| {
        let mut writer = ArrowWriter::try_new(
            Vec::new(),
            trawl_writer::parquet_schema::arrow_schema(table),
            Some(properties.clone()),
        )
        .unwrap();
        writer.write(&batch).unwrap();
        writer.flush().unwrap();
        let groups = writer.flushed_row_groups();
        let columns = groups.iter().flat_map(|group| group.columns());
        let places: Vec<(u64, u64)> = columns.map(|column| column.byte_range()).collect();
        for (key, value) in pairs {
            writer.append_key_value_metadata(KeyValue::new((*key).to_owned(), value.clone()));
        }
        (writer.into_inner().unwrap(), places)
    };
    let (bytes, places) = write(&[]);
    let hash = |(start, len): &(u64, u64)| xxh3_64(&bytes[*start as usize..(start + len) as usize]);
    let hashes = places.iter().map(|place| format!("{:016x}", hash(place)));
    let (bytes, places) = write(&[
        (KEY_CHUNKS, hashes.collect()),
        (KEY_FORMAT, FORMAT.to_string()),
        (KEY_TABLE, table.name().to_owned()),
    ]);
    let tail_start = places
        .iter()
        .map(|(start, len)| start + len)
        .max()
        .unwrap_or(4) as usize;
    let expected = FileRef {
        rows: batch.num_rows() as u64,
        size_bytes: bytes.len() as u64,
        hash: Hash::of(&bytes),
        tail_bytes: (bytes.len() - tail_start) as u64,
        tail_hash: Hash::of(&bytes[tail_start..]),
    };
    (bytes, expected)
}

fn open(table: Table, bytes: &[u8], expected: &FileRef) -> Result<SegmentFile, QueryError> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    SegmentFile::from_file(file, Path::new("the-file").to_owned(), table, expected)
}

fn read_column(
    file: &SegmentFile,
    table: Table,
    column: usize,
    ranges: &[Range<u64>],
    scratch: &mut Scratch,
) -> Result<Vec<Value>, QueryError> {
    fn wrapped<T: Number + Into<i128>>(values: Vec<T>) -> Vec<Value> {
        values
            .into_iter()
            .map(|value| Value::Number(value.into() as u64))
            .collect()
    }
    Ok(match table.fields()[column].kind {
        ColumnType::U32 => {
            let mut out = Vec::new();
            file.numbers(column, 77u32, ranges, scratch, &mut out)?;
            wrapped(out)
        }
        ColumnType::U64 => {
            let mut out = Vec::new();
            file.numbers(column, 77u64, ranges, scratch, &mut out)?;
            wrapped(out)
        }
        ColumnType::I64 => {
            let mut out = Vec::new();
            file.numbers(column, 77i64, ranges, scratch, &mut out)?;
            wrapped(out)
        }
        ColumnType::Text | ColumnType::Bytes => {
            let mut out = ByteColumn::default();
            file.strings(column, ranges, scratch, &mut out)?;
            (0..out.len())
                .map(|at| Value::Bytes(out.get(at).to_vec()))
                .collect()
        }
    })
}

/// The expected result of `read_column`.
fn expected_values(
    table: Table,
    column: usize,
    values: &[Value],
    ranges: &[Range<u64>],
) -> Vec<Value> {
    let is_number = !matches!(
        table.fields()[column].kind,
        ColumnType::Text | ColumnType::Bytes
    );
    let wanted = ranges
        .iter()
        .flat_map(|range| &values[range.start as usize..range.end as usize]);
    wanted
        .map(|value| match value {
            Value::Null if is_number => Value::Number(77),
            Value::Null => Value::Bytes(Vec::new()),
            value => value.clone(),
        })
        .collect()
}

fn random_ranges(random: &mut Random, rows: u64) -> Vec<Range<u64>> {
    let mut ranges = Vec::new();
    let mut at = random.below(rows);
    while at < rows && ranges.len() < 50 {
        let end = (at + 1 + random.below(rows / 4)).min(rows);
        ranges.push(at..end);
        at = end + random.below(rows / 4);
    }
    ranges
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn our_reader_reads_what_the_general_writer_wrote(
        table in proptest::sample::select(&Table::ALL[..]),
        rows in prop_oneof![1usize..50, 1000usize..3000, 9000usize..20000],
        group_rows in prop_oneof![Just(1usize << 17), 1usize..9000],
        seed: u64,
    ) {
        let group_rows = group_rows.max(rows / 20 + 1);
        let columns = random_columns(table, rows, seed);
        let (bytes, expected) = encode(table, &columns, group_rows);
        let file = open(table, &bytes, &expected).unwrap();
        let mut scratch = Scratch::default();
        let mut random = Random(seed ^ 1);
        for round in 0..3 {
            for (column, values) in columns.iter().enumerate() {
                let ranges = match round {
                    2 => vec![0..rows as u64],
                    _ => random_ranges(&mut random, rows as u64),
                };
                let got = read_column(&file, table, column, &ranges, &mut scratch).unwrap();
                let wanted = expected_values(table, column, values, &ranges);
                prop_assert!(got == wanted, "{} {:?} {:?}", table.fields()[column].name, ranges, got.iter().zip(&wanted).position(|(a, b)| a != b));
            }
        }
    }
}

/// Bounds of a cache of pages: of nothing, of a few pages, and of all.
const BOUNDS: [usize; 3] = [0, 100_000, 1 << 30];

/// Reads single rows and short ranges, as lookups do.
fn short_ranges(random: &mut Random, rows: u64) -> Vec<Range<u64>> {
    let mut ranges = Vec::new();
    let mut at = random.below(rows);
    while at < rows && ranges.len() < 4 {
        let end = (at + 1 + random.below(3)).min(rows);
        ranges.push(at..end);
        at = end + random.below(rows / 3);
    }
    ranges
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn kept_pages_give_what_is_in_the_file(
        table in proptest::sample::select(&Table::ALL[..]),
        rows in prop_oneof![1usize..50, 1000usize..3000, 9000usize..20000],
        group_rows in prop_oneof![Just(1usize << 17), 1usize..9000],
        bound in proptest::sample::select(&BOUNDS[..]),
        seed: u64,
    ) {
        let group_rows = group_rows.max(rows / 20 + 1);
        let columns = random_columns(table, rows, seed);
        let (bytes, expected) = encode(table, &columns, group_rows);
        let pages = Arc::new(KeptPages::new(bound));
        // Another file of the same table, with other values, shares the cache.
        let others = random_columns(table, rows, seed ^ 0xff);
        let (other_bytes, other_expected) = encode(table, &others, group_rows);
        let file = open(table, &bytes, &expected).unwrap().keeping(&pages);
        let other = open(table, &other_bytes, &other_expected).unwrap().keeping(&pages);
        let read = |thread: u64| {
            let mut scratch = Scratch::for_lookups();
            let mut random = Random(seed ^ thread);
            for _ in 0..6 {
                for column in 0..columns.len() {
                    let ranges = match random.below(4) {
                        0 => random_ranges(&mut random, rows as u64),
                        _ => short_ranges(&mut random, rows as u64),
                    };
                    for (file, columns) in [(&file, &columns), (&other, &others)] {
                        let got = read_column(file, table, column, &ranges, &mut scratch).unwrap();
                        let wanted = expected_values(table, column, &columns[column], &ranges);
                        assert!(got == wanted, "{} {ranges:?}", table.fields()[column].name);
                        assert!(pages.bytes() <= bound);
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            let read = &read;
            (0..3).for_each(|thread| drop(scope.spawn(move || read(thread))));
        });
        prop_assert_eq!(pages.bytes() > 0, bound > 0);
    }
}

#[test]
fn scans_keep_nothing() {
    let columns = random_columns(Table::Entries, 20_000, 5);
    let (bytes, expected) = encode(Table::Entries, &columns, 1 << 17);
    let pages = Arc::new(KeptPages::new(1 << 30));
    let file = open(Table::Entries, &bytes, &expected).unwrap();
    let file = file.keeping(&pages);
    for column in 0..columns.len() {
        let read = |ranges, scratch: &mut Scratch| {
            read_column(&file, Table::Entries, column, ranges, scratch).unwrap();
        };
        read(&[5..6], &mut Scratch::default());
        read(&[0..20_000], &mut Scratch::default());
        read(&[0..20_000], &mut Scratch::for_lookups());
        assert_eq!(pages.bytes(), 0);
    }
}

#[test]
fn a_kept_null_is_the_one_that_was_asked_for() {
    let mut column = Table::Entries.fields().iter();
    let column = column.position(|field| field.nullable && field.kind == ColumnType::U32);
    let column = column.unwrap();
    let mut columns = random_columns(Table::Entries, 100, 5);
    columns[column] = vec![Value::Null; 100];
    let (bytes, expected) = encode(Table::Entries, &columns, 1 << 17);
    let pages = Arc::new(KeptPages::new(1 << 20));
    let file = open(Table::Entries, &bytes, &expected).unwrap();
    let file = file.keeping(&pages);
    for null in [3u32, u32::MAX, 3, 0] {
        let mut out = Vec::new();
        let mut scratch = Scratch::for_lookups();
        file.numbers(column, null, &[7..9], &mut scratch, &mut out)
            .unwrap();
        assert_eq!(out, [null, null]);
    }
}

#[test]
fn kept_directories_are_those_of_the_file() {
    let rows = 3000;
    let mut columns = random_columns(Table::Dirs, rows, 8);
    // Random bytes are no paths.
    columns[DirColumn::PathRaw as usize] = vec![Value::Null; rows];
    let (bytes, expected) = encode(Table::Dirs, &columns, 1 << 17);
    let file = open(Table::Dirs, &bytes, &expected).unwrap();
    let wanted = [DirColumn::FirstRow, DirColumn::Rows];
    let mut scratch = Scratch::default();
    let all = read_dirs(&file, 0..rows as u64, &wanted, &mut scratch).unwrap();
    for bound in BOUNDS {
        let pages = Arc::new(KeptPages::new(bound));
        let file = open(Table::Dirs, &bytes, &expected).unwrap();
        let file = file.keeping(&pages);
        let mut random = Random(2);
        for _ in 0..200 {
            let row = random.below(rows as u64);
            let mut scratch = Scratch::for_lookups();
            let page = read_dir_page(&file, row, &mut scratch).unwrap();
            let (there, at) = ((row - page.rows.start) as usize, row as usize);
            assert_eq!(page.path.get(there), all.path.get(at));
            assert_eq!(page.number(0, there), all.number(0, at));
            assert_eq!(page.number(1, there), all.number(1, at));
            assert!(pages.bytes() <= bound);
        }
    }
}

/// Asserts that every answer from a damaged file is either an error that names
/// the file, or correct.
fn assert_error_or_right(
    table: Table,
    columns: &[Vec<Value>],
    bytes: &[u8],
    expected: &FileRef,
    seed: u64,
) -> usize {
    let rows = expected.rows;
    let file = match open(table, bytes, expected) {
        Ok(file) => file,
        Err(error) => {
            assert!(error.to_string().contains("the-file"), "{error}");
            return 1;
        }
    };
    let file = file.keeping(&Arc::new(KeptPages::new(1 << 20)));
    let mut lookups = Scratch::for_lookups();
    let mut scans = Scratch::default();
    let mut random = Random(seed);
    let mut errors = 0;
    for (column, values) in columns.iter().enumerate() {
        for (ranges, is_lookup) in [
            (short_ranges(&mut random, rows), true),
            (vec![random.below(rows)..rows], false),
            (random_ranges(&mut random, rows), false),
            (vec![0..rows], false),
            (short_ranges(&mut random, rows), true),
        ] {
            let scratch = match is_lookup {
                true => &mut lookups,
                false => &mut scans,
            };
            match read_column(&file, table, column, &ranges, scratch) {
                Ok(got) => assert!(got == expected_values(table, column, values, &ranges)),
                Err(error) => {
                    assert!(error.to_string().contains("the-file"), "{error}");
                    errors += 1;
                }
            }
        }
    }
    errors
}

#[test]
fn flipped_bytes_are_found() {
    for (table, rows) in [
        (Table::Entries, 9000),
        (Table::Dirs, 700),
        (Table::Links, 5000),
        (Table::Issues, 3),
    ] {
        let columns = random_columns(table, rows, 5);
        let (bytes, expected) = encode(table, &columns, 16_384);
        let mut random = Random(9);
        let mut found = 0;
        let rounds = 150;
        for _ in 0..rounds {
            let mut damaged = bytes.clone();
            // The first four bytes are the magic, which the reader ignores.
            let at = 4 + random.below(bytes.len() as u64 - 4) as usize;
            damaged[at] ^= 1 << random.below(8);
            found += usize::from(
                assert_error_or_right(table, &columns, &damaged, &expected, at as u64) > 0,
            );
        }
        assert_eq!(found, rounds, "{table}");
    }
}

#[test]
fn a_shortened_file_is_found() {
    let columns = random_columns(Table::Links, 3000, 5);
    let (bytes, expected) = encode(Table::Links, &columns, 4096);
    for len in [0, 4, 100, bytes.len() / 2, bytes.len() - 1] {
        let error = open(Table::Links, &bytes[..len], &expected).unwrap_err();
        assert!(matches!(error, QueryError::Damaged { .. }), "{error}");
    }
}

/// Checks forged files whose hashes are correct, so that only the decoder's own
/// checks remain. Any result except a panic is acceptable.
#[test]
fn hostile_files_with_fitting_hashes_never_panic() {
    for table in Table::ALL {
        let columns = random_columns(table, 2500, 11);
        let (bytes, expected) = encode(table, &columns, 2048);
        let tail_start = (expected.size_bytes - expected.tail_bytes) as usize;
        let mut random = Random(3);
        for round in 0..300 {
            let mut damaged = bytes.clone();
            let in_tail = round % 3 == 0;
            for _ in 0..1 + random.below(3) {
                let (start, len) = if in_tail {
                    (tail_start, bytes.len() - tail_start)
                } else {
                    (4, tail_start - 4)
                };
                damaged[start + random.below(len as u64) as usize] = random.below(256) as u8;
            }
            let expected = FileRef {
                tail_hash: Hash::of(&damaged[tail_start..]),
                ..expected
            };
            let Ok(mut file) = open(table, &damaged, &expected) else {
                continue;
            };
            file.trust_everything();
            let file = file.keeping(&Arc::new(KeptPages::new(1 << 20)));
            for mut scratch in [Scratch::default(), Scratch::for_lookups()] {
                for column in 0..table.fields().len() {
                    for ranges in [vec![0..expected.rows], vec![5..6, 1030..2000]] {
                        if let Ok(values) = read_column(&file, table, column, &ranges, &mut scratch)
                        {
                            let lengths = ranges.iter().map(|range| range.end - range.start);
                            assert_eq!(values.len() as u64, lengths.sum::<u64>());
                        }
                    }
                }
            }
        }
    }
}
