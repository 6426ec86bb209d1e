//! A tree of small files that all may read, and another user.

use std::fs::{File, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use trawl_direct::{FileId, Table};
use trawl_sys::become_user::{self, User};
use trawl_sys::file::locate;
use trawl_sys::stat::stat_fd;
use trawl_testkit::Scratch;

/// The other user.
pub(crate) const USER: u32 = 4841;

/// The tree.
pub(crate) struct Site {
    scratch: Scratch,
}

impl Site {
    /// Makes files whose content is their name.
    pub(crate) fn new(names: &[&str]) -> Site {
        Site::new_in(&std::env::temp_dir(), names)
    }

    pub(crate) fn new_in(parent: &Path, names: &[&str]) -> Site {
        let scratch = Scratch::new_in(parent, "direct");
        let open = |path: &Path| {
            std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        };
        open(scratch.path());
        for name in names {
            let path = scratch.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, name).unwrap();
            open(&path);
        }
        Site { scratch }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    pub(crate) fn rename(&self, from: &str, to: &str) {
        std::fs::rename(self.path(from), self.path(to)).unwrap();
    }

    /// Adds a file by its row, as an index has it.
    pub(crate) fn add(&self, table: &mut Table, name: &str) -> FileId {
        let path = self.path(name);
        let id = row(&path);
        table.add(path.as_os_str().as_bytes(), id).unwrap();
        id
    }
}

/// Returns the id of the object at a path, from its attributes.
pub(crate) fn row(path: &Path) -> FileId {
    let path = std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
    let place = locate(trawl_sys::CWD, &path).unwrap();
    FileId::of(&stat_fd(place).unwrap().meta)
}

/// Does this as the other user, without capabilities.
pub(crate) fn as_user<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let user = User {
        uid: USER,
        gid: USER,
        groups: Vec::new(),
    };
    become_user::as_user(&user, work).unwrap()
}

/// Reads a whole file.
pub(crate) fn content(file: File) -> String {
    std::io::read_to_string(file).unwrap()
}
