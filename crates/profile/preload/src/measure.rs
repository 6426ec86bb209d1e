//! Measures the probe on this machine, at the profiler's request: in a program that it starts for
//! this alone, with the same code as everywhere else, before the program's own code runs.

use std::hint::black_box;

use trawl_profile_mapping::Operation;
use trawl_profile_mapping::layout::{MEASURED_AT, Measured};

use crate::{clock, record};

/// How long the cycle counter is compared with CLOCK_MONOTONIC.
const CALIBRATION_NS: u64 = 20_000_000;
/// The same for programs that start at once: the clocks are read within 100 ns of each other, so the
/// frequency is off by 20 millionths at most.
const SHORT_CALIBRATION_NS: u64 = 5_000_000;
/// Calls in one batch, and number of batches, of which the median counts.
const CALLS: u64 = 4096;
const BATCHES: usize = 65;

/// Measures the clock, and writes the result into the header.
pub(crate) fn run_clock(memory: *mut u64) {
    let frequency_hz = match clock::is_invariant() {
        true => frequency_hz(SHORT_CALIBRATION_NS),
        false => 0,
    };
    write(memory, Measured::FrequencyHz, frequency_hz);
    write(memory, Measured::IsDone, 1);
}

fn write(memory: *mut u64, what: Measured, value: u64) {
    // SAFETY: a word of the header.
    unsafe {
        memory
            .add(MEASURED_AT + what as usize)
            .write_volatile(value)
    };
}

/// Measures the clock and the cost, and writes the results into the header.
pub(crate) fn run(memory: *mut u64) {
    let write = |what: Measured, value: u64| write(memory, what, value);
    let frequency_hz = match clock::is_invariant() {
        true => frequency_hz(CALIBRATION_NS),
        false => 0,
    };
    write(Measured::FrequencyHz, frequency_hz);
    clock::choose(frequency_hz != 0);
    let units_in_second = match frequency_hz {
        0 => 1_000_000_000,
        frequency_hz => frequency_hz,
    };
    write(Measured::CostPs, cost_ps());
    write(Measured::InsidePs, inside_ps(units_in_second));
    clock::choose(false);
    write(Measured::MonotonicPs, cost_ps());
    write(Measured::IsDone, 1);
}

/// Returns the frequency of the cycle counter.
fn frequency_hz(calibration_ns: u64) -> u64 {
    let (first_ns, first) = both();
    loop {
        let (now_ns, now) = both();
        let passed_ns = now_ns.saturating_sub(first_ns);
        if passed_ns >= calibration_ns {
            let cycles = u128::from(now.saturating_sub(first));
            let hz = cycles * 1_000_000_000 / u128::from(passed_ns);
            return u64::try_from(hz).unwrap_or(0);
        }
    }
}

/// Returns CLOCK_MONOTONIC and the cycle counter of one moment: of several attempts, the one that
/// took the least time.
fn both() -> (u64, u64) {
    let attempts = (0..16).map(|_| {
        let before = clock::cycles();
        let ns = clock::monotonic_ns();
        let after = clock::cycles();
        let took = after.saturating_sub(before);
        (took, ns, before + took / 2)
    });
    let best = attempts.min();
    best.map_or((0, 0), |(_, ns, cycles)| (ns, cycles))
}

/// Returns what recording costs: the difference between loops with and without it, in turns.
fn cost_ps() -> u64 {
    let mut costs = [0; BATCHES];
    for cost in &mut costs {
        let with = batch_ns(|| {
            let entry = record::enter(Operation::lseek, 0);
            black_box(());
            record::leave(entry);
        });
        let without = batch_ns(|| {
            black_box(());
        });
        *cost = with.saturating_sub(without) * 1000 / CALLS;
    }
    median(&mut costs)
}

fn batch_ns(mut call: impl FnMut()) -> u64 {
    let before = clock::monotonic_ns();
    (0..CALLS).for_each(|_| call());
    clock::monotonic_ns().saturating_sub(before)
}

/// Returns the latency of nothing, as recorded.
fn inside_ps(units_in_second: u64) -> u64 {
    let mut costs = [0; BATCHES];
    for cost in &mut costs {
        let total: u64 = (0..CALLS)
            .map(|_| {
                let before = black_box(clock::now());
                clock::now().saturating_sub(before)
            })
            .sum();
        let ps = u128::from(total) * 1_000_000_000_000 / u128::from(units_in_second);
        *cost = u64::try_from(ps / u128::from(CALLS)).unwrap_or(u64::MAX);
    }
    median(&mut costs)
}

fn median(numbers: &mut [u64; BATCHES]) -> u64 {
    numbers.sort_unstable();
    numbers[BATCHES / 2]
}
