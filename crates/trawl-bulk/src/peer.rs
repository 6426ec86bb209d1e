//! Who may be told.
//!
//! A table is what this process sees. So it is for those who see the same: the same user with the
//! same groups, below the same root, with the same mounts.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use trawl_sys::become_user::User;
use trawl_sys::identity::{effective_gid, effective_uid, groups};
use trawl_sys::peer::user_of;

/// How a process sees the file system.
#[derive(Debug, PartialEq, Eq)]
struct View {
    mounts: PathBuf,
    root: (u64, u64),
}

impl View {
    fn of(process: &str) -> Option<View> {
        let mounts = fs::read_link(format!("/proc/{process}/ns/mnt")).ok()?;
        let root = fs::metadata(format!("/proc/{process}/root")).ok()?;
        Some(View {
            mounts,
            root: (root.dev(), root.ino()),
        })
    }
}

/// Those who may be told.
#[derive(Debug)]
pub(crate) struct Own {
    user: User,
    view: Option<View>,
}

impl Own {
    /// This process.
    pub(crate) fn new() -> Result<Own, trawl_sys::SysError> {
        let mut user = User {
            uid: effective_uid(),
            gid: effective_gid(),
            groups: groups()?,
        };
        user.groups.sort_unstable();
        let view = View::of("self");
        Ok(Own { user, view })
    }

    /// Whether who connected sees what this process sees.
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
        let view = View::of(&credentials.pid.as_raw_nonzero().to_string());
        view.is_some() && view == self.view
    }
}
