//! Tests of the call's promises, one promise per test.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use trawl_call::options::{Flags, Options};
use trawl_call::{Language, LiveWalk, Outcome, Record, Request};

use super::support::{ask, lines, make, records, request_with, tree};

const NONE: u32 = 0;

#[test]
fn patterns_are_anchored_at_the_end() {
    let tree = tree(&["b/bar", "b/foo", "b/c/bar"]);
    for (pattern, answer) in [
        ("bar", &["b/bar", "b/c/bar"][..]),
        ("/bar", &[]),
        ("c/bar", &["b/c/bar"]),
        ("/c/bar", &[]),
        ("b/bar", &["b/bar"]),
        ("/b/bar", &["b/bar"]),
        ("b/foo", &["b/foo"]),
        ("/b/foo", &["b/foo"]),
        ("/*/foo", &["b/foo"]),
        ("/*/*/foo", &[]),
        ("*/*r", &["b/bar", "b/c/bar"]),
        ("*", &["b", "b/bar", "b/c", "b/foo", "b/c/bar"]),
        ("/*", &["b"]),
        ("foo|c/bar", &["b/foo", "b/c/bar"]),
        ("/.", &["."]),
        ("/.|/b", &[".", "b"]),
    ] {
        assert_eq!(ask(pattern, NONE, &[tree.path()]), answer, "{pattern}");
    }
}

#[test]
fn the_order_is_that_of_directories_then_names() {
    let tree = tree(&["a-b/x", "a/x", "a/b/x", "a/z", "x", "b/x", "ab/x"]);
    let answer = ["x", "a/x", "a/b/x", "a-b/x", "ab/x", "b/x"];
    assert_eq!(ask("x", NONE, &[tree.path()]), answer);
}

#[test]
fn the_root_is_included_as_it_was_given() {
    let tree = tree(&["a/x"]);
    let top = tree.path().to_str().unwrap().to_owned();
    let slashed = format!("{top}/");
    let flags = Flags::INCLUDEROOT;
    let ask = |pattern: &str, root: &str| ask(pattern, flags, &[Path::new(root)]);
    assert_eq!(ask("x", &top), [format!("{top}/a/x")]);
    assert_eq!(ask("x", &slashed), [format!("{top}/a/x")]);
    assert_eq!(ask("/.", &slashed), [format!("{top}/")]);
    let file = format!("{top}/a/x");
    assert_eq!(ask(&file, "/"), [&*file]);
}

#[test]
fn every_root_is_told() {
    let tree = tree(&["one/x", "two/y", "three/x"]);
    let roots = ["one", "two", "gone", "three"].map(|name| tree.join(name));
    let roots: Vec<&Path> = roots.iter().map(|root| &**root).collect();
    assert_eq!(ask("x", NONE, &roots), ["x", "!2:open 2 .", "3:x"]);
    assert_eq!(ask("/x", NONE, &roots), ["x", "!2:open 2 .", "3:x"]);
    assert_eq!(ask("/.", NONE, &roots), [".", "1:.", "!2:open 2 .", "3:."]);
    let file = tree.join("one/x");
    assert_eq!(ask("*", NONE, &[&file]), ["!open 20 ."]);
    assert_eq!(ask("/.", NONE, &[&file]), ["."]);
}

#[test]
fn a_period_can_be_asked_for() {
    let tree = tree(&[".git/config", ".profile", "a.c", "d/.x", "d/y"]);
    let top = tree.path();
    assert_eq!(ask("/*", NONE, &[top]), [".git", ".profile", "a.c", "d"]);
    assert_eq!(ask("/*", Flags::PERIOD, &[top]), ["a.c", "d"]);
    assert_eq!(
        ask(".*", Flags::PERIOD, &[top]),
        [".git", ".profile", "d/.x"]
    );
    assert_eq!(ask("config", Flags::PERIOD, &[top]), [".git/config"]);
    assert_eq!(ask("*/config", Flags::PERIOD, &[top]), [""; 0]);
}

#[test]
fn modes_differ_in_marks_and_brackets() {
    let tree = tree(&["ac", "abc", "[ab]c"]);
    let top = tree.path();
    assert_eq!(ask("a?c", NONE, &[top]), ["abc", "ac"]);
    assert_eq!(ask("a?c", Flags::FNMATCH, &[top]), ["abc"]);
    assert_eq!(ask("[ab]?", NONE, &[top]), ["[ab]c"]);
    assert_eq!(ask("[ab]?", Flags::FNMATCH, &[top]), ["ac"]);
}

/// Access is tested as the kernel does it; root may execute only files that have an execute bit.
#[test]
fn access_is_tested_before_a_match_counts() {
    let tree = tree(&["one/prog", "two/prog", "three/prog"]);
    let roots = ["one", "two", "three"].map(|name| tree.join(name));
    let mode = |root: &Path, bits| {
        let path = root.join("prog");
        std::fs::set_permissions(path, PermissionsExt::from_mode(bits)).unwrap();
    };
    mode(&roots[0], 0o644);
    mode(&roots[1], 0o755);
    mode(&roots[2], 0o755);
    let roots: Vec<&Path> = roots.iter().map(|root| &**root).collect();
    let first = Flags::STOPATFIRST;
    for pattern in ["prog", "/prog", "/p*"] {
        assert_eq!(ask(pattern, Flags::X_OK, &roots), ["1:prog", "2:prog"]);
        assert_eq!(ask(pattern, Flags::X_OK | first, &roots), ["1:prog"]);
        assert_eq!(ask(pattern, first, &roots), ["prog"]);
    }
}

fn attributes(record: &Record) -> (u64, u64, u32, u64, u64, i64, u32) {
    let Outcome::Match(Some(of)) = record.outcome else {
        panic!("no attributes: {record:?}");
    };
    (
        of.dev,
        of.ino,
        of.mode,
        of.nlink,
        of.size,
        of.mtime.secs,
        of.uid,
    )
}

#[test]
fn metadata_is_of_what_links_lead_to() {
    let tree = tree(&["dir/", "file", "dir/deep"]);
    let top = tree.path();
    symlink("file", top.join("link")).unwrap();
    symlink("nowhere", top.join("lost")).unwrap();
    std::fs::hard_link(top.join("file"), top.join("twin")).unwrap();
    let all = |flags| {
        let request = super::support::request("*", flags, &[top]);
        records(&LiveWalk::default(), request)
    };
    let followed = all(Flags::METADATA);
    assert_eq!(
        lines(&followed),
        ["dir", "file", "link", "!stat 2 lost", "twin", "dir/deep"]
    );
    let itself = all(Flags::METADATA | Flags::NOFOLLOW);
    assert_eq!(
        lines(&itself),
        ["dir", "file", "link", "lost", "twin", "dir/deep"]
    );
    let stat = |meta: std::fs::Metadata| {
        (
            meta.dev(),
            meta.ino(),
            meta.mode(),
            meta.nlink(),
            meta.size(),
            meta.mtime(),
            meta.uid(),
        )
    };
    let path = |record: &Record| top.join(std::str::from_utf8(&record.path).unwrap());
    for record in followed.iter().filter(|record| record.path != b"lost") {
        let meta = path(record).metadata().unwrap();
        assert_eq!(attributes(record), stat(meta), "{record:?}");
    }
    for record in &itself {
        let meta = path(record).symlink_metadata().unwrap();
        assert_eq!(attributes(record), stat(meta), "{record:?}");
    }
    assert_eq!(lines(&all(NONE)), lines(&itself));
}

#[test]
fn a_link_that_leads_nowhere_is_no_first_match() {
    let tree = tree(&["two/x"]);
    make(tree.path(), &["one/"]);
    symlink("nowhere", tree.join("one/x")).unwrap();
    let roots = ["one", "two"].map(|name| tree.join(name));
    let roots: Vec<&Path> = roots.iter().map(|root| &**root).collect();
    let flags = Flags::STOPATFIRST | Flags::METADATA;
    assert_eq!(ask("/x", flags, &roots), ["!stat 2 x", "1:x"]);
}

#[test]
fn links_are_followed_if_asked() {
    let tree = tree(&["d/x", "e/y"]);
    let top = tree.path();
    symlink("../e", top.join("d/to")).unwrap();
    symlink("x", top.join("d/file")).unwrap();
    assert_eq!(ask("y", NONE, &[top]), ["e/y"]);
    assert_eq!(ask("y", Flags::FOLLOW, &[top]), ["d/to/y", "e/y"]);
    assert_eq!(ask("to", Flags::FOLLOW, &[top]), ["d/to"]);
    // A root may be a symbolic link, as with opendir(3).
    symlink("d", top.join("root")).unwrap();
    assert_eq!(ask("x", NONE, &[&top.join("root")]), ["x"]);
}

fn deeper(pattern: &str, max_depth: usize, top: &Path) -> Vec<String> {
    let options = Options {
        max_depth,
        ..Options::default()
    };
    let request = request_with(pattern, Language::default(), options, &[top]);
    lines(&records(&LiveWalk::default(), request))
}

#[test]
fn what_is_too_deep_is_told_for_each_subtree() {
    let tree = tree(&["a/b/x", "a/x", "c/d/x", "x", "f/x"]);
    let top = tree.path();
    assert_eq!(
        deeper("x", 1, top),
        ["x", "a/x", "!depth 75 a/b", "!depth 75 c/d", "f/x"]
    );
    assert_eq!(
        deeper("x", 0, top),
        ["x", "!depth 75 a", "!depth 75 c", "!depth 75 f"]
    );
    // Nothing below can match, so nothing is missing.
    assert_eq!(deeper("/*/x", 1, top), ["a/x", "f/x"]);
    let options = Options {
        max_depth: 1 << 20,
        ..Options::default()
    };
    let pattern = trawl_call::Pattern::new(b"x", Language::default()).unwrap();
    assert!(Request::new(&pattern, &[b"."], options).is_err());
}

#[test]
fn paths_beyond_what_the_kernel_takes() {
    let tree = tree(&[]);
    let name = "n".repeat(200);
    let mut folder = trawl_testkit::Folder::open(tree.path()).unwrap();
    for _ in 0..40 {
        folder.make_folder(name.as_bytes()).unwrap();
        folder = folder.enter(name.as_bytes()).unwrap();
    }
    folder.make_file(b"x", b"12345").unwrap();
    let request = super::support::request("x", Flags::METADATA | Flags::R_OK, &[tree.path()]);
    let found = records(&LiveWalk::default(), request);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].path.len(), 40 * 201 + 1);
    assert_eq!(attributes(&found[0]).4, 5);
    // Searches from a root that is itself that deep.
    let deep = tree.path().join(vec![name; 30].join("/"));
    assert_eq!(ask("x", NONE, &[&deep]).len(), 1);
    assert_eq!(ask("/.", NONE, &[&deep]), ["."]);
}

#[test]
fn what_may_be_searched_but_not_listed_is_looked_into() {
    if let Some(skip) = trawl_testkit::skip::without_root("directories of others") {
        return skip.say();
    }
    let tree = tree(&[
        "hidden/known",
        "closed/known",
        "listed/known",
        "plain/known",
    ]);
    let top = tree.path();
    for (name, bits) in [("hidden", 0o711), ("closed", 0o700), ("listed", 0o744)] {
        std::fs::set_permissions(top.join(name), PermissionsExt::from_mode(bits)).unwrap();
    }
    let ask = |pattern: &str, flags| super::support::as_other(|| ask(pattern, flags, &[top]));
    assert_eq!(
        ask("/*/known", NONE),
        [
            "!open 13 closed",
            "hidden/known",
            "listed/known",
            "plain/known"
        ]
    );
    assert_eq!(
        ask("known", NONE),
        [
            "!open 13 closed",
            "!open 13 hidden",
            "listed/known",
            "plain/known"
        ]
    );
    assert_eq!(
        ask("known", Flags::R_OK),
        ["!open 13 closed", "!open 13 hidden", "plain/known"]
    );
    assert_eq!(
        ask("known", Flags::METADATA),
        [
            "!open 13 closed",
            "!open 13 hidden",
            "!stat 13 listed/known",
            "plain/known"
        ]
    );
    // Root sees everything.
    assert_eq!(super::support::ask("known", NONE, &[top]).len(), 4);
}

#[test]
fn rights_are_those_of_the_asking_user() {
    if let Some(skip) = trawl_testkit::skip::without_root("rights of others") {
        return skip.say();
    }
    let tree = tree(&["r", "w", "x", "none"]);
    let top = tree.path();
    for (name, bits) in [("r", 0o704), ("w", 0o702), ("x", 0o701), ("none", 0o700)] {
        std::fs::set_permissions(top.join(name), PermissionsExt::from_mode(bits)).unwrap();
    }
    let ask = |flags| super::support::as_other(|| ask("/*", flags, &[top]));
    assert_eq!(ask(Flags::R_OK), ["r"]);
    assert_eq!(ask(Flags::W_OK), ["w"]);
    assert_eq!(ask(Flags::X_OK), ["x"]);
    assert_eq!(ask(Flags::R_OK | Flags::W_OK), [""; 0]);
    assert_eq!(ask(NONE).len(), 4);
}

#[test]
fn other_file_systems_can_be_left_out() {
    use trawl_testkit::{FileSystem, LoopMount};
    let mount = match LoopMount::new(FileSystem::Ext4, 8 << 20) {
        Ok(mount) => mount,
        Err(skip) => return skip.say(),
    };
    make(&mount.path(), &["d/inside"]);
    let point = mount.path();
    let above = point.parent().unwrap();
    let name = point.file_name().unwrap().to_str().unwrap();
    let found = |pattern: &str, flags| {
        let found = ask(pattern, flags, &[above]);
        let mine = found
            .into_iter()
            .filter(|line| line.split('/').next() == Some(name));
        mine.collect::<Vec<_>>()
    };
    let inside = format!("{name}/d/inside");
    assert_eq!(found("inside", NONE), [inside]);
    assert_eq!(found("inside", Flags::XDEV), [""; 0]);
    assert_eq!(found(name, Flags::XDEV), [name]);
}
