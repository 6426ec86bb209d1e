//! Latency profiles: for each operation a histogram with buckets b = ⌊r·log₂(latency)⌋ (Joukov,
//! "Versatile, Portable, and Efficient File System Profiling", equation 3.4), how they are
//! recorded, and the formats in which they are kept and exported.
//!
//! | module | purpose |
//! |---|---|
//! | [`Resolution`] | the resolution r: from latencies to buckets and back, exactly |
//! | [`Histogram`] | one operation: counts, total, least and greatest latency, buckets |
//! | [`Profile`] | the operations of one layer |
//! | [`Sliced`] | a profile with a timeline: the paper's four dimensions (§3.1.5) |
//! | [`Correlated`] | a histogram of a value for each latency peak (§3.1.6) |
//! | [`Capture`] | all of these together: what one run of a profiler yields |
//! | [`recorder`] | records operations, one recorder for each thread; readers merge them |
//! | [`text`] | the paper's text format (§5.8) |
//! | [`json`] | JSON, which keeps everything |
//! | [`openmetrics`] | export for Prometheus: classic and native histograms |
//! | [`otlp`] | export for OpenTelemetry: exponential histograms |
//!
//! Invariants: pure: no clock, no I/O. Times are numbers that callers pass in; whoever reads the
//! cycle counter or CLOCK_MONOTONIC says so in the profile's [`Unit`]. Every reading satisfies
//! `entered = Σ buckets + in flight + dropped`, or [`Profile::check`] names the operation that does
//! not. Bytes that are read are hostile: they give errors with line and field, never a panic.
//!
//! ```
//! use trawl_histogram::recorder::{Plan, Recorders};
//! use trawl_histogram::{Profile, Resolution, Unit, json};
//!
//! let mut plan = Plan::new(&Profile::new(Unit::Nanoseconds, Resolution::ONE));
//! let read = plan.operation("read")?;
//! let recorders = Recorders::new(plan)?;
//! let mut recorder = recorders.start(); // one for each thread
//! let call = recorder.enter(read, 1_000);
//! recorder.leave(call, 6_000);
//! let reading = recorders.read(None)?; // any thread, any time
//! assert_eq!(reading.profile.get("read").map(|one| one.count(12)), Some(1));
//! let text = json::write(&reading.into())?;
//! # assert!(json::read(text.as_bytes()).is_ok());
//! # Ok::<(), trawl_histogram::Error>(())
//! ```

#![forbid(unsafe_code)]

mod capture;
mod correlated;
mod error;
mod histogram;
pub mod json;
pub mod openmetrics;
pub mod otlp;
mod profile;
pub mod recorder;
mod resolution;
mod sliced;
#[cfg(test)]
mod test_profiles;
pub mod text;

pub use capture::Capture;
pub use correlated::{Correlated, Peak};
pub use error::{Error, Fault};
pub use histogram::{Counts, Histogram};
pub use profile::{Profile, Unit, check_name};
pub use resolution::{BUCKETS_MAX, Resolution};
pub use sliced::{Slice, Sliced, Slicer};

/// The most bytes that a reader of a format accepts.
pub const INPUT_BYTES_MAX: usize = 64 << 20;

/// The most operations that a profile has.
pub const OPERATIONS_MAX: usize = 4096;

/// The most slices that a timeline has.
pub const SLICES_MAX: usize = 1 << 20;

/// The most bytes that the name of an operation or a value has.
pub const NAME_BYTES_MAX: usize = 255;
