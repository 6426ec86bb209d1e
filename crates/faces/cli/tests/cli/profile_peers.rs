//! `trawl profile record` beside bpftrace's own tools, in the same run in an emulated machine: xfsdist
//! (bcc's ext4dist for another file system) and syscount, and a script in the place of biolatency, which
//! traces functions that this kernel's compiler has inlined. Counts are equal, and the histograms have
//! the same shape.

use std::collections::BTreeMap;

use serde_json::Value;
use trawl_testkit::Machine;
use trawl_testkit::skip::without_program;

/// Tools of bpftrace that are compared.
const TOOLS: [&str; 2] = ["xfsdist.bt", "syscount.bt"];

/// As bcc's biolatency: from the moment when a request is given to the driver to its completion.
const REQUESTS: &str = "
tracepoint:block:block_rq_issue { @start[args->dev, args->sector] = nsecs; }
tracepoint:block:block_rq_complete /@start[args->dev, args->sector]/ {
    @usecs = hist((nsecs - @start[args->dev, args->sector]) / 1000);
    delete(@start[args->dev, args->sector]);
}
END { clear(@start); }
";

/// Works on a file system.
const WORK: &str = "
set -e
for at in 1 2 3 4 5 6; do
    dd if=/dev/zero of=/mnt/xfs/file$at bs=4096 count=100 conv=fsync 2>/dev/null
    dd if=/mnt/xfs/file$at of=/dev/null bs=4096 2>/dev/null
done
";

/// Both kinds of tools have begun when they sleep: epoll_wait(2) is system call 232, and
/// clock_nanosleep(2) 230. Trawl attaches first, since it lists a directory of each file system
/// to find the operations; then only the workload uses the file system or the disk.
const SCRIPT: &str = "
set -e
mount -t debugfs debug /sys/kernel/debug
now() { cut -d ' ' -f 1 /proc/uptime; }
sleeps() { while ! grep -q \"^$2 \" /proc/$1/syscall; do sleep 0.2; done; }
show() { sed \"s/^/$1: /\" $2; }

mkfs.xfs -q /dev/vda
mkdir -p /mnt/xfs
mount -t xfs /dev/vda /mnt/xfs
trawl profile record --all --layer file-system -r 8 -o /files & recorder=$!
sleeps $recorder 230
echo \"measured: trawl attached at $(now) s\"
bpftrace /usr/sbin/xfsdist.bt > /xfsdist 2>&1 & xfsdist=$!
bpftrace /usr/sbin/syscount.bt > /syscount 2>&1 & syscount=$!
sleeps $xfsdist 232; sleeps $syscount 232
echo \"measured: bpftrace attached at $(now) s\"
sh /work
trawl profile record --layer system-calls -o /calls -- /counted if=/dev/zero of=/dev/null count=3000
kill -INT $xfsdist $syscount
wait $xfsdist; wait $syscount
echo \"measured: bpftrace ended at $(now) s\"
kill -TERM $recorder
wait $recorder || :
echo \"measured: trawl ended at $(now) s\"
umount /mnt/xfs

trawl profile record --all --layer block -r 8 -o /blocks & recorder=$!
sleeps $recorder 230
bpftrace /requests.bt > /biolatency 2>&1 & biolatency=$!
sleeps $biolatency 232
/counted if=/dev/vdb of=/dev/null bs=65536 count=300 iflag=direct 2>/dev/null
kill -INT $biolatency
wait $biolatency
kill -TERM $recorder
wait $recorder || :
echo \"measured: blocks at $(now) s\"
for name in xfsdist syscount biolatency files calls blocks; do show $name /$name; done
";

#[test]
fn counts_and_shapes_are_those_of_bpftraces_tools() {
    let what = "recording beside bpftrace";
    let mut machine = match Machine::new(what) {
        Ok(machine) => machine,
        Err(skip) => return skip.say(),
    };
    for program in ["mkfs.xfs", "bpftrace"] {
        if let Some(skip) = without_program(what, program) {
            return skip.say();
        }
        machine.program(program);
    }
    for tool in TOOLS {
        let path = format!("/usr/sbin/{tool}");
        match std::fs::read(&path) {
            Ok(text) => machine.file(&path, &text),
            Err(error) => return trawl_testkit::Skip::new(what, format!("{path}: {error}")).say(),
        };
    }
    machine
        .program_as(env!("CARGO_BIN_EXE_trawl").as_ref(), "/usr/bin/trawl")
        .program_as(
            env!("CARGO_BIN_EXE_trawl-more").as_ref(),
            "/usr/bin/trawl-more",
        )
        .program_as("/usr/bin/dd".as_ref(), "/counted")
        .file("/work", WORK.as_bytes())
        .file("/requests.bt", REQUESTS.as_bytes())
        .modules(&["crc32c_generic", "virtio_pci", "virtio_blk", "xfs"])
        .disk(512 << 20)
        .disk(64 << 20);
    let ended = machine.run(SCRIPT);
    let console = Console(ended.console);
    for line in console.of("measured") {
        eprintln!("measured: {line}");
    }
    assert_eq!(ended.code, Some(0), "{}", console.0);
    console.compare_files();
    console.compare_calls();
    console.compare_blocks();
}

/// What the machine wrote: lines of several sources, each with its name in front.
struct Console(String);

impl Console {
    fn of(&self, name: &str) -> impl Iterator<Item = &str> {
        let begin = format!("{name}: ");
        let lines = self.0.lines();
        lines.filter_map(move |line| line.strip_prefix(&begin))
    }

    /// The operations of a recording.
    fn recorded(&self, name: &str) -> BTreeMap<String, Recorded> {
        let lines = self.of(name);
        let captures = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let capture = captures
            .into_iter()
            .find(|one| one["operations"].is_array());
        let capture = capture.unwrap_or_else(|| panic!("{name}: {}", self.0));
        let resolution = capture["resolution"].as_f64().unwrap();
        let operations = capture["operations"].as_array().unwrap().iter();
        let operation = |one: &Value| {
            let name = one["operation"].as_str().unwrap().to_owned();
            let buckets = one["histogram"]["buckets"].as_array().unwrap().iter();
            let recorded = Recorded {
                entered: one["histogram"]["entered"].as_u64().unwrap(),
                resolution,
                buckets: buckets.map(|count| count.as_u64().unwrap()).collect(),
            };
            (name, recorded)
        };
        operations.map(operation).collect()
    }

    fn compare_files(&self) {
        let ours = self.recorded("files");
        let lines: Vec<&str> = self.of("xfsdist").collect();
        for (theirs, member) in [
            ("xfs_file_read_iter", "read_iter"),
            ("xfs_file_write_iter", "write_iter"),
            ("xfs_file_open", "open"),
            ("xfs_file_fsync", "fsync"),
        ] {
            let names = [format!("xfs:{member}"), format!("xfs:{member}.{theirs}")];
            let mut found = names.iter().filter_map(|name| ours.get(name));
            let ours = found.next().unwrap_or_else(|| panic!("{member}: {ours:?}"));
            let histogram = histogram(&lines, &format!("@us[{theirs}]:"));
            same(theirs, ours, &histogram);
        }
    }

    fn compare_blocks(&self) {
        let mut ours = self.recorded("blocks");
        ours.retain(|name, _| name.ends_with(":device"));
        let all = Recorded::sum(ours.values());
        let lines: Vec<&str> = self.of("biolatency").collect();
        same("biolatency", &all, &histogram(&lines, "@usecs:"));
    }

    /// syscount counts by the name of the program. The first call, execve(2), is made under another.
    fn compare_calls(&self) {
        let ours: u64 = self.recorded("calls").values().map(|one| one.entered).sum();
        let mut lines = self.of("syscount");
        let line = lines.find_map(|line| line.strip_prefix("@process[counted]: "));
        let theirs = line.unwrap_or_else(|| panic!("{}", self.0)).trim();
        eprintln!("measured: syscount: {theirs} calls");
        assert_eq!(ours, theirs.parse::<u64>().unwrap() + 1);
    }
}

/// An operation of a recording.
#[derive(Debug)]
struct Recorded {
    entered: u64,
    resolution: f64,
    buckets: Vec<u64>,
}

impl Recorded {
    fn sum<'r>(all: impl Iterator<Item = &'r Recorded>) -> Recorded {
        let mut sum = Recorded {
            entered: 0,
            resolution: 1.0,
            buckets: Vec::new(),
        };
        for one in all {
            sum.entered += one.entered;
            sum.resolution = one.resolution;
            sum.buckets
                .resize(sum.buckets.len().max(one.buckets.len()), 0);
            for (to, from) in sum.buckets.iter_mut().zip(&one.buckets) {
                *to += from;
            }
        }
        sum
    }

    /// The number of calls with less than this latency; of the bucket around it, a part.
    fn below(&self, ns: f64) -> f64 {
        let at = ns.log2() * self.resolution;
        let counts = (0..).zip(&self.buckets);
        let part =
            |(bucket, count): (u32, &u64)| *count as f64 * (at - f64::from(bucket)).clamp(0.0, 1.0);
        counts.map(part).sum()
    }
}

/// Reads a histogram of bpftrace: for each bucket the latency at which it ends, in microseconds, and
/// its count. Lines are as `[4K, 8K)   12 |@@@   |`, `[1]   3 |` and `(..., 0)`.
fn histogram(lines: &[&str], head: &str) -> Vec<(f64, u64)> {
    let mut rest = lines.iter().skip_while(|line| line.trim() != head);
    assert!(rest.next().is_some(), "{head} is not in {lines:?}");
    let row = |line: &&str| {
        let (range, rest) = line.trim_start_matches('[').split_once([']', ')'])?;
        let count = rest.split_whitespace().next()?.parse().ok()?;
        let end = match range.split_once(", ") {
            Some((_, end)) => number(end)?,
            None => number(range)? + 1.0,
        };
        line.starts_with('[').then_some((end, count))
    };
    rest.map_while(row).collect()
}

fn number(text: &str) -> Option<f64> {
    let (digits, factor) = match text.strip_suffix(['K', 'M']) {
        Some(digits) if text.ends_with('K') => (digits, 1024.0),
        Some(digits) => (digits, 1024.0 * 1024.0),
        None => (text, 1.0),
    };
    Some(digits.parse::<f64>().ok()? * factor)
}

/// Greatest time that the tools' own probes add to a call in the emulated machine: xfsdist updates two
/// maps when a function begins, and looks three times into maps when it ends.
const PROBES_NS: f64 = 10_000.0;

/// The counts are equal, and so are the shapes where there are enough calls. Each tool measures the
/// other's probes with the call, so they are compared loosely: up to each border of bpftrace's buckets
/// lie at least as many calls as in ours up to half of it without the probes, and at most as many as up
/// to twice the latency; except for one call in fifty.
fn same(what: &str, ours: &Recorded, theirs: &[(f64, u64)]) {
    let total: u64 = theirs.iter().map(|(_, count)| count).sum();
    eprintln!("measured: {what}: {total} calls");
    assert_eq!(ours.entered, total, "{what}: {ours:?}, {theirs:?}");
    assert!(total > 0, "{what}");
    if total < 100 {
        return;
    }
    let spare = total as f64 / 50.0;
    let mut below = 0;
    for (end_us, count) in theirs {
        below += count;
        let least = ours.below((end_us * 500.0 - PROBES_NS).max(1.0));
        let most = ours.below(end_us * 2000.0);
        let range = least - spare..=most + spare;
        assert!(
            range.contains(&(below as f64)),
            "{what}: {below} below {end_us} µs, not {range:?}: {ours:?}, {theirs:?}"
        );
    }
}
