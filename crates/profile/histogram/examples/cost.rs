//! Measures what recording a call costs: nanoseconds for each call, for each resolution, with other
//! work of known cost taken off. `cargo run --release -p trawl-histogram --example cost`

use std::hint::black_box;
use std::time::Instant;

use trawl_histogram::recorder::{OperationId, Plan, Recorder, Recorders};
use trawl_histogram::{Error, Profile, Resolution, Unit};

const CALLS: u64 = 20_000_000;
const REPETITIONS: usize = 5;

fn main() -> Result<(), Error> {
    let latencies = latencies();
    let base_ns = best(|number| {
        black_box(latencies[(number & 4095) as usize]);
    });
    println!("nanoseconds for each call, best of {REPETITIONS} runs of {CALLS} calls");
    println!("reading the clock twice: {:.1}", clock_ns() - base_ns);
    for resolution in Resolution::all() {
        let bucket_ns = best(|number| {
            black_box(resolution.bucket(latencies[(number & 4095) as usize]));
        });
        let (recorders, mut recorder, operation) = start(resolution)?;
        let record_ns = best(|number| {
            let started = recorder.enter(operation, number);
            recorder.leave(started, number + latencies[(number & 4095) as usize]);
        });
        let reading = Instant::now();
        let read = recorders.read(None)?;
        let reading_us = reading.elapsed().as_secs_f64() * 1e6;
        println!(
            "r = {resolution}: bucket {:.1}, enter and leave {:.1}; reading {} operations {:.0} us",
            bucket_ns - base_ns,
            record_ns - base_ns,
            read.profile.len(),
            reading_us,
        );
    }
    Ok(())
}

/// Returns a recorder of 15 operations, and one of them.
fn start(resolution: Resolution) -> Result<(Recorders, Recorder, OperationId), Error> {
    let mut plan = Plan::new(&Profile::new(Unit::Nanoseconds, resolution));
    let operation = plan.operation("read")?;
    for number in 1..15 {
        plan.operation(&format!("operation{number}"))?;
    }
    let recorders = Recorders::new(plan)?;
    let recorder = recorders.start();
    Ok((recorders, recorder, operation))
}

/// Returns latencies whose logarithms are spread evenly from 2^5 to 2^30, in no order.
fn latencies() -> Vec<u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        // xorshift64, by Marsaglia.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..4096)
        .map(|_| {
            let magnitude = 5 + next() % 25;
            (1 << magnitude) + next() % (1 << magnitude)
        })
        .collect()
}

/// Returns nanoseconds for each round of the fastest repetition.
fn best(mut call: impl FnMut(u64)) -> f64 {
    let mut run = || {
        let begin = Instant::now();
        (0..CALLS).for_each(&mut call);
        begin.elapsed().as_secs_f64() * 1e9 / CALLS as f64
    };
    (0..REPETITIONS).map(|_| run()).fold(f64::MAX, f64::min)
}

fn clock_ns() -> f64 {
    best(|_| {
        black_box((Instant::now(), Instant::now()));
    })
}
