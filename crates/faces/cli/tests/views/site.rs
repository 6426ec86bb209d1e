//! A tree, and views of it that are mounted.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use trawl_testkit::Scratch;
use trawl_testkit::lines::{self, Ending, Order};
use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::skip::{Skip, is_root};

/// Longer than anything here takes.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Returns true, and says why, if views cannot be mounted here by root.
pub(crate) fn cannot(what: &str) -> bool {
    let fuse = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/fuse");
    let skip = match fuse {
        _ if !is_root() => Skip::new(what, "it needs root"),
        Err(error) => Skip::new(what, format_args!("/dev/fuse: {error}")),
        Ok(_) => return false,
    };
    skip.say();
    true
}

/// A tree, its views, and the program in a place where every user can run it.
pub(crate) struct Site {
    pub(crate) scratch: Scratch,
    pub(crate) program: PathBuf,
}

pub(crate) fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("our own");
}

impl Site {
    /// Makes a site with these files, each with its name as content.
    pub(crate) fn new(label: &str, files: &[&str]) -> Site {
        let scratch = Scratch::new(label);
        let program = scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
        let site = Site { scratch, program };
        for name in ["tree", "point", "home", "definitions"] {
            fs::create_dir(site.scratch.join(name)).expect("room");
            mode(&site.scratch.join(name), 0o755);
        }
        files.iter().for_each(|file| site.write(file));
        site
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.scratch.join("tree")
    }

    pub(crate) fn point(&self) -> PathBuf {
        self.scratch.join("point")
    }

    pub(crate) fn write(&self, name: &str) {
        let path = self.tree().join(name);
        let parent = path.parent().expect("it has one");
        if !parent.is_dir() {
            fs::create_dir_all(parent).expect("room");
        }
        fs::write(&path, name).expect("room");
    }

    /// Returns the program with these words, with a home and views of its own.
    pub(crate) fn trawl(&self, identity: &Identity, words: &[&str]) -> Command {
        let mut command = identity.command(&self.program);
        command.env("HOME", self.scratch.join("home"));
        command.env("TRAWL_INDEX", self.scratch.join("index"));
        command.args(words);
        command
    }

    /// Defines a view for everybody.
    pub(crate) fn define(&self, name: &str, words: &[&str]) {
        let mut command = self.trawl(&Identity::Ourselves, &["view", "define", "--system"]);
        command
            .arg("--definitions")
            .arg(self.scratch.join("definitions"));
        command.arg(name).arg(self.tree()).args(words);
        oracle::run(&mut command).expect_code(0);
    }

    /// Mounts the views as this user.
    pub(crate) fn mount_as(&self, identity: &Identity, words: &[&str]) -> Mounted {
        let index = self.scratch.join("index");
        self.mount_with(&self.point(), &index, identity, words)
    }

    /// Mounts the views for all users, with another index.
    pub(crate) fn mount_of(&self, index: &Path) -> Mounted {
        self.mount_with(&self.point(), index, &Identity::Ourselves, &["--all-users"])
    }

    /// Mounts the views for all users on another directory.
    pub(crate) fn mount_on(&self, point: &Path) -> Mounted {
        let index = self.scratch.join("index");
        self.mount_with(point, &index, &Identity::Ourselves, &["--all-users"])
    }

    fn mount_with(
        &self,
        point: &Path,
        index: &Path,
        identity: &Identity,
        words: &[&str],
    ) -> Mounted {
        let mut command = self.trawl(identity, &["mount", "--foreground", "--ready"]);
        command.env("TRAWL_INDEX", index);
        command
            .arg("--definitions")
            .arg(self.scratch.join("definitions"));
        command.arg("--views").arg(point).args(words);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let mut said = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        said.read_line(&mut line).expect("text");
        let mounted = Mounted {
            child,
            point: point.to_owned(),
        };
        assert_eq!(line, "ready\n", "it is mounted");
        mounted
    }

    /// Mounts the views for all users.
    pub(crate) fn mount(&self) -> Mounted {
        self.mount_as(&Identity::Ourselves, &["--all-users"])
    }

    /// Returns the name of the directory of a question in its short form about the tree.
    pub(crate) fn short(&self, terms: &str) -> String {
        let tree = self.tree();
        let tree = tree.to_str().expect("ours").replace('/', "%2F");
        match terms {
            "" => format!("?in:{tree}"),
            terms => format!("?in:{tree}&{terms}"),
        }
    }

    /// Returns what find prints about the tree, run as this user.
    pub(crate) fn found(&self, identity: &Identity, words: &[&str]) -> Vec<Vec<u8>> {
        let mut command = identity.command("find");
        command.arg(self.tree()).args(words).arg("-print0");
        sorted(&oracle::run(&mut command).stdout)
    }
}

/// Counts the questions of a mount: each starts a process that runs the program of the site.
pub(crate) struct Questions(OwnedFd);

impl Questions {
    /// Counts from now on.
    pub(crate) fn new(site: &Site) -> Questions {
        let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).expect("room");
        // The kernel merges equal events in a row. Between two starts, one process after the other,
        // is an end.
        let flags = WatchFlags::OPEN | WatchFlags::CLOSE_NOWRITE;
        inotify::add_watch(&queue, &site.program, flags).expect("ours");
        Questions(queue)
    }

    /// Returns how many questions there were since the last call. More than the kernel keeps events
    /// of are `usize::MAX`.
    pub(crate) fn count(&self) -> usize {
        let mut room = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&self.0, &mut room);
        let mut count = 0;
        loop {
            match events.next() {
                Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => {
                    return usize::MAX;
                }
                Ok(event) if event.events().contains(ReadFlags::OPEN) => count += 1,
                Ok(_) => {}
                Err(Errno::AGAIN) => return count,
                Err(error) => panic!("inotify: {error}"),
            }
        }
    }

    /// Does work in which one process looks names of a view up, and returns how many questions that
    /// took. Panics if they were more than the names' lives explain, however slow the machine is:
    /// an answer to a question about all names lasts a second, and at most three names in five
    /// seconds are asked for one by one.
    #[track_caller]
    pub(crate) fn few<T>(&self, work: impl FnOnce() -> T) -> (T, usize) {
        self.count();
        let begun = Instant::now();
        let done = work();
        let seconds = usize::try_from(begun.elapsed().as_secs()).expect("it ends") + 1;
        let (count, most) = (self.count(), 1 + seconds + 3 * seconds.div_ceil(5));
        assert!(count <= most, "{count} questions in {seconds} s");
        (done, count)
    }
}

/// Returns the parts of bytes that end with NUL, sorted.
pub(crate) fn sorted(bytes: &[u8]) -> Vec<Vec<u8>> {
    let parts = bytes
        .split(|byte| *byte == 0)
        .filter(|part| !part.is_empty());
    let mut parts: Vec<Vec<u8>> = parts.map(<[u8]>::to_vec).collect();
    parts.sort();
    parts
}

/// Views that are mounted; unmounted when dropped.
pub(crate) struct Mounted {
    pub(crate) child: Child,
    pub(crate) point: PathBuf,
}

impl Mounted {
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.point.join(name)
    }

    /// Sends SIGTERM, waits for the end and returns the exit code.
    pub(crate) fn stop(&mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        let _ = oracle::run(oracle::command("kill").arg(&pid));
        let until = Instant::now() + LONG;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().expect("our child") {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }

    /// Returns the processes that answer questions now.
    pub(crate) fn workers(&self) -> Vec<u32> {
        let threads = fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let mut found = Vec::new();
        for thread in threads.into_iter().flatten().flatten() {
            let children = fs::read_to_string(thread.path().join("children"));
            let children = children.unwrap_or_default();
            found.extend(
                children
                    .split_whitespace()
                    .filter_map(|pid| pid.parse::<u32>().ok()),
            );
        }
        found
    }

    /// Returns the names and targets in a view, as this user reads them.
    pub(crate) fn members(&self, view: &str, identity: &Identity) -> BTreeMap<Vec<u8>, Vec<u8>> {
        self.read(view, identity).0
    }

    /// Returns the links in a view with their targets, and what find said while it read them.
    pub(crate) fn read(
        &self,
        view: &str,
        identity: &Identity,
    ) -> (BTreeMap<Vec<u8>, Vec<u8>>, Ran) {
        let mut command = identity.command("find");
        command
            .arg(self.join(view))
            .args(["-mindepth", "1", "-type", "l"]);
        command.args(["-printf", "%f\\0%l\\0"]);
        let ran = oracle::run(&mut command);
        let parts: Vec<&[u8]> = ran.stdout.split(|byte| *byte == 0).collect();
        let pairs = parts.chunks_exact(2);
        let count = pairs.len();
        let members: BTreeMap<Vec<u8>, Vec<u8>> = pairs
            .map(|pair| (pair[0].to_vec(), pair[1].to_vec()))
            .collect();
        assert_eq!(members.len(), count, "no name comes twice");
        (members, ran)
    }

    /// Compares the members of a view with what find prints.
    #[track_caller]
    pub(crate) fn expect(&self, view: &str, identity: &Identity, theirs: &[Vec<u8>]) {
        let mut ours: Vec<Vec<u8>> = self.members(view, identity).into_values().collect();
        ours.sort();
        let difference = lines::difference(&join(theirs), &join(&ours), Order::Any, Ending::Zero);
        assert!(ours == theirs, "{view}: {difference:?}");
    }

    /// Lists names.
    pub(crate) fn names(&self, view: &str) -> std::io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.join(view))? {
            names.push(entry?.file_name().into_string().expect("ours are text"));
        }
        names.sort();
        Ok(names)
    }
}

fn join(parts: &[Vec<u8>]) -> Vec<u8> {
    parts.join(&0)
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if self.stop().is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        if is_mounted(&self.point) {
            let _ = oracle::run(oracle::command("umount").arg("-l").arg(&self.point));
        }
    }
}

pub(crate) fn is_mounted(point: &Path) -> bool {
    let table = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let point = point.as_os_str().as_bytes();
    table.split(|byte| *byte == b'\n').any(|line| {
        let mut words = line.split(|byte| *byte == b' ');
        words.nth(4) == Some(point)
    })
}
