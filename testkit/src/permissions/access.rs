//! Owners, modes and ACLs, drawn so that the kernel's rules interact: owners with fewer rights than
//! others, groups that deny, empty masks.

use super::people::{GROUPS, OWNERS, SHARED};
use crate::prng::Prng;

/// Permissions of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Owner.
    pub uid: u32,
    /// Owning group.
    pub gid: u32,
    /// Permission, set-uid, set-gid and sticky bits.
    pub mode: u32,
    /// The value of `system.posix_acl_access`, if any.
    pub acl: Option<Vec<u8>>,
    /// The value of `system.posix_acl_default`, for directories only.
    pub default_acl: Option<Vec<u8>>,
    /// A mode that is set after the ACL and so changes its mask.
    pub mode_after: Option<u32>,
}

const FOLDER_MODES: &[u32] = &[
    0o711, 0o711, 0o701, 0o710, 0o751, 0o700, 0o700, 0o750, 0o750, 0o770, 0o500, 0o000, 0o744,
    0o444, 0o733, 0o333, 0o077, 0o070, 0o007, 0o705, 0o055, 0o311, 0o1777, 0o2755, 0o2750, 0o4711,
    0o3771, 0o455, 0o155,
];

impl Access {
    /// Makes root's permissions with this mode.
    pub fn plain(mode: u32) -> Access {
        Access {
            mode,
            ..Access::default()
        }
    }

    /// Draws a directory's permissions: half of them are open to all.
    pub fn folder(prng: &mut Prng) -> Access {
        let mode = match prng.below(10) {
            0..=4 => 0o755,
            5..=8 => *prng.pick(FOLDER_MODES),
            _ => low(prng.below(0o10000)),
        };
        let mut access = Access::owned(prng, mode);
        if prng.once_in(4) {
            access.acl = Some(acl(prng));
            access.mode_after = prng.once_in(4).then(|| *prng.pick(FOLDER_MODES));
        }
        access.default_acl = prng.once_in(10).then(|| acl(prng));
        access
    }

    /// Draws the permissions of a directory that some users may pass but not list.
    pub fn passage(prng: &mut Prng) -> Access {
        let mode = *prng.pick(&[0o711, 0o701, 0o710, 0o751, 0o511]);
        Access::owned(prng, mode)
    }

    /// Draws the permissions of anything else.
    pub fn file(prng: &mut Prng) -> Access {
        let mode = match prng.below(4) {
            0 => 0o644,
            1 => *prng.pick(&[
                0o600, 0o640, 0o604, 0o400, 0o000, 0o040, 0o004, 0o4755, 0o2711,
            ]),
            _ => low(prng.below(0o10000)),
        };
        let mut access = Access::owned(prng, mode);
        access.acl = prng.once_in(6).then(|| acl(prng));
        access
    }

    fn owned(prng: &mut Prng, mode: u32) -> Access {
        Access {
            uid: *prng.pick(OWNERS),
            gid: *prng.pick(GROUPS),
            mode,
            ..Access::default()
        }
    }
}

fn low(bits: u64) -> u32 {
    u32::try_from(bits).expect("a mode is small")
}

/// Tags of ACL entries: linux/posix_acl.h.
const USER_OBJ: u16 = 0x01;
const USER: u16 = 0x02;
const GROUP_OBJ: u16 = 0x04;
const GROUP: u16 = 0x08;
const MASK: u16 = 0x10;
const OTHER: u16 = 0x20;
/// The id of entries without one.
const NO_ID: u32 = u32::MAX;
/// Version of the attribute's format: linux/posix_acl_xattr.h.
const VERSION: u32 = 2;

/// Draws an ACL in the kernel's format: up to three named users and groups each, and a mask, which
/// is empty once in five.
fn acl(prng: &mut Prng) -> Vec<u8> {
    let bits = |prng: &mut Prng| *prng.pick(&[7u16, 7, 5, 5, 1, 4, 0, 6, 3]);
    let mut entries = vec![(USER_OBJ, bits(prng), NO_ID)];
    for uid in some_of(prng, &OWNERS[2..]) {
        entries.push((USER, bits(prng), uid));
    }
    entries.push((GROUP_OBJ, bits(prng), NO_ID));
    let groups: Vec<u32> = SHARED.iter().copied().chain([0, 60_001]).collect();
    for gid in some_of(prng, &groups) {
        entries.push((GROUP, bits(prng), gid));
    }
    entries.push((MASK, *prng.pick(&[7, 7, 5, 1, 0]), NO_ID));
    entries.push((OTHER, *prng.pick(&[5, 0, 0, 1, 4, 7]), NO_ID));
    let mut value = VERSION.to_le_bytes().to_vec();
    for (tag, bits, id) in entries {
        value.extend(tag.to_le_bytes());
        value.extend(bits.to_le_bytes());
        value.extend(id.to_le_bytes());
    }
    value
}

/// Draws up to three elements, in ascending order, as the kernel requires of named entries.
fn some_of(prng: &mut Prng, from: &[u32]) -> Vec<u32> {
    let mut list: Vec<u32> = (0..prng.below(4)).map(|_| *prng.pick(from)).collect();
    list.sort_unstable();
    list.dedup();
    list
}
