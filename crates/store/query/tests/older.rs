//! Reads indexes that were written before the last columns were added to the
//! entries table.
//!
//! Such an index is made of a present one by writing its entries files anew with
//! the general Parquet writer and fewer columns. One made like that is committed
//! in `tests/older`; `BLESS=1` writes it again.

mod support;

use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use support::answers::answers;
use support::older::make_older;
use support::{Random, Shape, Tree};
use trawl_format::Readers;
use trawl_format::schema::Table;
use trawl_model::Meta;
use trawl_model::column::{COLUMNS, Column, ColumnSet, REQUIRED_COLUMNS};
use trawl_model::filter::{Clause, Filter};
use trawl_model::guard::Credentials;
use trawl_model::rows::{Row, RowBatch};
use trawl_query::{Index, Listing, Located, Request};

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
        make_older(&index, Table::Entries, columns);
        assert_same_answers(&index);
    }
}

#[test]
fn an_index_without_a_required_column_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let index = dir.path().join("index");
    let tree = tree();
    tree.write_for(Some(Readers::Owner), &index, &mut Random(4));
    make_older(&index, Table::Entries, REQUIRED_COLUMNS - 1);
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
        make_older(&index, Table::Entries, REQUIRED_COLUMNS);
        let _ = std::fs::remove_dir_all(committed());
        copy(&index, &committed());
    }
    let older = dir.path().join("older");
    copy(&committed(), &older);
    assert_same_answers(&older);
}
