//! `trawl profile report`.

use std::fmt::Write;

use trawl_analysis::View;
use trawl_analysis::peaks::Peak;
use trawl_analysis::report::{Described, NamedPeak, Options};
use trawl_histogram::{Histogram, Profile};
use trawl_profile::Recording;
use trawl_profile::detail::split_part;
use trawl_report::{Field, Schema, schema};
use trawl_text::figures::{count, share, time, times};

use super::bars::bar;
use super::{ReportArgs, open, parts};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::rows::{self, Report};

pub(super) const LAYER: Field = Field::text(
    "layer",
    "layer at which the latencies were measured; `LAYER:PART` for a part of it",
);
pub(super) const OPERATION: Field = Field::text("operation", "name of the operation");
const ENTERED: Field = Field::integer("entered", "calls that began");
const IN_FLIGHT: Field = Field::integer("in_flight", "calls that had not returned");
const DROPPED: Field = Field::integer("dropped", "calls whose latency is unknown");
const TOTAL: Field = Field::integer("total_ns", "total latency").in_units("nanoseconds");
const MIN: Field = Field::integer("min_ns", "least latency").in_units("nanoseconds");
const MAX: Field = Field::integer("max_ns", "greatest latency").in_units("nanoseconds");
const PEAKS: Field = Field::texts("peaks", "centres of the peaks, with the share of the calls");
const BUCKETS: Field = Field::integers(
    "buckets",
    "number of calls in each bucket, from bucket 0; bucket b begins at 2^(b/r) nanoseconds or cycles",
);

/// Rows for programs.
pub(super) static SCHEMA: Schema = Schema {
    row: "an operation of a latency profile",
    fields: &[
        LAYER, OPERATION, ENTERED, IN_FLIGHT, DROPPED, TOTAL, MIN, MAX, PEAKS, BUCKETS,
    ],
    forms: schema::OBJECTS,
    samples: &["profile report {form} ../recording"],
};

/// Width of a histogram's bars.
const BAR_WIDTH: usize = 50;
/// Number of operations that are drawn.
const DRAWN: usize = 3;

/// The part of a recording that a report shows.
pub(super) struct Shown<'a> {
    /// This layer or part of a layer; all layers if `None`.
    pub(super) layer: Option<&'a str>,
    /// These operations; all if there are none.
    pub(super) operations: &'a [String],
    /// Least share of the total latency, in percent.
    pub(super) least: f64,
}

impl Shown<'_> {
    fn has_layer(&self, profile: &Profile) -> bool {
        self.layer.is_none_or(|layer| layer == profile.layer)
    }

    fn has(&self, operation: &str) -> bool {
        self.operations.is_empty() || self.operations.iter().any(|name| name == operation)
    }
}

/// Shows a recording.
pub(super) fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let recording = open(&args.file)?;
    let shown = Shown {
        layer: args.layer.as_deref(),
        operations: &args.operation,
        least: args.least,
    };
    check(&recording, &shown)?;
    let mut report = rows::report(&SCHEMA, args.form.form());
    report.begin()?;
    if report.form() == rows::Form::Text {
        report.put(text(&recording, &shown))?;
    } else {
        for profile in profiles(&recording).filter(|one| shown.has_layer(one)) {
            fill_layer(&recording, profile, &shown, &mut report)?;
        }
    }
    rows::finish(report)?;
    Ok(Exit::from_issues(recording.losses.len() as u64))
}

/// Fails if the recording has no layer or operation that is to be shown.
fn check(recording: &Recording, shown: &Shown<'_>) -> Result<(), Failure> {
    let usage = |what: String| Err(Failure::Usage(format!("the recording has no {what}")));
    let mut layers = profiles(recording).filter(|one| shown.has_layer(one));
    let mut names = profiles(recording)
        .filter(|one| shown.has_layer(one))
        .flat_map(|one| one.operations().map(|(name, _)| name));
    match shown.layer {
        Some(layer) if layers.next().is_none() => usage(format!("layer {layer}")),
        _ if !shown.operations.is_empty() && !names.any(|name| shown.has(name)) => {
            usage(format!("operation {}", shown.operations.join(", ")))
        }
        _ => Ok(()),
    }
}

fn profiles(recording: &Recording) -> impl Iterator<Item = &Profile> {
    let captures = recording.captures.iter();
    captures.map(|capture| capture.profile.whole())
}

/// Returns the recording in words: each layer in full, and its parts as a table.
pub(super) fn text(recording: &Recording, shown: &Shown<'_>) -> String {
    let mut text = heading(recording);
    for profile in profiles(recording).filter(|one| shown.has_layer(one)) {
        let is_part = split_part(&profile.layer).is_some();
        if is_part && shown.layer.is_none() {
            continue;
        }
        text += &layer(recording, profile, shown);
        if shown.operations.is_empty() && !is_part {
            text += &parts::table(profile, profiles(recording));
        }
    }
    text
}

fn heading(recording: &Recording) -> String {
    let machine = &recording.machine;
    let mut text = match recording.subject.is_empty() {
        true => String::new(),
        false => format!(
            "{} ({} processors, Linux {})\n",
            trawl_text::words::shown(recording.subject.as_bytes()),
            machine.cpus,
            trawl_text::words::shown(machine.kernel.as_bytes())
        ),
    };
    for loss in &recording.losses {
        let loss = trawl_text::words::shown(loss.as_bytes());
        let _ = writeln!(text, "incomplete: {loss}");
    }
    text
}

/// Returns how the operations of a layer are described.
fn options(recording: &Recording, profile: &Profile, shown: &Shown<'_>) -> Options {
    Options {
        least_share: match shown.operations.is_empty() {
            true => shown.least / 100.0,
            false => 0.0,
        },
        times: recording.machine.times_in(profile.unit()),
        layer: profile.layer.clone(),
        ..Options::default()
    }
}

/// Returns the operations of one layer: a table, and drawings of those that were named or, if none
/// were, of the first ones.
fn layer(recording: &Recording, profile: &Profile, shown: &Shown<'_>) -> String {
    let options = options(recording, profile, shown);
    let described = trawl_analysis::report::report(profile.operations(), &options);
    let operations = described.operations.iter();
    let wanted = operations.filter(|one| shown.has(one.row.operation));
    let wanted: Vec<&Described<'_>> = wanted.collect();
    let drawn = match shown.operations.is_empty() {
        true => DRAWN,
        false => usize::MAX,
    };
    let drawings = wanted.iter().take(drawn).map(|one| drawing(profile, one));
    let drawings: String = drawings.collect();
    table(profile, &wanted, described.left_out.operations) + &drawings
}

/// Writes the operations of one layer as rows.
fn fill_layer(
    recording: &Recording,
    profile: &Profile,
    shown: &Shown<'_>,
    report: &mut Report,
) -> Result<(), Failure> {
    let options = options(recording, profile, shown);
    let described = trawl_analysis::report::report(profile.operations(), &options);
    let operations = described.operations.iter();
    for one in operations.filter(|one| shown.has(one.row.operation)) {
        report.line(String::new, |row| fill(row, profile, one))?;
    }
    Ok(())
}

/// Returns the table of §3.1.1: operations by total latency, with the part of each.
fn table(profile: &Profile, wanted: &[&Described<'_>], left_out: usize) -> String {
    let layer = trawl_text::words::shown(profile.layer.as_bytes());
    let mut text = format!("\n{layer}\n");
    let width = super::name_width(wanted.iter().map(|one| one.row.operation));
    let _ = writeln!(
        text,
        "{:<width$} {:>12} {:>10} {:>8} {:>10}  peaks",
        "operation", "calls", "latency", "share", "mean"
    );
    for one in wanted {
        let (row, mean) = (&one.row, one.row.histogram.mean().unwrap_or(0.0));
        let seconds = |latency| profile.unit().seconds(latency);
        let peaks: Vec<String> = one
            .peaks
            .iter()
            .map(|peak| centre(profile, &peak.peak))
            .collect();
        let _ = writeln!(
            text,
            "{:<width$} {:>12} {:>10} {:>8} {:>10}  {}",
            trawl_text::words::shown(row.operation.as_bytes()),
            count(row.histogram.counts().entered),
            time(seconds(row.latency)),
            share(row.latency_share),
            time(seconds(mean)),
            peaks.join(", ")
        );
    }
    if left_out > 0 {
        let _ = writeln!(
            text,
            "{left_out} operations with less of the total latency are left out"
        );
    }
    text
}

fn centre(profile: &Profile, peak: &Peak) -> String {
    let centre = profile.unit().seconds(peak.centre);
    format!("{} ({})", time(centre), share(peak.operations_share))
}

/// Draws a histogram, and says what its peaks are.
fn drawing(profile: &Profile, one: &Described<'_>) -> String {
    let histogram = one.row.histogram;
    let name = trawl_text::words::shown(one.row.operation.as_bytes());
    let mut text = format!("\n{name}: calls by latency, on a logarithmic scale\n");
    let most = histogram.buckets().iter().copied().max().unwrap_or(0);
    let view = View::from(histogram);
    for bucket in filled(histogram) {
        let (from, calls) = (profile.unit().seconds(view.low(bucket)), view.at(bucket));
        let _ = writeln!(
            text,
            "{:>8} {:>12} {}",
            time(from),
            count(calls),
            bar(calls, most, BAR_WIDTH)
        );
    }
    for peak in &one.peaks {
        let _ = writeln!(text, "  {}", explained(profile, peak));
    }
    if let Some(warning) = &one.warning {
        let _ = writeln!(
            text,
            "  up to {:.0} of these calls may have been preempted",
            warning.expected_most
        );
    }
    text
}

/// Returns the buckets from the first that holds something to the last.
fn filled(histogram: &Histogram) -> std::ops::Range<usize> {
    let buckets = histogram.buckets();
    let first = buckets.iter().position(|count| *count > 0);
    first.unwrap_or(buckets.len())..buckets.len()
}

fn explained(profile: &Profile, named: &NamedPeak) -> String {
    let peak = &named.peak;
    let seconds = |latency| profile.unit().seconds(latency);
    let mut text = format!(
        "{}: {} of the calls, {} of their latency",
        times(seconds(peak.from), seconds(peak.to)),
        share(peak.operations_share),
        share(peak.latency_share)
    );
    let near = named.near.iter().map(|near| {
        let name = trawl_text::words::shown(near.name.as_bytes());
        format!("a {name} ({})", time(seconds(near.time)))
    });
    let near: Vec<String> = near.collect();
    if !near.is_empty() {
        text += &format!("; near {}", near.join(" and "));
    }
    text
}

fn fill(row: &mut trawl_report::Row<'_>, profile: &Profile, one: &Described<'_>) {
    let histogram = one.row.histogram;
    let counts = histogram.counts();
    let ns = |latency: f64| (profile.unit().seconds(latency) * 1e9).round() as u64;
    row.put(&LAYER, profile.layer.as_str())
        .put(&OPERATION, one.row.operation)
        .put(&ENTERED, counts.entered)
        .put(&IN_FLIGHT, histogram.in_flight())
        .put(&DROPPED, counts.dropped)
        .put(&TOTAL, ns(counts.total as f64));
    for (field, latency) in [(&MIN, counts.min), (&MAX, counts.max)] {
        match latency {
            Some(latency) => row.put(field, ns(latency as f64)),
            None => row.put(field, trawl_report::Value::Null),
        };
    }
    let peaks: Vec<String> = one
        .peaks
        .iter()
        .map(|peak| centre(profile, &peak.peak))
        .collect();
    row.texts(&PEAKS, peaks.iter().map(String::as_str));
    row.integers(&BUCKETS, histogram.buckets().iter().copied());
}
