//! Quotas, of everybody whom tests ask as, against what quotactl(2) tells that user: in an emulated
//! machine, whose kernel keeps them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};
use trawl_testkit::permissions::{Person, people};
use trawl_testkit::skip::without_program;
use trawl_testkit::{Machine, Scratch, Skip, oracle};

use super::{accounts, name_of};
use crate::assistants::ACCEPT;
use crate::client::SERVER;

/// Source of the program that asks the kernel for quotas.
const ORACLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/http/gate/quotas.c");

const URL: &str = "http://localhost/api/v1/quota?paths=/mnt/q";

const PROGRAMS: [&str; 5] = ["mkfs.ext4", "setquota", "setpriv", "curl", "cc"];

/// A file system with a file of each owner and each group, some limits, and the service.
const BEGIN: &str = r#"
set -e
ln -s /proc/self/mounts /etc/mtab
mkfs.ext4 -q -O quota,project -E quotatype=usrquota:grpquota:prjquota /dev/vda
mkdir -p /mnt/q /etc/trawl /run/service
mount -t ext4 -o usrquota,grpquota,prjquota /dev/vda /mnt/q
number=0
for owner in $OWNERS; do for group in $GROUPS; do
    number=$((number + 1))
    head -c $((number * 100)) /dev/zero > /mnt/q/file$number
    chown $owner:$group /mnt/q/file$number
done; done
setquota -u 60001 10 1000 5 5000 /mnt/q
setquota -u 60008 0 0 5 5000 /mnt/q
setquota -g 60101 1000 2000 0 0 /mnt/q
setquota -g 70003 500 600 0 0 /mnt/q
setquota -P 77 1000 2000 10 20 /mnt/q
sync
trawl-http --many --program=/usr/bin/trawl --user=front --proxy=/run/service/proxy \
    --state=/run/state --time-limit=600000 > /run/said 2>&1 &
part() { echo; echo "== $1"; shift; "$@" 2>/run/errors || { echo "code $?"; cat /run/errors; }; }
ask() {
    name=$1; shift
    curl --silent --show-error --fail-with-body --max-time 660 \
        --unix-socket /run/service/proxy -H "X-Remote-User: $name" "$@"
}
until grep -q "for proxies" /run/said; do sleep 1; done
"#;

/// Returns the questions of a user to each face and to the kernel.
fn questions(at: usize, person: &Person) -> String {
    let Person { uid, gid, .. } = person;
    let groups: Vec<String> = person.groups.iter().map(u32::to_string).collect();
    let groups = match &groups[..] {
        [] => "--clear-groups".to_owned(),
        groups => format!("--groups {}", groups.join(",")),
    };
    let as_user = format!("/usr/bin/setpriv --reuid {uid} --regid {gid} {groups} --inh-caps=-all");
    let mut script = format!(
        "part '{at} kernel' {as_user} quotas /dev/vda $IDS\n\
         part '{at} command' {as_user} trawl quota --json /mnt/q\n"
    );
    // The superuser never asks the service.
    if *uid != 0 {
        let name = name_of(person);
        let call = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "quotas", "arguments": {"paths": ["/mnt/q"]}},
        });
        script += &format!(
            "part '{at} page' ask {name} '{URL}'\n\
             part '{at} lines' ask {name} '{URL}&format=jsonl'\n\
             part '{at} tool' ask {name} -H '{ACCEPT}' --json '{call}' http://localhost/mcp\n"
        );
    }
    script
}

fn script(everybody: &[Person]) -> String {
    let words = |numbers: &BTreeSet<u32>| {
        let words: Vec<String> = numbers.iter().map(u32::to_string).collect();
        words.join(" ")
    };
    let owners: BTreeSet<u32> = people::OWNERS.iter().copied().collect();
    let groups: BTreeSet<u32> = people::GROUPS.iter().copied().collect();
    let own = everybody.iter().flat_map(|person| {
        let own = [person.uid, person.gid];
        own.into_iter().chain(person.groups.clone())
    });
    let ids: BTreeSet<u32> = own
        .chain(owners.clone())
        .chain(groups.clone())
        .chain([77])
        .collect();
    let mut script = format!(
        "OWNERS='{}'\nGROUPS='{}'\nIDS='{}'\n{BEGIN}",
        words(&owners),
        words(&groups),
        words(&ids)
    );
    for (at, person) in everybody.iter().enumerate() {
        script += &questions(at, person);
    }
    script + "part end cat /run/said\n"
}

/// A quota: kind and id; then used, soft and hard space, whether a grace period has an end, and the
/// same of inodes.
type Quota = (String, u64, [u64; 8]);

/// Reads what the kernel has told: quotas, and how many were refused.
fn told(lines: &[&str]) -> (BTreeSet<Quota>, u64) {
    let (mut quotas, mut refused) = (BTreeSet::new(), None);
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |word: &&str| word.parse::<u64>().unwrap_or_else(|_| panic!("{line}"));
        let (kind, numbers) = words.split_first().expect("a word");
        let numbers: Vec<u64> = numbers.iter().map(number).collect();
        match &numbers[..] {
            [count] if *kind == "refused" => refused = Some(*count),
            [id, rest @ ..] => {
                let mut rest: [u64; 8] = rest.try_into().unwrap_or_else(|_| panic!("{line}"));
                for end in [3, 7] {
                    rest[end] = rest[end].min(1);
                }
                quotas.insert(((*kind).to_owned(), *id, rest));
            }
            [] => panic!("{line}"),
        }
    }
    (quotas, refused.expect("the kernel was asked"))
}

fn quota(row: &Value) -> Quota {
    let number = |field: &str| row[field].as_u64().unwrap_or(0);
    let is_there = |field: &str| u64::from(row[field].is_string());
    let numbers = [
        number("used_bytes"),
        number("soft_bytes"),
        number("hard_bytes"),
        is_there("space_grace_ends"),
        number("used_inodes"),
        number("soft_inodes"),
        number("hard_inodes"),
        is_there("inodes_grace_ends"),
    ];
    assert_eq!(row["mount"], "/mnt/q", "{row}");
    let kind = row["kind"].as_str().expect("a kind");
    (kind.to_owned(), row["id"].as_u64().expect("an id"), numbers)
}

fn parsed(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// Returns the rows of a page, which must be complete.
fn page(page: &Value) -> Vec<Value> {
    assert_eq!(page["complete"], true, "{page}");
    page["rows"].as_array().expect("rows").clone()
}

/// Returns what was written for each question.
fn parts(console: &str) -> BTreeMap<&str, Vec<&str>> {
    let parts = console.split("\n== ").skip(1);
    parts
        .map(|part| {
            let mut lines = part.lines().filter(|line| !line.is_empty());
            (lines.next().unwrap_or_default(), lines.collect())
        })
        .collect()
}

#[test]
fn every_face_shows_everybody_the_quotas_that_the_kernel_shows() {
    let what = "quotas of every face against the kernel";
    if let Some(skip) = PROGRAMS.iter().find_map(|name| without_program(what, name)) {
        return skip.say();
    }
    let trawl = Path::new(SERVER).with_file_name("trawl");
    if !trawl.exists() {
        return Skip::new(what, "trawl is not built: cargo build -p trawl-cli").say();
    }
    let mut machine = match Machine::new(what) {
        Ok(machine) => machine,
        Err(skip) => return skip.say(),
    };
    let scratch = Scratch::new("http-quotas");
    let quotas = scratch.join("quotas");
    let mut compile = oracle::command("cc");
    compile.args(["-static", "-Wall", "-Wextra", "-Werror", ORACLE, "-o"]);
    oracle::run(compile.arg(&quotas)).expect_code(0);
    let (passwd, group) = accounts();
    for program in PROGRAMS.iter().filter(|name| **name != "cc") {
        machine.program(program);
    }
    machine
        .program_as(&trawl, "/usr/bin/trawl")
        .program_as(Path::new(SERVER), "/usr/bin/trawl-http")
        .program_as(&quotas, "/usr/bin/quotas")
        .file("/etc/passwd", passwd.as_bytes())
        .file("/etc/group", group.as_bytes())
        .modules(&["crc32c_generic", "virtio_pci", "virtio_blk"])
        .modules(&["quota_v2", "ext4"])
        .disk(64 << 20);
    let everybody = people::everybody();
    let ended = machine.run(&script(&everybody));
    assert_eq!(ended.code, Some(0), "{}", ended.console);
    let parts = parts(&ended.console);
    let mut seen = BTreeSet::new();
    for (at, person) in everybody.iter().enumerate() {
        let part = |name: &str| {
            let lines = &parts[format!("{at} {name}").as_str()];
            let failed = lines.iter().any(|line| line.starts_with("code "));
            assert!(!failed, "{person}, {name}: {lines:?}");
            lines
        };
        let (expected, refused) = told(part("kernel"));
        assert_eq!(refused == 0, person.uid == 0, "{person}: {refused}");
        let command: Vec<Value> = part("command").iter().map(|line| parsed(line)).collect();
        let shown: BTreeSet<Quota> = command.iter().map(quota).collect();
        assert_eq!(shown.len(), command.len(), "{person}: a row twice");
        assert_eq!(shown, expected, "{person}");
        if person.uid != 0 {
            let answer = parsed(part("page")[0]);
            assert_eq!(page(&answer), command, "{person}");
            let lines: Vec<Value> = part("lines").iter().map(|line| parsed(line)).collect();
            assert_eq!(lines, command, "{person}");
            let called = parsed(part("tool")[0]);
            assert_eq!(
                page(&called["result"]["structuredContent"]),
                command,
                "{person}"
            );
        }
        seen.insert(shown);
    }
    // Users see different quotas, and the superuser those of each kind.
    assert!(seen.len() > 8, "{seen:?}");
    let all = seen.iter().max_by_key(|quotas| quotas.len()).expect("some");
    for kind in ["user", "group", "project"] {
        assert!(
            all.iter().any(|(known, ..)| known == kind),
            "{kind}: {all:?}"
        );
    }
}
