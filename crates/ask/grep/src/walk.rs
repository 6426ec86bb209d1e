//! The regular files below directories, as names of a set. Symbolic links below a start are not
//! followed, and devices, FIFOs and sockets are left out, as by `grep -r`.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::Arc;

use trawl_call::request::Cancel;
use trawl_sets::member::Op;
use trawl_sets::{Found, Names, Problem};

use crate::covered::Covered;

/// Decides by its last component whether a file is a member, or a directory is entered.
pub type Admits = Arc<dyn Fn(&[u8], Kind) -> bool + Send + Sync>;

/// Says whether a file that was met below a directory cannot match and is left out.
pub type Skips = Arc<Covered>;

/// Kind of an entry below a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// Entries to visit, the next one last.
    waiting: Vec<(Vec<u8>, Kind)>,
    /// A problem that is due.
    problem: Option<Problem>,
    admits: Admits,
    skips: Option<Skips>,
}

impl Walk {
    /// Creates the walk. An empty start is the working directory, whose members have names without
    /// a directory.
    pub fn new(starts: impl IntoIterator<Item = Vec<u8>>, admits: Admits) -> Walk {
        Walk {
            starts: starts.into_iter().collect(),
            waiting: Vec::new(),
            problem: None,
            admits,
            skips: None,
        }
    }

    /// Leaves out files that cannot match.
    #[must_use]
    pub fn skipping(mut self, skips: Option<Skips>) -> Walk {
        self.skips = skips;
        self
    }

    /// Puts the entries of a directory on the stack. What could be read before an error is kept.
    fn enter(&mut self, directory: &[u8]) -> io::Result<()> {
        let place = match directory {
            b"" => b".",
            other => other,
        };
        let mut found = Vec::new();
        let read = std::fs::read_dir(Path::new(OsStr::from_bytes(place)));
        let listed = read.and_then(|entries| {
            for entry in entries {
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
                let is_skipped = |skips: &Skips| skips.skips(|| entry.metadata().ok());
                if kind == Kind::File && self.skips.as_ref().is_some_and(is_skipped) {
                    continue;
                }
                found.push((name, kind));
            }
            Ok(())
        });
        found.sort_by(|a, b| b.0.cmp(&a.0));
        let joined = found
            .into_iter()
            .map(|(name, kind)| (join(directory, &name), kind));
        self.waiting.extend(joined);
        listed
    }

    fn begin(&mut self, start: Vec<u8>) -> Option<Found> {
        let is_directory = start.is_empty() || Path::new(OsStr::from_bytes(&start)).is_dir();
        if is_directory {
            self.waiting.push((start, Kind::Directory));
            return None;
        }
        // One that does not exist becomes a problem when it is opened.
        Some(Found::named(start))
    }
}

fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
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
            if let Some(problem) = self.problem.take() {
                return Some(Err(problem));
            }
            match self.waiting.pop() {
                Some((name, Kind::File)) => return Some(Ok(Found::named(name))),
                Some((name, Kind::Directory)) => {
                    self.problem = self.enter(&name).err().map(|source| Problem {
                        name,
                        op: Op::Expand,
                        source,
                    });
                }
                None => {
                    let start = self.starts.pop_front()?;
                    if let Some(found) = self.begin(start) {
                        return Some(Ok(found));
                    }
                }
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
}
