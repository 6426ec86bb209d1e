//! Files that a program was started with, under `trawl run` or by find's `-exec`, are fetched before
//! it opens them, so far and no further, and the program does what it does otherwise.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use trawl_testkit::oracle;
use trawl_testkit::skip::{Skip, without_program};

use crate::covered::installed;
use crate::site::{Site, compiled};

/// As in `trawl_run`: files fetched before the program is seen to open one, and behind that one.
const FIRST: usize = 64;
const THEN: usize = 512;

/// Longer than anything is waited for here on the slowest machine. Programs that wait do so for longer,
/// and are ended.
const HANGS: Duration = Duration::from_secs(120);

/// A tree of files that are not in memory, and the programs to see it with.
struct Cold {
    site: Site,
    trawl: PathBuf,
    residence: PathBuf,
    files: Vec<PathBuf>,
}

/// A program that waits, ended when dropped.
struct Waiting(Child);

impl Drop for Waiting {
    fn drop(&mut self) {
        // The signal goes to the command's whole group.
        let group = format!("-{}", self.0.id());
        let _ = oracle::command("kill")
            .args(["-KILL", "--", &group])
            .status();
        let _ = self.0.wait();
    }
}

impl Cold {
    /// Makes this many files; `None` if something is missing here.
    fn new(label: &str, count: usize) -> Option<Cold> {
        let site = Site::empty(label);
        let trawl = installed(&site)?;
        let residence = compiled(
            "files that are not in memory",
            &site.scratch.join("."),
            "residence",
        )?;
        let path = |at: usize| site.tree().join(format!("f{at:05}"));
        let files: Vec<PathBuf> = (0..count).map(path).collect();
        for (at, file) in files.iter().enumerate() {
            fs::write(file, format!("line {at}\n").repeat(900)).expect("a file");
        }
        let cold = Cold {
            site,
            trawl,
            residence,
            files,
        };
        cold.evict();
        if cold.resident() > 0 {
            let why = "the directory for temporary files is in memory";
            Skip::new("files that are not in memory", why).say();
            return None;
        }
        Some(cold)
    }

    fn evict(&self) {
        let mut command = oracle::command(&self.residence);
        oracle::run(command.arg("evict").args(&self.files)).expect_code(0);
    }

    fn resident(&self) -> usize {
        self.resident_from(0)
    }

    /// Returns how many of the files from this one on are in memory.
    fn resident_from(&self, first: usize) -> usize {
        let mut command = oracle::command(&self.residence);
        let ran = oracle::run(command.arg("count").args(&self.files[first..])).expect_code(0);
        ran.text().trim().parse().expect("a number")
    }

    fn run(&self, options: &[&str]) -> Command {
        let mut command = oracle::command(&self.trawl);
        command.arg("run").args(options).arg("--");
        command.current_dir(self.site.tree());
        command
    }

    /// Starts a shell with the files as its arguments.
    fn shell(&self, options: &[&str], script: &str) -> Waiting {
        let mut command = self.run(options);
        command
            .args(["bash", "-c", script, "bash"])
            .args(self.names());
        Waiting(command.process_group(0).spawn().expect("it starts"))
    }

    fn names(&self) -> impl Iterator<Item = &Path> {
        self.files
            .iter()
            .filter_map(|file| file.file_name())
            .map(Path::new)
    }

    /// Waits until this many files are in memory, and returns how many are a moment later.
    fn settles_at(&self, count: usize) -> usize {
        let begun = Instant::now();
        while self.resident() < count && begun.elapsed() < HANGS {
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(200));
        self.resident()
    }
}

#[test]
fn files_are_fetched_before_the_first_is_opened() {
    let Some(cold) = Cold::new("ahead-first", 20) else {
        return;
    };
    let waiting = cold.shell(&[], "sleep 600; :");
    assert_eq!(cold.settles_at(20), 20);
    drop(waiting);
    cold.evict();
    for options in [["--fetch-ahead=0"], ["--fetch-ahead=23"]] {
        let _waiting = cold.shell(&options, "sleep 600; :");
        assert_eq!(cold.settles_at(0), 0, "{options:?}");
    }
}

#[test]
fn the_window_is_bounded_and_moves_with_the_program() {
    let Some(cold) = Cold::new("ahead-window", 1500) else {
        return;
    };
    let waiting = cold.shell(&[], "sleep 600; :");
    // The script and the name behind it are arguments, too, and no files.
    assert_eq!(cold.settles_at(FIRST - 2), FIRST - 2);
    drop(waiting);
    cold.evict();
    let _waiting = cold.shell(&[], "exec 3<\"${100}\"; sleep 600; :");
    // Those before it need not be fetched any more.
    let begun = Instant::now();
    while cold.resident_from(100) < THEN && begun.elapsed() < HANGS {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(200));
    let found = cold.resident_from(100);
    assert!(found.abs_diff(THEN) <= 4, "{found}, not {THEN}");
}

#[test]
fn programs_that_read_nothing_have_nothing_fetched() {
    let Some(cold) = Cold::new("ahead-nothing", 20) else {
        return;
    };
    let mut command = cold.run(&[]);
    oracle::run(command.args(["ls", "-l"]).args(cold.names())).expect_code(0);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(cold.resident(), 0);
}

#[test]
fn programs_print_what_they_print_otherwise() {
    let Some(cold) = Cold::new("ahead-same", 700) else {
        return;
    };
    let names: Vec<u8> = cold
        .names()
        .flat_map(|name| [name.as_os_str().as_encoded_bytes(), b"\n"].concat())
        .collect();
    fs::write(cold.site.tree().join("list"), names).expect("a list");
    oracle::run(oracle::command("mkfifo").arg(cold.site.tree().join("pipe"))).expect_code(0);
    for script in [
        "cat f*",
        "md5sum f* gone /dev/null .",
        "grep -c 'line 1' f*",
        "tar -c --mtime=@0 -T list | md5sum",
        "wc f*; cat f* | cat -n | tail -1",
        // Nobody but the program opens the FIFO.
        "(sleep 0.3; echo through > pipe) & cat f000* pipe; wait",
        "cat f0000* < list & cat f0001* > /dev/null & wait; exec sort f0002*",
        "ls /proc/self/fd /proc/self/task | wc -l; cat f*  | md5sum",
        "sh -c 'ls /proc/self/fd | wc -l; ls /proc/$$/task | wc -l; exec 3<\"$1\"; ls /proc/self/fd | wc -l' sh f000*",
        "find . -name 'f*' -print0 | sort -z | xargs -0 -P2 -n 100 sha256sum | sort",
        "sh -c 'exit 3' sh f*",
        "sh -c 'kill -9 $$' sh f*",
    ] {
        cold.evict();
        let covered = oracle::run(cold.run(&[]).args(["bash", "-c", script]));
        let plain = oracle::run(cold.run(&["--fetch-ahead=0"]).args(["bash", "-c", script]));
        assert_eq!(covered.stdout, plain.stdout, "{script}");
        assert_eq!(covered.errors(), plain.errors(), "{script}");
        assert_eq!(covered.code, plain.code, "{script}");
    }
    cold.site.expect_nothing_left();
}

#[test]
fn find_has_the_files_of_a_command_fetched_before_it_opens_them() {
    let Some(cold) = Cold::new("ahead-find", 20) else {
        return;
    };
    let ask = |mut command: Command, script: &str, end: &str| {
        command.args([".", "-name", "f*", "-exec"]);
        command.args(["sh", "-c", script, "sh", "{}", end]);
        command.current_dir(cold.site.tree());
        command
    };
    let ours = || {
        let mut command = oracle::command(&cold.trawl);
        command.args(["find", "--live"]);
        command
    };
    let start = |end: &str| {
        let mut command = ask(ours(), "sleep 600; :", end);
        Waiting(command.process_group(0).spawn().expect("it starts"))
    };
    let waiting = start("+");
    assert_eq!(cold.settles_at(20), 20);
    drop(waiting);
    cold.evict();
    // One file after the other is processed, in order.
    let waiting = start(";");
    assert_eq!(cold.settles_at(0), 0);
    drop(waiting);
    let script = "cat \"$@\"";
    let ran = oracle::run(&mut ask(ours(), script, "+")).expect_code(0);
    let theirs = oracle::run(&mut ask(oracle::command("find"), script, "+")).expect_code(0);
    assert!(ran.stdout == theirs.stdout, "{} bytes", ran.stdout.len());
}

#[test]
fn programs_that_fork_and_have_threads_go_on() {
    let Some(cold) = Cold::new("ahead-forks", 200) else {
        return;
    };
    if let Some(skip) = without_program("a program with threads", "python3") {
        return skip.say();
    }
    let program = "
import os, sys, threading
names = sys.argv[1:]
def read(part, out):
    for name in part:
        out.append(len(open(name, 'rb').read()))
child = os.fork()
out = []
threads = [threading.Thread(target=read, args=(names[i::4], out)) for i in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
if child == 0:
    os.execvp('cat', ['cat', *names[:50]])
os.waitpid(child, 0)
print(sum(out), len(os.listdir('/proc/self/task')), sorted(os.listdir('/proc/self/fd')), flush=True)
";
    let run = |options: &[&str]| {
        cold.evict();
        let mut command = cold.run(options);
        let ran = oracle::run(command.args(["python3", "-c", program]).args(cold.names()));
        ran.expect_code(0).stdout
    };
    assert_eq!(run(&[]), run(&["--fetch-ahead=0"]));
}

#[test]
fn files_of_one_command_each_are_fetched_once_one_was_seen_to_read() {
    let Some(cold) = Cold::new("ahead-turns", 1500) else {
        return;
    };
    let index = cold.site.scratch.join("index");
    let trawl = |words: &[&str]| {
        let mut command = oracle::command(&cold.trawl);
        command.env("TRAWL_INDEX", &index).args(words);
        command.current_dir(cold.site.tree());
        command
    };
    oracle::run(trawl(&["index", "."]).args(["--index", index.to_str().expect("UTF-8")]))
        .expect_code(0);
    let find = |script: &str| {
        let mut command = trawl(&["find", ".", "-type", "f", "-exec", "sh", "-c", script]);
        command.args(["sh", "{}", ";"]);
        command
    };
    // Commands that read nothing have nothing fetched, however many there are.
    oracle::run(&mut find(":")).expect_code(0);
    assert_eq!(cold.settles_at(0), 0);
    // The first reads its file; while the second waits, what fits into the window comes.
    let script = r#"case $1 in */f00001) sleep 600;; esac; cat "$1" > /dev/null; :"#;
    let waiting = Waiting(find(script).process_group(0).spawn().expect("it starts"));
    let begun = Instant::now();
    while cold.resident() < THEN && begun.elapsed() < HANGS {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(200));
    let found = cold.resident();
    assert!(found.abs_diff(THEN) <= 4, "{found}, not {THEN}");
    drop(waiting);
    // The output is that of GNU find, whose order may be another one.
    let lines = |mut command: Command| {
        cold.evict();
        let ran = oracle::run(&mut command).expect_code(0);
        let mut lines: Vec<String> = ran.text().lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let mut theirs = oracle::command("find");
    theirs.args([".", "-type", "f", "-exec", "md5sum", "{}", ";"]);
    theirs.current_dir(cold.site.tree());
    let ours = trawl(&["find", ".", "-type", "f", "-exec", "md5sum", "{}", ";"]);
    assert_eq!(lines(ours), lines(theirs));
}
