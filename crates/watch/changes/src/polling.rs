//! Polling at an interval: for file systems that others change, too (network, FUSE), without events
//! here.
//!
//! A pass reads the times of each known directory, and lists those whose times have changed. So
//! names that appear, disappear or are replaced are detected. A change to a file alone (content,
//! attributes) is not, because no directory shows it. A directory that changed is also reported by
//! the next pass: a change just after the look, within the resolution of the times, would otherwise
//! be missed.
//!
//! The caller supplies the clock; the interval is measured by a timer.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::ops::Bound;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use trawl_model::change::{Change, FileSystemId, ObjectKey, ObjectRef, Receiver, SubtreeCause};
use trawl_model::time::Timestamp;
use trawl_sys::device::DeviceNumber;
use trawl_sys::directory::{self, AccessTime, Links, Purpose};
use trawl_sys::handle::{self, Use};
use trawl_sys::stat::{self, Time};
use trawl_sys::timer::Timer;
use trawl_sys::{SysError, filesystem};

use crate::choice::{Begun, Tree, Watch};
use crate::directories::directories_in;
use crate::error::{About, Result};
use crate::fanotify::Root;
use crate::source::{
    AsOf, Barrier, ChangeSource, Description, Drained, KeyResolver, Names, Remainder,
    ResolvedDirectory,
};

const UNSEEN: [&str; 4] = [
    "changes to a file's content or attributes alone, which no directory shows",
    "changes since the last pass began",
    "file systems mounted below the root are not covered by this source",
    "directories that may not be read",
];

/// Type of keys made from inode numbers, used if there are no handles; no file system uses it.
const INODE_KEY: i32 = -1;

/// Polls the directories below a root; see the module documentation.
#[derive(Debug)]
pub struct Polling {
    root: Root,
    root_fd: OwnedFd,
    device: DeviceNumber,
    kind: &'static str,
    file_system: FileSystemId,
    interval: Duration,
    timer: Timer,
    clock: fn() -> Timestamp,
    seen: KnownDirectories,
    pass: Option<Pass>,
    /// Time at which the last complete pass began.
    as_of: Option<Timestamp>,
}

/// A pass in progress.
#[derive(Clone, Debug)]
struct Pass {
    began: Timestamp,
    /// Position: everything up to here is done.
    done: Option<Vec<u8>>,
}

/// The known directories by their paths relative to the root, in bytewise order.
#[derive(Debug)]
struct KnownDirectories {
    root_path: Vec<u8>,
    directories: BTreeMap<Vec<u8>, DirectoryLook>,
}

/// Result of a look at a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DirectoryLook {
    key: ObjectKey,
    modified: Time,
    changed: Time,
    /// Whether it had changed at the last look.
    is_fresh: bool,
}

impl Polling {
    /// Polls below `root` every `interval`. The first pass starts after the first interval, and
    /// reports everything as new. Intervals below the resolution of the file system's times (two
    /// seconds at worst) can miss changes.
    ///
    /// # Errors
    /// Fails if the root cannot be read.
    pub fn open(root: &Path, interval: Duration, clock: fn() -> Timestamp) -> Result<Self> {
        let root = Root::new(root)?;
        let path = root.bytes();
        let root_fd = root.open()?;
        let found = stat::stat_fd(&root_fd).about("stat", &path)?;
        let magic = filesystem::of_fd(&root_fd)
            .about("get the file system type of", &path)?
            .magic;
        let id = filesystem::id_of_fd(&root_fd).about("get the id of", &path)?;
        Ok(Polling {
            root,
            root_fd,
            device: found.dev,
            kind: filesystem::name(magic).unwrap_or("of an unknown kind"),
            file_system: FileSystemId(id),
            interval,
            timer: Timer::every(interval).about("set a timer for", &path)?,
            clock,
            seen: KnownDirectories {
                root_path: path,
                directories: BTreeMap::new(),
            },
            pass: None,
            as_of: None,
        })
    }

    /// Begins a pass at the next drain, without waiting for the interval. A pass in progress starts
    /// again.
    pub fn look_now(&mut self) {
        let began = (self.clock)();
        self.pass = Some(Pass { began, done: None });
    }

    /// Returns the key of an open directory.
    fn key_of(&self, fd: &OwnedFd, ino: u64) -> ObjectKey {
        match handle::of_fd(fd, Use::Compare) {
            Ok(handle) => ObjectKey::new(self.file_system, handle.kind(), handle.bytes()),
            Err(_) => ObjectKey::new(self.file_system, INODE_KEY, &ino.to_ne_bytes()),
        }
    }

    /// Opens a directory below the root; returns `None` if it belongs to another file system.
    fn open_below(
        &self,
        below: &[u8],
    ) -> std::result::Result<Option<(OwnedFd, DirectoryLook)>, SysError> {
        let path = if below.is_empty() { b"." } else { below };
        let path = CString::new(path).unwrap_or_default();
        let purpose = Purpose::List(AccessTime::Keep);
        let fd = directory::open_below(&self.root_fd, &path, purpose, Links::Refused)?;
        let found = stat::stat_fd(&fd)?;
        if found.dev != self.device {
            return Ok(None);
        }
        let look = DirectoryLook {
            key: self.key_of(&fd, found.ino),
            modified: found.mtime,
            changed: found.ctime,
            is_fresh: true,
        };
        Ok(Some((fd, look)))
    }

    /// Looks at one directory again, and reports it if it has changed.
    fn look(&mut self, below: &[u8], into: &mut dyn Receiver) {
        let Ok(Some((fd, look))) = self.open_below(below) else {
            // It was removed, and its parent has changed; or it cannot be opened any more, which is
            // not detected.
            self.seen.forget(below);
            return;
        };
        let known = self.seen.directories.get(below);
        let is_same = known.is_some_and(|known| {
            (&known.key, known.modified, known.changed) == (&look.key, look.modified, look.changed)
        });
        if is_same && known.is_some_and(|known| !known.is_fresh) {
            return;
        }
        let directory = look.key.as_ref();
        if known.is_some_and(|known| known.key == look.key) {
            into.change(Change::Listing { directory });
        } else {
            let cause = SubtreeCause::New;
            into.change(Change::Subtree { directory, cause });
        }
        let look = DirectoryLook {
            is_fresh: !is_same,
            ..look
        };
        self.seen.directories.insert(below.to_vec(), look);
        for name in directories_in(&fd).unwrap_or_default() {
            let mut path = below.to_vec();
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend(name.to_bytes());
            if !self.seen.directories.contains_key(&path) {
                self.look_at_new(path);
            }
        }
    }

    /// Records a new directory under an empty key; the pass reaches it later and reports it as new.
    fn look_at_new(&mut self, below: Vec<u8>) {
        if let Ok(Some((_, look))) = self.open_below(&below) {
            let key = ObjectKey::new(self.file_system, INODE_KEY, b"");
            self.seen
                .directories
                .insert(below, DirectoryLook { key, ..look });
        }
    }

    /// Continues the pass in progress.
    fn go_on(&mut self, limit: usize, into: &mut dyn Receiver) -> Drained {
        let mut events = 0;
        while let Some(pass) = &self.pass {
            let next = match &pass.done {
                None => Some(Vec::new()),
                Some(done) => self.seen.after(done),
            };
            let Some(next) = next else {
                self.as_of = Some(pass.began);
                self.pass = None;
                break;
            };
            if events >= limit as u64 {
                let left = Remainder::More;
                return Drained { events, left };
            }
            self.look(&next, into);
            events += 1;
            if let Some(pass) = &mut self.pass {
                pass.done = Some(next);
            }
        }
        let left = Remainder::Nothing;
        Drained { events, left }
    }
}

impl KnownDirectories {
    fn after(&self, done: &[u8]) -> Option<Vec<u8>> {
        let rest = (Bound::Excluded(done.to_vec()), Bound::Unbounded);
        let next = self.directories.range(rest).next();
        next.map(|(path, _)| path.clone())
    }

    fn forget(&mut self, below: &[u8]) {
        self.directories.remove(below);
        let mut first = below.to_vec();
        first.push(b'/');
        let inside = self.directories.range(first.clone()..);
        let inside: Vec<Vec<u8>> = inside
            .map(|(path, _)| path.clone())
            .take_while(|path| path.starts_with(&first))
            .collect();
        for path in inside {
            self.directories.remove(&path);
        }
    }

    fn find(&self, directory: ObjectRef<'_>) -> Option<&[u8]> {
        let mut known = self.directories.iter();
        known
            .find(|(_, look)| look.key.as_ref() == directory)
            .map(|(path, _)| &path[..])
    }
}

impl KeyResolver for KnownDirectories {
    /// Searches all known directories.
    fn place(&mut self, directory: ObjectRef<'_>) -> Result<ResolvedDirectory> {
        Ok(match self.find(directory) {
            None => ResolvedDirectory::Gone,
            Some(b"") => ResolvedDirectory::At(self.root_path.clone()),
            Some(below) => ResolvedDirectory::At([&self.root_path[..], below].join(&b'/')),
        })
    }

    fn parent(&mut self, directory: ObjectRef<'_>) -> Option<ObjectKey> {
        let below = self.find(directory).filter(|below| !below.is_empty())?;
        let end = below.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        let above = self.directories.get(&below[..end])?;
        Some(above.key.clone())
    }

    fn names_of(&mut self, _: ObjectRef<'_>) -> Names {
        Names::Several
    }
}

impl Watch for Polling {
    const NAME: &'static str = "Polling";
    const USED_FOR: &'static str = "file systems that other machines change, too: NFS, FUSE";
    const METHOD: &'static str = "looking at directories' times";

    fn watch(tree: &Tree<'_>, _: Option<OwnedFd>) -> Result<Begun<Polling>> {
        Ok(Begun {
            source: Polling::open(tree.root, tree.interval, tree.clock)?,
            file_system: None,
            queue: None,
            is_taken_over: false,
        })
    }
}

impl AsFd for Polling {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

impl ChangeSource for Polling {
    fn describe(&self) -> Description {
        Description {
            root: self.seen.root_path.clone(),
            file_system: self.kind.to_owned(),
            how: Self::METHOD,
            interval: Some(self.interval),
            unseen: UNSEEN.to_vec(),
            uncovered: 0,
            unwatched: Vec::new(),
        }
    }

    /// Examines up to `limit` directories, if a pass is in progress or due. While something is
    /// left, the descriptor does not become readable for it: drain again.
    fn drain(&mut self, limit: usize, into: &mut dyn Receiver) -> Result<Drained> {
        self.root.check()?;
        let went_off = self.timer.went_off();
        let is_due = went_off.about("read the timer of", &self.seen.root_path)?;
        if is_due && self.pass.is_none() {
            self.look_now();
        }
        Ok(self.go_on(limit, into))
    }

    /// Reads nothing: everything is reported as of the last complete pass.
    fn barrier(&mut self, _: &mut dyn Receiver) -> Result<Barrier> {
        self.root.check()?;
        Ok(Barrier {
            waiting: 0,
            events: 0,
            as_of: AsOf::Pass(self.as_of),
        })
    }

    fn places(&mut self) -> &mut dyn KeyResolver {
        &mut self.seen
    }
}
