//! The permission tester's trees and users (`cargo test -p trawl-cli --test permissions`), asked in SQL:
//! entries, members of groups and their sums, words, attributes, relations.

use std::ffi::OsString;

use trawl_testkit::Scratch;
use trawl_testkit::permissions::compare::Questions;
use trawl_testkit::permissions::stage::cannot;
use trawl_testkit::permissions::{Check, Plan, Site, Tally, people};

/// Number of trees.
const TREES: u64 = 12;
/// One tree in so many has an index of contents.
const CONTENTS_EVERY: u64 = 4;
/// Files that were changed less than 3 seconds before are not packed.
const SETTLED: std::time::Duration = std::time::Duration::from_millis(4500);

/// Indexes a tree in this process.
fn index(site: &Site, seed: u64) {
    let mut words: Vec<OsString> = vec!["trawl".into(), "-i".into(), site.index_dir().into()];
    words.extend(["index".into(), "--quiet".into()]);
    if seed.is_multiple_of(CONTENTS_EVERY) {
        std::thread::sleep(SETTLED);
        words.push("--keywords".into());
    }
    words.push(site.root().into());
    assert_eq!(trawl_cli::run(words).code(), 0, "seed {seed}");
}

#[test]
fn every_user_sees_what_the_kernel_shows() {
    if cannot("permissions of SQL against the kernel") {
        return;
    }
    let scratch = Scratch::new("sql-permissions");
    let program = scratch.install(std::path::Path::new(env!("CARGO_BIN_EXE_trawl-sql")));
    let mut sum = Tally::default();
    for seed in 1..=TREES {
        let site = Site::build(&Plan::new(seed), &program).expect("room");
        site.add_references().expect("room");
        index(&site, seed);
        for person in people::everybody() {
            let questions = Questions::new(&site, &person, &[Vec::new()]);
            match questions.check(Check::Sql) {
                Ok(tally) => sum.add(tally),
                Err(why) => panic!("{why}"),
            }
        }
    }
    // A comparison of nothing with nothing must not count as a proof.
    assert!(sum.questions > 300 && sum.rows > 5_000, "{sum:?}");
    eprintln!("sql: {sum:?}");
}
