//! Random command lines of find over random trees. GNU find is the oracle; the program answers from
//! its index and from the live file system, as root and as an ordinary user.
//!
//! By default there are some hundred command lines. For a long run, or to reproduce a failure:
//!
//! ```sh
//! TRAWL_FIND_CASES=10000 TRAWL_FIND_SEED=1 cargo test -p trawl-cli --test finders -- --nocapture
//! ```
//!
//! `TRAWL_FIND_FAILURES=20` continues until this number of different failures is shrunk,
//! `TRAWL_FIND_PROGRAM` names a program other than the one that was built, `TRAWL_FIND_SIDES=index`
//! asks only this side, `TRAWL_FIND_SHRINK=0` reports failures as they were drawn.

#![forbid(unsafe_code)]

mod known;
mod run;
mod tally;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use run::{Plan, Run};
use trawl_testkit::finders::{Side, vocabularies};
use trawl_testkit::{Scratch, skip};

/// Default number of command lines.
const CASES: u64 = 300;
/// Seed of the first tree.
const SEED: u64 = 1;

/// A test that writes a program must not run while another one is started: the other process would
/// have the program open for writing, which then cannot be run.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn number(variable: &str, or_else: u64) -> u64 {
    let asked = std::env::var(variable).ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(or_else)
}

fn sides() -> Vec<Side> {
    let all = [("index", Side::Index), ("live", Side::Live)];
    let words = std::env::var("TRAWL_FIND_SIDES").unwrap_or_else(|_| "index,live".into());
    let wanted = |(name, _): &(&str, Side)| words.split(',').any(|word| word == *name);
    all.into_iter()
        .filter(wanted)
        .map(|(_, side)| side)
        .collect()
}

#[test]
fn every_finder_answers_as_gnu_find_does() {
    let _alone = alone();
    if let Some(skip) = skip::without_program("finders against GNU find", "find") {
        return skip.say();
    }
    if let Some(skip) = skip::without_root("finders as an ordinary user, devices, mounts") {
        skip.say();
    }
    let scratch = Scratch::new("finders-program");
    let built = env!("CARGO_BIN_EXE_trawl").into();
    let program = std::env::var_os("TRAWL_FIND_PROGRAM").unwrap_or(built);
    let plan = Plan {
        trawl: scratch.install(Path::new(&program)),
        sides: sides(),
        seed: number("TRAWL_FIND_SEED", SEED),
        cases: number("TRAWL_FIND_CASES", CASES),
        failures: number("TRAWL_FIND_FAILURES", 1) as usize,
        shrinks: number("TRAWL_FIND_SHRINK", 1) > 0,
    };
    let run = Run::new(plan);
    run.expect_known();
    run.work();
    run.judge();
}

/// find itself in place of the program passes; a program that leaves out a path, prints one too
/// many, or forgets a message or an exit code does not.
#[test]
fn the_comparison_finds_what_is_wrong() {
    let _alone = alone();
    let scratch = Scratch::new("finders-self");
    let install = |name: &str, body: &str| -> PathBuf {
        let path = scratch.join(name);
        let text = format!(
            "#!/bin/bash\n[ \"$1\" = -i ] && shift 2\n[ \"$1\" = index ] && exit 0\nshift\n\
             [ \"$1\" = --live ] && shift\n{body}\n"
        );
        std::fs::write(&path, text).expect("a script");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, mode).expect("our own file");
        path
    };
    let failures = |trawl: PathBuf| {
        let run = Run::new(Plan {
            trawl,
            sides: vec![Side::Index],
            seed: 1,
            cases: 40,
            failures: 1,
            shrinks: true,
        });
        run.work();
        run.failures()
    };
    let same = install("same", "exec find \"$@\"");
    assert_eq!(failures(same), Vec::<String>::new());
    for (name, body) in [
        ("less", "find \"$@\" | tail -n +2; exit ${PIPESTATUS[0]}"),
        ("more", "find \"$@\"; code=$?; echo more; exit $code"),
        ("mute", "find \"$@\" 2> /dev/null"),
        ("pleased", "find \"$@\"; exit 0"),
    ] {
        let program = install(name, body);
        assert!(!failures(program).is_empty(), "{name} passes");
    }
}

/// Words that the program does not know are reported, not ignored.
#[test]
fn the_vocabulary_is_what_the_program_says() {
    let _alone = alone();
    let trawl = Path::new(env!("CARGO_BIN_EXE_trawl"));
    let (index, _) = vocabularies(trawl);
    assert!(index.knows("-name") && index.knows("-printf") && index.knows("%p"));
    let scratch = Scratch::new("finders-words");
    let nothing = scratch.join("nothing");
    std::fs::write(
        &nothing,
        "#!/bin/sh\necho \"find: unknown predicate\" >&2; exit 1\n",
    )
    .expect("a script");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&nothing, mode).expect("our own file");
    let (index, live) = vocabularies(&nothing);
    assert!(!index.knows("-name") && !index.knows("%p") && live.is_none());
}
