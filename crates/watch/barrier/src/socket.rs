//! Makes the socket's file with its permissions, for paths of any length, and removes it again.

use std::ffi::OsStr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use rustix::fs::AtFlags;
use rustix::net::SocketAddrUnix;
use trawl_format::{Watching, layout};
use trawl_sys::listening::{self, Taken, listen_in};

use crate::error::{About, Result};

/// A listening socket; its file exists until this is dropped.
#[derive(Debug)]
pub struct Listening {
    pub(crate) listener: UnixListener,
    /// The directory to remove the file from; `None` if the socket was passed on by another
    /// process.
    made_in: Option<OwnedFd>,
}

impl Listening {
    /// Makes a source's socket. A socket that was left behind is replaced.
    ///
    /// # Errors
    /// Where the socket cannot be made in the directory.
    pub fn bind(place: &Watching) -> Result<Listening> {
        let path = place.live_path().join(layout::SOCKET_FILE);
        let name = OsStr::new(layout::SOCKET_FILE);
        let permissions = place.socket_permissions();
        let listener = listen_in(place.live(), name, permissions, Taken::Replace)
            .about("make the socket", &path)?;
        let made_in = place.live().try_clone_to_owned();
        Ok(Listening {
            listener,
            made_in: Some(made_in.about("make the socket", &path)?),
        })
    }

    /// Takes a socket on which a service manager listens for us, if it is this source's.
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

/// Connects to the socket in a source's directory. Neither connecting nor any write takes longer
/// than `patience`.
pub(crate) fn connect_in(dir: BorrowedFd<'_>, patience: Duration) -> std::io::Result<UnixStream> {
    listening::connect_in(dir, OsStr::new(layout::SOCKET_FILE), patience)
}
