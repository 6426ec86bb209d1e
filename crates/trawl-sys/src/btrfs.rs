//! What btrfs keeps of its transactions: which subvolume a directory lies in, in which transaction
//! it last changed, and which inodes changed since one.
//!
//! Each inode's item names the transaction that it last changed in, and each block of the tree the
//! one that it was written in: blocks without news are passed over whole. Changes wait in memory
//! until their transaction is committed, and a search does not see them before.

use std::os::fd::{AsFd, AsRawFd};

use crate::error::{Errno, Op, SysError};
use crate::stat::{Inode, Time};

/// A subvolume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subvolume {
    /// The number of its tree.
    pub tree: u64,
    /// Its own id, which no other has; zeroes where it has none.
    pub uuid: [u8; 16],
    /// The transaction in which it last changed, of those that are committed.
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

/// The part of it that the request's number counts.
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

/// The subvolume that an open file lies in.
///
/// Source: <https://btrfs.readthedocs.io/en/latest/btrfs-ioctl.html>
///
/// # Errors
/// `ENOTTY` on other file systems.
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
    // SAFETY: the kernel writes at most `size_of::<SubvolumeInfo>()` bytes, which the request's
    // number names; any bytes are a value.
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

/// Has the transaction that is under way committed, and waits for it: whatever was changed before
/// is on the disk then, but for content that was not written yet.
///
/// Source: <https://btrfs.readthedocs.io/en/latest/btrfs-ioctl.html>
///
/// # Errors
/// Those of writing.
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

/// Calls `visit` with each inode of the subvolume of `fd` that changed in a
/// transaction from `since` on, of those that are committed; returns how many inodes were looked
/// at. Needs `CAP_SYS_ADMIN`.
///
/// Source: <https://btrfs.readthedocs.io/en/latest/btrfs-ioctl.html>
///
/// # Errors
/// `EPERM` without the privilege, `ENOTTY` on other file systems.
pub fn changed_since(
    fd: impl AsFd,
    since: u64,
    mut visit: impl FnMut(Inode),
) -> Result<u64, SysError> {
    let fd = fd.as_fd();
    let key = SearchKey {
        // That of the descriptor.
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
        // SAFETY: the head is laid out as the kernel's, and behind it lie as many bytes as it says
        // for the kernel to write.
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
        // Between an inode's item and the next inode's lie only items of no interest; but these
        // are given in order, so the next search begins right behind the last.
        let Some((object, kind, offset)) = after(last) else {
            return Ok(looked_at);
        };
        (search.key.min_object, search.key.min_kind) = (object, kind);
        search.key.min_offset = offset;
    }
}

struct InodeItem {
    inode: Inode,
    /// In which it last changed.
    transaction: u64,
}

/// Gives the inodes among the items of a buffer; the key of the last item, if there is one.
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

/// `struct btrfs_inode_item`: numbers are little-endian, whatever the machine.
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

/// The key right behind one.
fn after((object, kind, offset): (u64, u32, u64)) -> Option<(u64, u32, u64)> {
    // Behind an inode's own item only those of the next inode are of interest.
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
