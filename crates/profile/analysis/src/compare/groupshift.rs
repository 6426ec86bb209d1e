//! GROUPSHIFT, a seventh method: how far a peak moved, or by which factor it grew, beyond what
//! chance explains.
//!
//! GROUPOPS and GROUPLAT find peaks in each profile alone and then count them. A peak of a few
//! requests is found in one run and missed in the next, which makes the counts differ: a false
//! positive. They also compare numbers of operations, so that a run that was sampled, or lasted
//! longer, differs from itself. GROUPSHIFT differs in three points.
//!
//! 1. **Groups come from both profiles together.** Both are scaled to the smaller total and added;
//!    the peaks of the sum, each with the valleys around it, are the groups. A peak that only one
//!    profile has is a group in which the other has no requests.
//! 2. **Operations are compared after the run's scale** ([`Context::scale`]): only an operation
//!    that grew more than the others did has changed.
//! 3. **Chance is subtracted.** Counts are Poisson variables, so log₂(m/n) has the standard deviation
//!    √(1/n + 1/m) / ln 2; what is within [`Shifts::noise_sigmas`] of it is no difference. The
//!    earth mover's work within a group has an expected value too, since the sampling error of a
//!    cumulative share F is √(F·(1−F)·(1/n + 1/m)); [`Shifts::noise_works`] times its sum is
//!    subtracted.
//!
//! The score is the largest change of any group, in percent of a doubling: 100 means that a peak has
//! twice the operations or lies at twice the latency. More is capped, as the phases of §5.7.2 cap
//! theirs. The score is symmetric.
//!
//! Its limits: it sees nothing in profiles of a few requests, by design; groups that hold less than
//! [`Shifts::group_share`] of operations and of latency in both profiles are ignored.

use super::{Context, of_empty, phases};
use crate::peaks::{Detection, Stretch, low, stretches};
use crate::view::{Pair, View};

/// Settings of GROUPSHIFT.
#[derive(Clone, Debug, PartialEq)]
pub struct Shifts {
    /// Standard deviations of log₂(m/n) that chance explains.
    pub noise_sigmas: f64,
    /// Multiple of the expected earth mover's work that chance explains.
    pub noise_works: f64,
    /// Groups with a smaller share of operations and of latency in both profiles are ignored.
    pub group_share: f64,
    /// Criteria for a peak of the sum.
    pub detection: Detection,
    /// Which profiles are insignificant: the first phase of the paper's methods.
    pub phases: phases::Phases,
}

impl Default for Shifts {
    fn default() -> Self {
        Self {
            noise_sigmas: 3.0,
            noise_works: 2.0,
            group_share: 0.01,
            detection: Detection::default(),
            phases: phases::Phases::default(),
        }
    }
}

/// A peak of both profiles together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// Latency at which the peak begins, as [`Peak::from`](crate::peaks::Peak::from); requests of
    /// the group outside the peak are few.
    pub from: f64,
    /// Latency at which the peak ends.
    pub to: f64,
    /// Requests of the first profile in it.
    pub first: u64,
    /// Requests of the second profile.
    pub second: u64,
    /// log₂ of the factor by which the group grew, after the run's scale. Half a request is added
    /// to both counts, so that it is finite.
    pub growth: f64,
    /// Mean log₂ latency of the second profile's requests less that of the first's; 0 if either
    /// has none.
    pub movement: f64,
    /// Share of the total latency that the group holds: the larger of the two profiles'.
    pub latency_share: f64,
    /// Doublings by which the group grew or shrank beyond chance.
    pub grown: f64,
    /// Average doublings by which its requests moved beyond chance.
    pub moved: f64,
}

impl Group {
    /// Returns the larger change, in percent of a doubling.
    #[must_use]
    pub fn percent(&self) -> f64 {
        self.grown.max(self.moved) * 100.0
    }
}

/// Returns the largest change of a group, 0 to 100.
#[must_use]
pub fn score(pair: Pair<'_>, context: &Context, shifts: &Shifts) -> f64 {
    if phases::is_insignificant(pair, context, &shifts.phases) {
        return 0.0;
    }
    of_empty(pair).unwrap_or_else(|| {
        let changes = groups(pair, context, shifts);
        let percents = changes.iter().map(Group::percent);
        percents.fold(0.0, f64::max).min(100.0)
    })
}

/// Returns the groups that are large enough to matter, lowest latency first; none if a profile is
/// empty.
#[must_use]
pub fn groups(pair: Pair<'_>, context: &Context, shifts: &Shifts) -> Vec<Group> {
    if of_empty(pair).is_some() {
        return Vec::new();
    }
    let whole = Whole::new(pair, context);
    let found = found(pair, shifts);
    let borders = borders(&found, pair.len());
    let ranges = borders.windows(2).map(|ends| (ends[0], ends[1]));
    ranges
        .zip(&found)
        .filter(|(range, _)| whole.share(*range) >= shifts.group_share)
        .map(|(range, peak)| whole.change(range, peak, shifts))
        .collect()
}

/// Returns the peaks of both profiles together.
fn found(pair: Pair<'_>, shifts: &Shifts) -> Vec<Stretch> {
    let sum = sum(pair);
    stretches(View::new(&sum, pair.first.resolution()), &shifts.detection)
}

/// Returns the buckets at which groups begin, and the end of the last one.
fn borders(found: &[Stretch], buckets: usize) -> Vec<usize> {
    let between = found
        .windows(2)
        .map(|two| (two[0].last + two[1].first).div_ceil(2));
    let mut borders = vec![0];
    borders.extend(between);
    borders.push(buckets);
    borders
}

/// Adds both profiles, scaled to the smaller total: the larger one must not hide the other.
fn sum(pair: Pair<'_>) -> Vec<u64> {
    let totals = [
        pair.first.operations() as f64,
        pair.second.operations() as f64,
    ];
    let smaller = totals[0].min(totals[1]);
    let scaled = |count: u64, total: f64| count as f64 * (smaller / total);
    (0..pair.len())
        .map(|bucket| {
            let both = scaled(pair.first.at(bucket), totals[0])
                + scaled(pair.second.at(bucket), totals[1]);
            both.round() as u64
        })
        .collect()
}

/// Buckets `.0..` up to and without `.1`.
type Range = (usize, usize);

/// A pair with its totals.
struct Whole<'a> {
    pair: Pair<'a>,
    operations: [f64; 2],
    latency: [f64; 2],
    /// How many requests of the second profile correspond to one of the first.
    scale: f64,
}

impl<'a> Whole<'a> {
    fn new(pair: Pair<'a>, context: &Context) -> Self {
        let operations = [
            pair.first.operations() as f64,
            pair.second.operations() as f64,
        ];
        let own = operations[1] / operations[0];
        Self {
            pair,
            operations,
            latency: [pair.first.latency(), pair.second.latency()],
            scale: context.scale.filter(|scale| *scale > 0.0).unwrap_or(own),
        }
    }

    /// Returns the largest share that a range has: of operations or latency, in either profile.
    fn share(&self, range: Range) -> f64 {
        let of = |view: View<'_>, which: usize| {
            view.operations_in(range.0, range.1) as f64 / self.operations[which]
        };
        let operations = of(self.pair.first, 0).max(of(self.pair.second, 1));
        operations.max(self.latency_share(range))
    }

    fn latency_share(&self, range: Range) -> f64 {
        let first = self.pair.first.latency_in(range.0, range.1) / self.latency[0];
        first.max(self.pair.second.latency_in(range.0, range.1) / self.latency[1])
    }

    fn change(&self, range: Range, peak: &Stretch, shifts: &Shifts) -> Group {
        let (from, to) = range;
        let n = self.pair.first.operations_in(from, to);
        let m = self.pair.second.operations_in(from, to);
        let (growth, grown) = self.growth(n as f64, m as f64, shifts.noise_sigmas);
        let (movement, moved) = if n > 0 && m > 0 {
            self.movement(range, [n as f64, m as f64], shifts.noise_works)
        } else {
            (0.0, 0.0)
        };
        Group {
            from: low(self.pair.first, peak.first),
            to: self.pair.first.low(peak.last + 1),
            first: n,
            second: m,
            growth,
            movement,
            latency_share: self.latency_share(range),
            grown,
            moved,
        }
    }

    /// Returns log₂(m / (n · scale)), and how much of it chance does not explain.
    fn growth(&self, n: f64, m: f64, sigmas: f64) -> (f64, f64) {
        let (n, m) = (n + 0.5, m + 0.5);
        let growth = (m / n / self.scale).log2();
        let deviation = (1.0 / n + 1.0 / m).sqrt() / std::f64::consts::LN_2;
        (growth, (growth.abs() - sigmas * deviation).max(0.0))
    }

    /// Returns the difference of the centres in doublings, and the earth mover's work within the
    /// range that chance does not explain.
    fn movement(&self, range: Range, totals: [f64; 2], works: f64) -> (f64, f64) {
        let [n, m] = totals;
        let variance = 1.0 / n + 1.0 / m;
        let (mut below_n, mut below_m) = (0.0, 0.0);
        let (mut movement, mut work, mut chance) = (0.0, 0.0, 0.0);
        for bucket in range.0..range.1 {
            below_n += self.pair.first.at(bucket) as f64;
            below_m += self.pair.second.at(bucket) as f64;
            let apart = below_n / n - below_m / m;
            let share = (below_n + below_m) / (n + m);
            movement += apart;
            work += apart.abs();
            chance += (share * (1.0 - share) * variance).max(0.0).sqrt();
        }
        let per_doubling = f64::from(self.pair.first.resolution().get());
        let moved = (work - works * chance).max(0.0) / per_doubling;
        (movement / per_doubling, moved)
    }
}
