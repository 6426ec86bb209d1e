//! Whether the counts of a system call add up: `entered = Σ buckets + in flight + dropped`.
//!
//! "For every operation, results in all of the buckets are summed and then compared with the total
//! number of operations" (§5.8). Calls in flight are found by looking at tasks, so the equation can
//! fail, and is worth checking.
//!
//! Calls go on while they are read. So the counters are read before and after the tasks. If a system
//! call's counters are the same both times, the equation is exact. Otherwise the calls found in
//! flight are bounded: at most those that entered before the end and had not left before the
//! beginning, and at least those that entered before the beginning and left after the end.

use crate::layout::Counters;

/// The counts of one system call, over all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) entered: u64,
    /// With ended and dropped ones.
    pub(crate) settled: u64,
}

impl Sum {
    pub(crate) fn of(counters: &[Counters]) -> Sum {
        Sum {
            entered: counters.iter().map(|one| one.entered).sum(),
            settled: counters.iter().map(Counters::settled).sum(),
        }
    }
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Balance {
    /// The equation holds.
    Exact,
    /// Calls went on during the reading; what was found is within the bounds.
    Moving,
    /// Calls were lost or counted twice.
    Broken,
}

/// Checks a system call. `slack` is the number of CPUs: on each, an interrupt may hold up a program
/// between two of its steps.
pub(crate) fn check(before: Sum, after: Sum, in_flight: u64, slack: u64) -> Balance {
    if before == after {
        return match after.entered.checked_sub(after.settled) == Some(in_flight) {
            true => Balance::Exact,
            false if slack == 0 => Balance::Broken,
            // A program may be held up between its steps during the whole reading.
            false => match after.entered.abs_diff(after.settled + in_flight) <= slack {
                true => Balance::Moving,
                false => Balance::Broken,
            },
        };
    }
    let most = after.entered.saturating_sub(before.settled) + slack;
    let least = before.entered.saturating_sub(after.settled);
    let least = least.saturating_sub(slack);
    match (least..=most).contains(&in_flight) {
        true => Balance::Moving,
        false => Balance::Broken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(entered: u64, settled: u64) -> Sum {
        Sum { entered, settled }
    }

    #[test]
    fn a_still_system_call_must_add_up_exactly() {
        let still = sum(10, 8);
        assert_eq!(check(still, still, 2, 0), Balance::Exact);
        assert_eq!(check(still, still, 1, 0), Balance::Broken);
        assert_eq!(check(still, still, 3, 0), Balance::Broken);
        assert_eq!(check(still, still, 5, 2), Balance::Broken);
    }

    /// 10 entered and 8 left before; 7 more entered and 9 left meanwhile: none stayed throughout, and
    /// at most 9 were in flight at some time.
    #[test]
    fn a_moving_system_call_must_stay_within_its_bounds() {
        let (before, after) = (sum(10, 8), sum(17, 17));
        assert_eq!(check(before, after, 0, 0), Balance::Moving);
        assert_eq!(check(before, after, 9, 0), Balance::Moving);
        assert_eq!(check(before, after, 10, 0), Balance::Broken);
        assert_eq!(check(before, after, 10, 1), Balance::Moving);
        assert_eq!(check(sum(10, 2), sum(12, 5), 4, 0), Balance::Broken);
        assert_eq!(check(sum(10, 2), sum(12, 5), 5, 0), Balance::Moving);
    }
}
