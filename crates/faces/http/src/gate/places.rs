//! Places that are counted by whose they are: connections of an address, questions of a user.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use trawl_model::sync::lock;

/// The places.
#[derive(Clone, Debug)]
pub struct Places<K> {
    taken: Arc<Mutex<HashMap<K, usize>>>,
    most_of_one: usize,
}

/// A taken place, which is free again when it is dropped.
#[derive(Debug)]
pub struct Place<K: Eq + Hash> {
    taken: Arc<Mutex<HashMap<K, usize>>>,
    whose: K,
}

impl<K: Copy + Eq + Hash> Places<K> {
    /// Returns places of which each can have so many.
    pub fn new(most_of_one: usize) -> Places<K> {
        Places {
            taken: Arc::default(),
            most_of_one,
        }
    }

    /// Takes a place; `None` if all are taken.
    pub fn take(&self, whose: K) -> Option<Place<K>> {
        let mut taken = lock(&self.taken);
        let count = taken.entry(whose).or_insert(0);
        if *count >= self.most_of_one {
            return None;
        }
        *count += 1;
        Some(Place {
            taken: Arc::clone(&self.taken),
            whose,
        })
    }
}

impl<K: Eq + Hash> Drop for Place<K> {
    fn drop(&mut self) {
        let mut taken = lock(&self.taken);
        if let Some(count) = taken.get_mut(&self.whose) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.whose);
            }
        }
    }
}

/// Returns the address of IPv4, or the network (/64) that one customer has at least.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_its_places_and_no_more() {
        let places = Places::new(2);
        let take = |address: &str| places.take(network(address.parse().expect("an address")));
        let one = take("2001:db8::1").expect("a place");
        let _two = take("2001:db8::ffff:2").expect("a place");
        assert!(take("2001:db8::3").is_none());
        let _other = take("2001:db8:0:1::1").expect("another network");
        let _v4 = take("192.0.2.1").expect("a place");
        let _same = take("::ffff:192.0.2.1").expect("a place");
        assert!(take("192.0.2.1").is_none());
        drop(one);
        assert!(take("2001:db8::3").is_some());
    }
}
