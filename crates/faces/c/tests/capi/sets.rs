//! Compares C programs that use dynamic sets with the shell and the kernel. The operations are
//! those of the paper's Figure 1, the names those of its Figure 2.

use std::os::unix::fs::symlink;
use std::path::Path;

use trawl_testkit::Scratch;
use trawl_testkit::lines::{Ending, Order, assert_same};
use trawl_testkit::oracle;

use super::site::{Site, files};

/// Returns the files that bash's globbing finds, each with a NUL.
fn globbed(top: &Path, name: &str) -> Vec<u8> {
    let script = format!(
        "shopt -s nullglob; for f in {name}; do [ -f \"$f\" ] && printf '%s\\0' \"$f\"; done; true"
    );
    let mut bash = oracle::command("bash");
    bash.current_dir(top).args(["-c", &script]);
    oracle::run(&mut bash).expect_code(0).stdout
}

fn tree() -> Scratch {
    let names = [
        "cmu/staff/a.c",
        "cmu/staff/b.h",
        "mit/staff/c.c",
        "mit/labs/d.c",
        "top.c",
        "x y.c",
        "mit/staff/.hidden.c",
    ];
    files(names.map(|name| format!("tree/{name}")))
}

/// Runs the program with an operation on sets named from the tree's top.
fn sets(site: &Site, top: &Path, words: &[&str]) -> oracle::Ran {
    oracle::run(site.program("sets").args(words).current_dir(top))
}

#[test]
fn the_papers_program_reads_every_member() {
    let Some(site) = Site::get("the paper's program of dynamic sets") else {
        return;
    };
    let tree = tree();
    let top = tree.join("tree");
    for (at, name) in ["cmu/staff/a.c", "mit/staff/c.c", "mit/labs/d.c"]
        .iter()
        .enumerate()
    {
        std::fs::write(top.join(name), format!("{at}\n")).unwrap();
    }
    let mut program = site.program("sets_paper");
    program.current_dir(&top).arg("{cmu,mit}/*/?.c");
    let ran = oracle::run(&mut program).expect_code(0);
    assert_same(
        "members",
        b"0\n1\n2\n",
        &ran.stdout,
        Order::Any,
        Ending::Newline,
    );
    // A member that cannot be read is no silent loss: the loop is the paper's, and the end says so.
    symlink("nowhere", top.join("mit/labs/e.c")).unwrap();
    let ran = oracle::run(&mut program).expect_code(1);
    assert_same(
        "members",
        b"0\n1\n2\n",
        &ran.stdout,
        Order::Any,
        Ending::Newline,
    );
}

#[test]
fn members_are_those_that_the_shell_finds() {
    let Some(site) = Site::get("dynamic sets from C") else {
        return;
    };
    let tree = tree();
    let top = tree.join("tree");
    for name in [
        "*/*/*.c",
        "{cmu,mit}/staff/*",
        "top.c",
        "nothing/*",
        "[a-m]*/labs/?.c",
    ] {
        let expected = globbed(&top, name);
        for operation in ["iterate", "digest", "names"] {
            let ran = sets(site, &top, &[operation, name]).expect_code(0);
            assert_eq!(ran.errors(), "", "{operation} {name}");
            assert_same("members", &expected, &ran.stdout, Order::Any, Ending::Zero);
        }
        let members = expected
            .iter()
            .filter(|byte| **byte == 0)
            .count()
            .to_string();
        for operation in ["size", "apply", "threads"] {
            let ran = sets(site, &top, &[operation, name]).expect_code(0);
            assert_eq!(ran.text(), members, "{operation} {name}");
        }
        let ran = sets(site, &top, &["rewind", name]).expect_code(0);
        assert_same(
            "members",
            &expected.repeat(4),
            &ran.stdout,
            Order::Any,
            Ending::Zero,
        );
        let ran = sets(site, &top, &["fork", name]).expect_code(0);
        assert_same("members", &expected, &ran.stdout, Order::Any, Ending::Zero);
        sets(site, &top, &["cancel", name]).expect_code(0);
    }
}

#[test]
fn unions_and_intersections_are_those_of_sets() {
    let Some(site) = Site::get("unions of dynamic sets from C") else {
        return;
    };
    let tree = tree();
    let top = tree.join("tree");
    let ran = sets(site, &top, &["union", "mit/*/*.c", "*/staff/*.c"]).expect_code(0);
    let expected = globbed(&top, "mit/*/*.c cmu/staff/*.c");
    assert_same("members", &expected, &ran.stdout, Order::Any, Ending::Zero);
    let ran = sets(site, &top, &["intersect", "mit/*/*.c", "*/staff/*.c"]).expect_code(0);
    let expected = globbed(&top, "mit/staff/*.c");
    assert_same("members", &expected, &ran.stdout, Order::Any, Ending::Zero);
    let ran = sets(
        site,
        &top,
        &["member", "*/staff/*.c", "mit/staff/c.c", "top.c"],
    );
    assert_eq!(ran.expect_code(0).text(), "10");
}

#[test]
fn an_invalid_name_is_an_error_with_a_reason() {
    let Some(site) = Site::get("invalid names of dynamic sets from C") else {
        return;
    };
    let tree = tree();
    let top = tree.join("tree");
    let ran = sets(site, &top, &["iterate", "mit/\\select name"]).expect_code(2);
    assert!(
        ran.errors().contains("Invalid argument"),
        "{}",
        ran.errors()
    );
    // Commands are off unless a flag allows them.
    let ran = sets(site, &top, &["iterate", "mit/%touch ran%"]);
    assert_ne!(ran.code, Some(0));
    assert!(!top.join("mit/ran").exists());
}
