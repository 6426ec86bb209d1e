//! Measures what the probe costs a program: nanoseconds for each call of a C program that makes only
//! cheap ones, with the library and without it, in turns; and what the probe says of itself.
//! `cargo run --release -p trawl-user-profile --example cost -- LIBRARY PROGRAM`, where PROGRAM is
//! `crates/profile/user/tests/user/c/many.c`, compiled.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use trawl_histogram::Resolution;
use trawl_user_profile::{Clock, Error, Options, Session, availability};

const CALLS: u32 = 1_000_000;
const PAIRS: usize = 25;

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(library), Some(program)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: cost LIBRARY PROGRAM");
        std::process::exit(2);
    };
    let (library, program) = (Path::new(&library), Path::new(&program));
    let probe = availability(library)?;
    println!("{probe:?}");
    for resolution in [1, 4, 8] {
        for clock in [Clock::Best, Clock::Monotonic] {
            let options = Options {
                resolution: Resolution::new(resolution).unwrap_or(Resolution::ONE),
                clock,
                ..Options::default()
            };
            let session = Session::start(library, &probe, &options)?;
            let mut pairs = [(0.0, 0.0); PAIRS];
            for pair in &mut pairs {
                *pair = (run_ns(program, Some(&session)), run_ns(program, None));
            }
            let least = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).fold(f64::MAX, f64::min);
            let (with, without) = (least(|pair| pair.0), least(|pair| pair.1));
            let mut differences = pairs.map(|(with, without)| with - without);
            differences.sort_by(f64::total_cmp);
            println!(
                "r = {resolution}, {clock:?}: {:.1} ns more than {without:.1} in the best runs; \
                 median of the pairs {:.1}",
                with - without,
                differences[PAIRS / 2],
            );
        }
    }
    Ok(())
}

/// Returns nanoseconds for each call.
fn run_ns(program: &Path, session: Option<&Session>) -> f64 {
    let mut command = Command::new(program);
    command.args([&CALLS.to_string(), "1", "0"]);
    command.envs(
        session
            .map(|one| one.environment(None))
            .into_iter()
            .flatten(),
    );
    let begin = Instant::now();
    let status = command.status();
    let took = begin.elapsed();
    if !status.is_ok_and(|status| status.success()) {
        eprintln!("{} failed", program.display());
        std::process::exit(2);
    }
    took.as_secs_f64() * 1e9 / f64::from(CALLS)
}
