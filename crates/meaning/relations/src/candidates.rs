//! Files that may refer to a file, or have its content: the regular files below some directories.
//! Symbolic links are not followed. The number is bounded.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use trawl_text::words::{cause, shown};

/// Maximum number of files that are looked at.
pub const FILES_MAX: usize = 200_000;

/// A regular file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its path.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Device and inode number.
    pub identity: (u64, u64),
}

/// Files, and what could not be looked at.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    /// The files, by path.
    pub files: Vec<Candidate>,
    /// Messages about what is missing.
    pub issues: Vec<String>,
}

/// Returns the regular files below directories, which the asking user can list.
#[must_use]
pub fn below(directories: &[PathBuf]) -> Candidates {
    let mut all = Candidates::default();
    let mut left: Vec<PathBuf> = directories.to_vec();
    while let Some(directory) = left.pop() {
        if let Err(error) = list(&directory, &mut left, &mut all) {
            let directory = name(&directory);
            let why = cause(&error);
            all.issues.push(format!("cannot list {directory}: {why}"));
        }
        if all.files.len() > FILES_MAX {
            all.files.truncate(FILES_MAX);
            let why = format!("only the first {FILES_MAX} files were looked at; use --in");
            all.issues.push(why);
            break;
        }
    }
    all.files.sort_by(|a, b| a.path.cmp(&b.path));
    all.files.dedup_by(|a, b| a.path == b.path);
    all
}

pub(crate) fn name(path: &Path) -> String {
    shown(path.as_os_str().as_encoded_bytes())
}

fn list(directory: &Path, left: &mut Vec<PathBuf>, all: &mut Candidates) -> io::Result<()> {
    let mut unseen = None;
    let mut ended = Ok(());
    for entry in fs::read_dir(directory)? {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                ended = Err(error);
                break;
            }
        };
        let found = match entry.metadata() {
            Ok(found) => found,
            Err(error) => {
                // A file that is gone meanwhile is not missing.
                if error.kind() != ErrorKind::NotFound {
                    unseen = Some(error);
                }
                continue;
            }
        };
        if found.is_dir() {
            left.push(entry.path());
        } else if found.is_file() {
            all.files.push(Candidate {
                path: entry.path(),
                size_bytes: found.len(),
                identity: (found.dev(), found.ino()),
            });
        }
    }
    // One message stands for all files of a directory that can be listed, but not searched.
    if let Some(error) = unseen {
        let (directory, why) = (name(directory), cause(&error));
        let advice = match error.kind() {
            ErrorKind::PermissionDenied => "; check its permissions",
            _ => "",
        };
        let what = format!("cannot look at files in {directory}: {why}{advice}");
        all.issues.push(what);
    }
    ended
}
