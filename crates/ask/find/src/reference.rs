//! Attributes of files named by arguments, such as that of `-newer`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use trawl_model::{Timestamp, mapped};

use crate::traversal::Follow;

/// The attributes of a named file that tests compare with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reference {
    /// Device, as `st_dev`.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// Time of last access.
    pub atime: Timestamp,
    /// Time of last modification.
    pub mtime: Timestamp,
    /// Time of last status change.
    pub ctime: Timestamp,
    /// Time of birth, if known.
    pub btime: Option<Timestamp>,
}

/// A source of attributes of named files.
pub trait References: Send + Sync + std::fmt::Debug {
    /// Returns the attributes of the file at `path`. A symbolic link is
    /// followed if `follow` says so and its target exists; otherwise these are
    /// the link's own attributes. The error is the text of strerror(3).
    fn attributes(&self, path: &[u8], follow: Follow) -> Result<Reference, String>;
}

/// The live file system, read with lstat(2) or stat(2).
#[derive(Clone, Copy, Debug, Default)]
pub struct LiveFiles;

/// Why a file of an asker whose paths are mapped cannot be looked at.
const OUTSIDE: &str = "it does not lie in a tree that is mapped to this server";

impl References for LiveFiles {
    fn attributes(&self, path: &[u8], follow: Follow) -> Result<Reference, String> {
        let Some(path) = mapped::ours(path) else {
            return Err(OUTSIDE.into());
        };
        let path = Path::new(OsStr::from_bytes(&path));
        let own = || path.symlink_metadata();
        let meta = match follow {
            Follow::Never => own(),
            // A link whose target does not exist has its own attributes; a link
            // in a loop is an error.
            Follow::Arguments | Follow::Always => path.metadata().or_else(|why| {
                use std::io::ErrorKind::{NotADirectory, NotFound};
                match why.kind() {
                    NotFound | NotADirectory => own(),
                    _ => Err(why),
                }
            }),
        };
        let meta = meta.map_err(|error| error_text(&error))?;
        let time = |secs: i64, nanos: i64| Timestamp {
            secs,
            nanos: u32::try_from(nanos).unwrap_or(0),
        };
        let birth = meta.created().ok().map(|created| {
            let since = created.duration_since(std::time::UNIX_EPOCH);
            let since = since.unwrap_or_default();
            time(since.as_secs() as i64, i64::from(since.subsec_nanos()))
        });
        Ok(Reference {
            dev: meta.dev(),
            ino: meta.ino(),
            atime: time(meta.atime(), meta.atime_nsec()),
            mtime: time(meta.mtime(), meta.mtime_nsec()),
            ctime: time(meta.ctime(), meta.ctime_nsec()),
            btime: birth,
        })
    }
}

/// Returns the strerror(3) text of an I/O error, without the number that the
/// standard library adds.
pub fn error_text(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}
