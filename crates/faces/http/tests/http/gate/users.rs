//! The processes of the service: with which rights they run, and with which groups.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use trawl_testkit::oracle::{Identity, command, gnu, run};
use trawl_testkit::site::{Site, StandIn};

use super::{Settings, cannot};
use crate::client::{SERVER, wait_until};

/// Returns a line of a process's status, without its name.
#[track_caller]
fn status(process: u32, name: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.expect("a line").trim().to_owned()
}

/// Returns the numbers of all processes.
fn numbers() -> BTreeSet<u32> {
    let entries = std::fs::read_dir("/proc").expect("it is mounted");
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(|name| name.parse().ok()).collect()
}

#[test]
fn the_process_with_the_key_can_never_be_traced() {
    if cannot("a process that nobody can trace") {
        return;
    }
    let stand_in = StandIn::new("http-gate-traced", "echo '{}'");
    let settings = Settings::with(&stand_in);
    let gate = settings.start();
    // Whoever may trace a process owns its memory in /proc. Programs of the user of the front that
    // watch for the next one would see this, too.
    let is_ended = AtomicBool::new(false);
    let watch = || {
        let (before, mut seen) = (numbers(), BTreeSet::new());
        while !is_ended.load(Ordering::Relaxed) {
            for number in numbers().difference(&before) {
                let owner = std::fs::metadata(format!("/proc/{number}/mem"));
                let uid = owner.map(|owner| std::os::unix::fs::MetadataExt::uid(&owner));
                seen.extend(uid.ok().filter(|uid| *uid == 59999));
            }
        }
        seen
    };
    std::thread::scope(|scope| {
        let watched = scope.spawn(watch);
        for _ in 0..6 {
            let before = gate.those("--front");
            let [front] = before[..] else {
                panic!("{:?}", gate.processes());
            };
            run(command("kill").args(["-9", &front.to_string()])).expect_code(0);
            wait_until("no new front", || {
                let fronts = gate.those("--front");
                fronts.len() == 1 && fronts != before
            });
        }
        is_ended.store(true, Ordering::Relaxed);
        assert_eq!(watched.join().expect("no panic"), BTreeSet::new());
    });
    gate.end();
}

#[test]
fn strangers_speak_to_a_process_without_rights() {
    if cannot("the rights of the service's processes") {
        return;
    }
    let stand_in = StandIn::new("http-gate-rights", "echo '{}'");
    let settings = Settings::with(&stand_in);
    let gate = settings.start();
    let [front] = gate.those("--front")[..] else {
        panic!("{:?}", gate.processes());
    };
    let own = "59999\t59999\t59999\t59999";
    assert_eq!(status(front, "Uid:"), own);
    assert_eq!(status(front, "Gid:"), own);
    assert_eq!(status(front, "NoNewPrivs:"), "1");
    for set in ["CapPrm:", "CapEff:", "CapAmb:"] {
        assert_eq!(status(front, set).trim_start_matches('0'), "", "{set}");
    }
    // A process that its user cannot trace belongs to the superuser in /proc.
    let owner = std::fs::metadata(format!("/proc/{front}/environ")).expect("it runs");
    assert_eq!(std::os::unix::fs::MetadataExt::uid(&owner), 0);
    // A desk has the ids and exactly the groups of its user.
    let token = settings.whole_token("u60005");
    assert_eq!(gate.get(&token, "/api/v1/me").status, 200);
    let [desk] = gate.those("--desk")[..] else {
        panic!("{:?}", gate.processes());
    };
    assert_eq!(status(desk, "Uid:"), "60005\t60005\t60005\t60005");
    assert_eq!(status(desk, "Groups:"), "60005 60101 60102 60103");
    assert_eq!(status(desk, "CapEff:").trim_start_matches('0'), "");
    // Neither can reach the terminal at which the service was started.
    for process in [front, desk] {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
        let fields: Vec<&str> = stat
            .rsplit(')')
            .next()
            .expect("fields")
            .split_whitespace()
            .collect();
        let (session, terminal) = (fields[3], fields[4]);
        assert_eq!(
            (session, terminal),
            (process.to_string().as_str(), "0"),
            "{stat}"
        );
        // The keeper blocks signals for itself only.
        assert_eq!(status(process, "SigBlk:").trim_start_matches('0'), "");
        let errors = std::fs::read_link(format!("/proc/{process}/fd/2")).expect("we are root");
        assert!(errors.to_string_lossy().starts_with("pipe:"), "{errors:?}");
    }
    // Whoever may do something to the front may not ask.
    let answer = gate.get(&settings.whole_token("front"), "/api/v1/me");
    assert_eq!(answer.status, 403, "{answer:?}");
    let environment = std::fs::read(format!("/proc/{desk}/environ")).expect("we are root");
    assert_eq!(environment, b"", "nothing of the service's environment");
    // Its descriptors: standard streams, and what its runtime needs, but no listening socket and no
    // file of the service.
    let open = std::fs::read_dir(format!("/proc/{desk}/fd")).expect("we are root");
    for entry in open.filter_map(Result::ok) {
        let target = std::fs::read_link(entry.path()).unwrap_or_default();
        let text = target.to_string_lossy().into_owned();
        let is_known = ["socket:", "pipe:", "anon_inode:", "/dev/null"]
            .iter()
            .any(|known| text.starts_with(known));
        assert!(is_known, "{text}");
    }
}

#[test]
fn the_command_starts_the_service() {
    if cannot("trawl serve --http") {
        return;
    }
    let Some(site) = Site::guarded("http-gate-command", SERVER) else {
        return;
    };
    let settings = Settings::of(&site);
    let gate = settings.start_by_command(&site.trawl);
    let token = settings.whole_token("u60001");
    let answer = gate.ask(&token, "find", &json!({"paths": [site.text("open")]}));
    assert_eq!(
        answer.json()["rows"].as_array().map(Vec::len),
        Some(3),
        "{answer:?}"
    );
    gate.end();
    let mut command = site.command(&Identity::Ourselves);
    command.args(["serve", "--http", "127.0.0.1:0", "--cert", "/nowhere"]);
    let ran = trawl_testkit::oracle::run(&mut command);
    assert_eq!(ran.code, Some(2));
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(said.contains("/nowhere"), "{said}");
}

#[test]
fn groups_are_those_at_the_time_of_the_question() {
    if cannot("groups at the time of the question") {
        return;
    }
    let Some(site) = Site::guarded("http-gate-groups", SERVER) else {
        return;
    };
    // `closed` opens itself to a group.
    std::os::unix::fs::chown(site.path("closed"), Some(0), Some(60_104)).expect("our own");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o750);
    std::fs::set_permissions(site.path("closed"), mode).expect("our own");
    site.index();
    let settings = Settings::of(&site);
    let gate = settings.start();
    let token = settings.whole_token("u60001");
    let found = || {
        let answer = gate.ask(&token, "find", &json!({"paths": [site.text("")]}));
        answer.json()["rows"].as_array().expect("rows").len()
    };
    let shown = |groups: &[u32]| {
        let who = Identity::Other {
            uid: 60_001,
            gid: 60_001,
            groups: groups.to_vec(),
        };
        let ran = gnu("find", [site.text("").as_str()], &site.tree(), &who);
        ran.text().lines().count()
    };
    let (without, with) = (shown(&[]), shown(&[60_104]));
    assert!(with > without, "the group opens something");
    assert_eq!(found(), without);
    settings.change_groups(|text| {
        let lines = text.lines().filter(|line| !line.starts_with("g60104:"));
        let rest: String = lines.map(|line| format!("{line}\n")).collect();
        format!("{rest}g60104:x:60104:u60001\n")
    });
    assert_eq!(found(), with);
    settings.change_groups(|text| text.replace("g60104:x:60104:u60001", "g60104:x:60104:"));
    assert_eq!(found(), without);
}

#[test]
fn processes_that_end_are_started_again() {
    if cannot("processes of the service that end") {
        return;
    }
    let Some(site) = Site::guarded("http-gate-killed", SERVER) else {
        return;
    };
    let settings = Settings::of(&site);
    let gate = settings.start();
    let token = settings.whole_token("u60002");
    let asks = || gate.get(&token, "/api/v1/me").status;
    assert_eq!(asks(), 200);
    let kill = |process: u32| {
        let mut command = trawl_testkit::oracle::command("kill");
        let command = command.args(["-KILL", &process.to_string()]);
        trawl_testkit::oracle::run(command).expect_code(0);
        wait_until("it lives on", || !trawl_testkit::process::is_alive(process));
    };
    gate.those("--desk").into_iter().for_each(kill);
    assert_eq!(asks(), 200, "another desk is started");
    gate.those("--front").into_iter().for_each(kill);
    wait_until("no front is started", || gate.those("--front").len() == 1);
    assert_eq!(asks(), 200, "sessions and tokens hold");
    let said = gate.end();
    assert!(said.contains("another one is started"), "{said}");
}
