//! Learnt groups among the groups of `trawl groups`.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use trawl_testkit::oracle::{Identity, Ran, run};
use trawl_testkit::skip::without_root;

use crate::site::{Site, mode};

const ANNA: u32 = 60_001;
const BEN: u32 = 60_002;
/// The rules that are shipped.
const RULES: &str = include_str!("../../../../meaning/groups/src/default.toml");

/// Programs, each of which opens files of its own. What all programs open, such as the C library,
/// belongs to none of them.
const PROGRAMS: [&str; 8] = ["cat", "sort", "wc", "tac", "nl", "md5sum", "head", "cut"];
/// Where the files of each program lie, so that a directory has files of all programs.
const DIRECTORIES: [&str; 4] = ["four", "one", "three", "two"];

fn files_of(program: &str) -> Vec<String> {
    let files = DIRECTORIES.iter();
    files.map(|dir| format!("{dir}/{program}")).collect()
}

/// Files that nobody opens.
const REST: [&str; 2] = ["one/rest", "two/rest"];

/// An indexed tree, of which Anna has learnt by running both programs several times.
fn learnt(label: &str) -> Site {
    let mut site = Site::new(label);
    let rest = REST.map(str::to_owned).to_vec();
    for name in PROGRAMS
        .iter()
        .flat_map(|program| files_of(program))
        .chain(rest)
    {
        site.write(&name, &name);
    }
    // No packages.
    let admin = format!("admin = {:?}", site.path("no-packages"));
    let rules = RULES.replace("admin = \"/var/lib/dpkg\"", &admin);
    site.write("../home/.config/trawl/groups.toml", rules);
    fs::create_dir_all(site.state()).expect("room");
    chown(site.state(), Some(ANNA), Some(ANNA)).expect("root");
    site.who = Identity::user(ANNA);
    for _ in 0..3 {
        for program in PROGRAMS {
            let mut trawl = site.trawl(&["run", "--learn", "--", program]);
            let options = if program == "cut" { &["-c1"][..] } else { &[] };
            run(trawl.args(options).args(files_of(program))).expect_code(0);
        }
    }
    site.who = Identity::Ourselves;
    run(asking(&site, &["index", "--quiet"]).arg(site.tree())).expect_code(0);
    site
}

fn asking(site: &Site, words: &[&str]) -> Command {
    let mut trawl = site.trawl(words);
    trawl.env("TRAWL_INDEX", site.path("../index"));
    trawl.env("HOME", site.path("../home"));
    trawl
}

fn ask(site: &Site, words: &[&str]) -> Ran {
    run(&mut asking(site, words))
}

fn json(ran: &Ran) -> Vec<Value> {
    let text = ran.text();
    let rows = text.lines().map(serde_json::from_str);
    rows.map(|row| row.expect("JSON")).collect()
}

fn found(ran: &Ran) -> BTreeSet<PathBuf> {
    let names = ran.stdout.split(|byte| *byte == 0);
    let names = names.filter(|name| !name.is_empty());
    names.map(|name| OsStr::from_bytes(name).into()).collect()
}

#[test]
fn files_that_programs_opened_together_are_a_group() {
    if let Some(skip) = without_root("learnt groups of two users") {
        return skip.say();
    }
    let mut site = learnt("groups-taught");
    site.who = Identity::user(ANNA);
    for program in PROGRAMS {
        let members = files_of(program);
        let members: Vec<&str> = members.iter().map(String::as_str).collect();
        let wanted = site.paths(&members);
        for file in &members {
            let rows = json(&ask(&site, &["groups", "explain", "--json", file]).expect_code(0));
            assert_eq!(rows[0]["rule"], "learnt", "{rows:?}");
            assert_eq!(rows[0]["group_name"], program, "{rows:?}");
            let id = rows[0]["group_id"].as_str().expect("an id");
            let shown = ask(&site, &["groups", "show", "-0", id]).expect_code(0);
            assert_eq!(found(&shown), wanted, "{file}");
            let words = ["find", ".", "-group-of", file, "-print0"];
            let matched = found(&ask(&site, &words).expect_code(0));
            let matched: BTreeSet<_> = matched
                .iter()
                .map(|path| site.path(".").join(path))
                .collect();
            let matched = matched
                .iter()
                .map(|path| path.canonicalize().expect("it is there"));
            assert_eq!(matched.collect::<BTreeSet<_>>(), wanted, "{file}");
        }
        let text = ask(&site, &["groups", "explain", members[0]]).text();
        assert!(text.contains("your programs opened it together"), "{text}");
    }
    let rows = json(&ask(&site, &["groups", "list", "--json", "--rule", "learnt"]).expect_code(0));
    let counts: Vec<_> = rows.iter().map(|row| row["files"].as_u64()).collect();
    assert_eq!(counts, [Some(4); PROGRAMS.len()]);
    // Every file belongs to one group.
    let rows = json(&ask(&site, &["groups", "list", "--json"]).expect_code(0));
    let sum: u64 = rows.iter().filter_map(|row| row["files"].as_u64()).sum();
    assert_eq!(
        sum as usize,
        PROGRAMS.len() * DIRECTORIES.len() + REST.len()
    );
    for file in REST {
        let rows = json(&ask(&site, &["groups", "explain", "--json", file]).expect_code(0));
        assert_eq!(rows[0]["rule"], "directories", "{rows:?}");
    }
}

#[test]
fn what_one_user_learnt_is_not_another_ones() {
    if let Some(skip) = without_root("learnt groups of two users") {
        return skip.say();
    }
    let mut site = learnt("groups-taught-users");
    let rules = |site: &Site| -> BTreeSet<String> {
        let rows = json(&ask(site, &["groups", "list", "--json"]).expect_code(0));
        let rules = rows.iter().filter_map(|row| row["rule"].as_str());
        rules.map(str::to_owned).collect()
    };
    // Ben has a record of his own, which is empty.
    site.who = Identity::user(BEN);
    let mut theirs = asking(&site, &["groups", "list", "--json"]);
    theirs.env("XDG_STATE_HOME", site.path("../home/state"));
    let text = run(&mut theirs).expect_code(0).text();
    assert!(
        !text.contains("learnt") && text.contains("directories"),
        "{text}"
    );
    // Anna's is not used, neither by Ben nor by root, as with a sudo that keeps HOME: the answer
    // lacks learnt groups, and the exit code says so.
    for who in [Identity::user(BEN), Identity::Ourselves] {
        site.who = who;
        let ran = ask(&site, &["groups", "list", "--json"]).expect_code(1);
        assert!(
            !ran.text().contains("learnt") && ran.text().contains("directories"),
            "{ran}"
        );
        let said = "learnt groups are left out: ";
        assert_eq!(ran.errors().matches(said).count(), 1, "{ran}");
        assert!(ran.errors().contains("accesses"), "{ran}");
        let words = ["find", ".", "-group-of", "one/cat", "-name", "sort"];
        let ran = ask(&site, &words).expect_code(1);
        assert_eq!(ran.text(), "./one/sort\n");
        assert_eq!(ran.errors().matches(said).count(), 1, "{ran}");
        let ran = ask(&site, &["related", "one/cat"]).expect_code(1);
        assert!(
            ran.errors().contains("what programs opened is left out: "),
            "{ran}"
        );
    }
    // Members that Anna cannot reach any more are none.
    site.who = Identity::user(ANNA);
    assert!(rules(&site).contains("learnt"));
    mode(&site.path("three"), 0o700);
    for file in ["one/cat", "one/sort"] {
        let ran = ask(&site, &["groups", "explain", file]).expect_code(0);
        assert!(!ran.text().contains("three"), "{ran}");
        let words = ["find", ".", "-group-of", file];
        assert!(!ask(&site, &words).text().contains("three"));
    }
}
