//! Whose question runs next. A running question is a process, so few run at a time, and of one user
//! even fewer: the others wait for their turn.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use trawl_model::sync::lock;

/// The turns.
#[derive(Debug)]
pub struct Turns {
    all: Arc<Semaphore>,
    /// The turns of each user, while somebody has or wants one.
    each: Mutex<HashMap<u32, Weak<Semaphore>>>,
    most_of_one: usize,
}

/// A turn, which ends when it is dropped.
#[derive(Debug)]
pub struct Turn(#[expect(dead_code, reason = "held")] [OwnedSemaphorePermit; 2]);

impl Turns {
    /// Returns turns for so many questions at a time, and so many of one user.
    pub fn new(most: usize, most_of_one: usize) -> Turns {
        Turns {
            all: Arc::new(Semaphore::new(most)),
            each: Mutex::default(),
            most_of_one,
        }
    }

    /// Waits for a turn. Whoever came first has it first; a user whose own turns are taken waits for
    /// one of these, and keeps nobody else waiting.
    pub async fn take(&self, uid: u32) -> Option<Turn> {
        let own = self.of(uid).acquire_owned().await.ok()?;
        let all = Arc::clone(&self.all).acquire_owned().await.ok()?;
        Some(Turn([own, all]))
    }

    fn of(&self, uid: u32) -> Arc<Semaphore> {
        let mut each = lock(&self.each);
        if let Some(own) = each.get(&uid).and_then(Weak::upgrade) {
            return own;
        }
        each.retain(|_, own| own.strong_count() > 0);
        let own = Arc::new(Semaphore::new(self.most_of_one));
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

    /// Returns a turn if there is one at once.
    fn at_once(turns: &Turns, uid: u32) -> Option<Turn> {
        let taken = pin!(turns.take(uid));
        match taken.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(turn) => turn,
            Poll::Pending => None,
        }
    }

    #[test]
    fn few_run_at_a_time_and_fewer_of_one_user() {
        let turns = Turns::new(5, 2);
        let mut taken: Vec<Turn> = (0..4).filter_map(|_| at_once(&turns, 1)).collect();
        assert_eq!(taken.len(), 2, "turns of one user");
        taken.extend((0..4).filter_map(|_| at_once(&turns, 2)));
        taken.extend((0..4).filter_map(|_| at_once(&turns, 3)));
        assert_eq!(taken.len(), 5, "turns of all");
        taken.remove(0);
        assert!(at_once(&turns, 3).is_some());
        drop(taken);
        assert!(at_once(&turns, 4).is_some());
        assert_eq!(
            lock(&turns.each).len(),
            1,
            "users without turns are forgotten"
        );
    }

    #[test]
    fn a_user_who_waits_for_own_turns_keeps_nobody_waiting() {
        let turns = Turns::new(3, 2);
        let _two = [at_once(&turns, 1), at_once(&turns, 1)];
        let mut waiting = pin!(turns.take(1));
        let mut context = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        assert!(at_once(&turns, 2).is_some());
    }
}
