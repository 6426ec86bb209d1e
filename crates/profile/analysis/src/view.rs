//! One histogram as the analysis reads it: bucket counts on a logarithmic axis.
//!
//! Bucket `b` of a histogram with `r` buckets per doubling holds the requests whose latency lies in
//! [2^(b/r), 2^((b+1)/r)) (§3, Eq. 3.4: "b = ⌊r × log₂(latency)⌋"). Times have the unit of the
//! profile: nanoseconds or clock cycles.
//!
//! All latencies in this crate are estimates from bucket counts, as in the paper: "the number of
//! operations in the bᵗʰ bucket multiplied by the average bucket latency 3/2 · 2ᵇ" (§3.1.5). An
//! estimate for one bucket is at most 33 % off at r = 1 (§3.3.1).

use trawl_histogram::{Histogram, Resolution};

use crate::AnalysisError;

/// The bucket counts of one histogram and their axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View<'a> {
    counts: &'a [u64],
    resolution: Resolution,
}

impl<'a> From<&'a Histogram> for View<'a> {
    fn from(histogram: &'a Histogram) -> Self {
        Self::new(histogram.buckets(), histogram.resolution())
    }
}

impl<'a> View<'a> {
    /// Reads bucket counts, lowest bucket first.
    #[must_use]
    pub const fn new(counts: &'a [u64], resolution: Resolution) -> Self {
        Self { counts, resolution }
    }

    /// Returns the counts, lowest bucket first.
    #[must_use]
    pub const fn counts(self) -> &'a [u64] {
        self.counts
    }

    /// Returns the resolution.
    #[must_use]
    pub const fn resolution(self) -> Resolution {
        self.resolution
    }

    /// Returns the number of buckets for each doubling of the latency: the paper's `r`.
    #[must_use]
    pub fn per_doubling(self) -> usize {
        self.resolution.get().into()
    }

    /// Returns the count of a bucket; zero outside the histogram.
    #[must_use]
    pub fn at(self, bucket: usize) -> u64 {
        self.counts.get(bucket).copied().unwrap_or(0)
    }

    /// Returns the number of operations in all buckets.
    #[must_use]
    pub fn operations(self) -> u64 {
        self.operations_in(0, self.counts.len())
    }

    /// Returns the number of operations in the buckets `from..to`.
    #[must_use]
    pub fn operations_in(self, from: usize, to: usize) -> u64 {
        let chosen = self.counts.get(from..to.min(self.counts.len()));
        let add = |sum: u64, count: &u64| sum.saturating_add(*count);
        chosen.unwrap_or(&[]).iter().fold(0, add)
    }

    /// Returns the estimated total latency of all buckets.
    #[must_use]
    pub fn latency(self) -> f64 {
        self.latency_in(0, self.counts.len())
    }

    /// Returns the estimated total latency of the buckets `from..to`.
    #[must_use]
    pub fn latency_in(self, from: usize, to: usize) -> f64 {
        self.filled_in(from, to)
            .map(|(bucket, count)| count * self.middle(bucket))
            .sum()
    }

    /// Returns the buckets of `from..to` that are not empty, with their counts.
    pub(crate) fn filled_in(self, from: usize, to: usize) -> impl Iterator<Item = (usize, f64)> {
        let to = to.min(self.counts.len());
        let chosen = self.counts.get(from..to).unwrap_or(&[]).iter();
        let numbered = chosen.enumerate().filter(|(_, count)| **count > 0);
        numbered.map(move |(at, count)| (from + at, *count as f64))
    }

    /// Returns the latency at which a bucket begins.
    #[must_use]
    pub fn low(self, bucket: usize) -> f64 {
        (bucket as f64 / f64::from(self.resolution.get())).exp2()
    }

    /// Returns the average latency of a bucket: halfway between its borders, 3/2 · 2ᵇ at r = 1.
    #[must_use]
    pub fn middle(self, bucket: usize) -> f64 {
        self.resolution
            .mean(u16::try_from(bucket).unwrap_or(u16::MAX))
    }

    /// Returns log₂ of a bucket's centre on the logarithmic axis.
    pub(crate) fn centre_log2(self, bucket: usize) -> f64 {
        (bucket as f64 + 0.5) / f64::from(self.resolution.get())
    }

    /// Returns the bucket that holds a latency, a fraction rounded down.
    #[must_use]
    pub fn bucket_of(self, latency: f64) -> usize {
        self.resolution.bucket(latency as u64).into()
    }
}

/// Two histograms on one axis: the paper's `n` and `m` (§5.7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair<'a> {
    /// The first profile, `n`: differences are relative to it.
    pub first: View<'a>,
    /// The second profile, `m`.
    pub second: View<'a>,
}

impl<'a> Pair<'a> {
    /// Pairs two histograms.
    ///
    /// # Errors
    /// Histograms of different resolutions cannot be compared bucket by bucket.
    pub fn new(first: View<'a>, second: View<'a>) -> Result<Self, AnalysisError> {
        if first.resolution == second.resolution {
            return Ok(Self { first, second });
        }
        Err(AnalysisError::Resolutions {
            first: first.resolution.get(),
            second: second.resolution.get(),
        })
    }

    /// Returns the pair in the opposite order.
    #[must_use]
    pub const fn swapped(self) -> Self {
        Self {
            first: self.second,
            second: self.first,
        }
    }

    /// Returns the number of buckets of the longer histogram.
    #[must_use]
    pub fn len(self) -> usize {
        self.first.counts.len().max(self.second.counts.len())
    }

    /// Returns whether neither histogram has a bucket.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_has_the_average_latency_of_the_paper() {
        // §3.1.5: "the average bucket latency 3/2 · 2ᵇ = 3 · 2ᵇ⁻¹".
        let view = View::new(&[0; 40], Resolution::ONE);
        for bucket in 1..40 {
            assert_eq!(view.middle(bucket), (3_u64 << (bucket - 1)) as f64);
        }
        // At r = 2 bucket 20 reaches from 2^10 = 1024 to 2^10.5 = 1448.15…: (1024 + 1448.15) / 2.
        let fine = View::new(&[0; 40], Resolution::new(2).unwrap());
        assert!((fine.middle(20) - 1236.077).abs() < 0.001);
    }

    #[test]
    fn a_latency_belongs_to_the_bucket_between_whose_borders_it_lies() {
        for resolution in Resolution::all() {
            let view = View::new(&[], resolution);
            for latency in [
                1_u64,
                2,
                3,
                4,
                7,
                8,
                1023,
                1024,
                1025,
                1 << 35,
                (1 << 40) - 1,
            ] {
                let bucket = view.bucket_of(latency as f64);
                assert!(view.low(bucket) <= latency as f64, "{latency}");
                assert!(view.low(bucket + 1) > latency as f64, "{latency}");
            }
        }
    }

    #[test]
    fn ranges_outside_the_histogram_are_empty() {
        let view = View::new(&[1, 2, 3], Resolution::ONE);
        assert_eq!(view.operations_in(1, 9), 5);
        assert_eq!(view.operations_in(4, 9), 0);
        assert_eq!(view.at(7), 0);
        // 1 × 1.5 + 2 × 3 + 3 × 6 = 25.5
        assert_eq!(view.latency(), 25.5);
    }

    #[test]
    fn histograms_of_different_resolutions_make_no_pair() {
        let coarse = View::new(&[1], Resolution::ONE);
        let fine = View::new(&[1], Resolution::new(2).unwrap());
        assert!(Pair::new(coarse, fine).is_err());
    }
}
