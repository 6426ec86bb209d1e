//! The table of relations has what was written into the files, and nothing of what the asking user
//! cannot reach at either end. Expected rows follow from the files' texts.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};

use trawl_testkit::oracle::{self, Identity, Ran};
use trawl_testkit::skip::without_root;

use crate::sets::{ask, install};
use crate::site::{Site, sorted};

const NOBODY: u32 = 65534;
const OWNER: u32 = 4711;
/// Files that were changed less than 3 seconds before are not packed.
const SETTLED: std::time::Duration = std::time::Duration::from_millis(4500);

/// A hook that takes each line for a kind and a target.
const HOOK: &str = r#"#!/bin/sh
while read -r kind target; do printf '{"relation": "%s", "target": "%s"}\n' "$kind" "$target"; done
"#;

/// Writes files and the hook that reads them, and indexes them with these options.
fn site(label: &str, files: &[(&str, &str)], options: &[&str]) -> Site {
    let site = Site::empty(label);
    let hooks = hooks(&site);
    fs::create_dir(&hooks).unwrap();
    let manifest = "name = \"refs\"\nprogram = \"refs\"\nglobs = [\"*.ref\"]\n";
    fs::write(hooks.join("refs.toml"), manifest).unwrap();
    fs::write(hooks.join("refs"), HOOK).unwrap();
    fs::set_permissions(hooks.join("refs"), Permissions::from_mode(0o755)).unwrap();
    for (name, text) in files {
        let path = site.tree().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    index(&site, options);
    site
}

fn hooks(site: &Site) -> std::path::PathBuf {
    site.scratch.join("hooks")
}

/// Indexes the tree with the hook.
fn index(site: &Site, options: &[&str]) {
    if !options.is_empty() {
        std::thread::sleep(SETTLED);
    }
    let tree = site.tree().display().to_string();
    let words = [&["index", "--quiet"], options, &[&tree]].concat();
    let mut command = Identity::Ourselves.command(install(site));
    command.env("TRAWL_HOOKS", hooks(site));
    let ran = ask(command, site, &words);
    assert_eq!(ran.code, Some(0), "{ran}");
}

/// Runs a query with the hook.
fn run(site: &Site, who: &Identity, words: &[&str]) -> Ran {
    let mut command = site.command(who);
    oracle::run(command.env("TRAWL_HOOKS", hooks(site)).args(words))
}

/// Returns the rows of an answer, sorted.
fn rows(ran: &Ran) -> Vec<String> {
    let text = ran.text();
    sorted(text.lines().skip(1).map(str::to_owned).collect())
}

const FILES: [(&str, &str); 6] = [
    ("a.ref", "includes b.ref\nincludes gone.ref\n"),
    ("b.ref", "includes sub/c.ref\n"),
    ("sub/c.ref", ""),
    ("sub/copy.ref", "includes ../b.ref\n"),
    ("read.ref", "links-to sub/more.txt\n"),
    ("sub/more.txt", "more\n"),
];

#[test]
fn rows_are_the_references_in_files() {
    for options in [&[][..], &["--keywords"]] {
        let site = site("sql-relations", &FILES, options);
        let tree = site.tree().display().to_string();
        let ask = |query: &str| {
            let query = query.replace("TREE", &tree);
            let ran = run(&site, &Identity::Ourselves, &["--csv", &query]);
            assert_eq!(ran.code, Some(0), "{ran}");
            rows(&ran)
        };
        let pairs = |rows: &[(&str, &str)]| {
            let line = |(one, other): &(&str, &str)| format!("{tree}/{one},{tree}/{other}");
            sorted(rows.iter().map(line).collect())
        };
        let includes = [
            ("a.ref", "b.ref"),
            ("b.ref", "sub/c.ref"),
            ("sub/copy.ref", "b.ref"),
        ];
        let links = [("read.ref", "sub/more.txt")];
        let all = [&includes[..], &links].concat();
        let select = "SELECT path, other FROM relations";
        assert_eq!(ask(select), pairs(&all));
        for (condition, expected) in [
            ("kind = 'includes'", &includes[..]),
            ("kind IN ('links-to', 'derived')", &links),
            ("kind = 'No kind'", &[]),
            ("path = 'TREE/b.ref'", &includes[1..2]),
            ("dir = 'TREE'", &[all[0], all[1], all[3]]),
            ("path LIKE 'TREE/sub/%'", &includes[2..]),
            ("under(path, 'TREE/sub') AND kind = 'links-to'", &[]),
            ("other = 'TREE/b.ref'", &[includes[0], includes[2]]),
            (
                "name = 'a.ref' OR other LIKE '%/more.txt'",
                &[all[0], all[3]],
            ),
        ] {
            let query = format!("{select} WHERE {condition}");
            assert_eq!(ask(&query), pairs(expected), "{condition}");
        }
        let found = ask("SELECT name, kind, weight, is_replaced, other_raw FROM relations LIMIT 1");
        assert!(found[0].contains(",1.0,no,"), "{found:?}");
        // As `trawl related a.ref --direction forward --depth 9`.
        let deep = "WITH RECURSIVE reached AS (
            SELECT other FROM relations WHERE path = 'TREE/a.ref'
            UNION SELECT r.other FROM relations r JOIN reached ON r.path = reached.other)
            SELECT other FROM reached";
        assert_eq!(
            ask(deep),
            [format!("{tree}/b.ref"), format!("{tree}/sub/c.ref")]
        );
        let joined = "SELECT r.path, r.other FROM relations r JOIN entries e ON e.path = r.other
                      WHERE e.size < 20 AND r.kind = 'links-to'";
        assert_eq!(ask(joined), pairs(&links));
        let below = format!("{tree}/sub");
        let words = ["--csv", "--below", &below, "SELECT name FROM relations"];
        let ran = run(&site, &Identity::Ourselves, &words);
        assert_eq!(ran.text(), "name\ncopy.ref\n", "{ran}");
        let plan = ask("EXPLAIN SELECT path FROM relations WHERE kind = 'includes'").join(" ");
        assert!(plan.contains("kinds=[includes]"), "{plan}");
    }
}

/// What programs taught needs no file to be read.
#[test]
fn learnt_kinds_read_no_file() {
    let site = site("sql-relations-learnt", &FILES, &[]);
    let mut command = oracle::command("strace");
    command.args(["-f", "-qq", "-s", "4096", "-e", "trace=openat"]);
    command.args(["-e", "signal=none", env!("CARGO_BIN_EXE_trawl-sql")]);
    command.arg("SELECT count(*) FROM relations WHERE kind = 'built-from'");
    let ran = oracle::run(command.env("TRAWL_INDEX", site.index_dir()));
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(!ran.errors().contains("b.ref"), "{ran}");
}

#[test]
fn both_ends_are_guarded() {
    if let Some(skip) = without_root("relations of other users") {
        return skip.say();
    }
    let files = [
        ("open/open.txt", "open\n"),
        (
            "open/uses.ref",
            "includes open.txt\nincludes ../own/secret.txt\n",
        ),
        ("open/closed.ref", "includes open.txt\n"),
        ("own/secret.txt", "closed\n"),
        ("own/uses-open.ref", "includes ../open/open.txt\n"),
    ];
    for options in [&[][..], &["--keywords"]] {
        let site = site("sql-relations-users", &files, &[]);
        for (name, mode) in [("own", 0o700), ("open/closed.ref", 0o600)] {
            let path = site.tree().join(name);
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            chown(&path, Some(OWNER), Some(OWNER)).unwrap();
        }
        index(&site, options);
        let tree = site.tree().display().to_string();
        let ask = |who: u32, query: &str| {
            let query = query.replace("TREE", &tree);
            let who = Identity::user(who);
            let ran = run(&site, &who, &["--csv", &query]);
            let bare = rows(&ran).into_iter().map(|line| line.replace(&tree, ""));
            (bare.collect::<Vec<String>>(), ran)
        };
        let select = "SELECT path, other FROM relations";
        let (rows, ran) = ask(OWNER, select);
        let all = [
            "/open/closed.ref,/open/open.txt",
            "/open/uses.ref,/open/open.txt",
            "/open/uses.ref,/own/secret.txt",
            "/own/uses-open.ref,/open/open.txt",
        ];
        assert_eq!(
            (&rows[..], ran.code),
            (&all.map(String::from)[..], Some(0)),
            "{ran}"
        );
        let (rows, ran) = ask(NOBODY, select);
        assert_eq!(rows, ["/open/uses.ref,/open/open.txt"], "{ran}");
        // Its directory may be listed: the name is no secret.
        let errors = ran.errors();
        assert!(
            errors.contains("closed.ref': cannot read: permission denied"),
            "{ran}"
        );
        assert!(!errors.contains("own"), "{ran}");
        for query in [
            // The engine may infer that the path of both tables is the same.
            "SELECT r.other FROM entries e JOIN relations r USING (path) WHERE e.path = 'TREE/own/uses-open.ref'",
            "SELECT other FROM relations WHERE path = 'TREE/own/uses-open.ref'",
            "SELECT path FROM relations WHERE other = 'TREE/own/secret.txt'",
            "SELECT a.path FROM relations a JOIN relations b ON a.other = b.path WHERE b.path = 'TREE/own/uses-open.ref'",
        ] {
            let (rows, _) = ask(NOBODY, query);
            assert_eq!(rows, Vec::<String>::new(), "{query}");
            let (_, found) = ask(NOBODY, query);
            let (_, absent) = ask(
                NOBODY,
                &query
                    .replace("uses-open", "absent")
                    .replace("secret", "absent"),
            );
            let hidden = |text: String| {
                text.replace("uses-open", "absent")
                    .replace("secret", "absent")
            };
            assert_eq!(hidden(found.errors()), absent.errors(), "{query}");
        }
    }
}

#[test]
fn what_is_gone_is_said() {
    let site = site("sql-relations-gone", &FILES, &[]);
    fs::remove_file(site.tree().join("a.ref")).unwrap();
    fs::remove_file(site.tree().join("sub/c.ref")).unwrap();
    let query = "SELECT name FROM relations WHERE kind = 'includes'";
    let ran = run(&site, &Identity::Ourselves, &["--csv", query]);
    assert_eq!(
        (ran.text().as_str(), ran.code),
        ("name\ncopy.ref\n", Some(1)),
        "{ran}"
    );
    assert!(ran.errors().contains("a.ref': no such file"), "{ran}");
}
