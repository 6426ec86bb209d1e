//! Other users query the administrator's index: they are told what find tells them, and sums cover
//! no more than that.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::skip::without_root;

use crate::site::{Site, sorted};

const NOBODY: u32 = 65534;
const OWNER: u32 = 4711;

/// Makes directories that other users cannot enter, each with a file that names it.
fn site() -> Site {
    let site = Site::empty("sql-users");
    let tree = site.tree();
    for dir in ["pub/a", "closed/deep", "own/docs", "group/in", "pass/known"] {
        std::fs::create_dir_all(tree.join(dir)).unwrap();
        std::fs::write(tree.join(dir).join("file"), vec![b'x'; 1000]).unwrap();
    }
    chown(tree.join("own"), Some(OWNER), Some(OWNER)).unwrap();
    for (dir, mode) in [
        ("closed", 0o700),
        ("own", 0o700),
        ("group", 0o750),
        ("pass", 0o711),
    ] {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(tree.join(dir), mode).unwrap();
    }
    site.scratch
        .install(Path::new(env!("CARGO_BIN_EXE_trawl-sql")));
    site.index();
    site
}

#[test]
fn others_see_what_find_shows_them() {
    if let Some(skip) = without_root("queries by other users") {
        return skip.say();
    }
    let site = site();
    for who in [
        Identity::Ourselves,
        Identity::user(NOBODY),
        Identity::user(OWNER),
    ] {
        let found = |words: &[&str]| {
            let mut command = who.command("find");
            let ran = oracle::run(command.arg(site.tree()).args(words).current_dir("/"));
            sorted(ran.text().lines().map(str::to_owned).collect())
        };
        let paths = found(&["-printf", "%p,%s\\n"]);
        assert_eq!(
            sorted(site.rows_as(&who, "SELECT path, size FROM entries")),
            paths,
            "{who:?}"
        );
        let count = [paths.len().to_string()];
        assert_eq!(
            site.rows_as(&who, "SELECT count(*) FROM entries"),
            count,
            "{who:?}"
        );
        assert_eq!(
            site.rows_as(&who, "SELECT count(*) FROM entries_history"),
            count,
            "{who:?}"
        );
        assert_eq!(
            site.rows_as(&who, "SELECT entries FROM snapshots"),
            count,
            "{who:?}"
        );
        let size: u64 = paths
            .iter()
            .map(|l| l.rsplit(',').next().unwrap().parse::<u64>().unwrap())
            .sum();
        assert_eq!(
            site.rows_as(&who, "SELECT size FROM snapshots"),
            [size.to_string()],
            "{who:?}"
        );
        assert_eq!(
            site.rows_as(&who, "SELECT sum(size) FROM entries"),
            [size.to_string()],
            "{who:?}"
        );
        let readable = found(&["-type", "d", "-readable", "-executable", "-printf", "%p\\n"]);
        assert_eq!(
            sorted(site.rows_as(&who, "SELECT path FROM dirs")),
            readable,
            "{who:?}"
        );
    }
}

#[test]
fn a_plan_tells_no_more_than_its_rows() {
    if let Some(skip) = without_root("plans for other users") {
        return skip.say();
    }
    let site = site();
    let nobody = Identity::user(NOBODY);
    let tree = site.tree().display().to_string();
    for query in [
        "SELECT * FROM entries".to_owned(),
        format!("SELECT * FROM entries WHERE path LIKE '{tree}/closed/%'"),
    ] {
        let explain = |verb: &str| {
            let mut command = site.command(&nobody);
            oracle::run(command.args(["--format", "tsv", &format!("{verb} {query}")])).text()
        };
        for text in [explain("EXPLAIN"), explain("EXPLAIN ANALYZE")] {
            for hidden in ["deep", "docs", "known"] {
                assert!(!text.contains(hidden), "{text}");
            }
        }
    }
    let rows = format!("SELECT path FROM entries WHERE path LIKE '{tree}/closed/%'");
    let ran = oracle::run(site.command(&nobody).args(["--csv", &rows]));
    assert_eq!(ran.text(), "path\n", "{ran}");
}

#[test]
fn an_export_has_what_its_user_may_see() {
    if let Some(skip) = without_root("exports by other users") {
        return skip.say();
    }
    let site = site();
    let nobody = Identity::user(NOBODY);
    let place = site.scratch.join("theirs");
    std::fs::create_dir(&place).unwrap();
    chown(&place, Some(NOBODY), Some(NOBODY)).unwrap();
    let to = place.join("out");
    let mut command = site.command(&nobody);
    let ran = oracle::run(command.args(["export", "--csv"]).arg(&to).current_dir("/"));
    assert_eq!(ran.code, Some(0), "{ran}");
    let mut all = String::new();
    for table in ["entries", "dirs", "xattrs", "issues"] {
        all.push_str(&std::fs::read_to_string(to.join(table).join("part-00001.csv")).unwrap());
    }
    for hidden in ["closed/deep", "own/docs", "group/in", "pass/known"] {
        assert!(!all.contains(hidden), "{hidden} in:\n{all}");
    }
    assert!(all.contains("/pub/a/file"), "{all}");
    assert!(all.contains("/closed"), "{all}");
}
