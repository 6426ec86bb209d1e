//! Decides who may be answered.
//!
//! A table shows what is seen from one place. So it is only for processes that see the same: the
//! same user with the same groups, below the same root directory, in the same mount and user
//! namespaces.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, StatxFlags};
use trawl_model::sync::lock;
use trawl_sys::become_user::User;
use trawl_sys::identity::{effective_gid, effective_uid, groups};
use trawl_sys::peer::user_of;

use crate::config::Viewers;

/// Maximum wait until it is known which processes see the same as the source.
const PATIENCE: Duration = Duration::from_secs(5);

/// A process's namespaces, by inode number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Namespaces {
    mounts: u64,
    users: u64,
}

/// No namespace has the number 0.
const NOWHERE: Namespaces = Namespaces {
    mounts: 0,
    users: 0,
};

impl Namespaces {
    fn of(process: &str) -> Option<Namespaces> {
        // The link's text has the form `mnt:[4026531841]`.
        let number = |name: &str| {
            let link = fs::read_link(format!("/proc/{process}/ns/{name}")).ok()?;
            let text = std::str::from_utf8(link.as_os_str().as_bytes()).ok()?;
            let (_, number) = text.strip_suffix(']')?.split_once('[')?;
            number.parse().ok()
        };
        Some(Namespaces {
            mounts: number("mnt")?,
            users: number("user")?,
        })
    }
}

/// Returns the identity of a process's root directory.
///
/// The directory may be in a mount that this process serves, so the call must not query that mount.
fn root_of(process: &str) -> Option<(u32, u32, u64)> {
    let path = format!("/proc/{process}/root");
    let flags = AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT;
    let root = rustix::fs::statx(CWD, Path::new(&path), flags, StatxFlags::INO).ok()?;
    Some((root.stx_dev_major, root.stx_dev_minor, root.stx_ino))
}

/// The processes that may be answered.
#[derive(Debug)]
pub(crate) struct Own {
    user: User,
    root: Option<(u32, u32, u64)>,
    /// `None` until they are known.
    namespaces: Mutex<Option<Namespaces>>,
    known: Condvar,
}

impl Own {
    /// Admits processes that see what this process sees, or what its user sees elsewhere.
    pub(crate) fn new(viewers: Viewers) -> Result<Own, trawl_sys::SysError> {
        let mut user = User {
            uid: effective_uid(),
            gid: effective_gid(),
            groups: groups()?,
        };
        user.groups.sort_unstable();
        let namespaces = match viewers {
            Viewers::Here => Some(Namespaces::of("self").unwrap_or(NOWHERE)),
            Viewers::Elsewhere => None,
        };
        Ok(Own {
            user,
            root: root_of("self"),
            namespaces: Mutex::new(namespaces),
            known: Condvar::new(),
        })
    }

    /// Sets the namespaces.
    pub(crate) fn seen_in(&self, mounts: u64, users: u64) {
        let namespaces = Some(Namespaces { mounts, users });
        *lock(&self.namespaces) = namespaces;
        self.known.notify_all();
    }

    /// Returns the namespaces; waits until they are known.
    fn namespaces(&self) -> Option<Namespaces> {
        let now = lock(&self.namespaces);
        let waited = self
            .known
            .wait_timeout_while(now, PATIENCE, |now| now.is_none());
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Returns whether the client sees the same.
    pub(crate) fn is_like(&self, client: &UnixStream) -> bool {
        let Ok(mut user) = user_of(client) else {
            return false;
        };
        user.groups.sort_unstable();
        let own = &self.user;
        if (user.uid, user.gid, &user.groups) != (own.uid, own.gid, &own.groups) {
            return false;
        }
        let Ok(credentials) = rustix::net::sockopt::socket_peercred(client) else {
            return false;
        };
        let process = credentials.pid.as_raw_nonzero().to_string();
        let namespaces = Namespaces::of(&process);
        let root = root_of(&process);
        namespaces.is_some()
            && namespaces == self.namespaces()
            && root.is_some()
            && root == self.root
    }
}
