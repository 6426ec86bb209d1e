//! Runs programs with the probe.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use trawl_histogram::Profile;
use trawl_testkit::oracle::{self, Ran};
use trawl_testkit::{Scratch, skip};
use trawl_user_profile::{Options, Probe, Reading, Session, availability};

/// Returns the library as built with this test.
pub(crate) fn library() -> PathBuf {
    let program = std::env::current_exe().expect("this program");
    program.with_file_name("libtrawl_profile.so")
}

/// Returns the probe as measured once for all tests.
pub(crate) fn probe() -> &'static Probe {
    static PROBE: OnceLock<Probe> = OnceLock::new();
    PROBE.get_or_init(|| availability(&library()).expect("programs can be profiled"))
}

pub(crate) fn session(options: &Options) -> Session {
    Session::start(&library(), probe(), options).expect("memory")
}

/// Returns a command that is profiled.
pub(crate) fn profiled(session: &Session, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = oracle::command(program);
    command.envs(session.environment(None));
    command
}

/// Runs a command to its end and returns what was recorded.
#[track_caller]
pub(crate) fn recorded(options: &Options, program: &str, arguments: &[&str]) -> (Ran, Reading) {
    let session = session(options);
    let ran = oracle::run(profiled(&session, program).args(arguments)).expect_code(0);
    (ran, read(&session))
}

/// Reads and checks a session.
#[track_caller]
pub(crate) fn read(session: &Session) -> Reading {
    let reading = session.read();
    checked(&reading);
    assert_eq!(reading.damaged, []);
    reading
}

/// Checks each profile of a reading: "for every operation, results in all of the buckets are summed
/// and then compared with the total number of operations" (§5.8).
#[track_caller]
pub(crate) fn checked(reading: &Reading) {
    reading.whole.check().expect("the whole adds up");
    for (name, profile) in &reading.programs {
        profile
            .check()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    for thread in &reading.threads {
        thread.profile.check().expect("each thread adds up");
    }
}

/// Returns how many calls of an operation entered.
pub(crate) fn entered(profile: &Profile, operation: &str) -> u64 {
    profile.get(operation).map_or(0, |one| one.counts().entered)
}

/// Compiles a C program of these tests; `None`, and says why, where nothing can be compiled.
pub(crate) fn compiled(test: &str, name: &str, more: &[&str]) -> Option<(Scratch, String)> {
    if let Some(skip) = skip::without_program(test, "cc") {
        skip.say();
        return None;
    }
    let scratch = Scratch::new("user-profile");
    let program = scratch.join(name).display().to_string();
    let source = format!("{}/tests/user/c/{name}.c", env!("CARGO_MANIFEST_DIR"));
    let flags = ["-Wall", "-Wextra", "-O1", "-std=gnu11", "-pthread"];
    let mut compiler = oracle::command("cc");
    compiler.args(flags).args(more);
    oracle::run(compiler.args(["-o", &program, &source])).expect_code(0);
    Some((scratch, program))
}

/// Returns whether a program is installed; says so if not.
pub(crate) fn has(test: &str, program: &str) -> bool {
    let missing = skip::without_program(test, program);
    missing.as_ref().inspect(|skip| skip.say()).is_none()
}
