//! Delivery: what a caller of `iterate` does and waits for.
//!
//! A caller takes what is ready. If nothing is, it looks at the next member itself, so that cached
//! members need no thread; if that has to be fetched, threads do it, and the caller waits for
//! whichever member arrives first.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Instant;

use trawl_model::sync::lock;

use super::Options;
use super::account;
use super::bell::Bell;
use super::flow::{Flow, Limits, Thread};
use super::members::{Listener, Members, Progress, SLOW_PULL};
use super::patience::Patience;
use super::workers::Looker;
use crate::error::TimedOut;
use crate::explain::Explanation;
use crate::member::{Op, Opened, Problem};
use crate::opener::Opener;
use crate::stats::Stats;

/// What the handle and the threads of a set share.
pub(crate) struct Core {
    pub(crate) members: Arc<Members>,
    pub(crate) openers: Vec<Arc<dyn Opener>>,
    pub(crate) threads: usize,
    pub(crate) flow: Mutex<Flow>,
    /// An outcome is ready, a member was found, or the end is reached.
    pub(crate) ready: Bell,
    /// There is work for a thread.
    pub(crate) work: Bell,
    pub(crate) cancelled: AtomicBool,
    process: u32,
    has_told_child: AtomicBool,
}

impl Listener for Core {
    fn grown(self: Arc<Self>) {
        let mut flow = lock(&self.flow);
        self.ready.ring();
        // All workers may wait for fetches.
        self.need_worker_if_any(&mut flow);
    }
}

/// Number of steps that a caller takes at least, even if its time is over: enough to find what is
/// there, in less than a millisecond.
const STEPS_MIN: usize = 64;

/// What `iterate` returns.
pub(crate) type Delivery = Option<Result<Opened, Problem>>;

/// What a caller does next.
enum Step {
    Deliver(Result<Opened, Problem>),
    End,
    TimedOut,
    Again,
}

impl Core {
    pub(crate) fn new(
        members: Arc<Members>,
        openers: Vec<Arc<dyn Opener>>,
        options: &Options,
    ) -> Arc<Core> {
        let limits = Limits {
            bytes: options.ahead_bytes.max(1),
            in_flight: options.in_flight.max(1),
            is_ordered: options.ordered,
        };
        let core = Arc::new(Core {
            members: Arc::clone(&members),
            openers,
            threads: options.threads,
            flow: Mutex::new(Flow::new(limits, options.descriptors.max(1))),
            ready: Bell::default(),
            work: Bell::default(),
            cancelled: AtomicBool::new(false),
            process: trawl_sys::own_id(),
            has_told_child: AtomicBool::new(false),
        });
        let listener: Weak<Core> = Arc::downgrade(&core);
        members.listen(listener);
        core
    }

    /// Returns whether this is a forked child of the process that opened the set: its threads are
    /// not here, and its locks may be held by them.
    pub(crate) fn is_foreign(&self) -> bool {
        trawl_sys::own_id() != self.process
    }

    /// Returns the problem that a forked child is told, once.
    pub(crate) fn tell_child(&self) -> Option<Problem> {
        let is_first = !self.has_told_child.swap(true, Ordering::Relaxed);
        is_first.then(|| Problem {
            name: Vec::new(),
            op: Op::Expand,
            source: std::io::Error::other("the set belongs to the process that opened it"),
        })
    }

    pub(crate) fn iterate(self: &Arc<Self>, patience: Patience) -> Result<Delivery, TimedOut> {
        if self.is_foreign() {
            return Ok(self.tell_child().map(Err));
        }
        let mut steps = 0;
        let asked = Instant::now();
        let mut flow = lock(&self.flow);
        flow.account.asked(asked);
        loop {
            if self.is_cancelled() {
                return Ok(None);
            }
            let mut step;
            (step, flow) = self.step(flow, asked, patience);
            steps += 1;
            if matches!(step, Step::Again) && steps >= STEPS_MIN && patience.check().is_err() {
                step = Step::TimedOut;
            }
            match step {
                Step::Again => {}
                Step::End => {
                    flow.account.answered(asked, true);
                    return Ok(None);
                }
                Step::TimedOut => {
                    flow.account.answered(asked, true);
                    // This caller may have been woken for what another one waits for.
                    self.ready.ring_for_one();
                    return Err(TimedOut);
                }
                Step::Deliver(outcome) => {
                    self.deliver(&mut flow, asked, &outcome);
                    return Ok(Some(outcome));
                }
            }
        }
    }

    fn deliver(
        self: &Arc<Self>,
        flow: &mut Flow,
        asked: Instant,
        outcome: &Result<Opened, Problem>,
    ) {
        match outcome {
            Ok(opened) => {
                flow.account.delivered += 1;
                flow.account.cached += u64::from(opened.was_cached);
            }
            Err(_) => flow.account.problems += 1,
        }
        flow.account.answered(asked, false);
        if flow.workers > 0 {
            self.need_worker(flow);
        }
        // Other callers may have reached the end, or, in an ordered set, the next member.
        match flow.limits.is_ordered || flow.is_drained() {
            true => self.ready.ring(),
            // What was given back lets another caller look.
            false => self.ready.ring_for_one(),
        }
    }

    fn step<'a>(
        self: &'a Arc<Self>,
        mut flow: MutexGuard<'a, Flow>,
        asked: Instant,
        patience: Patience,
    ) -> (Step, MutexGuard<'a, Flow>) {
        if let Some(outcome) = flow.pop() {
            return (Step::Deliver(outcome), flow);
        }
        let now = match flow.heeds_time() {
            true => Instant::now(),
            false => asked,
        };
        if !patience.is_limited()
            && let Some(job) = flow.take_job(now, Thread::Consumer)
        {
            drop(flow);
            self.run(job, false);
            return (Step::Again, lock(&self.flow));
        }
        let found = self.members.length();
        if flow.may_look(found, now) {
            let ticket = flow.take_look();
            drop(flow);
            let looker = match patience.is_limited() {
                true => Looker::Consumer,
                false => Looker::PatientConsumer,
            };
            let step = self.look(ticket, looker).map_or(Step::Again, Step::Deliver);
            return (step, lock(&self.flow));
        }
        if flow.workers == 0 {
            self.need_worker(&mut flow);
            if flow.workers == 0
                && let Some(job) = flow.take_job(now, Thread::Own)
            {
                drop(flow);
                self.run(job, false);
                return (Step::Again, lock(&self.flow));
            }
        }
        if flow.cursor >= found {
            match self.members.progress(flow.cursor) {
                Progress::Found => return (Step::Again, flow),
                Progress::Ended if flow.is_drained() => return (Step::End, flow),
                Progress::Idle => {
                    drop(flow);
                    self.pull(patience);
                    return (Step::Again, lock(&self.flow));
                }
                Progress::Ended | Progress::Pulling => {}
            }
        }
        if patience.check().is_err() {
            return (Step::TimedOut, flow);
        }
        let limit = flow.starved_for(now);
        (Step::Again, patience.wait(&self.ready, flow, limit))
    }

    /// Pulls a name; if that takes long, or the caller's time is limited, a thread goes on with it.
    fn pull(&self, patience: Patience) {
        if patience.is_limited() && self.members.expand_in_background() {
            return;
        }
        if self.members.pull().is_some_and(|time| time > SLOW_PULL) {
            self.members.expand_in_background();
        }
    }

    pub(crate) fn rewind(self: &Arc<Self>) {
        if self.is_foreign() {
            return;
        }
        let mut flow = lock(&self.flow);
        let dropped = flow.clear();
        flow.cursor = 0;
        self.ready.ring();
        self.need_worker_if_any(&mut flow);
        drop(flow);
        drop(dropped);
    }

    fn need_worker_if_any(self: &Arc<Self>, flow: &mut Flow) {
        if flow.workers > 0 {
            self.need_worker(flow);
        }
    }

    pub(crate) fn cancel(&self) {
        let mut flow = lock(&self.flow);
        self.cancelled.store(true, Ordering::Relaxed);
        let dropped = flow.clear();
        drop(flow);
        self.ready.ring();
        self.work.ring();
        drop(dropped);
    }

    /// Returns counts and times so far, and the model that they fit.
    pub(crate) fn explain(&self) -> (Stats, Explanation) {
        if self.is_foreign() {
            return Default::default();
        }
        let (members, expansion) = (self.members.members(), self.members.pull_time());
        account::stats(&lock(&self.flow), members as u64, expansion)
    }
}
