//! Compares the walk with GNU find on trees with every oddity.

mod recorder;

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use recorder::{Recorder, Scratch, assert_same, find, has, is_root, record};
use trawl_model::sink::{PartSink, SourceRoot};
use trawl_model::{Acl, DirAccess, DirBatch, DirId, Issue, KnownListings, Meta, Op, Sink};
use trawl_scan::{
    Mounts, PartRead, Parts, ScanError, ScanProgress, SomeNames, WalkOptions, Xattrs, walk,
};
use trawl_testkit::Folder;
use trawl_testkit::folder::set_attribute;

/// Makes a small tree with an example of every kind of entry.
fn oddities(root: &Path) {
    let names: [&[u8]; 11] = [
        b"plain",
        b"new\nline",
        b"\xff\xfe not utf-8",
        b"\x1b[31mescape",
        b" ",
        b"-rf",
        b"*",
        b"trailing ",
        b"back\\slash",
        b"\xc3\xa9t\xc3\xa9",
        &[b'x'; 255],
    ];
    for (i, name) in names.iter().enumerate() {
        let name = OsStr::from_bytes(name);
        std::fs::write(root.join(name), vec![b'x'; i * 1000]).unwrap();
        std::fs::create_dir_all(root.join("sub").join(name).join("empty")).unwrap();
        symlink(
            Path::new("../").join(name),
            root.join("sub").join(name).join("link"),
        )
        .unwrap();
    }
    std::fs::hard_link(root.join("plain"), root.join("sub/hard")).unwrap();
    symlink(OsStr::from_bytes(&[b't'; 1000]), root.join("long-target")).unwrap();
    symlink("/", root.join("to-root")).unwrap();
    std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    assert!(
        trawl_testkit::oracle::command("mkfifo")
            .arg(root.join("fifo"))
            .status()
            .unwrap()
            .success()
    );
    for (name, mode) in [
        ("plain", 0o4711),
        ("sub", 0o2775),
        (" ", 0),
        ("-rf", 0o1644),
    ] {
        std::fs::set_permissions(root.join(name), PermissionsExt::from_mode(mode)).unwrap();
    }
    let times = std::fs::FileTimes::new()
        .set_modified(std::time::UNIX_EPOCH - std::time::Duration::new(100, 5))
        .set_accessed(std::time::UNIX_EPOCH + std::time::Duration::new(5_000_000_000, 1));
    File::options()
        .write(true)
        .open(root.join("plain"))
        .unwrap()
        .set_times(times)
        .unwrap();
    File::create(root.join("sparse"))
        .unwrap()
        .set_len(5 << 30)
        .unwrap();
    for (name, kind) in [("null", "c"), ("disk", "b")] {
        // Only root may do this; without it, the rest is still tested.
        let _ = trawl_testkit::oracle::command("mknod")
            .arg(root.join(name))
            .args([kind, "1", "3"])
            .output();
    }
}

#[test]
fn every_field_is_what_find_prints() {
    let scratch = Scratch::new();
    oddities(&scratch.0);
    let found = find(&scratch.0, &[]);
    assert!(found.len() > 50);
    for threads in [1, 3] {
        for xattrs in [Xattrs::Read, Xattrs::Skip] {
            let got = record(&scratch.0, |o| (o.threads, o.xattrs) = (threads, xattrs));
            assert_same(&got, &found);
            assert!(got.issues.is_empty(), "{:?}", got.issues);
        }
    }
}

#[test]
fn access_times_of_directories_stay() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.0.join("d")).unwrap();
    let long_ago = std::fs::FileTimes::new().set_accessed(std::time::UNIX_EPOCH);
    for dir in [scratch.0.join("d"), scratch.0.clone()] {
        File::open(dir).unwrap().set_times(long_ago).unwrap();
    }
    record(&scratch.0, |_| {});
    for dir in [scratch.0.join("d"), scratch.0.clone()] {
        assert_eq!(dir.metadata().unwrap().atime(), 0);
    }
}

#[test]
fn the_root_and_what_is_above_are_told() {
    let scratch = Scratch::new();
    let root = scratch.0.join("a/b");
    std::fs::create_dir_all(&root).unwrap();
    symlink(&root, scratch.0.join("link")).unwrap();
    let got = record(&scratch.0.join("link"), |_| {}).root.unwrap();
    assert_eq!(got.path, root.as_os_str().as_bytes());
    assert_eq!(got.entry.meta.ino, root.metadata().unwrap().ino());
    let above: Vec<u32> = got.above.iter().map(|a| a.mode).collect();
    let mut want: Vec<u32> = root
        .ancestors()
        .skip(1)
        .map(|a| a.metadata().unwrap().mode())
        .collect();
    want.reverse();
    assert_eq!(above, want);
    let slash = record(Path::new("/"), |o| {
        o.excludes.add(b"*").unwrap();
    });
    let slash = slash.root.unwrap();
    assert!(slash.path.is_empty() && slash.above.is_empty());
}

#[test]
fn one_thread_goes_in_path_order() {
    let scratch = Scratch::new();
    for dir in ["a/b/c", "a-b", "a/b-c/d", "a.b/c"] {
        std::fs::create_dir_all(scratch.0.join(dir)).unwrap();
    }
    let got = record(&scratch.0, |o| o.threads = 1);
    assert!(
        got.order
            .is_sorted_by(|a, b| trawl_model::path::cmp(a, b).is_lt()),
        "{:?}",
        got.order
    );
}

/// Makes a chain of directories beyond any path limit, with a file and side branches at some
/// levels.
fn deep(root: &Path, levels: usize) -> usize {
    let mut folder = Folder::open(root).unwrap();
    let mut entries = 0;
    for level in 0..levels {
        let name = format!("level-{level:05}");
        let next = folder.make_folder(name.as_bytes()).unwrap();
        entries += 1;
        if level % 10 == 0 {
            let side = folder.make_folder(b"zz side").unwrap();
            side.make_folder(b"leaf").unwrap();
            entries += 2;
        }
        folder = next;
    }
    entries
}

#[test]
fn depth_is_no_limit() {
    let scratch = Scratch::new();
    let entries = deep(&scratch.0, 3000);
    let found = find(&scratch.0, &[]);
    for (threads, descriptors) in [(1, 0), (1, 6), (3, 20)] {
        let got = record(&scratch.0, |o| {
            (o.threads, o.descriptors) = (threads, descriptors)
        });
        assert!(
            got.issues.is_empty(),
            "{:?}",
            got.issues.first().map(|i| (i.op, i.errno))
        );
        assert_eq!(got.rows.len(), entries);
        let longest = got.rows.keys().map(Vec::len).max().unwrap();
        assert!(longest > 30_000, "{longest}");
    }
    assert_same(&record(&scratch.0, |_| {}), &found);
}

#[test]
fn a_large_directory_comes_in_sorted_fragments() {
    let scratch = Scratch::in_memory();
    let wide = scratch.0.join("wide");
    std::fs::create_dir(&wide).unwrap();
    for i in 0..200_000 {
        File::create(wide.join(format!("{}-{i}", i * 7919 % 1000))).unwrap();
    }
    for i in 0..1000 {
        std::fs::create_dir(wide.join(format!("d{i}"))).unwrap();
    }
    let found = find(&scratch.0, &[]);
    let got = record(&scratch.0, |o| o.pending_bytes = 1000);
    assert_eq!(got.rows.len(), 201_001);
    let full = got.fragments.iter().filter(|n| **n == 65_536).count();
    assert_eq!((full, got.fragments.iter().max()), (3, Some(&65_536)));
    assert_same(&got, &found);
}

#[test]
fn pending_names_go_to_a_file_and_come_back() {
    let scratch = Scratch::new();
    for i in 0..40 {
        for j in 0..40 {
            std::fs::create_dir_all(scratch.0.join(format!("{i}/{j}/x/y"))).unwrap();
        }
    }
    let found = find(&scratch.0, &[]);
    for threads in [1, 2] {
        let got = record(&scratch.0, |o| {
            (o.threads, o.pending_bytes, o.descriptors) = (threads, 0, 12);
        });
        assert_same(&got, &found);
    }
}

#[test]
fn excluded_entries_are_neither_recorded_nor_entered() {
    let scratch = Scratch::new();
    oddities(&scratch.0);
    std::fs::create_dir_all(scratch.0.join("keep/cache/in")).unwrap();
    let root = scratch.0.to_str().unwrap();
    let whole = format!("{root}/sub/*/empty");
    let everything = find(&scratch.0, &[]);
    let got = record(&scratch.0, |o| {
        o.excludes.add(b"cache").unwrap();
        o.excludes.add(b"*\n*").unwrap();
        o.excludes.add(whole.as_bytes()).unwrap();
    });
    let pattern = [
        "(", "-name", "cache", "-o", "-name", "*\n*", "-o", "-path", &whole, ")", "-prune", "-o",
    ];
    let found = find(&scratch.0, &pattern);
    assert!(!found.is_empty() && found.len() < everything.len());
    assert_same(&got, &found);
}

#[test]
fn attributes_beyond_all_measure_are_left_out_with_an_issue() {
    let scratch = Scratch::new();
    let value = vec![b'v'; 1000];
    for number in 0..20 {
        let file = scratch.0.join(format!("file{number}"));
        std::fs::write(&file, b"").unwrap();
        if let Err(e) = set_attribute(File::open(&file).unwrap(), c"user.a", &value) {
            println!("skipped, because {e}");
            return;
        }
    }
    let got = record(&scratch.0, |o| (o.threads, o.entry_bytes) = (1, 10_000));
    let of_user = |row: &&recorder::Row| row.xattrs.iter().any(|(name, _)| name == b"user.a");
    let whole = got.rows.values().filter(of_user);
    assert!(
        whole
            .clone()
            .flat_map(|row| &row.xattrs)
            .all(|(_, read)| *read == value)
    );
    let (whole, issues) = (whole.count(), got.issues.len());
    assert!(whole > 5 && whole + issues == 20, "{whole} {issues}");
    let tells = |issue: &Issue| (issue.op, issue.errno.0) == (Op::GetXattr, 7);
    assert!(got.issues.iter().all(tells), "{:?}", got.issues);
}

/// An index whose listings have all changed.
#[derive(Debug)]
struct Changed;

impl KnownListings for Changed {
    fn is_known(&self, batch: &DirBatch) -> bool {
        let entries = batch.entries.len();
        assert!([1, 41].contains(&entries), "a whole directory: {entries}");
        false
    }
}

#[test]
fn large_attributes_and_link_targets_come_in_several_batches() {
    let scratch = Scratch::new();
    let below = scratch.0.join("file05-sub");
    std::fs::create_dir(&below).unwrap();
    std::fs::write(below.join("below"), b"").unwrap();
    for number in 0..20 {
        let file = scratch.0.join(format!("file{number:02}"));
        std::fs::write(&file, vec![b'x'; number]).unwrap();
        let link = scratch.0.join(format!("link{number:02}"));
        symlink(OsStr::from_bytes(&[b't'; 1000]), link).unwrap();
        let value = vec![b'a' + number as u8; 1000];
        if let Err(e) = set_attribute(File::open(&file).unwrap(), c"user.a", &value) {
            println!("skipped, because {e}");
            return;
        }
    }
    let whole = record(&scratch.0, |_| {});
    assert_eq!(whole.fragments, [41, 1]);
    // The names and link targets have 20,000 bytes, the attributes as many.
    for fragment_bytes in [1, 5000, 30_000] {
        for (threads, known) in [(1, false), (1, true), (3, false), (3, true)] {
            let got = record(&scratch.0, |o| {
                (o.threads, o.fragment_bytes) = (threads, fragment_bytes);
                o.known = known.then_some(&Changed);
            });
            assert!(got.fragments.len() > 2);
            let most = *got.heaps.iter().max().unwrap();
            assert!(most < fragment_bytes + 1100, "{most} bytes");
            assert_eq!(got.issues, []);
            assert_eq!(got.order, whole.order);
            assert!(got.rows.keys().eq(whole.rows.keys()));
            for (row, there) in got.rows.values().zip(whole.rows.values()) {
                // Reading a link changes its access time.
                let atime = there.entry.meta.atime;
                let meta = Meta {
                    atime,
                    ..row.entry.meta
                };
                assert_eq!(meta, there.entry.meta);
                assert_eq!(row.link_target, there.link_target);
                assert_eq!(row.xattrs, there.xattrs);
            }
        }
    }
}

#[test]
fn names_whose_attributes_do_not_fit_in_a_batch_are_not_read_alone() {
    let scratch = Scratch::new();
    let names = ["a", "b", "c"].map(|name| CString::new(name).unwrap());
    for name in &names {
        let file = scratch.0.join(name.to_str().unwrap());
        std::fs::write(&file, b"").unwrap();
        if let Err(e) = set_attribute(File::open(&file).unwrap(), c"user.a", &[b'v'; 1000]) {
            println!("skipped, because {e}");
            return;
        }
    }
    let path = scratch.0.as_os_str().as_bytes();
    for (fragment_bytes, expected) in [(1500, PartRead::TooLarge), (5000, PartRead::Done)] {
        let cancel = AtomicBool::new(false);
        let mut options = WalkOptions::new(&cancel);
        options.fragment_bytes = fragment_bytes;
        let mut sink = Batches::default();
        let (mut parts, root) = Parts::open::<std::convert::Infallible>(path, &options).unwrap();
        let names = SomeNames {
            names: &names,
            of: (root.entry.meta.dev, root.entry.meta.ino),
        };
        let read = parts.read_names(path, names, &mut sink).unwrap();
        assert_eq!(read, expected);
        let entries = sink.0.iter().map(|batch| batch.entries.len());
        let all = if read == PartRead::Done { 3 } else { 0 };
        assert_eq!(entries.sum::<usize>(), all);
    }
}

/// Keeps batches.
#[derive(Default)]
struct Batches(Vec<DirBatch>);

impl Sink for Batches {
    type Error = std::convert::Infallible;

    fn root(&mut self, _: SourceRoot) -> Result<(), Self::Error> {
        Ok(())
    }

    fn batch(&mut self, batch: DirBatch) -> Result<(), Self::Error> {
        self.0.push(batch);
        Ok(())
    }

    fn subtree_done(&mut self, _: DirId) -> Result<(), Self::Error> {
        Ok(())
    }

    fn issue(&mut self, _: Option<DirId>, issue: Issue) -> Result<(), Self::Error> {
        panic!("{issue:?}");
    }
}

impl PartSink for Batches {
    fn passed(
        &mut self,
        _: DirId,
        _: Option<DirId>,
        _: &[u8],
        _: &DirAccess,
    ) -> Result<(), Self::Error> {
        Ok(())
    }
}

#[test]
fn attributes_and_acls_are_read() {
    let scratch = Scratch::new();
    let (file, dir) = (scratch.0.join("file"), scratch.0.join("dir"));
    std::fs::write(&file, b"").unwrap();
    std::fs::create_dir(&dir).unwrap();
    let large = vec![b'v'; 2000];
    for (name, value) in [
        (c"user.one", &b"1"[..]),
        (c"user.large", &large),
        (c"user.empty", b""),
    ] {
        if let Err(e) = set_attribute(File::open(&file).unwrap(), name, value) {
            println!("skipped, because {e}");
            return;
        }
    }
    let got = record(&scratch.0, |_| {});
    let row = &got.rows[file.as_os_str().as_bytes()];
    let mut pairs = row.xattrs.clone();
    pairs.retain(|(name, _)| name.starts_with(b"user."));
    pairs.sort();
    let want = [
        (&b"user.empty"[..], &b""[..]),
        (b"user.large", &large),
        (b"user.one", b"1"),
    ];
    assert_eq!(
        pairs
            .iter()
            .map(|(n, v)| (&n[..], &v[..]))
            .collect::<Vec<_>>(),
        want
    );
    let skipped = record(&scratch.0, |o| o.xattrs = Xattrs::Skip);
    assert!(
        skipped
            .rows
            .values()
            .all(|row| row.xattr_names.is_empty() && row.xattrs.is_empty())
    );

    if !has("setfacl") {
        return;
    }
    let set = |arguments: &[&str]| {
        assert!(
            trawl_testkit::oracle::command("setfacl")
                .args(arguments)
                .arg(&dir)
                .status()
                .unwrap()
                .success()
        );
    };
    set(&["-m", "u:1234:rx,g:99:w"]);
    set(&["-d", "-m", "u:77:r"]);
    for xattrs in [Xattrs::Read, Xattrs::Skip] {
        let got = record(&scratch.0, |o| o.xattrs = xattrs);
        let acl = got.access[dir.as_os_str().as_bytes()]
            .acl
            .clone()
            .expect("an ACL");
        assert_eq!(acl.users, [(trawl_model::Uid(1234), 5)]);
        assert_eq!(acl.groups, [(trawl_model::Gid(99), 2)]);
        if xattrs == Xattrs::Read {
            let row = &got.rows[dir.as_os_str().as_bytes()];
            assert_eq!(Acl::parse(&row.acl), Some(acl));
            assert_eq!(
                Acl::parse(&row.acl_default).unwrap().users,
                [(trawl_model::Uid(77), 4)]
            );
        }
    }
    let inside = record(&dir, |_| {});
    assert!(inside.root.unwrap().entry.acl.len > 0);
    std::fs::create_dir(dir.join("in")).unwrap();
    let below = record(&dir.join("in"), |_| {}).root.unwrap();
    assert!(below.above.last().unwrap().acl.is_some());
}

#[test]
fn mount_points_are_recorded_and_entered_only_if_asked() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let (inside, bind) = (scratch.0.join("inside"), scratch.0.join("bind"));
    std::fs::create_dir_all(inside.join("hidden")).unwrap();
    std::fs::create_dir_all(bind.join("hidden")).unwrap();
    let mount = |arguments: &[&OsStr]| {
        trawl_testkit::oracle::command("mount")
            .args(arguments)
            .output()
            .unwrap()
            .status
            .success()
    };
    if !mount(&[
        "-t".as_ref(),
        "tmpfs".as_ref(),
        "none".as_ref(),
        inside.as_os_str(),
    ]) {
        println!("skipped, because mounting is not allowed here");
        return;
    }
    std::fs::create_dir_all(inside.join("seen/deeper")).unwrap();
    // The tree mounted within itself: a loop, which is not entered and is reported.
    let looped = mount(&["--bind".as_ref(), scratch.0.as_os_str(), bind.as_os_str()]);
    // Run in this order, so that both see the access times that the first run changes.
    let found_cross = find(&scratch.0, &[]);
    let found_stay = find(&scratch.0, &["-xdev"]);
    let stay = record(&scratch.0, |o| o.threads = 2);
    let cross = record(&scratch.0, |o| o.mounts = Mounts::Cross);
    for point in [&bind, &inside] {
        let _ = trawl_testkit::oracle::command("umount").arg(point).status();
    }
    assert!(looped && found_cross.len() > found_stay.len());
    // find omits the looping entry itself from its output; the walk keeps its row.
    let without_loop = |recorder: &mut Recorder| recorder.rows.remove(bind.as_os_str().as_bytes());
    for (mut got, found) in [(stay, found_stay), (cross, found_cross)] {
        assert!(without_loop(&mut got).is_some());
        assert_same(&got, &found);
        assert_eq!(got.issues.len(), 1);
        assert_eq!((got.issues[0].op, got.issues[0].errno.0), (Op::OpenDir, 40));
    }
}

/// Runs this test binary's `child` test with a task, optionally as another user.
fn run_child(task: &str, root: &Path, uid: Option<u32>) {
    let mut command = trawl_testkit::oracle::command("/proc/self/exe");
    command
        .args(["--exact", "child", "--nocapture"])
        .env("TRAWL_TASK", task)
        .env("TRAWL_ROOT", root);
    if let Some(uid) = uid {
        command.uid(uid).gid(uid);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && text.contains("task done"),
        "{text}"
    );
}

/// The test that `run_child` runs; does nothing otherwise.
#[test]
fn child() {
    let (Ok(task), Some(root)) = (std::env::var("TRAWL_TASK"), std::env::var_os("TRAWL_ROOT"))
    else {
        return;
    };
    let root = Path::new(&root);
    match &*task {
        "few descriptors" => {
            trawl_testkit::process::set_descriptor_limit(64).unwrap();
            let found = find(root, &[]);
            for threads in [1, 4] {
                let got = record(root, |o| o.threads = threads);
                assert!(got.issues.is_empty(), "{:?}", got.issues.first());
                assert_same(&got, &found);
            }
        }
        "unreadable" => {
            let found = find(root, &[]);
            let got = record(root, |_| {});
            assert_same(&got, &found);
            let mut issues: Vec<_> = got
                .issues
                .iter()
                .map(|i| {
                    (
                        i.path.rsplit(|b| *b == b'/').next().unwrap(),
                        i.op,
                        i.errno.0,
                    )
                })
                .collect();
            issues.sort();
            let want = [
                (&b"listed"[..], Op::Stat, 13),
                (b"nothing", Op::OpenDir, 13),
                (b"passed", Op::OpenDir, 13),
            ];
            assert_eq!(issues, want);
        }
        _ => panic!("unknown task"),
    }
    println!("task done");
    std::io::stdout().flush().unwrap();
}

#[test]
fn sixty_four_descriptors_are_enough() {
    let scratch = Scratch::new();
    let mut path = scratch.0.clone();
    for level in 0..150 {
        for branch in ["a", "b", "c"] {
            std::fs::create_dir_all(path.join(format!("{branch}{level}/x"))).unwrap();
            File::create(path.join(format!("{branch}{level}/file"))).unwrap();
        }
        path.push(format!("b{level}"));
    }
    run_child("few descriptors", &scratch.0, None);
}

#[test]
fn what_may_not_be_read_is_an_issue() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    for (name, mode) in [
        ("nothing", 0o000),
        ("passed", 0o711),
        ("listed", 0o744),
        ("open", 0o755),
    ] {
        let dir = scratch.0.join(name);
        std::fs::create_dir(&dir).unwrap();
        File::create(dir.join("listed")).unwrap();
        std::fs::set_permissions(&dir, PermissionsExt::from_mode(mode)).unwrap();
    }
    std::fs::set_permissions(&scratch.0, PermissionsExt::from_mode(0o755)).unwrap();
    run_child("unreadable", &scratch.0, Some(65_534));
}

/// Sets its flag when dropped, also after a failed assertion, so that the other thread ends.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn what_vanishes_is_counted_and_no_issue() {
    let scratch = Scratch::new();
    let stop = AtomicBool::new(false);
    let steady = scratch.0.join("steady/one/two");
    std::fs::create_dir_all(&steady).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for i in 0..50 {
                    let dir = scratch.0.join(format!("d{i}/e"));
                    std::fs::create_dir_all(&dir).unwrap();
                    symlink("x", dir.join("link")).unwrap();
                    File::create(dir.join("file")).unwrap();
                }
                for i in 0..50 {
                    std::fs::remove_dir_all(scratch.0.join(format!("d{i}"))).unwrap();
                }
            }
        });
        let _stop = StopAtEnd(&stop);
        for round in 0..100 {
            let got = record(&scratch.0, |o| o.threads = 1 + round % 2);
            assert!(got.issues.is_empty(), "{:?}", got.issues.first());
            assert!(got.rows.contains_key(steady.as_os_str().as_bytes()));
        }
    });
}

#[test]
fn a_link_put_in_a_directory_s_place_leads_nowhere() {
    let (scratch, outside) = (Scratch::new(), Scratch::new());
    std::fs::create_dir_all(outside.0.join("secret-dir/secret")).unwrap();
    std::fs::create_dir_all(scratch.0.join("a/victim/secret-dir/inner")).unwrap();
    symlink(&outside.0, scratch.0.join("a/link")).unwrap();
    let stop = AtomicBool::new(false);
    let inside = scratch.0.join("a").metadata().unwrap().ino();
    assert_ne!(inside, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let parent = File::open(scratch.0.join("a")).unwrap();
            while !stop.load(Ordering::Relaxed) {
                let swap = trawl_sys::file::Existing::Exchange;
                trawl_sys::file::rename(&parent, c"victim", &parent, c"link", swap).unwrap();
            }
        });
        let _stop = StopAtEnd(&stop);
        let (mut entered, mut refused) = (0, 0);
        for _ in 0..2000 {
            let got = record(&scratch.0, |o| (o.threads, o.descriptors) = (1, 6));
            assert!(!got.rows.keys().any(|path| path.ends_with(b"/secret")));
            assert!(got.issues.is_empty(), "{:?}", got.issues.first());
            let inner = got.rows.keys().any(|path| path.ends_with(b"/inner"));
            (entered, refused) = if inner {
                (entered + 1, refused)
            } else {
                (entered, refused + 1)
            };
        }
        stop.store(true, Ordering::Relaxed);
        assert!(
            entered > 0,
            "the race was run: {entered} entered, {refused} refused"
        );
    });
}

/// A sink that fails after this number of batches.
struct Failing(usize);

impl Sink for Failing {
    type Error = String;
    fn root(&mut self, _: trawl_model::sink::SourceRoot) -> Result<(), String> {
        Ok(())
    }
    fn batch(&mut self, _: DirBatch) -> Result<(), String> {
        self.0 = self.0.checked_sub(1).ok_or("full")?;
        Ok(())
    }
    fn subtree_done(&mut self, _: DirId) -> Result<(), String> {
        Ok(())
    }
    fn issue(&mut self, _: Option<DirId>, _: Issue) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn a_failing_sink_a_cancelled_walk_and_a_bad_root_end_early() {
    let cancel = AtomicBool::new(false);
    let progress = ScanProgress::default();
    let mut options = WalkOptions::new(&cancel);
    for threads in [1, 4] {
        options.threads = threads;
        let failed = walk(b"/usr", &options, &progress, &mut Failing(10));
        assert!(matches!(failed, Err(ScanError::Sink(e)) if e == "full"));
    }
    let missing = walk(b"/no/such/directory", &options, &progress, &mut Failing(0));
    assert!(matches!(missing, Err(ScanError::Resolve { .. })));
    let file = walk(b"/proc/self/status", &options, &progress, &mut Failing(0));
    assert!(
        matches!(file, Err(ScanError::NotADirectory { .. })),
        "{file:?}"
    );
    cancel.store(true, Ordering::Relaxed);
    for threads in [1, 4] {
        let mut options = WalkOptions::new(&cancel);
        options.threads = threads;
        let cancelled = walk(b"/usr", &options, &progress, &mut Failing(usize::MAX));
        assert!(matches!(cancelled, Err(ScanError::Cancelled)));
    }
}
