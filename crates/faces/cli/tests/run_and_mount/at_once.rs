//! Changes by programs of a run are seen immediately by its other programs, whether or not they
//! have the library loaded; and events that are not changes cost no table.

use std::fs;
use std::path::Path;
use std::process::Command;

use trawl_testkit::oracle;
use trawl_testkit::skip::{Skip, is_root, without_program};

use crate::covered::installed;
use crate::site::Site;

/// Returns `trawl run` with answers from tables as long as nothing changes.
fn covered(trawl: &Path, site: &Site) -> Command {
    let mut command = oracle::command(trawl);
    command.args(["run", "--eager", "--cover"]).arg(site.tree());
    command.args(["--", "env", "TRAWL_BULK_AGE_MS=600000"]);
    command
}

/// Runs a case of `at_once.py`, with words that start another program.
#[track_caller]
fn expect_seen(label: &str, case: &str, words: &[&str]) {
    let site = Site::empty(label);
    let what = "changes that are seen at once";
    let Some(trawl) = installed(&site) else {
        return;
    };
    if let Some(skip) = without_program(what, "python3") {
        return skip.say();
    }
    let here = site.tree().join("here");
    fs::create_dir(&here).expect("room");
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    fs::set_permissions(&here, all).expect("our own");
    for number in 0..20 {
        fs::write(here.join(format!("file {number}")), "text\n").expect("room");
    }
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/run_and_mount/at_once.py"
    );
    let mut command = covered(&trawl, &site);
    command
        .args(["python3", script])
        .arg(site.tree().canonicalize().expect("it is there"));
    let ran = oracle::run(command.arg(case).args(words));
    assert_eq!(ran.expect_code(0).text(), "seen\n");
    site.expect_nothing_left();
}

/// Returns true if a program can act as another user, or have mounts of its own; says so if not.
fn is_allowed(what: &str, program: &str) -> bool {
    let skip = match is_root() {
        true => without_program(what, program),
        false => Some(Skip::new(what, "it needs root")),
    };
    if let Some(skip) = &skip {
        skip.say();
    }
    skip.is_none()
}

#[test]
fn changes_of_a_child_without_an_environment_are_seen() {
    expect_seen("running-at-once-bare", "foreign", &["env", "-i"]);
}

#[test]
fn changes_of_a_child_without_the_library_are_seen() {
    expect_seen(
        "running-at-once-library",
        "foreign",
        &["env", "-u", "LD_PRELOAD"],
    );
}

#[test]
fn changes_of_a_child_of_another_user_are_seen() {
    if is_allowed("changes of another user", "setpriv") {
        let words = ["setpriv", "--reuid=4711", "--regid=4711", "--clear-groups"];
        expect_seen("running-at-once-user", "foreign", &words);
    }
}

#[test]
fn changes_of_a_child_with_its_own_memory_files_are_seen() {
    // By another program that starts there, and by the shell that has mounted them.
    let scripts = [
        ("exec", "exec \"$@\""),
        ("builtin", "script=$3 && set -- \"$5\" && eval \"$script\""),
    ];
    if is_allowed("changes in mounts of a program's own", "unshare") {
        for (label, script) in scripts {
            let script = format!("mount -t tmpfs none /dev/shm && {script}");
            let words = ["unshare", "-m", "sh", "-c", &script, "sh"];
            expect_seen(&format!("running-at-once-{label}"), "foreign", &words);
        }
    }
}

#[test]
fn changes_of_a_child_with_the_library_are_seen_and_tables_stay() {
    expect_seen("running-at-once-told", "foreign", &["env"]);
    expect_seen("running-at-once-stay", "with_library", &[]);
}

#[test]
fn changes_before_a_program_with_the_library_are_seen() {
    expect_seen("running-at-once-between", "between", &[]);
}

#[test]
fn programs_that_nobody_waits_for_are_forgotten() {
    expect_seen("running-at-once-left", "left", &[]);
}

#[test]
fn changes_of_a_shell_that_the_c_library_starts_are_seen() {
    expect_seen("running-at-once-shell", "by_shell", &[]);
}

#[test]
fn files_that_are_opened_for_a_child_are_seen() {
    expect_seen("running-at-once-spawned", "spawned", &[]);
}

#[test]
fn times_of_access_are_seen_after_reading() {
    expect_seen("running-at-once-reads", "reads", &[]);
}

#[test]
fn a_tracer_with_the_library_sees_few_calls() {
    let site = Site::empty("running-traced");
    let what = "calls that a tracer counts";
    let Some(trawl) = installed(&site) else {
        return;
    };
    if let Some(skip) = without_program(what, "strace") {
        return skip.say();
    }
    // Nothing is asked within 20 ms of a change, and the tracer's opening of its file counts as a
    // change.
    for number in 0..2000 {
        fs::create_dir(site.tree().join(format!("d{number}"))).expect("room");
    }
    let trace = site.scratch.join("trace");
    let calls = |command: &mut Command| {
        command.args(["strace", "-f", "-o"]).arg(&trace);
        let ran = oracle::run(command.args(["find"]).arg(site.tree())).expect_code(0);
        let trace = fs::read_to_string(&trace).expect("it was written");
        (ran.text(), trace.matches("getdents").count())
    };
    let (without, many) = calls(oracle::command("env").env_remove("LD_PRELOAD"));
    let (with, few) = calls(&mut covered(&trawl, &site));
    assert_eq!(with, without);
    assert!(many > 4000 && few < 1000, "{few} against {many}");
}
