//! Buckets against numbers of arbitrary size, which know nothing of shifts and tables.

use proptest::prelude::*;

use super::*;

/// A natural number of any size, in digits of 32 bits, the lowest first.
#[derive(Debug, PartialEq)]
struct Natural(Vec<u32>);

impl Natural {
    fn power(base: u64, exponent: u8) -> Natural {
        (0..exponent).fold(Natural(vec![1]), |product, _| product.times(base))
    }

    fn times(&self, factor: u64) -> Natural {
        let mut digits = vec![0_u32; self.0.len() + 2];
        for (at, part) in [factor as u32, (factor >> 32) as u32]
            .into_iter()
            .enumerate()
        {
            let mut carry = 0_u64;
            for (digit, own) in digits[at..]
                .iter_mut()
                .zip(self.0.iter().chain([0, 0].iter()))
            {
                carry += u64::from(*digit) + u64::from(*own) * u64::from(part);
                *digit = carry as u32;
                carry >>= 32;
            }
            assert_eq!(carry, 0);
        }
        while digits.last() == Some(&0) {
            digits.pop();
        }
        Natural(digits)
    }

    /// Returns ⌊log₂⌋ by halving until nothing is left.
    fn halvings(mut self) -> u16 {
        let mut count = 0;
        while self.0 != [1] {
            let mut carry = 0;
            for digit in self.0.iter_mut().rev() {
                let low = *digit & 1;
                *digit = *digit >> 1 | carry << 31;
                carry = low;
            }
            if self.0.last() == Some(&0) {
                self.0.pop();
            }
            count += 1;
        }
        count
    }
}

/// Returns the bucket b with 2^b ≤ latency^r < 2^(b+1).
fn naive(resolution: Resolution, latency: u64) -> u16 {
    match latency {
        0 => 0,
        _ => Natural::power(latency, resolution.get()).halvings(),
    }
}

#[test]
fn the_oracle_knows_known_powers() {
    assert_eq!(Natural::power(10, 3), Natural(vec![1000]));
    // 10^20 = 5 · 2^64 + 7766279631452241920
    let rest = 7_766_279_631_452_241_920_u64;
    let digits = vec![rest as u32, (rest >> 32) as u32, 5];
    assert_eq!(Natural::power(100, 10), Natural(digits));
    assert_eq!(Natural::power(3, 4).halvings(), 6);
    assert_eq!(Natural::power(1 << 63, 8).halvings(), 504);
}

#[test]
fn resolutions_are_numbers_from_1_to_8() {
    assert!(Resolution::new(0).is_err());
    assert!(Resolution::new(9).is_err());
    assert!(Resolution::try_from(257).is_err());
    assert_eq!(Resolution::all().map(Resolution::get).sum::<u8>(), 36);
}

#[test]
fn small_latencies_and_both_sides_of_every_power_are_exact() {
    for resolution in Resolution::all() {
        for latency in 0..5000 {
            assert_eq!(resolution.bucket(latency), naive(resolution, latency));
        }
        for power in 0..64 {
            for latency in [(1 << power) - 1, 1 << power, (1 << power) + 1, u64::MAX] {
                assert_eq!(resolution.bucket(latency), naive(resolution, latency));
            }
        }
    }
}

#[test]
fn both_sides_of_every_bucket_border_are_exact() {
    for resolution in Resolution::all() {
        for bucket in 1..resolution.buckets() as u16 {
            let least = resolution.least(bucket);
            for latency in [least - 1, least] {
                let expected = naive(resolution, latency);
                assert_eq!(resolution.bucket(latency), expected, "{latency}");
            }
            assert!(naive(resolution, least) >= bucket);
            assert!(naive(resolution, least - 1) < bucket);
        }
    }
}

#[test]
fn bounds_partition_all_latencies() {
    for resolution in Resolution::all() {
        let mut next = 0_u128;
        for bucket in 0..resolution.buckets() as u16 {
            let bounds = resolution.bounds(bucket);
            if !bounds.is_empty() {
                assert_eq!(u128::from(*bounds.start()), next);
                next = u128::from(*bounds.end()) + 1;
            }
        }
        assert_eq!(next, 1 << 64);
        let beyond = resolution.buckets() as u16;
        assert!(resolution.bounds(beyond).is_empty());
        assert!(resolution.bounds(u16::MAX).is_empty());
    }
    assert_eq!(Resolution(1).bounds(0), 0..=1);
    assert_eq!(Resolution(1).bounds(10), 1024..=2047);
    assert_eq!(Resolution(1).bounds(63), 1 << 63..=u64::MAX);
    // 2^(1/8) to 2^(2/8): 1.09 to 1.19.
    assert!(Resolution(8).bounds(1).is_empty());
}

#[test]
fn the_mean_is_that_of_the_paper() {
    // §3.3.1: "(2^b + 2^(b+1)) / 2 = 3/2 · 2^b".
    for bucket in 0..64 {
        assert_eq!(
            Resolution::ONE.mean(bucket),
            1.5 * 2_f64.powi(bucket.into())
        );
    }
    let mean = Resolution(2).mean(3);
    assert!((mean - (8_f64.sqrt() + 4.0) / 2.0).abs() < 1e-12);
}

#[test]
fn the_binary_resolution_divides() {
    let binary: Vec<(u8, u8)> = Resolution::all()
        .map(|one| (one.binary().0.get(), one.binary().1))
        .collect();
    let expected = [
        (1, 0),
        (2, 1),
        (1, 0),
        (4, 2),
        (1, 0),
        (2, 1),
        (1, 0),
        (8, 3),
    ];
    assert_eq!(binary, expected);
}

/// Latencies of every magnitude.
fn latency() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0_u32..64).prop_map(|(bits, shift)| bits >> shift)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn buckets_are_those_of_the_oracle(latency in latency(), r in 1_u8..=8) {
        let resolution = Resolution(r);
        let bucket = resolution.bucket(latency);
        prop_assert_eq!(bucket, naive(resolution, latency));
        prop_assert!(resolution.bounds(bucket).contains(&latency));
    }

    #[test]
    fn coarser_buckets_are_quotients(latency in latency(), r in 1_u8..=8) {
        let fine = Resolution(r);
        for coarse in Resolution::all().filter(|one| fine.is_multiple_of(*one)) {
            let ratio = u16::from(r / coarse.get());
            prop_assert_eq!(fine.bucket(latency) / ratio, coarse.bucket(latency));
        }
    }
}
