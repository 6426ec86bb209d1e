//! `trawl stats`: the number of entries and bytes, by type, extension, size, age, owner and other
//! attributes.

mod kinds;
pub(crate) mod render;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_answers::expression::Expression;
use trawl_answers::stats::{Counts, Group, Kinds, Section, StatsOptions, shortened, stats};
use trawl_query::{Count, Repeats};
use trawl_text::locale::Locale;
use trawl_text::owners::Owners;
use trawl_text::quote::Terminal;
use trawl_text::units::{Scale, format};

use crate::arguments::Manner;
use crate::csv::Line;
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::index::progress::counted;
use crate::output::{Device, Output};
use crate::rows::Form;
use crate::scope::Session;
use trawl_session::now;
use trawl_text::json::Object;

use self::kinds::KindsParser;
use self::render::{Ink, Weight, section};

const EXAMPLES: &str = "\
Every name counts, including several names of the same file; the first line
shows how many such names there are. Sizes, ages and extensions are those of
regular files. Ages are the time from the last change of the content until now.

Examples:
  trawl stats /srv                          count by all usual kinds
  trawl stats /srv --by age --share disk    show how much of the space is cold
  trawl stats /srv --by owner,extension     count by owner and extension
  trawl stats / --by owner -- -name '*.o'   count only entries that find prints";

// Options of `trawl stats`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct StatsArgs {
    /// Count below these paths [default: the working directory]
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
    /// Count only by KIND; may be given several times
    ///
    /// Kinds joined by commas are counted together.
    #[arg(long, value_name = "KIND", value_parser = KindsParser)]
    by: Vec<Kinds>,
    /// Show N rows of kinds with many values, the rest as one row
    ///
    /// The limit holds for extensions and combinations, and in text output also for owners, groups
    /// and projects.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Show shares and bars of this quantity
    #[arg(long, value_name = "WHAT", value_enum, default_value = "entries")]
    share: Weight,
    /// Print one JSON object per line
    #[arg(long, overrides_with = "csv")]
    json: bool,
    /// Print comma-separated values with a header
    #[arg(long, overrides_with = "json")]
    csv: bool,
    #[command(flatten)]
    pub(crate) manner: Manner,
    /// Count only entries that match this find expression
    #[arg(last = true, value_name = "EXPRESSION")]
    expression: Vec<OsString>,
}

/// Runs the command.
pub(crate) fn run(
    index: Option<PathBuf>,
    args: &StatsArgs,
    manner: Manner,
) -> Result<Exit, Failure> {
    let mut session = Session::open(index, manner.then(args.manner), Exit::Fatal)?;
    let here = [OsString::from(".")];
    let paths = if args.paths.is_empty() {
        &here[..]
    } else {
        &args.paths[..]
    };
    let usual = Kinds::usual();
    let kinds = match args.by.is_empty() {
        true => &usual[..],
        false => &args.by[..],
    };
    let expression = Expression::read(&args.expression)?;
    let form = Form::new(args.json, args.csv);
    let (owners, mut output) = (Owners::default(), Output::stdout().with_own_controls());
    if form == Form::Csv {
        output.put(CSV_HEADER)?;
    }
    let options = StatsOptions {
        kinds,
        expression: &expression,
        limit: args.limit,
        now: now(),
    };
    for given in paths {
        let Some(counts) = stats(&mut session, given, &options, &owners)? else {
            continue;
        };
        let mut rows = counts.sections.iter().flat_map(|section| &section.groups);
        match form {
            Form::Json => rows.try_for_each(|row| output.put(json(given, row)))?,
            Form::Csv => rows.try_for_each(|row| output.put(csv(given, row)))?,
            Form::Text => output.put(text(given, &counts, args))?,
        }
    }
    output.finish()?;
    session.finish()
}

/// Header of the lines of [`csv`].
pub(crate) const CSV_HEADER: &str = "path,path_raw,by,key,key_raw,entries,size,disk_bytes\n";

pub(crate) fn json(given: &OsStr, row: &Group) -> String {
    let object = Object::new()
        .bytes("path", given.as_bytes())
        .text("by", &row.by);
    let object = match &row.key {
        Some(key) => object.bytes("key", key),
        None => object.null("key"),
    };
    let object = object
        .bytes("label", &row.label)
        .number("entries", row.count.entries)
        .number("size", row.count.size_bytes)
        .number("disk_bytes", disk_bytes(&row.count));
    let object = match row.directories {
        Some(directories) => object.number("directories", directories),
        None => object,
    };
    object.close() + "\n"
}

pub(crate) fn csv(given: &OsStr, row: &Group) -> Vec<u8> {
    Line::new()
        .path(given.as_bytes())
        .field(&row.by)
        .path(row.key.as_deref().unwrap_or(&row.label))
        .value(row.count.entries)
        .value(row.count.size_bytes)
        .value(disk_bytes(&row.count))
        .close()
}

pub(crate) fn disk_bytes(count: &Count) -> u64 {
    count.blocks.saturating_mul(512)
}

/// Formats a line about everything, then a section for each kind.
fn text(given: &OsStr, counts: &Counts, args: &StatsArgs) -> Vec<u8> {
    let locale = Locale::from_env();
    let terminal = match Device::of_stdout() {
        Device::Terminal => Terminal::Watched(locale),
        Device::Other => Terminal::Absent,
    };
    let mut out = headline(given, &counts.whole, &counts.repeats).into_bytes();
    for Section { name, groups } in &counts.sections {
        let is_of_files = groups.iter().all(|row| row.is_of_files);
        let whole = if is_of_files {
            counts.files
        } else {
            counts.whole
        };
        out.push(b'\n');
        let rows = shortened(groups.clone(), args.limit);
        let whole = (whole, args.share);
        out.extend(section(name, &rows, whole, terminal, Ink::of(locale)));
    }
    out
}

fn headline(given: &OsStr, whole: &Count, repeats: &Repeats) -> String {
    let size = |bytes: u64| format(u128::from(bytes), Scale::Binary);
    let mut line = format!(
        "{}: {}, {} of content, {} on disk",
        shown(given.as_bytes()),
        counted(whole.entries, "entry"),
        size(whole.size_bytes),
        size(disk_bytes(whole)),
    );
    if repeats.entries > 0 {
        let names = counted(repeats.entries, "further name");
        let space = size(repeats.blocks.saturating_mul(512));
        line.push_str(&format!(" ({space} of it in {names} of the same files)"));
    }
    line.push('\n');
    line
}
