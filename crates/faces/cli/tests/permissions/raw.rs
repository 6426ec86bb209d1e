//! The index's files, read by users who know the path of each of them: without our reader, and so
//! without anything that it might leave out. Every row of every file that the kernel lets a user
//! open must belong to an object that the kernel shows them on the source, by its full path.
//!
//! A Parquet reader that is not ours decodes the files (`raw.py`, with pyarrow).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::UNIX_EPOCH;

use trawl_sys::become_user::{User, as_user};
use trawl_testkit::Scratch;
use trawl_testkit::oracle;
use trawl_testkit::permissions::stage::{ALICE, MALLORY, Stage, cannot};
use trawl_testkit::permissions::{Person, Plan, Site, people};

use super::kernel::number;

/// Default number of trees.
const TREES: u64 = 8;
/// Script that decodes all tables.
const DECODER: &str = include_str!("raw.py");

/// A fact in a file of the index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fact {
    /// Row of an entry: the results of lstat(2) and readlink(2).
    Entry(PathBuf),
    /// Row of a directory: sums over its content.
    Listing(PathBuf),
    /// Value of an extended attribute.
    Value(PathBuf, Vec<u8>),
}

/// Returns Python with pyarrow, if `make test` could install it.
fn python() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let python = cache.or_else(home)?.join("trawl/tools/python/bin/python");
    let mut asks = oracle::command(&python);
    let ran = python
        .exists()
        .then(|| oracle::run(asks.args(["-c", "import pyarrow.parquet"])));
    ran.filter(|ran| ran.code == Some(0)).map(|_| python)
}

/// Returns Python for [`check_everybody`]; without it or without root, reports what is skipped.
pub(super) fn decoder(what: &str) -> Option<PathBuf> {
    if cannot(what) {
        return None;
    }
    let python = python();
    if python.is_none() {
        eprintln!("skipped, because {what} needs Python with pyarrow");
    }
    python
}

/// Returns all regular files below a directory.
fn files_below(top: &Path) -> Vec<PathBuf> {
    let (mut files, mut dirs) = (Vec::new(), vec![top.to_owned()]);
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).expect("root may").flatten() {
            let kind = entry.file_type().expect("root may");
            match kind.is_dir() {
                true => dirs.push(entry.path()),
                false if kind.is_file() => files.push(entry.path()),
                false => {}
            }
        }
    }
    files
}

/// Returns the facts in each table of the index, decoded by a reader that is not ours. Directories
/// that were moved have their present paths.
fn facts_of(index: &Path, python: &Path, present: &Present) -> BTreeMap<PathBuf, BTreeSet<Fact>> {
    let mut facts: BTreeMap<PathBuf, BTreeSet<Fact>> = BTreeMap::new();
    let mut asks = oracle::command(python);
    asks.args(["-c", DECODER])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = asks.spawn().expect("it starts");
    let mut names = Vec::new();
    for file in files_below(index) {
        if file.extension().is_some_and(|end| end == "parquet") {
            names.extend_from_slice(file.as_os_str().as_bytes());
            names.push(0);
        }
    }
    let mut input = child.stdin.take().expect("a pipe");
    input
        .write_all(&names)
        .expect("it reads all before it writes");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "the decoder failed");
    let fields: Vec<&[u8]> = output.stdout.split(|byte| *byte == 0).collect();
    let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
    for row in fields.chunks_exact(6) {
        let dir = present.path_of(path(row[2]), row[5]);
        let at = match row[3] {
            b"" => dir,
            name => dir.join(path(name)),
        };
        let fact = match row[1] {
            b"entry" => Fact::Entry(at),
            b"listing" => Fact::Listing(at),
            b"value" => Fact::Value(at, row[4].to_vec()),
            other => panic!("{}", String::from_utf8_lossy(other)),
        };
        facts.entry(path(row[0])).or_default().insert(fact);
    }
    facts
}

/// Present paths of directories, by what `raw.py` prints to identify them: their numbers and times
/// of creation.
#[derive(Default)]
pub(super) struct Present(BTreeMap<Vec<u8>, Vec<PathBuf>>);

impl Present {
    /// Returns the directories of a tree.
    pub(super) fn of(root: &Path) -> Present {
        let (mut present, mut dirs) = (Present::default(), vec![root.to_owned()]);
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    dirs.push(entry.path());
                }
            }
            if let Some(which) = which(&dir) {
                present.0.entry(which).or_default().push(dir);
            }
        }
        present
    }

    /// Returns the present path of the directory that was at `path`, if the directory is identified
    /// and exists.
    fn path_of(&self, path: PathBuf, which: &[u8]) -> PathBuf {
        match self.0.get(which) {
            Some(paths) if !paths.contains(&path) => paths.first().cloned().unwrap_or(path),
            _ => path,
        }
    }
}

fn which(dir: &Path) -> Option<Vec<u8>> {
    let meta = fs::symlink_metadata(dir).ok()?;
    let born = meta.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{} {}", meta.ino(), born.as_nanos()).into_bytes())
}

/// Returns true if the kernel shows this thread's user the fact on the source. The kernel cannot be
/// asked about objects that no longer exist; `root_sees` reports those.
fn is_shown(fact: &Fact) -> bool {
    match fact {
        Fact::Entry(path) => {
            fs::symlink_metadata(path).is_ok()
                || path.parent().is_some_and(|parent| {
                    let mut names = fs::read_dir(parent).into_iter().flatten().flatten();
                    names.any(|entry| Some(entry.file_name().as_os_str()) == path.file_name())
                })
        }
        Fact::Listing(path) => fs::read_dir(path).is_ok() && path.join(".").exists(),
        Fact::Value(path, name) => {
            let name = OsStr::from_bytes(name);
            rustix::fs::lgetxattr(path, name, &mut [0u8; 1 << 16][..]).is_ok()
        }
    }
}

/// Returns the files of the index that a person can open by path, with the facts in them that the
/// kernel hides from that person.
fn betrayed(
    person: &Person,
    files: &BTreeMap<PathBuf, BTreeSet<Fact>>,
) -> (usize, Vec<(PathBuf, Fact)>) {
    let user = User {
        uid: person.uid,
        gid: person.gid,
        groups: person.groups.clone(),
    };
    let look = || {
        let open = files.iter().filter(|(file, _)| File::open(file).is_ok());
        let (mut read, mut found) = (0, Vec::new());
        for (file, facts) in open {
            read += facts.len();
            let hidden = facts.iter().filter(|fact| !is_shown(fact));
            found.extend(hidden.map(|fact| (file.clone(), fact.clone())));
        }
        (read, found)
    };
    as_user(&user, look).expect("root may")
}

/// Removes facts about objects that no longer exist on the source, about which nobody can be asked.
fn of_now(facts: BTreeMap<PathBuf, BTreeSet<Fact>>) -> BTreeMap<PathBuf, BTreeSet<Fact>> {
    let still_is = |(file, mut facts): (PathBuf, BTreeSet<Fact>)| {
        facts.retain(is_shown);
        (file, facts)
    };
    facts.into_iter().map(still_is).collect()
}

/// Checks everybody; returns the number of rows that could be read and were checked.
#[track_caller]
pub(super) fn check_everybody((index, root): (&Path, &Path), python: &Path, what: &str) -> usize {
    let files = of_now(facts_of(index, python, &Present::of(root)));
    let mut checked = 0;
    for person in people::everybody().iter().filter(|person| person.uid != 0) {
        let (read, found) = betrayed(person, &files);
        assert!(
            found.is_empty(),
            "{what}, {person}: {} rows, {:?}",
            found.len(),
            &found[..found.len().min(5)]
        );
        checked += read;
    }
    checked
}

#[test]
fn no_file_that_a_user_can_open_tells_more_than_the_kernel() {
    let Some(python) = decoder("reading the index's files as they are") else {
        return;
    };
    let scratch = Scratch::new("permissions-raw");
    let trawl = scratch.install(Path::new(env!("CARGO_BIN_EXE_trawl")));
    let first = number("TRAWL_SEED", 1);
    let mut checked = 0;
    for seed in first..first + number("TRAWL_RAW_TREES", TREES) {
        let plan = Plan::new(seed);
        // Its paths are longer than a system call accepts.
        if plan.is_deep {
            continue;
        }
        let site = Site::build(&plan, &trawl).expect("a tree");
        for time in ["indexed", "indexed again"] {
            site.index().expect_code(0);
            let places = (&*site.index_dir(), &*site.root());
            checked += check_everybody(places, &python, &format!("seed {seed}, {time}"));
        }
    }
    assert!(checked > 1_000, "{checked}");
}

/// The check finds the facts that a careless build discloses, and each user reads what they may
/// see.
#[test]
fn the_check_finds_an_index_that_is_open_to_all() {
    let Some(python) = decoder("the check of the index's files itself") else {
        return;
    };
    let stage = Stage::new(Path::new(env!("CARGO_BIN_EXE_trawl")));
    let person = |uid| Person {
        uid,
        gid: uid,
        groups: Vec::new(),
    };
    let (closed, lax) = (stage.index_dir(), stage.lax());
    let of = |index: &Path, uid| {
        betrayed(
            &person(uid),
            &of_now(facts_of(index, &python, &Present::default())),
        )
    };
    let (mallory, alice) = (of(&closed, MALLORY), of(&closed, ALICE));
    assert_eq!((mallory.1, alice.1), (Vec::new(), Vec::new()));
    assert!(
        alice.0 > mallory.0 && mallory.0 > 0,
        "{} {}",
        alice.0,
        mallory.0
    );
    let found = of(&lax, MALLORY).1;
    let tells = |wanted: fn(&Fact) -> bool| found.iter().any(|(_, fact)| wanted(fact));
    assert!(tells(|fact| matches!(fact, Fact::Entry(_))), "{found:?}");
    assert!(tells(|fact| matches!(fact, Fact::Listing(_))), "{found:?}");
    assert!(tells(|fact| matches!(fact, Fact::Value(..))), "{found:?}");
}
