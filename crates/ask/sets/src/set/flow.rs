//! The state of an iteration: what is queued, in flight and ready, and which limits hold.
//!
//! Each position of the table is taken once in a generation: by a look, which delivers it at once
//! or queues it at its place. A queued member becomes a job of a worker, then a ready outcome, then
//! a delivery. A rewind begins a new generation; what an older one still has in flight only gives
//! back what it holds.
//!
//! Limits: `held` descriptors and `bytes` are reserved before a look or a job begins and are given
//! back with the delivery. In an ordered set, one descriptor and one share of bytes stay reserved
//! for the member that is delivered next, so that later members cannot block it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use super::account::{Account, PlaceCount};
use super::order::{Queue, Queued, shown};
use super::window::Window;
use crate::member::{Opened, Problem};
use crate::opener::PlaceId;

/// Maximum number of members that are looked at and wait to be fetched.
const LOOK_AHEAD: usize = 16_384;

/// Maximum number of bytes fetched ahead of one member.
const SHARE_MAX: u64 = 4 << 20;

/// After this many looks in a row that found members in memory, threads leave looking to consumers.
const CACHED_ROW: u32 = 64;

/// Mean time of a fetch below which consumers fetch, too, and after how many fetches it counts.
const QUICK: Duration = Duration::from_millis(2);
const QUICK_COUNT: u64 = 8;

/// How long a set waits for descriptors before it reports that there are none.
const PATIENCE: Duration = Duration::from_millis(500);

/// How soon an open is tried again after there were no descriptors.
const AGAIN: Duration = Duration::from_millis(5);

/// A position taken to be looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    pub(crate) position: u32,
    pub(crate) generation: u64,
}

/// A member to be fetched.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) ticket: Ticket,
    pub(crate) queued: Queued,
    pub(crate) place: usize,
    pub(crate) reserved: u64,
    pub(crate) begin: Instant,
    pub(crate) level: usize,
}

/// An outcome that waits for a consumer.
pub(crate) struct Ready {
    pub(crate) outcome: Result<Opened, Problem>,
    pub(crate) bytes: u64,
}

/// Members at one place.
pub(crate) struct Place {
    pub(crate) id: PlaceId,
    pub(crate) queue: Queue,
    pub(crate) window: Window,
    pub(crate) in_flight: usize,
    pub(crate) count: PlaceCount,
}

impl Place {
    /// Returns whether a fetch takes less than a consumer that sleeps meanwhile loses, which is assumed
    /// at first, so that the first member need not wait for a thread. Only of local disks: elsewhere a
    /// fetch may hang, and a consumer must not.
    fn is_quick(&self) -> bool {
        let (count, time) = (self.count.fit.count(), self.count.fit.time());
        matches!(self.id, PlaceId::Device(_))
            && (count < QUICK_COUNT || time.as_secs_f64() < QUICK.as_secs_f64() * count as f64)
    }
}

/// Which thread does a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thread {
    /// One of the set, or a caller that stands in for them.
    Own,
    /// A caller of `iterate` that would wait otherwise.
    Consumer,
}

/// Limits that do not change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) bytes: u64,
    pub(crate) in_flight: usize,
    pub(crate) is_ordered: bool,
}

pub(crate) struct Flow {
    pub(crate) limits: Limits,
    pub(crate) generation: u64,
    /// Next position that nobody has looked at.
    pub(crate) cursor: usize,
    pub(crate) places: Vec<Place>,
    place_of: HashMap<PlaceId, usize>,
    turn: usize,
    pub(crate) queued: usize,
    /// Looks and jobs of this generation that have not ended.
    pub(crate) busy: usize,
    ordered: BTreeMap<u32, Ready>,
    unordered: VecDeque<Ready>,
    /// In an ordered set, the position that is delivered next.
    next: u32,
    /// Descriptors open ahead or about to be opened, of every generation.
    pub(crate) held: usize,
    /// Bytes fetched ahead or about to be fetched, of every generation.
    pub(crate) bytes: u64,
    pub(crate) descriptors: usize,
    descriptors_max: usize,
    /// Whether `descriptors_max` heeds the process's limit.
    heeds_process: bool,
    starved_since: Option<Instant>,
    retry_at: Option<Instant>,
    gave_up: bool,
    pub(crate) workers: usize,
    pub(crate) idle: usize,
    /// Workers that wait for a fetch.
    pub(crate) blocked: usize,
    /// Workers that have fetched, and look for work before they wait again.
    pub(crate) returning: usize,
    has_missed: bool,
    has_left_first: bool,
    /// Number of looks in a row that found a member in memory.
    cached_row: u32,
    pub(crate) account: Account,
}

impl Flow {
    pub(crate) fn new(limits: Limits, descriptors: usize) -> Flow {
        Flow {
            limits,
            generation: 0,
            cursor: 0,
            places: Vec::new(),
            place_of: HashMap::new(),
            turn: 0,
            queued: 0,
            busy: 0,
            ordered: BTreeMap::new(),
            unordered: VecDeque::new(),
            next: 0,
            held: 0,
            bytes: 0,
            descriptors,
            descriptors_max: descriptors,
            heeds_process: false,
            starved_since: None,
            retry_at: None,
            gave_up: false,
            workers: 0,
            idle: 0,
            blocked: 0,
            returning: 0,
            has_missed: false,
            has_left_first: false,
            cached_row: 0,
            account: Account::default(),
        }
    }

    /// Returns whether nothing is queued, in flight or ready.
    pub(crate) fn is_drained(&self) -> bool {
        self.queued + self.busy == 0 && self.ordered.is_empty() && self.unordered.is_empty()
    }

    /// Returns whether this position may be delivered now.
    pub(crate) fn is_next(&self, position: u32) -> bool {
        !self.limits.is_ordered || position == self.next
    }

    fn share_min(&self) -> u64 {
        (self.limits.bytes / self.descriptors_max as u64).max(1)
    }

    fn may_hold(&self, position: u32) -> bool {
        let spare = usize::from(!self.is_next(position));
        // In an ordered set, the next member alone may go beyond a limit that was lowered.
        let limit = match self.limits.is_ordered && spare == 0 {
            true => self.descriptors_max,
            false => self.descriptors,
        };
        self.held == 0 && spare == 0 || self.held + spare < limit
    }

    /// Returns how many bytes of this member may be fetched ahead; `None` if it has to wait.
    fn share(&self, queued: &Queued) -> Option<u64> {
        let least = self.share_min();
        let spare = match self.is_next(queued.position) {
            true => 0,
            false => least,
        };
        let left = self.limits.bytes.saturating_sub(self.bytes + spare);
        let known = queued.expected.bytes.unwrap_or(u64::MAX);
        let wish = (left / 16).clamp(least, SHARE_MAX.max(least)).min(known);
        match wish <= left {
            true => Some(wish),
            // In an ordered set, later members hold bytes until this one is delivered.
            false => (spare == 0 && (self.limits.is_ordered || self.held == 0)).then_some(left),
        }
    }

    /// Returns whether what may be done depends on the time.
    pub(crate) fn heeds_time(&self) -> bool {
        self.queued > 0 || self.retry_at.is_some()
    }

    fn is_starved(&self, now: Instant) -> bool {
        self.retry_at.is_some_and(|at| now < at)
    }

    /// Returns how long to wait before descriptors are tried again.
    pub(crate) fn starved_for(&self, now: Instant) -> Option<Duration> {
        let left = self.retry_at?.checked_duration_since(now)?;
        Some(left.max(Duration::from_millis(1)))
    }

    /// Returns whether the next position may be looked at.
    pub(crate) fn may_look(&self, found: usize, now: Instant) -> bool {
        self.cursor < found
            && self.queued < LOOK_AHEAD
            && self.may_hold(self.cursor as u32)
            && (self.bytes + self.share_min() <= self.limits.bytes || self.held == 0)
            && !self.is_starved(now)
    }

    /// Notes whether a look found a member in memory.
    pub(crate) fn looked(&mut self, was_cached: bool) {
        self.cached_row = match was_cached {
            true => self.cached_row.saturating_add(1),
            false => 0,
        };
    }

    /// Returns whether it is worth a thread to look at members ahead: where they are in memory,
    /// handing them over would cost more than consumers need to look.
    pub(crate) fn looks_ahead(&self) -> bool {
        self.cached_row < CACHED_ROW
    }

    /// Takes the next position to be looked at; call [`Flow::may_look`] first.
    pub(crate) fn take_look(&mut self) -> Ticket {
        let position = self.cursor as u32;
        self.cursor += 1;
        self.busy += 1;
        self.hold();
        Ticket {
            position,
            generation: self.generation,
        }
    }

    fn hold(&mut self) {
        self.held += 1;
        // The first one needs no limit, and a set of one member no further system call.
        if self.held > 1 && !self.heeds_process {
            self.heed_process();
        }
        self.account.descriptors_max = self.account.descriptors_max.max(self.held);
    }

    /// Lowers the number of descriptors to half of what the process may open.
    fn heed_process(&mut self) {
        let possible = trawl_sys::process::descriptor_limit() / 2;
        let possible = usize::try_from(possible).unwrap_or(usize::MAX).max(1);
        self.descriptors_max = self.descriptors_max.min(possible);
        self.descriptors = self.descriptors.min(possible);
        self.heeds_process = true;
    }

    /// Returns how many requests may be in flight at a place when this thread sends one.
    fn window(&self, place: &Place, thread: Thread) -> usize {
        match thread {
            Thread::Own => place.window.limit(),
            Thread::Consumer if place.is_quick() => self.limits.in_flight,
            Thread::Consumer => 0,
        }
    }

    fn startable(&self, place: usize, now: Instant, thread: Thread) -> Option<u64> {
        let place = &self.places[place];
        let first = place.queue.peek()?;
        let is_free = place.in_flight < self.window(place, thread) && !self.is_starved(now);
        (is_free && self.may_hold(first.position)).then(|| self.share(first))?
    }

    /// Returns whether a job could begin.
    pub(crate) fn may_start(&self, now: Instant) -> bool {
        self.queued > 0
            && (0..self.places.len()).any(|at| self.startable(at, now, Thread::Own).is_some())
    }

    /// Takes a job for a thread, from the places in turn.
    pub(crate) fn take_job(&mut self, now: Instant, thread: Thread) -> Option<Job> {
        if self.queued == 0 {
            return None;
        }
        let places = self.places.len();
        let (at, reserved) = (0..places)
            .map(|step| (self.turn + step) % places)
            .find_map(|at| Some((at, self.startable(at, now, thread)?)))?;
        self.turn = at + 1;
        let place = &mut self.places[at];
        let queued = place.queue.take()?;
        place.in_flight += 1;
        place.window.sent(now);
        place.count.in_flight_max = place.count.in_flight_max.max(place.in_flight);
        let level = place.in_flight;
        self.queued -= 1;
        self.busy += 1;
        self.bytes += reserved;
        self.account.ahead_bytes_max = self.account.ahead_bytes_max.max(self.bytes);
        self.hold();
        let ticket = Ticket {
            position: queued.position,
            generation: self.generation,
        };
        Some(Job {
            ticket,
            queued,
            place: at,
            reserved,
            begin: now,
            level,
        })
    }

    /// Returns the number of this place.
    pub(crate) fn place(&mut self, id: &PlaceId) -> usize {
        if let Some(at) = self.place_of.get(id) {
            return *at;
        }
        let at = self.places.len();
        self.place_of.insert(id.clone(), at);
        self.places.push(Place {
            id: id.clone(),
            queue: Queue::default(),
            window: Window::new(self.limits.in_flight),
            in_flight: 0,
            count: PlaceCount::named(shown(id)),
        });
        at
    }

    /// Queues a member at its place.
    pub(crate) fn enqueue(&mut self, place: usize, queued: Queued) {
        self.places[place]
            .queue
            .push(queued, self.limits.is_ordered);
        self.queued += 1;
    }

    /// Returns whether this is the first call: a member was found that has to be fetched.
    pub(crate) fn is_first_miss(&mut self) -> bool {
        !std::mem::replace(&mut self.has_missed, true)
    }

    /// Returns whether the consumer that found the first member to be fetched, at this place, does it
    /// before there are threads: starting them would take as long. They begin with the second one.
    pub(crate) fn leaves_first(&mut self, place: usize) -> bool {
        let is_first = !self.has_missed && !self.has_left_first && self.workers == 0;
        let leaves = is_first && self.places[place].is_quick();
        self.has_left_first |= leaves;
        leaves
    }

    /// Ends a look or a job, and gives back its descriptor and its bytes; false if it belongs to
    /// an older generation.
    pub(crate) fn release(&mut self, ticket: Ticket, bytes: u64) -> bool {
        self.held -= 1;
        self.bytes -= bytes;
        let is_current = ticket.generation == self.generation;
        if is_current {
            self.busy -= 1;
        }
        is_current
    }

    /// Puts an outcome where consumers find it, with what it holds.
    pub(crate) fn put(&mut self, position: u32, ready: Ready) {
        if ready.outcome.is_ok() {
            self.hold();
            self.bytes += ready.bytes;
            self.account.ahead_bytes_max = self.account.ahead_bytes_max.max(self.bytes);
        }
        match self.limits.is_ordered {
            true => {
                self.ordered.insert(position, ready);
            }
            false => self.unordered.push_back(ready),
        }
    }

    /// Takes the outcome to deliver next.
    pub(crate) fn pop(&mut self) -> Option<Result<Opened, Problem>> {
        let ready = match self.limits.is_ordered {
            true => self.ordered.remove(&self.next)?,
            false => self.unordered.pop_front()?,
        };
        if ready.outcome.is_ok() {
            self.held -= 1;
            self.bytes -= ready.bytes;
        }
        self.delivered();
        Some(ready.outcome)
    }

    /// Notes a delivery, under the lock under which its outcome was taken: a rewind in between would
    /// count it for the next round.
    pub(crate) fn delivered(&mut self) {
        self.next += u32::from(self.limits.is_ordered);
        // A descriptor was given away: perhaps there is one to be had again.
        self.retry_at = None;
    }

    /// Handles an open that failed because there are no descriptors; true if the member has to be
    /// tried again later.
    pub(crate) fn starve(&mut self, now: Instant) -> bool {
        let since = *self.starved_since.get_or_insert(now);
        self.descriptors = self.held.clamp(1, self.descriptors);
        self.account.starved += 1;
        let is_alone = self.held == 0 || self.limits.is_ordered;
        if is_alone && (self.gave_up || now.duration_since(since) > PATIENCE) {
            self.gave_up = true;
            return false;
        }
        self.retry_at = Some(now + AGAIN);
        true
    }

    /// Notes an open that succeeded.
    pub(crate) fn fed(&mut self) {
        self.gave_up = false;
        if self.starved_since.take().is_some() || self.descriptors < self.descriptors_max {
            self.descriptors = (self.descriptors + 1).min(self.descriptors_max);
        }
    }

    /// Forgets what is queued and returns what is ready, to be closed without the lock.
    pub(crate) fn clear(&mut self) -> Vec<Ready> {
        for place in &mut self.places {
            place.queue.clear();
        }
        self.queued = 0;
        self.busy = 0;
        self.generation += 1;
        self.next = 0;
        let ordered = std::mem::take(&mut self.ordered).into_values();
        let dropped: Vec<Ready> = ordered.chain(self.unordered.drain(..)).collect();
        for ready in dropped.iter().filter(|ready| ready.outcome.is_ok()) {
            self.held -= 1;
            self.bytes -= ready.bytes;
            self.account.unused_bytes += ready.bytes;
        }
        dropped
    }
}
