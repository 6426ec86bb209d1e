//! The programs of these tests as sanitizers see them: every buffer that the library fills for them
//! is checked, and every use of memory that it gave or took back.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use trawl_bulk::Haste;
use trawl_testkit::{Scratch, Skip, oracle};

use crate::site;
use crate::torture::tree;

const ADDRESS: [&str; 3] = [
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=undefined",
    "-DFORKS=0",
];
const THREAD: [&str; 2] = ["-fsanitize=thread", "-DFORKS=0"];

/// What the compiler puts before the C library; `None`, and why is said, where there is none.
fn runtime(test: &'static str, name: &str) -> Option<PathBuf> {
    if !site::has(test, "cc") {
        return None;
    }
    let ran = oracle::run(oracle::command("cc").arg(format!("-print-file-name={name}")));
    let path = PathBuf::from(ran.text().trim());
    if path.is_absolute() {
        return Some(path);
    }
    Skip::new(test, format!("{name} is not installed")).say();
    None
}

/// Runs a program that was compiled so in a tree, with the sanitizer's library before ours, as it
/// wants to be.
fn runs(test: &'static str, name: &str, flags: &[&str], runtime: &Path, makes_tree: fn(&Path)) {
    let Some((_program_place, program)) = site::compiled_with(test, name, flags) else {
        return;
    };
    for haste in [Haste::Patient, Haste::Eager] {
        let scratch = Scratch::new("preload-sanitized");
        let root = scratch.path().canonicalize().unwrap();
        makes_tree(&root);
        let alone = oracle::run(oracle::command(&program).current_dir(&root));
        if alone.code != Some(0) {
            Skip::new(test, format!("it does not run here: {}", alone.errors())).say();
            return;
        }
        // What it made would be in its way.
        let scratch = Scratch::new("preload-sanitized");
        let root = scratch.path().canonicalize().unwrap();
        makes_tree(&root);
        let service = site::service(&root, haste);
        let mut command = site::with(&service, &program);
        let libraries = format!("{} {}", runtime.display(), site::library().display());
        let command = command.env("LD_PRELOAD", libraries).current_dir(&root);
        let Some(ran) = run_in_time(command) else {
            // ThreadSanitizer's allocator and the loader's lock wait for each other, seldom.
            let text = "the sanitizer's own locks stood still";
            return Skip::new(test, text).say();
        };
        let words = [&ran.stdout[..], &ran.stderr].concat();
        let words = String::from_utf8_lossy(&words);
        assert_eq!(ran.status.code(), Some(0), "{name} {haste:?}: {words}");
        assert!(service.statistics().0 > 0);
    }
}

/// What a program says and how it ends; `None` if it had to be ended, which is after two minutes.
fn run_in_time(command: &mut Command) -> Option<Output> {
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("it starts");
    let process = child.id().to_string();
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let guard = std::thread::spawn(move || {
        let waited = is_done.recv_timeout(Duration::from_secs(120));
        if waited == Err(RecvTimeoutError::Timeout) {
            oracle::run(oracle::command("kill").args(["-KILL", &process]));
        }
    });
    let output = child.wait_with_output().expect("it ends");
    drop(done);
    guard.join().expect("no panic");
    (output.status.signal() != Some(9)).then_some(output)
}

#[test]
fn addresses() {
    let test = "sanitized: addresses";
    if let Some(runtime) = runtime(test, "libasan.so") {
        runs(test, "torture", &ADDRESS, &runtime, tree);
        runs(test, "writes", &ADDRESS, &runtime, |_| {});
    }
}

/// Only the program that starts no others: those would have the sanitizer's library and not its
/// code.
#[test]
fn threads() {
    let test = "sanitized: threads";
    if let Some(runtime) = runtime(test, "libtsan.so") {
        runs(test, "torture", &THREAD, &runtime, tree);
    }
}
