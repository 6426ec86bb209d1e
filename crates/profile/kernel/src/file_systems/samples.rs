//! Files whose operation vectors are read: of each mounted file system a directory, a regular file
//! and a symbolic link, where it has them.
//!
//! Nothing is changed: files are opened as places only (`O_PATH`), which runs no code of the file
//! system beyond finding them, and directories are listed without an update of their access times
//! where that is allowed.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, FileType};
use trawl_sys::directory::{self, AccessTime, Links, Purpose, ReadBuffer};
use trawl_sys::mount_table::{self, Mount};

use crate::error::KernelError;

/// File systems that are interfaces to the kernel and store no files. Their operations are counted
/// only if a filter names one of them.
const INTERFACES: &[&str] = &[
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
    "fusectl",
    "hugetlbfs",
    "mqueue",
    "nfsd",
    "nsfs",
    "proc",
    "pstore",
    "rootfs",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "sysfs",
    "tracefs",
];

/// Limits of the search for a file of each kind: directory entries, and time.
const ENTRIES_MAX: usize = 4096;
const TIME_MAX: Duration = Duration::from_millis(100);

/// Open files of one mounted file system.
pub(super) struct Sample {
    /// Where it is mounted.
    pub(super) point: PathBuf,
    pub(super) files: Vec<OwnedFd>,
    /// Whether there is a directory, a regular file and a symbolic link among them.
    pub(super) is_complete: bool,
}

/// Returns samples of all mounted file systems, or of the one at `only`.
pub(super) fn open(only: Option<&Path>) -> Result<Vec<Sample>, KernelError> {
    if let Some(point) = only {
        return Ok(vec![sample(point)]);
    }
    let mut mounts = mount_table::read().map_err(KernelError::Mounts)?;
    mounts.retain(|mount| !INTERFACES.contains(&String::from_utf8_lossy(&mount.kind).as_ref()));
    // The same file system may be mounted often.
    mounts.sort_by_key(|mount| mount.device);
    mounts.dedup_by_key(|mount| mount.device);
    let samples = mounts.iter().map(|mount| sample(&point_of(mount)));
    Ok(samples.filter(|sample| !sample.files.is_empty()).collect())
}

fn point_of(mount: &Mount) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(&mount.point))
}

fn sample(point: &Path) -> Sample {
    use std::os::unix::ffi::OsStrExt;
    let mut search = Search {
        device: 0,
        begun: Instant::now(),
        seen: 0,
        kinds: Vec::new(),
        files: Vec::new(),
        directories: Vec::new(),
    };
    if let Ok(path) = CString::new(point.as_os_str().as_bytes()) {
        search.begin(&path);
    }
    while let Some(directory) = search.directories.pop() {
        if search.is_over() {
            break;
        }
        search.list(&directory);
    }
    Sample {
        point: point.to_owned(),
        is_complete: search.is_complete(),
        files: search.files,
    }
}

struct Search {
    device: u64,
    begun: Instant,
    seen: usize,
    kinds: Vec<FileType>,
    files: Vec<OwnedFd>,
    directories: Vec<OwnedFd>,
}

impl Search {
    fn begin(&mut self, path: &CStr) {
        // A mount may also be a single file.
        let Ok(place) = trawl_sys::file::locate(CWD, path) else {
            return;
        };
        let Ok(found) = rustix::fs::fstat(&place) else {
            return;
        };
        self.device = found.st_dev;
        self.kinds.push(FileType::from_raw_mode(found.st_mode));
        self.files.push(place);
        let list = Purpose::List(AccessTime::Keep);
        let directory = directory::open_path(CWD, path, list, Links::Refused);
        self.directories.extend(directory.ok());
    }

    fn is_complete(&self) -> bool {
        let wanted = [
            FileType::Directory,
            FileType::RegularFile,
            FileType::Symlink,
        ];
        wanted.iter().all(|kind| self.kinds.contains(kind))
    }

    fn is_over(&self) -> bool {
        self.is_complete() || self.seen >= ENTRIES_MAX || self.begun.elapsed() >= TIME_MAX
    }

    fn list(&mut self, directory: &OwnedFd) {
        let mut buffer = ReadBuffer::new(16 << 10);
        let mut reader = buffer.read(directory.as_fd());
        while let Some(Ok(entry)) = reader.next() {
            if entry.is_dot() {
                continue;
            }
            self.seen += 1;
            self.look(directory, entry.name());
            if self.is_over() {
                return;
            }
        }
    }

    fn look(&mut self, directory: &OwnedFd, name: &CStr) {
        // Without a mount point within, which may hang.
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        let Ok(found) = rustix::fs::statat(directory, name, flags) else {
            return;
        };
        let kind = FileType::from_raw_mode(found.st_mode);
        if found.st_dev != self.device {
            return;
        }
        if kind == FileType::Directory && self.directories.len() < 64 {
            let list = Purpose::List(AccessTime::Keep);
            let below = directory::open_path(directory, name, list, Links::Refused);
            self.directories.extend(below.ok());
        }
        if !self.kinds.contains(&kind)
            && let Ok(place) = trawl_sys::file::locate(directory, name)
        {
            self.kinds.push(kind);
            self.files.push(place);
        }
    }
}
