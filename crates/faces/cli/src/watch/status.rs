//! `trawl watch --status`: the state of the daemons, for people, for programs and for Prometheus.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_barrier::client;
use trawl_barrier::status::{FIELDS, Kind, Status, prometheus, prometheus_gauge};
use trawl_format::Source;
use trawl_model::path;
use trawl_report::{Field, Row, Schema, fields, schema};

use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::output::say;
use crate::rows;
use crate::sources;
use crate::watch::WatchArgs;
use trawl_session::now;

/// The fields of a daemon's status, after the source's root.
const STATUS: [Field; FIELDS.len() + 1] = {
    let mut all = [fields::ROOT; FIELDS.len() + 1];
    let mut at = 0;
    while at < FIELDS.len() {
        let field = FIELDS[at];
        all[at + 1] = match field.kind {
            Kind::Text => Field::text(field.name, field.help),
            Kind::Gauge | Kind::Counter => Field::integer(field.name, field.help),
        };
        at += 1;
    }
    all
};

/// Rows for programs.
pub(super) static SCHEMA: Schema = Schema {
    row: "the daemon of a source",
    fields: &STATUS,
    forms: schema::OBJECTS,
    samples: &[],
};

/// Asks the daemons of all sources, or of the sources with these roots.
pub(crate) fn run(index: Option<PathBuf>, args: &WatchArgs) -> Result<Exit, Failure> {
    let indexes = sources::opened(index)?;
    let all = trawl_indexer::sources::in_all(&indexes)?.into_iter();
    let mut sources: Vec<Source> = all.map(|(source, _)| source).collect();
    let mut exit = Exit::Complete;
    if !args.paths.is_empty() {
        let wanted = wanted(&args.paths);
        for path in &wanted {
            if !sources.iter().any(|source| source.root() == &path[..]) {
                say(format_args!(
                    "{} is not a source of this index",
                    shown(path)
                ));
                exit = Exit::Fatal;
            }
        }
        sources.retain(|source| wanted.iter().any(|path| path == source.root()));
    }
    let mut report = rows::report(&SCHEMA, args.form.form());
    let mut watched = Vec::new();
    let mut known = Known::default();
    for source in &sources {
        let status = client::ask_status(source).unwrap_or_else(|error| {
            say(&error);
            None
        });
        let state = status.as_ref().and_then(|status| status.get("state"));
        // If all sources are asked about, an unwatched one is not an error.
        let is_well = state == Some("watching") || (state.is_none() && args.paths.is_empty());
        exit = exit.and(if is_well {
            Exit::Complete
        } else {
            Exit::Issues
        });
        if args.prometheus {
            known.add(source, status.is_some())?;
        }
        match (args.prometheus, args.form.is_json()) {
            (true, _) => watched.extend(status.map(|status| (shown(source.root()), status))),
            (_, true) => report.row(|row| fill(row, source, status.as_ref()))?,
            _ => report.put(text(source, status.as_ref()))?,
        }
    }
    if args.prometheus {
        report.put(known.text())?;
        report.put(prometheus(&watched))?;
    }
    rows::finish(report)?;
    Ok(exit)
}

/// Metrics of every source, watched or not, for Prometheus.
#[derive(Default)]
struct Known {
    watched: Vec<(String, String)>,
    ages: Vec<(String, String)>,
}

impl Known {
    fn add(&mut self, source: &Source, is_watched: bool) -> Result<(), Failure> {
        let root = shown(source.root());
        let watched = u8::from(is_watched).to_string();
        self.watched.push((root.clone(), watched));
        if let Some(newest) = source.snapshots()?.last() {
            let age = now().secs.saturating_sub(newest.started.secs).max(0);
            self.ages.push((root, age.to_string()));
        }
        Ok(())
    }

    fn text(&self) -> String {
        let watched = "1 if a daemon keeps the source up to date, else 0";
        let age = "time since the newest snapshot's scan began; a daemon's changes are newer";
        let [watched, ages] = [
            ("trawl_source_watched", watched, &self.watched),
            ("trawl_source_snapshot_age_seconds", age, &self.ages),
        ]
        .map(|(name, help, samples)| match samples.is_empty() {
            true => String::new(),
            false => prometheus_gauge(name, help, samples),
        });
        watched + &ages
    }
}

/// Returns the roots that the paths name.
pub(super) fn wanted(paths: &[PathBuf]) -> Vec<Vec<u8>> {
    let resolved = paths.iter().map(|given| {
        let live = given.canonicalize().unwrap_or_else(|_| given.clone());
        path::normalize(live.as_os_str().as_bytes()).unwrap_or_default()
    });
    resolved.collect()
}

fn fill(row: &mut Row<'_>, source: &Source, status: Option<&Status>) {
    row.put(&fields::ROOT, path::display(source.root()));
    let Some(status) = status else {
        row.put(&STATUS[1], "unwatched");
        return;
    };
    let values = status.fields().map(|(field, value)| (field.name, value));
    for (name, value) in values {
        let Some(field) = STATUS.iter().find(|field| field.name == name) else {
            continue;
        };
        match (field.kind, value.parse::<u64>()) {
            (schema::Kind::Integer, Ok(number)) => row.put(field, number),
            _ => row.put(field, value),
        };
    }
}

fn text(source: &Source, status: Option<&Status>) -> String {
    let root = shown(source.root());
    let Some(status) = status else {
        return format!("{root}: not watched\n");
    };
    let mut lines = format!("{root}\n");
    for (field, value) in status.fields() {
        let value = shown(value.as_bytes());
        lines.push_str(&format!("  {:<22} {value}\n", field.name));
    }
    lines
}
