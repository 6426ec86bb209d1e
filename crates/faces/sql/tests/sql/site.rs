//! Provides a tree with an index, and runs queries on it.

use std::ffi::OsString;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use trawl_testkit::Scratch;
use trawl_testkit::oracle::{self, Identity, Ran};

/// A tree and its index.
pub(crate) struct Site {
    pub(crate) scratch: Scratch,
}

impl Site {
    /// Makes an empty tree, not indexed.
    pub(crate) fn empty(label: &str) -> Site {
        let scratch = Scratch::new(label);
        std::fs::create_dir(scratch.join("tree")).expect("a directory");
        Site { scratch }
    }

    /// Makes a tree as found on servers, and indexes it.
    pub(crate) fn server(label: &str) -> Site {
        let site = Site::empty(label);
        build(&site.tree());
        site.index();
        site
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.scratch.join("tree")
    }

    pub(crate) fn index_dir(&self) -> PathBuf {
        self.scratch.join("index")
    }

    /// Indexes the tree, in this process.
    #[track_caller]
    pub(crate) fn index(&self) {
        self.index_with(&[]);
    }

    #[track_caller]
    pub(crate) fn index_with(&self, options: &[&str]) {
        let mut words: Vec<OsString> = vec!["trawl".into(), "-i".into(), self.index_dir().into()];
        words.extend(["index".into(), "--quiet".into()]);
        words.extend(options.iter().map(OsString::from));
        words.push(self.tree().into());
        let exit = trawl_cli::run(words);
        assert!(matches!(exit.code(), 0 | 1), "{exit:?}");
    }

    /// Returns a command that runs the program as this user, with the index.
    pub(crate) fn command(&self, who: &Identity) -> Command {
        let program = match who {
            Identity::Ourselves => PathBuf::from(env!("CARGO_BIN_EXE_trawl-sql")),
            _ => self.scratch.join("trawl-sql"),
        };
        let mut command = who.command(program);
        command
            .env("TRAWL_INDEX", self.index_dir())
            .env("HOME", "/nonexistent")
            .env("TZ", "UTC")
            .env_remove("XDG_STATE_HOME")
            .current_dir(self.tree());
        command
    }

    /// Runs the program with these arguments.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        oracle::run(self.command(&Identity::Ourselves).args(arguments))
    }

    /// Returns the lines of a query's answer as CSV, without the heading.
    #[track_caller]
    pub(crate) fn rows(&self, query: &str) -> Vec<String> {
        self.rows_as(&Identity::Ourselves, query)
    }

    #[track_caller]
    pub(crate) fn rows_as(&self, who: &Identity, query: &str) -> Vec<String> {
        let ran = oracle::run(self.command(who).args(["--csv", &self.placed(query)]));
        assert_eq!(ran.code, Some(0), "{query}\n{ran}");
        ran.text().lines().skip(1).map(str::to_owned).collect()
    }

    /// Replaces the paths in an example's query by paths in the tree.
    pub(crate) fn placed(&self, query: &str) -> String {
        let tree = self.tree().display().to_string();
        ["scratch", "home", "projects", "sw"]
            .iter()
            .fold(query.to_owned(), |query, top| {
                query.replace(&format!("'/{top}"), &format!("'{tree}/{top}"))
            })
    }

    /// Returns what find prints in the tree, one record per line, sorted.
    #[track_caller]
    pub(crate) fn find(&self, words: &[&str]) -> Vec<String> {
        self.find_as(&Identity::Ourselves, words)
    }

    #[track_caller]
    pub(crate) fn find_as(&self, who: &Identity, words: &[&str]) -> Vec<String> {
        let tree = self.tree();
        let mut all = vec![tree.as_os_str().to_owned()];
        all.extend(words.iter().map(OsString::from));
        let ran = oracle::gnu("find", all, &self.scratch.join("."), who);
        sorted(ran.text().lines().map(str::to_owned).collect())
    }
}

pub(crate) fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

/// Writes a file with this size, age in days and owner.
fn file(path: &Path, bytes: usize, days: u64, uid: u32, gid: u32) {
    std::fs::write(path, vec![b'x'; bytes]).expect("a file");
    set_age(path, days);
    if trawl_testkit::skip::is_root() {
        std::os::unix::fs::chown(path, Some(uid), Some(gid)).expect("an owner");
    }
}

fn set_age(path: &Path, days: u64) {
    let then = SystemTime::now() - Duration::from_secs(days * 86_400 + 3600);
    let times = std::fs::FileTimes::new()
        .set_accessed(then)
        .set_modified(then);
    let file = std::fs::File::options()
        .write(true)
        .open(path)
        .expect("a file");
    file.set_times(times).expect("times");
}

/// Makes homes, projects, scratch and software, with entries of many kinds.
fn build(tree: &Path) {
    for dir in [
        "scratch/run1/out",
        "scratch/empty",
        "home/ann/docs",
        "home/bob",
        "projects/alpha/src",
        "projects/beta/data/deep/deeper",
        "sw/bin",
        "sw/lib/empty",
    ] {
        std::fs::create_dir_all(tree.join(dir)).expect("a directory");
    }
    for n in 0..40u32 {
        let days = u64::from(n * 23 % 900);
        let size = (n as usize * 977) % 9000;
        file(
            &tree.join(format!("scratch/run1/out/{n}.dat")),
            size,
            days,
            1000 + n % 3,
            100,
        );
        file(
            &tree.join(format!("projects/alpha/src/{n}.c")),
            size / 3,
            400 + days,
            4001,
            200 + n % 2,
        );
        file(
            &tree.join(format!("projects/beta/data/{n}.h5")),
            size * 5,
            days,
            4002,
            200,
        );
    }
    file(&tree.join("scratch/old.tmp"), 10, 90, 1000, 100);
    file(&tree.join("scratch/core.123"), 100_000, 60, 1001, 100);
    file(&tree.join("home/ann/docs/a, \"b\".txt"), 7, 3, 4001, 200);
    file(&tree.join("home/ann/ leading"), 0, 3, 4001, 200);
    file(&tree.join("home/ann/new\nline"), 3, 3, 4001, 200);
    file(&tree.join("home/ann/back\\slash"), 3, 3, 4001, 200);
    file(&tree.join("home/bob/0.dat"), 977, 5, 4002, 200);
    file(&tree.join("home/bob/1.dat"), 977, 5, 4002, 200);
    file(&tree.join("sw/bin/tool"), 5000, 2000, 0, 0);
    file(
        &tree.join("projects/beta/data/deep/deeper/x.h5"),
        977,
        1,
        4002,
        200,
    );
    let odd: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"odd\xff\\name");
    std::fs::write(tree.join("home/bob").join(odd), "odd").expect("a file");
    let odd_dir: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"dir\xfe");
    std::fs::create_dir(tree.join("home/bob").join(odd_dir)).expect("a directory");
    std::fs::write(tree.join("home/bob").join(odd_dir).join("inside.txt"), "in").expect("a file");
    std::fs::hard_link(tree.join("sw/bin/tool"), tree.join("sw/bin/tool2")).expect("a link");
    symlink("../scratch", tree.join("home/to_scratch")).expect("a link");
    symlink("/nowhere", tree.join("home/dangling")).expect("a link");
    let mode = |path: &str, mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(tree.join(path), mode).expect("a mode");
    };
    mode("sw/bin/tool", 0o4755);
    mode("scratch/old.tmp", 0o666);
    mode("scratch", 0o1777);
    mode("home/bob", 0o777);
    let sparse = std::fs::File::create(tree.join("scratch/sparse.img")).expect("a file");
    sparse.set_len(5_000_000).expect("a length");
}
