//! Commands in trees of this machine, with the library that answers from tables.

use std::fs;
use std::path::{Path, PathBuf};

use trawl_testkit::oracle;
use trawl_testkit::skip::Skip;

use crate::site::Site;

/// Returns the program as it is installed, if its library was built.
pub(crate) fn installed(site: &Site) -> Option<PathBuf> {
    let installed = site.installed();
    if installed.is_none() {
        let what = "commands that are answered from tables";
        Skip::new(what, "libtrawl-preload.so was not built").say();
    }
    installed.map(Path::to_owned)
}

#[test]
fn a_covered_command_says_what_it_says_otherwise() {
    let site = Site::odd("running-covered");
    let Some(trawl) = installed(&site) else {
        return;
    };
    for script in [
        "find \"$1\" -printf '%p %y %i %s %n %m %U %G %T@ %l\\0'",
        "ls -lR \"$1\"",
        "du -a \"$1\"",
        "echo new > \"$1\"/new && find \"$1\" -maxdepth 1 -newer \"$1\"/big && stat -c %s \"$1\"/new",
    ] {
        let run = |command: &mut std::process::Command| {
            command
                .args(["bash", "-c", script, "bash"])
                .arg(site.tree());
            oracle::run(command).expect_code(0)
        };
        let mut covered = oracle::command(&trawl);
        covered.args(["run", "--cover"]).arg(site.tree()).arg("--");
        let covered = run(&mut covered);
        let plain = run(oracle::command("env").args(["-u", "LD_PRELOAD"]));
        assert_eq!(covered.stdout, plain.stdout, "{script}");
        assert_eq!(covered.errors(), plain.errors(), "{script}");
        let _ = fs::remove_file(site.tree().join("new"));
    }
}

#[test]
fn a_covered_command_ends_as_it_ends_and_can_ask() {
    let site = Site::empty("running-covered-ends");
    let Some(trawl) = installed(&site) else {
        return;
    };
    let run = |words: &[&str]| {
        let mut command = oracle::command(&trawl);
        command.args(["run", "--"]).args(words);
        command.current_dir(site.tree());
        oracle::run(&mut command)
    };
    run(&["sh", "-c", "exit 3"]).expect_code(3);
    run(&["sh", "-c", "kill -9 $$"]).expect_code(137);
    run(&["no-such-program"]).expect_code(127);
    let ran = run(&[
        "sh",
        "-c",
        "echo \"$TRAWL_BULK_ROOTS\"; test -S \"$TRAWL_BULK_SOCKET\"",
    ]);
    let tree = site.tree().canonicalize().expect("it is there");
    assert_eq!(
        ran.expect_code(0).text().trim_end(),
        tree.display().to_string()
    );
    site.expect_nothing_left();
}

#[test]
fn the_loader_is_answered_where_that_pays_or_is_asked_for() {
    let site = Site::empty("running-audit");
    let Some(trawl) = installed(&site) else {
        return;
    };
    if !site.scratch.join("lib/trawl/libtrawl-audit.so").exists() {
        let what = "a loader that is answered";
        Skip::new(what, "libtrawl-audit.so was not built").say();
        return;
    }
    let many = (0..40).map(|number| format!("{}/{number}", site.tree().display()));
    let many: Vec<String> = many.collect();
    let shown = |options: &[&str], directories: &[String], before: Option<&str>| {
        let mut command = oracle::command(&trawl);
        command.arg("run").args(options);
        command.args(["--", "sh", "-c", "echo \"$LD_AUDIT\""]);
        command.env("LD_LIBRARY_PATH", directories.join(":"));
        command.current_dir(site.tree()).env_remove("LD_AUDIT");
        command.envs(before.map(|before| ("LD_AUDIT", before)));
        let ran = oracle::run(&mut command).expect_code(0);
        ran.text().trim_end().to_owned()
    };
    let library = site.scratch.join("lib/trawl/libtrawl-audit.so");
    let library = library.canonicalize().expect("it is there");
    let library = library.display().to_string();
    assert_eq!(shown(&[], &many[..4], None), "");
    assert_eq!(shown(&["--audit"], &[], None), library);
    assert_eq!(shown(&[], &many, None), library);
    // A library that the loader does not find is ignored by it, and stays in the variable.
    let both = shown(&["--audit", "--eager"], &many, Some("/no/such.so"));
    assert_eq!(both, format!("/no/such.so:{library}"));
}
