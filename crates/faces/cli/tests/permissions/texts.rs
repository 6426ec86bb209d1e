//! Packs of n-grams and of keywords: whoever can open one can read each file that it has something
//! of. Both are asked of the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use trawl_grams::{Identity, Pack};
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

/// Returns the hashes of device and inode number of a pack's documents. Fails if the pack is gone,
/// because a daemon replaced it after it was listed.
fn objects(path: &Path) -> Result<Vec<u64>, String> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(format!("{} was replaced meanwhile", path.display()));
        }
        opened => opened.expect("root can read it"),
    };
    if path.extension().is_some_and(|ending| ending == "grams") {
        let pack = Pack::open(file);
        let docs = pack.map(|pack| pack.docs().iter().map(|id| id.object).collect());
        return Ok(docs.expect("a whole pack"));
    }
    let pack = trawl_keywords::Pack::open(file).expect("a whole pack");
    Ok(pack.docs().iter().map(|doc| doc.id.object).collect())
}

/// Checks the packs of a tree for all users. Returns the number of documents.
pub(crate) fn check(site: &Site, people: &[Person]) -> Result<usize, String> {
    let mut packs = files(&site.index_dir());
    packs.retain(|path| {
        let ending = path.extension().and_then(OsStr::to_str);
        matches!(ending, Some("grams" | "keywords"))
    });
    if packs.is_empty() {
        return Ok(0);
    }
    let own: Vec<PathBuf> = files(&site.root());
    let id = |path: &PathBuf| Some(Identity::of(&path.symlink_metadata().ok()?).id().object);
    // A file can have several names.
    let mut by_id: BTreeMap<u64, Vec<&PathBuf>> = BTreeMap::new();
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
            let objects = objects(path)?;
            docs += objects.len();
            let files = objects.iter().filter_map(|id| by_id.get(id));
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
