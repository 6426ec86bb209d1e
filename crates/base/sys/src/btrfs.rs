//! Queries of btrfs transactions: the subvolume that a directory lies in, the transaction in which
//! that subvolume last changed, and the inodes that changed since a transaction.
//!
//! Each inode item records the transaction in which it last changed, and each tree block the
//! transaction in which it was written, so the search skips whole blocks without changes. Changes
//! stay in memory until their transaction is committed; a search does not see them before.

use std::os::fd::{AsFd, AsRawFd};

use crate::error::{Errno, Op, SysError};
use crate::stat::{Inode, Time};

/// A subvolume of a btrfs file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subvolume {
    /// Id of its tree.
    pub tree: u64,
    /// Its own UUID, which no other subvolume has; zeroes if it has none.
    pub uuid: [u8; 16],
    /// The last committed transaction in which it changed.
    pub generation: u64,
}

/// `struct btrfs_ioctl_get_subvol_info_args` of `linux/btrfs.h`.
#[repr(C)]
struct SubvolumeInfo {
    tree: u64,
    name: [u8; 256],
    parent: u64,
    directory: u64,
    generation: u64,
    flags: u64,
    uuid: [u8; 16],
    rest: [u64; 24],
}

/// `struct btrfs_ioctl_search_key`.
#[repr(C)]
#[derive(Clone, Copy)]
struct SearchKey {
    tree: u64,
    min_object: u64,
    max_object: u64,
    min_offset: u64,
    max_offset: u64,
    min_transaction: u64,
    max_transaction: u64,
    min_kind: u32,
    max_kind: u32,
    items: u32,
    unused: u32,
    more_unused: [u64; 4],
}

/// `struct btrfs_ioctl_search_args_v2` with its buffer.
#[repr(C)]
struct Search {
    key: SearchKey,
    bytes: u64,
    buffer: [u8; BUFFER_BYTES],
}

/// The part of [`Search`] whose size is encoded in the request number.
#[repr(C)]
struct SearchHead {
    key: SearchKey,
    bytes: u64,
}

const MAGIC: u32 = 0x94;
const GET_SUBVOL_INFO: libc::Ioctl = libc::_IOR::<SubvolumeInfo>(MAGIC, 60);
const START_SYNC: libc::Ioctl = libc::_IOR::<u64>(MAGIC, 24);
const WAIT_SYNC: libc::Ioctl = libc::_IOW::<u64>(MAGIC, 22);
const TREE_SEARCH_V2: libc::Ioctl = libc::_IOWR::<SearchHead>(MAGIC, 17);

const BUFFER_BYTES: usize = 1 << 18;
/// `struct btrfs_ioctl_search_header`: transaction, object, offset, kind, length.
const HEADER_BYTES: usize = 32;
/// `BTRFS_INODE_ITEM_KEY`.
const INODE_ITEM: u32 = 1;

/// Returns the subvolume that contains an open file.
///
/// Source: <https://btrfs.readthedocs.io/en/latest/btrfs-ioctl.html>
///
/// # Errors
/// Fails with `ENOTTY` on other file systems.
pub fn subvolume(fd: impl AsFd) -> Result<Subvolume, SysError> {
    let mut info = SubvolumeInfo {
        tree: 0,
        name: [0; 256],
        parent: 0,
        directory: 0,
        generation: 0,
        flags: 0,
        uuid: [0; 16],
        rest: [0; 24],
    };
    // SAFETY: the kernel writes at most `size_of::<SubvolumeInfo>()` bytes, the size encoded in the
    // request number; any bytes are a valid value.
    let code = unsafe {
        libc::ioctl(
            fd.as_fd().as_raw_fd(),
            GET_SUBVOL_INFO,
            std::ptr::from_mut(&mut info),
        )
    };
    match code {
        0 => Ok(Subvolume {
            tree: info.tree,
            uuid: info.uuid,
            generation: info.generation,
        }),
        _ => Err(SysError::last(Op::BtrfsSubvolume)),
    }
}

/// Commits the current transaction and waits until that is done. All earlier changes are then on
/// disk, except file content that was not yet written back.
///
/// Source: <https://btrfs.readthedocs.io/en/latest/btrfs-ioctl.html>
///
/// # Errors
/// Returns the errors of writing.
pub fn commit(fd: impl AsFd) -> Result<(), SysError> {
    let fd = fd.as_fd();
    let mut transaction: u64 = 0;
    // SAFETY: the kernel writes one number of eight bytes.
    let code = unsafe {
        libc::ioctl(
            fd.as_raw_fd(),
            START_SYNC,
            std::ptr::from_mut(&mut transaction),
        )
    };
    if code != 0 {
        return Err(SysError::last(Op::BtrfsSync));
    }
    // SAFETY: the kernel reads one number of eight bytes.
    let code = unsafe { libc::ioctl(fd.as_raw_fd(), WAIT_SYNC, std::ptr::from_ref(&transaction)) };
    match code {
        0 => Ok(()),
        _ => Err(SysError::last(Op::BtrfsSync)),
    }
}

/// Calls `visit` with each inode of the subvolume of `fd` that changed in transaction `since` or
/// later, considering committed transactions only. Returns the number of inodes examined. Needs
/// `CAP_SYS_ADMIN`.
///
/// Source: <https://btrfs.readthedocs.io/en/latest/btrfs-ioctl.html>
///
/// # Errors
/// Fails with `EPERM` without the privilege, with `ENOTTY` on other file systems, and with `EIO` if
/// the kernel's answer is malformed.
pub fn changed_since(
    fd: impl AsFd,
    since: u64,
    mut visit: impl FnMut(Inode),
) -> Result<u64, SysError> {
    let fd = fd.as_fd();
    let key = SearchKey {
        // 0 means the tree of the descriptor.
        tree: 0,
        min_object: 0,
        max_object: u64::MAX,
        min_offset: 0,
        max_offset: u64::MAX,
        min_transaction: since,
        max_transaction: u64::MAX,
        min_kind: 0,
        max_kind: u32::MAX,
        items: 0,
        unused: 0,
        more_unused: [0; 4],
    };
    let mut search = Box::new(Search {
        key,
        bytes: 0,
        buffer: [0; BUFFER_BYTES],
    });
    let mut looked_at = 0;
    loop {
        search.key.items = u32::MAX;
        search.bytes = BUFFER_BYTES as u64;
        // SAFETY: the head has the kernel's layout, and is followed by as many bytes as it says,
        // into which the kernel writes.
        let code = unsafe {
            libc::ioctl(
                fd.as_raw_fd(),
                TREE_SEARCH_V2,
                std::ptr::from_mut(&mut *search),
            )
        };
        if code != 0 {
            return Err(SysError::last(Op::BtrfsSearch));
        }
        let (buffer, items) = (&search.buffer, search.key.items);
        if items == 0 {
            return Ok(looked_at);
        }
        let last = items_in(buffer, items, |item| {
            looked_at += 1;
            if item.transaction >= since {
                visit(item.inode);
            }
        });
        let last = last.ok_or(SysError::new(Op::BtrfsSearch, Errno::IO))?;
        // Other items follow an inode's item and are of no interest. Items are returned in key
        // order, so the next search starts right after the last key.
        let Some((object, kind, offset)) = after(last) else {
            return Ok(looked_at);
        };
        (search.key.min_object, search.key.min_kind) = (object, kind);
        search.key.min_offset = offset;
    }
}

struct InodeItem {
    inode: Inode,
    /// Transaction in which the inode last changed.
    transaction: u64,
}

/// Calls `visit` with each inode item in a buffer, and returns the key of the last item, if any.
/// Returns `None` if an item exceeds the buffer.
fn items_in(
    buffer: &[u8],
    items: u32,
    mut visit: impl FnMut(InodeItem),
) -> Option<(u64, u32, u64)> {
    let (mut at, mut last) = (0, None);
    for _ in 0..items {
        let header = buffer.get(at..at + HEADER_BYTES)?;
        let long = |at: usize| Some(u64::from_ne_bytes(header.get(at..at + 8)?.try_into().ok()?));
        let short = |at: usize| Some(u32::from_ne_bytes(header.get(at..at + 4)?.try_into().ok()?));
        let (ino, offset, kind) = (long(8)?, long(16)?, short(24)?);
        let end = at + HEADER_BYTES + short(28)? as usize;
        if kind == INODE_ITEM {
            visit(inode_item(ino, buffer.get(at + HEADER_BYTES..end)?)?);
        }
        last = Some((ino, kind, offset));
        at = end;
    }
    last
}

/// Parses a `struct btrfs_inode_item`; its numbers are little-endian on every machine.
fn inode_item(ino: u64, item: &[u8]) -> Option<InodeItem> {
    let long = |at: usize| Some(u64::from_le_bytes(item.get(at..at + 8)?.try_into().ok()?));
    let short = |at: usize| Some(u32::from_le_bytes(item.get(at..at + 4)?.try_into().ok()?));
    let time = |at: usize| {
        Some(Time {
            secs: long(at)?.cast_signed(),
            nanos: short(at + 8)?,
        })
    };
    Some(InodeItem {
        transaction: long(8)?,
        inode: Inode {
            ino,
            nlink: short(40)?,
            mode: short(52)?,
            ctime: time(124)?,
            mtime: time(136)?,
        },
    })
}

/// Returns the first key that matters after this one; `None` after the last possible key.
fn after((object, kind, offset): (u64, u32, u64)) -> Option<(u64, u32, u64)> {
    // After an inode's own item, the next key of interest belongs to the next inode.
    if kind >= INODE_ITEM {
        return Some((object.checked_add(1)?, 0, 0));
    }
    match offset.checked_add(1) {
        Some(offset) => Some((object, kind, offset)),
        None => Some((object, kind + 1, 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_are_as_large_as_the_kernels() {
        assert_eq!(size_of::<SubvolumeInfo>(), 504);
        assert_eq!(size_of::<SearchKey>(), 104);
        assert_eq!(size_of::<SearchHead>(), 112);
    }

    #[test]
    fn items_are_read_strictly() {
        let mut buffer = vec![0; HEADER_BYTES + 160];
        buffer[8..16].copy_from_slice(&257u64.to_ne_bytes());
        buffer[24..28].copy_from_slice(&INODE_ITEM.to_ne_bytes());
        buffer[28..32].copy_from_slice(&160u32.to_ne_bytes());
        buffer[40..48].copy_from_slice(&9u64.to_le_bytes());
        let mut found = Vec::new();
        let last = items_in(&buffer, 1, |item| {
            found.push((item.inode.ino, item.transaction))
        });
        assert_eq!((last, &found[..]), (Some((257, 1, 0)), &[(257, 9)][..]));
        assert_eq!(items_in(&buffer, 2, |_| {}), None);
        assert_eq!(items_in(&[], 0, |_| {}), None);
        assert_eq!(after((257, 1, 0)), Some((258, 0, 0)));
        assert_eq!(after((u64::MAX, 1, 0)), None);
        assert_eq!(after((1, 0, u64::MAX)), Some((1, 1, 0)));
    }
}
