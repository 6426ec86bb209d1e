//! One client of the process that terminates TLS: relays bytes between its socket and the plain
//! socket.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::{ServerConfig, ServerConnection};

use crate::tls::{explain, identity::identities};

/// Maximum number of waiting bytes per direction.
const WAITING_MAX_BYTES: usize = 64 << 10;
/// Number of steps after which other clients are handled.
const STEPS: usize = 32;
/// Maximum time to read from a refused client, so that the refusal is not lost.
const FAREWELL: Duration = Duration::from_secs(2);

/// Maximum time in which a client reads nothing of what is left of an answer after the process that
/// answers it has given it up.
const UNREAD: Duration = Duration::from_secs(60);

/// The result of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Nothing more can be done for now.
    Wait,
    /// More can be done, after other clients.
    Again,
    /// The client has authenticated.
    Known,
    /// The client is gone, or must be dropped, with the reason.
    Over(Option<String>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It has not authenticated.
    Stranger,
    /// It was admitted.
    In,
    /// Nothing more is sent to it.
    Left,
}

/// A client.
pub(super) struct Session {
    socket: TcpStream,
    peer: String,
    tls: ServerConnection,
    inner: Option<UnixStream>,
    /// Bytes for the plain socket, and how many of them were written.
    waiting: Vec<u8>,
    given: usize,
    stage: Stage,
    since: Instant,
    /// When bytes for the client were last taken by the system, or began to wait for that.
    sent: Instant,
    /// The client, or the plain end, has closed its direction.
    has_ended: bool,
    inner_has_ended: bool,
}

/// Returns the result of a step; `None` if nothing could be done.
fn moved(done: io::Result<usize>) -> io::Result<Option<usize>> {
    match done {
        Ok(count) => Ok(Some(count)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
        Err(error) => Err(error),
    }
}

impl Session {
    pub(super) fn begin(socket: TcpStream, config: Arc<ServerConfig>) -> io::Result<Session> {
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        rustix::net::sockopt::set_socket_keepalive(&socket, true)?;
        let mut tls = ServerConnection::new(config).map_err(io::Error::other)?;
        tls.set_buffer_limit(Some(WAITING_MAX_BYTES));
        let peer = socket.peer_addr().map(|address| address.to_string());
        Ok(Session {
            peer: peer.unwrap_or_default(),
            socket,
            tls,
            inner: None,
            waiting: Vec::new(),
            given: 0,
            stage: Stage::Stranger,
            since: Instant::now(),
            sent: Instant::now(),
            has_ended: false,
            inner_has_ended: false,
        })
    }

    pub(super) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    pub(super) fn peer(&self) -> &str {
        &self.peer
    }

    /// Returns whether the client has not authenticated.
    pub(super) fn is_unknown(&self) -> bool {
        self.stage == Stage::Stranger
    }

    /// Returns whether a client has exceeded its time: to authenticate, to read, or to disconnect.
    pub(super) fn is_late(&self, greeting: Duration) -> bool {
        match self.stage {
            Stage::In => {
                self.sent.elapsed() > UNREAD && self.tls.wants_write() && self.is_given_up()
            }
            Stage::Stranger => self.since.elapsed() > greeting,
            Stage::Left => self.since.elapsed() > FAREWELL,
        }
    }

    /// Returns whether the plain end was closed.
    fn is_given_up(&self) -> bool {
        let Some(inner) = &self.inner else {
            return true;
        };
        let mut asked = [PollFd::new(inner, PollFlags::empty())];
        let told = poll(&mut asked, Some(&Timespec::default()));
        told.is_ok() && asked[0].revents().contains(PollFlags::HUP)
    }

    /// Returns the identities in the client's certificate.
    pub(super) fn identities(&self) -> Vec<String> {
        let first = self.tls.peer_certificates().and_then(<[_]>::first);
        first.map(|der| identities(der)).unwrap_or_default()
    }

    pub(super) fn set_inner(&mut self, inner: UnixStream) {
        self.inner = Some(inner);
        self.stage = Stage::In;
    }

    /// Takes all steps that are possible now.
    pub(super) fn go_on(&mut self) -> Turn {
        for _ in 0..STEPS {
            let done = match self.stage {
                Stage::Left => self.listen_no_more(),
                _ => self.step(),
            };
            match done {
                Ok(true) if self.stage == Stage::Stranger && !self.tls.is_handshaking() => {
                    return Turn::Known;
                }
                Ok(true) => {}
                Ok(false) if self.is_over() => return Turn::Over(None),
                Ok(false) if self.is_left() => {
                    if let Err(error) = self.say_farewell() {
                        return Turn::Over(Some(error.to_string()));
                    }
                }
                Ok(false) => return Turn::Wait,
                Err(error) => {
                    let is_usual = matches!(
                        error.kind(),
                        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
                    );
                    return Turn::Over((!is_usual).then(|| error.to_string()));
                }
            }
        }
        Turn::Again
    }

    fn is_over(&self) -> bool {
        let is_given = self.given == self.waiting.len();
        match self.stage {
            Stage::Stranger | Stage::Left => self.has_ended,
            Stage::In => self.has_ended && is_given,
        }
    }

    /// Returns whether the plain end is closed and all its bytes were sent to the client.
    fn is_left(&self) -> bool {
        self.stage == Stage::In && self.inner_has_ended && !self.tls.wants_write()
    }

    /// Closes the sending direction, and waits a little for the client to close: if its bytes were
    /// left unread, the system would discard what was sent to it.
    fn say_farewell(&mut self) -> io::Result<()> {
        self.inner = None;
        self.stage = Stage::Left;
        self.since = Instant::now();
        self.socket.shutdown(Shutdown::Write)
    }

    /// Takes a step in each direction; returns whether anything was done.
    fn step(&mut self) -> io::Result<bool> {
        let mut is_moved = false;
        if self.tls.wants_write() {
            let is_sent = moved(self.tls.write_tls(&mut self.socket))?.is_some();
            if is_sent {
                self.sent = Instant::now();
            }
            is_moved |= is_sent;
        }
        let may_read = self.given == self.waiting.len() && !self.has_ended;
        if may_read && self.tls.wants_read() {
            is_moved |= self.take_in()?;
        }
        if self.stage == Stage::In {
            is_moved |= self.give_inner()?;
            is_moved |= self.take_inner()?;
        }
        Ok(is_moved)
    }

    /// Reads from the client.
    fn take_in(&mut self) -> io::Result<bool> {
        match moved(self.tls.read_tls(&mut self.socket))? {
            None => return Ok(false),
            Some(0) => {
                self.has_ended = true;
                return Ok(false);
            }
            Some(_) => {}
        }
        if let Err(error) = self.tls.process_new_packets() {
            return self.refuse(&error);
        }
        Ok(true)
    }

    /// Sends the alert with the reason to the client.
    fn refuse(&mut self, error: &rustls::Error) -> io::Result<bool> {
        if self.stage == Stage::Stranger {
            eprintln!(
                "trawl: a client at {} was refused: {}",
                self.peer,
                explain(error)
            );
        }
        while self.tls.wants_write() {
            if moved(self.tls.write_tls(&mut self.socket))?.is_none() {
                break;
            }
        }
        self.say_farewell()?;
        Ok(true)
    }

    fn listen_no_more(&mut self) -> io::Result<bool> {
        match moved(self.socket.read(&mut [0; 4096]))? {
            None => Ok(false),
            Some(0) => {
                self.has_ended = true;
                Ok(false)
            }
            Some(_) => Ok(true),
        }
    }

    /// Writes to the plain socket.
    fn give_inner(&mut self) -> io::Result<bool> {
        let Some(inner) = &mut self.inner else {
            return Ok(false);
        };
        if self.given == self.waiting.len() {
            self.waiting.clear();
            self.given = 0;
            let mut piece = [0; 16 << 10];
            while let Some(count @ 1..) = moved(read_plain(&mut self.tls, &mut piece))? {
                self.waiting.extend_from_slice(&piece[..count]);
            }
            if self.waiting.is_empty() {
                self.waiting = Vec::new();
                return Ok(false);
            }
        }
        let written = match inner.write(&self.waiting[self.given..]) {
            // Nobody reads any more; the reason may already have been sent.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                Ok(self.waiting.len() - self.given)
            }
            written => written,
        };
        match moved(written)? {
            Some(count) => {
                self.given += count;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Reads from the plain socket, once all earlier bytes were sent.
    fn take_inner(&mut self) -> io::Result<bool> {
        let Some(inner) = &mut self.inner else {
            return Ok(false);
        };
        if self.inner_has_ended || self.tls.wants_write() {
            return Ok(false);
        }
        let mut piece = [0; 16 << 10];
        let read = match inner.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(0),
            read => read,
        };
        match moved(read)? {
            None => Ok(false),
            Some(0) => {
                self.sent = Instant::now();
                self.inner_has_ended = true;
                self.tls.send_close_notify();
                Ok(true)
            }
            Some(count) => {
                self.sent = Instant::now();
                self.tls.writer().write_all(&piece[..count])?;
                Ok(true)
            }
        }
    }
}

/// Reads decrypted bytes; 0 at a proper end.
fn read_plain(tls: &mut ServerConnection, piece: &mut [u8]) -> io::Result<usize> {
    match tls.reader().read(piece) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
        other => other,
    }
}
