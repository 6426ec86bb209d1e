//! Profiles with a timeline: "a new set of buckets to capture latency at predefined intervals of
//! time", so that "the profile is a 4-dimensional view" of operation, latency, number of operations
//! with this latency, and elapsed time interval (§3.1.5).
//!
//! As in the paper's recorder (appendix A), only buckets are sliced; the other counts belong to the
//! whole. A call belongs to the slice in which it left.
//!
//! Invariant: for each operation the slices' buckets add up to the whole's.

use std::collections::BTreeMap;

use crate::histogram::trim;
use crate::{Error, Fault, Histogram, Profile, SLICES_MAX};

/// The buckets of one interval: for each operation that left in it, from bucket 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    operations: BTreeMap<String, Vec<u64>>,
}

impl Slice {
    /// Returns a slice without operations.
    pub fn new() -> Slice {
        Slice::default()
    }

    /// Sets an operation's buckets, the first of which is bucket 0.
    pub fn set(&mut self, operation: &str, mut buckets: Vec<u64>) {
        trim(&mut buckets);
        match buckets.is_empty() {
            true => self.operations.remove(operation),
            false => self.operations.insert(operation.to_owned(), buckets),
        };
    }

    /// Returns an operation's buckets, from bucket 0 to the last one that holds something.
    pub fn buckets(&self, operation: &str) -> &[u64] {
        self.operations.get(operation).map_or(&[], Vec::as_slice)
    }

    /// Returns the operations that left in the interval, sorted by name, with their buckets.
    pub fn operations(&self) -> impl ExactSizeIterator<Item = (&str, &[u64])> {
        self.operations
            .iter()
            .map(|(name, buckets)| (name.as_str(), buckets.as_slice()))
    }
}

/// A profile with the buckets of successive intervals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sliced {
    whole: Profile,
    interval_ns: Option<u64>,
    slices: Vec<Slice>,
}

impl Sliced {
    /// Returns a profile with these slices, which must add up to it. `interval_ns` is the length of
    /// a slice, `None` if it is unknown.
    pub fn new(
        whole: Profile,
        interval_ns: Option<u64>,
        slices: Vec<Slice>,
    ) -> Result<Sliced, Error> {
        if slices.len() > SLICES_MAX {
            return Err(Error::TooMany {
                what: "slices",
                amount: slices.len(),
                limit: SLICES_MAX,
            });
        }
        check_sums(&whole, &slices)?;
        Ok(Sliced {
            whole,
            interval_ns,
            slices,
        })
    }

    /// Returns the profile, summed over time.
    pub fn whole(&self) -> &Profile {
        &self.whole
    }

    /// Returns the profile, summed over time, and forgets the slices.
    pub fn into_whole(self) -> Profile {
        self.whole
    }

    /// Returns the length of a slice; `None` if it is unknown.
    pub fn interval_ns(&self) -> Option<u64> {
        self.interval_ns
    }

    /// Returns the slices, the earliest first.
    pub fn slices(&self) -> &[Slice] {
        &self.slices
    }
}

impl From<Profile> for Sliced {
    /// Returns the profile as a single slice of unknown length.
    fn from(whole: Profile) -> Sliced {
        let mut slice = Slice::new();
        for (name, one) in whole.operations() {
            slice.set(name, one.buckets().to_vec());
        }
        Sliced {
            whole,
            interval_ns: None,
            slices: vec![slice],
        }
    }
}

fn check_sums(whole: &Profile, slices: &[Slice]) -> Result<(), Error> {
    let mut sums: BTreeMap<&str, Vec<u128>> = BTreeMap::new();
    for (name, buckets) in slices.iter().flat_map(Slice::operations) {
        let sum = sums.entry(name).or_default();
        if sum.len() < buckets.len() {
            sum.resize(buckets.len(), 0);
        }
        for (sum, count) in sum.iter_mut().zip(buckets) {
            *sum += u128::from(*count);
        }
    }
    if let Some(name) = sums.keys().find(|name| whole.get(name).is_none()) {
        return Err(Fault::Unknown.of(name));
    }
    for (name, one) in whole.operations() {
        let sum = sums.get(name).map_or(&[][..], Vec::as_slice);
        check_sum(one, sum).map_err(|fault| fault.of(name))?;
    }
    Ok(())
}

fn check_sum(whole: &Histogram, sum: &[u128]) -> Result<(), Fault> {
    for bucket in 0..whole.buckets().len().max(sum.len()) {
        let whole = whole.buckets().get(bucket).copied().unwrap_or(0);
        let slices = sum.get(bucket).copied().unwrap_or(0);
        if slices != u128::from(whole) {
            return Err(Fault::Slices {
                bucket,
                slices,
                whole,
            });
        }
    }
    Ok(())
}

/// Makes a timeline from readings of a running recorder, taken at a fixed interval. The hot path of
/// the recorder knows nothing of slices.
#[derive(Debug)]
pub struct Slicer {
    interval_ns: u64,
    first: Profile,
    last: Profile,
    slices: Vec<Slice>,
}

impl Slicer {
    /// Returns a slicer for slices of `interval_ns`. `first` is the reading at the beginning; the
    /// calls that left before it belong to no slice, and not to the whole.
    pub fn new(first: Profile, interval_ns: u64) -> Slicer {
        Slicer {
            interval_ns,
            last: first.clone(),
            first,
            slices: Vec::new(),
        }
    }

    /// Ends slices of which there is no reading: what the next one has belongs to a later slice.
    pub fn skip(&mut self, slices: usize) {
        let all = self.slices.len() + slices;
        self.slices.resize_with(all, Slice::new);
    }

    /// Ends a slice with a reading.
    pub fn push(&mut self, reading: Profile) -> Result<(), Error> {
        let difference = reading.since(&self.last)?;
        let mut slice = Slice::new();
        for (name, one) in difference.operations() {
            slice.set(name, one.buckets().to_vec());
        }
        self.slices.push(slice);
        self.last = reading;
        Ok(())
    }

    /// Returns the profile from the first reading to the last, with a slice for each reading pushed.
    pub fn finish(self) -> Result<Sliced, Error> {
        let whole = self.last.since(&self.first)?;
        Sliced::new(whole, Some(self.interval_ns), self.slices)
    }
}

#[cfg(test)]
mod tests;
