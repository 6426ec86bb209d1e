//! Measures what counting costs a system call: getppid(2), which does next to nothing, with and
//! without the layer, alternately.
//!
//! `cargo run --release -p trawl-kernel-profile --example overhead [CALLS [ROUNDS [RESOLUTION]]]`
//!
//! Prints, in nanoseconds of CPU time a call (so that other programs do not count): the medians of both, and the median, the least and the greatest of
//! the differences of each pair; and what the readings say about the calls counted.

use rustix::time::{ClockId, clock_gettime};
use trawl_histogram::Resolution;
use trawl_kernel_profile::{Filter, SystemCalls};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let mut number = |default| words.next().map_or(Ok(default), |word| word.parse::<u64>());
    let (calls, rounds, r) = (number(10_000_000)?, number(5)?, number(1)?);
    let resolution = Resolution::try_from(r)?;
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        without.push(time(calls));
        let mut layer = SystemCalls::attach(&Filter::Tree(std::process::id()), resolution)?;
        with.push(time(calls));
        let reading = layer.read()?;
        let counted = reading
            .profile
            .get("getppid")
            .map_or(0, |one| one.counts().entered);
        if counted != calls || reading.missed > 0 {
            return Err(format!("{calls} calls, but {counted} counted").into());
        }
    }
    let mut differences: Vec<f64> = with.iter().zip(&without).map(|(a, b)| a - b).collect();
    for all in [&mut without, &mut with, &mut differences] {
        all.sort_by(f64::total_cmp);
    }
    let middle = differences.len() / 2;
    println!(
        "getppid x {calls} x {rounds}, resolution {r}: without {:.1} ns, with {:.1} ns, difference \
         {:.1} ns ({:.1} to {:.1}); all counted",
        without[middle],
        with[middle],
        differences[middle],
        differences[0],
        differences[differences.len() - 1],
    );
    Ok(())
}

/// Returns nanoseconds of CPU time a call.
fn time(calls: u64) -> f64 {
    let begin_ns = cpu_time_ns();
    for _ in 0..calls {
        std::hint::black_box(rustix::process::getppid());
    }
    (cpu_time_ns() - begin_ns) as f64 / calls as f64
}

fn cpu_time_ns() -> i64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
