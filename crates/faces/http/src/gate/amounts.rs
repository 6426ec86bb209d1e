//! How many bytes of answers a user is sent: an allowance for each user, which is whole at first and
//! grows back within an hour.
//!
//! Invariant: a user is sent at most the allowance and what grows back, and the rest of the answers
//! that were under way: a page is sent whole, a whole answer is broken off.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use trawl_model::sync::lock;

/// Time in which a spent allowance is whole again.
const HOUR: Duration = Duration::from_secs(3600);

/// The allowances of all users.
#[derive(Debug)]
pub struct Amounts {
    /// Bytes of each user's allowance.
    whole: f64,
    spent: Mutex<HashMap<u32, Spent>>,
}

#[derive(Clone, Copy, Debug)]
struct Spent {
    bytes: f64,
    at: Instant,
}

impl Amounts {
    /// Returns allowances of this size.
    pub fn new(bytes_an_hour: u64) -> Amounts {
        Amounts {
            whole: (bytes_an_hour as f64).max(1.0),
            spent: Mutex::new(HashMap::new()),
        }
    }

    /// Takes bytes out of a user's allowance, also if it is used up: they are sent.
    ///
    /// # Errors
    /// Returns the time to wait if the allowance was used up before.
    pub fn take(&self, uid: u32, bytes: u64, now: Instant) -> Result<(), Duration> {
        let mut all = lock(&self.spent);
        // Whole allowances need not be remembered.
        if all.len() > 1000 && !all.contains_key(&uid) {
            all.retain(|_, spent| self.at(spent, now) > 0.0);
        }
        let spent = all.entry(uid).or_insert(Spent {
            bytes: 0.0,
            at: now,
        });
        let before = self.at(spent, now);
        *spent = Spent {
            bytes: before + bytes as f64,
            at: now,
        };
        if before < self.whole {
            return Ok(());
        }
        let over = (spent.bytes - self.whole) / self.whole;
        let wait = Duration::try_from_secs_f64(HOUR.as_secs_f64() * over);
        Err(wait.unwrap_or(Duration::MAX).max(Duration::from_secs(1)))
    }

    /// Returns what is spent at a time.
    fn at(&self, spent: &Spent, now: Instant) -> f64 {
        let grown = now.saturating_duration_since(spent.at).as_secs_f64() / HOUR.as_secs_f64();
        (spent.bytes - grown * self.whole).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowance_is_used_up_and_grows_back() {
        let (amounts, begin) = (Amounts::new(1000), Instant::now());
        amounts.take(1, 400, begin).expect("it is whole");
        amounts.take(1, 1100, begin).expect("something is left");
        let wait = amounts.take(1, 0, begin).expect_err("it is used up");
        assert_eq!(wait, HOUR / 2, "1500 of 1000 are spent");
        amounts.take(2, 1000, begin).expect("another user's");
        amounts
            .take(1, 1, begin + wait + Duration::from_secs(1))
            .expect("it has grown");
        let late = begin + wait + Duration::from_secs(2);
        amounts.take(3, 3000, late).expect("it is whole");
        let wait = amounts.take(3, 1000, late).expect_err("it is used up");
        assert_eq!(wait, 3 * HOUR, "what is sent nevertheless counts");
        let later = begin + 3 * HOUR;
        amounts.take(1, 999, later).expect("it is whole");
        amounts.take(1, 1, later).expect("a byte is left");
        amounts.take(1, 1, later).expect_err("it is used up");
    }

    #[test]
    fn memory_is_bounded_by_the_users_of_the_last_hour() {
        let (amounts, begin) = (Amounts::new(1000), Instant::now());
        for uid in 0..5000 {
            let now = begin + uid * Duration::from_secs(10);
            amounts.take(uid, 10, now).expect("it is whole");
        }
        assert!(lock(&amounts.spent).len() <= 1001);
    }
}
