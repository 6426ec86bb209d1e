//! An interval as a table, for pipes and files.

use std::fmt::Write;

use trawl_histogram::Profile;
use trawl_text::figures::{count, share, time};

use super::state::State;

/// Number of operations in a table.
const SHOWN: usize = 10;

/// Returns the tables of the latest interval, one for each layer.
pub(super) fn table(state: &State) -> String {
    let mut text = String::new();
    for profile in state.layers() {
        text += &layer(state, profile);
    }
    text
}

fn layer(state: &State, profile: &Profile) -> String {
    let operations = state.sorted(profile);
    let calls: u128 = operations.iter().map(|(_, one)| one.recorded()).sum();
    let total: u128 = operations.iter().map(|(_, one)| one.counts().total).sum();
    let seconds = |latency: f64| time(profile.unit().seconds(latency));
    let mut text = format!(
        "interval {}, {}: {} calls in {}\n",
        state.intervals,
        trawl_text::words::shown(profile.layer.as_bytes()),
        count(u64::try_from(calls).unwrap_or(u64::MAX)),
        seconds(total as f64)
    );
    let width = super::super::name_width(operations.iter().take(SHOWN).map(|(name, _)| *name));
    for (name, one) in operations.iter().take(SHOWN) {
        let _ = writeln!(
            text,
            "{:<width$} {:>12} {:>10} {:>10} {:>10}",
            trawl_text::words::shown(name.as_bytes()),
            count(u64::try_from(one.recorded()).unwrap_or(u64::MAX)),
            seconds(one.counts().total as f64),
            share(one.counts().total as f64 / total.max(1) as f64),
            seconds(one.mean().unwrap_or(0.0))
        );
    }
    text.push('\n');
    text
}
