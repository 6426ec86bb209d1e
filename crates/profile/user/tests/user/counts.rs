//! Numbers of calls: as the programs count them themselves, and as strace does.

use std::time::Duration;

use trawl_histogram::Resolution;
use trawl_testkit::{Scratch, Skip, oracle};
use trawl_user_profile::{CallSites, Clock, Options, Threads};

use crate::site::{self, compiled, entered};

/// The ways in which a program is recorded.
fn ways() -> [Options; 3] {
    let plain = Options::default();
    [
        plain.clone(),
        Options {
            resolution: Resolution::new(8).expect("in range"),
            threads: Threads::Apart,
            ..plain.clone()
        },
        Options {
            clock: Clock::Monotonic,
            call_sites: CallSites::Apart,
            ..plain
        },
    ]
}

#[test]
fn each_kind_is_counted_as_the_program_counts_it() {
    let plain = ["-D_FILE_OFFSET_BITS=32", "-U_FORTIFY_SOURCE"];
    let strict = [
        "-D_FILE_OFFSET_BITS=64",
        "-U_FORTIFY_SOURCE",
        "-D_FORTIFY_SOURCE=2",
    ];
    for (flags, options) in [&plain[..], &strict[..], &plain[..]]
        .into_iter()
        .zip(ways())
    {
        let Some((_place, program)) = compiled("counts of each kind", "kinds", flags) else {
            return;
        };
        let scratch = Scratch::new("user-profile-kinds");
        let session = site::session(&options);
        let mut command = site::profiled(&session, &program);
        let ran = oracle::run(command.arg("20").current_dir(scratch.path())).expect_code(0);
        let reading = site::read(&session);
        let said = ran.text();
        assert!(said.lines().count() > 60, "{said}");
        for line in said.lines() {
            let (name, count) = line.split_once(' ').expect("a name and a number");
            let recorded = entered(&reading.programs["kinds"], name);
            assert_eq!(recorded.to_string(), count, "{name}, {options:?}");
            let histogram = reading.whole.get(name).expect("it was called");
            assert_eq!(histogram.recorded().to_string(), count, "{name}");
        }
        let operations: Vec<_> = reading.whole.operations().map(|(name, _)| name).collect();
        assert_eq!(operations.len(), said.lines().count(), "{operations:?}");
    }
}

/// "Out of 10,000,000 total updates there are 95,116 total lost updates" (§3.4.2): here none is,
/// also while the profile is read without pause.
#[test]
fn nothing_is_lost_with_eight_threads() {
    let Some((_place, program)) = compiled("lost calls", "many", &[]) else {
        return;
    };
    let session = site::session(&Options::default());
    let mut command = site::profiled(&session, &program);
    let mut child = command
        .args(["1000000", "8", "0"])
        .spawn()
        .expect("started");
    let mut before = site::read(&session).whole;
    let status = loop {
        if let Some(status) = child.try_wait().expect("our child") {
            break status;
        }
        let now = site::read(&session).whole;
        let difference = now.since(&before).expect("counts only grow");
        difference.check().expect("it adds up");
        before = now;
        std::thread::sleep(Duration::from_millis(1));
    };
    assert!(status.success());
    let reading = site::read(&session);
    let lseek = reading.whole.get("lseek").expect("called");
    // One before and one after, and one in a child of vfork.
    assert_eq!(lseek.counts().entered, 8_000_003);
    assert_eq!(lseek.recorded(), 8_000_003);
    assert_eq!((reading.without_region, lseek.in_flight()), (0, 0));
    assert_eq!(reading.derived, 0);
}

#[test]
fn children_have_regions_of_their_own() {
    let Some((_place, program)) = compiled("children", "many", &[]) else {
        return;
    };
    for options in ways() {
        let (_, reading) = site::recorded(&options, &program, &["3000", "3", "6"]);
        let lseek = reading.whole.get("lseek").expect("called");
        assert_eq!(lseek.counts().entered, 7 * 3 * 3000 + 3, "{options:?}");
        assert_eq!(lseek.in_flight(), 0);
        if options.threads == Threads::Apart {
            // Each thread that called, in seven processes, and the first one's main thread.
            assert_eq!(reading.threads.len(), 7 * 3 + 1);
            let mut processes: Vec<_> = reading.threads.iter().map(|one| one.process).collect();
            processes.dedup();
            processes.sort_unstable();
            processes.dedup();
            assert_eq!(processes.len(), 7);
            let most = reading.threads.iter();
            let most = most.filter(|one| entered(&one.profile, "lseek") == 3000);
            assert_eq!(most.count(), 21);
        }
    }
}

#[test]
fn a_child_of_vfork_takes_no_region_for_its_parent() {
    let Some((_place, program)) = compiled("children of vfork", "guest", &[]) else {
        return;
    };
    for options in ways() {
        let (_, reading) = site::recorded(&options, &program, &["300000"]);
        let lseek = reading.whole.get("lseek").expect("called");
        // That of the child has no region.
        assert_eq!(lseek.counts().entered, 2 * 300_000 + 2, "{options:?}");
        assert_eq!(lseek.recorded(), 2 * 300_000 + 1, "{options:?}");
        assert_eq!((lseek.in_flight(), reading.without_region), (0, 1));
    }
}

#[test]
fn processes_that_end_without_destructors_leave_regions_to_other_programs() {
    let scratch = Scratch::new("user-profile-exits");
    let file = scratch.join("file");
    std::fs::write(&file, "text\n").expect("written");
    let options = Options {
        threads_max: 8,
        ..Options::default()
    };
    let file = file.display();
    let script = format!("for i in $(seq 60); do (read x < {file}); done; cat {file}");
    let (ran, reading) = site::recorded(&options, "sh", &["-c", &script]);
    assert_eq!(ran.text().trim(), "text");
    assert_eq!(reading.without_region, 0);
    assert!(entered(&reading.programs["cat"], "read") >= 2);
}

#[test]
fn calls_without_a_region_are_dropped_and_counted() {
    let Some((_place, program)) = compiled("dropped calls", "many", &[]) else {
        return;
    };
    let options = Options {
        threads_max: 3,
        threads: Threads::Apart,
        ..Options::default()
    };
    let (_, reading) = site::recorded(&options, &program, &["2000", "8", "0"]);
    let lseek = reading.whole.get("lseek").expect("called");
    assert_eq!(lseek.counts().entered, 16_003);
    assert_eq!(lseek.counts().dropped, 6 * 2000);
    assert_eq!((reading.without_region, reading.regions), (6 * 2000, 3));
}

#[test]
fn handlers_that_interrupt_recording_lose_nothing() {
    let Some((_place, program)) = compiled("signal handlers", "signals", &[]) else {
        return;
    };
    let (ran, reading) = site::recorded(&Options::default(), &program, &["2000000"]);
    let said = ran.text();
    let numbers: Vec<u64> = said
        .split_whitespace()
        .filter_map(|one| one.parse().ok())
        .collect();
    let lseek = reading.whole.get("lseek").expect("called");
    assert_eq!(
        lseek.counts().entered,
        numbers.iter().sum::<u64>(),
        "{said}"
    );
    assert_eq!((lseek.in_flight(), lseek.counts().dropped), (0, 0));
    assert!(numbers[1] > 100, "the handler hardly ran: {said}");
}

#[test]
fn many_processes_continue_few_regions() {
    let scratch = Scratch::new("user-profile-reuse");
    let file = scratch.join("file");
    std::fs::write(&file, "text\n").expect("written");
    let script = |count: u32| {
        let file = file.display();
        format!("for i in $(seq {count}); do cat {file}; done | wc -l; (exit 3) || :")
    };
    let options = Options {
        threads_max: 8,
        ..Options::default()
    };
    let (_, one) = site::recorded(&options, "sh", &["-c", &script(1)]);
    let (ran, many) = site::recorded(&options, "sh", &["-c", &script(200)]);
    assert_eq!(ran.text().trim(), "200");
    let reads = entered(&one.programs["cat"], "read");
    assert!(reads >= 2);
    assert_eq!(entered(&many.programs["cat"], "read"), 200 * reads);
    assert_eq!(many.without_region, 0);
}

/// Each read and write of dd is one system call.
#[test]
fn dd_makes_as_many_calls_as_strace_sees() {
    if !site::has("counts of strace", "strace") {
        return;
    }
    let scratch = Scratch::new("user-profile-strace");
    let (log, input, output) = (scratch.join("log"), scratch.join("in"), scratch.join("out"));
    std::fs::write(&input, vec![7; 100_000]).expect("written");
    let session = site::session(&Options::default());
    let mut strace = oracle::command("strace");
    for (name, value) in session.environment(None) {
        let value = value.to_str().expect("text");
        strace.args(["-E", &format!("{}={value}", name.display())]);
    }
    strace.arg("-o").arg(&log).args(["dd", "bs=777"]);
    strace.args([
        format!("if={}", input.display()),
        format!("of={}", output.display()),
    ]);
    let ran = oracle::run(&mut strace);
    if ran.code != Some(0) && ran.errors().contains("ptrace") {
        return Skip::new("counts of strace", ran.errors()).say();
    }
    let ran = ran.expect_code(0);
    let log = std::fs::read_to_string(&log).expect("strace's log");
    let count = |start: &str| log.lines().filter(|line| line.starts_with(start)).count() as u64;
    let reading = site::read(&session);
    let dd = &reading.programs["dd"];
    assert_eq!(entered(dd, "read"), count("read(0, "), "{ran}");
    assert_eq!(entered(dd, "write"), count("write(1, "));
    assert_eq!(count("write(1, "), 100_000_u64.div_ceil(777));
    assert_eq!(std::fs::read(&output).expect("written").len(), 100_000);
}
