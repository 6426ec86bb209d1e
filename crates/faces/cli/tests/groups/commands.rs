//! The commands: list, show, explain, edit, rules, and `find -group-of`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use trawl_testkit::oracle::Identity;

use crate::site::{Site, bytes, path_of, paths};

fn site() -> Site {
    let site = Site::new("groups-commands");
    for name in [
        "prog/.hg/x",
        "prog/src/main.c",
        "music/Miles/Blue/one.flac",
        "music/Miles/Blue/cover.jpg",
        "docs/letter.txt",
        "docs/tax.pdf",
        "firefox/big.iso",
    ] {
        site.write(name);
    }
    fs::write(site.tree().join("firefox/big.iso"), vec![0; 3 << 20]).unwrap();
    site.index();
    site
}

/// `find -group-of FILE` finds what `groups show` shows, from the index and from the live tree.
#[test]
fn find_finds_the_members() {
    let site = site();
    for file in [
        "prog/src/main.c",
        "music/Miles/Blue/cover.jpg",
        "docs/tax.pdf",
    ] {
        let path = bytes(&site.tree().join(file));
        let group = &site.assignment(&Identity::Ourselves)[&path];
        let expected = site.members(&Identity::Ourselves, &group.id);
        let tree = site.tree();
        let tree = tree.to_str().unwrap();
        for words in [
            &["find", tree, "-group-of", file, "-print0"][..],
            &["find", "--live", tree, "-group-of", file, "-print0"],
            &["find", tree, "-type", "f", "-group-of", file, "-print0"],
        ] {
            let ran = site.run(words).expect_code(0);
            let mut found = paths(&ran.stdout);
            found.sort();
            assert_eq!(found, expected, "{words:?}");
        }
        // Relative start points, from both sources.
        for words in [
            &["find", "-group-of", file, "-print0"][..],
            &["find", "--live", "-group-of", file, "-print0"],
        ] {
            let found = paths(&site.run(words).expect_code(0).stdout);
            let mut found: Vec<Vec<u8>> = found
                .iter()
                .map(|path| bytes(&site.tree().join(path_of(&path[2..]))))
                .collect();
            found.sort();
            assert_eq!(found, expected, "{words:?}");
        }
        let others = site.run(&[
            "find",
            tree,
            "!",
            "-type",
            "d",
            "!",
            "-group-of",
            file,
            "-print0",
        ]);
        let all = site.files(&Identity::Ourselves).len();
        assert_eq!(paths(&others.stdout).len(), all - expected.len());
    }
    let ran = site.run(&["find", ".", "-group-of", "gone"]).expect_code(1);
    assert!(ran.errors().contains("-group-of: the group of"), "{ran}");
    let ran = site.run(&["find", ".", "-group-of", "docs"]).expect_code(1);
    assert!(
        ran.errors().contains("directories belong to no group"),
        "{ran}"
    );
}

/// "Others: Adjust manually" (the paper's Table 4).
#[test]
fn files_are_moved_and_left_to_the_rules_again() {
    let site = site();
    let before = site.assignment(&Identity::Ourselves);
    site.run(&[
        "groups",
        "edit",
        "--to",
        "my taxes",
        "docs/tax.pdf",
        "music/Miles",
    ])
    .expect_code(0);
    let edits = site.scratch.join("home/.config/trawl/group-edits");
    assert_eq!(
        edits.metadata().unwrap().permissions().mode() & 0o7777,
        0o600
    );
    let after = site.assignment(&Identity::Ourselves);
    for (path, group) in &after {
        let name = path_of(path).strip_prefix(site.tree()).unwrap();
        let is_moved = name.starts_with("music/Miles") || name.ends_with("tax.pdf");
        match is_moved {
            true => assert_eq!((&*group.rule, &*group.name), ("moved", "my taxes")),
            false => assert_eq!(group.id, before[path].id),
        }
    }
    let ran = site
        .run(&["groups", "explain", "music/Miles/Blue/one.flac"])
        .expect_code(0);
    assert!(ran.text().contains("because you moved "), "{ran}");
    site.run(&["groups", "edit", "--undo", "docs/tax.pdf", "music/Miles"])
        .expect_code(0);
    assert_eq!(site.assignment(&Identity::Ourselves), before);
    let ran = site
        .run(&["groups", "edit", "--undo", "docs/tax.pdf"])
        .expect_code(2);
    assert!(ran.errors().contains("nothing to undo"), "{ran}");
    let ran = site
        .run(&["groups", "edit", "--to", "", "docs/tax.pdf"])
        .expect_code(2);
    assert!(
        ran.errors().contains("cannot be the name of a group"),
        "{ran}"
    );
    site.run(&["groups", "edit", "docs/tax.pdf"]).expect_code(2);
}

/// The questions of the paper's Figure 12: "size > 1 GB & mtime < 1day", "keyword “firefox” &
/// mtime < 1 week". No group with such a file is left out.
#[test]
fn summaries_leave_out_no_group_with_a_match() {
    let site = site();
    let listed = |words: &[&str]| -> Vec<String> {
        let groups = site.groups(&Identity::Ourselves, words);
        groups.into_values().map(|group| group.name).collect()
    };
    let place = |name: &str| site.tree().join(name).to_str().unwrap().to_owned();
    assert_eq!(
        listed(&["--min-size", "1M", "--newer", "1d"]),
        [place("firefox")]
    );
    assert!(listed(&["--word", "FireFox", "--newer", "7d"]).contains(&place("firefox")));
    assert_eq!(listed(&["--min-size", "1G"]), [""; 0]);
    assert_eq!(listed(&["--rule", "albums"]), ["Blue"]);
    for rule in ["moved", "rest", "learnt"] {
        let ran = site.run(&["groups", "list", "--rule", rule]);
        assert_eq!(ran.expect_code(0).text(), "", "{rule}");
    }
    // A part of a word is no word.
    assert!(!listed(&["--word", "fire"]).contains(&place("firefox")));
}

#[test]
fn a_list_may_be_about_a_part() {
    let site = site();
    let all = site.groups(&Identity::Ourselves, &[]);
    // The marker of the project lies above the directory.
    let part = site.groups(&Identity::Ourselves, &["prog/src"]);
    let project = part.values().next().unwrap();
    assert_eq!((part.len(), project.fields["files"].as_u64()), (1, Some(1)));
    assert!(all.contains_key(&project.id));
    // Overlapping directories count once.
    let twice = site.groups(&Identity::Ourselves, &["prog", "prog/src", "."]);
    assert_eq!(twice, all);
}

#[test]
fn mistakes_name_the_path_and_the_remedy() {
    let site = site();
    for name in ["x/same/a.mp3", "y/same/b.mp3"] {
        site.write(name);
    }
    site.index();
    let rules = site.scratch.join("rules.toml");
    fs::write(&rules, "[[rule]]\nname = \"x\"\nkind = \"planets\"\n").unwrap();
    let rules = rules.to_str().unwrap();
    for (words, says) in [
        (&["groups", "show", "none"][..], "there is no group"),
        (&["groups", "show", "same"], "give one of the ids"),
        (&["groups", "show", "0123456789abcdef"], "there is no group"),
        (&["groups", "list", "--rules", rules], "planets"),
        (
            &["groups", "list", "--rules", "/nonexistent"],
            "cannot read /nonexistent",
        ),
        (&["groups", "list", "docs/tax.pdf"], "trawl groups explain"),
        (
            &["groups", "list", "--rule", "nope"],
            "moved, packages, projects, albums, events, directories, rest, learnt",
        ),
        (
            &["groups", "explain", "docs"],
            "directories belong to no group",
        ),
        (&["groups", "explain", "gone"], "gone"),
    ] {
        let ran = site.run(words).expect_code(2);
        assert!(ran.errors().contains(says), "{words:?}: {ran}");
    }
}

#[test]
fn a_directory_does_not_hide_the_files_named_after_it() {
    let site = site();
    let ran = site.run(&["groups", "explain", "docs", "docs/tax.pdf"]);
    let ran = ran.expect_code(2);
    assert!(ran.text().starts_with("docs/tax.pdf\n"), "{ran}");
    let why = "directories belong to no group";
    assert!(ran.errors().contains(why), "{ran}");
}

#[test]
fn the_rules_in_effect_are_printed_and_can_be_replaced() {
    let site = site();
    let rules = site.run(&["groups", "rules"]).expect_code(0).text();
    let own = site.scratch.join("own.toml");
    fs::write(&own, &rules).unwrap();
    let same = site.groups(&Identity::Ourselves, &["--rules", own.to_str().unwrap()]);
    assert_eq!(same, site.groups(&Identity::Ourselves, &[]));
    fs::write(&own, "").unwrap();
    let rest = site.groups(&Identity::Ourselves, &["--rules", own.to_str().unwrap()]);
    assert!(rest.values().all(|group| group.rule == "rest"), "{rest:?}");
}
