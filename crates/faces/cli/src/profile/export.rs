//! `trawl profile export`.

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use trawl_histogram::{Capture, json, openmetrics, otlp, text};
use trawl_profile::Recording;

use super::{ExportArgs, open};
use crate::exit::Exit;
use crate::failure::Failure;

/// A format of other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// The text format of the paper's tools
    Text,
    /// JSON, with the timeline
    Json,
    /// OpenMetrics 1.0, with a bucket for each power of two
    Openmetrics,
    /// OpenMetrics 2.0 with native histograms
    Native,
    /// OTLP exponential histograms, as JSON
    Otlp,
}

/// Writes one layer of a recording.
pub(super) fn run(args: &ExportArgs) -> Result<Exit, Failure> {
    let recording = open(&args.file)?;
    let capture = chosen(&recording, args)?;
    let whole = capture.profile.whole();
    let written = match args.format {
        Format::Text => Ok(text::write(&capture.profile, 0)),
        Format::Json => json::write(capture).map(|json| json + "\n"),
        Format::Openmetrics => openmetrics::write(whole, openmetrics::Version::One),
        Format::Native => openmetrics::write(whole, openmetrics::Version::Two),
        Format::Otlp => otlp::write(whole, now_unix_ns()).map(|json| json + "\n"),
    };
    let written = written.map_err(|error| Failure::Usage(error.to_string()))?;
    match &args.output {
        None => {
            let mut out = std::io::stdout();
            let done = out.write_all(written.as_bytes()).and_then(|()| out.flush());
            done.map_err(Failure::Write)?;
        }
        Some(path) => std::fs::write(path, written).map_err(|source| Failure::File {
            action: "write",
            path: path.clone(),
            source,
        })?,
    }
    Ok(Exit::Complete)
}

fn chosen<'r>(recording: &'r Recording, args: &ExportArgs) -> Result<&'r Capture, Failure> {
    let is_wanted = |capture: &&Capture| match &args.layer {
        Some(name) => capture.profile.whole().layer == *name,
        None => true,
    };
    recording.captures.iter().find(is_wanted).ok_or_else(|| {
        let file = args.file.display();
        let text = match &args.layer {
            Some(name) => format!("{file} has no layer {name}"),
            None => format!("{file} has no layer"),
        };
        Failure::Usage(text)
    })
}

fn now_unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let ns = since.map_or(0, |since| since.as_nanos());
    u64::try_from(ns).unwrap_or(u64::MAX)
}
