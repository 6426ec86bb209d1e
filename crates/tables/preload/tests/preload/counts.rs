//! Number of system calls that programs still make.

use std::path::Path;
use std::time::{Duration, Instant};

use trawl_table_service::Haste;
use trawl_testkit::oracle;
use trawl_testkit::{Scratch, Skip};

use crate::site;

/// Makes a complete binary tree with this many levels.
fn binary(at: &Path, levels: u32) {
    std::fs::create_dir(at).unwrap();
    if levels > 1 {
        binary(&at.join("0"), levels - 1);
        binary(&at.join("1"), levels - 1);
    }
}

/// Counts the system calls of a command: without the library, or with it in patient or eager mode.
/// Returns `None`, and says why, where they cannot be counted.
fn calls(root: &Path, haste: Option<Haste>, command: &[&str]) -> Option<(usize, String)> {
    if !site::has("counting system calls", "strace") {
        return None;
    }
    let scratch = Scratch::new("preload-strace");
    let log = scratch.join("log");
    let service = site::service(root, haste.unwrap_or(Haste::Patient));
    let mut strace = oracle::command("strace");
    // strace itself must not load the library: it waits for its tracee all the time, and each wait
    // counts as a change.
    strace.envs(service.environment());
    // Cargo sets it: the loader would search each of these directories first.
    strace.env_remove("LD_LIBRARY_PATH");
    if haste.is_some() {
        strace
            .arg("-E")
            .arg(format!("LD_PRELOAD={}", site::library().display()));
    }
    let ran = oracle::run(strace.arg("-o").arg(&log).args(command).current_dir(root));
    if ran.code != Some(0) && ran.errors().contains("ptrace") {
        Skip::new("counting system calls", ran.errors()).say();
        return None;
    }
    let lines = std::fs::read_to_string(&log).unwrap();
    Some((lines.lines().count(), ran.text()))
}

#[test]
fn find_needs_few_for_two_thousand_directories() {
    let scratch = Scratch::new("preload-binary");
    let root = scratch.path().canonicalize().unwrap();
    binary(&root.join("tree"), 11);
    let command = ["find", "tree"];
    let Some((without, expected)) = calls(&root, None, &command) else {
        return;
    };
    assert_eq!(expected.lines().count(), 2047);
    for haste in [Haste::Patient, Haste::Eager] {
        let Some((with, printed)) = calls(&root, Some(haste), &command) else {
            return;
        };
        assert_eq!(printed, expected);
        assert!(
            with <= 300 && without > 10_000,
            "{haste:?}: {with} instead of {without}"
        );
    }
}

#[test]
fn a_walk_by_the_c_library_needs_few_for_two_thousand_directories() {
    walk_needs_few("walks", "nftw", "nftw: 0 2047 \n", 300);
}

#[test]
fn a_walk_that_changes_the_working_directory_needs_few_for_each() {
    // In and back: openat, fstat, fchdir, and fchdir, close.
    walk_needs_few("walks", "there", "nftw: 0 2047 \n", 5 * 2047 + 300);
}

#[test]
fn a_walk_by_fts_needs_few_for_two_thousand_directories() {
    // Each directory is reported before and after its content.
    walk_needs_few("fts", "count", "4094\n", 300);
}

#[test]
fn a_walk_by_fts_that_changes_the_working_directory_needs_few_for_each() {
    // In and back: openat, fstat, fchdir, close, as the C library goes up.
    walk_needs_few("fts", "there", "4094\n", 8 * 2047 + 300);
}

/// Checks that at most `most` calls remain.
fn walk_needs_few(name: &str, word: &str, expected: &str, most: usize) {
    let Some((_program_place, program)) = site::compiled("counting system calls", name) else {
        return;
    };
    let scratch = Scratch::new(&format!("preload-{name}-count"));
    let root = scratch.path().canonicalize().unwrap();
    binary(&root.join("tree"), 11);
    let program = program.display().to_string();
    let command = [&*program, "tree", word];
    let Some((without, printed)) = calls(&root, None, &command) else {
        return;
    };
    assert_eq!(printed, expected);
    for haste in [Haste::Patient, Haste::Eager] {
        let Some((with, printed)) = calls(&root, Some(haste), &command) else {
            return;
        };
        assert_eq!(printed, expected);
        assert!(
            with <= most && without > 10_000,
            "{haste:?}: {with} instead of {without}"
        );
    }
}

#[test]
fn a_long_listing_needs_less_than_one_for_each_file() {
    let scratch = Scratch::new("preload-flat");
    let root = scratch.path().canonicalize().unwrap();
    for number in 0..500 {
        std::fs::write(root.join(format!("file {number}")), "x").unwrap();
    }
    let command = ["ls", "-l"];
    let Some((without, expected)) = calls(&root, None, &command) else {
        return;
    };
    for haste in [Haste::Patient, Haste::Eager] {
        let Some((with, printed)) = calls(&root, Some(haste), &command) else {
            return;
        };
        assert_eq!(printed, expected);
        assert!(
            with <= 350 && without > 1000,
            "{haste:?}: {with} instead of {without}"
        );
    }
}

#[test]
fn a_program_that_looks_at_nothing_makes_no_calls_for_it() {
    let scratch = Scratch::new("preload-nothing");
    let root = scratch.path().canonicalize().unwrap();
    let Some((without, _)) = calls(&root, None, &["true"]) else {
        return;
    };
    let Some((with, _)) = calls(&root, Some(Haste::Patient), &["true"]) else {
        return;
    };
    // The library is mapped and announces the program.
    assert!(with <= without + 16, "{with} instead of {without}");
}

/// Returns the median duration of a call.
fn usual(mut call: impl FnMut()) -> Duration {
    let mut took: Vec<Duration> = (0..501)
        .map(|_| {
            let begun = Instant::now();
            call();
            begun.elapsed()
        })
        .collect();
    took.sort();
    took[took.len() / 2]
}

/// Says why programs in which calls are cheap cannot be tested here; `None` if they can.
fn dear(root: &Path) -> Option<Skip> {
    let opening = usual(|| drop(std::fs::File::open(root).unwrap()));
    let looking = usual(|| assert!(root.symlink_metadata().is_ok()));
    let is_dear = opening > Duration::from_micros(5) || looking > Duration::from_micros(2);
    is_dear.then(|| {
        let why = format!("opening a directory takes {opening:?}, looking at it {looking:?}");
        Skip::new("programs where calls are cheap", why)
    })
}

#[test]
fn where_calls_are_cheap_nothing_is_asked() {
    let scratch = Scratch::new("preload-cheap");
    let root = scratch.path().canonicalize().unwrap();
    binary(&root.join("tree"), 9);
    if let Some(skip) = dear(&root) {
        return skip.say();
    }
    let script = "find tree -mmin +9 -o -print | wc -l; ls -l tree; echo tree/*/*";
    let (expected, _) = site::script(site::How::Without, &root, script);
    let until = Instant::now() + Duration::from_secs(300);
    loop {
        let (ran, tables) = site::script(site::How::With(Haste::Patient), &root, script);
        assert_eq!(ran.text(), expected.text());
        // Calls also take long when other programs get the processor.
        if tables == 0 {
            break;
        }
        if Instant::now() >= until {
            // They may have become dear meanwhile.
            let Some(skip) = dear(&root) else {
                panic!("{tables} tables");
            };
            return skip.say();
        }
    }
    let (ran, tables) = site::script(site::How::With(Haste::Ready), &root, script);
    assert_eq!(ran.text(), expected.text());
    assert!(tables > 0, "nobody would have asked anyhow");
}
