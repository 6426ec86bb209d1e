//! The user at the other end of a local socket, as the kernel recorded it when the socket was
//! connected.

use std::os::fd::{AsFd, AsRawFd};

use crate::become_user::User;
use crate::error::{Errno, Op, SysError};

/// Maximum number of groups of a process (`NGROUPS_MAX`).
const GROUPS_MAX: usize = 65536;

/// Returns the user that connected.
///
/// Source: `SO_PEERCRED`, `SO_PEERGROUPS`, <https://man7.org/linux/man-pages/man7/unix.7.html>
///
/// # Errors
/// Fails if `socket` is not a connected Unix socket.
pub fn user_of(socket: impl AsFd) -> Result<User, SysError> {
    let credentials = rustix::net::sockopt::socket_peercred(&socket)
        .map_err(|errno| SysError::new(Op::Getsockopt, errno))?;
    Ok(User {
        uid: credentials.uid.as_raw(),
        gid: credentials.gid.as_raw(),
        groups: groups_of(socket)?,
    })
}

fn groups_of(socket: impl AsFd) -> Result<Vec<u32>, SysError> {
    const PEER_GROUPS: libc::c_int = 59;
    let mut groups = vec![0u32; 64];
    loop {
        let bytes = groups.len() * size_of::<u32>();
        let mut length = libc::socklen_t::try_from(bytes).unwrap_or(0);
        // SAFETY: the descriptor is open; `groups` has room for `length` bytes.
        let code = unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::SOL_SOCKET,
                PEER_GROUPS,
                groups.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if code == 0 {
            groups.truncate(length as usize / size_of::<u32>());
            return Ok(groups);
        }
        match Errno::last() {
            Errno::RANGE if groups.len() < GROUPS_MAX => groups.resize(GROUPS_MAX, 0),
            errno => return Err(SysError::new(Op::Getsockopt, errno)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity;

    #[test]
    fn the_other_end_is_this_process() {
        let (one, _two) = std::os::unix::net::UnixStream::pair().unwrap();
        let user = user_of(&one).unwrap();
        let (uid, gid) = (identity::effective_uid(), identity::effective_gid());
        assert_eq!((user.uid, user.gid), (uid, gid));
        assert_eq!(user.groups, identity::groups().unwrap());
    }
}
