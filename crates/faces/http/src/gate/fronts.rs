//! Starts the process that strangers speak to, and gives it what it needs.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

use trawl_remote::tls::renewal::{Renewal, ServerPaths};
use trawl_sys::become_user::User;
use trawl_sys::command::spawn_untraced;
use trawl_sys::message::{Waiting, pair, receive};
use trawl_sys::wait::readable;

use super::front;
use super::keeper::FRONT;
use super::messages::{Answer, Kind, Setup, Told, tell};
use super::options::Options;
use super::sockets::Sockets;

/// Time that the front has to get ready.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns the files that TLS needs; `None` without TLS.
///
/// # Errors
/// Says which of them cannot be used.
pub fn certificate(options: &Options) -> Result<Option<Renewal>, String> {
    if options.listen.is_empty() {
        return Ok(None);
    }
    let paths = ServerPaths {
        cert: options.cert.clone(),
        key: options.key.clone(),
        clients: options.client_ca.clone(),
    };
    let begun = Renewal::begin(paths).map_err(|error| error.to_string())?;
    Ok(Some(begun))
}

/// What the front is started with.
pub struct Fronts {
    /// This program.
    pub program: PathBuf,
    /// The user of the front.
    pub user: User,
    /// The files that TLS needs.
    pub certificate: Option<Renewal>,
    /// What else the front has to know.
    pub setup: Setup,
}

impl Fronts {
    /// Starts a front, and returns the way to it.
    ///
    /// # Errors
    /// Says why it cannot be started.
    pub fn start(&mut self, sockets: &Sockets) -> Result<(Child, Arc<OwnedFd>), String> {
        let failed = |error: io::Error| format!("cannot start the process that ends TLS: {error}");
        let (ours, theirs) = pair().map_err(failed)?;
        let words = [OsString::from(FRONT)];
        let mut child =
            spawn_untraced(&self.user, &self.program, &words, theirs).map_err(failed)?;
        match self.prepare(&ours, sockets) {
            Ok(()) => Ok((child, Arc::new(ours))),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(failed(error))
            }
        }
    }

    fn prepare(&mut self, control: &OwnedFd, sockets: &Sockets) -> io::Result<()> {
        // Once it is ready, it has become its user.
        let [is_ready] = readable([control.as_fd()], Some(PATIENCE))?;
        let mut said = [0; 16];
        if !is_ready || receive(control, &mut said, Waiting::Never)?.0 != front::READY.len() {
            return Err(io::Error::other("it did not get ready"));
        }
        match &mut self.certificate {
            Some(certificate) => certificate
                .give(|files| tell(control, &self.setup, Some(files.as_fd()), Waiting::Allowed))?,
            None => tell(control, &self.setup, None, Waiting::Allowed)?,
        }
        let tls = sockets.tls.iter().map(|socket| (Kind::Tls, socket.as_fd()));
        let proxy = sockets.proxy.iter();
        let proxy = proxy.map(|(socket, _)| (Kind::Proxy, socket.as_fd()));
        for (kind, socket) in tls.chain(proxy) {
            tell(control, &kind, Some(socket), Waiting::Allowed)?;
        }
        Ok(())
    }

    /// Has the front use files of a certificate that have replaced those before.
    pub fn renew(&mut self, control: &OwnedFd) {
        let Some(certificate) = &mut self.certificate else {
            return;
        };
        let answer = Answer {
            number: 0,
            told: Told::Certificate,
        };
        let told = certificate
            .pass_on(|files| tell(control, &answer, Some(files.as_fd()), Waiting::Never));
        if let Some(told) = told {
            eprintln!("trawl: {told}");
        }
    }
}
