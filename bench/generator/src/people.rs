//! Models the users: their groups, and the permissions that they usually choose.

use std::collections::{BTreeMap, BTreeSet};

use crate::pattern::Vocabulary;
use crate::random::Random;

/// An owner, with the permissions of new directories and files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// Permissions of directories.
    pub(crate) dir_mode: u32,
    /// Bits removed from the permissions of files.
    pub(crate) umask: u32,
}

/// The superuser, whose files everybody may read.
pub(crate) const ROOT: Owner = Owner {
    uid: 0,
    gid: 0,
    dir_mode: 0o755,
    umask: 0o022,
};

/// A user with an account.
#[derive(Clone, Debug)]
pub(crate) struct User {
    pub(crate) login: String,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// Makes users with distinct names, in groups of about eight.
pub(crate) fn users(count: u64, vocabulary: &Vocabulary, random: &mut Random) -> Vec<User> {
    let mut logins = BTreeSet::new();
    let groups = count / 8 + 1;
    (0..count as u32)
        .map(|number| {
            let mut login = vocabulary.login(random);
            if logins.contains(&login) {
                login = format!("{login}{number}");
            }
            logins.insert(login.clone());
            User {
                login,
                uid: 10_000 + number,
                gid: 5_000 + random.below(groups) as u32,
            }
        })
        .collect()
}

/// Returns the members of each group.
pub(crate) fn members(users: &[User]) -> BTreeMap<u32, Vec<u32>> {
    let mut members: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for user in users {
        members.entry(user.gid).or_default().push(user.uid);
    }
    members
}

impl User {
    /// Draws the owner of the user's files. `modes` are the permissions that people choose from,
    /// each with its percentage.
    pub(crate) fn owner(&self, modes: &[(u32, u64)], random: &mut Random) -> Owner {
        let mut left = random.below(100);
        let mut dir_mode = 0o700;
        for (mode, part) in modes {
            if left < *part {
                dir_mode = *mode;
                break;
            }
            left -= part;
        }
        Owner {
            uid: self.uid,
            gid: self.gid,
            dir_mode,
            umask: *random.pick(&[0o022, 0o022, 0o022, 0o027, 0o077, 0o002]),
        }
    }
}
