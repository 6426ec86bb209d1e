//! The parts of a layer, by program or thread, as a table.

use std::fmt::Write;

use trawl_histogram::Profile;
use trawl_profile::detail::split_part;
use trawl_text::figures::{count, share, time};

/// Number of parts in the table.
const SHOWN: usize = 40;

/// Returns a table of the parts of a layer, the greatest total latency first; nothing if the layer
/// has no parts.
pub(super) fn table<'p>(layer: &Profile, all: impl Iterator<Item = &'p Profile>) -> String {
    let part_of = |profile: &'p Profile| match split_part(&profile.layer) {
        Some((name, part)) if name == layer.layer => Some((part, profile)),
        _ => None,
    };
    let mut parts: Vec<(&str, &Profile)> = all.filter_map(part_of).collect();
    parts.sort_by_key(|(_, profile)| std::cmp::Reverse(total(profile)));
    let Some((first, _)) = parts.first() else {
        return String::new();
    };
    let name = trawl_text::words::shown(layer.layer.as_bytes());
    let example = trawl_text::words::shown(first.as_bytes());
    let mut text = format!("\n{name} by part; show one in full with --layer {name}:{example}\n");
    let _ = writeln!(
        text,
        "{:<32} {:>12} {:>10} {:>10}  most latency",
        "part", "calls", "latency", "share"
    );
    let whole = total(layer).max(1) as f64;
    for (part, profile) in parts.iter().take(SHOWN) {
        text += &row(part, profile, whole);
    }
    if parts.len() > SHOWN {
        let _ = writeln!(text, "{} further parts", parts.len() - SHOWN);
    }
    text
}

fn row(part: &str, profile: &Profile, whole: f64) -> String {
    let latency = total(profile);
    let calls = profile.operations().map(|(_, one)| one.counts().entered);
    let operations = profile.by_total();
    let most = operations.iter().take(3).map(|(name, one)| {
        let part = one.counts().total as f64 / latency.max(1) as f64;
        let name = trawl_text::words::shown(name.as_bytes());
        format!("{name} {}", share(part))
    });
    let most: Vec<String> = most.collect();
    format!(
        "{:<32} {:>12} {:>10} {:>10}  {}\n",
        trawl_text::words::shown(part.as_bytes()),
        count(calls.sum()),
        time(profile.unit().seconds(latency as f64)),
        share(latency as f64 / whole),
        most.join(", ")
    )
}

fn total(profile: &Profile) -> u128 {
    let operations = profile.operations();
    operations.fold(0, |sum, (_, one)| sum.saturating_add(one.counts().total))
}
