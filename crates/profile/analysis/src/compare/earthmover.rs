//! EARTHMOVER: "The idea is to view one histogram as a mass of earth, and the other as holes in the
//! ground. The EMD is the least amount of work needed to fill the holes with earth, where a unit of
//! work is moving one unit by one bin. […] Since the number of operations in the profiles are not
//! necessarily equal, the histograms were normalized. We implemented the calculation as a greedy
//! algorithm." (§5.7.1)
//!
//! The greedy algorithm walks both histograms from the left and always puts the leftmost earth into
//! the leftmost hole. On a line no other plan needs less work: two units of earth whose ways cross
//! may swap their holes without more work.
//!
//! 100 % is the work of moving everything by one doubling of the latency: one bin at r = 1.

use super::of_empty;
use crate::view::Pair;

/// Returns the work in percent of moving everything by one doubling.
#[must_use]
pub fn score(pair: Pair<'_>) -> f64 {
    of_empty(pair)
        .unwrap_or_else(|| work_bins(pair) / f64::from(pair.first.resolution().get()) * 100.0)
}

/// Returns the average number of bins by which a request moves.
fn work_bins(pair: Pair<'_>) -> f64 {
    let (n, m) = (pair.first, pair.second);
    let (n_all, m_all) = (u128::from(n.operations()), u128::from(m.operations()));
    let mut earth = Pile::new(n.counts(), m_all);
    let mut holes = Pile::new(m.counts(), n_all);
    let mut work = 0.0;
    while let (Some(from), Some(to)) = (earth.place(), holes.place()) {
        let moved = earth.left.min(holes.left);
        work += moved as f64 * from.abs_diff(to) as f64;
        earth.left -= moved;
        holes.left -= moved;
    }
    work / (n_all as f64 * m_all as f64)
}

/// What is left of a histogram whose counts were multiplied by the other's total: so both hold
/// the same mass, in whole numbers.
struct Pile<'a> {
    counts: &'a [u64],
    factor: u128,
    at: usize,
    left: u128,
}

impl<'a> Pile<'a> {
    fn new(counts: &'a [u64], factor: u128) -> Self {
        let left = counts
            .first()
            .map_or(0, |count| u128::from(*count) * factor);
        Self {
            counts,
            factor,
            at: 0,
            left,
        }
    }

    /// Returns the leftmost bin that is not used up.
    fn place(&mut self) -> Option<usize> {
        while self.left == 0 {
            self.at += 1;
            self.left = u128::from(*self.counts.get(self.at)?) * self.factor;
        }
        Some(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::View;
    use trawl_histogram::Resolution;

    fn percent(n: &[u64], m: &[u64], r: u8) -> f64 {
        let resolution = Resolution::new(r).unwrap();
        score(Pair::new(View::new(n, resolution), View::new(m, resolution)).unwrap())
    }

    #[test]
    fn work_is_mass_times_bins() {
        // §3.2.1: "shifting the contents of that bucket to the right by ten buckets would be much
        // different than shifting by one".
        let one = [0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(percent(&one, &[0, 0, 9], 1), 100.0);
        assert_eq!(
            percent(&one, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3], 1),
            1000.0
        );
        // ¾ and ¼ against ½ and ½, two bins apart: ¼ moves by 2 bins: ½.
        assert_eq!(percent(&[3, 0, 1], &[5, 0, 5], 1), 50.0);
        // The same at four bins for each doubling is a quarter of it.
        assert_eq!(percent(&[3, 0, 1], &[5, 0, 5], 4), 12.5);
    }

    #[test]
    fn shifting_everything_by_one_bin_is_less_than_moving_one_peak_far() {
        // §5.7.1: bins 1 and 5 filled; shifted right by one, or bin 5 moved to bin 2.
        let n = [0, 10, 0, 0, 0, 10, 0];
        let shifted = percent(&n, &[0, 0, 10, 0, 0, 0, 10], 1);
        let moved = percent(&n, &[0, 10, 10, 0, 0, 0, 0], 1);
        // All of it by 1 bin: 1. Half of it by 3 bins: 1.5.
        assert_eq!((shifted, moved), (100.0, 150.0));
    }

    #[test]
    fn counts_near_the_limit_do_not_overflow() {
        assert_eq!(percent(&[u64::MAX, 0], &[0, u64::MAX], 1), 100.0);
    }
}
