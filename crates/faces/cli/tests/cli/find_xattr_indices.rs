//! Named indices over extended attributes: the values are those that getfattr(1) prints for the same
//! user, in order.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::skip::{without_program, without_root};

use crate::find_keywords::USERS;
use crate::site::{Site, objects};

const VALUES: [&str; 5] = ["blue", "green..", "red", "", "blue sky"];
const FILES: usize = 40;

fn set(path: &Path, name: &str, value: &str) {
    let mut setfattr = oracle::command("setfattr");
    setfattr.args(["-h", "-n", name, "-v", value]).arg(path);
    oracle::run(&mut setfattr).expect_code(0);
}

/// Files, directories and attributes of several names.
fn populate(top: &Path) {
    for number in 0..FILES {
        let dir = top.join(format!("d{}", number % 4));
        fs::create_dir_all(&dir).unwrap();
        let file = dir.join(format!("f{number}"));
        fs::write(&file, "").unwrap();
        if number % 3 != 0 {
            set(&file, "user.colour", VALUES[number % VALUES.len()]);
        }
        set(&file, "user.colours", "other");
    }
    set(&top.join("d1"), "user.colour", "of a directory");
    set(top, "user.colour", "of the root");
}

fn define(site: &Site) {
    for kind in ["ordered", "hashed"] {
        let line = format!("index define {kind} --kind {kind} --on xattr:user.colour -q .");
        site.run(&line).expect_code(0);
    }
}

/// Returns values and paths as getfattr prints them for a user.
fn gnu(top: &Path, who: &Identity) -> Vec<(String, PathBuf)> {
    let words = ["-R", "-h", "-P", "-n", "user.colour", "."];
    let ran = oracle::gnu("getfattr", words, top, who);
    let mut all = Vec::new();
    let mut path = PathBuf::new();
    for line in ran.text().lines() {
        if let Some(name) = line.strip_prefix("# file: ") {
            path = top.join(name).components().collect();
        } else if let Some(value) = line.strip_prefix("user.colour") {
            let value = value.trim_start_matches('=').trim_matches('"');
            all.push((value.to_owned(), path.clone()));
        }
    }
    all.sort();
    all
}

fn shown(ran: &Ran) -> Vec<(String, PathBuf)> {
    let entry = |row: serde_json::Value| {
        let text = |key: &str| row[key].as_str().unwrap().to_owned();
        (text("index_values"), text("path").into())
    };
    objects(ran).into_iter().map(entry).collect()
}

fn ask(site: &Site, who: &Identity, words: &[&str]) -> Ran {
    let mut line = who.command(site.scratch.join("trawl"));
    line.arg("index").args(words).current_dir("/");
    line.env("TRAWL_INDEX", site.index_dir());
    oracle::run(&mut line)
}

#[track_caller]
fn compare(site: &Site, who: &Identity, context: &str) -> usize {
    let tree = site.tree();
    let at = tree.to_str().unwrap();
    let all = gnu(&tree, who);
    let between = |low: &'static str, high: &'static str| {
        let is_in = move |value: &str| low <= value && value <= high;
        Box::new(is_in) as Box<dyn Fn(&str) -> bool>
    };
    for (words, admits) in [
        (&["ordered"][..], between("", "\u{ff}")),
        (&["hashed"], between("", "\u{ff}")),
        (&["ordered", "blue"], between("blue", "blue")),
        // The first `..` separates the ends.
        (&["ordered", "blue..green.."], between("blue", "green..")),
        (&["ordered", "b.."], between("b", "\u{ff}")),
        (&["ordered", "..blue"], between("", "blue")),
        (&["ordered", "green..red"], between("green", "red")),
        (&["hashed", "green.."], between("green..", "green..")),
        (&["hashed", ""], between("", "")),
    ] {
        let mut line = vec!["show"];
        line.extend(words);
        line.extend(["--json", "--in", at]);
        let ran = ask(site, who, &line);
        let wanted = all.iter().filter(|(value, _)| admits(value));
        let wanted: Vec<_> = wanted.cloned().collect();
        let mut found = shown(&ran);
        let is_ordered = found.windows(2).all(|two| two[0].0 <= two[1].0);
        assert!(is_ordered, "{words:?}: {context}: {ran}");
        found.sort();
        assert_eq!(found, wanted, "{words:?}: {context}: {ran}");
    }
    all.len()
}

fn site(label: &str) -> Option<Site> {
    if let Some(skip) = without_program("values of attributes", "getfattr") {
        skip.say();
        return None;
    }
    let site = Site::empty(label);
    populate(&site.tree());
    site.scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    Some(site)
}

#[test]
fn values_are_those_that_getfattr_prints() {
    let Some(site) = site("xattr-indices") else {
        return;
    };
    let us = &Identity::Ourselves;
    site.run("index --quiet .").expect_code(0);
    define(&site);
    assert_ne!(compare(&site, us, "defined"), 0);
    let part = ["show", "ordered", "--json", "--in"];
    let below = site.tree().join("d1");
    let ran = ask(&site, us, &[&part[..], &[below.to_str().unwrap()]].concat());
    let mut wanted = gnu(&site.tree(), us);
    wanted.retain(|(_, path)| path.starts_with(&below));
    assert_eq!(shown(&ran).len(), wanted.len(), "{ran}");
    let listed = objects(&site.run("index list --json"));
    assert_eq!(listed[0]["attributes_on"], "xattr:user.colour");
    assert_eq!(listed[0]["is_current"].as_bool(), Some(true));
    for number in (0..FILES).step_by(4) {
        let path = site.tree().join(format!("d{}/f{number}", number % 4));
        match number % 3 {
            0 => set(&path, "user.colour", "new"),
            1 => fs::remove_file(&path).unwrap(),
            _ => fs::rename(&path, site.tree().join(format!("moved{number}"))).unwrap(),
        }
    }
    site.run("index --quiet .").expect_code(0);
    compare(&site, us, "changed");
    site.run("index --verify").expect_code(0);
    // Without attributes nothing is answered, and nothing declared.
    site.run("index --quiet --no-xattr .").expect_code(0);
    let ran = site.run("index show ordered").expect_code(2);
    assert!(ran.errors().contains("--no-xattr"), "{ran}");
    let ran = site
        .run("index define other --kind ordered --on xattr:user.other .")
        .expect_code(2);
    assert!(ran.errors().contains("--no-xattr"), "{ran}");
    let list = site.run("index list").text();
    assert!(list.lines().all(|line| line.ends_with("behind")), "{list}");
    site.run("index --quiet .").expect_code(0);
    compare(&site, us, "read again");
    for kind in ["ordered", "hashed"] {
        site.run(&format!("index drop {kind} .")).expect_code(0);
    }
    assert_eq!(site.run("index list").text(), "");
}

/// Values lie behind the permission to read the file (xattr(7)), and behind those of directories.
#[test]
fn values_are_guarded_as_the_kernel_guards_them() {
    if let Some(skip) = without_root("other users' files") {
        return skip.say();
    }
    let Some(site) = site("xattr-indices-users") else {
        return;
    };
    let modes = [0o644, 0o600, 0o640, 0o604, 0o000];
    for number in 0..FILES {
        let path = site.tree().join(format!("d{}/f{number}", number % 4));
        let owner = Some(USERS[number % USERS.len()]);
        chown(&path, owner, Some(USERS[number / 3 % USERS.len()])).unwrap();
        let mode = modes[number % modes.len()];
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    }
    for (at, mode) in [0o755, 0o700, 0o711, 0o750].into_iter().enumerate() {
        let dir = site.tree().join(format!("d{at}"));
        chown(&dir, Some(USERS[at % 3]), Some(USERS[(at + 1) % 3])).unwrap();
        fs::set_permissions(&dir, Permissions::from_mode(mode)).unwrap();
    }
    site.run("index --quiet .").expect_code(0);
    define(&site);
    let mut counts = Vec::new();
    for user in USERS {
        counts.push(compare(&site, &Identity::user(user), &user.to_string()));
    }
    assert!(counts.iter().any(|count| *count != counts[0]), "{counts:?}");
}

/// Two trees differ in nothing but values that a stranger may not read.
#[test]
fn strangers_see_nothing_of_closed_values() {
    if let Some(skip) = without_root("other users' files") {
        return skip.say();
    }
    let look = |value: &str| {
        let site = site("xattr-indices-stranger")?;
        for number in (0..FILES).step_by(2) {
            let path = site.tree().join(format!("d{}/f{number}", number % 4));
            if number % 3 != 0 {
                set(&path, "user.colour", value);
            }
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        }
        site.run("index --quiet .").expect_code(0);
        define(&site);
        let tree = site.tree().display().to_string();
        let stranger = |words: &[&str]| {
            let ran = ask(&site, &Identity::user(4999), words);
            let told = format!("{:?} {} {}", ran.code, ran.text(), ran.errors());
            told.replace(&tree, "")
        };
        Some([
            stranger(&["list"]),
            stranger(&["show", "ordered", "--in", &tree]),
            stranger(&["show", "hashed", value, "--in", &tree]),
        ])
    };
    let Some(seen) = look("a secret of one") else {
        return;
    };
    assert!(seen[0].contains("ordered by xattr:user.colour"), "{seen:?}");
    assert!(seen[1].contains("blue sky\t/d"), "{seen:?}");
    assert!(seen[2].starts_with("Some(0)"), "{seen:?}");
    assert_eq!(Some(seen), look("and another, longer secret"));
}
