//! Reads a small part of a tree from the live file system, as the asking user, where the index
//! keeps that part only for users who may list a directory on the way.
//!
//! The part becomes an index of its own, in a directory that only this user may enter, so that
//! questions treat it like any other index. The directory is removed when the question ends. So that
//! this also happens after an interrupt or a closed pipe, the caller is asked beforehand to keep
//! both signals from ending the process at once ([`Interrupts::outlive_signals`]).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use trawl_format::{IndexError, Readers};
use trawl_model::guard::Credentials;
use trawl_model::{Dev, Gid, Meta, Timestamp, Uid, path};
use trawl_query::{SnapshotInfo, View};
use trawl_scan::{Mounts, ScanError, ScanProgress, WalkOptions, Xattrs, look, walk};
use trawl_sys::far::Far;
use trawl_text::words::shown;
use trawl_writer::{DEFAULT_MEMORY_BYTES, SnapshotWriter, WriterOptions};

use crate::error::SessionError;
use crate::now;
use crate::options::Interrupts;

/// The flag of a read that nobody can end.
static NEVER: AtomicBool = AtomicBool::new(false);
/// Option in a snapshot's description that marks it as read from the live file system.
const LIVE: &str = "live";
/// Number of names that are tried for the directory.
const NAMES_TRIED: u32 = 100;

/// Extent of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Only the entry.
    Itself,
    /// A directory and everything below it.
    Subtree,
}

/// Part of a tree that was read from the live file system.
pub struct LivePart {
    /// The part as the index sees it.
    pub view: Arc<View>,
    /// Extent that was read: less than was asked for if the directory cannot be listed.
    pub extent: Extent,
    /// Must be dropped last.
    _folder: Folder,
}

/// Returns true if the snapshot was read from the live file system.
pub fn is_live(info: &SnapshotInfo) -> bool {
    info.options.contains_key(LIVE)
}

impl LivePart {
    /// Reads the entry at `path`, which is absolute and normalized. No component of it except
    /// perhaps the last is a symbolic link.
    ///
    /// # Errors
    /// Fails with [`SessionError::Interrupted`], or if the entry cannot be reached or the index cannot
    /// be written.
    pub fn read(
        path: &[u8],
        extent: Extent,
        who: &Arc<Credentials>,
        interrupts: Interrupts<'_>,
    ) -> Result<LivePart, SessionError> {
        if let Some(outlive_signals) = interrupts.outlive_signals {
            outlive_signals().map_err(SessionError::Signals)?;
        }
        let cancel = interrupts.cancel.unwrap_or(&NEVER);
        let folder = Folder::make()?;
        let (view, extent) = match extent {
            Extent::Itself => (look_at(&folder, path, who)?, extent),
            Extent::Subtree => match walk_below(&folder, path, cancel, who) {
                Ok(view) => (view, extent),
                // The directory may be looked at, but not listed.
                Err(SessionError::Scan(ScanError::Root { .. })) => {
                    (look_at(&folder, path, who)?, Extent::Itself)
                }
                Err(failure) => return Err(failure),
            },
        };
        Ok(LivePart {
            view,
            extent,
            _folder: folder,
        })
    }
}

fn look_at(
    folder: &Folder,
    path: &[u8],
    who: &Arc<Credentials>,
) -> Result<Arc<View>, SessionError> {
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
) -> Result<Arc<View>, SessionError> {
    write(folder, "tree", path, path, who, |writer| {
        let mut options = WalkOptions::new(cancel);
        // Mount points are entered, as find does.
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

/// Writes a source with the root `root` to an index named `name`, and opens it.
fn write(
    folder: &Folder,
    name: &str,
    asked: &[u8],
    root: &[u8],
    who: &Arc<Credentials>,
    read: impl FnOnce(&mut SnapshotWriter) -> Result<(), ScanError<IndexError>>,
) -> Result<Arc<View>, SessionError> {
    let index = trawl_writer::create_index(&folder.path.join(name), Some(Readers::Owner))?;
    let options = WriterOptions {
        memory_bytes: DEFAULT_MEMORY_BYTES,
        started: now(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        options: BTreeMap::from([(LIVE.to_owned(), shown(asked))]),
    };
    let mut writer = SnapshotWriter::begin(&index, root, options)?;
    read(&mut writer).map_err(|error| match error {
        ScanError::Cancelled => SessionError::Interrupted,
        ScanError::Sink(error) => SessionError::Index(error),
        other => SessionError::Scan(other),
    })?;
    writer.commit(now())?;
    let source = index.source(root)?;
    let snapshot = source.map(|source| source.current()).transpose()?.flatten();
    let mut snapshot = snapshot.ok_or_else(|| IndexError::NoIndex {
        path: folder.path.clone(),
    })?;
    // The snapshot holds only what this user may see.
    snapshot.is_partial = true;
    Ok(Arc::new(View::new(snapshot, Arc::clone(who))))
}

/// Returns whether `path` is a directory on the live file system.
///
/// # Errors
/// Those of lstat(2).
pub fn is_directory(path: &[u8]) -> std::io::Result<bool> {
    itself(path).map(|meta| meta.is_dir())
}

/// Calls lstat(2) for a path of any length.
///
/// # Errors
/// Those of lstat(2).
pub fn itself(path: &[u8]) -> std::io::Result<Metadata> {
    let far = Far::at(path::display(path))?;
    std::fs::symlink_metadata(OsStr::from_bytes(far.short_path().to_bytes()))
}

/// Calls stat(2) for a path of any length: symbolic links are followed.
///
/// # Errors
/// Those of stat(2).
pub fn target(path: &[u8]) -> std::io::Result<Metadata> {
    let far = Far::at(path::display(path))?;
    std::fs::metadata(OsStr::from_bytes(far.short_path().to_bytes()))
}

/// Returns the attributes of an entry of the live file system.
pub fn meta_of(live: &Metadata) -> Meta {
    let time = |secs, nanos: i64| Timestamp {
        secs,
        nanos: u32::try_from(nanos).unwrap_or_default(),
    };
    Meta {
        ino: live.ino(),
        dev: Dev::from_u64(live.dev()),
        rdev: Dev::from_u64(live.rdev()),
        mode: live.mode(),
        nlink: u32::try_from(live.nlink()).unwrap_or(u32::MAX),
        uid: Uid(live.uid()),
        gid: Gid(live.gid()),
        size: live.size(),
        blocks: live.blocks(),
        atime: time(live.atime(), live.atime_nsec()),
        mtime: time(live.mtime(), live.mtime_nsec()),
        ctime: time(live.ctime(), live.ctime_nsec()),
        btime: live.created().ok().map(since_epoch),
        ..Meta::default()
    }
}

fn since_epoch(time: std::time::SystemTime) -> Timestamp {
    let after = time.duration_since(std::time::UNIX_EPOCH);
    let after = after.unwrap_or_default();
    Timestamp {
        secs: i64::try_from(after.as_secs()).unwrap_or_default(),
        nanos: after.subsec_nanos(),
    }
}

/// A directory that only this process uses. It is removed when dropped.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn make() -> Result<Folder, SessionError> {
        let above = std::env::temp_dir();
        let mut number = now().nanos;
        for _ in 0..NAMES_TRIED {
            number = number.wrapping_mul(0x9E37_79B1).wrapping_add(1);
            let name = format!("trawl-{}-{number:08x}", std::process::id());
            let path = above.join(name);
            // Fails if anything exists at the path, symbolic links included.
            match std::fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Folder { path }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(source) => {
                    return Err(SessionError::File {
                        action: "make",
                        path,
                        source,
                    });
                }
            }
        }
        Err(SessionError::File {
            action: "make a directory in",
            path: above,
            source: std::io::ErrorKind::AlreadyExists.into(),
        })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nothing can be done about files that cannot be removed.
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
            let live = LivePart::read(&path, extent, &who, Interrupts::default()).unwrap();
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
