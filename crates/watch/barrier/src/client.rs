//! Sends requests to a source's daemon, from any program that may see the source. This module does
//! not run a daemon.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use trawl_format::{Source, layout};
use trawl_model::operation::Operation;
use trawl_sys::peer;

use crate::error::{About, Result, ServeError};
use crate::protocol::{Answer, METRICS_BYTES, METRICS_HEAD, REPLY_BYTES, Request};
use crate::socket::connect_in;
use crate::status::Status;

/// Extra time after the deadline in which the daemon may report that it missed the deadline.
const GRACE: Duration = Duration::from_secs(2);

/// Asks the daemon to bring the index up to date: every change made before this call is in the
/// index afterwards, or the index was complete at most `max_age` ago. Returns `None` if no daemon
/// watches the source.
///
/// # Errors
/// Where a daemon exists but cannot be asked.
pub fn ask_barrier(
    source: &Source,
    deadline: Duration,
    max_age: Duration,
) -> Result<Option<Answer>> {
    ask_for_answer(source, &Request::Now { deadline, max_age }, deadline)
}

/// Asks the daemon to scan a directory again with everything below it. Returns `None` if no daemon
/// watches the source.
///
/// # Errors
/// As [`ask_barrier`].
pub fn ask_refresh(source: &Source, path: &[u8], deadline: Duration) -> Result<Option<Answer>> {
    let path = path.to_vec();
    ask_for_answer(source, &Request::Refresh { deadline, path }, deadline)
}

/// Asks the daemon for its status. Returns `None` if no daemon watches the source.
///
/// # Errors
/// As [`ask_barrier`].
pub fn ask_status(source: &Source) -> Result<Option<Status>> {
    let Some(reply) = ask(source, &Request::Status, Duration::ZERO)? else {
        return Ok(None);
    };
    let path = socket_path(source);
    Status::parse(&reply)
        .map(Some)
        .ok_or(ServeError::Nonsense { path })
}

/// Asks the daemon how long its own operations took. Returns what the daemon's [`Metrics`] gave, or
/// `None` if no daemon watches the source.
///
/// [`Metrics`]: crate::Metrics
///
/// # Errors
/// As [`ask_barrier`], and [`ServeError::Refused`] for users other than the superuser and the
/// daemon's own.
pub fn ask_metrics(source: &Source) -> Result<Option<Vec<u8>>> {
    let Some(mut reply) = ask(source, &Request::Metrics, Duration::ZERO)? else {
        return Ok(None);
    };
    let path = socket_path(source);
    if reply.starts_with(METRICS_HEAD.as_bytes()) {
        return Ok(Some(reply.split_off(METRICS_HEAD.len())));
    }
    match Answer::parse(&reply) {
        Some(answer) => {
            let why = answer.reasons();
            Err(ServeError::Refused { path, why })
        }
        None => Err(ServeError::Nonsense { path }),
    }
}

/// Returns true if the source's daemon was killed: its socket still exists but nobody listens on
/// it.
pub fn is_left(source: &Source) -> bool {
    let Ok(Some(dir)) = source.live_dir() else {
        return false;
    };
    // A service manager's socket remains when a daemon ends.
    if source.has_manager() {
        return false;
    }
    let connected = connect_in(dir.as_fd(), GRACE);
    connected.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

fn ask_for_answer(
    source: &Source,
    request: &Request,
    deadline: Duration,
) -> Result<Option<Answer>> {
    let Some(reply) = ask(source, request, deadline)? else {
        return Ok(None);
    };
    let path = socket_path(source);
    Answer::parse(&reply)
        .map(Some)
        .ok_or(ServeError::Nonsense { path })
}

fn socket_path(source: &Source) -> PathBuf {
    source.path().join(layout::LIVE).join(layout::SOCKET_FILE)
}

fn ask(source: &Source, request: &Request, deadline: Duration) -> Result<Option<Vec<u8>>> {
    let Some(dir) = source.live_dir()? else {
        return Ok(None);
    };
    let until = Instant::now() + deadline + GRACE;
    let mut stream = match connect_in(dir.as_fd(), deadline + GRACE) {
        Ok(stream) => stream,
        // The socket was never made, was removed, was left behind by a killed daemon, or is not
        // accessible to this user.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::NotFound | ErrorKind::ConnectionRefused | ErrorKind::PermissionDenied
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error).about("ask the daemon at", socket_path(source)),
    };
    let _span = Operation::AskDaemon.span();
    check_listener(source, dir.as_fd(), &stream)?;
    let exchange = || -> std::io::Result<Vec<u8>> {
        stream.write_all(&request.encode())?;
        let limit = match request {
            Request::Metrics => METRICS_BYTES,
            _ => REPLY_BYTES,
        };
        read_reply(&mut stream, until, limit)
    };
    let exchange = { exchange }();
    exchange
        .map(Some)
        .about("ask the daemon at", socket_path(source))
}

/// Checks that the listener is the superuser (as a service manager is) or the owner of the index.
/// Answers of others are not trusted, wherever the socket came from.
fn check_listener(source: &Source, dir: BorrowedFd<'_>, stream: &UnixStream) -> Result<()> {
    let path = || socket_path(source);
    let uid = peer::user_of(stream)
        .about("ask who listens on", path())?
        .uid;
    let owner = rustix::fs::fstat(dir).map_err(std::io::Error::from);
    let owner = owner.about("ask for the owner of", path())?.st_uid;
    match uid == 0 || uid == owner {
        true => Ok(()),
        false => Err(ServeError::Stranger { path: path(), uid }),
    }
}

fn read_reply(stream: &mut UnixStream, until: Instant, limit: usize) -> std::io::Result<Vec<u8>> {
    let (mut reply, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let left = until.checked_duration_since(Instant::now());
        let left = left.ok_or(std::io::Error::from(ErrorKind::TimedOut))?;
        stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(reply),
            Ok(read) => reply.extend(&buffer[..read]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // The daemon replied without reading the whole request.
            Err(error) if error.kind() == ErrorKind::ConnectionReset && !reply.is_empty() => {
                return Ok(reply);
            }
            Err(error) => return Err(error),
        }
        if reply.len() > limit {
            return Err(ErrorKind::InvalidData.into());
        }
    }
}
