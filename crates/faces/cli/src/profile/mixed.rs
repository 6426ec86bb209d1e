//! `trawl profile mix`: of which operations a workload consists, by phase (§8.1).

use std::fmt::Write;
use std::path::Path;

use trawl_analysis::mix::{Detection, Mix, Part, by_phase, of_profile};
use trawl_histogram::{Capture, Sliced, Unit};
use trawl_pictures::Theme;
use trawl_report::{Field, Schema, schema};
use trawl_text::figures::{count, share, time};

use super::report::{LAYER, OPERATION};
use super::{MixArgs, export, open};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::rows::{self, Form, Report};

const PHASE: Field = Field::text("phase", "name of the phase; `whole` for all");
const CALLS: Field = Field::integer("calls", "calls of the operation");
const LATENCY: Field = Field::integer("latency_ns", "total latency, estimated from the buckets")
    .in_units("nanoseconds");

/// Rows for programs.
pub(super) static SCHEMA: Schema = Schema {
    row: "an operation's part of a workload or a phase of it",
    fields: &[LAYER, PHASE, OPERATION, CALLS, LATENCY],
    forms: schema::OBJECTS,
    samples: &["profile mix {form} ../recording"],
};

/// Number of operations in a table.
const SHOWN: usize = 16;

/// The name of the sum of all phases.
const WHOLE: &str = "whole";

/// A workload.
struct Workload {
    layer: String,
    unit: Unit,
    /// Names and mixes: the whole first if there are several phases.
    phases: Vec<(String, Mix)>,
}

/// Shows the mixes.
pub(super) fn run(args: &MixArgs) -> Result<Exit, Failure> {
    let workload = match &args.files[..] {
        [file] => of_one(&capture(file, args)?),
        files => of_several(
            files
                .iter()
                .map(|file| Ok((name(file), capture(file, args)?))),
        )?,
    };
    if let Some(path) = &args.picture {
        draw(&workload, path)?;
    }
    let mut report = rows::report(&SCHEMA, args.form.form());
    report.begin()?;
    for (phase, mix) in &workload.phases {
        show(&workload, phase, mix, &mut report)?;
    }
    rows::finish(report)?;
    Ok(Exit::Complete)
}

/// Returns the layer that was named, or the first one.
fn capture(file: &Path, args: &MixArgs) -> Result<Capture, Failure> {
    let wanted = args.layer.as_deref();
    let is_wanted =
        |capture: &Capture| wanted.is_none_or(|name| capture.profile.whole().layer == name);
    let captures = open(file)?.captures;
    captures.into_iter().find(is_wanted).ok_or_else(|| {
        let file = file.display();
        Failure::Usage(match wanted {
            Some(name) => format!("{file} has no layer {name}"),
            None => format!("{file} has no layer"),
        })
    })
}

/// Returns a file's name, without directory and ending.
fn name(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or(file.as_os_str());
    stem.to_string_lossy().into_owned()
}

/// Finds the phases of a recording with a timeline.
fn of_one(capture: &Capture) -> Workload {
    let sliced = &capture.profile;
    let whole = sliced.whole();
    let mut phases = vec![(WHOLE.to_owned(), of_profile(whole))];
    let found = by_phase(sliced, &Detection::default());
    if found.len() > 1 {
        let named = found.into_iter().map(|phase| {
            let (from, to) = (phase.slices.start, phase.slices.end);
            (span(sliced, from, to), phase.mix)
        });
        phases.extend(named);
    }
    Workload {
        layer: whole.layer.clone(),
        unit: whole.unit(),
        phases,
    }
}

/// Returns "from 0 s to 1.5 s".
fn span(sliced: &Sliced, from: usize, to: usize) -> String {
    match sliced.interval_ns() {
        Some(ns) => {
            let at = |slice: usize| time(slice as f64 * ns as f64 / 1e9);
            format!("from {} to {}", at(from), at(to))
        }
        None => format!("slices {from} to {to}"),
    }
}

/// Takes each recording as a phase, as the paper did.
fn of_several(
    files: impl Iterator<Item = Result<(String, Capture), Failure>>,
) -> Result<Workload, Failure> {
    let mut phases = Vec::new();
    let mut sum: Option<trawl_histogram::Profile> = None;
    for file in files {
        let (name, capture) = file?;
        let mut profile = capture.profile.into_whole();
        phases.push((name, of_profile(&profile)));
        match &mut sum {
            Some(sum) => {
                profile.start_unix_ns = None;
                let merged = sum.merge(&profile);
                merged.map_err(|error| Failure::Usage(error.to_string()))?;
            }
            None => sum = Some(profile),
        }
    }
    let Some(sum) = sum else {
        return Err(Failure::Usage("name a recording".into()));
    };
    phases.insert(0, (WHOLE.to_owned(), of_profile(&sum)));
    Ok(Workload {
        layer: sum.layer.clone(),
        unit: sum.unit(),
        phases,
    })
}

fn draw(workload: &Workload, path: &Path) -> Result<(), Failure> {
    let picture = trawl_pictures::mix(&workload.phases, workload.unit);
    let bytes = match path.extension().and_then(|ending| ending.to_str()) {
        Some("svg") => picture.svg().into_bytes(),
        Some("png") => {
            let drawn = picture.png(Theme::Light, export::SCALE);
            drawn.map_err(|error| Failure::Usage(error.to_string()))?
        }
        _ => {
            let path = path.display();
            return Err(Failure::Usage(format!(
                "{path} ends neither in .svg nor in .png"
            )));
        }
    };
    export::write(path, &bytes)
}

fn show(workload: &Workload, phase: &str, mix: &Mix, report: &mut Report) -> Result<(), Failure> {
    if report.form() == Form::Text {
        return report
            .put(text(workload, phase, mix))
            .map_err(Failure::from);
    }
    for part in &mix.rows {
        report.line(String::new, |row| {
            let ns = workload.unit.seconds(part.latency) * 1e9;
            row.put(&LAYER, workload.layer.as_str())
                .put(&PHASE, phase)
                .put(&OPERATION, part.operation.as_str())
                .put(&CALLS, part.operations)
                .put(&LATENCY, ns.round() as u64);
        })?;
    }
    Ok(())
}

fn text(workload: &Workload, phase: &str, mix: &Mix) -> String {
    let shown = |text: &str| trawl_text::words::shown(text.as_bytes());
    let mut text = format!(
        "{}, {}: {} calls in {}\n",
        shown(&workload.layer),
        shown(phase),
        count(mix.operations),
        time(workload.unit.seconds(mix.latency))
    );
    let width = super::name_width(
        mix.rows
            .iter()
            .take(SHOWN)
            .map(|part| part.operation.as_str()),
    );
    let _ = writeln!(
        text,
        "{:<width$} {:>12} {:>12} {:>10} {:>12}",
        "operation", "calls", "of all", "latency", "of all"
    );
    for part in mix.rows.iter().take(SHOWN) {
        text += &row(workload, part, width);
    }
    if mix.rows.len() > SHOWN {
        let _ = writeln!(text, "{} further operations", mix.rows.len() - SHOWN);
    }
    if let Some(ratio) = mix.ratio("read", "write") {
        let _ = writeln!(text, "reads for each write: {ratio:.2}");
    }
    text.push('\n');
    text
}

fn row(workload: &Workload, part: &Part, width: usize) -> String {
    format!(
        "{:<width$} {:>12} {:>12} {:>10} {:>12}\n",
        trawl_text::words::shown(part.operation.as_bytes()),
        count(part.operations),
        share(part.operations_share),
        time(workload.unit.seconds(part.latency)),
        share(part.latency_share)
    )
}
