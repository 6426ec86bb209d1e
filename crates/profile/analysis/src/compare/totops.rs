//! TOTOPS: "The degree of difference between the profiles is equal to the normalized difference of
//! the total number of operations: D = |Σnᵢ − Σmᵢ| / Σnᵢ × 100" (§5.7.1).

use super::percent;
use crate::view::Pair;

/// Returns the difference in percent of the first profile's operations.
#[must_use]
pub fn score(pair: Pair<'_>) -> f64 {
    percent(
        pair.first.operations() as f64,
        pair.second.operations() as f64,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::View;
    use trawl_histogram::Resolution;

    #[test]
    fn the_difference_is_relative_to_the_first_profile() {
        // Σn = 10 + 30 = 40, Σm = 20 + 40 + 10 = 70: |40 − 70| / 40 × 100 = 75.
        let (n, m) = ([10, 30, 0], [20, 40, 10]);
        let pair = Pair::new(
            View::new(&n, Resolution::ONE),
            View::new(&m, Resolution::ONE),
        )
        .unwrap();
        assert_eq!(score(pair), 75.0);
        // |70 − 40| / 70 × 100 = 42.857…
        assert!((score(pair.swapped()) - 300.0 / 7.0).abs() < 1e-9);
    }
}
