//! Users whose view is checked.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use trawl_model::guard::Credentials;
use trawl_model::{Gid, Uid};
use trawl_sys::become_user::User;
use trawl_sys::identity::{Account, account_of, gid_of, groups_of, uid_of};

use super::sample::Owner;
use crate::error::{IndexerError, Result};
use trawl_text::words::shown;

/// Maximum number of owners in the source that are checked if no users are named.
const OWNERS: usize = 8;
/// Maximum number of system accounts that are checked if no users are named.
const ACCOUNTS: usize = 4;
/// User ids that distributions assign to people (`login.defs`).
const PEOPLE: std::ops::Range<u32> = 1000..60_000;

/// A user whose view is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// Name of the account, if there is one.
    pub name: Option<Vec<u8>>,
    /// User id, group id and groups.
    pub user: User,
    /// Why the user is checked.
    pub why: &'static str,
}

impl Person {
    fn of_account(account: Account, why: &'static str) -> Person {
        Person {
            user: User {
                uid: account.uid,
                gid: account.gid,
                groups: groups_of(&account),
            },
            name: Some(account.name),
            why,
        }
    }

    fn without_account(uid: u32, groups: Vec<u32>, why: &'static str) -> Person {
        let gid = groups.first().copied().unwrap_or(uid);
        Person {
            name: None,
            user: User { uid, gid, groups },
            why,
        }
    }

    /// Returns the user's credentials for the permission algebra.
    pub(super) fn credentials(&self) -> Credentials {
        let groups = self.user.groups.iter().chain([&self.user.gid]);
        Credentials {
            uid: Uid(self.user.uid),
            groups: groups.map(|gid| Gid(*gid)).collect(),
        }
    }

    /// Returns the user's name and number, as in `ann (1000)`, or only the number.
    pub fn label(&self) -> String {
        match &self.name {
            Some(name) => format!("{} ({})", shown(name), self.user.uid),
            None => self.user.uid.to_string(),
        }
    }
}

/// Parses a user: a name, a number, or a number with groups (`1000:100,4`).
///
/// # Errors
/// Fails with [`IndexerError::User`] if there is no such user, or it is the superuser or nobody.
pub fn named(given: &OsStr) -> Result<Person> {
    const WHY: &str = "named";
    let text = shown(given.as_bytes());
    let failed = |why| IndexerError::User {
        given: given.as_bytes().to_vec(),
        why,
    };
    let (user, groups) = match text.split_once(':') {
        Some((user, groups)) => (user, Some(groups)),
        None => (&text[..], None),
    };
    let uid = match (user.parse(), uid_of(user.as_bytes())) {
        (_, Ok(Some(uid))) | (Ok(uid), _) => uid,
        _ => return Err(failed("there is no such user: give a name or a number")),
    };
    if uid == 0 || uid == Uid::NOBODY.0 {
        return Err(failed("give an ordinary user"));
    }
    if let Some(groups) = groups {
        let ids: Option<Vec<u32>> = groups.split(',').map(group).collect();
        let ids = ids.ok_or_else(|| failed("give a list of groups after the colon"))?;
        return Ok(Person::without_account(uid, ids, WHY));
    }
    Ok(match account_of(uid).ok().flatten() {
        Some(account) => Person::of_account(account, WHY),
        None => Person::without_account(uid, vec![uid], WHY),
    })
}

fn group(text: &str) -> Option<u32> {
    let number = text.parse().ok().filter(|gid| *gid != Gid::NOBODY.0);
    number.or_else(|| gid_of(text.as_bytes()).ok().flatten())
}

/// Returns the users who own most directories of the source, some accounts of the system, and
/// `nobody`, who is a stranger to the source.
pub(super) fn default(owners: &[Owner]) -> Vec<Person> {
    let mut people: Vec<Person> = Vec::new();
    let mut add = |person: Person| {
        if people.iter().all(|known| known.user.uid != person.user.uid) {
            people.push(person);
        }
    };
    for owner in owners
        .iter()
        .filter(|owner| is_ordinary(owner.uid))
        .take(OWNERS)
    {
        const WHY: &str = "owns directories";
        add(match account_of(owner.uid).ok().flatten() {
            Some(account) => Person::of_account(account, WHY),
            None => Person::without_account(owner.uid, vec![owner.gid], WHY),
        });
    }
    accounts().into_iter().take(ACCOUNTS).for_each(&mut add);
    const STRANGER: &str = "a stranger";
    let nobody = uid_of(b"nobody").ok().flatten();
    let nobody = nobody.and_then(|uid| account_of(uid).ok().flatten());
    add(match nobody {
        Some(account) => Person::of_account(account, STRANGER),
        None => Person::without_account(65_534, vec![65_534], STRANGER),
    });
    people
}

fn is_ordinary(uid: u32) -> bool {
    uid != 0 && uid != Uid::NOBODY.0
}

/// Returns the accounts of people in `/etc/passwd`, ordered by number.
fn accounts() -> Vec<Person> {
    let text = std::fs::read("/etc/passwd").unwrap_or_default();
    let mut uids: Vec<u32> = text
        .split(|byte| *byte == b'\n')
        .filter_map(|line| std::str::from_utf8(line.split(|byte| *byte == b':').nth(2)?).ok())
        .filter_map(|uid| uid.parse().ok())
        .filter(|uid| PEOPLE.contains(uid))
        .collect();
    uids.sort_unstable();
    let accounts = uids
        .iter()
        .filter_map(|uid| account_of(*uid).ok().flatten());
    accounts
        .map(|account| Person::of_account(account, "an account"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_names_or_numbers() {
        let person = named("4711:4712,4713".as_ref()).unwrap();
        assert_eq!((person.user.uid, person.user.gid), (4711, 4712));
        assert_eq!(person.user.groups, [4712, 4713]);
        assert_eq!(named("3999999998".as_ref()).unwrap().label(), "3999999998");
        for bad in ["0", "root", "no such user", "5:x y", "4294967295"] {
            assert!(named(bad.as_ref()).is_err(), "{bad}");
        }
    }

    #[test]
    fn owners_come_first_and_nobody_twice() {
        let owner = |uid| Owner { uid, gid: 7 };
        let people = default(&[owner(0), owner(4711), owner(65_534)]);
        let first = &people[0];
        assert_eq!((first.user.uid, &first.user.groups[..]), (4711, &[7][..]));
        let mut uids: Vec<u32> = people.iter().map(|person| person.user.uid).collect();
        uids.sort_unstable();
        uids.dedup();
        assert_eq!(uids.len(), people.len());
        assert!(!uids.contains(&0));
    }
}
