//! Checks that another reader (the Parquet library's) reads from the files what the writer was
//! given.

mod support;

use std::collections::BTreeMap;
use support::{Event, Tree, cell, new_index, odd_tree, read, write_tree};
use trawl_format::{GuardStep, Snapshot, Table};
use trawl_model::column::COLUMNS;
use trawl_model::placement::Placer;
use trawl_model::{DirBatch, Entry, FileType, Value, escape, path};

/// Returns an entry's expected cells by column name.
fn expected_row(batch: &DirBatch, entry: &Entry) -> BTreeMap<&'static str, String> {
    let m = &entry.meta;
    let text = |bytes: &[u8]| format!("{:?}", escape::escape(bytes));
    let optional = |bytes: &[u8]| match bytes.is_empty() {
        true => "null".to_owned(),
        false => format!("{bytes:?}"),
    };
    let or_null = |v: Option<String>| v.unwrap_or_else(|| "null".to_owned());
    let name = batch.bytes(entry.name);
    let raw = std::str::from_utf8(name).err().map(|_| format!("{name:?}"));
    let mut cells = BTreeMap::from([
        ("dir", text(&batch.path)),
        ("name", text(name)),
        ("name_raw", or_null(raw)),
        (
            "type",
            format!("{:?}", char::from(m.file_type().letter()).to_string()),
        ),
        ("ino", m.ino.to_string()),
        ("dev", m.dev.as_u64().to_string()),
        ("mode", m.mode.to_string()),
        ("nlink", m.nlink.to_string()),
        ("uid", m.uid.to_string()),
        ("gid", m.gid.to_string()),
        ("rdev", m.rdev.as_u64().to_string()),
        ("size", m.size.to_string()),
        ("blocks", m.blocks.to_string()),
        ("blksize", m.blksize.to_string()),
        ("atime", m.atime.secs.to_string()),
        ("atime_ns", m.atime.nanos.to_string()),
        ("mtime", m.mtime.secs.to_string()),
        ("mtime_ns", m.mtime.nanos.to_string()),
        ("ctime", m.ctime.secs.to_string()),
        ("ctime_ns", m.ctime.nanos.to_string()),
        ("btime", or_null(m.btime.map(|t| t.secs.to_string()))),
        ("btime_ns", or_null(m.btime.map(|t| t.nanos.to_string()))),
        ("link_target", optional(batch.bytes(entry.link_target))),
        ("xattr_names", optional(batch.bytes(entry.xattr_names))),
        ("acl", optional(batch.bytes(entry.acl))),
        ("acl_default", optional(batch.bytes(entry.acl_default))),
        ("project", or_null(m.project.map(|p| p.to_string()))),
        ("attributes", m.attributes.to_string()),
    ]);
    // Columns that were added later.
    for info in COLUMNS {
        cells
            .entry(info.name)
            .or_insert_with(|| match m.value(info.column) {
                Value::Number(number) => number.to_string(),
                _ => "null".to_owned(),
            });
    }
    cells
}

type Rows = BTreeMap<(Vec<u8>, Vec<u8>), BTreeMap<&'static str, String>>;

fn expected_rows(tree: &Tree) -> Rows {
    let mut rows = Rows::new();
    for event in &tree.events {
        if let Event::Batch(batch) = event {
            for entry in &batch.entries {
                let key = (batch.path.clone(), batch.bytes(entry.name).to_vec());
                assert!(rows.insert(key, expected_row(batch, entry)).is_none());
            }
        }
    }
    rows
}

fn raw_text(
    batch: &arrow_array::RecordBatch,
    column: &str,
    raw: Option<&str>,
    row: usize,
) -> Vec<u8> {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    if let Some(raw) = raw {
        let array = batch.column_by_name(raw).unwrap().as_binary::<i32>();
        if array.is_valid(row) {
            return array.value(row).to_vec();
        }
    }
    let text = batch
        .column_by_name(column)
        .unwrap()
        .as_string::<i32>()
        .value(row);
    text.as_bytes().to_vec()
}

fn number(batch: &arrow_array::RecordBatch, column: &str, row: usize) -> u64 {
    cell(batch, column, row).parse().unwrap()
}

/// Returns every entry row of a snapshot, and checks their order. Checks that own rows behind
/// barriers are copies.
fn stored_rows(snapshot: &Snapshot, root_rows: &mut u64) -> Rows {
    let (mut rows, mut copies) = (Rows::new(), Rows::new());
    for shard in &snapshot.shards {
        let dirs = read(shard, Table::Dirs);
        for (segment, entries) in read(shard, Table::Entries) {
            for (_, dirs) in dirs.iter().filter(|(number, _)| *number == segment) {
                let mut last: Option<Vec<u8>> = None;
                for row in 0..dirs.num_rows() {
                    let path = raw_text(dirs, "path", Some("path_raw"), row);
                    assert!(last.is_none_or(|last| path::cmp(&last, &path).is_le()));
                    last = Some(path.clone());
                    let first = number(dirs, "first_row", row) as usize;
                    let count = number(dirs, "rows", row) as usize;
                    let mut names = Vec::new();
                    for at in first..first + count {
                        let name = raw_text(&entries, "name", Some("name_raw"), at);
                        names.push(name.clone());
                        assert_eq!(cell(&entries, "dir", at), cell(dirs, "path", row));
                        let key = (path.clone(), name);
                        let cells = COLUMNS.iter().map(|c| (c.name, cell(&entries, c.name, at)));
                        let kept = match (number(dirs, "kind", row), shard.barrier()) {
                            (0, _) => &mut rows,
                            (_, Some(barrier)) => {
                                assert_eq!(path::join(&key.0, &key.1), barrier);
                                &mut copies
                            }
                            (_, None) => {
                                *root_rows += 1;
                                continue;
                            }
                        };
                        assert!(kept.insert(key, cells.collect()).is_none());
                    }
                    assert!(names.is_sorted(), "{names:?}");
                }
            }
        }
    }
    for (key, copy) in &copies {
        assert_eq!(rows.get(key), Some(copy));
    }
    rows
}

fn round_trip(root: &str, dirs: u64, files: u64, seed: u64, memory_bytes: usize) {
    let tree = odd_tree(root, dirs, files, seed);
    let (_dir, index) = new_index();
    let done = write_tree(&index, &tree, memory_bytes).unwrap();
    let source = index.source(root.as_bytes()).unwrap().unwrap();
    let snapshot = source.current().unwrap().unwrap();
    assert_eq!(snapshot.info.id, done.id);
    assert_eq!(snapshot.totals(), done.totals);
    let mut root_rows = 0;
    let expected = expected_rows(&tree);
    let stored = stored_rows(&snapshot, &mut root_rows);
    assert_eq!(root_rows, 1);
    assert_eq!(done.totals.entries, expected.len() as u64 + 1);
    for (key, row) in &expected {
        assert_eq!(stored.get(key), Some(row));
    }
    assert_eq!(stored.len(), expected.len());
    check_sums(&snapshot);
    check_sidecars(&snapshot, &tree);
}

/// Checks every sum of the dirs table against the rows.
fn check_sums(snapshot: &Snapshot) {
    for shard in &snapshot.shards {
        let entries = read(shard, Table::Entries);
        let links = read(shard, Table::Links);
        for (segment, dirs) in read(shard, Table::Dirs) {
            let entries = entries.iter().find(|(n, _)| *n == segment).map(|(_, b)| b);
            let links = links.iter().find(|(n, _)| *n == segment).map(|(_, b)| b);
            let mut before = [0u64; 6];
            let mut next_row = 0;
            let mut next_link = 0;
            for row in 0..dirs.num_rows() {
                let get = |column: &str| number(&dirs, column, row);
                assert_eq!(get("first_row"), next_row);
                assert_eq!(get("links_before"), next_link);
                let mut sums = [0u64; 6];
                let (mut sizes, mut times) = (Vec::new(), Vec::new());
                for at in next_row as usize..(next_row + get("rows")) as usize {
                    let entries = entries.unwrap();
                    let mode = number(entries, "mode", at) as u32;
                    let kind = match FileType::from_mode(mode) {
                        FileType::Regular => 0,
                        FileType::Directory => 1,
                        FileType::Symlink => 2,
                        _ => 3,
                    };
                    sums[kind] += 1;
                    sums[4] = sums[4].wrapping_add(number(entries, "size", at));
                    sums[5] = sums[5].wrapping_add(number(entries, "blocks", at));
                    sizes.push(number(entries, "size", at));
                    times.push(cell(entries, "mtime", at).parse::<i64>().unwrap());
                    if number(entries, "nlink", at) > 1 && kind != 1 {
                        let links = links.unwrap();
                        assert_eq!(number(links, "row", next_link as usize), at as u64);
                        for column in ["dev", "ino", "nlink", "size", "blocks"] {
                            assert_eq!(
                                cell(links, column, next_link as usize),
                                cell(entries, column, at)
                            );
                        }
                        next_link += 1;
                    }
                }
                next_row += get("rows");
                let own = [
                    "files",
                    "dirs",
                    "symlinks",
                    "others",
                    "size_sum",
                    "blocks_sum",
                ];
                assert_eq!(own.map(get), sums);
                let running = [
                    "files_before",
                    "dirs_before",
                    "symlinks_before",
                    "others_before",
                    "size_before",
                    "blocks_before",
                ];
                assert_eq!(running.map(get), before);
                assert_eq!(get("size_min"), sizes.iter().copied().min().unwrap_or(0));
                assert_eq!(get("size_max"), sizes.iter().copied().max().unwrap_or(0));
                let newest = times.iter().copied().max().unwrap_or(0);
                assert_eq!(cell(&dirs, "mtime_max", row), newest.to_string());
                if get("kind") == 0 {
                    for (total, own) in before.iter_mut().zip(sums) {
                        *total = total.wrapping_add(own);
                    }
                }
            }
        }
    }
}

/// Checks that each issue and attribute value is stored once, in the shard of its guard.
fn check_sidecars(snapshot: &Snapshot, tree: &Tree) {
    let (mut issues, mut xattrs) = (Vec::new(), Vec::new());
    for event in &tree.events {
        match event {
            Event::Batch(batch) => {
                issues.extend(
                    batch
                        .issues
                        .iter()
                        .map(|issue| (issue.path.clone(), issue.op as u8)),
                );
                for xattr in &batch.xattrs {
                    let name = batch.bytes(batch.entries[xattr.entry as usize].name);
                    xattrs.push((
                        batch.path.clone(),
                        name.to_vec(),
                        format!("{:?}", batch.bytes(xattr.value)),
                    ));
                }
            }
            Event::Issue(_, issue) => issues.push((issue.path.clone(), issue.op as u8)),
            Event::Done(_) => {}
        }
    }
    let (mut stored_issues, mut stored_xattrs) = (Vec::new(), Vec::new());
    for shard in &snapshot.shards {
        for (_, batch) in read(shard, Table::Issues) {
            for row in 0..batch.num_rows() {
                let path = raw_text(&batch, "path", Some("path_raw"), row);
                stored_issues.push((path, number(&batch, "op", row) as u8));
            }
        }
        for (_, batch) in read(shard, Table::Xattrs) {
            for row in 0..batch.num_rows() {
                let dir = raw_text(&batch, "dir", Some("dir_raw"), row);
                let name = raw_text(&batch, "name", Some("name_raw"), row);
                stored_xattrs.push((dir, name, cell(&batch, "value", row)));
            }
        }
    }
    for list in [&mut issues, &mut stored_issues] {
        list.sort();
    }
    xattrs.sort();
    stored_xattrs.sort();
    assert_eq!(issues, stored_issues);
    assert_eq!(xattrs, stored_xattrs);
}

#[test]
fn an_odd_tree_comes_back_whole() {
    round_trip("/srv/data", 60, 12, 1, 64 << 20);
}

#[test]
fn the_root_of_the_file_system_is_a_source_like_any() {
    round_trip("", 20, 8, 2, 64 << 20);
}

#[test]
fn a_small_budget_makes_several_segments_of_the_same_rows() {
    round_trip("/srv/data", 60, 12, 3, 20 << 10);
    round_trip("/srv/data", 40, 3, 4, 0);
}

#[test]
fn directories_larger_than_pages_and_row_groups_come_back() {
    round_trip("/big", 1, 80_000, 7, 256 << 20);
    round_trip("/big", 3, 6_000, 8, 1 << 20);
}

#[test]
fn rows_lie_in_the_shard_of_their_guard() {
    let tree = odd_tree("/srv", 60, 4, 5);
    let (_dir, index) = new_index();
    write_tree(&index, &tree, 64 << 20).unwrap();
    let snapshot = index
        .source(b"/srv")
        .unwrap()
        .unwrap()
        .current()
        .unwrap()
        .unwrap();
    let mut placer = Placer::new(&tree.root.path, &tree.root.above);
    let above = placer.guard(placer.root_guard()).0.len();
    let mut places = BTreeMap::new();
    for event in &tree.events {
        match event {
            Event::Batch(batch) if batch.fragment == 0 => {
                placer.enter(batch.dir, batch.parent, &batch.path, &batch.access);
                let guard = placer.place(batch.dir);
                let steps = GuardStep::of_guard(&placer.guard(guard));
                places.insert(batch.path.clone(), steps[above..].to_vec());
            }
            _ => {}
        }
    }
    assert!(places.values().any(|guard| guard.len() > 1));
    let mut checked = 0;
    for shard in &snapshot.shards {
        for (_, dirs) in read(shard, Table::Dirs) {
            for row in (0..dirs.num_rows()).filter(|row| number(&dirs, "kind", *row) == 0) {
                let path = raw_text(&dirs, "path", Some("path_raw"), row);
                if let Some(guard) = places.get(&path) {
                    assert_eq!(*guard, shard.manifest.guard);
                    checked += 1;
                }
            }
        }
    }
    assert_eq!(checked, places.len());
}
