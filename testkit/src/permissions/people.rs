//! A dozen users and groups by number, with overlapping memberships.

use crate::oracle::Identity;

/// Groups that several users share.
pub const SHARED: [u32; 5] = [60_101, 60_102, 60_103, 60_104, 3_000_000_001];

/// A user who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// User id.
    pub uid: u32,
    /// Primary group.
    pub gid: u32,
    /// Other groups.
    pub groups: Vec<u32>,
}

impl Person {
    /// Returns the identity for running commands: root as we are, the others through setpriv(1).
    pub fn identity(&self) -> Identity {
        if self.uid == 0 {
            return Identity::Ourselves;
        }
        Identity::Other {
            uid: self.uid,
            gid: self.gid,
            groups: self.groups.clone(),
        }
    }
}

impl std::fmt::Display for Person {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "uid {} gid {} groups {:?}",
            self.uid, self.gid, self.groups
        )
    }
}

/// Returns root and a dozen others: with one group that owns nothing, with group root (as the first
/// and as another one), with many groups, with ids beyond 31 bits, nobody.
pub fn everybody() -> Vec<Person> {
    let [a, b, c, d, high] = SHARED;
    let many: Vec<u32> = (70_000..70_060).chain([d]).collect();
    let list: [(u32, u32, &[u32]); 13] = [
        (0, 0, &[]),
        (60_001, 60_001, &[]),
        (60_002, 0, &[]),
        (60_003, 60_003, &[0, a]),
        (60_004, a, &[b]),
        (60_005, 60_005, &[a, b, c]),
        (60_006, b, &[c, d]),
        (60_007, 60_007, &many),
        (60_008, 60_008, &[high]),
        (3_000_000_000, high, &[a]),
        (60_009, 69_999, &[]),
        (60_010, c, &[0]),
        (65_534, 65_534, &[]),
    ];
    let person = |(uid, gid, groups): (u32, u32, &[u32])| Person {
        uid,
        gid,
        groups: groups.to_vec(),
    };
    list.into_iter().map(person).collect()
}

/// Owners of objects: the users who ask, root, and an unknown user.
pub const OWNERS: &[u32] = &[
    0,
    0,
    60_001,
    60_002,
    60_003,
    60_004,
    60_005,
    60_006,
    60_007,
    60_008,
    60_010,
    3_000_000_000,
    65_534,
    77_777,
];

/// Owning groups of objects.
pub const GROUPS: &[u32] = &[
    0,
    0,
    60_101,
    60_101,
    60_102,
    60_103,
    60_104,
    3_000_000_001,
    60_001,
    60_005,
    65_534,
    77_778,
];
