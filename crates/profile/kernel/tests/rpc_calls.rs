//! The layer of the kernel's calls to NFS servers, in an emulated machine that is both client and
//! server: against the kernel's own statistics (`/proc/self/mountstats`), against a workload that knows
//! how many calls it makes, and with a delay in the network.
//!
//! The machine runs this test program again, which then finds itself inside ([`INSIDE`]).

mod nfs;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use trawl_histogram::{Histogram, Resolution};
use trawl_kernel_profile::{Filter, KernelError, Reading, RpcCalls};
use trawl_sys::held::Held;
use trawl_testkit::Machine;
use trawl_testkit::skip::without_program;

/// Set where the program runs inside the machine.
const INSIDE: &str = "TRAWL_TEST_INSIDE";
/// A directory in which the program works instead of testing.
const WORK: &str = "TRAWL_TEST_WORK";

const SCRIPT: &str = "
set -e
mkfs.ext4 -q /dev/vda
mkdir -p /mnt/ext4
mount -t ext4 /dev/vda /mnt/ext4
mount -t cgroup2 cgroup2 /sys/fs/cgroup
sh -e /export
export TRAWL_TEST_INSIDE=1
/test --exact inside --nocapture --test-threads=1
";

/// Delay that the machine's network adds to each packet, if tc(8) is installed: a call has one in each
/// direction.
const DELAY: Duration = Duration::from_millis(30);

#[test]
fn calls_are_counted_in_an_emulated_machine() {
    let what = "calls to NFS servers";
    let mut machine = match Machine::new(what) {
        Ok(machine) => machine,
        Err(skip) => return skip.say(),
    };
    for program in ["mkfs.ext4", "tc"] {
        if let Some(skip) = without_program(what, program) {
            return skip.say();
        }
        machine.program(program);
    }
    machine
        .program_as(&std::env::current_exe().unwrap(), "/test")
        .file(
            "/export",
            format!("{}{}", nfs::SERVER, nfs::MOUNT).as_bytes(),
        )
        .modules(&["crc32c_generic", "virtio_pci", "virtio_blk"])
        .modules(&["ext4", "nfsd", "nfsv4", "sch_netem"])
        .disk(64 << 20);
    let ended = machine.run(SCRIPT);
    let lines = ended.console.lines();
    let told = lines.filter(|line| line.starts_with("measured: "));
    told.for_each(|line| eprintln!("{line}"));
    assert_eq!(ended.code, Some(0), "{}", ended.console);
    assert!(ended.console.contains("1 passed"), "{}", ended.console);
}

/// Where the kernel's client is not there, the layer says so; it never counts by mount.
#[test]
fn what_cannot_be_counted_is_named() {
    let mount = RpcCalls::attach(&Filter::Mount("/".into()), Resolution::ONE);
    let words = mount.unwrap_err().to_string();
    assert!(words.contains("by mount"), "{words}");
    match RpcCalls::attach(&Filter::Tree(std::process::id()), Resolution::ONE) {
        Ok(mut layer) => assert!(layer.read().is_ok()),
        Err(error @ KernelError::NoRpc) => {
            assert!(error.to_string().contains("module sunrpc"), "{error}");
        }
        Err(error) => eprintln!("skipped, because {error}"),
    }
}

const FILES: u64 = 12;

/// Makes each of a number of operations so often, then reads and writes.
fn workload(place: &Path) {
    for at in 0..FILES {
        let name = |kind: &str| place.join(format!("{kind}{at}"));
        fs::create_dir(name("directory")).unwrap();
        symlink("target", name("symlink")).unwrap();
        fs::write(name("file"), vec![b'x'; 100_000]).unwrap();
        fs::File::open(name("file")).unwrap().sync_all().unwrap();
        fs::hard_link(name("file"), name("link")).unwrap();
        fs::rename(name("link"), name("renamed")).unwrap();
        assert_eq!(fs::read(name("renamed")).unwrap().len(), 100_000);
        fs::remove_file(name("renamed")).unwrap();
        fs::remove_file(name("symlink")).unwrap();
        fs::remove_dir(name("directory")).unwrap();
        fs::remove_file(name("file")).unwrap();
    }
}

/// How often the workload calls each procedure, where caches make no difference: in NFS 4 (RFC 7530),
/// CREATE makes all but regular files, and REMOVE removes all; Linux names the one for links apart.
const KNOWN: [(&str, u64); 5] = [
    ("CREATE", FILES),
    ("SYMLINK", FILES),
    ("LINK", FILES),
    ("RENAME", FILES),
    ("REMOVE", 4 * FILES),
];

/// Procedures that keep the connection to a server, which belong to no mount.
const OF_NO_MOUNT: [&str; 8] = [
    "SEQUENCE",
    "RENEW",
    "NULL",
    "RECLAIM_COMPLETE",
    "EXCHANGE_ID",
    "CREATE_SESSION",
    "DESTROY_SESSION",
    "BIND_CONN_TO_SESSION",
];

fn work_in(place: &str) -> Command {
    let mut command = trawl_testkit::oracle::command(std::env::current_exe().unwrap());
    command.args(["--exact", "inside", "--test-threads=1"]);
    command
        .env(WORK, place)
        .env(INSIDE, "1")
        .stdout(Stdio::null());
    command
}

#[test]
fn inside() {
    if let Some(place) = std::env::var_os(WORK) {
        return workload(Path::new(&place));
    }
    if std::env::var_os(INSIDE).is_none() {
        return;
    }
    for name in ["ours", "theirs"] {
        fs::create_dir(Path::new("/mnt/nfs4").join(name)).unwrap();
    }
    everything_is_counted();
    a_tree_is_followed();
    a_group_is_told_apart();
    a_delay_is_seen();
}

/// One procedure's line in `/proc/self/mountstats`: calls, and the sums of their times.
///
/// Source: nfsiostat(8); `rpc_clnt_show_stats` in Linux's net/sunrpc/stats.c.
#[derive(Clone, Copy, Default)]
struct Statistics {
    calls: u64,
    queue_ms: u64,
    round_trip_ms: u64,
    whole_ms: u64,
}

fn statistics() -> BTreeMap<String, Statistics> {
    let text = fs::read_to_string("/proc/self/mountstats").unwrap();
    let own = text
        .split("device ")
        .find(|one| one.contains("fstype nfs4"));
    let lines = own.unwrap().lines();
    let lines = lines.skip_while(|line| !line.contains("per-op statistics"));
    let row = |line: &str| {
        let (name, numbers) = line.trim().split_once(": ")?;
        let numbers: Vec<u64> = numbers.split(' ').map(|one| one.parse().unwrap()).collect();
        let [calls, _, _, _, _, queue_ms, round_trip_ms, whole_ms, ..] = numbers[..] else {
            panic!("{line}");
        };
        let row = Statistics {
            calls,
            queue_ms,
            round_trip_ms,
            whole_ms,
        };
        Some((name.to_owned(), row))
    };
    lines.skip(1).filter_map(row).collect()
}

/// Reads when all calls are done: files are closed by tasks that nobody waits for.
fn read_still(layer: &mut RpcCalls) -> Reading {
    let begun = Instant::now();
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let reading = layer.read().unwrap();
        assert_eq!((reading.missed, reading.lost_tasks), (0, 0));
        let mut operations = reading.profile.operations();
        let is_done = operations.all(|(_, one)| one.in_flight() == 0);
        drop(operations);
        if reading.is_still && is_done {
            return reading;
        }
        assert!(begun.elapsed().as_secs() < 600, "{reading:?}");
    }
}

fn recorded(one: &Histogram) -> u64 {
    one.buckets().iter().sum()
}

fn everything_is_counted() {
    let begun = Instant::now();
    let mut layer = RpcCalls::attach(&Filter::Everything, Resolution::new(2).unwrap()).unwrap();
    println!("measured: attached in {:?}", begun.elapsed());
    read_still(&mut layer);
    let before = statistics();
    let first = layer.read().unwrap();
    let mut child = work_in("/mnt/nfs4/theirs").spawn().unwrap();
    // Readings while calls go on add up, too.
    while child.try_wait().unwrap().is_none() {
        layer.read().unwrap();
    }
    assert!(child.wait().unwrap().success());
    let reading = read_still(&mut layer);
    let mut compared = 0;
    for (procedure, now) in statistics() {
        let then = before.get(&procedure).copied().unwrap_or_default();
        let [whole, queue, round_trip] = ["whole", "queue", "round-trip"].map(|operation| {
            let name = format!("nfsv4:{procedure}:{operation}");
            let find = |reading: &Reading| {
                let found = reading.profile.get(&name);
                found.map_or((0, 0), |one| (recorded(one), one.counts().total))
            };
            let (now, then) = (find(&reading), find(&first));
            (now.0 - then.0, now.1 - then.1)
        });
        if OF_NO_MOUNT.contains(&procedure.as_str()) {
            continue;
        }
        let calls = now.calls - then.calls;
        assert_eq!(whole.0, calls, "{procedure}");
        // The kernel divides the sums of both readings by a million, and drops the rest.
        for ((_, total_ns), now_ms, then_ms) in [
            (whole, now.whole_ms, then.whole_ms),
            (queue, now.queue_ms, then.queue_ms),
            (round_trip, now.round_trip_ms, then.round_trip_ms),
        ] {
            let total_ms = total_ns as f64 / 1e6;
            let kernels_ms = (now_ms - then_ms) as f64;
            assert!(
                (total_ms - kernels_ms).abs() < 1.0,
                "{procedure}: {total_ms}, {kernels_ms}"
            );
        }
        compared += u64::from(calls > 0);
    }
    println!("measured: {compared} procedures agree with /proc/self/mountstats");
    assert!(compared >= 10);
    compare(&reading, &first);
}

/// Compares with the workload's own numbers.
fn compare(reading: &Reading, before: &Reading) {
    let count = |reading: &Reading, name: &str| reading.profile.get(name).map_or(0, recorded);
    for (procedure, known) in KNOWN {
        let name = format!("nfsv4:{procedure}:whole");
        assert_eq!(
            count(reading, &name) - count(before, &name),
            known,
            "{name}"
        );
        let name = format!("nfsv4:{procedure}:round-trip");
        assert_eq!(
            count(reading, &name) - count(before, &name),
            known,
            "{name}"
        );
    }
}

/// Only the calls of a command are counted, while another process works beside it.
fn a_tree_is_followed() {
    let held = Held::start(work_in("/mnt/nfs4/ours")).unwrap();
    let filter = Filter::Tree(held.pid());
    only_the_held_is_counted(held, &filter);
}

/// Only the calls of a control group are counted, and the groups below belong to it, while another
/// process works in a group beside it.
fn a_group_is_told_apart() {
    let group = Path::new("/sys/fs/cgroup/outer/ours");
    let below = group.join("below");
    fs::create_dir_all(&below).unwrap();
    let other = group.with_file_name("theirs");
    fs::create_dir(&other).unwrap();
    let join = |group: &Path, pid: u32| fs::write(group.join("cgroup.procs"), pid.to_string());
    let held = Held::start(work_in("/mnt/nfs4/ours")).unwrap();
    join(&below, held.pid()).unwrap();
    // What this process starts is in its group.
    join(&other, std::process::id()).unwrap();
    only_the_held_is_counted(held, &Filter::Cgroup(group.to_owned()));
}

fn only_the_held_is_counted(held: Held, filter: &Filter) {
    let mut layer = RpcCalls::attach(filter, Resolution::ONE).unwrap();
    let first = layer.read().unwrap();
    let mut other = work_in("/mnt/nfs4/theirs").spawn().unwrap();
    let mut child = held.release().unwrap();
    assert!(child.wait().unwrap().success() && other.wait().unwrap().success());
    compare(&read_still(&mut layer), &first);
}

/// The network's delay is in the round trip of each call, and nowhere else.
fn a_delay_is_seen() {
    let delay = format!("{}ms", DELAY.as_millis());
    let added = trawl_testkit::oracle::command("tc")
        .args([
            "qdisc", "add", "dev", "lo", "root", "netem", "delay", &delay,
        ])
        .status();
    assert!(added.unwrap().success());
    let mut layer = RpcCalls::attach(&Filter::Everything, Resolution::ONE).unwrap();
    for at in 0..5 {
        fs::create_dir(format!("/mnt/nfs4/ours/late{at}")).unwrap();
    }
    let reading = read_still(&mut layer);
    let minimum = |operation: &str| {
        let one = reading.profile.get(&format!("nfsv4:CREATE:{operation}"));
        let one = one.unwrap();
        assert_eq!(recorded(one), 5, "{operation}");
        one.counts().min.unwrap()
    };
    let both_ways_ns = 2 * DELAY.as_nanos() as u64;
    let [queue_ns, round_trip_ns, whole_ns] = ["queue", "round-trip", "whole"].map(minimum);
    println!("measured: with {both_ways_ns} ns: {queue_ns}, {round_trip_ns}, {whole_ns} ns");
    assert!(round_trip_ns >= both_ways_ns && whole_ns >= round_trip_ns);
    assert!(queue_ns < both_ways_ns);
}
