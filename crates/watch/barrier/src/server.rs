//! Answers requests on a source's socket, with limits on bytes, time and connections.
//!
//! Clients may see the source; otherwise the kernel would not let them reach the socket. A reply
//! contains only what they could know anyway, and all they can ask for is freshness.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use trawl_model::operation::Operation;
use trawl_sys::become_user::{User, as_user};
use trawl_sys::peer;
use trawl_sys::wait::{self, Waker};

use crate::engine::Caller;
use crate::error::{About, Result};
use crate::protocol::{
    Answer, LINE_BYTES, METRICS_BYTES, METRICS_HEAD, PATH_BYTES, Parsed, Request,
};
use crate::slots::{Slot, Slots, UserKind};
use crate::socket::Listening;
use crate::status::Audience;

/// Time limit for a request to arrive, and for a reply to be taken.
const PATIENCE: Duration = Duration::from_secs(2);

/// A server that answers until it is dropped.
pub struct Server {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// Returns the daemon's own profile as bytes for whoever asks, or why there is none.
pub type Metrics = Arc<dyn Fn() -> std::result::Result<Vec<u8>, String> + Send + Sync>;

struct Shared {
    caller: Caller,
    metrics: Metrics,
    /// User id of the index's owner.
    owner: u32,
    slots: Slots,
    waker: Waker,
    stops: AtomicBool,
}

impl Server {
    /// Starts to answer.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn start(
        listening: Listening,
        caller: Caller,
        owner: u32,
        metrics: Metrics,
    ) -> Result<Server> {
        let path = || PathBuf::from("the socket");
        let shared = Arc::new(Shared {
            caller,
            metrics,
            owner,
            slots: Slots::default(),
            waker: Waker::new().about("wait for", path())?,
            stops: AtomicBool::new(false),
        });
        let ours = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("socket".into())
            .spawn(move || accept_on(&listening, &ours))
            .about("start a thread for", path())?;
        Ok(Server {
            shared,
            thread: Some(thread),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stops.store(true, Ordering::Relaxed);
        self.shared.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn accept_on(listening: &Listening, shared: &Arc<Shared>) {
    while !shared.stops.load(Ordering::Relaxed) {
        let _ = wait::readable([listening.listener.as_fd(), shared.waker.as_fd()], None);
        // Accepts a few connections at a time, so that a request to stop is noticed.
        for _ in 0..16 {
            match listening.listener.accept() {
                Ok((stream, _)) => welcome(stream, shared),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                // The process is out of descriptors, for instance: present connections will free
                // theirs.
                Err(_) => {
                    let _ = wait::readable([shared.waker.as_fd()], Some(Duration::from_millis(50)));
                    break;
                }
            }
        }
    }
}

/// Gives a connection a thread of its own, or refuses it.
fn welcome(stream: UnixStream, shared: &Arc<Shared>) {
    let Ok(user) = peer::user_of(&stream) else {
        return;
    };
    let whose = shared.whose(&user);
    let refuse = |stream: &UnixStream, why| {
        let _ = stream.set_nonblocking(true);
        let _ = { stream }.write(Answer::refused(why).encode().as_bytes());
    };
    let Some(slot) = shared.slots.take(whose) else {
        return refuse(&stream, "too many questions at once: try again");
    };
    let ours = Arc::clone(shared);
    let work = move || converse(&stream, &user, &ours, slot);
    // Without a thread the connection is closed.
    let _ = std::thread::Builder::new()
        .name("question".into())
        .spawn(work);
}

fn converse(stream: &UnixStream, user: &User, shared: &Shared, _slot: Slot) {
    let (span, reply) = match read_request(stream) {
        Some(Parsed::Request(request)) => {
            let span = answering(&request).span();
            (Some(span), shared.reply(request, user, stream))
        }
        Some(_) => {
            let why = "the request is malformed or of another version";
            (None, Answer::refused(why).encode().into_bytes())
        }
        None => return,
    };
    let _ = stream.set_write_timeout(Some(PATIENCE));
    let _ = { stream }.write_all(&reply);
    drop(span);
}

/// Returns the operation that answers a request.
fn answering(request: &Request) -> Operation {
    match request {
        Request::Now { .. } => Operation::AnswerNow,
        Request::Status => Operation::AnswerStatus,
        Request::Refresh { .. } => Operation::AnswerRefresh,
        Request::Metrics => Operation::AnswerMetrics,
    }
}

/// Reads a whole request; `None` if it did not arrive in time.
fn read_request(mut stream: &UnixStream) -> Option<Parsed> {
    let until = Instant::now() + PATIENCE;
    let (mut bytes, mut buffer) = (Vec::new(), [0; LINE_BYTES + PATH_BYTES]);
    loop {
        let left = until.checked_duration_since(Instant::now())?;
        stream
            .set_read_timeout(Some(left.max(Duration::from_millis(1))))
            .ok()?;
        let read = match stream.read(&mut buffer) {
            Ok(0) => return None,
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return None,
        };
        bytes.extend(&buffer[..read]);
        match Request::parse(&bytes) {
            Parsed::More => {}
            parsed => return Some(parsed),
        }
    }
}

impl Shared {
    fn whose(&self, user: &User) -> UserKind {
        match user.uid {
            uid if uid == 0 || uid == self.owner => UserKind::Privileged,
            uid => UserKind::User(uid),
        }
    }

    fn reply(&self, request: Request, user: &User, stream: &UnixStream) -> Vec<u8> {
        let is_gone = || wait::is_hung_up(stream) || self.stops.load(Ordering::Relaxed);
        let whose = self.whose(user);
        let answer = match request {
            Request::Status => return self.status(whose).into_bytes(),
            Request::Metrics => match self.metrics(user) {
                Ok(reply) => return reply,
                Err(why) => Answer::refused(&why),
            },
            Request::Now { deadline, max_age } => self.caller.now(deadline, max_age, &is_gone),
            Request::Refresh { deadline, path } => match self.may_refresh(user, &path) {
                Ok(()) => self.caller.refresh(path, deadline, &is_gone),
                Err(why) => Answer::refused(why),
            },
        };
        self.for_them(answer, whose).encode().into_bytes()
    }

    /// Returns the reply with the daemon's own profile. It tells how long questions of all users
    /// took, so only users who know that anyway may read it.
    fn metrics(&self, user: &User) -> std::result::Result<Vec<u8>, String> {
        let daemon = rustix::process::geteuid().as_raw();
        if user.uid != 0 && user.uid != daemon {
            let why = "only the superuser and the daemon's own user may ask for this";
            return Err(why.to_owned());
        }
        let profile = (self.metrics)()?;
        match METRICS_HEAD.len() + profile.len() <= METRICS_BYTES {
            true => Ok([METRICS_HEAD.as_bytes(), &profile].concat()),
            false => Err("the daemon's profile is too long".to_owned()),
        }
    }

    fn status(&self, whose: UserKind) -> String {
        let mut status = self.caller.status();
        let (connections, refused) = self.slots.counts();
        status.number("connections", connections);
        status.number("refused_total", refused);
        status.encode(match whose {
            UserKind::Privileged => Audience::Owner,
            UserKind::User(_) => Audience::All,
        })
    }

    /// Removes details that not everyone may know (paths of parts and reasons): ordinary users are
    /// told about the source as a whole.
    fn for_them(&self, mut answer: Answer, whose: UserKind) -> Answer {
        if whose != UserKind::Privileged && answer.outcome != crate::protocol::Outcome::Refused {
            answer.stale.truncate(1);
            for stale in &mut answer.stale {
                stale.path = self.caller.root().to_vec();
                stale.why = "its index is behind at present".to_owned();
            }
            answer.remarks.clear();
        }
        answer
    }

    /// Decides whether the user may have the directory scanned again. Every refusal uses the same
    /// words, so that users learn nothing about paths that they may not see.
    fn may_refresh(&self, user: &User, path: &[u8]) -> std::result::Result<(), &'static str> {
        const REFUSED: &str =
            "only the superuser, the index's owner and the directory's owner may ask for this";
        let is_plain = trawl_model::path::normalize(path).is_some_and(|plain| plain == path);
        let is_inside = is_plain && trawl_model::path::is_within(path, self.caller.root());
        if self.whose(user) == UserKind::Privileged {
            return is_inside
                .then_some(())
                .ok_or("that is not a path in this source");
        }
        if !self.slots.may_refresh(user.uid, Instant::now()) {
            return Err("too many requests: try again in some seconds");
        }
        let is_theirs = is_inside && owns(user, self.caller.root(), path);
        is_theirs.then_some(()).ok_or(REFUSED)
    }
}

/// Whether the user owns this directory and reaches it without a symbolic link. The check runs as
/// that user, so that not even its duration reveals anything.
fn owns(user: &User, root: &[u8], path: &[u8]) -> bool {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
    let look = || {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let top = openat(CWD, trawl_model::path::display(root), flags, Mode::empty()).ok()?;
        let below = path.get(root.len() + 1..).filter(|below| !below.is_empty());
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let dir = match below {
            None => top,
            Some(below) => openat2(
                &top,
                below,
                flags | OFlags::NOFOLLOW,
                Mode::empty(),
                resolve,
            )
            .ok()?,
        };
        Some(fstat(&dir).ok()?.st_uid == user.uid)
    };
    as_user(user, look).ok().flatten().unwrap_or(false)
}
