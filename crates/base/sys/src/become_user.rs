//! Runs work as another user, so that the kernel applies that user's permissions.
//!
//! On Linux, user and group ids belong to a thread, not to a process: a new thread changes its ids,
//! does the work and ends. Threads that it starts have the same ids. No program runs that the user
//! could trace: when the ids change, the kernel makes the process accessible to the superuser only
//! (`PR_GET_DUMPABLE`, unless fs.suid_dumpable is 1).

use std::io;

use rustix::process::{Gid, Uid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, set_capabilities, set_thread_groups, set_thread_res_gid,
    set_thread_res_uid,
};

use crate::error::{Named, Op, SysError};
use crate::identity::{account_named, effective_uid, groups_of};

/// The user and groups that a thread takes on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct User {
    /// Real, effective, saved and file-system user id.
    pub uid: u32,
    /// Real, effective, saved and file-system group id.
    pub gid: u32,
    /// All supplementary groups.
    pub groups: Vec<u32>,
}

/// The variable in the environment of a program that becomes a user by itself.
pub(crate) const VARIABLE: &str = "TRAWL_BECOME";

/// Why a name does not lead to a user that work may be done for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UserError {
    /// The user is the superuser, who has rights that a service must not lend.
    #[error("the user is the superuser")]
    Superuser,
    /// There is no such user.
    #[error("the user does not exist")]
    Unknown,
    /// The database of users cannot be read.
    #[error("the user cannot be looked up: {0}")]
    Database(SysError),
}

impl User {
    /// Looks up a user by name, with all groups that the user has now. Refuses the superuser, by
    /// whatever name, unless this process has no such rights itself.
    ///
    /// # Errors
    /// Fails if there is no such user, or it cannot be looked up.
    pub fn named(name: &str) -> Result<User, UserError> {
        User::account(name).map(|(_, user)| user)
    }

    /// As [`User::named`], and returns the name that the database of users has for the account. Some
    /// databases find an account by several spellings of its name.
    ///
    /// # Errors
    /// As [`User::named`]. A name that is not UTF-8 is that of nobody.
    pub fn account(name: &str) -> Result<(String, User), UserError> {
        let account = account_named(name.as_bytes()).map_err(UserError::Database)?;
        let account = account.ok_or(UserError::Unknown)?;
        if account.uid == 0 && effective_uid() == 0 {
            return Err(UserError::Superuser);
        }
        let mut groups = groups_of(&account);
        // The same groups are the same user, in whatever order a directory service gives them.
        groups.sort_unstable();
        let user = User {
            uid: account.uid,
            gid: account.gid,
            groups,
        };
        let name = String::from_utf8(account.name).map_err(|_| UserError::Unknown)?;
        Ok((name, user))
    }

    /// Returns the ids as words: of the user, of the group, and of all groups.
    pub(crate) fn to_words(&self) -> String {
        let ids = [self.uid, self.gid].into_iter().chain(self.groups.clone());
        ids.map(|id| id.to_string()).collect::<Vec<_>>().join(" ")
    }

    fn from_words(words: &str) -> Option<User> {
        let ids: Result<Vec<u32>, _> = words.split(' ').map(str::parse).collect();
        match &ids.ok()?[..] {
            [uid, gid, groups @ ..] => Some(User {
                uid: *uid,
                gid: *gid,
                groups: groups.to_vec(),
            }),
            _ => None,
        }
    }
}

/// Becomes the user for which [`crate::command::spawn_untraced`] started this program, with all threads,
/// and forbids that user's other processes to trace it, for good. It gains no rights by programs that
/// it starts.
///
/// Source: <https://man7.org/linux/man-pages/man7/nptl.7.html>, "Credentials"
///
/// # Errors
/// Fails if a call fails, and if the superuser has started this program without a user.
pub fn become_untraced() -> io::Result<()> {
    let forbid = || {
        let not_dumpable = rustix::process::DumpableBehavior::NotDumpable;
        rustix::process::set_dumpable_behavior(not_dumpable)
    };
    forbid()?;
    if effective_uid() == 0 {
        let words = std::env::var(VARIABLE).ok();
        let user = words.and_then(|words| User::from_words(&words));
        let user = user.filter(|user| user.uid != 0);
        let no_user = || io::Error::new(io::ErrorKind::PermissionDenied, "no user to become");
        become_user_everywhere(&user.ok_or_else(no_user)?)?;
        // The change of the user id has set it to fs.suid_dumpable.
        forbid()?;
    }
    Ok(rustix::thread::set_no_new_privs(true)?)
}

/// Changes the ids of all threads. The kernel drops the capabilities of a thread whose user id changes
/// from that of the superuser.
fn become_user_everywhere(user: &User) -> io::Result<()> {
    let (uid, gid, groups) = (user.uid, user.gid, &user.groups);
    // SAFETY: `groups` points to that many groups; the other calls take numbers.
    let is_changed = unsafe {
        libc::setgroups(groups.len(), groups.as_ptr()) == 0
            && libc::setresgid(gid, gid, gid) == 0
            && libc::setresuid(uid, uid, uid) == 0
    };
    match is_changed {
        true => Ok(()),
        false => Err(io::Error::last_os_error()),
    }
}

/// Runs `work` as this user, without any capability, and returns its result. The calling thread
/// waits.
///
/// Source: <https://man7.org/linux/man-pages/man2/setresuid.2.html>, "C library/kernel
/// differences"
///
/// # Errors
/// Fails if this process may not become that user, or if no thread can be started. Then `work` has
/// not run.
///
/// # Panics
/// Panics if `work` panics.
pub fn as_user<T: Send>(user: &User, work: impl FnOnce() -> T + Send) -> Result<T, SysError> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("as a user".into())
            .spawn_scoped(scope, || become_user(user).map(|()| work()))
            .map_err(|error| {
                let errno = error.raw_os_error().unwrap_or(libc::EAGAIN);
                SysError::new(Op::Clone, crate::Errno(errno))
            })?;
        match thread.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Sets the groups first, because that is no longer allowed after the user has changed.
fn become_user(user: &User) -> Result<(), SysError> {
    let groups: Vec<Gid> = user.groups.iter().map(|gid| Gid::from_raw(*gid)).collect();
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    set_thread_groups(&groups).named(Op::Setgroups)?;
    set_thread_res_gid(gid, gid, gid).named(Op::Setresgid)?;
    set_thread_res_uid(uid, uid, uid).named(Op::Setresuid)?;
    // The change of the user id has already dropped them, unless this process has
    // `SECBIT_KEEP_CAPS` or a similar flag set.
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, none).named(Op::Capset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn may_read(path: &std::path::Path) -> bool {
        std::fs::read(path).is_ok()
    }

    #[test]
    fn names_are_users_with_their_groups() {
        assert_eq!(User::named("no such user"), Err(UserError::Unknown));
        assert_eq!(User::named("a\0b"), Err(UserError::Unknown));
        // The oracle: passwd(5).
        let table = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let nobody = table.lines().find_map(|line| line.strip_prefix("nobody:"));
        let Some(nobody) = nobody else {
            eprintln!("users by name: skipped, because /etc/passwd has no user nobody");
            return;
        };
        let user = User::named("nobody").unwrap();
        let ids: Vec<&str> = nobody.split(':').skip(1).take(2).collect();
        assert_eq!(ids, [user.uid.to_string(), user.gid.to_string()]);
        assert!(user.groups.contains(&user.gid));
        if effective_uid() == 0 {
            assert_eq!(User::named("root"), Err(UserError::Superuser));
        }
    }

    #[test]
    fn ids_are_words_for_another_program() {
        let user = |groups: &[u32]| User {
            uid: 4711,
            gid: 12,
            groups: groups.to_vec(),
        };
        for user in [user(&[]), user(&[12]), user(&[12, 4720])] {
            assert_eq!(User::from_words(&user.to_words()), Some(user));
        }
        for words in ["", "4711", "4711 12 ", "4711 -1", "root root"] {
            assert_eq!(User::from_words(words), None, "{words:?}");
        }
    }

    #[test]
    fn the_kernel_judges_the_work_and_nothing_else() {
        if crate::identity::effective_uid() != 0 {
            eprintln!("work as another user: skipped, because it needs root");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let all = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder.path(), all).unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "x").unwrap();
        std::os::unix::fs::chown(&file, Some(0), Some(4720)).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        let user = |groups: &[u32]| User {
            uid: 4711,
            gid: 4711,
            groups: groups.to_vec(),
        };
        let ask = |user: &User| as_user(user, || may_read(&file)).unwrap();
        assert!(!ask(&user(&[])));
        assert!(ask(&user(&[4711, 4720])));
        let ids = as_user(&user(&[4720]), || {
            // Threads started by that thread have the same ids.
            let inner = std::thread::scope(|scope| {
                let thread = scope.spawn(|| (crate::identity::effective_uid(), may_read(&file)));
                thread.join().unwrap()
            });
            let groups = crate::identity::groups().unwrap();
            let back = set_thread_res_uid(Uid::ROOT, Uid::ROOT, Uid::ROOT);
            (
                inner,
                groups,
                crate::identity::effective_gid(),
                back.is_ok(),
            )
        });
        assert_eq!(ids, Ok(((4711, true), vec![4720], 4711, false)));
        assert_eq!(crate::identity::effective_uid(), 0);
        assert!(may_read(&file));
    }
}
