//! Why the quotas of a file system are missing, or not all of them are there.

use trawl_model::mapped::{spelled, theirs};
use trawl_sys::SysError;
use trawl_sys::quota::Kind;
use trawl_text::words::shown;

use super::{FileSystem, kind_name};

/// A remark about a file system, with a remedy where there is one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Remark {
    /// The file system keeps none.
    #[error("{} keeps no quotas ({kind}){remedy}", shown(&theirs(mount)))]
    Off {
        /// Mount point.
        mount: Vec<u8>,
        /// Type of the file system.
        kind: String,
        /// How to have them, if this type can.
        remedy: &'static str,
    },
    /// The kernel does not know them, because somebody else keeps them.
    #[error("the kernel knows no quotas of {} ({kind}): {remedy}", shown(&theirs(mount)))]
    Elsewhere {
        /// Mount point.
        mount: Vec<u8>,
        /// Type of the file system.
        kind: String,
        /// What to ask instead.
        remedy: &'static str,
    },
    /// The file system answers about single ids only.
    #[error(
        "{} cannot list the quotas of each {}: only yours are shown, repquota(8) has all",
        shown(&theirs(mount)),
        kind_name(*kind)
    )]
    OwnOnly {
        /// Mount point.
        mount: Vec<u8>,
        /// The kind of quotas.
        kind: Kind,
    },
    /// The path cannot be reached.
    #[error("cannot reach {}: {}", shown(&spelled(path)), source.errno)]
    Unreachable {
        /// The path.
        path: Vec<u8>,
        /// The system's error.
        source: SysError,
    },
    /// The kernel refuses.
    #[error("cannot read the {} quotas of {}: {}", kind_name(*kind), shown(&theirs(mount)), source.errno)]
    Refused {
        /// Mount point.
        mount: Vec<u8>,
        /// The kind of quotas.
        kind: Kind,
        /// The system's error.
        source: SysError,
    },
    /// The kernel cannot be asked.
    #[error(
        "the kernel does not answer questions about quotas here: they need Linux 5.14, and a \
         container or service that allows quotactl_fd(2)"
    )]
    NoCall,
}

/// File systems that keep quotas where the kernel does not look, by the beginnings of their types, and
/// what to ask instead.
const ELSEWHERE: [(&[u8], &str); 13] = [
    (
        b"nfs",
        "the NFS server is not asked: use quota(1), or run trawl quota on the server",
    ),
    (b"cifs", "run trawl quota on the server"),
    (b"smb", "run trawl quota on the server"),
    (b"9p", "run trawl quota on the host"),
    (b"virtiofs", "run trawl quota on the host"),
    (b"btrfs", "it limits subvolumes: use btrfs qgroup show"),
    (b"zfs", "use zfs userspace and zfs groupspace"),
    (b"lustre", "use lfs quota"),
    (
        b"ceph",
        "it limits directories: use getfattr -n ceph.quota.max_bytes",
    ),
    (b"gpfs", "use mmlsquota"),
    (b"beegfs", "use beegfs-ctl --getquota"),
    (b"fuse", "ask the program that serves it"),
    (
        b"overlay",
        "ask about the file system of its upper directory",
    ),
];

/// Types of file systems of which the kernel can keep account.
const CAN: [&[u8]; 6] = [b"ext4", b"ext3", b"ext2", b"xfs", b"f2fs", b"tmpfs"];
const MOUNT: &str = ": to have them, mount it with usrquota, grpquota or prjquota";

impl Remark {
    /// Returns the remark about a file system of which the kernel keeps no account.
    pub(super) fn none_of(system: &FileSystem) -> Remark {
        let mount = system.mount.clone();
        let kind = String::from_utf8_lossy(&system.kind).into_owned();
        let known = ELSEWHERE.iter();
        let mut known = known.filter(|(beginning, _)| system.kind.starts_with(beginning));
        match known.next() {
            Some((_, remedy)) => Remark::Elsewhere {
                mount,
                kind,
                remedy,
            },
            None => Remark::Off {
                mount,
                kind,
                remedy: if CAN.contains(&&*system.kind) {
                    MOUNT
                } else {
                    ""
                },
            },
        }
    }

    /// Returns true if quotas may be missing. Where none are kept, none are.
    pub fn is_gap(&self) -> bool {
        !matches!(self, Remark::Off { .. })
    }
}
