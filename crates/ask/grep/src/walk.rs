//! The regular files below directories, as names of a set. Symbolic links below a start are not
//! followed, and devices, FIFOs and sockets are left out, as by `grep -r`.
//!
//! Directories are listed, and their files looked at, on several threads once there are some; the
//! names come in path order in any case.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::DirEntry;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use trawl_call::request::Cancel;
use trawl_sets::member::Op;
use trawl_sets::{Found, Names, Problem};
use trawl_walk::{Output, Patience, Pool, Reader, Step, Worker};

use crate::covered::{Covered, Fate};
use crate::listed::{Item, Listed};

/// Maximum number of bytes of names that wait to be taken before helper threads pause.
const UNREAD_MAX_BYTES: usize = 4 << 20;
/// Maximum number of threads.
const THREADS_MAX: usize = 8;
/// Number of waiting directories from which on helper threads are started.
const WORTH_THREADS: usize = 8;

/// Decides by its last component whether a file is a member, or a directory is entered.
pub type Admits = Arc<dyn Fn(&[u8], Kind) -> bool + Send + Sync>;

/// Says whether a file that was met below a directory cannot match, and what becomes of it then.
pub type Skips = Arc<Covered>;

/// Returns a member that was met, by a look at it: nothing if it is left out.
pub fn met(found: Found, skips: &Option<Skips>) -> Option<Found> {
    let look = || {
        Path::new(OsStr::from_bytes(&found.name))
            .symlink_metadata()
            .ok()
    };
    match skips.as_ref().filter(|skips| skips.skips(look)) {
        None => Some(found),
        Some(skips) => match skips.fate() {
            Fate::LeftOut => None,
            Fate::Blank => Some(Found::blank(found.name)),
        },
    }
}

/// Kind of an entry below a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
}

/// The names at and below some starts: a start that is no directory is a member itself. They come
/// in path order.
pub struct Walk {
    starts: VecDeque<Vec<u8>>,
    lister: Lister,
    /// Listed files and problems that have not been returned yet, the next one first.
    listed: VecDeque<Result<Found, Problem>>,
    /// What an index has below the current start, and has not been returned yet.
    known: VecDeque<Item>,
    index: Option<Arc<Listed>>,
    /// The directories below the current start.
    // Dropped before the helpers, which it ends.
    below: Option<Reader<Lister, Arc<Pool<Lister>>>>,
    helpers: Helpers,
}

/// Lists directories.
#[derive(Clone)]
struct Lister {
    admits: Admits,
    skips: Option<Skips>,
    cancel: Cancel,
}

/// An entry that was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Met {
    File,
    /// A file that cannot match, and counts.
    Blank,
    Directory,
}

/// The threads that list directories ahead.
#[derive(Default)]
struct Helpers(Vec<JoinHandle<()>>);

impl Walk {
    /// Creates the walk. An empty start is the working directory, whose members have names without
    /// a directory.
    pub fn new(starts: impl IntoIterator<Item = Vec<u8>>, admits: Admits) -> Walk {
        Walk {
            starts: starts.into_iter().collect(),
            lister: Lister {
                admits,
                skips: None,
                cancel: Cancel::default(),
            },
            listed: VecDeque::new(),
            known: VecDeque::new(),
            index: None,
            below: None,
            helpers: Helpers::default(),
        }
    }

    /// Leaves out files that cannot match.
    #[must_use]
    pub fn skipping(mut self, skips: Option<Skips>) -> Walk {
        self.lister.skips = skips;
        self
    }

    /// Takes the files from an index where it is as of now.
    #[must_use]
    pub fn listed(mut self, index: Option<Arc<Listed>>) -> Walk {
        self.index = index;
        self
    }

    fn begin(&mut self, start: Vec<u8>, cancel: &Cancel) -> Option<Found> {
        let is_directory = start.is_empty() || Path::new(OsStr::from_bytes(&start)).is_dir();
        if !is_directory {
            // One that does not exist becomes a problem when it is opened.
            return Some(Found::named(start));
        }
        let index = self.index.as_ref();
        match index.and_then(|index| index.below(&start, &self.lister.admits, cancel)) {
            Some(known) => self.known = known,
            None => self.enter(start, cancel),
        }
        None
    }

    /// Begins to list a directory.
    fn enter(&mut self, directory: Vec<u8>, cancel: &Cancel) {
        let below = self.below.get_or_insert_with(|| {
            self.lister.cancel = cancel.clone();
            let pool = Arc::new(Pool::new(UNREAD_MAX_BYTES));
            Reader::new(pool, self.lister.clone())
        });
        below.begin([directory]);
    }

    /// Takes the next thing that the index has.
    fn take(&mut self, cancel: &Cancel) -> Option<Found> {
        match self.known.pop_front()? {
            Item::Blank(name) => Some(Found::blank(name)),
            Item::Live(directory) => {
                self.enter(directory, cancel);
                None
            }
            Item::File(name) => {
                // It may have been removed since, and something else be there.
                let looked = Path::new(OsStr::from_bytes(&name)).symlink_metadata();
                let is_gone = match looked {
                    Ok(meta) => !meta.is_file(),
                    Err(error) => error.kind() == io::ErrorKind::NotFound,
                };
                (!is_gone).then(|| Found::named(name))
            }
        }
    }

    /// Lists what comes next; false at the end of all starts that were begun.
    fn list(&mut self) -> Result<bool, Problem> {
        let Some(below) = &mut self.below else {
            return Ok(false);
        };
        let pool = below.pool();
        let (helpers, lister) = (&mut self.helpers, &self.lister);
        let step = below.next(Patience::Sleeps, |waiting| {
            if waiting >= WORTH_THREADS {
                helpers.start(&pool, lister);
            }
        });
        match step {
            Ok(Step::Part(listed)) => self.listed.extend(listed),
            Ok(Step::End | Step::Cancelled) => return Ok(false),
            Ok(Step::Entered | Step::NotReady) => {}
            Err(lost) => {
                self.below = None;
                return Err(Problem {
                    name: Vec::new(),
                    op: Op::Expand,
                    source: io::Error::other(lost),
                });
            }
        }
        Ok(true)
    }
}

impl Helpers {
    /// Starts the threads, unless they run.
    fn start(&mut self, pool: &Arc<Pool<Lister>>, lister: &Lister) {
        if !self.0.is_empty() {
            return;
        }
        for number in 1..trawl_model::sync::processors().min(THREADS_MAX) {
            let (pool, lister) = (Arc::clone(pool), lister.clone());
            let thread = std::thread::Builder::new().name(format!("list-{number}"));
            // A thread that cannot be started only makes the walk slower.
            self.0.extend(thread.spawn(move || pool.help(lister)));
        }
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        for helper in self.0.drain(..) {
            let _ = helper.join();
        }
    }
}

impl Worker for Lister {
    type Task = Vec<u8>;
    /// Files between two directories, and problems.
    type Part = Vec<Result<Found, Problem>>;

    fn run(&mut self, directory: Vec<u8>, output: &mut Output<Lister>) {
        let mut found = Vec::new();
        let mut part = Vec::new();
        if let Err(source) = self.list(&directory, &mut found) {
            part.push(Err(Problem {
                name: directory.clone(),
                op: Op::Expand,
                source,
            }));
        }
        found.sort_unstable();
        for (name, kind) in found {
            let path = join(&directory, &name);
            match kind {
                Met::File => part.push(Ok(Found::named(path))),
                Met::Blank => part.push(Ok(Found::blank(path))),
                Met::Directory => {
                    if !part.is_empty() {
                        output.put(std::mem::take(&mut part));
                    }
                    output.below(path);
                }
            }
        }
        if !part.is_empty() {
            output.put(part);
        }
    }

    fn bytes(part: &Self::Part) -> usize {
        let length = |one: &Result<Found, Problem>| one.as_ref().map_or(0, |one| one.name.len());
        part.iter().map(|one| size_of_val(one) + length(one)).sum()
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

impl Lister {
    /// Lists the files and directories of interest in a directory, also if an error ends the list.
    fn list(&self, directory: &[u8], found: &mut Vec<(Vec<u8>, Met)>) -> io::Result<()> {
        let place = match directory {
            b"" => b".",
            other => other,
        };
        for entry in std::fs::read_dir(Path::new(OsStr::from_bytes(place)))? {
            let entry = entry?;
            let kind = match entry.file_type()? {
                kind if kind.is_dir() => Kind::Directory,
                kind if kind.is_file() => Kind::File,
                _ => continue,
            };
            let name = entry.file_name().into_vec();
            if !(self.admits)(&name, kind) {
                continue;
            }
            found.extend(self.met(&entry, kind).map(|met| (name, met)));
        }
        Ok(())
    }

    /// Returns what becomes of an entry.
    fn met(&self, entry: &DirEntry, kind: Kind) -> Option<Met> {
        let is_skipped = |skips: &&Skips| skips.skips(|| entry.metadata().ok());
        match (kind, self.skips.as_ref()) {
            (Kind::Directory, _) => Some(Met::Directory),
            (Kind::File, skips) => match skips.filter(is_skipped).map(|skips| skips.fate()) {
                None => Some(Met::File),
                Some(Fate::Blank) => Some(Met::Blank),
                Some(Fate::LeftOut) => None,
            },
        }
    }
}

pub(crate) fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    match directory {
        // `-` alone means standard input.
        b"" if name == b"-" => b"./-".to_vec(),
        b"" => name.to_vec(),
        _ if directory.ends_with(b"/") => [directory, name].concat(),
        _ => [directory, b"/", name].concat(),
    }
}

impl Names for Walk {
    fn next(&mut self, cancel: &Cancel) -> Option<Result<Found, Problem>> {
        loop {
            if cancel.is_cancelled() {
                return None;
            }
            if let Some(listed) = self.listed.pop_front() {
                return Some(listed);
            }
            match self.list() {
                Ok(true) => continue,
                Ok(false) => {}
                Err(problem) => return Some(Err(problem)),
            }
            if !self.known.is_empty() {
                match self.take(cancel) {
                    None => continue,
                    found => return found.map(Ok),
                }
            }
            let start = self.starts.pop_front()?;
            if let Some(found) = self.begin(start, cancel) {
                return Some(Ok(found));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_in_path_order_and_links_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        std::fs::create_dir_all(top.join("b/c")).unwrap();
        for name in ["a", "b/c/x", "b/d", "c.skip"] {
            std::fs::write(top.join(name), name).unwrap();
        }
        std::os::unix::fs::symlink("a", top.join("link")).unwrap();
        std::os::unix::fs::symlink("..", top.join("b/loop")).unwrap();
        let start = top.as_os_str().as_bytes().to_vec();
        let admits = |name: &[u8], _: Kind| !name.ends_with(b".skip");
        let mut walk = Walk::new([start.clone()], Arc::new(admits));
        let mut names = Vec::new();
        while let Some(found) = Names::next(&mut walk, &Cancel::default()) {
            names.push(found.unwrap().name[start.len() + 1..].to_vec());
        }
        assert_eq!(names, [&b"a"[..], b"b/c/x", b"b/d"]);
    }

    /// Lists a directory after the other, on one thread.
    fn listed(directory: &Path, names: &mut Vec<std::path::PathBuf>) {
        let entries = std::fs::read_dir(directory).unwrap();
        let mut below: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        below.sort();
        for path in below {
            match path.is_dir() {
                true => listed(&path, names),
                false => names.push(path),
            }
        }
    }

    #[test]
    fn threads_do_not_change_the_order_and_problems_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..300 {
            let directory = folder
                .path()
                .join(format!("{}/{}", number % 17, number % 40));
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join(format!("{number}")), "").unwrap();
            std::fs::write(directory.with_extension("txt"), "").unwrap();
        }
        let mut expected = Vec::new();
        listed(folder.path(), &mut expected);
        let start = folder.path().as_os_str().as_bytes().to_vec();
        let missing = [&start[..], b"/gone"].concat();
        let starts = [start.clone(), missing.clone(), start];
        let mut walk = Walk::new(starts, Arc::new(|_, _| true));
        let mut names = Vec::new();
        while let Some(found) = Names::next(&mut walk, &Cancel::default()) {
            names.push(std::path::PathBuf::from(OsStr::from_bytes(
                &found.unwrap().name,
            )));
        }
        let missing = std::path::PathBuf::from(OsStr::from_bytes(&missing));
        assert_eq!(names, [&expected[..], &[missing], &expected[..]].concat());

        // Directories vanish while they wait to be listed.
        let start = folder.path().as_os_str().as_bytes().to_vec();
        let mut walk = Walk::new([start], Arc::new(|_, _| true));
        let first = Names::next(&mut walk, &Cancel::default());
        assert!(first.unwrap().is_ok());
        std::fs::remove_dir_all(folder.path().join("9")).unwrap();
        let mut seen = Vec::new();
        let mut problems = Vec::new();
        while let Some(found) = Names::next(&mut walk, &Cancel::default()) {
            match found {
                Ok(found) => seen.push(found.name),
                Err(problem) => problems.push(problem.name),
            }
        }
        let lost = folder.path().join("9");
        let is_below = |name: &[u8]| Path::new(OsStr::from_bytes(name)).starts_with(&lost);
        assert!(problems.iter().all(|name| is_below(name)), "{problems:?}");
        let is_whole = seen.iter().any(|name| is_below(name));
        assert!(is_whole || !problems.is_empty(), "lost without a word");
        let others = seen.iter().filter(|name| !is_below(name)).count();
        let expected = expected.iter().filter(|path| !path.starts_with(&lost));
        assert_eq!(others + 1, expected.count());
    }
}
