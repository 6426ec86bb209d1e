//! Commands that newcomers type first: the demo, and manual pages.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use trawl_testkit::{oracle, skip};

use crate::site::Site;

#[test]
fn the_demo_warns_of_nothing() {
    if let Some(skip) = skip::without_program("the demo", "awk") {
        return skip.say();
    }
    let site = Site::odd("demo");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let mut command = oracle::command(root.join("scripts/demo.sh"));
    command
        .env("TRAWL", env!("CARGO_BIN_EXE_trawl"))
        .env("TREE", site.tree().join("symlinks"))
        .env("INDEX", site.scratch.join("cache/demo-index"));
    // Like a home directory: nobody else can enter it.
    let cache = site.scratch.join("cache");
    std::fs::create_dir(&cache).unwrap();
    std::fs::set_permissions(&cache, std::fs::Permissions::from_mode(0o700)).unwrap();
    let ran = oracle::run(&mut command).expect_code(0);
    assert_eq!(ran.errors(), "");
    let text = ran.text();
    assert!(
        !text.contains("warning") && !text.contains("DIFFERENT"),
        "{text}"
    );
    let index = std::fs::metadata(site.scratch.join("cache/demo-index")).unwrap();
    assert_eq!(index.permissions().mode() & 0o077, 0, "it is private");
}

/// On a terminal, man(1) receives the page; elsewhere the page itself is printed.
#[test]
fn pages_are_shown_by_man() {
    if let Some(skip) = skip::without_program("pages on a terminal", "script") {
        return skip.say();
    }
    let site = Site::empty("man");
    let stub = site.scratch.join("man");
    std::fs::write(
        &stub,
        "#!/bin/sh\necho \"man was given: $*\"\ngrep '^.SH NAME'\n",
    )
    .unwrap();
    std::fs::set_permissions(&stub, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", site.scratch.path().display());
    let on_terminal = |line: &str, path: &str| {
        let program = env!("CARGO_BIN_EXE_trawl");
        let mut command = oracle::command("/usr/bin/script");
        command.args(["-qec", &line.replace("trawl", program), "/dev/null"]);
        oracle::run(command.env("PATH", path))
    };
    let text = on_terminal("trawl man find", &path).expect_code(0).text();
    assert!(
        text.contains("man was given: -l -") && text.contains(".SH NAME"),
        "{text}"
    );
    let none = site.scratch.join("none");
    let without = on_terminal("trawl man find", none.to_str().unwrap()).expect_code(2);
    assert!(without.text().contains("trawl help"), "{}", without.text());
    let page = site.run("man find").expect_code(0).text();
    assert!(page.contains(".TH trawl-find 1"), "{page}");
    assert!(
        site.run("man")
            .expect_code(0)
            .text()
            .contains(".TH trawl 1")
    );
}
