//! The set's threads: each looks at members, fetches them, or waits for work.
//!
//! No thread is started before a member has to be fetched. A worker about to wait for a fetch sees
//! to it that another thread is left, if there is more to do. Without any thread, consumers fetch.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use trawl_model::operation::Operation;
use trawl_model::sync::lock;

use super::core::Core;
use super::flow::{Flow, Job, Ready, Thread, Ticket};
use super::order::Queued;
use crate::member::{Op, Opened, Problem};
use crate::opener::{Done, Fetched, Look, PlaceId};
use crate::source::Found;

/// Stack of a worker; openers run on it.
const STACK_BYTES: usize = 1 << 20;

/// Starts a thread that receives no signals and is not waited for.
pub(crate) fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let builder = std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(STACK_BYTES);
    trawl_sys::signal::without_signals(|| builder.spawn(body).map(drop))
}

/// What a look at a member found.
pub(crate) enum Looked {
    /// The member, or the problem in its place.
    Here(Result<Opened, Problem>, u64),
    /// It has to be fetched from its place.
    Away(PlaceId, Queued),
}

/// The thread that looks at a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Looker {
    /// A thread of the set.
    Worker,
    /// A caller of `iterate` that wants the member, but must not wait for a fetch of its own.
    Consumer,
    /// One whose time is not limited: it may fetch.
    PatientConsumer,
}

fn problem(found: &Found, op: Op, source: std::io::Error) -> Problem {
    Problem {
        name: found.name.clone(),
        op,
        source,
    }
}

fn is_out_of_descriptors<T>(outcome: &Result<T, Problem>) -> bool {
    let errno = outcome
        .as_ref()
        .err()
        .and_then(|problem| problem.source.raw_os_error());
    let (process, system) = (trawl_sys::Errno::MFILE.0, trawl_sys::Errno::NFILE.0);
    errno.is_some_and(|errno| errno == process || errno == system)
}

fn opened(found: Found, place: PlaceId, position: u32, fetched: Fetched) -> Opened {
    Opened {
        name: found.name,
        file: fetched.file,
        is_stream: fetched.is_stream,
        content: fetched.content,
        place,
        was_cached: fetched.was_cached,
        position: u64::from(position),
    }
}

fn content_bytes(outcome: &Result<Opened, Problem>) -> u64 {
    let content = outcome
        .as_ref()
        .ok()
        .and_then(|opened| opened.content.as_ref());
    content.map_or(0, |content| content.len() as u64)
}

/// Ends a job exactly once, also if the opener drops it.
struct Completion {
    core: Arc<Core>,
    job: Option<(Job, Found)>,
}

impl Completion {
    fn finish(mut self, outcome: Result<Fetched, Problem>) {
        if let Some((job, found)) = self.job.take() {
            self.core.complete(job, found, outcome);
        }
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        if let Some((job, found)) = self.job.take() {
            let why = std::io::Error::other("the opener dropped the request");
            let outcome = Err(problem(&found, Op::Fetch, why));
            self.core.complete(job, found, outcome);
        }
    }
}

impl Core {
    /// Sees to it that a thread does what could be done now.
    pub(crate) fn need_worker(self: &Arc<Self>, flow: &mut Flow) {
        let now = Instant::now();
        if self.is_cancelled() || !self.has_work(flow, now) {
            return;
        }
        if flow.returning > 0 {
            return;
        }
        if flow.idle > 0 {
            self.work.ring_for_one();
            return;
        }
        // A worker that does not wait for a fetch comes back for the work by itself.
        if flow.workers > flow.blocked || flow.workers >= self.threads {
            return;
        }
        let core = Arc::clone(self);
        match spawn("trawl-set", move || core.serve()) {
            Ok(()) => {
                flow.workers += 1;
                flow.account.threads_max = flow.account.threads_max.max(flow.workers);
            }
            Err(_) => flow.account.threads_refused += 1,
        }
    }

    fn has_work(&self, flow: &Flow, now: Instant) -> bool {
        flow.may_start(now) || flow.looks_ahead() && flow.may_look(self.members.length(), now)
    }

    fn serve(self: Arc<Self>) {
        let mut flow = lock(&self.flow);
        while !self.is_cancelled() {
            let now = Instant::now();
            if let Some(job) = flow.take_job(now, Thread::Own) {
                drop(flow);
                let is_returning = self.run(job, true);
                flow = lock(&self.flow);
                flow.returning -= usize::from(is_returning);
            } else if flow.looks_ahead()
                && flow.may_look(self.members.progress_to(flow.cursor), now)
            {
                let ticket = flow.take_look();
                drop(flow);
                if let Some(first) = self.look(ticket, Looker::Worker) {
                    drop(first);
                }
                flow = lock(&self.flow);
            } else {
                flow.idle += 1;
                let limit = flow.starved_for(now);
                flow = self.work.wait_up_to(flow, limit);
                flow.idle -= 1;
            }
        }
        flow.workers -= 1;
    }

    /// Looks at a member. Returns the outcome if the caller wants it and may have it; otherwise it
    /// is put among the others, or the member is queued.
    pub(crate) fn look(
        self: &Arc<Self>,
        ticket: Ticket,
        looker: Looker,
    ) -> Option<Result<Opened, Problem>> {
        let wants_it = looker != Looker::Worker;
        let looked = catch_unwind(AssertUnwindSafe(|| self.look_at(ticket.position)));
        let looked = looked.unwrap_or_else(|_| {
            let why = std::io::Error::other("the opener panicked");
            let found = self.members.describe(ticket.position as usize);
            let found = found.and_then(Result::ok);
            let found = found.unwrap_or_else(|| Found::named([]));
            Looked::Here(Err(problem(&found, Op::Open, why)), 0)
        });
        let mut flow = lock(&self.flow);
        if !flow.release(ticket, 0) {
            if let Looked::Here(Ok(_), bytes) = looked {
                flow.account.unused_bytes += bytes;
            }
            return None;
        }
        match looked {
            Looked::Away(place, queued) => {
                let at = flow.place(&place);
                flow.enqueue(at, queued);
                flow.looked(false);
                if looker == Looker::PatientConsumer && flow.leaves_first(at) {
                    return None;
                }
                if flow.is_first_miss() {
                    drop(flow);
                    self.members.expand_in_background();
                    flow = lock(&self.flow);
                }
                // A worker takes the job itself when it comes back from this look.
                if wants_it {
                    self.need_worker(&mut flow);
                }
                None
            }
            Looked::Here(outcome, bytes) => {
                flow.account.fetched_bytes += bytes;
                flow.looked(true);
                if outcome.is_ok() {
                    flow.fed();
                }
                if wants_it && flow.is_next(ticket.position) {
                    flow.delivered();
                    return Some(outcome);
                }
                let bytes = bytes.max(content_bytes(&outcome));
                flow.put(ticket.position, Ready { outcome, bytes });
                self.ready.ring_for_one();
                None
            }
        }
    }

    fn look_at(&self, position: u32) -> Looked {
        let found = match self.members.describe(position as usize) {
            Some(Ok(found)) => found,
            Some(Err(problem)) => return Looked::Here(Err(super::again(&problem)), 0),
            None => {
                let why = std::io::ErrorKind::NotFound.into();
                return Looked::Here(Err(problem(&Found::named([]), Op::Expand, why)), 0);
            }
        };
        for (opener, how) in self.openers.iter().enumerate() {
            match how.look(&found) {
                None => {}
                Some(Look::Here(place, outcome)) if is_out_of_descriptors(&outcome) => {
                    let expected = crate::opener::Expected::default();
                    return Looked::Away(
                        place,
                        Queued {
                            position,
                            opener,
                            expected,
                        },
                    );
                }
                Some(Look::Here(place, outcome)) => {
                    let bytes = outcome.as_ref().map_or(0, |fetched| fetched.ahead_bytes);
                    let outcome = outcome.map(|fetched| opened(found, place, position, fetched));
                    return Looked::Here(outcome, bytes);
                }
                Some(Look::Away(place, expected)) => {
                    return Looked::Away(
                        place,
                        Queued {
                            position,
                            opener,
                            expected,
                        },
                    );
                }
            }
        }
        let why = std::io::ErrorKind::Unsupported.into();
        Looked::Here(Err(problem(&found, Op::Open, why)), 0)
    }

    /// Fetches a member, or has its opener begin to. Returns whether the caller counts as returning.
    pub(crate) fn run(self: &Arc<Self>, job: Job, is_worker: bool) -> bool {
        let position = job.queued.position as usize;
        let opener = Arc::clone(&self.openers[job.queued.opener]);
        let found = match self.members.describe(position) {
            Some(Ok(found)) => found,
            _ => Found::named([]),
        };
        let reserved = job.reserved;
        let completion = Completion {
            core: Arc::clone(self),
            job: Some((job, found.clone())),
        };
        let begun = Operation::FetchMember.begin();
        let done: Done = Box::new(move |outcome| {
            begun.end();
            completion.finish(outcome);
        });
        let mut is_returning = false;
        let fetched = catch_unwind(AssertUnwindSafe(|| {
            let done = opener.start(&found, reserved, done)?;
            let is_blocked = is_worker && self.blocks();
            let outcome = catch_unwind(AssertUnwindSafe(|| opener.fetch(&found, reserved)));
            if is_blocked {
                let mut flow = lock(&self.flow);
                flow.blocked -= 1;
                flow.returning += 1;
                is_returning = true;
            }
            Some((outcome.ok()?, done))
        }));
        // After a panic, the completion was dropped, and has told so.
        if let Ok(Some((outcome, done))) = fetched {
            done(outcome);
        }
        is_returning
    }

    /// Notes that a worker waits for a fetch, and leaves other work to another one.
    fn blocks(self: &Arc<Self>) -> bool {
        let mut flow = lock(&self.flow);
        flow.blocked += 1;
        self.need_worker(&mut flow);
        true
    }

    fn complete(self: &Arc<Self>, job: Job, found: Found, outcome: Result<Fetched, Problem>) {
        let now = Instant::now();
        let mut flow = lock(&self.flow);
        let in_flight = flow.places[job.place].in_flight;
        let took = now.saturating_duration_since(job.begin);
        let place = &mut flow.places[job.place];
        place.in_flight -= 1;
        place.window.ended(now, in_flight);
        let is_current = flow.release(job.ticket, job.reserved);
        if is_current && is_out_of_descriptors(&outcome) && flow.starve(now) {
            flow.enqueue(job.place, job.queued);
            // All see that they have to look again soon.
            self.work.ring();
            self.ready.ring();
            return;
        }
        let bytes = outcome.as_ref().map_or(0, |fetched| fetched.ahead_bytes);
        flow.account.fetched(took, bytes);
        if outcome.is_ok() {
            flow.places[job.place].count.fit.add(bytes, took, job.level);
            flow.fed();
        }
        if !is_current || self.is_cancelled() {
            flow.account.unused_bytes += bytes;
            self.wake_up(&mut flow);
            drop(flow);
            return;
        }
        let id = flow.places[job.place].id.clone();
        let position = job.queued.position;
        let outcome = outcome.map(|fetched| opened(found, id, position, fetched));
        let bytes = bytes.max(content_bytes(&outcome));
        flow.put(position, Ready { outcome, bytes });
        self.ready.ring_for_one();
        self.wake_up(&mut flow);
    }

    /// Wakes whoever can use what was given back.
    fn wake_up(self: &Arc<Self>, flow: &mut Flow) {
        if flow.workers == 0 || self.threads == 0 {
            self.ready.ring();
        }
        self.need_worker(flow);
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}
