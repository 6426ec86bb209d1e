//! A daemon that finds an existing index finds out what changed since, in the cheapest way that the
//! file system offers, and reports how. It scans where the file system cannot tell.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use trawl_testkit::{FileSystem, oracle};

use crate::watch::{Watched, change};

const LONG: Duration = Duration::from_secs(60);

fn status(watched: &Watched) -> Value {
    let status = watched.trawl(&["watch", "--status", "--json"]).text();
    serde_json::from_str(&status).expect("an object")
}

/// Returns the daemon's state once it trusts the index.
fn settled(watched: &Watched) -> Value {
    let begun = Instant::now();
    loop {
        let status = status(watched);
        if status["state"] == "watching" {
            return status;
        }
        assert!(begun.elapsed() < LONG, "{status}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Creates files that nobody touches, so that changes are only a small part.
fn plant(root: &Path) {
    for dir in 0..20 {
        let dir = root.join(format!("calm-{dir}"));
        fs::create_dir(&dir).expect("room");
        for file in 0..20 {
            fs::write(dir.join(format!("{file}")), "calm").expect("room");
        }
    }
}

/// Makes more changes, which no listing shows.
fn change_more(root: &Path, round: usize) {
    let calm = |file: usize| root.join(format!("calm-{}/{file}", round % 20));
    fs::set_permissions(calm(1), fs::Permissions::from_mode(0o604)).expect("root may");
    fs::write(calm(2), "longer than before").expect("room");
    fs::write(calm(3), "same").expect("room");
    fs::remove_file(calm(4)).expect("it is there");
    fs::rename(calm(5), calm(6)).expect("they are there");
}

#[track_caller]
fn check(watched: &Watched, method: &str) {
    let status = settled(watched);
    assert_eq!(status["recovery"], method, "{status}");
    assert_eq!(status["rescans_total"], 0, "{status}");
    assert_eq!(status["catch_ups_total"], 1, "{status}");
    assert_ne!(status["recovery_dirty"], 0, "{status}");
    watched.compare();
}

fn is_found_by(kind: FileSystem, size_bytes: u64, method: &str) {
    let Some(mut watched) = Watched::on(kind, size_bytes) else {
        return;
    };
    let root = watched.root();
    plant(&root);
    watched.start(|_| {});
    change(&root, 0);
    watched.compare();
    // Killed with changes beside the snapshot, which are lost with it.
    change(&root, 1);
    watched.compare();
    assert_eq!(watched.end("-KILL"), None);
    change(&root, 2);
    change_more(&root, 1);
    watched.start(|_| {});
    check(&watched, method);
    // Ended properly: there is a snapshot of everything.
    change(&root, 3);
    watched.end("-TERM");
    change(&root, 4);
    change_more(&root, 2);
    watched.start(|_| {});
    check(&watched, method);
    let mut command = watched.program();
    let words = ["watch", "--status", "--prometheus"];
    let ran = oracle::run(command.args(words).arg(&root));
    let told = String::from_utf8_lossy(&ran.stdout).into_owned();
    let line = format!("recovery=\"{method}\"}} 1");
    assert!(told.contains(&line), "{told}");
    oracle::run(watched.program().arg("verify")).expect_code(0);
}

#[test]
fn what_changed_meanwhile_is_found_by_times() {
    is_found_by(FileSystem::Ext4, 64 << 20, "times");
}

#[test]
fn what_changed_meanwhile_is_found_by_inodes() {
    is_found_by(FileSystem::Xfs, 320 << 20, "inodes");
}

#[test]
fn what_changed_meanwhile_is_found_by_transactions() {
    is_found_by(FileSystem::Btrfs, 256 << 20, "transactions");
}

/// After the file system was mounted again, earlier and later changes are found, by a scan if the
/// device has another number now.
#[test]
fn what_changed_around_a_mount_is_found() {
    let kinds = [
        (FileSystem::Ext4, 64 << 20, "times"),
        (FileSystem::Xfs, 320 << 20, "inodes"),
        (FileSystem::Btrfs, 256 << 20, "transactions"),
    ];
    for (kind, size_bytes, method) in kinds {
        let Some(mut watched) = Watched::on(kind, size_bytes) else {
            continue;
        };
        let root = watched.root();
        plant(&root);
        watched.start(|_| {});
        change(&root, 0);
        watched.compare();
        watched.end("-KILL");
        change(&root, 1);
        change_more(&root, 1);
        let device = fs::metadata(&root).expect("it is there").dev();
        if let Err(skip) = watched.mount_again() {
            return skip.say();
        }
        change(&root, 2);
        change_more(&root, 2);
        watched.start(|_| {});
        let status = settled(&watched);
        let same = fs::metadata(&root).expect("it is there").dev() == device;
        let expected = if same { method } else { "scan" };
        assert_eq!(status["recovery"], expected, "{kind}: {status}");
        watched.compare();
    }
}

#[test]
fn where_nobody_can_tell_all_is_scanned_and_why_is_said() {
    let Some(mut watched) = Watched::new() else {
        return;
    };
    let root = watched.root();
    plant(&root);
    watched.trawl(&["index"]).expect_code(0);
    change(&root, 0);
    watched.start(|command| {
        command.args(["--exclude", "calm-7"]);
    });
    let status = settled(&watched);
    assert_eq!(status["recovery"], "scan", "{status}");
    let why = status["recovery_why"].as_str().unwrap_or_default();
    assert!(why.contains("other options"), "{status}");
    assert_eq!(status["rescans_total"], 1, "{status}");
    watched.end("-TERM");
    // With the same options again, no scan is needed.
    watched.start(|_| {});
    let status = settled(&watched);
    assert_eq!(status["recovery"], "times", "{status}");
}

/// An index made by `trawl index` names no transaction: times decide, and that is reported.
#[test]
fn an_index_without_a_transaction_is_brought_up_to_date_by_times() {
    let Some(mut watched) = Watched::on(FileSystem::Btrfs, 256 << 20) else {
        return;
    };
    let root = watched.root();
    plant(&root);
    watched.trawl(&["index"]).expect_code(0);
    change(&root, 0);
    change_more(&root, 3);
    watched.start(|_| {});
    check(&watched, "times");
    let status = status(&watched);
    let why = status["recovery_why"].as_str().unwrap_or_default();
    assert!(why.contains("no transaction"), "{status}");
}
