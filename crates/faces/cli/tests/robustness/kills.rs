//! Writers that are killed or interrupted at any moment.

use std::process::Stdio;
use std::time::{Duration, Instant};

use trawl_testkit::Prng;
use trawl_testkit::oracle::{command, run};

use crate::site::{Site, TRAWL, effort, files_below, make_tree};

/// Starts a scan, sends a signal after a while, and returns the exit code and the messages.
fn interrupt(site: &Site, tree: &str, signal: &str, after: Duration) -> (Option<i32>, String) {
    let child = command(TRAWL)
        .arg("-i")
        .arg(site.index())
        .args(["index", "--quiet", tree])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    std::thread::sleep(after);
    run(command("kill").args(["-s", signal, &child.id().to_string()]));
    let ended = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    (ended.status.code(), said)
}

#[test]
fn a_killed_or_interrupted_writer_leaves_the_previous_snapshot() {
    let site = Site::new("kills");
    let tree = site.scratch.join("tree");
    make_tree(&tree, 150, 40);
    let tree = tree.to_str().expect("our own name");
    site.trawl(["index", tree]).expect_code(0);
    let clock = Instant::now();
    site.trawl(["index", tree]).expect_code(0);
    let whole_us = u64::try_from(clock.elapsed().as_micros()).expect("short");
    let before = site.trawl(["ls", "-lR", tree]).expect_code(0).stdout;
    let sound_files = files_below(&site.index()).len();
    let mut random = Prng::new(11);
    for round in 0..8 * effort() {
        for signal in ["KILL", "INT", "TERM"] {
            let after = Duration::from_micros(random.below(whole_us));
            let (code, said) = interrupt(&site, tree, signal, after);
            match code {
                // The scan ended before the signal arrived.
                Some(0) => {}
                None => assert!(signal == "KILL" || said.is_empty(), "{signal}: {said}"),
                Some(130) => assert!(said.contains("interrupted"), "{said}"),
                other => panic!("{signal}: {other:?} {said}"),
            }
            let now = site.trawl(["ls", "-lR", tree]).expect_code(0).stdout;
            assert!(now == before, "round {round}, {signal} after {after:?}");
            // At most leftover files are found.
            let found = site.trawl(["index", "--verify"]);
            assert!(
                matches!(found.code, Some(0 | 1)),
                "{found}\n{}",
                found.text()
            );
        }
        site.trawl(["index", "--quiet", tree]).expect_code(0);
        let found = site.trawl(["index", "--verify"]);
        assert_eq!(found.code, Some(0), "{}", found.text());
        assert_eq!(files_below(&site.index()).len(), sound_files);
    }
}

#[test]
fn a_first_scan_that_is_killed_can_be_done_again() {
    let site = Site::new("first");
    let tree = site.scratch.join("tree");
    make_tree(&tree, 60, 20);
    let tree = tree.to_str().expect("our own name");
    let mut random = Prng::new(5);
    for _ in 0..6 * effort() {
        let after = Duration::from_micros(random.below(60_000));
        let (code, _) = interrupt(&site, tree, "KILL", after);
        let answer = site.trawl(["ls", tree]);
        match code {
            Some(0) => assert_eq!(answer.code, Some(0), "{answer}"),
            _ => assert!(matches!(answer.code, Some(0 | 2)), "{answer}"),
        }
        site.trawl(["index", "--quiet", tree]).expect_code(0);
        site.trawl(["index", "--verify"]).expect_code(0);
        site.trawl(["sources", "remove", tree]).expect_code(0);
    }
}
