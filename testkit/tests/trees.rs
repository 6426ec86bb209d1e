//! The trees have the claimed properties, according to GNU find.

use std::path::Path;

use trawl_testkit::lines::{Ending, Order, assert_same, split};
use trawl_testkit::oracle::{Identity, gnu};
use trawl_testkit::{OddTree, RandomTree, Scratch, odd_tree, random_tree};

/// Everything that a seed determines, one record per entry.
const RECORD: &str = "%P|%y|%m|%s|%U|%G|%n|%l|%A@|%T@\\0";

fn find(root: &Path, arguments: &[&str]) -> Vec<u8> {
    let ran = gnu(
        "find",
        arguments.iter().copied(),
        root,
        &Identity::Ourselves,
    );
    assert!(
        ran.stderr.is_empty() || !trawl_testkit::skip::is_root(),
        "{ran}"
    );
    ran.stdout
}

fn count(root: &Path, arguments: &[&str]) -> usize {
    split(
        &find(root, &[arguments, &["-print0"]].concat()),
        Ending::Zero,
    )
    .len()
}

#[test]
fn an_odd_tree_has_every_oddity() {
    let scratch = Scratch::new("odd");
    let plan = odd_tree::Plan::default();
    let tree = OddTree::build(scratch.path(), &plan).expect("folders can be made");
    tree.say_skipped();
    let root = tree.root.as_path();
    let names = odd_tree::ODD_NAMES.len() + plan.random_names;
    assert_eq!(count(&root.join("names"), &[".", "-type", "f"]), names);
    assert_eq!(
        count(
            &root.join("folders"),
            &[".", "-mindepth", "1", "-maxdepth", "1", "-type", "d"]
        ),
        names
    );
    assert_eq!(count(root, &["wide", "-type", "f"]), plan.wide_files);
    assert_eq!(count(root, &["deep", "-type", "d"]), plan.deep_levels + 1);
    let deepest = find(root, &["deep", "long", "-name", "bottom", "-print0"]);
    let longest: Vec<usize> = split(&deepest, Ending::Zero)
        .iter()
        .map(|path| path.len())
        .collect();
    assert!(
        longest.len() == 2 && longest.iter().all(|&length| length > 4_096),
        "{longest:?}"
    );
    assert_eq!(count(root, &["kinds", "-type", "p"]), 1);
    assert_eq!(count(root, &["kinds", "-type", "s"]), 1);
    assert_eq!(count(root, &["symlinks", "-type", "l"]), 19);
    assert_eq!(
        count(
            root,
            &["times", "-type", "f", "!", "-newermt", "1970-01-01"]
        ),
        18
    );
    assert_eq!(
        count(
            root,
            &["sizes", "-size", "1073741824c", "-size", "+1048575k"]
        ),
        1
    );
    assert_eq!(count(root, &["hard-links/many", "-links", "100"]), 100);
    if trawl_testkit::skip::is_root() {
        assert_eq!(count(root, &["modes", "-perm", "000"]), 2);
        assert_eq!(count(root, &["modes", "-perm", "-4000", "-type", "f"]), 5);
        assert_eq!(
            count(root, &["kinds", "(", "-type", "c", "-o", "-type", "b", ")"]),
            3
        );
        assert_eq!(count(root, &["owners", "-uid", "4294967294"]), 3);
    }
}

#[test]
fn private_folders_are_private() {
    if let Some(skip) = trawl_testkit::skip::without_root("private folders as another user") {
        return skip.say();
    }
    let scratch = Scratch::new("private");
    let plan = odd_tree::Plan {
        deep_levels: 3,
        long_levels: 1,
        wide_files: 1,
        random_names: 0,
        seed: 1,
    };
    OddTree::build(scratch.path(), &plan).expect("folders can be made");
    let ran = gnu(
        "find",
        ["private", "passage/known-name", "acls"],
        scratch.path(),
        &Identity::user(4_711),
    );
    assert!(ran.errors().contains("private"), "{ran}");
    let text = ran.text();
    assert!(
        text.contains("passage/known-name/file") && !text.contains("private/secret"),
        "{text}"
    );
}

#[test]
fn a_seed_decides_a_random_tree() {
    let (first, second, other) = (
        Scratch::new("random"),
        Scratch::new("random"),
        Scratch::new("random"),
    );
    let plan = |seed| random_tree::Plan {
        entries: 500,
        ..random_tree::Plan::new(seed)
    };
    for (scratch, seed) in [(&first, 1), (&second, 1), (&other, 2)] {
        RandomTree::build(scratch.path(), &plan(seed)).expect("a tree");
    }
    // Files only, since listing a folder may set its access time.
    let arguments = [".", "-mindepth", "1", "!", "-type", "d", "-printf", RECORD];
    let records = find(first.path(), &arguments);
    assert_same(
        "same seed",
        &records,
        &find(second.path(), &arguments),
        Order::Any,
        Ending::Zero,
    );
    assert_ne!(records, find(other.path(), &arguments));
    let folders = [
        "-mindepth",
        "1",
        "-type",
        "d",
        "-printf",
        "%P|%m|%U|%G|%T@\\0",
    ];
    assert_same(
        "same folders",
        &find(first.path(), &folders),
        &find(second.path(), &folders),
        Order::Any,
        Ending::Zero,
    );
    if trawl_testkit::skip::is_root() {
        assert_eq!(count(first.path(), &[".", "-mindepth", "1"]), 500);
    }
}

#[test]
fn a_random_tree_has_all_kinds() {
    let scratch = Scratch::new("kinds");
    let plan = random_tree::Plan {
        entries: 500,
        modes: random_tree::Modes::Plain,
        ..random_tree::Plan::new(1)
    };
    RandomTree::build(scratch.path(), &plan).expect("a tree");
    for kind in ["f", "d", "l", "p", "s"] {
        assert!(
            count(scratch.path(), &[".", "-mindepth", "1", "-type", kind]) > 0,
            "no {kind}"
        );
    }
    assert!(count(scratch.path(), &[".", "-type", "f", "-links", "+1"]) > 1);
}

#[test]
fn a_scratch_directory_goes_whatever_is_in_it() {
    let scratch = Scratch::new("gone");
    let plan = odd_tree::Plan {
        deep_levels: 5_000,
        ..odd_tree::Plan::default()
    };
    OddTree::build(scratch.path(), &plan).expect("folders can be made");
    let path = scratch.path().to_path_buf();
    drop(scratch);
    assert!(!path.exists());
}
