//! The thread that has changes applied, in rounds.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use trawl_changes::{
    AsOf, Dirty, KeyResolver, LiveError, Names, Reached, ResolvedDirectory, WriterSearch,
};
use trawl_format::SnapshotId;
use trawl_model::Timestamp;
use trawl_model::operation::Operation;
use trawl_model::sync::{wait, wait_for};

use super::reader::How;
use super::state::{LastRound, Retry, State};
use super::{Inner, Level, SharedPlaces, remarks};
use crate::applier::{Applier, ApplyError, ApplyErrorKind, Published, Recovery, Scope, TakenDirt};
use crate::open_files::{Looked, OpenFiles};
use crate::protocol::Contents;

/// Minimum interval at which compaction checks whether somebody is waiting.
const LOOK: Duration = Duration::from_millis(5);

/// The next action.
enum Next {
    Round,
    Compact,
    Stop,
}

/// The input of a round.
struct Work {
    /// The round answers all requests up to this ticket.
    tickets: u64,
    is_asked: bool,
    taken: TakenDirt,
    since: Option<Instant>,
    /// Why nothing is trusted, if so.
    lost: Option<String>,
    /// Number of times that trust had been lost when the round began.
    losses: u64,
    refreshes: Vec<Scope>,
}

/// Facts about a round that ended.
struct Ended {
    begun: Instant,
    /// Time up to which all changes were read.
    as_of: Option<Timestamp>,
    /// Why files that are open for writing may be newer.
    doubt: Option<String>,
    contents: Contents,
}

/// The result of a round.
struct Done {
    result: Result<Option<Published>, ApplyError>,
    was_rescan: bool,
}

impl Inner {
    /// Applies changes until it is to stop.
    pub(super) fn apply_on(&self, mut applier: Box<dyn Applier>) {
        let applier = &mut *applier;
        let mut open = OpenFiles::new(WriterSearch::new());
        loop {
            match self.next(applier.rest(), applier.compacts_at()) {
                Next::Stop => break,
                Next::Round => self.round(applier, &mut open),
                Next::Compact => self.compact(applier),
            }
        }
        if self.state().lost.is_none() {
            self.round(applier, &mut open);
        }
        self.close(applier);
        let mut state = self.state();
        state.last.failure = Some("the daemon has stopped".to_owned());
        state.served = state.asked;
        self.changed.notify_all();
    }

    /// Waits for the next action.
    fn next(&self, rest: Duration, compacts_at: Option<Instant>) -> Next {
        let mut state = self.state();
        loop {
            if state.applier_stops {
                return Next::Stop;
            }
            let now = Instant::now();
            let due = self.due(&mut state, now, rest);
            if due.is_some_and(|due| due <= now) {
                return Next::Round;
            }
            // After trust was lost, recovery makes a snapshot anyway.
            let is_sound = state.lost.is_none() && state.retry.is_none();
            let compacts_at = compacts_at.filter(|_| is_sound);
            if compacts_at.is_some_and(|at| at <= now) {
                return Next::Compact;
            }
            let due = due.into_iter().chain(compacts_at).min();
            state = match due {
                None => wait(&self.changed, state),
                Some(due) => wait_for(&self.changed, state, due - now),
            };
        }
    }

    /// Returns when the next round is due; `None` if nothing asks for one. Clients that ask while a
    /// failure is waited out are told of it at once.
    fn due(&self, state: &mut State, now: Instant, rest: Duration) -> Option<Instant> {
        let retry = state.retry.map(|retry| retry.at);
        if state.asked > state.served {
            match retry {
                Some(at) if at > now => {
                    state.served = state.asked;
                    self.changed.notify_all();
                }
                _ => return Some(now),
            }
        }
        let rested = state.last.ended.map_or(now, |ended| ended + rest);
        let wanted = if state.lost.is_some() || state.is_due || self.is_much(state) {
            Some(rested)
        } else if !state.refreshes.is_empty() {
            Some(now)
        } else {
            let since = state.dirty_since?;
            Some(rested.max(since + self.settings.apply_after))
        };
        wanted.max(retry)
    }

    /// Reads the waiting changes and has them applied, together with those read earlier.
    fn round(&self, applier: &mut dyn Applier, open: &mut OpenFiles) {
        let _span = Operation::Round.span();
        let begun = Instant::now();
        let is_asked = {
            let mut state = self.state();
            state.is_due = false;
            state.asked > state.served
        };
        // Taken before anything is read: later requests share the next round.
        let (tickets, now) = (self.state().asked, (self.settings.clock)());
        let looked = match is_asked {
            true => self.look_at_open(open, now),
            false => Looked::default(),
        };
        let as_of = match self.read(How::Barrier) {
            Ok(read) => match read.as_of {
                AsOf::Now => Some(now),
                AsOf::Pass(time) => time,
            },
            Err(why) => {
                self.end_without(tickets, why);
                return;
            }
        };
        let mut work = self.take(tickets, as_of);
        for file in &looked.dirty {
            work.taken
                .dirty
                .objects
                .insert(file.clone(), Reached::Unnamed);
        }
        let doubt = looked.doubt.clone();
        work.taken.has_open_files = is_asked && doubt.is_none();
        let contents = self.contents(&work.taken);
        let done = self.work(applier, &mut work);
        self.state().mark.note(applier.note());
        if done.result.is_ok() && is_asked {
            open.applied(looked);
        }
        let ended = Ended {
            begun,
            as_of,
            doubt,
            contents,
        };
        self.conclude(work, done, ended);
    }

    /// Returns whether a round with these changes has every change of contents: the source is a
    /// mark on the whole file system, which alone has a queue that can be stored, and all files
    /// that are open for writing were found.
    fn contents(&self, taken: &TakenDirt) -> Contents {
        let watched = self.watched();
        let opened = watched.opened.as_ref();
        match opened.is_some_and(|opened| opened.queue.is_some()) && taken.has_open_files {
            true => Contents::Known,
            false => Contents::Unknown,
        }
    }

    fn look_at_open(&self, open: &mut OpenFiles, now: Timestamp) -> Looked {
        let searched = match &self.watched().opened {
            Some(opened) => opened.searched.clone(),
            None => Vec::new(),
        };
        open.look(&searched, now)
    }

    /// Ends a round whose source cannot be read: clients are told, and the source is opened again.
    fn end_without(&self, tickets: u64, why: String) {
        let now = Instant::now();
        let mut state = self.state();
        state.retry = Some(Retry::after(state.retry, now));
        state.last.failure = Some(why);
        state.last.ended = Some(now);
        state.served = tickets;
        self.changed.notify_all();
    }

    fn take(&self, tickets: u64, as_of: Option<Timestamp>) -> Work {
        let mut state = self.state();
        let mut dirty = state.set.take();
        let overflows = dirty.everything.len() as u64;
        state.counters.overflows += overflows;
        if overflows > 0 && state.lost.is_none() {
            self.lose(&mut state, "changes were lost");
        }
        dirty.everything.clear();
        Work {
            tickets,
            is_asked: tickets > state.served,
            taken: TakenDirt {
                dirty,
                as_of,
                has_open_files: false,
            },
            since: state.take_since(),
            lost: state.lost.clone(),
            losses: state.losses,
            refreshes: std::mem::take(&mut state.refreshes),
        }
    }

    fn work(&self, applier: &mut dyn Applier, work: &mut Work) -> Done {
        let mut places = SharedPlaces(self);
        let was_rescan = work.lost.is_some();
        let result = catch_unwind(AssertUnwindSafe(|| {
            keep_inside(&mut work.taken.dirty, &mut places, &self.settings.without);
            if let Some(why) = &work.lost {
                return applier.catch_up(&work.taken, why, &mut places).map(Some);
            }
            let mut published = match work.taken.dirty.is_empty() {
                false => Some(applier.apply(&work.taken, &mut places)?),
                true if work.is_asked => applier.look()?,
                true => None,
            };
            for scope in &work.refreshes {
                published = Some(applier.rescan(scope, "a user asked for it", &mut places)?);
            }
            Ok(published)
        }));
        let result = result.unwrap_or_else(|_| {
            let why = "the index could not be written because of a bug in trawl";
            Err(ApplyError::mistake(why))
        });
        Done { result, was_rescan }
    }

    /// Notes how a round ended and tells the clients that asked for it.
    fn conclude(&self, work: Work, done: Done, ended: Ended) {
        let Ended {
            begun,
            as_of,
            doubt,
            contents,
        } = ended;
        let now = Instant::now();
        let mut state = self.state();
        let has_published = matches!(done.result, Ok(Some(_)));
        let tickets = work.tickets;
        state.taken_since = None;
        let before = std::mem::take(&mut state.last);
        state.last = LastRound {
            remarks: doubt
                .into_iter()
                .chain(remarks(&state.description))
                .collect(),
            snapshot: before.snapshot,
            generation: before.generation,
            contents,
            stale: before.stale,
            ended: Some(if has_published {
                now
            } else {
                before.ended.unwrap_or(now)
            }),
            as_of: before.as_of,
            failure: None,
        };
        if work.tickets > state.served {
            state.counters.barriers += work.tickets - state.served;
            state.counters.last_barrier = now - begun;
        }
        match done.result {
            Ok(published) => {
                state.last.as_of = as_of;
                let is_sound = done.was_rescan && state.losses == work.losses;
                self.note_success(
                    &mut state,
                    published,
                    (is_sound, done.was_rescan),
                    now - begun,
                );
            }
            Err(error) => self.note_failure(&mut state, work, &error),
        }
        if state.is_settled() && state.set.dirty().is_empty() {
            let snapshot = state.last.snapshot;
            state.mark.clean(snapshot);
        }
        state.served = state.served.max(tickets);
        self.changed.notify_all();
    }

    fn note_success(
        &self,
        state: &mut State,
        published: Option<Published>,
        (is_sound, was_rescan): (bool, bool),
        took: Duration,
    ) {
        if state.retry.take().is_some() {
            self.note(Level::Note, format_args!("the index is up to date again"));
        }
        if is_sound {
            state.lost = None;
            let recovery = published.as_ref().and_then(|one| one.recovery.clone());
            self.note_recovery(state, recovery.unwrap_or_default(), took);
        }
        let Some(published) = published else { return };
        state.last.snapshot = published.snapshot.or(state.last.snapshot);
        state.last.generation = published.generation;
        state.last.stale = published.stale;
        let counters = &mut state.counters;
        let has_method = |recovery: &Recovery| recovery.method.is_some();
        match was_rescan && !published.recovery.as_ref().is_some_and(has_method) {
            true => counters.rescans += 1,
            false => counters.applied += 1,
        }
        counters.checkpoints += u64::from(published.is_checkpoint);
        counters.last_apply = took;
        counters.published = Some(Instant::now());
    }

    /// Notes that the index can be trusted again.
    fn note_recovery(&self, state: &mut State, recovery: Recovery, took: Duration) {
        let Recovery {
            why,
            looked_at,
            dirty,
            ..
        } = &recovery;
        let why = why
            .as_ref()
            .map_or(String::new(), |why| format!(" ({why})"));
        match recovery.method {
            None => self.note(
                Level::Note,
                format_args!("it was scanned again and is up to date{why}"),
            ),
            Some(method) => {
                state.counters.catch_ups += 1;
                let found = format!("{dirty} changes found by {method}, {looked_at} looked at");
                self.note(Level::Note, format_args!("it is up to date: {found}{why}"));
            }
        }
        state.counters.recovery = Some((recovery, took));
    }

    /// Puts the taken entries back into the dirty set, to be tried again after a while.
    fn note_failure(&self, state: &mut State, work: Work, error: &ApplyError) {
        let now = Instant::now();
        state.set.merge(&work.taken.dirty);
        state.dirty_since = work.since.or(state.dirty_since).or(Some(now));
        for scope in work.refreshes {
            if !state.refreshes.contains(&scope) {
                state.refreshes.push(scope);
            }
        }
        state.counters.failures += 1;
        state.last.failure = Some(error.message.clone());
        if error.kind == ApplyErrorKind::Broken {
            self.lose(state, &error.message);
        }
        let is_news = state.counters.last_failure.as_ref() != Some(&error.message);
        if error.kind != ApplyErrorKind::Stopped && (is_news || state.retry.is_none()) {
            self.note(Level::Warning, format_args!("{error}; trying again"));
        }
        state.counters.last_failure = Some(error.message.clone());
        state.retry = Some(Retry::after(state.retry, now));
    }

    /// Has the published changes compacted, until somebody asks for something.
    fn compact(&self, applier: &mut dyn Applier) {
        self.state().busy = Some("a snapshot is being made of the published changes");
        let looked = Cell::new(Instant::now());
        let is_wanted = || {
            if looked.get().elapsed() < LOOK {
                return false;
            }
            looked.set(Instant::now());
            let state = self.state();
            state.asked > state.served || state.applier_stops || state.lost.is_some()
        };
        let done = catch_unwind(AssertUnwindSafe(|| applier.compact(&is_wanted)));
        let why = "the index could not be compacted because of a bug in trawl";
        self.note_snapshot(done.unwrap_or_else(|_| Err(ApplyError::mistake(why))));
        self.state().mark.note(applier.note());
    }

    /// Makes a last snapshot of the published changes.
    fn close(&self, applier: &mut dyn Applier) {
        // An index that nobody trusts is better scanned again.
        if self.state().lost.is_some() {
            return;
        }
        self.state().busy = Some("a snapshot is being made of the published changes");
        let done = catch_unwind(AssertUnwindSafe(|| applier.close()));
        let why = "the published changes could not be made a snapshot because of a bug in trawl";
        self.note_snapshot(done.unwrap_or_else(|_| Err(ApplyError::mistake(why))));
        self.state().mark.note(applier.note());
    }

    fn note_snapshot(&self, done: Result<Option<SnapshotId>, ApplyError>) {
        let mut state = self.state();
        state.busy = None;
        match done {
            Ok(None) => {}
            Ok(snapshot) => {
                state.last.snapshot = snapshot;
                state.last.generation = 0;
                state.counters.checkpoints += 1;
            }
            Err(error) if error.kind == ApplyErrorKind::Broken => {
                self.lose(&mut state, &error.message);
            }
            Err(error) => self.note(Level::Warning, format_args!("{error}")),
        }
    }
}

/// Removes entries that do not concern the source: directories that are ignored and, where no dirty
/// directory lies inside the source, all directories, and all files whose only name is outside. Other
/// entries outside the source are left to the applier, which has to look up each of them anyway.
fn keep_inside(dirty: &mut Dirty, places: &mut dyn KeyResolver, without: &[Vec<u8>]) {
    if without.is_empty() {
        let mut keys = dirty.directories.keys();
        if keys.any(|key| may_be_inside(&places.place(key.as_ref()), without)) {
            return;
        }
        dirty.directories.clear();
    } else {
        dirty
            .directories
            .retain(|key, _| may_be_inside(&places.place(key.as_ref()), without));
    }
    if dirty.directories.is_empty() {
        dirty
            .objects
            .retain(|key, reached| match places.names_of(key.as_ref()) {
                Names::None => false,
                Names::One { directory, .. } => {
                    *reached == Reached::Unnamed
                        || may_be_inside(&places.place(directory.as_ref()), without)
                }
                Names::Several => true,
            });
    }
}

fn may_be_inside(place: &Result<ResolvedDirectory, LiveError>, without: &[Vec<u8>]) -> bool {
    match place {
        Ok(ResolvedDirectory::At(path)) => {
            let is_own = |own: &Vec<u8>| trawl_model::path::is_within(path, own);
            !without.iter().any(is_own)
        }
        // A move away is a change of another name, at the old place; so is a move to here.
        Ok(ResolvedDirectory::Outside | ResolvedDirectory::Gone) => false,
        Err(_) => true,
    }
}
