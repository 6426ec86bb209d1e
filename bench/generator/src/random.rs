//! Random numbers that are the same on every machine and in every run.
//!
//! SplitMix64 (Steele, Lea and Flood 2014): one addition and three multiplications per number, good
//! enough for names and sizes, with a state of one word. Not for secrets.

/// A sequence of numbers determined by its seed.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `end`; 0 if `end` is 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(end)) >> 64) as u64
    }

    /// Returns a number from 0 to below 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns true once in `often` times.
    pub(crate) fn once_in(&mut self, often: u64) -> bool {
        self.below(often) == 0
    }

    /// Returns true in `part` of a thousand cases.
    pub(crate) fn per_mille(&mut self, part: u64) -> bool {
        self.below(1000) < part
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }

    /// Picks early elements much more often than late ones, like words in a language.
    pub(crate) fn pick_skewed<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let unit = self.unit();
        &from[(unit * unit * from.len() as f64) as usize]
    }

    /// Returns a normal variate with mean 0 and variance 1 (Box and Muller 1958, one of the pair).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Returns a log-normal variate, given its median and the standard deviation of its logarithm.
    pub(crate) fn log_normal(&mut self, median: f64, sigma: f64) -> f64 {
        median * (sigma * self.normal()).exp()
    }

    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// Returns a variate of at least 1; the smaller `alpha`, the heavier the tail.
    pub(crate) fn pareto(&mut self, alpha: f64) -> f64 {
        (1.0 - self.unit()).powf(-1.0 / alpha)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_are_those_of_the_published_generator() {
        let mut random = Random::new(1_234_567);
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!([(); 3].map(|()| random.bits()), expected);
    }

    #[test]
    fn distributions_have_the_middles_they_say() {
        let mut random = Random::new(1);
        let mut sorted = |mut draw: Box<dyn FnMut(&mut Random) -> f64>| {
            let mut all: Vec<f64> = (0..20_001).map(|_| draw(&mut random)).collect();
            all.sort_by(f64::total_cmp);
            all[10_000]
        };
        assert!((sorted(Box::new(Random::normal))).abs() < 0.05);
        assert!((sorted(Box::new(|r| r.log_normal(100.0, 2.0))) - 100.0).abs() < 8.0);
        assert!((sorted(Box::new(|r| r.exponential(1.0))) - std::f64::consts::LN_2).abs() < 0.05);
        assert!((sorted(Box::new(|r| r.below(1000) as f64)) - 500.0).abs() < 20.0);
    }
}
