//! Programs and threads told apart, against a trace of strace(1) for each process.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use trawl_histogram::{Profile, Resolution};
use trawl_kernel_profile::{Apart, Filter, KernelError, PAIRS_MAX, Reading, SystemCalls};
use trawl_sys::held::Held;

use crate::{entered, work};

/// Number of calls by name.
type Calls = BTreeMap<String, u64>;

/// Runs a command and counts its calls, told apart; `None`, with a message, where that cannot be done.
fn count(command: Command, apart: Apart, resolution: u8) -> Option<Reading> {
    let held = Held::start(command).unwrap();
    let tree = Filter::Tree(held.pid());
    let resolution = Resolution::new(resolution).unwrap();
    let mut layer = match SystemCalls::attach_with(&tree, resolution, Some(apart), &[]) {
        Ok(layer) => layer,
        Err(
            error @ (KernelError::Privilege { .. }
            | KernelError::LockedDown(_)
            | KernelError::NoBpf(_)
            | KernelError::NoTypes(_)),
        ) => {
            eprintln!("skipped, because {error}");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    assert!(held.release().unwrap().wait().unwrap().success());
    let reading = layer.read().unwrap();
    assert_eq!((reading.missed, reading.lost_tasks), (0, 0));
    assert!(reading.is_still, "everything has ended");
    adds_up(&reading);
    Some(reading)
}

/// Each call is in one part, or in none of them: "results in all of the buckets are summed and then
/// compared with the total number of operations" (§5.8).
fn adds_up(reading: &Reading) {
    let mut sum = Profile::new(reading.profile.unit(), reading.profile.resolution());
    sum.layer.clone_from(&reading.profile.layer);
    if let Some(others) = &reading.others {
        sum.merge(others).unwrap();
    }
    for part in &reading.parts {
        part.profile.check().unwrap();
        sum.merge(&part.profile).unwrap();
    }
    let whole: Vec<_> = reading.profile.operations().collect();
    assert_eq!(sum.operations().collect::<Vec<_>>(), whole);
}

fn calls(profile: &Profile) -> Calls {
    let all = profile.operations();
    all.map(|(name, one)| (name.to_owned(), one.counts().entered))
        .collect()
}

/// The traces of `strace -ff`: the calls of each process while it runs one program.
struct Traces {
    by_process: BTreeMap<u32, Vec<String>>,
    found: Vec<(String, Calls)>,
}

impl Traces {
    /// Follows a process that runs `program`, and what it starts.
    fn follow(&mut self, process: u32, program: &str) {
        let (mut program, mut calls) = (program.to_owned(), Calls::new());
        for line in self.by_process.remove(&process).unwrap() {
            let Some((name, rest)) = line.split_once('(').filter(|_| !line.starts_with("---"))
            else {
                continue;
            };
            *calls.entry(name.to_owned()).or_default() += 1;
            let result = rest.rsplit_once(" = ").map_or("", |(_, result)| result);
            match name {
                "execve" if result == "0" => {
                    self.found.push((program, std::mem::take(&mut calls)));
                    let path = rest.split('"').nth(1).unwrap();
                    let file = Path::new(path).canonicalize().unwrap();
                    program = file.file_name().unwrap().to_str().unwrap().to_owned();
                }
                "fork" | "vfork" | "clone" | "clone3" => {
                    self.follow(result.parse().unwrap(), &program);
                }
                _ => {}
            }
        }
        self.found.push((program, calls));
    }
}

/// Returns the calls of each process and program, from a trace; `None`, with a message, if strace
/// cannot trace here.
fn traced(command: &Command) -> Option<Vec<(String, Calls)>> {
    let directory = tempfile::tempdir().unwrap();
    let mut strace = trawl_testkit::oracle::command("strace");
    strace
        .args(["-ff", "-o"])
        .arg(directory.path().join("trace"));
    strace.arg(command.get_program()).args(command.get_args());
    let Ok(status) = strace.stdout(Stdio::null()).status() else {
        eprintln!("skipped, because strace is not installed");
        return None;
    };
    if !status.success() {
        eprintln!("skipped, because strace may not trace here");
        return None;
    }
    let mut traces = Traces {
        by_process: BTreeMap::new(),
        found: Vec::new(),
    };
    let mut first = u32::MAX;
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        let path = entry.unwrap().path();
        let process: u32 = path.extension().unwrap().to_str().unwrap().parse().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        if text.starts_with("execve(") && text.contains("START") {
            first = process;
        }
        let lines = text.lines().map(str::to_owned).collect();
        traces.by_process.insert(process, lines);
    }
    let launcher = std::env::current_exe().unwrap();
    traces.follow(first, launcher.file_name().unwrap().to_str().unwrap());
    assert!(traces.by_process.is_empty(), "a process without parent");
    Some(traces.found)
}

/// Several programs, some of which run in several processes. `START` marks the first.
fn several_programs(tree: &Path) -> Command {
    for at in 0..20 {
        std::fs::write(tree.join(format!("file{at}")), b"content").unwrap();
    }
    let script = ": START; for i in 1 2 3 4; do (/bin/true; :); done
        /usr/bin/find \"$0\" -size +1c -name 'f*'; cat \"$0\"/*; exec cat \"$0\"/file1";
    let mut command = trawl_testkit::oracle::command("/bin/sh");
    command.args(["-c", script]).arg(tree).stdout(Stdio::null());
    command
}

#[test]
fn programs_make_the_calls_that_strace_sees() {
    let tree = tempfile::tempdir().unwrap();
    let Some(traced) = traced(&several_programs(tree.path())) else {
        return;
    };
    let mut expected: BTreeMap<String, Calls> = BTreeMap::new();
    for (program, calls) in traced {
        let of_program = expected.entry(program).or_default();
        for (name, count) in calls {
            *of_program.entry(name).or_default() += count;
        }
    }
    let Some(reading) = count(several_programs(tree.path()), Apart::Programs, 1) else {
        return;
    };
    let parts = reading.parts.iter();
    let found: BTreeMap<String, Calls> = parts
        .map(|part| (part.program.clone(), calls(&part.profile)))
        .collect();
    assert_eq!(found.len(), reading.parts.len(), "each program once");
    assert_eq!(found, expected);
    assert!(found.len() >= 5, "the launcher, sh, true, find and cat");
    assert!(reading.others.is_none());
}

#[test]
fn threads_make_the_calls_that_strace_sees() {
    let tree = tempfile::tempdir().unwrap();
    let Some(mut expected) = traced(&several_programs(tree.path())) else {
        return;
    };
    let Some(reading) = count(several_programs(tree.path()), Apart::Threads, 3) else {
        return;
    };
    let parts = reading.parts.iter();
    let mut found: Vec<(String, Calls)> = parts
        .map(|part| (part.program.clone(), calls(&part.profile)))
        .collect();
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
    for part in &reading.parts {
        assert!(part.process > 0 && part.thread == part.process, "{part:?}");
    }
}

/// Two processes of six threads of 2,000 calls each, which switch within their calls.
#[test]
fn threads_of_one_program_are_told_apart() {
    let Some(reading) = count(work("tree 2 6 2000"), Apart::Threads, 1) else {
        return;
    };
    let with = |part: &&trawl_kernel_profile::Part| part.profile.get("getppid").is_some();
    let threads: Vec<_> = reading.parts.iter().filter(with).collect();
    assert_eq!(threads.len(), 12);
    for part in &threads {
        let one = part.profile.get("getppid").unwrap();
        assert_eq!((one.recorded(), one.in_flight()), (2000, 0));
        assert_ne!(part.process, part.thread);
    }
    let mut processes: Vec<u32> = threads.iter().map(|part| part.process).collect();
    processes.sort_unstable();
    processes.dedup();
    assert_eq!(processes.len(), 2);
}

/// A thousand threads make more kinds of calls together than there is room for: they are counted,
/// but not told apart.
#[test]
fn calls_for_which_there_is_no_room_are_counted_together() {
    let Some(reading) = count(work("tree 10 120 5"), Apart::Threads, 1) else {
        return;
    };
    assert_eq!(entered(&reading, "getppid"), 10 * 120 * 5);
    let others = reading
        .others
        .as_ref()
        .map_or(0, |others| calls(others).values().sum());
    assert!(others > 0, "there was room for all");
    let pairs = reading
        .parts
        .iter()
        .map(|part| part.profile.operations().count());
    let pairs: usize = pairs.sum();
    // A row may be given out in vain when two processors ask for one at the same time.
    assert!(
        pairs > PAIRS_MAX as usize - 100 && pairs <= PAIRS_MAX as usize,
        "{pairs}"
    );
}

/// "Every read checks entered = Σ buckets + in flight + dropped", under load, for each part.
#[test]
fn parts_balance_while_calls_go_on() {
    let held = Held::start(work("tree 4 4 100000")).unwrap();
    let tree = Filter::Tree(held.pid());
    let programs = Some(Apart::Programs);
    let Ok(mut layer) = SystemCalls::attach_with(&tree, Resolution::ONE, programs, &[]) else {
        eprintln!("skipped, because the layer cannot be attached");
        return;
    };
    let mut child = held.release().unwrap();
    while child.try_wait().unwrap().is_none() {
        adds_up(&layer.read().unwrap());
    }
    let reading = layer.read().unwrap();
    adds_up(&reading);
    assert_eq!(entered(&reading, "getppid"), 4 * 4 * 100_000);
}
