//! The tables of groups agree with `trawl groups`, and their summaries with sums over the members,
//! for every user.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::skip::without_root;

use crate::sets::{install, trawl};
use crate::site::{Site, sorted};

const NOBODY: u32 = 65534;
const OWNER: u32 = 4711;

/// Makes a project, an album, a directory of documents, and directories that not all may list.
fn tree(label: &str) -> Site {
    let site = Site::empty(label);
    for (path, bytes) in [
        ("code/Cargo.toml", 10),
        ("code/src/main.rs", 200),
        ("code/src/deep/lib.rs", 3000),
        ("music/01.flac", 5000),
        ("music/02.flac", 7000),
        ("music/cover.jpg", 300),
        ("papers/a.txt", 11),
        ("papers/b, \"c\".txt", 13),
        ("closed/secret.txt", 17),
        ("own/mine.txt", 19),
    ] {
        let path = site.tree().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, vec![b'x'; bytes]).unwrap();
    }
    for dir in ["closed", "own"] {
        fs::set_permissions(site.tree().join(dir), Permissions::from_mode(0o700)).unwrap();
    }
    site.index();
    site
}

#[test]
fn groups_are_those_of_the_command() {
    let site = tree("sql-groups");
    let program = install(&site);
    let command = |words: &[&str]| {
        let ran = trawl(&program, &site, &Identity::Ourselves, words);
        assert_eq!(ran.code, Some(0), "{ran}");
        let lines = ran.text();
        sorted(lines.lines().skip(1).map(str::to_owned).collect())
    };
    let listed = command(&["groups", "list", "--csv"]);
    let ids: Vec<&str> = listed.iter().map(|line| &line[..16]).collect();
    let query = "SELECT group_id FROM file_groups";
    assert_eq!(sorted(site.rows(query)), ids);
    let rules = site.rows(
        "SELECT rule FROM file_groups WHERE place LIKE '%/code' OR place LIKE '%/music' ORDER BY 1",
    );
    assert_eq!(rules, ["albums", "projects"]);
    for id in ids {
        let shown = trawl(
            &program,
            &site,
            &Identity::Ourselves,
            &["groups", "show", "-0", id],
        );
        let paths = shown.text();
        let paths = paths.split('\0').filter(|path| !path.is_empty());
        let members = format!("SELECT path FROM group_members WHERE group_id = '{id}'");
        let ran = site.run(&["-0", &members]);
        let rows = ran.text();
        let rows = rows.split('\0').filter(|path| !path.is_empty());
        assert_eq!(
            sorted(rows.map(str::to_owned).collect()),
            sorted(paths.map(str::to_owned).collect()),
            "{ran}"
        );
    }
    let why = site.rows("SELECT why FROM group_members WHERE name = 'main.rs'");
    let marker = site.tree().join("code/Cargo.toml");
    assert_eq!(
        why,
        [format!("{} marks the top of a project", marker.display())]
    );
}

#[test]
fn a_summary_is_that_of_the_members() {
    let site = tree("sql-groups-summaries");
    let joined = "SELECT m.group_id, count(*), sum(e.size), sum(e.blocks) * 512, min(e.size), max(e.size), \
                  min(e.mtime), max(e.mtime), min(e.atime), max(e.atime), min(e.ctime), max(e.ctime) \
                  FROM group_members m JOIN entries e USING (path) GROUP BY 1 ORDER BY 1";
    let summaries = "SELECT group_id, files, size, disk, size_min, size_max, mtime_min, mtime_max, atime_min, \
                     atime_max, ctime_min, ctime_max FROM file_groups ORDER BY 1";
    let rows = site.rows(summaries);
    assert!(rows.len() >= 5, "{rows:?}");
    assert_eq!(rows, site.rows(joined));
    // Every file belongs to one group, a directory to none.
    let all = "SELECT path FROM entries WHERE type <> 'd'";
    let members = "SELECT path FROM group_members";
    assert_eq!(sorted(site.rows(members)), sorted(site.rows(all)));
    for (part, words) in [
        (
            "dir = 'TREE/code/src'",
            &["-path", "*/code/src/*", "!", "-path", "*/deep*"][..],
        ),
        ("path LIKE 'TREE/code/%'", &["-path", "*/code/*"]),
        (
            "path = 'TREE/code/src/main.rs' OR path = 'TREE/music/01.flac'",
            &["(", "-name", "main.rs", "-o", "-name", "01.flac", ")"],
        ),
        ("under(path, 'TREE/music')", &["-path", "*/music/*"]),
    ] {
        let tree = site.tree().display().to_string();
        let query = format!(
            "SELECT path FROM group_members WHERE {}",
            part.replace("TREE", &tree)
        );
        let words = [&["-type", "f"], words, &["-printf", "%p\\n"]].concat();
        assert_eq!(sorted(site.rows(&query)), site.find(&words), "{part}");
    }
    let below = site.tree().join("code");
    let ran = site.run(&[
        "--csv",
        "--below",
        below.to_str().unwrap(),
        "SELECT files, size FROM file_groups",
    ]);
    assert_eq!(ran.text(), "files,size\n3,3210\n", "{ran}");
}

#[test]
fn users_get_the_groups_of_what_they_see() {
    if let Some(skip) = without_root("groups of other users") {
        return skip.say();
    }
    let site = tree("sql-groups-users");
    chown(site.tree().join("own"), Some(OWNER), Some(OWNER)).unwrap();
    site.index();
    site.scratch
        .install(Path::new(env!("CARGO_BIN_EXE_trawl-sql")));
    for who in [
        Identity::Ourselves,
        Identity::user(NOBODY),
        Identity::user(OWNER),
    ] {
        let tree = site.tree();
        let files = ["!", "-type", "d", "-printf", "%h\\0%s\\n"].map(Into::into);
        let words = std::iter::once(tree.as_os_str().to_owned()).chain(files);
        let found = oracle::gnu("find", words, Path::new("/"), &who).text();
        let (mut count, mut bytes) = (0u64, 0u64);
        let mut dirs: BTreeMap<&str, u64> = BTreeMap::new();
        for line in found.lines() {
            let (dir, size) = line.split_once('\0').unwrap();
            count += 1;
            bytes += size.parse::<u64>().unwrap();
            *dirs.entry(dir).or_default() += 1;
        }
        let sums = "SELECT sum(files), sum(size) FROM file_groups";
        assert_eq!(
            site.rows_as(&who, sums),
            [format!("{count},{bytes}")],
            "{who:?}"
        );
        let members = "SELECT dir, count(*) FROM group_members GROUP BY dir ORDER BY dir";
        let expected: Vec<String> = dirs
            .iter()
            .map(|(dir, files)| format!("{dir},{files}"))
            .collect();
        assert_eq!(site.rows_as(&who, members), expected, "{who:?}");
        let names = site
            .rows_as(&who, "SELECT place FROM file_groups")
            .join(" ");
        for (dir, is_seen) in [("/closed", 0), ("/own", OWNER)] {
            let may = matches!(who, Identity::Ourselves)
                || format!("{who:?}") == format!("{:?}", Identity::user(OWNER)) && is_seen == OWNER;
            assert_eq!(names.contains(dir), may, "{who:?} {names}");
        }
    }
}
