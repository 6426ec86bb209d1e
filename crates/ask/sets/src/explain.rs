//! The performance model's parameters as one run fits them, its prediction, and what was measured.

use std::time::Duration;

use crate::model::{Load, Work};
use crate::stats::Stats;

/// Requests in flight are told apart up to this number, by powers of two.
const LEVELS: usize = 8;

/// Sums of fetches that began with about as many requests in flight.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    count: f64,
    bytes: f64,
    time: f64,
    bytes_squared: f64,
    bytes_time: f64,
}

/// Sums of one place's fetches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fit {
    levels: [Sums; LEVELS],
    count: u64,
    bytes: u64,
    time: Duration,
}

impl Fit {
    /// Adds a fetch of `bytes` that took `time` and began as the `level`th in flight.
    pub(crate) fn add(&mut self, bytes: u64, time: Duration, level: usize) {
        self.count += 1;
        self.bytes += bytes;
        self.time += time;
        let at = level.max(1).ilog2() as usize;
        let sums = &mut self.levels[at.min(LEVELS - 1)];
        let (x, y) = (bytes as f64, time.as_secs_f64());
        sums.count += 1.0;
        sums.bytes += x;
        sums.time += y;
        sums.bytes_squared += x * x;
        sums.bytes_time += x * y;
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn time(&self) -> Duration {
        self.time
    }

    /// Returns latency in seconds and bandwidth in bytes per second, from the fetches with the
    /// fewest others in flight: those that a plain loop would see. A least-squares line where the
    /// sizes differ enough; otherwise the mean time is all latency.
    fn line(&self) -> (f64, f64) {
        let enough = self.levels.iter().find(|sums| sums.count >= 3.0);
        let any = self.levels.iter().find(|sums| sums.count > 0.0);
        let Some(sums) = enough.or(any) else {
            return (0.0, f64::INFINITY);
        };
        let (mean_x, mean_y) = (sums.bytes / sums.count, sums.time / sums.count);
        let variance = sums.bytes_squared / sums.count - mean_x * mean_x;
        let covariance = sums.bytes_time / sums.count - mean_x * mean_y;
        let slope = covariance / variance;
        let latency = mean_y - slope * mean_x;
        match variance > 0.01 * mean_x * mean_x && slope > 0.0 && latency > 0.0 {
            true => (latency, slope.recip()),
            false => (mean_y, f64::INFINITY),
        }
    }
}

/// The fitted parameters of one place.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedPlace {
    /// The place, as it is shown to a user.
    pub place: String,
    /// Members, bytes, latency, bandwidth and requests in flight.
    pub load: Load,
}

/// Why a set took as long as it did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explanation {
    /// The places that members were fetched from.
    pub places: Vec<FittedPlace>,
    /// Processing time for each delivered member.
    pub processing_per_member: Duration,
    /// Time that the model gives a plain loop.
    pub predicted_plain: Duration,
    /// Time that the model gives this set.
    pub predicted_set: Duration,
    /// Time that this set took.
    pub measured: Duration,
    /// `predicted_plain` less `measured`; 0 if the set took longer.
    pub saved: Duration,
}

fn seconds(time: f64) -> Duration {
    Duration::try_from_secs_f64(time.max(0.0)).unwrap_or(Duration::ZERO)
}

/// Fits the model to a run. The plain loop's prediction includes the time of expansion; the set's
/// does not, because the two overlap.
pub(crate) fn explain<'a>(
    stats: &Stats,
    fits: impl Iterator<Item = (&'a Fit, usize)>,
) -> Explanation {
    let places = stats
        .places
        .iter()
        .zip(fits)
        .filter(|(_, (fit, _))| fit.count > 0);
    let places: Vec<FittedPlace> = places
        .map(|(place, (fit, window))| {
            let (latency, bandwidth) = fit.line();
            let load = Load {
                objects: fit.count as f64,
                bytes: fit.bytes as f64,
                latency,
                bandwidth,
                window: window.min(place.in_flight_max.max(1)) as f64,
            };
            FittedPlace {
                place: place.place.clone(),
                load,
            }
        })
        .collect();
    let delivered = stats.delivered.max(1) as f64;
    // Several consumers process at the same time; a loop has one.
    let consumers = stats.consumers.max(1) as f64;
    let processing = stats.processing_time.as_secs_f64();
    let mut work = Work {
        places: places.iter().map(|place| place.load).collect(),
        ..Work::default()
    };
    let fetching = work.plain();
    let objects: f64 = work.places.iter().map(|place| place.objects).sum();
    work.processing_per_object = processing / delivered / consumers;
    let cached = (delivered - objects).max(0.0) * work.processing_per_object;
    let predicted_plain = seconds(fetching + processing + stats.expansion_time.as_secs_f64());
    Explanation {
        places,
        processing_per_member: seconds(processing / delivered),
        predicted_plain,
        predicted_set: seconds(work.set() + cached),
        measured: stats.elapsed,
        saved: predicted_plain.saturating_sub(stats.elapsed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::PlaceStats;

    #[test]
    fn fits_latency_and_bandwidth_from_the_least_crowded_fetches() {
        let mut fit = Fit::default();
        for number in 0..50u64 {
            let bytes = 1000 * (number % 10);
            let time = Duration::from_micros(20_000 + bytes);
            fit.add(bytes, time, 1);
            fit.add(bytes, time * 9, 16);
        }
        let (latency, bandwidth) = fit.line();
        assert!((latency - 0.02).abs() < 1e-6, "{latency}");
        assert!((bandwidth - 1e6).abs() < 1.0, "{bandwidth}");
        let mut alike = Fit::default();
        alike.add(4096, Duration::from_millis(5), 1);
        assert_eq!(alike.line(), (0.005, f64::INFINITY));
    }

    #[test]
    fn a_set_saves_what_a_plain_loop_takes_longer() {
        let millis = Duration::from_millis;
        let mut fit = Fit::default();
        for level in 0..40 {
            fit.add(4096, millis(10), level % 4);
        }
        let mut stats = Stats {
            delivered: 50,
            processing_time: millis(200),
            expansion_time: millis(50),
            elapsed: millis(300),
            consumers: 1,
            places: vec![PlaceStats {
                place: "here".into(),
                in_flight_max: 4,
                ..PlaceStats::default()
            }],
            ..Stats::default()
        };
        let explained = explain(&stats, [(&fit, 8)].into_iter());
        // 40 fetches of 10 ms one after the other, the names, and all processing.
        assert_eq!(explained.predicted_plain, millis(400 + 50 + 200));
        assert_eq!(explained.saved, millis(350));
        assert_eq!(explained.processing_per_member, millis(4));
        assert_eq!(explained.places[0].load.window, 4.0);
        // The first fetch, then the processing of all, ten of which were cached: members arrive
        // faster than they are processed.
        assert_eq!(explained.predicted_set, millis(10 + 50 * 4));
        stats.elapsed = millis(700);
        let explained = explain(&stats, [(&fit, 8)].into_iter());
        assert_eq!(explained.saved, Duration::ZERO);
    }
}
