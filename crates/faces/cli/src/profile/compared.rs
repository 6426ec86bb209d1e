//! `trawl profile diff`.

use std::fmt::Write;
use std::path::Path;

use trawl_analysis::compare::Settings;
use trawl_analysis::compare::complete::{Compared, Comparison, compare};
use trawl_analysis::compare::groupshift::Group;
use trawl_analysis::compare::phases::Difference;
use trawl_analysis::select::{Reason, Selected, Selection, of_comparison};
use trawl_histogram::Profile;
use trawl_profile::Recording;
use trawl_report::{Field, Schema, schema};
use trawl_text::figures::{count, share, time, times};

use super::report::OPERATION;
use super::{DiffArgs, open};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::say;
use crate::rows::{self, Form, Report};

const LAYER: Field = Field::text("layer", "layer at which the latencies were measured");
const METHOD: Field = Field::text("method", "method that rated the difference");
const SCORE: Field =
    Field::integer("score", "difference between the two profiles").in_units("percent");
const DIFFERS: Field = Field::flag("differs", "whether the operation is worth a look");
const REASONS: Field = Field::texts("reasons", "the reasons, in words");
const FIRST_CALLS: Field = Field::integer("first_calls", "calls in the first recording");
const SECOND_CALLS: Field = Field::integer("second_calls", "calls in the second recording");
const FIRST_TOTAL: Field = Field::integer("first_total_ns", "total latency in the first recording")
    .in_units("nanoseconds");
const SECOND_TOTAL: Field =
    Field::integer("second_total_ns", "total latency in the second recording")
        .in_units("nanoseconds");

/// Rows for programs.
pub(super) static SCHEMA: Schema = Schema {
    row: "an operation of two latency profiles",
    fields: &[
        LAYER,
        OPERATION,
        METHOD,
        SCORE,
        DIFFERS,
        REASONS,
        FIRST_CALLS,
        SECOND_CALLS,
        FIRST_TOTAL,
        SECOND_TOTAL,
    ],
    forms: schema::OBJECTS,
    samples: &["profile diff {form} --everything ../recording ../recording"],
};

/// Compares two recordings, layer by layer. Ends with code 1 if something differs, as diff(1) does.
pub(super) fn run(args: &DiffArgs) -> Result<Exit, Failure> {
    let (first, second) = (open(&args.first)?, open(&args.second)?);
    let mut report = rows::report(&SCHEMA, args.form.form());
    report.begin()?;
    let mut differs = 0;
    for (one, other) in pairs(args, &first, &second)? {
        differs += layer(one, other, args, &mut report)?;
    }
    rows::finish(report)?;
    Ok(Exit::from_issues(differs))
}

/// Returns the layers that both recordings have.
fn pairs<'r>(
    args: &DiffArgs,
    first: &'r Recording,
    second: &'r Recording,
) -> Result<Vec<(&'r Profile, &'r Profile)>, Failure> {
    let profiles = |recording: &'r Recording| {
        let captures = recording.captures.iter();
        captures.map(|capture| capture.profile.whole())
    };
    let mut pairs = Vec::new();
    for one in profiles(first) {
        match profiles(second).find(|other| other.layer == one.layer) {
            Some(other) => pairs.push((one, other)),
            None => lacks(&args.second, one),
        }
    }
    for other in profiles(second) {
        if !profiles(first).any(|one| one.layer == other.layer) {
            lacks(&args.first, other);
        }
    }
    match pairs.is_empty() {
        true => Err(Failure::Usage(
            "the recordings have no layer in common".into(),
        )),
        false => Ok(pairs),
    }
}

fn lacks(file: &Path, profile: &Profile) {
    let layer = trawl_text::words::shown(profile.layer.as_bytes());
    say(format_args!("{} has no layer {layer}", file.display()));
}

/// Compares one layer; returns the number of operations that differ.
fn layer(
    first: &Profile,
    second: &Profile,
    args: &DiffArgs,
    report: &mut Report,
) -> Result<u64, Failure> {
    let settings = Settings::default();
    let comparison = compare(first, second, args.method, &settings);
    let comparison = comparison.map_err(|error| Failure::Usage(error.to_string()))?;
    let selection = Selection {
        threshold_percent: args.threshold,
        ..Selection::default()
    };
    let selected = of_comparison(&comparison, &selection);
    let of = |operation: &str| selected.iter().find(|one| one.operation == operation);
    if report.form() == Form::Text {
        report.put(heading(first, &comparison, selected.len()))?;
    }
    // The greatest difference first, then the others by their latency.
    let mut rows: Vec<(&Compared<'_>, Option<&Selected<'_>>)> = selected
        .iter()
        .filter_map(|one| {
            let row = comparison
                .rows
                .iter()
                .find(|row| row.operation == one.operation)?;
            Some((row, Some(one)))
        })
        .collect();
    if args.everything {
        let others = comparison
            .rows
            .iter()
            .filter(|row| of(row.operation).is_none());
        rows.extend(others.map(|row| (row, None)));
    }
    for (row, why) in rows {
        report.line(
            || text(first, row, why),
            |out| {
                let ns = |latency: f64| (first.unit().seconds(latency) * 1e9).round() as u64;
                out.put(&LAYER, first.layer.as_str())
                    .put(&OPERATION, row.operation)
                    .put(&METHOD, args.method.name())
                    .put(&SCORE, row.score.round() as u64)
                    .put(&DIFFERS, why.is_some());
                let reasons = reasons(first, why);
                out.texts(&REASONS, reasons.iter().map(String::as_str))
                    .put(&FIRST_CALLS, row.first_operations)
                    .put(&SECOND_CALLS, row.second_operations)
                    .put(&FIRST_TOTAL, ns(row.first_latency))
                    .put(&SECOND_TOTAL, ns(row.second_latency));
            },
        )?;
    }
    Ok(selected.len() as u64)
}

fn heading(first: &Profile, comparison: &Comparison<'_>, differing: usize) -> String {
    let layer = trawl_text::words::shown(first.layer.as_bytes());
    let mut text = format!(
        "{layer}: {differing} of {} operations differ, by {}\n",
        comparison.rows.len(),
        comparison.method.name()
    );
    if let Some(scale) = comparison.context.scale {
        let _ = writeln!(text, "{}", scaled(scale));
    }
    text
}

/// Says how the runs compare: the scale is the median, over operations, of the factor by which the
/// number of calls grew.
fn scaled(scale: f64) -> String {
    match format!("{scale:.2}").as_str() {
        "1.00" => "the median operation has as many calls in both recordings".to_owned(),
        factor => format!(
            "the median operation has {factor} times as many calls in the second recording as in \
             the first"
        ),
    }
}

fn text(profile: &Profile, row: &Compared<'_>, why: Option<&Selected<'_>>) -> String {
    let seconds = |latency| profile.unit().seconds(latency);
    let mut text = format!(
        "\n{}: {} calls in {}, then {} calls in {}; difference {:.0} %\n",
        trawl_text::words::shown(row.operation.as_bytes()),
        count(row.first_operations),
        time(seconds(row.first_latency)),
        count(row.second_operations),
        time(seconds(row.second_latency)),
        row.score
    );
    for reason in reasons(profile, why) {
        let _ = writeln!(text, "  {reason}");
    }
    text
}

fn reasons(profile: &Profile, why: Option<&Selected<'_>>) -> Vec<String> {
    let all = why.map_or(&[][..], |why| &why.reasons[..]);
    all.iter().map(|reason| said(profile, reason)).collect()
}

/// Says why an operation is worth a look.
fn said(profile: &Profile, reason: &Reason) -> String {
    let at = |latency: f64| time(profile.unit().seconds(latency));
    let seconds = |latency| profile.unit().seconds(latency);
    let peak = |group: &Group| format!("from {}", times(seconds(group.from), seconds(group.to)));
    match reason {
        Reason::LatencyShare(part) => format!("it has {} of the latency", share(*part)),
        Reason::SlowPeak(peak) => format!(
            "{} of the calls, at about {}, take {} of the latency",
            share(peak.operations_share),
            at(peak.centre),
            share(peak.latency_share)
        ),
        Reason::OnlyFirst => "only the first recording has it".to_owned(),
        Reason::OnlySecond => "only the second recording has it".to_owned(),
        Reason::Score {
            method,
            percent,
            threshold_percent,
        } => format!(
            "{} rates the difference {percent:.0} %, more than {threshold_percent:.0} %",
            method.name()
        ),
        Reason::Phase(difference) => phase(difference),
        Reason::Appeared(group) => format!("a peak {} appeared", peak(group)),
        Reason::Vanished(group) => format!("the peak {} vanished", peak(group)),
        Reason::Moved(group) => {
            format!("the peak {} {}", peak(group), moved(group))
        }
        Reason::Grew(group) => format!(
            "the peak {} had {} calls and has {} now",
            peak(group),
            count(group.first),
            count(group.second)
        ),
    }
}

fn phase(difference: &Difference) -> String {
    match difference {
        Difference::OneEmpty => "only one recording has calls".to_owned(),
        Difference::Operations { percent } => {
            format!("the numbers of calls differ by {percent:.0} %")
        }
        Difference::Latency { percent } => {
            format!("the total latencies differ by {percent:.0} %")
        }
        Difference::PeakCount { first, second } => {
            format!("the first recording has {first} peaks, the second {second}")
        }
        Difference::PeakPlace { .. } => "a peak lies elsewhere".to_owned(),
    }
}

fn moved(group: &Group) -> String {
    let factor = group.movement.abs().exp2();
    match format!("{factor:.1}").as_str() {
        "1.0" => "has its calls spread differently now".to_owned(),
        factor if group.movement > 0.0 => format!("is {factor} times as slow now"),
        factor => format!("is {factor} times as fast now"),
    }
}
