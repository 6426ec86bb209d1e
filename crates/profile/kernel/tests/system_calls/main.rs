//! The layer of system calls against strace(1), against the kernel's own counters in `/proc`, and
//! against programs that know how many calls they make.
//!
//! The programs are this test program itself: started again with [`WORK`] set, it runs one of the
//! workloads at the end of this file instead of the tests.

mod apart;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use trawl_histogram::Resolution;
use trawl_kernel_profile::{Filter, KernelError, Reading, SystemCalls};
use trawl_sys::held::Held;

/// Names a workload, with its numbers.
const WORK: &str = "TRAWL_TEST_WORK";

/// Attaches the layer; `None`, with a message, where the machine does not let us.
fn attach(filter: &Filter, resolution: u8) -> Option<SystemCalls> {
    let resolution = Resolution::new(resolution).unwrap();
    match SystemCalls::attach(filter, resolution) {
        Ok(layer) => Some(layer),
        Err(
            error @ (KernelError::Privilege { .. }
            | KernelError::LockedDown(_)
            | KernelError::NoBpf(_)
            | KernelError::NoTypes(_)),
        ) => {
            eprintln!("skipped, because {error}");
            None
        }
        // In a namespace, where only trees can be counted.
        Err(error @ KernelError::Filter { .. }) if !matches!(filter, Filter::Tree(_)) => {
            eprintln!("skipped, because {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs a command, counts its system calls and those of its descendants, and reads at the end.
fn count(command: Command, resolution: u8) -> Option<Reading> {
    let held = Held::start(command).unwrap();
    let mut layer = attach(&Filter::Tree(held.pid()), resolution)?;
    let mut child = held.release().unwrap();
    assert!(child.wait().unwrap().success());
    let reading = layer.read().unwrap();
    assert_eq!((reading.missed, reading.lost_tasks), (0, 0));
    assert!(reading.is_still, "everything has ended");
    for (name, one) in reading.profile.operations() {
        assert_eq!(one.in_flight(), 0, "{name} after the end");
    }
    Some(reading)
}

fn entered(reading: &Reading, name: &str) -> u64 {
    reading
        .profile
        .get(name)
        .map_or(0, |one| one.counts().entered)
}

/// This program, running a workload.
fn work(which: &str) -> Command {
    let mut command = trawl_testkit::oracle::command(std::env::current_exe().unwrap());
    command.args(["--exact", "workload", "--test-threads=1", "--nocapture"]);
    command.env(WORK, which).stdout(Stdio::null());
    command
}

/// Calls by name from the summary of `strace -f -c`.
fn strace(command: &Command) -> Option<BTreeMap<String, u64>> {
    let directory = tempfile::tempdir().unwrap();
    let summary = directory.path().join("summary");
    let mut strace = trawl_testkit::oracle::command("strace");
    strace
        .args(["-f", "-c", "-U", "calls,name", "-o"])
        .arg(&summary);
    strace.arg(command.get_program()).args(command.get_args());
    strace.stdout(Stdio::null());
    let Ok(status) = strace.status() else {
        eprintln!("skipped, because strace is not installed");
        return None;
    };
    if !status.success() {
        eprintln!("skipped, because strace may not trace here");
        return None;
    }
    let summary = std::fs::read_to_string(summary).unwrap();
    let row = |line: &str| {
        let (calls, name) = line.trim().split_once(char::is_whitespace)?;
        Some((name.trim().to_owned(), calls.parse().ok()?))
    };
    Some(
        summary
            .lines()
            .filter_map(row)
            .filter(|row| row.0 != "total")
            .collect(),
    )
}

/// "counts equal to strace's": the same work, once under strace and once under the layer.
#[test]
fn counts_equal_those_of_strace() {
    let tree = tempfile::tempdir().unwrap();
    for at in 0..40 {
        let directory = tree.path().join(format!("d{at}"));
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join("file"), b"content").unwrap();
    }
    let words = [
        vec![
            "/usr/bin/find",
            tree.path().to_str().unwrap(),
            "-size",
            "+1c",
            "-name",
            "f*",
        ],
        vec![
            "/bin/dd",
            "if=/dev/zero",
            "of=/dev/null",
            "bs=512",
            "count=5000",
            "status=none",
        ],
        vec![
            "/bin/sh",
            "-c",
            "for i in 1 2 3 4 5 6 7 8; do (/bin/true; :) ; done",
        ],
    ];
    for words in words {
        let mut command = trawl_testkit::oracle::command(words[0]);
        command.args(&words[1..]).stdout(Stdio::null());
        let Some(expected) = strace(&command) else {
            return;
        };
        let Some(reading) = count(command, 1) else {
            return;
        };
        // strace lists calls when they return; these do not.
        let never_return = ["exit", "exit_group"];
        let all = reading
            .profile
            .operations()
            .map(|(name, one)| (name.to_owned(), one));
        let found: BTreeMap<String, u64> = all
            .filter(|(name, _)| !never_return.contains(&name.as_str()))
            .map(|(name, one)| (name, one.counts().entered))
            .collect();
        let expected: BTreeMap<String, u64> = expected
            .into_iter()
            .filter(|(name, _)| !never_return.contains(&name.as_str()))
            .collect();
        assert_eq!(found, expected, "{words:?}");
    }
}

/// "counts equal to … the kernel's own counters in the same run": `syscr` and `syscw` of
/// proc_pid_io(5), "number of read (write) I/O operations—that is, system calls such as read(2) and
/// pread(2)".
#[test]
fn counts_equal_the_kernels_own() {
    let mut command = trawl_testkit::oracle::command("/bin/cat");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let held = Held::start(command).unwrap();
    let pid = held.pid();
    let Some(mut layer) = attach(&Filter::Tree(pid), 1) else {
        return;
    };
    let mut cat = held.release().unwrap();
    let mut output = cat.stdout.take().unwrap();
    let mut input = cat.stdin.take().unwrap();
    let mut pass = |times: u32| {
        for _ in 0..times {
            input.write_all(b"x").unwrap();
            output.read_exact(&mut [0]).unwrap();
        }
        until_blocked(pid);
    };
    pass(1);
    let (before, kernels_before) = (layer.read().unwrap(), kernels_own(pid));
    pass(1000);
    let (after, kernels_after) = (layer.read().unwrap(), kernels_own(pid));
    let left = |reading: &Reading, names: &[&str]| -> u128 {
        let all = names.iter().filter_map(|name| reading.profile.get(name));
        all.map(|one| one.recorded()).sum()
    };
    for (names, kernels) in [
        (["read", "pread64", "readv", "preadv"], 0),
        (["write", "pwrite64", "writev", "pwritev"], 1),
    ] {
        let counted = left(&after, &names) - left(&before, &names);
        assert_eq!(
            counted,
            u128::from(kernels_after[kernels] - kernels_before[kernels]),
            "{names:?}"
        );
        assert!(counted >= 1000);
    }
    assert!(after.is_still);
    assert_eq!(
        after.profile.get("read").unwrap().in_flight(),
        1,
        "cat waits for input"
    );
    drop(input);
    assert!(cat.wait().unwrap().success());
}

fn kernels_own(pid: u32) -> [u64; 2] {
    let io = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
    ["syscr: ", "syscw: "].map(|key| {
        let count = io.lines().find_map(|line| line.strip_prefix(key));
        count.unwrap().parse().unwrap()
    })
}

/// Waits until a process sleeps in a call.
fn until_blocked(pid: u32) {
    let state = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1.chars().next()
    };
    until(|| state() == Some('S'));
}

fn until(is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "it does not happen"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// nanosleep(2) "suspends the execution of the calling thread until … at least the time specified
/// … has elapsed": no latency is shorter, and the program's own run time bounds them from above.
#[test]
fn latencies_of_sleeps_lie_in_their_buckets() {
    for resolution in [1, 3, 8] {
        let lengths_ms = [10_u64, 40, 160];
        let mut command = trawl_testkit::oracle::command("/bin/sh");
        command.args(["-c", "sleep 0.01; sleep 0.04; sleep 0.16"]);
        let begin = Instant::now();
        let Some(reading) = count(command, resolution) else {
            return;
        };
        let elapsed_ns = begin.elapsed().as_nanos();
        let sleeps = reading.profile.get("clock_nanosleep");
        let sleeps = sleeps.or(reading.profile.get("nanosleep")).unwrap();
        let counts = sleeps.counts();
        let least_ns = lengths_ms.map(|length| length * 1_000_000);
        assert_eq!(sleeps.recorded(), 3);
        assert!(counts.min.unwrap() >= least_ns[0]);
        assert!(counts.max.unwrap() >= least_ns[2]);
        assert!(counts.total >= least_ns.iter().sum::<u64>().into());
        assert!(counts.total <= elapsed_ns);
        // Each sleep is at least as long as asked, so as many lie at or above its bucket; how much
        // longer it takes depends on the machine's load.
        let resolution = sleeps.resolution();
        for (longer, least_ns) in [3, 2, 1].into_iter().zip(least_ns) {
            let from = usize::from(resolution.bucket(least_ns));
            let at_or_above: u64 = sleeps.buckets()[from..].iter().sum();
            assert!(at_or_above >= longer, "resolution {resolution}: {sleeps:?}");
        }
        let below = usize::from(resolution.bucket(least_ns[0]));
        assert_eq!(sleeps.buckets()[..below].iter().sum::<u64>(), 0);
    }
}

/// Processes that fork while their threads call: 8 processes of 6 threads of 2,000 calls each, and
/// threads that end at once.
#[test]
fn a_tree_of_processes_and_threads_loses_no_call() {
    let Some(reading) = count(work("tree 8 6 2000"), 2) else {
        return;
    };
    assert_eq!(entered(&reading, "getppid"), 8 * 6 * 2000);
    assert_eq!(
        reading.profile.get("getppid").unwrap().recorded(),
        8 * 6 * 2000
    );
    // Each process ends once, each further thread as well.
    assert_eq!(reading.ended["exit_group"], 9);
    assert!(reading.ended["exit"] >= 8 * 6);
}

/// "Every read checks entered = Σ buckets + in flight + dropped", under load: a reading that fails
/// the check is an error.
#[test]
fn readings_balance_while_calls_go_on() {
    let held = Held::start(work("tree 4 4 200000")).unwrap();
    let Some(mut layer) = attach(&Filter::Tree(held.pid()), 4) else {
        return;
    };
    let mut child = held.release().unwrap();
    let (mut readings, mut last) = (0, 0);
    while child.try_wait().unwrap().is_none() {
        let reading = layer.read().unwrap();
        let now = entered(&reading, "getppid");
        assert!(now >= last, "counts never decrease");
        last = now;
        readings += 1;
    }
    let reading = layer.read().unwrap();
    assert_eq!(entered(&reading, "getppid"), 4 * 4 * 200_000);
    assert!(reading.is_still);
    assert!(readings > 2, "only {readings} readings");
}

/// A process that runs already, with threads and a child: all their calls count from the attachment
/// on, also those of threads that make no call for a while.
#[test]
fn a_running_tree_is_followed() {
    let mut command = work("waiting 3 4 5000");
    command.stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    for _ in 0..3 {
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
    }
    let Some(mut layer) = attach(&Filter::Tree(child.id()), 1) else {
        child.kill().unwrap();
        child.wait().unwrap();
        return;
    };
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    assert!(child.wait().unwrap().success());
    let reading = layer.read().unwrap();
    assert_eq!(entered(&reading, "getppid"), 3 * 4 * 5000);
}

#[test]
fn a_call_in_flight_is_seen_and_ends_with_its_process() {
    let mut command = trawl_testkit::oracle::command("/bin/sleep");
    command.arg("1000");
    let held = Held::start(command).unwrap();
    let pid = held.pid();
    let Some(mut layer) = attach(&Filter::Tree(pid), 1) else {
        return;
    };
    let mut child: Child = held.release().unwrap();
    let mut sleeping = || {
        let reading = layer.read().unwrap();
        let one = reading.profile.get("clock_nanosleep").cloned();
        one.map(|one| (one.counts().entered, one.in_flight(), one.recorded()))
    };
    let begin = Instant::now();
    while sleeping() != Some((1, 1, 0)) {
        assert!(begin.elapsed() < Duration::from_secs(60));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(sleeping(), Some((1, 0, 1)), "the signal interrupted it");
}

#[test]
fn a_control_group_selects_its_processes() {
    let Some(parent) = unified_hierarchy() else {
        eprintln!("skipped, because no unified hierarchy of control groups is mounted");
        return;
    };
    let group = Group::new(parent.join(format!("trawl-test-{}", std::process::id())));
    let Some(group) = group else {
        eprintln!("skipped, because no control group can be made here");
        return;
    };
    let (inside, outside) = (
        Held::start(work("calls 3000")),
        Held::start(work("calls 500")),
    );
    let (inside, outside) = (inside.unwrap(), outside.unwrap());
    std::fs::write(group.0.join("cgroup.procs"), inside.pid().to_string()).unwrap();
    let Some(mut layer) = attach(&Filter::Cgroup(group.0.clone()), 1) else {
        return;
    };
    for held in [inside, outside] {
        assert!(held.release().unwrap().wait().unwrap().success());
    }
    assert_eq!(entered(&layer.read().unwrap(), "getppid"), 3000);
}

/// A control group that is removed at the end.
struct Group(PathBuf);

impl Group {
    fn new(path: PathBuf) -> Option<Group> {
        std::fs::create_dir(&path).ok().map(|()| Group(path))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

fn unified_hierarchy() -> Option<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
    let mount = mounts
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>());
    let mut mount = mount.filter(|words| words.get(2) == Some(&"cgroup2"));
    mount.next().map(|words| PathBuf::from(words[1]))
}

#[test]
fn everything_includes_a_process_that_nobody_named() {
    let Some(mut layer) = attach(&Filter::Everything, 1) else {
        return;
    };
    assert!(work("calls 4000").status().unwrap().success());
    let reading = layer.read().unwrap();
    assert!(entered(&reading, "getppid") >= 4000);
}

#[test]
fn what_cannot_be_filtered_is_refused_with_the_reason() {
    let refusal = |filter| {
        let refused = SystemCalls::attach(&filter, Resolution::ONE);
        refused.unwrap_err().to_string()
    };
    let mount = refusal(Filter::Mount("/".into()));
    assert!(mount.contains("name no file"), "{mount}");
    let process = refusal(Filter::Tree(u32::MAX));
    assert!(process.contains("no process"), "{process}");
    let group = refusal(Filter::Cgroup("/nonexistent/group".into()));
    assert!(
        group.contains("/nonexistent/group") || group.contains("namespace"),
        "{group}"
    );
}

#[test]
fn without_privilege_the_missing_capabilities_are_named() {
    let mut command = trawl_testkit::oracle::command("setpriv");
    command.args([
        "--reuid=65534",
        "--clear-groups",
        "--bounding-set=-all",
        "--inh-caps=-all",
    ]);
    // A copy that another user may run.
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(directory.path(), everyone).unwrap();
    command
        .arg(&program)
        .args(["--exact", "workload", "--nocapture"]);
    command.env(WORK, "refused").current_dir("/");
    let output = match command.output() {
        Ok(output) if output.status.success() => output,
        _ => {
            eprintln!("skipped, because setpriv cannot drop privileges here");
            return;
        }
    };
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.contains("lacks CAP_BPF and CAP_PERFMON"),
        "{message}"
    );
}

/// Runs a workload if this program was started for one.
#[test]
fn workload() {
    let Ok(which) = std::env::var(WORK) else {
        return;
    };
    let words: Vec<&str> = which.split(' ').collect();
    let number = |at: usize| words[at].parse::<u64>().unwrap();
    match words[0] {
        "calls" => calls(number(1)),
        "threads" => threads(number(1), number(2)),
        "tree" => {
            let one = format!("threads {} {}", number(2), number(3));
            let children: Vec<Child> = (0..number(1))
                .map(|_| work(&one).spawn().unwrap())
                .collect();
            for mut child in children {
                assert!(child.wait().unwrap().success());
            }
        }
        "waiting" => waiting(number(1), number(2), number(3)),
        "refused" => {
            let refused = SystemCalls::attach(&Filter::Tree(std::process::id()), Resolution::ONE);
            eprintln!("{}", refused.unwrap_err());
        }
        other => panic!("there is no workload {other}"),
    }
}

fn calls(times: u64) {
    for _ in 0..times {
        std::hint::black_box(rustix::process::getppid());
    }
}

fn threads(count: u64, times: u64) {
    std::thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(move || calls(times));
        }
    });
}

/// A chain of `depth` processes, each with threads that wait for a line of input before they call.
fn waiting(depth: u64, count: u64, times: u64) {
    let below = (depth > 1).then(|| {
        let mut command = work(&format!("waiting {} {count} {times}", depth - 1));
        command.stdin(Stdio::piped()).spawn().unwrap()
    });
    let barrier = std::sync::Barrier::new(count as usize + 1);
    std::thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| {
                barrier.wait();
                calls(times);
            });
        }
        eprintln!("ready");
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).unwrap();
        if let Some(mut child) = below {
            child
                .stdin
                .take()
                .unwrap()
                .write_all(line.as_bytes())
                .unwrap();
            barrier.wait();
            assert!(child.wait().unwrap().success());
        } else {
            barrier.wait();
        }
    });
}
