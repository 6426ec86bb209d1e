//! Makes trees to search, and formats answers as lines.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use trawl_call::options::Flags;
use trawl_call::{
    Executor, LiveWalk, Options, Outcome, Pattern, Record, RecordRef, Request, Search,
};
use trawl_model::Timestamp;
use trawl_model::guard::Credentials;
use trawl_query::Index;
use trawl_scan::{ScanProgress, WalkOptions, walk};
use trawl_sys::become_user::{User, as_user};
use trawl_testkit::random_tree::Plan;
use trawl_testkit::{RandomTree, Scratch};
use trawl_writer::{SnapshotWriter, WriterOptions};

/// Makes empty files; a name that ends in a slash makes a directory.
pub(crate) fn make(top: &Path, names: &[&str]) {
    for name in names {
        let path = top.join(name);
        if name.ends_with('/') {
            std::fs::create_dir_all(path).unwrap();
        } else {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, name).unwrap();
        }
    }
}

/// Makes a directory with these files.
pub(crate) fn tree(names: &[&str]) -> Scratch {
    let scratch = Scratch::new("call");
    make(scratch.path(), names);
    scratch
}

/// Makes a random tree with this number of entries, in the directory `tree`.
pub(crate) fn random(seed: u64, entries: usize) -> Scratch {
    let scratch = Scratch::new("call-random");
    let top = scratch.join("tree");
    std::fs::create_dir(&top).unwrap();
    let plan = Plan {
        entries,
        ..Plan::new(seed)
    };
    RandomTree::build(&top, &plan).unwrap();
    scratch
}

pub(crate) fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// Returns a request with the language and options of the flags.
pub(crate) fn request(pattern: &str, flags: u32, roots: &[&Path]) -> Request {
    let (language, options) = Flags(flags).read().unwrap();
    request_with(pattern, language, options, roots)
}

pub(crate) fn request_with(
    pattern: &str,
    language: trawl_call::Language,
    options: Options,
    roots: &[&Path],
) -> Request {
    let pattern = Pattern::new(pattern.as_bytes(), language).unwrap();
    let roots: Vec<&[u8]> = roots.iter().map(|root| bytes(root)).collect();
    Request::new(&pattern, &roots, options).unwrap()
}

/// Returns all records of an answer.
pub(crate) fn records(executor: &dyn Executor, request: Request) -> Vec<Record> {
    let mut search = Search::open(executor, request).unwrap();
    let mut records = Vec::new();
    while let Some(record) = search.next_record().unwrap() {
        records.push(record.to_owned());
    }
    records
}

/// Formats a record as a line: an error begins with `!`, a record of any root but the first with
/// the root's number.
pub(crate) fn line(record: &RecordRef<'_>) -> String {
    let path = record.path.escape_ascii();
    let root = match record.root {
        0 => String::new(),
        root => format!("{root}:"),
    };
    match record.outcome {
        Outcome::Match(_) => format!("{root}{path}"),
        Outcome::Error(trouble) => {
            let source = trouble.source.name();
            format!("!{root}{source} {} {path}", trouble.errno)
        }
    }
}

pub(crate) fn lines(records: &[Record]) -> Vec<String> {
    let line = |record: &Record| {
        line(&RecordRef {
            root: record.root,
            path: &record.path,
            outcome: record.outcome,
        })
    };
    records.iter().map(line).collect()
}

/// Returns the live answer as lines.
pub(crate) fn ask(pattern: &str, flags: u32, roots: &[&Path]) -> Vec<String> {
    lines(&records(
        &LiveWalk::default(),
        request(pattern, flags, roots),
    ))
}

/// User and group id of the other user in these tests.
pub(crate) const OTHER: u32 = 54_321;

/// Runs a closure as another user.
pub(crate) fn as_other<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let user = User {
        uid: OTHER,
        gid: OTHER,
        groups: Vec::new(),
    };
    as_user(&user, work).unwrap()
}

/// Returns the credentials that [`as_other`] uses.
pub(crate) fn other() -> Credentials {
    Credentials {
        uid: trawl_model::Uid(OTHER),
        groups: [trawl_model::Gid(OTHER)].into_iter().collect(),
    }
}

/// Indexes a tree.
pub(crate) fn index_of(top: &Path, into: &Path) {
    make_index(top, into, Default::default());
}

/// Indexes a tree, and records this option in the index.
pub(crate) fn index_with(top: &Path, into: &Path, option: &str) {
    make_index(top, into, [(option.to_owned(), "yes".to_owned())].into());
}

fn make_index(top: &Path, into: &Path, options: BTreeMap<String, String>) {
    let cancel = std::sync::atomic::AtomicBool::new(false);
    let now = trawl_sys::process::now();
    let at = Timestamp {
        secs: now.secs,
        nanos: now.nanos,
    };
    let options = WriterOptions {
        memory_bytes: 1 << 20,
        started: at,
        version: "test".into(),
        options,
    };
    let index = trawl_writer::create_index(into, None).unwrap();
    let root = top.canonicalize().unwrap();
    let root = bytes(&root);
    let mut writer = SnapshotWriter::begin(&index, root, options).unwrap();
    let options = WalkOptions::new(&cancel);
    walk(root, &options, &ScanProgress::default(), &mut writer).unwrap();
    writer.commit(at).unwrap();
}

/// Opens an index.
pub(crate) fn open(index: &Path, who: Credentials) -> Arc<Index> {
    Arc::new(Index::open(index, who).unwrap())
}
