//! `trawl search`: its output, the source of answers, and exit codes.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use trawl_testkit::skip::without_root;
use trawl_testkit::{Scratch, oracle};

use crate::site::{Site, objects};
use crate::watch::Watched;

fn small() -> Site {
    let site = Site::empty("search");
    for name in ["a/x.c", "a/b/y.c", "a/b/y.h", "z", "a b"] {
        let path = site.tree().join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("room");
        fs::write(path, name).expect("room");
    }
    site
}

#[test]
fn matches_come_in_order() {
    let site = small();
    for (words, expected) in [
        ("*.c|*.h", "a/x.c\na/b/y.c\na/b/y.h\n"),
        ("-f *.c", "a/x.c\n"),
        ("/. -r a a/b", "a\na/b\n"),
        ("/ -r a/b", "a/b/y.c\na/b/y.h\n"),
        ("--fnmatch ?", "a\nz\na/b\n"),
        ("/z", "z\n"),
        ("nothing", ""),
    ] {
        let ran = site.run(&format!("search {words}")).expect_code(0);
        assert_eq!(ran.text(), expected, "{ran}");
    }
    let ran = site.run("search -0 a?b").expect_code(0);
    assert_eq!(ran.stdout, b"a b\0");
}

#[test]
fn both_executors_print_the_same() {
    let site = small();
    site.index();
    for words in [
        "* .",
        "-m /*",
        "-f y.* a .",
        "-r --readable *.c . a/b",
        "-x *",
    ] {
        let ask = |who: &str| site.run(&format!("search --status --served-by {who} {words}"));
        let (live, index) = (ask("live").expect_code(0), ask("index").expect_code(0));
        assert_eq!(live.text(), index.text(), "{words}");
        assert!(live.errors().contains("answered by: live"), "{live}");
        assert!(index.errors().contains("answered by: index"), "{index}");
    }
    // Nobody watches, so the age of the index is unknown.
    let ran = site.run("search --status * .").expect_code(0);
    assert!(ran.errors().contains("answered by: live"), "{ran}");
}

#[test]
fn records_are_objects() {
    let site = small();
    let ran = site.run("search --json -m /z . gone").expect_code(1);
    let found = objects(&ran);
    assert_eq!(found.len(), 2, "{ran}");
    assert_eq!(
        (&found[0]["root"], &found[0]["path"]),
        (&".".into(), &"z".into())
    );
    assert_eq!(
        (&found[0]["size"], &found[0]["served_by"]),
        (&1.into(), &"live".into())
    );
    assert_eq!(
        (&found[1]["error"], &found[1]["errno"]),
        (&"open".into(), &2.into())
    );
}

#[test]
fn what_is_wrong_is_said() {
    let site = small();
    let ran = site.run("search a/").expect_code(2);
    assert!(ran.errors().contains("ends in a slash"), "{ran}");
    let ran = site.run("search * gone").expect_code(1);
    assert!(ran.errors().contains("no such file or directory"), "{ran}");
    let ran = site.run("search --at -1 *").expect_code(2);
    assert!(ran.errors().contains("answers only about now"), "{ran}");
    site.index();
    let ran = site.run("search --served-by index -L *").expect_code(2);
    assert!(ran.errors().contains("only a live search"), "{ran}");
    let ran = site.run("search --served-by index * /").expect_code(2);
    assert!(ran.errors().contains("not indexed"), "{ran}");
}

/// Asks a server the same question.
fn over_there(watched: &Watched, words: &[&str]) -> oracle::Ran {
    let server = format!(
        "--remote=command:{} serve --stdio",
        env!("CARGO_BIN_EXE_trawl")
    );
    let words: Vec<&str> = words.iter().copied().chain([&server[..]]).collect();
    watched.trawl(&words)
}

#[test]
fn the_index_answers_while_a_daemon_keeps_it_as_of_now() {
    let Some(mut watched) = Watched::new() else {
        return;
    };
    watched.start(|_| {});
    watched.settle();
    let root = watched.root();
    for round in 0..4 {
        fs::write(root.join(format!("d/new-{round}")), "x").expect("room");
        let mode = fs::Permissions::from_mode(0o700 + round);
        fs::set_permissions(root.join("d"), mode).expect("it is there");
        for words in [
            &["search", "--status", "-m", "*"][..],
            &["search", "--status", "new-?"],
        ] {
            let ran = watched.trawl(words).expect_code(0);
            assert!(ran.errors().contains("answered by: index"), "{ran}");
            let mut live = words.to_vec();
            live.push("--served-by=live");
            assert_eq!(ran.text(), watched.trawl(&live).text(), "{ran}");
            let there = over_there(&watched, words).expect_code(0);
            assert!(
                there.errors().contains("answered by: remote (index)"),
                "{there}"
            );
            assert_eq!(there.text(), ran.text(), "{there}");
        }
    }
    watched.end("-TERM");
    let there = over_there(&watched, &["search", "--status", "new-?"]).expect_code(0);
    assert!(
        there.errors().contains("answered by: remote (live)"),
        "{there}"
    );
    fs::write(root.join("late"), "x").expect("room");
    let ran = oracle::run(
        watched
            .program()
            .args(["search", "--status", "lat*"])
            .arg(&root),
    );
    assert_eq!(ran.text(), "late\n");
    assert!(ran.errors().contains("answered by: live"), "{ran}");
}

/// A small machine: `/` is a tree in which everything except the program was made here.
const MACHINE: &str = r#"
set -e; cd "$1"
mkdir usr proc srv srv/closed srv/open
: > srv/closed/known; : > srv/open/known; chmod 700 srv/closed
ln -s usr/bin bin; ln -s usr/lib lib; ln -s usr/lib64 lib64
mount --rbind /usr usr; mount --rbind /proc proc
cp "$2" trawl
chroot . /trawl -i /index index -q /
for by in live index; do
    chroot --userspec=60009:60009 . /bin/sh -c \
        'cd /usr; exec /trawl -i /index search --served-by "$1" "/srv/*/known" /' sh $by 2>&1 || echo "exit $?"
done
"#;

#[test]
fn the_file_systems_own_root_is_searched_alike() {
    if let Some(skip) = without_root("a search of / in a tree of its own") {
        return skip.say();
    }
    let scratch = Scratch::new("machine");
    let top = scratch.join("top");
    fs::create_dir(&top).expect("room");
    fs::set_permissions(&top, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let mut unshare = oracle::command("unshare");
    unshare.args(["-m", "sh", "-c", MACHINE, "sh"]).arg(&top);
    let ran = oracle::run(unshare.arg(env!("CARGO_BIN_EXE_trawl"))).expect_code(0);
    let text = ran.text();
    let (live, index) = text.split_at(text.len() / 2);
    assert!(live.contains("srv/open/known\n"), "{ran}");
    assert!(live.contains("cannot open ‘srv/closed’"), "{ran}");
    assert_eq!(live, index, "{ran}");
}
