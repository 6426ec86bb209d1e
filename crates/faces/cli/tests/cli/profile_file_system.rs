//! `trawl profile record --layer file-system` in an emulated machine, whose kernel lets programs trace
//! its functions: its counts against strace(1) in the same run, and what each filter leaves out.

use std::collections::BTreeMap;

use serde_json::Value;
use trawl_testkit::Machine;
use trawl_testkit::skip::without_program;

/// Makes each operation a number of times in a directory.
const WORK: &str = "
set -e
for at in 1 2 3 4 5; do
    dd if=/dev/zero of=$1/file$at bs=4096 count=3 conv=fsync 2>/dev/null
    dd if=$1/file$at of=/dev/null bs=4096 2>/dev/null
    mkdir $1/directory$at
    mv $1/file$at $1/directory$at/moved
    rm $1/directory$at/moved
    rmdir $1/directory$at
done
";

/// Works under strace while another process does the same beside it, on the same file system.
const TRACED: &str = "
set -e
: > /go
strace -f -y -o /strace sh /work /mnt/a/ours
while ! [ -e /gone ]; do sleep 0.1; done
";

/// Two file systems of one type; nothing else is mounted that holds files. Recordings that only a
/// signal ends have begun when the recorder sleeps: system call 230, clock_nanosleep(2).
const SCRIPT: &str = "
set -e
umount /tmp /run
for disk in a b; do
    mkfs.ext4 -q /dev/vd$disk
    mkdir -p /mnt/$disk
    mount -t ext4 /dev/vd$disk /mnt/$disk
    mkdir /mnt/$disk/ours /mnt/$disk/theirs
done
mount -t cgroup2 cgroup /sys/fs/cgroup
mkdir /sys/fs/cgroup/ours
now() { cut -d ' ' -f 1 /proc/uptime; }
show() {
    trawl profile report --json --least 0 /recording | sed \"s/^/recorded $1: /\"
}
begin() {
    trawl profile record --layer file-system -o /recording \"$@\" &
    recorder=$!
    while ! grep -q '^230 ' /proc/$recorder/syscall; do sleep 0.1; done
}
end() {
    kill -TERM $recorder
    wait $recorder || echo \"the recorder ended with $?\"
    show $1
    echo \"measured: $1 at $(now) s\"
}

(while ! [ -e /go ]; do sleep 0.1; done; sh /work /mnt/a/theirs; : > /gone) &
trawl profile record --layer file-system -o /recording -- sh /traced
show tree
sed 's/^/strace: /' /strace
echo \"measured: tree at $(now) s\"

begin --cgroup /sys/fs/cgroup/ours
sh /work /mnt/a/theirs
sh -c 'echo $$ > /sys/fs/cgroup/ours/cgroup.procs; exec sh /work /mnt/a/ours'
sh /work /mnt/b/theirs
end cgroup

begin --mount /mnt/b
sh /work /mnt/a/theirs
sh /work /mnt/b/ours
end mount
";

/// The members of the operation vectors that are compared, each with the system call that reaches it.
const COMPARED: [(&str, &str); 8] = [
    ("create", "openat"),
    ("write_iter", "write"),
    ("read_iter", "read"),
    ("fsync", "fsync"),
    ("mkdir", "mkdir"),
    ("rename", "rename"),
    ("unlink", "unlink"),
    ("rmdir", "rmdir"),
];

/// How often a run of [`WORK`] makes each operation: dd reads until it gets nothing.
const KNOWN: [u64; 8] = [5, 15, 20, 5, 5, 5, 5, 5];

#[test]
fn the_command_line_counts_what_strace_counts_and_nothing_of_others() {
    let what = "recording the layer file-system";
    let mut machine = match Machine::new(what) {
        Ok(machine) => machine,
        Err(skip) => return skip.say(),
    };
    for program in ["mkfs.ext4", "strace"] {
        if let Some(skip) = without_program(what, program) {
            return skip.say();
        }
        machine.program(program);
    }
    machine
        .program_as(env!("CARGO_BIN_EXE_trawl").as_ref(), "/usr/bin/trawl")
        .program_as(
            env!("CARGO_BIN_EXE_trawl-more").as_ref(),
            "/usr/bin/trawl-more",
        )
        .file("/work", WORK.as_bytes())
        .file("/traced", TRACED.as_bytes())
        .modules(&["crc32c_generic", "virtio_pci", "virtio_blk", "ext4"])
        .disk(64 << 20)
        .disk(64 << 20);
    let ended = machine.run(SCRIPT);
    let console = &ended.console;
    let told = console
        .lines()
        .filter(|line| line.starts_with("measured: "));
    told.for_each(|line| eprintln!("{line}"));
    assert_eq!(ended.code, Some(0), "{console}");

    let strace = traced(console);
    let known = COMPARED.iter().map(|(member, _)| *member).zip(KNOWN);
    let known: BTreeMap<&str, u64> = known.collect();
    assert_eq!(strace, known, "strace counts the workload's own numbers");
    for name in ["tree", "cgroup", "mount"] {
        assert_eq!(recorded(console, name), known, "{name}: {console}");
    }
}

/// Returns the compared operations of a recording. All are of the only type that is mounted, or of
/// the machine's own root, which is of none that is looked for and is no part of a mount.
fn recorded<'n>(console: &str, name: &str) -> BTreeMap<&'n str, u64> {
    let begin = format!("recorded {name}: ");
    let rows = console.lines().filter_map(|line| line.strip_prefix(&begin));
    let mut found = BTreeMap::new();
    for row in rows {
        let row: Value = serde_json::from_str(row).expect("a row in JSON");
        let operation = row["operation"].as_str().expect("a name");
        let member = operation.strip_prefix("ext4:");
        let is_of_root = operation.starts_with("other:") && name != "mount";
        assert!(member.is_some() || is_of_root, "{name}: {operation}");
        if let Some((member, _)) = COMPARED.iter().find(|(one, _)| Some(*one) == member) {
            found.insert(*member, row["entered"].as_u64().expect("a number"));
        }
    }
    found
}

/// Returns how many of strace's lines name a file of the workload, by operation.
fn traced<'n>(console: &str) -> BTreeMap<&'n str, u64> {
    let lines = console
        .lines()
        .filter_map(|line| line.strip_prefix("strace: "));
    let mut found = BTreeMap::new();
    for line in lines.filter(|line| line.contains("/mnt/a/ours/")) {
        // The number of the process comes first.
        let call = line.split_whitespace().nth(1).unwrap_or_default();
        let call = call.split('(').next().unwrap_or_default();
        let of = COMPARED.iter().find(|(_, known)| *known == call);
        if let Some((member, _)) = of
            && (call != "openat" || line.contains("O_CREAT"))
        {
            *found.entry(*member).or_insert(0) += 1;
        }
    }
    found
}
