//! Finds the peaks of a histogram, and names the characteristic times near them.
//!
//! "Otherwise, we distinguish the peaks on the profiles using derivatives." (§5.7.2) The derivative
//! of a histogram is the difference of neighbouring buckets; a peak is a stretch in which it turns
//! from positive to negative. Chance makes such turns too, so a valley separates two peaks only if
//!
//! - it is deeper below the smaller peak than [`Detection::noise_sigmas`] standard deviations of
//!   counting noise. A count `n` is a Poisson variable; 2·√(n + 3/8) has the standard deviation 1
//!   whatever `n` is (Anscombe's transform), so differences of it are standard deviations; and
//! - it is visible: its count is at most [`Detection::valley_most`] times the smaller peak's.
//!
//! Fewer requests than rise above nothing, a doubling away from every peak, belong to none: they
//! are *stray*. If all requests are, the histogram has one peak, which spans them.
//!
//! "If some of the profiles have a peak close to these times, then we can hypothesize right away
//! that it is related to that corresponding OS activity." (§3.1.2) [`CharacteristicTime`]s are
//! measured elsewhere.

use std::ops::RangeInclusive;

use crate::causes;
use crate::view::View;

/// How far beside a peak's highest bucket a characteristic time may lie, as a factor: a quarter of a
/// doubling, since a measured median is no exact time.
const BESIDE: f64 = 1.19;

/// Criteria for a peak.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detection {
    /// Standard deviations of counting noise that a peak must rise above the valley beside it.
    pub noise_sigmas: f64,
    /// Highest count of a valley, as a share of the smaller peak beside it.
    pub valley_most: f64,
    /// Width of the windows whose sums are searched, in doublings of the latency: finer
    /// histograms spread a peak over more buckets, so each holds more noise.
    pub smoothing_doublings: f64,
}

impl Default for Detection {
    /// Three standard deviations, valleys no higher than 70 % of the peak, and windows of half a
    /// doubling: no smoothing for one or two buckets a doubling.
    fn default() -> Self {
        Self {
            noise_sigmas: 3.0,
            valley_most: 0.7,
            smoothing_doublings: 0.5,
        }
    }
}

/// A time that an activity of the machine is known to take (§3.1.2).
#[derive(Clone, Debug, PartialEq)]
pub struct CharacteristicTime {
    /// Name of the activity, such as `context switch`.
    pub name: String,
    /// Its time.
    pub time: f64,
}

/// A characteristic time near a peak.
#[derive(Clone, Debug, PartialEq)]
pub struct Near {
    /// Name of the activity.
    pub name: String,
    /// The activity's time.
    pub time: f64,
    /// The larger of the two times, divided by the smaller: 1 is exact.
    pub factor: f64,
}

/// A peak of a histogram.
#[derive(Clone, Debug, PartialEq)]
pub struct Peak {
    /// First bucket.
    pub first: usize,
    /// Last bucket.
    pub last: usize,
    /// Bucket with the highest count.
    pub mode: usize,
    /// Latencies at which that bucket and the one after it begin.
    pub mode_bounds: (f64, f64),
    /// Lowest latency of the first bucket; 0 for bucket 0, which also holds latencies of 0.
    pub from: f64,
    /// Latency at which the bucket after the last begins.
    pub to: f64,
    /// Geometric mean latency of the peak's requests.
    pub centre: f64,
    /// Number of requests.
    pub operations: u64,
    /// Share of the histogram's requests, 0 to 1.
    pub operations_share: f64,
    /// Estimated total latency of the requests.
    pub latency: f64,
    /// Share of the histogram's estimated total latency, 0 to 1.
    pub latency_share: f64,
}

impl Peak {
    /// Returns the peak's buckets, as [`Correlated`](trawl_histogram::Correlated) wants them: "we
    /// sort OS requests based on the peak they belong to according to their measured latency"
    /// (§3.1.6).
    #[must_use]
    pub fn buckets(&self) -> RangeInclusive<u16> {
        // A histogram has at most `BUCKETS_MAX` buckets.
        let number = |bucket: usize| u16::try_from(bucket).unwrap_or(u16::MAX);
        number(self.first)..=number(self.last)
    }

    /// Returns the characteristic times within `factor` of the peak's centre that lie in its highest
    /// bucket or at most a quarter of a doubling beside it, nearest first. Activities that are no
    /// part of `operation` at `layer` are left out ([`causes::can_cause`]).
    #[must_use]
    pub fn near(
        &self,
        times: &[CharacteristicTime],
        factor: f64,
        (layer, operation): (&str, &str),
    ) -> Vec<Near> {
        let apart = |time: &CharacteristicTime| {
            let ratio = time.time / self.centre;
            ratio.max(ratio.recip())
        };
        let (low, high) = self.mode_bounds;
        let beside = |time: &CharacteristicTime| (low / time.time).max(time.time / high);
        let mut near: Vec<Near> = times
            .iter()
            .filter(|time| time.time > 0.0 && apart(time) <= factor && beside(time) <= BESIDE)
            .filter(|time| causes::can_cause(&time.name, layer, operation))
            .map(|time| Near {
                name: time.name.clone(),
                time: time.time,
                factor: apart(time),
            })
            .collect();
        near.sort_by(|a, b| a.factor.total_cmp(&b.factor));
        near
    }
}

/// Returns the peaks of a histogram, lowest latency first.
#[must_use]
pub fn peaks(view: View<'_>, detection: &Detection) -> Vec<Peak> {
    let stretches = stretches(view, detection);
    if stretches.is_empty() {
        return Vec::new();
    }
    let all = (view.operations() as f64, view.latency());
    stretches
        .iter()
        .map(|stretch| describe(view, stretch, all))
        .collect()
}

/// Returns the lowest latency of a bucket: bucket 0 also holds latencies of 0.
pub(crate) fn low(view: View<'_>, bucket: usize) -> f64 {
    match bucket {
        0 => 0.0,
        _ => view.low(bucket),
    }
}

fn describe(view: View<'_>, stretch: &Stretch, all: (f64, f64)) -> Peak {
    let (from, to) = (stretch.first, stretch.last + 1);
    let operations = view.operations_in(from, to);
    let latency = view.latency_in(from, to);
    Peak {
        first: stretch.first,
        last: stretch.last,
        mode: stretch.mode,
        mode_bounds: (view.low(stretch.mode), view.low(stretch.mode + 1)),
        from: low(view, from),
        to: view.low(to),
        centre: centre_log2(view, from, to).exp2(),
        operations,
        operations_share: operations as f64 / all.0,
        latency,
        latency_share: latency / all.1,
    }
}

/// Returns the mean log₂ latency of the requests in the buckets `from..to`.
pub(crate) fn centre_log2(view: View<'_>, from: usize, to: usize) -> f64 {
    let mut sum = 0.0;
    let mut operations = 0.0;
    for (bucket, count) in view.filled_in(from, to) {
        sum += count * view.centre_log2(bucket);
        operations += count;
    }
    if operations > 0.0 {
        sum / operations
    } else {
        view.centre_log2(from)
    }
}

/// Buckets around one maximum; neighbouring stretches share no bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) first: usize,
    pub(crate) last: usize,
    pub(crate) mode: usize,
    /// Smoothed count of `mode`.
    height: u64,
    /// Lowest smoothed count between the stretch before and this one.
    valley_before: u64,
    /// Empty buckets between the stretch before and this one.
    gap_before: usize,
}

/// Returns the stretches of a histogram that are peaks.
pub(crate) fn stretches(view: View<'_>, detection: &Detection) -> Vec<Stretch> {
    let smooth = smoothed(view, detection);
    let mut found = climbs(smooth.as_deref().unwrap_or(view.counts()));
    let doubling = view.per_doubling();
    while let Some(at) = weakest(&found, doubling, detection) {
        found[at - 1] = join(found[at - 1], found[at]);
        found.remove(at);
    }
    if found.len() > 1 {
        let whole = join(found[0], found[found.len() - 1]);
        found.retain(|one| stands_out(view.operations_in(one.first, one.last + 1), 0, detection));
        if found.is_empty() {
            found.push(whole);
        }
    }
    for one in &mut found {
        trim(one, view);
    }
    found
}

/// Returns sums over windows of [`Detection::smoothing_doublings`]; `None` if a window is one
/// bucket. Sums of counts are counts, so the test for noise holds for them.
fn smoothed(view: View<'_>, detection: &Detection) -> Option<Vec<u64>> {
    let window = f64::from(view.resolution().get()) * detection.smoothing_doublings;
    let half = (window / 2.0) as usize;
    let buckets = 0..view.counts().len();
    let around = |at: usize| view.operations_in(at.saturating_sub(half), at + half + 1);
    (half > 0).then(|| buckets.map(around).collect())
}

/// Cuts counts at the bottom of every valley: each part rises to one maximum and falls again.
fn climbs(counts: &[u64]) -> Vec<Stretch> {
    let mut parts: Vec<Stretch> = Vec::new();
    let (mut before, mut falling, mut gap) = (0, true, 0);
    for (bucket, &count) in counts.iter().enumerate() {
        if count > before && falling {
            parts.push(Stretch {
                first: bucket,
                last: bucket,
                mode: bucket,
                height: count,
                valley_before: before,
                gap_before: gap,
            });
            falling = false;
        } else if count < before {
            falling = true;
        }
        gap = if count == 0 { gap + 1 } else { 0 };
        before = count;
        if let Some(part) = parts.last_mut().filter(|_| count > 0) {
            part.last = bucket;
            if count > part.height {
                (part.height, part.mode) = (count, bucket);
            }
        }
    }
    parts
}

/// Returns the stretch that rises least above the valley before it, or above whose valley the
/// stretch before it rises least, if that rise is noise.
fn weakest(found: &[Stretch], doubling: usize, detection: &Detection) -> Option<usize> {
    let lower = |at: usize| found[at - 1].height.min(found[at].height);
    let joins = |at: &usize| {
        let right = &found[*at];
        right.gap_before < doubling && !stands_out(lower(*at), right.valley_before, detection)
    };
    let rise = |at: &usize| steady(lower(*at)) - steady(found[*at].valley_before);
    (1..found.len())
        .filter(joins)
        .min_by(|a, b| rise(a).total_cmp(&rise(b)))
}

fn join(left: Stretch, right: Stretch) -> Stretch {
    let higher = if right.height > left.height {
        right
    } else {
        left
    };
    Stretch {
        first: left.first,
        last: right.last,
        mode: higher.mode,
        height: higher.height,
        valley_before: left.valley_before,
        gap_before: left.gap_before,
    }
}

/// Leaves out empty buckets at the ends, which smoothing filled, and finds the highest bucket.
fn trim(stretch: &mut Stretch, view: View<'_>) {
    let filled = view.filled_in(stretch.first, stretch.last + 1);
    let mut highest = 0.0;
    let mut range = None;
    for (bucket, count) in filled {
        range = Some((range.map_or(bucket, |(first, _)| first), bucket));
        if count > highest {
            (highest, stretch.mode) = (count, bucket);
        }
    }
    (stretch.first, stretch.last) = range.unwrap_or((stretch.first, stretch.last));
}

/// Returns whether a peak rises above a valley more than chance explains, and visibly.
fn stands_out(peak: u64, valley: u64, detection: &Detection) -> bool {
    let rise = steady(peak) - steady(valley);
    rise >= detection.noise_sigmas && valley as f64 <= peak as f64 * detection.valley_most
}

/// Anscombe's transform: its standard deviation is 1 for counts of any size.
fn steady(count: u64) -> f64 {
    2.0 * (count as f64 + 0.375).sqrt()
}

/// Returns the share of requests beyond the fastest peak, 0 to 1: "The page cache miss ratio is
/// calculated as the sum of the operations in the middle and slowest peaks over the total number of
/// operations." (Table 8.2)
#[must_use]
pub fn missed_share(peaks: &[Peak]) -> f64 {
    let sum = |peaks: &[Peak]| peaks.iter().map(|peak| peak.operations as f64).sum::<f64>();
    crate::preprocess::share(sum(peaks.get(1..).unwrap_or(&[])), sum(peaks))
}
