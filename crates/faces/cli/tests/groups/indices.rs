//! `trawl index show --in-group`: the entries of a named index that are members of a group now, as the
//! asking user sees it. The oracles are `trawl groups show` and what stat(2) says of its files.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use serde_json::Value;
use trawl_testkit::oracle::{self, Identity, Ran, run};
use trawl_testkit::skip::{without_program, without_root};

use crate::site::{Site, path_of};

const BEN: u32 = 60_002;

const FILES: [&str; 9] = [
    "prog/.hg/x",
    "prog/src/main.c",
    "prog/src/util.h",
    "music/Miles/Blue/one.flac",
    "music/Miles/Blue/cover.jpg",
    "docs/letter.txt",
    "docs/tax.pdf",
    "docs/page.html",
    "main.c",
];

/// A place in which hooks can run.
fn with_hooks(label: &str) -> Site {
    let site = Site::new(label);
    let hook = Path::new(env!("CARGO_BIN_EXE_trawl-hook"));
    site.scratch.install(hook);
    site
}

/// Files of different sizes with an attribute and, as pages, a title; indices over each.
fn site(label: &str) -> Site {
    let site = with_hooks(label);
    for (at, name) in FILES.into_iter().enumerate() {
        let path = site.write(name);
        let text = format!("<html><title>{name}</title>{}\n", " ".repeat(at * 10 % 37));
        fs::write(&path, text).unwrap();
        let mut setfattr = oracle::command("setfattr");
        setfattr.args(["-n", "user.note", "-v", &format!("note {at}")]);
        run(setfattr.arg(&path)).expect_code(0);
    }
    site.index();
    for definition in [
        "size --kind ordered --on size",
        "note --kind ordered --on xattr:user.note",
        "title --kind ordered --on attr:title",
        "graph --kind graph --on relation:all",
    ] {
        let line = format!("index define {definition} -q .");
        let words: Vec<&str> = line.split(' ').collect();
        site.run(&words).expect_code(0);
    }
    site
}

fn show(site: &Site, who: &Identity, words: &[&str]) -> Ran {
    let tree = site.tree();
    let words = [&["index", "show"], words, &["--in", tree.to_str().unwrap()]].concat();
    run(&mut site.command(who, &words))
}

fn entries(ran: &Ran) -> Vec<(String, String)> {
    let text = ran.text();
    let rows = text.lines().map(|line| {
        let row: Value = serde_json::from_str(line).expect("JSON");
        let text = |key: &str| row[key].as_str().expect("text").to_owned();
        (text("index_values"), text("path"))
    });
    rows.collect()
}

/// Returns sizes and paths of the members of a group.
fn sizes(site: &Site, who: &Identity, group: &str) -> Vec<(u64, String)> {
    let members = site.members(who, group).into_iter().map(|path| {
        let path = path_of(&path).to_owned();
        let size = path.symlink_metadata().expect("a member is there").size();
        (size, path.to_str().expect("UTF-8").to_owned())
    });
    let mut members: Vec<_> = members.collect();
    members.sort();
    members
}

/// Compares each group that a user sees; returns the number of entries by their values.
#[track_caller]
fn compare(site: &Site, who: &Identity) -> [usize; 2] {
    let groups = site.groups(who, &[]);
    let mut counts = [0; 2];
    for id in groups.keys() {
        let wanted = sizes(site, who, id);
        let ran = show(site, who, &["size", "--json", "--in-group", id]);
        let found: Vec<(u64, String)> = entries(&ran)
            .into_iter()
            .map(|(size, path)| (size.parse().expect("a number"), path))
            .collect();
        assert_eq!(found, wanted, "{ran}");
        let first = show(site, who, &["size", "--json", "--in-group", id, "-n", "1"]);
        assert_eq!(entries(&first).len(), wanted.len().min(1), "{first}");
        assert_eq!(
            entries(&first).first().map(|one| &one.1),
            wanted.first().map(|one| &one.1)
        );
        for (name, count) in ["note", "title"].into_iter().zip(&mut counts) {
            let whole = entries(&show(site, who, &[name, "--json"])).into_iter();
            let is_member = |path: &str| wanted.iter().any(|(_, one)| one == path);
            let whole: Vec<_> = whole.filter(|(_, path)| is_member(path)).collect();
            let ran = show(site, who, &[name, "--json", "--in-group", id]);
            assert_eq!(entries(&ran), whole, "{ran}");
            *count += whole.len();
        }
    }
    counts
}

#[test]
fn entries_are_those_of_the_members() {
    if let Some(skip) = without_program("attributes of members", "setfattr") {
        return skip.say();
    }
    let site = site("groups-indices");
    let us = &Identity::Ourselves;
    // Each file belongs to one group.
    let all = ["note", "title"].map(|name| entries(&show(&site, us, &[name, "--json"])).len());
    assert_eq!(compare(&site, us), all);
    assert_eq!(all[0], FILES.len());
    assert_ne!(all[1], 0);
    let blue = || entries(&show(&site, us, &["note", "--json", "--in-group", "Blue"]));
    let before = blue();
    assert_eq!(before.len(), 2);
    // Members are those of now.
    let path = site.write("music/Miles/Blue/two.flac");
    fs::rename(site.tree().join("main.c"), site.tree().join("prog/main.c")).unwrap();
    site.index();
    compare(&site, us);
    assert_eq!(blue(), before);
    let all = show(&site, us, &["size", "-0", "--in-group", "Blue"]);
    let is_there = |path: &Path| all.text().contains(path.to_str().unwrap());
    assert!(is_there(&path), "{all}");
    let ran = show(&site, us, &["size", "--in-group", "gone"]);
    assert_eq!((ran.code, ran.text()), (Some(2), String::new()), "{ran}");
    assert!(ran.errors().contains("--in-group"), "{ran}");
}

#[test]
fn neighbours_are_those_in_the_group() {
    let site = with_hooks("groups-indices-graph");
    fs::write(site.write("prog/.hg/x"), "").unwrap();
    let header = site.write("prog/util.h");
    for name in ["prog/main.c", "other.c"] {
        let include = format!("#include \"{}\"\n", header.to_str().unwrap());
        fs::write(site.write(name), include).unwrap();
    }
    site.index();
    let define = ["index", "define", "graph", "-q", "--kind", "graph", "--on"];
    site.run(&[&define[..], &["relation:includes"]].concat())
        .expect_code(0);
    let us = &Identity::Ourselves;
    let neighbours = |more: &[&str]| {
        let words = [&["graph", header.to_str().unwrap(), "-0"], more].concat();
        let text = show(&site, us, &words).expect_code(0).text();
        let names = text.split_terminator('\0').map(|path| {
            let below = Path::new(path)
                .strip_prefix(site.tree())
                .expect("in the tree");
            below.to_str().expect("UTF-8").to_owned()
        });
        names.collect::<Vec<_>>()
    };
    assert_eq!(neighbours(&[]), ["other.c", "prog/main.c"]);
    assert_eq!(neighbours(&["--in-group", "prog"]), ["prog/main.c"]);
}

/// A user's group has what the user sees of it, and so has the index.
#[test]
fn a_user_sees_their_members_alone() {
    if let Some(skip) = without_root("groups of two users") {
        return skip.say();
    }
    let site = site("groups-indices-users");
    for (name, mode) in [("prog/src", 0o700), ("docs/tax.pdf", 0o600)] {
        let path = site.tree().join(name);
        chown(&path, Some(60_001), Some(60_001)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    site.index();
    let ben = Identity::user(BEN);
    compare(&site, &ben);
    let prog = |who: &Identity| {
        let ran = show(&site, who, &["size", "-0", "--in-group", "prog"]);
        let ends = ran.stdout.iter().filter(|byte| **byte == 0).count();
        (ends, ran.text().contains("main.c"))
    };
    assert_eq!(prog(&ben), (1, false));
    assert_eq!(prog(&Identity::Ourselves), (3, true));
}
