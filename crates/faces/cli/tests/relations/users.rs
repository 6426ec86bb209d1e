//! Both ends of a relation are looked at as the asking user.

use std::fs;
use std::os::unix::fs::chown;

use trawl_testkit::oracle::{Identity, run};
use trawl_testkit::skip::without_root;

use crate::site::{Site, mode, rows};

const ANNA: u32 = 60_001;
const BEN: u32 = 60_002;

/// Anna's closed directory has a file that includes an open header, a header that an open file
/// includes, and a copy of an open file.
fn closed() -> Site {
    let site = Site::new("related-users");
    site.write("open.h", "/* open */\n");
    site.write(
        "open.c",
        "#include \"open.h\"\n#include \"anna/secret.h\"\n",
    );
    site.write("anna/secret.h", "/* closed */\n");
    site.write("anna/uses-open.c", "#include \"../open.h\"\n");
    site.write("anna/copy.h", "/* open */\n");
    for name in ["anna", "anna/secret.h", "anna/uses-open.c", "anna/copy.h"] {
        chown(site.path(name), Some(ANNA), Some(ANNA)).expect("root");
    }
    mode(&site.path("anna"), 0o700);
    site
}

#[test]
fn files_behind_closed_directories_are_not_named() {
    if let Some(skip) = without_root("relations of two users") {
        return skip.say();
    }
    let mut site = closed();
    for (who, header, source, copies) in [
        (
            ANNA,
            &["anna/uses-open.c", "open.c"][..],
            &["anna/secret.h", "open.h"][..],
            &["anna/copy.h"][..],
        ),
        (BEN, &["open.c"], &["open.h"], &[]),
    ] {
        site.who = Identity::user(who);
        for (words, wanted) in [
            (["open.h", "--kind", "includes"], header),
            (["open.c", "--kind", "includes"], source),
            (["open.h", "--kind", "same-content"], copies),
        ] {
            let ran = run(site.trawl(&["related", "--json"]).args(words));
            // A closed directory among those searched is an issue, and its name is in an open one.
            let ran = ran.expect_code(i32::from(who == BEN));
            let found = rows(&ran).into_iter().map(|row| row.path).collect();
            assert_eq!(site.paths(wanted), found, "{who} {words:?}");
            let said = ran.text() + &ran.errors();
            let is_told = ["secret", "uses-open", "copy"]
                .iter()
                .any(|name| said.contains(name));
            assert!(who == ANNA || !is_told, "{said}");
        }
    }
}

#[test]
fn what_was_learnt_is_not_named_once_it_is_closed() {
    if let Some(skip) = without_root("relations of two users") {
        return skip.say();
    }
    let mut site = Site::new("related-closed");
    site.write("shared/a", "1\n");
    for path in [site.tree(), site.state()] {
        fs::create_dir_all(&path).expect("room");
        chown(&path, Some(BEN), Some(BEN)).expect("root");
    }
    site.who = Identity::user(BEN);
    site.learn("sort shared/a > b").expect_code(0);
    let words = ["b", "--kind", "built-from"];
    assert_eq!(site.names(&words), site.paths(&["shared/a"]));
    mode(&site.path("shared"), 0o700);
    let ran = run(site.trawl(&["related", "--json"]).args(words)).expect_code(0);
    assert_eq!((ran.text(), ran.errors()), (String::new(), String::new()));
}

/// Whoever may list a directory, but not search it, is told that its files are missing.
#[test]
fn files_that_cannot_be_looked_at_are_an_issue() {
    if let Some(skip) = without_root("relations of two users") {
        return skip.say();
    }
    let mut site = Site::new("related-listed-only");
    for (name, text) in [
        ("h.h", "int x;\n"),
        ("v.c", "#include \"h.h\"\n"),
        ("listed/u.c", "#include \"../h.h\"\n"),
        ("listed/copy.h", "int x;\n"),
    ] {
        site.write(name, text);
    }
    mode(&site.path("listed"), 0o744);
    site.who = Identity::user(BEN);
    let ran = run(&mut site.trawl(&["related", "--json", "h.h"])).expect_code(1);
    let found = rows(&ran).into_iter().map(|row| row.path).collect();
    assert_eq!(site.paths(&["v.c"]), found, "{ran}");
    // One message stands for both files.
    let said = ran.errors();
    assert_eq!(said.lines().count(), 1, "{said}");
    let why = "/listed: permission denied; check its permissions";
    assert!(said.contains(why), "{said}");
}

#[test]
fn the_file_that_cannot_be_read_is_named() {
    if let Some(skip) = without_root("relations of two users") {
        return skip.say();
    }
    let mut site = Site::new("related-closed-file");
    for name in ["closed", "open", "other"] {
        site.write(name, "1\n");
        mode(&site.path(name), 0o644);
    }
    mode(&site.path("closed"), 0o600);
    site.who = Identity::user(BEN);
    for (file, says) in [
        ("closed", "/closed: cannot read: permission denied"),
        ("open", "/closed: permission denied"),
    ] {
        let words = ["related", file, "--kind", "same-content"];
        let ran = run(&mut site.trawl(&words)).expect_code(1);
        let said = ran.errors();
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains(says), "{said}");
    }
}
