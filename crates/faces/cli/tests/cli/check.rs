//! `trawl index --check-permissions`: it finds every error, and only errors.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::skip::{without_program, without_root};

use crate::site::{Site, files_below, objects};

const OWNER: u32 = 4711;
const STRANGER: u32 = 4712;
const GROUP: u32 = 4720;

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Creates directories of every kind, and indexes them a moment later, so that none of them counts
/// as changed since.
fn site(label: &str) -> Site {
    let site = Site::empty(label);
    let tree = site.tree();
    for (dir, uid, gid, mode) in [
        ("open", 0, 0, 0o755),
        ("open/deep", 0, 0, 0o755),
        ("own", OWNER, OWNER, 0o700),
        ("own/in", OWNER, OWNER, 0o755),
        ("group", 0, GROUP, 0o750),
        ("home", 0, 0, 0o711),
        ("home/own", OWNER, OWNER, 0o755),
        ("home/other", 0, 0, 0o700),
        ("live", 0, GROUP, 0o751),
        ("live/in", 0, 0, 0o755),
        ("names", 0, 0, 0o744),
    ] {
        let path = tree.join(dir);
        std::fs::create_dir(&path).unwrap();
        for file in ["a", "b"] {
            std::fs::write(path.join(file), dir).unwrap();
        }
        set_mode(&path.join("b"), 0o600);
        chown(&path, Some(uid), Some(gid)).unwrap();
        set_mode(&path, mode);
    }
    std::os::unix::fs::symlink("open", tree.join("link")).unwrap();
    set_attribute(&tree.join("open/a"));
    set_attribute(&tree.join("open/b"));
    std::thread::sleep(std::time::Duration::from_millis(60));
    site.index();
    site
}

/// Sets an attribute, if the file system supports it and the tool exists.
fn set_attribute(path: &Path) {
    if without_program("attribute values", "setfattr").is_none() {
        let mut command = oracle::command("setfattr");
        let _ = command.args(["-n", "user.x", "-v", "v"]).arg(path).output();
    }
}

/// Returns guard directories of a predicate at the top of the source.
fn guards(site: &Site) -> Vec<PathBuf> {
    let is_guard = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let above = path.parent().unwrap();
        name.starts_with('p') && name.len() == 33 && above.ends_with("data")
    };
    let mut found = files_below(&site.index_dir());
    found.retain(is_guard);
    assert!(!found.is_empty());
    found
}

const USERS: &str = "--user 4711:4711 --user 4712:4712 --user 4713:4713,4720";

#[test]
fn a_sound_index_is_found_sound() {
    if let Some(skip) = without_root("permissions compared") {
        return skip.say();
    }
    let site = site("check-sound");
    for how in ["--all", "--sample 5 --seed 7", ""] {
        let ran = site.run(&format!("index --check-permissions {how} {USERS}"));
        let text = ran.text();
        assert_eq!(ran.code, Some(0), "{text}{ran}");
        assert!(text.contains("no more"), "{text}");
        assert!(text.contains("  4711, named: "), "{text}");
    }
    let ran = site.run(&format!("index --check-permissions --all --json {USERS} ."));
    let found = objects(&ran);
    let users: Vec<_> = found.iter().filter(|o| o["event"] == "user").collect();
    let numbers = |key: &str| -> Vec<u64> {
        users
            .iter()
            .map(|user| user[key].as_u64().unwrap())
            .collect()
    };
    assert_eq!(numbers("directories"), [12, 12, 12]);
    // The root, open and the directory below it, home/own; and each user's private directory.
    assert_eq!(numbers("listed"), [6, 4, 7], "{found:?}");
    assert_eq!(numbers("unsearchable"), [1, 1, 1]);
    // Below live and home/other, which only root needs.
    assert_eq!(numbers("live"), [2, 2, 1]);
    assert!(numbers("entries").iter().all(|n| *n > 10));
    assert_eq!(numbers("entries"), numbers("agreed"));
    let end = found.last().unwrap();
    assert_eq!(end["sound"], true);
    assert_eq!(end["from_kernel"], true);
    // Only below a path.
    let ran = site.run(&format!("index --check-permissions --all {USERS} own"));
    assert!(ran.expect_code(0).text().contains("2 of 2 directories"));
}

#[test]
fn an_opened_guard_is_a_leak() {
    if let Some(skip) = without_root("permissions compared") {
        return skip.say();
    }
    if let Some(skip) = without_program("an opened guard", "setfacl") {
        return skip.say();
    }
    let site = site("check-leak");
    for guard in guards(&site) {
        oracle::run(oracle::command("setfacl").arg("-b").arg(&guard)).expect_code(0);
        set_mode(&guard, 0o755);
    }
    let ran = site.run(&format!("index --check-permissions --all {USERS}"));
    let ran = ran.expect_code(1);
    let own = site.tree().join("own").display().to_string();
    let leak = format!("    LEAK {own}: permission denied; the index lists it\n");
    assert_eq!(ran.text().matches(&leak).count(), 2, "{}", ran.text());
    let walked =
        format!("    LEAK {own}: no walk from the root reaches it; a walk of the index does\n");
    assert_eq!(ran.text().matches(&walked).count(), 2, "{}", ran.text());
    assert!(ran.text().contains("PERMISSIONS "), "{}", ran.text());
    assert!(ran.text().contains(": LEAK: "), "{}", ran.text());
    let found = objects(&site.run(&format!("index --check-permissions --all --json {USERS}")));
    let leaks = |uid: u32| {
        let is_it = |o: &&serde_json::Value| o["kind"] == "leak" && o["uid"] == uid;
        found.iter().filter(is_it).count()
    };
    assert!(leaks(STRANGER) > leaks(OWNER), "{found:?}");
    assert_eq!(found.last().unwrap()["sound"], false);
    site.index();
    site.run(&format!("index --check-permissions --all {USERS}"))
        .expect_code(0);
}

#[test]
fn a_closed_guard_hides_something() {
    if let Some(skip) = without_root("permissions compared") {
        return skip.say();
    }
    let site = site("check-missing");
    for guard in guards(&site) {
        set_mode(&guard, 0o700);
    }
    let ran = site.run(&format!("index --check-permissions --all {USERS}"));
    let text = ran.expect_code(1).text();
    assert!(text.contains("nobody is shown too much"), "{text}");
    assert!(!text.contains("LEAK"), "{text}");
    let own = site.tree().join("own").display().to_string();
    assert!(text.contains(&format!("    missing {own}: ")), "{text}");
}

#[test]
fn changes_since_the_snapshot_are_told_apart() {
    if let Some(skip) = without_root("permissions compared") {
        return skip.say();
    }
    let site = site("check-changed");
    let tree = site.tree();
    set_mode(&tree.join("open"), 0o700);
    set_mode(&tree.join("own"), 0o755);
    std::fs::write(tree.join("group/a"), "longer than before").unwrap();
    std::fs::write(tree.join("group/new"), "x").unwrap();
    std::fs::remove_file(tree.join("group/b")).unwrap();
    let ran = site.run(&format!("index --check-permissions --all {USERS}"));
    let text = ran.text();
    assert_eq!(ran.code, Some(1), "{text}{ran}");
    for (word, line) in [
        ("closed", "open: permission denied; the index"),
        ("changed", "own: it may be listed"),
        (
            "changed",
            "group/b: it must not be seen; the index shows it",
        ),
    ] {
        let line = format!("    {word} {}/{line}", tree.display());
        assert!(text.contains(&line), "{line}\n{text}");
    }
    assert!(
        text.contains(": 1 directory closed since the scan: "),
        "{text}"
    );
    assert!(!text.contains("no more\n"), "{text}");
    let found = objects(&site.run(&format!("index --check-permissions --all --json {USERS}")));
    let end = found.last().unwrap();
    assert_eq!((&end["closed"], &end["sound"]), (&1.into(), &false.into()));
    // The same differences without a recorded reason: the clock of the snapshot decides.
    site.index();
    let ran = site.run(&format!("index --check-permissions --all {USERS}"));
    assert!(!ran.expect_code(0).text().contains("    changed "));
}

#[test]
fn what_was_opened_or_removed_since_is_not_closed() {
    if let Some(skip) = without_root("permissions compared") {
        return skip.say();
    }
    let site = site("check-opened");
    set_mode(&site.tree().join("own"), 0o755);
    std::fs::remove_dir_all(site.tree().join("open/deep")).unwrap();
    let ran = site.run(&format!("index --check-permissions --all {USERS}"));
    let text = ran.expect_code(0).text();
    assert!(
        text.contains("no more\n") && text.contains("    changed "),
        "{text}"
    );
}

#[test]
fn a_source_with_an_id_map_is_judged_by_its_rows() {
    if let Some(skip) = without_root("permissions compared") {
        return skip.say();
    }
    let site = site("check-mapped");
    std::fs::write(
        site.scratch.join("ids"),
        "uid 4711 574711\nuid 0 0\ngid * keep\n",
    )
    .unwrap();
    site.run("index --quiet --id-map ../ids .").expect_code(0);
    let users = "--user 574711:1 --user 4711:4711 --user 9:4720";
    let check = format!("index --check-permissions --all {users}");
    let ran = site.run(&check);
    let text = ran.text();
    assert_eq!(ran.code, Some(0), "{text}{ran}");
    assert!(text.contains("its ids are mapped"), "{text}");
    for guard in guards(&site) {
        set_mode(&guard, 0o755);
    }
    let text = site.run(&check).expect_code(1).text();
    assert!(text.contains("    LEAK "), "{text}");
}

#[test]
fn without_users_owners_and_strangers_are_asked_about() {
    if let Some(skip) = without_root("permissions compared") {
        return skip.say();
    }
    let site = site("check-default");
    let text = site.run("index --check-permissions").expect_code(0).text();
    assert!(text.contains("  4711, owns directories: "), "{text}");
    assert!(text.contains("a stranger: "), "{text}");
    site.run("index --check-permissions --user 0")
        .expect_code(2);
    site.run("index --check-permissions /no/such")
        .expect_code(2);
    site.run("index --check-permissions --verify")
        .expect_code(2);
    site.run("index --seed 5 .").expect_code(2);
}

#[test]
fn only_root_can_check_and_only_a_shared_index() {
    if let Some(skip) = without_root("permissions compared") {
        return skip.say();
    }
    let site = Site::empty("check-refused");
    site.scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    site.run("index --quiet --private .").expect_code(0);
    let ran = site.run("index --check-permissions").expect_code(2);
    assert!(ran.errors().contains("private to its owner"), "{ran}");
    let mut command = Identity::user(STRANGER).command(site.scratch.join("trawl"));
    command
        .args(["index", "--check-permissions"])
        .env("TRAWL_INDEX", site.index_dir())
        .current_dir("/");
    let ran = oracle::run(&mut command).expect_code(2);
    assert!(ran.errors().contains("run it as root"), "{ran}");
}
