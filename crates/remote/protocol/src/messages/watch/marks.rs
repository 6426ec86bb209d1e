//! Watches directories for a client: one fanotify mark per directory, set as the user that is
//! served, and the events that the kernel reports for them.
//!
//! Invariants: a directory is marked before the client is told that it is watched, and the client
//! is told about no other directory; an event is told only while the user can still open the
//! directory for reading under the path of the request; the number of marks never exceeds the
//! limit.
//!
//! Marks belong to inodes, not to paths: a path that leads to another inode by now is reported as
//! lost.

use std::collections::{BTreeMap, HashMap};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use trawl_model::relative_path::{is_within, join};
use trawl_sys::confined::look_anywhere;
use trawl_sys::directory::{AccessTime, Links, Purpose, open_at};
use trawl_sys::fanotify::{Event, Events, Group, Mask, Named, QueueSize, Scope};
use trawl_sys::handle::{self, Use};
use trawl_sys::mount_table::{self, Mount};
use trawl_sys::{SysError, filesystem};

use crate::exports::{ExportedPath, Exports, PathTranslator};
use crate::messages::{Happened, News, NewsName};

/// File system types that are known to report every change (`docs/live.md`).
const KINDS: [&str; 5] = ["ext4", "xfs", "btrfs", "tmpfs", "overlay"];
/// The events to request from the kernel.
const MASK: Mask = Mask::CREATE
    .with(Mask::DELETE)
    .with(Mask::RENAME)
    .with(Mask::MODIFY)
    .with(Mask::ATTRIB)
    .with(Mask::CLOSE_WRITE)
    .with(Mask::ONDIR)
    .with(Mask::ON_CHILD);
/// Events that change the set of names in a directory.
const NAMES: Mask = Mask::CREATE.with(Mask::DELETE).with(Mask::RENAME);
/// Bytes read at once, and maximum number of reads before their events are told.
const BUFFER_BYTES: usize = 64 << 10;
const READS_MAX: usize = 32;

/// A directory as events identify it: its file system and its file handle.
type Key = Vec<u8>;

/// Names in a directory, and the events about them.
type Names = BTreeMap<Vec<u8>, Happened>;

/// Marked directories.
pub(super) struct Marks<'a> {
    group: Group,
    exports: &'a Exports,
    top: Vec<u8>,
    /// For each marked directory, the paths under which it was requested. The entry remains when
    /// the last path is lost, because the mark remains, too.
    marked: HashMap<Key, Vec<Vec<u8>>>,
    most: usize,
    /// The mounts on the way to the top and below it.
    mounts: Vec<Mount>,
    buffer: Vec<u8>,
}

/// The events since the last read.
#[derive(Default)]
struct Said {
    by_directory: HashMap<Key, Names>,
    /// Directories that were created, removed or moved, by parent and name.
    replaced: Vec<(Key, Vec<u8>)>,
    is_in_doubt: bool,
}

fn key_of(fd: impl AsFd) -> Result<Key, SysError> {
    let handle = handle::of_fd(&fd, Use::Compare)?;
    let mut key = filesystem::id_of_fd(&fd)?.to_vec();
    key.extend((handle.bytes().len() as u32).to_ne_bytes());
    key.extend(handle.kind().to_ne_bytes());
    key.extend(handle.bytes());
    Ok(key)
}

impl<'a> Marks<'a> {
    /// Creates an empty set of marks.
    pub(super) fn new(exports: &'a Exports, top: &[u8], most: usize) -> Result<Self, SysError> {
        Ok(Marks {
            group: Group::new(QueueSize::Limited)?,
            exports,
            top: top.to_vec(),
            marked: HashMap::new(),
            most,
            mounts: Vec::new(),
            buffer: vec![0; BUFFER_BYTES],
        })
    }

    /// Returns a descriptor that is readable when there are events.
    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.group.as_fd()
    }

    /// Opens a directory for reading, as the user must be able to.
    fn open(&self, places: &mut PathTranslator<'_>, dir: &[u8]) -> Result<OwnedFd, SysError> {
        // Only the top may be a link.
        let (path, links) = match dir {
            b"" => (self.top.clone(), Links::Followed),
            dir if self.top.ends_with(b"/") => ([&self.top, dir].concat(), Links::Refused),
            dir => (join(&self.top, dir), Links::Refused),
        };
        let found = match places.find(&path) {
            ExportedPath::Anywhere(path) => look_anywhere(&path, links),
            ExportedPath::Confined(confined) => confined.look(b"", links),
        };
        open_at(found?, c".", Purpose::List(AccessTime::Keep))
    }

    /// Watches a directory.
    pub(super) fn add(&mut self, places: &mut PathTranslator<'_>, dir: Vec<u8>) -> News {
        match self.mark(places, &dir) {
            Some(key) => {
                let paths = self.marked.entry(key).or_default();
                if !paths.contains(&dir) {
                    paths.push(dir.clone());
                }
                News::Watched(dir)
            }
            None => News::Unwatched(dir),
        }
    }

    fn mark(&mut self, places: &mut PathTranslator<'_>, dir: &[u8]) -> Option<Key> {
        let fd = self.open(places, dir).ok()?;
        let magic = filesystem::of_fd(&fd).ok()?.magic;
        if !filesystem::name(magic).is_some_and(|kind| KINDS.contains(&kind)) {
            return None;
        }
        let key = key_of(&fd).ok()?;
        if !self.marked.contains_key(&key) && self.marked.len() >= self.most {
            return None;
        }
        self.group.mark(&fd, Scope::Directory, MASK).ok()?;
        if dir.is_empty() {
            self.mounts = mounts(&fd);
        }
        Some(key)
    }

    /// Returns the news since the last call.
    pub(super) fn news(&mut self) -> Vec<News> {
        let said = match self.read() {
            Ok(said) if !said.is_in_doubt => said,
            _ => return self.lose_all(),
        };
        let mut places = PathTranslator::new(self.exports);
        let (mut news, mut lost) = (Vec::new(), Vec::new());
        for (key, names) in said.by_directory {
            for dir in self.marked.get(&key).into_iter().flatten() {
                let opened = self.open(&mut places, dir);
                if opened.and_then(key_of).is_ok_and(|now| now == key) {
                    let names = names.iter().map(|(name, happened)| NewsName {
                        happened: *happened,
                        name: name.clone(),
                    });
                    let (dir, names) = (dir.clone(), names.collect());
                    news.push(News::Changed { dir, names });
                } else {
                    lost.push(dir.clone());
                }
            }
        }
        let paths = |(key, name): &(Key, Vec<u8>)| -> Vec<Vec<u8>> {
            let dirs = self.marked.get(key).into_iter().flatten();
            dirs.map(|dir| join(dir, name)).collect()
        };
        lost.extend(said.replaced.iter().flat_map(paths));
        lost.sort();
        lost.dedup();
        for path in &lost {
            self.lose(path);
        }
        news.extend(lost.into_iter().map(News::Lost));
        news
    }

    /// Checks what no event reports: whether the top is still the same directory, and its mounts.
    pub(super) fn look(&mut self) -> Vec<News> {
        let of_top = |(_, paths): &(&Key, &Vec<Vec<u8>>)| paths.iter().any(Vec::is_empty);
        let Some((key, _)) = self.marked.iter().find(of_top) else {
            return Vec::new();
        };
        let opened = self.open(&mut PathTranslator::new(self.exports), b"");
        let is_same = opened
            .is_ok_and(|fd| key_of(&fd).is_ok_and(|now| now == *key) && mounts(&fd) == self.mounts);
        match is_same {
            true => Vec::new(),
            false => self.lose_all(),
        }
    }

    fn lose(&mut self, top: &[u8]) {
        for paths in self.marked.values_mut() {
            paths.retain(|path| !is_within(path, top));
        }
    }

    fn lose_all(&mut self) -> Vec<News> {
        self.lose(b"");
        vec![News::Lost(Vec::new())]
    }

    fn read(&mut self) -> Result<Said, SysError> {
        let mut said = Said::default();
        for _ in 0..READS_MAX {
            let bytes = self.group.read(&mut self.buffer)?;
            if bytes.is_empty() {
                break;
            }
            for event in Events::new(bytes) {
                match event {
                    Ok(event) => said.take(&event, &self.marked),
                    Err(_) => said.is_in_doubt = true,
                }
            }
        }
        Ok(said)
    }
}

impl Said {
    fn take(&mut self, event: &Event<'_>, marked: &HashMap<Key, Vec<Vec<u8>>>) {
        if event.mask.has(Mask::QUEUE_OVERFLOW) {
            self.is_in_doubt = true;
            return;
        }
        let happened = match event.mask.has(NAMES) {
            true => Happened::Replaced,
            false => Happened::Changed,
        };
        let is_directory = event.mask.has(Mask::ONDIR);
        for Named { directory, name } in [event.at, event.from, event.to].into_iter().flatten() {
            if !marked.contains_key(directory) {
                continue;
            }
            let (key, name) = (directory.to_vec(), name.to_vec());
            // The kernel reports a change of a directory's attributes as its own (`.`), not under
            // its name in the parent.
            if is_directory && happened == Happened::Replaced {
                self.replaced.push((key.clone(), name.clone()));
            }
            let names = self.by_directory.entry(key).or_default();
            if happened == Happened::Replaced {
                names.entry(b".".to_vec()).or_insert(Happened::Changed);
            }
            let known = names.entry(name).or_insert(happened);
            if happened == Happened::Replaced {
                *known = happened;
            }
        }
    }
}

/// Returns the mounts on the way to a directory and below it.
fn mounts(top: &OwnedFd) -> Vec<Mount> {
    use std::os::unix::ffi::OsStrExt;
    let link = format!("/proc/self/fd/{}", top.as_raw_fd());
    let Ok(path) = std::fs::read_link(link) else {
        return Vec::new();
    };
    let top = path.as_os_str().as_bytes();
    let mut mounts = mount_table::read().unwrap_or_default();
    mounts.retain(|mount| {
        let point = mount.point.strip_suffix(b"/").unwrap_or(&mount.point);
        is_within(point, top) || is_within(top, point)
    });
    mounts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_certain_once_the_kernel_forgot_something() {
        let mut said = Said::default();
        let event = Event {
            mask: Mask::QUEUE_OVERFLOW,
            ..Event::default()
        };
        said.take(&event, &HashMap::new());
        assert!(said.is_in_doubt);
    }
}
