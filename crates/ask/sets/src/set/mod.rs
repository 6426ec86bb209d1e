//! The set and its operations.
//!
//! `members` finds names, `flow` decides what may be fetched, `workers` fetches, `core` delivers.

mod account;
mod bell;
mod both;
mod core;
mod flow;
mod members;
mod order;
mod patience;
mod table;
#[cfg(test)]
mod tests;
mod window;
mod workers;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use trawl_model::sync::lock;

use self::core::Core;
use crate::error::{SetError, TimedOut};
use crate::explain::Explanation;
use crate::member::{Digest, Opened, Problem};
use crate::opener::Opener;
use crate::source::Names;
use crate::stats::Stats;
use both::{Both, Kind};
use members::{Members, Use};
use patience::Patience;
pub(crate) use workers::spawn;

/// Limits and wishes of a set.
#[derive(Clone, Debug)]
pub struct Options {
    /// Maximum number of bytes fetched ahead and not yet delivered; at least one is assumed.
    pub ahead_bytes: u64,
    /// Maximum number of descriptors open ahead, counting those being opened; at least 1, and at
    /// most half of what the process may open.
    pub descriptors: usize,
    /// Maximum number of requests in flight at one place.
    pub in_flight: usize,
    /// Maximum number of the set's threads that fetch; with 0, callers of `iterate` fetch.
    pub threads: usize,
    /// Whether members are delivered in the order in which they were found.
    pub ordered: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            ahead_bytes: 64 << 20,
            descriptors: 256,
            in_flight: 32,
            threads: 128,
            ordered: false,
        }
    }
}

/// A dynamic set. It is shared: clones are the same set, and several threads may iterate it.
///
/// | the paper's Figure 1 | here |
/// |---|---|
/// | `setOpen` | [`Set::open`] |
/// | `setClose` | [`Set::close`] |
/// | `setIterate` | [`Set::iterate`] |
/// | `setDigest` | [`Set::digest`] |
/// | `setUnion` | [`Set::union`] |
/// | `setIntersect` | [`Set::intersect`] |
/// | `setRewindIterator` | [`Set::rewind_iterator`] |
/// | `setRewindDigest` | [`Set::rewind_digest`] |
/// | `setSize` | [`Set::size`] |
/// | `setMember` | [`Set::member`] |
/// | `setApply` | [`Set::apply`] |
///
/// The two promises: every member satisfied the query at some moment while it ran; once a member,
/// always a member. A member that has vanished when it is opened, at first or after a rewind, is
/// delivered as a problem with its name; one that was rewritten has the content of the moment at
/// which it was opened.
///
/// A set belongs to the process that opened it. In a child made by fork(2), `iterate` and `digest`
/// return one problem and then `None`, and nothing blocks. Every descriptor is closed by exec(2),
/// delivered ones included, unless their owner clears the flag.
#[derive(Clone)]
pub struct Set(Arc<Handle>);

/// What the clones of a set share; the set is cancelled when the last one is dropped.
struct Handle {
    core: Arc<Core>,
    claim: Mutex<Option<Use>>,
    digested: AtomicUsize,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.cancel();
    }
}

impl Handle {
    fn cancel(&self) {
        if self.core.is_foreign() {
            return;
        }
        self.core.cancel();
        drop(lock(&self.claim).take());
        self.core.members.wake();
    }
}

impl Set {
    /// Opens a set (`setOpen`): returns at once. Names are found and members fetched from the
    /// first use on; expansion, fetching and processing overlap. The first opener that knows the
    /// place of a name opens it.
    ///
    /// No thread is started before a member has to be fetched, or a name has to be waited for.
    ///
    /// # Errors
    /// None today: if the system refuses threads, callers of `iterate` fetch.
    pub fn open(
        names: Box<dyn Names>,
        openers: Vec<Arc<dyn Opener>>,
        options: Options,
    ) -> Result<Set, SetError> {
        let claim = Members::of(names);
        let core = Core::new(Arc::clone(claim.members()), openers, &options);
        Ok(Set(Arc::new(Handle {
            core,
            claim: Mutex::new(Some(claim)),
            digested: AtomicUsize::new(0),
        })))
    }

    /// Returns the next member that no call of `iterate` has returned since the last rewind
    /// (`setIterate`), or the problem in its place; `None` at the end or after a cancel. Blocks
    /// until a member's first bytes are there.
    pub fn iterate(&self) -> Option<Result<Opened, Problem>> {
        self.0.core.iterate(Patience::ENDLESS).unwrap_or(None)
    }

    /// As [`Set::iterate`], but waits for no longer than `limit`, so that a caller can handle signals
    /// in between. Threads do the work that may block. Only if the system refuses them, or `Options`
    /// allow none, does this call expand and fetch itself, and then it may take longer.
    ///
    /// # Errors
    /// [`TimedOut`] if no member's first bytes arrived in time. No member is lost.
    pub fn iterate_timeout(
        &self,
        limit: Duration,
    ) -> Result<Option<Result<Opened, Problem>>, TimedOut> {
        self.0.core.iterate(Patience::of(limit))
    }

    /// Returns the description of the next member (`setDigest`) or a problem; `None` at the end or
    /// after a cancel. Nothing is fetched.
    pub fn digest(&self) -> Option<Result<Digest, Problem>> {
        self.describe(Patience::ENDLESS).unwrap_or(None)
    }

    /// As [`Set::digest`], but waits for no longer than `limit`; see [`Set::iterate_timeout`].
    ///
    /// # Errors
    /// [`TimedOut`] if no further name was found in time. No description is lost.
    pub fn digest_timeout(
        &self,
        limit: Duration,
    ) -> Result<Option<Result<Digest, Problem>>, TimedOut> {
        self.describe(Patience::of(limit))
    }

    fn describe(&self, patience: Patience) -> Result<Option<Result<Digest, Problem>>, TimedOut> {
        let core = &self.0.core;
        if core.is_foreign() {
            return Ok(core.tell_child().map(Err));
        }
        let order = Ordering::Relaxed;
        let at = loop {
            let at = self.0.digested.load(order);
            if !core.members.await_at(at, &core.cancelled, patience)? {
                return Ok(None);
            }
            // Another caller may have taken this position, or a rewind begun again.
            let taken = (self.0.digested).compare_exchange(at, at + 1, order, order);
            if taken.is_ok() {
                break at;
            }
        };
        Ok(core.members.describe(at).map(|entry| match entry {
            Ok(found) => Ok(Digest {
                name: found.name,
                attributes: found.attributes,
            }),
            Err(problem) => Err(again(&problem)),
        }))
    }

    /// Returns a set of the members of both (`setUnion`), each once. It has its own iterator and
    /// digest, works while the operands are still found, and stays valid after they are closed or
    /// cancelled. Problems of expansion come from both.
    ///
    /// # Errors
    /// [`SetError::Cancelled`] if an operand is closed or cancelled already.
    pub fn union(&self, other: &Set, options: Options) -> Result<Set, SetError> {
        self.with(other, Kind::Union, options)
    }

    /// Returns a set of the members that both have (`setIntersect`), by name; otherwise as
    /// [`Set::union`].
    ///
    /// # Errors
    /// As [`Set::union`].
    pub fn intersect(&self, other: &Set, options: Options) -> Result<Set, SetError> {
        self.with(other, Kind::Intersection, options)
    }

    fn with(&self, other: &Set, kind: Kind, options: Options) -> Result<Set, SetError> {
        let (left, right) = (self.claim()?, other.claim()?);
        let mut openers = self.0.core.openers.clone();
        for opener in &other.0.core.openers {
            if !openers.iter().any(|known| Arc::ptr_eq(known, opener)) {
                openers.push(Arc::clone(opener));
            }
        }
        Set::open(Box::new(Both::new(kind, left, right)), openers, options)
    }

    /// Returns a further claim on the members.
    fn claim(&self) -> Result<Use, SetError> {
        if self.0.core.is_foreign() {
            return Err(SetError::Cancelled);
        }
        let claim = lock(&self.0.claim);
        claim.as_ref().map(Use::again).ok_or(SetError::Cancelled)
    }

    /// Makes the next `iterate` begin again with the first member (`setRewindIterator`). Members
    /// stay members: one that has vanished is delivered as a problem, one that was rewritten with
    /// its new content. What was fetched and not delivered is dropped.
    pub fn rewind_iterator(&self) {
        self.0.core.rewind();
    }

    /// Makes the next `digest` begin again (`setRewindDigest`).
    pub fn rewind_digest(&self) {
        self.0.digested.store(0, Ordering::Relaxed);
    }

    /// Returns the number of members (`setSize`), without problems, once expansion has ended.
    /// After a cancel, and in a forked child, the number found so far or 0.
    pub fn size(&self) -> u64 {
        self.count(Patience::ENDLESS).unwrap_or(0)
    }

    /// As [`Set::size`], but waits for no longer than `limit`; see [`Set::iterate_timeout`].
    ///
    /// # Errors
    /// [`TimedOut`] if expansion has not ended in time.
    pub fn size_timeout(&self, limit: Duration) -> Result<u64, TimedOut> {
        self.count(Patience::of(limit))
    }

    fn count(&self, patience: Patience) -> Result<u64, TimedOut> {
        let core = &self.0.core;
        if core.is_foreign() {
            return Ok(0);
        }
        let (members, cancelled) = (&core.members, &core.cancelled);
        members.await_end(cancelled, patience, |_| false)?;
        Ok(members.members() as u64)
    }

    /// Returns whether this name is a member (`setMember`): as soon as it is found, or once
    /// expansion has ended.
    pub fn member(&self, name: &[u8]) -> bool {
        self.has(name, Patience::ENDLESS).unwrap_or(false)
    }

    /// As [`Set::member`], but waits for no longer than `limit`; see [`Set::iterate_timeout`].
    ///
    /// # Errors
    /// [`TimedOut`] if the name was not found and expansion has not ended in time.
    pub fn member_timeout(&self, name: &[u8], limit: Duration) -> Result<bool, TimedOut> {
        self.has(name, Patience::of(limit))
    }

    fn has(&self, name: &[u8], patience: Patience) -> Result<bool, TimedOut> {
        let core = &self.0.core;
        if core.is_foreign() {
            return Ok(false);
        }
        let mut is_member = false;
        let (members, cancelled) = (&core.members, &core.cancelled);
        members.await_end(cancelled, patience, |members| {
            is_member = members.contains(name);
            is_member
        })?;
        Ok(is_member)
    }

    /// Calls a function for each member or problem that is left to iterate (`setApply`).
    pub fn apply(&self, mut each: impl FnMut(Result<Opened, Problem>)) {
        while let Some(member) = self.iterate() {
            each(member);
        }
    }

    /// Ends expansion and fetching soon; blocked calls return `None`. Sets made of this one by
    /// `union` or `intersect` go on.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Returns counts and times so far.
    pub fn stats(&self) -> Stats {
        self.0.core.explain().0
    }

    /// Returns the performance model's parameters as this run fits them, what it predicts, and
    /// what was measured.
    pub fn explain(&self) -> Explanation {
        self.0.core.explain().1
    }

    /// Ends the use of the set (`setClose`): cancels what is in flight, frees everything, and
    /// returns the final counts. A request that does not return is not waited for: its thread and
    /// its descriptor are freed when it does. Other clones are cancelled too.
    pub fn close(self) -> Stats {
        self.cancel();
        self.stats()
    }
}

/// Returns a copy of a problem.
pub(crate) fn again(problem: &Problem) -> Problem {
    let source = match problem.source.raw_os_error() {
        Some(errno) => std::io::Error::from_raw_os_error(errno),
        None => std::io::Error::new(problem.source.kind(), problem.source.to_string()),
    };
    Problem {
        name: problem.name.clone(),
        op: problem.op,
        source,
    }
}
