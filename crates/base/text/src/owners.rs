//! Names of users and groups; the system is asked for each only once.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use trawl_model::{Gid, Uid};

/// The name of an ID; `None` if the ID has no name.
pub type OwnerName = Option<Arc<[u8]>>;

/// A cache of names, shared by threads.
///
/// If a database cannot be read, the ID counts as unknown and is printed as a
/// number, as in the GNU tools.
#[derive(Debug, Default)]
pub struct Owners {
    users: RwLock<HashMap<u32, OwnerName>>,
    groups: RwLock<HashMap<u32, OwnerName>>,
}

impl Owners {
    /// Returns the user's name, getpwuid(3).
    pub fn user(&self, uid: Uid) -> OwnerName {
        remembered(&self.users, uid.0, |id| {
            trawl_sys::identity::user_name(id).ok().flatten()
        })
    }

    /// Returns the group's name, getgrgid(3).
    pub fn group(&self, gid: Gid) -> OwnerName {
        remembered(&self.groups, gid.0, |id| {
            trawl_sys::identity::group_name(id).ok().flatten()
        })
    }
}

fn remembered(
    names: &RwLock<HashMap<u32, OwnerName>>,
    id: u32,
    ask: impl Fn(u32) -> Option<Vec<u8>>,
) -> OwnerName {
    if let Ok(known) = names.read()
        && let Some(name) = known.get(&id)
    {
        return name.clone();
    }
    let name: OwnerName = ask(id).map(Arc::from);
    if let Ok(mut known) = names.write() {
        known.insert(id, name.clone());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_has_a_name_and_the_unknown_has_none() {
        let owners = Owners::default();
        for _ in 0..2 {
            assert_eq!(owners.user(Uid(0)).as_deref(), Some(&b"root"[..]));
            assert_eq!(owners.group(Gid(0)).as_deref(), Some(&b"root"[..]));
            assert_eq!(owners.user(Uid(3_999_999_999)), None);
        }
    }
}
