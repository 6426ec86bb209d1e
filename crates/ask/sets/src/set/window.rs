//! How many requests are in flight at one place: as many as bring more throughput.
//!
//! The window climbs from level to level. A level is kept only if it brings clearly more than the
//! one below it; if not, it is tried again later, less and less often. Completions are counted in
//! rounds. A round counts only if the window was full at its time, because otherwise the place was
//! not what limited it.
//!
//! Latencies are no measure: on a busy machine they rise by themselves. For the same reason the
//! window never stays below [`FLOOR`], which no place minds.

use std::time::{Duration, Instant};

/// Level that a place begins with.
const FIRST: usize = 4;
/// Lowest level that is left for a lower one.
const FLOOR: usize = 6;
/// The levels; beyond the last one, each is twice the one before.
const LEVELS: [usize; 9] = [1, 2, 4, 6, 8, 12, 16, 24, 32];
/// How much more throughput a level must bring than the one below it.
const GAIN: f64 = 1.08;
/// How much more a doubled level must bring at the beginning, to be doubled again.
const FIRST_GAIN: f64 = 1.25;
/// Minimum length of a round.
const ROUND: Duration = Duration::from_millis(2);
/// Number of rounds after which a level that brought nothing is tried again, at first.
const PAUSE: u32 = 16;
/// The same, at most.
const PAUSE_MAX: u32 = 256;
/// A rate that is older is forgotten, in rounds.
const MEMORY: u32 = 512;

/// The throughput of a level, and when to try the level again.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    /// Completions a second; 0 is unknown.
    rate: f64,
    /// Round in which the rate was measured last.
    measured: u32,
    /// Round from which on the level is tried again, and the pause before that.
    again: u32,
    pause: u32,
}

/// The window of one place.
#[derive(Debug)]
pub(crate) struct Window {
    max: usize,
    level: usize,
    levels: Vec<Level>,
    /// Number of rounds at this level.
    stayed: u32,
    is_starting: bool,
    round: u32,
    round_begin: Option<Instant>,
    count: u32,
    full: u32,
}

/// Returns the number of requests of a level.
fn requests(level: usize) -> usize {
    match LEVELS.get(level) {
        Some(requests) => *requests,
        None => LEVELS[LEVELS.len() - 1] << (level - LEVELS.len() + 1).min(24),
    }
}

/// Returns the lowest level that has so many requests.
fn level_of(wanted: usize) -> usize {
    (0..).find(|level| requests(*level) >= wanted).unwrap_or(0)
}

impl Window {
    pub(crate) fn new(max: usize) -> Window {
        let max = max.clamp(1, 1 << 20);
        let top = level_of(max);
        Window {
            max,
            level: level_of(FIRST).min(top),
            levels: vec![Level::default(); top + 1],
            stayed: 0,
            is_starting: true,
            round: 0,
            round_begin: None,
            count: 0,
            full: 0,
        }
    }

    /// Returns the number of requests that may be in flight.
    pub(crate) fn limit(&self) -> usize {
        requests(self.level).min(self.max)
    }

    /// Notes that a request was sent.
    pub(crate) fn sent(&mut self, now: Instant) {
        self.round_begin.get_or_insert(now);
    }

    /// Notes that a request ended; `in_flight` counts it too.
    pub(crate) fn ended(&mut self, now: Instant, in_flight: usize) {
        self.count += 1;
        self.full += u32::from(in_flight >= self.limit());
        let begin = *self.round_begin.get_or_insert(now);
        let elapsed = now.duration_since(begin);
        if self.count as usize >= self.limit().max(FIRST) && elapsed >= ROUND {
            let rate = f64::from(self.count) / elapsed.as_secs_f64();
            let was_full = self.full * 2 >= self.count;
            (self.count, self.full) = (0, 0);
            self.round_begin = Some(now);
            if was_full {
                self.judge(rate);
            }
        }
    }

    fn judge(&mut self, rate: f64) {
        self.round += 1;
        self.stayed += 1;
        let (level, round) = (self.level, self.round);
        let known = &mut self.levels[level];
        known.rate = match self.stayed {
            1 => rate,
            _ => (known.rate + rate) / 2.0,
        };
        known.measured = round;
        match self.is_starting {
            true => self.double(),
            false => self.climb(),
        }
    }

    /// Doubles the level as long as that brings much.
    fn double(&mut self) {
        let half = self.level.checked_sub(2);
        let before = half.and_then(|half| self.rate(half));
        let rate = self.levels[self.level].rate;
        let is_worth_it = before.is_none_or(|before| rate >= before * FIRST_GAIN);
        let top = self.levels.len() - 1;
        self.is_starting = is_worth_it && self.level < top;
        match half {
            Some(half) if !is_worth_it => self.leave(half),
            _ if self.is_starting => self.go(self.level + 2),
            _ => {}
        }
    }

    fn climb(&mut self) {
        let level = self.level;
        let is_above_floor = requests(level) > FLOOR;
        let rate = self.levels[level].rate;
        match self.rate(level.saturating_sub(1)) {
            Some(below) if is_above_floor && rate < below * GAIN => self.leave(level - 1),
            // Without a comparison nobody knows what this level is worth.
            None if is_above_floor => self.go(level - 1),
            _ if self.stayed >= 2 => {
                let next = self.levels.get(level + 1);
                if next.is_some_and(|next| self.round >= next.again) {
                    self.go(level + 1);
                }
            }
            _ => {}
        }
    }

    /// Leaves a level that is not worth it for a lower one.
    fn leave(&mut self, lower: usize) {
        let known = &mut self.levels[self.level];
        known.pause = (known.pause * 2).clamp(PAUSE, PAUSE_MAX);
        known.again = self.round + known.pause;
        self.go(lower);
    }

    /// Returns the rate of a level, if it was measured and not long ago.
    fn rate(&self, level: usize) -> Option<f64> {
        let known = self.levels.get(level)?;
        let is_known = known.rate > 0.0 && self.round - known.measured < MEMORY;
        is_known.then_some(known.rate)
    }

    fn go(&mut self, level: usize) {
        self.level = level.min(self.levels.len() - 1);
        self.stayed = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source of numbers from 0 to 1.
    fn random(state: &mut u64) -> f64 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (*state >> 40) as f64 / (1u64 << 24) as f64
    }

    /// Drives a window against a place that serves `servers` requests at a time, each in `service`
    /// or up to `noise` times as long. Returns the mean of the limit in the second half.
    fn settle(
        window: &mut Window,
        servers: usize,
        service: Duration,
        noise: f64,
        ends: usize,
    ) -> f64 {
        let mut state = 7;
        // Where the last round of an earlier call ended.
        let mut now = window.round_begin.unwrap_or_else(Instant::now);
        // When each server is free, and when each request ends.
        let mut free = vec![now; servers];
        let mut flying: Vec<Instant> = Vec::new();
        let mut sum = 0;
        for end in 0..ends {
            while flying.len() < window.limit() {
                window.sent(now);
                let server = free.iter_mut().min().unwrap();
                let took = service.mul_f64(1.0 + (noise - 1.0) * random(&mut state));
                *server = now.max(*server) + took;
                flying.push(*server);
            }
            let first = (0..flying.len()).min_by_key(|at| flying[*at]).unwrap();
            let in_flight = flying.len();
            now = flying.swap_remove(first);
            window.ended(now, in_flight);
            if end >= ends / 2 {
                sum += window.limit();
            }
        }
        sum as f64 / (ends - ends / 2) as f64
    }

    const SERVICE: Duration = Duration::from_millis(20);

    #[test]
    fn grows_to_what_the_place_can_do_and_never_beyond_the_limit() {
        for noise in [1.0, 3.0, 10.0] {
            let limit = settle(&mut Window::new(32), 32, SERVICE, noise, 4000);
            assert!((24.0..=32.0).contains(&limit), "{limit} of 32 with {noise}");
            let limit = settle(&mut Window::new(128), 16, SERVICE, noise, 8000);
            assert!((11.0..=26.0).contains(&limit), "{limit} of 16 with {noise}");
            let limit = settle(&mut Window::new(32), 1, SERVICE, noise, 4000);
            assert!((4.0..=9.0).contains(&limit), "{limit} of 1 with {noise}");
            assert_eq!(settle(&mut Window::new(1), 32, SERVICE, noise, 100), 1.0);
            assert!(settle(&mut Window::new(5), 32, SERVICE, noise, 100) <= 5.0);
        }
    }

    #[test]
    fn a_fast_place_is_used_soon() {
        let mut window = Window::new(32);
        settle(&mut window, 32, SERVICE, 1.0, 4 + 8 + 16);
        assert_eq!(window.limit(), 32);
    }

    #[test]
    fn backs_off_when_a_place_becomes_slow_and_recovers() {
        let mut window = Window::new(32);
        settle(&mut window, 32, SERVICE, 2.0, 2000);
        settle(&mut window, 1, SERVICE * 100, 2.0, 200);
        assert!(window.limit() <= 8, "{}", window.limit());
        let again = settle(&mut window, 32, SERVICE, 2.0, 8000);
        assert!(again > 20.0, "{again}");
    }
}
