//! Reads a tree as a reader of the index sees it, and as the kernel shows it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{lgetxattr, llistxattr};
use trawl_model::Uid;
use trawl_model::column::ColumnSet;
use trawl_model::guard::Credentials;
use trawl_model::rows::Row;
use trawl_query::{AttributeRequest, Index, Located, Request, SeenLinks, UsageRequest};

/// The compared attributes of an entry: all but access times and the allocated blocks, which file
/// systems change on their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    ino: u64,
    mode: u32,
    nlink: u64,
    owner: (u32, u32),
    size: u64,
    mtime: (i64, i64),
    ctime: (i64, i64),
    target: Option<Vec<u8>>,
    xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
}

pub(crate) fn by_index(index: &Path, root: &Path) -> BTreeMap<PathBuf, Shown> {
    let (index, start) = open(index, root);
    let mut found = BTreeMap::new();
    found.insert(root.to_owned(), of_row(&start.own_row()));
    let mut rows = 1;
    let request = Request {
        columns: ColumnSet::all(),
        ..Request::default()
    };
    index
        .walk(
            &start,
            &request,
            |listing, out: &mut Vec<(PathBuf, Shown)>| {
                for at in listing.range.clone() {
                    let row = Row {
                        batch: listing.batch,
                        at,
                        dir: listing.dir.path,
                    };
                    out.push((path(&row.path()), of_row(&row)));
                }
            },
            |some| {
                rows += some.len();
                found.extend(some);
                ControlFlow::Continue(())
            },
        )
        .expect("it can be read");
    assert_eq!(rows, found.len(), "an entry is there twice");
    add_attributes(&index, &start, &mut found);
    found
}

/// Checks the sums, which are computed without the rows: they agree.
pub(crate) fn check_sums(index: &Path, root: &Path, found: &BTreeMap<PathBuf, Shown>) {
    let (index, start) = open(index, root);
    let totals = index.totals(&start).expect("sums can be read");
    assert_eq!(totals.sums.entries(), found.len() as u64 - 1);
    let sizes = found.iter().filter(|(at, _)| **at != path(&start.path));
    let sizes: u64 = sizes.map(|(_, shown)| shown.size).sum();
    assert_eq!(totals.sums.size_bytes, sizes);
    let mut objects: BTreeMap<u64, u64> = BTreeMap::new();
    objects.extend(found.values().map(|shown| (shown.ino, shown.size)));
    let mut seen = SeenLinks::new();
    let usage = index.usage(&start, &UsageRequest::default(), &mut seen, |_| {
        ControlFlow::Continue(())
    });
    let usage = usage.expect("sums can be read");
    assert_eq!(usage.inodes, objects.len() as u64);
    assert_eq!(usage.size_bytes, objects.values().sum::<u64>());
}

pub(crate) fn open(index: &Path, root: &Path) -> (Index, Box<trawl_query::Start>) {
    let who = Credentials {
        uid: Uid::ROOT,
        groups: Vec::new(),
    };
    let index = Index::open(index, who).expect("the index opens");
    let located = index.locate(root.as_os_str().as_bytes());
    let Located::Found(start) = located.expect("it can be read") else {
        panic!("the root is not there");
    };
    (index, start)
}

fn add_attributes(index: &Index, start: &trawl_query::Start, found: &mut BTreeMap<PathBuf, Shown>) {
    let mut note = |at: &[u8], attributes: Vec<trawl_query::Attribute>| {
        let shown = found.entry(path(at)).or_default();
        for attribute in attributes {
            let value = attribute.value.expect("root may read all");
            let before = shown.xattrs.insert(attribute.name, value);
            assert_eq!(
                before,
                None,
                "{}: a value is there twice",
                path(at).display()
            );
        }
    };
    note(
        &start.path,
        index.attributes(start).expect("they can be read"),
    );
    let request = AttributeRequest::default();
    index
        .attributes_below(start, &request, |attributed| {
            note(&attributed.path, attributed.attributes);
            ControlFlow::Continue(())
        })
        .expect("they can be read");
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

fn of_row(row: &Row<'_>) -> Shown {
    let time = |time: trawl_model::Timestamp| (time.secs, i64::from(time.nanos));
    let is_link = row.mode() & 0o170_000 == 0o120_000;
    Shown {
        ino: row.ino(),
        mode: row.mode(),
        nlink: row.nlink().into(),
        owner: (row.uid().0, row.gid().0),
        size: row.size(),
        mtime: time(row.mtime()),
        ctime: time(row.ctime()),
        target: is_link.then(|| row.link_target().to_vec()),
        xattrs: BTreeMap::new(),
    }
}

pub(crate) fn by_kernel(root: &Path) -> BTreeMap<PathBuf, Shown> {
    let mut found = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(at) = pending.pop() {
        let meta = fs::symlink_metadata(&at).expect("nobody writes");
        if meta.is_dir() {
            let names = fs::read_dir(&at).expect("it can be listed");
            pending.extend(names.map(|name| name.expect("it can be listed").path()));
        }
        let target = meta.is_symlink().then(|| {
            let target = fs::read_link(&at).expect("it is a link");
            target.into_os_string().into_vec()
        });
        let shown = Shown {
            ino: meta.ino(),
            mode: meta.mode(),
            nlink: meta.nlink(),
            owner: (meta.uid(), meta.gid()),
            size: meta.size(),
            mtime: (meta.mtime(), meta.mtime_nsec()),
            ctime: (meta.ctime(), meta.ctime_nsec()),
            target,
            xattrs: attributes(&at),
        };
        found.insert(at, shown);
    }
    found
}

fn attributes(at: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut names = vec![0; 65536];
    let length = llistxattr(at, &mut names[..]).unwrap_or(0);
    let names = names[..length].split(|byte| *byte == 0);
    let mut found = BTreeMap::new();
    for name in names.filter(|name| !name.is_empty()) {
        let mut value = vec![0; 65536];
        let length = lgetxattr(at, OsStr::from_bytes(name), &mut value[..]).expect("root may");
        value.truncate(length);
        found.insert(name.to_vec(), value);
    }
    found
}
