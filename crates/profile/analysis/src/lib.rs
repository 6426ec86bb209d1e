//! Analysis of latency profiles (Joukov, "Versatile, Portable, and Efficient File System Profiling",
//! §3.1–3.4, §5.7 and §8.1): from histograms to the few things worth a person's look.
//!
//! | module | answers |
//! |---|---|
//! | [`preprocess`] | Which operations contribute to the total latency? |
//! | [`peaks`] | Which peaks does a histogram have, and which activities of the machine take such times? |
//! | [`compare`] | How much do two profiles differ, by seven methods? |
//! | [`select`] | Which operations are worth a look, and why? |
//! | [`layers`] | What does one layer add to the layer below? |
//! | [`preemption`] | Could the scheduler have disturbed the profile? |
//! | [`correlation`] | Which values go with which peak? |
//! | [`mix`] | Which operations does a workload consist of, as a whole and by phase? |
//! | [`timeline`] | What happened in a part of the time? |
//! | [`report`] | All that concerns a single profile |
//!
//! Invariants: pure; no clock, no I/O, nothing is printed. Answers are plain data, from which the
//! faces make text and JSON. The same input gives the same answer.
//!
//! Knows nothing of how profiles are recorded.

#![forbid(unsafe_code)]

pub mod causes;
pub mod compare;
pub mod correlation;
pub mod layers;
pub mod mix;
pub mod peaks;
pub mod preemption;
pub mod preprocess;
pub mod report;
pub mod select;
pub mod timeline;
mod view;

pub use view::{Pair, View};

/// Result type of this crate.
pub type Result<T> = std::result::Result<T, AnalysisError>;

/// Why profiles cannot be analysed together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnalysisError {
    /// The buckets of the two histograms are not the same latencies.
    #[error(
        "cannot compare {first} buckets for each doubling with {second}; \
         make the finer profile coarser first"
    )]
    Resolutions {
        /// Buckets for each doubling in the first histogram.
        first: u8,
        /// Buckets for each doubling in the second.
        second: u8,
    },
    /// The latencies of the two profiles are not the same times.
    #[error("cannot compare latencies in {first} with latencies in {second}")]
    Units {
        /// Unit of the first profile.
        first: String,
        /// Unit of the second.
        second: String,
    },
}
