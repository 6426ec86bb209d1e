//! Compares the index with the live walk: they give the same records in the same order.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;

use trawl_call::auto::IsFresh;
use trawl_call::index::IndexRead;
use trawl_call::options::{Flags, Options};
use trawl_call::{Auto, CallError, Cookie, Executor, Language, LiveWalk, Search, ServedBy};
use trawl_model::guard::Credentials;
use trawl_testkit::{FileSystem, LoopMount, Scratch};

use super::support::{
    as_other, index_of, index_with, lines, make, open, other, random, records, request,
    request_with, tree,
};

const PATTERNS: &[&str] = &[
    "*", "/*", "/", "/.", "a*", "*a", "/*/*", "b/*", "*/b*", "a|b", "/a/b|*?b", "nothing",
    "/.|/*/a*", "*.?",
];

fn read(index: &Path, who: Credentials) -> IndexRead {
    IndexRead::new(open(index, who), index)
}

fn compare(index: &IndexRead, flags: u32, roots: &[&Path]) {
    for pattern in PATTERNS {
        let question = || request(pattern, flags, roots);
        let live = records(&LiveWalk::default(), question());
        let indexed = records(index, question());
        assert_eq!(lines(&indexed), lines(&live), "{pattern} {flags:#x}");
        let same = |one: &trawl_call::Record, two: &trawl_call::Record| {
            without_atime(one) == without_atime(two)
        };
        assert!(
            indexed.iter().zip(&live).all(|(one, two)| same(one, two)),
            "{pattern} {flags:#x}"
        );
    }
}

/// Removes the access time: listing a directory changes it.
fn without_atime(record: &trawl_call::Record) -> trawl_call::Record {
    let mut record = record.clone();
    if let trawl_call::Outcome::Match(Some(attributes)) = &mut record.outcome {
        attributes.atime = trawl_sys::stat::Time::default();
    }
    record
}

const FLAGS: &[u32] = &[
    0,
    Flags::METADATA,
    Flags::METADATA | Flags::NOFOLLOW,
    Flags::R_OK | Flags::INCLUDEROOT,
    Flags::X_OK | Flags::METADATA | Flags::PERIOD,
    Flags::STOPATFIRST,
    Flags::STOPATFIRST | Flags::W_OK | Flags::METADATA,
    Flags::XDEV | Flags::FNMATCH,
];

#[test]
fn the_index_says_what_the_file_system_says() {
    for seed in 0..3 {
        let scratch = random(seed, 300);
        let top = scratch.join("tree");
        index_of(&top, &scratch.join("index"));
        let index = read(&scratch.join("index"), root_credentials());
        let gone = scratch.join("gone");
        for flags in FLAGS {
            compare(&index, *flags, &[&top]);
            compare(&index, *flags, &[&gone, &top, &top]);
        }
    }
}

fn root_credentials() -> Credentials {
    Credentials {
        uid: trawl_model::Uid(trawl_sys::identity::effective_uid()),
        groups: [trawl_model::Gid(trawl_sys::identity::effective_gid())]
            .into_iter()
            .collect(),
    }
}

#[test]
fn the_index_says_the_same_to_another_user() {
    if let Some(skip) = trawl_testkit::skip::without_root("an index of others' files") {
        return skip.say();
    }
    for seed in 20..24 {
        let scratch = random(seed, 300);
        let top = scratch.join("tree");
        std::fs::set_permissions(&top, PermissionsExt::from_mode(0o755)).unwrap();
        index_of(&top, &scratch.join("index"));
        as_other(|| {
            let index = read(&scratch.join("index"), other());
            FLAGS
                .iter()
                .for_each(|flags| compare(&index, *flags, &[&top]));
        });
    }
}

#[test]
fn from_every_place_the_index_gives_the_rest() {
    let tree = tree(&["a/x", "a/b/x", "a/z/x", "b/x", "c/d/x", "x"]);
    let top = tree.path();
    symlink("nowhere", top.join("a/lost")).unwrap();
    let into = Scratch::new("call-index");
    index_of(top, &into.join("index"));
    let index = read(&into.join("index"), root_credentials());
    for (pattern, flags) in [("*|/.", Flags::METADATA), ("x", 0)] {
        let roots = [top, top];
        let whole = lines(&records(&index, request(pattern, flags, &roots)));
        let mut search = Search::open(&index, request(pattern, flags, &roots)).unwrap();
        for at in 0.. {
            let cookie = Cookie::from_bytes(&search.cookie().to_bytes()).unwrap();
            // A position means the same to every executor.
            for executor in [&index as &dyn Executor, &LiveWalk::default()] {
                let request = request(pattern, flags, &roots)
                    .resume_at(cookie.clone())
                    .unwrap();
                assert_eq!(
                    lines(&records(executor, request)),
                    whole[at..],
                    "{pattern} {at}"
                );
            }
            if search.next_record().unwrap().is_none() {
                assert_eq!(at, whole.len());
                break;
            }
        }
    }
}

#[test]
fn what_is_too_deep_the_index_tells_too() {
    let tree = tree(&["a/b/x", "a/x", "c/d/x", "x", "f/x"]);
    let into = Scratch::new("call-index");
    index_of(tree.path(), &into.join("index"));
    let index = read(&into.join("index"), root_credentials());
    for max_depth in 0..4 {
        for pattern in ["x", "/*/x", "*", "/*/*/x"] {
            let options = Options {
                max_depth,
                ..Options::default()
            };
            let question = || request_with(pattern, Language::default(), options, &[tree.path()]);
            let live = lines(&records(&LiveWalk::default(), question()));
            assert_eq!(
                lines(&records(&index, question())),
                live,
                "{pattern} {max_depth}"
            );
        }
    }
}

#[test]
fn what_the_index_cannot_say_it_does_not_say() {
    let tree = tree(&["a/x"]);
    let into = Scratch::new("call-index");
    index_of(tree.path(), &into.join("index"));
    let index = read(&into.join("index"), root_credentials());
    let ask = |flags, root: &Path| Search::open(&index, request("x", flags, &[root])).map(drop);
    assert!(ask(0, tree.path()).is_ok());
    assert!(matches!(
        ask(Flags::FOLLOW, tree.path()),
        Err(CallError::NotServed { .. })
    ));
    let error = ask(0, Path::new("/")).unwrap_err();
    assert!(error.to_string().contains("not indexed"), "{error}");
}

fn served(executor: &dyn Executor, pattern: &str, root: &Path) -> (Vec<String>, Option<ServedBy>) {
    let mut search = Search::open(executor, request(pattern, 0, &[root])).unwrap();
    let mut found = Vec::new();
    while let Some(record) = search.next_record().unwrap() {
        found.push(super::support::line(&record));
    }
    (found, search.served_by())
}

#[test]
fn auto_takes_the_index_when_it_is_fresh() {
    let tree = tree(&["a/x"]);
    let into = Scratch::new("call-index");
    index_of(tree.path(), &into.join("index"));
    let index = read(&into.join("index"), root_credentials());
    let auto = |is_fresh: bool| {
        let fresh: IsFresh = Arc::new(move |_: &[u8]| is_fresh);
        Auto::new(Some((index.clone(), fresh)), LiveWalk::default())
    };
    let found = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        served(&auto(true), "x", tree.path()),
        (found(&["a/x"]), Some(ServedBy::Index))
    );
    // This change bypasses the index: it is found where the index is reported as not fresh.
    make(tree.path(), &["b/x"]);
    assert_eq!(
        served(&auto(true), "x", tree.path()),
        (found(&["a/x"]), Some(ServedBy::Index))
    );
    assert_eq!(
        served(&auto(false), "x", tree.path()),
        (found(&["a/x", "b/x"]), Some(ServedBy::Live))
    );
    // A name without wildcards is looked up in the file system.
    assert_eq!(
        served(&auto(true), "/b/x", tree.path()),
        (found(&["b/x"]), Some(ServedBy::Live))
    );
    let elsewhere = super::support::tree(&["x"]);
    assert_eq!(
        served(&auto(true), "x", elsewhere.path()),
        (found(&["x"]), Some(ServedBy::Live))
    );
    let none = Auto::new(None, LiveWalk::default());
    assert_eq!(served(&none, "x", tree.path()).1, Some(ServedBy::Live));
}

/// A bind mount inside a tree, unmounted when dropped.
struct Bound(std::path::PathBuf);

impl Bound {
    fn new(from: &Path, to: &Path) -> Bound {
        let mut command = trawl_testkit::oracle::command("mount");
        trawl_testkit::oracle::run(command.arg("--bind").args([from, to])).expect_code(0);
        Bound(to.to_owned())
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        let mut command = trawl_testkit::oracle::command("umount");
        trawl_testkit::oracle::run(command.arg(&self.0));
    }
}

#[test]
fn other_file_systems_are_walked_in_their_place() {
    let mount = match LoopMount::new(FileSystem::Ext4, 8 << 20) {
        Ok(mount) => mount,
        Err(skip) => return skip.say(),
    };
    make(&mount.path(), &["d/x", "b"]);
    let tree = tree(&["a/x", "m/hidden", "z/x", "b", "n/hidden"]);
    let top = tree.path();
    let _bound = Bound::new(&mount.path(), &top.join("m"));
    let into = Scratch::new("call-index");
    index_of(top, &into.join("index"));
    let index = read(&into.join("index"), root_credentials());
    for flags in [
        0,
        Flags::XDEV,
        Flags::STOPATFIRST,
        Flags::XDEV | Flags::R_OK,
    ] {
        compare(&index, flags, &[top]);
    }
    let ask = |pattern: &str, flags| {
        let search = Search::open(&index, request(pattern, flags, &[top]));
        search.map(drop).map_err(|error| error.to_string())
    };
    assert!(ask("x", Flags::METADATA).is_ok());
    assert!(
        ask("m", Flags::METADATA)
            .unwrap_err()
            .contains("another file system")
    );
    let _later = Bound::new(&mount.path(), &top.join("n"));
    assert!(ask("x", 0).unwrap_err().contains("mounted below it since"));
    assert!(ask("/a/*", 0).is_ok());
}

/// No daemon brings the index directory's own changes into the index.
#[test]
fn the_index_itself_is_walked_in_its_place() {
    let tree = tree(&["a/x", "z/x"]);
    let top = tree.path();
    let place = top.join("kept/index");
    std::fs::create_dir(top.join("kept")).unwrap();
    index_of(top, &place);
    make(&place, &["x"]);
    let index = read(&place, root_credentials());
    assert_eq!(
        lines(&records(&index, request("x", 0, &[top]))),
        ["a/x", "kept/index/x", "z/x"]
    );
    compare(&index, Flags::METADATA, &[&top.join("a")]);
}

#[test]
fn what_was_left_out_is_not_answered_about() {
    let tree = tree(&["a/x"]);
    for option in ["exclude", "id-map", "cross-file-systems", "from-trace"] {
        let into = Scratch::new("call-index");
        index_with(tree.path(), &into.join("index"), option);
        let index = read(&into.join("index"), root_credentials());
        let error = Search::open(&index, request("x", 0, &[tree.path()])).unwrap_err();
        assert!(matches!(error, CallError::NotServed { .. }), "{option}");
    }
}

#[test]
fn an_answer_from_the_index_can_be_cancelled_and_left() {
    let names: Vec<String> = (0..3000)
        .map(|number| format!("d{:02}/f{number}", number % 40))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let tree = tree(&names);
    let into = Scratch::new("call-index");
    index_of(tree.path(), &into.join("index"));
    let index = read(&into.join("index"), root_credentials());
    let open = || Search::open(&index, request("*", Flags::METADATA, &[tree.path(); 3])).unwrap();
    for taken in [0, 1, 3500] {
        let mut search = open();
        for _ in 0..taken {
            assert!(search.next_record().unwrap().is_some());
        }
    }
    let mut search = open();
    search.cancel().cancel();
    assert!(matches!(search.next_record(), Err(CallError::Cancelled)));
}

/// Rows behind a name barrier lie elsewhere in the index than the rows of their siblings.
#[test]
fn directories_with_barriers_in_them_are_whole() {
    if let Some(skip) = trawl_testkit::skip::without_root("directories of several users") {
        return skip.say();
    }
    let tree = tree(&["p/a", "p/c/x", "p/e", "p/g/x", "p/h"]);
    let top = tree.path();
    std::fs::set_permissions(top.join("p"), PermissionsExt::from_mode(0o711)).unwrap();
    for name in ["p/c", "p/g", "p/g/x"] {
        std::os::unix::fs::chown(top.join(name), Some(super::support::OTHER), None).unwrap();
    }
    let into = Scratch::new("call-index");
    index_of(top, &into.join("index"));
    let roots = [top, &top.join("p/g")];
    let flags = [0, Flags::METADATA, Flags::STOPATFIRST];
    let index = read(&into.join("index"), root_credentials());
    flags
        .iter()
        .for_each(|flags| compare(&index, *flags, &roots));
    as_other(|| {
        let index = read(&into.join("index"), other());
        flags
            .iter()
            .for_each(|flags| compare(&index, *flags, &roots));
    });
}
