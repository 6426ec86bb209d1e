//! The keeper's way to the process that speaks with the provider.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::Child;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use trawl_model::sync::lock;
use trawl_sys::become_user::User;
use trawl_sys::command::spawn_untraced;
use trawl_sys::message::{Waiting, pair, receive};
use trawl_sys::wait::readable;

use super::process::WORD;
use super::settings::Settings;
use super::{Answer, Asked, Refused, Request, Told, Why};
use crate::gate::front::READY;
use crate::gate::messages::{hear, tell};

/// Time that the process has to get ready.
const READINESS: Duration = Duration::from_secs(30);
/// Time after which an answer is given up: that of a few requests to the provider.
const PATIENCE: Duration = Duration::from_secs(45);
/// Least time between two starts.
const PAUSE: Duration = Duration::from_secs(1);

/// The way to the process, which is started when it is needed.
pub struct Line {
    /// This program.
    pub program: PathBuf,
    /// The user of the process.
    pub user: User,
    /// What it is told.
    pub settings: Settings,
    /// The process, and when it was started.
    running: Mutex<(Option<Running>, Option<Instant>)>,
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Line").finish_non_exhaustive()
    }
}

struct Running {
    child: Child,
    way: Arc<Way>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Way {
    control: OwnedFd,
    number: AtomicU64,
    /// Those who wait for an answer; `None` once the process has ended.
    waiting: Mutex<Option<HashMap<u64, Waits>>>,
}

/// Somebody who waits for an answer.
type Waits = Sender<Result<Told, Refused>>;

impl Line {
    /// Returns the way to a process that has yet to be started.
    pub fn new(program: PathBuf, user: User, settings: Settings) -> Line {
        Line {
            program,
            user,
            settings,
            running: Mutex::default(),
        }
    }

    /// Asks the process.
    ///
    /// # Errors
    /// Returns its refusal; also if it cannot be asked.
    pub fn ask(&self, asked: Asked) -> Result<Told, Refused> {
        let failed = |error: io::Error| {
            let cause = format!("the process that speaks with it: {error}");
            Refused::new(Why::NoProvider, cause)
        };
        let way = self.way().map_err(failed)?;
        let (sender, receiver) = channel();
        let number = way.number.fetch_add(1, Ordering::Relaxed);
        let ended = || failed(io::ErrorKind::BrokenPipe.into());
        let waits = lock(&way.waiting)
            .as_mut()
            .map(|waiting| waiting.insert(number, sender));
        waits.ok_or_else(ended)?;
        let told = tell(
            &way.control,
            &Request { number, asked },
            None,
            Waiting::Never,
        )
        .map_err(failed)
        .and_then(|()| match receiver.recv_timeout(PATIENCE) {
            Ok(told) => told,
            Err(_) => Err(ended()),
        });
        if let Some(waiting) = lock(&way.waiting).as_mut() {
            waiting.remove(&number);
        }
        told
    }

    /// Returns the way to the process, which is started if there is none.
    fn way(&self) -> io::Result<Arc<Way>> {
        let mut running = lock(&self.running);
        if let Some(found) = &running.0
            && lock(&found.way.waiting).is_some()
        {
            return Ok(Arc::clone(&found.way));
        }
        if running.1.is_some_and(|started| started.elapsed() < PAUSE) {
            return Err(io::Error::other("it has ended, and is started again soon"));
        }
        running.1 = Some(Instant::now());
        running.0 = None;
        let started = self.start()?;
        let way = Arc::clone(&started.way);
        running.0 = Some(started);
        Ok(way)
    }

    fn start(&self) -> io::Result<Running> {
        let (ours, theirs) = pair()?;
        let words = [OsString::from(WORD)];
        let way = Way {
            control: ours,
            number: AtomicU64::new(1),
            waiting: Mutex::new(Some(HashMap::new())),
        };
        let running = Running {
            child: spawn_untraced(&self.user, &self.program, &words, theirs)?,
            way: Arc::new(way),
        };
        let control = &running.way.control;
        // Once it is ready, it has become its user.
        let [is_ready] = readable([control.as_fd()], Some(READINESS))?;
        let mut said = [0; 16];
        if !is_ready || receive(control, &mut said, Waiting::Never)?.0 != READY.len() {
            return Err(io::Error::other("it did not get ready"));
        }
        tell(control, &self.settings, None, Waiting::Allowed)?;
        let way = Arc::clone(&running.way);
        let thread = std::thread::Builder::new().name("openid".into());
        thread.spawn(move || way.listen())?;
        Ok(running)
    }

    /// Ends the process.
    pub fn end(&self) {
        lock(&self.running).0 = None;
    }
}

impl Way {
    /// Passes answers on to those who wait, until the process ends.
    fn listen(&self) {
        while let Ok(Some((answer, _))) = hear::<Answer>(&self.control, Waiting::Allowed) {
            let mut waiting = lock(&self.waiting);
            let waits = waiting.as_mut().and_then(|all| all.remove(&answer.number));
            if let Some(waits) = waits {
                // It may wait no longer.
                let _ = waits.send(answer.told);
            }
        }
        // Whoever still waits is told that by the end of the channel.
        *lock(&self.waiting) = None;
    }
}
