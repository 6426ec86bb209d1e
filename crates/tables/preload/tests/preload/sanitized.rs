//! Runs the programs of these tests under sanitizers: they check every buffer that the library
//! fills, and every use of memory that it allocated or freed.

use std::path::{Path, PathBuf};

use trawl_table_service::Haste;
use trawl_testkit::{Scratch, Skip, oracle};

use crate::site;
use crate::torture::tree;

const ADDRESS: [&str; 3] = [
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=undefined",
    "-DFORKS=0",
];
const THREAD: [&str; 2] = ["-fsanitize=thread", "-DFORKS=0"];

/// Returns the sanitizer's library that the compiler puts before the C library; `None`, and says
/// why, where there is none.
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

/// Runs a program compiled with a sanitizer in a tree, with the sanitizer's library before ours, as
/// it requires.
fn runs(test: &'static str, name: &str, flags: &[&str], runtime: &Path, makes_tree: fn(&Path)) {
    let Some((_program_place, program)) = site::compiled_with(test, name, flags) else {
        return;
    };
    for haste in [Haste::Ready, Haste::Eager] {
        let scratch = Scratch::new("preload-sanitized");
        let root = scratch.path().canonicalize().unwrap();
        makes_tree(&root);
        let alone = oracle::run(oracle::command(&program).current_dir(&root));
        if alone.code != Some(0) {
            Skip::new(test, format!("it does not run here: {}", alone.errors())).say();
            return;
        }
        // Files of an earlier run would be in its way.
        let scratch = Scratch::new("preload-sanitized");
        let root = scratch.path().canonicalize().unwrap();
        makes_tree(&root);
        let service = site::service(&root, haste);
        let mut command = site::with(&service, &program);
        let libraries = format!("{} {}", runtime.display(), site::library().display());
        let ran = oracle::run(command.env("LD_PRELOAD", libraries).current_dir(&root));
        assert_eq!(
            ran.code,
            Some(0),
            "{name} {haste:?}: {}{}",
            ran.text(),
            ran.errors()
        );
        assert!(service.statistics().0 > 0);
    }
}

#[test]
fn addresses() {
    let test = "sanitized: addresses";
    if let Some(runtime) = runtime(test, "libasan.so") {
        runs(test, "torture", &ADDRESS, &runtime, tree);
        runs(test, "writes", &ADDRESS, &runtime, |_| {});
    }
}

/// Only the program that starts no others: those would have the sanitizer's library without its
/// instrumentation.
#[test]
fn threads() {
    let test = "sanitized: threads";
    if let Some(runtime) = runtime(test, "libtsan.so") {
        runs(test, "torture", &THREAD, &runtime, tree);
    }
}
