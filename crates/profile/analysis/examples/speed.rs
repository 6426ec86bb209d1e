//! Measures reports and comparisons of many histograms, on one thread.
//!
//! `speed [HISTOGRAMS [RESOLUTION]]` prints seconds for a report over 100,000 histograms and for
//! comparing half of them with the other half by each method.

#[path = "../tests/analysis/labelled/mod.rs"]
mod labelled;

use std::hint::black_box;
use std::time::Instant;

use labelled::{Generator, Labelled, Work};
use trawl_analysis::compare::{Method, Settings};
use trawl_analysis::peaks::CharacteristicTime;
use trawl_analysis::preemption::Machine;
use trawl_analysis::report::{Options, report};
use trawl_histogram::{Histogram, Resolution};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| arguments.get(at).map_or(Ok(default), |one| one.parse());
    let histograms = usize::try_from(number(0, 100_000)?)?;
    let resolution = Resolution::try_from(number(1, 1)?)?;
    let generator = Generator {
        seed: 1,
        runs: 50,
        work: Work::Scaled,
        resolution,
        noise: 1.0,
    };
    let pairs = generator.pairs();
    time_report(&pairs, histograms);
    for method in Method::ALL {
        time_method(&pairs, histograms / 2, method);
    }
    Ok(())
}

fn time_report(pairs: &[Labelled], histograms: usize) {
    let both = pairs.iter().flat_map(|pair| [&pair.first, &pair.second]);
    let all: Vec<&Histogram> = both.collect();
    let names: Vec<String> = (0..histograms).map(|at| format!("operation{at}")).collect();
    // Copies, so that their memory is as cold as that of as many different histograms.
    let copies: Vec<Histogram> = (0..histograms)
        .map(|at| all[at % all.len()].clone())
        .collect();
    let options = Options {
        least_share: 0.0,
        times: times(),
        machine: Some(Machine {
            quantum: 4e6,
            period: 1e4,
            processes: 4,
            cpus: 2,
            wait_from: 5e4,
        }),
        ..Options::default()
    };
    let start = Instant::now();
    let report = report(names.iter().map(String::as_str).zip(&copies), &options);
    let seconds = start.elapsed().as_secs_f64();
    let peaks: usize = report.operations.iter().map(|one| one.peaks.len()).sum();
    let described = report.operations.len();
    println!("report of {described} histograms with {peaks} peaks: {seconds:.3} s");
}

fn times() -> Vec<CharacteristicTime> {
    let times = [
        ("context switch", 2e3),
        ("seek", 8e6),
        ("rotation", 4e6),
        ("quantum", 4e6),
    ];
    let time = |(name, time): (&str, f64)| CharacteristicTime {
        name: name.to_owned(),
        time,
    };
    times.into_iter().map(time).collect()
}

fn time_method(pairs: &[Labelled], times: usize, method: Method) {
    let settings = Settings::default();
    let start = Instant::now();
    for at in 0..times {
        black_box(pairs[at % pairs.len()].score(method, &settings));
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{:10} of {times} pairs: {seconds:.3} s", method.name());
}
