//! Packs of n-grams: whoever can open one can read each file that it has n-grams of. Both are asked
//! of the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use trawl_grams::{DocId, Identity, Pack};
use trawl_testkit::lines::{Ending, split};
use trawl_testkit::oracle::run;
use trawl_testkit::permissions::{Person, Site};
use trawl_testkit::{Scratch, oracle};

/// Prints those files of a list that the user can read.
const READABLE: &str =
    r#"while IFS= read -r -d "" f; do [ -r "$f" ] && printf '%s\0' "$f"; done < "$1"; :"#;

/// Returns the files below a directory.
fn files(top: &Path) -> Vec<PathBuf> {
    let mut find = oracle::command("find");
    let ran = run(find.arg(top).args(["-type", "f", "-print0"]));
    let names = split(&ran.stdout, Ending::Zero);
    let path = |name: &[u8]| PathBuf::from(OsStr::from_bytes(name));
    names.iter().map(|name| path(name)).collect()
}

/// Returns which of these files a user can read, by the kernel.
fn readable(person: &Person, paths: &[&PathBuf]) -> BTreeSet<PathBuf> {
    let scratch = Scratch::new("permissions-packs");
    let list = scratch.join("list");
    let mut names = Vec::new();
    for path in paths {
        names.extend_from_slice(path.as_os_str().as_bytes());
        names.push(0);
    }
    std::fs::write(&list, names).expect("room");
    let mut bash = person.identity().command("bash");
    bash.current_dir("/")
        .args(["-c", READABLE, "bash"])
        .arg(&list);
    let ran = run(&mut bash).expect_code(0);
    let names = split(&ran.stdout, Ending::Zero);
    let path = |name: &[u8]| PathBuf::from(OsStr::from_bytes(name));
    names.iter().map(|name| path(name)).collect()
}

/// Checks the packs of a tree for all users. Returns the number of documents.
pub(crate) fn check(site: &Site, people: &[Person]) -> Result<usize, String> {
    let mut packs = files(&site.index_dir());
    packs.retain(|path| path.extension().is_some_and(|ending| ending == "grams"));
    if packs.is_empty() {
        return Ok(0);
    }
    let own: Vec<PathBuf> = files(&site.root());
    let id = |path: &PathBuf| Some(Identity::of(&path.symlink_metadata().ok()?).id());
    // A file can have several names.
    let mut by_id: BTreeMap<DocId, Vec<&PathBuf>> = BTreeMap::new();
    for path in &own {
        if let Some(id) = id(path) {
            by_id.entry(id).or_default().push(path);
        }
    }
    let mut docs = 0;
    let asked: Vec<&PathBuf> = packs.iter().chain(&own).collect();
    for person in people {
        let readable = readable(person, &asked);
        for path in packs.iter().filter(|path| readable.contains(*path)) {
            let Some(pack) = File::open(path).ok().and_then(|file| Pack::open(file).ok()) else {
                continue;
            };
            docs += pack.docs().len();
            let files = pack.docs().iter().filter_map(|id| by_id.get(id));
            let is_closed =
                |names: &&Vec<&PathBuf>| !names.iter().any(|name| readable.contains(*name));
            if let Some(names) = files.into_iter().find(is_closed) {
                let pack = path.display();
                return Err(format!("{person} can open {pack}, but not read {names:?}"));
            }
        }
    }
    Ok(docs)
}
