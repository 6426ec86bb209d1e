//! `trawl sources`: lists what is indexed, as of when and with how many issues, and removes
//! sources.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_format::{IndexDir, Snapshot, Source};
use trawl_indexer::ID_MAP;
use trawl_indexer::sources::{in_all, kept};
use trawl_model::mapped::theirs;
use trawl_report::{Field, Row, Schema, Value, fields, schema};
use trawl_text::time_style::full_iso;
use trawl_text::units::{Scale, format};
use trawl_text::zone::Zone;

use crate::commands::{Class, Setting, Spec};
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::forms::{FormArgs, Objects};
use crate::index::progress::counted;
use crate::index::summary::listed;
use crate::output::say;
use crate::rows::{self, Form};
use crate::{settings, snapshots};

const CREATED: Field = Field::time("created", "when a source was added");
const SHARDS: Field = Field::integer("shards", "number of parts of a snapshot");
const SNAPSHOTS: Field = Field::integer("snapshots", "number of snapshots kept");
const ALL_BYTES: Field =
    Field::integer("all_bytes", "space of all snapshots together").in_units("bytes");
const OPTIONS: Field = Field::options("options", "options of a scan, as text");

/// Rows for programs.
static SCHEMA: Schema = Schema {
    row: "an indexed tree",
    fields: &[
        fields::ROOT.always(),
        fields::ID.always(),
        CREATED,
        fields::SNAPSHOT.always(),
        fields::STARTED.always(),
        fields::FINISHED,
        fields::ENTRIES.always(),
        fields::DIRECTORIES.always(),
        fields::SIZE.always(),
        fields::ISSUES.always(),
        SHARDS,
        fields::INDEX_BYTES,
        SNAPSHOTS,
        ALL_BYTES,
        OPTIONS,
        fields::INDEX,
    ],
    forms: schema::OBJECTS,
    samples: &["sources"],
};

// Options of `trawl sources`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SourcesArgs {
    #[command(flatten)]
    form: FormArgs<Objects>,
    /// List every snapshot of each source: its id, start time and size
    #[arg(long)]
    snapshots: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

impl Spec for SourcesArgs {
    const ABOUT: &'static str = "List the indexed trees, or remove some";
    const CLASS: Class = Class::Other;
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        ("trawl sources", "list the indexed trees and their age"),
        ("trawl sources --snapshots", "list all snapshots"),
        (
            "trawl sources remove /srv/old",
            "remove a tree from the index",
        ),
    ];
    const SEE_ALSO: &'static [&'static str] = &["trawl-index(1)", "trawl-history(1)"];
    const REPORTS: &'static [&'static Schema] = &[&SCHEMA, &snapshots::SCHEMA];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        run(setting.index, self)
    }
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
        None if args.snapshots => snapshots::list(&opened(index)?, args.form.form()),
        None => list(&opened(index)?, args.form.form()),
    }
}

/// Opens the indexes that this user asks.
pub(crate) fn opened(index: Option<PathBuf>) -> Result<Vec<IndexDir>, Failure> {
    let dirs = settings::indexes_to_ask(index)?;
    let opened = dirs.iter().map(|dir| Ok(IndexDir::open(dir)?));
    opened.collect()
}

/// Returns a note that names the index of a source; empty if only one index is asked.
pub(crate) fn held_by(indexes: &[IndexDir], index: &IndexDir) -> String {
    match indexes {
        [_] => String::new(),
        _ => format!(
            ", index {}",
            shown(&theirs(index.path().as_os_str().as_bytes()))
        ),
    }
}

/// Lists the indexed trees.
pub(crate) fn list(indexes: &[IndexDir], form: Form) -> Result<Exit, Failure> {
    let mut report = rows::report(&SCHEMA, form);
    let mut exit = Exit::Complete;
    let sources = in_all(indexes)?;
    if sources.is_empty() && report.form() == Form::Text {
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
        let snapshot = snapshot.as_ref();
        report.line(
            || text(source, snapshot, &held_by(indexes, index)),
            |row| fill(row, source, snapshot, index),
        )?;
    }
    rows::finish(report)?;
    Ok(exit)
}

fn fill(row: &mut Row<'_>, source: &Source, snapshot: Option<&Snapshot>, index: &IndexDir) {
    row.put(&fields::ROOT, &*theirs(source.root()))
        .put(&fields::ID, &source.id().to_string())
        .put(&CREATED, source.info().created);
    match snapshot {
        None => {
            row.put(&fields::SNAPSHOT, Value::Null);
        }
        Some(snapshot) => fill_snapshot(row, source, snapshot),
    }
    row.put(
        &fields::INDEX,
        &*theirs(index.path().as_os_str().as_bytes()),
    );
}

fn fill_snapshot(row: &mut Row<'_>, source: &Source, snapshot: &Snapshot) {
    let totals = snapshot.totals();
    row.put(&fields::SNAPSHOT, &snapshot.info.id.to_string())
        .put(&fields::STARTED, snapshot.info.started)
        .put(&fields::FINISHED, snapshot.info.finished)
        .put(&fields::ENTRIES, totals.entries)
        .put(&fields::DIRECTORIES, totals.dirs)
        .put(&fields::SIZE, totals.size_bytes)
        .put(&fields::ISSUES, totals.issues)
        .put(&SHARDS, snapshot.shards.len())
        .put(&fields::INDEX_BYTES, index_bytes(snapshot));
    if let Some(usage) = kept(source) {
        row.put(&SNAPSHOTS, usage.snapshots.len())
            .put(&ALL_BYTES, usage.size_bytes);
    }
    let options = snapshot.info.options.iter();
    row.options(
        &OPTIONS,
        options.map(|(name, value)| (&name[..], &value[..])),
    );
}

fn text(source: &Source, snapshot: Option<&Snapshot>, held_by: &str) -> String {
    let root = shown(&theirs(source.root()));
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

fn index_bytes(snapshot: &Snapshot) -> u64 {
    snapshot.size_bytes()
}

/// Removes sources by their roots.
fn remove(index: &IndexDir, roots: &[OsString]) -> Result<Exit, Failure> {
    let mut exit = Exit::Complete;
    for given in roots {
        if trawl_indexer::sources::remove(index, given)?.is_none() {
            say(format_args!(
                "{} is not a source of this index: trawl sources lists the sources",
                shown(given.as_bytes())
            ));
            exit = Exit::Fatal;
        }
    }
    Ok(exit)
}
