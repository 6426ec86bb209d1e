//! Starts the process that strangers speak to, and gives it what it needs.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

use trawl_remote::tls::files::{browsers, certificates, key};
use trawl_sys::become_user::User;
use trawl_sys::command::spawn_as;
use trawl_sys::message::{Waiting, pair, receive, send};
use trawl_sys::wait::readable;

use super::front;
use super::keeper::FRONT;
use super::messages::{Kind, Setup, tell};
use super::options::Options;
use super::sockets::Sockets;

/// Time that the front has to get ready.
const PATIENCE: Duration = Duration::from_secs(30);

/// What TLS needs, as the files contain it.
pub struct Certificate {
    chain: Vec<u8>,
    key: Vec<u8>,
    clients: Vec<u8>,
}

impl Certificate {
    /// Reads the files that TLS needs.
    ///
    /// # Errors
    /// Says which of them cannot be used.
    pub fn read(options: &Options) -> Result<Certificate, String> {
        let mut read = Certificate {
            chain: Vec::new(),
            key: Vec::new(),
            clients: Vec::new(),
        };
        if options.listen.is_empty() {
            return Ok(read);
        }
        let text = |error: trawl_remote::RemoteError| error.to_string();
        read.chain = certificates(&options.cert).map_err(text)?;
        read.key = key(&options.key).map_err(text)?;
        if let Some(clients) = &options.client_ca {
            read.clients = certificates(clients).map_err(text)?;
        }
        // Errors in the files are reported here and now.
        let clients = (!read.clients.is_empty()).then_some(&read.clients[..]);
        let checked = browsers(&read.chain, &read.key, clients, &[]);
        checked.map_err(|why| format!("cannot use {}: {why}", options.cert.display()))?;
        Ok(read)
    }
}

/// What the front is started with.
pub struct Fronts {
    /// This program.
    pub program: PathBuf,
    /// The user of the front.
    pub user: User,
    /// What TLS needs.
    pub certificate: Certificate,
    /// What else the front has to know.
    pub setup: Setup,
}

impl Fronts {
    /// Starts a front, and returns the way to it.
    ///
    /// # Errors
    /// Says why it cannot be started.
    pub fn start(&self, sockets: &Sockets) -> Result<(Child, Arc<OwnedFd>), String> {
        let failed = |error: io::Error| format!("cannot start the process that ends TLS: {error}");
        let (ours, theirs) = pair().map_err(failed)?;
        let words = [OsString::from(FRONT)];
        let mut child = spawn_as(&self.user, &self.program, &words, theirs).map_err(failed)?;
        match self.prepare(&ours, sockets) {
            Ok(()) => Ok((child, Arc::new(ours))),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(failed(error))
            }
        }
    }

    fn prepare(&self, control: &OwnedFd, sockets: &Sockets) -> io::Result<()> {
        // Once it is ready, other processes of its user cannot trace it or read its memory.
        let [is_ready] = readable([control.as_fd()], Some(PATIENCE))?;
        let mut said = [0; 16];
        if !is_ready || receive(control, &mut said, Waiting::Never)?.0 != front::READY.len() {
            return Err(io::Error::other("it did not get ready"));
        }
        let certificate = &self.certificate;
        for bytes in [&certificate.chain, &certificate.key, &certificate.clients] {
            // An empty message would be the end.
            let message = [&b"="[..], bytes].concat();
            send(control, &message, None, Waiting::Allowed)?;
        }
        tell(control, &self.setup, None, Waiting::Allowed)?;
        let tls = sockets.tls.iter().map(|socket| (Kind::Tls, socket.as_fd()));
        let proxy = sockets.proxy.iter();
        let proxy = proxy.map(|(socket, _)| (Kind::Proxy, socket.as_fd()));
        for (kind, socket) in tls.chain(proxy) {
            tell(control, &kind, Some(socket), Waiting::Allowed)?;
        }
        Ok(())
    }
}
