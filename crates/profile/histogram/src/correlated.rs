//! Values correlated with latency peaks: "we sort OS requests based on the peak they belong to
//! according to their measured latency. We then store logarithmic profiles of internal OS parameters
//! in separate profiles for separate peaks" (§3.1.6).
//!
//! Invariants: an operation's peaks are ordered and do not overlap; the histograms of all values have
//! one resolution.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::{Error, Fault, Histogram, OPERATIONS_MAX, Resolution, check_name};

/// A latency peak and the values of the calls in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peak {
    buckets: RangeInclusive<u16>,
    values: Histogram,
}

impl Peak {
    /// Returns a peak in these buckets of the latency histogram.
    pub fn new(buckets: RangeInclusive<u16>, values: Histogram) -> Peak {
        Peak { buckets, values }
    }

    /// Returns the peak's buckets in the latency histogram.
    pub fn buckets(&self) -> RangeInclusive<u16> {
        self.buckets.clone()
    }

    /// Returns the histogram of the values; its bucket is ⌊r·log₂(value)⌋, and its total the sum of
    /// the values.
    pub fn values(&self) -> &Histogram {
        &self.values
    }
}

/// For each operation the histograms of one value, such as "size_bytes", for each latency peak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correlated {
    value: String,
    resolution: Resolution,
    operations: BTreeMap<String, Vec<Peak>>,
}

impl Correlated {
    /// Returns a correlation with a value, at a resolution of its own. The name ends with the value's
    /// unit.
    pub fn new(value: &str, resolution: Resolution) -> Result<Correlated, Error> {
        check_name(value)?;
        Ok(Correlated {
            value: value.to_owned(),
            resolution,
            operations: BTreeMap::new(),
        })
    }

    /// Returns the value's name.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Returns the resolution of the values' histograms.
    pub fn resolution(&self) -> Resolution {
        self.resolution
    }

    /// Returns an operation's peaks, that of the lowest latency first.
    pub fn peaks(&self, operation: &str) -> &[Peak] {
        self.operations.get(operation).map_or(&[], Vec::as_slice)
    }

    /// Returns all operations, sorted by name, with their peaks.
    pub fn operations(&self) -> impl ExactSizeIterator<Item = (&str, &[Peak])> {
        self.operations
            .iter()
            .map(|(name, peaks)| (name.as_str(), peaks.as_slice()))
    }

    /// Adds an operation with its peaks, that of the lowest latency first.
    pub fn insert(&mut self, operation: &str, peaks: Vec<Peak>) -> Result<(), Error> {
        check_name(operation)?;
        check_peaks(peaks.iter().map(Peak::buckets)).map_err(|fault| fault.of(operation))?;
        for peak in &peaks {
            let theirs = peak.values.resolution();
            if theirs != self.resolution {
                let ours = self.resolution.get();
                let theirs = theirs.get();
                return Err(Fault::Resolutions { ours, theirs }.of(operation));
            }
        }
        if self.operations.contains_key(operation) {
            return Err(Error::Twice(operation.to_owned()));
        }
        if self.operations.len() >= OPERATIONS_MAX {
            return Err(Error::TooMany {
                what: "operations",
                amount: self.operations.len() + 1,
                limit: OPERATIONS_MAX,
            });
        }
        self.operations.insert(operation.to_owned(), peaks);
        Ok(())
    }

    /// Adds an operation whose peaks are not known yet: each latency bucket that holds something is
    /// a peak of its own. `buckets` are pairs of a latency bucket and its values, in order.
    pub fn from_buckets(
        &mut self,
        operation: &str,
        buckets: impl IntoIterator<Item = (u16, Histogram)>,
    ) -> Result<(), Error> {
        let filled = buckets.into_iter().filter(|(_, one)| one.counts().left > 0);
        let peaks = filled.map(|(bucket, values)| Peak::new(bucket..=bucket, values));
        self.insert(operation, peaks.collect())
    }

    /// Returns what was counted between an earlier reading of the same recorder, with the same
    /// peaks, and this one.
    pub fn since(&self, earlier: &Correlated) -> Result<Correlated, Error> {
        let mut difference = Correlated::new(&self.value, self.resolution)?;
        for (name, peaks) in self.operations() {
            let earlier = earlier.peaks(name);
            let mut all = Vec::with_capacity(peaks.len());
            for now in peaks {
                let then = earlier.iter().find(|then| then.buckets == now.buckets);
                let values = match then {
                    Some(then) => now.values.since(&then.values),
                    None => Ok(now.values.clone()),
                };
                let values = values.map_err(|fault| fault.of(name))?;
                if values.counts().left > 0 {
                    all.push(Peak::new(now.buckets(), values));
                }
            }
            difference.insert(name, all)?;
        }
        Ok(difference)
    }

    /// Returns the values of an operation's calls in each of these ranges of latency buckets; a
    /// peak belongs to the range in which it begins.
    pub fn joined(
        &self,
        operation: &str,
        ranges: &[RangeInclusive<u16>],
    ) -> Result<Vec<Peak>, Error> {
        let one = |range: &RangeInclusive<u16>| {
            let mut values = Histogram::new(self.resolution);
            let peaks = self.peaks(operation).iter();
            for peak in peaks.filter(|peak| range.contains(peak.buckets.start())) {
                let merged = values.merge(&peak.values);
                merged.map_err(|fault| fault.of(operation))?;
            }
            Ok(Peak::new(range.clone(), values))
        };
        ranges.iter().map(one).collect()
    }

    /// Checks each histogram of values as [`Histogram::check`] does.
    pub fn check(&self) -> Result<(), Error> {
        for (name, peaks) in self.operations() {
            let mut checks = peaks.iter().map(|peak| peak.values.check());
            checks.try_for_each(|check| check.map_err(|fault| fault.of(name)))?;
        }
        Ok(())
    }
}

/// Checks that peaks are ordered, not empty, and do not overlap.
pub(crate) fn check_peaks(
    peaks: impl IntoIterator<Item = RangeInclusive<u16>>,
) -> Result<(), Fault> {
    let mut free_from = 0_u32;
    for peak in peaks {
        let (first, last) = (*peak.start(), *peak.end());
        if u32::from(first) < free_from || last < first {
            return Err(Fault::Peaks { first, last });
        }
        free_from = u32::from(last) + 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
