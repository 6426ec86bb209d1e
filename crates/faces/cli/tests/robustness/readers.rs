//! Questions during writes.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use trawl_testkit::Ran;

use crate::site::{Site, effort, make_tree};

/// Returns the parts of an answer.
fn content(ran: &Ran) -> (Option<i32>, Vec<u8>, Vec<u8>) {
    (ran.code, ran.stdout.clone(), ran.stderr.clone())
}

#[test]
fn every_answer_during_commits_is_of_one_snapshot() {
    let site = Site::new("commits");
    let at = |name: &str| site.scratch.join(name);
    make_tree(&at("even"), 40, 12);
    make_tree(&at("odd"), 55, 9);
    let tree = at("tree").to_str().expect("our own name").to_owned();
    let put = |name: &str, back: &str| {
        if Path::new(&tree).exists() {
            fs::rename(&tree, at(back)).expect("our own");
        }
        fs::rename(at(name), &tree).expect("our own");
    };
    let questions = [
        vec!["ls", "-lR", &tree],
        vec!["du", "-a", &tree],
        vec!["find", &tree, "-printf", "%p %s %i\\n"],
    ];
    let index = ["index", "-q", "--keep", "1", &tree];
    let mut right: Vec<HashMap<_, &str>> = vec![HashMap::new(); questions.len()];
    for (name, back) in [("even", "odd"), ("odd", "even")] {
        put(name, back);
        site.trawl(index).expect_code(0);
        for (question, right) in questions.iter().zip(&mut right) {
            right.insert(content(&site.trawl(question).expect_code(0)), name);
        }
    }
    assert!(
        right.iter().all(|answers| answers.len() == 2),
        "the states differ"
    );
    let (stop, answers, wrong) = (
        AtomicBool::new(false),
        AtomicU64::new(0),
        Mutex::new(Vec::new()),
    );
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    for (question, right) in questions.iter().zip(&right) {
                        let answer = site.trawl(question);
                        if !right.contains_key(&content(&answer)) {
                            wrong.lock().expect("no panics").push(answer.to_string());
                        }
                        answers.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        for round in 0..20 * effort() {
            let (name, back) = if round % 2 == 0 {
                ("even", "odd")
            } else {
                ("odd", "even")
            };
            put(name, back);
            let wrote = site.trawl(index);
            if wrote.code != Some(0) {
                wrong.lock().expect("no panics").push(wrote.to_string());
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    let wrong = wrong.into_inner().expect("no panics");
    assert!(
        wrong.is_empty(),
        "{} of {answers:?}: {}",
        wrong.len(),
        wrong[0]
    );
    assert!(answers.into_inner() > 10);
    // Files that were kept for a reader are removed by the next gc.
    site.trawl(["gc", "--keep", "1"]).expect_code(0);
    site.trawl(["index", "--verify"]).expect_code(0);
}

#[test]
fn of_two_writers_one_is_told_to_wait() {
    let site = Site::new("writers");
    let tree = site.scratch.join("tree");
    make_tree(&tree, 30, 20);
    let tree = tree.to_str().expect("our own name");
    site.trawl(["index", "-q", tree]).expect_code(0);
    let before = site.trawl(["ls", "-lR", tree]).expect_code(0).stdout;
    let done = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..6 {
                    let wrote = site.trawl(["index", "-q", tree]);
                    match wrote.code {
                        Some(0) => drop(done.fetch_add(1, Ordering::Relaxed)),
                        _ => {
                            assert_eq!(wrote.code, Some(2), "{wrote}");
                            assert!(wrote.errors().contains("is being written by"), "{wrote}");
                        }
                    }
                }
            });
        }
    });
    assert!(done.into_inner() > 0);
    assert!(site.trawl(["ls", "-lR", tree]).expect_code(0).stdout == before);
    site.trawl(["index", "--verify"]).expect_code(0);
}
