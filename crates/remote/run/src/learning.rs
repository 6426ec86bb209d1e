//! Runs a command and records which files its programs open, read and write.
//!
//! The kernel asks about each call that names a file to open, execute, rename or link before it
//! executes the call (seccomp user notification), so that statically linked programs are seen, too,
//! and no privileges are needed. Every call then goes on as it was: nothing is answered here.
//!
//! The calls can also have the rest of a file's group fetched ([`fetch_groups`]).
//!
//! Invariants: what is recorded is bounded ([`FILES_MAX`], [`EVENTS_MAX`]), and what exceeds that is
//! counted; a process whose memory cannot be read is not recorded and runs all the same. No call waits
//! for another one: while a path is looked up in a file system that does not answer, such as one that
//! the command itself serves, calls go on without being recorded, and are counted.

mod calls;
mod groups;
mod recorder;
mod watch;

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;
use std::sync::Arc;
use std::thread::JoinHandle;

use trawl_model::accesses::Accesses;
use trawl_sys::enclosure::{HandedOver, enclose};
use trawl_sys::seccomp::{Filter, InterceptedCall, Listener, Verdict};
use trawl_sys::signal::PassedOn;
use trawl_sys::wait::{Waker, is_hung_up, readable};
use trawl_text::words::cause;

use crate::child::{exit, wait};
use crate::error::RunError;
use crate::notice::{Notice, Tell};
pub use groups::{Together, fetch_groups};
use recorder::Recorder;
use watch::Turns;

/// Maximum number of files that are recorded.
pub const FILES_MAX: usize = 1 << 18;
/// Maximum number of accesses that are recorded.
pub const EVENTS_MAX: usize = 1 << 20;

/// Runs a command, waits for it and for everything that it started, and returns its exit code and
/// what its programs did to files.
///
/// # Errors
/// Fails if system calls cannot be intercepted here.
pub fn run(words: &[OsString], tell: &Tell) -> Result<(u8, Accesses), RunError> {
    let (code, mut seen, lost) = watched(words, tell, calls::filter(), Recorder::default())?;
    seen.lost += lost;
    Ok((code, seen))
}

/// What looks at calls before they go on.
trait Watch: Send + 'static {
    /// What it has seen.
    type Seen: Default + Send;

    /// Looks at a call. `is_waiting` tells whether what was read from its memory is its own.
    fn see(&mut self, asked: &InterceptedCall, is_waiting: &dyn Fn() -> bool);

    /// Returns what was seen.
    fn end(self) -> Self::Seen;
}

/// Runs a command, waits for it and for everything that it started. Returns its exit code, what was
/// seen, and the number of calls that were not.
fn watched<W: Watch>(
    words: &[OsString],
    tell: &Tell,
    filter: Filter,
    watch: W,
) -> Result<(u8, W::Seen, u64), RunError> {
    let refused = |error: io::Error| {
        let why = cause(&error);
        RunError::Usage(format!("system calls cannot be intercepted here: {why}"))
    };
    let signals = PassedOn::take().map_err(|error| RunError::Usage(error.to_string()))?;
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    signals.leave_to(&mut command);
    let besides = HandedOver::Filter(filter);
    let entrance = enclose(&mut command, Vec::new(), None, besides).map_err(refused)?;
    // The new process waits at its first call until it is let on.
    let starter = std::thread::Builder::new().name("start".into());
    let starter = starter.spawn(move || command.spawn()).map_err(refused)?;
    let handed = entrance.devices();
    let observer = match handed {
        Ok(devices) => {
            let device = devices.into_iter().next();
            device
                .map(|device| Observer::start(device, watch))
                .transpose()
        }
        Err(failed) => Err(failed.source),
    };
    let started = starter.join();
    let started = started.unwrap_or_else(|_| Err(io::Error::other("a thread ended early")));
    let observer = observer.map_err(refused)?;
    let mut child = match started {
        Ok(child) => child,
        Err(error) => {
            tell(&Notice::NotStarted {
                program: words[0].as_bytes().to_vec(),
                why: cause(&error),
            });
            let is_missing = error.kind() == io::ErrorKind::NotFound;
            return Ok((if is_missing { 127 } else { 126 }, W::Seen::default(), 0));
        }
    };
    let ended = wait(&mut child, &signals).map_err(|source| RunError::File {
        action: "wait for",
        path: words[0].clone().into(),
        source,
    })?;
    let seen = observer.map(|observer| observer.end(&signals));
    let (seen, lost) = seen.unwrap_or_default();
    Ok((exit(ended), seen, lost))
}

/// The thread that sees the calls, and the one that lets calls go on while the first is held up.
struct Observer<S> {
    listener: Arc<Listener>,
    stop: Arc<Waker>,
    thread: JoinHandle<S>,
    watcher: JoinHandle<u64>,
    stop_watcher: Arc<Waker>,
}

impl<S: Default + Send + 'static> Observer<S> {
    fn start<W: Watch<Seen = S>>(
        listener: std::os::fd::OwnedFd,
        watch: W,
    ) -> io::Result<Observer<S>> {
        let listener = Arc::new(Listener::from(listener));
        listener.take_turns();
        let waker = || Waker::new().map_err(|error| io::Error::from_raw_os_error(error.errno.0));
        let (stop, stop_watcher) = (Arc::new(waker()?), Arc::new(waker()?));
        let turns = Arc::new(Turns::default());
        let (calls, own) = (Arc::clone(&listener), Arc::clone(&turns));
        let end = Arc::clone(&stop_watcher);
        let watcher = std::thread::Builder::new().name("watcher".into());
        let watcher = watcher.spawn(move || own.watch(&calls, &end))?;
        let (calls, end) = (Arc::clone(&listener), Arc::clone(&stop));
        let thread = std::thread::Builder::new().name("calls".into());
        let thread = thread.spawn(move || observe(&calls, &end, &turns, watch))?;
        Ok(Observer {
            listener,
            stop,
            thread,
            watcher,
            stop_watcher,
        })
    }

    /// Waits until no process is left, or a signal arrives, and returns what was seen. Without an
    /// observer the calls of the processes that are left would fail.
    fn end(self, signals: &PassedOn) -> (S, u64) {
        while !is_hung_up(&*self.listener) {
            let ready = readable([self.listener.as_fd(), signals.as_fd()], None);
            let is_asked = !matches!(ready, Ok([_, false])) && signals.next().is_some();
            if is_asked {
                break;
            }
            // The listener is readable while a call waits for the other thread.
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        self.stop.wake();
        let seen = self.thread.join().unwrap_or_default();
        // The other thread may have needed it to the end.
        self.stop_watcher.wake();
        (seen, self.watcher.join().unwrap_or_default())
    }
}

/// Lets every call go on, after it was looked at.
fn observe<W: Watch>(listener: &Listener, stop: &Waker, turns: &Turns, mut watch: W) -> W::Seen {
    loop {
        match readable([listener.as_fd(), stop.as_fd()], None) {
            Ok([true, _]) if !is_hung_up(listener) => {}
            Ok([false, false]) => continue,
            _ => return watch.end(),
        }
        let Ok(asked) = turns.next(listener) else {
            return watch.end();
        };
        if let Some(asked) = asked {
            turns.begin();
            watch.see(&asked, &|| listener.is_waiting(&asked));
            listener.answer(&asked, Verdict::Continue);
            turns.end();
        }
    }
}
