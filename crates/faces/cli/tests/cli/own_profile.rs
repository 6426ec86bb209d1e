//! `--profile`: counts against strace(1) and against what the test did, latencies that the test
//! injects, and everything that must stay the same.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use trawl_testkit::oracle::{self, Ran};
use trawl_testkit::skip::without_program;
use trawl_testkit::{Skip, tick};

use crate::site::{Site, with_default_signals};
use crate::watch::Watched;

const LONG: Duration = Duration::from_secs(60);

/// An operation of a recording.
#[derive(Clone, Debug, Default)]
pub(crate) struct Operation {
    pub(crate) entered: u64,
    left: u64,
    buckets: Vec<u64>,
    max_ns: u64,
}

impl Operation {
    fn in_flight(&self) -> u64 {
        self.entered - self.left
    }
}

/// Returns an operation of a recording, with zeros if it is not there. Checks that every operation
/// adds up: `entered = Σ buckets + in flight + dropped`.
#[track_caller]
pub(crate) fn operation(recording: &[u8], name: &str) -> Operation {
    let text = std::str::from_utf8(recording).expect("text");
    let mut found = Operation::default();
    for line in text.lines().skip(1) {
        let capture: Value = serde_json::from_str(line).expect("JSON");
        assert!(["trawl", "network"].contains(&capture["layer"].as_str().unwrap()));
        for one in capture["operations"].as_array().expect("a list") {
            let histogram = &one["histogram"];
            let number = |key: &str| histogram[key].as_u64().unwrap_or_default();
            let buckets = histogram["buckets"].as_array().into_iter().flatten();
            let made = Operation {
                entered: number("entered"),
                left: number("left"),
                buckets: buckets.map(|one| one.as_u64().unwrap()).collect(),
                max_ns: number("max"),
            };
            let sum: u64 = made.buckets.iter().sum();
            assert_eq!(
                made.entered,
                sum + made.in_flight() + number("dropped"),
                "{one}"
            );
            if one["operation"] == name {
                found = made;
            }
        }
    }
    found
}

/// Checks that the longest call took a known time, within half a bucket: two buckets for each
/// doubling.
#[track_caller]
fn assert_recovered(operation: &Operation, injected: Duration) {
    let place = |ns: f64| 2.0 * ns.log2();
    let (found, known) = (operation.max_ns as f64, injected.as_nanos() as f64);
    let distance = (place(found) - place(known)).abs();
    assert!(distance <= 0.5, "{operation:?}: injected {injected:?}");
    let bucket = operation.buckets.len() - 1;
    assert_eq!(bucket, place(found).floor() as usize, "{operation:?}");
}

/// Makes a tree with directories of files, and its index.
fn site(label: &str, directories: usize, files: usize) -> Site {
    let site = Site::empty(label);
    for directory in 0..directories {
        let path = site.tree().join(format!("d{directory:03}"));
        std::fs::create_dir(&path).unwrap();
        for file in 0..files {
            std::fs::write(path.join(format!("a-file-with-a-long-name-{file:04}")), "x").unwrap();
        }
    }
    tick();
    site.index();
    site
}

impl Site {
    fn recording(&self) -> PathBuf {
        self.scratch.join("made")
    }

    fn read(&self, name: &str) -> Operation {
        operation(&std::fs::read(self.recording()).expect("a recording"), name)
    }

    /// Runs a command without and with the option, and compares all that must stay the same.
    #[track_caller]
    fn both(&self, line: &str) -> Ran {
        let plain = self.run(line);
        let _ = std::fs::remove_file(self.recording());
        let made = self.recording().into_os_string().into_string().unwrap();
        let profiled = self.run(&format!("--profile {made} {line}"));
        assert_eq!(
            (plain.code, &plain.stdout, &plain.stderr),
            (profiled.code, &profiled.stdout, &profiled.stderr),
            "{line}"
        );
        profiled
    }
}

#[test]
fn files_and_directories_and_writes_are_counted_as_the_kernel_counts_them() {
    let site = site("own-counts", 30, 40);
    if let Some(skip) = without_program("counts of opened files", "strace") {
        return skip.say();
    }
    for (line, live) in [
        ("find . -name *1", false),
        ("ls -lR", false),
        ("du -a", false),
        ("find --live . -size +1k", true),
        ("find --live . -name *file* -print", true),
    ] {
        let trace = site.scratch.join("trace");
        let mut strace = oracle::command("strace");
        strace.args([
            "-f",
            "-e",
            "trace=openat,openat2,write",
            "-e",
            "signal=none",
            "-o",
        ]);
        strace.arg(&trace).arg(env!("CARGO_BIN_EXE_trawl"));
        strace.arg("--profile").arg(site.recording());
        strace.args(line.split(' ')).current_dir(site.tree());
        strace.env("TRAWL_INDEX", site.index_dir());
        oracle::run(&mut strace).expect_code(0);
        let trace = std::fs::read_to_string(trace).unwrap();
        let calls = |call: &dyn Fn(&str) -> bool| trace.lines().filter(|line| call(line)).count();
        let opened = |line: &str| {
            let is_segment = line.contains(".parquet\"") || line.contains(".names\"");
            line.contains("openat") && is_segment && !line.contains("= -1")
        };
        let written = |line: &str| line.contains("write(1, ");
        assert_eq!(
            site.read("open-segment").entered,
            calls(&opened) as u64,
            "{line}"
        );
        assert_eq!(
            site.read("write-output").entered,
            calls(&written) as u64,
            "{line}"
        );
        let directories = if live { 31 } else { 0 };
        assert_eq!(site.read("read-directory").entered, directories, "{line}");
        assert!(site.read("take-entries").entered >= directories);
        assert!(live || site.read("open-segment").entered > 0, "{line}");
        assert_eq!(site.read("open-index").entered > 0, !live, "{line}");
    }
}

#[test]
fn output_and_exit_codes_stay_the_same() {
    let site = site("own-same", 3, 4);
    for line in [
        "find . -type f",
        "find /nonexistent",
        "find . -nonsense",
        "ls -l",
        "ls nothing",
        "du -s nothing .",
        "stat nothing",
        "search *4 .",
        "locate nothing",
        "sources",
        "verify",
        "top",
        "watch --status",
    ] {
        let ran = site.both(line);
        let was_written = site.recording().exists();
        assert!(was_written, "{line}: {ran}");
        if line == "search *4 ." {
            assert!(site.read("next-block").entered > 0);
        }
    }
    // After the command, and in find's own words.
    let ran = site.run("ls --profile ../behind -l").expect_code(0);
    assert_eq!(ran.stdout, site.run("ls -l").stdout);
    assert!(site.scratch.join("behind").exists());
    site.run("find --profile=../found . -type f").expect_code(0);
    assert!(site.scratch.join("found").exists());
    let report = site.run("profile report --json ../found").expect_code(0);
    assert!(report.text().contains("\"layer\":\"trawl\""), "{report}");
    // A place where nothing can be written is told before anything is done.
    let ran = site.run("ls --profile /nonexistent/x").expect_code(2);
    assert!(
        ran.stdout.is_empty() && ran.errors().contains("/nonexistent/x"),
        "{ran}"
    );
    let full = site.run("--profile /dev/full ls");
    assert_eq!((full.code, &full.stdout), (Some(0), &site.run("ls").stdout));
    assert!(full.errors().contains("cannot write /dev/full"), "{full}");
    let layers = site.run("profile layers").expect_code(0);
    assert!(
        layers.text().contains("trawl: what trawl itself does"),
        "{layers}"
    );
    let refused = site
        .run("profile record --layer trawl -- true")
        .expect_code(2);
    assert!(
        refused.errors().contains("trawl --profile FILE COMMAND"),
        "{refused}"
    );
}

/// Returns whether a thread of a process waits for room in a pipe, by `/proc/PID/task/TID/wchan`: the
/// kernel's function in which it sleeps.
fn waits_for_room(process: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    let mut places = threads.filter_map(|thread| {
        // The thread may have ended.
        std::fs::read_to_string(thread.ok()?.path().join("wchan")).ok()
    });
    places.any(|place| place.contains("pipe_write"))
}

/// Starts a listing that is longer than what its output pipe holds, and waits until the listing
/// waits for its reader.
fn blocked(site: &Site, words: &[&str]) -> (Child, std::process::ChildStdout) {
    let mut command = with_default_signals(&site.command());
    command.arg("--profile").arg(site.recording()).args(words);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut out = child.stdout.take().expect("a pipe");
    out.read_exact(&mut [0]).expect("a first byte");
    let begun = Instant::now();
    while !waits_for_room(child.id()) {
        assert!(begun.elapsed() < LONG, "it does not fill the pipe");
        std::thread::sleep(Duration::from_millis(5));
    }
    (child, out)
}

fn kill(signal: &str, process: u32) {
    let process = process.to_string();
    oracle::run(oracle::command("kill").args([signal, &process])).expect_code(0);
}

#[test]
fn a_reader_that_waits_is_seen_in_the_writes_of_the_output() {
    let site = site("own-slow", 40, 150);
    for words in [&["find", "."][..], &["find", "--live", "."], &["ls", "-lR"]] {
        let (mut child, mut out) = blocked(&site, words);
        let begun = Instant::now();
        std::thread::sleep(Duration::from_millis(700));
        let injected = begun.elapsed();
        out.read_to_end(&mut Vec::new()).expect("the rest");
        assert!(child.wait().expect("it ends").success());
        let writes = site.read("write-output");
        assert!(writes.entered >= 2, "{writes:?}");
        assert_recovered(&writes, injected);
    }
}

#[test]
fn what_was_recorded_is_kept_when_a_signal_ends_the_command() {
    let site = site("own-signals", 40, 150);
    for (signal, number) in [("-INT", 2), ("-TERM", 15), ("-HUP", 1)] {
        let (mut child, out) = blocked(&site, &["ls", "-lR"]);
        kill(signal, child.id());
        let status = child.wait().expect("it ends");
        assert_eq!(status.signal(), Some(number), "{signal}: {status}");
        drop(out);
        let writes = site.read("write-output");
        assert_eq!(
            (writes.in_flight(), writes.entered > 1),
            (1, true),
            "{writes:?}"
        );
        std::fs::remove_file(site.recording()).unwrap();
    }
    // The reader leaves.
    let (mut child, out) = blocked(&site, &["find", "."]);
    drop(out);
    let begun = Instant::now();
    let status = child.wait().expect("it ends");
    assert_eq!(status.signal(), Some(13), "{status}");
    assert!(begun.elapsed() < LONG, "it waited");
    assert!(site.read("write-output").entered > 1);
}

/// Returns what the daemon tells the superuser about itself.
fn metrics(watched: &Watched) -> Vec<u8> {
    let mut command = watched.program();
    let ran = oracle::run(command.args(["watch", "--metrics=recording"]));
    ran.expect_code(0).stdout
}

/// Runs a question, recorded into a file.
fn ask(watched: &Watched, prepare: impl FnOnce(&mut Command)) -> (Command, PathBuf) {
    let path = watched.scratch.join("made");
    let mut command = watched.program();
    command.arg("--profile").arg(&path);
    command.args(["stat", "--fresh=60s"]).arg(watched.root());
    prepare(&mut command);
    (command, path)
}

#[test]
fn rounds_and_answers_of_the_daemon_are_counted_as_they_were_asked() {
    const QUESTIONS: u64 = 7;
    let Some(mut watched) = Watched::new() else {
        return;
    };
    let file = watched.scratch.join("trawl.prom");
    watched.start(|command| {
        command
            .args(["--apply-after", "1h", "--metrics-file"])
            .arg(&file);
    });
    let begun = Instant::now();
    while watched.trawl(&["watch", "--status"]).code != Some(0) {
        assert!(begun.elapsed() < LONG);
    }
    let question = |number: u64| {
        std::fs::write(watched.root().join(format!("d/new-{number}")), "x").expect("room");
        let (mut command, path) = ask(&watched, |_| {});
        oracle::run(&mut command).expect_code(0);
        operation(&std::fs::read(path).expect("a recording"), "ask-daemon")
    };
    question(0);
    let before = metrics(&watched);
    for number in 1..=QUESTIONS {
        assert_eq!(question(number).entered, 1);
    }
    let after = metrics(&watched);
    let more = |name: &str| operation(&after, name).entered - operation(&before, name).entered;
    for name in ["round", "barrier", "answer-now", "publish"] {
        assert_eq!(more(name), QUESTIONS, "{name}");
    }
    // A changed directory is a changed entry of the one above it, too.
    assert!(more("re-read-directory") >= QUESTIONS && more("drain-events") > 0);
    assert_eq!((more("scan"), more("answer-metrics")), (0, 1));
    // The first reading is of the daemon that was answering just then.
    assert_eq!(operation(&before, "answer-metrics").in_flight(), 1);
    let entered = |text: &str, name: &str| {
        let start = format!("trawl_calls_entered_total{{layer=\"trawl\",operation=\"{name}\"}} ");
        let value = text.lines().find_map(|line| line.strip_prefix(&start));
        value.expect("a sample").parse::<u64>().expect("a number")
    };
    let ran = oracle::run(watched.program().args(["watch", "--metrics"])).expect_code(0);
    let rounds = operation(&after, "round").entered;
    assert_eq!(entered(&ran.text(), "round"), rounds);
    let native = oracle::run(watched.program().args(["watch", "--metrics=native"]));
    assert!(
        native
            .expect_code(0)
            .text()
            .contains(&format!("{{count:{rounds},"))
    );
    assert_eq!(watched.end("-TERM"), Some(0));
    let text = std::fs::read_to_string(file).expect("it is there");
    // The last round is that of the end.
    assert_eq!(entered(&text, "round"), rounds + 1);
    assert_eq!(entered(&text, "answer-now"), QUESTIONS + 1);
}

#[test]
fn others_do_not_learn_how_long_the_daemon_takes() {
    let Some(mut watched) = Watched::new() else {
        return;
    };
    watched.start(|_| {});
    metrics(&watched);
    let (index, scratch) = (watched.index.clone(), &watched.scratch);
    let program = scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    let mut command = oracle::Identity::user(4812).command(program);
    command
        .env("TRAWL_INDEX", index)
        .args(["watch", "--metrics"]);
    let ran = oracle::run(&mut command).expect_code(1);
    assert!(ran.stdout.is_empty(), "{}", ran.text());
    let why = "only the superuser and the daemon's own user may ask for this";
    assert!(ran.errors().contains(why), "{ran}");
}

#[test]
fn a_daemon_that_stands_still_is_seen_in_the_question() {
    let Some(mut watched) = Watched::new() else {
        return;
    };
    watched.start(|_| {});
    let (mut first, _) = ask(&watched, |_| {});
    oracle::run(&mut first);
    watched.signal("-STOP");
    let begun = Instant::now();
    let (mut command, path) = ask(&watched, |command| {
        command.stdout(Stdio::null());
    });
    let mut child = command.spawn().expect("it starts");
    std::thread::sleep(Duration::from_millis(1500));
    watched.signal("-CONT");
    let injected = begun.elapsed();
    assert!(child.wait().expect("it ends").success());
    let recording = std::fs::read(path).expect("a recording");
    assert_recovered(&operation(&recording, "ask-daemon"), injected);
}

#[test]
fn sql_is_recorded_by_the_program_that_answers_it() {
    let site = site("own-sql", 2, 3);
    let ran = site.run("--profile ../made sql --csv SELECT+1");
    if ran.errors().contains("cannot run trawl-sql") {
        return Skip::new("recording sql", "trawl-sql is not built").say();
    }
    assert!(site.recording().exists(), "{ran}");
}
