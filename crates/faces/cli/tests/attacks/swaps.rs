//! Directories that turn into symbolic links, and back, while they are scanned: the scan neither
//! follows a link nor leaves its root.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use trawl_testkit::oracle::{Identity, run};
use trawl_testkit::permissions::stage::{MARKER, Stage};

use crate::{cannot, program};

/// Pairs of a directory and a link that exchange their places.
const PAIRS: usize = 40;
/// Number of scans during the exchanges.
const SCANS: usize = 25;

#[test]
fn a_symlink_swapped_in_under_the_scan_is_not_followed() {
    if cannot("swapping under the scan") {
        return;
    }
    let stage = Stage::unindexed(program());
    let secret = stage.scratch.join("outside");
    fs::create_dir_all(secret.join("inner")).expect("a directory");
    fs::write(secret.join(format!("inner/loot-{MARKER}")), "x").expect("a file");
    fs::write(secret.join(format!("loot-{MARKER}")), "x").expect("a file");
    for at in 0..PAIRS {
        let real = stage.path(&format!("public/d{at}"));
        fs::create_dir_all(real.join("inner")).expect("a directory");
        fs::write(real.join("inner/plain"), "x").expect("a file");
        symlink(&secret, stage.path(&format!("public/l{at}"))).expect("a link");
    }
    let (stop, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut met = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                swap_all(&stage);
                swaps.fetch_add(PAIRS, Ordering::Relaxed);
            }
        });
        for _ in 0..SCANS {
            let ran = stage.index(&[]);
            assert!(ran.code.is_some_and(|code| code < 2), "{ran}");
            let found = stage.ask(
                0,
                &[
                    "find",
                    ".",
                    "-name",
                    &format!("*{MARKER}*"),
                    "-path",
                    "*loot*",
                ],
            );
            assert_eq!(found.text(), "", "the scan went through a link");
            met += lax_walk(&stage);
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(
        swaps.load(Ordering::Relaxed) > SCANS * PAIRS,
        "too few swaps"
    );
    assert!(met > 0, "a walk by paths goes through one");
    let leaked = stage.leaks(&stage.index_dir(), 0);
    let loot = run(Identity::Ourselves
        .command("grep")
        .args(["-laF", "loot-"])
        .args(&leaked));
    assert_eq!(loot.text(), "");
}

fn swap_all(stage: &Stage) {
    for at in 0..PAIRS {
        let (one, other) = (format!("public/d{at}"), format!("public/l{at}"));
        let (one, other) = (stage.path(&one), stage.path(&other));
        renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).expect("a swap");
    }
}

/// Returns how many secrets a walk by whole paths reaches that checks first and opens afterwards.
fn lax_walk(stage: &Stage) -> usize {
    let mut met = 0;
    for at in 0..PAIRS {
        let path = stage.path(&format!("public/d{at}"));
        let is_dir = fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
        // An attacker uses the time between the check and the open.
        std::thread::yield_now();
        if is_dir && path.join(format!("loot-{MARKER}")).exists() {
            met += 1;
        }
    }
    met
}

#[test]
fn a_link_in_the_place_of_the_root_is_not_followed() {
    if cannot("a link for a root") {
        return;
    }
    let stage = Stage::unindexed(program());
    let link = stage.scratch.join("link");
    symlink("/etc", &link).expect("a link");
    stage.index(&[]).expect_code(0);
    fs::rename(stage.path(""), stage.scratch.join("away")).expect("our own");
    symlink("/etc", stage.path("")).expect("a link");
    let before = stage.ask_of(&stage.index_dir(), 0, &["sources", "--json"]);
    let _ = stage.index(&[]);
    let found = stage.ask_of(&stage.index_dir(), 0, &["sources", "--json"]);
    assert!(!found.text().contains("passwd"), "{before}{found}");
    let top = stage.path("").join("passwd");
    let names = stage.leaks(&stage.index_dir(), 0);
    assert!(!names.is_empty(), "the snapshot from before is still there");
    let index = stage.index_dir().display().to_string();
    let grep = stage.shell(
        0,
        &format!("find {index} -name '*.parquet' -exec grep -laF 'passwd' {{}} +"),
    );
    assert_eq!(grep.text(), "", "{}", top.display());
}
