//! Measures what an operation of Trawl costs: without an observer, and recorded.

use std::hint::black_box;
use std::time::Instant;

use trawl_model::operation::Operation;

const ROUNDS: usize = 15;
const EACH: u32 = 1_000_000;

/// Returns the median time of an operation in nanoseconds.
fn median_ns(work: impl Fn()) -> f64 {
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            (0..EACH).for_each(|_| work());
            begun.elapsed().as_nanos() as f64 / f64::from(EACH)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}

fn span() {
    drop(black_box(black_box(Operation::Sort).span()));
}

fn main() {
    let empty = median_ns(|| {
        black_box(Operation::Sort);
    });
    println!("loop            {empty:6.2} ns");
    println!("not observed    {:6.2} ns", median_ns(span) - empty);
    let clock = median_ns(|| {
        black_box(trawl_sys::process::monotonic_ns());
    });
    println!("clock, once     {:6.2} ns", clock - empty);
    match trawl_profile::own::start() {
        Ok(_) => println!("recorded        {:6.2} ns", median_ns(span) - empty),
        Err(error) => println!("not recorded: {error}"),
    }
}
