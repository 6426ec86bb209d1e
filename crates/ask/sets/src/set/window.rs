//! How many requests are in flight at one place: more while throughput grows, fewer when latency
//! rises without throughput.
//!
//! Completions are counted in rounds of one window. A round counts only if the window was full at
//! its time, because otherwise the place was not what limited it.

use std::time::{Duration, Instant};

/// Number of requests that a place begins with.
const FIRST: usize = 4;

/// The window of one place.
#[derive(Debug)]
pub(crate) struct Window {
    limit: f64,
    max: usize,
    is_doubling: bool,
    round_begin: Option<Instant>,
    count: u32,
    full: u32,
    latency: Duration,
    best_rate: f64,
    best_latency: f64,
}

impl Window {
    pub(crate) fn new(max: usize) -> Window {
        let max = max.max(1);
        Window {
            limit: FIRST.min(max) as f64,
            max,
            is_doubling: true,
            round_begin: None,
            count: 0,
            full: 0,
            latency: Duration::ZERO,
            best_rate: 0.0,
            best_latency: 0.0,
        }
    }

    /// Returns the number of requests that may be in flight.
    pub(crate) fn limit(&self) -> usize {
        (self.limit as usize).clamp(1, self.max)
    }

    /// Notes that a request was sent.
    pub(crate) fn sent(&mut self, now: Instant) {
        self.round_begin.get_or_insert(now);
    }

    /// Notes that a request ended, after this time; `in_flight` counts it too.
    pub(crate) fn ended(&mut self, now: Instant, latency: Duration, in_flight: usize) {
        self.count += 1;
        self.latency += latency;
        self.full += u32::from(in_flight >= self.limit());
        if self.count as usize >= self.limit().max(4) {
            self.judge(now);
        }
    }

    fn judge(&mut self, now: Instant) {
        let begin = self.round_begin.replace(now).unwrap_or(now);
        let count = f64::from(std::mem::take(&mut self.count));
        let was_full = f64::from(std::mem::take(&mut self.full)) >= count / 2.0;
        let latency = std::mem::take(&mut self.latency).as_secs_f64() / count;
        let rate = count / now.duration_since(begin).as_secs_f64().max(1e-6);
        if was_full {
            if rate > self.best_rate * 1.05 {
                self.limit = match self.is_doubling {
                    true => self.limit * 2.0,
                    false => self.limit + 1.0,
                };
            } else if latency > self.best_latency * 1.2 && rate < self.best_rate * 0.95 {
                self.is_doubling = false;
                self.limit *= 0.75;
            } else {
                self.is_doubling = false;
            }
            self.limit = self.limit.clamp(1.0, self.max as f64);
            // An old best rate is forgotten slowly, so that the window tries again.
            match rate >= self.best_rate {
                true => (self.best_rate, self.best_latency) = (rate, latency),
                false => self.best_rate *= 0.97,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Drives a window against a place that serves `servers` requests at a time, `service` each.
    fn settle(window: &mut Window, servers: usize, service: Duration, rounds: usize) -> usize {
        let mut now = Instant::now();
        for _ in 0..rounds {
            let in_flight = window.limit();
            window.sent(now);
            let parallel = in_flight.min(servers);
            let latency = service * (in_flight as u32).div_ceil(parallel as u32);
            for _ in 0..in_flight.max(4) {
                now += service / parallel as u32;
                window.ended(now, latency, in_flight);
            }
        }
        window.limit()
    }

    #[test]
    fn grows_to_what_the_place_can_do_and_never_beyond_the_limit() {
        let service = Duration::from_millis(20);
        let mut window = Window::new(32);
        let limit = settle(&mut window, 32, service, 40);
        assert!((24..=32).contains(&limit), "{limit}");
        let mut one = Window::new(1);
        assert_eq!(settle(&mut one, 32, service, 40), 1);
        let mut serial = Window::new(32);
        let limit = settle(&mut serial, 1, service, 40);
        assert!(limit <= 8, "{limit}");
    }

    #[test]
    fn backs_off_when_a_place_becomes_slow_and_recovers() {
        let service = Duration::from_millis(2);
        let mut window = Window::new(32);
        settle(&mut window, 32, service, 40);
        let slow = settle(&mut window, 1, service * 100, 10);
        assert!(slow < 8, "{slow}");
        let again = settle(&mut window, 32, service, 200);
        assert!(again > slow, "{again}");
    }
}
