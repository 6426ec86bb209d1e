//! Extracts inode numbers from file handles.
//!
//! A handle is opaque to user space, but the handles of some file systems have had the same layout
//! since handles were introduced, because NFS clients keep them: the inode number and its
//! generation. If the layout is known, an object need not be opened to learn its number.

use trawl_model::change::ObjectRef;
use trawl_sys::filesystem;

/// Value from the kernel's `include/linux/exportfs.h`.
const INO32_GENERATION: i32 = 1;
/// The corresponding type with 64-bit numbers in xfs (`fs/xfs/xfs_export.h`).
const XFS_INO64_GENERATION: i32 = 0x81;

/// The type of file system that made the handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// ext2, ext3, ext4.
    Ext,
    Xfs,
    Tmpfs,
    /// Has several devices, or is unknown.
    Unknown,
}

impl Numbering {
    /// Returns the layout for the file systems with this magic number.
    pub(crate) fn of(magic: u64) -> Numbering {
        match filesystem::name(magic) {
            Some("ext4") => Numbering::Ext,
            Some("xfs") => Numbering::Xfs,
            Some("tmpfs") => Numbering::Tmpfs,
            _ => Numbering::Unknown,
        }
    }

    /// Returns the inode number in a handle.
    pub(crate) fn inode(self, object: ObjectRef<'_>) -> Option<u64> {
        let (kind, handle) = (object.kind(), object.handle());
        let word = |at: usize| -> Option<u64> {
            let bytes = handle.get(at * 4..at * 4 + 4)?;
            Some(u64::from(u32::from_ne_bytes(bytes.try_into().ok()?)))
        };
        match (self, kind, handle.len()) {
            (Numbering::Ext | Numbering::Xfs, INO32_GENERATION, 8) => word(0),
            (Numbering::Xfs, XFS_INO64_GENERATION, 12) => {
                Some(u64::from_ne_bytes(handle.get(..8)?.try_into().ok()?))
            }
            // The generation comes first.
            (Numbering::Tmpfs, INO32_GENERATION, 12) => Some(word(1)? | word(2)? << 32),
            _ => None,
        }
    }
}
