//! `trawl index show`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use trawl_answers::named::{Named, NamedOptions, Valued, Values, named};
use trawl_indices::Definition;
use trawl_report::{Field, Form, Schema, fields, schema};
use trawl_session::spelling::printed_path;

use super::list::NAME;
use super::{In, value};
use crate::arguments::Manner;
use crate::commands::Setting;
use crate::documents;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::forms::{FormArgs, Offer, Rows};
use crate::output::{Device, say};
use crate::rows;
use crate::scope::Session;
use trawl_text::locale::Locale;
use trawl_text::quote::Terminal;
use trawl_text::words::quoted;

const EXAMPLES: &str = "\
Examples:
  trawl index show big 1G.. --in /srv           entries of 1 GiB and more
  trawl index show by-owner 1000,2024-05-01.. --in /srv
  trawl index show inodes 1234 --in /srv --json
  trawl index show exposures ..0.01 --in /srv/photos
  trawl index show tags lake --in /srv/photos

Sizes may have units (10K, 1M), modes are octal, times are dates as date(1) reads
them, in the local time zone, or @ and seconds since 1970. Values of contents are
written as for find -attr.";

/// The forms of the answer.
#[derive(Clone, Copy, Debug)]
struct Offered;

impl Offer for Offered {
    const CSV: Option<&'static str> = Rows::CSV;
    const NULL: Option<&'static str> = Some("Print only paths, each terminated by a NUL byte");
}

const VALUES: Field = Field::text(
    "index_values",
    "values of the attributes of a named index as decimal numbers, separated by commas; or a value \
     of an attribute of contents, texts in lower case",
);
const PATH: Field = fields::PATH.with_null();

/// Rows for programs.
pub(in crate::index) static SCHEMA: Schema = Schema {
    row: "an entry of a named index",
    fields: &[NAME, VALUES, PATH],
    forms: schema::ROWS,
    samples: &[],
};

// Options of `trawl index show`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::index) struct ShowArgs {
    /// Show the index of this name
    #[arg(value_name = "NAME")]
    name: String,
    /// Show entries with this value, or values in a range; of several attributes, separated by commas
    #[arg(value_name = "VALUE|MIN..MAX")]
    values: Option<String>,
    /// Show entries below DIR
    #[arg(long = "in", value_name = "DIR", default_value = ".")]
    dir: OsString,
    /// Show N entries
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1000)]
    limit: usize,
    #[command(flatten)]
    place: In,
    #[command(flatten)]
    form: FormArgs<Offered>,
    #[command(flatten)]
    manner: Manner,
}

/// Shows the entries.
pub(super) fn run(args: &ShowArgs, setting: Setting<'_>) -> Result<Exit, Failure> {
    let manner = setting.manner.then(args.manner);
    let mut session = Session::open(args.place.or(&setting), manner, Exit::Fatal)?;
    let ranges = |of: &Definition| match &args.values {
        Some(text) => value::ranges(text, of.attributes()),
        None => Ok(Vec::new()),
    };
    let tests = |of: &Definition| value::test(args.values.as_deref(), of);
    let contents = documents::contents(args.place.or(&setting));
    let options = NamedOptions {
        ranges: &ranges,
        tests: &tests,
        contents: &contents,
        limit: args.limit,
    };
    let Some(found) = named(&mut session, (&args.name, &args.dir), &options)? else {
        return session.finish();
    };
    let mut report = rows::report(&SCHEMA, args.form.form());
    report.begin()?;
    let terminal = terminal();
    for entry in &found.entries {
        let path = printed_path(args.dir.as_bytes(), &found.below, &entry.path);
        match report.form() {
            Form::Text => report.put(line(&found.definition, entry, &terminal, &path))?,
            _ => report.row(|row| {
                row.put(&NAME, found.definition.name())
                    .put(&VALUES, &*plain(entry))
                    .put(&PATH, &path);
            })?,
        }
    }
    rows::finish(report)?;
    let exit = tell_unread(args, &found);
    if found.is_cut {
        let limit = args.limit;
        say(format_args!(
            "only the first {limit} entries are shown: see --limit"
        ));
    }
    Ok(exit.and(session.finish()?))
}

/// Names the files whose content decides and is not known.
fn tell_unread(args: &ShowArgs, found: &Named) -> Exit {
    for file in &found.unread {
        let path = printed_path(args.dir.as_bytes(), &found.below, &file.path);
        let (path, reason) = (quoted(&path), &file.reason);
        say(format_args!("{path}: cannot search its content: {reason}"));
    }
    Exit::from_issues(found.unread.len() as u64)
}

fn terminal() -> Terminal {
    match Device::of_stdout() {
        Device::Terminal => Terminal::Watched(Locale::from_env()),
        Device::Other => Terminal::Absent,
    }
}

/// Returns values for programs.
fn plain(entry: &Valued) -> String {
    match &entry.values {
        Values::Columns(values) => {
            let values: Vec<String> = values.iter().map(i128::to_string).collect();
            values.join(",")
        }
        Values::Content(value) => value.to_string(),
    }
}

/// Returns a line for people. A text can have any characters.
fn line(definition: &Definition, entry: &Valued, terminal: &Terminal, path: &[u8]) -> Vec<u8> {
    let shown = match &entry.values {
        Values::Columns(values) => {
            let pairs = values.iter().zip(definition.attributes());
            let values: Vec<String> = pairs
                .map(|(one, column)| value::shown(*one, *column))
                .collect();
            values.join(", ").into_bytes()
        }
        Values::Content(value) => {
            let one_line = value.to_string().replace(['\n', '\t'], " ");
            terminal.show(one_line.as_bytes()).into_owned()
        }
    };
    [&shown[..], b"\t", &terminal.show(path), b"\n"].concat()
}
