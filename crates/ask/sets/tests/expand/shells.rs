//! Wildcards and braces against bash and tcsh, on random trees.

use std::path::Path;

use proptest::prelude::*;
use trawl_sets::expand::Order;
use trawl_testkit::oracle::command;

use crate::support::{expand, walking};

const NAMES: [&str; 8] = ["a", "b", "ab", "b.c", ".a", "a.b", "c d", "B"];
const TARGETS: [&str; 6] = ["..", ".", "a", "b", "../b", "missing"];

/// An object of a tree: its kind, its path, and where it leads if it is a link.
type Object = (u8, Vec<&'static str>, &'static str);

fn objects() -> impl Strategy<Value = Vec<Object>> {
    let path = prop::collection::vec(prop::sample::select(&NAMES[..]), 1..4);
    let object = (0u8..4, path, prop::sample::select(&TARGETS[..]));
    prop::collection::vec(object, 1..20)
}

fn make(folder: &Path, objects: &[Object]) {
    for (kind, path, target) in objects {
        let path = path
            .iter()
            .fold(folder.to_owned(), |path, name| path.join(name));
        // A file in the place of a directory, or the other way round, stays as it is.
        let _ = std::fs::create_dir_all(path.parent().unwrap());
        let _ = match kind {
            0 | 1 => std::fs::create_dir(&path),
            2 => std::os::unix::fs::symlink(target, &path),
            _ if path.exists() => Ok(()),
            _ => std::fs::write(&path, ""),
        };
    }
}

fn component() -> impl Strategy<Value = String> {
    let part = prop::sample::select(
        &[
            "a",
            "b",
            "*",
            "?",
            "*",
            "a*",
            "[ab]",
            "[^a]",
            "[a-c]*",
            "*.?",
            ".a",
            ".[a-c]",
            "[.]a",
            "??*",
            "{a,b}",
            "{b,*}",
            "{a,.}*",
            "{a,b*,{ab,?}}",
            "{,b}.c",
            "{a}",
            "[^.]*b",
        ][..],
    );
    prop_oneof![
        6 => part.clone().prop_map(str::to_owned),
        1 => (part.clone(), part).prop_map(|(a, b)| format!("{a}{b}")),
        1 => Just("..".to_owned()),
    ]
}

fn pattern() -> impl Strategy<Value = String> {
    let components = prop::collection::vec(component(), 1..4);
    (components, prop::sample::select(&["", "", "", "/"][..]))
        .prop_map(|(parts, end)| parts.join("/") + end)
}

/// Returns for each pattern the existing names that a shell expands it to.
fn shell(folder: &Path, words: &[&str], prelude: &str, patterns: &[String]) -> Vec<Vec<String>> {
    let mut script = prelude.to_owned();
    for pattern in patterns {
        script += &format!("/usr/bin/printf '%s\\n' {pattern}\n/usr/bin/printf '%s\\n' =\n");
    }
    let mut command = command(words[0]);
    command.args(&words[1..]).arg(&script);
    let output = command
        .current_dir(folder)
        .env("LC_ALL", "C")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let mut answers: Vec<&str> = text.split("=\n").collect();
    assert_eq!(answers.pop(), Some(""), "{script}: {errors}");
    assert_eq!(answers.len(), patterns.len(), "{script}: {errors}");
    let names = |answer: &str| {
        let names = answer.lines().filter(|name| exists(folder, name));
        names.map(str::to_owned).collect()
    };
    answers.into_iter().map(names).collect()
}

fn exists(folder: &Path, name: &str) -> bool {
    // Joining drops a slash at the end.
    let path = format!("{}/{name}", folder.display());
    !name.is_empty() && std::fs::symlink_metadata(path).is_ok()
}

fn expanded(folder: &Path, pattern: &str, order: Order) -> Vec<String> {
    let mut expander = walking();
    expander.order = order;
    let (mut names, problems) = expand(&expander, folder, pattern);
    assert!(problems.is_empty(), "{pattern}: {problems:?}");
    names.retain(|name| exists(folder, name));
    names
}

fn compare(words: &[&str], prelude: &str, cases: u32, order: Order) {
    if command(words[0]).arg("-c").arg("exit 0").output().is_err() {
        println!("skipped, because {} is not installed", words[0]);
        return;
    }
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    };
    let input = (objects(), prop::collection::vec(pattern(), 20));
    proptest!(config, |((objects, patterns) in input)| {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path(), &objects);
        let answers = shell(folder.path(), words, prelude, &patterns);
        for (pattern, mut expected) in patterns.iter().zip(answers) {
            let mut found = expanded(folder.path(), pattern, order);
            if order == Order::Free {
                found.sort();
                expected.sort();
            }
            prop_assert_eq!(found, expected, "{} in {:?}", pattern, &objects);
        }
    });
}

#[test]
fn as_bash() {
    compare(&["bash", "-c"], "", 60, Order::Csh);
}

#[test]
fn as_bash_in_any_order() {
    compare(&["bash", "-c"], "", 20, Order::Free);
}

#[test]
fn as_tcsh() {
    compare(&["tcsh", "-f", "-c"], "set nonomatch=1\n", 60, Order::Csh);
}
