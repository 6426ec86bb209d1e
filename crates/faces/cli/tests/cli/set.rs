//! `trawl set`: lists of members, and commands on them. Oracles are the shell and xargs.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use trawl_testkit::oracle;

use crate::site::{Site, objects};

/// Returns a tree with files of odd names, each with its name as content.
fn odd(label: &str) -> Site {
    let site = Site::empty(label);
    for name in [
        &b"a.c"[..],
        b"b.c",
        b"-rf.c",
        b"with space.c",
        b"new\nline.c",
        b"\xff.c",
    ] {
        std::fs::write(site.tree().join(OsStr::from_bytes(name)), name).unwrap();
    }
    site
}

fn sorted(bytes: &[u8], end: u8) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = bytes.split(|b| *b == end).map(<[u8]>::to_vec).collect();
    all.sort();
    all
}

fn bash(site: &Site, line: &str) -> Vec<u8> {
    let mut command = oracle::command("bash");
    command.args(["-c", line]).current_dir(site.tree());
    oracle::run(&mut command).stdout
}

#[test]
fn lists_are_what_the_shell_expands() {
    let site = odd("set-lists");
    let theirs = bash(&site, r"printf '%s\0' *.c");
    let ours = site.trawl(&["set", "-0", "*.c"]);
    assert_eq!(ours.code, Some(0), "{ours}");
    assert_eq!(sorted(&ours.stdout, 0), sorted(&theirs, 0));
    let ran = site.trawl(&["set", "--size", "*.c", "a.c"]);
    assert_eq!(ran.text(), "6\n", "{ran}");
    let ran = site.trawl(&["set", "--sort", "b.c", "a.c"]);
    assert_eq!(ran.text(), "a.c\nb.c\n", "{ran}");
    assert_eq!(objects(&site.trawl(&["set", "--json", "*.c"])).len(), 6);
    let empty = site.trawl(&["set", "no*"]);
    assert_eq!((empty.code, empty.stdout.len()), (Some(0), 0), "{empty}");
    let digest = site.trawl(&["set", "--digest", "[a]*"]).text();
    assert!(
        digest.starts_with("f 3 ") && digest.ends_with(" a.c\n"),
        "{digest}"
    );
}

#[test]
fn commands_get_every_member_once() {
    let site = odd("set-commands");
    let theirs = bash(&site, r#"for f in ./*.c; do cat "$f"; echo; done"#);
    let theirs = sorted(&theirs, b'\n');
    let script = "cat \"$1\"; echo";
    // 0 stands for the number of processors.
    for jobs in ["0", "1", "4"] {
        let ran = site.trawl(&[
            "set", "-j", jobs, "*.c", "--", "sh", "-c", script, "x", "{}",
        ]);
        assert_eq!(ran.code, Some(0), "{ran}");
        assert_eq!(sorted(&ran.stdout, b'\n'), theirs, "{ran}");
    }
    let ran = site.trawl(&[
        "set",
        "*.c",
        "--stdin",
        "-j3",
        "--",
        "sh",
        "-c",
        "cat; echo",
    ]);
    assert_eq!(sorted(&ran.stdout, b'\n'), theirs, "{ran}");
    let ran = site.trawl(&[
        "set", "*.c", "-n", "4", "--", "sh", "-c", "echo $#", "x", "{}", "+",
    ]);
    assert_eq!(ran.text(), "4\n2\n", "{ran}");
}

#[test]
fn outputs_are_whole_and_in_order() {
    let site = Site::empty("set-whole");
    for at in 0..300 {
        std::fs::write(site.tree().join(format!("f{at:03}")), "").unwrap();
    }
    let script = "for i in 1 2 3 4; do echo $1 $i; done";
    let line = ["set", "-j8", "f*", "--", "sh", "-c", script, "x", "{}"];
    let whole = site.trawl(&line).text();
    let blocks: Vec<&str> = whole.lines().collect();
    assert_eq!(blocks.len(), 1200);
    for block in blocks.chunks(4) {
        let name = &block[0][..4];
        assert!(block.iter().all(|line| line.starts_with(name)), "{block:?}");
    }
    let mut ordered = vec!["set", "--sort"];
    ordered.extend(&line[1..]);
    let theirs = bash(&site, &format!("ls | xargs -n1 sh -c '{script}' x"));
    assert_eq!(site.trawl(&ordered).stdout, theirs);
    let ran = site.trawl(&[
        "set",
        "-j2",
        "f00[12]",
        "--",
        "sh",
        "-c",
        "yes | head -c 100000000",
    ]);
    assert_eq!(ran.stdout.len(), 200_000_000);
}

#[test]
fn more_jobs_than_make_sense_are_refused() {
    let site = odd("set-jobs");
    for jobs in ["1025", "1000000"] {
        let ran = site.trawl(&["set", "-j", jobs, "a.c", "--", "cat", "{}"]);
        assert_eq!((ran.code, ran.text()), (Some(2), String::new()), "{ran}");
        let says = format!("{jobs} is not in 0..=1024");
        assert!(ran.errors().contains(&says), "{ran}");
    }
}

#[test]
fn failures_are_named() {
    let site = odd("set-failures");
    let ran = site.trawl(&["set", "[ab].c", "--", "grep", "-q", "a", "{}"]);
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(
        ran.errors().contains("b.c: the command ended with code 1"),
        "{ran}"
    );
    assert!(!ran.errors().contains("a.c:"), "{ran}");
    let ran = site.trawl(&["set", "[ab].c", "--", "nosuch"]);
    assert_eq!(
        (ran.code, ran.errors().lines().count()),
        (Some(127), 1),
        "{ran}"
    );
    let ran = site.trawl(&["set", "a.c", "--", "./a.c"]);
    assert_eq!(ran.code, Some(126), "{ran}");
    let ran = site.trawl(&["set", "%echo a.c%"]);
    assert_eq!(ran.code, Some(1), "{ran}");
    let ran = site.trawl(&["set", "--allow-commands", "%echo a.c%"]);
    assert_eq!((ran.code, ran.text()), (Some(0), "a.c\n".into()), "{ran}");
}

#[test]
fn commands_have_no_descriptors_of_ours() {
    let site = odd("set-descriptors");
    let script = "for f in /proc/self/fd/*; do readlink $f; done | grep -c .c$ ; :";
    for jobs in ["-j1", "-j4"] {
        let ran = site.trawl(&["set", jobs, "*.c", "--", "sh", "-c", script, "x", "{}"]);
        assert!(ran.text().lines().all(|line| line == "0"), "{ran}");
    }
}

#[test]
fn an_interrupt_ends_hanging_commands() {
    let site = odd("set-interrupt");
    const ENDS: Duration = Duration::from_secs(500);
    for (jobs, script) in [("-j4", "sleep 1000; :"), ("-j1", "exec sleep 1000")] {
        let mut command = site.command();
        command.args(["set", jobs, "*.c", "--", "sh", "-c", script]);
        let mut child = command
            .process_group(0)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(700));
        let pid = child.id().to_string();
        let mut kill = oracle::command("kill");
        assert!(kill.args(["-TERM", &pid]).status().unwrap().success());
        let began = Instant::now();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{jobs}");
        assert!(began.elapsed() < ENDS, "{jobs}: it waited for sleep(1)");
    }
}

#[test]
fn an_interrupt_of_a_listing_ends_the_commands_of_names() {
    let site = odd("set-interrupt-list");
    let mut command = site.command();
    command.args([
        "set",
        "--allow-commands",
        "%sleep 1000 & echo $! > pid; mv pid started; wait%",
    ]);
    let mut child = command
        .process_group(0)
        .current_dir(site.tree())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    let started = site.tree().join("started");
    while !started.exists() {
        assert!(Instant::now() < until, "the command does not start");
        std::thread::sleep(Duration::from_millis(5));
    }
    let sleeper = std::fs::read_to_string(started).unwrap();
    let pid = child.id().to_string();
    let mut kill = oracle::command("kill");
    assert!(kill.args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let status = format!("/proc/{}/stat", sleeper.trim());
    // One that was killed may wait for its parent to notice.
    let is_running = || std::fs::read_to_string(&status).is_ok_and(|stat| !stat.contains(") Z "));
    while is_running() {
        assert!(Instant::now() < until, "the command's own process runs on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn large_members_of_a_server_are_opened_by_name() {
    const BYTES: usize = 20_000_000;
    let site = Site::empty("set-server");
    let bytes: Vec<u8> = (0..=250u8).cycle().take(BYTES).collect();
    std::fs::write(site.tree().join("large"), bytes).unwrap();
    std::fs::write(site.tree().join("small"), "x").unwrap();
    let socket = site.scratch.join("socket");
    let _server = crate::remote::listen(Path::new(env!("CARGO_BIN_EXE_trawl")), &socket);
    let there = format!("unix://{}:{}", socket.display(), site.tree().display());
    let large = format!("{there}/large");
    for jobs in ["-j1", "-j2"] {
        let ran = site.trawl(&["set", jobs, &large, "--", "cmp", "{}", "large"]);
        assert_eq!(ran.code, Some(0), "{ran}");
    }
    let both = format!("{there}/{{large,small}}");
    let ran = site.trawl(&["set", &both, "--", "wc", "-c", "{}", "+"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let total = format!("{} total", BYTES + 1);
    assert!(ran.text().trim_end().ends_with(&total), "{ran}");
}

#[test]
fn a_fifo_without_a_writer_is_an_empty_member() {
    let site = Site::empty("set-fifo");
    std::fs::write(site.tree().join("file"), "content").unwrap();
    let made = oracle::command("mkfifo")
        .arg(site.tree().join("fifo"))
        .status();
    assert!(made.unwrap().success());
    for words in [
        &["set", "*", "--", "cat"][..],
        &["set", "-j2", "*", "--", "cat"],
        &["set", "*", "--stdin", "--", "cat"],
    ] {
        // A command that waits for a writer would wait for ever.
        let mut command = oracle::command("timeout");
        command
            .arg("120")
            .arg(env!("CARGO_BIN_EXE_trawl"))
            .args(words)
            .current_dir(site.tree());
        let ran = oracle::run(&mut command);
        assert_eq!((ran.code, ran.text()), (Some(0), "content".into()), "{ran}");
    }
}

/// Starts a listing that goes to a pipe.
fn listing(site: &Site, name: &str) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut command = site.command();
    command.args(["set", "--allow-commands", name]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap());
    (child, lines)
}

#[test]
fn members_are_listed_while_others_are_found() {
    let site = Site::empty("set-flow");
    // The second name comes once the first one was seen.
    let script = "echo a; i=0; while ! test -e seen && test $i -lt 6000; do sleep 0.01; \
                  i=$((i+1)); done; test -e seen && echo b";
    let (mut child, mut lines) = listing(&site, &format!("%{script}%"));
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert_eq!(line, "a\n");
    std::fs::write(site.tree().join("seen"), "").unwrap();
    line.clear();
    lines.read_line(&mut line).unwrap();
    assert_eq!(line, "b\n", "the first name was not shown at once");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_listing_ends_with_its_reader() {
    let site = Site::empty("set-reader");
    // Names that were listed already are not listed again, so nothing more is written.
    let (mut child, mut lines) = listing(&site, "%yes%");
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert_eq!(line, "y\n");
    drop(lines);
    let until = Instant::now() + Duration::from_secs(60);
    let ended = loop {
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        if Instant::now() >= until {
            child.kill().unwrap();
            panic!("it goes on without a reader");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(ended.code(), Some(0));
}
