//! What a daemon that watches a source has in the index: a directory for its socket, and a file of
//! its own that it locks and keeps its state in.
//!
//! The socket's directory lies in the source's, so that just those reach it who may know of the
//! source. What the state says is the daemon's business; it is changed in place and never synced,
//! since nothing in it counts after the machine has stopped.

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
use crate::live;
use crate::source::Source;
use crate::store::{Dir, Readers, if_there};

/// A longer note is none of ours.
const NOTE_BYTES: u64 = 1 << 20;

/// Room for a state.
const STATE_BYTES: usize = 512;

/// A source while one process watches it. Given back when dropped.
#[derive(Debug)]
pub struct Watching {
    live: Dir,
    state: SharedBytes,
    /// Locked.
    lock: File,
    /// Held shared, so that [`IndexDir::is_watched`] stays true.
    note: Option<(Dir, File)>,
    /// The source, as the note has it.
    line: String,
}

/// Who listens on a source's socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listener {
    /// The process that watches it, as long as it does.
    Watcher,
    /// A service manager, also while nobody watches, to start who does.
    Manager,
}

impl Watching {
    /// Takes a source to watch it.
    ///
    /// # Errors
    /// [`IndexError::Watched`] if another process does.
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

    /// Notes who listens for those who ask. Where a manager does, questions go on asking when this
    /// process has ended ([`IndexDir::is_watched`]).
    ///
    /// # Errors
    /// Where the note cannot be written.
    pub fn note_listener(&self, listener: Listener) -> Result<()> {
        note_manager(&self.live, listener)?;
        match &self.note {
            Some((dir, file)) => note(dir, file, &self.line, listener),
            None => Ok(()),
        }
    }

    /// The directory for the socket.
    pub fn live(&self) -> BorrowedFd<'_> {
        self.live.as_fd()
    }

    /// Where that is, for messages.
    pub fn live_path(&self) -> &Path {
        self.live.path()
    }

    /// What a socket in it must let others do: connect, or nothing.
    pub fn socket_permissions(&self) -> Permissions {
        socket_permissions(&self.live)
    }

    /// The user that the index belongs to.
    pub fn owner(&self) -> Result<u32> {
        Ok(self.live.owner()?.0)
    }

    /// What the last daemon left, without the zeroes behind it; empty if there was none.
    pub fn state(&self) -> Vec<u8> {
        let mut bytes = self.state.get();
        let length = bytes.iter().rposition(|byte| *byte != 0);
        bytes.truncate(length.map_or(0, |last| last + 1));
        bytes
    }

    /// Replaces the state, at most 512 bytes. Whoever is killed meanwhile leaves a mixture. No event tells of
    /// this, so that a daemon that watches the index's own file system does not wake itself.
    pub fn set_state(&self, bytes: &[u8]) {
        self.state.set(bytes);
    }
}

impl Drop for Watching {
    /// Forgets that anything of the index is watched if this was the last, and no manager listens
    /// instead. A child that was just forked may hold copies of the descriptors.
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
    /// Whether any source may be watched, or a service manager listens to start who does: one look
    /// that costs nothing where none is.
    pub fn is_watched(path: &Path) -> bool {
        path.join(layout::WATCHED_FILE).symlink_metadata().is_ok()
    }

    /// Says that something of the index is watched, until the lock is gone.
    fn note_watched(&self) -> Result<(Dir, File)> {
        let dir = self.dir().try_clone()?;
        let path = dir.join(layout::WATCHED_FILE);
        loop {
            let file = dir.open_lock(layout::WATCHED_FILE)?;
            flock(&file, FlockOperation::LockShared)
                .map_err(|error| IndexError::io("lock", &path, error))?;
            // Whoever had it before may have removed it.
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

/// How the note names a source for which a manager listens.
fn line_of(source: &Source) -> String {
    format!("{}\n", source.id())
}

/// Adds a source to the note, or takes it out.
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

/// Says to those who find that nobody listens whether that is a manager's.
fn note_manager(live: &Dir, listener: Listener) -> Result<()> {
    let name = layout::MANAGER_FILE;
    match listener {
        Listener::Manager => live.replace(name, &temporary_name(name), b""),
        Listener::Watcher => if_there(live.remove_file(name)).map(drop),
    }
}

impl Source {
    /// True if a service manager listens for the daemon that watches this, or did.
    pub fn has_manager(&self) -> bool {
        let live = self.dir().open_dir(layout::LIVE);
        live.is_ok_and(|live| live.open_file(layout::MANAGER_FILE).is_ok())
    }

    /// Makes the place for a socket on which a service manager is to listen, and notes that it
    /// does. The socket's path, and what it must let others do.
    ///
    /// # Errors
    /// Where that cannot be made.
    pub fn announce_manager(&self, index: &IndexDir) -> Result<(PathBuf, Permissions)> {
        let live = self.dir().make_dir(layout::LIVE)?;
        note_manager(&live, Listener::Manager)?;
        let (dir, file) = index.note_watched()?;
        note(&dir, &file, &line_of(self), Listener::Manager)?;
        Ok((live.join(layout::SOCKET_FILE), socket_permissions(&live)))
    }

    /// Removes the socket of a daemon that was killed, unless somebody watches the source: a scan
    /// came after all that the daemon knew.
    ///
    /// # Errors
    /// Where it cannot be removed.
    pub fn forget_killed(&self) -> Result<()> {
        let lock = self.private()?.open_to_lock(layout::WATCH_FILE);
        let Some(lock) = if_there(lock)? else {
            return Ok(());
        };
        // Nobody begins to watch as long as this is held.
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(());
        }
        match if_there(self.dir().open_dir(layout::LIVE))? {
            Some(live) => if_there(live.remove_file(layout::SOCKET_FILE)).map(drop),
            None => Ok(()),
        }
    }

    /// The directory in which a daemon's socket may lie; `None` if there never was one.
    ///
    /// # Errors
    /// Where it cannot be opened.
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

/// Refuses a source that somebody watches; whoever begins to, later, finds none.
pub(crate) fn check_unwatched(dir: &Dir, root: &[u8]) -> Result<()> {
    let Some(private) = if_there(dir.open_private())? else {
        return Ok(());
    };
    let Some(lock) = if_there(private.open_to_lock(layout::WATCH_FILE))? else {
        return Ok(());
    };
    lock_alone(&lock, &private.join(layout::WATCH_FILE), root)
}

/// Removes what daemons left in a source that goes away.
pub(crate) fn remove(dir: &Dir) -> Result<()> {
    live::forget(dir)?;
    if let Some(live) = if_there(dir.open_dir(layout::LIVE))? {
        for name in live.list()? {
            let is_ours = [layout::SOCKET_FILE, layout::MANAGER_FILE].contains(&&name[..]);
            if is_ours || name.ends_with(layout::TEMPORARY_ENDING) {
                if_there(live.remove_file(&name))?;
            }
        }
        if_there(dir.remove_dir(layout::LIVE))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_model::Timestamp;

    #[test]
    fn one_process_watches_a_source_and_leaves_its_state() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("index");
        let index = IndexDir::create(&path, Some(Readers::Owner)).unwrap();
        let source = index.add_source(b"/s", &[], Timestamp::default()).unwrap();
        assert!(!IndexDir::is_watched(&path));
        let first = Watching::begin(&index, &source).unwrap();
        assert!(IndexDir::is_watched(&path));
        let second = Watching::begin(&index, &source);
        assert!(matches!(second, Err(IndexError::Watched { .. })));
        assert_eq!(first.state(), b"");
        first.set_state(b"longer");
        first.set_state(b"state");
        drop(first);
        assert!(!IndexDir::is_watched(&path));
        let again = Watching::begin(&index, &source).unwrap();
        assert_eq!(again.state(), b"state");
        drop(again);
        crate::gc::remove_source(&index, b"/s").unwrap();
        assert!(!source.path().exists());
    }
}
