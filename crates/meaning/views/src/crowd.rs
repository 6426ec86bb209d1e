//! Bounds the questions that one user may have running, so that nobody keeps others from asking.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Most questions of one user, open directories among them.
pub(crate) const QUESTIONS_MAX: usize = 16;
/// How long a request waits until another question of its user has ended.
const PATIENCE: Duration = Duration::from_secs(10);

/// Numbers of running questions, by user.
#[derive(Debug, Default)]
pub(crate) struct Crowd {
    running: Mutex<HashMap<u32, usize>>,
    ended: Condvar,
}

/// The right to have a question running.
#[derive(Debug)]
pub(crate) struct Permit {
    crowd: Arc<Crowd>,
    uid: u32,
}

fn held(crowd: &Crowd) -> MutexGuard<'_, HashMap<u32, usize>> {
    crowd.running.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Crowd {
    /// Waits for a permit; `None` if none is free in time.
    pub(crate) fn enter(self: &Arc<Crowd>, uid: u32) -> Option<Permit> {
        self.enter_within(uid, PATIENCE)
    }

    fn enter_within(self: &Arc<Crowd>, uid: u32, patience: Duration) -> Option<Permit> {
        let until = Instant::now() + patience;
        let mut running = held(self);
        loop {
            let count = running.entry(uid).or_default();
            if *count < QUESTIONS_MAX {
                *count += 1;
                let crowd = Arc::clone(self);
                return Some(Permit { crowd, uid });
            }
            let left = until.checked_duration_since(Instant::now())?;
            let waited = self.ended.wait_timeout(running, left);
            running = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut running = held(&self.crowd);
        if let Some(count) = running.get_mut(&self.uid) {
            *count -= 1;
            if *count == 0 {
                running.remove(&self.uid);
            }
        }
        self.crowd.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_waits_for_their_own_questions_only() {
        let crowd = Arc::new(Crowd::default());
        let enter = |uid| crowd.enter_within(uid, Duration::from_millis(10));
        let mut permits: Vec<Permit> = (0..QUESTIONS_MAX).map(|_| enter(1).unwrap()).collect();
        assert!(enter(1).is_none());
        assert!(enter(2).is_some());
        permits.pop();
        assert!(enter(1).is_some());
        permits.clear();
        assert!(held(&crowd).is_empty());
    }
}
