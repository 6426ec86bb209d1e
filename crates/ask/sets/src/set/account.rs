//! What an iteration costs: counts, and times of fetching, waiting and processing.

use std::thread::ThreadId;
use std::time::{Duration, Instant};

use super::flow::Flow;
use crate::explain::{Explanation, Fit};
use crate::stats::{PlaceStats, Stats};

/// Maximum number of consuming threads whose processing is timed.
const CONSUMERS_MAX: usize = 1024;

/// Counts of one place.
#[derive(Default)]
pub(crate) struct PlaceCount {
    name: String,
    pub(crate) in_flight_max: usize,
    pub(crate) fit: Fit,
}

impl PlaceCount {
    pub(crate) fn named(name: String) -> PlaceCount {
        PlaceCount {
            name,
            ..PlaceCount::default()
        }
    }
}

/// Counts and times of a set.
#[derive(Default)]
pub(crate) struct Account {
    pub(crate) delivered: u64,
    pub(crate) problems: u64,
    pub(crate) cached: u64,
    pub(crate) fetched_bytes: u64,
    pub(crate) unused_bytes: u64,
    pub(crate) descriptors_max: usize,
    pub(crate) ahead_bytes_max: u64,
    pub(crate) starved: u64,
    pub(crate) threads_max: usize,
    pub(crate) threads_refused: u64,
    fetch_time: Duration,
    wait_time: Duration,
    processing_time: Duration,
    begin: Option<Instant>,
    end: Option<Instant>,
    consumers: Vec<(ThreadId, Option<Instant>)>,
}

impl Account {
    /// Notes that a thread asks for a member.
    pub(crate) fn asked(&mut self, now: Instant) {
        self.begin.get_or_insert(now);
        let thread = std::thread::current().id();
        let count = self.consumers.len();
        match self.consumers.iter_mut().find(|(id, _)| *id == thread) {
            Some((_, since)) => {
                if let Some(since) = since.take() {
                    self.processing_time += now.saturating_duration_since(since);
                }
            }
            None if count < CONSUMERS_MAX => self.consumers.push((thread, None)),
            None => {}
        }
    }

    /// Notes that a thread which asked at `asked` gets a member, or the end.
    pub(crate) fn answered(&mut self, asked: Instant, is_end: bool) {
        let now = Instant::now();
        self.wait_time += now.saturating_duration_since(asked);
        self.end = Some(now);
        if !is_end {
            let thread = std::thread::current().id();
            if let Some((_, since)) = self.consumers.iter_mut().find(|(id, _)| *id == thread) {
                *since = Some(now);
            }
        }
    }

    pub(crate) fn fetched(&mut self, took: Duration, bytes: u64) {
        self.fetch_time += took;
        self.fetched_bytes += bytes;
    }
}

/// Returns counts and times so far, and the model that they fit.
pub(crate) fn stats(flow: &Flow, members: u64, expansion_time: Duration) -> (Stats, Explanation) {
    let account = &flow.account;
    let places = flow.places.iter().map(|place| PlaceStats {
        place: place.count.name.clone(),
        fetched: place.count.fit.count(),
        bytes: place.count.fit.bytes(),
        in_flight_max: place.count.in_flight_max,
        window: place.window.limit(),
        fetch_time: place.count.fit.time(),
    });
    let elapsed = match (account.begin, account.end) {
        (Some(begin), Some(end)) => end.saturating_duration_since(begin),
        _ => Duration::ZERO,
    };
    let mut stats = Stats {
        members,
        delivered: account.delivered,
        problems: account.problems,
        cached: account.cached,
        fetched_bytes: account.fetched_bytes,
        unused_bytes: account.unused_bytes,
        fetch_time: account.fetch_time,
        wait_time: account.wait_time,
        processing_time: account.processing_time,
        expansion_time,
        elapsed,
        saved_time: Duration::ZERO,
        consumers: account.consumers.len(),
        descriptors_max: account.descriptors_max,
        ahead_bytes_max: account.ahead_bytes_max,
        out_of_descriptors: account.starved,
        threads_max: account.threads_max,
        threads_refused: account.threads_refused,
        places: places.collect(),
    };
    let explanation = crate::explain::explain(
        &stats,
        flow.places
            .iter()
            .map(|place| (&place.count.fit, place.window.limit())),
    );
    stats.saved_time = explanation.saved;
    (stats, explanation)
}
