//! The thread that reads changes as they come, so that they never wait long in the kernel.

use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use trawl_changes::{AsOf, Doubt, Remainder};
use trawl_model::operation::Operation;
use trawl_sys::wait;

use super::{Inner, Level, Opened, State, Watched, lock};

/// Time to gather further changes after some were read.
const PACE: Duration = Duration::from_millis(8);

/// Maximum number of events read before other threads get the locks.
const EVENTS_AT_ONCE: usize = 4096;

/// First and longest pause before a failed source is opened again.
const REOPEN_FIRST: Duration = Duration::from_millis(500);
const REOPEN_LONGEST: Duration = Duration::from_secs(30);

/// How much to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// Some of the waiting changes.
    Drain,
    /// All changes that were waiting at the beginning.
    Barrier,
}

/// Result of a read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    pub(super) left: Remainder,
    pub(super) as_of: AsOf,
}

impl Inner {
    /// Reads until it is to stop.
    pub(super) fn read_on(&self) {
        while catch_unwind(AssertUnwindSafe(|| self.read_until_stopped())).is_err() {
            let why = "reading its changes failed because of a bug in trawl";
            self.fail(why);
            let _ = wait::readable([self.waker.as_fd()], Some(REOPEN_FIRST));
        }
    }

    fn read_until_stopped(&self) {
        let mut pause = REOPEN_FIRST;
        let mut known: Option<(u64, OwnedFd)> = None;
        while !lock(&self.state).reader_stops {
            if !self.follow(&mut known) {
                pause = self.reopen_after(pause);
                continue;
            }
            pause = REOPEN_FIRST;
            let Some((_, fd)) = &known else { continue };
            let waited = wait::readable([fd.as_fd(), self.waker.as_fd()], None);
            let [has_changes, is_woken] = waited.unwrap_or([true, false]);
            if is_woken {
                self.waker.reset();
            }
            if has_changes && self.drain() {
                // More changes will follow; they are read together.
                let _ = wait::readable([self.waker.as_fd()], Some(PACE));
            }
        }
    }

    /// Sets `known` to the source's present descriptor; returns false if there is none.
    fn follow(&self, known: &mut Option<(u64, OwnedFd)>) -> bool {
        let watched = lock(&self.watched);
        let Some(opened) = &watched.opened else {
            *known = None;
            return false;
        };
        if known
            .as_ref()
            .is_none_or(|(epoch, _)| *epoch != watched.epoch)
        {
            let fd = opened.source.as_fd().try_clone_to_owned();
            *known = fd.ok().map(|fd| (watched.epoch, fd));
        }
        known.is_some()
    }

    /// Reads all waiting changes; returns false if it is to stop.
    fn drain(&self) -> bool {
        loop {
            match self.read(How::Drain) {
                Ok(read) if read.left == Remainder::More => {}
                _ => return true,
            }
            if lock(&self.state).reader_stops {
                return false;
            }
            self.give_way();
        }
    }

    /// Lets threads that wait for a lock go first: they might never get a lock that is released and
    /// taken again at once.
    fn give_way(&self) {
        let begun = Instant::now();
        while self.waiting.load(Ordering::SeqCst) > 0 && begun.elapsed() < PACE {
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// Reads changes into the set. The mark is set to unclean first.
    ///
    /// # Errors
    /// Why the source has failed. It is opened again.
    pub(super) fn read(&self, how: How) -> Result<Read, String> {
        let mut watched = match how {
            How::Drain => lock(&self.watched),
            How::Barrier => self.watched(),
        };
        let was_open = watched.opened.is_some();
        let read = self.read_opened(&mut watched, how);
        // A new source at the same place is watched at once, so that the client need not ask again.
        match read {
            Err(_) if watched.reopens_now() && self.reopen(&mut watched).is_ok() => {
                self.waker.wake();
                self.read_opened(&mut watched, how)
            }
            Err(_) if !was_open => Err("it cannot be watched at this time".to_owned()),
            read => read,
        }
    }

    fn read_opened(&self, watched: &mut Watched, how: How) -> Result<Read, String> {
        let Some(opened) = watched.opened.as_mut() else {
            return Err("it cannot be watched".to_owned());
        };
        let mut state = lock(&self.state);
        state.mark.unclean();
        match read_into(opened, &mut state, how) {
            Ok(read) => {
                let mounts = opened.source.mounts();
                if mounts != opened.mounts {
                    opened.mounts = mounts;
                    state.mark.identify(&opened.identity());
                    state.description = opened.source.describe();
                }
                if let Some(news) = opened.source.news() {
                    self.note(Level::Warning, format_args!("{news}"));
                    state.description = opened.source.describe();
                }
                if state.note_dirt() || self.is_much(&state) {
                    self.changed.notify_all();
                }
                if let Some(doubt) = state.set.dirty().everything.values().next() {
                    let why = words_of(*doubt);
                    self.lose(&mut state, why);
                }
                Ok(read)
            }
            Err(error) => {
                watched.opened = None;
                self.lose(&mut state, &error.to_string());
                self.waker.wake();
                Err(error.to_string())
            }
        }
    }

    /// Whether the dirty set is so large that it should be applied soon.
    pub(super) fn is_much(&self, state: &State) -> bool {
        const ABOUT_BYTES: usize = 128;
        let bytes = state.set.bytes();
        bytes >= self.settings.limits.crowded_bytes / 2
            || bytes / ABOUT_BYTES >= self.settings.max_dirty
    }

    fn fail(&self, why: &str) {
        lock(&self.watched).opened = None;
        self.lose(&mut lock(&self.state), why);
    }

    /// Opens the source again after a pause. Returns the next pause, which is longer if that
    /// failed.
    fn reopen_after(&self, pause: Duration) -> Duration {
        let _ = wait::readable([self.waker.as_fd()], Some(pause));
        self.waker.reset();
        if lock(&self.state).reader_stops {
            return pause;
        }
        let mut watched = lock(&self.watched);
        match watched.opened.is_some() || self.reopen(&mut watched).is_ok() {
            true => REOPEN_FIRST,
            false => (pause * 2).min(REOPEN_LONGEST),
        }
    }

    /// Opens the source again, or logs why that failed.
    fn reopen(&self, watched: &mut Watched) -> Result<(), ()> {
        watched.tried = Some(Instant::now());
        match (watched.reopen)() {
            Ok(opened) => {
                let mut state = lock(&self.state);
                state.mark.identify(&opened.identity());
                state.retry = None;
                state.description = opened.source.describe();
                watched.opened = Some(opened);
                watched.epoch += 1;
                let kind = &state.description.file_system;
                self.note(Level::Note, format_args!("it is watched again ({kind})"));
                self.changed.notify_all();
                Ok(())
            }
            Err(error) => {
                let mut state = lock(&self.state);
                if state.lost.as_ref() != Some(&error.to_string()) {
                    self.note(Level::Warning, format_args!("{error}; trying again"));
                }
                state.lost = Some(error.to_string());
                Err(())
            }
        }
    }
}

fn words_of(doubt: Doubt) -> &'static str {
    match doubt {
        Doubt::QueueOverflow => "changes were lost, because the kernel's queue was full",
        Doubt::Malformed => "changes arrived that could not be understood",
        Doubt::TooManyDirectories => "there are more directories than can be watched",
        Doubt::Mounts => "something was mounted in it or unmounted",
        Doubt::Crowded => "more changes arrived than fit into memory",
    }
}

fn read_into(
    opened: &mut Opened,
    state: &mut State,
    how: How,
) -> Result<Read, trawl_changes::LiveError> {
    let (events, read) = match how {
        How::Drain => {
            let _span = Operation::DrainEvents.span();
            let drained = opened.source.drain(EVENTS_AT_ONCE, &mut state.set)?;
            let read = Read {
                left: drained.left,
                as_of: AsOf::Now,
            };
            (drained.events, read)
        }
        How::Barrier => {
            let _span = Operation::Barrier.span();
            let barrier = opened.source.barrier(&mut state.set)?;
            state.counters.last_queue = barrier.waiting;
            let read = Read {
                left: Remainder::More,
                as_of: barrier.as_of,
            };
            (barrier.events, read)
        }
    };
    state.counters.events += events;
    if state.set.is_crowded() {
        state.set.shrink(opened.source.places());
    }
    Ok(read)
}
