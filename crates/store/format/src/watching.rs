//! Manages the files in the index of a daemon that watches a source: a directory for its socket,
//! and a private file that it locks and keeps its state in.
//!
//! The socket's directory lies in the source's directory, so that exactly the users who may know of
//! the source can reach it. Only the daemon interprets its state. The state is changed in place and
//! never synced, since it is void after a reboot.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::{Read, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use trawl_sys::shared::SharedBytes;

use crate::error::{IndexError, Result};
use crate::index::{IndexDir, temporary_name};
use crate::layout;
use crate::source::Source;
use crate::store::{Dir, Readers, if_there};

/// Maximum size in bytes of a note written here.
const NOTE_BYTES: u64 = 1 << 20;

/// Size of the state in bytes.
const STATE_BYTES: usize = 512;

/// A source while one process watches it. Dropping it releases the source.
#[derive(Debug)]
pub struct Watching {
    live: Dir,
    state: SharedBytes,
    /// Locked while the process watches.
    lock: File,
    /// The note with a shared lock, which keeps [`IndexDir::is_watched`] true.
    note: Option<(Dir, File)>,
    /// The source's line in the note.
    line: String,
}

/// The process that listens on a source's socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listener {
    /// The process that watches the source, while it does.
    Watcher,
    /// A service manager, which also listens while nobody watches and then starts the daemon.
    Manager,
}

impl Watching {
    /// Begins to watch a source.
    ///
    /// # Errors
    /// [`IndexError::Watched`] if another process watches it.
    pub fn begin(index: &IndexDir, source: &Source) -> Result<Watching> {
        let live = source.dir().make_dir(layout::LIVE)?;
        let private = source.private()?;
        let lock = private.open_lock(layout::WATCH_FILE)?;
        let path = private.join(layout::WATCH_FILE);
        lock_alone(&lock, &path, source.root())?;
        let state = SharedBytes::of(&lock, STATE_BYTES)
            .map_err(|error| IndexError::io("map", &path, error))?;
        let note = index.note_watched()?;
        Ok(Watching {
            live,
            state,
            lock,
            note: Some(note),
            line: line_of(source),
        })
    }

    /// Records for clients who listens. If a service manager does, clients still connect after this
    /// process has ended ([`IndexDir::is_watched`]).
    ///
    /// # Errors
    /// If the note cannot be written.
    pub fn note_listener(&self, listener: Listener) -> Result<()> {
        note_manager(&self.live, listener)?;
        match &self.note {
            Some((dir, file)) => note(dir, file, &self.line, listener),
            None => Ok(()),
        }
    }

    /// Returns the directory for the socket.
    pub fn live(&self) -> BorrowedFd<'_> {
        self.live.as_fd()
    }

    /// Returns the path of that directory, for messages.
    pub fn live_path(&self) -> &Path {
        self.live.path()
    }

    /// Returns the permissions that the socket must have: others may connect, or not.
    pub fn socket_permissions(&self) -> Permissions {
        socket_permissions(&self.live)
    }

    /// Returns the user that owns the index.
    pub fn owner(&self) -> Result<u32> {
        Ok(self.live.owner()?.0)
    }

    /// Returns the state left by the last daemon, without trailing zero bytes; empty if there was
    /// none.
    pub fn state(&self) -> Vec<u8> {
        let mut bytes = self.state.get();
        let length = bytes.iter().rposition(|byte| *byte != 0);
        bytes.truncate(length.map_or(0, |last| last + 1));
        bytes
    }

    /// Replaces the state, at most 512 bytes. A process that is killed during the call leaves a
    /// mixture of both states. The change causes no file event, so a daemon that watches the
    /// index's own file system does not wake itself.
    pub fn set_state(&self, bytes: &[u8]) {
        self.state.set(bytes);
    }
}

impl Drop for Watching {
    /// Removes the note if this was the last watcher and no service manager listens instead.
    /// Unlocks explicitly, since a child that was just forked may hold copies of the descriptors.
    fn drop(&mut self) {
        if let Some((dir, file)) = self.note.take()
            && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
            && file.metadata().is_ok_and(|meta| meta.len() == 0)
        {
            let _ = dir.remove_file(layout::WATCHED_FILE);
        }
        let _ = flock(&self.lock, FlockOperation::Unlock);
    }
}

impl IndexDir {
    /// True if any source may be watched, or a service manager listens to start its daemon. Costs
    /// one system call.
    pub fn is_watched(path: &Path) -> bool {
        path.join(layout::WATCHED_FILE).symlink_metadata().is_ok()
    }

    /// Notes that a source of the index is watched, as long as the returned file is locked.
    fn note_watched(&self) -> Result<(Dir, File)> {
        let dir = self.dir().try_clone()?;
        let path = dir.join(layout::WATCHED_FILE);
        loop {
            let file = dir.open_lock(layout::WATCHED_FILE)?;
            flock(&file, FlockOperation::LockShared)
                .map_err(|error| IndexError::io("lock", &path, error))?;
            // The previous holder of the lock may have removed the file.
            let meta = file.metadata();
            let meta = meta.map_err(|error| IndexError::io("stat", &path, error))?;
            if std::os::unix::fs::MetadataExt::nlink(&meta) > 0 {
                return Ok((dir, file));
            }
        }
    }
}

fn socket_permissions(live: &Dir) -> Permissions {
    Permissions::from_mode(match live.readers() {
        Readers::Everyone => 0o666,
        Readers::Owner => 0o600,
    })
}

/// Returns the note's line for a source that a service manager listens for.
fn line_of(source: &Source) -> String {
    format!("{}\n", source.id())
}

/// Adds a source to the note, or removes it.
fn note(dir: &Dir, mut file: &File, line: &str, listener: Listener) -> Result<()> {
    let failed = |error| IndexError::io("write", dir.join(layout::WATCHED_FILE), error);
    let mut text = String::new();
    file.rewind().map_err(failed)?;
    file.take(NOTE_BYTES)
        .read_to_string(&mut text)
        .map_err(failed)?;
    let others = text.split_inclusive('\n').filter(|other| *other != line);
    let mut now: String = others.collect();
    if listener == Listener::Manager {
        now.push_str(line);
    }
    if now != text {
        file.set_len(0).map_err(failed)?;
        file.rewind().map_err(failed)?;
        file.write_all(now.as_bytes()).map_err(failed)?;
    }
    Ok(())
}

/// Records whether a service manager listens, for clients that find nobody listening.
fn note_manager(live: &Dir, listener: Listener) -> Result<()> {
    let name = layout::MANAGER_FILE;
    match listener {
        Listener::Manager => live.replace(name, &temporary_name(name), b""),
        Listener::Watcher => if_there(live.remove_file(name)).map(drop),
    }
}

impl Source {
    /// True if a service manager listens, or did, for the daemon that watches this source.
    pub fn has_manager(&self) -> bool {
        let live = self.dir().open_dir(layout::LIVE);
        live.is_ok_and(|live| live.open_file(layout::MANAGER_FILE).is_ok())
    }

    /// Prepares the place for a socket on which a service manager will listen, and notes that it
    /// does. Returns the socket's path and permissions.
    ///
    /// # Errors
    /// If the place or a note cannot be made.
    pub fn announce_manager(&self, index: &IndexDir) -> Result<(PathBuf, Permissions)> {
        let live = self.dir().make_dir(layout::LIVE)?;
        note_manager(&live, Listener::Manager)?;
        let (dir, file) = index.note_watched()?;
        note(&dir, &file, &line_of(self), Listener::Manager)?;
        Ok((live.join(layout::SOCKET_FILE), socket_permissions(&live)))
    }

    /// Removes the socket of a killed daemon, unless somebody watches the source. Called after a
    /// scan, which covers everything that the daemon knew.
    ///
    /// # Errors
    /// If the socket cannot be removed.
    pub fn forget_killed(&self) -> Result<()> {
        let lock = self.private()?.open_to_lock(layout::WATCH_FILE);
        let Some(lock) = if_there(lock)? else {
            return Ok(());
        };
        // Nobody can begin to watch while this lock is held.
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(());
        }
        match if_there(self.dir().open_dir(layout::LIVE))? {
            Some(live) => if_there(live.remove_file(layout::SOCKET_FILE)).map(drop),
            None => Ok(()),
        }
    }

    /// Opens the directory for a daemon's socket; `None` if it does not exist.
    ///
    /// # Errors
    /// If the directory cannot be opened.
    pub fn live_dir(&self) -> Result<Option<OwnedFd>> {
        let dir = if_there(self.dir().open_dir(layout::LIVE))?;
        dir.map(|dir| {
            let fd = dir.as_fd().try_clone_to_owned();
            fd.map_err(|error| IndexError::io("open directory", dir.path(), error))
        })
        .transpose()
    }
}

fn lock_alone(lock: &File, path: &Path, root: &[u8]) -> Result<()> {
    match flock(lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(()),
        Err(Errno::WOULDBLOCK) => Err(IndexError::Watched {
            path: PathBuf::from(OsStr::from_bytes(trawl_model::path::display(root))),
        }),
        Err(error) => Err(IndexError::io("lock", path, error)),
    }
}

/// Fails if somebody watches the source. A process that tries to watch later finds no source.
pub fn check_unwatched(dir: &Dir, root: &[u8]) -> Result<()> {
    let Some(private) = if_there(dir.open_private())? else {
        return Ok(());
    };
    let Some(lock) = if_there(private.open_to_lock(layout::WATCH_FILE))? else {
        return Ok(());
    };
    lock_alone(&lock, &private.join(layout::WATCH_FILE), root)
}
