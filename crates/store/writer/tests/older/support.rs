//! Trees whose permissions change, written as snapshots, and the rows that users see of them: by
//! the guards of the shards, and by checking each mode.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use trawl_format::{ListingKind, Snapshot, SnapshotId};
use trawl_model::guard::Credentials;
use trawl_model::sink::SourceRoot;
use trawl_model::{
    DirAccess, DirBatch, DirId, Entry, Errno, Gid, Issue, Meta, Op, Sink, Timestamp, Uid, Xattr,
    path,
};
use trawl_query::View;
use trawl_writer::Tightened;
use trawl_writer::gc::Retention;
use trawl_writer::{SnapshotWriter, WriterOptions, Writing};

pub const ROOT: &[u8] = b"/srv";

/// An object at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub is_dir: bool,
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub has_value: bool,
}

/// A tree at one time, and the permissions of the directory above it.
#[derive(Clone, Debug)]
pub struct State {
    /// Keys are in path order only among siblings: see [`children`].
    pub nodes: BTreeMap<Vec<u8>, Node>,
    pub above: u32,
}

/// A small random number generator.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound.max(1)
    }
}

const DIR_MODES: &[u32] = &[
    0o755, 0o755, 0o755, 0o750, 0o700, 0o711, 0o751, 0o701, 0o770, 0o744, 0o077, 0o733,
];
const FILE_MODES: &[u32] = &[0o644, 0o644, 0o640, 0o600, 0o604, 0o040];

fn node(random: &mut Random, is_dir: bool) -> Node {
    let modes = if is_dir { DIR_MODES } else { FILE_MODES };
    Node {
        is_dir,
        mode: modes[random.below(modes.len() as u64) as usize],
        uid: [0, 1, 2, 3][random.below(4) as usize],
        gid: [0, 1, 2, 3][random.below(4) as usize],
        has_value: random.below(2) == 0,
    }
}

impl State {
    pub fn random(random: &mut Random, entries: usize) -> State {
        let root = Node {
            is_dir: true,
            mode: 0o755,
            uid: 0,
            gid: 0,
            has_value: false,
        };
        let mut state = State {
            nodes: BTreeMap::from([(ROOT.to_vec(), root)]),
            above: 0o755,
        };
        (0..entries).for_each(|_| state.grow(random));
        state
    }

    fn grow(&mut self, random: &mut Random) {
        let dirs: Vec<_> = self.nodes.iter().filter(|(_, n)| n.is_dir).collect();
        let dir = dirs[random.below(dirs.len() as u64) as usize].0;
        let name = [
            &b"a"[..],
            b"b",
            b"a-b",
            b"\xff",
            b"new\nline",
            b"home",
            b"z",
            b"f1",
        ];
        let at = path::join(dir, name[random.below(name.len() as u64) as usize]);
        let is_dir = random.below(2) == 0;
        let node = node(random, is_dir);
        self.nodes.entry(at).or_insert(node);
    }

    /// Returns the same tree some time later.
    pub fn changed(&self, random: &mut Random, changes: u64) -> State {
        let mut state = self.clone();
        for _ in 0..changes {
            let keys: Vec<Vec<u8>> = state.nodes.keys().cloned().collect();
            let key = &keys[random.below(keys.len() as u64) as usize];
            match random.below(8) {
                0 if key != ROOT => state.nodes.retain(|at, _| !path::is_within(at, key)),
                1 | 2 => state.grow(random),
                3 if random.below(4) == 0 => {
                    state.above = [0o755, 0o711, 0o750][random.below(3) as usize]
                }
                _ => {
                    let old = &state.nodes[key];
                    let mut new = node(random, old.is_dir);
                    new.has_value |= old.has_value && random.below(4) > 0;
                    state.nodes.insert(key.clone(), new);
                }
            }
        }
        state
    }

    fn children(&self, dir: &[u8]) -> Vec<(&[u8], &Node)> {
        let mut found: Vec<_> = self
            .nodes
            .iter()
            .filter_map(|(at, node)| match path::split(at) {
                Some((parent, name)) if parent == dir && at != ROOT => Some((name, node)),
                _ => None,
            })
            .collect();
        found.sort_by_key(|(name, _)| *name);
        found
    }

    /// True if the kernel would grant `bit` on `node`.
    fn allows(node: &Node, who: &Credentials, bit: u32) -> bool {
        let shift = match () {
            () if who.uid.0 == 0 => return true,
            () if who.uid.0 == node.uid => 6,
            () if who.groups.contains(&Gid(node.gid)) => 3,
            () => 0,
        };
        node.mode >> shift & bit != 0
    }

    fn passes_above(&self, who: &Credentials, names: Names) -> bool {
        let above = Node {
            is_dir: true,
            mode: self.above,
            uid: 0,
            gid: 0,
            has_value: false,
        };
        let lists = names == Names::Known || State::allows(&above, who, 4);
        State::allows(&above, who, 1) && lists
    }

    /// True if `who` may list `dir`. For a directory that no longer exists, its nearest remaining
    /// ancestor decides.
    pub fn may_list(&self, dir: &[u8], who: &Credentials, names: Names) -> bool {
        let mut dir = dir;
        while !self.nodes.get(dir).is_some_and(|node| node.is_dir) {
            match path::split(dir) {
                Some((above, _)) if dir != ROOT => dir = above,
                _ => return who.uid.0 == 0,
            }
        }
        State::allows(&self.nodes[dir], who, 4) && self.may_pass(dir, who, names)
    }

    /// True if `who` may reach the entries of `dir`, by known names or by listing all directories
    /// above it.
    pub fn may_pass(&self, dir: &[u8], who: &Credentials, names: Names) -> bool {
        let bits = |at: &[u8]| at != dir && names == Names::Unknown;
        let on_the_way = self.nodes.iter().filter(|(at, _)| path::is_within(dir, at));
        let passes = |(at, node): (&Vec<u8>, &Node)| {
            State::allows(node, who, 1) && (!bits(at) || State::allows(node, who, 4))
        };
        self.passes_above(who, names) && on_the_way.into_iter().all(passes)
    }

    /// Passes the tree to a writer.
    pub fn feed(&self, writer: &mut SnapshotWriter) {
        let mut heap = DirBatch::default();
        let entry = Entry {
            meta: meta(&self.nodes[ROOT], ROOT),
            name: heap.push_bytes(b"srv"),
            ..Entry::default()
        };
        let above = DirAccess {
            mode: self.above,
            ..DirAccess::default()
        };
        writer
            .root(SourceRoot {
                path: ROOT.to_vec(),
                above: vec![above],
                entry,
                xattrs: Vec::new(),
                heap: heap.heap,
                ..SourceRoot::default()
            })
            .unwrap();
        self.deliver(ROOT, None, &mut 0, writer);
    }

    fn deliver(
        &self,
        dir: &[u8],
        parent: Option<DirId>,
        next: &mut u64,
        writer: &mut SnapshotWriter,
    ) {
        let node = &self.nodes[dir];
        let id = DirId(*next);
        *next += 1;
        let mut batch = DirBatch {
            dir: id,
            parent,
            path: dir.to_vec(),
            access: DirAccess {
                mode: node.mode,
                uid: Uid(node.uid),
                gid: Gid(node.gid),
                acl: None,
            },
            own: meta(node, dir),
            ..DirBatch::default()
        };
        let children = self.children(dir);
        for (nth, (name, node)) in children.iter().enumerate() {
            let (span, xattr_names) = (
                batch.push_bytes(name),
                batch.push_bytes(if node.has_value { b"user.k\0" } else { b"" }),
            );
            batch.entries.push(Entry {
                meta: meta(node, &path::join(dir, name)),
                name: span,
                xattr_names,
                ..Entry::default()
            });
            if node.has_value {
                let (name, value) = (batch.push_bytes(b"user.k"), batch.push_bytes(name));
                batch.xattrs.push(Xattr {
                    entry: nth as u32,
                    name,
                    value,
                });
            }
        }
        if dir.len().is_multiple_of(3) {
            batch.issues.push(Issue {
                path: path::join(dir, b"unread"),
                op: Op::Stat,
                errno: Errno(5),
                detail: String::new(),
            });
        }
        writer.batch(batch).unwrap();
        for (name, _) in children.iter().filter(|(_, node)| node.is_dir) {
            self.deliver(&path::join(dir, name), Some(id), next, writer);
        }
        writer.subtree_done(id).unwrap();
    }
}

/// Returns an inode number, which differs for each path as on a file system.
fn number_of(path: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    path.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

fn meta(node: &Node, path: &[u8]) -> Meta {
    let kind = if node.is_dir { 0o040_000 } else { 0o100_000 };
    Meta {
        ino: number_of(path),
        mode: kind | node.mode,
        uid: Uid(node.uid),
        gid: Gid(node.gid),
        nlink: if node.is_dir { 2 } else { 1 + node.mode % 3 },
        size: u64::from(node.mode),
        btime: Some(Timestamp { secs: 5, nanos: 6 }),
        ..Meta::default()
    }
}

/// Names that a user knows without listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    Known,
    Unknown,
}

/// Returns some users, the superuser first.
pub fn users() -> Vec<Credentials> {
    let user = |uid, groups: &[u32]| Credentials {
        uid: Uid(uid),
        groups: groups.iter().copied().map(Gid).collect(),
    };
    vec![
        user(0, &[0]),
        user(1, &[1]),
        user(2, &[2, 1]),
        user(3, &[3, 2]),
        user(4, &[0]),
        user(5, &[5]),
    ]
}

/// Writes a snapshot and makes the older ones as strict.
pub fn write(index: &Path, state: &State, at: i64) -> (SnapshotId, Tightened) {
    let all = Retention {
        newest: usize::MAX,
        since: None,
    };
    write_keeping(index, state, at, all)
}

/// Like [`write`], but removes the older snapshots that are not kept.
pub fn write_keeping(
    index: &Path,
    state: &State,
    at: i64,
    retention: Retention,
) -> (SnapshotId, Tightened) {
    let index = trawl_writer::create_index(index, None).unwrap();
    let options = WriterOptions {
        // A small budget makes directories span several segments, too.
        memory_bytes: if at % 2 == 0 { 1 << 20 } else { 2 << 10 },
        started: Timestamp { secs: at, nanos: 0 },
        version: "test".to_owned(),
        options: BTreeMap::new(),
    };
    let sharing = Writing::Sharing;
    let writer = SnapshotWriter::begin(&index, ROOT, options).unwrap();
    let mut writer = writer.with_writing(sharing);
    state.feed(&mut writer);
    let prepared = writer.prepare(Timestamp { secs: at, nanos: 1 }).unwrap();
    prepared.collect(retention).unwrap();
    let done = prepared.commit().unwrap();
    (done.id, done.tightened)
}

/// Returns the full content of a snapshot: each row, value and issue with its guard, the
/// directories, and the sums over the shards.
pub fn dump(snapshot: &Snapshot) -> Vec<String> {
    let mut lines = BTreeMap::new();
    let view = View::new(snapshot.clone(), Arc::new(Credentials::default()));
    let mut add = |line: String| *lines.entry(line).or_insert(0) += 1;
    for shard in view.shards() {
        let guard = shard.manifest.guard().unwrap();
        add(format!("{guard:?}: {:?}", shard.manifest.totals));
    }
    let mut dirs = BTreeSet::new();
    for segment in 0..view.stored_segments() {
        let (_, shard, info) = view.stored_segment(segment).unwrap();
        let guard = shard.manifest.guard().unwrap();
        view.stored_listings::<trawl_query::QueryError>(segment, 0..info.dirs, |stored, batch| {
            let dir = String::from_utf8_lossy(&batch.path).into_owned();
            let at = format!("{guard:?} {:?} {dir}", stored.kind);
            dirs.insert(format!("{at}: {:?}", batch.own));
            for entry in &batch.entries {
                let spans = [
                    entry.name,
                    entry.link_target,
                    entry.xattr_names,
                    entry.acl,
                    entry.acl_default,
                ];
                let texts = spans.map(|span| String::from_utf8_lossy(batch.bytes(span)));
                let mut meta = entry.meta;
                if meta.file_type() == trawl_model::FileType::Symlink {
                    // Reading a symbolic link sets its access time.
                    meta.atime = Timestamp::default();
                }
                add(format!("{at} {texts:?} {meta:?}"));
            }
            Ok(())
        })
        .unwrap();
        view.stored_values::<trawl_query::QueryError>(segment, |_, value| {
            let texts = value.map(String::from_utf8_lossy);
            add(format!("{guard:?} value {texts:?}"));
            Ok(())
        })
        .unwrap();
        let issues = info.files.get(&trawl_format::Table::Issues);
        for issue in view
            .stored_issues(segment, 0..issues.map_or(0, |file| file.rows))
            .unwrap()
        {
            add(format!("{guard:?} {issue:?}"));
        }
    }
    let rows = lines
        .into_iter()
        .map(|(line, count)| format!("{count} {line}"));
    dirs.into_iter().chain(rows).collect()
}

/// One item that can be read from a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Seen {
    /// A row of a directory's listing: the directory, the name, the mode.
    Row(Vec<u8>, Vec<u8>, u32),
    /// A directory that was listed.
    Listed(Vec<u8>),
    /// An own row: directory and name.
    Own(Vec<u8>, Vec<u8>),
    /// An attribute's value: directory and name of the entry.
    Value(Vec<u8>, Vec<u8>),
    Issue(Vec<u8>),
}

/// Returns the content of the shards that admit a user.
pub fn seen(snapshot: &Snapshot, who: &Credentials, names: Names) -> BTreeSet<Seen> {
    let mut snapshot = snapshot.clone();
    let above = snapshot.above().unwrap().clone();
    let knows = |_: &[u8]| names == Names::Known;
    snapshot
        .shards
        .retain(|shard| shard.manifest.guard().unwrap().admits(who, knows));
    if !above.admits(who, knows) {
        snapshot.shards.clear();
    }
    let view = View::new(snapshot, Arc::new(who.clone()));
    let mut found = BTreeSet::new();
    for segment in 0..view.stored_segments() {
        let (_, _, info) = view.stored_segment(segment).unwrap();
        view.stored_listings::<trawl_query::QueryError>(segment, 0..info.dirs, |stored, batch| {
            if stored.kind == ListingKind::Listed {
                found.insert(Seen::Listed(batch.path.clone()));
            }
            for entry in &batch.entries {
                let name = batch.bytes(entry.name).to_vec();
                found.insert(match stored.kind {
                    ListingKind::Listed => Seen::Row(batch.path.clone(), name, entry.meta.mode),
                    _ => Seen::Own(batch.path.clone(), name),
                });
            }
            Ok(())
        })
        .unwrap();
        view.stored_values::<trawl_query::QueryError>(segment, |_, [dir, name, attr, _]| {
            assert_eq!(attr, b"user.k");
            found.insert(Seen::Value(dir.to_vec(), name.to_vec()));
            Ok(())
        })
        .unwrap();
        let issues = info.files.get(&trawl_format::Table::Issues);
        let rows = 0..issues.map_or(0, |file| file.rows);
        for issue in view.stored_issues(segment, rows).unwrap() {
            found.insert(Seen::Issue(issue.path));
        }
    }
    found
}

/// True if the permissions of `state` let a user see this; for what no longer exists, the
/// documented rules decide.
pub fn may_see(state: &State, seen: &Seen, who: &Credentials, names: Names) -> bool {
    let parent = |at: &[u8]| path::split(at).map_or(Vec::new(), |(dir, _)| dir.to_vec());
    match seen {
        Seen::Row(dir, _, _) | Seen::Listed(dir) => state.may_list(dir, who, names),
        Seen::Issue(at) => state.may_list(&parent(at), who, names),
        Seen::Own(dir, _) if path::is_within(ROOT, dir) && dir != ROOT => {
            state.passes_above(who, names)
        }
        Seen::Own(dir, _) if state.nodes.get(dir).is_some_and(|node| node.is_dir) => {
            state.may_pass(dir, who, names)
        }
        Seen::Own(dir, _) => state.may_list(dir, who, names),
        Seen::Value(dir, name) => {
            let node = state.nodes.get(&path::join(dir, name));
            let reads = match node {
                Some(node) => State::allows(node, who, 4),
                None => who.uid.0 == 0,
            };
            // Behind a barrier, values lie beside the own row, too.
            let reached = match names {
                Names::Known if node.is_some_and(|node| node.is_dir) => {
                    state.may_list(dir, who, names) || state.may_pass(dir, who, names)
                }
                _ => state.may_list(dir, who, names),
            };
            reads && reached
        }
    }
}
