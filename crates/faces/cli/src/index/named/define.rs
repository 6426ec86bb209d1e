//! `trawl index define` and `drop`, and updates of named indices after scans.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use trawl_format::{IndexDir, Source};
use trawl_indexer::indices::{Change, IndicesProgress, IndicesUpdated, update};
use trawl_indexer::text::Effort;
use trawl_indexer::{IndexerError, Job};
use trawl_indices::{Definition, Kind};
use trawl_model::path;
use trawl_text::units::{Scale, format};

use super::{In, asked};
use crate::commands::Setting;
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::index::after_scan::update_each;
use crate::index::keywords;
use crate::index::progress::{ProgressWhen, Shown, Style, counted};
use crate::index::scan::control;
use crate::output::Output;
use crate::related::are_in_packs;
use crate::settings;

const EXAMPLES: &str = "\
Examples:
  trawl index define big --kind ordered --on size /srv
  trawl index define by-owner --kind ordered --on uid,mtime /srv
  trawl index define inodes --kind hashed --on ino /srv
  trawl index define old --kind ordered --on mtime /srv/archive
                                         of a part of the source /srv
  trawl index define exposures --kind ordered --on attr:exposure /srv
  trawl index define tags --kind inverted --on attr:tag /srv
  trawl index define origins --kind hashed --on xattr:user.xdg.origin.url /srv
  trawl index define includes --kind graph --on relation:includes /srv

find and other questions use the index by themselves.";

// Options of `trawl index define`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::index) struct DefineArgs {
    /// Name the index: letters, digits, - and _
    #[arg(value_name = "NAME")]
    name: String,
    /// Arrange the values in this way
    #[arg(long, value_name = "KIND", value_enum)]
    kind: KindArg,
    /// Index these attributes, the first in order first
    ///
    /// Attributes are size, mtime, atime, ctime, uid, gid, mode, nlink, ino, dev and blocks; or, by
    /// itself, attr:NAME, an attribute of contents as trawl find -attr has it, or xattr:NAME, an
    /// extended attribute. A graph is over relations, relation:KIND, or over relation:all.
    #[arg(long, value_name = "ATTRIBUTE", value_delimiter = ',', required = true)]
    on: Vec<String>,
    /// Index what is below PATH, a source or a directory in one
    #[arg(value_name = "PATH", default_value = ".")]
    path: OsString,
    /// Show nothing but errors
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    place: In,
}

// Options of `trawl index drop`.
#[derive(Debug, clap::Args)]
pub(in crate::index) struct DropArgs {
    /// Remove the index of this name
    #[arg(value_name = "NAME")]
    name: String,
    /// Use the source that contains PATH
    #[arg(value_name = "PATH", default_value = ".")]
    path: OsString,
    #[command(flatten)]
    place: In,
}

/// How values are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum KindArg {
    /// By value: answers ranges and single values
    Ordered,
    /// By the value's hash: answers single values of all attributes
    Hashed,
    /// By each value of a list and each word of a text, of an attribute of contents
    Inverted,
    /// By the files at both ends of a relation
    Graph,
}

impl KindArg {
    fn kind(self) -> Kind {
        match self {
            KindArg::Ordered => Kind::Ordered,
            KindArg::Hashed => Kind::Hashed,
            KindArg::Inverted => Kind::Inverted,
            KindArg::Graph => Kind::Graph,
        }
    }
}

impl DefineArgs {
    fn definition(&self) -> Result<Definition, Failure> {
        let on: Vec<String> = self.on.iter().map(|one| canonical(one)).collect();
        let definition = Definition::new(&self.name, self.kind.kind(), &on);
        definition.map_err(|error| Failure::Usage(error.to_string()))
    }
}

/// Returns an attribute as it is kept: a kind of relations has the name that `trawl related` prints.
fn canonical(attribute: &str) -> String {
    let kind = attribute.strip_prefix("relation:");
    let kind = kind.and_then(|name| trawl_relations::Kind::from_name(name).ok());
    kind.map_or_else(|| attribute.to_owned(), |kind| format!("relation:{kind}"))
}

pub(super) fn define(args: &DefineArgs, setting: Setting<'_>) -> Result<Exit, Failure> {
    let definition = args.definition()?;
    let dir = settings::index_dir(args.place.or(&setting))?;
    let style = match args.quiet {
        true => Style::Silent,
        false => ProgressWhen::Auto.style(),
    };
    let index = IndexDir::open(&dir)?;
    let (source, part) = source_of(&index, &args.path)?;
    let definition = definition.below(&part);
    let definition = definition.map_err(|error| Failure::Usage(error.to_string()))?;
    let needs_packs = needs_packs(&definition);
    let change = Change::Define(definition);
    let done = change_shown(&index, source.root(), &change, style)?;
    let mut output = Output::stdout();
    let mut exit = Exit::Complete;
    if needs_packs {
        exit = make_packs(args, (&index, &source), &mut output)?;
    }
    if let (Some(done), false) = (done, args.quiet) {
        output.put(text(source.root(), &done))?;
    }
    output.finish()?;
    Ok(exit)
}

/// Returns whether packs of keywords serve an index.
pub(super) fn needs_packs(definition: &Definition) -> bool {
    definition.content().is_some() || definition.relations().is_some_and(are_in_packs)
}

/// Brings the packs of keywords up to date, which serve an index. If the source can have
/// none, it has no such index either; an interrupt leaves both, and the next scan goes on.
fn make_packs(
    args: &DefineArgs,
    (index, source): (&IndexDir, &Source),
    output: &mut Output,
) -> Result<Exit, Failure> {
    let output = (!args.quiet).then_some(output);
    let made = keywords::make(index, source, output);
    if made
        .as_ref()
        .is_err_and(|failure| failure.exit() != Exit::Interrupted)
    {
        let change = Change::Drop(args.name.clone());
        change_shown(index, source.root(), &change, Style::Silent)?;
    }
    made
}

pub(super) fn drop(args: &DropArgs, setting: Setting<'_>) -> Result<Exit, Failure> {
    let index = IndexDir::open(&settings::index_dir(args.place.or(&setting))?)?;
    let (source, _) = source_of(&index, &args.path)?;
    let change = Change::Drop(args.name.clone());
    change_shown(&index, source.root(), &change, Style::Silent)?;
    Ok(Exit::Complete)
}

/// Returns the source that contains a path, and the path below the source's root.
fn source_of(index: &IndexDir, given: &OsString) -> Result<(Source, Vec<u8>), Failure> {
    let asked = asked(given)?;
    let sources = index.sources()?.into_iter();
    let around = sources.filter(|source| path::is_within(&asked, source.root()));
    let nearest = around.max_by_key(|source| source.root().len());
    let Some(nearest) = nearest else {
        return Err(IndexerError::NotIndexed { path: asked }.into());
    };
    let part = asked.strip_prefix(nearest.root()).unwrap_or_default();
    let part = part.strip_prefix(b"/").unwrap_or(part).to_vec();
    Ok((nearest, part))
}

/// Updates the named indices of a source, and shows the progress in a line that is rewritten, or in
/// lines.
fn change_shown(
    index: &IndexDir,
    root: &[u8],
    change: &Change,
    style: Style,
) -> Result<Option<IndicesUpdated>, Failure> {
    let progress = Arc::new(IndicesProgress::default());
    let counted = Arc::clone(&progress);
    let shown = Shown::begin(style, move |elapsed| render(style, &counted, elapsed));
    let done = update(index, root, (change, Effort::Full), &progress, control()?);
    std::mem::drop(shown);
    Ok(done?)
}

fn render(style: Style, progress: &IndicesProgress, elapsed: Duration) -> String {
    let done = progress.done.load(Ordering::Relaxed);
    let all = progress.all.load(Ordering::Relaxed);
    let seconds = elapsed.as_secs();
    match style {
        Style::Line => format!("\r\x1b[Kindices: {done} of {all} files, {seconds} s"),
        Style::Plain | Style::Json | Style::Silent => {
            format!("trawl: indices: {done} of {all} files, {seconds} s\n")
        }
    }
}

/// Updates the named indices of each source that has some.
pub(in crate::index) fn update_all(
    dir: &Path,
    jobs: Vec<Job>,
    is_shown: bool,
) -> Result<Exit, Failure> {
    let index = IndexDir::open(dir)?;
    let control = control()?;
    update_each(jobs, |root| {
        let how = (&Change::Nothing, Effort::Full);
        match update(&index, root, how, &IndicesProgress::default(), control) {
            Ok(done) => {
                let done = done.filter(|_| is_shown);
                Ok((done.map(|done| text(root, &done)), Exit::Complete))
            }
            // The scan itself has said why the source is not there.
            Err(IndexerError::NotIndexed { .. }) => Ok((None, Exit::Complete)),
            Err(error) => Err(error.into()),
        }
    })
}

/// Returns a line for people.
fn text(root: &[u8], done: &IndicesUpdated) -> String {
    let indices = match done.indices {
        1 => "1 named index".to_owned(),
        count => format!("{count} named indices"),
    };
    if (done.rows, done.made.0) == (0, 0) {
        // None is over columns, or the source is small.
        return format!("{}: {indices}\n", shown(root));
    }
    format!(
        "{}: {indices}, {}, {}, {} made in {}.{:02} s\n",
        shown(root),
        counted(done.rows, "row"),
        format(u128::from(done.size_bytes), Scale::Binary),
        counted(done.made.0, "file"),
        done.elapsed.as_secs(),
        done.elapsed.subsec_millis() / 10,
    )
}
