//! TOTLAT: "The degree of difference between the profiles is equal to the normalized difference of
//! the total latency of a given operation" (§5.7.1).
//!
//! The paper prints D = |Σ 3/2·2^nᵢ − Σ 3/2·2^mᵢ| / Σ 3/2·2^nᵢ × 100, with the *counts* as
//! exponents. That is a misprint: the total latency of a profile is Σ nᵢ · 3/2·2ⁱ, "the number of
//! operations in the bᵗʰ bucket multiplied by the average bucket latency" (§3.1.5), and that is what
//! the sentence asks for. The factor 3/2 cancels at r = 1, as the paper's second form shows.

use super::percent;
use crate::view::Pair;

/// Returns the difference in percent of the first profile's latency.
#[must_use]
pub fn score(pair: Pair<'_>) -> f64 {
    percent(pair.first.latency(), pair.second.latency())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::View;
    use trawl_histogram::Resolution;

    #[test]
    fn the_difference_is_that_of_total_latency() {
        // n: 4 requests in bucket 3, 1 in bucket 5: 4·12 + 1·48 = 96.
        // m: 2 requests in bucket 3, 2 in bucket 5: 2·12 + 2·48 = 120.
        // |96 − 120| / 96 × 100 = 25.
        let (n, m) = ([0, 0, 0, 4, 0, 1], [0, 0, 0, 2, 0, 2]);
        let pair = Pair::new(
            View::new(&n, Resolution::ONE),
            View::new(&m, Resolution::ONE),
        )
        .unwrap();
        assert_eq!(score(pair), 25.0);
        // |120 − 96| / 120 × 100 = 20.
        assert_eq!(score(pair.swapped()), 20.0);
    }
}
