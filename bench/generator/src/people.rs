//! Who there is: users in groups, with the habits that decide what others may see of theirs.

use std::collections::{BTreeMap, BTreeSet};

use crate::pattern::Vocabulary;
use crate::random::Random;

/// Whose something is, and with which permissions it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// Permissions of directories.
    pub(crate) dir_mode: u32,
    /// What is taken away from the permissions of files.
    pub(crate) umask: u32,
}

/// The superuser, who lets everybody read.
pub(crate) const ROOT: Owner = Owner {
    uid: 0,
    gid: 0,
    dir_mode: 0o755,
    umask: 0o022,
};

/// Somebody with an account.
#[derive(Clone, Debug)]
pub(crate) struct User {
    pub(crate) login: String,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// Some users with names of their own, in groups of some eight.
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

/// Who is in each group.
pub(crate) fn members(users: &[User]) -> BTreeMap<u32, Vec<u32>> {
    let mut members: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for user in users {
        members.entry(user.gid).or_default().push(user.uid);
    }
    members
}

impl User {
    /// The user's own things: `modes` are the permissions that people choose from, and how many
    /// of a hundred do.
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
