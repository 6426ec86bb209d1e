//! Latencies: a call that waits for a known time lies in the right bucket, and the probe's own cost.

use trawl_user_profile::{Clock, Options};

use crate::site::{self, compiled};

/// Runs of which one must not be disturbed: a busy machine may stop the program between the reading
/// of its own clock and the call.
const ATTEMPTS: usize = 20;

#[test]
fn a_blocked_read_lies_in_the_bucket_of_its_time() {
    let Some((_place, program)) = compiled("latencies", "waits", &[]) else {
        return;
    };
    for clock in [Clock::Best, Clock::Monotonic] {
        let shares: Vec<f64> = (0..ATTEMPTS)
            .map(|_| share_of_read(&program, clock))
            .collect();
        let best = shares.iter().copied().fold(0.0, f64::max);
        // The probe measures within what the program measures.
        assert!(
            shares.iter().all(|share| *share < 1.001),
            "{clock:?}: {shares:?}"
        );
        assert!(best > 0.98, "{clock:?}: {shares:?}");
    }
}

/// Returns the recorded latency of a blocked read, as a share of the time that the program measured
/// itself; checks its bucket.
#[track_caller]
fn share_of_read(program: &str, clock: Clock) -> f64 {
    let options = Options {
        clock,
        ..Options::default()
    };
    let (ran, reading) = site::recorded(&options, program, &["sleep", "20"]);
    let took_ns: f64 = ran.text().trim().parse().expect("a number");
    let read = reading.whole.get("read").expect("called");
    let latency = read.counts().total as f64;
    // Equation 3.4 with r = 1: b = ⌊log₂(latency)⌋.
    assert_eq!(read.count(latency.log2().floor() as u16), 1);
    latency / reading.whole.unit().per_second() / (took_ns / 1e9)
}

#[test]
fn the_probe_reports_its_cost() {
    let probe = site::probe();
    // Library and test are not optimised here; `examples/cost.rs` measures the optimised ones.
    assert!((1.0..10_000.0).contains(&probe.cost_ns), "{probe:?}");
    assert!((1.0..10_000.0).contains(&probe.inside_ns), "{probe:?}");
    let flags = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    if let Some(frequency_hz) = probe.frequency_hz {
        // 100 MHz to 10 GHz; on x86-64 the kernel's flags must say so as well.
        assert!(
            (1e8..1e10).contains(&(frequency_hz.get() as f64)) || cfg!(target_arch = "aarch64")
        );
        assert!(flags.contains("constant_tsc") || cfg!(target_arch = "aarch64"));
    }
}
