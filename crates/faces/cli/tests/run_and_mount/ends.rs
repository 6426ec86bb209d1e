//! The program ends as the command ends, and nothing stays behind.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use trawl_testkit::oracle;

use crate::site::{Site, TRAWL, cannot};

#[test]
fn exit_codes_are_the_commands() {
    if let Some(skip) = cannot("exit codes of commands") {
        return skip.say();
    }
    let site = Site::empty("running-codes");
    for (script, code) in [
        ("exit 0", 0),
        ("exit 3", 3),
        ("kill -9 $$", 137),
        ("kill -15 $$", 143),
    ] {
        assert_eq!(site.run_with(&[], script).code, Some(code), "{script}");
    }
    fs::write(site.tree().join("data"), "x").expect("room");
    let data = site.point().join("data");
    for (program, code) in [
        ("no-such-program", 127),
        ("/", 126),
        (data.to_str().unwrap(), 126),
    ] {
        let ran = oracle::run(site.command(&site.server()).arg(program)).expect_code(code);
        assert!(ran.errors().contains("cannot run"), "{ran}");
    }
    // A program in the tree itself.
    fs::copy("/bin/echo", site.tree().join("say")).expect("there is one");
    let mut command = site.command(&site.server());
    let ran = oracle::run(command.arg(site.point().join("say")).arg("hello"));
    assert_eq!(ran.expect_code(0).text(), "hello\n");
    site.expect_nothing_left();
}

#[test]
fn one_directory_shows_one_tree() {
    let site = Site::empty("running-twice");
    let (server, point) = (site.server(), site.point().display().to_string());
    let mut command = oracle::command(TRAWL);
    command.args(["run", "--remote", &format!("{server}:/={point}")]);
    command.args(["--remote", &format!("{server}:/={point}/.")]);
    let ran = oracle::run(command.args(["--", "echo", "ran"])).expect_code(125);
    assert!(
        ran.errors().contains("cannot show two directories"),
        "{ran}"
    );
    assert_eq!(ran.text(), "");
}

#[test]
fn what_cannot_be_shown_is_said() {
    let site = Site::empty("running-refused");
    let run = |remote: &str| {
        let mut command = oracle::command(TRAWL);
        oracle::run(command.args(["run", "--remote", remote, "--", "true"]))
    };
    let (server, point) = (site.server(), site.point().display().to_string());
    for (remote, words) in [
        (format!("{server}:/no/such={point}"), "No such file"),
        (format!("{server}:/dev/null={point}"), "Not a directory"),
        (format!("{server}:/={point}/none"), "no such file"),
        (format!("unix:{point}/none:/={point}"), "cannot reach"),
        (format!("command:false:/={point}"), "ended before"),
        ("nonsense".into(), "SERVER:/PATH=/POINT"),
    ] {
        let ran = run(&remote).expect_code(125);
        assert!(ran.errors().contains(words), "{ran}");
    }
    site.expect_nothing_left();
}

#[test]
fn signals_are_passed_on() {
    if let Some(skip) = cannot("signals of commands") {
        return skip.say();
    }
    let site = Site::empty("running-signals");
    let script = "trap 'echo caught; exit 9' USR1; echo ready; while :; do sleep 0.05; done";
    for (signal, code, said) in [("USR1", 9, "caught"), ("TERM", 143, ""), ("HUP", 129, "")] {
        let mut command = site.command(&site.server());
        // The user who runs the tests may ignore some signals, and a shell cannot undo that.
        command.args(["env", "--default-signal", "sh", "-c", script]);
        command.stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n");
        let mut sent = oracle::command("kill");
        sent.arg(format!("-{signal}")).arg(child.id().to_string());
        sent.status().expect("kill is there");
        assert_eq!(
            child.wait().expect("it ends").code(),
            Some(code),
            "{signal}"
        );
        line.clear();
        output.read_line(&mut line).expect("a line");
        assert_eq!(line.trim_end(), said);
    }
    site.expect_nothing_left();
}

#[test]
fn a_mount_comes_and_goes() {
    if let Some(skip) = cannot("mounts for all") {
        return skip.say();
    }
    let site = Site::empty("running-mount");
    fs::write(site.tree().join("a"), "shown").expect("room");
    fs::set_permissions(site.tree().join("a"), fs::Permissions::from_mode(0o640)).expect("ours");
    let place = format!("{}:{}", site.server(), site.tree().display());
    // In mounts of its own, so that a failure leaves none behind.
    let script = "$0 mount \"$1\" $2 && cat $2/a && stat -f -c %T $2 && grep -c \"$2 fuse\" /proc/mounts; \
                  $0 unmount $2 && ls $2; $0 unmount $2; echo $?; \
                  $0 mount \"$1\"/none $2; echo $?";
    let mut command = oracle::command("unshare");
    command
        .args(["-m", "sh", "-c", script, TRAWL, &place])
        .arg(site.point());
    let ran = oracle::run(&mut command).expect_code(0);
    assert_eq!(ran.text(), "shownfuseblk\n1\n2\n2\n", "{ran}");
    assert!(ran.errors().contains("cannot unmount"), "{ran}");
    assert!(ran.errors().contains("No such file"), "{ran}");
    site.expect_nothing_left();
}
