//! Files that arguments name, such as that of `-newer`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use trawl_model::Timestamp;

use crate::traversal::Follow;

/// What is asked of a named file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reference {
    /// Device, as `st_dev`.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// Last access.
    pub atime: Timestamp,
    /// Last change of the content.
    pub mtime: Timestamp,
    /// Last change of the inode.
    pub ctime: Timestamp,
    /// Creation, where known.
    pub btime: Option<Timestamp>,
}

/// Finds named files.
pub trait References: Send + Sync + std::fmt::Debug {
    /// The attributes of the file at `path`: a symbolic link's own, unless
    /// links are followed and it leads somewhere. The error says why there are
    /// none, as strerror(3) would.
    fn attributes(&self, path: &[u8], follow: Follow) -> Result<Reference, String>;
}

/// The live file system, lstat(2) or stat(2).
#[derive(Clone, Copy, Debug, Default)]
pub struct LiveFiles;

impl References for LiveFiles {
    fn attributes(&self, path: &[u8], follow: Follow) -> Result<Reference, String> {
        let path = Path::new(OsStr::from_bytes(path));
        let own = || path.symlink_metadata();
        let meta = match follow {
            Follow::Never => own(),
            // A link that leads nowhere stands for itself; one in a loop does not.
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

/// strerror(3) of an I/O error: its text without the number that the
/// standard library adds.
pub fn error_text(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}
