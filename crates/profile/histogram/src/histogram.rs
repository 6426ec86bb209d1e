//! The histogram of one operation: how many calls entered and left, and in which buckets their
//! latencies lie.
//!
//! Invariants: totals have 128 bits, which 2^64 latencies of 64 bits fit; only forged totals reach
//! the limit, where they stay. Counts have 64 bits: combining histograms whose sums exceed them is
//! an error, and counting further calls leaves them at the limit, where `check` finds it. Buckets above the last one that holds something are not stored, so that equal histograms compare
//! equal.

use std::ops::RangeInclusive;

use crate::{Fault, Resolution};

/// The counts of an operation besides its buckets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls that were in flight when the interval began; 0 for a recorder's whole life.
    pub carried: u64,
    /// Calls that entered.
    pub entered: u64,
    /// Calls that left, with a latency or without.
    pub left: u64,
    /// Calls that left without a latency that can be used.
    pub dropped: u64,
    /// Sum of the latencies.
    pub total: u128,
    /// Least latency; `None` if no call was measured or the value is unknown.
    pub min: Option<u64>,
    /// Greatest latency; `None` if no call was measured or the value is unknown.
    pub max: Option<u64>,
}

/// The histogram of one operation, or of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    resolution: Resolution,
    counts: Counts,
    buckets: Vec<u64>,
}

impl Histogram {
    /// Returns an empty histogram.
    pub fn new(resolution: Resolution) -> Histogram {
        Histogram {
            resolution,
            counts: Counts::default(),
            buckets: Vec::new(),
        }
    }

    /// Returns a histogram of these counts and buckets, the first of which is bucket 0. It fails if
    /// the resolution has fewer buckets; [`check`](Histogram::check) tells whether they add up.
    pub fn from_parts(
        resolution: Resolution,
        counts: Counts,
        mut buckets: Vec<u64>,
    ) -> Result<Histogram, Fault> {
        trim(&mut buckets);
        if buckets.len() > resolution.buckets() {
            return Err(Fault::Buckets {
                resolution: resolution.get(),
                buckets: buckets.len(),
                limit: resolution.buckets(),
            });
        }
        Ok(Histogram {
            resolution,
            counts,
            buckets,
        })
    }

    /// Returns the histogram in a reading during which calls went on. A call changes the total, the
    /// extremes and its bucket one after the other, so a reading may hold only some of these changes.
    /// Extremes that lie outside the buckets become unknown, and the total becomes the nearest one
    /// that buckets and extremes allow. It fails like [`from_parts`](Histogram::from_parts).
    pub fn from_moving(
        resolution: Resolution,
        counts: Counts,
        buckets: Vec<u64>,
    ) -> Result<Histogram, Fault> {
        let mut one = Histogram::from_parts(resolution, counts, buckets)?;
        let (first, last) = one.ends();
        let lies_in = |latency: &u64, at| Some(usize::from(resolution.bucket(*latency))) == at;
        one.counts.min = counts.min.filter(|least| lies_in(least, first));
        one.counts.max = counts.max.filter(|greatest| lies_in(greatest, last));
        if one
            .counts
            .min
            .zip(one.counts.max)
            .is_some_and(|(least, greatest)| least > greatest)
        {
            (one.counts.min, one.counts.max) = (None, None);
        }
        let possible = one.possible_totals();
        one.counts.total = counts.total.clamp(*possible.start(), *possible.end());
        Ok(one)
    }

    /// Returns a histogram of which only the buckets are known: the total is estimated from them
    /// (§3.1.5), and the extremes are unknown. It fails like [`from_parts`](Histogram::from_parts).
    pub fn estimated(resolution: Resolution, buckets: Vec<u64>) -> Result<Histogram, Fault> {
        let mut one = Histogram::from_parts(resolution, Counts::default(), buckets)?;
        let operations = u64::try_from(one.recorded()).unwrap_or(u64::MAX);
        one.counts.entered = operations;
        one.counts.left = operations;
        one.counts.total = one.estimated_total().round() as u128;
        Ok(one)
    }

    /// Returns the resolution.
    pub fn resolution(&self) -> Resolution {
        self.resolution
    }

    /// Returns the counts besides the buckets.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Returns the buckets from bucket 0 to the last one that holds something.
    pub fn buckets(&self) -> &[u64] {
        &self.buckets
    }

    /// Returns a bucket's count.
    pub fn count(&self, bucket: u16) -> u64 {
        self.buckets.get(usize::from(bucket)).copied().unwrap_or(0)
    }

    /// Returns the number of latencies in all buckets.
    pub fn recorded(&self) -> u128 {
        self.buckets.iter().map(|count| u128::from(*count)).sum()
    }

    /// Returns the number of calls that entered and have not left.
    pub fn in_flight(&self) -> u64 {
        let counts = &self.counts;
        let entered = u128::from(counts.carried) + u128::from(counts.entered);
        u64::try_from(entered.saturating_sub(counts.left.into())).unwrap_or(u64::MAX)
    }

    /// Returns the average latency; `None` if there is none.
    pub fn mean(&self) -> Option<f64> {
        let recorded = self.recorded();
        (recorded > 0).then(|| self.counts.total as f64 / recorded as f64)
    }

    /// Returns the total that the buckets suggest: "the number of operations in the bucket
    /// multiplied by the average bucket latency" (§3.1.5).
    pub fn estimated_total(&self) -> f64 {
        let counts = self.buckets.iter().zip(0..);
        counts
            .map(|(count, bucket)| *count as f64 * self.resolution.mean(bucket))
            .sum()
    }

    /// Counts a call that enters: "the total number of operations is updated before entering the
    /// profiled code and the buckets are updated after returning from it" (§5.8).
    pub fn enter(&mut self) {
        self.counts.entered = self.counts.entered.saturating_add(1);
    }

    /// Counts a call that leaves, with its latency.
    pub fn leave(&mut self, latency: u64) {
        let bucket = usize::from(self.resolution.bucket(latency));
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] = self.buckets[bucket].saturating_add(1);
        let counts = &mut self.counts;
        counts.total = counts.total.saturating_add(latency.into());
        // An unknown extreme of other latencies stays unknown.
        let first = counts.left == counts.dropped;
        if first || counts.min.is_some_and(|min| latency < min) {
            counts.min = Some(latency);
        }
        if first || counts.max.is_some_and(|max| latency > max) {
            counts.max = Some(latency);
        }
        counts.left = counts.left.saturating_add(1);
    }

    /// Counts a call that leaves without a latency that can be used.
    pub fn drop_one(&mut self) {
        self.counts.left = self.counts.left.saturating_add(1);
        self.counts.dropped = self.counts.dropped.saturating_add(1);
    }

    /// Counts a call with its latency.
    pub fn record(&mut self, latency: u64) {
        self.enter();
        self.leave(latency);
    }

    /// Checks that `entered = Σ buckets + in flight + dropped`: "for every operation, results in all
    /// of the buckets are summed and then compared with the total number of operations" (§5.8). Also
    /// checks that least, greatest and total latency, where known, fit the buckets.
    pub fn check(&self) -> Result<(), Fault> {
        let counts = &self.counts;
        let entered = u128::from(counts.carried) + u128::from(counts.entered);
        let recorded = self.recorded();
        // No sum of 512 numbers of 64 bits comes near 127 bits.
        let in_flight = entered as i128 - i128::from(counts.left);
        let sum = recorded as i128 + in_flight + i128::from(counts.dropped);
        if in_flight < 0 || sum != entered as i128 {
            return Err(Fault::Unbalanced {
                entered,
                recorded,
                in_flight,
                dropped: counts.dropped,
            });
        }
        self.check_latencies()
    }

    fn check_latencies(&self) -> Result<(), Fault> {
        let counts = &self.counts;
        let (first, last) = self.ends();
        let bucket = |latency| usize::from(self.resolution.bucket(latency));
        let fits = |extreme: Option<u64>, at| extreme.is_none_or(|one| Some(bucket(one)) == at);
        let fault = |what, latency| Err(Fault::Latency { what, latency });
        let (least, greatest) = (counts.min.unwrap_or(0), counts.max.unwrap_or(u64::MAX));
        if !fits(counts.min, first) || least > greatest {
            return fault("least", least.into());
        }
        if !fits(counts.max, last) {
            return fault("greatest", greatest.into());
        }
        match self.possible_totals().contains(&counts.total) {
            true => Ok(()),
            false => fault("total", counts.total),
        }
    }

    /// Returns the first and the last bucket that hold something.
    fn ends(&self) -> (Option<usize>, Option<usize>) {
        let first = self.buckets.iter().position(|count| *count > 0);
        (first, self.buckets.len().checked_sub(1))
    }

    /// Returns the totals that as many latencies between the extremes can have.
    fn possible_totals(&self) -> RangeInclusive<u128> {
        let recorded = self.recorded();
        let times = |latency: u64| recorded.saturating_mul(u128::from(latency));
        times(self.counts.min.unwrap_or(0))..=times(self.counts.max.unwrap_or(u64::MAX))
    }

    /// Adds a histogram that was recorded at the same time, by another thread or on another CPU.
    /// Leaves this one as it was if it fails.
    pub fn merge(&mut self, other: &Histogram) -> Result<(), Fault> {
        self.same_resolution(other)?;
        let (ours, theirs) = (&self.counts, &other.counts);
        let sum = |name, a: u64, b: u64| a.checked_add(b).ok_or(Fault::Overflow(name));
        let counts = Counts {
            carried: sum("calls in flight", ours.carried, theirs.carried)?,
            entered: sum("calls that entered", ours.entered, theirs.entered)?,
            left: sum("calls that left", ours.left, theirs.left)?,
            dropped: sum("dropped calls", ours.dropped, theirs.dropped)?,
            total: ours.total.saturating_add(theirs.total),
            min: self.extreme(other, |counts| counts.min, u64::min),
            max: self.extreme(other, |counts| counts.max, u64::max),
        };
        let mut buckets = vec![0; self.buckets.len().max(other.buckets.len())];
        for (at, bucket) in (0..).zip(&mut buckets) {
            *bucket = sum("calls in a bucket", self.count(at), other.count(at))?;
        }
        (self.counts, self.buckets) = (counts, buckets);
        Ok(())
    }

    /// Returns an extreme of both: unknown if it is unknown for one that has latencies.
    fn extreme(
        &self,
        other: &Histogram,
        of: fn(&Counts) -> Option<u64>,
        choose: fn(u64, u64) -> u64,
    ) -> Option<u64> {
        match (self.buckets.is_empty(), other.buckets.is_empty()) {
            (true, _) => of(&other.counts),
            (_, true) => of(&self.counts),
            _ => of(&self.counts)
                .zip(of(&other.counts))
                .map(|(a, b)| choose(a, b)),
        }
    }

    /// Returns what happened between an earlier reading of the same recorder and this one. The least
    /// and greatest latencies are known only where the readings prove them: if the earlier reading
    /// has no latency, or if the extreme changed. The total is only as exact as those of the readings:
    /// see [`from_moving`](Histogram::from_moving).
    pub fn since(&self, earlier: &Histogram) -> Result<Histogram, Fault> {
        self.same_resolution(earlier)?;
        let (now, then) = (&self.counts, &earlier.counts);
        let less = |name, a: u64, b: u64| a.checked_sub(b).ok_or(Fault::Decreased(name));
        let mut buckets = vec![0; self.buckets.len().max(earlier.buckets.len())];
        for (at, bucket) in (0..).zip(&mut buckets) {
            *bucket = less("a bucket", self.count(at), earlier.count(at))?;
        }
        trim(&mut buckets);
        let extreme = |now: Option<u64>, then: Option<u64>| {
            let changed = then.is_some() && now != then;
            let is_known = !buckets.is_empty() && (earlier.buckets.is_empty() || changed);
            now.filter(|_| is_known)
        };
        let counts = Counts {
            carried: earlier.in_flight(),
            entered: less("calls that entered", now.entered, then.entered)?,
            left: less("calls that left", now.left, then.left)?,
            dropped: less("dropped calls", now.dropped, then.dropped)?,
            total: now
                .total
                .checked_sub(then.total)
                .ok_or(Fault::Decreased("the total latency"))?,
            min: extreme(now.min, then.min),
            max: extreme(now.max, then.max),
        };
        Histogram::from_moving(self.resolution, counts, buckets)
    }

    /// Returns the histogram at a coarser resolution, which must divide this one's. That is exact:
    /// ⌊⌊r·log₂ x⌋ / n⌋ = ⌊(r/n)·log₂ x⌋.
    pub fn coarsened(&self, coarser: Resolution) -> Result<Histogram, Fault> {
        if !self.resolution.is_multiple_of(coarser) {
            return Err(Fault::Resolutions {
                ours: self.resolution.get(),
                theirs: coarser.get(),
            });
        }
        let ratio = usize::from(self.resolution.get() / coarser.get());
        let sums = self.buckets.chunks(ratio).map(|chunk| {
            let sum = chunk
                .iter()
                .try_fold(0_u64, |sum, one| sum.checked_add(*one));
            sum.ok_or(Fault::Overflow("calls in a bucket"))
        });
        Histogram::from_parts(coarser, self.counts, sums.collect::<Result<_, _>>()?)
    }

    fn same_resolution(&self, other: &Histogram) -> Result<(), Fault> {
        match self.resolution == other.resolution {
            true => Ok(()),
            false => Err(Fault::Resolutions {
                ours: self.resolution.get(),
                theirs: other.resolution.get(),
            }),
        }
    }
}

/// Removes the empty buckets above the last one that holds something.
pub(crate) fn trim(buckets: &mut Vec<u64>) {
    let used = buckets.iter().rposition(|count| *count > 0);
    buckets.truncate(used.map_or(0, |last| last + 1));
}

#[cfg(test)]
mod tests;
