//! Where the names of a set's members come from.

use trawl_call::{Attributes, request::Cancel};

use crate::member::Problem;

/// A name that satisfied the query when it was looked at.
#[derive(Clone, Debug)]
pub struct Found {
    /// Path or URL, as it would be opened.
    pub name: Vec<u8>,
    /// Attributes that came with the name.
    pub attributes: Option<Attributes>,
    /// Whether the consumer knows enough of the member's content not to read it: an opener of such
    /// members ([`Opener`](crate::Opener)) delivers nothing in its place.
    pub is_blank: bool,
}

impl Found {
    /// Returns a found name of which nothing else is known.
    pub fn named(name: impl Into<Vec<u8>>) -> Found {
        Found {
            name: name.into(),
            attributes: None,
            is_blank: false,
        }
    }

    /// Returns a found name whose content is not read.
    pub fn blank(name: impl Into<Vec<u8>>) -> Found {
        Found {
            is_blank: true,
            ..Found::named(name)
        }
    }
}

/// A stream of names. It is pulled by one thread at a time, which may block in it; after the end it
/// is not pulled again. The same name may come twice; the set removes repeats.
pub trait Names: Send {
    /// Returns the next name, a problem in the place of names, or `None` at the end. Returns
    /// promptly (with `None`) once `cancel` is set.
    fn next(&mut self, cancel: &Cancel) -> Option<Result<Found, Problem>>;
}

/// Names that are known beforehand.
impl<I: Iterator<Item = Vec<u8>> + Send> Names for I {
    fn next(&mut self, _: &Cancel) -> Option<Result<Found, Problem>> {
        Iterator::next(self).map(|name| Ok(Found::named(name)))
    }
}

/// One of several disjoint shares of names, for sets that several processes iterate: each name is
/// in exactly one share, in every process and whatever the order in which names are found. Problems
/// are in each share, because every process may have its own.
pub struct Share {
    names: Box<dyn Names>,
    index: u64,
    count: u64,
}

impl Share {
    /// Returns share number `index` of `count`; with a count of 0, everything.
    pub fn new(names: Box<dyn Names>, index: u64, count: u64) -> Share {
        Share {
            names,
            index,
            count,
        }
    }

    fn has(&self, name: &[u8]) -> bool {
        self.count == 0 || hash(name) % self.count == self.index
    }
}

impl Names for Share {
    fn next(&mut self, cancel: &Cancel) -> Option<Result<Found, Problem>> {
        loop {
            match self.names.next(cancel)? {
                Ok(found) if !self.has(&found.name) => {}
                next => return Some(next),
            }
        }
    }
}

/// Returns a hash of a name that is the same in every process and version: FNV-1a, whose upper
/// half is folded into the lower one, because the lowest bits alone are poor.
fn hash(name: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = name.iter().fold(0xcbf2_9ce4_8422_2325, step);
    hash ^ hash >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(index: u64, count: u64) -> Vec<Vec<u8>> {
        let names = (0..1000).map(|at: u32| format!("/srv/file{at}").into_bytes());
        let mut share = Share::new(Box::new(names), index, count);
        let next = || Names::next(&mut share, &Cancel::default());
        std::iter::from_fn(next)
            .map(|found| found.unwrap().name)
            .collect()
    }

    #[test]
    fn each_name_is_in_one_share() {
        for count in [1, 2, 3, 7] {
            let shares: Vec<_> = (0..count).map(|index| share(index, count)).collect();
            let mut all: Vec<_> = shares.concat();
            all.sort();
            let mut wanted = share(0, 0);
            wanted.sort();
            assert_eq!(all, wanted);
            let even = 1000 / count as usize;
            assert!(shares.iter().all(|share| share.len() > even / 2));
        }
    }

    #[test]
    fn the_hash_is_the_published_one() {
        // Test vectors of <http://www.isthe.com/chongo/src/fnv/test_fnv.c>, folded.
        let fold = |hash: u64| hash ^ hash >> 32;
        assert_eq!(hash(b""), fold(0xcbf2_9ce4_8422_2325));
        assert_eq!(hash(b"foobar"), fold(0x8594_4171_f739_67e8));
    }
}
