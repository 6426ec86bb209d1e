//! The event loop of the listening process.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};
use rustix::net::{RecvFlags, SendFlags};
use trawl_sys::become_user::User;
use trawl_sys::identity::effective_uid;
use trawl_sys::message::{Waiting, receive};
use trawl_sys::signal::StopSignals;

use super::Told;
use super::crowd::{Counts, Crowd};
use super::hired::{Staff, Worker};
use super::job::{self, Greeting, Job, Others, Protocol, Report};
use super::source::{Arrival, Sources};
use crate::error::RemoteError;
use crate::tls::renewal::LOOK;
use crate::wire::{Code, Message, Refusal};

/// Maximum number of clients accepted before existing clients are handled.
const ACCEPTED_AT_ONCE: usize = 64;

const STOP: u64 = 0;
const TLS: u64 = 1;
const CHIRP: u64 = 2;
/// Event number of the first Unix socket.
const UNIX: u64 = 8;
/// First event number of connections and processes.
const FIRST: u64 = 1 << 16;

const CROWDED: &str = "there are too many connections: try again later";

/// Receives messages for the log.
type Say<'a> = &'a dyn Fn(String);
/// Receives what serving processes tell of themselves.
type Learn<'a> = &'a dyn Fn(Told<'_>);

/// Runs the loop until a stop signal arrives.
pub(super) fn run(
    sources: &mut Sources,
    worker: &Worker,
    crowd: Crowd,
    stop: &StopSignals,
    (say, learn): (Say<'_>, Learn<'_>),
) -> Result<(), RemoteError> {
    let failed = |source| RemoteError::File {
        action: "wait for",
        path: "clients".into(),
        source,
    };
    allow_descriptors();
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|e| failed(e.into()))?;
    let mut acceptor = Acceptor {
        epoll,
        worker,
        crowd,
        say,
        learn,
        told: vec![0; job::PROFILE_BYTES],
        held: HashMap::new(),
        counts: Counts::default(),
        queue: VecDeque::new(),
        staff: Staff::default(),
        number: FIRST,
    };
    acceptor.begin(sources, stop).map_err(failed)?;
    while acceptor.turn(sources).map_err(failed)? {}
    Ok(())
}

/// Raises the limit on descriptors to its maximum.
fn allow_descriptors() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If this fails, clients are accepted up to the current limit.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// A connection.
struct Connection {
    socket: OwnedFd,
    user: User,
    protocol: Protocol,
    greeting: Greeting,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It has no requests.
    Quiet,
    /// It has a request, and waits to be served since then.
    Waiting(Instant),
    /// This process serves it.
    Served(u64),
}

struct Acceptor<'a> {
    epoll: OwnedFd,
    worker: &'a Worker,
    crowd: Crowd,
    say: Say<'a>,
    learn: Learn<'a>,
    /// Room for a message of a process.
    told: Vec<u8>,
    held: HashMap<u64, Connection>,
    counts: Counts,
    /// Connections that wait to be served, the longest wait first.
    queue: VecDeque<u64>,
    staff: Staff,
    /// The last event number assigned.
    number: u64,
}

impl Acceptor<'_> {
    fn begin(&mut self, sources: &mut Sources, stop: &StopSignals) -> io::Result<()> {
        self.wait_for(stop, STOP)?;
        for (at, socket) in sources.unix.iter().enumerate() {
            self.wait_for(socket, UNIX + at as u64)?;
        }
        if let Some(control) = sources.tls.as_ref().and_then(|tls| tls.control()) {
            self.wait_for(control, TLS)?;
        }
        match &sources.chirp {
            Some(chirp) => self.wait_for(chirp, CHIRP),
            None => Ok(()),
        }
    }

    fn wait_for(&self, descriptor: impl AsFd, number: u64) -> io::Result<()> {
        let data = epoll::EventData::new_u64(number);
        Ok(epoll::add(
            &self.epoll,
            descriptor,
            data,
            epoll::EventFlags::IN,
        )?)
    }

    /// Waits for events and handles them; false once a stop signal arrived.
    fn turn(&mut self, sources: &mut Sources) -> io::Result<bool> {
        let is_timeless = self.queue.is_empty() && self.staff.is_empty();
        let is_whole = sources
            .tls
            .as_ref()
            .is_none_or(|tls| tls.control().is_some());
        let timeout = match (is_timeless && is_whole, &sources.tls) {
            (false, _) => Some(Duration::from_secs(1)),
            (true, Some(_)) => Some(LOOK),
            (true, None) => None,
        };
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: timeout.as_secs().cast_signed(),
            tv_nsec: 0,
        });
        let mut events = Vec::with_capacity(256);
        let room = rustix::buffer::spare_capacity(&mut events);
        match epoll::wait(&self.epoll, room, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        for event in events {
            match event.data.u64() {
                STOP => return Ok(false),
                number if number < FIRST => self.accept(sources, number),
                number if self.held.contains_key(&number) => self.ask(number),
                number => self.hear(number),
            }
        }
        self.expire();
        self.serve_those_who_wait();
        self.staff.tidy();
        for process in self.staff.take_dismissed() {
            (self.learn)(Told::Ended { process });
        }
        self.revive(sources)?;
        Ok(true)
    }

    /// Accepts clients.
    fn accept(&mut self, sources: &mut Sources, source: u64) {
        for _ in 0..ACCEPTED_AT_ONCE {
            let Some(arrival) = self.arrival(sources, source) else {
                return;
            };
            match arrival {
                Ok(arrival) => {
                    if let Err(why) = self.admit(arrival) {
                        (self.say)(format!("a client was not served: {why}"));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => {
                    (self.say)(format!("a client could not be accepted: {error}"));
                    // For example, there are too many descriptors: do not try again at once.
                    return std::thread::sleep(Duration::from_millis(50));
                }
            }
        }
    }

    /// Returns the next client of a source; `None` if the source has none.
    fn arrival(&self, sources: &mut Sources, source: u64) -> Option<io::Result<Arrival>> {
        match source {
            TLS => match sources.tls.as_mut()?.accept() {
                Ok(Some(arrival)) => Some(Ok(arrival)),
                Ok(None) => {
                    (self.say)("the process that ends TLS has ended; starting it again".into());
                    None
                }
                Err(error) => Some(Err(error)),
            },
            CHIRP => Some(sources.chirp.as_ref()?.accept()),
            source => {
                let at = usize::try_from(source.checked_sub(UNIX)?).ok()?;
                Some(sources.unix.get(at)?.accept())
            }
        }
    }

    fn admit(&mut self, arrival: Arrival) -> Result<(), String> {
        let own = effective_uid();
        let refused = |code, errno, why: &str| {
            refuse(&arrival.socket, arrival.protocol, (code, errno), why);
            Err(why.to_owned())
        };
        let user = match arrival.user {
            Ok(user) => user,
            Err(why) => return refused(Code::System, trawl_sys::Errno::ACCES.0, &why),
        };
        if own != 0 && user.uid != own {
            return refused(Code::Busy, 0, "it serves only the user that started it");
        }
        if !self.counts.enter(user.uid, &self.crowd) {
            return refused(Code::Busy, 0, CROWDED);
        }
        self.number += 1;
        let uid = user.uid;
        let held = Connection {
            socket: arrival.socket,
            user,
            protocol: arrival.protocol,
            greeting: Greeting::Due,
            stage: Stage::Quiet,
        };
        if let Err(error) = self.wait_for(&held.socket, self.number) {
            self.counts.leave(uid);
            return Err(error.to_string());
        }
        self.held.insert(self.number, held);
        Ok(())
    }

    /// Handles a quiet connection on which bytes arrived, or which was closed.
    fn ask(&mut self, number: u64) {
        let Some(held) = self.held.get_mut(&number) else {
            return;
        };
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match rustix::net::recv(&held.socket, &mut [0u8; 1][..], flags) {
            Ok((_, 1..)) => {}
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return,
            Ok(_) | Err(_) => return self.forget(number),
        }
        let _ = epoll::delete(&self.epoll, &held.socket);
        held.stage = Stage::Waiting(Instant::now());
        self.queue.push_back(number);
    }

    /// Serves the longest waiting connections, as far as the limits allow.
    fn serve_those_who_wait(&mut self) {
        for _ in 0..self.queue.len() {
            let Some(number) = self.queue.pop_front() else {
                return;
            };
            let Some(held) = self.held.get(&number) else {
                continue;
            };
            let uid = held.user.uid;
            if !self.counts.begin(uid, &self.crowd) {
                self.queue.push_back(number);
                continue;
            }
            if let Err(error) = self.serve(number) {
                self.counts.end(uid);
                let why = format!("no process can serve it: {error}");
                self.turn_away(number, Code::System, &why);
            }
        }
    }

    fn serve(&mut self, number: u64) -> io::Result<()> {
        let held = self.held.get_mut(&number).ok_or(io::ErrorKind::NotFound)?;
        let by = match self.staff.of(&held.user) {
            Some(by) => by,
            None => {
                self.number += 1;
                let hired = self.staff.hire(self.number, &held.user, self.worker)?;
                let data = epoll::EventData::new_u64(self.number);
                epoll::add(&self.epoll, hired, data, epoll::EventFlags::IN)?;
                self.number
            }
        };
        let job = Job {
            number,
            protocol: held.protocol,
            greeting: held.greeting,
            others: match self.queue.is_empty() {
                true => Others::None,
                false => Others::Wait,
            },
        };
        self.staff.give(by, job, held.socket.as_fd())?;
        held.stage = Stage::Served(by);
        Ok(())
    }

    /// Handles a process's reports. The process runs as its user, who may make it send anything, so
    /// a report can only affect connections that this process serves.
    fn hear(&mut self, by: u64) {
        while let Some(hired) = self.staff.get(by) {
            let report = match receive(hired, &mut self.told, Waiting::Never) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Ok((length @ 1.., None)) => match &self.told[..length] {
                    [job::PROFILE, profile @ ..] => {
                        let process = by;
                        if hired.may_tell() {
                            (self.learn)(Told::Profile { process, profile });
                        }
                        // Others are heard before the next message.
                        return self.staff.has_told(by);
                    }
                    report => Report::from_bytes(report),
                },
                Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) => Err(error),
            };
            let Ok(report) = report else {
                return self.lose(by);
            };
            let (Report::Closed(number) | Report::Idle(number, _)) = report;
            let held = self.held.get_mut(&number);
            let Some(held) = held.filter(|held| held.stage == Stage::Served(by)) else {
                return self.lose(by);
            };
            held.stage = Stage::Quiet;
            self.staff.done(by);
            self.counts.end(held.user.uid);
            let Report::Idle(_, features) = report else {
                self.forget(number);
                continue;
            };
            held.greeting = Greeting::Done(features);
            let data = epoll::EventData::new_u64(number);
            if epoll::add(&self.epoll, &held.socket, data, epoll::EventFlags::IN).is_err() {
                self.forget(number);
            }
        }
    }

    /// Handles the end of a process, which ends the connections that it served.
    fn lose(&mut self, by: u64) {
        let of_it = self
            .held
            .iter()
            .filter(|(_, held)| held.stage == Stage::Served(by));
        let of_it: Vec<u64> = of_it.map(|(number, _)| *number).collect();
        for number in of_it {
            if let Some(held) = self.held.get(&number) {
                self.counts.end(held.user.uid);
            }
            self.forget(number);
        }
        self.staff.dismiss(by);
    }

    /// Closes a connection. Another process may still hold the socket, so it is shut down for all
    /// of them.
    fn forget(&mut self, number: u64) {
        if let Some(held) = self.held.remove(&number) {
            let _ = epoll::delete(&self.epoll, &held.socket);
            let _ = rustix::net::shutdown(&held.socket, rustix::net::Shutdown::Both);
            self.counts.leave(held.user.uid);
        }
    }

    fn turn_away(&mut self, number: u64, code: Code, why: &str) {
        if let Some(held) = self.held.get(&number) {
            refuse(&held.socket, held.protocol, (code, 0), why);
            (self.say)(format!("a client was not served: {why}"));
        }
        self.forget(number);
    }

    /// Refuses connections that have waited too long.
    fn expire(&mut self) {
        let patience = self.crowd.patience;
        let is_late = |held: &Connection| match held.stage {
            Stage::Waiting(since) => since.elapsed() > patience,
            _ => false,
        };
        let late = self.queue.iter();
        let late = late.filter(|number| self.held.get(number).is_some_and(is_late));
        let late: Vec<u64> = late.copied().collect();
        for number in &late {
            let why = "too many of this user's connections are served: try again later";
            self.turn_away(*number, Code::Busy, why);
        }
        if !late.is_empty() {
            self.queue.retain(|number| self.held.contains_key(number));
        }
    }

    fn revive(&mut self, sources: &mut Sources) -> io::Result<()> {
        let Some(tls) = &mut sources.tls else {
            return Ok(());
        };
        if let Some(told) = tls.renew() {
            (self.say)(told);
        }
        match tls.revive() {
            Ok(false) => Ok(()),
            Ok(true) => match tls.control() {
                Some(control) => self.wait_for(control, TLS),
                None => Ok(()),
            },
            Err(error) => {
                (self.say)(format!("cannot start the process that ends TLS: {error}"));
                Ok(())
            }
        }
    }
}

/// Sends a refusal, without waiting for a client that does not read.
fn refuse(client: &OwnedFd, protocol: Protocol, (code, errno): (Code, i32), why: &str) {
    let frame = match protocol {
        Protocol::Trawl => Message::Error(Refusal::new(code, errno, why)).encode(0),
        // The answer that a Chirp client gets to an authentication method that is not accepted.
        Protocol::Chirp => b"no\n".to_vec(),
    };
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    let _ = rustix::net::send(client, &frame, flags);
}
