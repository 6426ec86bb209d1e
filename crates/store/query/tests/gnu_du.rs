//! Compares the disk usage of a scanned tree with the output of GNU du.

mod support;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use trawl_model::Timestamp;
use trawl_model::guard::Credentials;
use trawl_query::{Detail, Index, Located, SeenLinks, Usage, UsageRequest};
use trawl_writer::{SnapshotWriter, WriterOptions};

type Given = BTreeMap<Vec<u8>, u64>;

/// Returns the output of du by path.
fn du(options: &[&str], tree: &Path) -> Option<Given> {
    let mut command = trawl_testkit::oracle::command("du");
    let output = command.args(options).arg("-0").arg(tree).output().ok()?;
    let lines = output
        .stdout
        .split(|byte| *byte == 0)
        .filter(|line| !line.is_empty());
    let pairs = lines.map(|line| {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let number = std::str::from_utf8(&line[..tab]).ok()?.parse().ok()?;
        Some((line[tab + 1..].to_vec(), number))
    });
    pairs.collect()
}

fn make_tree(tree: &Path) {
    for dir in ["a/b/c", "a/empty", "odd \n name/x", "links"] {
        std::fs::create_dir_all(tree.join(dir)).unwrap();
    }
    for (n, dir) in ["a", "a/b", "a/b/c", "odd \n name/x", "links"]
        .iter()
        .enumerate()
    {
        for size in [0, 1, 5000, 300_000] {
            let name = tree.join(dir).join(format!("f{n}-{size}"));
            std::fs::write(name, vec![1; size]).unwrap();
        }
    }
    // Two names of one object in one directory; du counts one of them.
    std::fs::hard_link(tree.join("links/f4-5000"), tree.join("links/again")).unwrap();
    std::os::unix::fs::symlink("nowhere", tree.join("a/link")).unwrap();
}

fn scan(tree: &Path, place: &Path) -> Index {
    let options = WriterOptions {
        memory_bytes: 1 << 20,
        started: Timestamp { secs: 1, nanos: 0 },
        version: "test".to_owned(),
        options: BTreeMap::new(),
    };
    let root = tree.as_os_str().as_bytes();
    let index = trawl_writer::create_index(place, None).unwrap();
    let mut writer = SnapshotWriter::begin(&index, root, options).unwrap();
    let cancel = AtomicBool::new(false);
    let options = trawl_scan::WalkOptions::new(&cancel);
    let progress = trawl_scan::ScanProgress::default();
    trawl_scan::walk(root, &options, &progress, &mut writer).unwrap();
    writer.commit(Timestamp { secs: 2, nanos: 0 }).unwrap();
    Index::open(place, Credentials::default()).unwrap()
}

fn ours(index: &Index, tree: &Path, request: &UsageRequest<'_>, value: fn(&Usage) -> u64) -> Given {
    let Located::Found(start) = index.locate(tree.as_os_str().as_bytes()).unwrap() else {
        panic!("the root is not there");
    };
    let mut given = Given::new();
    let visit = |of: &trawl_query::UsageOf<'_>| {
        given.insert(of.path.to_vec(), value(&of.usage));
        ControlFlow::Continue(())
    };
    index
        .usage(&start, request, &mut SeenLinks::new(), visit)
        .unwrap();
    given
}

#[test]
fn usage_is_what_du_says() {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().canonicalize().unwrap().join("tree");
    make_tree(&tree);
    let index = scan(&tree, &dir.path().join("index"));
    let Some(expected) = du(&["-B512"], &tree) else {
        println!("skipped, because there is no GNU du");
        return;
    };
    let request = UsageRequest::default();
    assert_eq!(
        ours(&index, &tree, &request, |usage| usage.blocks),
        expected
    );
    let expected = du(&["--inodes"], &tree).unwrap();
    assert_eq!(
        ours(&index, &tree, &request, |usage| usage.inodes),
        expected
    );
    let shallow = UsageRequest {
        max_depth: Some(1),
        ..request
    };
    let expected = du(&["-B512", "-d1"], &tree).unwrap();
    assert_eq!(
        ours(&index, &tree, &shallow, |usage| usage.blocks),
        expected
    );
    // Which of an object's names du prints depends on the order of the
    // directory.
    let everything = UsageRequest {
        detail: Detail::Everything,
        ..request
    };
    let without_links = |mut given: Given| {
        given.retain(|path, _| !path.ends_with(b"/again") && !path.ends_with(b"/f4-5000"));
        given
    };
    let expected = du(&["-B512", "-a"], &tree).unwrap();
    let got = ours(&index, &tree, &everything, |usage| usage.blocks);
    assert_eq!(got.len(), expected.len());
    assert_eq!(without_links(got), without_links(expected));
    // Up to version 9.1 du counts the apparent sizes of directories; later
    // versions do not.
    let expected = du(&["-b"], &tree).unwrap();
    let all = ours(&index, &tree, &request, |usage| usage.size_bytes);
    let files = ours(&index, &tree, &request, |usage| {
        usage.size_bytes - usage.dir_size_bytes
    });
    assert!(
        all == expected || files == expected,
        "{all:?} {files:?} {expected:?}"
    );
}
