//! Profiles: the histograms of the operations of one layer.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::num::NonZeroU64;

use crate::{Error, Fault, Histogram, NAME_BYTES_MAX, OPERATIONS_MAX, Resolution};

/// The unit of latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds of CLOCK_MONOTONIC.
    Nanoseconds,
    /// Cycles of the CPU's cycle counter, which must be invariant.
    Cycles {
        /// Cycles in a second.
        frequency_hz: NonZeroU64,
    },
}

impl Unit {
    /// Returns how many units a second has.
    pub fn per_second(self) -> f64 {
        match self {
            Unit::Nanoseconds => 1e9,
            Unit::Cycles { frequency_hz } => frequency_hz.get() as f64,
        }
    }

    /// Returns whether latencies can be compared: units are equal, or cycles whose numbers in a
    /// second differ by less than a thousandth. Each recording measures the frequency anew; buckets
    /// are at least 9 % wide.
    pub fn is_comparable_to(self, other: Unit) -> bool {
        match (self, other) {
            (Unit::Cycles { .. }, Unit::Cycles { .. }) => {
                let (one, other) = (self.per_second(), other.per_second());
                (one - other).abs() * 1000.0 < one.max(other)
            }
            _ => self == other,
        }
    }

    /// Returns a latency in seconds.
    pub fn seconds(self, latency: f64) -> f64 {
        latency / self.per_second()
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unit::Nanoseconds => f.write_str("nanoseconds"),
            Unit::Cycles { frequency_hz } => write!(f, "cycles at {frequency_hz} Hz"),
        }
    }
}

/// The operations of one layer, such as "read" and "lookup" at the kernel's VFS layer.
///
/// Invariant: all histograms have the profile's resolution; names satisfy [`check_name`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Description of the profiled workload, for people.
    pub title: String,
    /// The layer at which latencies were measured: "user", "vfs", "driver" …
    pub layer: String,
    /// When recording began, in nanoseconds since 1970; `None` if it is unknown.
    pub start_unix_ns: Option<u64>,
    /// How long recording lasted; `None` if it is unknown.
    pub duration_ns: Option<u64>,
    unit: Unit,
    resolution: Resolution,
    operations: BTreeMap<String, Histogram>,
}

impl Profile {
    /// Returns a profile without operations, title and times.
    pub fn new(unit: Unit, resolution: Resolution) -> Profile {
        Profile {
            title: String::new(),
            layer: String::new(),
            start_unix_ns: None,
            duration_ns: None,
            unit,
            resolution,
            operations: BTreeMap::new(),
        }
    }

    /// Returns the unit of latencies.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// Returns the resolution of all histograms.
    pub fn resolution(&self) -> Resolution {
        self.resolution
    }

    /// Returns the number of operations.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Returns whether there is no operation.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Returns an operation's histogram.
    pub fn get(&self, operation: &str) -> Option<&Histogram> {
        self.operations.get(operation)
    }

    /// Returns all operations, sorted by name.
    pub fn operations(&self) -> impl ExactSizeIterator<Item = (&str, &Histogram)> {
        self.operations
            .iter()
            .map(|(name, one)| (name.as_str(), one))
    }

    /// Returns all operations, those with the greatest total latency first: "figures show profiles
    /// with operations sorted according to their total latency" (§3.1.1).
    pub fn by_total(&self) -> Vec<(&str, &Histogram)> {
        let mut all: Vec<_> = self.operations().collect();
        all.sort_by_key(|(_, one)| std::cmp::Reverse(one.counts().total));
        all
    }

    /// Adds an operation that the profile does not have.
    pub fn insert(&mut self, operation: &str, histogram: Histogram) -> Result<(), Error> {
        self.accepts(operation, &histogram)?;
        match self.operations.entry(operation.to_owned()) {
            Entry::Occupied(_) => Err(Error::Twice(operation.to_owned())),
            Entry::Vacant(place) => {
                place.insert(histogram);
                Ok(())
            }
        }
    }

    /// Adds to an operation what was recorded at the same time elsewhere; adds the operation if the
    /// profile does not have it.
    pub fn add(&mut self, operation: &str, histogram: &Histogram) -> Result<(), Error> {
        if let Some(ours) = self.operations.get_mut(operation) {
            return ours.merge(histogram).map_err(|fault| fault.of(operation));
        }
        self.insert(operation, histogram.clone())
    }

    /// Adds a profile that was recorded at the same time, by other threads or on other CPUs. The
    /// title and the layer stay; the times grow to include both.
    pub fn merge(&mut self, other: &Profile) -> Result<(), Error> {
        self.is_like(other)?;
        for (name, histogram) in other.operations() {
            self.add(name, histogram)?;
        }
        let end = |one: &Profile| {
            one.start_unix_ns
                .zip(one.duration_ns)
                .map(|(a, b)| a.saturating_add(b))
        };
        let start = self
            .start_unix_ns
            .zip(other.start_unix_ns)
            .map(|(a, b)| a.min(b));
        let end = end(self).zip(end(other)).map(|(a, b)| a.max(b));
        self.start_unix_ns = start;
        self.duration_ns = start.zip(end).map(|(start, end)| end - start);
        Ok(())
    }

    /// Returns what happened between an earlier reading of the same recorder and this one. Operations
    /// that the earlier reading does not have are taken whole.
    pub fn since(&self, earlier: &Profile) -> Result<Profile, Error> {
        self.is_like(earlier)?;
        if let Some((name, _)) = earlier
            .operations()
            .find(|(name, _)| self.get(name).is_none())
        {
            return Err(Fault::Unknown.of(name));
        }
        let mut difference = Profile {
            operations: BTreeMap::new(),
            start_unix_ns: earlier
                .start_unix_ns
                .zip(earlier.duration_ns)
                .map(|(start, duration)| start.saturating_add(duration)),
            duration_ns: self
                .duration_ns
                .zip(earlier.duration_ns)
                .and_then(|(now, then)| now.checked_sub(then)),
            ..self.clone()
        };
        for (name, now) in self.operations() {
            let one = match earlier.get(name) {
                Some(then) => now.since(then).map_err(|fault| fault.of(name))?,
                None => now.clone(),
            };
            difference.operations.insert(name.to_owned(), one);
        }
        Ok(difference)
    }

    /// Returns the profile at a coarser resolution, which must divide this one's.
    pub fn coarsened(&self, coarser: Resolution) -> Result<Profile, Error> {
        let mut operations = BTreeMap::new();
        for (name, one) in self.operations() {
            let one = one.coarsened(coarser).map_err(|fault| fault.of(name))?;
            operations.insert(name.to_owned(), one);
        }
        Ok(Profile {
            resolution: coarser,
            operations,
            ..self.clone()
        })
    }

    /// Checks each operation as [`Histogram::check`] does, and names the first one that is wrong.
    pub fn check(&self) -> Result<(), Error> {
        self.operations()
            .try_for_each(|(name, one)| one.check().map_err(|fault| fault.of(name)))
    }

    fn accepts(&self, operation: &str, histogram: &Histogram) -> Result<(), Error> {
        check_name(operation)?;
        if self.operations.len() >= OPERATIONS_MAX && !self.operations.contains_key(operation) {
            return Err(Error::TooMany {
                what: "operations",
                amount: self.operations.len() + 1,
                limit: OPERATIONS_MAX,
            });
        }
        match histogram.resolution() == self.resolution {
            true => Ok(()),
            false => Err(Fault::Resolutions {
                ours: self.resolution.get(),
                theirs: histogram.resolution().get(),
            }
            .of(operation)),
        }
    }

    fn is_like(&self, other: &Profile) -> Result<(), Error> {
        differ("layer", &self.layer, &other.layer)?;
        differ("unit", &self.unit, &other.unit)?;
        differ("resolution", &self.resolution, &other.resolution)
    }
}

fn differ<T: PartialEq + fmt::Display>(
    what: &'static str,
    ours: &T,
    theirs: &T,
) -> Result<(), Error> {
    match ours == theirs {
        true => Ok(()),
        false => Err(Error::Differ {
            what,
            ours: ours.to_string(),
            theirs: theirs.to_string(),
        }),
    }
}

/// Checks that all formats can carry a name: it has 1 to 255 bytes, and neither white space nor
/// control characters.
pub fn check_name(name: &str) -> Result<(), Error> {
    let is_bad = |one: char| one.is_whitespace() || one.is_control();
    match name.is_empty() || name.len() > NAME_BYTES_MAX || name.contains(is_bad) {
        true => Err(Error::Name(name.chars().take(NAME_BYTES_MAX).collect())),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests;
