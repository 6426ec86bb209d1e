//! A directory with the library under its installed names, and programs that are linked with it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use trawl_testkit::oracle::{self, Ran};
use trawl_testkit::{RandomTree, Scratch, Skip, random_tree::Plan, skip};

/// Directory of this crate's sources.
pub(crate) const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// Strict compiler flags.
pub(crate) const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-O1"];

/// The library and the programs of these tests.
pub(crate) struct Site {
    scratch: Scratch,
}

impl Site {
    /// Returns the site that all tests share. Where nothing can be compiled, reports the reason and
    /// returns `None`.
    pub(crate) fn get(test: &str) -> Option<&'static Site> {
        static SITE: OnceLock<Site> = OnceLock::new();
        if let Some(skip) = skip::without_program(test, "gcc") {
            skip.say();
            return None;
        }
        Some(SITE.get_or_init(Site::make))
    }

    fn make() -> Site {
        let site = Site {
            scratch: Scratch::new("capi"),
        };
        // A copy, so that other users can read it.
        std::fs::copy(shared_object(), site.path("libtrawl.so.0")).unwrap();
        std::os::unix::fs::symlink("libtrawl.so.0", site.path("libtrawl.so")).unwrap();
        site.compile("paper", "paper", &["-std=c11"]).unwrap();
        site.compile("sets_paper", "sets_paper", &["-std=c11"])
            .unwrap();
        site.compile("sets", "sets", &["-std=gnu11", "-pthread"])
            .unwrap();
        site.compile("behaviour", "behaviour", &["-std=gnu11", "-pthread"])
            .unwrap();
        site
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.scratch.join(name)
    }

    /// Compiles a program of these tests; returns the compiler's output if that fails.
    pub(crate) fn compile(&self, source: &str, name: &str, flags: &[&str]) -> Result<(), Ran> {
        let mut gcc = compiler("gcc");
        gcc.args(flags)
            .arg("-o")
            .arg(self.path(name))
            .arg(format!("{HERE}/tests/capi/c/{source}.c"))
            .arg(format!("-L{}", self.path("").display()))
            .arg(format!("-Wl,-rpath,{}", self.path("").display()))
            .arg("-ltrawl");
        match oracle::run(&mut gcc) {
            ran if ran.code == Some(0) => Ok(()),
            ran => Err(ran),
        }
    }

    /// Returns a compiled program, to be run without an index of its own.
    pub(crate) fn program(&self, name: &str) -> Command {
        self.without_index(oracle::command(self.path(name)))
    }

    pub(crate) fn without_index(&self, mut command: Command) -> Command {
        command
            .env_remove("TRAWL_INDEX")
            .env_remove("XDG_DATA_HOME")
            .env("HOME", self.path(""));
        command
    }

    /// Runs a program of these tests.
    pub(crate) fn run<A: AsRef<OsStr>>(&self, name: &str, arguments: &[A]) -> Ran {
        oracle::run(self.program(name).args(arguments))
    }
}

/// Returns a compiler with strict warnings and the header's directory.
pub(crate) fn compiler(name: &str) -> Command {
    let mut compiler = oracle::command(name);
    compiler.args(STRICT).arg(format!("-I{HERE}/include"));
    compiler
}

/// Returns the path of the library that was built with this test.
pub(crate) fn shared_object() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    program.with_file_name("libtrawl.so")
}

/// Makes a random tree with this number of entries, in which every directory can be read.
pub(crate) fn random(seed: u64, entries: usize) -> Scratch {
    let scratch = Scratch::new("capi-tree");
    let top = scratch.join("tree");
    std::fs::create_dir(&top).unwrap();
    let plan = Plan {
        entries,
        ..Plan::new(seed)
    };
    RandomTree::build(&top, &plan).unwrap();
    scratch
}

/// Makes plain files with these paths.
pub(crate) fn files<P: AsRef<Path>>(names: impl IntoIterator<Item = P>) -> Scratch {
    let scratch = Scratch::new("capi-tree");
    for name in names {
        let path = scratch.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x").unwrap();
    }
    scratch
}

/// Reports that a test did not run.
pub(crate) fn skipped(test: &str, because: impl std::fmt::Display) {
    Skip::new(test, because).say();
}
