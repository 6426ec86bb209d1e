//! The oracle: everything below a root with every attribute, as the kernel currently reports it.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use trawl_changes::{FileSystemId, ObjectKey};
use trawl_sys::{CWD, handle};

/// Index of the number of links.
const LINKS: usize = 3;

/// The attributes of an entry that are compared; not the access time, because reading changes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attributes {
    numbers: [u64; 8],
    modified: (i64, i64),
    changed: (i64, i64),
    born: Option<std::time::SystemTime>,
    target: Option<PathBuf>,
}

/// One entry.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: ObjectKey,
    /// Its parent directory; its own key for the root.
    pub(crate) parent: ObjectKey,
    pub(crate) is_directory: bool,
    pub(crate) attributes: Attributes,
    /// Kept separately, because file systems change them on their own.
    pub(crate) blocks: u64,
}

impl Entry {
    pub(crate) fn has_several_names(&self) -> bool {
        !self.is_directory && self.attributes.numbers[LINKS] > 1
    }
}

/// All entries by path, including the root.
pub(crate) type Tree = BTreeMap<PathBuf, Entry>;

pub(crate) fn key_of(file_system: FileSystemId, path: &Path) -> ObjectKey {
    let name = CString::new(path.as_os_str().as_bytes()).expect("no NUL");
    let handle = handle::of_name(CWD, &name, handle::Use::Compare).expect("a handle");
    ObjectKey::new(file_system, handle.kind(), handle.bytes())
}

fn attributes(path: &Path, found: &Metadata) -> Attributes {
    Attributes {
        numbers: [
            found.dev(),
            found.ino(),
            found.mode().into(),
            found.nlink(),
            found.uid().into(),
            found.gid().into(),
            found.rdev(),
            found.size(),
        ],
        modified: (found.mtime(), found.mtime_nsec()),
        changed: (found.ctime(), found.ctime_nsec()),
        born: found.created().ok(),
        target: fs::read_link(path).ok(),
    }
}

/// Walks everything at and below `root`, which must not change meanwhile.
pub(crate) fn walk(file_system: FileSystemId, root: &Path) -> Tree {
    let mut tree = Tree::new();
    let root_key = key_of(file_system, root);
    let mut to_do = vec![(root.to_owned(), root_key)];
    while let Some((path, parent)) = to_do.pop() {
        let found = path.symlink_metadata().expect("it is there");
        let key = key_of(file_system, &path);
        if found.is_dir() {
            for entry in fs::read_dir(&path).expect("a directory").flatten() {
                to_do.push((entry.path(), key.clone()));
            }
        }
        let entry = Entry {
            key,
            parent,
            is_directory: found.is_dir(),
            attributes: attributes(&path, &found),
            blocks: found.blocks(),
        };
        tree.insert(path, entry);
    }
    tree
}
