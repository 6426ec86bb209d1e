//! `trawl find -related-to`, and references that an index knows.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use trawl_testkit::oracle::{Identity, Ran, run};
use trawl_testkit::skip::without_root;

use crate::site::{Site, mode};

pub(crate) const ANNA: u32 = 60_001;
pub(crate) const BEN: u32 = 60_002;
/// An index covers only files that did not change just now.
const SETTLED: Duration = Duration::from_millis(4500);

fn find(site: &Site, words: &[&str]) -> Ran {
    let mut trawl = site.trawl(&["find"]);
    let index = site.path("../index");
    if index.exists() {
        trawl.env("TRAWL_INDEX", index);
    }
    run(trawl.args(words).arg("-print0"))
}

fn paths(ran: &Ran) -> BTreeSet<PathBuf> {
    let names = ran.stdout.split(|byte| *byte == 0);
    let names = names.filter(|name| !name.is_empty());
    names
        .map(|name| Path::new(std::ffi::OsStr::from_bytes(name)).to_owned())
        .collect()
}

pub(crate) fn index(site: &Site, words: &[&str]) {
    sleep(SETTLED);
    let mut trawl = site.trawl(&["index", "--quiet"]);
    trawl.env("TRAWL_INDEX", site.path("../index"));
    run(trawl.args(words).arg(site.tree())).expect_code(0);
}

/// An open directory, and one of Anna's with files that are related to open ones both ways.
pub(crate) fn two_users(label: &str) -> Site {
    let site = Site::new(label);
    site.write("open.h", "/* open */\n");
    site.write(
        "open.c",
        "#include \"open.h\"\n#include \"anna/secret.h\"\n",
    );
    site.write("unrelated.c", "int x;\n");
    site.write("anna/secret.h", "/* closed */\n");
    site.write("anna/uses-open.c", "#include \"../open.h\"\n");
    for name in ["anna", "anna/secret.h", "anna/uses-open.c"] {
        chown(site.path(name), Some(ANNA), Some(ANNA)).expect("root");
    }
    mode(&site.path("anna"), 0o700);
    site
}

#[test]
fn both_ends_are_guarded() {
    if let Some(skip) = without_root("relations of two users") {
        return skip.say();
    }
    let mut site = two_users("find-related-users");
    let tree = site.tree().display().to_string();
    for is_indexed in [false, true] {
        if is_indexed {
            site.who = Identity::Ourselves;
            index(&site, &["--keywords"]);
        }
        for (who, header, source) in [
            (
                ANNA,
                &["open.c", "anna/uses-open.c"][..],
                &["open.h", "anna/secret.h"][..],
            ),
            (BEN, &["open.c"], &["open.h"]),
        ] {
            site.who = Identity::user(who);
            for (file, wanted) in [("open.h", header), ("open.c", source)] {
                let ran = find(&site, &[&tree, "-related-to", file]);
                assert_eq!(paths(&ran), site.paths(wanted), "{who} {file}: {ran}");
                // The closed directory is named as what could not be searched.
                assert_eq!(ran.code, Some(i32::from(who == BEN)), "{ran}");
                let said = ran.text() + &ran.errors();
                let is_told = said.contains("secret") || said.contains("uses-open");
                assert!(who == ANNA || !is_told, "{said}");
            }
        }
        // A file that Ben cannot reach is no file of which relations are told, whether it is there
        // or not.
        site.who = Identity::user(BEN);
        let told = |name: &str| {
            let ran = find(&site, &[&tree, "-related-to", &format!("anna/{name}")]);
            (ran.code, ran.text(), ran.errors().replace(name, "NAME"))
        };
        assert_eq!(told("secret.h"), told("gone.h"));
        assert_eq!(told("gone.h").0, Some(1));
    }
}

#[test]
fn find_matches_what_related_shows() {
    let site = Site::new("find-related-same");
    site.write("a.md", "[b](b.md) [c](sub/c.md)\n");
    site.write("b.md", "[c](sub/c.md#part)\n");
    site.write("sub/c.md", "# c\n");
    site.write("sub/d.md", "# c\n");
    site.learn("sort a.md b.md > sorted").expect_code(0);
    let tree = site.tree().display().to_string();
    let is_below = |path: &PathBuf| path.starts_with(site.tree());
    for is_indexed in [false, true] {
        for file in ["a.md", "b.md", "sub/c.md", "sorted"] {
            let shown = site.related(&[file]).into_iter().map(|row| row.path);
            let shown: BTreeSet<PathBuf> = shown.filter(is_below).collect();
            assert!(!shown.is_empty(), "{file}");
            let ran = find(&site, &[&tree, "-related-to", file]).expect_code(0);
            assert_eq!(paths(&ran), shown, "{file}");
            let ran = find(&site, &[&tree, "-type", "f", "!", "-related-to", file]);
            assert!(paths(&ran).is_disjoint(&shown), "{file}");
            // Other tests go with it, and relative start points.
            let ran = find(&site, &["sub", "-related-to", file]).expect_code(0);
            let below = shown
                .iter()
                .filter(|path| path.starts_with(site.path("sub")));
            assert_eq!(paths(&ran).len(), below.count(), "{file}");
        }
        if !is_indexed {
            index(&site, &["--keywords"]);
        }
    }
    let ran = find(&site, &[&tree, "-related-to", "gone"]).expect_code(1);
    assert!(ran.errors().contains("-related-to"), "{ran}");
}

/// `-relations` is what the options of `trawl related` are. The expected files follow from what was
/// written: `a.c` includes `b.h`, which includes `c.h`; `copy.h` is a copy of `b.h`.
#[test]
fn relations_are_chosen_by_kind_direction_and_depth() {
    let site = Site::new("related-find-chosen");
    site.write("a.c", "#include \"b.h\"\n");
    site.write("b.h", "#include \"c.h\"\n");
    site.write("c.h", "/* c */\n");
    site.write("copy.h", "#include \"c.h\"\n");
    let tree = site.tree().display().to_string();
    for (relations, file, wanted) in [
        ("kind=includes", "b.h", &["a.c", "c.h"][..]),
        ("kind=includes,direction=forward", "b.h", &["c.h"]),
        ("direction=backward,kind=includes", "b.h", &["a.c"]),
        ("kind=same-content", "b.h", &["copy.h"]),
        (
            "kind=same-content,kind=includes",
            "b.h",
            &["a.c", "c.h", "copy.h"],
        ),
        ("kind=includes,direction=forward", "a.c", &["b.h"]),
        (
            "kind=includes,direction=forward,depth=2",
            "a.c",
            &["b.h", "c.h"],
        ),
        (
            "kind=includes,direction=backward,depth=2",
            "c.h",
            &["a.c", "b.h", "copy.h"],
        ),
        ("kind=made-by", "b.h", &[]),
    ] {
        let words = [&tree, "-relations", relations, "-related-to", file];
        let ran = find(&site, &words).expect_code(0);
        assert_eq!(paths(&ran), site.paths(wanted), "{relations} {file}");
    }
    // The last one before the test counts.
    let words = "-relations depth=2 -relations kind=includes,direction=forward -related-to a.c";
    let words: Vec<&str> = [tree.as_str()]
        .into_iter()
        .chain(words.split(' '))
        .collect();
    let ran = find(&site, &words).expect_code(0);
    assert_eq!(paths(&ran), site.paths(&["b.h"]));
    let ran = find(
        &site,
        &[&tree, "-relations", "kind=No Kind", "-related-to", "a.c"],
    );
    assert!(ran.expect_code(1).errors().contains("No Kind"));
}

/// A hook finds references that the bytes of its files do not have, as those of compressed documents
/// are. Backward, only an index can know them.
#[test]
fn an_index_knows_references_that_bytes_do_not_show() {
    let site = Site::new("related-indexed");
    let hooks = site.path("../hooks");
    fs::create_dir(&hooks).unwrap();
    let manifest = "name = \"m\"\nprogram = \"m\"\nglobs = [\"*.dat\"]\n";
    fs::write(hooks.join("m.toml"), manifest).unwrap();
    let program = "#!/bin/sh\nread name; \
        case $name in DARK*) name=dark.bin;; FLAT*) name=flat.bin;; esac\n\
        echo '{\"relation\": \"calibrated-by\", \"target\": \"'$name'\"}'\n";
    fs::write(hooks.join("m"), program).unwrap();
    mode(&hooks.join("m"), 0o755);
    site.write("a.dat", "DARK.BIN\n");
    site.write("dark.bin", "1\n");
    site.write("flat.bin", "2\n");
    let with_hooks = |words: &[&str]| {
        let mut trawl = site.trawl(words);
        trawl.env("TRAWL_HOOKS", &hooks);
        trawl.env("TRAWL_INDEX", site.path("../index"));
        run(&mut trawl).expect_code(0)
    };
    let related = |name: &str| {
        let words = ["related", "--json", "--kind", "calibrated-by", name];
        let rows = crate::site::rows(&with_hooks(&words));
        let rows = rows.into_iter().map(|row| (row.direction, row.path));
        rows.collect::<Vec<_>>()
    };
    let forward = |name: &str| vec![("forward".to_owned(), site.path(name))];
    let backward = |name: &str| vec![("backward".to_owned(), site.path(name))];
    assert_eq!(related("a.dat"), forward("dark.bin"));
    assert_eq!(related("dark.bin"), []);
    let tree = site.tree().display().to_string();
    sleep(SETTLED);
    with_hooks(&["index", "--quiet", "--keywords", &tree]);
    assert_eq!(related("a.dat"), forward("dark.bin"));
    assert_eq!(related("dark.bin"), backward("a.dat"));
    // What the index knows of an earlier content is not told.
    site.write("a.dat", "FLAT.BIN \n");
    assert_eq!(related("a.dat"), forward("flat.bin"));
    assert_eq!(related("dark.bin"), []);
    sleep(SETTLED);
    with_hooks(&["index", "--quiet", "--keywords", &tree]);
    assert_eq!(related("dark.bin"), []);
    assert_eq!(related("flat.bin"), backward("a.dat"));
}

/// An index does not tell references in a file whose content the asking user cannot read.
#[test]
fn references_of_unreadable_files_are_not_told() {
    if let Some(skip) = without_root("relations of two users") {
        return skip.say();
    }
    let mut site = Site::new("related-unreadable");
    site.write("open.h", "/* open */\n");
    site.write("closed.c", "#include \"open.h\"\n");
    chown(site.path("closed.c"), Some(ANNA), Some(ANNA)).expect("root");
    mode(&site.path("closed.c"), 0o600);
    index(&site, &["--keywords"]);
    let tree = site.tree().display().to_string();
    for (who, wanted) in [(ANNA, &["closed.c"][..]), (BEN, &[])] {
        site.who = Identity::user(who);
        let ran = find(&site, &[&tree, "-related-to", "open.h"]);
        assert_eq!(paths(&ran), site.paths(wanted), "{ran}");
        // The file that could not be searched is named, as it lies in an open directory.
        assert_eq!(ran.code, Some(i32::from(who == BEN)), "{ran}");
        let ran = find(&site, &[&tree, "-related-to", "closed.c"]);
        let wanted = match who {
            ANNA => &["open.h"][..],
            _ => &[],
        };
        assert_eq!(paths(&ran), site.paths(wanted), "{ran}");
    }
}
