//! GNU find is the oracle: GNU find searches a tree live, Trawl searches its
//! index with the same words. Output (sorted), exit code and messages must be
//! equal.
//!
//! `TRAWL_FIND_SEED` and `TRAWL_FIND_CASES` repeat or extend the random part.

mod ages;
mod expressions;
mod site;

use expressions::Words;
use site::Site;
use trawl_testkit::{OddTree, Prng, RandomTree, odd_tree, random_tree};

/// Number of lines between two flushes.
#[derive(Default)]
struct Shown {
    parts: Vec<usize>,
    lines: usize,
}

impl std::io::Write for Shown {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.lines += bytes.iter().filter(|byte| **byte == b'\n').count();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        if self.lines > 0 {
            self.parts.push(std::mem::take(&mut self.lines));
        }
        Ok(())
    }
}

/// Search as you type shows the first rows of a search that goes on.
#[test]
fn the_first_rows_are_shown_before_others_are_looked_for() {
    const FILES: usize = 5000;
    let site = Site::build(|root| {
        (0..FILES).try_for_each(|at| std::fs::write(root.join(format!("file-{at}")), ""))
    });
    let words = ["tree", "-name", "file-*"].map(|word| word.as_bytes().to_vec());
    let mut shown = Shown::default();
    let (code, messages) = site.ask_ours_to(&words, &mut shown);
    assert_eq!((code, messages.len()), (0, 0));
    assert_eq!(shown.parts.iter().sum::<usize>(), FILES);
    assert!(shown.parts[0] <= 1024, "{:?}", shown.parts);
}

fn number(variable: &str, otherwise: u64) -> u64 {
    let set = std::env::var(variable).ok();
    set.and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn compare_random(site: &Site, seed: u64, cases: u64) {
    let mut prng = Prng::new(seed);
    let mut differences = Vec::new();
    for _ in 0..cases {
        let words = Words::random(&mut prng, site);
        if words.may_be_forgotten() {
            continue;
        }
        if let Some(difference) = site.difference(&words.words) {
            differences.push(difference);
        }
    }
    assert!(
        differences.is_empty(),
        "TRAWL_FIND_SEED={seed}: {} of {cases} differ\n{}",
        differences.len(),
        differences.join("\n")
    );
}

#[test]
fn random_expressions_over_random_trees() {
    let seed = number("TRAWL_FIND_SEED", trawl_sys::process::now().secs as u64);
    println!("TRAWL_FIND_SEED={seed}");
    for round in 0..3 {
        let site = Site::build(|root| {
            let mut plan = random_tree::Plan::new(seed + round);
            // Half a minute off, so that no limit in minutes is near.
            plan.around_seconds = trawl_sys::process::now().secs + 30;
            RandomTree::build(root, &plan).map(drop)
        });
        compare_random(&site, seed + round, number("TRAWL_FIND_CASES", 150));
    }
}

#[test]
fn random_expressions_over_the_odd_tree() {
    let seed = number("TRAWL_FIND_SEED", trawl_sys::process::now().secs as u64);
    println!("TRAWL_FIND_SEED={seed}");
    let site = Site::build(|root| {
        let plan = odd_tree::Plan {
            wide_files: 50,
            deep_levels: 40,
            long_levels: 4,
            ..odd_tree::Plan::default()
        };
        OddTree::build(root, &plan).map(drop)
    });
    compare_random(&site, seed, number("TRAWL_FIND_CASES", 150));
}

/// Words that random command lines do not contain: mistakes, spellings of start
/// points, `-quit`, depths.
#[test]
fn chosen_expressions() {
    let site = Site::build(|root| {
        let mut plan = random_tree::Plan::new(7);
        plan.around_seconds = trawl_sys::process::now().secs + 30;
        RandomTree::build(root, &plan).map(drop)
    });
    let all = "%p|%P|%H|%h|%f|%d|%y|%s|%m|%n\\0";
    let starts: &[&[&str]] = &[
        &["tree"],
        &["tree/"],
        &["tree//"],
        &["./tree"],
        &["."],
        &["./"],
        &[".."],
        &["tree/."],
        &["tree/../tree"],
        &["tree", "tree"],
        &["tree/nowhere"],
        &["tree/nowhere", "tree"],
        &["tree/no/where"],
        &[""],
        &[],
    ];
    let mut differences = Vec::new();
    let mut check = |words: &[&str]| {
        let words: Vec<Vec<u8>> = words.iter().map(|w| w.as_bytes().to_vec()).collect();
        differences.extend(site.difference(&words));
    };
    for start in starts {
        // Directories above the tree are not in the index.
        if matches!(start, [] | ["." | "./" | ".."]) {
            continue;
        }
        check(&[start, &["-printf", all][..]].concat());
        check(&[start, &["-maxdepth", "0", "-print0"][..]].concat());
        check(
            &[
                start,
                &["-mindepth", "1", "-maxdepth", "2", "-depth", "-printf", all][..],
            ]
            .concat(),
        );
    }
    for words in [
        &["tree", "-ls"][..],
        &["tree", "-prune", "-print0"],
        &["tree", "-mindepth", "1", "-prune", "-print0"],
        &["tree", "-mindepth", "2", "-prune", "-print0"],
        &["tree", "-name", "*a*", "-prune", "-o", "-print0"],
        &["tree", "-depth", "-name", "*a*", "-prune", "-o", "-print0"],
        &[
            "tree", "-type", "d", "!", "-name", "tree", "-prune", "-print0", ",", "-name", "*b*",
            "-print0",
        ],
        &["tree", "-xdev", "-print0"],
        &["tree", "-empty", "-print0"],
        &["tree", "-nouser", "-o", "-nogroup", "-print0"],
        &[
            "tree", "-type", "d", "-empty", "-o", "-links", "+1", "-print0",
        ],
        &["tree", "-quit"],
        &["tree", "-print0", "-quit", "-print0"],
        &["tree", "-name", "tree", "-print0", "-quit"],
        &["tree", "-false", "-quit", "-o", "-print0"],
        &["tree", "-foo"],
        // Warnings precede the error that follows them.
        &["tree", "-perm", "/0", "-newer", "nowhere"],
        &["tree", "-printf", "%q", "-foo"],
        &["tree", "-path", "x/", "-o", "-type", "q"],
        &["tree", "-warn", "-d", "-name", "a/b", "-foo"],
        &["tree", "-D", "none", "-foo"],
        &["-D", "none", "tree", "-foo"],
        &["tree", "-name"],
        &["tree", "-name", "a", "b"],
        &["tree", "-name", "a", "tree"],
        &["tree", "-perm", "9"],
        &["tree", "-type", "q"],
        &["tree", "-size", "1q"],
        &["tree", "-newer", "nowhere"],
        &["tree", "-printf", "%"],
        &["tree", "-printf", "%q\\z\\0"],
        &["tree", "("],
        &["tree", "!", ")"],
        &["tree", "-regex", "\\("],
        &["tree", "-warn", "-name", "x/y", "-maxdepth", "3", "-d"],
        &["tree", "-warn", "-perm", "/000", "-print0"],
        &["tree", "-perm", "/0", "-print0"],
        &["tree", "-nowarn", "-perm", "/u=", "-print0"],
    ] {
        check(words);
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
