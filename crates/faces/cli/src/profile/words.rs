//! Times, shares and bars as people read them.

/// Returns a time with a unit and two or three significant digits.
pub(super) fn time(seconds: f64) -> String {
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")];
    let fits = |(unit, _): &(f64, &str)| seconds >= *unit;
    let (unit, name) = units.into_iter().find(fits).unwrap_or((1e-9, "ns"));
    let number = seconds / unit;
    match number {
        0.0..10.0 => format!("{number:.1} {name}"),
        _ => format!("{number:.0} {name}"),
    }
}

/// Returns a share, 0 to 1, in percent.
pub(super) fn percent(share: f64) -> String {
    match share * 100.0 {
        percent @ 0.0..0.1 if percent > 0.0 => "<0.1 %".to_owned(),
        percent => format!("{percent:.1} %"),
    }
}

/// Returns a number with commas between groups of three digits.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a bar for a count on a logarithmic axis, as the paper's figures have it.
pub(super) fn bar(count: u64, most: u64, width: usize) -> String {
    let height = |count: u64| (count as f64).ln_1p();
    let share = height(count) / height(most.max(1));
    "█".repeat((share * width as f64).ceil() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units_and_groups() {
        assert_eq!(time(0.0), "0.0 ns");
        assert_eq!(time(25e-9), "25 ns");
        assert_eq!(time(1.24e-6), "1.2 µs");
        assert_eq!(time(0.0456), "46 ms");
        assert_eq!(time(93.0), "93 s");
        assert_eq!(percent(0.0), "0.0 %");
        assert_eq!(percent(0.0004), "<0.1 %");
        assert_eq!(percent(0.123), "12.3 %");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(123), "123");
        assert_eq!(bar(0, 100, 40), "");
        assert_eq!(bar(100, 100, 40).chars().count(), 40);
        assert_eq!(bar(1, 1_000_000, 40).chars().count(), 3);
    }
}
