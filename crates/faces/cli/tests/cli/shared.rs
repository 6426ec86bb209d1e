//! The administrator's index, asked by other users: they get what find, du and ls show them on the
//! tree itself, with the same exit codes.

use std::io::Read;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Stdio;

use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::skip::without_root;

use crate::site::Site;

const OWNER: u32 = 4711;
const STRANGER: u32 = 4712;
const MEMBER: u32 = 4713;
const GROUP: u32 = 4720;

fn identities() -> [Identity; 3] {
    let member = Identity::Other {
        uid: MEMBER,
        gid: MEMBER,
        groups: vec![GROUP],
    };
    [Identity::user(OWNER), Identity::user(STRANGER), member]
}

/// Creates every kind of directory from which a user may be excluded, indexed by root. `live` may
/// be traversed by all and listed by a group; its content belongs to no user for whom the index
/// would keep a barrier.
fn site(label: &str) -> Site {
    let site = Site::empty(label);
    let tree = site.tree();
    for dir in [
        "pub/a",
        "pub/pass/in",
        "closed/deep",
        "group",
        "home/own/docs",
        "home/other",
        "live/in/side/pass/in",
        "live/no",
    ] {
        std::fs::create_dir_all(tree.join(dir)).unwrap();
        std::fs::write(tree.join(dir).join("file"), dir).unwrap();
    }
    std::fs::write(tree.join("live/file"), "x").unwrap();
    for (link, target) in [("live/link", "in"), ("live/out", "../pub")] {
        std::os::unix::fs::symlink(target, tree.join(link)).unwrap();
    }
    chown(tree.join("group"), None, Some(GROUP)).unwrap();
    chown(tree.join("live"), None, Some(GROUP)).unwrap();
    chown(tree.join("home/own"), Some(OWNER), Some(OWNER)).unwrap();
    for (dir, mode) in [
        ("pub/pass", 0o711),
        ("closed", 0o700),
        ("group", 0o750),
        ("home", 0o711),
        ("home/own", 0o755),
        ("home/other", 0o700),
        ("live", 0o751),
        ("live/no", 0o700),
        ("live/in/side/pass", 0o711),
    ] {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(tree.join(dir), mode).unwrap();
    }
    let temporary = site.scratch.join("temporary");
    std::fs::create_dir(&temporary).unwrap();
    std::fs::set_permissions(&temporary, std::fs::Permissions::from_mode(0o1777)).unwrap();
    site.scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    site.index();
    site
}

fn command(site: &Site, who: &Identity, line: &str) -> std::process::Command {
    let mut command = who.command(site.scratch.join("trawl"));
    command
        .args(line.split(' '))
        .current_dir(site.tree())
        .env("TRAWL_INDEX", site.index_dir())
        .env("TMPDIR", site.scratch.join("temporary"));
    command
}

#[track_caller]
fn ask(site: &Site, who: &Identity, line: &str) -> Ran {
    let ran = oracle::run(&mut command(site, who, line));
    assert_clean(site);
    ran
}

/// Checks that nothing stays of what was read from the live file system.
#[track_caller]
fn assert_clean(site: &Site) {
    let left: Vec<_> = std::fs::read_dir(site.scratch.join("temporary"))
        .unwrap()
        .flatten()
        .collect();
    assert!(left.is_empty(), "{left:?} was left behind");
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// Returns the messages without the program's name, without differences in quotes, and without ours
/// about live parts.
fn messages(text: &str) -> Vec<String> {
    let text = text.replace(['‘', '’'], "'");
    let rest = |line: &str| line.split_once(": ").map(|(_, rest)| rest.to_lowercase());
    let lines = text.lines().filter(|line| !line.contains(": read from"));
    let mut lines: Vec<String> = lines.filter_map(rest).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn everyone_is_shown_what_the_tree_shows_them() {
    if let Some(skip) = without_root("an index asked by others") {
        return skip.say();
    }
    let site = site("shared");
    for who in identities() {
        for line in [
            "find .",
            "find . -type f -printf %p:%s:%i\\n",
            "find . -maxdepth 1",
            "find . -depth",
            "find . -xdev -name file",
            "find . -name closed -prune -o -print",
            "find . -empty",
            "find . -maxdepth 1 -empty",
            "find closed -maxdepth 0 -empty",
            "find closed",
            "find closed -maxdepth 0",
            "find closed -quit",
            "find closed -mindepth 1",
            "find closed/file closed/none closed/deep/file",
            "find home/own home/own/docs/file home/other home/other/file home/none",
            "find pub/pass pub/pass/in pub/pass/none pub/pass/in/file/x",
            "find live/in live/file live/none live/no live/no/file live/link live/link/",
            "find live/out/ live/out/a live/in/side/pass live/in/side/pass/in",
            "find live/in -maxdepth 0 -ls",
            "du -a .",
            "du -s .",
            "du -d1 .",
            "du closed",
            "du home/own live/in pub/pass/in",
            "du -a live/file live/in",
            "ls",
            "ls -R",
            "ls closed",
            "ls home",
            "ls home/own",
            "ls -l live/link",
            "ls live/link",
            "ls -Ra live/in",
            "ls -d live/no",
            "ls live/no",
            "stat -c %n:%i closed live/in live/no home/own/docs/file home/other",
        ] {
            let (tool, words) = line.split_once(' ').unwrap_or((line, ""));
            let words = words.split(' ').filter(|word| !word.is_empty());
            let gnu = oracle::gnu(tool, words, &site.tree(), &who);
            let ours = ask(&site, &who, line);
            let context = format!("{who:?}: {line}\n{ours}");
            assert_eq!(sorted(&ours.text()), sorted(&gnu.text()), "{context}");
            assert_eq!(
                messages(&ours.errors()),
                messages(&gnu.errors()),
                "{context}"
            );
            assert_eq!(ours.code, gnu.code, "{context}");
        }
    }
}

#[test]
fn what_is_read_now_is_said_to_be() {
    if let Some(skip) = without_root("an index asked by others") {
        return skip.say();
    }
    let site = site("shared-live");
    let who = Identity::user(STRANGER);
    // Created after the index: nobody else can see it there.
    std::fs::write(site.tree().join("live/in/new"), "x").unwrap();
    let ran = ask(&site, &who, "find --status live/in pub/a").expect_code(1);
    assert!(ran.text().contains("live/in/new\n"), "{ran}");
    let live = site.tree().join("live").display().to_string();
    let said = format!(
        "‘live/in’: read from the file system now, since the index shows it only to users who \
         may list ‘{live}’\n"
    );
    assert!(ran.errors().contains(&said), "{ran}");
    let of = |path: &str, what: &str| {
        let (start, errors) = (format!("trawl: {path} as of "), ran.errors());
        let is_it = |line: &str| line.starts_with(&start) && line.contains(what);
        errors.lines().any(is_it)
    };
    assert!(
        of(&format!("{live}/in"), ", read from the file system"),
        "{ran}"
    );
    let root = site.tree().display().to_string();
    assert!(of(&root, ", snapshot "), "{ran}");

    // Users who may list it get the index's answer.
    let ran = ask(&site, &identities()[2], "find live/in");
    assert!(!ran.errors().contains("read from"), "{ran}");
    assert!(!ran.text().contains("live/in/new\n"), "{ran}");
}

#[test]
fn a_closed_pipe_leaves_nothing_behind() {
    if let Some(skip) = without_root("an index asked by others") {
        return skip.say();
    }
    let site = site("shared-pipe");
    // More than a pipe and our own buffer hold.
    for n in 0..2000 {
        let name = format!("{n:0200}");
        std::fs::write(site.tree().join("live/in").join(name), "").unwrap();
    }
    for line in ["ls -l live/in", "du -a live/in"] {
        let mut command = command(&site, &Identity::user(STRANGER), line);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut output = child.stdout.take().unwrap();
        output.read_exact(&mut [0; 10]).unwrap();
        drop(output);
        let done = child.wait_with_output().unwrap();
        assert!(done.status.code().is_some(), "{line}: {:?}", done.status);
        let errors = String::from_utf8_lossy(&done.stderr);
        assert!(!errors.contains("roken pipe"), "{line}: {errors}");
        assert_clean(&site);
    }
}

#[test]
fn sources_are_listed_as_far_as_they_are_seen() {
    if let Some(skip) = without_root("an index asked by others") {
        return skip.say();
    }
    let site = site("shared-sources");
    let count = |ran: &Ran| crate::site::objects(ran)[0]["entries"].as_u64().unwrap();
    let all = count(&site.run("sources --json").expect_code(0));
    let part = ask(&site, &Identity::user(STRANGER), "sources --json").expect_code(0);
    assert!((1..all).contains(&count(&part)), "{part}");
    let ran = ask(&site, &Identity::user(STRANGER), "stats .").expect_code(1);
    assert!(
        ran.errors()
            .contains("cannot read directory ‘./closed’: permission denied"),
        "{ran}"
    );
}
