//! The regular files below a directory that an executor searches, such as one at a server, as names
//! of a set: one search, however deep the tree is.

use std::io;
use std::sync::Arc;

use trawl_call::options::{Metadata, Options, RootForm};
use trawl_call::pattern::{Language, Mode, Pattern, Period};
use trawl_call::record::{Outcome, RecordRef, Trouble};
use trawl_call::request::Cancel;
use trawl_call::{CallError, Executor, Request, Search};
use trawl_model::FileType;
use trawl_sets::member::Op;
use trawl_sets::{Found, Names, Problem};

use crate::walk::{Admits, Kind};

/// The names below a start; a start that is no directory is a member itself.
pub struct Tree {
    executor: Arc<dyn Executor>,
    start: Vec<u8>,
    admits: Admits,
    /// `None` before the first name was pulled.
    search: Option<Search>,
    is_over: bool,
}

impl Tree {
    /// Creates the names below `start`. Nothing is searched before the first is pulled.
    pub fn new(executor: Arc<dyn Executor>, start: Vec<u8>, admits: Admits) -> Tree {
        Tree {
            executor,
            start,
            admits,
            search: None,
            is_over: false,
        }
    }

    fn begin(&self, cancel: &Cancel) -> Result<Search, CallError> {
        let language = Language {
            mode: Mode::Fnmatch,
            period: Period::Ordinary,
        };
        let options = Options {
            metadata: Metadata::OfLink,
            root_form: RootForm::Included,
            ..Options::default()
        };
        let pattern = Pattern::new(b"*", language)?;
        let roots = [self.start.clone()];
        let request = Request::new(&pattern, &roots, options)?;
        Search::open(&*self.executor, request.cancelled_by(cancel.clone()))
    }

    /// Returns the member or problem of a record; `None` for what is no file to be searched.
    fn item(&self, record: RecordRef<'_>) -> Option<Result<Found, Problem>> {
        let name = record.path.to_vec();
        let is_start = name.len() <= self.start.len();
        match record.outcome {
            Outcome::Match(attributes) => {
                let is_file =
                    attributes.is_some_and(|of| FileType::from_mode(of.mode) == FileType::Regular);
                let mut found = Found::named(name);
                found.attributes = attributes;
                (is_file && self.is_admitted(&found.name)).then_some(Ok(found))
            }
            Outcome::Error(Trouble { errno, .. }) => {
                let source = io::Error::from_raw_os_error(errno);
                if is_start && source.kind() == io::ErrorKind::NotADirectory {
                    return Some(Ok(Found::named(self.start.clone())));
                }
                Some(Err(problem(name, source)))
            }
        }
    }

    /// Returns whether the file is searched and all directories between the start and it are entered.
    fn is_admitted(&self, name: &[u8]) -> bool {
        let below = name.get(self.start.len()..).unwrap_or_default();
        let mut parts = below.split(|byte| *byte == b'/').rev();
        let file = parts.next().unwrap_or_default();
        let mut directories = parts.filter(|part| !part.is_empty());
        (self.admits)(file, Kind::File)
            && directories.all(|part| (self.admits)(part, Kind::Directory))
    }

    fn failed(&mut self, error: CallError) -> Option<Result<Found, Problem>> {
        self.is_over = true;
        match error {
            CallError::Cancelled => None,
            error => Some(Err(problem(self.start.clone(), io::Error::other(error)))),
        }
    }
}

fn problem(name: Vec<u8>, source: io::Error) -> Problem {
    let op = Op::Expand;
    Problem { name, op, source }
}

impl Names for Tree {
    fn next(&mut self, cancel: &Cancel) -> Option<Result<Found, Problem>> {
        while !self.is_over {
            let mut search = match self.search.take() {
                Some(search) => search,
                None => match self.begin(cancel) {
                    Ok(search) => search,
                    Err(error) => return self.failed(error),
                },
            };
            let item = match search.next_record() {
                Ok(Some(record)) => self.item(record),
                Ok(None) => {
                    self.is_over = true;
                    None
                }
                Err(error) => return self.failed(error),
            };
            self.search = Some(search);
            if item.is_some() {
                return item;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::ffi::OsStrExt;

    use super::*;
    use trawl_call::LiveWalk;

    fn names(start: &[u8], admits: Admits) -> Vec<Vec<u8>> {
        let executor: Arc<dyn Executor> = Arc::new(LiveWalk::default());
        let mut tree = Tree::new(executor, start.to_vec(), admits);
        let mut names = Vec::new();
        while let Some(found) = Names::next(&mut tree, &Cancel::default()) {
            names.push(found.unwrap().name[start.len()..].to_vec());
        }
        names.sort();
        names
    }

    #[test]
    fn regular_files_at_all_depths_are_members_and_a_file_is_itself() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        fs::create_dir_all(top.join("b/c")).unwrap();
        fs::create_dir_all(top.join("skipped/c")).unwrap();
        for name in ["a", ".hidden", "b/c/x", "b/d", "c.skip", "skipped/c/x"] {
            fs::write(top.join(name), name).unwrap();
        }
        std::os::unix::fs::symlink("a", top.join("link")).unwrap();
        let start = top.as_os_str().as_bytes();
        let admits: Admits = Arc::new(|name, kind| match kind {
            Kind::File => !name.ends_with(b".skip"),
            Kind::Directory => name != b"skipped",
        });
        let found = names(start, Arc::clone(&admits));
        assert_eq!(found, [&b"/.hidden"[..], b"/a", b"/b/c/x", b"/b/d"]);
        let file = [start, b"/a"].concat();
        assert_eq!(names(&file, admits), [b""]);
    }
}
