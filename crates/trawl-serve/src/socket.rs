//! The socket's file: made with its permissions, however long the path to it, and removed again.

use std::ffi::OsStr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, Mode};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};
use trawl_index::{Watching, layout};

use crate::error::{About, Result};

/// Connections that the kernel keeps until they are accepted.
const BACKLOG: i32 = 128;

/// A name in an open directory, as a path that fits into a socket's address.
fn short_path(dir: BorrowedFd<'_>, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{name}", dir.as_raw_fd()))
}

fn new_socket(flags: SocketFlags) -> rustix::io::Result<OwnedFd> {
    let flags = flags | SocketFlags::CLOEXEC;
    socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
}

/// A socket that is listened to, under its name until this is dropped.
#[derive(Debug)]
pub struct Listening {
    pub(crate) listener: UnixListener,
    /// The directory to remove it from; `None` if it was passed on by someone else.
    made_in: Option<OwnedFd>,
}

impl Listening {
    /// Makes a source's socket. One that was left behind is replaced.
    ///
    /// # Errors
    /// Where the directory takes none.
    pub fn bind(place: &Watching) -> Result<Listening> {
        let path = place.live_path().join(layout::SOCKET_FILE);
        let listener = Self::make(place).about("make the socket", &path)?;
        let made_in = place.live().try_clone_to_owned();
        Ok(Listening {
            listener,
            made_in: Some(made_in.about("make the socket", &path)?),
        })
    }

    fn make(place: &Watching) -> std::io::Result<UnixListener> {
        let dir = place.live();
        let temporary = format!(
            "{}.{}{}",
            layout::SOCKET_FILE,
            std::process::id(),
            layout::TEMPORARY_ENDING
        );
        let _ = rustix::fs::unlinkat(dir, &temporary, AtFlags::empty());
        let socket = new_socket(SocketFlags::NONBLOCK)?;
        // What it is made with; a umask can only take from it.
        rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
        let path = short_path(dir, &temporary);
        bind(&socket, &SocketAddrUnix::new(&path)?)?;
        listen(&socket, BACKLOG)?;
        std::fs::set_permissions(&path, place.socket_permissions())?;
        rustix::fs::renameat(dir, &temporary, dir, layout::SOCKET_FILE)?;
        Ok(UnixListener::from(socket))
    }

    /// A socket that a service manager listens to for us, if it is this source's.
    #[must_use]
    pub fn passed(place: &Watching, socket: &OwnedFd) -> Option<Listening> {
        let address = rustix::net::getsockname(socket).ok()?;
        let address = SocketAddrUnix::try_from(address).ok()?;
        let bound = address.path()?.into_owned();
        let bound = Path::new(OsStr::from_bytes(bound.as_bytes()));
        let there = rustix::fs::stat(bound.parent()?).ok()?;
        let wanted = rustix::fs::fstat(place.live()).ok()?;
        let is_ours = (there.st_dev, there.st_ino) == (wanted.st_dev, wanted.st_ino)
            && bound.file_name()? == layout::SOCKET_FILE;
        let listener = UnixListener::from(is_ours.then(|| socket.try_clone().ok()).flatten()?);
        listener.set_nonblocking(true).ok()?;
        Some(Listening {
            listener,
            made_in: None,
        })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(dir) = &self.made_in {
            let _ = rustix::fs::unlinkat(dir, layout::SOCKET_FILE, AtFlags::empty());
        }
    }
}

/// Connects to the socket in a source's directory for it. Neither this nor any write takes longer
/// than `patience`.
pub(crate) fn connect_in(dir: BorrowedFd<'_>, patience: Duration) -> std::io::Result<UnixStream> {
    let socket = new_socket(SocketFlags::empty())?;
    set_socket_timeout(&socket, Timeout::Send, Some(patience))?;
    let path = short_path(dir, layout::SOCKET_FILE);
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(UnixStream::from(socket))
}
