//! After a right was taken away, no file of the index that others may read contains what was
//! hidden, in live or dead rows.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use trawl_testkit::Scratch;
use trawl_testkit::oracle::{Identity, run};
use trawl_testkit::skip::without_root;
use trawl_writer::live::Removal;

use crate::{Kept, fresh, now};

const ANN: u32 = 4812;
/// Few names that compress badly, so that they appear literally in files.
const NAMES: [&str; 2] = ["q7Zx0vKp2RwLbT9s", "mN4cYh8EuJd1GfWo"];

/// Whether Ann finds these bytes in a file of the index.
fn is_told(index: &Path, name: &str) -> bool {
    let mut grep = Identity::user(ANN).command("grep");
    let found = run(grep.args(["-rqF", name]).arg(index));
    assert!(found.signal.is_none());
    found.code == Some(0)
}

fn read(kept: &mut Kept, dir: &Path) {
    let applier = kept.applier.as_mut().expect("it goes on");
    let dir = dir.as_os_str().as_bytes();
    let read = applier.refresh(dir, now(), &AtomicBool::new(false));
    read.expect("it is read");
}

#[test]
fn what_was_hidden_is_in_no_file_that_others_read() {
    let name = "what_was_hidden_is_in_no_file_that_others_read";
    if let Some(skip) = without_root(name) {
        return skip.say();
    }
    let scratch = Scratch::new("apply-rights");
    let [tree, index] = ["tree", "index"].map(|name| scratch.join(name));
    let secret = tree.join("secret");
    fs::create_dir_all(&secret).expect("room");
    fs::create_dir(tree.join("open")).expect("room");
    fs::write(tree.join("open/Yb2LsE7oCq5HvXd8"), "").expect("room");
    fs::write(secret.join(NAMES[0]), "").expect("room");
    let mut kept = Kept::new(index.clone(), &tree);
    assert!(is_told(&index, NAMES[0]), "the test can fail");

    // Listed again, so that the snapshot's rows of it are dead.
    fs::write(secret.join(NAMES[1]), "").expect("room");
    read(&mut kept, &secret);
    assert!(is_told(&index, NAMES[0]) && is_told(&index, NAMES[1]));
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o700)).expect("root may");
    read(&mut kept, &secret);
    assert!(kept.applier.as_ref().expect("it goes on").must_checkpoint());
    kept.checkpoint(Removal::AtOnce);
    for name in NAMES {
        assert!(!is_told(&index, name), "{name}");
    }
    fresh::compare("a right", 0, &index, &tree);

    // Content newer than the snapshot disappears with its generation, or with the snapshot made
    // then.
    let newer = tree.join("newer");
    fs::create_dir(&newer).expect("room");
    fs::write(newer.join("wV5tXz3QaPk6BnRi"), "").expect("room");
    read(&mut kept, &newer);
    assert!(is_told(&index, "wV5tXz3QaPk6BnRi"));
    fs::set_permissions(&newer, fs::Permissions::from_mode(0o700)).expect("root may");
    read(&mut kept, &newer);
    if kept.applier.as_ref().expect("it goes on").must_checkpoint() {
        kept.checkpoint(Removal::AtOnce);
    }
    assert!(!is_told(&index, "wV5tXz3QaPk6BnRi"));
}

/// Replaces a directory by a closed one; its former content is removed or moved within the tree.
fn replace(dir: &Path, mode: u32, away: Option<&Path>) {
    match away {
        Some(away) => fs::rename(dir, away).expect("room"),
        None => fs::remove_dir_all(dir).expect("it is there"),
    }
    fs::create_dir(dir).expect("room");
    fs::set_permissions(dir, fs::Permissions::from_mode(mode)).expect("root may");
}

#[test]
fn a_closed_directory_in_the_place_of_an_open_one_hides_what_was_there() {
    let test = "a_closed_directory_in_the_place_of_an_open_one_hides_what_was_there";
    if let Some(skip) = without_root(test) {
        return skip.say();
    }
    // Whether the directory is removed in a round of its own, and whether it or one in it is
    // closed.
    for (is_apart, is_inner, is_moved) in [
        (false, false, true),
        (true, false, true),
        (false, true, true),
        (true, true, true),
        (false, false, false),
        (true, false, false),
    ] {
        let what = format!("apart {is_apart}, inner {is_inner}, moved {is_moved}");
        let scratch = Scratch::new("apply-replaced");
        let [tree, index, away] = ["tree", "index", "away"].map(|name| scratch.join(name));
        let dir = tree.join("dir");
        fs::create_dir_all(dir.join("inner")).expect("room");
        fs::create_dir(tree.join("open")).expect("room");
        fs::write(dir.join("inner").join(NAMES[0]), "").expect("room");
        let mut kept = Kept::new(index.clone(), &tree);
        assert!(is_told(&index, NAMES[0]), "the test can fail");
        if is_apart {
            match is_moved {
                true => fs::rename(&dir, &away).expect("room"),
                false => fs::remove_dir_all(&dir).expect("it is there"),
            }
            read(&mut kept, &tree);
            fs::create_dir(&dir).expect("room");
        }
        match (is_apart, is_inner) {
            (false, false) => replace(&dir, 0o700, is_moved.then_some(&away)),
            (false, true) => {
                replace(&dir, 0o755, is_moved.then_some(&away));
                fs::create_dir(dir.join("inner")).expect("room");
            }
            (true, true) => fs::create_dir(dir.join("inner")).expect("room"),
            (true, false) => {}
        }
        let closed = if is_inner { dir.join("inner") } else { dir };
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).expect("root may");
        read(&mut kept, &tree);
        if kept.applier.as_ref().expect("it goes on").must_checkpoint() {
            kept.checkpoint(Removal::AtOnce);
        }
        assert!(!is_told(&index, NAMES[0]), "{what}");
        fresh::compare(&what, 0, &index, &tree);
    }
}

/// A directory moves between two rounds: the round that finds it at its new path need not be the
/// one that learns that it left the old path. Both orders must hide it.
#[test]
fn a_directory_that_moves_between_two_rounds_leaves_what_others_read() {
    let test = "a_directory_that_moves_between_two_rounds_leaves_what_others_read";
    if let Some(skip) = without_root(test) {
        return skip.say();
    }
    for order in [["closed", "open"], ["open", "closed"]] {
        let scratch = Scratch::new("apply-moved");
        let [tree, index] = ["tree", "index"].map(|name| scratch.join(name));
        fs::create_dir_all(tree.join("open/dir/inner")).expect("room");
        fs::write(tree.join("open/dir/inner").join(NAMES[0]), "").expect("room");
        fs::create_dir(tree.join("closed")).expect("room");
        let mode = fs::Permissions::from_mode(0o700);
        fs::set_permissions(tree.join("closed"), mode).expect("root may");
        let mut kept = Kept::new(index.clone(), &tree);
        assert!(is_told(&index, NAMES[0]), "the test can fail");
        fs::rename(tree.join("open/dir"), tree.join("closed/dir")).expect("room");
        for name in order {
            read(&mut kept, &tree.join(name));
            if kept.applier.as_ref().expect("it goes on").must_checkpoint() {
                kept.checkpoint(Removal::AtOnce);
            }
        }
        assert!(!is_told(&index, NAMES[0]), "{order:?}");
        fresh::compare(&format!("{order:?}"), 0, &index, &tree);
    }
}
