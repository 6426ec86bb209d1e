//! Filters queries by the directories that a segment lists.
//!
//! The rows of a small shard may be spread over the whole tree, so a segment's first and last
//! directory narrow a query very little. Therefore a segment with few directories has a Bloom
//! filter of their paths and of the paths of all directories above them. The filter has false
//! positives but no false negatives.
//!
//! Each path sets [`PROBES`] bits. With `a` and `b` as the low and high half of the path's xxh3-64,
//! and the lowest bit of `b` set, these are the bits (`a` + i·`b` modulo 2^32) modulo the number of
//! bits. Bits are numbered from the lowest of each byte.

use crate::text::{from_hex, to_hex};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use trawl_model::path;
use xxhash_rust::xxh3::xxh3_64;

/// Number of bits of a filter for each path.
const BITS: usize = 8;
/// Number of bits that each path sets. With [`BITS`], one in 45 other paths is a false positive.
const PROBES: u32 = 5;
/// Maximum number of paths of a filter. A segment with more has no filter, since reading it is fast
/// enough in comparison.
const PATHS_MOST: usize = 2048;

/// Hash of a directory to look up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirKey(u64);

impl DirKey {
    /// Returns the key of a directory given by its absolute path.
    pub fn of(dir: &[u8]) -> DirKey {
        DirKey(xxh3_64(dir))
    }

    fn bits(self, count: u64) -> impl Iterator<Item = (usize, u8)> {
        let (a, b) = (self.0 as u32, (self.0 >> 32) as u32 | 1);
        (0..PROBES).map(move |i| {
            let bit = u64::from(a.wrapping_add(i.wrapping_mul(b))) % count;
            ((bit / 8) as usize, 1 << (bit % 8))
        })
    }
}

/// A filter in its stored form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirFilter(pub Vec<u8>);

/// False if the filter certainly contains neither the directory nor any directory below it.
pub fn may_hold(filter: &[u8], dir: DirKey) -> bool {
    let has = |(byte, bit): (usize, u8)| filter.get(byte).is_some_and(|held| held & bit != 0);
    filter.is_empty() || dir.bits(filter.len() as u64 * 8).all(has)
}

/// A filter under construction; directories come in path order.
#[derive(Debug, Default)]
pub struct DirFilterBuilder {
    keys: Vec<DirKey>,
    last: Option<Vec<u8>>,
}

impl DirFilterBuilder {
    /// Adds a directory and all directories above it.
    pub fn add(&mut self, dir: &[u8]) {
        if self.keys.len() > PATHS_MOST {
            return;
        }
        let slashes = dir.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        for end in slashes.map(|(at, _)| at).chain([dir.len()]) {
            let above = dir.get(..end).unwrap_or_default();
            let is_known = |last: &Vec<u8>| path::is_within(last, above);
            if !self.last.as_ref().is_some_and(is_known) {
                self.keys.push(DirKey::of(above));
            }
        }
        self.last = Some(dir.to_vec());
    }

    /// Returns the filter; `None` if it has no directories or too many.
    pub fn finish(self) -> Option<DirFilter> {
        if self.keys.is_empty() || self.keys.len() > PATHS_MOST {
            return None;
        }
        let mut filter = vec![0u8; (self.keys.len() * BITS).div_ceil(8)];
        let count = filter.len() as u64 * 8;
        for key in self.keys {
            for (byte, bit) in key.bits(count) {
                if let Some(held) = filter.get_mut(byte) {
                    *held |= bit;
                }
            }
        }
        Some(DirFilter(filter))
    }
}

impl Serialize for DirFilter {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&to_hex(&self.0))
    }
}

impl<'de> Deserialize<'de> for DirFilter {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<DirFilter, D::Error> {
        let text = String::deserialize(from)?;
        let bytes = from_hex(&text).ok_or_else(|| de::Error::custom("a filter is not hex"))?;
        Ok(DirFilter(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filter(dirs: &[Vec<u8>]) -> Option<DirFilter> {
        let mut builder = DirFilterBuilder::default();
        dirs.iter().for_each(|dir| builder.add(dir));
        builder.finish()
    }

    fn dirs() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let dir = prop::collection::vec("[abc-]{1,3}", 0..5);
        let dir = dir.prop_map(|names| names.iter().map(|name| format!("/{name}")).collect());
        let dirs = prop::collection::vec(dir, 1..60);
        dirs.prop_map(|dirs: Vec<String>| {
            let mut dirs: Vec<_> = dirs.into_iter().map(String::into_bytes).collect();
            dirs.sort_by(|a, b| path::cmp(a, b));
            dirs
        })
    }

    proptest! {
        #[test]
        fn what_is_there_and_what_is_above_it_may_be_held(dirs in dirs()) {
            let filter = filter(&dirs).unwrap();
            for dir in &dirs {
                for end in 0..=dir.len() {
                    if path::is_within(dir, &dir[..end]) {
                        prop_assert!(may_hold(&filter.0, DirKey::of(&dir[..end])));
                    }
                }
            }
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, key: u64) {
            let is_empty = bytes.is_empty();
            prop_assert!(may_hold(&bytes, DirKey(key)) || !is_empty);
        }
    }

    #[test]
    fn most_of_what_is_not_there_is_known_not_to_be() {
        let dirs: Vec<Vec<u8>> = (0..1000)
            .map(|n| format!("/a/{n:04}").into_bytes())
            .collect();
        let filter = filter(&dirs).unwrap();
        let asked = (0..10_000).map(|n| DirKey::of(format!("/b/{n}").as_bytes()));
        let wrong = asked.filter(|key| may_hold(&filter.0, *key)).count();
        assert!((1..400).contains(&wrong), "{wrong}");
    }

    #[test]
    fn many_directories_or_none_have_no_filter() {
        assert_eq!(filter(&[]), None);
        let dirs: Vec<Vec<u8>> = (0..3000).map(|n| format!("/{n:04}").into_bytes()).collect();
        assert_eq!(filter(&dirs), None);
    }
}
