//! `trawl sources`: lists what is indexed, as of when and with how many issues, and removes
//! sources.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_format::usage::{Usage, usage};
use trawl_format::{IndexDir, Snapshot, Source};
use trawl_text::time_style::full_iso;
use trawl_text::units::{Scale, format};
use trawl_text::zone::Zone;

use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::index::left_out::listed;
use crate::index::progress::counted;
use crate::index::scan::ID_MAP;
use crate::output::{Output, say};
use crate::rows::Form;
use crate::{settings, snapshots};
use trawl_text::json::Object;

// Options of `trawl sources`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SourcesArgs {
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// List every snapshot of each source: its id, start time and size
    #[arg(long)]
    snapshots: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Remove trees from the index; the trees themselves stay unchanged
    Remove {
        /// Remove these roots, spelled as in the list
        #[arg(value_name = "PATH", required = true)]
        roots: Vec<OsString>,
    },
}

/// Runs the command.
pub(crate) fn run(index: Option<PathBuf>, args: &SourcesArgs) -> Result<Exit, Failure> {
    match &args.action {
        Some(Action::Remove { roots }) => {
            remove(&IndexDir::open(&settings::index_dir(index)?)?, roots)
        }
        None if args.snapshots => snapshots::list(&opened(index)?, Form::new(args.json, false)),
        None => list(&opened(index)?, args.json),
    }
}

/// Opens the indexes that this user asks.
pub(crate) fn opened(index: Option<PathBuf>) -> Result<Vec<IndexDir>, Failure> {
    let dirs = settings::indexes_to_ask(index)?;
    let opened = dirs.iter().map(|dir| Ok(IndexDir::open(dir)?));
    opened.collect()
}

/// Returns the sources of all these indexes, ordered by root, each with the index that holds it.
pub(crate) fn in_all(indexes: &[IndexDir]) -> Result<Vec<(Source, &IndexDir)>, Failure> {
    let mut all = Vec::new();
    for index in indexes {
        all.extend(index.sources()?.into_iter().map(|source| (source, index)));
    }
    all.sort_by(|(a, _), (b, _)| trawl_model::path::cmp(a.root(), b.root()));
    Ok(all)
}

/// Returns a note that names the index of a source; empty if only one index is asked.
pub(crate) fn held_by(indexes: &[IndexDir], index: &IndexDir) -> String {
    match indexes {
        [_] => String::new(),
        _ => format!(", index {}", shown(index.path().as_os_str().as_bytes())),
    }
}

/// Lists the indexed trees.
pub(crate) fn list(indexes: &[IndexDir], json: bool) -> Result<Exit, Failure> {
    let mut output = Output::stdout();
    let mut exit = Exit::Complete;
    let sources = in_all(indexes)?;
    if sources.is_empty() && !json {
        say(
            "the index is empty, or has nothing that you may see: add a tree with trawl index PATH",
        );
    }
    for (source, index) in &sources {
        // An unreadable source does not hide the others.
        let snapshot = source.current().unwrap_or_else(|error| {
            say(&error);
            exit = Exit::Fatal;
            None
        });
        let line = match json {
            true => {
                let object = object(source, snapshot.as_ref());
                object
                    .bytes("index", index.path().as_os_str().as_bytes())
                    .close()
                    + "\n"
            }
            false => text(source, snapshot.as_ref(), &held_by(indexes, index)),
        };
        output.put(line)?;
    }
    output.finish()?;
    Ok(exit)
}

fn object(source: &Source, snapshot: Option<&Snapshot>) -> Object {
    let object = Object::new()
        .bytes("root", trawl_model::path::display(source.root()))
        .text("id", &source.id().to_string())
        .time("created", Some(source.info().created));
    let Some(snapshot) = snapshot else {
        return object.null("snapshot");
    };
    let totals = snapshot.totals();
    let object = object
        .text("snapshot", &snapshot.info.id.to_string())
        .time("started", Some(snapshot.info.started))
        .time("finished", Some(snapshot.info.finished))
        .number("entries", totals.entries)
        .number("directories", totals.dirs)
        .number("size", totals.size_bytes)
        .number("issues", totals.issues)
        .number("shards", snapshot.shards.len())
        .number("index_bytes", index_bytes(snapshot));
    let object = match kept(source) {
        Some(usage) => object
            .number("snapshots", usage.snapshots.len())
            .number("all_bytes", usage.size_bytes),
        None => object,
    };
    let options = snapshot.info.options.iter();
    object.object(
        "options",
        options.fold(Object::new(), |all, (name, value)| all.text(name, value)),
    )
}

fn text(source: &Source, snapshot: Option<&Snapshot>, held_by: &str) -> String {
    let root = shown(source.root());
    let Some(snapshot) = snapshot else {
        return format!("{root}: no snapshot yet, run trawl index {root}{held_by}\n");
    };
    let totals = snapshot.totals();
    let mut time = String::new();
    full_iso(&mut time, snapshot.info.started, &Zone::local());
    let mapped = match snapshot.info.options.contains_key(ID_MAP) {
        true => ", ids mapped",
        false => "",
    };
    let left_out = snapshot.info.excludes();
    let left_out = match left_out.is_empty() {
        true => String::new(),
        false => format!(", without {}", listed(&left_out)),
    };
    let kept = kept(source).filter(|usage| usage.snapshots.len() > 1);
    let kept = kept.map_or(String::new(), |usage| {
        let all = format(u128::from(usage.size_bytes), Scale::Binary);
        format!(" ({all} with all {} snapshots)", usage.snapshots.len())
    });
    format!(
        "{root}: {} in {}, {}, {} in the index{kept}, as of {time}{mapped}{left_out}{held_by}\n",
        counted(totals.entries, "entry"),
        counted(totals.dirs, "directory"),
        counted(totals.issues, "issue"),
        format(u128::from(index_bytes(snapshot)), Scale::Binary),
    )
}

/// Returns the space that all snapshots take together; `None` if one cannot be read. A question
/// about that snapshot reports the error.
fn kept(source: &Source) -> Option<Usage> {
    usage(source).ok()
}

fn index_bytes(snapshot: &Snapshot) -> u64 {
    snapshot.size_bytes()
}

/// Removes sources by their roots. Each argument is tried as it is given and as the live file
/// system resolves it, for relative paths and symbolic links.
fn remove(index: &IndexDir, roots: &[OsString]) -> Result<Exit, Failure> {
    let mut exit = Exit::Complete;
    for given in roots {
        let as_given = trawl_model::path::normalize(given.as_bytes());
        let resolved = std::fs::canonicalize(given).ok();
        let resolved =
            resolved.and_then(|path| trawl_model::path::normalize(path.as_os_str().as_bytes()));
        let candidates = [as_given, resolved];
        let mut known = None;
        for root in candidates.iter().flatten() {
            if known.is_none() && index.source(root)?.is_some() {
                known = Some(root);
            }
        }
        match known {
            Some(root) => trawl_writer::gc::remove_source(index, root)?,
            None => {
                say(format_args!(
                    "{} is not a source of this index: trawl sources lists the sources",
                    shown(given.as_bytes())
                ));
                exit = Exit::Fatal;
            }
        }
    }
    Ok(exit)
}
