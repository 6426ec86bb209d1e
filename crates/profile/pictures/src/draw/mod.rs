//! The pictures: each module draws one kind.

pub(crate) mod chart;
pub(crate) mod complete;
pub(crate) mod layers;
pub(crate) mod mix;
pub(crate) mod operation;
pub(crate) mod pair;
pub(crate) mod surface;
pub(crate) mod timeline;

/// The quantity shown by a picture over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// "The number of operations that fall within a given bucket within a given elapsed time
    /// interval" (§3.1.5, Figure 3.5).
    #[default]
    Calls,
    /// "The estimated delay for each bucket", the number of operations "multiplied by the average
    /// bucket latency" (Figure 3.6).
    Latency,
}
