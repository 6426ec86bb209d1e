//! `trawl watch --status`: how the daemons are, for people, for programs and for Prometheus.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_index::{IndexDir, Source};
use trawl_model::path;
use trawl_serve::client;
use trawl_serve::status::{Kind, Status, prometheus};
use trawl_text::json::Object;

use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::output::{Output, say};
use crate::settings;
use crate::watch::WatchArgs;

/// Asks the daemons of all sources, or of those that the paths lie in.
pub(crate) fn run(index: Option<PathBuf>, args: &WatchArgs) -> Result<Exit, Failure> {
    let index = IndexDir::open(&settings::index_to_ask(index)?)?;
    let mut sources = index.sources()?;
    let mut exit = Exit::Complete;
    if !args.paths.is_empty() {
        let wanted = wanted(&args.paths);
        for path in &wanted {
            if !sources.iter().any(|source| source.root() == &path[..]) {
                say(format_args!("{} is no source of this index", shown(path)));
                exit = Exit::Fatal;
            }
        }
        sources.retain(|source| wanted.iter().any(|path| path == source.root()));
    }
    let mut output = Output::stdout();
    let mut watched = Vec::new();
    for source in &sources {
        let status = client::ask_status(source).unwrap_or_else(|error| {
            say(&error);
            None
        });
        let state = status.as_ref().and_then(|status| status.get("state"));
        // Who asks for all is not told that a source that nobody watches is amiss.
        let is_well = state == Some("watching") || (state.is_none() && args.paths.is_empty());
        exit = exit.and(if is_well {
            Exit::Complete
        } else {
            Exit::Issues
        });
        match (args.prometheus, args.json) {
            (true, _) => watched.extend(status.map(|status| (shown(source.root()), status))),
            (_, true) => output.put(object(source, status.as_ref()).close() + "\n")?,
            _ => output.put(text(source, status.as_ref()))?,
        }
    }
    if args.prometheus {
        output.put(prometheus(&watched))?;
    }
    output.finish()?;
    Ok(exit)
}

/// The roots that are meant by paths.
pub(super) fn wanted(paths: &[PathBuf]) -> Vec<Vec<u8>> {
    let resolved = paths.iter().map(|given| {
        let live = given.canonicalize().unwrap_or_else(|_| given.clone());
        path::normalize(live.as_os_str().as_bytes()).unwrap_or_default()
    });
    resolved.collect()
}

fn object(source: &Source, status: Option<&Status>) -> Object {
    let object = Object::new().bytes("root", path::display(source.root()));
    let Some(status) = status else {
        return object.text("state", "unwatched");
    };
    status.fields().fold(object, |object, (field, value)| {
        match (field.kind, value.parse::<u64>()) {
            (Kind::Gauge | Kind::Counter, Ok(number)) => object.number(field.name, number),
            _ => object.text(field.name, value),
        }
    })
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
