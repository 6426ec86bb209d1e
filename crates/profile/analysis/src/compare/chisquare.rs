//! CHISQUARE: "χ² = Σ (nᵢ − mᵢ)² / (nᵢ + mᵢ). The χ value can be mapped to the probability value P
//! between 0 and 1, where a small value indicates a significant difference between the
//! distributions. To match the semantics and scale of the previous two tests, we present
//! D = (1 − P) × 100." (§5.7.1)
//!
//! P is the probability that χ² is at least as large by chance: the regularised upper incomplete
//! gamma function Q(ν/2, χ²/2). The degrees of freedom ν are the buckets filled in either profile,
//! since nothing forces the two totals to be equal (*Numerical Recipes*, which the paper cites as
//! \[83\]: `chstwo` with `knstrn` = 0). Buckets empty in both contribute neither.

use super::of_empty;
use crate::view::Pair;

/// Returns (1 − P) × 100.
#[must_use]
pub fn score(pair: Pair<'_>) -> f64 {
    if let Some(score) = of_empty(pair) {
        return score;
    }
    let (chi_square, degrees) = statistic(pair);
    (1.0 - probability(chi_square, degrees)) * 100.0
}

/// Returns χ² and its degrees of freedom.
#[must_use]
pub fn statistic(pair: Pair<'_>) -> (f64, u32) {
    let mut chi_square = 0.0;
    let mut degrees = 0;
    for bucket in 0..pair.len() {
        let (n, m) = (pair.first.at(bucket), pair.second.at(bucket));
        if n > 0 || m > 0 {
            let apart = n.abs_diff(m) as f64;
            chi_square += apart * apart / (n as f64 + m as f64);
            degrees += 1;
        }
    }
    (chi_square, degrees)
}

/// Returns the probability that a χ² of so many degrees of freedom is at least `chi_square`.
#[must_use]
pub fn probability(chi_square: f64, degrees: u32) -> f64 {
    if degrees == 0 || chi_square <= 0.0 {
        return 1.0;
    }
    let (a, x) = (f64::from(degrees) / 2.0, chi_square / 2.0);
    // x^a e^-x / Γ(a), the factor of both expansions.
    let factor = (a * x.ln() - x - ln_gamma_of_half(degrees)).exp();
    if x < a + 1.0 {
        1.0 - factor * lower_series(a, x)
    } else {
        factor * upper_fraction(a, x)
    }
}

/// Returns ln Γ(k/2), from Γ(1/2) = √π, Γ(1) = 1 and Γ(a + 1) = a·Γ(a).
fn ln_gamma_of_half(k: u32) -> f64 {
    let odd = k % 2 == 1;
    let (start, base) = if odd {
        (1, std::f64::consts::PI.sqrt().ln())
    } else {
        (2, 0.0)
    };
    let steps = (start..k).step_by(2);
    base + steps.map(|step| (f64::from(step) / 2.0).ln()).sum::<f64>()
}

/// Terms after which an expansion has converged for any number of buckets.
const TERMS_MOST: u32 = 10_000;
/// Relative size of a term that no longer changes the sum.
const NEGLIGIBLE: f64 = 1e-15;

/// Σ xⁱ / (a·(a+1)···(a+i)): the lower incomplete gamma function without its factor.
fn lower_series(a: f64, x: f64) -> f64 {
    let mut term = 1.0 / a;
    let mut sum = term;
    for step in 1..TERMS_MOST {
        term *= x / (a + f64::from(step));
        sum += term;
        if term < sum * NEGLIGIBLE {
            break;
        }
    }
    sum
}

/// 1/(x+1−a − 1·(1−a)/(x+3−a − 2·(2−a)/(x+5−a − …))): the upper one, by Lentz's method.
fn upper_fraction(a: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / b;
    let mut value = d;
    for step in 1..TERMS_MOST {
        let i = f64::from(step);
        let numerator = -i * (i - a);
        b += 2.0;
        d = 1.0 / away_from_zero(numerator * d + b, TINY);
        c = away_from_zero(b + numerator / c, TINY);
        value *= d * c;
        if (d * c - 1.0).abs() < NEGLIGIBLE {
            break;
        }
    }
    value
}

fn away_from_zero(value: f64, tiny: f64) -> f64 {
    if value.abs() < tiny { tiny } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::View;
    use trawl_histogram::Resolution;

    #[test]
    fn chi_square_is_the_sum_of_the_paper() {
        // (10 − 20)²/30 + (5 − 5)²/10 + (0 − 4)²/4 = 3.333… + 0 + 4; the last bucket is empty.
        let (n, m) = ([10, 5, 0, 0], [20, 5, 4, 0]);
        let pair = Pair::new(
            View::new(&n, Resolution::ONE),
            View::new(&m, Resolution::ONE),
        )
        .unwrap();
        let (chi_square, degrees) = statistic(pair);
        assert!((chi_square - 22.0 / 3.0).abs() < 1e-12);
        assert_eq!(degrees, 3);
        assert_eq!(score(pair), score(pair.swapped()));
    }

    #[test]
    fn probabilities_are_those_of_printed_tables() {
        // Critical values of χ² (any statistics textbook): degrees, value, upper tail.
        let table = [
            (1, 3.841, 0.05),
            (1, 6.635, 0.01),
            (2, 5.991, 0.05),
            (3, 7.815, 0.05),
            (5, 11.070, 0.05),
            (5, 0.831, 0.975),
            (10, 18.307, 0.05),
            (10, 29.588, 0.001),
            (20, 31.410, 0.05),
            (30, 50.892, 0.01),
            (100, 124.342, 0.05),
            (100, 77.929, 0.95),
        ];
        for (degrees, value, tail) in table {
            let computed = probability(value, degrees);
            // The tables have three decimals of χ².
            assert!(
                (computed - tail).abs() < 2e-4,
                "{degrees} {value}: {computed}"
            );
        }
    }

    #[test]
    fn two_degrees_of_freedom_have_a_closed_form() {
        for x in [0.1_f64, 1.0, 3.0, 10.0, 100.0, 600.0] {
            // Q(1, x/2) = e^(−x/2).
            let exact = (-x / 2.0).exp();
            assert!((probability(x, 2) - exact).abs() <= exact * 1e-12, "{x}");
        }
        assert_eq!(probability(1e9, 7), 0.0);
    }
}
