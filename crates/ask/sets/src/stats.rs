//! What a set has done so far.

use std::time::Duration;

/// Counts and times of a set. Times are summed over members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Number of members found so far.
    pub members: u64,
    /// Number of members delivered by iteration.
    pub delivered: u64,
    /// Number of problems delivered.
    pub problems: u64,
    /// Number of delivered members that were cached.
    pub cached: u64,
    /// Bytes that were fetched ahead.
    pub fetched_bytes: u64,
    /// Bytes of members that were fetched and never delivered.
    pub unused_bytes: u64,
    /// Time that fetches took.
    pub fetch_time: Duration,
    /// Time that callers waited in `iterate`.
    pub wait_time: Duration,
    /// Time between two deliveries to a thread, without waiting: processing.
    pub processing_time: Duration,
    /// Time that pulling names took.
    pub expansion_time: Duration,
    /// Time from the first call of `iterate` to the end of the last.
    pub elapsed: Duration,
    /// Time that a plain loop would have taken longer, by the performance model.
    pub saved_time: Duration,
    /// Number of threads that iterated.
    pub consumers: usize,
    /// Maximum number of descriptors open ahead, counting those being opened.
    pub descriptors_max: usize,
    /// Maximum number of bytes fetched ahead, counting those being fetched.
    pub ahead_bytes_max: u64,
    /// Number of opens that were tried again later, because there were no descriptors.
    pub out_of_descriptors: u64,
    /// Maximum number of threads of the set.
    pub threads_max: usize,
    /// Number of threads that the system refused.
    pub threads_refused: u64,
    /// For each place: its name, the members fetched from it, and the maximum number of requests
    /// in flight.
    pub places: Vec<PlaceStats>,
}

/// Counts of one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceStats {
    /// The place, as it is shown to a user.
    pub place: String,
    /// Number of members fetched.
    pub fetched: u64,
    /// Bytes fetched.
    pub bytes: u64,
    /// Number of requests that may be in flight now.
    pub window: usize,
    /// Maximum number of requests in flight.
    pub in_flight_max: usize,
    /// Time that fetches took.
    pub fetch_time: Duration,
}
