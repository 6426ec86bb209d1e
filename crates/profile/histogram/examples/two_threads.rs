//! Records 10^8 calls from two threads while a third reads, and counts the lost ones. The paper lost
//! "out of 10,000,000 total updates … 95,116" (§3.4.2) with shared buckets.
//! `cargo run --release -p trawl-histogram --example two_threads`

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use trawl_histogram::recorder::{OperationId, Plan, Recorder, Recorders};
use trawl_histogram::{Error, Profile, Resolution, Unit};

const CALLS: u64 = 100_000_000;
const THREADS: u64 = 2;

fn main() -> Result<(), Error> {
    let mut plan = Plan::new(&Profile::new(Unit::Nanoseconds, Resolution::ONE));
    let operation = plan.operation("read")?;
    let recorders = Recorders::new(plan)?;
    let running = AtomicUsize::new(THREADS as usize);
    let begin = Instant::now();
    let readings = thread::scope(|scope| {
        for _ in 0..THREADS {
            let recorder = recorders.start();
            let running = &running;
            scope.spawn(move || {
                record(recorder, operation);
                running.fetch_sub(1, Ordering::Release);
            });
        }
        let mut readings = 0;
        while running.load(Ordering::Acquire) > 0 {
            recorders.read(None)?;
            readings += 1;
            thread::sleep(Duration::from_millis(1));
        }
        Ok::<u64, Error>(readings)
    })?;
    let elapsed = begin.elapsed();
    let last = recorders.read(None)?;
    let recorded = last.profile.get("read").map_or(0, |one| one.recorded());
    println!(
        "{CALLS} calls by {THREADS} threads in {elapsed:.2?}, {readings} readings, all consistent; lost: {}",
        i128::from(CALLS) - recorded as i128
    );
    Ok(())
}

fn record(mut recorder: Recorder, operation: OperationId) {
    for number in 0..CALLS / THREADS {
        let started = recorder.enter(operation, number);
        recorder.leave(started, number + number % 4096);
    }
}
