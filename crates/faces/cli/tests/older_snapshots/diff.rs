//! `trawl diff`: a tree that is changed at random, compared with the listings of GNU find before
//! and after.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use trawl_testkit::Prng;

use crate::site::{Site, objects};
use crate::{index, snapshots, write};

/// Everything that find can print about an entry and that is compared.
const LISTING: &str =
    "find . -printf %p\\t%i\\t%s\\t%b\\t%m\\t%U\\t%G\\t%T@\\t%C@\\t%n\\t%y\\t%l\\n";
/// find does not know the time of creation if the C library does not provide it.
const BIRTHS: &str = "find . -exec stat -c %n=%.9W {} +";
const COLUMNS: [&str; 12] = [
    "inode", "size", "blocks", "mode", "owner", "group", "mtime", "ctime", "links", "type",
    "target", "btime",
];

type Listing = BTreeMap<String, Vec<String>>;

fn listing(site: &Site) -> Listing {
    let ran = site.gnu(LISTING).expect_code(0);
    let line = |line: &str| {
        let mut cells = line.split('\t').map(str::to_owned);
        (cells.next().unwrap(), cells.collect())
    };
    let mut listing: Listing = ran.text().lines().map(line).collect();
    for line in site.gnu(BIRTHS).expect_code(0).text().lines() {
        let (path, birth) = line.rsplit_once('=').unwrap();
        listing.get_mut(path).unwrap().push(birth.to_owned());
    }
    listing
}

/// Contents of find's listings: paths by kind and, for changed entries, the columns.
#[derive(Debug, Default, PartialEq, Eq)]
struct Expected {
    created: BTreeSet<String>,
    deleted: BTreeSet<String>,
    changed: BTreeMap<String, BTreeSet<String>>,
}

fn expected(before: &Listing, after: &Listing) -> Expected {
    let mut expected = Expected::default();
    for (path, new) in after {
        let Some(old) = before.get(path) else {
            expected.created.insert(path.clone());
            continue;
        };
        let pairs = old.iter().zip(new).zip(COLUMNS);
        let names: BTreeSet<String> = pairs
            .filter(|((old, new), _)| old != new)
            .map(|(_, name)| name.to_owned())
            .collect();
        if !names.is_empty() {
            expected.changed.insert(path.clone(), names);
        }
    }
    let gone = before.keys().filter(|path| !after.contains_key(*path));
    expected.deleted = gone.cloned().collect();
    expected
}

/// Returns the program's answer, with moves separate.
fn said(site: &Site, line: &str) -> (Expected, Vec<(String, String)>) {
    let mut said = Expected::default();
    let mut moved = Vec::new();
    for object in objects(&site.run(line).expect_code(0)) {
        let text = |key: &str| object[key].as_str().unwrap().to_owned();
        let path = text("path");
        match object["kind"].as_str().unwrap() {
            "created" => drop(said.created.insert(path)),
            "deleted" => drop(said.deleted.insert(path)),
            "changed" => {
                let names = object["changed"].as_array().unwrap().iter();
                let names = names.map(|name| name.as_str().unwrap().to_owned());
                said.changed.insert(path, names.collect());
            }
            "moved" => moved.push((text("from"), path)),
            other => panic!("{other}"),
        }
    }
    (said, moved)
}

fn paths(top: &Path) -> Vec<PathBuf> {
    let mut found = crate::site::files_below(top);
    found.retain(|path| path.symlink_metadata().is_ok());
    found
}

/// Changes the tree at random.
fn mutate(top: &Path, random: &mut Prng, step: u64) {
    let all = paths(top);
    let dirs: Vec<&PathBuf> = all
        .iter()
        .filter(|path| path.is_dir() && !path.is_symlink())
        .collect();
    let dir = match dirs.is_empty() {
        true => top.to_owned(),
        false => (*random.pick(&dirs)).clone(),
    };
    let name = random.word(&["new", "n-", "n", "n x", "é", "a.txt"]);
    let new = dir.join(format!("{name}{step}"));
    let Some(old) = (!all.is_empty()).then(|| random.pick(&all).clone()) else {
        return write(&new, "x");
    };
    // Impossible changes are left out.
    match random.below(10) {
        0 => write(&new, &"x".repeat(random.below(9000) as usize)),
        1 => drop(std::fs::create_dir(&new)),
        2 => drop(match old.is_dir() && !old.is_symlink() {
            true => std::fs::remove_dir_all(&old),
            false => std::fs::remove_file(&old),
        }),
        3 | 4 => drop(std::fs::rename(&old, &new)),
        5 => drop(std::fs::set_permissions(
            &old,
            std::fs::Permissions::from_mode([0o755, 0o700, 0o777][random.below(3) as usize]),
        )),
        6 => drop(
            std::fs::OpenOptions::new()
                .write(true)
                .open(&old)
                .map(|file| file.set_len(random.below(20_000))),
        ),
        7 => drop(std::fs::hard_link(&old, &new)),
        8 => drop(std::os::unix::fs::symlink(name, &new)),
        // A file in place of a directory, and the reverse.
        _ => {
            let is_dir = old.is_dir() && !old.is_symlink();
            if is_dir && std::fs::remove_dir_all(&old).is_ok() {
                write(&old, "a file now");
            } else if std::fs::remove_file(&old).is_ok() {
                let _ = std::fs::create_dir(&old);
            }
        }
    }
}

#[test]
fn random_changes_are_those_that_find_sees() {
    for seed in 0..6 {
        let site = Site::empty("diff-random");
        let top = site.tree();
        let mut random = Prng::new(seed);
        for step in 0..80 {
            mutate(&top, &mut random, step);
        }
        let before = listing(&site);
        index(&site);
        for step in 100..100 + 5 * (seed + 1) {
            mutate(&top, &mut random, step);
        }
        let after = listing(&site);
        index(&site);
        let expected = expected(&before, &after);

        let (plain, none) = said(&site, "diff --no-moves --json");
        assert_eq!(plain, expected, "seed {seed}");
        assert!(none.is_empty());
        // In the reverse direction.
        let (back, _) = said(&site, "diff latest -1 --no-moves --json");
        assert_eq!(back.created, expected.deleted, "seed {seed}");
        assert_eq!(back.deleted, expected.created, "seed {seed}");
        assert_eq!(back.changed, expected.changed, "seed {seed}");

        let (mut rest, moved) = said(&site, "diff --json");
        assert_eq!(rest.changed, expected.changed, "seed {seed}");
        let object = |listing: &Listing, path: &str| {
            let cells = &listing[path];
            (cells[0].clone(), cells[9].clone(), cells[11].clone())
        };
        for (from, to) in &moved {
            assert_eq!(object(&before, from), object(&after, to), "{from} -> {to}");
            rest.deleted.insert(from.clone());
            rest.created.insert(to.clone());
        }
        // Moves remove nothing and add nothing.
        assert_eq!(
            (&rest.created, &rest.deleted),
            (&expected.created, &expected.deleted)
        );
        // No move is missed: no object is left on both sides.
        let (unmatched, _) = said(&site, "diff --json");
        let gone: BTreeSet<_> = unmatched
            .deleted
            .iter()
            .map(|path| object(&before, path))
            .collect();
        let came = unmatched.created.iter().map(|path| object(&after, path));
        assert!(
            !came.into_iter().any(|one| gone.contains(&one)),
            "seed {seed}"
        );
        below(&site, &expected);
    }
}

/// Checks that the differences below a directory are those of the whole tree that lie there.
fn below(site: &Site, all: &Expected) {
    for dir in ["n1", "new7", "n x3"] {
        let path = format!("./{dir}");
        if dir.contains(' ') || !site.tree().join(dir).is_dir() {
            continue;
        }
        let is_within = |found: &&String| **found == path || found.starts_with(&format!("{path}/"));
        let (part, _) = said(site, &format!("diff --no-moves --json {path}"));
        let of = |set: &BTreeSet<String>| {
            set.iter()
                .filter(is_within)
                .cloned()
                .collect::<BTreeSet<_>>()
        };
        assert_eq!(part.created, of(&all.created), "{path}");
        assert_eq!(part.deleted, of(&all.deleted), "{path}");
    }
}

#[test]
fn lines_tell_what_happened() {
    let site = Site::empty("diff-lines");
    let tree = site.tree();
    for dir in ["old/sub", "stays"] {
        std::fs::create_dir_all(tree.join(dir)).unwrap();
    }
    write(tree.join("old/sub/file"), "x");
    write(tree.join("old/other"), "x");
    write(tree.join("stays/gone"), "x");
    write(tree.join("stays/grows"), "1234567890");
    index(&site);
    std::fs::rename(tree.join("old"), tree.join("renamed")).unwrap();
    std::fs::remove_file(tree.join("stays/gone")).unwrap();
    write(tree.join("stays/grows"), "12345678901234567890");
    write(tree.join("stays/came\n"), "x");
    index(&site);

    let text = site
        .run("diff --ignore atime,device,mtime,ctime,blocks,size")
        .expect_code(0)
        .text();
    assert_eq!(
        text,
        "R ./old -> ./renamed\nR ./old/other -> ./renamed/other\nR ./old/sub -> ./renamed/sub\n\
         R ./old/sub/file -> ./renamed/sub/file\n+ ./stays/came\n\n- ./stays/gone\n"
    );
    let text = site.run("diff stays/grows").expect_code(0).text();
    assert!(
        text.starts_with("M stays/grows  size 10 → 20, mtime "),
        "{text}"
    );
    let ran = site
        .run("diff --collapse-moves --only moved")
        .expect_code(0);
    assert_eq!(ran.text(), "R ./old -> ./renamed\n");
    let ran = site
        .run("diff -0 --only created,deleted stays")
        .expect_code(0);
    assert_eq!(ran.text(), "stays/came\n\0stays/gone\0");
    let ran = site.run("diff --name-only --only deleted").expect_code(0);
    assert_eq!(ran.text(), "./stays/gone\n");
    let csv = site.run("diff --csv --only deleted").expect_code(0).text();
    assert_eq!(csv.lines().count(), 2, "{csv}");
    assert!(csv.contains("\ndeleted,./stays/gone,,,,f,,1,,"), "{csv}");

    site.run("diff --exit-code").expect_code(1);
    let ids = snapshots(&site);
    let same = format!("diff --exit-code {} {}", ids[0], ids[0]);
    assert_eq!(site.run(&same).expect_code(0).text(), "");
    site.run("diff renamed").expect_code(0);
    let ran = site.run("diff nowhere").expect_code(2);
    assert!(ran.errors().contains("in neither snapshot"), "{ran}");
    let ran = site.run("diff -5 latest").expect_code(2);
    assert!(
        ran.errors().contains("no snapshot 5 before the newest"),
        "{ran}"
    );
    site.run("diff --at -1").expect_code(2);
    site.run("diff a b c").expect_code(2);
}

#[test]
fn summaries_add_up_to_what_du_says() {
    let site = Site::empty("diff-summary");
    let tree = site.tree();
    for dir in ["a/x", "b"] {
        std::fs::create_dir_all(tree.join(dir)).unwrap();
        write(tree.join(dir).join("kept.c"), "kept");
    }
    write(tree.join("b/gone.txt"), &"x".repeat(5000));
    let du = |site: &Site, dir: &str| -> i64 {
        let ran = site.gnu(&format!("du -s -B1 {dir}"));
        ran.text()
            .split_whitespace()
            .next()
            .unwrap()
            .parse()
            .unwrap()
    };
    let before = ["a", "b"].map(|dir| du(&site, dir));
    index(&site);
    std::fs::remove_file(tree.join("b/gone.txt")).unwrap();
    write(tree.join("a/x/new.c"), &"y".repeat(70_000));
    let after = ["a", "b"].map(|dir| du(&site, dir));
    index(&site);
    let groups = objects(&site.run("diff --summary --json").expect_code(0));
    for (at, dir) in ["./a", "./b"].iter().enumerate() {
        let group = groups.iter().find(|group| group["label"] == *dir).unwrap();
        assert_eq!(group["disk_delta"], after[at] - before[at], "{group}");
    }
    let by_ext = objects(&site.run("diff --summary=ext --json").expect_code(0));
    let of = |label: &str| by_ext.iter().find(|group| group["label"] == label).unwrap();
    assert_eq!(of(".c")["size_delta"], 70_000);
    assert_eq!(of(".txt")["size_delta"], -5000);
    assert_eq!(of(".txt")["deleted"], 1);
    let owners = site.run("diff --summary=owner --csv").expect_code(0).text();
    assert!(
        owners.starts_with("by,key,key_raw,label,created"),
        "{owners}"
    );
    let text = site.run("diff --summary --depth 2").expect_code(0).text();
    assert!(text.contains("./a/x"), "{text}");
    assert!(text.lines().last().unwrap().starts_with("total"), "{text}");
}

#[test]
fn a_directory_that_was_not_read_is_not_compared() {
    let site = Site::empty("diff-unread");
    let tree = site.tree();
    std::fs::create_dir_all(tree.join("d/e")).unwrap();
    write(tree.join("d/e/f"), "x");
    write(tree.join("d/g"), "x");
    index(&site);
    // A mount point is not entered unless this is asked for.
    let at = tree.join("d").display().to_string();
    let mounted = trawl_testkit::oracle::command("mount")
        .args(["-t", "tmpfs", "none", &at])
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        return trawl_testkit::Skip::new("mount points", "nothing can be mounted").say();
    }
    let tree_name = tree.display().to_string();
    let indexed = site.run(&format!("index --quiet --keep 9 {tree_name}"));
    let unmounted = trawl_testkit::oracle::command("umount").arg(&at).status();
    assert!(unmounted.unwrap().success());
    let ran = site.run("diff");
    assert!(
        !ran.text().contains("d/e") && !ran.text().contains("d/g"),
        "{indexed}{ran}"
    );
    assert!(
        ran.errors()
            .contains("‘./d’: its content is unknown in the second snapshot"),
        "{ran}"
    );
    assert_eq!(ran.code, Some(1));
}
