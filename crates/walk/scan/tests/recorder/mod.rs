//! A sink that keeps everything and checks that it is called as [`Sink`] promises, and GNU find as
//! the oracle for its content.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::collections::{BTreeMap, HashMap, HashSet};
use std::convert::Infallible;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use trawl_model::sink::SourceRoot;
use trawl_model::{DirAccess, DirBatch, DirId, Entry, Issue, Sink, path};
use trawl_scan::{ScanProgress, WalkOptions, walk};

/// One entry with its byte strings.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) entry: Entry,
    pub(crate) link_target: Vec<u8>,
    pub(crate) xattr_names: Vec<u8>,
    pub(crate) xattrs: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) acl: Vec<u8>,
    pub(crate) acl_default: Vec<u8>,
}

/// Everything that a source delivered.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) root: Option<SourceRoot>,
    pub(crate) rows: BTreeMap<Vec<u8>, Row>,
    pub(crate) access: HashMap<Vec<u8>, DirAccess>,
    pub(crate) own: HashMap<Vec<u8>, trawl_model::Meta>,
    pub(crate) issues: Vec<Issue>,
    /// Number of entries of each batch.
    pub(crate) fragments: Vec<usize>,
    /// Bytes of each batch's heap.
    pub(crate) heaps: Vec<usize>,
    /// Directories in the order of their first batches.
    pub(crate) order: Vec<Vec<u8>>,
    parents: HashMap<DirId, Option<DirId>>,
    next_fragment: HashMap<DirId, u32>,
    done: HashSet<DirId>,
    open_children: HashMap<DirId, usize>,
}

impl Recorder {
    /// Performs the checks that hold only at the end.
    pub(crate) fn finish(self) -> Self {
        assert_eq!(
            self.done.len(),
            self.parents.len(),
            "every directory is done"
        );
        self
    }
}

impl Sink for Recorder {
    type Error = Infallible;

    fn root(&mut self, root: SourceRoot) -> Result<(), Infallible> {
        assert!(self.root.is_none() && self.parents.is_empty());
        self.root = Some(root);
        Ok(())
    }

    fn batch(&mut self, batch: DirBatch) -> Result<(), Infallible> {
        assert!(!self.done.contains(&batch.dir), "no batch after the end");
        let fragment = self.next_fragment.entry(batch.dir).or_insert(0);
        assert_eq!(batch.fragment, *fragment);
        *fragment += 1;
        if batch.fragment == 0 {
            if let Some(parent) = batch.parent {
                assert!(self.parents.contains_key(&parent), "the parent comes first");
                *self.open_children.entry(parent).or_default() += 1;
            }
            assert!(self.parents.insert(batch.dir, batch.parent).is_none());
            self.order.push(batch.path.clone());
            self.access.insert(batch.path.clone(), batch.access.clone());
            self.own.insert(batch.path.clone(), batch.own);
        }
        assert!(batch.entries.is_sorted_by_key(|e| batch.bytes(e.name)));
        self.fragments.push(batch.entries.len());
        self.heaps.push(batch.heap.len());
        for (index, entry) in batch.entries.iter().enumerate() {
            let mine = batch.xattrs.iter().filter(|x| x.entry as usize == index);
            let row = Row {
                entry: *entry,
                link_target: batch.bytes(entry.link_target).to_vec(),
                xattr_names: batch.bytes(entry.xattr_names).to_vec(),
                xattrs: mine
                    .map(|x| (batch.bytes(x.name).to_vec(), batch.bytes(x.value).to_vec()))
                    .collect(),
                acl: batch.bytes(entry.acl).to_vec(),
                acl_default: batch.bytes(entry.acl_default).to_vec(),
            };
            let path = path::join(&batch.path, batch.bytes(entry.name));
            assert!(self.rows.insert(path, row).is_none(), "each entry once");
        }
        self.issues.extend(batch.issues);
        Ok(())
    }

    fn subtree_done(&mut self, dir: DirId) -> Result<(), Infallible> {
        assert!(self.done.insert(dir), "done once");
        assert_eq!(
            self.open_children.get(&dir).copied().unwrap_or(0),
            0,
            "children are done"
        );
        if let Some(Some(parent)) = self.parents.get(&dir) {
            *self.open_children.get_mut(parent).unwrap() -= 1;
        }
        Ok(())
    }

    fn issue(&mut self, _: Option<DirId>, issue: Issue) -> Result<(), Infallible> {
        self.issues.push(issue);
        Ok(())
    }
}

/// Walks `root` with default options, modified by `change`.
pub(crate) fn record(root: &Path, change: impl FnOnce(&mut WalkOptions<'_>)) -> Recorder {
    let cancel = AtomicBool::new(false);
    let mut options = WalkOptions::new(&cancel);
    change(&mut options);
    let (progress, mut recorder) = (ScanProgress::default(), Recorder::default());
    let counts = walk(
        root.as_os_str().as_bytes(),
        &options,
        &progress,
        &mut recorder,
    )
    .unwrap();
    let recorder = recorder.finish();
    assert_eq!(counts.entries as usize, recorder.rows.len());
    assert_eq!(counts.directories as usize, recorder.own.len());
    assert_eq!(counts.issues as usize, recorder.issues.len());
    recorder
}

/// The fields that GNU find prints for each entry below `root`.
const FIELDS: &str = r"%y %i %m %n %U %G %s %b %D %A@ %T@ %C@\0%l\0";

/// Returns the output of `find` for the entries below `root`, by path, with further arguments
/// before `-printf`.
pub(crate) fn find(root: &Path, arguments: &[&str]) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut find = trawl_testkit::oracle::command("find");
    find.arg(root)
        .args(["-mindepth", "1"])
        .args(arguments)
        .arg("-printf");
    find.arg(format!(r"%p\0{FIELDS}"));
    // The first run changes access times; the second prints the final values.
    trawl_testkit::tick();
    find.output().expect("GNU find runs");
    let output = find.output().expect("GNU find runs");
    let mut fields = output.stdout.split(|b| *b == 0);
    let mut rows = BTreeMap::new();
    while let (Some(path), Some(row), Some(link)) = (fields.next(), fields.next(), fields.next()) {
        rows.insert(path.to_vec(), [row, b" -> ", link].concat());
    }
    rows
}

/// Returns a row in the form in which [`find`] prints it.
pub(crate) fn as_find_prints(row: &Row) -> Vec<u8> {
    let meta = &row.entry.meta;
    let time = |t: trawl_model::Timestamp| format!("{}.{:09}0", t.secs, t.nanos);
    let mut line = format!(
        "{} {} {:o} {} {} {} {} {} {} {} {} {}",
        meta.file_type().letter() as char,
        meta.ino,
        meta.mode & 0o7777,
        meta.nlink,
        meta.uid,
        meta.gid,
        meta.size,
        meta.blocks,
        meta.dev.as_u64(),
        time(meta.atime),
        time(meta.mtime),
        time(meta.ctime),
    )
    .into_bytes();
    line.extend_from_slice(b" -> ");
    line.extend_from_slice(&row.link_target);
    line
}

/// Asserts that a recording agrees with find's output: the same paths with the same fields.
pub(crate) fn assert_same(recorder: &Recorder, found: &BTreeMap<Vec<u8>, Vec<u8>>) {
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for (path, row) in &recorder.rows {
        let got = as_find_prints(row);
        let want = found
            .get(path)
            .unwrap_or_else(|| panic!("find has no {}", lossy(path)));
        assert_eq!(lossy(&got), lossy(want), "{}", lossy(path));
    }
    for path in found.keys() {
        assert!(
            recorder.rows.contains_key(path),
            "the walk has no {}",
            lossy(path)
        );
    }
}

/// Returns true if a tool can be run here; prints a message if not.
pub(crate) fn has(tool: &str) -> bool {
    let found = trawl_testkit::oracle::command(tool)
        .arg("--version")
        .output()
        .is_ok();
    if !found {
        println!("skipped, because {tool} is not installed");
    }
    found
}

/// Returns true if this process is root; prints a message if not.
pub(crate) fn is_root() -> bool {
    let root = trawl_sys::identity::effective_uid() == 0;
    if !root {
        println!("skipped, because it needs root");
    }
    root
}

/// A test directory that is removed by `rm -rf`, which handles trees of any depth.
pub(crate) struct Scratch(pub(crate) std::path::PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        Scratch::within(&std::env::temp_dir())
    }

    /// Creates it in memory if possible, for trees that would take a disk too long.
    pub(crate) fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() {
            Scratch::within(memory)
        } else {
            Scratch::new()
        }
    }

    fn within(place: &Path) -> Self {
        let dir = tempfile::Builder::new()
            .prefix("trawl-scan-")
            .tempdir_in(place)
            .unwrap()
            .keep();
        Scratch(std::fs::canonicalize(dir).unwrap())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = trawl_testkit::oracle::command("rm")
            .arg("-rf")
            .arg(&self.0)
            .status();
    }
}
