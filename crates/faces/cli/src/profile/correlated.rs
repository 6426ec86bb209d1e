//! `trawl profile correlate`: the values of calls by latency peak (§3.1.6).

use std::fmt::Write;

use trawl_analysis::correlation::{Correlation, PeakValues, Telling, correlate};
use trawl_analysis::peaks::Detection;
use trawl_histogram::{Capture, Correlated, Histogram, Profile};
use trawl_report::{Field, Schema, schema};
use trawl_text::figures::{count, share, times};

use super::bars::bar;
use super::report::{LAYER, OPERATION};
use super::{CorrelateArgs, open};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::rows::{self, Form, Report};

const VALUE: Field = Field::text("value", "name of the value, which ends with its unit");
const FROM: Field =
    Field::integer("from_ns", "latency at which the peak begins").in_units("nanoseconds");
const TO: Field = Field::integer("to_ns", "latency at which the peak ends").in_units("nanoseconds");
const CALLS: Field = Field::integer("calls", "calls in the peak that have the value");
const WITHOUT: Field = Field::integer("without", "calls in the peak that have no such value");
const SUM: Field = Field::integer("sum", "sum of the values");
const BUCKETS: Field = Field::integers(
    "buckets",
    "number of calls in each bucket of the value, from bucket 0; bucket b begins at 2^(b/r)",
);
const TELLING: Field = Field::texts("telling", "values that tell the peak from others, in words");

/// Rows for programs.
pub(super) static SCHEMA: Schema = Schema {
    row: "the values of the calls in a latency peak",
    fields: &[
        LAYER, OPERATION, VALUE, FROM, TO, CALLS, WITHOUT, SUM, BUCKETS, TELLING,
    ],
    forms: schema::OBJECTS,
    // The recording of the samples has no values.
    samples: &[],
};

/// Width of a histogram's bars.
const BAR_WIDTH: usize = 40;

/// Shows the values of each operation.
pub(super) fn run(args: &CorrelateArgs) -> Result<Exit, Failure> {
    let recording = open(&args.file)?;
    let mut report = rows::report(&SCHEMA, args.form.form());
    report.begin()?;
    let mut found = 0;
    for capture in &recording.captures {
        for values in &capture.correlated {
            found += value(capture, values, args, &mut report)?;
        }
    }
    rows::finish(report)?;
    match found {
        0 => Err(Failure::Usage(nothing(args))),
        _ => Ok(Exit::from_issues(recording.losses.len() as u64)),
    }
}

fn nothing(args: &CorrelateArgs) -> String {
    let file = args.file.display();
    match args.operation.is_empty() {
        true => format!(
            "{file} has no values of calls; record them with \
             trawl profile record --correlate read:result"
        ),
        false => format!("{file} has no values of {}", args.operation.join(", ")),
    }
}

/// Shows one value; returns the number of operations that have it.
fn value(
    capture: &Capture,
    values: &Correlated,
    args: &CorrelateArgs,
    report: &mut Report,
) -> Result<usize, Failure> {
    let profile = capture.profile.whole();
    let is_wanted =
        |name: &str| args.operation.is_empty() || args.operation.iter().any(|one| one == name);
    let mut found = 0;
    for (name, _) in values.operations().filter(|(name, _)| is_wanted(name)) {
        let Some(histogram) = profile.get(name) else {
            continue;
        };
        let correlation = correlate(name, histogram, values, &Detection::default());
        let correlation = correlation.map_err(|error| Failure::Usage(error.to_string()))?;
        found += 1;
        if report.form() == Form::Text {
            report.put(text(profile, name, values, &correlation))?;
            continue;
        }
        for peak in &correlation.peaks {
            report.line(String::new, |row| fill(row, profile, name, values, peak))?;
        }
    }
    Ok(found)
}

fn text(profile: &Profile, name: &str, values: &Correlated, found: &Correlation) -> String {
    let shown = |text: &str| trawl_text::words::shown(text.as_bytes());
    let (layer, value) = (shown(&profile.layer), shown(values.value()));
    let mut text = format!("\n{layer}: {value} of {}, by latency peak\n", shown(name));
    let at = |latency| profile.unit().seconds(latency);
    for one in &found.peaks {
        let peak = &one.peak;
        let _ = writeln!(
            text,
            "\npeak from {}: {} calls, {} of all",
            times(at(peak.from), at(peak.to)),
            count(peak.operations),
            share(peak.operations_share)
        );
        text += &drawing(&one.values);
        for told in &one.telling {
            let _ = writeln!(text, "  {}", words(told, &one.values));
        }
    }
    if found.outside > 0 {
        let _ = writeln!(text, "\n{} calls are in no peak", count(found.outside));
    }
    if let Some(verdict) = verdict(found, &value) {
        let _ = writeln!(text, "\n{verdict}");
    }
    text
}

/// Draws the histogram of values.
fn drawing(values: &Histogram) -> String {
    let mut text = String::new();
    let most = values.buckets().iter().copied().max().unwrap_or(0);
    let filled = (0_u16..)
        .zip(values.buckets())
        .filter(|(_, calls)| **calls > 0);
    for (bucket, calls) in filled {
        let _ = writeln!(
            text,
            "{:>28} {:>12} {}",
            range(values, bucket, bucket),
            count(*calls),
            bar(*calls, most, BAR_WIDTH)
        );
    }
    if values.counts().dropped > 0 {
        let without = count(values.counts().dropped);
        let _ = writeln!(text, "{:>28} {without:>12}", "no such value");
    }
    text
}

/// Returns the values in some buckets: "4,096 to 8,191". The histogram's own extremes are closer.
fn range(values: &Histogram, first: u16, last: u16) -> String {
    let resolution = values.resolution();
    let (least, greatest) = (
        *resolution.bounds(first).start(),
        *resolution.bounds(last).end(),
    );
    let least = values.counts().min.map_or(least, |min| min.max(least));
    let greatest = values
        .counts()
        .max
        .map_or(greatest, |max| max.min(greatest));
    match least == greatest {
        true => count(least),
        false => format!("{} to {}", count(least), count(greatest)),
    }
}

fn words(told: &Telling, values: &Histogram) -> String {
    format!(
        "{} tells this peak: {} of its calls have it, and {} of the calls with it are here",
        range(values, told.first, told.last),
        share(told.of_peak),
        share(told.of_value)
    )
}

/// Says whether the value separates the peaks.
fn verdict(found: &Correlation, value: &str) -> Option<String> {
    let least = found.differences.iter().copied().reduce(f64::min)?;
    Some(match found.is_separated() {
        true => format!(
            "{value} separates the peaks: neighbours differ by at least {}",
            share(least)
        ),
        false => format!(
            "{value} does not separate all peaks: two neighbours differ by {}",
            share(least)
        ),
    })
}

fn fill(
    row: &mut trawl_report::Row<'_>,
    profile: &Profile,
    name: &str,
    values: &Correlated,
    one: &PeakValues,
) {
    let ns = |latency: f64| (profile.unit().seconds(latency) * 1e9).round() as u64;
    let saturated = |number: u128| u64::try_from(number).unwrap_or(u64::MAX);
    row.put(&LAYER, profile.layer.as_str())
        .put(&OPERATION, name)
        .put(&VALUE, values.value())
        .put(&FROM, ns(one.peak.from))
        .put(&TO, ns(one.peak.to))
        .put(&CALLS, saturated(one.values.recorded()))
        .put(&WITHOUT, one.values.counts().dropped)
        .put(&SUM, saturated(one.values.counts().total));
    row.integers(&BUCKETS, one.values.buckets().iter().copied());
    let telling: Vec<String> = one
        .telling
        .iter()
        .map(|told| words(told, &one.values))
        .collect();
    row.texts(&TELLING, telling.iter().map(String::as_str));
}
