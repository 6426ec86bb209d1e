//! `trawl view`: definitions and their checks.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use trawl_testkit::oracle::{self, Identity, Ran};

use crate::site::Site;

fn view(site: &Site, words: &[&str]) -> Ran {
    let mut command = site.trawl(&Identity::Ourselves, &["view"]);
    oracle::run(command.args(words).current_dir(site.tree()))
}

#[test]
fn a_view_is_defined_listed_shown_and_removed() {
    let site = Site::new("views-define", &["a b/x"]);
    let tree = site.tree();
    let tree = tree.to_str().unwrap();
    let definitions = format!(
        "--definitions={}",
        site.scratch.join("definitions").display()
    );
    view(
        &site,
        &[
            "define", "big", ".", "a b", "-name", "*.log", "-size", "+1M",
        ],
    )
    .expect_code(2);
    view(
        &site,
        &["define", "big", "a b", "-name", "*.log", "-size", "+1M"],
    )
    .expect_code(0);
    view(
        &site,
        &[
            "define",
            "--system",
            &definitions,
            "all",
            tree,
            "?ext:o,a&!size<1k",
        ],
    )
    .expect_code(0);
    let listed = view(&site, &["list", &definitions]).expect_code(0).text();
    assert_eq!(
        listed,
        format!(
            "all\tall\t{tree} '(' -name '*.o' -o -name '*.a' ')' '!' '(' -size -1024c ')'\n\
             big\town\t'{tree}/a b' -name '*.log' -size +1M\n"
        )
    );
    // The words that are shown are a command that finds the members.
    let shown = view(&site, &["show", "big"]).expect_code(0).text();
    assert_eq!(
        shown,
        format!("trawl find '{tree}/a b' -name '*.log' -size +1M\n")
    );
    let own = site.scratch.join("home/.config/trawl/views");
    assert_eq!(
        fs::metadata(&own).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let text = fs::read_to_string(&own).unwrap();
    assert_eq!(text, format!("big = {tree}/a%20b -name *.log -size +1M\n"));
    view(&site, &["remove", "big"]).expect_code(0);
    view(&site, &["remove", "big"]).expect_code(2);
    view(&site, &["show", "big"]).expect_code(2);
    view(&site, &["remove", "--system", &definitions, "all"]).expect_code(0);
    assert_eq!(
        view(&site, &["list", &definitions]).expect_code(0).text(),
        ""
    );
}

#[test]
fn questions_that_act_or_are_malformed_are_refused() {
    let site = Site::new("views-refused", &[]);
    for words in [
        &["define", "x", "/srv", "-delete"][..],
        &["define", "x", "/srv", "-exec", "rm", "{}", ";"],
        &["define", "x", "/srv", "-fprint", "/tmp/x"],
        &["define", "x", "-name", "a"],
        &["define", "x", "?ext:o"],
        &["define", "../x", "/srv"],
        &["define", "?x", "/srv"],
        &["check", "?size>big"],
        &["check", "?keyword:x AND"],
        &["check", "?attr:x="],
        &["check", "/srv", "-nonsense"],
    ] {
        let ran = view(&site, words).expect_code(2);
        assert!(!ran.errors().is_empty() && ran.text().is_empty(), "{ran}");
    }
    assert!(!site.scratch.join("home/.config").exists());
    let checked = view(&site, &["check", "?in:%2Fsrv&ext:o&size>1M"]).expect_code(0);
    assert_eq!(
        checked.text(),
        "trawl find /srv '(' -name '*.o' ')' '(' -size +1048576c ')'\n"
    );
}

/// Each row is an object, and its words and command are those that the definition had.
#[test]
fn views_are_listed_and_shown_for_programs() {
    let site = Site::new("views-json", &["a b/x"]);
    let directory = site.scratch.join("definitions");
    fs::write(
        directory.join("one"),
        "odd = /srv/%FF -name a%20b\nplain = /srv -type f\n",
    )
    .unwrap();
    let definitions = format!("--definitions={}", directory.display());
    let parsed = |words: &[&str]| -> Vec<serde_json::Value> {
        let text = view(&site, words).expect_code(0).text();
        let rows = text.lines().map(serde_json::from_str);
        rows.map(Result::unwrap).collect()
    };
    let rows = parsed(&["list", "--json", &definitions]);
    let path = directory.join("one");
    for (row, [name, question]) in rows
        .iter()
        .zip([["odd", "/srv/%FF -name a%20b"], ["plain", "/srv -type f"]])
    {
        assert_eq!(row["view"], name);
        assert_eq!(row["scope"], "all");
        assert_eq!(row["question"], question);
        assert_eq!(row["defined_in"], path.to_str().unwrap());
        assert_eq!(
            parsed(&["show", "--json", &definitions, name]),
            std::slice::from_ref(row)
        );
    }
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[1]["command"], "trawl find /srv -type f");
    assert!(parsed(&["list", "--json", "--definitions=/nonexistent"]).is_empty());
}

#[test]
fn bad_definitions_are_reported_and_left_out() {
    let site = Site::new("views-bad", &[]);
    let directory = site.scratch.join("definitions");
    fs::write(
        directory.join("one"),
        "good = /srv -name x\nbad = /srv -delete\n",
    )
    .unwrap();
    fs::write(directory.join("lax"), "lax = /srv\n").unwrap();
    fs::set_permissions(directory.join("lax"), fs::Permissions::from_mode(0o666)).unwrap();
    let definitions = format!("--definitions={}", directory.display());
    let ran = view(&site, &["list", &definitions]).expect_code(1);
    assert_eq!(ran.text(), "good\tall\t/srv -name x\n");
    let errors = ran.errors();
    assert!(
        errors.contains("line 2") && errors.contains("chmod go-w"),
        "{errors}"
    );
    // A view that is there and cannot be used is not merely missing.
    let ran = view(&site, &["show", &definitions, "bad"]).expect_code(2);
    let errors = ran.errors();
    assert!(
        errors.contains("line 2") && errors.contains("no view ‘bad’"),
        "{errors}"
    );
}

/// A definition means the same wherever its question is asked.
#[test]
fn paths_in_definitions_are_absolute_and_keep_their_meaning() {
    let site = Site::new("views-paths", &["ref", "a.c"]);
    let tree = site.tree();
    std::os::unix::fs::symlink(&tree, tree.join("link")).unwrap();
    let tree = tree.to_str().unwrap();
    for (words, shown) in [
        (&[".", "-newer", "ref"][..], "TREE -newer TREE/ref"),
        (&[".", "-anewer", "ref"], "TREE -anewer TREE/ref"),
        (&[".", "-newerma", "./ref"], "TREE -newerma TREE/./ref"),
        (&[".", "-samefile", "ref"], "TREE -samefile TREE/ref"),
        (&[".", "-newermt", "2024-01-01"], "TREE -newermt 2024-01-01"),
        (&[".", "-name", "-newer"], "TREE -name -newer"),
        (&["link/", "-name", "*.c"], "TREE/link/ -name '*.c'"),
        (&["link/.", "-name", "x"], "TREE/link/ -name x"),
        (&["link", "-name", "x"], "TREE/link -name x"),
        (&["./", "-name", "x"], "TREE -name x"),
    ] {
        view(&site, &[&["define", "x"][..], words].concat()).expect_code(0);
        let shown = format!("trawl find {}\n", shown.replace("TREE", tree));
        assert_eq!(view(&site, &["show", "x"]).expect_code(0).text(), shown);
    }
    for words in [&["", "-name", "x"][..], &[".", "-newer", "none"]] {
        let ran = view(&site, &[&["define", "x"][..], words].concat());
        assert!(!ran.expect_code(2).errors().is_empty());
    }
    // A question that is refused has not emptied the file that it names.
    view(&site, &["define", "x", ".", "-fprint", "ref"]).expect_code(2);
    assert_eq!(fs::read_to_string(site.tree().join("ref")).unwrap(), "ref");
    // In a file of definitions, there is no directory to be relative to.
    let directory = site.scratch.join("definitions");
    let lines = "a = /srv -newer ref\nb = /srv/../etc\nc = % -name x\n";
    fs::write(directory.join("some"), lines).unwrap();
    let definitions = format!("--definitions={}", directory.display());
    let said = view(&site, &["list", &definitions]).expect_code(1).errors();
    for line in ["line 1", "line 2", "line 3"] {
        assert!(said.contains(line), "{said}");
    }
}

/// After a definition, the view has the question that was defined.
#[test]
fn a_definition_for_everybody_counts() {
    let site = Site::new("views-count", &[]);
    let directory = site.scratch.join("definitions");
    let lines = "zed = /srv -name old\nkept = /srv\n";
    fs::write(directory.join("10-site"), lines).unwrap();
    let definitions = format!("--definitions={}", directory.display());
    let define = |name: &str| {
        let words = ["define", "--system", &definitions, name];
        view(&site, &[&words[..], &["/srv", "-name", "new"]].concat())
    };
    define("zed").expect_code(0);
    let listed = view(&site, &["list", &definitions]).expect_code(0).text();
    assert_eq!(listed, "kept\tall\t/srv\nzed\tall\t/srv -name new\n");
    let text = fs::read_to_string(directory.join("10-site")).unwrap();
    assert_eq!(text, "kept = /srv\nzed = /srv -name new\n");
    assert!(!directory.join("zed").exists());
    // A line that is no longer valid is replaced where it is.
    let text = format!("worn = /srv -newer ref\n{text}");
    fs::write(directory.join("10-site"), text).unwrap();
    view(&site, &["list", &definitions]).expect_code(1);
    define("worn").expect_code(0);
    let listed = view(&site, &["list", &definitions]).expect_code(0).text();
    assert!(listed.contains("worn\tall\t/srv -name new\n"), "{listed}");
    // One's own view of that name is another one.
    view(&site, &["define", "zed", "/srv"]).expect_code(0);
    view(&site, &["remove", "--system", &definitions, "zed"]).expect_code(0);
    let said = define("zed~").expect_code(2).errors();
    assert!(said.contains("zed~") && said.contains("backup"), "{said}");
}
