//! A TLS connection to a server, as a transport: blocking, with a limit on each wait.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::ClientConnection;
use rustls::pki_types::ServerName;
use trawl_model::sync::lock;
use trawl_sys::settings;

use super::{explain, files};
use crate::error::RemoteError;
use crate::transport::{Receive, Transmit, Transport};

/// Maximum time to try one address, and for the handshake, if the caller's limit is not shorter.
const PATIENCE: Duration = Duration::from_secs(15);
/// Maximum number of bytes that wait to be sent.
const UNSENT_MAX_BYTES: usize = 256 << 10;

/// The files with which a client authenticates itself and the server. Files that are `None` are
/// looked up in the default directories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificates {
    /// File of the authorities that may sign a server's certificate.
    pub ca: Option<PathBuf>,
    /// File of the client's certificate, followed by the intermediate certificates.
    pub cert: Option<PathBuf>,
    /// File of the certificate's key.
    pub key: Option<PathBuf>,
}

/// Returns the default directories: this user's, then the system's.
fn places() -> Vec<PathBuf> {
    settings::own()
        .into_iter()
        .chain([PathBuf::from("/etc/trawl")])
        .collect()
}

impl Certificates {
    /// Returns the given file, else the first file of that name in the default directories.
    fn find(given: &Option<PathBuf>, name: &str) -> Option<PathBuf> {
        let there = || places().into_iter().map(|place| place.join(name));
        given.clone().or_else(|| there().find(|path| path.exists()))
    }

    /// Returns the rustls configuration for the files.
    fn config(&self) -> Result<Arc<rustls::ClientConfig>, RemoteError> {
        let ca = Certificates::find(&self.ca, "ca.pem").ok_or_else(|| RemoteError::File {
            action: "find",
            path: places()
                .first()
                .map_or("ca.pem".into(), |place| place.join("ca.pem")),
            source: io::Error::other(
                "it must contain the authorities that sign servers' certificates (with trawl run, --ca names another file)",
            ),
        })?;
        let cert = Certificates::find(&self.cert, "cert.pem");
        let key = Certificates::find(&self.key, "key.pem");
        let own: Option<(&Path, &Path)> = cert.as_deref().zip(key.as_deref());
        files::client(&ca, own)
    }
}

/// A failure of TLS itself; trying again does not help.
#[derive(Debug)]
pub(crate) struct Trouble(String);

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Trouble {}

impl Trouble {
    /// Returns the TLS failure in an error, if it is one.
    pub(crate) fn of(error: &io::Error) -> Option<&Trouble> {
        error.get_ref()?.downcast_ref()
    }
}

fn trouble(error: &rustls::Error) -> io::Error {
    io::Error::other(Trouble(explain(error)))
}

/// Connects, and waits until the handshake is complete on the client's side. Trying one address and
/// the handshake take no longer than `silence` each, and no longer than 15 s.
///
/// # Errors
/// Fails if the server cannot be reached or does not authenticate, or if a file is invalid.
pub(crate) fn connect(
    host: &str,
    port: u16,
    certificates: &Certificates,
    silence: Duration,
) -> Result<Transport, RemoteError> {
    let config = certificates.config()?;
    let failed = |source| {
        let server = super::address(host, port);
        match Trouble::of(&source) {
            Some(trouble) => RemoteError::Tls {
                server,
                why: trouble.to_string(),
            },
            None => RemoteError::Connect { server, source },
        }
    };
    let name = ServerName::try_from(host.to_owned());
    let name = name.map_err(|error| failed(io::Error::other(error)))?;
    let patience = silence.min(PATIENCE);
    let socket = reach(host, port, patience).map_err(failed)?;
    let mut tls = ClientConnection::new(config, name).map_err(|e| failed(trouble(&e)))?;
    tls.set_buffer_limit(Some(UNSENT_MAX_BYTES));
    let both = Both {
        socket: Arc::new(socket),
        tls: Arc::new(Mutex::new(tls)),
    };
    both.greet(Instant::now() + patience).map_err(failed)?;
    Ok(Transport {
        receive: Box::new(both.clone()),
        transmit: Box::new(both),
    })
}

/// Returns a connected, non-blocking socket.
fn reach(host: &str, port: u16, patience: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::other("the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, patience) {
            Ok(socket) => {
                socket.set_nodelay(true)?;
                rustix::net::sockopt::set_socket_keepalive(&socket, true)?;
                socket.set_nonblocking(true)?;
                return Ok(socket);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Both directions of the connection.
#[derive(Clone, Debug)]
struct Both {
    socket: Arc<TcpStream>,
    tls: Arc<Mutex<ClientConnection>>,
}

/// The result of a step in one direction.
enum Step {
    Done(usize),
    /// More can be done when the socket is ready.
    Wait(PollFlags),
}

impl Both {
    fn tls(&self) -> MutexGuard<'_, ClientConnection> {
        lock(&self.tls)
    }

    fn greet(&self, until: Instant) -> io::Result<()> {
        loop {
            let mut tls = self.tls();
            let is_sent = self.flush(&mut tls)?;
            if !tls.is_handshaking() && is_sent {
                return Ok(());
            }
            let wait = match is_sent {
                false => PollFlags::OUT,
                true => match self.take_in(&mut tls)? {
                    Some(0) => {
                        let text = "it ended the connection before it authenticated";
                        return Err(io::Error::other(Trouble(text.to_owned())));
                    }
                    Some(_) => continue,
                    None => PollFlags::IN,
                },
            };
            drop(tls);
            self.wait(wait, until)?;
        }
    }

    /// Sends waiting bytes; false if the socket takes no more for now.
    fn flush(&self, tls: &mut ClientConnection) -> io::Result<bool> {
        while tls.wants_write() {
            match tls.write_tls(&mut &*self.socket) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Receives available bytes. Returns their number, 0 at the end, `None` if there are none.
    fn take_in(&self, tls: &mut ClientConnection) -> io::Result<Option<usize>> {
        let count = loop {
            match tls.read_tls(&mut &*self.socket) {
                Ok(count) => break count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break 0,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        };
        if let Err(error) = tls.process_new_packets() {
            // Sends the alert with the reason to the other end.
            let _ = self.flush(tls);
            return Err(trouble(&error));
        }
        Ok(Some(count))
    }

    fn receive_some(&self, buffer: &mut [u8]) -> io::Result<Step> {
        let mut tls = self.tls();
        loop {
            match tls.reader().read(buffer) {
                Ok(count) => return Ok(Step::Done(count)),
                // The connection was cut without a TLS close; the reader of frames knows whether
                // that is an end.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Ok(Step::Done(0));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            self.flush(&mut tls)?;
            if self.take_in(&mut tls)?.is_none() {
                return Ok(Step::Wait(PollFlags::IN));
            }
        }
    }

    fn transmit_some(&self, bytes: &[u8], taken: &mut usize) -> io::Result<Step> {
        let mut tls = self.tls();
        loop {
            if *taken == 0 {
                *taken = tls.writer().write(bytes)?;
            }
            match (self.flush(&mut tls)?, *taken) {
                (false, _) => return Ok(Step::Wait(PollFlags::OUT)),
                (true, 0) => {}
                (true, taken) => return Ok(Step::Done(taken)),
            }
        }
    }

    fn wait(&self, flags: PollFlags, until: Instant) -> io::Result<()> {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        let mut asked = [PollFd::from_borrowed_fd(self.socket.as_fd(), flags)];
        match poll(&mut asked, Some(&timeout)) {
            Ok(0) => Err(io::ErrorKind::TimedOut.into()),
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl Receive for Both {
    fn receive(&mut self, buffer: &mut [u8], wait: Duration) -> io::Result<usize> {
        let until = Instant::now() + wait;
        loop {
            match self.receive_some(buffer)? {
                Step::Done(count) => return Ok(count),
                Step::Wait(flags) => self.wait(flags, until)?,
            }
        }
    }
}

impl Transmit for Both {
    fn transmit(&mut self, bytes: &[u8], wait: Duration) -> io::Result<usize> {
        let (until, mut taken) = (Instant::now() + wait, 0);
        loop {
            match self.transmit_some(bytes, &mut taken)? {
                Step::Done(count) => return Ok(count),
                Step::Wait(flags) => self.wait(flags, until)?,
            }
        }
    }
}
