//! Limits on guessing passwords and secrets.
//!
//! Wrong attempts are counted for each key: a network address, or a user's name. After
//! [`FREE_FAILURES`] of them, each further attempt of the key must wait, twice as long every time.
//! A success, or a while without attempts, clears the count.
//!
//! Invariants: memory is bounded, whatever keys arrive (the key whose last failure is the oldest
//! goes first, and user names never push out addresses); a key has a fixed size; the clock is passed
//! in; nothing is read or written.
//!
//! A server asks [`Attempts::begin`] before it checks a password. It counts the attempt as a failure
//! in advance, so that parallel attempts cannot all pass before the first of them has failed.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ring::digest::{SHA256, digest};

/// Number of failures of a key after which attempts must wait.
pub const FREE_FAILURES: u32 = 5;
/// Longest wait between two attempts.
pub const MAX_WAIT: Duration = Duration::from_secs(5 * 60);
/// Time after the last failure of a key at which it is forgotten.
pub const FORGOTTEN_AFTER: Duration = Duration::from_secs(15 * 60);
/// Maximum number of addresses, and of users, that are remembered.
pub const MAX_KEYS: usize = 10_000;

/// Whose attempts are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(Inner);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Inner {
    V4([u8; 4]),
    /// The first 64 bits of an address: one customer has at least that many addresses.
    V6([u8; 8]),
    /// Hash of a user's name, which may be as long as a client likes.
    User([u8; 32]),
}

impl Key {
    /// Returns the key of a network address.
    #[must_use]
    pub fn address(address: IpAddr) -> Key {
        // An IPv4 client of a socket for both families.
        match address.to_canonical() {
            IpAddr::V4(address) => Key(Inner::V4(address.octets())),
            IpAddr::V6(address) => {
                let [a, b, c, d, e, f, g, h, ..] = address.octets();
                Key(Inner::V6([a, b, c, d, e, f, g, h]))
            }
        }
    }

    /// Returns the key of a user's name, whether the user exists or not.
    #[must_use]
    pub fn user(name: &str) -> Key {
        let hash = digest(&SHA256, name.as_bytes());
        let mut key = [0; 32];
        key.copy_from_slice(hash.as_ref());
        Key(Inner::User(key))
    }

    /// Returns whether this is the key of a user's name.
    #[must_use]
    pub const fn is_user(&self) -> bool {
        matches!(self.0, Inner::User(_))
    }
}

/// The failures of one key.
#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    last: Instant,
    /// Position in the order of last failures.
    turn: u64,
}

impl Failures {
    fn wait(&self, now: Instant) -> Option<Duration> {
        let doublings = self.count.checked_sub(FREE_FAILURES)?;
        let seconds = 1_u64.checked_shl(doublings).unwrap_or(u64::MAX);
        let wait = Duration::from_secs(seconds).min(MAX_WAIT);
        let passed = now.saturating_duration_since(self.last);
        wait.checked_sub(passed).filter(|wait| !wait.is_zero())
    }

    fn is_forgotten(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.last) >= FORGOTTEN_AFTER
    }
}

/// Failures by key, and keys in the order of their last failures.
#[derive(Debug, Default)]
struct Table {
    keys: HashMap<Key, Failures>,
    order: BTreeMap<u64, Key>,
    turns: u64,
}

impl Table {
    fn wait(&self, key: &Key, now: Instant) -> Option<Duration> {
        let failures = self.keys.get(key)?;
        match failures.is_forgotten(now) {
            true => None,
            false => failures.wait(now),
        }
    }

    fn failed(&mut self, key: Key, now: Instant, max_keys: usize) {
        self.forget(now);
        let count = match self.succeeded(&key) {
            Some(before) => before.count.saturating_add(1),
            None => 1,
        };
        while self.keys.len() >= max_keys.max(1) {
            let Some((_, oldest)) = self.order.pop_first() else {
                break;
            };
            self.keys.remove(&oldest);
        }
        self.turns += 1;
        let turn = self.turns;
        let last = now;
        self.order.insert(turn, key);
        self.keys.insert(key, Failures { count, last, turn });
    }

    fn take_back(&mut self, key: &Key) {
        if let Some(failures) = self.keys.get_mut(key) {
            failures.count -= 1;
            if failures.count == 0 {
                self.succeeded(key);
            }
        }
    }

    fn succeeded(&mut self, key: &Key) -> Option<Failures> {
        let failures = self.keys.remove(key)?;
        self.order.remove(&failures.turn);
        Some(failures)
    }

    /// Removes keys that have been quiet for long.
    fn forget(&mut self, now: Instant) {
        while let Some((turn, key)) = self
            .order
            .first_key_value()
            .map(|(turn, key)| (*turn, *key))
        {
            let failures = self.keys.get(&key);
            if failures.is_some_and(|failures| !failures.is_forgotten(now)) {
                return;
            }
            self.order.remove(&turn);
            self.keys.remove(&key);
        }
    }
}

/// The failures of all keys.
#[derive(Debug)]
pub struct Attempts {
    addresses: Mutex<Table>,
    users: Mutex<Table>,
    max_keys: usize,
}

impl Default for Attempts {
    fn default() -> Attempts {
        Attempts::remembering(MAX_KEYS)
    }
}

impl Attempts {
    /// Creates a counter that remembers at most this many addresses and this many users.
    #[must_use]
    pub fn remembering(max_keys: usize) -> Attempts {
        Attempts {
            addresses: Mutex::default(),
            users: Mutex::default(),
            max_keys,
        }
    }

    /// Returns how long the next attempt of this key must wait; `None` if it need not.
    #[must_use]
    pub fn wait(&self, key: &Key, now: Instant) -> Option<Duration> {
        self.table(key).wait(key, now)
    }

    /// Counts an attempt as failed, unless it must wait: then returns how long. After an attempt that
    /// began and was right, call [`Attempts::succeeded`]; after a wrong one, nothing.
    #[must_use]
    pub fn begin(&self, key: &Key, now: Instant) -> Option<Duration> {
        let mut table = self.table(key);
        let wait = table.wait(key, now);
        if wait.is_none() {
            table.failed(*key, now, self.max_keys);
        }
        wait
    }

    /// Counts a failure.
    pub fn failed(&self, key: &Key, now: Instant) {
        self.table(key).failed(*key, now, self.max_keys);
    }

    /// Forgets the failures of this key.
    pub fn succeeded(&self, key: &Key) {
        self.table(key).succeeded(key);
    }

    /// Takes one attempt back, which was right, and leaves the failures of others: many users may have
    /// the same address.
    pub fn take_back(&self, key: &Key) {
        self.table(key).take_back(key);
    }

    fn table(&self, key: &Key) -> MutexGuard<'_, Table> {
        let table = match key.is_user() {
            true => &self.users,
            false => &self.addresses,
        };
        table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn address(text: &str) -> Key {
        Key::address(text.parse().unwrap())
    }

    #[test]
    fn waits_double_up_to_five_minutes() {
        let attempts = Attempts::default();
        let key = address("192.0.2.1");
        let mut now = Instant::now();
        for _ in 0..FREE_FAILURES {
            assert_eq!(attempts.wait(&key, now), None);
            attempts.failed(&key, now);
        }
        for seconds in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
            let wait = Duration::from_secs(seconds);
            assert_eq!(attempts.wait(&key, now), Some(wait));
            assert_eq!(
                attempts.wait(&key, now + wait - SECOND / 2),
                Some(SECOND / 2)
            );
            now += wait;
            assert_eq!(attempts.wait(&key, now), None);
            attempts.failed(&key, now);
        }
        for _ in 0..100 {
            attempts.failed(&key, now);
        }
        assert_eq!(attempts.wait(&key, now), Some(MAX_WAIT));
        // Clocks of threads may differ a little.
        assert_eq!(attempts.wait(&key, now - SECOND), Some(MAX_WAIT));
    }

    #[test]
    fn quiet_and_success_clear_the_count() {
        let attempts = Attempts::default();
        let (key, other) = (Key::user("alice"), Key::user("bob"));
        let start = Instant::now();
        for _ in 0..20 {
            attempts.failed(&key, start);
            attempts.failed(&other, start);
        }
        let later = start + FORGOTTEN_AFTER;
        let before = later - SECOND;
        assert_eq!(attempts.wait(&key, before), None);
        attempts.failed(&key, before);
        assert_eq!(attempts.wait(&key, before), Some(MAX_WAIT));
        assert_eq!(attempts.wait(&other, later), None);
        attempts.failed(&other, later);
        assert_eq!(attempts.wait(&other, later), None, "counted from one again");
        attempts.succeeded(&key);
        assert_eq!(attempts.wait(&key, before), None);
    }

    #[test]
    fn parallel_attempts_are_counted_when_they_begin() {
        let attempts = Attempts::default();
        let key = address("192.0.2.1");
        let now = Instant::now();
        let begun = (0..100).filter(|_| attempts.begin(&key, now).is_none());
        assert_eq!(begun.count(), FREE_FAILURES as usize);
        assert_eq!(attempts.begin(&key, now), Some(SECOND));
        assert_eq!(attempts.begin(&key, now + SECOND), None);
        assert_eq!(attempts.begin(&key, now + SECOND), Some(2 * SECOND));
        attempts.succeeded(&key);
        assert_eq!(attempts.begin(&key, now + SECOND), None);
    }

    #[test]
    fn an_attempt_that_was_right_takes_back_only_itself() {
        let attempts = Attempts::default();
        let key = address("192.0.2.1");
        let now = Instant::now();
        for _ in 0..3 * FREE_FAILURES {
            assert_eq!(attempts.begin(&key, now), None);
            attempts.take_back(&key);
        }
        for _ in 0..FREE_FAILURES {
            assert_eq!(attempts.begin(&key, now), None);
        }
        assert_eq!(attempts.begin(&key, now), Some(SECOND));
        attempts.take_back(&key);
        assert_eq!(attempts.begin(&key, now), None, "one of five is taken back");
        attempts.take_back(&address("192.0.2.7"));
    }

    #[test]
    fn networks_are_counted_as_one() {
        let same = [
            ("2001:db8:1:2::1", "2001:db8:1:2:ffff::2"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
        ];
        for (a, b) in same {
            assert_eq!(address(a), address(b));
        }
        let others = [
            ("2001:db8:1:2::1", "2001:db8:1:3::1"),
            ("192.0.2.1", "192.0.2.2"),
        ];
        for (a, b) in others {
            assert_ne!(address(a), address(b));
        }
    }

    #[test]
    fn memory_is_bounded_and_the_oldest_goes() {
        let attempts = Attempts::remembering(100);
        let now = Instant::now();
        let (old, kept) = (Key::user("old"), Key::user("kept"));
        let network = address("192.0.2.1");
        for _ in 0..20 {
            for key in [&old, &kept, &network] {
                attempts.failed(key, now);
            }
        }
        for number in 0..1_000 {
            attempts.failed(&Key::user(&format!("{number}")), now);
            if number % 50 == 0 {
                attempts.failed(&kept, now);
            }
            let users = attempts.users.lock().unwrap();
            assert!(users.keys.len() <= 100);
            assert_eq!(users.keys.len(), users.order.len());
        }
        assert_eq!(attempts.wait(&old, now), None);
        assert_eq!(attempts.wait(&kept, now), Some(MAX_WAIT));
        assert_eq!(
            attempts.wait(&network, now),
            Some(MAX_WAIT),
            "users displace no address"
        );
        attempts.failed(&old, now + FORGOTTEN_AFTER);
        assert_eq!(attempts.users.lock().unwrap().keys.len(), 1);
    }
}
