//! `trawl attr`, and `find -attr` on what it set. The oracles are getfattr(1) and the list of what
//! was set.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::skip::{without_program, without_root};
use trawl_testkit::{Scratch, Skip};

use crate::grep_text::SETTLED;
use crate::site::{Site, objects};

/// Makes a tree of files, where they can have attributes.
fn site(label: &str, names: &[&str]) -> Option<Site> {
    let site = Site::empty(label);
    for name in names {
        std::fs::write(site.tree().join(name), "some text\n").unwrap();
    }
    let probe = Scratch::new_in(&site.tree().join(".."), "probe");
    std::fs::write(probe.join("f"), "").unwrap();
    let set = oracle::run(
        oracle::command("setfattr")
            .args(["-n", "user.x"])
            .arg(probe.join("f")),
    );
    if set.code != Some(0) {
        Skip::new(label, "extended attributes cannot be set here").say();
        return None;
    }
    Some(site)
}

#[test]
fn attributes_are_set_shown_and_removed() {
    if let Some(skip) = without_program("attributes", "setfattr") {
        return skip.say();
    }
    let Some(site) = site("attr", &["song", "other"]) else {
        return;
    };
    site.trawl(&[
        "attr",
        "set",
        "song",
        "artist=Bach",
        "rating=5",
        "tag=a",
        "tag=b c",
        "cut=0.01",
    ])
    .expect_code(0);
    site.trawl(&[
        "attr",
        "set",
        "-t",
        "text",
        "song",
        "roll=0017",
        "year=1984",
    ])
    .expect_code(0);
    site.run("attr set song when=2026-01-02T03:04:05Z")
        .expect_code(0);
    let mut getfattr = oracle::command("getfattr");
    getfattr.args(["-d", "song"]).current_dir(site.tree());
    let dump = oracle::run(&mut getfattr).expect_code(0).text();
    let mut lines: Vec<&str> = dump
        .lines()
        .filter(|line| line.starts_with("user."))
        .collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "user.trawl.artist=\"tBach\"",
            "user.trawl.cut=\"r0.01\"",
            "user.trawl.rating=\"i5\"",
            "user.trawl.roll=\"t0017\"",
            "user.trawl.tag=\"l2:ta4:tb c\"",
            "user.trawl.when=\"d2026-01-02T03:04:05Z\"",
            "user.trawl.year=\"t1984\"",
        ]
    );
    assert_eq!(
        site.run("attr get song tag").expect_code(0).text(),
        "a\nb c\n"
    );
    let listed = site.run("attr list --json song other").expect_code(0);
    let listed = objects(&listed);
    assert_eq!(listed.len(), 2);
    let first = &listed[0]["attributes"][0];
    assert_eq!(first["name"], "artist");
    assert_eq!(first["type"], "text");
    assert_eq!(listed[1]["attributes"], serde_json::json!([]));
    let shown = site.run("attr list song").expect_code(0).text();
    assert!(shown.starts_with("song\n  artist = Bach\n"), "{shown}");
    site.run("attr remove song tag year").expect_code(0);
    let again = site.run("attr remove song tag").expect_code(1);
    assert!(again.errors().contains("tag"), "{again}");
    site.run("attr get song tag").expect_code(1);
}

#[test]
fn mistakes_have_a_remedy() {
    let site = Site::empty("attr-mistakes");
    std::fs::write(site.tree().join("f"), "").unwrap();
    for (words, expected) in [
        (&["attr", "set", "f", "artist"][..], "write NAME=VALUE"),
        (&["attr", "set", "f", "Artist=x"], "begin with a letter a-z"),
        (
            &["attr", "set", "-t", "integer", "f", "n=x"],
            "is not an integer",
        ),
        (
            &["attr", "set", "-t", "time", "f", "n=noon"],
            "is not a time",
        ),
        (&["attr", "set", "none", "n=1"], "no such file"),
    ] {
        let ran = site.trawl(words).expect_code(2);
        assert!(ran.errors().contains(expected), "{words:?}: {ran}");
    }
}

/// Conditions, and the files of [`tree`] that fulfil them.
const ANSWERS: [(&str, &[&str]); 9] = [
    ("rating", &["a", "b", "c"]),
    ("rating>=4", &["b", "c"]),
    ("rating=3", &["a"]),
    ("tag=red", &["b"]),
    ("tag!=red", &["c"]),
    ("when<2026-02-01", &["a"]),
    ("share>0.25", &["c"]),
    // Beside the attributes of the content.
    ("lines=1", &["a", "b", "c", "plain"]),
    ("absent", &[]),
];

fn check(site: &Site, before: &[&str], answers: &[(&str, &[&str])]) {
    for (condition, expected) in answers {
        let words = [
            &["find"],
            before,
            &[".", "-attr", condition, "-printf", "%f\\n"],
        ]
        .concat();
        let ran = site.trawl(&words).expect_code(0);
        let text = ran.text();
        let mut found: Vec<&str> = text.lines().collect();
        found.sort_unstable();
        assert_eq!(&found[..], *expected, "{before:?} {condition}: {ran}");
    }
}

/// "Search Hooks offer a flexible mechanism to allow applications to feed the file index when they
/// are manipulating data" (paper, section 3.3). Answers are exact, whatever the index's age.
#[test]
fn searches_find_attributes_at_once() {
    if let Some(skip) = without_program("attributes", "setfattr") {
        return skip.say();
    }
    let Some(site) = site("attr-find", &["a", "b", "c", "plain"]) else {
        return;
    };
    for line in [
        "attr set a rating=3 when=2026-01-02",
        "attr set b rating=4 tag=red tag=blue",
        "attr set c rating=5 tag=green share=0.5",
    ] {
        site.run(line).expect_code(0);
    }
    check(&site, &["--live"], &ANSWERS);
    std::thread::sleep(SETTLED);
    site.run("index --quiet --keywords .").expect_code(0);
    check(&site, &[], &ANSWERS);
    check(&site, &["--live"], &ANSWERS);
    // Changed after the contents were indexed: no answer is that of before.
    site.run("attr set a rating=9").expect_code(0);
    site.run("attr remove b tag").expect_code(0);
    let now: [(&str, &[&str]); 3] = [
        ("rating>=4", &["a", "b", "c"]),
        ("tag=red", &[]),
        ("rating=3", &[]),
    ];
    check(&site, &["--live"], &now);
    site.run("index --quiet .").expect_code(0);
    check(&site, &[], &now);
}

#[test]
fn users_see_attributes_of_files_that_they_may_read() {
    if let Some(skip) = without_root("other users' attributes") {
        return skip.say();
    }
    let Some(site) = site("attr-users", &["open", "closed"]) else {
        return;
    };
    const USER: u32 = 4831;
    site.run("attr set open secret=1").expect_code(0);
    site.run("attr set closed secret=1").expect_code(0);
    std::fs::set_permissions(site.tree().join("closed"), Permissions::from_mode(0o600)).unwrap();
    site.scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    std::thread::sleep(SETTLED);
    site.run("index --quiet --keywords .").expect_code(0);
    let ask = |words: &[&str]| {
        let mut trawl = Identity::user(USER).command(site.scratch.join("trawl"));
        trawl.args(words).current_dir(site.tree());
        trawl.env("TRAWL_INDEX", site.index_dir());
        oracle::run(&mut trawl)
    };
    let found = ask(&["find", ".", "-attr", "secret"]);
    assert_eq!(
        (found.text(), found.code),
        ("./open\n".into(), Some(1)),
        "{found}"
    );
    assert!(found.errors().contains("closed"), "{found}");
    ask(&["attr", "get", "closed", "secret"]).expect_code(2);
    let refused = ask(&["attr", "set", "open", "secret=2"]).expect_code(2);
    assert!(refused.errors().contains("permission denied"), "{refused}");
    chown(site.tree().join("open"), Some(USER), None).unwrap();
    ask(&["attr", "set", "open", "secret=2"]).expect_code(0);
    assert_eq!(ask(&["attr", "get", "open", "secret"]).text(), "2\n");
}
