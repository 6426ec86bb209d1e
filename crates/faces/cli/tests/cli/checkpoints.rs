//! Changes that a daemon published become a snapshot: when the daemon ends, after a while, and as
//! part of the history.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use trawl_testkit::oracle::{self, Ran};

use crate::watch::{Watched, change};

const LONG: Duration = Duration::from_secs(60);

/// Asks about the tree in an index that only scans wrote.
fn scanned(watched: &Watched, words: &[&str]) -> Ran {
    let mut command = watched.program();
    command.env("TRAWL_INDEX", watched.scratch.join("scanned"));
    oracle::run(command.args(words).arg(watched.root()))
}

/// Ignores access times, which every scan changes for links.
const DIFF: [&str; 2] = ["diff", "--ignore=atime"];

fn count(watched: &Watched, name: &str) -> u64 {
    let status = watched.trawl(&["watch", "--status", "--json"]).text();
    let status: serde_json::Value = serde_json::from_str(&status).expect("an object");
    status[name].as_u64().unwrap_or_default()
}

fn snapshots(watched: &Watched) -> Vec<String> {
    let listed = oracle::run(watched.program().args(["sources", "--snapshots"]));
    let text = listed.expect_code(0).text();
    let lines = text.lines().filter(|line| line.starts_with("  "));
    lines
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect()
}

/// Compares with GNU find, without a daemon.
fn compare_without_daemon(watched: &Watched) {
    let format = ["-printf", "%p %i %s %m %U %G %T@ %C@ %n %l\\n"];
    let expected = oracle::run(oracle::command("find").arg(watched.root()).args(format));
    let mut ours = watched.program();
    ours.args(["find", "--no-wait"]).arg(watched.root());
    let found = oracle::run(ours.args(format)).expect_code(0);
    let sorted = |text: String| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(found.text()), sorted(expected.text()));
}

#[test]
fn what_changed_is_history_when_the_daemon_ends() {
    let Some(mut watched) = Watched::new() else {
        return;
    };
    let root = watched.root();
    change(&root, 0);
    watched.start(|_| {});
    watched.compare();
    scanned(&watched, &["index", "--quiet"]).expect_code(0);
    for round in 1..5 {
        change(&root, round);
        watched.compare();
    }
    // Nobody asks about this before the end.
    change(&root, 5);
    assert_eq!(watched.end("-TERM"), Some(0));
    scanned(&watched, &["index", "--quiet"]).expect_code(0);
    compare_without_daemon(&watched);
    assert_eq!(snapshots(&watched).len(), 2);
    let diff = watched.trawl(&DIFF).expect_code(0);
    assert!(diff.text().lines().count() > 20, "{diff}");
    assert_eq!(diff.text(), scanned(&watched, &DIFF).expect_code(0).text());
    for words in [&["growth", "--by=dir"][..], &["du", "-a"], &["stats"]] {
        let ours = watched.trawl(words);
        assert_eq!(ours.code, Some(0), "{ours}");
    }
    let before = snapshots(&watched).remove(0);
    let at = watched.trawl(&["find", "--at", &before]).text();
    assert!(at.contains("d/made-0") && !at.contains("made-5"), "{at}");
    oracle::run(watched.program().arg("verify")).expect_code(0);
    // The next daemon continues from it.
    watched.start(|_| {});
    watched.compare();
    assert_eq!(watched.end("-TERM"), Some(0));
    oracle::run(watched.program().arg("verify")).expect_code(0);
}

#[test]
fn what_changed_is_history_after_a_while() {
    let Some(mut watched) = Watched::new() else {
        return;
    };
    let root = watched.root();
    watched.start(|command| {
        command.args(["--checkpoint=1s", "--apply-after=1s"]);
    });
    watched.compare();
    let begun = Instant::now();
    for round in 0.. {
        change(&root, round);
        watched.compare();
        if count(&watched, "checkpoints_total") > 2 {
            break;
        }
        assert!(
            begun.elapsed() < LONG,
            "{}",
            watched.trawl(&["watch", "--status"])
        );
    }
    // Nobody asks now: it happens automatically.
    let before = count(&watched, "checkpoints_total");
    fs::write(root.join("d/last"), "").expect("room");
    while count(&watched, "checkpoints_total") == before {
        assert!(
            begun.elapsed() < LONG,
            "{}",
            watched.trawl(&["watch", "--status"])
        );
    }
    watched.compare();
    assert_eq!(snapshots(&watched).len(), 2);
    assert_eq!(watched.end("-TERM"), Some(0));
    compare_without_daemon(&watched);
    oracle::run(watched.program().arg("verify")).expect_code(0);
    assert_eq!(
        leftovers(&watched.scratch.join("index")),
        Vec::<String>::new()
    );
}

/// Returns the files that only generations have.
fn leftovers(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("it can be listed").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() {
            found.extend(leftovers(&entry.path()));
        } else if name.ends_with(".overlay") || name.ends_with(".overlays") {
            found.push(name);
        }
    }
    found
}

/// A service manager that keeps descriptors for the first daemon and passes them to the second.
const MANAGER: &str = r#"
import atexit, os, signal, socket, subprocess, sys
path, words = sys.argv[1], sys.argv[2:]
heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
heard.bind(path)
env = dict(os.environ, NOTIFY_SOCKET=path)
kept = {}
def until(word):
    while True:
        text, fds, _, _ = socket.recv_fds(heard, 4096, 1)
        text = text.decode()
        name = [line[7:] for line in text.split('\n') if line.startswith('FDNAME=')]
        if 'FDSTORE=1' in text and fds:
            kept[name[0]] = fds[0]
        if word in text:
            return
started = []
atexit.register(lambda: [one.kill() for one in started])
first = subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL)
started.append(first)
until('READY=1')
print('ready', flush=True)
sys.stdin.readline()
first.send_signal(signal.SIGTERM)
assert first.wait() == 0
print('stopped', flush=True)
sys.stdin.readline()
[(name, fd)] = kept.items()
env.update(LISTEN_FDS='1', LISTEN_FDNAMES=name)
sh = ['sh', '-c', 'LISTEN_PID=$$ exec "$@"', 'sh'] + words
place = lambda: os.dup2(fd, 3)
second = subprocess.Popen(sh, env=env, stdout=subprocess.DEVNULL, pass_fds=[3], preexec_fn=place)
started.append(second)
until('READY=1')
print('ready', flush=True)
sys.stdin.readline()
second.send_signal(signal.SIGTERM)
assert second.wait() == 0
"#;

#[test]
fn a_daemon_that_takes_over_the_queue_of_one_that_ended_scans_nothing() {
    let Some(watched) = Watched::new() else {
        return;
    };
    let root = watched.root();
    watched.trawl(&["index", "--quiet"]).expect_code(0);
    let manager = watched.program();
    let daemon = manager.get_program().to_owned();
    let mut command = oracle::command("python3");
    command.envs(
        manager
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    command
        .args(["-c", MANAGER])
        .arg(watched.scratch.join("notify"));
    command.arg(daemon).arg("watch").arg(&root);
    let mut manager = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("python3 runs");
    let mut tell = manager.stdin.take().expect("a pipe");
    let mut said = BufReader::new(manager.stdout.take().expect("a pipe")).lines();
    let mut hear = |word: &str| assert_eq!(said.next().and_then(Result::ok).as_deref(), Some(word));
    hear("ready");
    change(&root, 0);
    watched.trawl(&["find"]);
    change(&root, 1);
    writeln!(tell).expect("it listens");
    hear("stopped");
    compare_without_daemon(&watched);
    // These changes are in the queue.
    change(&root, 2);
    writeln!(tell).expect("it listens");
    hear("ready");
    watched.compare();
    let rescans = count(&watched, "rescans_total");
    writeln!(tell).expect("it listens");
    assert!(manager.wait().expect("it ends").success());
    assert_eq!(rescans, 0);
    compare_without_daemon(&watched);
    oracle::run(watched.program().arg("verify")).expect_code(0);
}
