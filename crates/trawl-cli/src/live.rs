//! A small part of a tree read from the live file system, as the asking user,
//! where the index keeps it for those who may list a directory on the way.
//!
//! What was read becomes an index of its own in a directory that only this
//! user may enter, so that everything is asked of it as of any other. The
//! directory goes when the question ends, also by an interrupt or a closed
//! pipe: once there is one, neither signal ends the process at once.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use trawl_index::{
    DEFAULT_MEMORY_BYTES, IndexDir, IndexError, Readers, SnapshotWriter, WriterOptions,
};
use trawl_model::guard::Credentials;
use trawl_model::path;
use trawl_query::{SnapshotInfo, View};
use trawl_scan::{Mounts, ScanError, ScanProgress, WalkOptions, Xattrs, look, walk};
use trawl_sys::far::Far;

use crate::failure::Failure;
use crate::index::scan::now;

/// The option in a snapshot's description that says where it is from.
const LIVE: &str = "live";
/// How many names are tried for the directory.
const NAMES_TRIED: u32 = 100;

/// How much is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The entry alone.
    Itself,
    /// A directory with everything below it.
    Subtree,
}

/// What was read.
pub(crate) struct Live {
    /// What the index knows of it.
    pub(crate) view: Arc<View>,
    /// How much was read: less than was asked for if the directory may not
    /// be listed.
    pub(crate) extent: Extent,
    /// Goes last.
    _folder: Folder,
}

/// True if a snapshot is of what was read from the live file system.
pub(crate) fn is_live(info: &SnapshotInfo) -> bool {
    info.options.contains_key(LIVE)
}

impl Live {
    /// Reads what is at `path` (absolute, normal, through no link but perhaps
    /// at its end).
    ///
    /// # Errors
    /// [`Failure::Interrupted`]; what cannot be reached or written.
    pub(crate) fn read(
        path: &[u8],
        extent: Extent,
        who: &Arc<Credentials>,
    ) -> Result<Live, Failure> {
        let cancel = outlive_signals()?;
        let folder = Folder::make()?;
        let (view, extent) = match extent {
            Extent::Itself => (look_at(&folder, path, who)?, extent),
            Extent::Subtree => match walk_below(&folder, path, cancel, who) {
                Ok(view) => (view, extent),
                // It may be looked at, but not listed.
                Err(Failure::Scan(ScanError::Root { .. })) => {
                    (look_at(&folder, path, who)?, Extent::Itself)
                }
                Err(failure) => return Err(failure),
            },
        };
        Ok(Live {
            view,
            extent,
            _folder: folder,
        })
    }
}

/// From now on an interrupt sets a flag and a closed pipe is an error, so
/// that there is time to clean up.
fn outlive_signals() -> Result<&'static AtomicBool, Failure> {
    let failed = |error| Failure::Usage(format!("cannot watch for signals: {error}"));
    trawl_sys::signal::ignore_broken_pipe().map_err(failed)?;
    trawl_sys::signal::watch_interrupts().map_err(failed)
}

fn look_at(folder: &Folder, path: &[u8], who: &Arc<Credentials>) -> Result<Arc<View>, Failure> {
    let root = path::split(path).map_or(&b""[..], |(dir, _)| dir);
    write(folder, "entry", path, root, who, |writer| {
        look(path, Xattrs::Read, writer)
    })
}

fn walk_below(
    folder: &Folder,
    path: &[u8],
    cancel: &AtomicBool,
    who: &Arc<Credentials>,
) -> Result<Arc<View>, Failure> {
    write(folder, "tree", path, path, who, |writer| {
        let mut options = WalkOptions::new(cancel);
        // As find does.
        options.mounts = Mounts::Cross;
        walk(
            path::display(path),
            &options,
            &ScanProgress::default(),
            writer,
        )
        .map(drop)
    })
}

/// Writes a source with this root to an index named `name`, and opens it.
fn write(
    folder: &Folder,
    name: &str,
    asked: &[u8],
    root: &[u8],
    who: &Arc<Credentials>,
    read: impl FnOnce(&mut SnapshotWriter) -> Result<(), ScanError<IndexError>>,
) -> Result<Arc<View>, Failure> {
    let index = IndexDir::create(&folder.path.join(name), Some(Readers::Owner))?;
    let options = WriterOptions {
        memory_bytes: DEFAULT_MEMORY_BYTES,
        started: now(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        options: BTreeMap::from([(LIVE.to_owned(), crate::failure::shown(asked))]),
    };
    let mut writer = SnapshotWriter::begin(&index, root, options)?;
    read(&mut writer).map_err(|error| match error {
        ScanError::Cancelled => Failure::Interrupted,
        ScanError::Sink(error) => Failure::Index(error),
        other => Failure::Scan(other),
    })?;
    writer.commit(now())?;
    let source = index.source(root)?;
    let snapshot = source.map(|source| source.current()).transpose()?.flatten();
    let mut snapshot = snapshot.ok_or_else(|| IndexError::NoIndex {
        path: folder.path.clone(),
    })?;
    // It holds what this user may see and no more.
    snapshot.is_partial = true;
    Ok(Arc::new(View::new(snapshot, Arc::clone(who))))
}

/// What is at `path` on the live system: an error, or whether it is a
/// directory.
pub(crate) fn is_directory(path: &[u8]) -> std::io::Result<bool> {
    itself(path).map(|meta| meta.is_dir())
}

/// lstat(2) of a path of any length.
pub(crate) fn itself(path: &[u8]) -> std::io::Result<Metadata> {
    let far = Far::at(path::display(path))?;
    std::fs::symlink_metadata(OsStr::from_bytes(far.short_path().to_bytes()))
}

/// stat(2) of a path of any length: links are followed.
pub(crate) fn target(path: &[u8]) -> std::io::Result<Metadata> {
    let far = Far::at(path::display(path))?;
    std::fs::metadata(OsStr::from_bytes(far.short_path().to_bytes()))
}

/// What ends a question after an interrupt.
pub(crate) fn cancel() -> Option<&'static AtomicBool> {
    Some(trawl_sys::signal::interrupted())
}

/// True if an interrupt was noted, and only that.
pub(crate) fn is_interrupted() -> bool {
    trawl_sys::signal::interrupted().load(Ordering::Relaxed)
}

/// A directory of this process alone; removed when dropped.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn make() -> Result<Folder, Failure> {
        let above = std::env::temp_dir();
        let mut number = now().nanos;
        for _ in 0..NAMES_TRIED {
            number = number.wrapping_mul(0x9E37_79B1).wrapping_add(1);
            let name = format!("trawl-{}-{number:08x}", std::process::id());
            let path = above.join(name);
            // Fails on whatever is there already, links included.
            match std::fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Folder { path }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(source) => {
                    return Err(Failure::File {
                        action: "make",
                        path,
                        source,
                    });
                }
            }
        }
        Err(Failure::File {
            action: "make a directory in",
            path: above,
            source: std::io::ErrorKind::AlreadyExists.into(),
        })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nothing can be done about what stays.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use trawl_query::Located;

    #[test]
    fn a_folder_is_private_and_goes_with_its_owner() {
        let folder = Folder::make().unwrap();
        let path = folder.path.clone();
        std::fs::write(path.join("x"), "x").unwrap();
        assert_eq!(
            path.metadata().unwrap().permissions().mode() & 0o7777,
            0o700
        );
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn whatever_there_is_can_be_read() {
        let place = Folder::make().unwrap();
        let top = place.path.canonicalize().unwrap();
        std::fs::create_dir(top.join("dir")).unwrap();
        std::fs::write(top.join("dir/file"), "x").unwrap();
        std::os::unix::fs::symlink("nowhere", top.join("link")).unwrap();
        let who = Arc::new(Credentials::default());
        let read = |name: &str, extent| {
            let path = top.join(name).into_os_string().into_encoded_bytes();
            let live = Live::read(&path, extent, &who).unwrap();
            let Located::Found(start) = live.view.locate(&path).unwrap() else {
                panic!("{name} is not there");
            };
            assert!(is_live(live.view.info()));
            let inner = live.view.locate(&path::join(&path, b"file")).unwrap();
            (
                start.is_dir,
                start.row.link_target.get(0).to_vec(),
                matches!(inner, Located::Found(_)),
            )
        };
        assert_eq!(read("dir", Extent::Subtree), (true, vec![], true));
        assert_eq!(read("dir", Extent::Itself), (true, vec![], false));
        assert_eq!(read("dir/file", Extent::Itself), (false, vec![], false));
        assert_eq!(
            read("link", Extent::Itself),
            (false, b"nowhere".to_vec(), false)
        );
    }
}
