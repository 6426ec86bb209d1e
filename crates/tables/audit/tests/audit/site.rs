//! Provides programs, libraries, and many directories to search them in.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use trawl_table_service::{Config, Haste, Running, Service};
use trawl_testkit::oracle::{self, Ran};
use trawl_testkit::{Scratch, skip};

/// Number of directories; the last one has the library.
pub(crate) const DIRECTORIES: usize = 60;

/// Returns the library built with this test, or the one named by a variable, for testing a library
/// that is to be shipped.
fn audit() -> PathBuf {
    std::env::var_os("TRAWL_AUDIT_LIBRARY").map_or_else(|| beside("libtrawl_audit.so"), Into::into)
}

fn beside(name: &str) -> PathBuf {
    std::env::current_exe().unwrap().with_file_name(name)
}

/// The libraries that a program is run with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// Neither library.
    Plain,
    /// The preload library without the audit library.
    Preloaded,
    /// The audit library without the preload library.
    AuditedAlone,
    Audited(Haste),
}

/// Many directories with few files, and compiled programs.
pub(crate) struct Site {
    pub(crate) root: PathBuf,
    pub(crate) directories: Vec<PathBuf>,
    _scratch: Scratch,
}

impl Site {
    /// Makes the directories. Returns `None`, and says why, where nothing can be compiled.
    pub(crate) fn new(test: &str) -> Option<Site> {
        if let Some(skip) = skip::without_program(test, "cc") {
            skip.say();
            return None;
        }
        let scratch = Scratch::new("audit");
        let root = scratch.path().canonicalize().unwrap();
        let directories: Vec<PathBuf> = (0..DIRECTORIES)
            .map(|number| root.join(format!("lib {number:02}")))
            .collect();
        for directory in &directories {
            std::fs::create_dir(directory).unwrap();
            std::fs::write(directory.join("libother.so"), "").unwrap();
        }
        let site = Site {
            root,
            directories,
            _scratch: scratch,
        };
        let last = site.last().join("libanswer.so");
        site.compile("answer", &last, &["-shared", "-fPIC"]);
        Some(site)
    }

    pub(crate) fn last(&self) -> &Path {
        self.directories.last().unwrap()
    }

    /// Compiles a C file of these tests.
    pub(crate) fn compile(&self, name: &str, to: &Path, flags: &[&str]) {
        let source = format!("{}/tests/audit/c/{name}.c", env!("CARGO_MANIFEST_DIR"));
        let mut cc = oracle::command("cc");
        cc.args([
            "-Wall",
            "-Wextra",
            "-Werror",
            "-O1",
            "-std=gnu11",
            "-pthread",
        ]);
        cc.arg("-o").arg(to).arg(source).args(flags);
        cc.current_dir(&self.root);
        let ran = oracle::run(&mut cc);
        assert_eq!(ran.code, Some(0), "{}", ran.errors());
    }

    /// Returns all directories, with colons between them.
    pub(crate) fn search_path(&self) -> OsString {
        let paths: Vec<&OsStr> = self
            .directories
            .iter()
            .map(|path| path.as_os_str())
            .collect();
        paths.join(OsStr::new(":"))
    }

    /// Starts a service that covers the directories.
    pub(crate) fn service(&self, haste: Haste, age: Duration) -> Running {
        let config = Config {
            haste,
            age,
            ..Config::local(vec![self.root.clone()])
        };
        Service::start(config).unwrap()
    }

    /// Starts a service, and returns it with the variables for a way to run.
    pub(crate) fn start(&self, how: How) -> (Running, Vec<(OsString, OsString)>) {
        let haste = match how {
            How::Audited(haste) => haste,
            _ => Haste::Patient,
        };
        // Long, so that changes become visible because of the library's work, not because time
        // passed.
        let service = self.service(haste, Duration::from_secs(600));
        let variables = variables(&service, how);
        (service, variables)
    }
}

/// Returns the variables with which a program runs in this way.
pub(crate) fn variables(service: &Running, how: How) -> Vec<(OsString, OsString)> {
    let mut variables = service.environment();
    let preload = ("LD_PRELOAD".into(), beside("libtrawl_preload.so").into());
    let audit = ("LD_AUDIT".into(), audit().into());
    variables.extend(match how {
        How::Plain => vec![],
        How::Preloaded => vec![preload],
        How::AuditedAlone => vec![audit],
        How::Audited(_) => vec![preload, audit],
    });
    variables
}

/// Returns the system calls that the loader and a program make; `None`, and says why, where they
/// cannot be counted.
pub(crate) fn counted(
    variables: &[(OsString, OsString)],
    program: &Path,
) -> Option<(Ran, Vec<String>)> {
    if let Some(skip) = skip::without_program("counting system calls", "strace") {
        skip.say();
        return None;
    }
    let scratch = Scratch::new("audit-strace");
    let log = scratch.join("log");
    let mut strace = oracle::command("strace");
    strace.env_remove("LD_LIBRARY_PATH");
    // strace itself must not load the library: it waits for its tracee all the time, and each wait
    // counts as a change.
    for (name, value) in variables {
        let mut word = name.clone();
        word.push("=");
        word.push(value);
        strace.arg("-E").arg(word);
    }
    let ran = oracle::run(strace.arg("-o").arg(&log).arg(program));
    if ran.errors().contains("ptrace") {
        skip::Skip::new("counting system calls", ran.errors()).say();
        return None;
    }
    let lines = std::fs::read_to_string(&log).unwrap();
    Some((ran, lines.lines().map(str::to_owned).collect()))
}

/// Returns a command with these variables and no others that the loader reads.
pub(crate) fn command(variables: &[(OsString, OsString)], program: &Path) -> Command {
    let mut command = oracle::command(program);
    command.env_remove("LD_LIBRARY_PATH");
    command.envs(variables.iter().cloned());
    command
}
