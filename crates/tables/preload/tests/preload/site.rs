//! Runs programs with and without the library.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use trawl_table_service::{Config, Haste, Running, Service};
use trawl_testkit::oracle::{self, Ran};
use trawl_testkit::{Scratch, Skip, skip};

/// Returns the library as built with this test.
pub(crate) fn library() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    program.with_file_name("libtrawl_preload.so")
}

/// Starts a service that covers a directory.
pub(crate) fn service(root: &Path, haste: Haste) -> Running {
    let config = Config {
        haste,
        // Long, so that changes become visible because of the library's work, not because time
        // passed.
        age: std::time::Duration::from_secs(600),
        ..Config::local(vec![root.to_owned()])
    };
    Service::start(config).unwrap()
}

/// Returns a command that asks the service.
pub(crate) fn with(service: &Running, program: impl AsRef<OsStr>) -> Command {
    let mut command = oracle::command(program);
    command
        .envs(service.environment())
        .env("LD_PRELOAD", library());
    command
}

/// How a program runs: without the library, or with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Without,
    With(Haste),
}

pub(crate) const ALL: [How; 3] = [
    How::Without,
    How::With(Haste::Ready),
    How::With(Haste::Eager),
];

/// Runs a shell script in a directory; also returns the number of tables it was answered with.
pub(crate) fn script(how: How, root: &Path, script: &str) -> (Ran, u64) {
    let arguments = [OsString::from("-c"), script.into()];
    match how {
        How::Without => {
            let mut command = oracle::command("bash");
            (oracle::run(command.args(arguments).current_dir(root)), 0)
        }
        How::With(haste) => {
            let service = service(root, haste);
            let mut command = with(&service, "bash");
            let ran = oracle::run(command.args(arguments).current_dir(root));
            (ran, service.statistics().0)
        }
    }
}

/// Compiles a C program of these tests; `None`, and says why, where nothing can be compiled.
pub(crate) fn compiled(test: &str, name: &str) -> Option<(Scratch, PathBuf)> {
    compiled_with(test, name, &[])
}

/// Like [`compiled`], with more arguments for the compiler.
pub(crate) fn compiled_with(test: &str, name: &str, more: &[&str]) -> Option<(Scratch, PathBuf)> {
    if let Some(skip) = skip::without_program(test, "cc") {
        skip.say();
        return None;
    }
    let scratch = Scratch::new("preload");
    let program = scratch.join(name);
    let source = format!("{}/tests/preload/c/{name}.c", env!("CARGO_MANIFEST_DIR"));
    let flags = [
        "-Wall",
        "-Wextra",
        "-Werror",
        // readdir_r(3) is tested, too.
        "-Wno-deprecated-declarations",
        "-O1",
        "-std=gnu11",
        "-pthread",
    ];
    let mut compiler = oracle::command("cc");
    compiler.args(flags).args(more);
    let ran = oracle::run(compiler.arg("-o").arg(&program).arg(source));
    assert_eq!(ran.code, Some(0), "{}", ran.errors());
    Some((scratch, program))
}

/// Returns whether a program is installed; says so if not.
pub(crate) fn has(test: &str, program: &str) -> bool {
    let missing: Option<Skip> = skip::without_program(test, program);
    missing.as_ref().inspect(|skip| skip.say()).is_none()
}
