//! Pitfalls that implementations of find have fallen into, each a line of shell that is run with GNU
//! find and with the program, from the index and from the live file system. Output (sorted),
//! messages and the exit code must be the same.
//!
//! Known failures are in [`pending::PENDING`], and must fail: whoever fixes one removes its row.
//!
//! `TRAWL_PITFALLS=size` runs only traps with this word in their line, and prints what each side
//! printed.

#![forbid(unsafe_code)]

mod actions;
mod effects;
mod outputs;
mod paths;
mod pending;
mod process;
mod scripts;
mod site;
mod suites;
mod tests;

use std::fmt::Write as _;

use site::{Mode, Site};
use trawl_testkit::skip;

/// Returns every trap.
fn traps() -> Vec<&'static str> {
    let lists = [
        paths::TRAPS,
        tests::TRAPS,
        actions::TRAPS,
        effects::TRAPS,
        outputs::TRAPS,
        process::TRAPS,
        suites::TRAPS,
        scripts::TRAPS,
    ];
    let wanted = std::env::var("TRAWL_PITFALLS").unwrap_or_default();
    let all = lists.into_iter().flatten().copied();
    all.filter(|line| line.contains(&wanted)).collect()
}

fn run(mode: Mode) {
    if let Some(skip) = skip::without_program("traps", "find") {
        return skip.say();
    }
    let site = Site::new();
    if let Some(skip) = site.cannot(mode) {
        return skip.say();
    }
    let is_loud = std::env::var_os("TRAWL_PITFALLS").is_some();
    let mut wrong = String::new();
    for line in traps() {
        let failure = site.difference(mode, line);
        let is_pending = pending::is_pending(mode, line);
        match failure {
            Some(text) if is_loud || !is_pending => {
                let _ = writeln!(wrong, "{line}\n{text}");
            }
            None if is_pending => {
                let _ = writeln!(wrong, "{line}\n  passes: take it out of pending.rs\n");
            }
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{mode:?}\n\n{wrong}");
}

#[test]
fn traps_from_the_index() {
    run(Mode::Index);
}

#[test]
fn traps_from_the_live_file_system() {
    run(Mode::Live);
}

#[test]
fn pending_traps_exist() {
    let all = traps();
    if std::env::var_os("TRAWL_PITFALLS").is_some() {
        return;
    }
    for line in pending::PENDING.iter().flat_map(|row| row.2) {
        assert!(all.contains(line), "{line}");
    }
}
