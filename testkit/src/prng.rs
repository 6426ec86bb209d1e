//! Seeded pseudo-random numbers: the same sequence on every machine, in every version.
//!
//! SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014). Good
//! enough to vary trees; not for secrets.

/// A sequence of numbers determined by its seed.
#[derive(Clone, Debug)]
pub struct Prng(u64);

impl Prng {
    /// Makes the sequence of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.bits().checked_rem(bound).unwrap_or(0)
    }

    /// Returns true once in `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// Returns one of the choices.
    ///
    /// # Panics
    /// If there are none.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[usize::try_from(self.below(choices.len() as u64)).expect("an index")]
    }

    /// Returns one of the words.
    ///
    /// # Panics
    /// If there are none.
    pub fn word<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        self.pick::<&str>(choices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        // First outputs of SplitMix64 for seed 1234567, as its author's reference code prints them.
        let mut prng = Prng::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| prng.bits()).collect();
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn bounds_hold() {
        let mut prng = Prng::new(1);
        assert!((0..1000).all(|_| prng.below(7) < 7));
        assert_eq!(prng.below(0), 0);
    }
}
