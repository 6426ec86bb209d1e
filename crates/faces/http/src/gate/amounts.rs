//! How many bytes and rows of answers a user is sent: allowances for each user, which are whole at first
//! and grow back within an hour.
//!
//! Invariant: a user is sent at most an allowance and what grows back, and the rest of the pages that
//! were under way: a page is sent whole, and a whole answer is broken off before the piece that does not
//! fit.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use trawl_model::sync::lock;

/// Time in which a spent allowance is whole again.
const HOUR: Duration = Duration::from_secs(3600);

/// What a user is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Bytes.
    pub bytes: u64,
    /// Rows.
    pub rows: u64,
}

/// An allowance that is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsedUp {
    /// The unit of the allowance: `bytes` or `rows`.
    pub what: &'static str,
    /// Time until more is allowed.
    pub wait: Duration,
}

/// The allowances of all users, of whatever is limited.
#[derive(Debug)]
pub struct Allowances {
    bytes: Option<Amounts>,
    rows: Option<Amounts>,
}

impl Allowances {
    /// Returns allowances of these sizes; `None` stands for no limit.
    pub fn new(bytes_an_hour: Option<u64>, rows_an_hour: Option<u64>) -> Allowances {
        Allowances {
            bytes: bytes_an_hour.map(Amounts::new),
            rows: rows_an_hour.map(Amounts::new),
        }
    }

    /// Returns whether rows are limited.
    pub fn limits_rows(&self) -> bool {
        self.rows.is_some()
    }

    /// Checks that something is left of a user's allowances.
    ///
    /// # Errors
    /// Returns the allowance that is used up; of two, the one that stays so for longer.
    pub fn check(&self, uid: u32, now: Instant) -> Result<(), UsedUp> {
        self.of_both(|amounts, _| amounts.check(uid, now), Sent::default())
    }

    /// Takes a page out of a user's allowances, also if it does not fit: it is sent.
    pub fn take(&self, uid: u32, sent: Sent, now: Instant) {
        let take = |amounts: &Amounts, amount| {
            amounts.take(uid, amount, now);
            Ok(())
        };
        // It cannot fail.
        let _ = self.of_both(take, sent);
    }

    /// Takes a piece of a whole answer out of a user's allowances.
    ///
    /// # Errors
    /// Returns the allowance that it does not fit into, and uses up: it must not be sent.
    pub fn take_piece(&self, uid: u32, sent: Sent, now: Instant) -> Result<(), UsedUp> {
        self.of_both(|amounts, amount| amounts.take_piece(uid, amount, now), sent)
    }

    fn of_both(
        &self,
        ask: impl Fn(&Amounts, u64) -> Result<(), Duration>,
        sent: Sent,
    ) -> Result<(), UsedUp> {
        let both = [
            ("bytes", &self.bytes, sent.bytes),
            ("rows", &self.rows, sent.rows),
        ];
        let used_up = both.into_iter().filter_map(|(what, amounts, amount)| {
            let wait = ask(amounts.as_ref()?, amount).err()?;
            Some(UsedUp { what, wait })
        });
        match used_up.max_by_key(|used_up| used_up.wait) {
            None => Ok(()),
            Some(used_up) => Err(used_up),
        }
    }
}

/// The allowances of all users, of one kind.
#[derive(Debug)]
struct Amounts {
    /// Each user's allowance.
    whole: f64,
    spent: Mutex<HashMap<u32, Spent>>,
}

#[derive(Clone, Copy, Debug)]
struct Spent {
    amount: f64,
    at: Instant,
}

impl Amounts {
    fn new(an_hour: u64) -> Amounts {
        Amounts {
            whole: (an_hour as f64).max(1.0),
            spent: Mutex::new(HashMap::new()),
        }
    }

    /// Checks that something is left; returns the time to wait otherwise.
    fn check(&self, uid: u32, now: Instant) -> Result<(), Duration> {
        let spent = lock(&self.spent).get(&uid).copied();
        let spent = spent.map_or(0.0, |spent| self.at(&spent, now));
        match spent < self.whole {
            true => Ok(()),
            false => Err(self.wait(spent)),
        }
    }

    /// Takes an amount that is sent in any case.
    fn take(&self, uid: u32, amount: u64, now: Instant) {
        self.spend(uid, now, |before| before + amount as f64);
    }

    /// Takes an amount. If it does not fit, returns the time to wait. It counts nevertheless, since it was
    /// made, but no more than a whole allowance: nobody waits for longer than an hour because of it.
    fn take_piece(&self, uid: u32, amount: u64, now: Instant) -> Result<(), Duration> {
        let mut fits = true;
        let spent = self.spend(uid, now, |before| {
            let after = before + amount as f64;
            fits = after <= self.whole;
            match fits {
                true => after,
                false => after.min(before.max(self.whole) + self.whole),
            }
        });
        match fits {
            true => Ok(()),
            false => Err(self.wait(spent)),
        }
    }

    /// Changes what a user has spent, and returns it.
    fn spend(&self, uid: u32, now: Instant, change: impl FnOnce(f64) -> f64) -> f64 {
        let mut all = lock(&self.spent);
        // Whole allowances need not be remembered.
        if all.len() > 1000 && !all.contains_key(&uid) {
            all.retain(|_, spent| self.at(spent, now) > 0.0);
        }
        let before = all.get(&uid).map_or(0.0, |spent| self.at(spent, now));
        let amount = change(before);
        all.insert(uid, Spent { amount, at: now });
        amount
    }

    /// Returns what is spent at a time.
    fn at(&self, spent: &Spent, now: Instant) -> f64 {
        let grown = now.saturating_duration_since(spent.at).as_secs_f64() / HOUR.as_secs_f64();
        (spent.amount - grown * self.whole).max(0.0)
    }

    /// Returns the time until something is left of an allowance of which this much is spent.
    fn wait(&self, spent: f64) -> Duration {
        let over = (spent - self.whole) / self.whole;
        let wait = Duration::try_from_secs_f64(HOUR.as_secs_f64() * over.max(0.0));
        wait.unwrap_or(Duration::MAX).max(Duration::from_secs(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn an_allowance_is_used_up_and_grows_back() {
        let (amounts, begin) = (Amounts::new(1000), Instant::now());
        amounts.take(1, 400, begin);
        amounts.check(1, begin).expect("something is left");
        amounts.take(1, 1100, begin);
        let wait = amounts.check(1, begin).expect_err("it is used up");
        assert_eq!(wait, HOUR / 2, "1500 of 1000 are spent");
        amounts.check(2, begin).expect("another user's is whole");
        amounts
            .check(1, begin + wait + SECOND)
            .expect("it has grown");
        amounts.take(3, 4000, begin);
        let wait = amounts.check(3, begin).expect_err("it is used up");
        assert_eq!(wait, 3 * HOUR, "pages that were sent count");
        let later = begin + 3 * HOUR;
        amounts.take(1, 1000, later);
        let wait = amounts.check(1, later).expect_err("it is used up");
        assert_eq!(wait, SECOND);
    }

    #[test]
    fn a_piece_that_does_not_fit_uses_up_what_is_left() {
        let (amounts, begin) = (Amounts::new(1000), Instant::now());
        amounts.take_piece(1, 999, begin).expect("it fits");
        amounts.take_piece(1, 1, begin).expect("it fits exactly");
        amounts
            .take_piece(1, 1, begin)
            .expect_err("nothing is left");
        amounts.take_piece(2, 400, begin).expect("it fits");
        let wait = amounts.take_piece(2, 1100, begin);
        assert_eq!(wait, Err(HOUR / 2), "1500 of 1000 are spent");
        let wait = amounts.take_piece(3, u64::MAX, begin);
        assert_eq!(wait, Err(HOUR), "it is not sent");
        amounts.check(3, begin + HOUR).expect_err("it is used up");
        let later = begin + HOUR + SECOND;
        amounts.check(3, later).expect("it has grown");
    }

    #[test]
    fn bytes_and_rows_are_limited_each_for_itself() {
        let begin = Instant::now();
        let sent = Sent {
            bytes: 2000,
            rows: 30,
        };
        let none = Allowances::new(None, None);
        none.take_piece(1, sent, begin).expect("nothing is limited");
        let bytes = Allowances::new(Some(1000), None);
        bytes.take(1, sent, begin);
        let wait = HOUR;
        let what = "bytes";
        assert_eq!(bytes.check(1, begin), Err(UsedUp { what, wait }));
        let both = Allowances::new(Some(1000), Some(10));
        both.take(1, sent, begin);
        let (what, wait) = ("rows", 2 * HOUR);
        assert_eq!(both.check(1, begin), Err(UsedUp { what, wait }));
        let piece = Sent { bytes: 1, rows: 11 };
        let refused = both.take_piece(2, piece, begin);
        assert_eq!(refused.map_err(|used_up| used_up.what), Err("rows"));
    }

    #[test]
    fn memory_is_bounded_by_the_users_of_the_last_hour() {
        let (amounts, begin) = (Amounts::new(1000), Instant::now());
        for uid in 0..5000 {
            amounts.take(uid, 10, begin + uid * Duration::from_secs(10));
        }
        assert!(lock(&amounts.spent).len() <= 1001);
    }
}
