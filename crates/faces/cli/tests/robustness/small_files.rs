//! Every small file of an index whose daemon was killed, with each byte changed, cut at each
//! length, and emptied: an answer is right or an error, for root, who reads packs, and for a user,
//! who walks; and the check finds the damage.

use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use trawl_format::IndexDir;
use trawl_model::ColumnSet;
use trawl_model::guard::Credentials;
use trawl_model::rows::Row;
use trawl_model::{Gid, Uid, column::Column};
use trawl_query::{Index, Listing, Located, Request};
use trawl_sys::become_user::{User, as_user};
use trawl_testkit::daemon::Daemon;
use trawl_testkit::oracle;
use trawl_testkit::permissions::stage::cannot;
use trawl_writer::verify::{Scope, verify};

use crate::site::{Site, TRAWL, effort, files_below};

const ANN: u32 = 60_041;
/// Larger files are segments, which have tests of their own.
const SMALL_BYTES: u64 = 16 << 10;
/// Number of bytes of a file that are changed one by one; in longer files, they are spread evenly.
const EACH_BYTES: usize = 320;

/// Creates an index of a daemon that published changes beside the snapshot before it was killed.
fn killed() -> (Site, PathBuf) {
    let site = Site::new("small-files");
    let tree = site.scratch.join("tree");
    fs::create_dir_all(tree.join("dir/below")).expect("room");
    fs::write(tree.join("dir/before"), "x").expect("room");
    let tree_word = tree.to_str().expect("our own name");
    site.trawl(["index", "-q", "--keep", "3", tree_word])
        .expect_code(0);
    let mut command = oracle::command(TRAWL);
    command.arg("-i").arg(site.index());
    command.args(["watch", "--apply-after", "1h"]).arg(&tree);
    let daemon = Daemon::start(&mut command);
    fs::write(tree.join("dir/after"), "xyz").expect("room");
    fs::create_dir(tree.join("dir/below/new")).expect("room");
    fs::remove_file(tree.join("dir/before")).expect("it is there");
    let asked = site.trawl(["find", tree_word]);
    assert!(asked.text().contains("after"), "{asked}");
    drop(daemon);
    (site, tree)
}

/// Returns everything that a user is told about a tree, or the reason for an error.
fn answer(index: &Path, root: &Path, uid: u32) -> Result<Vec<String>, String> {
    let who = Credentials {
        uid: Uid(uid),
        groups: vec![Gid(uid)],
    };
    let ask = || -> Result<Vec<String>, String> {
        let index = Index::open(index, who).map_err(|error| error.to_string())?;
        let root = root.as_os_str().as_bytes();
        let located = index.locate(root).map_err(|error| error.to_string())?;
        let Located::Found(start) = located else {
            return Ok(vec![format!("{located:?}")]);
        };
        let request = Request {
            columns: ColumnSet::of(&[Column::Name, Column::Size, Column::Mode, Column::Ino]),
            ..Request::default()
        };
        let work = |listing: &Listing<'_>, lines: &mut Vec<String>| {
            for at in listing.range.clone() {
                let (batch, dir) = (listing.batch, listing.dir.path);
                let row = Row { batch, at, dir };
                let dir = String::from_utf8_lossy(dir);
                let name = String::from_utf8_lossy(row.name());
                lines.push(format!(
                    "{dir}/{name} {} {} {}",
                    row.size(),
                    row.mode(),
                    row.ino()
                ));
            }
        };
        let mut all = Vec::new();
        let take = |mut lines: Vec<String>| {
            all.append(&mut lines);
            ControlFlow::Continue(())
        };
        let walked = index.walk(&start, &request, work, take);
        walked.map_err(|error| error.to_string())?;
        Ok(all)
    };
    if uid == 0 {
        return ask();
    }
    let user = User {
        uid,
        gid: uid,
        groups: Vec::new(),
    };
    as_user(&user, ask).expect("root may")
}

/// Returns the bytes of a file, damaged in every way.
fn damaged(whole: &[u8]) -> impl Iterator<Item = (String, Vec<u8>)> {
    let step = (whole.len() / (EACH_BYTES * effort())).max(1);
    let places = (0..whole.len()).step_by(step);
    let flipped = places.clone().map(|at| {
        let mut bytes = whole.to_vec();
        bytes[at] ^= 1 << (at % 8);
        (format!("bit flipped at {at}"), bytes)
    });
    let cut = places
        .step_by(4)
        .map(|at| (format!("cut at {at}"), whole[..at].to_vec()));
    let longer = [("doubled".to_owned(), [whole, whole].concat())];
    flipped.chain(cut).chain(longer)
}

#[test]
fn damage_to_a_small_file_is_never_a_wrong_answer() {
    if cannot("damage to what a daemon published") {
        return;
    }
    let (site, tree) = killed();
    let index = site.index();
    let right = [0, ANN].map(|uid| answer(&index, &tree, uid).expect("it is whole"));
    assert!(
        right
            .iter()
            .all(|lines| lines.iter().any(|line| line.contains("after"))),
        "{right:?}"
    );
    let (mut tried, mut refused) = (0u64, BTreeSet::new());
    for file in files_below(&index) {
        let path = index.join(&file);
        let whole = fs::read(&path).expect("it is there");
        let is_lock = ["lock", "watched", "watch"]
            .iter()
            .any(|name| file.ends_with(name));
        if is_lock || whole.len() as u64 > SMALL_BYTES {
            continue;
        }
        for (what, bytes) in damaged(&whole) {
            fs::write(&path, &bytes).expect("our own");
            tried += 1;
            for (uid, right) in [0, ANN].iter().zip(&right) {
                match answer(&index, &tree, *uid) {
                    Ok(found) => assert_eq!(&found, right, "{file:?} {what}, user {uid}"),
                    Err(_) => drop(refused.insert(file.clone())),
                }
            }
            let opened = IndexDir::open(&index);
            let is_found = opened.is_err()
                || opened.is_ok_and(|index| match verify(&index, Scope::All) {
                    Ok(verified) => !verified.findings.is_empty(),
                    Err(_) => true,
                });
            assert!(is_found, "{file:?} {what}: nobody finds it");
        }
        fs::write(&path, &whole).expect("our own");
    }
    assert!(tried > 1_000, "{tried}");
    assert!(
        refused.iter().any(|file| file.ends_with("live/state")),
        "{refused:?}"
    );
    let again = [0, ANN].map(|uid| answer(&index, &tree, uid).expect("it is whole again"));
    assert_eq!(again, right);
}

#[test]
fn a_damaged_state_is_told_of_and_mended() {
    if cannot("damage to what a daemon published") {
        return;
    }
    let (site, tree) = killed();
    let tree = tree.to_str().expect("our own name");
    let source = files_below(&site.index()).into_iter();
    let mut state = source.filter(|file| file.ends_with("live/state"));
    let state = site.index().join(state.next().expect("it is there"));
    let whole = fs::read(&state).expect("it is there");
    for bytes in [&b""[..], &whole[..whole.len() / 2], b"nonsense"] {
        fs::write(&state, bytes).expect("our own");
        let told = site.trawl(["find", tree]);
        assert_eq!((told.code, told.text()), (Some(1), String::new()));
        assert!(told.errors().contains("live/state is damaged"), "{told}");
        assert!(told.errors().contains("index the source again"), "{told}");
        let found = site.trawl(["index", "--verify"]).expect_code(2);
        assert!(found.text().contains("live/state"), "{found}");
    }
    site.trawl(["index", "-q", tree]).expect_code(0);
    let mended = site.trawl(["find", tree]).expect_code(0);
    assert!(mended.text().contains("after"), "{mended}");
}
