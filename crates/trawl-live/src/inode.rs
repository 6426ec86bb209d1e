//! Inode numbers out of file handles.
//!
//! To user space a handle is opaque, but what some file systems put into it has stayed the same
//! since handles there are, since NFS clients keep them: the number of the inode and its
//! generation. Where that is known, an object need not be opened to learn its number.

use trawl_model::change::ObjectRef;
use trawl_sys::filesystem;

/// `FILEID_INO32_GEN` of the kernel's `include/linux/exportfs.h`.
const INO32_GENERATION: i32 = 1;
/// The same with numbers of 64 bits, as xfs has it (`fs/xfs/xfs_export.h`).
const XFS_INO64_GENERATION: i32 = 0x81;

/// Whose handles these are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// ext2, ext3, ext4.
    Ext,
    Xfs,
    Tmpfs,
    /// Of several devices, or nobody knows.
    Unknown,
}

impl Numbering {
    /// That of the file systems with this magic number.
    pub(crate) fn of(magic: u64) -> Numbering {
        match filesystem::name(magic) {
            Some("ext4") => Numbering::Ext,
            Some("xfs") => Numbering::Xfs,
            Some("tmpfs") => Numbering::Tmpfs,
            _ => Numbering::Unknown,
        }
    }

    /// The number in a handle.
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
