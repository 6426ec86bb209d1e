//! Compares a program written from the paper with GNU find, on trees; and checks for the known
//! defects of the surviving implementation of the call.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use trawl_call::options::Flags;
use trawl_testkit::lines::{Ending, Order, assert_same};
use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::skip;

use super::site::{Site, files, random};

/// Returns the list of these directories as the paper writes it: colons and backslashes are escaped.
fn join_roots<P: AsRef<[u8]>>(roots: &[P]) -> Vec<u8> {
    let mut list = Vec::new();
    for (at, root) in roots.iter().enumerate() {
        if at > 0 {
            list.push(b':');
        }
        for byte in root.as_ref() {
            if matches!(byte, b':' | b'\\') {
                list.push(b'\\');
            }
            list.push(*byte);
        }
    }
    list
}

/// Returns the output of GNU find below a directory.
fn find(top: &Path, words: &[&str]) -> Vec<u8> {
    let mut find = oracle::command("find");
    find.arg(top).args(["-mindepth", "1"]).args(words);
    oracle::run(&mut find).expect_code(0).stdout
}

/// Converts flags to those of the paper's header: access flags as in access(2), others shifted up.
fn bare(flags: u32) -> u32 {
    let access = [(Flags::X_OK, 1), (Flags::W_OK, 2), (Flags::R_OK, 4)];
    let asked = access.iter().filter(|(flag, _)| flags & flag != 0);
    let others = flags & !(Flags::R_OK | Flags::W_OK | Flags::X_OK);
    asked.fold(others << 16, |all, (_, bit)| all | bit)
}

/// Returns the output of the program.
fn paper(site: &Site, list: &[u8], pattern: &str, flags: u32) -> Vec<u8> {
    let list = OsString::from(std::ffi::OsStr::from_bytes(list));
    let arguments = [list, pattern.into(), bare(flags).to_string().into()];
    let ran = site.run("paper", &arguments).expect_code(0);
    assert_eq!(ran.errors(), "");
    ran.stdout
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

#[test]
fn the_papers_program_finds_what_find_finds() {
    let Some(site) = Site::get("the paper's program beside find") else {
        return;
    };
    for seed in [1, 2] {
        let tree = random(seed, 600);
        let top = tree.join("tree");
        for (pattern, words) in [
            ("*", &["-printf", "%P\\0"][..]),
            ("/*", &["-maxdepth", "1", "-printf", "%P\\0"]),
            (
                "/*/*",
                &["-mindepth", "2", "-maxdepth", "2", "-printf", "%P\\0"],
            ),
            (
                "*a*|*b",
                &[
                    "(", "-name", "*a*", "-o", "-name", "*b", ")", "-printf", "%P\\0",
                ],
            ),
        ] {
            let found = find(&top, words);
            let answer = paper(site, bytes(&top), pattern, 0);
            assert_same(pattern, &found, &answer, Order::Any, Ending::Zero);
            assert!(!answer.is_empty(), "{pattern}");
        }
        let of_links = Flags::METADATA | Flags::NOFOLLOW;
        let answer = paper(site, bytes(&top), "*", of_links);
        let found = find(&top, &["-printf", "%i %s %m %P\\0"]);
        assert_same("metadata", &found, &answer, Order::Any, Ending::Zero);
    }
}

#[test]
fn names_with_the_calls_own_characters_are_found() {
    let Some(site) = Site::get("odd names") else {
        return;
    };
    let names = [
        "a:b/x|y",
        "a:b/new\nline",
        "a:b/back\\slash",
        "a:b/sp ace",
        "a:b/c:d",
        "e/x|y",
    ];
    let tree = files(names);
    let found = |list: &Path, pattern: &str| {
        let list = join_roots(&[bytes(list)]);
        let out = paper(site, &list, pattern, 0);
        String::from_utf8(out).unwrap()
    };
    let top = tree.join("a:b");
    assert_eq!(found(&top, "x\\|y"), "x|y\0");
    assert_eq!(found(&top, "new\nline"), "new\nline\0");
    assert_eq!(found(&top, "back\\\\slash"), "back\\slash\0");
    assert_eq!(found(&top, "c:d|sp ace"), "c:d\0sp ace\0");
    assert_eq!(found(tree.path(), "x\\|y"), "a:b/x|y\0e/x|y\0");
    assert_eq!(found(tree.path(), "file?"), "");
}

#[test]
fn a_question_mark_is_one_byte_or_none() {
    let Some(site) = Site::get("question marks") else {
        return;
    };
    let tree = files(["file", "file1", "file12"]);
    assert_eq!(
        paper(site, bytes(tree.path()), "file?", 0),
        b"file\0file1\0"
    );
}

#[test]
fn paths_longer_than_the_systems_limit_are_whole() {
    let Some(site) = Site::get("long paths") else {
        return;
    };
    let tree = files(["short"]);
    let name = "n".repeat(250);
    let mut folder = trawl_testkit::Folder::open(tree.path()).unwrap();
    for _ in 0..40 {
        folder = folder.make_folder(name.as_bytes()).unwrap();
    }
    folder.make_file(b"deep", b"").unwrap();
    let answer = paper(site, bytes(tree.path()), "deep", 0);
    assert_eq!(answer.len(), 40 * 251 + b"deep\0".len());
    let found = oracle::run(
        oracle::command("find")
            .current_dir(tree.path())
            .args([".", "-name", "deep", "-printf", "%P\\0"]),
    );
    assert_eq!(found.expect_code(0).stdout, answer);
}

#[test]
fn the_first_match_is_one_that_may_be_used() {
    let test = "the first match for another user";
    let Some(site) = Site::get(test) else { return };
    if let Some(skip) = skip::without_root(test).or(skip::without_program(test, "setpriv")) {
        return skip.say();
    }
    let tree = files(["a/cc", "b/cc", "c/cc", "d/cc"]);
    let mode = |path: &str, mode| {
        std::fs::set_permissions(tree.join(path), PermissionsExt::from_mode(mode)).unwrap();
    };
    mode("a/cc", 0o700);
    mode("b", 0o700);
    mode("b/cc", 0o755);
    mode("c/cc", 0o755);
    mode("d/cc", 0o755);
    let list: Vec<Vec<u8>> = ["a", "b", "c", "d"]
        .iter()
        .map(|dir| bytes(&tree.join(dir)).to_vec())
        .collect();
    let list = std::ffi::OsStr::from_bytes(&join_roots(&list)).to_owned();
    let flags = Flags::STOPATFIRST | Flags::X_OK | Flags::INCLUDEROOT;
    let ask = |pattern: &str, who: &Identity| {
        let command = who.command(site.path("paper"));
        let mut command = site.without_index(command);
        command.arg(&list).arg(pattern).arg(bare(flags).to_string());
        oracle::run(&mut command).expect_code(0)
    };
    let expected = |dir: &str| [bytes(&tree.join(dir)), b"/cc\0"].concat();
    for pattern in ["/cc", "cc", "c*"] {
        let ran = ask(pattern, &Identity::user(54_321));
        assert_eq!(ran.stdout, expected("c"), "{pattern}: {ran}");
        // A directory that cannot be searched is reported.
        assert_eq!(ran.errors().lines().count(), 1, "{ran}");
        assert_eq!(ask(pattern, &Identity::Ourselves).stdout, expected("a"));
    }
}
