//! Answers for a reader who sees only some shards. The shards that the kernel
//! would let the reader open are chosen here by their guards. The resulting
//! rows and directories are compared with a walk of the generated tree that
//! checks each directory's mode as the kernel would.

#![forbid(unsafe_code)]

mod support;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use support::older::make_older;
use tempfile::TempDir;
use trawl_format::restricted::BYTES_MOST;
use trawl_format::schema::{DirColumn, Table};
use trawl_format::{GuardStep, IndexDir, Shard};
use trawl_model::guard::Credentials;
use trawl_model::sink::SourceRoot;
use trawl_model::{DirAccess, DirBatch, DirId, Entry, Gid, Meta, Op, Sink, Timestamp, Uid, path};
use trawl_query::{
    DeniedRequest, Detail, Index, Listing, Located, Request, SeenLinks, Start, Usage, UsageOf,
    UsageRequest, View,
};
use trawl_writer::{SnapshotWriter, WriterOptions};

/// A directory of the generated tree: path, mode, owner, group, and its files.
type Dir<'a> = (&'a str, u32, u32, u32, &'static [&'static str]);

/// In path order, parents first.
const TREE: &[Dir<'static>] = &[
    ("/t", 0o755, 0, 0, &["f"]),
    ("/t/a", 0o755, 0, 0, &["f"]),
    ("/t/closed", 0o700, 0, 0, &["secret"]),
    ("/t/closed/open", 0o755, 0, 0, &["secret"]),
    ("/t/group", 0o750, 0, 7, &["f"]),
    ("/t/mine", 0o700, 5, 5, &["f"]),
    ("/t/mine/not", 0o077, 5, 5, &["f"]),
    ("/t/pass", 0o751, 0, 7, &["f"]),
    ("/t/pass/in", 0o755, 0, 7, &["f"]),
    ("/t/read", 0o744, 0, 0, &["f"]),
];

fn write(index: &Path, tree: &[Dir<'_>]) {
    let index = make(index);
    let options = WriterOptions {
        memory_bytes: 1 << 20,
        started: Timestamp { secs: 9, nanos: 0 },
        version: "test".to_owned(),
        options: BTreeMap::new(),
    };
    let mut writer = SnapshotWriter::begin(&index, b"/t", options).unwrap();
    let mut heap = DirBatch::default();
    let entry = Entry {
        meta: meta(&tree[0]),
        name: heap.push_bytes(b"t"),
        ..Entry::default()
    };
    writer
        .root(SourceRoot {
            path: b"/t".to_vec(),
            above: vec![DirAccess {
                mode: 0o755,
                ..DirAccess::default()
            }],
            entry,
            heap: heap.heap,
            ..SourceRoot::default()
        })
        .unwrap();
    deliver(tree, 0, None, &mut writer);
    writer.commit(Timestamp { secs: 10, nanos: 0 }).unwrap();
}

fn make(index: &Path) -> IndexDir {
    trawl_writer::create_index(index, None).unwrap()
}

fn meta((_, mode, uid, gid, _): &Dir<'_>) -> Meta {
    Meta {
        mode: 0o040_000 | mode,
        uid: Uid(*uid),
        gid: Gid(*gid),
        size: 4096,
        ..Meta::default()
    }
}

fn children(tree: &[Dir<'_>], at: usize) -> impl Iterator<Item = usize> {
    let dir = tree[at].0;
    let is_child = move |child: &usize| {
        let name = tree[*child].0.strip_prefix(dir);
        name.is_some_and(|name| name.starts_with('/') && !name[1..].contains('/'))
    };
    (at + 1..tree.len()).filter(is_child)
}

fn deliver(tree: &[Dir<'_>], at: usize, parent: Option<DirId>, writer: &mut SnapshotWriter) {
    let (dir_path, mode, uid, gid, files) = tree[at];
    let mut batch = DirBatch {
        dir: DirId(at as u64),
        parent,
        path: dir_path.into(),
        access: DirAccess {
            mode,
            uid: Uid(uid),
            gid: Gid(gid),
            acl: None,
        },
        own: meta(&tree[at]),
        ..DirBatch::default()
    };
    let file = Meta {
        mode: 0o100_644,
        size: 10,
        ..Meta::default()
    };
    let mut rows: Vec<(&[u8], Meta)> = files.iter().map(|f| (f.as_bytes(), file)).collect();
    for child in children(tree, at) {
        let name = path::split(tree[child].0.as_bytes()).unwrap().1;
        rows.push((name, meta(&tree[child])));
    }
    rows.sort_by_key(|(name, _)| *name);
    for (name, meta) in rows {
        let name = batch.push_bytes(name);
        batch.entries.push(Entry {
            meta,
            name,
            ..Entry::default()
        });
    }
    let id = batch.dir;
    writer.batch(batch).unwrap();
    children(tree, at).for_each(|child| deliver(tree, child, Some(id), writer));
    writer.subtree_done(id).unwrap();
}

/// True if a predicate's text admits `who`.
fn admits(text: &str, who: &Credentials) -> bool {
    let mut group = None;
    for word in text.split(' ') {
        let (subject, passes) = (&word[..word.len() - 1], word.ends_with('+'));
        let (kind, id) = subject.split_at(1);
        let id = id.parse::<u32>().unwrap_or(u32::MAX);
        match kind {
            "u" if who.uid == Uid(id) => return passes,
            "g" if who.groups.contains(&Gid(id)) => group = Some(group == Some(true) || passes),
            "o" => return group.unwrap_or(passes),
            _ => {}
        }
    }
    false
}

fn may_open(shard: &Shard, who: &Credentials) -> bool {
    shard.manifest.guard.iter().all(|step| match step {
        GuardStep::Predicate { who: text } => admits(text, who),
        // Only those who may list it, since this test opens no shard by name.
        GuardStep::Barrier { list, .. } => admits(list, who),
    })
}

/// True if the tree's own modes grant `bit` to `who`.
fn has(who: &Credentials, (_, mode, uid, gid, _): &Dir<'_>, bit: u32) -> bool {
    let class = match () {
        () if who.uid == Uid(*uid) => mode >> 6,
        () if who.groups.contains(&Gid(*gid)) => mode >> 3,
        () => *mode,
    };
    class & bit == bit
}

struct Asked {
    index: Index,
    _folder: TempDir,
}

fn ask_as(who: &Credentials) -> Asked {
    ask(who, TREE, |_| ())
}

/// Writes an index of `tree`, changes it, and opens what `who` may see of it.
fn ask(who: &Credentials, tree: &[Dir<'_>], change: impl Fn(&Path)) -> Asked {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("index");
    write(&place, tree);
    change(&place);
    let source = IndexDir::open(&place).unwrap().sources().unwrap().remove(0);
    let mut snapshot = source.current().unwrap().unwrap();
    let before = snapshot.shards.len();
    snapshot.shards.retain(|shard| may_open(shard, who));
    assert!(snapshot.shards.len() < before, "something must be hidden");
    snapshot.is_partial = true;
    let index = Index::open(&place, who.clone()).unwrap();
    let view = View::new(snapshot, Arc::new(who.clone()));
    index.add_view(b"/t", Arc::new(view));
    Asked {
        index,
        _folder: folder,
    }
}

fn users() -> Vec<Credentials> {
    let user = |uid, groups: &[u32]| Credentials {
        uid: Uid(uid),
        groups: groups.iter().copied().map(Gid).collect(),
    };
    vec![
        user(5, &[5]),
        user(6, &[6]),
        user(6, &[6, 7]),
        user(8, &[0]),
    ]
}

fn start(index: &Index, at: &str) -> Start {
    match index.locate(at.as_bytes()).unwrap() {
        Located::Found(start) => *start,
        other => panic!("{at}: {other:?}"),
    }
}

/// Returns the directories that a walk by `who` visits, and those that it
/// cannot enter.
fn walked(who: &Credentials) -> (Vec<&'static str>, Vec<&'static str>) {
    let (mut met, mut denied, mut pending) = (Vec::new(), Vec::new(), vec![0]);
    while let Some(at) = pending.pop() {
        met.push(TREE[at].0);
        match has(who, &TREE[at], 5) {
            true => pending.extend(children(TREE, at)),
            false => denied.push(TREE[at].0),
        }
    }
    met.sort_unstable();
    denied.sort_unstable();
    (met, denied)
}

#[test]
fn a_walk_meets_what_modes_allow_and_the_rest_is_an_issue() {
    for who in users() {
        let asked = ask_as(&who);
        let (met, denied) = walked(&who);
        let top = start(&asked.index, "/t");
        let mut found = vec!["/t".to_owned()];
        let request = Request {
            columns: trawl_model::ColumnSet::all(),
            ..Request::default()
        };
        let work = |listing: &Listing<'_>, out: &mut Vec<String>| {
            let (batch, dir) = (listing.batch, listing.dir.path);
            let rows = listing.range.clone();
            let rows = rows.map(|at| trawl_model::rows::Row { batch, at, dir });
            let dirs = rows.filter(|row| row.mode() & 0o040_000 != 0);
            out.extend(dirs.map(|row| String::from_utf8(row.path()).unwrap()));
        };
        let collect = |more: Vec<String>| {
            found.extend(more);
            ControlFlow::Continue(())
        };
        asked.index.walk(&top, &request, work, collect).unwrap();
        found.sort_unstable();
        assert_eq!(found, met, "{who:?}");

        let issues = asked.index.issues(&top, None).unwrap();
        assert!(
            issues
                .iter()
                .all(|i| i.op == Op::OpenDir && i.errno.0 == 13)
        );
        let paths: Vec<&[u8]> = issues.iter().map(|issue| &issue.path[..]).collect();
        let expected: Vec<&[u8]> = denied.iter().map(|path| path.as_bytes()).collect();
        assert_eq!(paths, expected, "{who:?}");
        assert!(asked.index.recorded_issues(&top, None).unwrap().is_empty());
    }
}

/// Returns the directories from `/t` downwards that may not be listed.
fn denied(asked: &Asked, request: &DeniedRequest<'_>) -> Vec<String> {
    let mut denied = Vec::new();
    let visit = |path: &[u8]| {
        denied.push(String::from_utf8(path.to_vec()).unwrap());
        ControlFlow::Continue(())
    };
    let top = start(&asked.index, "/t");
    asked.index.denied(&top, request, visit).unwrap();
    denied.sort_unstable();
    denied
}

#[test]
fn an_index_that_names_no_restricted_directories_denies_the_same() {
    let columns = DirColumn::Restricted as usize;
    for who in users() {
        let asked = ask(&who, TREE, |index| make_older(index, Table::Dirs, columns));
        let (_, expected) = walked(&who);
        assert_eq!(
            denied(&asked, &DeniedRequest::default()),
            expected,
            "{who:?}"
        );
    }
}

#[test]
fn too_many_restricted_directories_to_name_are_denied_one_by_one() {
    let name = |at| format!("/t/many/{at:04}{}", "x".repeat(240));
    let names: Vec<String> = (0..BYTES_MOST / 250).map(name).collect();
    fn closed(path: &str) -> Dir<'_> {
        (path, 0o700, 0, 0, &[])
    }
    let mut tree: Vec<Dir<'_>> = vec![("/t", 0o755, 0, 0, &[]), ("/t/many", 0o755, 0, 0, &["f"])];
    tree.extend(names.iter().map(|name| closed(name)));
    tree.push(closed("/t/one"));
    let asked = ask(&users()[1], &tree, |_| ());
    let mut expected = names.clone();
    expected.push("/t/one".to_owned());
    assert_eq!(denied(&asked, &DeniedRequest::default()), expected);
}

#[test]
fn what_is_not_gone_into_is_no_issue() {
    let who = &users()[1];
    let asked = ask_as(who);
    let top = start(&asked.index, "/t");
    assert!(asked.index.issues(&top, Some(0)).unwrap().is_empty());
    assert!(asked.index.issues(&top, Some(1)).unwrap().is_empty());
    assert!(!asked.index.issues(&top, Some(2)).unwrap().is_empty());
    let closed = start(&asked.index, "/t/closed");
    assert!(asked.index.issues(&closed, Some(0)).unwrap().is_empty());
    assert_eq!(asked.index.issues(&closed, Some(1)).unwrap().len(), 1);

    let request = DeniedRequest {
        skip: [&b"/t/group"[..], b"/t/closed"]
            .map(<[u8]>::to_vec)
            .into_iter()
            .collect(),
        ..DeniedRequest::default()
    };
    let rest = ["/t/mine", "/t/pass", "/t/read"];
    assert_eq!(denied(&asked, &request), rest);
    let near = |levels| DeniedRequest {
        max_depth: Some(levels),
        ..DeniedRequest::default()
    };
    let (_, all) = walked(who);
    assert_eq!(denied(&asked, &near(2)), all);
    assert!(denied(&asked, &near(1)).is_empty());
    let owner = ask_as(&users()[0]);
    let is_deep = |levels| denied(&owner, &near(levels)).contains(&"/t/mine/not".to_owned());
    assert_eq!([1, 2, 3].map(is_deep), [false, false, true]);
}

#[test]
fn it_is_told_why_nothing_is_to_be_seen() {
    let who = &users()[1];
    let asked = ask_as(who);
    for (path, expected) in [
        ("/t/closed/secret", "denied /t/closed"),
        ("/t/closed/open/secret", "denied /t/closed"),
        ("/t/closed/none", "denied /t/closed"),
        ("/t/read/f", "denied /t/read"),
        ("/t/pass/none", "hidden /t/pass"),
        ("/t/pass/f", "hidden /t/pass"),
        ("/t/a/none", "missing /t"),
        ("/t/a/f/x", "no directory /t/a/f"),
        ("/t/a/f", "found"),
        ("/elsewhere", "not indexed /t"),
    ] {
        let text = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
        let found = match asked.index.locate(path.as_bytes()).unwrap() {
            Located::Denied { dir } => format!("denied {}", text(&dir)),
            Located::Hidden { dir, .. } => format!("hidden {}", text(&dir)),
            Located::Missing { root } => format!("missing {}", text(&root)),
            Located::NotDirectory { path } => format!("no directory {}", text(&path)),
            Located::NotIndexed { nearest } => {
                format!("not indexed {}", text(&nearest.unwrap_or_default()))
            }
            Located::Found(_) => "found".to_owned(),
            other => panic!("{other:?}"),
        };
        assert_eq!(found, expected, "{path}");
    }
}

/// Adds the size of a directory of the tree, as `who` may sum it up, and of
/// each below it: apparent size, objects, and sizes of directories.
fn sum_up(who: &Credentials, at: usize, sums: &mut BTreeMap<String, [u64; 3]>) -> [u64; 3] {
    let (path, .., files) = TREE[at];
    let mut sum = [4096, 1, 4096];
    if has(who, &TREE[at], 5) {
        let count = files.len() as u64;
        sum = [4096 + 10 * count, 1 + count, 4096];
        for child in children(TREE, at) {
            let below = sum_up(who, child, sums);
            sum = [0, 1, 2].map(|nth| sum[nth] + below[nth]);
        }
    }
    sums.insert(path.to_owned(), sum);
    sum
}

#[test]
fn directories_that_may_not_be_listed_are_summed_up_by_their_own_size() {
    for who in users() {
        let asked = ask_as(&who);
        let top = start(&asked.index, "/t");
        let mut expected = BTreeMap::new();
        sum_up(&who, 0, &mut expected);
        for detail in [Detail::Directories, Detail::Everything] {
            let request = UsageRequest {
                detail,
                ..UsageRequest::default()
            };
            let mut found = BTreeMap::new();
            let visit = |of: &UsageOf<'_>| {
                let Usage {
                    size_bytes,
                    inodes,
                    dir_size_bytes,
                    ..
                } = of.usage;
                if of.is_dir {
                    let path = String::from_utf8(of.path.to_vec()).unwrap();
                    let before = found.insert(path, [size_bytes, inodes, dir_size_bytes]);
                    assert_eq!(before, None);
                }
                ControlFlow::Continue(())
            };
            let mut seen = SeenLinks::new();
            asked.index.usage(&top, &request, &mut seen, visit).unwrap();
            assert_eq!(found, expected, "{who:?}");
        }
    }
}

#[test]
fn who_sees_everything_is_denied_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("index");
    write(&place, TREE);
    // The kernel let this process open everything: that decides, not the modes.
    let index = Index::open(&place, users().remove(1)).unwrap();
    let top = start(&index, "/t");
    assert!(index.issues(&top, None).unwrap().is_empty());
    // Entries that the scan did not see may still be visible on the live
    // system.
    assert!(matches!(
        index.locate(b"/t/closed/none").unwrap(),
        Located::Hidden { .. }
    ));
}
