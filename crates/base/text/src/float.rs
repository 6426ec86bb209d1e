//! Formats floating-point numbers as C's `%g`: the shorter of fixed and
//! scientific notation.

/// Formats `value` as printf(3) does with `%.{precision}g`.
///
/// Infinities are `inf` and `-inf`; NaN is `nan`.
pub fn general(value: f64, precision: usize) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.into();
    }
    let precision = precision.clamp(1, 400);
    let scientific = format!("{value:.*e}", precision - 1);
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 || exponent >= precision as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trim(digits), exponent.abs());
    }
    let places = (precision as i32 - 1 - exponent).max(0) as usize;
    trim(&format!("{value:.places$}")).to_owned()
}

/// Removes trailing zeros of a fraction.
fn trim(digits: &str) -> &str {
    if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_c_prints_it() {
        for (value, precision, expected) in [
            (1.0, 6, "1"),
            (4096.0, 6, "4096"),
            (0.5, 6, "0.5"),
            (1234567.0, 6, "1.23457e+06"),
            (0.0001, 6, "0.0001"),
            (0.00001, 6, "1e-05"),
            (4096.0, 3, "4.1e+03"),
            (0.0, 6, "0"),
            (f64::INFINITY, 6, "inf"),
            (2.0 / 3.0, 6, "0.666667"),
            (999999.5, 6, "1e+06"),
        ] {
            assert_eq!(general(value, precision), expected, "{value}");
        }
    }
}
