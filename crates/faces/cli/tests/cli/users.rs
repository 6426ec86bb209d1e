//! As a user other than root: directories that may not be read.

use std::os::unix::fs::PermissionsExt;

use trawl_model::{Acl, Uid};
use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::skip::without_root;

use crate::site::{Site, objects};

const USER: u32 = 4711;

/// Runs the program as the user, with an index of their own.
fn as_user(site: &Site, line: &str) -> Ran {
    let program = site.scratch.join("trawl");
    let mut command = Identity::user(USER).command(program);
    command.args(line.split(' ')).current_dir(site.tree());
    command.env("TRAWL_INDEX", site.scratch.join("own/index"));
    oracle::run(&mut command)
}

fn half_private(label: &str) -> Site {
    let site = Site::empty(label);
    let set = |name: &str, mode| {
        let path = site.scratch.join(name);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    std::fs::create_dir_all(site.tree().join("private/deep")).unwrap();
    std::fs::create_dir_all(site.tree().join("public")).unwrap();
    std::fs::write(site.tree().join("private/secret"), "x").unwrap();
    std::fs::write(site.tree().join("public/file"), "y").unwrap();
    set("tree/private", 0o700);
    std::fs::create_dir(site.scratch.join("own")).unwrap();
    std::os::unix::fs::chown(site.scratch.join("own"), Some(USER), Some(USER)).unwrap();
    site.scratch
        .install(std::path::Path::new(env!("CARGO_BIN_EXE_trawl")));
    site
}

#[test]
fn what_may_not_be_read_is_an_issue_and_exit_code_one() {
    if let Some(skip) = without_root("unreadable directories") {
        return skip.say();
    }
    let site = half_private("users");
    let private = site.tree().join("private").display().to_string();
    let ran = as_user(&site, "index .").expect_code(1);
    assert!(
        ran.errors()
            .contains(&format!("opendir {private}: permission denied")),
        "{ran}"
    );
    assert!(ran.text().contains("1 issue\n"), "{ran}");
    assert_eq!(objects(&as_user(&site, "sources --json"))[0]["issues"], 1);

    for (line, text) in [
        ("ls -R", ".:\nprivate\npublic\n\n./public:\nfile\n"),
        ("du --inodes", "2\t./public\n1\t./private\n4\t.\n"),
    ] {
        let ran = as_user(&site, line).expect_code(1);
        assert_eq!(ran.text(), text, "{line}");
        assert!(
            ran.errors()
                .contains("1 part of the answer could not be read"),
            "{ran}"
        );
    }
    let ran = as_user(&site, "du -s --status").expect_code(1);
    assert!(ran.errors().contains("1 issue in scope"), "{ran}");
    assert!(
        ran.errors()
            .contains(&format!("opendir {private}: permission denied")),
        "{ran}"
    );
    let ran = as_user(&site, "ls private").expect_code(1);
    assert_eq!(ran.text(), "");
    assert!(
        ran.errors().contains("cannot open directory ‘private’"),
        "{ran}"
    );
    let ran = as_user(&site, "stat private/secret").expect_code(1);
    assert!(ran.errors().contains("permission denied"), "{ran}");

    // Outside of the unread part, everything is complete.
    as_user(&site, "du -s public").expect_code(0);
    as_user(&site, "ls -l public").expect_code(0);
    as_user(&site, "stat private").expect_code(0);
    as_user(&site, "stats public").expect_code(0);
    as_user(&site, "stats .").expect_code(1);
}

#[test]
fn find_says_why_as_find_does() {
    if let Some(skip) = without_root("unreadable directories") {
        return skip.say();
    }
    let site = half_private("find-users");
    // Its entry has a name, but no attributes for the user.
    let listed = site.tree().join("listed");
    std::fs::create_dir(&listed).unwrap();
    std::fs::write(listed.join("x"), "x").unwrap();
    std::fs::set_permissions(&listed, std::fs::Permissions::from_mode(0o744)).unwrap();
    as_user(&site, "index --quiet .").expect_code(1);
    for words in [
        "private/secret",
        "private/deep/er",
        "listed/x",
        "private/secret public",
        "public/none",
        "listed -maxdepth 0 -empty",
    ] {
        let find = oracle::gnu(
            "find",
            words.split(' '),
            &site.tree(),
            &Identity::user(USER),
        );
        let ours = as_user(&site, &format!("find {words}"));
        assert_eq!(ours.text(), find.text(), "{words}");
        assert_eq!(ours.errors(), find.errors(), "{words}");
        assert_eq!(ours.code, find.code, "{words}");
    }
}

#[test]
fn the_default_index_is_in_the_home_directory() {
    if let Some(skip) = without_root("default index") {
        return skip.say();
    }
    let site = half_private("home");
    let mut command = Identity::user(USER).command(site.scratch.join("trawl"));
    command
        .args(["index", "--quiet", "public"])
        .current_dir(site.tree());
    command
        .env("HOME", site.scratch.join("own"))
        .env_remove("TRAWL_INDEX")
        .env_remove("XDG_DATA_HOME");
    oracle::run(&mut command).expect_code(0);
    assert!(site.scratch.join("own/.local/share/trawl/FORMAT").is_file());
}

#[test]
fn an_index_that_may_not_be_written_says_so() {
    if let Some(skip) = without_root("index of somebody else") {
        return skip.say();
    }
    let site = half_private("denied");
    site.index();
    let mut command = Identity::user(USER).command(site.scratch.join("trawl"));
    command
        .args(["index", "public"])
        .current_dir(site.tree())
        .env("TRAWL_INDEX", site.index_dir());
    let ran = oracle::run(&mut command).expect_code(2);
    assert!(ran.errors().contains("belongs to user 0"), "{ran}");
    assert!(ran.errors().contains("-i"), "{ran}: it says what to do");
}

#[test]
fn who_cannot_read_all_of_an_index_is_told_so_and_not_that_it_is_damaged() {
    if let Some(skip) = without_root("somebody else's index") {
        return skip.say();
    }
    let site = half_private("verify-others");
    site.index();
    let mut command = Identity::user(USER).command(site.scratch.join("trawl"));
    command.arg("verify").env("TRAWL_INDEX", site.index_dir());
    let ran = oracle::run(&mut command).expect_code(2);
    assert_eq!(ran.text(), "");
    assert!(
        ran.errors()
            .contains("belongs to user 0, who alone can verify it"),
        "{ran}"
    );
}

/// A rule that the user may not see is not taken for one that was never set.
#[test]
fn the_rule_of_somebody_elses_index_is_not_guessed() {
    if let Some(skip) = without_root("somebody else's index") {
        return skip.say();
    }
    let site = half_private("rule-others");
    for _ in 0..3 {
        site.run("index --quiet --keep 100 .").expect_code(0);
    }
    let ask = |words: &[&str]| {
        let mut command = Identity::user(USER).command(site.scratch.join("trawl"));
        command.args(words).env("TRAWL_INDEX", site.index_dir());
        oracle::run(&mut command)
    };
    for words in [&["gc", "--dry-run"][..], &["index", "--gc", "--dry-run"]] {
        let ran = ask(words).expect_code(2);
        assert_eq!(ran.text(), "");
        let says = "belongs to user 0, who alone can see its rule";
        assert!(ran.errors().contains(says), "{ran}");
        assert!(ran.errors().contains("--keep"), "{ran}: it says what to do");
    }
    let ran = ask(&["gc", "--dry-run", "--keep", "1"]).expect_code(0);
    let says = "last=1 would remove 2 snapshots";
    assert!(ran.text().contains(says), "{ran}");
    let ran = site.run("gc --dry-run").expect_code(0);
    let says = "last=100 would remove 0 snapshots";
    assert!(ran.text().contains(says), "{ran}");
}

/// A user's directory with a list that no file of the index can have does not keep the index from
/// being made for others.
#[test]
fn a_list_that_is_too_long_closes_its_own_directory_only() {
    if let Some(skip) = without_root("access control lists of other users") {
        return skip.say();
    }
    let site = half_private("long-list");
    let acl = Acl {
        owner: 7,
        users: (0..450).map(|at| (Uid(USER + at), 5)).collect(),
        group: 0,
        groups: Vec::new(),
        mask: Some(5),
        other: 0,
    };
    let private = site.tree().join("private");
    let flags = rustix::fs::XattrFlags::empty();
    let name = "system.posix_acl_access";
    if let Err(error) = rustix::fs::setxattr(&private, name, &acl.to_bytes(), flags) {
        eprintln!("skipped: a list of 450 users: {error}");
        return;
    }
    let mut command = Identity::user(USER).command("find");
    let source = oracle::run(command.arg("private").current_dir(site.tree())).expect_code(0);
    assert!(source.text().contains("secret"), "the list admits the user");
    site.index();
    let mut command = Identity::user(USER).command(site.scratch.join("trawl"));
    command.env("TRAWL_INDEX", site.index_dir());
    let ran = oracle::run(command.arg("find").current_dir(site.tree())).expect_code(1);
    let rows = ran.text();
    assert!(
        rows.contains("public/file") && !rows.contains("secret"),
        "{ran}"
    );
    let is_told = |line: &str| line.contains("private") && line.contains("permission denied");
    assert!(ran.errors().to_lowercase().lines().any(is_told), "{ran}");
    assert!(site.run("find").expect_code(0).text().contains("secret"));
}
