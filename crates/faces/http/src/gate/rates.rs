//! How often a user may ask: a bucket of questions for each user, which fills up again with time.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Questions that a user may ask at once.
pub const AT_ONCE: f64 = 100.0;
/// Questions that a user may ask in a second, in the long run.
pub const A_SECOND: f64 = 25.0;

/// The buckets of all users.
#[derive(Debug, Default)]
pub struct Rates {
    buckets: HashMap<String, Bucket>,
}

#[derive(Debug)]
struct Bucket {
    questions: f64,
    since: Instant,
}

impl Rates {
    /// Takes a question out of a user's bucket.
    ///
    /// # Errors
    /// Returns the time to wait if the bucket is empty.
    pub fn take(&mut self, user: &str, now: Instant) -> Result<(), Duration> {
        // Full buckets are as good as none.
        if self.buckets.len() > 1000 && !self.buckets.contains_key(user) {
            self.buckets
                .retain(|_, bucket| bucket.questions_at(now) < AT_ONCE);
        }
        let bucket = self.buckets.entry(user.to_owned()).or_insert(Bucket {
            questions: AT_ONCE,
            since: now,
        });
        bucket.questions = bucket.questions_at(now);
        bucket.since = now;
        if bucket.questions >= 1.0 {
            bucket.questions -= 1.0;
            return Ok(());
        }
        Err(Duration::from_secs_f64((1.0 - bucket.questions) / A_SECOND))
    }
}

impl Bucket {
    fn questions_at(&self, now: Instant) -> f64 {
        let filled = now.saturating_duration_since(self.since).as_secs_f64() * A_SECOND;
        (self.questions + filled).min(AT_ONCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_who_asks_too_often_waits_and_others_do_not() {
        let (mut rates, begin) = (Rates::default(), Instant::now());
        let taken = (0..1000).take_while(|_| rates.take("ann", begin).is_ok());
        assert_eq!(taken.count(), AT_ONCE as usize);
        let wait = rates.take("ann", begin).expect_err("it is empty");
        assert!(wait <= Duration::from_secs_f64(1.0 / A_SECOND), "{wait:?}");
        assert!(rates.take("bob", begin).is_ok());
        assert!(rates.take("ann", begin + wait).is_ok());
        let later = begin + Duration::from_secs(3600);
        let taken = (0..1000).take_while(|_| rates.take("ann", later).is_ok());
        assert_eq!(taken.count(), AT_ONCE as usize);
    }

    #[test]
    fn memory_is_bounded_by_the_users_who_ask_now() {
        let (mut rates, begin) = (Rates::default(), Instant::now());
        for uid in 0..5000_u64 {
            let now = begin + Duration::from_secs(uid);
            rates.take(&uid.to_string(), now).expect("it asks once");
        }
        assert!(rates.buckets.len() <= 1001);
    }
}
