//! Users with few rights ask about the past: they are told nothing that either snapshot would hide
//! from them.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::skip::without_root;

use crate::site::{Site, objects};
use crate::{index, write};

const OWNER: u32 = 4711;
const STRANGER: u32 = 65_534;

fn mode(path: impl AsRef<Path>, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[track_caller]
fn ask(site: &Site, who: u32, line: &str) -> Ran {
    let mut command = Identity::user(who).command(site.scratch.join("trawl"));
    command
        .args(line.split(' '))
        .current_dir(site.tree())
        .env("TRAWL_INDEX", site.index_dir());
    oracle::run(&mut command)
}

/// Creates a tree in which `private` is closed to strangers, `closes` is closed from the second
/// snapshot on, and `opens` until then.
fn site(label: &str) -> Site {
    let site = Site::empty(label);
    let tree = site.tree();
    for dir in ["private", "public", "closes", "opens"] {
        std::fs::create_dir(tree.join(dir)).unwrap();
        write(tree.join(dir).join("secret"), "1");
        write(tree.join(dir).join("removed"), "1");
    }
    write(tree.join("private/out"), "comes out");
    write(tree.join("public/in"), "goes in");
    chown(tree.join("private"), Some(OWNER), Some(OWNER)).unwrap();
    mode(tree.join("private"), 0o700);
    mode(tree.join("opens"), 0o700);
    site.scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    index(&site);
    for dir in ["private", "public", "closes", "opens"] {
        write(tree.join(dir).join("secret"), "22");
        std::fs::remove_file(tree.join(dir).join("removed")).unwrap();
        write(tree.join(dir).join("added"), "1");
    }
    std::fs::rename(tree.join("private/out"), tree.join("public/out")).unwrap();
    std::fs::rename(tree.join("public/in"), tree.join("private/in")).unwrap();
    mode(tree.join("closes"), 0o700);
    mode(tree.join("opens"), 0o755);
    index(&site);
    site
}

const PLAIN: &str = "--ignore atime,device,mtime,ctime,blocks";

#[test]
fn a_diff_tells_nothing_that_a_snapshot_hides() {
    if let Some(skip) = without_root("an index asked by others") {
        return skip.say();
    }
    let site = site("diff-users");
    let ran = ask(&site, STRANGER, &format!("diff {PLAIN}")).expect_code(1);
    let lines: Vec<String> = ran.text().lines().map(str::to_owned).collect();
    // An entry that was moved into a private directory is deleted, one that was moved out is
    // created; nothing connects the two names with the hidden ones.
    let expected = [
        "M ./closes  mode 0755 → 0700",
        "M ./opens  mode 0700 → 0755",
        "+ ./public/added",
        "- ./public/in",
        "+ ./public/out",
        "- ./public/removed",
        "M ./public/secret  size 1 → 2",
    ];
    assert_eq!(lines, expected, "{ran}");
    assert!(!ran.errors().contains("private/"), "{ran}");
    // A directory that was opened was hidden before: this is reported.
    assert!(
        ran.errors()
            .contains("‘./opens’: its content is unknown in the first snapshot"),
        "{ran}"
    );
    for dir in ["private", "closes", "opens"] {
        let ran = ask(&site, STRANGER, &format!("diff --json {dir}"));
        let inner = objects(&ran);
        let told = |one: &serde_json::Value| one["path"].as_str().unwrap().contains('/');
        assert!(!inner.iter().any(told), "{dir}: {ran}");
    }
    let ran = ask(&site, STRANGER, "diff private/secret");
    assert_eq!((ran.text(), ran.code), (String::new(), Some(2)), "{ran}");

    // The owner sees their entries, the superuser everything.
    let ran = ask(&site, OWNER, &format!("diff {PLAIN} private"));
    for line in [
        "+ private/added",
        "M private/secret  size 1 → 2",
        "- private/out",
    ] {
        assert!(ran.text().contains(line), "{line}: {ran}");
    }
    let ran = site.run(&format!("diff {PLAIN}")).expect_code(0);
    for line in [
        "R ./public/in -> ./private/in\n",
        "R ./private/out -> ./public/out\n",
        "+ ./opens/added\n",
        "- ./closes/removed\n",
    ] {
        assert!(ran.text().contains(line), "{line}: {ran}");
    }
}

#[test]
fn what_was_closed_later_is_said_to_be_closed() {
    if let Some(skip) = without_root("an index asked by others") {
        return skip.say();
    }
    let site = site("at-closed");
    for line in [
        "find --at -1 .",
        "find --at -1 closes",
        "find --at -1 . -name removed",
        "du -a --at -1 .",
        "ls -R --at -1 .",
        "ls --at -1 closes",
        "stats --at -1 .",
        "top --at -1 .",
        "duplicates --at -1 .",
    ] {
        let ran = ask(&site, STRANGER, line);
        assert!(matches!(ran.code, Some(1 | 2)), "{line}: {ran}");
        let errors = ran.errors().to_ascii_lowercase();
        let told = errors.lines().filter(|line| line.contains("closes"));
        assert_eq!(told.count(), 1, "{line}: {ran}");
        assert!(errors.contains("permission denied"), "{line}: {ran}");
    }
    let ran = ask(&site, STRANGER, "find --at -1 closes/removed").expect_code(1);
    assert!(ran.errors().contains("Permission denied"), "{ran}");
    let ran = ask(&site, STRANGER, "find --at -1 public/nothing").expect_code(1);
    assert!(ran.errors().contains("No such file or directory"), "{ran}");
    // Sizes of then are unknown, and not zero.
    let ran = ask(&site, STRANGER, "growth closes/removed");
    assert!(matches!(ran.code, Some(1 | 2)), "{ran}");
    assert!(
        ran.errors().to_lowercase().contains("permission denied"),
        "{ran}"
    );
    // Their owner misses nothing, and nothing is missed at a depth that is not asked for.
    site.run("find --at -1 .").expect_code(0);
    for line in ["find --at -1 public", "find --at -1 . -maxdepth 1"] {
        let ran = ask(&site, STRANGER, line).expect_code(0);
        assert_eq!(ran.errors(), "", "{line}");
    }
}

#[test]
fn what_a_scan_did_not_enter_is_no_closed_directory() {
    if let Some(skip) = without_root("a mount in an older snapshot") {
        return skip.say();
    }
    let site = Site::empty("at-mounts");
    let tree = site.tree();
    for dir in ["mounted", "public", "closes", "loop"] {
        std::fs::create_dir(tree.join(dir)).unwrap();
        write(tree.join(dir).join("file"), "1");
    }
    site.scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    let point = tree.join("mounted");
    let mut mount = oracle::command("mount");
    mount.args(["-t", "tmpfs", "tmpfs"]).arg(&point);
    oracle::run(&mut mount).expect_code(0);
    // The scan cannot enter a directory that is mounted below itself.
    let inner = tree.join("loop/inner");
    std::fs::create_dir(&inner).unwrap();
    let mut bind = oracle::command("mount");
    bind.arg("--bind").args([tree.join("loop"), inner.clone()]);
    oracle::run(&mut bind).expect_code(0);
    for _ in 0..2 {
        // It has an issue.
        site.run(&format!("index --quiet --keep 20 {}", tree.display()));
        mode(tree.join("closes"), 0o700);
    }
    for point in [&inner, &point] {
        oracle::run(oracle::command("umount").arg(point)).expect_code(0);
    }
    let ran = ask(&site, STRANGER, "find --at -1 .");
    let at_the_point = ask(&site, STRANGER, "find --at -1 mounted");
    let loops = ran
        .errors()
        .lines()
        .filter(|line| line.contains("loop/inner"))
        .count();
    assert_eq!(loops, 1, "{ran}");
    assert!(!ran.errors().contains("inner’: Permission denied"), "{ran}");
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(ran.errors().contains("closes"), "{ran}");
    assert!(!ran.errors().contains("mounted"), "{ran}");
    assert_eq!(at_the_point.text(), "mounted\n");
    assert_eq!(at_the_point.errors(), "");
}

#[test]
fn growth_says_once_what_it_may_not_read() {
    if let Some(skip) = without_root("an index asked by others") {
        return skip.say();
    }
    let site = site("growth-users");
    for line in ["growth", "growth --by dir", "growth --by owner --json"] {
        let ran = ask(&site, STRANGER, line).expect_code(1);
        for dir in ["private", "closes", "opens"] {
            let says = format!("cannot read directory ‘./{dir}’: permission denied\n");
            assert_eq!(ran.errors().matches(&says).count(), 1, "{dir}: {ran}");
        }
    }
    let ran = ask(&site, STRANGER, "growth public").expect_code(0);
    assert_eq!(ran.errors(), "", "{ran}");
}

#[test]
fn older_answers_are_those_of_then_and_now() {
    if let Some(skip) = without_root("an index asked by others") {
        return skip.say();
    }
    let site = site("at-users");
    let then = ask(&site, STRANGER, "find --at -1 . -type f").text();
    assert!(then.contains("./public/removed\n"), "{then}");
    for dir in ["private", "closes", "opens"] {
        assert!(!then.contains(&format!("./{dir}/")), "{then}");
    }
    let summary = ask(&site, STRANGER, "diff --summary --json");
    let labels: Vec<String> = objects(&summary)
        .iter()
        .map(|group| group["label"].as_str().unwrap().to_owned())
        .collect();
    for label in &labels {
        assert!(["./public", "."].contains(&&label[..]), "{summary}");
    }
    for line in ["history private/secret", "history closes/secret"] {
        let ran = ask(&site, STRANGER, line);
        assert!(!ran.text().contains("size"), "{ran}");
        assert!(matches!(ran.code, Some(1 | 2)), "{ran}");
    }
    let ran = ask(&site, STRANGER, "history opens/secret");
    assert!(ran.text().contains("present  type f, size 2"), "{ran}");
    assert!(!ran.text().contains("size 1"), "{ran}");

    // Sums leave out hidden entries, as the user's own du does now.
    let grown = objects(&ask(&site, STRANGER, "growth --json"));
    let du = oracle::gnu(
        "du",
        ["-s", "--inodes"],
        &site.tree(),
        &Identity::user(STRANGER),
    );
    let du = du
        .text()
        .split_whitespace()
        .next()
        .unwrap()
        .parse::<u64>()
        .unwrap();
    assert_eq!(grown[1]["entries"], du);
    let all = objects(&site.run("growth --json"));
    assert!(grown[0]["entries"].as_u64() < all[0]["entries"].as_u64());
}
