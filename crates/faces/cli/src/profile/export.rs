//! `trawl profile export`.

use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use trawl_histogram::{Capture, Profile, json, openmetrics, otlp, text};
use trawl_pictures::{Picture, Second, Story, Theme};
use trawl_profile::Recording;

use super::{ExportArgs, open, parquet};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::unlocked::Unlocked;

/// Pixels for each CSS pixel in a PNG file.
pub(super) const SCALE: f64 = 2.0;

/// A format of other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// A report for browsers in one file, which works offline
    Html,
    /// A picture
    Svg,
    /// A picture made of pixels
    Png,
    /// Data and scripts for gnuplot, in the directory of --output
    Gnuplot,
    /// JSON, with the timeline
    Json,
    /// Parquet, with all layers: a row for each slice, operation and bucket
    Parquet,
    /// The text format of the paper's tools
    Text,
    /// OpenMetrics 1.0, with a bucket for each power of two
    Openmetrics,
    /// OpenMetrics 2.0, with native histograms
    Native,
    /// Prometheus' protobuf exposition format, with native histograms, as servers offer it to scrapes
    PrometheusProtobuf,
    /// OTLP exponential histograms, as JSON
    Otlp,
}

/// Writes a recording.
pub(super) fn run(args: &ExportArgs) -> Result<Exit, Failure> {
    let recording = open(&args.file)?;
    let capture = chosen(&recording, args)?;
    let whole = capture.profile.whole();
    let bytes = match args.format {
        Format::Gnuplot => return gnuplot(capture, args),
        Format::Html => trawl_pictures::html(&story(&recording, args)?).into_bytes(),
        Format::Svg => picture(&recording, capture, args)?.svg().into_bytes(),
        Format::Png => {
            let drawn = picture(&recording, capture, args)?.png(Theme::Light, SCALE);
            drawn.map_err(usage)?
        }
        Format::Json => (json::write(capture).map_err(usage)? + "\n").into_bytes(),
        Format::Parquet => parquet::write(&recording).map_err(usage)?,
        Format::Text => text::write(&capture.profile, 0).into_bytes(),
        Format::Openmetrics => open_metrics(capture, openmetrics::Version::One)?,
        Format::Native => open_metrics(capture, openmetrics::Version::Two)?,
        Format::PrometheusProtobuf => openmetrics::protobuf::write(whole).map_err(usage)?,
        Format::Otlp => {
            (otlp::write(whole, end_unix_ns(whole)).map_err(usage)? + "\n").into_bytes()
        }
    };
    match &args.output {
        Some(path) => write(path, &bytes)?,
        None => {
            let mut out = Unlocked::stdout();
            let done = out.write_all(&bytes).and_then(|()| out.flush());
            done.map_err(Failure::Write)?;
        }
    }
    Ok(Exit::Complete)
}

fn usage(error: impl ToString) -> Failure {
    Failure::Usage(error.to_string())
}

pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    std::fs::write(path, bytes).map_err(|source| Failure::File {
        action: "write",
        path: path.to_owned(),
        source,
    })
}

fn open_metrics(capture: &Capture, version: openmetrics::Version) -> Result<Vec<u8>, Failure> {
    let text = openmetrics::write(capture.profile.whole(), version);
    text.map(String::into_bytes).map_err(usage)
}

/// Draws the operation that was named, two recordings side by side, or all operations.
fn picture(
    recording: &Recording,
    capture: &Capture,
    args: &ExportArgs,
) -> Result<Picture, Failure> {
    let profile = capture.profile.whole();
    if let Some(name) = &args.operation {
        let times = recording.machine.times_in(profile.unit());
        return trawl_pictures::operation(profile, name, &times).map_err(usage);
    }
    Ok(match second(capture, args)? {
        Some(second) => {
            let labels = (second.first_label.as_str(), second.label.as_str());
            trawl_pictures::pair(profile, &second.profile, labels)
        }
        None => trawl_pictures::complete(profile),
    })
}

/// Returns what the report is about: all layers, the one that was named first.
fn story(recording: &Recording, args: &ExportArgs) -> Result<Story, Failure> {
    let first = chosen(recording, args)?;
    let others = recording.captures.iter();
    let others = others.filter(|capture| !std::ptr::eq(*capture, first));
    Ok(Story {
        title: match recording.subject.is_empty() {
            true => args.file.display().to_string(),
            false => recording.subject.clone(),
        },
        captures: std::iter::once(first).chain(others).cloned().collect(),
        second: second(first, args)?,
        times: recording.machine.times_in(first.profile.whole().unit()),
        findings: recording.losses.clone(),
        ..Story::default()
    })
}

/// Returns the same layer of the recording to compare with.
fn second(first: &Capture, args: &ExportArgs) -> Result<Option<Second>, Failure> {
    let Some(file) = &args.second else {
        return Ok(None);
    };
    let layer = &first.profile.whole().layer;
    let captures = open(file)?.captures.into_iter();
    let profiles = captures.map(|capture| capture.profile.into_whole());
    let profile = profiles.into_iter().find(|profile| profile.layer == *layer);
    let profile = profile.ok_or_else(|| lacks(file, layer))?;
    Ok(Some(Second {
        first_label: args.file.display().to_string(),
        label: file.display().to_string(),
        profile,
    }))
}

/// Writes the files for gnuplot.
fn gnuplot(capture: &Capture, args: &ExportArgs) -> Result<Exit, Failure> {
    let Some(directory) = &args.output else {
        let text = "gnuplot needs several files: name their directory with --output";
        return Err(usage(text));
    };
    std::fs::create_dir_all(directory).map_err(|source| Failure::File {
        action: "create",
        path: directory.clone(),
        source,
    })?;
    for file in trawl_pictures::gnuplot(capture) {
        write(&directory.join(file.name), file.content.as_bytes())?;
    }
    Ok(Exit::Complete)
}

fn chosen<'r>(recording: &'r Recording, args: &ExportArgs) -> Result<&'r Capture, Failure> {
    let is_wanted = |capture: &&Capture| match &args.layer {
        Some(name) => capture.profile.whole().layer == *name,
        None => true,
    };
    let found = recording.captures.iter().find(is_wanted);
    found.ok_or_else(|| match &args.layer {
        Some(name) => lacks(&args.file, name),
        None => usage(format!("{} has no layer", args.file.display())),
    })
}

fn lacks(file: &Path, layer: &str) -> Failure {
    usage(format!("{} has no layer {layer}", file.display()))
}

/// Returns when the recording ended, as far as it says so.
fn end_unix_ns(profile: &Profile) -> u64 {
    let began = profile.start_unix_ns.zip(profile.duration_ns);
    began.map_or_else(now_unix_ns, |(start, lasted)| start.saturating_add(lasted))
}

fn now_unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let ns = since.map_or(0, |since| since.as_nanos());
    u64::try_from(ns).unwrap_or(u64::MAX)
}
