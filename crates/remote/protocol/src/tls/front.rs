//! The process that terminates TLS for a server. It accepts clients, requests their certificates,
//! and passes a plain socket for each client, with the identities in its certificate, to the
//! process that started it. From then on it relays bytes.
//!
//! It is a separate process because it is the first to parse bytes from strangers: it runs as an
//! ordinary user, opens no files and starts no programs. The superuser's process sees no byte of a
//! client that was not admitted. Because it holds the server's key, other processes of its user
//! can never trace it.
//!
//! Invariants: one thread, which never waits for a single client; memory per client is bounded, and
//! bytes that one end does not take are not read from the other; a client that does not show a
//! certificate in time is dropped, and so is the oldest of too many; so is one that reads nothing.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};
use rustls::ServerConfig;

use trawl_sys::become_user::become_untraced;
use trawl_sys::message::{Waiting, receive, send};

use super::files::{ServerFiles, server};
use super::session::{Session, Turn};
use crate::error::RemoteError;

/// Maximum time for a client to authenticate.
const GREETING: Duration = Duration::from_secs(20);
/// Maximum number of clients that have not authenticated. The oldest makes room for a new one, so that
/// nobody keeps others out by connections that say nothing.
const STRANGERS_MAX: usize = 512;
/// Maximum number of clients accepted before existing clients are handled.
const ACCEPTED_AT_ONCE: usize = 64;
/// Minimum time between two messages about clients.
const TOLD: Duration = Duration::from_millis(100);
/// The message that tells that this process has become its user, and nobody can trace it.
pub(crate) const READY: &[u8] = b"ready";
/// The message with which files of a certificate come.
pub(crate) const FILES: &[u8] = b"files";

const CONTROL: u64 = 0;
const LISTENER: u64 = 1;
/// Descriptors per client; a client's event numbers are its own number times this, plus 0 or 1.
const FIRST: u64 = 2;

/// Terminates TLS until the other end of `control` is closed. That end first sends the files of the
/// certificate, then the limit and the listening socket, and later other files for new connections.
///
/// # Errors
/// Fails if these are invalid, or the descriptors cannot be waited for.
pub fn front(control: OwnedFd) -> Result<(), RemoteError> {
    let failed = |source| RemoteError::File {
        action: "end TLS for",
        path: "the server".into(),
        source,
    };
    become_untraced().map_err(failed)?;
    let mut front = Front::prepare(control).map_err(failed)?;
    front.run().map_err(failed)
}

/// Returns the configuration by files from the other end.
fn configuration(files: Option<OwnedFd>) -> io::Result<Arc<ServerConfig>> {
    let files = files.ok_or_else(|| io::Error::other("no certificate came"))?;
    server(&ServerFiles::from_memory(files)?).map_err(io::Error::other)
}

struct Front {
    control: OwnedFd,
    listener: TcpListener,
    config: Arc<ServerConfig>,
    epoll: OwnedFd,
    sessions: HashMap<u64, Session>,
    /// The sessions of clients that have not authenticated.
    strangers: BTreeSet<u64>,
    /// Number of the next client.
    number: u64,
    most: usize,
    told: Instant,
    /// Whether the listener is polled, which stops while there are too many clients.
    is_listening: bool,
}

impl Front {
    fn prepare(control: OwnedFd) -> io::Result<Front> {
        send(&control, READY, None, Waiting::Allowed)?;
        let files = receive(&control, &mut [0; FILES.len()], Waiting::Allowed)?.1;
        let config = configuration(files)?;
        let mut most = [0; 8];
        let (length, listener) = receive(&control, &mut most, Waiting::Allowed)?;
        let listener = listener.filter(|_| length == most.len());
        let listener = listener.ok_or_else(|| io::Error::other("no socket came"))?;
        let listener = TcpListener::from(listener);
        listener.set_nonblocking(true)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let once = |number| epoll::EventData::new_u64(number);
        epoll::add(&epoll, &control, once(CONTROL), epoll::EventFlags::IN)?;
        epoll::add(&epoll, &listener, once(LISTENER), epoll::EventFlags::IN)?;
        Ok(Front {
            control,
            listener,
            config,
            epoll,
            sessions: HashMap::new(),
            strangers: BTreeSet::new(),
            number: 1,
            most: usize::try_from(u64::from_le_bytes(most)).unwrap_or(usize::MAX),
            told: Instant::now(),
            is_listening: true,
        })
    }

    fn run(&mut self) -> io::Result<()> {
        let mut again: Vec<u64> = Vec::new();
        let mut looked = Instant::now();
        loop {
            let events = self.wait(again.is_empty())?;
            let mut due = std::mem::take(&mut again);
            for event in events {
                match event.data.u64() {
                    CONTROL if self.renew()? => {}
                    CONTROL => return Ok(()),
                    LISTENER => self.accept(&mut due)?,
                    descriptor => due.push(descriptor / FIRST),
                }
            }
            due.sort_unstable();
            due.dedup();
            due.retain(|number| self.turn(*number) == Some(Turn::Again));
            again = due;
            if looked.elapsed() >= Duration::from_secs(1) {
                looked = Instant::now();
                self.expire();
            }
            self.listen_if_there_is_room()?;
        }
    }

    /// Uses other files for new connections; returns false if the control socket was closed.
    fn renew(&mut self) -> io::Result<bool> {
        let received = receive(&self.control, &mut [0; FILES.len()], Waiting::Never);
        match received {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
            Ok((1.., files)) => {
                self.config = configuration(files)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Waits until something can be done. Does not block while a client has work left.
    fn wait(&self, is_idle: bool) -> io::Result<Vec<epoll::Event>> {
        let timeout = Timespec {
            tv_sec: i64::from(is_idle),
            tv_nsec: 0,
        };
        let is_timed = !self.sessions.is_empty() || !is_idle;
        let timeout = is_timed.then_some(&timeout);
        let mut events = Vec::with_capacity(256);
        let room = rustix::buffer::spare_capacity(&mut events);
        match epoll::wait(&self.epoll, room, timeout) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(events),
            Err(errno) => Err(errno.into()),
        }
    }

    fn accept(&mut self, due: &mut Vec<u64>) -> io::Result<()> {
        for _ in 0..ACCEPTED_AT_ONCE {
            if !self.has_room() {
                return Ok(());
            }
            let socket = match self.listener.accept() {
                Ok((socket, _)) => socket,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => {
                    self.tell(&format!("a client could not be accepted: {error}"));
                    std::thread::sleep(Duration::from_millis(20));
                    return Ok(());
                }
            };
            let number = self.number;
            self.number += 1;
            let begun = Session::begin(socket, Arc::clone(&self.config))
                .and_then(|session| self.wait_for(session.socket(), number, 0).map(|()| session));
            match begun {
                Ok(session) => {
                    self.sessions.insert(number, session);
                    self.strangers.insert(number);
                    self.make_room();
                }
                Err(error) => self.tell(&format!("a client could not be served: {error}")),
            }
            due.push(number);
        }
        Ok(())
    }

    /// Registers a descriptor for all its events.
    fn wait_for(&self, descriptor: impl AsFd, number: u64, which: u64) -> io::Result<()> {
        let flags = epoll::EventFlags::IN
            | epoll::EventFlags::OUT
            | epoll::EventFlags::RDHUP
            | epoll::EventFlags::ET;
        let data = epoll::EventData::new_u64(number * FIRST + which);
        Ok(epoll::add(&self.epoll, descriptor, data, flags)?)
    }

    /// Drops the oldest of too many clients that have not authenticated.
    fn make_room(&mut self) {
        let is_crowded = self.strangers.len() > STRANGERS_MAX || self.sessions.len() > self.most;
        if is_crowded && let Some(oldest) = self.strangers.pop_first() {
            self.sessions.remove(&oldest);
            self.tell("too many clients have shown no certificate: the oldest was dropped");
        }
    }

    /// Returns whether another client may be accepted.
    fn has_room(&self) -> bool {
        self.sessions.len() < self.most || !self.strangers.is_empty()
    }

    fn listen_if_there_is_room(&mut self) -> io::Result<()> {
        let has_room = self.has_room();
        if has_room != self.is_listening {
            let data = epoll::EventData::new_u64(LISTENER);
            match has_room {
                true => epoll::add(&self.epoll, &self.listener, data, epoll::EventFlags::IN)?,
                false => epoll::delete(&self.epoll, &self.listener)?,
            }
            self.is_listening = has_room;
        }
        Ok(())
    }

    /// Relays a client's bytes as far as possible.
    fn turn(&mut self, number: u64) -> Option<Turn> {
        let session = self.sessions.get_mut(&number)?;
        let mut turn = session.go_on();
        if let Turn::Known = turn {
            turn = match self.let_in(number) {
                Ok(()) => Turn::Again,
                Err(error) => Turn::Over(Some(error.to_string())),
            };
        }
        if let Turn::Over(why) = &turn {
            let session = self.sessions.remove(&number)?;
            self.strangers.remove(&number);
            if let Some(why) = why {
                self.tell(&format!(
                    "a client at {} was not served: {why}",
                    session.peer()
                ));
            }
        }
        Some(turn)
    }

    /// Sends the client's identities and its plain socket to the server.
    fn let_in(&mut self, number: u64) -> io::Result<()> {
        let gone = || io::Error::from(io::ErrorKind::NotConnected);
        let session = self.sessions.get_mut(&number).ok_or_else(gone)?;
        let who = session.identities().join("\n");
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        send(
            &self.control,
            who.as_bytes(),
            Some(theirs.as_fd()),
            Waiting::Allowed,
        )?;
        let inner = ours.try_clone()?;
        session.set_inner(ours);
        self.strangers.remove(&number);
        self.wait_for(inner, number, 1)
    }

    /// Drops clients that do not authenticate, read or disconnect in time.
    fn expire(&mut self) {
        let mut gone = 0;
        self.sessions.retain(|_, session| {
            let is_late = session.is_late(GREETING);
            gone += usize::from(is_late && session.is_unknown());
            !is_late
        });
        self.strangers
            .retain(|number| self.sessions.contains_key(number));
        if gone > 0 {
            self.tell(&format!(
                "{gone} clients took too long to show a certificate"
            ));
        }
    }

    fn tell(&mut self, text: &str) {
        if self.told.elapsed() >= TOLD {
            self.told = Instant::now();
            eprintln!("trawl: {text}");
        }
    }
}
