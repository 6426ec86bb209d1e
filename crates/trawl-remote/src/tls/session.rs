//! One client of the process that ends TLS: bytes from its socket to the plain one and back.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::{ServerConfig, ServerConnection};

use crate::tls::{explain, identity::identities};

/// Bytes of each direction that may wait.
const WAITING_MAX_BYTES: usize = 64 << 10;
/// Steps after which others have a turn.
const STEPS: usize = 32;
/// How long one that was refused is listened to, so that what it was told is not lost.
const FAREWELL: Duration = Duration::from_secs(2);

/// What came of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Nothing more can be done for now.
    Wait,
    /// More can be done, after others.
    Again,
    /// The client has shown who it is.
    Known,
    /// It is gone, or must go.
    Over(Option<String>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing is known of it.
    Stranger,
    /// It was let in.
    In,
    /// Nothing more is said to it.
    Left,
}

/// A client.
pub(super) struct Session {
    socket: TcpStream,
    peer: String,
    tls: ServerConnection,
    inner: Option<UnixStream>,
    /// For the plain end, and how much of it was given.
    waiting: Vec<u8>,
    given: usize,
    stage: Stage,
    since: Instant,
    /// The client, or the plain end, says no more.
    has_ended: bool,
    inner_has_ended: bool,
}

/// Whether something was done.
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

    /// Whether it has not shown who it is, or was told to go.
    pub(super) fn is_stranger(&self) -> bool {
        self.stage != Stage::In
    }

    /// Whether it has not shown who it is.
    pub(super) fn is_unknown(&self) -> bool {
        self.stage == Stage::Stranger
    }

    /// Whether it has had its time, as long as it is not in.
    pub(super) fn is_late(&self, greeting: Duration) -> bool {
        match self.stage {
            Stage::In => false,
            Stage::Stranger => self.since.elapsed() > greeting,
            Stage::Left => self.since.elapsed() > FAREWELL,
        }
    }

    /// Who its certificate says that it is.
    pub(super) fn identities(&self) -> Vec<String> {
        let first = self.tls.peer_certificates().and_then(<[_]>::first);
        first.map(|der| identities(der)).unwrap_or_default()
    }

    pub(super) fn set_inner(&mut self, inner: UnixStream) {
        self.inner = Some(inner);
        self.stage = Stage::In;
    }

    /// Does what can be done.
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

    /// Whether the plain end is gone and the client has what came from there.
    fn is_left(&self) -> bool {
        self.stage == Stage::In && self.inner_has_ended && !self.tls.wants_write()
    }

    /// Ends the connection, and waits a little for the client to go: if its bytes were left lying
    /// there, the system would throw away what it was told.
    fn say_farewell(&mut self) -> io::Result<()> {
        self.inner = None;
        self.stage = Stage::Left;
        self.since = Instant::now();
        self.socket.shutdown(Shutdown::Write)
    }

    /// One step in each direction: whether there was any.
    fn step(&mut self) -> io::Result<bool> {
        let mut is_moved = false;
        if self.tls.wants_write() {
            is_moved |= moved(self.tls.write_tls(&mut self.socket))?.is_some();
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

    /// From the client.
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

    /// Tells the client what is wrong.
    fn refuse(&mut self, error: &rustls::Error) -> io::Result<bool> {
        if self.stage == Stage::Stranger {
            eprintln!(
                "trawl: a client at {} was not let in: {}",
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

    /// To the plain end.
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
            // Nobody takes it any more; why may have been said.
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

    /// From the plain end, as long as what came before went.
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
                self.inner_has_ended = true;
                self.tls.send_close_notify();
                Ok(true)
            }
            Some(count) => {
                self.tls.writer().write_all(&piece[..count])?;
                Ok(true)
            }
        }
    }
}

/// Plain bytes that have come; 0 at a proper end.
fn read_plain(tls: &mut ServerConnection, piece: &mut [u8]) -> io::Result<usize> {
    match tls.reader().read(piece) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
        other => other,
    }
}
