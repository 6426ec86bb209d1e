//! Quotas: in an emulated machine, whose kernel keeps them, against repquota(8) and the rules of the
//! kernel; and where none are kept.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;
use trawl_testkit::Machine;
use trawl_testkit::skip::without_program;

use crate::site::Site;

/// Name, id and further groups of the machine's users.
const USERS: [(&str, u32, &[u32]); 4] = [
    ("ann", 1001, &[2000]),
    ("bob", 1002, &[]),
    ("cyd", 1003, &[]),
    ("dan", 1004, &[]),
];
const TEAM: u32 = 2000;
const BOSS: u32 = 4001;

const PASSWD: &str = "root:x:0:0::/:/bin/sh\nann:x:1001:1001::/:/bin/sh\nbob:x:1002:1002::/:/bin/sh\n\
                      cyd:x:1003:1003::/:/bin/sh\ndan:x:1004:1004::/:/bin/sh\n";
const GROUP: &str =
    "root:x:0:\nann:x:1001:\nbob:x:1002:\ncyd:x:1003:\ndan:x:1004:\nteam:x:2000:ann\n";

/// The machine: users write files within, beyond and up to their limits.
const SCRIPT: &str = r#"
set -e
ln -s /proc/self/mounts /etc/mtab
mkfs.ext4 -q -O quota,project -E quotatype=usrquota:grpquota:prjquota /dev/vda
mkdir -p /mnt/q /mnt/plain
mount -t ext4 -o usrquota,grpquota,prjquota /dev/vda /mnt/q
mount -t tmpfs plain /mnt/plain
chmod 1777 /mnt/q
mkdir -m 2777 /mnt/q/team
chgrp team /mnt/q/team
as() { who=$1; shift; su -s /bin/sh "$who" -c "$*"; }
setquota -u ann 100 200 5 10 /mnt/q
setquota -u bob 100 200 0 0 /mnt/q
setquota -u cyd 0 0 0 3 /mnt/q
setquota -u dan 40 400 0 0 /mnt/q
setquota -g team 0 64 0 0 /mnt/q
setquota -P 77 1000 2000 10 20 /mnt/q
setquota -u 4001 500 600 0 0 /mnt/q
# The grace period of one has ended, that of another has begun.
setquota -u -t 1 1 /mnt/q
as dan dd if=/dev/zero of=/mnt/q/dan bs=1024 count=60
sleep 2
setquota -u -t 604800 604800 /mnt/q
as ann 'for n in 1 2 3; do dd if=/dev/zero of=/mnt/q/ann$n bs=1024 count=10; done'
as ann dd if=/dev/zero of=/mnt/q/team/file bs=1024 count=56
as bob dd if=/dev/zero of=/mnt/q/bob bs=1024 count=150
as cyd 'touch /mnt/q/cyd1 /mnt/q/cyd2 /mnt/q/cyd3'
as cyd touch /mnt/q/cyd4 && exit 9
as dan touch /mnt/q/dan2 && as dan dd if=/dev/zero of=/mnt/q/dan2 bs=1024 count=8 && exit 9
sync
part() { echo; echo "== $1"; shift; "$@" 2>/errors || echo "code $?"; sed 's/^/said /' /errors; }
part users repquota -u -n -v -p -O csv /mnt/q
part groups repquota -g -n -v -p -O csv /mnt/q
part projects repquota -P -n -v -p -O csv /mnt/q
part root /trawl quota --json /mnt/q
part twice /trawl quota --json /mnt/q/team /mnt/q/ann1 /mnt/q
for who in ann bob cyd dan; do part $who as $who /trawl quota --json /mnt/q; done
part plain /trawl quota --json /mnt/plain
part text as bob /trawl quota /mnt/q
/trawl -i /tmp/index index -q /mnt/q
part indexed /trawl -i /tmp/index quota --json
part csv /trawl quota --csv /mnt/q
umount /mnt/q
mount -t ext4 -o ro /dev/vda /mnt/q
part readonly /trawl quota --json /mnt/q
echo
echo "== end"
"#;

/// A quota: kind and id; then used, soft and hard space in KiB, grace, and the same of inodes.
type Quota = ((String, u64), [u64; 8]);

/// What the machine wrote for a question: rows, and messages with the exit code.
fn parts(console: &str) -> BTreeMap<&str, (Vec<&str>, Vec<&str>)> {
    let mut parts = BTreeMap::new();
    for part in console.split("\n== ").skip(1) {
        let mut lines = part.lines();
        let name = lines.next().unwrap_or_default();
        let lines = lines.filter(|line| !line.is_empty());
        let (said, rows) =
            lines.partition(|line| line.starts_with("said ") || line.starts_with("code "));
        parts.insert(name, (rows, said));
    }
    parts
}

/// Reads what repquota(8) wrote: `#ID,state,state` and eight numbers.
fn reported(kind: &str, rows: &[&str]) -> BTreeSet<Quota> {
    let quota = |row: &&str| -> Option<Quota> {
        let id = row.strip_prefix('#')?.split(',').next()?.parse().ok()?;
        let numbers = row.split(',').skip(3);
        let numbers: Vec<u64> = numbers.map(|cell| cell.parse().unwrap_or(0)).collect();
        Some(((kind.to_owned(), id), numbers.try_into().expect("eight")))
    };
    rows.iter().filter_map(quota).collect()
}

fn row(line: &str) -> Quota {
    let row: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
    assert_eq!(row["mount"], "/mnt/q", "{line}");
    let number = |field: &str| row[field].as_u64().unwrap_or(0);
    let seconds = |field: &str| match row[field].as_str() {
        Some(time) => seconds_of(time),
        None => 0,
    };
    let kib = |field: &str| number(field).div_ceil(1024);
    let kind = row["kind"].as_str().expect("a kind").to_owned();
    let numbers = [
        kib("used_bytes"),
        kib("soft_bytes"),
        kib("hard_bytes"),
        seconds("space_grace_ends"),
        number("used_inodes"),
        number("soft_inodes"),
        number("hard_inodes"),
        seconds("inodes_grace_ends"),
    ];
    ((kind, number("id")), numbers)
}

/// Returns the seconds since 1970 of a time as `date -u` reads it.
fn seconds_of(time: &str) -> u64 {
    let ran = trawl_testkit::oracle::command("date")
        .args(["-u", "-d", time, "+%s"])
        .output();
    let text = String::from_utf8(ran.expect("date runs").stdout).expect("digits");
    text.trim().parse().expect("seconds")
}

fn rows(lines: &[&str]) -> BTreeSet<Quota> {
    let rows: BTreeSet<Quota> = lines.iter().map(|line| row(line)).collect();
    assert_eq!(rows.len(), lines.len(), "a row twice: {lines:?}");
    rows
}

fn state(lines: &[&str], id: u32, field: &str) -> String {
    let values = lines
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let mut values = values.filter(|row| row["kind"] == "user" && row["id"] == id);
    let row = values.next().expect("the user has a row");
    row[field].as_str().unwrap_or_default().to_owned()
}

#[test]
fn quotas_are_those_of_the_kernel_in_an_emulated_machine() {
    let what = "quotas of a kernel that keeps them";
    for program in ["mkfs.ext4", "setquota", "repquota"] {
        if let Some(skip) = without_program(what, program) {
            return skip.say();
        }
    }
    let mut machine = match Machine::new(what) {
        Ok(machine) => machine,
        Err(skip) => return skip.say(),
    };
    for program in ["mkfs.ext4", "setquota", "repquota"] {
        machine.program(program);
    }
    machine
        .program_as(Path::new(env!("CARGO_BIN_EXE_trawl")), "/trawl")
        .file("/etc/passwd", PASSWD.as_bytes())
        .file("/etc/group", GROUP.as_bytes())
        .modules(&["crc32c_generic", "virtio_pci", "virtio_blk"])
        .modules(&["quota_v2", "ext4"])
        .disk(64 << 20);
    let ended = machine.run(SCRIPT);
    assert_eq!(ended.code, Some(0), "{}", ended.console);
    let parts = parts(&ended.console);
    check_the_superuser(&parts);
    check_users(&parts);
    check_the_rest(&parts);
}

type Parts<'a> = BTreeMap<&'a str, (Vec<&'a str>, Vec<&'a str>)>;

/// Everything that repquota lists is there, and nothing else.
fn expected(parts: &Parts<'_>) -> BTreeSet<Quota> {
    let kinds = [
        ("user", "users"),
        ("group", "groups"),
        ("project", "projects"),
    ];
    let all = kinds.map(|(kind, part)| reported(kind, &parts[part].0));
    let uses_or_limits = |numbers: &[u64; 8]| numbers.iter().any(|number| *number != 0);
    let all = all.into_iter().flatten();
    all.filter(|(_, numbers)| uses_or_limits(numbers)).collect()
}

fn check_the_superuser(parts: &Parts<'_>) {
    let expected = expected(parts);
    for kind in ["user", "group", "project"] {
        let of_kind = expected.iter().filter(|((known, _), _)| known == kind);
        assert!(of_kind.count() > 1, "{kind}: {expected:?}");
    }
    for part in ["root", "twice", "indexed"] {
        let (lines, said) = &parts[part];
        assert_eq!(rows(lines), expected, "{part}");
        assert!(said.is_empty(), "{part}: {said:?}");
    }
    let (lines, _) = &parts["root"];
    for (id, field, value) in [
        (1001, "space_state", "within"),
        (1001, "name", "ann"),
        (1002, "space_state", "over"),
        (1003, "inodes_state", "full"),
        (1003, "space_state", "unlimited"),
        (1004, "space_state", "expired"),
        (BOSS, "name", ""),
    ] {
        assert_eq!(state(lines, id, field), value, "{id}: {field}");
    }
    let csv = &parts["csv"].0;
    assert!(csv[0].starts_with("mount,mount_raw,kind,id,"), "{csv:?}");
    assert_eq!(csv.len(), expected.len() + 1);
}

/// Each user sees their own quota, and those of their groups.
fn check_users(parts: &Parts<'_>) {
    let all = expected(parts);
    for (name, id, groups) in USERS {
        let id = u64::from(id);
        let is_own = |((kind, of), _): &&Quota| match kind.as_str() {
            "user" => *of == id,
            "group" => *of == id || groups.iter().any(|group| u64::from(*group) == *of),
            _ => false,
        };
        let own: BTreeSet<Quota> = all.iter().filter(is_own).cloned().collect();
        let (lines, said) = &parts[name];
        assert_eq!(rows(lines), own, "{name}");
        assert!(said.is_empty(), "{name}: {said:?}");
    }
    let mut team = parts["ann"].0.iter().map(|line| row(line).0);
    let team = ("group".to_owned(), u64::from(TEAM)) == team.next_back().expect("rows");
    assert!(team, "ann is in a group with a quota");
}

fn check_the_rest(parts: &Parts<'_>) {
    let (lines, said) = &parts["plain"];
    assert!(lines.is_empty(), "{lines:?}");
    assert!(
        said.iter().all(|line| !line.starts_with("code")),
        "{said:?}"
    );
    assert!(said[0].contains("/mnt/plain keeps no quotas"), "{said:?}");
    let (lines, said) = &parts["text"];
    assert_eq!(lines[0], "users of /mnt/q");
    assert!(lines[2].starts_with("bob   150K  100K  200K"), "{lines:?}");
    assert!(
        lines[2].contains("over the soft limit until 20"),
        "{lines:?}"
    );
    assert!(said.is_empty(), "{said:?}");
    // A file system that is only read keeps no account.
    let (lines, said) = &parts["readonly"];
    assert!(lines.is_empty(), "{lines:?}");
    assert!(said[0].contains("/mnt/q keeps no quotas"), "{said:?}");
}

#[test]
fn where_no_quotas_are_kept_the_answer_is_empty_and_the_reason_said() {
    if !trawl_sys::quota::is_supported() {
        let why = "the kernel has no quotactl_fd, or it is not allowed here";
        trawl_testkit::Skip::new("file systems without quotas", why).say();
        return;
    }
    let site = Site::empty("quota-none");
    let ran = site.run("quota --json /proc");
    let ran = ran.expect_code(0);
    assert_eq!(ran.text(), "");
    assert!(ran.errors().contains("/proc keeps no quotas"), "{ran}");
    let ran = site.run("quota /proc/nowhere");
    let ran = ran.expect_code(1);
    assert!(
        ran.errors()
            .contains("cannot reach /proc/nowhere: no such file or directory"),
        "{ran}"
    );
    let ran = site.run("quota --at -1 /proc");
    let ran = ran.expect_code(2);
    assert!(ran.errors().contains("--at"), "{ran}");
    let ran = site.run("quota --csv /proc");
    assert!(ran.text().starts_with("mount,mount_raw,kind,id,"), "{ran}");
}
