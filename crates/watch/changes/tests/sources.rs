//! Tests of each source on its own: overflow, starvation, parts of a file system, overlay,
//! subvolumes, polling, open writers, and refusals.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use trawl_changes::{
    AsOf, Change, ChangeSource, Directories, Dirty, DirtyDirectory, DirtySet, Doubt, Fanotify,
    LiveError, ObjectKey, OpenHow, OpenWriters, Polling, QueueSize, Remainder, ResolvedDirectory,
    SearchMethod, Searched, WriterSearch,
};
use trawl_model::Timestamp;
use trawl_sys::become_user::{User, as_user};
use trawl_sys::{CWD, handle};
use trawl_testkit::skip::{without_program, without_root};
use trawl_testkit::{FileSystem, LoopMount, Scratch, Skip, oracle};

fn mounted(kind: FileSystem, size_bytes: u64) -> Option<LoopMount> {
    LoopMount::new(kind, size_bytes)
        .map_err(|skip| skip.say())
        .ok()
}

fn run(program: &str, arguments: &[&str]) -> Result<(), Skip> {
    let ran = oracle::run(oracle::command(program).args(arguments));
    match ran.code {
        Some(0) => Ok(()),
        _ => Err(Skip::new(arguments.join(" "), ran.errors())),
    }
}

fn shown(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// Returns everything that the source reports as dirty, as paths: names, directories, subtrees.
fn paths(source: &mut impl ChangeSource, dirty: &Dirty) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for (key, directory) in &dirty.directories {
        let ResolvedDirectory::At(path) = source.places().place(key.as_ref()).expect("an answer")
        else {
            continue;
        };
        let path = PathBuf::from(std::ffi::OsStr::from_bytes(&path));
        match directory {
            DirtyDirectory::Names(names) => {
                found.extend(
                    names
                        .keys()
                        .map(|n| path.join(std::ffi::OsStr::from_bytes(n))),
                );
            }
            DirtyDirectory::Listing | DirtyDirectory::Subtree(_) => {
                found.insert(path);
            }
        }
    }
    found
}

fn barrier(source: &mut impl ChangeSource) -> Dirty {
    let mut set = DirtySet::default();
    source.barrier(&mut set).expect("it goes on");
    set.take()
}

/// A full queue is detected, and later events are not lost.
fn overflows(mut source: impl ChangeSource, root: &Path) {
    let limit = fs::read_to_string("/proc/sys/fs/fanotify/max_queued_events").expect("a limit");
    let limit: usize = limit.trim().parse().expect("a number");
    for number in 0..limit + 100 {
        // The names differ, because equal events are merged.
        fs::hard_link(root.join("file"), root.join(format!("link-{number}"))).expect("a link");
        if number % 1000 == 999 {
            // A file has at most 32,000 or 65,000 names.
            fs::remove_file(root.join("file")).expect("it is there");
            fs::write(root.join("file"), "").expect("a new one");
        }
    }
    let dirty = barrier(&mut source);
    let causes: Vec<_> = dirty.everything.values().collect();
    assert_eq!(causes, [&Doubt::QueueOverflow]);
    fs::create_dir(root.join("later")).expect("a new directory");
    let dirty = barrier(&mut source);
    assert!(dirty.everything.is_empty(), "{dirty:?}");
    assert!(paths(&mut source, &dirty).contains(&root.join("later")));
    fs::write(root.join("later").join("inside"), "").expect("a file");
    let dirty = barrier(&mut source);
    assert!(paths(&mut source, &dirty).contains(&root.join("later").join("inside")));
}

#[test]
fn an_overflow_of_the_queue_is_noticed() {
    let Some(mount) = mounted(FileSystem::Tmpfs, 256 << 20) else {
        return;
    };
    fs::write(mount.path().join("file"), "").expect("a file");
    let source = Fanotify::open(&mount.path(), QueueSize::Limited).expect("root may");
    overflows(source, &mount.path());
}

#[test]
fn an_overflow_is_noticed_directory_by_directory() {
    let scratch = Scratch::new("overflow");
    fs::write(scratch.join("file"), "").expect("a file");
    match Directories::open(scratch.path()) {
        Ok(source) => overflows(source, scratch.path()),
        Err(e @ (LiveError::Unwatchable { .. } | LiveError::Privilege { .. })) => {
            Skip::new("marks on directories", e).say();
        }
        Err(e) => panic!("{e}"),
    }
}

/// Writers at full speed do not prevent a barrier from finishing.
#[test]
fn barriers_read_what_was_there_and_hardly_more() {
    let Some(mount) = mounted(FileSystem::Tmpfs, 256 << 20) else {
        return;
    };
    let mut source = Fanotify::open(&mount.path(), QueueSize::Unlimited).expect("root may");
    let (stop, written) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for writer in 0..2 {
            let (stop, written) = (&stop, &written);
            let path = mount.path();
            scope.spawn(move || {
                for number in 0.. {
                    let name = path.join(format!("{writer}-{number}"));
                    fs::write(&name, "x").expect("room");
                    fs::remove_file(&name).expect("it is there");
                    written.fetch_add(1, Ordering::Relaxed);
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                }
            });
        }
        for _ in 0..100 {
            let before = written.load(Ordering::Relaxed);
            while written.load(Ordering::Relaxed) < before + 50 {
                thread::yield_now();
            }
            let barrier = source.barrier(&mut |_: Change<'_>| {}).expect("it goes on");
            assert!(barrier.waiting >= 50, "{barrier:?}");
            // The smallest buffer holds this many of the smallest events.
            assert!(barrier.events <= barrier.waiting + 4096 / 52, "{barrier:?}");
            assert!(barrier.events >= barrier.waiting, "{barrier:?}");
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(written.into_inner() >= 5000);
}

#[test]
fn a_drain_is_bounded_and_its_descriptor_tells() {
    let Some(mount) = mounted(FileSystem::Tmpfs, 16 << 20) else {
        return;
    };
    let mut source = Fanotify::open(&mount.path(), QueueSize::Unlimited).expect("root may");
    let mut set = DirtySet::default();
    let quiet = source.drain(10, &mut set).expect("it goes on");
    assert_eq!((quiet.events, quiet.left), (0, Remainder::Nothing));
    for number in 0..500 {
        fs::create_dir(mount.path().join(number.to_string())).expect("a directory");
    }
    let drained = source.drain(10, &mut set).expect("it goes on");
    assert_eq!(drained.left, Remainder::More);
    assert!((10..100).contains(&drained.events), "{drained:?}");
    let all = source.drain(10_000, &mut set).expect("it goes on");
    assert_eq!(
        (drained.events + all.events, all.left),
        (500, Remainder::Nothing)
    );
    assert_eq!(set.dirty().directories.len(), 1);
}

#[test]
fn what_is_outside_of_the_root_has_no_place() {
    let Some(mount) = mounted(FileSystem::Ext4, 64 << 20) else {
        return;
    };
    let (root, other) = (mount.path().join("root"), mount.path().join("other"));
    fs::create_dir_all(root.join("a")).expect("directories");
    fs::create_dir_all(other.join("b")).expect("directories");
    let mut source = Fanotify::open(&root, QueueSize::Unlimited).expect("root may");
    let key = |path: &Path| {
        let name = std::ffi::CString::new(path.as_os_str().as_bytes()).expect("no NUL");
        let handle = handle::of_name(CWD, &name, handle::Use::Open).expect("a handle");
        ObjectKey::new(source.file_system(), handle.kind(), handle.bytes())
    };
    let (a, b, gone) = (
        key(&root.join("a")),
        key(&other.join("b")),
        root.join("gone"),
    );
    fs::create_dir(&gone).expect("a directory");
    let gone_key = key(&gone);
    let mut place = |key: &ObjectKey| source.places().place(key.as_ref()).expect("an answer");
    assert!(matches!(place(&gone_key), ResolvedDirectory::At(_)));
    fs::remove_dir(&gone).expect("empty");
    assert_eq!(place(&gone_key), ResolvedDirectory::Gone);
    assert_eq!(place(&b), ResolvedDirectory::Outside);
    // Renames that no event has reported yet.
    fs::rename(root.join("a"), other.join("a")).expect("the same file system");
    assert_eq!(place(&a), ResolvedDirectory::Outside);
    fs::rename(&other, root.join("other")).expect("the same file system");
    let inside = root.join("other").join("b");
    assert_eq!(
        place(&b),
        ResolvedDirectory::At(inside.as_os_str().as_bytes().to_vec())
    );
    fs::rename(&root, mount.path().join("moved")).expect("the same file system");
    let error = source
        .barrier(&mut DirtySet::default())
        .expect_err("the root went");
    assert!(matches!(error, LiveError::RootGone { .. }), "{error}");
}

#[test]
fn a_path_longer_than_the_kernel_takes_is_found() {
    let Some(mount) = mounted(FileSystem::Ext4, 64 << 20) else {
        return;
    };
    let mut source = Fanotify::open(&mount.path(), QueueSize::Unlimited).expect("root may");
    let name = "n".repeat(200);
    let mut folder = trawl_testkit::Folder::open(&mount.path()).expect("the root");
    for _ in 0..25 {
        folder = folder.make_folder(name.as_bytes()).expect("a directory");
    }
    folder.make_file(b"deep", b"").expect("a file");
    let dirty = barrier(&mut source);
    let deepest = paths(&mut source, &dirty)
        .into_iter()
        .max_by_key(|p| p.as_os_str().len());
    let deepest = deepest.expect("something is dirty");
    assert!(
        deepest.as_os_str().len() > 5000 && deepest.ends_with("deep"),
        "{deepest:?}"
    );
}

/// Mounts an overlay over a new tmpfs and performs its typical operations: copy up, hide, move.
fn on_overlay(options: &str, how: &str) -> Result<(), Skip> {
    let base = LoopMount::new(FileSystem::Tmpfs, 64 << 20)?;
    let path = |name: &str| base.path().join(name);
    for name in ["lower", "upper", "work", "merged"] {
        fs::create_dir(path(name)).expect("a directory");
    }
    fs::create_dir_all(path("lower/d/e")).expect("directories");
    fs::write(path("lower/d/file"), "lower").expect("a file");
    fs::write(path("lower/plain"), "lower").expect("a file");
    let (lower, upper, work) = (path("lower"), path("upper"), path("work"));
    let parts = format!(
        "lowerdir={},upperdir={},workdir={}{options}",
        shown(&lower),
        shown(&upper),
        shown(&work)
    );
    let merged = path("merged");
    run(
        "mount",
        &["-t", "overlay", "overlay", "-o", &parts, shown(&merged)],
    )?;
    let done = std::panic::catch_unwind(|| {
        let mut source = Fanotify::open(&merged, QueueSize::Unlimited).expect("root may");
        assert_eq!(source.describe().file_system, how);
        let expect = |source: &mut Fanotify, names: &[&str]| {
            let dirty = barrier(source);
            let found = paths(source, &dirty);
            for name in names {
                // A directory that was copied up is a dirty subtree.
                let path = merged.join(name);
                let mut above = path.ancestors().take_while(|above| *above != merged);
                assert!(
                    above.any(|p| found.contains(p)),
                    "{how}: {name} is not in {found:?}"
                );
            }
        };
        fs::write(merged.join("plain"), "copied up").expect("a copy");
        expect(&mut source, &["plain"]);
        let mut file = File::options()
            .append(true)
            .open(merged.join("plain"))
            .expect("a file");
        file.write_all(b"more").expect("room");
        drop(file);
        expect(&mut source, &["plain"]);
        fs::write(merged.join("d/e/new"), "").expect("a file");
        expect(&mut source, &["d/e/new"]);
        fs::remove_file(merged.join("d/file")).expect("a whiteout");
        expect(&mut source, &["d/file"]);
        fs::create_dir(merged.join("made")).expect("a directory");
        fs::rename(merged.join("made"), merged.join("moved")).expect("a rename");
        expect(&mut source, &["made", "moved"]);
    });
    run("umount", &[shown(&merged)])?;
    done.map_err(|panic| std::panic::resume_unwind(panic))
}

#[test]
fn an_overlay_is_watched_through_its_upper_directory() {
    on_overlay("", "overlay, through its upper directory").unwrap_or_else(|skip| skip.say());
}

#[test]
fn an_overlay_with_handles_is_watched_itself() {
    on_overlay(",nfs_export=on,index=on", "overlay").unwrap_or_else(|skip| skip.say());
}

#[test]
fn subvolumes_and_snapshots_are_seen() {
    if let Some(skip) = without_program("subvolumes", "btrfs") {
        return skip.say();
    }
    let Some(mount) = mounted(FileSystem::Btrfs, 256 << 20) else {
        return;
    };
    let path = |name: &str| mount.path().join(name);
    run("btrfs", &["subvolume", "create", shown(&path("home"))]).expect("a subvolume");
    fs::create_dir(path("home/d")).expect("a directory");
    fs::write(path("home/d/f"), "").expect("a file");
    // The root is within a subvolume; the top of the file system is above it.
    let mut source = Fanotify::open(&path("home"), QueueSize::Unlimited).expect("root may");
    fs::write(path("home/d/f"), "changed").expect("a file");
    let (home, snapshot) = (path("home"), path("home/snapshot"));
    run(
        "btrfs",
        &["subvolume", "snapshot", shown(&home), shown(&snapshot)],
    )
    .expect("a snapshot");
    let dirty = barrier(&mut source);
    let found = paths(&mut source, &dirty);
    assert!(
        found.contains(&path("home/d/f")) && found.contains(&snapshot),
        "{found:?}"
    );
    let subtrees = dirty.directories.values();
    let subtrees = subtrees.filter(|dirty| matches!(dirty, DirtyDirectory::Subtree(_)));
    assert_eq!(subtrees.count(), 1, "a snapshot has content from the start");
    fs::write(snapshot.join("d/f"), "changed there").expect("a file");
    let dirty = barrier(&mut source);
    assert!(paths(&mut source, &dirty).contains(&snapshot.join("d/f")));
}

#[test]
fn what_cannot_be_watched_says_what_to_do() {
    let error = Fanotify::open(Path::new("/proc"), QueueSize::Unlimited).expect_err("no");
    assert!(error.to_string().contains("poll it"), "{error}");
    let error = Fanotify::open(Path::new("/no/such/path"), QueueSize::Limited).expect_err("no");
    let said = "cannot read /no/such/path: no such file or directory";
    assert_eq!(error.to_string(), said);
    if let Some(skip) = without_root("watching without privileges") {
        return skip.say();
    }
    let user = User {
        uid: 4711,
        gid: 4711,
        groups: vec![],
    };
    let scratch = Scratch::new_in(Path::new("/dev/shm"), "refused");
    let error = as_user(&user, || {
        Fanotify::open(scratch.path(), QueueSize::Unlimited).map(drop)
    });
    let error = error
        .expect("a thread")
        .expect_err("not without privileges");
    assert!(
        error.to_string().contains("directory by directory"),
        "{error}"
    );
}

#[test]
fn a_directory_that_is_opened_up_is_watched_from_then_on() {
    if let Some(skip) = without_root("a closed directory") {
        return skip.say();
    }
    let Some(mount) = mounted(FileSystem::Ext4, 64 << 20) else {
        return;
    };
    let root = mount.path();
    let closed = root.join("closed");
    fs::create_dir_all(closed.join("inside")).expect("directories");
    for path in [&root, &closed, &closed.join("inside")] {
        std::os::unix::fs::chown(path, Some(4711), None).expect("root may");
    }
    let mode = |bits| fs::set_permissions(&closed, fs::Permissions::from_mode(bits)).expect("ours");
    mode(0o000);
    let user = User {
        uid: 4711,
        gid: 4711,
        groups: vec![],
    };
    let done = as_user(&user, || {
        let mut source = Directories::open(&root).expect("anybody may");
        // lost+found is root's.
        assert_eq!((source.marked(), source.describe().uncovered), (1, 2));
        mode(0o700);
        let dirty = barrier(&mut source);
        assert!(paths(&mut source, &dirty).contains(&closed), "{dirty:?}");
        assert_eq!((source.marked(), source.describe().uncovered), (3, 1));
        fs::write(closed.join("inside/file"), "").expect("ours");
        let dirty = barrier(&mut source);
        assert!(paths(&mut source, &dirty).contains(&closed.join("inside/file")));
    });
    done.expect("a thread");
}

fn noon() -> Timestamp {
    trawl_model::Timestamp {
        secs: 43_200,
        nanos: 0,
    }
}

/// Makes one pass, in small steps.
fn look_around(source: &mut Polling) -> Dirty {
    let mut set = DirtySet::default();
    source.look_now();
    while source.drain(3, &mut set).expect("it goes on").left == Remainder::More {}
    set.take()
}

#[test]
fn polling_sees_what_directories_show() {
    let scratch = Scratch::new("polling");
    let path = |name: &str| scratch.join(name);
    fs::create_dir_all(path("a/b")).expect("directories");
    fs::create_dir_all(path("c")).expect("directories");
    fs::write(path("a/file"), "").expect("a file");
    let hour = Duration::from_secs(3600);
    let mut source = Polling::open(scratch.path(), hour, noon).expect("it can be read");
    assert_eq!(source.describe().interval, Some(hour));
    let as_of = |source: &mut Polling| source.barrier(&mut DirtySet::default()).expect("yes").as_of;
    assert_eq!(as_of(&mut source), AsOf::Pass(None));
    let idle = source
        .drain(100, &mut DirtySet::default())
        .expect("it goes on");
    assert_eq!(idle.events, 0, "the interval is not over");
    let all: BTreeSet<_> = ["", "a", "a/b", "c"]
        .map(|name| path(name).components().collect())
        .into();
    let dirty = look_around(&mut source);
    assert_eq!(paths(&mut source, &dirty), all);
    assert_eq!(as_of(&mut source), AsOf::Pass(Some(noon())));
    look_around(&mut source);
    assert!(look_around(&mut source).is_empty(), "nothing happened");
    fs::write(path("a/b/new"), "").expect("a file");
    fs::write(path("a/file"), "other content, which no directory shows").expect("a file");
    let dirty = look_around(&mut source);
    assert_eq!(paths(&mut source, &dirty), BTreeSet::from([path("a/b")]));
    let dirty = look_around(&mut source);
    assert_eq!(
        paths(&mut source, &dirty),
        BTreeSet::from([path("a/b")]),
        "once more, to be sure"
    );
    fs::rename(path("a"), path("c/moved")).expect("the same file system");
    let dirty = look_around(&mut source);
    let found = paths(&mut source, &dirty);
    for name in ["c", "c/moved", "c/moved/b"] {
        assert!(found.contains(&path(name)), "{name} is not in {found:?}");
    }
    assert!(!found.contains(&path("a")));
}

#[test]
fn polling_begins_when_its_timer_goes_off() {
    let scratch = Scratch::new("polling");
    let tick = Duration::from_millis(1);
    let mut source = Polling::open(scratch.path(), tick, noon).expect("it can be read");
    let mut set = DirtySet::default();
    while source.drain(10, &mut set).expect("it goes on").events == 0 {
        thread::yield_now();
    }
    assert_eq!(set.take().directories.len(), 1);
}

/// Executes commands, one a line, and acknowledges each.
const HOLDER: &str = "
import ctypes, mmap, os, sys, threading
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
kept = []
def map(path, way):
    # The module's mapping would keep a descriptor.
    fd = os.open(path, os.O_RDWR)
    at = libc.mmap(None, 4096, mmap.PROT_READ | mmap.PROT_WRITE, way, fd, 0)
    os.close(fd)
    return at
def apart(path, done):
    libc.unshare(0x400)
    fd = os.open(path, os.O_WRONLY)
    done.set()
    threading.Event().wait()
for line in sys.stdin:
    what, path = line.rstrip('\\n').split(' ', 1)
    if what == 'write': kept.append(open(path, 'r+b'))
    if what == 'read': kept.append(open(path, 'rb'))
    if what == 'close': kept.clear()
    if what == 'map': mapped = map(path, mmap.MAP_SHARED)
    if what == 'map-private': map(path, mmap.MAP_PRIVATE)
    if what == 'unmap': libc.munmap(mapped, 4096)
    if what == 'write-apart':
        done = threading.Event()
        threading.Thread(target=apart, args=(path, done), daemon=True).start()
        done.wait()
    print('done', flush=True)
";

struct Holder {
    process: std::process::Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Holder {
    fn start() -> Holder {
        let mut process = oracle::command("python3")
            .args(["-c", HOLDER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 runs");
        let answers = BufReader::new(process.stdout.take().expect("a pipe"));
        Holder { process, answers }
    }

    fn tell(&mut self, what: &str, path: &Path) {
        let mut input = self.process.stdin.as_ref().expect("a pipe");
        writeln!(input, "{what} {}", path.display()).expect("it listens");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("an answer");
        assert_eq!(answer, "done\n");
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// Both methods of finding open files, if both are available.
fn ways() -> Vec<WriterSearch> {
    let ways = vec![WriterSearch::through_proc(), WriterSearch::new()];
    if ways[1].way() == SearchMethod::Proc {
        eprintln!("skipped in part, because this kernel takes no programs for its iterators");
    }
    ways
}

fn mounted_anywhere() -> Option<LoopMount> {
    mounted(FileSystem::Btrfs, 256 << 20).or_else(|| mounted(FileSystem::Ext4, 64 << 20))
}

fn searched_on(mount: &LoopMount, source: &Fanotify) -> [Searched; 1] {
    [Searched {
        file_system: source.file_system(),
        device: fs::metadata(mount.path()).expect("it is there").dev(),
    }]
}

fn key_of(source: &Fanotify, path: &Path) -> ObjectKey {
    let name = std::ffi::CString::new(path.as_os_str().as_bytes()).expect("no NUL");
    let handle = handle::of_name(CWD, &name, handle::Use::Open).expect("a handle");
    ObjectKey::new(source.file_system(), handle.kind(), handle.bytes())
}

fn as_sorted(found: &OpenWriters) -> Vec<(ObjectKey, u32, OpenHow)> {
    let files = found.files.iter();
    let mut hows: Vec<_> = files
        .map(|file| (file.object.clone(), file.process, file.how))
        .collect();
    hows.sort_by_key(|(key, ..)| key.clone());
    hows
}

#[test]
fn files_that_are_being_written_are_found() {
    if let Some(skip) = without_root("looking at all processes") {
        return skip.say();
    }
    let Some(mount) = mounted_anywhere() else {
        return;
    };
    let names = ["written", "read", "mapped"].map(|name| mount.path().join(name));
    for name in &names {
        fs::write(name, "some bytes").expect("a file");
    }
    let mut holder = Holder::start();
    holder.tell("write", &names[0]);
    holder.tell("read", &names[1]);
    holder.tell("map-private", &names[1]);
    holder.tell("map", &names[2]);
    let source = Fanotify::open(&mount.path(), QueueSize::Unlimited).expect("root may");
    let searched = searched_on(&mount, &source);
    let process = holder.process.id();
    let mut expected = vec![
        (key_of(&source, &names[0]), process, OpenHow::Descriptor),
        (key_of(&source, &names[2]), process, OpenHow::Mapping),
    ];
    expected.sort_by_key(|(key, ..)| key.clone());
    let mut ways = ways();
    for search in &mut ways {
        let found = search.look(&searched).expect("/proc can be read");
        assert_eq!(as_sorted(&found), expected, "{:?}", search.way());
        assert!(!found.hidden.contains(&process), "{:?}", found.hidden);
    }
    let user = User {
        uid: 4711,
        gid: 4711,
        groups: vec![],
    };
    let blind = as_user(&user, || WriterSearch::through_proc().look(&searched))
        .expect("a thread")
        .expect("/proc");
    assert!(blind.hidden.contains(&process), "{blind:?}");
    drop(holder);
    for search in &mut ways {
        let found = search.look(&searched).expect("/proc can be read");
        assert!(found.files.is_empty(), "{:?}", search.way());
    }
}

#[test]
fn what_is_opened_mapped_and_let_go_later_is_noticed() {
    if let Some(skip) = without_root("looking at all processes") {
        return skip.say();
    }
    let Some(mount) = mounted_anywhere() else {
        return;
    };
    let (one, other) = (mount.path().join("one"), mount.path().join("other"));
    for name in [&one, &other] {
        fs::write(name, "some bytes").expect("a file");
    }
    let source = Fanotify::open(&mount.path(), QueueSize::Unlimited).expect("root may");
    let searched = searched_on(&mount, &source);
    let keys = [&one, &other].map(|path| key_of(&source, path));
    let mut holder = Holder::start();
    let mut ways = ways();
    let mut look = |step: &str, expected: &[(&ObjectKey, OpenHow)]| {
        for search in &mut ways {
            // In the second round, the search has remembered mappings.
            for _ in 0..2 {
                let found = search.look(&searched).expect("/proc can be read");
                let mut found: Vec<_> = found.files.iter().map(|f| (&f.object, f.how)).collect();
                found.sort_by_key(|(key, _)| (*key).clone());
                let mut expected = expected.to_vec();
                expected.sort_by_key(|(key, _)| (*key).clone());
                assert_eq!(found, expected, "{step}, {:?}", search.way());
            }
        }
    };
    look("nothing yet", &[]);
    holder.tell("map", &one);
    look("mapped", &[(&keys[0], OpenHow::Mapping)]);
    holder.tell("write", &other);
    let both = [
        (&keys[0], OpenHow::Mapping),
        (&keys[1], OpenHow::Descriptor),
    ];
    look("mapped and open", &both);
    holder.tell("unmap", &one);
    look("open", &[(&keys[1], OpenHow::Descriptor)]);
    holder.tell("close", &other);
    look("closed", &[]);
    holder.tell("map", &other);
    look("mapped again", &[(&keys[1], OpenHow::Mapping)]);
    let mut second = Holder::start();
    second.tell("map", &one);
    let both = [(&keys[0], OpenHow::Mapping), (&keys[1], OpenHow::Mapping)];
    look("mapped by two", &both);
    drop(holder);
    look("mapped by one", &[(&keys[0], OpenHow::Mapping)]);
}

/// Files of two subvolumes may have the same inode number, and the kernel gives both the device number
/// of the file system.
#[test]
fn open_files_of_two_subvolumes_are_both_found() {
    if let Some(skip) = without_program("subvolumes", "btrfs") {
        return skip.say();
    }
    let Some(mount) = mounted(FileSystem::Btrfs, 256 << 20) else {
        return;
    };
    let subvolumes = ["one", "other"].map(|name| mount.path().join(name));
    let source = Fanotify::open(&mount.path(), QueueSize::Unlimited).expect("root may");
    let files = subvolumes.each_ref().map(|path| {
        run("btrfs", &["subvolume", "create", shown(path)]).expect("a subvolume");
        fs::File::create(path.join("file")).expect("room")
    });
    let inode = |file: &fs::File| file.metadata().expect("it is open").ino();
    assert_eq!(inode(&files[0]), inode(&files[1]), "the premise");
    let searched = subvolumes.each_ref().map(|path| Searched {
        file_system: source.file_system(),
        device: fs::metadata(path).expect("it is there").dev(),
    });
    let mut keys = subvolumes.map(|path| key_of(&source, &path.join("file")));
    keys.sort();
    for mut search in ways() {
        let found = search.look(&searched).expect("/proc can be read");
        let mut found: Vec<_> = found.files.into_iter().map(|file| file.object).collect();
        found.sort();
        assert_eq!(found, keys, "{:?}", search.way());
    }
}

/// A thread may have descriptors that its process does not have; `/proc` shows them only to a
/// reader that knows the thread's id.
#[test]
fn the_kernel_names_files_of_threads_with_descriptors_of_their_own() {
    if let Some(skip) = without_root("looking at all processes") {
        return skip.say();
    }
    let mut search = WriterSearch::new();
    if search.way() == SearchMethod::Proc {
        return eprintln!("skipped, because this kernel takes no programs for its iterators");
    }
    let Some(mount) = mounted_anywhere() else {
        return;
    };
    let path = mount.path().join("file");
    fs::write(&path, "some bytes").expect("a file");
    let source = Fanotify::open(&mount.path(), QueueSize::Unlimited).expect("root may");
    let mut holder = Holder::start();
    holder.tell("write-apart", &path);
    let found = search.look(&searched_on(&mount, &source)).expect("/proc");
    let keys: Vec<_> = found.files.iter().map(|file| &file.object).collect();
    assert_eq!(keys, [&key_of(&source, &path)]);
    assert_ne!(found.files[0].process, holder.process.id());
}

/// Keys contain the inode number where a number identifies one object, but not on btrfs, whose
/// subvolumes use the same numbers.
#[test]
fn keys_tell_the_inode_number_where_that_is_safe() {
    for kind in [
        FileSystem::Ext4,
        FileSystem::Xfs,
        FileSystem::Tmpfs,
        FileSystem::Btrfs,
    ] {
        let Some(mount) = mounted(kind, 512 << 20) else {
            continue;
        };
        let mut source = Fanotify::open(&mount.path(), QueueSize::Limited).expect("root may");
        let mut inodes = BTreeSet::new();
        for number in 0..20 {
            let file = mount.path().join(format!("file{number}"));
            fs::write(&file, "").expect("a file");
            inodes.insert(fs::metadata(&file).expect("it is there").ino());
        }
        let dirty = barrier(&mut source);
        let places = source.places();
        let objects = dirty.objects.keys();
        let told: BTreeSet<u64> = objects
            .filter_map(|key| places.inode_of(key.as_ref()))
            .collect();
        match kind {
            FileSystem::Btrfs => assert!(told.is_empty(), "{told:?}"),
            _ => assert_eq!(told, inodes, "{kind:?}"),
        }
    }
}
