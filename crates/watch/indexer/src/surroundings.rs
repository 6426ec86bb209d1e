//! Directories around an index for all users: whether users can reach it, and whether someone else
//! could replace it.
//!
//! This only warns; an administrator may have reasons.

use std::fmt;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use trawl_text::words::quoted;

/// `S_ISVTX`: in such a directory only the owner of an entry can rename or remove it.
const STICKY: u32 = 0o1000;

/// A directory around an index with unusual permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// Other users cannot read the index.
    Unreadable {
        /// Directory of the index.
        index: PathBuf,
    },
    /// Other users cannot reach the index.
    Unreachable {
        /// The directory that keeps them out.
        dir: PathBuf,
    },
    /// Somebody besides the superuser can put another index in the place of this one.
    Replaceable {
        /// The directory that they may write.
        dir: PathBuf,
        /// The users who may write it.
        by: Writers,
    },
}

/// The users who may rename entries of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    /// Its owner, by user id.
    User(u32),
    /// Its group, by group id.
    Group(u32),
    /// Every user.
    Anyone,
}

impl fmt::Display for Warning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |path: &Path| quoted(path.as_os_str().as_bytes());
        match self {
            Warning::Unreadable { index } => write!(
                out,
                "other users cannot read this index, because {} is closed to some of them and \
                 keeps its permissions: open it (chmod go+rx), or make the index with --private",
                quoted(index)
            ),
            Warning::Unreachable { dir } => write!(
                out,
                "other users cannot reach this index, because {} is closed to some of them: open \
                 it (chmod o+x), put the index elsewhere with -i, or make it with --private",
                quoted(dir)
            ),
            Warning::Replaceable { dir, by } => write!(
                out,
                "{by} can put another index in the place of this one, because {} is theirs to \
                 write: put it elsewhere with -i",
                quoted(dir)
            ),
        }
    }
}

impl fmt::Display for Writers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Writers::User(uid) => write!(out, "user {uid}"),
            Writers::Group(gid) => write!(out, "group {gid}"),
            Writers::Anyone => out.write_str("anyone"),
        }
    }
}

/// Returns warnings about `index` and the directories above it, from `/` down.
pub fn warnings(index: &Path) -> Vec<Warning> {
    let Ok(index) = index.canonicalize() else {
        return Vec::new();
    };
    let above: Vec<PathBuf> = index.ancestors().skip(1).map(Path::to_owned).collect();
    let mut found = Vec::new();
    if let Ok(meta) = index.metadata()
        && !is_open(&meta)
    {
        found.push(Warning::Unreadable { index });
    }
    for dir in above.into_iter().rev() {
        let Ok(meta) = dir.metadata() else {
            continue;
        };
        if !is_open(&meta) {
            found.push(Warning::Unreachable { dir: dir.clone() });
        }
        if let Some(by) = who_may_replace(&meta) {
            found.push(Warning::Replaceable { dir, by });
        }
    }
    found
}

fn is_open(meta: &Metadata) -> bool {
    meta.mode() & 0o001 != 0
}

/// Returns who, besides the superuser, may rename entries of a directory.
fn who_may_replace(meta: &Metadata) -> Option<Writers> {
    if meta.uid() != 0 {
        return Some(Writers::User(meta.uid()));
    }
    match meta.mode() {
        mode if mode & STICKY != 0 => None,
        mode if mode & 0o002 != 0 => Some(Writers::Anyone),
        mode if mode & 0o020 != 0 && meta.gid() != 0 => Some(Writers::Group(meta.gid())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn closed_and_writable_directories_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let index = folder.path().join("a/index");
        std::fs::create_dir_all(&index).unwrap();
        let with = |mode| {
            let parent = index.parent().unwrap();
            std::fs::set_permissions(parent, std::fs::Permissions::from_mode(mode)).unwrap();
            let said = warnings(&index).into_iter().map(|one| one.to_string());
            let said = said.collect::<Vec<_>>().join("\n");
            let about = quoted(parent.as_os_str().as_bytes());
            let lines = said.lines().filter(|line| line.contains(&about));
            lines.map(str::to_owned).collect::<Vec<_>>().join("\n")
        };
        assert!(with(0o750).contains("cannot reach"));
        assert!(!with(0o755).contains("cannot reach"));
        if std::fs::metadata(&index).unwrap().uid() == 0 {
            assert_eq!(with(0o755), "");
            assert_eq!(with(0o1777), "");
            assert!(with(0o777).contains("anyone can put"));
        } else {
            assert!(with(0o755).contains("can put another index"));
        }
    }
}
