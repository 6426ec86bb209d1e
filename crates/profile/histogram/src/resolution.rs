//! Resolutions: from latencies to buckets and back, with integers only, so that no bucket border
//! suffers from rounding.
//!
//! "A bucket b contains the number of requests whose latency satisfies b = ⌊log_{2^r}(latency)⌋ =
//! ⌊r × log₂(latency)⌋" (equation 3.4, where the middle term stands for the logarithm to the base
//! 2^(1/r)). In integers: 2^b ≤ latency^r < 2^(b+1).

use std::fmt;
use std::ops::RangeInclusive;

use crate::Error;

/// The most buckets that a resolution has.
pub const BUCKETS_MAX: usize = 64 * 8;

/// The resolution r of a histogram: each doubling of the latency has r buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Resolution(u8);

/// Row r − 1 holds ⌈2^(63 + k/r)⌉ for k = 1 to r − 1: the least latencies of the buckets between two
/// powers of two, shifted so that the highest bit is set. The powers are irrational, so that
/// comparing integers with the rounded-up value is exact.
#[rustfmt::skip]
const STEPS: [&[u64]; 8] = [
    &[],
    &[0xb504_f333_f9de_6485],
    &[0xa145_17cc_6b94_5712, 0xcb2f_f529_eb71_e416],
    &[0x9837_f051_8db8_a970, 0xb504_f333_f9de_6485, 0xd744_fcca_d69d_6af5],
    &[0x9308_8c35_d733_a4b6, 0xa8e5_a29d_ca9b_622c, 0xc203_001d_9572_e35d, 0xdedc_66d6_df09_010b],
    &[0x8fac_d61e_3eb5_feb6, 0xa145_17cc_6b94_5712, 0xb504_f333_f9de_6485, 0xcb2f_f529_eb71_e416, 0xe411_f03a_7609_4a36],
    &[0x8d52_ce20_8af3_eb23, 0x9c08_a3b1_17c4_3215, 0xac46_751f_849d_eee5, 0xbe35_0f94_f167_3025, 0xd201_7f75_ce29_95d4, 0xe7dd_818d_3a0d_24f8],
    &[0x8b95_c1e3_ea8b_d6e7, 0x9837_f051_8db8_a970, 0xa5fe_d6a9_b151_38eb, 0xb504_f333_f9de_6485, 0xc567_2a11_5506_dade, 0xd744_fcca_d69d_6af5, 0xeac0_c6e7_dd24_392f],
];

/// A sixteenth of the way from one power of two to the next. At most one step lies in each, because
/// steps are at least 2^(1/8) − 1 > 1/16 apart.
#[derive(Clone, Copy)]
struct Sixteenth {
    /// Steps before it.
    before: u16,
    /// The greatest latency below the step in it; `u64::MAX` if there is none.
    below: u64,
}

const SIXTEENTHS: [[Sixteenth; 16]; 8] = sixteenths();

const fn sixteenths() -> [[Sixteenth; 16]; 8] {
    let none = Sixteenth {
        before: 0,
        below: u64::MAX,
    };
    let mut all = [[none; 16]; 8];
    let mut row = 0;
    while row < 8 {
        let steps = STEPS[row];
        let (mut at, mut step) = (0, 0);
        while at < 16 {
            all[row][at].before = step as u16;
            if step < steps.len() && (steps[step] >> 59) as usize & 15 == at {
                all[row][at].below = steps[step] - 1;
                step += 1;
            }
            at += 1;
        }
        row += 1;
    }
    all
}

impl Resolution {
    /// One bucket for each doubling of the latency: the paper's usual resolution.
    pub const ONE: Resolution = Resolution(1);

    /// Returns the resolution r, from 1 to 8.
    pub fn new(r: u8) -> Result<Resolution, Error> {
        match r {
            1..=8 => Ok(Resolution(r)),
            _ => Err(Error::Resolution(r.into())),
        }
    }

    /// Returns all resolutions, the coarsest first.
    pub fn all() -> impl Iterator<Item = Resolution> {
        (1..=8).map(Resolution)
    }

    /// Returns the number r.
    pub fn get(self) -> u8 {
        self.0
    }

    /// Returns the number of buckets that latencies of 64 bits need: 64 r.
    pub fn buckets(self) -> usize {
        64 * usize::from(self.0)
    }

    /// Returns the bucket of a latency: ⌊r·log₂(latency)⌋. Latency 0, which has no logarithm, lies in
    /// bucket 0, as in the paper's code (appendix A).
    #[inline]
    pub fn bucket(self, latency: u64) -> u16 {
        let latency = latency | u64::from(latency == 0);
        let zeros = latency.leading_zeros();
        let shifted = latency << zeros;
        let doublings = (63 - zeros) as u16;
        // The masks change nothing; they let the compiler leave out the bounds checks.
        let row = &SIXTEENTHS[usize::from(self.0 - 1) & 7];
        let part = row[(shifted >> 59) as usize & 15];
        doublings * u16::from(self.0) + part.before + u16::from(shifted > part.below)
    }

    /// Returns the least integer that is at least 2^(bucket/r); 0 for bucket 0, which also holds
    /// latency 0. Returns `u64::MAX` for buckets that no latency of 64 bits reaches.
    pub fn least(self, bucket: u16) -> u64 {
        let r = u16::from(self.0);
        let (doublings, step) = (bucket / r, usize::from(bucket % r));
        match (doublings, step) {
            (0, 0) => 0,
            (64.., _) => u64::MAX,
            (_, 0) => 1 << doublings,
            _ => {
                let step = STEPS[usize::from(self.0) - 1][step - 1];
                let shift = 63 - doublings;
                (step >> shift) + u64::from(step & ((1 << shift) - 1) != 0)
            }
        }
    }

    /// Returns the latencies in a bucket. The range is empty if no integer lies in the bucket, as
    /// between 2^(1/8) and 2^(2/8).
    pub fn bounds(self, bucket: u16) -> RangeInclusive<u64> {
        let last = usize::from(bucket) + 1 >= self.buckets();
        let end = match last {
            true => u64::MAX,
            false => self.least(bucket + 1) - 1,
        };
        match usize::from(bucket) < self.buckets() {
            true => self.least(bucket)..=end,
            #[expect(clippy::reversed_empty_ranges)]
            false => u64::MAX..=0,
        }
    }

    /// Returns the average latency of a bucket, as the paper defines it for r = 1 (§3.3.1): "The
    /// average latency value in bucket b is (2^b + 2^(b+1)) / 2 = 3/2 · 2^b".
    pub fn mean(self, bucket: u16) -> f64 {
        let edge = |bucket: u32| (f64::from(bucket) / f64::from(self.0)).exp2();
        (edge(bucket.into()) + edge(u32::from(bucket) + 1)) / 2.0
    }

    /// Returns whether a resolution's buckets are unions of this one's: whether it divides this one.
    pub fn is_multiple_of(self, coarser: Resolution) -> bool {
        self.0.is_multiple_of(coarser.0)
    }

    /// Returns the finest resolution that is a power of two and divides this one, and its binary
    /// logarithm. Prometheus calls the logarithm schema, OpenTelemetry calls it scale.
    pub fn binary(self) -> (Resolution, u8) {
        let logarithm = self.0.trailing_zeros() as u8;
        (Resolution(1 << logarithm), logarithm)
    }
}

impl TryFrom<u64> for Resolution {
    type Error = Error;

    fn try_from(r: u64) -> Result<Resolution, Error> {
        u8::try_from(r)
            .map_err(|_| Error::Resolution(r))
            .and_then(Resolution::new)
    }
}

impl fmt::Display for Resolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests;
