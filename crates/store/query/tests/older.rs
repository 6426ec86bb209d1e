//! Reads indexes that were written before the last columns were added to the
//! entries table.
//!
//! Such an index is made of a present one by writing its entries files anew with
//! the general Parquet writer and fewer columns. One made like that is committed
//! in `tests/older`; `BLESS=1` writes it again.

mod support;

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::KeyValue;
use std::fs::File;
use std::io::Write;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use support::answers::{answers, files_below};
use support::{Random, Shape, Tree};
use trawl_format::schema::{FORMAT, KEY_CHUNKS, KEY_FORMAT, KEY_TABLE, Table};
use trawl_format::{Hash, Readers};
use trawl_model::Meta;
use trawl_model::column::{COLUMNS, Column, ColumnSet, REQUIRED_COLUMNS};
use trawl_model::filter::{Clause, Filter};
use trawl_model::guard::Credentials;
use trawl_model::rows::{Row, RowBatch};
use trawl_query::{Index, Listing, Located, Request};
use xxhash_rust::xxh3::xxh3_64;

/// Returns a tree whose entries have nothing in the columns that may be missing.
fn tree() -> Tree {
    let shape = Shape {
        dirs: 12,
        entries: 12,
    };
    let mut tree = Tree::random(78, "/r", shape);
    for dir in &mut tree.dirs {
        let entries = dir.entries.iter_mut().map(|entry| &mut entry.meta);
        for meta in entries.chain([&mut dir.own]) {
            *meta = without_late_columns(meta);
        }
    }
    tree
}

/// Returns attributes without the columns that may be missing.
fn without_late_columns(meta: &Meta) -> Meta {
    let mut batch = RowBatch::default();
    batch.push_meta(meta);
    let late = COLUMNS[REQUIRED_COLUMNS..].iter().map(|info| info.column);
    late.for_each(|column| batch.drop_columns(ColumnSet::of(&[column])));
    let row = Row {
        batch: &batch,
        at: 0,
        dir: b"",
    };
    row.meta()
}

/// Writes the rows of an entries file with only its first `columns`.
fn with_columns(file: &Path, columns: usize) -> Vec<u8> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(file).unwrap()).unwrap();
    let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    let kept: Vec<usize> = (0..columns).collect();
    let schema = trawl_writer::parquet_schema::arrow_schema(Table::Entries)
        .project(&kept)
        .unwrap();
    let write = |pairs: &[(&str, String)]| {
        let properties = Some(trawl_writer::parquet_schema::writer_properties(
            Table::Entries,
        ));
        let mut writer =
            ArrowWriter::try_new(Vec::new(), schema.clone().into(), properties).unwrap();
        for batch in &batches {
            writer.write(&batch.project(&kept).unwrap()).unwrap();
        }
        writer.flush().unwrap();
        let groups = writer.flushed_row_groups();
        let chunks = groups.iter().flat_map(|group| group.columns());
        let chunks: Vec<(u64, u64)> = chunks.map(|chunk| chunk.byte_range()).collect();
        for (key, value) in pairs {
            writer.append_key_value_metadata(KeyValue::new((*key).to_owned(), value.clone()));
        }
        (writer.into_inner().unwrap(), chunks)
    };
    let (bytes, chunks) = write(&[]);
    let hash = |(start, len): &(u64, u64)| xxh3_64(&bytes[*start as usize..(start + len) as usize]);
    let hashes = chunks.iter().map(|chunk| format!("{:016x}", hash(chunk)));
    let pairs = [
        (KEY_CHUNKS, hashes.collect()),
        (KEY_FORMAT, FORMAT.to_string()),
        (KEY_TABLE, "entries".to_owned()),
    ];
    write(&pairs).0
}

/// Replaces the entries files of an index by ones with only the first `columns`,
/// as a program would have written them that knew no others.
fn make_older(index: &Path, columns: usize) {
    let mut files = Vec::new();
    files_below(index, &mut files);
    let named = |end: &'static str| {
        let files = files.iter();
        files.filter(move |file| file.to_str().is_some_and(|name| name.ends_with(end)))
    };
    let derived = named(".pack").chain(named(".items"));
    derived.for_each(|file| std::fs::remove_file(file).unwrap());
    for manifest in named(".manifest") {
        let text = std::fs::read_to_string(manifest).unwrap();
        let (json, _) = text.trim_end().rsplit_once('\n').unwrap();
        let mut json: serde_json::Value = serde_json::from_str(json).unwrap();
        for segment in json["segments"].as_array_mut().unwrap() {
            let id = segment["id"].as_str().unwrap().to_owned();
            let Some(of) = segment["files"].get_mut("entries") else {
                continue;
            };
            let path = manifest.with_file_name(format!("{id}.entries.parquet"));
            let bytes = with_columns(&path, columns);
            let tail = tail_of(&bytes);
            of["size_bytes"] = bytes.len().into();
            of["hash"] = Hash::of(&bytes).to_string().into();
            of["tail_bytes"] = tail.len().into();
            of["tail_hash"] = Hash::of(tail).to_string().into();
            std::fs::write(&path, &bytes).unwrap();
        }
        let text = format!("{json}\n");
        let sum = Hash::of(text.as_bytes());
        std::fs::write(manifest, format!("{text}xxh3-128 {sum}\n")).unwrap();
    }
}

/// Returns what follows the last column chunk.
fn tail_of(bytes: &[u8]) -> &[u8] {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let chunks = reader.metadata().row_groups().iter();
    let chunks = chunks.flat_map(|group| group.columns());
    let ends = chunks.map(|chunk| chunk.byte_range().0 + chunk.byte_range().1);
    let start = ends.max().unwrap_or(4) as usize;
    &bytes[start..]
}

/// Counts the rows of the whole index that a clause lets through.
fn count(index: &Path, clause: Option<Clause>) -> usize {
    let index = Index::open(index, Credentials::default()).unwrap();
    let Located::Found(start) = index.locate(b"/r").unwrap() else {
        panic!("no /r");
    };
    let request = Request {
        columns: ColumnSet::of(&[Column::Attributes]),
        filter: Filter {
            clauses: clause.into_iter().collect(),
            ..Filter::default()
        },
        ..Request::default()
    };
    let work = |listing: &Listing<'_>, rows: &mut usize| {
        let stored = &listing.batch.attributes[listing.range.clone()];
        assert!(stored.iter().all(|bits| *bits == 0));
        *rows += stored.len();
    };
    let mut rows = 0;
    let add = |some: usize| {
        rows += some;
        ControlFlow::Continue(())
    };
    index.walk(&start, &request, work, add).unwrap();
    rows
}

/// Asserts that an index answers like one with all columns.
fn assert_same_answers(older: &Path) {
    let dir = tempfile::tempdir().unwrap();
    let present = dir.path().join("index");
    let tree = tree();
    tree.write_for(Some(Readers::Owner), &present, &mut Random(4));
    let child = &tree.dirs[tree.dirs.len() / 2].path;
    let wanted = answers(&present, &tree.root, child).unwrap();
    let found = answers(older, &tree.root, child).unwrap();
    let other = wanted.lines().zip(found.lines()).find(|(a, b)| a != b);
    assert!(wanted == found, "{other:?}");
    let bits = |low, high| {
        let column = Column::Attributes;
        Some(Clause { column, low, high })
    };
    let all = count(&present, None);
    assert!(all > 30, "{all}");
    assert_eq!(count(older, None), all);
    assert_eq!(count(older, bits(0, 0)), all);
    assert_eq!(count(older, bits(1, i128::from(u64::MAX))), 0);
}

#[test]
fn an_index_without_the_last_columns_answers_the_same() {
    for columns in REQUIRED_COLUMNS..=COLUMNS.len() {
        let dir = tempfile::tempdir().unwrap();
        let index = dir.path().join("index");
        tree().write_for(Some(Readers::Owner), &index, &mut Random(4));
        make_older(&index, columns);
        assert_same_answers(&index);
    }
}

#[test]
fn an_index_without_a_required_column_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let index = dir.path().join("index");
    let tree = tree();
    tree.write_for(Some(Readers::Owner), &index, &mut Random(4));
    make_older(&index, REQUIRED_COLUMNS - 1);
    let error = answers(&index, &tree.root, &tree.root).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("its columns are not those"), "{error}");
    assert!(error.contains(".entries.parquet"), "{error}");
}

fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/older")
}

/// Copies an index for its owner, with the permissions that it needs.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    let mode = |bits| std::fs::Permissions::from_mode(bits);
    std::fs::set_permissions(to, mode(0o700)).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
            continue;
        }
        std::fs::copy(entry.path(), &to).unwrap();
        std::fs::set_permissions(&to, mode(0o600)).unwrap();
    }
}

#[test]
fn the_committed_older_index_is_read() {
    let dir = tempfile::tempdir().unwrap();
    if std::env::var_os("BLESS").is_some() {
        let index = dir.path().join("new");
        tree().write_for(Some(Readers::Owner), &index, &mut Random(4));
        make_older(&index, REQUIRED_COLUMNS);
        let _ = std::fs::remove_dir_all(committed());
        copy(&index, &committed());
    }
    let older = dir.path().join("older");
    copy(&committed(), &older);
    assert_same_answers(&older);
}
