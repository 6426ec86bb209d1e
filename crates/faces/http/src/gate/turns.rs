//! Whose question runs next. A running question is a process, so few run at a time, and of one user
//! even fewer: the others wait for their turn.
//!
//! Most questions are answered in some milliseconds, and sooner if they do not share the processors
//! with many others. So very few are *fresh* at a time. A question that takes longer is no longer fresh
//! and lets another one begin: a slow question takes the place of a fresh one for a moment only, and no
//! more than [`Bounds::all`] run together.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, Weak};
use std::thread::available_parallelism;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;
use tokio::time::sleep;
use trawl_model::sync::lock;

use crate::limits::{CALLS_OF_ALL, CALLS_OF_ONE_USER, FRESH, FRESH_CALLS_OF_A_PROCESSOR};

/// How many questions run at a time.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// All of them.
    pub all: usize,
    /// Those of one user.
    pub one_user: usize,
    /// Those that began less than `fresh_for` ago.
    pub fresh: usize,
    /// See `fresh`.
    pub fresh_for: Duration,
}

impl Bounds {
    /// Returns the bounds for this machine.
    pub fn here() -> Bounds {
        let processors = available_parallelism().map_or(1, NonZeroUsize::get);
        Bounds {
            all: CALLS_OF_ALL,
            one_user: CALLS_OF_ONE_USER,
            fresh: CALLS_OF_ALL.min(FRESH_CALLS_OF_A_PROCESSOR * processors),
            fresh_for: FRESH,
        }
    }
}

/// The turns.
#[derive(Debug)]
pub struct Turns {
    all: Arc<Semaphore>,
    fresh: Arc<Semaphore>,
    /// The turns of each user, while somebody has or wants one.
    each: Mutex<HashMap<u32, Weak<Semaphore>>>,
    bounds: Bounds,
}

/// A turn, which ends when it is dropped.
#[derive(Debug)]
pub struct Turn {
    own: Option<OwnedSemaphorePermit>,
    _all: OwnedSemaphorePermit,
    /// Waits until the question is no longer fresh.
    fresh: AbortHandle,
}

impl Turn {
    /// Ends the turn, except that it still counts at its user until what is returned is dropped.
    pub fn into_own(mut self) -> Option<OwnedSemaphorePermit> {
        self.own.take()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.fresh.abort();
    }
}

impl Turns {
    /// Returns turns within these bounds.
    pub fn new(bounds: Bounds) -> Turns {
        Turns {
            all: Arc::new(Semaphore::new(bounds.all)),
            fresh: Arc::new(Semaphore::new(bounds.fresh)),
            each: Mutex::default(),
            bounds,
        }
    }

    /// Waits for a turn. Whoever came first has it first; a user whose own turns are taken waits for
    /// one of these, and keeps nobody else waiting.
    pub async fn take(&self, uid: u32) -> Option<Turn> {
        let own = self.of(uid).acquire_owned().await.ok()?;
        let all = Arc::clone(&self.all).acquire_owned().await.ok()?;
        let fresh = Arc::clone(&self.fresh).acquire_owned().await.ok()?;
        let time = self.bounds.fresh_for;
        let fresh = tokio::spawn(async move {
            sleep(time).await;
            drop(fresh);
        });
        Some(Turn {
            own: Some(own),
            _all: all,
            fresh: fresh.abort_handle(),
        })
    }

    fn of(&self, uid: u32) -> Arc<Semaphore> {
        let mut each = lock(&self.each);
        if let Some(own) = each.get(&uid).and_then(Weak::upgrade) {
            return own;
        }
        each.retain(|_, own| own.strong_count() > 0);
        let own = Arc::new(Semaphore::new(self.bounds.one_user));
        each.insert(uid, Arc::downgrade(&own));
        own
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    fn turns(all: usize, one_user: usize, fresh: usize, fresh_for: Duration) -> Turns {
        Turns::new(Bounds {
            all,
            one_user,
            fresh,
            fresh_for,
        })
    }

    /// Returns a turn if there is one at once.
    fn at_once(turns: &Turns, uid: u32) -> Option<Turn> {
        let taken = pin!(turns.take(uid));
        match taken.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(turn) => turn,
            Poll::Pending => None,
        }
    }

    #[tokio::test]
    async fn few_run_at_a_time_and_fewer_of_one_user() {
        let turns = turns(5, 2, 5, LONG);
        let mut taken: Vec<Turn> = (0..4).filter_map(|_| at_once(&turns, 1)).collect();
        assert_eq!(taken.len(), 2, "turns of one user");
        taken.extend((0..4).filter_map(|_| at_once(&turns, 2)));
        taken.extend((0..4).filter_map(|_| at_once(&turns, 3)));
        assert_eq!(taken.len(), 5, "turns of all");
        taken.remove(0);
        assert!(turns.take(3).await.is_some());
        drop(taken);
        assert!(turns.take(4).await.is_some());
        assert_eq!(
            lock(&turns.each).len(),
            1,
            "users without turns are forgotten"
        );
    }

    #[tokio::test]
    async fn a_slow_question_lets_others_begin() {
        let turns = turns(4, 4, 2, LONG);
        let first = at_once(&turns, 1);
        let _second = at_once(&turns, 2);
        assert!(at_once(&turns, 3).is_none(), "two are fresh");
        drop(first);
        turns.fresh.acquire().await.expect("one has ended").forget();
        let turns = self::turns(4, 4, 2, Duration::ZERO);
        let _three = [
            turns.take(1).await,
            turns.take(2).await,
            turns.take(3).await,
        ];
        let _fourth = turns.take(4).await;
        assert!(at_once(&turns, 5).is_none(), "four run");
    }

    #[tokio::test]
    async fn a_download_keeps_the_turn_of_its_user_alone() {
        let turns = turns(2, 1, 2, LONG);
        let own = at_once(&turns, 1).and_then(Turn::into_own);
        assert!(own.is_some() && at_once(&turns, 1).is_none());
        // The places among all users are free.
        let two = [turns.take(2).await, turns.take(3).await];
        assert!(two.iter().all(Option::is_some));
        drop((own, two));
        assert!(turns.take(1).await.is_some());
    }

    #[tokio::test]
    async fn a_user_who_waits_for_own_turns_keeps_nobody_waiting() {
        let turns = turns(3, 2, 3, LONG);
        let _two = [at_once(&turns, 1), at_once(&turns, 1)];
        let mut waiting = pin!(turns.take(1));
        let mut context = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        assert!(at_once(&turns, 2).is_some());
    }
}
