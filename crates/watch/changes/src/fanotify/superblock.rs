//! How the file system of a directory must be marked, depending on its type.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use trawl_model::change::ObjectRef;
use trawl_sys::directory::{Links, Purpose, open_path};
use trawl_sys::mount_table::Mount;
use trawl_sys::{CWD, Errno, SysError, filesystem, mount, stat};

use crate::error::{About, LiveError, Result};
use crate::mount_table;

/// Types of file systems on which complete reporting has been verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// ext2, ext3 and ext4, which share a magic number.
    Ext,
    Xfs,
    Btrfs,
    Tmpfs,
    /// Overlay whose handles can be opened (`nfs_export`).
    Overlay,
    /// Overlay without such handles: the file system of its upper directory is marked.
    OverlayUpper,
}

/// Changes that no event reports, on all of these types.
const UNSEEN: [&str; 4] = [
    "access times, inode flags (chattr) and project ids change without an event",
    "files that are open for writing or mapped may change without an event until they are closed",
    "a file system may allocate or free blocks later without an event",
    "file systems mounted below the root are not covered by this source",
];

const UNSEEN_BELOW_OVERLAY: &str = "changes made to a lower directory outside the overlay";

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Ext => "ext4",
            Kind::Xfs => "xfs",
            Kind::Btrfs => "btrfs",
            Kind::Tmpfs => "tmpfs",
            Kind::Overlay => "overlay",
            Kind::OverlayUpper => "overlay, through its upper directory",
        }
    }

    pub(super) fn unseen(self) -> Vec<&'static str> {
        let mut unseen = UNSEEN.to_vec();
        if matches!(self, Kind::Overlay | Kind::OverlayUpper) {
            unseen.push(UNSEEN_BELOW_OVERLAY);
        }
        unseen
    }

    /// Returns true if a directory that was just created already has content: a snapshot of a
    /// subvolume. The root of every subvolume has the same inode number, with which btrfs's handles
    /// begin.
    pub(super) fn begins_with_content(self, directory: ObjectRef<'_>) -> bool {
        const SUBVOLUME_ROOT: u64 = 256;
        self == Kind::Btrfs
            && directory
                .handle()
                .starts_with(&SUBVOLUME_ROOT.to_ne_bytes())
    }
}

/// A file system that is ready to be marked.
pub(super) struct Superblock {
    pub(super) kind: Kind,
    /// A mount of it that no other process sees.
    pub(super) mount: OwnedFd,
    /// A directory in it whose path is known.
    pub(super) anchor: OwnedFd,
    /// The path of that directory.
    pub(super) anchor_path: Vec<u8>,
}

fn bytes_of(path: &Path) -> Vec<u8> {
    let path = path.as_os_str().as_bytes();
    path.strip_suffix(b"/").unwrap_or(path).to_vec()
}

fn open(path: &[u8]) -> std::result::Result<OwnedFd, SysError> {
    let name = if path.is_empty() { b"/" } else { path };
    let name =
        CString::new(name).map_err(|_| SysError::new(trawl_sys::Op::Openat, Errno::INVAL))?;
    open_path(CWD, &name, Purpose::Pass, Links::Followed)
}

fn unwatchable(
    path: &[u8],
    file_system: &str,
    why: &'static str,
    advice: &'static str,
) -> LiveError {
    LiveError::Unwatchable {
        path: path.to_vec(),
        file_system: file_system.to_owned(),
        why,
        advice,
    }
}

fn privileged(source: SysError, path: &[u8]) -> LiveError {
    let path = path.to_vec();
    if source.errno == Errno::PERM {
        return LiveError::Privilege { path, source };
    }
    LiveError::System {
        doing: "mount privately",
        path,
        source,
    }
}

/// Refuses a file system that others can change without this machine's kernel.
pub(crate) fn check_local(path: &[u8], kind: &str) -> Result<()> {
    if !filesystem::is_shared(kind.as_bytes()) {
        return Ok(());
    }
    let why = "others may change it without this machine's kernel noticing";
    Err(unwatchable(path, kind, why, "poll it"))
}

impl Superblock {
    /// Prepares the file system that contains `root`, an absolute path without symbolic links.
    pub(super) fn of(root: &Path) -> Result<Self> {
        let path = bytes_of(root);
        let fd = open(&path).about("open", &path)?;
        let magic = filesystem::of_fd(&fd)
            .about("get the file system type of", &path)?
            .magic;
        let name = filesystem::name(magic);
        check_local(&path, name.unwrap_or_default())?;
        match name {
            Some("ext4") => Self::direct(Kind::Ext, fd, path),
            Some("xfs") => Self::direct(Kind::Xfs, fd, path),
            Some("tmpfs") => Self::direct(Kind::Tmpfs, fd, path),
            Some("btrfs") => Self::btrfs(fd, path),
            Some("overlay") => Self::overlay(fd, path),
            other => {
                let why = "it has not been verified that it reports all changes";
                Err(unwatchable(
                    &path,
                    other.unwrap_or("of an unknown kind"),
                    why,
                    "poll it",
                ))
            }
        }
    }

    fn direct(kind: Kind, fd: OwnedFd, path: Vec<u8>) -> Result<Self> {
        let top = top_of_mount(&fd, &path);
        let mount = mount::private_copy(top.as_ref().unwrap_or(&fd));
        let mount = mount.map_err(|e| privileged(e, &path))?;
        Ok(Superblock {
            kind,
            mount,
            anchor: fd,
            anchor_path: path,
        })
    }

    /// Subvolumes have ids of their own; marks and handles need that of the whole file system.
    fn btrfs(fd: OwnedFd, path: Vec<u8>) -> Result<Self> {
        let source = mount_of(&fd, &path)?.source;
        let source = CString::new(source).unwrap_or_default();
        let options = [(c"subvolid", c"5")];
        let mount =
            mount::private_mount(c"btrfs", &source, &options).map_err(|e| privileged(e, &path))?;
        Ok(Superblock {
            kind: Kind::Btrfs,
            mount,
            anchor: fd,
            anchor_path: path,
        })
    }

    fn overlay(fd: OwnedFd, path: Vec<u8>) -> Result<Self> {
        let mounted = mount_of(&fd, &path)?;
        if mounted.option(b"nfs_export") == Some(b"on") {
            return Self::direct(Kind::Overlay, fd, path);
        }
        let Some(upper) = mounted.option(b"upperdir") else {
            let why = "it has no upper directory, so nothing in it can change";
            return Err(unwatchable(&path, "overlay", why, "scan it once"));
        };
        let why = "its upper directory cannot be opened by the path that it was mounted with";
        let advice = "mount it with nfs_export=on,index=on, or poll it";
        if !upper.starts_with(b"/") {
            return Err(unwatchable(&path, "overlay", why, advice));
        }
        let upper = Path::new(std::ffi::OsStr::from_bytes(upper));
        let below = Self::of(upper).map_err(|_| unwatchable(&path, "overlay", why, advice))?;
        Ok(Superblock {
            kind: Kind::OverlayUpper,
            anchor_path: mounted
                .point
                .strip_suffix(b"/")
                .unwrap_or(&mounted.point)
                .to_vec(),
            ..below
        })
    }
}

/// Returns the root of the mount that contains `fd`, if its path leads there: in a copy of the whole
/// mount, objects beside the watched directory have paths, too.
fn top_of_mount(fd: &OwnedFd, path: &[u8]) -> Option<OwnedFd> {
    let mount_id = |fd: &OwnedFd| stat::stat_fd(fd).map(|found| found.mnt_id).ok();
    let top = open(&mount_of(fd, path).ok()?.point).ok()?;
    (mount_id(&top)? == mount_id(fd)?).then_some(top)
}

fn mount_of(fd: &OwnedFd, path: &[u8]) -> Result<Mount> {
    let id = stat::stat_fd(fd).about("stat", path)?.mnt_id;
    let advice = "watch it where its mount can be seen";
    mount_table::find(id)?.ok_or_else(|| {
        unwatchable(
            path,
            "mounted elsewhere",
            "its mount is not in the table",
            advice,
        )
    })
}
