//! Whether user-level profiles are available on this machine, and what the probe costs: a program is
//! started with the library, which measures itself before the program's own code runs, and ends.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use trawl_profile_mapping::layout::{MEASURED_AT, Measured};

use crate::{Error, Session};

/// Measurements of the probe.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Probe {
    /// Frequency of the cycle counter, if it is invariant.
    pub frequency_hz: Option<NonZeroU64>,
    /// Cost of recording a call, in nanoseconds, with the best clock. This and what follows is 0
    /// if only the clock was measured.
    pub cost_ns: f64,
    /// The part of it that lies between the two readings of the clock, and so in each latency.
    pub inside_ns: f64,
    /// Cost of recording a call with CLOCK_MONOTONIC.
    pub monotonic_cost_ns: f64,
}

/// The programs with which the probe is measured; the first one that exists is used. Any dynamically
/// linked program serves.
const PROGRAMS: [&str; 3] = ["/usr/bin/true", "/bin/true", "/bin/sh"];

/// The measurements to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The clock.
    Clock,
    /// The clock and the cost.
    Cost,
}

/// Measures the probe; an error says why user-level profiles are not available. It takes about 50 ms.
///
/// # Errors
/// Fails if the library cannot be loaded into programs.
pub fn availability(library: &Path) -> Result<Probe, Error> {
    measure(library, Extent::Cost)
}

/// Measures the clock alone, which is all that a session needs, and takes about 6 ms.
///
/// # Errors
/// As [`availability`].
pub fn clock(library: &Path) -> Result<Probe, Error> {
    measure(library, Extent::Clock)
}

fn measure(library: &Path, extent: Extent) -> Result<Probe, Error> {
    std::fs::File::open(library).map_err(|source| Error::Library {
        path: library.to_owned(),
        source,
    })?;
    let session = Session::to_measure(library, extent)?;
    let program = PROGRAMS.iter().map(Path::new).find(|one| one.exists());
    let program = program.unwrap_or(Path::new(PROGRAMS[0]));
    let output = Command::new(program)
        .env_clear()
        .envs(session.environment(None))
        .stdin(Stdio::null())
        .output()
        .map_err(|source| Error::Start {
            program: program.to_owned(),
            source,
        })?;
    let measured = |what: Measured| session.word(MEASURED_AT + what as usize);
    if measured(Measured::IsDone) == 0 {
        return Err(not_loaded(library, program, &output.stderr));
    }
    let ns = |what| measured(what) as f64 / 1000.0;
    let frequency_hz = NonZeroU64::new(measured(Measured::FrequencyHz));
    Ok(Probe {
        frequency_hz: frequency_hz.filter(|_| kernel_trusts_counter()),
        cost_ns: ns(Measured::CostPs),
        inside_ns: ns(Measured::InsidePs),
        monotonic_cost_ns: ns(Measured::MonotonicPs),
    })
}

fn not_loaded(library: &Path, program: &Path, errors: &[u8]) -> Error {
    let message = String::from_utf8_lossy(errors).trim().to_owned();
    Error::NotLoaded {
        library: PathBuf::from(library),
        program: PathBuf::from(program),
        message: match message.is_empty() {
            true => "it is built for another C library or machine".to_owned(),
            false => message,
        },
    }
}

/// Returns whether the kernel would use the cycle counter as its own clock: it takes it from the list
/// when it finds that counters of different CPUs differ.
fn kernel_trusts_counter() -> bool {
    const LIST: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    const COUNTERS: [&str; 2] = ["tsc", "arch_sys_counter"];
    // If the list cannot be read, the CPU's own word counts.
    std::fs::read_to_string(LIST).map_or(true, |list| {
        list.split_whitespace().any(|one| COUNTERS.contains(&one))
    })
}
