//! The sockets that accept connections.

use std::fs::Permissions;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use trawl_sys::become_user::User;
use trawl_sys::identity::effective_uid;
use trawl_sys::listening::{Taken, listen_in};
use trawl_sys::message::{Waiting, receive, send};
use trawl_sys::peer::user_of;
use trawl_sys::wait::readable;

use super::hired::Worker;
use super::job::Protocol;
use crate::error::RemoteError;
use crate::tls::front::{FILES, READY};
use crate::tls::renewal::{Renewal, ServerPaths};
use crate::tls::users::Users;

/// Maximum time for the process that terminates TLS to start.
const PATIENCE: Duration = Duration::from_secs(20);
/// Minimum time between two starts of that process.
const PAUSE: Duration = Duration::from_secs(1);
/// Number of clients that are accepted beyond the limit, to be told that there are too many.
const TOLD_MAX: u64 = 256;
/// Maximum length of the identities of one certificate, in bytes.
const IDENTITIES_MAX_BYTES: usize = 64 << 10;

/// A new client.
pub(super) struct Arrival {
    pub(super) socket: OwnedFd,
    /// The client's user, or the reason for a refusal.
    pub(super) user: Result<User, String>,
    pub(super) protocol: Protocol,
}

/// All sockets.
#[derive(Debug, Default)]
pub(super) struct Sources {
    pub(super) unix: Vec<UnixSocket>,
    pub(super) tls: Option<Tls>,
    pub(super) chirp: Option<Chirp>,
}

impl Sources {
    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        let tls = self.tls.as_ref().map(|tls| tls.listener.local_addr());
        let chirp = self.chirp.as_ref().map(|chirp| chirp.0.local_addr());
        tls.into_iter().chain(chirp).flatten().collect()
    }
}

/// A listening Unix socket; dropping it removes the socket if it was made here.
#[derive(Debug)]
pub struct UnixSocket {
    listener: UnixListener,
    path: Option<PathBuf>,
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl AsFd for UnixSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl UnixSocket {
    /// Makes the socket; see [`super::Listening::bind`].
    ///
    /// # Errors
    /// Fails if it cannot be made.
    pub fn bind(path: &Path) -> Result<UnixSocket, RemoteError> {
        let failed = |source| RemoteError::File {
            action: "make the socket",
            path: path.to_owned(),
            source,
        };
        let is_socket = |path: &Path| {
            let metadata = std::fs::symlink_metadata(path);
            metadata.is_ok_and(|metadata| metadata.file_type().is_socket())
        };
        if is_socket(path) && UnixStream::connect(path).is_err() {
            std::fs::remove_file(path).map_err(failed)?;
        }
        let mode = match effective_uid() {
            0 => 0o666,
            _ => 0o600,
        };
        let parent = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput);
        let name = name.map_err(|kind| failed(kind.into()))?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listener = rustix::fs::open(parent, flags, Mode::empty())
            .map_err(io::Error::from)
            .and_then(|dir| listen_in(&dir, name, Permissions::from_mode(mode), Taken::Refuse))
            .map_err(failed)?;
        Ok(UnixSocket {
            listener,
            path: Some(path.to_owned()),
        })
    }

    /// Takes over a socket that a service manager made.
    ///
    /// # Errors
    /// Fails if the descriptor is not a listening Unix socket.
    pub fn inherited(socket: OwnedFd) -> io::Result<UnixSocket> {
        let listener = UnixListener::from(socket);
        listener.local_addr()?;
        listener.set_nonblocking(true)?;
        Ok(UnixSocket {
            listener,
            path: None,
        })
    }

    pub(super) fn accept(&self) -> io::Result<Arrival> {
        let (client, _) = self.listener.accept()?;
        let user = user_of(&client).map_err(|error| error.to_string());
        Ok(Arrival {
            socket: client.into(),
            user,
            protocol: Protocol::Trawl,
        })
    }
}

/// The listener for Chirp's `search` line, and the user that answers it.
#[derive(Debug)]
pub(super) struct Chirp(TcpListener, User);

impl AsFd for Chirp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Chirp {
    pub(super) fn new(listener: TcpListener, user: User) -> Result<Chirp, RemoteError> {
        listener.set_nonblocking(true).map_err(at_socket)?;
        Ok(Chirp(listener, user))
    }

    pub(super) fn accept(&self) -> io::Result<Arrival> {
        let (client, _) = self.0.accept()?;
        client.set_nodelay(true)?;
        rustix::net::sockopt::set_socket_keepalive(&client, true)?;
        Ok(Arrival {
            socket: client.into(),
            user: Ok(self.1.clone()),
            protocol: Protocol::Chirp,
        })
    }
}

fn at_socket(source: io::Error) -> RemoteError {
    RemoteError::File {
        action: "listen at",
        path: "the socket".into(),
        source,
    }
}

/// The configuration of a TLS listener.
#[derive(Debug)]
pub struct TlsListen {
    /// The listening socket.
    pub listener: TcpListener,
    /// Files of the server's certificate, and of the authorities that may sign clients' certificates.
    pub paths: ServerPaths,
    /// The users that certificates stand for.
    pub users: Users,
    /// The program that terminates TLS.
    pub front: Worker,
    /// The user that this program runs as.
    pub front_user: User,
    /// Maximum number of connections.
    pub connections: usize,
}

/// The process that terminates TLS, and its configuration.
#[derive(Debug)]
pub(super) struct Tls {
    listener: TcpListener,
    renewal: Renewal,
    users: Users,
    front: Worker,
    front_user: User,
    connections: usize,
    running: Option<(Child, OwnedFd)>,
    started: Instant,
}

impl Drop for Tls {
    fn drop(&mut self) {
        self.end();
    }
}

impl Tls {
    /// Reads the files, and starts the process.
    pub(super) fn bind(listen: TlsListen) -> Result<Tls, RemoteError> {
        // Errors in the files are reported here and now.
        let renewal = Renewal::begin(listen.paths)?;
        listen.users.check()?;
        let mut tls = Tls {
            listener: listen.listener,
            renewal,
            users: listen.users,
            front: listen.front,
            front_user: listen.front_user,
            connections: listen.connections,
            running: None,
            started: Instant::now(),
        };
        tls.start().map_err(|source| RemoteError::File {
            action: "start the process that ends TLS,",
            path: tls.front.program.clone(),
            source,
        })?;
        Ok(tls)
    }

    fn start(&mut self) -> io::Result<()> {
        self.started = Instant::now();
        let (child, control) = self.front.start_untraced(&self.front_user)?;
        let (_, control) = self.running.insert((child, control));
        // Once it is ready, it has become its user.
        let [is_ready] = readable([control.as_fd()], Some(PATIENCE)).map_err(io::Error::other)?;
        let mut said = [0; 16];
        if !is_ready || receive(&*control, &mut said, Waiting::Never)?.0 != READY.len() {
            return Err(io::Error::other("it did not get ready"));
        }
        let give = |files: OwnedFd| send(&*control, FILES, Some(files.as_fd()), Waiting::Allowed);
        self.renewal.give(give)?;
        let most = (self.connections as u64 + TOLD_MAX).to_le_bytes();
        send(
            &*control,
            &most,
            Some(self.listener.as_fd()),
            Waiting::Allowed,
        )
    }

    fn end(&mut self) {
        if let Some((mut child, control)) = self.running.take() {
            drop(control);
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts the process again if it has ended, and returns whether it did. It pauses between
    /// starts, in case the process ends again and again.
    pub(super) fn revive(&mut self) -> io::Result<bool> {
        if self.running.is_some() || self.started.elapsed() < PAUSE {
            return Ok(false);
        }
        let started = self.start();
        if started.is_err() {
            self.end();
        }
        started.map(|()| true)
    }

    /// Has the process use files that have replaced those before; returns what to tell of it.
    pub(super) fn renew(&mut self) -> Option<String> {
        let control = self.running.as_ref().map(|(_, control)| control);
        self.renewal.pass_on(|files| match control {
            Some(control) => send(control, FILES, Some(files.as_fd()), Waiting::Never),
            None => Err(io::ErrorKind::NotConnected.into()),
        })
    }

    /// Returns the control socket of the process, while it runs.
    pub(super) fn control(&self) -> Option<BorrowedFd<'_>> {
        self.running.as_ref().map(|(_, control)| control.as_fd())
    }

    /// Returns the next client that has authenticated; `None` if the process has ended.
    pub(super) fn accept(&mut self) -> io::Result<Option<Arrival>> {
        let Some((_, control)) = &self.running else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        let mut text = vec![0; IDENTITIES_MAX_BYTES];
        let taken = match receive(control, &mut text, Waiting::Never) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
            taken => taken.unwrap_or((0, None)),
        };
        let (length @ 1.., Some(socket)) = taken else {
            self.end();
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&text[..length]);
        let identities: Vec<String> = text.split('\n').map(str::to_owned).collect();
        Ok(Some(Arrival {
            socket,
            user: self.users.find(&identities),
            protocol: Protocol::Trawl,
        }))
    }
}
