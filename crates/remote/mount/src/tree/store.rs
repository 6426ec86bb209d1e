//! Known listings in bounded memory: the oldest are dropped first.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use trawl_model::relative_path::is_within;

use super::listing::Listing;

/// Replaced listings that may still be read: this many are always kept, and more as long as they
/// take at most this fraction of the memory.
const RECENT_MIN: usize = 64;
const RECENT_PART: usize = 8;
/// Maximum number of replaced listings.
const RECENT_MAX: usize = 1 << 14;

/// Listings by path.
#[derive(Debug)]
pub(super) struct Store {
    listings: HashMap<Vec<u8>, Arc<Listing>>,
    /// Listings in order of arrival, including replaced ones.
    order: VecDeque<(Vec<u8>, u64)>,
    recent: VecDeque<Arc<Listing>>,
    recent_bytes: usize,
    bytes: usize,
    bytes_max: usize,
}

impl Store {
    pub(super) fn new(bytes_max: usize) -> Store {
        Store {
            listings: HashMap::new(),
            order: VecDeque::new(),
            recent: VecDeque::new(),
            recent_bytes: 0,
            bytes: 0,
            bytes_max,
        }
    }

    pub(super) fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Returns the listing of a directory, if it is known and no older than `max_age`.
    pub(super) fn get(&self, dir: &[u8], max_age: Duration) -> Option<Arc<Listing>> {
        let listing = self.listings.get(dir)?;
        is_fresh(listing.at, max_age).then(|| Arc::clone(listing))
    }

    /// Returns the known listing of a directory, however old.
    pub(super) fn newest(&self, dir: &[u8]) -> Option<&Arc<Listing>> {
        self.listings.get(dir)
    }

    /// Forgets a directory and everything below it. Readers of these listings can continue.
    pub(super) fn remove(&mut self, top: &[u8]) {
        let gone = self.listings.extract_if(|dir, _| is_within(dir, top));
        for (dir, old) in gone.collect::<Vec<_>>() {
            self.bytes = self.bytes.saturating_sub(cost(&dir, &old));
            self.retire(old);
        }
    }

    /// Returns the listing for which `is_it` holds, current or replaced, if it is still kept.
    pub(super) fn again(
        &self,
        dir: &[u8],
        is_it: impl Fn(&Listing) -> bool,
    ) -> Option<Arc<Listing>> {
        let now = self.listings.get(dir);
        let mut known = now.into_iter().chain(&self.recent);
        known.find(|listing| is_it(listing)).cloned()
    }

    pub(super) fn insert(&mut self, dir: Vec<u8>, listing: Arc<Listing>) {
        if let Some(before) = self.listings.get(&dir) {
            listing.follow(before);
        }
        self.bytes += cost(&dir, &listing);
        self.order.push_back((dir.clone(), listing.number));
        if let Some(old) = self.listings.insert(dir.clone(), listing) {
            self.bytes = self.bytes.saturating_sub(cost(&dir, &old));
            self.retire(old);
        }
        while self.bytes > self.bytes_max && self.drop_oldest() {}
        // Replaced listings are removed from the order from time to time.
        while self.order.len() > 2 * self.listings.len() + RECENT_MIN && self.drop_replaced() {}
    }

    fn retire(&mut self, listing: Arc<Listing>) {
        self.recent_bytes += listing.bytes();
        self.recent.push_back(listing);
        while self.recent.len() > RECENT_MIN
            && (self.recent.len() > RECENT_MAX || self.recent_bytes > self.bytes_max / RECENT_PART)
            && let Some(oldest) = self.recent.pop_front()
        {
            self.recent_bytes = self.recent_bytes.saturating_sub(oldest.bytes());
        }
    }

    fn drop_replaced(&mut self) -> bool {
        let before = self.order.len();
        let listings = &self.listings;
        let is_there = |(dir, number): &(Vec<u8>, u64)| {
            listings
                .get(dir)
                .is_some_and(|listing| listing.number == *number)
        };
        self.order.retain(is_there);
        self.order.len() < before
    }

    /// Drops the oldest listing; false if only the newest is left, which is about to be used.
    fn drop_oldest(&mut self) -> bool {
        if self.listings.len() < 2 {
            return false;
        }
        let Some((dir, number)) = self.order.pop_front() else {
            return false;
        };
        let is_now = self.listings.get(&dir).is_some_and(|l| l.number == number);
        if is_now && let Some(old) = self.listings.remove(&dir) {
            self.bytes = self.bytes.saturating_sub(cost(&dir, &old));
            self.retire(old);
        }
        true
    }
}

/// Counts the path twice, because `order` contains it, too.
fn cost(dir: &[u8], listing: &Listing) -> usize {
    listing.bytes() + 2 * dir.len() + 128
}

/// Returns whether something that arrived at `at` is no older than `max_age`.
pub(super) fn is_fresh(at: Instant, max_age: Duration) -> bool {
    at.elapsed() < max_age
}

#[cfg(test)]
mod tests {
    use super::super::listing::Entry;
    use super::*;

    #[test]
    fn memory_is_bounded_and_the_newest_stays() {
        let long = Duration::from_secs(3600);
        let mut store = Store::new(10_000);
        let empty = || Listing::new([Instant::now(); 2], Ok(Vec::new()));
        for number in 0..1000 {
            store.insert(format!("d{}", number % 300).into_bytes(), empty());
            assert!(store.bytes <= 10_000 && store.order.len() < 1000);
        }
        assert!(store.get(b"d99", long).is_some());
        assert!(store.get(b"d100", long).is_none());
        assert!(store.get(b"d99", Duration::ZERO).is_none());
        // A replaced listing can be read to its end.
        let old = empty();
        store.insert(b"x".to_vec(), Arc::clone(&old));
        store.insert(b"x".to_vec(), empty());
        assert!(store.again(b"x", |it| it.names() == old.number).is_some());
        assert!(store.again(b"x", |it| it.names() == u64::MAX).is_none());
        // A forgotten one, too.
        let old = empty();
        store.insert(b"x/y".to_vec(), Arc::clone(&old));
        let (bytes, many) = (store.bytes, store.listings.len());
        store.remove(b"x");
        assert!(store.newest(b"x").is_none() && store.newest(b"x/y").is_none());
        assert!(store.bytes < bytes && store.listings.len() == many - 2);
        assert!(store.again(b"x/y", |it| it.names() == old.number).is_some());
    }

    #[test]
    fn readers_go_on_however_much_comes_meanwhile() {
        let of = |names: &[&str]| {
            let entry = |name: &&str| Entry {
                name: name.as_bytes().into(),
                found: Err(trawl_sys::Errno::ACCES),
            };
            Listing::new([Instant::now(); 2], Ok(names.iter().map(entry).collect()))
        };
        let mut store = Store::new(1 << 20);
        let first = of(&["a", "b"]);
        store.insert(b"x".to_vec(), Arc::clone(&first));
        let fill = |store: &mut Store| {
            for number in 0..3000 {
                store.insert(format!("d{}", number % 9).into_bytes(), of(&["c"]));
            }
        };
        // Another answer with the same names.
        store.insert(b"x".to_vec(), of(&["a", "b"]));
        fill(&mut store);
        let again = store.again(b"x", |it| it.names() == first.number);
        assert!(again.is_some_and(|now| now.number != first.number));
        // With other names, the old listing is continued.
        store.insert(b"x".to_vec(), of(&["a", "bb"]));
        let again = store.again(b"x", |it| it.names() == first.number);
        assert_eq!(
            again.map(|old| old.entries[1].name.to_vec()),
            Some(b"b".to_vec())
        );
        fill(&mut store);
        let limit = store.bytes_max / RECENT_PART;
        assert!(store.recent_bytes <= limit && store.recent.len() <= RECENT_MAX);
    }
}
