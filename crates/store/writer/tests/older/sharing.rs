//! Checks that a snapshot that shares segments with others holds, row for row, the same as one that
//! was written alone, whatever changed in between, and that unchanged content takes no additional
//! space.

use crate::support::{ROOT, Random, State, dump, write};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use trawl_format::{IndexDir, Snapshot, SnapshotId};
use trawl_model::sink::SourceRoot;
use trawl_model::{
    DirAccess, DirBatch, DirId, Entry, Errno, Gid, Issue, Meta, Op, Sink, Timestamp, Uid, Xattr,
    path,
};
use trawl_testkit::crash::at_each_point;
use trawl_testkit::skip::{Skip, without_root};
use trawl_writer::gc::{self, Retention};
use trawl_writer::verify::{Scope, verify};
use trawl_writer::{Committed, SnapshotWriter, WriterOptions, Writing};

fn open(index: &Path, id: SnapshotId) -> Snapshot {
    let index = IndexDir::open(index).unwrap();
    let source = index.source(ROOT).unwrap().unwrap();
    source.snapshot(id).unwrap()
}

/// Asserts that both are equal, or reports the first lines that differ.
fn assert_same(a: &[String], b: &[String], case: &str) {
    let only = |a: &[String], b: &[String]| -> Vec<String> {
        let lines = a.iter().filter(|line| !b.contains(line));
        lines.take(3).cloned().collect()
    };
    if a != b {
        panic!("{case}: {:#?} instead of {:#?}", only(a, b), only(b, a));
    }
}

#[test]
fn permissions_that_change_move_rows_as_if_nothing_were_shared() {
    let name = "permissions_that_change_move_rows_as_if_nothing_were_shared";
    if let Some(skip) = without_root(name) {
        return skip.say();
    }
    for seed in 0..8 {
        let dir = tempfile::tempdir().unwrap();
        let mut random = Random(seed);
        let mut state = State::random(&mut random, 40);
        for scan in 0..5 {
            let (id, _) = write(&dir.path().join("index"), &state, 100 + scan);
            let alone = dir.path().join(format!("alone-{scan}"));
            let (fresh, _) = write(&alone, &state, 100 + scan);
            let shared = dump(&open(&dir.path().join("index"), id));
            assert_eq!(
                shared,
                dump(&open(&alone, fresh)),
                "seed {seed} scan {scan}"
            );
            let changes = random.below(5);
            state = state.changed(&mut random, changes);
        }
    }
}

/// An entry that is not a directory.
#[derive(Clone)]
struct Leaf {
    meta: Meta,
    target: Vec<u8>,
    value: Option<Vec<u8>>,
    is_unreadable: bool,
}

/// A directory's own time, and its entries by name.
type Content = (i64, BTreeMap<Vec<u8>, Leaf>);

/// Directories by path.
#[derive(Clone)]
struct Tree {
    dirs: BTreeMap<Vec<u8>, Content>,
    /// Directories with more entries than this come in fragments of this size.
    fragment: usize,
}

fn leaf(random: &mut Random) -> Leaf {
    let stamp = |random: &mut Random| Timestamp {
        secs: match random.below(20) {
            0 => i64::MIN,
            1 => i64::MAX,
            _ => random.below(1 << 31) as i64,
        },
        nanos: random.below(1_000_000_000) as u32,
    };
    let is_link = random.below(5) == 0;
    Leaf {
        meta: Meta {
            ino: random.below(1 << 40),
            mode: if is_link {
                0o120_777
            } else {
                0o100_644 - 4 * random.below(2) as u32
            },
            nlink: 1 + random.below(2) as u32,
            uid: Uid([0, 7, u32::MAX][random.below(3) as usize]),
            size: random.below(1 << 50),
            blocks: random.below(100),
            atime: stamp(random),
            mtime: stamp(random),
            ctime: stamp(random),
            btime: (random.below(2) == 0).then(|| stamp(random)),
            project: (random.below(9) == 0).then_some(0),
            attributes: random.below(3),
            ..Meta::default()
        },
        target: if is_link {
            b"to\xff".to_vec()
        } else {
            Vec::new()
        },
        value: (random.below(6) == 0).then(|| vec![random.below(256) as u8; 3]),
        is_unreadable: random.below(12) == 0,
    }
}

impl Tree {
    fn random(random: &mut Random, dirs: u64) -> Tree {
        let mut tree = Tree {
            dirs: BTreeMap::from([(ROOT.to_vec(), (0, BTreeMap::new()))]),
            fragment: 3 + random.below(20) as usize,
        };
        (0..dirs).for_each(|_| tree.grow(random));
        tree
    }

    fn some_dir(&self, random: &mut Random) -> Vec<u8> {
        let at = random.below(self.dirs.len() as u64) as usize;
        self.dirs.keys().nth(at).unwrap().clone()
    }

    fn grow(&mut self, random: &mut Random) {
        let names: [&[u8]; 4] = [b"d", b"d-e", b"\xff", b"long name"];
        let at = self.some_dir(random);
        let at = path::join(&at, names[random.below(4) as usize]);
        let leaves = (0..random.below(12)).map(|n| (format!("f{n}").into_bytes(), leaf(random)));
        let leaves = leaves.collect();
        self.dirs.entry(at).or_insert((1, leaves));
    }

    fn change(&mut self, random: &mut Random) {
        let at = self.some_dir(random);
        let (time, leaves) = self.dirs.get_mut(&at).unwrap();
        match random.below(6) {
            0 => *time += 1,
            1 => drop(leaves.insert(b"a new one".to_vec(), leaf(random))),
            2 => drop(leaves.pop_first()),
            3 => leaves
                .values_mut()
                .take(1)
                .for_each(|leaf| leaf.meta.atime.nanos ^= 1),
            4 => leaves
                .values_mut()
                .for_each(|leaf| leaf.value = leaf.value.take().map(|_| vec![1])),
            _ if at != ROOT && random.below(3) == 0 => {
                self.dirs.retain(|other, _| !path::is_within(other, &at));
            }
            _ => self.grow(random),
        }
    }

    fn feed(&self, writer: &mut SnapshotWriter) {
        let mut heap = DirBatch::default();
        let meta = Meta {
            mode: 0o040_755,
            ..Meta::default()
        };
        let name = heap.push_bytes(b"srv");
        let entry = Entry {
            meta,
            name,
            ..Entry::default()
        };
        let root = SourceRoot {
            path: ROOT.to_vec(),
            entry,
            heap: heap.heap,
            ..SourceRoot::default()
        };
        writer.root(root).unwrap();
        self.deliver(ROOT, None, &mut 0, writer);
    }

    fn deliver(
        &self,
        dir: &[u8],
        parent: Option<DirId>,
        next: &mut u64,
        writer: &mut SnapshotWriter,
    ) {
        let id = DirId(*next);
        *next += 1;
        let (time, leaves) = &self.dirs[dir];
        let own = Meta {
            mode: 0o040_755,
            mtime: Timestamp {
                secs: *time,
                nanos: 1,
            },
            ..Meta::default()
        };
        let held = self
            .dirs
            .keys()
            .filter_map(|at| Some((at, path::split(at)?)));
        let below = held.filter(|(at, (above, _))| above == &dir && at != &ROOT);
        let below: Vec<&[u8]> = below.map(|(_, (_, name))| name).collect();
        let mut names: BTreeSet<&[u8]> = leaves.keys().map(|name| &name[..]).collect();
        names.extend(&below);
        let names: Vec<&[u8]> = names.into_iter().collect();
        // The names are distributed over the fragments in turn.
        let count = names.len().div_ceil(self.fragment).max(1);
        for fragment in 0..count {
            let mut batch = DirBatch {
                dir: id,
                parent,
                path: dir.to_vec(),
                access: DirAccess {
                    mode: 0o755,
                    gid: Gid(0),
                    ..DirAccess::default()
                },
                own,
                fragment: fragment as u32,
                ..DirBatch::default()
            };
            for name in names.iter().skip(fragment).step_by(count) {
                push(&mut batch, name, leaves.get(*name));
            }
            writer.batch(batch).unwrap();
        }
        for name in below {
            self.deliver(&path::join(dir, name), Some(id), next, writer);
        }
        if *time % 3 == 1 {
            let issue = Issue {
                path: dir.to_vec(),
                op: Op::ReadDir,
                errno: Errno(5),
                detail: "late".into(),
            };
            writer.issue(parent, issue).unwrap();
        }
        writer.subtree_done(id).unwrap();
    }
}

fn push(batch: &mut DirBatch, name: &[u8], leaf: Option<&Leaf>) {
    let mut entry = Entry {
        meta: Meta {
            mode: 0o040_755,
            ..Meta::default()
        },
        name: batch.push_bytes(name),
        ..Entry::default()
    };
    if let Some(leaf) = leaf {
        entry.meta = leaf.meta;
        entry.link_target = batch.push_bytes(&leaf.target);
        if let Some(value) = &leaf.value {
            let names: [&[u8]; 2] = [b"user.u", b"trusted.t"];
            entry.xattr_names = batch.push_bytes(b"user.u\0trusted.t\0");
            for attr in names {
                let (name, value) = (batch.push_bytes(attr), batch.push_bytes(value));
                let entry = batch.entries.len() as u32;
                batch.xattrs.push(Xattr { entry, name, value });
            }
        }
        if leaf.is_unreadable {
            batch.issues.push(Issue {
                path: path::join(&batch.path, name),
                op: Op::ReadLink,
                errno: Errno(13),
                detail: String::new(),
            });
        }
    }
    batch.entries.push(entry);
}

fn index_tree(
    index: &Path,
    tree: &Tree,
    at: i64,
    writing: Writing,
    memory_bytes: usize,
) -> Committed {
    let index = trawl_writer::create_index(index, Some(trawl_format::Readers::Owner)).unwrap();
    let options = WriterOptions {
        memory_bytes,
        started: Timestamp { secs: at, nanos: 0 },
        version: "test".to_owned(),
        options: BTreeMap::new(),
    };
    let writer = SnapshotWriter::begin(&index, ROOT, options).unwrap();
    let mut writer = writer.with_writing(writing);
    tree.feed(&mut writer);
    let prepared = writer.prepare(Timestamp { secs: at, nanos: 1 }).unwrap();
    prepared.commit().unwrap()
}

fn sharing() -> Writing {
    Writing::Sharing
}

#[test]
fn what_is_shared_is_row_for_row_what_would_have_been_written() {
    let (mut shared_bytes, mut all_bytes) = (0, 0);
    for seed in 0..12 {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("index");
        let mut random = Random(seed);
        let mut tree = Tree::random(&mut random, 40);
        let mut kept = Vec::new();
        for scan in 0..6 {
            // Includes budgets that a single directory exceeds.
            let memory = [1 << 20, 20_000, 2_000][random.below(3) as usize];
            let done = index_tree(&at, &tree, 100 + scan, sharing(), memory);
            shared_bytes += done.size_bytes - done.new_bytes;
            all_bytes += done.size_bytes;
            let alone = dir.path().join(format!("alone-{scan}"));
            let fresh = index_tree(&alone, &tree, 100 + scan, Writing::Alone, 1 << 20);
            assert_eq!(done.totals, fresh.totals, "seed {seed} scan {scan}");
            let whole = dump(&open(&alone, fresh.id));
            kept.push((done.id, whole));
            // Older snapshots stay unchanged.
            for (id, whole) in &kept {
                assert_same(
                    &dump(&open(&at, *id)),
                    whole,
                    &format!("seed {seed} scan {scan}"),
                );
            }
            let index = IndexDir::open(&at).unwrap();
            assert_eq!(verify(&index, Scope::All).unwrap().findings, []);
            if random.below(3) == 0 {
                let source = index.source(ROOT).unwrap().unwrap();
                let newest = 1 + random.below(2) as usize;
                gc::collect(
                    &source,
                    Retention {
                        newest,
                        since: None,
                    },
                )
                .unwrap();
                kept.drain(..kept.len().saturating_sub(newest));
                assert_eq!(verify(&index, Scope::All).unwrap().findings, []);
            }
            (0..random.below(4)).for_each(|_| tree.change(&mut random));
        }
    }
    assert!(
        shared_bytes * 3 > all_bytes,
        "{shared_bytes} of {all_bytes}"
    );
}

fn disk_bytes(dir: &Path) -> u64 {
    let mut command = trawl_testkit::oracle::command("du");
    command.args(["-s", "-B1", "--apparent-size"]).arg(dir);
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn what_did_not_change_takes_no_room() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("index");
    let mut random = Random(5);
    let mut tree = Tree::random(&mut random, 900);
    let first = index_tree(&at, &tree, 100, sharing(), 1 << 20);
    assert_eq!(first.size_bytes, first.new_bytes);
    let before = disk_bytes(&at);
    let second = index_tree(&at, &tree, 101, sharing(), 1 << 20);
    assert_eq!(second.new_bytes, 0);
    assert_eq!((second.totals, second.shards), (first.totals, first.shards));
    let added = disk_bytes(&at) - before;
    assert!(added * 100 < before, "{added} bytes added to {before}");
    // One directory fewer: only its segment is written again.
    let gone = tree.dirs.keys().next_back().unwrap().clone();
    tree.dirs.remove(&gone);
    let third = index_tree(&at, &tree, 102, sharing(), 1 << 20);
    assert!(third.new_bytes > 0 && third.new_bytes * 2 < third.size_bytes);
    // With --full, everything is written again.
    let fourth = index_tree(&at, &tree, 103, Writing::Anew, 1 << 20);
    assert_eq!(fourth.new_bytes, fourth.size_bytes);
}

#[test]
fn a_damaged_segment_is_written_again() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("index");
    let tree = Tree::random(&mut Random(9), 50);
    let first = index_tree(&at, &tree, 100, sharing(), 1 << 20);
    let whole = dump(&open(&at, first.id));
    let snapshot = open(&at, first.id);
    let (segment, table, _) = snapshot.shards[0].files().next().unwrap();
    let file = snapshot.shards[0].file_path(segment.id, table);
    drop(snapshot);
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let second = index_tree(&at, &tree, 101, sharing(), 1 << 20);
    assert!(second.new_bytes > 0);
    assert_eq!(dump(&open(&at, second.id)), whole);
}

#[test]
fn without_items_everything_is_written_again() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("index");
    let tree = Tree::random(&mut Random(9), 50);
    let first = index_tree(&at, &tree, 100, sharing(), 1 << 20);
    let find = trawl_testkit::oracle::command("find")
        .arg(&at)
        .args(["-name", "*.items"])
        .output();
    let found = String::from_utf8(find.unwrap().stdout).unwrap();
    let file = found.trim_end();
    let whole = std::fs::read(file).unwrap();
    for bytes in [
        &whole[..whole.len() - 1],
        &whole[..7],
        &[whole.clone(), vec![0]].concat(),
    ] {
        std::fs::write(file, bytes).unwrap();
        let index = IndexDir::open(&at).unwrap();
        assert!(verify(&index, Scope::All).unwrap().has_damage());
        let copy = dir.path().join("copy");
        let copied = trawl_testkit::oracle::command("cp")
            .arg("-a")
            .args([&at, &copy])
            .status();
        assert!(copied.unwrap().success());
        let second = index_tree(&copy, &tree, 101, sharing(), 1 << 20);
        assert_eq!(second.new_bytes, second.size_bytes);
        assert_eq!(dump(&open(&copy, second.id)), dump(&open(&at, first.id)));
        std::fs::remove_dir_all(&copy).unwrap();
    }
}

const INDEX: &str = "TRAWL_TEST_INDEX";
const TASK: &str = "TRAWL_TEST_TASK";

/// Returns a tree, and the same tree with a few changes.
fn crash_trees() -> (Tree, Tree) {
    let then = Tree::random(&mut Random(3), 60);
    let mut now = then.clone();
    let gone = now.dirs.keys().next_back().unwrap().clone();
    now.dirs.remove(&gone);
    (then, now)
}

/// Runs the child's task; does nothing in an ordinary run.
#[test]
fn child() {
    let (Some(index), Ok(task)) = (std::env::var_os(INDEX), std::env::var(TASK)) else {
        return;
    };
    let index = Path::new(&index);
    match task.as_str() {
        "rescan" => drop(index_tree(index, &crash_trees().1, 103, sharing(), 6_000)),
        "collect" => {
            let index = IndexDir::open(index).unwrap();
            let source = index.source(ROOT).unwrap().unwrap();
            gc::collect(&source, Retention::default()).unwrap();
        }
        _ => panic!("no task {task}"),
    }
}

/// Runs a task with a crash at each point, on copies of an index with three snapshots that share
/// segments; the last one is of a slightly changed tree. Every remaining snapshot must be whole,
/// and the next scan and gc must clean up. Returns the number of points, and how often each number
/// of snapshots remained.
fn crash_everywhere(task: &str) -> (u32, BTreeMap<usize, u32>) {
    let dir = tempfile::tempdir().unwrap();
    let (base, copy) = (dir.path().join("base"), dir.path().join("copy"));
    let (then, now) = crash_trees();
    let mut whole = BTreeMap::new();
    for (at, tree) in [(100, &now), (101, &then), (102, &then)] {
        let done = index_tree(&base, tree, at, sharing(), 6_000);
        whole.insert(done.id, dump(&open(&base, done.id)));
    }
    let now_dump = whole.values().next().unwrap().clone();
    let mut left = BTreeMap::new();
    let prepare = |_| {
        let _ = std::fs::remove_dir_all(&copy);
        let copied = trawl_testkit::oracle::command("cp")
            .arg("-a")
            .args([&base, &copy])
            .status();
        assert!(copied.unwrap().success());
        let mut child = trawl_testkit::oracle::command(std::env::current_exe().unwrap());
        child
            .args(["--exact", "sharing::child"])
            .env(INDEX, &copy)
            .env(TASK, task);
        child
    };
    let crashes = at_each_point(prepare, |point, _| {
        let index = IndexDir::open(&copy).unwrap();
        let found = verify(&index, Scope::All).unwrap();
        assert!(!found.has_damage(), "point {point}: {:?}", found.findings);
        let source = index.source(ROOT).unwrap().unwrap();
        let infos = source.snapshots().unwrap();
        *left.entry(infos.len()).or_default() += 1;
        for info in &infos {
            let expected = whole.get(&info.id).unwrap_or(&now_dump);
            assert_same(
                &dump(&open(&copy, info.id)),
                expected,
                &format!("point {point}"),
            );
        }
        let next = index_tree(&copy, &now, 104, sharing(), 6_000);
        assert!(next.new_bytes < next.size_bytes, "point {point}");
        assert_same(
            &dump(&open(&copy, next.id)),
            &now_dump,
            &format!("point {point}"),
        );
        gc::collect(&source, Retention::default()).unwrap();
        assert_eq!(
            verify(&index, Scope::All).unwrap().findings,
            [],
            "point {point}"
        );
        assert_same(
            &dump(&open(&copy, next.id)),
            &now_dump,
            &format!("point {point}"),
        );
    });
    (crashes.points, left)
}

#[test]
fn a_crash_while_sharing_leaves_whole_snapshots() {
    let name = "a_crash_while_sharing_leaves_whole_snapshots";
    if !cfg!(debug_assertions) {
        return Skip::new(name, "crash points are in debug builds only").say();
    }
    let (points, left) = crash_everywhere("rescan");
    assert!(
        points > 15 && left[&3] > 10 && left[&4] > 0,
        "{points} {left:?}"
    );
}

#[test]
fn a_crash_while_collecting_leaves_what_is_shared() {
    let name = "a_crash_while_collecting_leaves_what_is_shared";
    if !cfg!(debug_assertions) {
        return Skip::new(name, "crash points are in debug builds only").say();
    }
    let (points, left) = crash_everywhere("collect");
    assert!(points > 5 && left[&1] > 0, "{points} {left:?}");
}
