//! Exclusions are remembered literally: by the next scan, by the daemon, and by a refresh. A tree
//! that is watched is scanned by its daemon.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use trawl_testkit::daemon::{Daemon, until_as_of_now};
use trawl_testkit::oracle;
use trawl_testkit::skip::without_root;

use crate::site::Site;

/// Names of directories that are hard to join in one text, and other names.
const ODD: [&[u8]; 5] = [b"My Music", b"a:b", b"new\nline", b"caf\xe9", b"quo\"te\\"];
const PLAIN: [&str; 4] = ["My", "Music", "a", "line"];

fn site() -> Site {
    let site = Site::empty("left-out");
    let odd = ODD.iter().map(|name| OsStr::from_bytes(name));
    for name in odd.chain(PLAIN.iter().map(OsStr::new)) {
        fs::create_dir(site.tree().join(name)).expect("room");
        fs::write(site.tree().join(name).join("file"), "x").expect("room");
    }
    site
}

/// Compares the tree without the odd names, as the kernel shows it, with the index.
#[track_caller]
fn compare(site: &Site, what: &str) {
    let tree = site.tree();
    let names = fs::read_dir(&tree).expect("it is there").flatten();
    let names = names.map(|entry| entry.file_name().as_bytes().to_vec());
    let mut expected: Vec<Vec<u8>> = names.filter(|name| !ODD.contains(&&name[..])).collect();
    expected.sort();
    let words = [
        "find",
        ".",
        "-mindepth",
        "1",
        "-maxdepth",
        "1",
        "-printf",
        "%f\\0",
    ];
    let found = site.trawl(&words);
    assert_eq!(found.code, Some(0), "{what}: {found}");
    let found = found
        .stdout
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty());
    let mut found: Vec<Vec<u8>> = found.map(<[u8]>::to_vec).collect();
    found.sort();
    assert_eq!(found, expected, "{what}");
}

fn index_without_odd(site: &Site) {
    let mut command = site.command();
    command.args(["index", "--quiet"]);
    for name in ODD {
        // A backslash stands for itself only after another one.
        let pattern = name.iter().flat_map(|byte| match byte {
            b'\\' => vec![b'\\', b'\\'],
            byte => vec![*byte],
        });
        let pattern: Vec<u8> = pattern.collect();
        command.arg("--exclude").arg(OsStr::from_bytes(&pattern));
    }
    oracle::run(command.arg(".")).expect_code(0);
}

fn watch(site: &Site) -> Daemon {
    let daemon = Daemon::start(site.command().args(["watch", "."]));
    until_as_of_now(|| site.trawl(&["find", ".", "-maxdepth", "0"]));
    daemon
}

#[test]
fn patterns_with_spaces_are_remembered_as_they_were() {
    let site = site();
    index_without_odd(&site);
    compare(&site, "indexed");
    let listed = site.run("sources");
    assert!(
        listed.text().contains("without ") && listed.text().contains("My Music"),
        "{listed}"
    );
    fs::write(site.tree().join("My/new"), "").expect("room");
    let again = site.run("index .");
    assert!(
        again.text().contains("left out: ") && again.text().contains("--no-exclude"),
        "{again}"
    );
    compare(&site, "indexed again");
    site.run("index --refresh .").expect_code(0);
    compare(&site, "refreshed");
    // find walks what exists, as GNU find does.
    let told = site.trawl(&["find", "My Music/file"]);
    assert!(
        told.errors().contains("left out of the index (--exclude"),
        "{told}"
    );
    assert_eq!(told.expect_code(0).text(), "My Music/file\n");
    for command in ["ls", "du", "stat", "top", "stats"] {
        let told = site.trawl(&[command, "My Music/file"]);
        assert!(
            told.errors().contains("left out of the index (--exclude"),
            "{told}"
        );
        assert_ne!(told.code, Some(0), "{told}");
    }
    site.run("index --quiet --no-exclude .").expect_code(0);
    assert!(site.trawl(&["ls", "My Music"]).text().contains("file"));
    let listed = site.run("sources");
    assert!(!listed.text().contains("without"), "{listed}");
}

#[test]
fn a_daemon_leaves_out_what_the_scan_left_out() {
    if let Some(skip) = without_root("excludes of a daemon") {
        return skip.say();
    }
    let site = site();
    index_without_odd(&site);
    let mut daemon = watch(&site);
    fs::write(site.tree().join("My/new"), "").expect("room");
    fs::write(site.tree().join("My Music/new"), "").expect("room");
    fs::create_dir(site.tree().join("made")).expect("room");
    compare(&site, "watched");
    site.run("index --refresh .").expect_code(0);
    compare(&site, "refreshed by the daemon");
    daemon.end("-TERM");
    compare(&site, "afterwards");
}

#[test]
fn a_watched_tree_is_scanned_by_its_daemon() {
    if let Some(skip) = without_root("indexing what is watched") {
        return skip.say();
    }
    let site = site();
    index_without_odd(&site);
    let mut daemon = watch(&site);
    // A change is published, so that the daemon writes the source from now on.
    fs::write(site.tree().join("My/new"), "").expect("room");
    compare(&site, "watched");
    let indexed = site.run("index .").expect_code(0);
    assert!(
        indexed.errors().contains("its daemon scans it now"),
        "{indexed}"
    );
    compare(&site, "indexed");
    let refused = site
        .trawl(&["index", "--exclude", "My", "."])
        .expect_code(2);
    assert!(
        refused.errors().contains("stop the daemon first"),
        "{refused}"
    );
    compare(&site, "refused");
    daemon.end("-TERM");
}

#[test]
fn after_a_killed_daemon_answers_say_until_when_it_watched() {
    if let Some(skip) = without_root("a killed daemon") {
        return skip.say();
    }
    let site = site();
    site.index();
    let mut daemon = watch(&site);
    fs::write(site.tree().join("My/new"), "").expect("room");
    assert!(site.run("find My").text().contains("My/new"));
    daemon.end("-KILL");
    fs::write(site.tree().join("My/later"), "").expect("room");
    for words in [&["find", "My"][..], &["ls", "My"], &["du", "My"]] {
        let told = site.trawl(words).expect_code(1);
        assert!(told.errors().contains("its daemon was killed"), "{told}");
        assert!(told.errors().contains("changes after 20"), "{told}");
    }
    site.trawl(&["find", "--no-wait", "My"]).expect_code(0);
    site.index();
    let found = site.run("find My").expect_code(0);
    assert!(found.text().contains("My/later"), "{found}");
}
