//! Checks that users can read from an old snapshot exactly what they could read then and may read
//! now: no more and, of what still exists, no less. Uses random trees whose permissions change
//! between scans. Permissions are judged by modes, not by guards, and the kernel is asked which
//! files a user can open.

use crate::support::{
    Names, ROOT, Random, Seen, State, may_see, seen, users, write, write_keeping,
};
use std::collections::BTreeSet;
use std::path::Path;
use trawl_format::{IndexDir, Snapshot, SnapshotId};
use trawl_testkit::skip::{without_program, without_root};
use trawl_writer::gc::{self, Retention};
use trawl_writer::verify::{Scope, verify};

fn open(index: &Path, id: SnapshotId) -> Snapshot {
    let index = IndexDir::open(index).unwrap();
    let source = index.source(ROOT).unwrap().unwrap();
    source.snapshot(id).unwrap()
}

fn trees() -> u64 {
    let told = std::env::var("TRAWL_TEST_TREES").ok();
    told.and_then(|text| text.parse().ok()).unwrap_or(25)
}

/// Compares a snapshot with all states since it was made.
fn check(snapshot: &Snapshot, whole: &BTreeSet<Seen>, states: &[State], case: &str) {
    for who in users() {
        let stored = seen(snapshot, &who, Names::Unknown);
        let wanted = whole.iter().filter(|one| {
            states
                .iter()
                .all(|state| may_see(state, one, &who, Names::Unknown))
        });
        let is_own = |one: &&Seen| matches!(one, Seen::Own(..));
        let stored: Vec<&Seen> = stored.iter().filter(|one| !is_own(one)).collect();
        let wanted: Vec<&Seen> = wanted.filter(|one| !is_own(one)).collect();
        assert_eq!(stored, wanted, "{case} {who:?}");
        for one in seen(snapshot, &who, Names::Known) {
            for (nth, state) in states.iter().enumerate() {
                let ok = may_see(state, &one, &who, Names::Known);
                assert!(ok, "{case} {who:?} sees {one:?} against scan {nth}");
            }
        }
    }
}

#[test]
fn old_snapshots_show_what_both_then_and_now_allow() {
    if let Some(skip) = without_root("old_snapshots_show_what_both_then_and_now_allow") {
        return skip.say();
    }
    let mut tightened = 0;
    for seed in 0..trees() {
        let dir = tempfile::tempdir().unwrap();
        let index = dir.path().join("index");
        let mut random = Random(seed);
        let mut states = vec![State::random(&mut random, 30)];
        let mut snapshots: Vec<(SnapshotId, BTreeSet<Seen>)> = Vec::new();
        for scan in 0..3 {
            if scan > 0 {
                let changes = random.below(8);
                let next = states[scan - 1].changed(&mut random, changes);
                states.push(next);
            }
            let (id, done) = write(&index, &states[scan], 100 + scan as i64);
            assert_eq!(done.damaged, []);
            tightened += done.directories;
            let whole = seen(&open(&index, id), &users()[0], Names::Known);
            snapshots.push((id, whole));
            for (nth, (id, whole)) in snapshots.iter().enumerate() {
                let case = format!("seed {seed} scan {scan} snapshot {nth}");
                let snapshot = open(&index, *id);
                check(&snapshot, whole, &states[nth..=scan], &case);
                let now = seen(&snapshot, &users()[0], Names::Known);
                let lost: Vec<_> = whole.difference(&now).collect();
                assert_eq!(lost, Vec::<&Seen>::new(), "{case}");
            }
        }
        let opened = IndexDir::open(&index).unwrap();
        assert_eq!(verify(&opened, Scope::All).unwrap().findings, []);
        let source = opened.source(ROOT).unwrap().unwrap();
        let keep = Retention {
            newest: 2,
            since: None,
        };
        gc::collect(&source, keep).unwrap();
        assert_eq!(verify(&opened, Scope::All).unwrap().findings, []);
        check_kernel(&opened, &format!("seed {seed}"));
    }
    assert!(tightened > trees(), "{tightened} directories moved");
}

/// Returns a tree that everyone may read, and the same tree for its owner alone.
fn open_and_closed() -> (State, State) {
    let mut random = Random(5);
    let mut open = State::random(&mut random, 12);
    for node in open.nodes.values_mut() {
        node.mode |= 0o555;
        node.has_value = false;
    }
    let mut closed = open.clone();
    let inner = closed.nodes.iter_mut().filter(|(at, _)| *at != ROOT);
    inner.for_each(|(_, node)| node.mode &= 0o700);
    (open, closed)
}

#[test]
fn what_is_not_to_stay_goes_before_unless_it_is_read() {
    if let Some(skip) = without_root("what_is_not_to_stay_goes_before_unless_it_is_read") {
        return skip.say();
    }
    let (then, now) = open_and_closed();
    let stranger = &users()[5];
    for is_read in [false, true] {
        for newest in [1, 2] {
            let dir = tempfile::tempdir().unwrap();
            let index = dir.path().join("index");
            let [first, second] = [1, 2].map(|at| write(&index, &then, at).0);
            let reader = is_read.then(|| open(&index, first));
            let keep = Retention {
                newest,
                since: None,
            };
            let (third, done) = write_keeping(&index, &now, 3, keep);
            let old = match is_read {
                true => vec![first, second],
                false => vec![second],
            };
            assert_eq!(done.snapshots, old);
            let opened = IndexDir::open(&index).unwrap();
            let source = opened.source(ROOT).unwrap().unwrap();
            let left: Vec<_> = source.snapshots().unwrap().iter().map(|s| s.id).collect();
            assert_eq!(left, [&old[..], &[third]].concat());
            for id in old {
                let seen = seen(&open(&index, id), stranger, Names::Unknown);
                let below = |one: &Seen| matches!(one, Seen::Row(dir, ..) if dir != ROOT);
                assert!(!seen.iter().any(below), "{seen:?}");
            }
            assert_eq!(verify(&opened, Scope::All).unwrap().findings, []);
            drop(reader);
        }
    }
}

#[test]
fn a_list_of_shards_that_is_lost_says_nothing() {
    if let Some(skip) = without_root("a_list_of_shards_that_is_lost_says_nothing") {
        return skip.say();
    }
    let (then, _) = open_and_closed();
    let dir = tempfile::tempdir().unwrap();
    let index = dir.path().join("index");
    let first = write(&index, &then, 1).0;
    let source = IndexDir::open(&index).unwrap().source(ROOT).unwrap();
    let private = source.unwrap().path().join("private/data");
    std::fs::write(private.join(format!("{first}.shards")), "{}").unwrap();
    let (_, done) = write(&index, &then, 2);
    assert_eq!(done.damaged, [first]);
    let opened = IndexDir::open(&index).unwrap();
    let source = opened.source(ROOT).unwrap().unwrap();
    assert_eq!(source.snapshots().unwrap().len(), 1);
}

/// Checks that the manifests that the kernel lets each user open, by listing from the top, are
/// exactly those whose guards admit the user.
fn check_kernel(index: &IndexDir, case: &str) {
    for program in ["setpriv", "find"] {
        if let Some(skip) = without_program("what the kernel says", program) {
            return skip.say();
        }
    }
    // A temporary directory is closed to other users.
    let around = index.path().parent().unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(around, open).unwrap();
    let source = index.source(ROOT).unwrap().unwrap();
    for who in users() {
        let mut wanted = BTreeSet::new();
        for info in source.snapshots().unwrap() {
            let snapshot = source.snapshot(info.id).unwrap();
            let current = source.current().unwrap().unwrap();
            if !current.above().unwrap().admits(&who, |_| false) {
                continue;
            }
            for shard in &snapshot.shards {
                if shard.manifest.guard().unwrap().admits(&who, |_| false) {
                    let name = format!("{}.manifest", info.edition());
                    wanted.insert(shard.dir_path().join(name));
                }
            }
        }
        let groups: Vec<String> = who.groups.iter().map(|g| g.0.to_string()).collect();
        let mut command = trawl_testkit::oracle::command("setpriv");
        command
            .args(["--reuid", &who.uid.0.to_string()])
            .args(["--regid", &groups[0], "--groups", &groups.join(",")])
            .args(["find".as_ref(), index.path().as_os_str()])
            .args(["-name", "*.manifest", "-readable"])
            .current_dir("/");
        let output = command.output().unwrap();
        let lines = String::from_utf8(output.stdout).unwrap();
        let found: BTreeSet<_> = lines.lines().map(std::path::PathBuf::from).collect();
        assert_eq!(found, wanted, "{case} {who:?}");
    }
}

#[test]
fn nothing_is_written_where_nothing_got_stricter() {
    if let Some(skip) = without_root("nothing_is_written_where_nothing_got_stricter") {
        return skip.say();
    }
    let dir = tempfile::tempdir().unwrap();
    let index = dir.path().join("index");
    let mut random = Random(5);
    let strict = State::random(&mut random, 30);
    let mut lax = strict.clone();
    for node in lax.nodes.values_mut() {
        node.mode |= 0o555;
    }
    let (first, _) = write(&index, &strict, 1);
    let before = open(&index, first).info;
    for (at, state) in [(2, &strict), (3, &lax)] {
        let (_, done) = write(&index, state, at);
        assert_eq!(done.snapshots, []);
        assert_eq!(open(&index, first).info, before);
    }
    let (_, done) = write(&index, &strict, 4);
    assert_eq!(done.snapshots.len(), 1, "only what was lax moves");
}
