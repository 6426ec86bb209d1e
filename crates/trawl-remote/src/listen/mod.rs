//! Sockets that programs connect to, on this machine or from others, and who they are: for a Unix
//! socket the kernel says it (`SO_PEERCRED`), for TLS a certificate does. What they ask is
//! answered by a process that is that user from its first instruction on, so whatever they are shown
//! is what the kernel shows to that user.
//!
//! A connection on which nothing is asked lies here and costs a descriptor. When bytes come it
//! is given to its user's process, a thread of which serves it until nothing is asked any more;
//! then it lies here again. So many thousands of connections need few processes.
//!
//! - [`crowd`]: how many there may be. `hired`: the processes; [`worker`]: what they do.
//! - `job`, `pass`: what is said between the processes, and descriptors.
//! - [`source`]: where connections come from. `acceptor`: the loop over all of it.
//!
//! Invariants: the process that listens reads nothing from clients; one that is not the
//! superuser's serves its own user alone; connections, processes and threads are bounded, for each
//! user and in all; who is not served is told why.

mod acceptor;
pub mod crowd;
mod hired;
pub(crate) mod job;
pub(crate) mod pass;
pub mod source;
pub mod worker;

use trawl_sys::signal::StopSignals;

use crate::error::RemoteError;

pub use crowd::Crowd;
pub use hired::Worker;
pub use job::Greeting;
pub use source::{TlsListen, UnixSocket};
pub use worker::work;

use source::Sources;

/// Where connections come from.
#[derive(Debug, Default)]
pub struct Listening {
    sources: Sources,
}

impl Listening {
    /// Listens at a Unix socket: everybody may connect to the superuser's, only the user to their
    /// own. One that was left behind and that nobody listens to is replaced; it is gone when this
    /// is dropped.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn bind(path: &std::path::Path) -> Result<Listening, RemoteError> {
        let mut listening = Listening::default();
        listening.add_unix(UnixSocket::bind(path)?);
        Ok(listening)
    }

    /// Listens there, too.
    pub fn add_unix(&mut self, socket: UnixSocket) {
        self.sources.unix.push(socket);
    }

    /// Lets clients in that show a certificate.
    ///
    /// # Errors
    /// If the address cannot be listened at, or a file is no good.
    pub fn add_tls(&mut self, listen: TlsListen) -> Result<(), RemoteError> {
        self.sources.tls = Some(source::Tls::bind(listen)?);
        Ok(())
    }

    /// Answers Chirp's line `search`, for whoever connects, as one user.
    ///
    /// # Errors
    /// If the address cannot be listened at, or there is no such user.
    pub fn add_chirp(
        &mut self,
        socket: std::net::TcpListener,
        user: trawl_sys::become_user::User,
    ) -> Result<(), RemoteError> {
        self.sources.chirp = Some(source::Chirp::new(socket, user)?);
        Ok(())
    }

    /// The addresses of sockets that other machines can reach: TLS, Chirp.
    #[must_use]
    pub fn addresses(&self) -> Vec<std::net::SocketAddr> {
        self.sources.addresses()
    }

    /// Serves until a signal says that it is enough. Who is served then is served on.
    ///
    /// # Errors
    /// If the sockets cannot be waited for.
    pub fn run(
        &mut self,
        worker: &Worker,
        crowd: Crowd,
        stop: &StopSignals,
        say: &dyn Fn(String),
    ) -> Result<(), RemoteError> {
        acceptor::run(&mut self.sources, worker, crowd, stop, say)
    }
}
