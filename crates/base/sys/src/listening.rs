//! Unix sockets whose names appear only when they listen, so that a client that finds the name is
//! never refused.

use std::ffi::{OsStr, OsString};
use std::fs::Permissions;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, Mode, RenameFlags};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};

/// Maximum number of connections that the kernel queues until they are accepted.
const BACKLOG: i32 = 128;

/// What to do if the name exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// Replace it.
    Replace,
    /// Fail with `EEXIST`.
    Refuse,
}

/// Creates a socket in `dir` and listens on it. The path of `dir` may have any length; the socket
/// has these permissions from the moment at which its name appears. It is non-blocking.
///
/// Source: <https://man7.org/linux/man-pages/man7/unix.7.html>
///
/// # Errors
/// Fails if no socket of that name can be created in `dir`.
pub fn listen_in(
    dir: impl AsFd,
    name: &OsStr,
    permissions: Permissions,
    taken: Taken,
) -> io::Result<UnixListener> {
    let dir = dir.as_fd();
    let temporary = OsString::from(format!(".socket.{}.tmp", std::process::id()));
    let _ = rustix::fs::unlinkat(dir, &temporary, AtFlags::empty());
    let socket = new_socket(SocketFlags::NONBLOCK)?;
    // The socket file is created with this mode; the umask can only remove bits.
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    let path = short_path(dir, &temporary);
    bind(&socket, &SocketAddrUnix::new(&path)?)?;
    let put = || {
        listen(&socket, BACKLOG)?;
        std::fs::set_permissions(&path, permissions)?;
        put_in_place(dir, &temporary, name, taken)
    };
    put().inspect_err(|_| {
        let _ = rustix::fs::unlinkat(dir, &temporary, AtFlags::empty());
    })?;
    Ok(UnixListener::from(socket))
}

fn put_in_place(dir: BorrowedFd<'_>, from: &OsStr, to: &OsStr, taken: Taken) -> io::Result<()> {
    if taken == Taken::Refuse {
        match rustix::fs::renameat_with(dir, from, dir, to, RenameFlags::NOREPLACE) {
            // Some file systems do not support `RENAME_NOREPLACE`.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {}
            done => return Ok(done?),
        }
        let there = rustix::fs::statat(dir, to, AtFlags::SYMLINK_NOFOLLOW);
        if there.is_ok() {
            return Err(rustix::io::Errno::EXIST.into());
        }
    }
    Ok(rustix::fs::renameat(dir, from, dir, to)?)
}

/// Connects to a socket in `dir`. Neither connecting nor any later write takes longer than
/// `patience`.
///
/// # Errors
/// Fails if no process listens on that name, or if it does not accept in time.
pub fn connect_in(dir: impl AsFd, name: &OsStr, patience: Duration) -> io::Result<UnixStream> {
    let socket = new_socket(SocketFlags::empty())?;
    set_socket_timeout(&socket, Timeout::Send, Some(patience))?;
    let path = short_path(dir.as_fd(), name);
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(UnixStream::from(socket))
}

/// Returns a path to a name in an open directory that is short enough for a socket's address.
fn short_path(dir: BorrowedFd<'_>, name: &OsStr) -> PathBuf {
    let mut bytes = format!("/proc/self/fd/{}/", dir.as_raw_fd()).into_bytes();
    bytes.extend_from_slice(name.as_bytes());
    Path::new(OsStr::from_bytes(&bytes)).to_owned()
}

fn new_socket(flags: SocketFlags) -> rustix::io::Result<OwnedFd> {
    let flags = flags | SocketFlags::CLOEXEC;
    socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn make(dir: &Path, taken: Taken) -> io::Result<UnixListener> {
        let dir = std::fs::File::open(dir).unwrap();
        listen_in(&dir, OsStr::new("s"), Permissions::from_mode(0o640), taken)
    }

    #[test]
    fn who_finds_it_is_never_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let stop = AtomicBool::new(false);
        let found = std::thread::scope(|scope| {
            let looker = scope.spawn(|| {
                let mut found = 0;
                while !stop.load(Ordering::Relaxed) {
                    match UnixStream::connect(&path) {
                        Ok(_) => found += 1,
                        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                        Err(error) => panic!("{error}"),
                    }
                }
                found
            });
            // The old listeners stay open: a client that found a name before it was replaced must
            // still be accepted.
            let mut kept = Vec::new();
            for _ in 0..200 {
                kept.push(make(dir.path(), Taken::Replace).unwrap());
                let until = std::time::Instant::now() + Duration::from_secs(10);
                let take = |listener: &UnixListener| listener.accept().is_ok();
                while !kept.last().is_some_and(take) && std::time::Instant::now() < until {
                    std::thread::yield_now();
                }
                std::fs::remove_file(&path).unwrap();
                kept.iter().for_each(|listener| while take(listener) {});
            }
            stop.store(true, Ordering::Relaxed);
            looker.join()
        });
        assert!(found.is_ok_and(|found| found >= 200), "each was found");
    }

    #[test]
    fn it_has_its_permissions_and_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let first = make(dir.path(), Taken::Refuse).unwrap();
        let mode = std::fs::metadata(dir.path().join("s")).unwrap();
        assert_eq!(mode.permissions().mode() & 0o7777, 0o640);
        let refused = make(dir.path(), Taken::Refuse).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        let second = make(dir.path(), Taken::Replace).unwrap();
        let _client = UnixStream::connect(dir.path().join("s")).unwrap();
        assert!(second.accept().is_ok());
        assert!(first.accept().is_err());
        let names = std::fs::read_dir(dir.path()).unwrap();
        assert_eq!(names.count(), 1, "nothing is left behind");
    }

    #[test]
    fn long_names_are_no_hindrance() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("d".repeat(200));
        std::fs::create_dir(&deep).unwrap();
        let open = std::fs::File::open(&deep).unwrap();
        let mode = Permissions::from_mode(0o600);
        let made = listen_in(&open, OsStr::new("s"), mode, Taken::Refuse);
        assert!(made.is_ok(), "{made:?}");
        let name = OsStr::new("s");
        assert!(connect_in(&open, name, Duration::from_secs(1)).is_ok());
        let none = connect_in(&open, OsStr::new("t"), Duration::from_secs(1));
        assert_eq!(none.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
