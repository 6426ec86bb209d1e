//! Checks the commands at the beginning of the README: what they build, install and test.

use std::fs;
use std::path::Path;

use trawl_testkit::oracle::{self, Ran};
use trawl_testkit::{Scratch, skip};

/// The files that `make install` and `make install-lib` copy.
const BUILT: &[&str] = &[
    "release/trawl",
    "release/trawl-more",
    "release/trawl-hook",
    "release/trawl-mcp",
    "release/trawl-http",
    "release/trawl-sql",
    "release/trawl-shell",
    "release/libtrawl.so",
    "release/libtrawl.a",
    "release/libtrawl_preload.so",
    "release/libtrawl_profile.so",
    "audit/libtrawl_audit.so",
];

/// Returns the repository's root.
fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package
        .parent()
        .expect("the package lies in the repository")
}

/// Runs make in the repository, with a compiler that always fails.
fn make(scratch: &Scratch, target: &str) -> Ran {
    let mut command = oracle::command("make");
    command.current_dir(root()).arg(target);
    command.arg("CARGO=false").arg("PREFIX=/usr");
    command.arg(format!("DESTDIR={}", scratch.join("image").display()));
    command.env("CARGO_TARGET_DIR", scratch.join("target"));
    oracle::run(command.env("HOME", scratch.path()))
}

/// Another checkout may have other code at the same paths within it.
#[test]
fn what_another_checkout_has_built_is_built_again() {
    let scratch = Scratch::new("checkouts");
    let built = scratch.join("target/debug/.fingerprint");
    let own = ["trawl-query-0123", "xtask-0123"].map(|name| built.join(name));
    let foreign = built.join("serde-0123");
    let begin = || {
        let mut command = oracle::command("bash");
        command.arg(root().join("scripts/checkout.sh"));
        command.env("CARGO_TARGET_DIR", scratch.join("target"));
        oracle::run(&mut command).expect_code(0);
    };
    let build = || {
        let all = own.iter().chain([&foreign]);
        all.for_each(|path| fs::create_dir_all(path).expect("it is ours"));
    };
    let are_there = || own.iter().all(|path| path.exists());
    fs::create_dir_all(scratch.join("target")).expect("it is ours");
    fs::write(scratch.join("target/checkout"), "/another/checkout\n").expect("it is ours");
    build();
    begin();
    assert!(!are_there() && foreign.exists());
    build();
    begin();
    assert!(are_there(), "this checkout has built them");
}

fn cannot_make(test: &str) -> bool {
    let missing = skip::without_program(test, "make");
    missing.as_ref().inspect(|skip| skip.say()).is_some()
}

#[test]
fn installing_says_that_nothing_is_built() {
    if cannot_make("installing what is not built") {
        return;
    }
    for (target, remedy) in [
        ("install", "make build "),
        ("install-lib", "make build-lib "),
    ] {
        let scratch = Scratch::new("install-nothing");
        let ran = make(&scratch, target).expect_code(2);
        assert!(ran.errors().contains("nothing is installed"), "{ran}");
        assert!(ran.errors().contains(remedy), "{ran}");
        assert!(!scratch.join("image").exists(), "{ran}");
    }
}

#[test]
fn installing_copies_what_is_built() {
    if cannot_make("installing what is built") {
        return;
    }
    let scratch = Scratch::new("install-built");
    for name in BUILT {
        let file = scratch.join("target").join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("our own");
        fs::write(file, name).expect("our own");
    }
    make(&scratch, "install").expect_code(0);
    let copied = |path: &str| fs::read_to_string(scratch.join("image/usr").join(path));
    for name in ["trawl", "trawl-mcp", "trawl-http"] {
        let built = format!("release/{name}");
        assert_eq!(copied(&format!("bin/{name}")).ok(), Some(built));
    }
    assert_eq!(
        copied("lib/libtrawl.so.0").ok().as_deref(),
        Some("release/libtrawl.so")
    );
    for path in [
        "share/man/man1/trawl.1",
        "lib/systemd/system/trawld.service",
    ] {
        assert!(scratch.join("image/usr").join(path).is_file(), "{path}");
    }
}

/// Options of make hide failures from users who type the README's command.
#[test]
fn changes_are_tested_by_the_command_of_the_readme() {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("it is there");
    let readme = read("README.md");
    let command = readme.lines().filter_map(|line| line.split_once(" #"));
    let command = command.map(|(command, _)| command.trim());
    let command = command.filter(|line| line.starts_with("make ") && line.contains("test"));
    assert_eq!(command.collect::<Vec<_>>(), ["make test"]);
    let last = read(".ci/run");
    assert!(
        last.lines().any(|line| line == "step \"tests\" make test"),
        "{last}"
    );
    assert!(root().join("Makefile").is_file());
}
