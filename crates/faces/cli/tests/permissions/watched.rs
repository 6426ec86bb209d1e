//! The same trees while a daemon watches them and everything about them changes: names, places,
//! owners, modes, access lists. Every user's next answer is what the kernel shows.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, lchown};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{XattrFlags, lsetxattr};
use trawl_testkit::daemon::Daemon;
use trawl_testkit::permissions::access::Access;
use trawl_testkit::permissions::compare::Questions;
use trawl_testkit::permissions::stage::cannot;
use trawl_testkit::permissions::{Check, Plan, Site, people};
use trawl_testkit::prng::Prng;
use trawl_testkit::{Scratch, oracle};

use super::kernel::{number, possible};
use super::{alone, raw, texts};

/// Default number of trees.
const TREES: u64 = 4;
/// Start points per tree.
const STARTS: usize = 5;
/// Number of times that a tree is changed, and of changes each time.
const ROUNDS: u64 = 3;
const CHANGES: u64 = 25;

/// Longer than anything here takes on the slowest machine: what takes longer hangs. The daemon rests
/// for twenty times as long as it took to write packs, some seconds where other work has both
/// processors.
const HANGS: Duration = Duration::from_secs(1200);

/// Starts a daemon that keeps a tree's index up to date.
#[track_caller]
pub(crate) fn watching(trawl: &Path, index: &Path, root: &Path) -> Daemon {
    let mut watch = oracle::command(trawl);
    Daemon::start(watch.arg("-i").arg(index).arg("watch").arg(root))
}

/// Returns all directories of a tree, and all other entries.
fn list(root: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut dirs, mut others, mut at) = (vec![root.to_owned()], Vec::new(), 0);
    while let Some(dir) = dirs.get(at).cloned() {
        at += 1;
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            match is_dir {
                true => dirs.push(entry.path()),
                false => others.push(entry.path()),
            }
        }
    }
    (dirs, others)
}

fn dress(path: &Path, access: &Access) {
    let _ = chown(path, Some(access.uid), Some(access.gid));
    let _ = fs::set_permissions(path, Permissions::from_mode(access.mode));
    if let Some(acl) = &access.acl {
        let _ = lsetxattr(path, "system.posix_acl_access", acl, XattrFlags::empty());
    }
    if let Some(mode) = access.mode_after {
        let _ = fs::set_permissions(path, Permissions::from_mode(mode));
    }
}

/// Makes a change, if it is possible.
fn change(root: &Path, prng: &mut Prng, number: u64) {
    let (dirs, others) = list(root);
    let dir = prng.pick(&dirs).clone();
    let name = format!("new{number}");
    match prng.below(8) {
        0 | 1 => dress(&dir, &Access::folder(prng)),
        2 if dir != root => {
            let _ = fs::rename(&dir, prng.pick(&dirs).join(name));
        }
        3 => {
            let made = dir.join(name);
            if fs::create_dir(&made).is_ok() {
                let _ = fs::write(made.join("in"), "something");
                dress(&made, &Access::folder(prng));
            }
        }
        4 if dir != root && prng.once_in(3) => drop(fs::remove_dir_all(&dir)),
        5 => {
            let file = dir.join(name);
            let _ = fs::write(&file, "user's");
            let _ = lsetxattr(&file, "user.note", b"a value", XattrFlags::empty());
            dress(&file, &Access::file(prng));
        }
        _ if others.is_empty() => {}
        6 => {
            let other = prng.pick(&others).clone();
            match fs::symlink_metadata(&other).is_ok_and(|meta| meta.is_symlink()) {
                true => drop(lchown(&other, Some(prng.below(9) as u32), None)),
                false => dress(&other, &Access::file(prng)),
            }
        }
        _ => drop(fs::remove_file(prng.pick(&others))),
    }
}

/// Waits until pending scans have ended: until then questions are told that a scan is under way,
/// and get the previous state.
fn settle(site: &Site) {
    let begun = Instant::now();
    loop {
        let mut command = oracle::command(&site.trawl);
        command.arg("-i").arg(site.index_dir());
        command.args(["find", "--fresh=60s"]).arg(site.root());
        let asked = oracle::run(command.args(["-maxdepth", "0"]));
        if asked.code == Some(0) {
            return;
        }
        assert!(begun.elapsed() < HANGS, "{asked}");
    }
}

/// Waits until nobody can open n-grams of files that they may not read: packs follow rounds.
fn packs_follow(site: &Site, context: &str) {
    let begun = Instant::now();
    while let Err(why) = texts::check(site, &people::everybody()) {
        assert!(begun.elapsed() < HANGS, "{context}: {why}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn every_user_sees_what_the_kernel_shows_while_it_changes() {
    if cannot("permissions while the tree changes") {
        return;
    }
    let _alone = alone();
    let scratch = Scratch::new("permissions-watched");
    let trawl = scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    let decoder = raw::decoder("reading the files of a watched index as they are");
    let checks = possible();
    let first = number("TRAWL_SEED", 1);
    let mut rows = 0;
    for seed in first..first + number("TRAWL_WATCHED_TREES", TREES) {
        let plan = Plan::new(seed);
        if plan.is_deep {
            continue;
        }
        let site = Site::build(&plan, &trawl).expect("a tree");
        site.index_contents().expect_code(0);
        site.define().expect_code(0);
        let daemon = watching(&site.trawl, &site.index_dir(), &site.root());
        let mut prng = Prng::new(seed);
        for round in 0..ROUNDS {
            for number in 0..CHANGES {
                change(&site.root(), &mut prng, 100 * round + number);
            }
            settle(&site);
            let starts = plan.starts(STARTS);
            for person in people::everybody() {
                let questions = Questions::new(&site, &person, &starts);
                for &check in &checks {
                    if check != Check::Find && !prng.once_in(6) {
                        continue;
                    }
                    match questions.check(check) {
                        Ok(tally) => rows += tally.rows,
                        Err(why) => panic!("seed {seed}, round {round}: {why}"),
                    }
                }
            }
            packs_follow(&site, &format!("seed {seed}, round {round}"));
            if let Some(python) = &decoder {
                let what = format!("seed {seed}, round {round}");
                let places = (&*site.index_dir(), &*site.root());
                rows += raw::check_everybody(places, python, &what);
            }
        }
        drop(daemon);
    }
    assert!(rows > 1_000, "{rows}");
}
