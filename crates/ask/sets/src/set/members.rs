//! Expansion: pulling names into the table, by whoever needs the next one or by a thread.
//!
//! Members are shared by a set and the sets made of it. Expansion ends when the names end, or when
//! no open set uses them any more. One thread pulls at a time, several names in a row; nothing is
//! locked while it waits for a name, and each name is there for others before the next is waited
//! for.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use trawl_call::request::Cancel;
use trawl_model::sync::lock;

use super::bell::Bell;
use super::patience::Patience;
use super::table::{ENTRIES_MAX, Table};
use crate::error::TimedOut;
use crate::member::{Op, Problem};
use crate::source::{Found, Names};

/// How many names the expanding thread goes ahead of those that were asked for.
const AHEAD: usize = 65_536;

/// Maximum number of names that are pulled in a row, and about how long that may take.
const ROW: usize = 64;
const ROW_TIME: Duration = Duration::from_micros(100);

/// A pull that takes longer is worth a thread that pulls in the background.
pub(crate) const SLOW_PULL: Duration = Duration::from_micros(200);

/// Told when a member was found or expansion has ended.
pub(crate) trait Listener: Send + Sync {
    /// The table has grown, or grows no more.
    fn grown(self: Arc<Self>);
}

/// A position of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// A member or a problem.
    Found,
    /// Nothing: expansion has ended before.
    Ended,
    /// Nothing yet, and nobody is pulling.
    Idle,
    /// Nothing yet; somebody is pulling.
    Pulling,
}

struct Growth {
    table: Table,
    names: Option<Box<dyn Names>>,
    is_ended: bool,
    has_expander: bool,
    /// Up to where the expanding thread goes.
    wanted: usize,
    pull_time: Duration,
    /// Whether a listener looked for a member that is not there yet.
    is_missed: bool,
    listeners: Vec<Weak<dyn Listener>>,
}

/// The members of a set, as far as they are found.
pub(crate) struct Members {
    growth: Mutex<Growth>,
    grown: Bell,
    cancel: Cancel,
    /// Number of claims.
    uses: AtomicUsize,
}

/// An open set's claim on members: expansion is cancelled with the last one.
pub(crate) struct Use(Arc<Members>);

impl Use {
    /// Returns a further claim on the same members.
    pub(crate) fn again(&self) -> Use {
        self.0.uses.fetch_add(1, Ordering::Relaxed);
        Use(Arc::clone(&self.0))
    }

    pub(crate) fn members(&self) -> &Arc<Members> {
        &self.0
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        if self.0.uses.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.cancel.cancel();
            let names = {
                let mut growth = lock(&self.0.growth);
                growth.is_ended |= growth.names.is_some();
                growth.names.take()
            };
            // A command is ended and waited for: without the lock.
            drop(names);
            self.0.tell(true);
        }
    }
}

/// Puts names back after a pull; after a panic, expansion has ended with a problem.
struct Pull<'a> {
    members: &'a Members,
    names: Option<Box<dyn Names>>,
    begin: Instant,
    /// How long it took, once that is measured.
    took: Duration,
}

impl Pull<'_> {
    /// Puts what was pulled into the table; `None` is the end. Returns whether to go on.
    fn take(&self, next: Option<Result<Found, Problem>>) -> bool {
        let mut growth = lock(&self.members.growth);
        match next {
            Some(Ok(found)) => {
                growth.table.insert(found);
            }
            Some(Err(problem)) => growth.table.problem(problem),
            None => growth.is_ended = true,
        }
        if growth.table.len() == ENTRIES_MAX - 1 && !growth.is_ended {
            let why = "the set has more members than can be counted: the others are missing";
            growth.table.problem(broken(why));
            growth.is_ended = true;
        }
        let is_over = growth.is_ended;
        let is_missed = std::mem::take(&mut growth.is_missed) || is_over;
        drop(growth);
        self.members.tell(is_missed);
        !is_over
    }
}

impl Drop for Pull<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.took = self.begin.elapsed();
            self.take(Some(Err(broken("the source of names panicked"))));
            self.take(None);
        }
        let mut growth = lock(&self.members.growth);
        growth.pull_time += self.took;
        if !growth.is_ended {
            growth.names = self.names.take();
        }
        // Whoever found somebody pulling may pull now.
        let is_missed = std::mem::take(&mut growth.is_missed);
        drop(growth);
        self.members.tell(is_missed);
    }
}

fn broken(why: &str) -> Problem {
    Problem {
        name: Vec::new(),
        op: Op::Expand,
        source: std::io::Error::other(why.to_owned()),
    }
}

impl Members {
    /// Returns a first claim on members that these names bring.
    pub(crate) fn of(names: Box<dyn Names>) -> Use {
        let growth = Growth {
            table: Table::default(),
            names: Some(names),
            is_ended: false,
            has_expander: false,
            wanted: 0,
            pull_time: Duration::ZERO,
            is_missed: false,
            listeners: Vec::new(),
        };
        Use(Arc::new(Members {
            growth: Mutex::new(growth),
            grown: Bell::default(),
            cancel: Cancel::default(),
            uses: AtomicUsize::new(1),
        }))
    }

    pub(crate) fn listen(&self, listener: Weak<dyn Listener>) {
        let mut growth = lock(&self.growth);
        growth.listeners.retain(|known| known.strong_count() > 0);
        growth.listeners.push(listener);
    }

    /// Wakes who waits for a member, and listeners that missed one.
    fn tell(&self, is_missed: bool) {
        self.grown.ring();
        if !is_missed {
            return;
        }
        let listeners = lock(&self.growth).listeners.clone();
        for listener in listeners.iter().filter_map(Weak::upgrade) {
            listener.grown();
        }
    }

    /// Wakes every thread that waits for a member.
    pub(crate) fn wake(&self) {
        drop(lock(&self.growth));
        self.grown.ring();
    }

    /// Returns the number of members, without problems.
    pub(crate) fn members(&self) -> usize {
        lock(&self.growth).table.members()
    }

    /// Returns how long pulling names took.
    pub(crate) fn pull_time(&self) -> Duration {
        lock(&self.growth).pull_time
    }

    /// Returns whether a member of this name is found already.
    pub(crate) fn contains(&self, name: &[u8]) -> bool {
        lock(&self.growth).table.contains(name)
    }

    /// Returns a copy of what is at this position.
    pub(crate) fn describe(&self, position: usize) -> Option<Result<Found, Arc<Problem>>> {
        lock(&self.growth).table.get(position)
    }

    /// Returns what is at this position, and has the expanding thread go on to it.
    pub(crate) fn progress(&self, position: usize) -> Progress {
        let mut growth = lock(&self.growth);
        if growth.has_expander && position + AHEAD / 2 > growth.wanted {
            growth.wanted = position + AHEAD;
            self.grown.ring();
        }
        let progress = growth.progress(position);
        growth.is_missed |= progress == Progress::Pulling;
        progress
    }

    /// Returns how many entries there are.
    pub(crate) fn length(&self) -> usize {
        lock(&self.growth).table.len()
    }

    /// Returns how many entries there are, and has the expanding thread go on to this position.
    pub(crate) fn progress_to(&self, position: usize) -> usize {
        self.progress(position);
        self.length()
    }

    /// Pulls some names, if nobody else is pulling; returns how long that took.
    pub(crate) fn pull(&self) -> Option<Duration> {
        let (names, most) = {
            let mut growth = lock(&self.growth);
            // The first members need not wait for others.
            (growth.names.take()?, (growth.table.len() + 1).min(ROW))
        };
        Some(self.pull_with(names, most))
    }

    fn pull_with(&self, names: Box<dyn Names>, most: usize) -> Duration {
        let begin = Instant::now();
        let mut pull = Pull {
            members: self,
            names: Some(names),
            begin,
            took: Duration::ZERO,
        };
        for _ in 0..most {
            let next = match (&mut pull.names, self.cancel.is_cancelled()) {
                (Some(names), false) => names.next(&self.cancel),
                _ => None,
            };
            let goes_on = pull.take(next);
            pull.took = begin.elapsed();
            if !goes_on || pull.took > ROW_TIME {
                break;
            }
        }
        pull.took
    }

    /// Makes sure that there is something at this position; false if expansion ended before it or
    /// `stop` is set.
    ///
    /// # Errors
    /// Fails if that takes longer than `patience`.
    pub(crate) fn await_at(
        self: &Arc<Self>,
        position: usize,
        stop: &AtomicBool,
        patience: Patience,
    ) -> Result<bool, TimedOut> {
        while !stop.load(Ordering::Relaxed) {
            match self.progress(position) {
                Progress::Found => return Ok(true),
                Progress::Ended => return Ok(false),
                Progress::Idle if patience.is_limited() && self.expand_in_background() => {}
                Progress::Idle => {
                    if self.pull().is_some_and(|time| time > SLOW_PULL) {
                        self.expand_in_background();
                    }
                }
                Progress::Pulling => {
                    patience.check()?;
                    let growth = lock(&self.growth);
                    let is_pulling = growth.progress(position) == Progress::Pulling;
                    if is_pulling && !stop.load(Ordering::Relaxed) {
                        drop(patience.wait(&self.grown, growth, None));
                    }
                }
            }
        }
        Ok(false)
    }

    /// Waits until expansion has ended, or `stop` or `enough` says so.
    ///
    /// # Errors
    /// Fails if that takes longer than `patience`.
    pub(crate) fn await_end(
        self: &Arc<Self>,
        stop: &AtomicBool,
        patience: Patience,
        mut enough: impl FnMut(&Members) -> bool,
    ) -> Result<(), TimedOut> {
        loop {
            // Before the look: a name that comes in between is seen by the next round.
            let length = self.length();
            if enough(self) || !self.await_at(length, stop, patience)? {
                return Ok(());
            }
            patience.check()?;
        }
    }

    /// Starts a thread that pulls names, if there is none; without one, names are pulled by those
    /// who need them. Returns false if the system refuses the thread.
    pub(crate) fn expand_in_background(self: &Arc<Self>) -> bool {
        {
            let mut growth = lock(&self.growth);
            if growth.is_ended || growth.has_expander || self.cancel.is_cancelled() {
                return true;
            }
            growth.has_expander = true;
            growth.wanted = growth.wanted.max(growth.table.len() + AHEAD);
        }
        let members = Arc::clone(self);
        let spawned = super::workers::spawn("trawl-expand", move || members.expand());
        if spawned.is_err() {
            lock(&self.growth).has_expander = false;
        }
        spawned.is_ok()
    }

    fn expand(&self) {
        let mut growth = lock(&self.growth);
        while !growth.is_ended {
            if self.cancel.is_cancelled() {
                growth.is_ended = true;
                let names = growth.names.take();
                drop(growth);
                drop(names);
                self.tell(true);
                return;
            }
            let is_ahead = growth.table.len() >= growth.wanted;
            match if is_ahead { None } else { growth.names.take() } {
                Some(names) => {
                    drop(growth);
                    self.pull_with(names, ROW);
                    growth = lock(&self.growth);
                }
                None => growth = self.grown.wait(growth),
            }
        }
        drop(growth);
        self.tell(true);
    }
}

impl Growth {
    fn progress(&self, position: usize) -> Progress {
        match () {
            () if position < self.table.len() => Progress::Found,
            () if self.is_ended => Progress::Ended,
            () if self.has_expander || self.names.is_none() => Progress::Pulling,
            () => Progress::Idle,
        }
    }
}
