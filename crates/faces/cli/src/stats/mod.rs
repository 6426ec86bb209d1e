//! `trawl stats`: the number of entries and bytes, by type, extension, size, age, owner and other
//! attributes.

mod kinds;
mod merged;
pub(crate) mod render;

pub(crate) use self::merged::{
    MergedStats, decode_count, decode_group, encode_count, encode_group,
};

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_answers::expression::Expression;
use trawl_answers::stats::{Counts, Group, Kinds, Section, StatsOptions, shortened, stats};
use trawl_query::{Count, Repeats};
use trawl_report::{Field, Row, Schema, fields, schema};
use trawl_text::locale::Locale;
use trawl_text::owners::Owners;
use trawl_text::quote::Terminal;
use trawl_text::units::{Scale, format};

use crate::arguments::Manner;
use crate::commands::{Setting, Spec};
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::forms::{FormArgs, Rows};
use crate::index::progress::counted;
use crate::output::{Device, Output};
use crate::rows::{self, Form};
use crate::scope::Session;
use trawl_session::now;

use self::kinds::KindsParser;
use self::render::{Weight, section};
use trawl_report::bar::Ink;

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
    #[command(flatten)]
    form: FormArgs<Rows>,
    #[command(flatten)]
    pub(crate) manner: Manner,
    /// Count only entries that match this find expression
    #[arg(last = true, value_name = "EXPRESSION")]
    expression: Vec<OsString>,
}

impl Spec for StatsArgs {
    const ABOUT: &'static str =
        "Count entries and bytes by type, extension, size, age, owner and more";
    const TAKES_EXPRESSION: bool = true;
    const SEE_ALSO: &'static [&'static str] = &["trawl-top(1)", "trawl-sql(1)"];
    const REPORTS: &'static [&'static Schema] = &[&SCHEMA];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        run(setting.index, self, setting.manner)
    }
}

/// Runs the command.
pub(crate) fn run(
    index: Option<PathBuf>,
    args: &StatsArgs,
    manner: Manner,
) -> Result<Exit, Failure> {
    let mut session = Session::open(index, manner.then(args.manner), Exit::Fatal)?;
    let kinds = args.kinds();
    let expression = Expression::read(&args.expression)?;
    let owners = Owners::default();
    let output = Output::stdout().with_own_controls();
    let mut report = rows::report_to(&SCHEMA, args.form.form(), output);
    let gives_rows = report.output().gives_rows();
    match gives_rows {
        true => report.output().begin_rows(None, &[])?,
        false => report.begin()?,
    }
    let options = StatsOptions {
        kinds: &kinds,
        expression: &expression,
        limit: (!gives_rows).then_some(args.limit),
        now: now(),
    };
    for (number, given) in args.given().iter().enumerate() {
        let Some(counts) = stats(&mut session, given, &options, &owners)? else {
            continue;
        };
        match gives_rows {
            true => merged::put(number, &counts, &mut report)?,
            false => write(given, &counts, args, &mut report)?,
        }
    }
    rows::finish(report)?;
    session.finish()
}

impl StatsArgs {
    /// Returns the paths of the question.
    fn given(&self) -> Vec<OsString> {
        match self.paths.is_empty() {
            true => vec![".".into()],
            false => self.paths.clone(),
        }
    }

    /// Returns the kinds by which entries are counted.
    fn kinds(&self) -> Vec<Kinds> {
        match self.by.is_empty() {
            true => Kinds::usual(),
            false => self.by.clone(),
        }
    }
}

/// Writes the counts of a path.
fn write<W: Write>(
    given: &OsStr,
    counts: &Counts,
    args: &StatsArgs,
    report: &mut trawl_report::Report<W>,
) -> Result<(), Failure> {
    if report.form() == Form::Text {
        return Ok(report.put(text(given, counts, args))?);
    }
    for group in counts.sections.iter().flat_map(|section| &section.groups) {
        report.row(|row| fill(row, given, group))?;
    }
    Ok(())
}

const KEY: Field = fields::KEY.without_csv();
const KEY_OR_LABEL: Field = fields::KEY.without_json().with_null();
const LABEL: Field = fields::LABEL.without_csv().always();
const DIRECTORIES: Field = fields::DIRECTORIES.without_csv();

/// The fields of a group. In CSV and before a NUL, the label takes the place of a missing key.
pub(crate) const FIELDS: [Field; 9] = [
    fields::PATH.always(),
    fields::BY.always(),
    KEY,
    KEY_OR_LABEL,
    LABEL,
    fields::ENTRIES.always(),
    fields::SIZE.always(),
    fields::DISK_BYTES.always(),
    DIRECTORIES,
];

/// Rows for programs.
static SCHEMA: Schema = Schema {
    row: "a group of entries",
    fields: &FIELDS,
    forms: schema::ROWS,
    samples: &[
        "stats",
        "stats --by type --by extension --by owner --by age",
    ],
};

/// Fills a row with a group.
pub(crate) fn fill(row: &mut Row<'_>, given: &OsStr, group: &Group) {
    row.put(&fields::PATH, given.as_bytes())
        .put(&fields::BY, &group.by)
        .put(&KEY, group.key.as_ref())
        .put(&KEY_OR_LABEL, group.key.as_ref().unwrap_or(&group.label))
        .put(&LABEL, &group.label)
        .put(&fields::ENTRIES, group.count.entries)
        .put(&fields::SIZE, group.count.size_bytes)
        .put(&fields::DISK_BYTES, disk_bytes(&group.count));
    if let Some(directories) = group.directories {
        row.put(&DIRECTORIES, directories);
    }
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
