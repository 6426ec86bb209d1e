//! Bars of histograms.

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
    fn bars_are_logarithmic() {
        assert_eq!(bar(0, 100, 40), "");
        assert_eq!(bar(100, 100, 40).chars().count(), 40);
        assert_eq!(bar(1, 1_000_000, 40).chars().count(), 3);
    }
}
