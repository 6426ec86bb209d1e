//! `trawl watch` when file systems are mounted or unmounted within a tree, or the tree itself is:
//! the next answer is what find prints then.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::{FileSystem, LoopMount, Scratch, Skip, lines};

use crate::watch::patiently;

const LONG: Duration = Duration::from_secs(60);
const ANN: u32 = 4821;

/// A file system, a source in it, and a daemon that watches the source.
struct Site {
    daemon: Option<Child>,
    said: Arc<Mutex<String>>,
    /// Mount points, which are unmounted at the end.
    made: Vec<PathBuf>,
    source: PathBuf,
    index: PathBuf,
    // Dropped last, in this order.
    mount: LoopMount,
    scratch: Scratch,
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        for point in self.made.drain(..).rev() {
            oracle::run(oracle::command("umount").arg("--lazy").arg(point));
        }
    }
}

impl Site {
    /// Creates a file system with some directories in `source`, which is below its root.
    fn new(kind: FileSystem) -> Option<Site> {
        let mount = LoopMount::new(kind, 128 << 20);
        let mount = mount.map_err(|skip: Skip| skip.say()).ok()?;
        let scratch = Scratch::new("mounts");
        let site = Site {
            daemon: None,
            said: Arc::default(),
            made: Vec::new(),
            source: mount.path().join("source"),
            index: scratch.join("index"),
            mount,
            scratch,
        };
        for dir in ["a/below", "b", "c/deep", "empty"] {
            fs::create_dir_all(site.source.join(dir)).expect("room");
        }
        for file in ["a/one", "a/below/two", "c/deep/three", "plain"] {
            fs::write(site.source.join(file), file).expect("room");
        }
        fs::create_dir_all(site.mount.path().join("outside/in")).expect("room");
        // Mounts can only be moved if their parent is not shared.
        let private = oracle::run(command("mount", &["--make-private"]).arg(site.mount.path()));
        private.expect_code(0);
        Some(site)
    }

    fn watched(kind: FileSystem) -> Option<Site> {
        let mut site = Site::new(kind)?;
        site.start();
        Some(site)
    }

    fn program(&self) -> Command {
        let mut command = oracle::command(env!("CARGO_BIN_EXE_trawl"));
        command.env("TRAWL_INDEX", &self.index);
        command
    }

    fn start(&mut self) {
        let mut watch = self.program();
        watch.arg("watch").arg(&self.source);
        self.start_as(watch);
    }

    fn start_as(&mut self, mut command: Command) {
        let mut daemon = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let said = BufReader::new(daemon.stderr.take().expect("a pipe"));
        let heard = Arc::clone(&self.said);
        std::thread::spawn(move || {
            for line in said.lines().map_while(Result::ok) {
                eprintln!("{line}");
                let mut heard = heard.lock().expect("no panic");
                heard.push_str(&line);
                heard.push('\n');
            }
        });
        self.daemon = Some(daemon);
        self.wait_for("watching");
    }

    /// Waits until the daemon has said this, and forgets what it said.
    #[track_caller]
    fn wait_for(&self, words: &str) {
        let begun = Instant::now();
        loop {
            let mut said = self.said.lock().expect("no panic");
            if said.contains(words) {
                said.clear();
                return;
            }
            assert!(begun.elapsed() < LONG, "{words:?} in {said}");
            drop(said);
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn mount(&mut self, words: &[&str], point: &str) {
        let point = self.source.join(point);
        let ran = oracle::run(command("mount", words).arg(&point));
        ran.expect_code(0);
        self.made.push(point);
    }

    fn mount_tmpfs(&mut self, point: &str) {
        self.mount(&["-t", "tmpfs", "-o", "size=1m", "trawl-test"], point);
    }

    fn umount(&self, words: &[&str], point: &str) {
        let ran = oracle::run(command("umount", words).arg(self.source.join(point)));
        ran.expect_code(0);
    }

    /// Compares what find prints with the index's answer after a barrier.
    #[track_caller]
    fn compare(&self) {
        self.compare_with(&["-xdev"]);
    }

    #[track_caller]
    fn compare_with(&self, options: &[&str]) {
        let mut words = options.to_vec();
        words.extend(["-printf", "%p %y %i %s %m %U %G %T@ %C@ %n %l\\n"]);
        let expected = oracle::run(oracle::command("find").arg(&self.source).args(&words));
        let mut program = self.program();
        program.arg("find").arg(&self.source).args(&words);
        let found = patiently(|| oracle::run(&mut program));
        assert_eq!((found.code, found.errors()), (Some(0), String::new()));
        let (order, ending) = (lines::Order::Any, lines::Ending::Newline);
        lines::assert_same("the tree", &expected.stdout, &found.stdout, order, ending);
    }
}

fn command(program: &str, words: &[&str]) -> Command {
    let mut command = oracle::command(program);
    command.args(words);
    command
}

fn path(path: &Path) -> &str {
    path.to_str().expect("text")
}

#[test]
fn what_is_mounted_over_a_directory_takes_its_place_and_gives_it_back() {
    let Some(mut site) = Site::watched(FileSystem::Ext4) else {
        return;
    };
    site.compare();
    site.mount_tmpfs("a");
    site.compare();
    // The entries seen there have attributes of their own, which change without an event.
    let a = site.source.join("a");
    fs::write(a.join("inside"), "x").expect("room");
    fs::set_permissions(&a, fs::Permissions::from_mode(0o711)).expect("root may");
    site.compare();
    // One mount above the other, and a directory in the mounted file system.
    site.mount_tmpfs("a");
    site.compare();
    site.umount(&[], "a");
    site.compare();
    fs::create_dir(a.join("below")).expect("room");
    site.mount_tmpfs("a/below");
    site.compare();
    site.umount(&[], "a/below");
    site.umount(&[], "a");
    site.compare();
    // The directory underneath is still watched.
    fs::write(a.join("below/new"), "x").expect("room");
    site.compare();
}

#[test]
fn unmounted_lazily_moved_and_in_a_directory_that_is_renamed() {
    let Some(mut site) = Site::watched(FileSystem::Ext4) else {
        return;
    };
    site.mount_tmpfs("c/deep");
    site.compare();
    let (from, to) = (site.source.join("c/deep"), site.source.join("a/below"));
    let open = fs::File::create(from.join("held open")).expect("room");
    oracle::run(&mut command("mount", &["--move", path(&from), path(&to)])).expect_code(0);
    site.made.push(to);
    site.compare();
    site.umount(&["--lazy"], "a/below");
    site.compare();
    drop(open);
    // Its mount point gets another path, which the mount table does not report.
    for asks_between in [true, false] {
        site.mount_tmpfs("c/deep");
        site.compare();
        let (old, new) = (site.source.join("c"), site.source.join("b/c"));
        fs::rename(&old, &new).expect("its parent can be renamed");
        if asks_between {
            site.compare();
            fs::write(new.join("deep/made"), "x").expect("room");
            site.compare();
        }
        site.umount(&[], "b/c/deep");
        site.compare();
        fs::rename(&new, &old).expect("and back");
        site.compare();
    }
}

/// Makes changes in a directory that has two paths, through either of them.
fn change_copies(site: &Site, [one, two]: [&Path; 2]) {
    fs::write(one.join("made by the first"), "x").expect("room");
    site.compare();
    fs::create_dir_all(two.join("made/by/the/second")).expect("room");
    fs::write(two.join("made/by/file"), "x").expect("room");
    site.compare();
    fs::rename(one.join("made/by"), one.join("moved")).expect("it is there");
    fs::set_permissions(two.join("moved"), fs::Permissions::from_mode(0o700)).expect("root may");
    site.compare();
    fs::write(one.join("moved/file"), "longer than before").expect("room");
    fs::hard_link(two.join("moved/file"), two.join("link")).expect("room");
    site.compare();
    fs::remove_dir_all(two.join("moved")).expect("root may");
    chown(one, Some(ANN), None).expect("root may");
    site.compare();
}

#[test]
fn a_directory_of_the_same_file_system_is_in_both_of_its_places() {
    for kind in [FileSystem::Ext4, FileSystem::Tmpfs, FileSystem::Btrfs] {
        let Some(mut site) = Site::watched(kind) else {
            return;
        };
        let source = site.source.clone();
        let (a, b) = (source.join("a"), source.join("b"));
        site.mount(&["--bind", path(&a)], "b");
        site.compare();
        change_copies(&site, [&a, &b]);
        site.umount(&[], "b");
        site.compare();
        // From outside of the source, where events otherwise belong to no source.
        let outside = site.mount.path().join("outside");
        site.mount(&["--bind", path(&outside)], "empty");
        site.compare();
        change_copies(&site, [&outside, &source.join("empty")]);
        // Mounted on itself, without the mounts below.
        site.mount_tmpfs("a/below");
        site.compare();
        site.mount(&["--bind", path(&a)], "a");
        site.compare();
        site.umount(&[], "a");
        site.compare();
        site.umount(&[], "a/below");
        // A file on another file.
        let one = source.join("c/deep/three");
        site.mount(&["--bind", path(&one)], "plain");
        site.compare();
        fs::write(&one, "another content").expect("room");
        site.compare();
        site.umount(&[], "plain");
        site.compare();
    }
}

#[test]
fn where_mounts_are_crossed_what_is_mounted_is_in_the_index() {
    let Some(mut site) = Site::new(FileSystem::Ext4) else {
        return;
    };
    let words = ["index", "--quiet", "--cross-file-systems"];
    oracle::run(site.program().args(words).arg(&site.source)).expect_code(0);
    site.start();
    site.compare_with(&[]);
    let other = site.scratch.join("other");
    fs::create_dir(&other).expect("room");
    oracle::run(command("mount", &["-t", "tmpfs", "trawl-test"]).arg(&other)).expect_code(0);
    site.made.push(other.clone());
    fs::create_dir_all(other.join("x/y")).expect("room");
    site.mount(&["--bind", path(&other)], "a/below");
    site.compare_with(&[]);
    site.mount_tmpfs("a/below/x");
    site.compare_with(&[]);
    // Changes in the mounted file system are noticed, too; changes beside it do not belong to the
    // source.
    fs::write(site.source.join("a/below/new"), "x").expect("room");
    fs::write(site.source.join("a/below/x/newer"), "y").expect("room");
    site.compare_with(&[]);
    fs::rename(
        site.source.join("a/below/new"),
        site.source.join("a/below/x-of-another-name"),
    )
    .expect("it is there");
    site.compare_with(&[]);
    fs::set_permissions(
        site.source.join("a/below/x/newer"),
        fs::Permissions::from_mode(0o600),
    )
    .expect("it is there");
    site.compare_with(&[]);
    fs::remove_file(site.source.join("a/below/x-of-another-name")).expect("it is there");
    site.compare_with(&[]);
    site.umount(&["--recursive"], "a/below");
    site.compare_with(&[]);
}

#[test]
fn what_is_crossed_into_and_cannot_be_watched_is_named() {
    let Some(mut site) = Site::new(FileSystem::Ext4) else {
        return;
    };
    // A kind of file system whose events are not verified.
    let point = site.source.join("b");
    let mount = oracle::run(command("mount", &["-t", "ramfs", "trawl-test"]).arg(&point));
    if mount.code != Some(0) {
        return Skip::new("mounts", "no ramfs can be mounted").say();
    }
    site.made.push(point.clone());
    let words = ["index", "--quiet", "--cross-file-systems"];
    oracle::run(site.program().args(words).arg(&site.source)).expect_code(0);
    site.start();
    fs::write(point.join("new"), "x").expect("room");
    let asked = oracle::run(site.program().arg("find").arg(&site.source));
    let said = String::from_utf8_lossy(&asked.stderr);
    assert_eq!(asked.code, Some(1), "{said}");
    assert!(
        said.contains(path(&point)) && said.contains("not noticed"),
        "{said}"
    );
    // Once it is gone, everything is well.
    site.umount(&[], "b");
    site.compare_with(&[]);
}

#[test]
fn a_source_that_is_unmounted_is_what_is_there_then_and_comes_back() {
    let Some(mut site) = Site::new(FileSystem::Ext4) else {
        return;
    };
    // The root is a mount point, with a file system of its own.
    let disk = LoopMount::new(FileSystem::Xfs, 320 << 20);
    let Ok(disk) = disk.map_err(|skip| skip.say()) else {
        return;
    };
    fs::create_dir_all(disk.path().join("of the disk")).expect("room");
    let on = disk.path();
    site.mount(&["--bind", path(&on)], "b");
    let above = std::mem::replace(&mut site.source, on.clone());
    site.source = above.join("b");
    site.start();
    site.compare();
    oracle::run(command("umount", &[]).arg(&site.source)).expect_code(0);
    site.wait_for("was unmounted from");
    site.compare();
    oracle::run(command("mount", &["--bind", path(&on)]).arg(&site.source)).expect_code(0);
    fs::write(on.join("of the disk/new"), "x").expect("room");
    site.compare();
    site.wait_for("was mounted over it, on");
    // Something is mounted over it, and unmounted again.
    let source = site.source.clone();
    site.mount_tmpfs("");
    site.compare();
    oracle::run(command("umount", &["--lazy"]).arg(&source)).expect_code(0);
    site.compare();
    fs::write(on.join("newer"), "x").expect("room");
    site.compare();
    let remount = |how: &str| {
        let how = format!("remount,{how}");
        oracle::run(command("mount", &["-o", &how]).arg(&on)).expect_code(0);
    };
    remount("ro");
    site.wait_for("its file system was made read-only");
    site.compare();
    let status = oracle::run(site.program().args(["watch", "--status"])).text();
    assert!(status.contains("xfs, read-only"), "{status}");
    remount("rw");
    site.wait_for("its file system was made writable again");
    fs::write(on.join("newest"), "x").expect("room");
    site.compare();
}

#[test]
fn the_daemon_leaves_a_file_system_that_is_unmounted() {
    let Some(mut site) = Site::new(FileSystem::Ext4) else {
        return;
    };
    let image = site.scratch.join("image");
    let file = fs::File::create(&image).expect("a file");
    file.set_len(8 << 20).expect("room");
    let made = oracle::run(command("mkfs.ext4", &["-q", "-F"]).arg(&image));
    if made.code != Some(0) {
        return Skip::new("a disk", made).say();
    }
    site.mount(&["-o", "loop", path(&image)], "b");
    site.source.push("b");
    site.start();
    site.compare();
    oracle::run(command("umount", &[]).arg(&site.source)).expect_code(0);
    // Its device is free once nobody uses the file system.
    let begun = Instant::now();
    let is_used = || {
        let listed = oracle::run(command("losetup", &["-j"]).arg(&image));
        listed.text().contains("image")
    };
    while is_used() {
        assert!(begun.elapsed() < LONG, "the daemon holds it");
        std::thread::sleep(Duration::from_millis(20));
    }
    site.source.pop();
}

#[test]
fn in_a_tree_that_an_ordinary_user_watches() {
    let Some(mut site) = Site::new(FileSystem::Ext4) else {
        return;
    };
    for dir in ["", "a", "a/below", "b", "c", "c/deep", "empty"] {
        chown(site.source.join(dir), Some(ANN), Some(ANN)).expect("root may");
    }
    let home = site.scratch.join("home");
    fs::create_dir(&home).expect("room");
    chown(&home, Some(ANN), Some(ANN)).expect("root may");
    site.index = home.join("index");
    let mut watch = Identity::user(ANN).command(env!("CARGO_BIN_EXE_trawl"));
    watch.env("TRAWL_INDEX", &site.index);
    watch.arg("watch").arg(&site.source);
    let (one, two) = (site.source.join("c/one"), site.source.join("c/deep/two"));
    fs::write(&one, "x").expect("room");
    fs::hard_link(&one, &two).expect("room");
    site.start_as(watch);
    site.compare();
    // A file is current under each of its names, whichever was used.
    fs::write(&one, "longer").expect("room");
    site.compare();
    fs::set_permissions(&two, fs::Permissions::from_mode(0o640)).expect("root may");
    site.compare();
    fs::hard_link(&two, site.source.join("empty/three")).expect("room");
    site.compare();
    fs::remove_file(&one).expect("it is there");
    site.compare();
    site.mount_tmpfs("a");
    site.compare();
    site.umount(&[], "a");
    fs::write(site.source.join("a/below/new"), "x").expect("room");
    site.compare();
    let (a, b) = (site.source.join("a"), site.source.join("b"));
    site.mount(&["--bind", path(&a)], "b");
    site.compare();
    fs::write(a.join("below/newer"), "x").expect("room");
    site.compare();
    fs::write(b.join("below/newest"), "x").expect("room");
    site.compare();
}
