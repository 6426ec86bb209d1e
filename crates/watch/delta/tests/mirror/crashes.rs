//! A process that dies at any point while it makes a snapshot of published generations leaves
//! either the previous snapshot or the new one, complete. The next process continues and leaves no
//! trace of the first.
//!
//! The child is this test program again, directed by environment variables.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use trawl_format::{IndexDir, Source};
use trawl_testkit::Scratch;
use trawl_testkit::crash::at_each_point;
use trawl_testkit::skip::{Skip, without_root};
use trawl_writer::live::Removal;
use trawl_writer::verify::{Scope, verify};

use crate::{Kept, fresh};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::AtomicBool;

const INDEX: &str = "TRAWL_TEST_INDEX";
const TREE: &str = "TRAWL_TEST_TREE";

/// The child's part; does nothing in an ordinary run.
#[test]
fn child() {
    let (Some(index), Some(tree)) = (std::env::var_os(INDEX), std::env::var_os(TREE)) else {
        return;
    };
    let (index, tree) = (PathBuf::from(index), PathBuf::from(tree));
    let mut kept = Kept::resumed(index, &tree);
    publish(&mut kept, &tree);
    kept.checkpoint(Removal::WhenUnread);
    // Then generations beside that snapshot.
    publish(&mut kept, &tree);
    kept.applier
        .take()
        .expect("it goes on")
        .end()
        .expect("it ends");
}

/// Publishes the changes, as if the directories were dirty.
fn publish(kept: &mut Kept, tree: &Path) {
    let applier = kept.applier.as_mut().expect("it goes on");
    let cancel = AtomicBool::new(false);
    for dir in ["b", "c"] {
        let dir = tree.join(dir);
        let dir = dir.as_os_str().as_bytes();
        applier
            .refresh(dir, crate::now(), &cancel)
            .expect("it is read");
    }
}

/// Makes directories for three kinds of users.
fn plant(tree: &Path) {
    for (at, mode) in [("a", 0o755), ("b", 0o750), ("c", 0o711)] {
        let dir = tree.join(at);
        for below in 0..4 {
            fs::create_dir_all(dir.join(format!("{below}"))).expect("room");
            fs::write(dir.join(format!("{below}/file")), at).expect("room");
        }
        fs::set_permissions(&dir, fs::Permissions::from_mode(mode)).expect("root may");
    }
}

/// Closes or removes some of the directories and files.
fn change(tree: &Path) {
    fs::set_permissions(tree.join("b"), fs::Permissions::from_mode(0o700)).expect("root may");
    fs::remove_dir_all(tree.join("b/1")).expect("it is there");
    fs::write(tree.join("c/2/new"), "new").expect("room");
    fs::set_permissions(tree.join("c/3"), fs::Permissions::from_mode(0o700)).expect("root may");
}

fn source(index: &Path, tree: &Path) -> Source {
    let index = IndexDir::open(index).expect("it opens");
    let source = index.source(tree.as_os_str().as_bytes());
    source.expect("it opens").expect("it is there")
}

/// Lists all files below `dir`, by path.
pub(crate) fn files(dir: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(dir).expect("it can be listed").flatten() {
        match entry.path().is_dir() {
            true => found.extend(files(&entry.path())),
            false => drop(found.insert(entry.path())),
        }
    }
    found
}

#[test]
fn a_crash_while_a_snapshot_is_made_leaves_the_one_before_or_the_new_one() {
    let name = "a_crash_while_a_snapshot_is_made_leaves_the_one_before_or_the_new_one";
    if !cfg!(debug_assertions) {
        return Skip::new(name, "crash points are in debug builds only").say();
    }
    if let Some(skip) = without_root(name) {
        return skip.say();
    }
    let scratch = Scratch::new("apply-crashes");
    let [tree, base, copy] = ["tree", "base", "copy"].map(|name| scratch.join(name));
    fs::create_dir(&tree).expect("room");
    plant(&tree);
    let mut kept = Kept::new(base.clone(), &tree);
    kept.applier
        .take()
        .expect("it goes on")
        .end()
        .expect("it ends");
    let before = source(&base, &tree).current_id().expect("it can be read");
    change(&tree);
    let prepare = |_| {
        let _ = fs::remove_dir_all(&copy);
        let copied = trawl_testkit::oracle::command("cp")
            .arg("-a")
            .args([&base, &copy])
            .status();
        assert!(copied.expect("cp runs").success());
        let mut child = trawl_testkit::oracle::command(std::env::current_exe().expect("we run"));
        child.args(["--exact", "crashes::child"]);
        child.env(INDEX, &copy).env(TREE, &tree);
        child
    };
    let mut made = 0;
    let crashes = at_each_point(prepare, |point, _| {
        let opened = IndexDir::open(&copy).expect("it opens");
        let found = verify(&opened, Scope::All)
            .expect("it can be read")
            .findings;
        let damage: Vec<_> = found.iter().filter(|f| f.problem.is_damage()).collect();
        assert!(damage.is_empty(), "point {point}: {damage:?}");
        let current = source(&copy, &tree).current_id().expect("it can be read");
        made += u32::from(current != before);
        if point % 4 > 0 {
            return;
        }
        // The next process continues.
        let mut kept = Kept::resumed(copy.clone(), &tree);
        publish(&mut kept, &tree);
        kept.checkpoint(Removal::WhenUnread);
        fresh::compare("after a crash", point.into(), &copy, &tree);
        kept.applier
            .take()
            .expect("it goes on")
            .end()
            .expect("it ends");
        let overlays = files(&copy).into_iter().filter(|path| {
            let ending = path.extension().and_then(|ending| ending.to_str());
            matches!(ending, Some("overlay" | "overlays" | "tmp"))
        });
        assert_eq!(
            overlays.collect::<Vec<_>>(),
            Vec::<PathBuf>::new(),
            "point {point}"
        );
    });
    assert!(crashes.points > 40 && made > 0, "{} {made}", crashes.points);
    assert_eq!(crashes.last.code, Some(0), "{}", crashes.last);
    eprintln!(
        "{} points, after {made} of them there is a new snapshot",
        crashes.points
    );
}
