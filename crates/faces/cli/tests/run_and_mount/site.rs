//! A tree, a directory at which it is shown, and commands that see it there: through a server, or
//! by a bind mount.

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use trawl_testkit::oracle::{self, Ran};
use trawl_testkit::skip::{Skip, is_root, without_program};
use trawl_testkit::{OddTree, Scratch, odd_tree};

pub(crate) const TRAWL: &str = env!("CARGO_BIN_EXE_trawl");

/// Returns the reason why no command can be run here, if there is one.
pub(crate) fn cannot(what: &str) -> Option<Skip> {
    if !is_root() {
        return Some(Skip::new(what, "it needs root"));
    }
    if let Some(skip) = without_program(what, "unshare") {
        return Some(skip);
    }
    let device = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/fuse");
    if let Err(error) = device {
        return Some(Skip::new(what, format_args!("/dev/fuse: {error}")));
    }
    let ran = oracle::run(oracle::command("unshare").args(["-m", "true"]));
    (ran.code != Some(0)).then(|| Skip::new(what, "there can be no mounts of its own"))
}

/// Compiles a C program of these tests; where nothing can be compiled, reports why and returns
/// `None`.
pub(crate) fn compiled(what: &str, into: &Path, name: &str) -> Option<PathBuf> {
    if let Some(skip) = without_program(what, "cc") {
        skip.say();
        return None;
    }
    let program = into.join(name);
    let source = format!(
        "{}/tests/run_and_mount/c/{name}.c",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut compiler = oracle::command("cc");
    compiler.args([
        "-Wall",
        "-Wextra",
        "-Werror",
        "-O1",
        "-std=gnu11",
        "-pthread",
    ]);
    compiler.arg("-o").arg(&program).arg(source);
    oracle::run(&mut compiler).expect_code(0);
    Some(program)
}

/// A tree, and the directory at which it is shown.
pub(crate) struct Site {
    pub(crate) scratch: Scratch,
    installed: OnceCell<Option<PathBuf>>,
}

impl Site {
    pub(crate) fn empty(label: &str) -> Site {
        Site::empty_in(Scratch::new(label))
    }

    pub(crate) fn empty_in(scratch: Scratch) -> Site {
        for name in ["tree", "point"] {
            fs::create_dir(scratch.join(name)).expect("room");
        }
        let installed = OnceCell::new();
        Site { scratch, installed }
    }

    /// Creates a site with a tree of every oddity, including programs.
    pub(crate) fn odd(label: &str) -> Site {
        let site = Site::empty(label);
        let plan = odd_tree::Plan {
            random_names: 100,
            wide_files: 300,
            deep_levels: 40,
            long_levels: 1,
            ..odd_tree::Plan::default()
        };
        fs::create_dir(site.tree().join("odd")).expect("room");
        let odd = OddTree::build(&site.tree().join("odd"), &plan);
        odd.expect("a tree").say_skipped();
        // Whole files are read, except those that consist only of a hole.
        let mut large = oracle::command("find");
        large.arg(site.tree()).args(["-size", "+9M", "-delete"]);
        oracle::run(&mut large).expect_code(0);
        // ACLs are not shown everywhere.
        let mut plain = oracle::command("setfacl");
        let _ = plain
            .args(["-R", "-P", "-b", "-k"])
            .arg(site.tree())
            .status();
        let bin = site.tree().join("bin");
        fs::create_dir(&bin).expect("room");
        fs::copy("/bin/echo", bin.join("say")).expect("there is one");
        let big: Vec<u8> = (0..5_000_000u32).map(|at| (at % 251) as u8).collect();
        fs::write(site.tree().join("big"), big).expect("room");
        site
    }

    /// Returns the program as it is installed, with the library where it looks for it, if that was
    /// built.
    pub(crate) fn installed(&self) -> Option<&Path> {
        self.installed.get_or_init(|| self.install()).as_deref()
    }

    /// Returns the options with which a tree is shown: by the mount only, and with tables if there
    /// are any.
    pub(crate) fn ways(&self) -> &'static [&'static [&'static str]] {
        const WAYS: [&[&str]; 2] = [&["--no-preload"], &[]];
        match self.installed() {
            Some(_) => &WAYS,
            None => &WAYS[..1],
        }
    }

    fn install(&self) -> Option<PathBuf> {
        let library = Path::new(TRAWL).with_file_name("deps/libtrawl_preload.so");
        if !library.exists() {
            return None;
        }
        let [bin, lib] = ["bin", "lib/trawl"].map(|name| self.scratch.join(name));
        for dir in [&bin, &lib] {
            fs::create_dir_all(dir).expect("room");
        }
        fs::copy(&library, lib.join("libtrawl-preload.so")).expect("room");
        let audit = library.with_file_name("libtrawl_audit.so");
        if audit.exists() {
            fs::copy(audit, lib.join("libtrawl-audit.so")).expect("room");
        }
        let program = bin.join("trawl");
        fs::hard_link(self.scratch.install(Path::new(TRAWL)), &program).expect("one file system");
        Some(program)
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.scratch.join("tree")
    }

    pub(crate) fn point(&self) -> PathBuf {
        self.scratch.join("point")
    }

    /// Returns the address of a server of this machine, which the client starts.
    pub(crate) fn server(&self) -> String {
        format!("command:{TRAWL} serve --stdio")
    }

    /// Returns `trawl run` with the tree, from a server at this address.
    pub(crate) fn command(&self, server: &str) -> Command {
        self.command_with(server, &[])
    }

    pub(crate) fn command_with(&self, server: &str, options: &[&str]) -> Command {
        let mut command = oracle::command(self.installed().unwrap_or(Path::new(TRAWL)));
        command.arg("run").args(options);
        if self.installed().is_none() && !options.contains(&"--no-preload") {
            command.arg("--no-preload");
        }
        command.arg("--remote").arg(self.remote(server)).arg("--");
        command.current_dir(self.scratch.path());
        command
    }

    pub(crate) fn remote(&self, server: &str) -> String {
        format!(
            "{server}:{}={}",
            self.tree().display(),
            self.point().display()
        )
    }

    /// Runs a shell script where the tree is shown.
    #[track_caller]
    pub(crate) fn run_with(&self, options: &[&str], script: &str) -> Ran {
        let mut command = self.command_with(&self.server(), options);
        command
            .args(["bash", "-c", script, "bash"])
            .arg(self.point());
        oracle::run(&mut command)
    }

    /// Runs a shell script where the tree is bound.
    #[track_caller]
    pub(crate) fn bound(&self, script: &str) -> Ran {
        let bind = "mount --bind \"$0\" \"$1\" && exec bash -c \"$2\" bash \"$1\"";
        let mut command = oracle::command("unshare");
        command
            .args(["-m", "sh", "-c", bind])
            .arg(self.tree())
            .arg(self.point())
            .arg(script);
        command.current_dir(self.scratch.path());
        oracle::run(&mut command)
    }

    /// Checks that nothing is mounted, and that no server is left.
    #[track_caller]
    pub(crate) fn expect_nothing_left(&self) {
        let point = self.point().display().to_string();
        let mounts = fs::read("/proc/self/mounts").expect("proc is there");
        let mounts = String::from_utf8_lossy(&mounts);
        assert!(!mounts.contains(&point), "{mounts}");
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let left = processes(self.scratch.path());
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < until, "left behind: {left:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Returns the command lines of processes that name this directory.
fn processes(directory: &Path) -> Vec<String> {
    let name = directory.display().to_string();
    let entries = fs::read_dir("/proc").expect("proc is there").flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(&name)).collect()
}
