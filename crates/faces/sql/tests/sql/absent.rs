//! Requested data that is not available is reported, and affects the exit code.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::skip::without_root;

use crate::site::{Site, sorted};

const STRANGER: u32 = 4713;

fn make(site: &Site, dirs: &[&str]) {
    for dir in dirs {
        std::fs::create_dir_all(site.tree().join(dir)).unwrap();
        std::fs::write(site.tree().join(dir).join("file"), "text").unwrap();
    }
}

#[test]
fn before_the_first_snapshot_there_is_no_answer() {
    let site = Site::empty("sql-before");
    make(&site, &["a"]);
    site.index();
    for query in [
        "SELECT path FROM entries",
        "SELECT count(*) FROM dirs",
        "SELECT * FROM xattrs",
        "SELECT * FROM issues",
        "SELECT path FROM entries WHERE path LIKE '/no/such/%'",
    ] {
        let ran = site
            .run(&["--csv", "--at", "1990-01-01", query])
            .expect_code(2);
        assert!(
            ran.errors()
                .contains("it has no snapshot that began by 1990-01-01"),
            "{ran}"
        );
        assert!(ran.errors().contains("its only one began "), "{ran}");
        assert_eq!(ran.text(), "", "{query}");
    }
    let out = site.scratch.join("out").display().to_string();
    let ran = site
        .run(&["export", "--csv", &out, "--at", "1990-01-01"])
        .expect_code(2);
    assert!(ran.errors().contains("it has no snapshot"), "{ran}");
    assert!(!Path::new(&out).exists());
    // Tables about snapshots cover all of them.
    let ran = site.run(&[
        "--csv",
        "--at",
        "1990-01-01",
        "SELECT count(*) FROM snapshots",
    ]);
    assert_eq!(
        (ran.text(), ran.code),
        ("count(*)\n1\n".into(), Some(0)),
        "{ran}"
    );
    site.run(&["--csv", "SELECT path FROM entries"])
        .expect_code(0);
}

#[test]
fn a_source_that_was_not_indexed_yet_is_named() {
    let site = Site::empty("sql-younger");
    make(&site, &["old", "young"]);
    let index = |dir: &str| {
        let mut words: Vec<std::ffi::OsString> = vec!["trawl".into(), "-i".into()];
        words.extend([site.index_dir().into(), "index".into(), "--quiet".into()]);
        words.push(site.tree().join(dir).into());
        assert_eq!(trawl_cli::run(words).code(), 0);
    };
    index("old");
    std::thread::sleep(std::time::Duration::from_millis(20));
    let began = site.rows("SELECT as_of FROM sources").remove(0);
    index("young");
    let ask = |query: &str| site.run(&["--csv", "--at", &began, query]);
    let ran = ask("SELECT count(*) FROM entries").expect_code(1);
    assert_eq!(ran.text(), "count(*)\n2\n", "{ran}");
    assert!(
        ran.errors().contains("/young': it has no snapshot"),
        "{ran}"
    );
    let old = site.tree().join("old").display().to_string();
    ask(&format!(
        "SELECT count(*) FROM entries WHERE path LIKE '{old}/%'"
    ))
    .expect_code(0);
    ask(&format!(
        "SELECT count(*) FROM entries WHERE source = '{old}'"
    ))
    .expect_code(0);
    let young = old.replace("/old", "/young");
    ask(&format!(
        "SELECT count(*) FROM entries WHERE source = '{young}'"
    ))
    .expect_code(1);
}

#[test]
fn paths_that_are_not_indexed_are_named() {
    let site = Site::empty("sql-unindexed");
    make(&site, &["a"]);
    site.index();
    for condition in [
        "path LIKE '/not/indexed/%'",
        "under(path, '/not/indexed')",
        "dir = '/not/indexed'",
        "path = '/not/indexed'",
        "starts_with(path, '/not/indexed/')",
    ] {
        for table in ["entries", "entries_history"] {
            let query = format!("SELECT path FROM {table} WHERE {condition}");
            let ran = site.run(&["--csv", &query]).expect_code(1);
            assert_eq!(ran.text(), "path\n", "{query}");
            assert!(
                ran.errors().contains("'/not/indexed': it is not indexed"),
                "{ran}"
            );
        }
    }
    let tree = site.tree().display().to_string();
    for condition in [
        format!("path LIKE '{tree}/%'"),
        format!("path = '{tree}/none'"),
        "path LIKE '/%'".to_owned(),
        "path LIKE '%file'".to_owned(),
    ] {
        let query = format!("SELECT path FROM entries WHERE {condition}");
        let ran = site.run(&["--csv", &query]).expect_code(0);
        assert_eq!(ran.errors(), "", "{query}");
    }
}

#[test]
fn directories_that_may_not_be_listed_are_named() {
    if let Some(skip) = without_root("a closed directory") {
        return skip.say();
    }
    let site = Site::empty("sql-closed");
    make(&site, &["closed", "open/closed"]);
    chown(site.tree().join("open"), Some(STRANGER), Some(STRANGER)).unwrap();
    for dir in ["closed", "open/closed"] {
        let mode = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(site.tree().join(dir), mode).unwrap();
    }
    site.scratch
        .install(Path::new(env!("CARGO_BIN_EXE_trawl-sql")));
    site.index();
    let tree = site.tree().display().to_string();
    let stranger = Identity::user(STRANGER);
    let ask = |condition: &str| -> Ran {
        let query = format!("SELECT path FROM entries WHERE {condition}");
        oracle::run(site.command(&stranger).args(["--csv", &query]))
    };
    for condition in [
        format!("path LIKE '{tree}/closed/%'"),
        format!("under(path, '{tree}/closed')"),
        format!("dir = '{tree}/closed'"),
        format!("path LIKE '{tree}/closed/deeper/%'"),
    ] {
        let ran = ask(&condition).expect_code(1);
        assert!(
            ran.errors().contains("/closed") && ran.errors().contains("permission denied"),
            "{ran}"
        );
    }
    // The directory itself is visible; paths that conditions do not name are rows of `issues`.
    ask(&format!("path = '{tree}/closed'")).expect_code(0);
    ask(&format!("path LIKE '{tree}/open/%'")).expect_code(0);
}

/// Two indexes, one of a part of the other's tree: each path has one row.
#[test]
fn several_indexes_give_each_path_once() {
    let site = Site::empty("sql-two");
    make(&site, &["a", "b/c", "b/d"]);
    site.index();
    let own: PathBuf = site.scratch.join("own");
    let mut words: Vec<std::ffi::OsString> = vec!["trawl".into(), "-i".into(), own.clone().into()];
    words.extend([
        "index".into(),
        "--quiet".into(),
        site.tree().join("b").into(),
    ]);
    assert_eq!(trawl_cli::run(words).code(), 0);
    let both = std::env::join_paths([own, site.index_dir()]).unwrap();
    let rows = |query: &str| {
        let mut command = site.command(&Identity::Ourselves);
        command.env("TRAWL_INDEX", &both).args(["--csv", query]);
        let ran = oracle::run(&mut command).expect_code(0);
        assert_eq!(ran.errors(), "", "{query}");
        sorted(ran.text().lines().skip(1).map(str::to_owned).collect())
    };
    assert_eq!(rows("SELECT path FROM entries"), site.find(&[]));
    assert_eq!(rows("SELECT path FROM dirs"), site.find(&["-type", "d"]));
    let b = site.tree().join("b").display().to_string();
    assert_eq!(
        rows(&format!(
            "SELECT DISTINCT source FROM entries WHERE under(path, '{b}')"
        )),
        [b]
    );
}
