//! Small files that are changed by replacing them as a whole, so that a reader sees the old bytes or
//! the new ones. Writers wait for each other.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

/// A directory whose files only this process replaces, until it is dropped.
#[derive(Debug)]
pub struct Replacing {
    path: PathBuf,
    /// Holds the lock.
    directory: File,
}

impl Replacing {
    /// Waits for other writers. Makes the directory and those above it with these permissions if they
    /// are missing.
    ///
    /// # Errors
    /// If the directory cannot be made, opened or locked.
    pub fn begin(directory: &Path, mode: u32) -> io::Result<Replacing> {
        let mut made = DirBuilder::new();
        made.recursive(true).mode(mode).create(directory)?;
        let opened = File::open(directory)?;
        flock(&opened, FlockOperation::LockExclusive)?;
        Ok(Replacing {
            path: directory.to_owned(),
            directory: opened,
        })
    }

    /// Replaces a file, which need not exist, by one with these bytes and permissions. They are on the
    /// disk when this returns.
    ///
    /// # Errors
    /// If the file cannot be written. The old one is then still there.
    pub fn replace(&self, name: &OsStr, mode: u32, bytes: &[u8]) -> io::Result<()> {
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(".new");
        let new = self.path.join(hidden);
        let written =
            write(&new, mode, bytes).and_then(|()| fs::rename(&new, self.path.join(name)));
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written.and_then(|()| self.directory.sync_all())
    }
}

fn write(path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
    // Left behind by a writer that was killed; the lock is ours.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let options = options.write(true).create_new(true).mode(mode);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
