//! State of the view: the last intervals, and what is selected.

use std::collections::VecDeque;
use std::time::Duration;

use trawl_histogram::{Histogram, Profile, Unit};

use super::keys::Key;

/// Number of intervals that are kept: wider than terminals are.
const KEPT: usize = 512;

/// The order of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Latency,
    Calls,
    Mean,
}

impl Order {
    pub(super) fn name(self) -> &'static str {
        match self {
            Order::Latency => "latency",
            Order::Calls => "calls",
            Order::Mean => "mean",
        }
    }

    fn next(self) -> Order {
        match self {
            Order::Latency => Order::Calls,
            Order::Calls => Order::Mean,
            Order::Mean => Order::Latency,
        }
    }

    /// Returns what comes first if it is great.
    fn of(self, histogram: &Histogram) -> f64 {
        match self {
            Order::Latency => histogram.counts().total as f64,
            Order::Calls => histogram.recorded() as f64,
            Order::Mean => histogram.mean().unwrap_or(0.0),
        }
    }
}

/// State of the view.
pub(super) struct State {
    pub(super) title: String,
    pub(super) interval: Duration,
    /// Number of intervals that are over.
    pub(super) intervals: u64,
    pub(super) order: Order,
    pub(super) is_paused: bool,
    pub(super) has_ended: bool,
    names: Vec<&'static str>,
    layer: usize,
    selected: Option<String>,
    /// The profiles of all layers, the latest interval last.
    history: VecDeque<Vec<Profile>>,
}

impl State {
    /// Returns a state without intervals, for layers with these names.
    pub(super) fn new(title: &str, interval: Duration, names: &[&'static str]) -> State {
        State {
            title: title.to_owned(),
            interval,
            intervals: 0,
            order: Order::Latency,
            is_paused: false,
            has_ended: false,
            names: names.to_vec(),
            layer: 0,
            selected: None,
            history: VecDeque::new(),
        }
    }

    /// Adds an interval. A paused view stays as it is.
    pub(super) fn push(&mut self, profiles: Vec<Profile>) {
        self.intervals += 1;
        if self.is_paused {
            return;
        }
        if self.history.len() == KEPT {
            self.history.pop_front();
        }
        self.history.push_back(profiles);
    }

    /// Returns the layers of the latest interval.
    pub(super) fn layers(&self) -> &[Profile] {
        self.history.back().map_or(&[], Vec::as_slice)
    }

    /// Returns the latest interval of the layer that is shown.
    pub(super) fn latest(&self) -> Option<&Profile> {
        self.layers().get(self.layer)
    }

    /// Returns the name of the layer that is shown.
    pub(super) fn layer_name(&self) -> &'static str {
        self.names.get(self.layer).copied().unwrap_or("no layer")
    }

    /// Returns the operations of the latest interval in order.
    pub(super) fn operations(&self) -> Vec<(&str, &Histogram)> {
        self.latest()
            .map_or(Vec::new(), |profile| self.sorted(profile))
    }

    /// Returns the operations of a profile that returned from calls, in order.
    pub(super) fn sorted<'p>(&self, profile: &'p Profile) -> Vec<(&'p str, &'p Histogram)> {
        let called = profile.operations().filter(|(_, one)| one.recorded() > 0);
        let mut all: Vec<_> = called.collect();
        all.sort_by(|one, other| self.order.of(other.1).total_cmp(&self.order.of(one.1)));
        all
    }

    /// Returns the operation whose histogram is shown: the selected one, otherwise the first.
    pub(super) fn selected(&self) -> Option<&str> {
        let first = || self.operations().first().map(|(name, _)| *name);
        self.selected.as_deref().or_else(first)
    }

    /// Returns the unit of latencies.
    pub(super) fn unit(&self) -> Unit {
        self.latest().map_or(Unit::Nanoseconds, Profile::unit)
    }

    /// Returns the buckets of an operation in the last intervals, the latest one first.
    pub(super) fn past<'s>(&'s self, operation: &'s str) -> impl Iterator<Item = &'s [u64]> {
        let profiles = self.history.iter().rev();
        profiles.map(move |layers| {
            let one = layers
                .get(self.layer)
                .and_then(|layer| layer.get(operation));
            one.map_or(&[][..], Histogram::buckets)
        })
    }

    /// Does what a key asks for.
    pub(super) fn press(&mut self, key: Key) {
        match key {
            Key::Up => self.select(|at, _| at.saturating_sub(1)),
            Key::Down => self.select(|at, last| (at + 1).min(last)),
            Key::First => self.select(|_, _| 0),
            Key::Last => self.select(|_, last| last),
            Key::Layer => {
                self.layer = (self.layer + 1) % self.layers().len().max(1);
                self.selected = None;
            }
            Key::Order => self.order = self.order.next(),
            Key::Pause => self.is_paused = !self.is_paused,
            Key::Quit => {}
        }
    }

    /// Selects another operation, from its place and the last one.
    fn select(&mut self, to: impl Fn(usize, usize) -> usize) {
        let operations = self.operations();
        let Some(last) = operations.len().checked_sub(1) else {
            return;
        };
        let own = self.selected();
        let at = operations.iter().position(|(name, _)| Some(*name) == own);
        let chosen = operations.get(at.map_or(0, |at| to(at, last)));
        self.selected = chosen.map(|(name, _)| (*name).to_owned());
    }
}
