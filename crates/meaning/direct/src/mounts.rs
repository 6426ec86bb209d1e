//! An open directory of each file system, from which handles are opened.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

use trawl_model::sync::lock;
use trawl_sys::directory::{AccessTime, Purpose, open_at};
use trawl_sys::handle::FileHandle;
use trawl_sys::stat::stat_fd;
use trawl_sys::{CWD, filesystem};

/// A file system.
#[derive(Debug)]
pub(crate) struct Mount {
    pub(crate) directory: OwnedFd,
    is_ext4: bool,
}

/// The type of ext4's handles: inode number and generation (`FILEID_INO32_GEN`).
const INO32_GEN: i32 = 1;

impl Mount {
    /// Returns a handle of the file with this inode number, whatever its generation: ext4 takes
    /// generation 0 as any (`ext4_nfs_get_inode` in Linux). `None` on other file systems.
    pub(crate) fn any_generation(&self, ino: u64) -> Option<FileHandle> {
        let ino = u32::try_from(ino).ok().filter(|_| self.is_ext4)?;
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&ino.to_ne_bytes());
        FileHandle::new(INO32_GEN, &bytes)
    }
}

/// The file systems of a table, by device.
#[derive(Debug, Default)]
pub(crate) struct Mounts(Mutex<HashMap<u64, Option<Arc<Mount>>>>);

impl Mounts {
    /// Returns the file system of a device on which the file of `path` lies; `None` if no directory
    /// above it lies there and can be listed. The answer is kept.
    pub(crate) fn of(&self, dev: u64, path: &CStr) -> Option<Arc<Mount>> {
        let mut mounts = lock(&self.0);
        mounts
            .entry(dev)
            .or_insert_with(|| find(dev, path).map(Arc::new))
            .clone()
    }
}

fn find(dev: u64, path: &CStr) -> Option<Mount> {
    let mut path = path.to_bytes();
    while let Some(slash) = path.iter().rposition(|byte| *byte == b'/') {
        path = path.get(..slash)?;
        let above = if path.is_empty() { b"/" } else { path };
        let above = CString::new(above).ok()?;
        let Ok(directory) = open_at(CWD, &above, Purpose::List(AccessTime::Keep)) else {
            continue;
        };
        if stat_fd(&directory).is_ok_and(|stat| stat.dev.as_u64() == dev) {
            let magic = filesystem::of_fd(&directory).ok()?.magic;
            return Some(Mount {
                is_ext4: filesystem::name(magic) == Some("ext4"),
                directory,
            });
        }
    }
    None
}
