//! Figures as people read them: times, counts and shares.

use crate::words::grouped;

/// Returns a time with three digits and its unit: "1.54 µs", "4 ms", "3 min".
pub fn time(seconds: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")];
    let minutes = seconds / 60.0;
    if !seconds.is_finite() {
        "for ever".to_owned()
    } else if minutes >= 60.0 * 48.0 {
        format!("{} days", digits(minutes / 1440.0))
    } else if minutes >= 120.0 {
        format!("{} h", digits(minutes / 60.0))
    } else if minutes >= 2.0 {
        format!("{} min", digits(minutes))
    } else if seconds <= 0.0 {
        "0 s".to_owned()
    } else {
        // 999.5 µs would be rounded to 1000 µs.
        let fits = |(unit, _): &&(f64, &str)| seconds >= unit * 0.9995;
        let (unit, name) = UNITS.iter().find(fits).unwrap_or(&(1e-9, "ns"));
        format!("{} {name}", digits(seconds / unit))
    }
}

/// Returns a range of times, as peaks of latencies are described everywhere: "32.8 µs to 131 µs".
pub fn times(from_seconds: f64, to_seconds: f64) -> String {
    format!("{} to {}", time(from_seconds), time(to_seconds))
}

/// Returns a positive number with at most three significant digits.
fn digits(number: f64) -> String {
    let decimals = match number {
        99.95.. => 0,
        9.995.. => 1,
        0.0995.. => 2,
        _ => 3,
    };
    if decimals == 0 {
        return grouped(number.round() as u64);
    }
    let text = format!("{number:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns a count with all its digits, in groups of three: "1,234,567".
pub fn count(number: u64) -> String {
    grouped(number)
}

/// Returns a power of ten as the label of an axis: "1", "100", "10 k", "1 M".
pub fn power(exponent: i32) -> String {
    const PREFIXES: [&str; 7] = ["", " k", " M", " G", " T", " P", " E"];
    let at = usize::try_from(exponent / 3).unwrap_or(0);
    let zeros = usize::try_from(exponent % 3).unwrap_or(0);
    let prefix = PREFIXES.get(at).copied().unwrap_or("");
    format!("1{}{prefix}", "0".repeat(zeros))
}

/// Returns a share of a whole in percent: "83 %", "0.4 %", "under 0.1 %".
pub fn share(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        99.5.. if share < 1.0 => "over 99 %".to_owned(),
        9.95.. => format!("{percent:.0} %"),
        0.1.. => format!("{} %", digits((percent * 10.0).round() / 10.0)),
        _ if percent > 0.0 => "under 0.1 %".to_owned(),
        _ => "0 %".to_owned(),
    }
}

/// Returns "1 call" or "1,234 calls".
pub fn calls(number: u64) -> String {
    match number {
        1 => "1 call".to_owned(),
        _ => format!("{} calls", count(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_the_unit_that_fits() {
        let cases = [
            (0.0, "0 s"),
            (1.5e-9, "1.5 ns"),
            (56e-6, "56 µs"),
            (999.6e-6, "1 ms"),
            (4e-3, "4 ms"),
            (0.2, "200 ms"),
            (1.234, "1.23 s"),
            (119.0, "119 s"),
            (180.0, "3 min"),
            (7200.0, "2 h"),
            (86400.0 * 3.0, "3 days"),
        ];
        for (seconds, text) in cases {
            assert_eq!(time(seconds), text);
        }
    }

    #[test]
    fn counts_keep_every_digit() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(27408), "27,408");
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(calls(1), "1 call");
    }

    #[test]
    fn shares_never_claim_all_or_nothing_falsely() {
        assert_eq!(share(0.9999), "over 99 %");
        assert_eq!(share(1.0), "100 %");
        assert_eq!(share(0.0001), "under 0.1 %");
        assert_eq!(share(0.0), "0 %");
        assert_eq!(share(0.834), "83 %");
        assert_eq!(share(0.0042), "0.4 %");
    }

    #[test]
    fn powers_of_ten_use_prefixes() {
        let all: Vec<String> = (0..8).map(power).collect();
        assert_eq!(
            all,
            ["1", "10", "100", "1 k", "10 k", "100 k", "1 M", "10 M"]
        );
    }
}
