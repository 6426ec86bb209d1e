//! Sockets for clients on this machine and on others, and the identification of their users: the
//! kernel identifies the user of a Unix socket (`SO_PEERCRED`), a certificate that of a TLS
//! connection. A process that runs as that user from its first instruction on answers the requests,
//! so the kernel decides what the user is shown.
//!
//! A connection without requests is kept by the listening process and costs one descriptor. When
//! bytes arrive, the connection is passed to its user's process, a thread of which serves it until
//! it has no requests; then it comes back. So few processes serve many thousands of connections.
//!
//! - [`crowd`]: limits on connections. `hired`: the processes; [`worker`]: their work.
//! - `job`: messages between the processes.
//! - [`source`]: the sockets that accept connections. `acceptor`: the event loop.
//!
//! Invariants: the listening process reads nothing from clients; one that does not run as the
//! superuser serves its own user only; connections, processes and threads are bounded, per user and
//! in total; a client that is refused is told the reason.

mod acceptor;
pub mod crowd;
mod hired;
pub(crate) mod job;
pub mod source;
pub mod worker;

use trawl_sys::signal::StopSignals;

use crate::error::RemoteError;

pub use crowd::Crowd;
pub use hired::Worker;
pub use job::Greeting;
pub use source::{TlsListen, UnixSocket};
pub use worker::{OwnProfile, work};

use source::Sources;

/// What a serving process tells of itself. It runs as its client's user, who may make it tell
/// anything.
#[derive(Clone, Copy, Debug)]
pub enum Told<'a> {
    /// Its own profile since it started, as [`OwnProfile`] returned it.
    Profile {
        /// Number of the process; no two processes have the same.
        process: u64,
        /// The profile.
        profile: &'a [u8],
    },
    /// It has ended, or will tell nothing more.
    Ended {
        /// Number of the process.
        process: u64,
    },
}

/// The sockets to listen at.
#[derive(Debug, Default)]
pub struct Listening {
    sources: Sources,
}

impl Listening {
    /// Listens at a Unix socket: everyone may connect to the superuser's socket, only the user
    /// itself to any other. Replaces a stale socket that nobody listens at. The socket is removed
    /// when this value is dropped.
    ///
    /// # Errors
    /// Fails if the socket cannot be made.
    pub fn bind(path: &std::path::Path) -> Result<Listening, RemoteError> {
        let mut listening = Listening::default();
        listening.add_unix(UnixSocket::bind(path)?);
        Ok(listening)
    }

    /// Adds a Unix socket.
    pub fn add_unix(&mut self, socket: UnixSocket) {
        self.sources.unix.push(socket);
    }

    /// Adds a TLS listener for clients with certificates.
    ///
    /// # Errors
    /// Fails if the process that terminates TLS cannot be started, or a file is invalid.
    pub fn add_tls(&mut self, listen: TlsListen) -> Result<(), RemoteError> {
        self.sources.tls = Some(source::Tls::bind(listen)?);
        Ok(())
    }

    /// Adds a listener that answers Chirp's `search` line for any client, as one user.
    ///
    /// # Errors
    /// Fails if the socket cannot be used.
    pub fn add_chirp(
        &mut self,
        socket: std::net::TcpListener,
        user: trawl_sys::become_user::User,
    ) -> Result<(), RemoteError> {
        self.sources.chirp = Some(source::Chirp::new(socket, user)?);
        Ok(())
    }

    /// Returns the addresses of the sockets that other machines can reach: TLS and Chirp.
    #[must_use]
    pub fn addresses(&self) -> Vec<std::net::SocketAddr> {
        self.sources.addresses()
    }

    /// Serves until a stop signal arrives, and lets `learn` know what the serving processes tell of
    /// themselves. Clients that are being served then continue to be
    /// served.
    ///
    /// # Errors
    /// Fails if the sockets cannot be waited for.
    pub fn run(
        &mut self,
        worker: &Worker,
        crowd: Crowd,
        stop: &StopSignals,
        say: &dyn Fn(String),
        learn: &dyn Fn(Told<'_>),
    ) -> Result<(), RemoteError> {
        acceptor::run(&mut self.sources, worker, crowd, stop, (say, learn))
    }
}
