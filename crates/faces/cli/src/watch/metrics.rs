//! `trawl watch --metrics`: how long the daemons' own operations took.

use std::path::PathBuf;

use trawl_barrier::client;
use trawl_format::Source;
use trawl_histogram::{Profile, openmetrics};
use trawl_profile::{Machine, Recording};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, say};
use crate::sources;
use crate::watch::{WatchArgs, status};

/// A format of `--metrics`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// Prometheus' text format, for node_exporter too
    Prometheus,
    /// OpenMetrics 2.0, with native histograms
    Native,
    /// A recording, for trawl profile report
    Recording,
}

/// Asks the daemons of all sources, or of those that are named, and prints the sum.
pub(super) fn run(
    index: Option<PathBuf>,
    args: &WatchArgs,
    format: Format,
) -> Result<Exit, Failure> {
    let indexes = sources::opened(index)?;
    let all = trawl_indexer::sources::in_all(&indexes)?.into_iter();
    let mut sources: Vec<Source> = all.map(|(source, _)| source).collect();
    if !args.paths.is_empty() {
        let wanted = status::wanted(&args.paths);
        sources.retain(|source| wanted.iter().any(|path| path == source.root()));
    }
    let mut told = Told::default();
    let mut exit = Exit::Complete;
    for source in &sources {
        if let Err(why) = told.ask(source) {
            say(why);
            exit = Exit::Issues;
        }
    }
    if told.profiles.is_empty() {
        if exit == Exit::Complete {
            say("no daemon watches these sources");
        }
        return Ok(Exit::Issues);
    }
    let mut output = Output::stdout();
    output.put(told.text(format)?)?;
    output.finish()?;
    Ok(exit)
}

/// What daemons told.
#[derive(Default)]
struct Told {
    /// One for each layer.
    profiles: Vec<Profile>,
    /// The daemons that are included, by title and start: one may watch several sources.
    known: Vec<(String, Option<u64>)>,
}

impl Told {
    fn ask(&mut self, source: &Source) -> Result<(), String> {
        let reply = client::ask_metrics(source).map_err(|error| error.to_string())?;
        let Some(reply) = reply else {
            return Ok(());
        };
        let recording = Recording::read(&reply).map_err(|error| error.to_string())?;
        let profiles = recording.captures.iter().map(|one| one.profile.whole());
        let start = profiles.clone().next().and_then(|one| one.start_unix_ns);
        let daemon = (recording.subject.clone(), start);
        if self.known.contains(&daemon) {
            return Ok(());
        }
        self.known.push(daemon);
        for profile in profiles {
            match self
                .profiles
                .iter_mut()
                .find(|one| one.layer == profile.layer)
            {
                Some(known) => known.merge(profile).map_err(|error| error.to_string())?,
                None => self.profiles.push(profile.clone()),
            }
        }
        Ok(())
    }

    fn text(self, format: Format) -> Result<String, Failure> {
        let usage = |error: &dyn ToString| Failure::Usage(error.to_string());
        let version = match format {
            Format::Prometheus => openmetrics::Version::Prometheus,
            Format::Native => openmetrics::Version::Two,
            Format::Recording => {
                let titles: Vec<String> = self.known.into_iter().map(|(title, _)| title).collect();
                let recording = Recording {
                    subject: titles.join("; "),
                    machine: Machine::unmeasured(),
                    losses: Vec::new(),
                    captures: self.profiles.into_iter().map(Into::into).collect(),
                };
                return recording.to_json().map_err(|error| usage(&error));
            }
        };
        openmetrics::write_all(&self.profiles, version).map_err(|error| usage(&error))
    }
}
