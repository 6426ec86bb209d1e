//! `trawl index show`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::Mutex;

use trawl_answers::named::{Named, NamedOptions, Valued, Values, named};
use trawl_find::grouping::Members;
use trawl_indices::Definition;
use trawl_model::escape::escape;
use trawl_model::sync::lock;
use trawl_report::{Field, Form, Schema, fields, schema};
use trawl_session::spelling::printed_path;

use super::list::NAME;
use super::{In, graph, value};
use crate::arguments::Manner;
use crate::commands::Setting;
use crate::documents;
use crate::exit::Exit;
use crate::failure::{Failure, shown};
use crate::forms::{FormArgs, Offer, Rows};
use crate::groups::{Indexes, Together, why};
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
  trawl index show includes /srv/src/main.c     both what it includes, and what includes it
  trawl index show big 1M.. --in /srv --in-group linux

Sizes may have units (10K, 1M), modes are octal, times are dates as date(1) reads
them, in the local time zone, or @ and seconds since 1970. Values of contents are
written as for find -attr; those of extended attributes are bytes.";

/// The forms of the answer.
#[derive(Clone, Copy, Debug)]
struct Offered;

impl Offer for Offered {
    const CSV: Option<&'static str> = Rows::CSV;
    const NULL: Option<&'static str> = Some("Print only paths, each terminated by a NUL byte");
}

const VALUES: Field = Field::text(
    "index_values",
    "values of the attributes of a named index as decimal numbers, separated by commas; a value of \
     an attribute of contents, texts in lower case; or that of an extended attribute, escaped \
     where it is not UTF-8",
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
    pub(super) name: String,
    /// Show entries with this value, or values in a range; of several attributes, separated by commas;
    /// of a graph, the files related to FILE
    #[arg(value_name = "VALUE|MIN..MAX|FILE")]
    pub(super) values: Option<OsString>,
    /// Show entries below DIR; of a graph, look for files that refer to FILE there [default: `.`, or
    /// FILE's directory]
    #[arg(long = "in", value_name = "DIR")]
    pub(super) dir: Option<OsString>,
    /// Show only files of the group with this id or name, as trawl groups lists it
    #[arg(long, value_name = "GROUP")]
    in_group: Option<OsString>,
    /// Show N entries
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1000)]
    pub(super) limit: usize,
    #[command(flatten)]
    pub(super) place: In,
    #[command(flatten)]
    form: FormArgs<Offered>,
    #[command(flatten)]
    manner: Manner,
}

impl ShowArgs {
    /// Returns the form of the answer.
    pub(super) fn form(&self) -> Form {
        self.form.form()
    }

    /// Returns the path that entries are below.
    fn below(&self) -> &OsStr {
        self.dir.as_deref().unwrap_or(OsStr::new("."))
    }

    /// Returns the files of the group that is asked for, as this user sees it now, and what could not
    /// be looked at.
    pub(super) fn members(
        &self,
        (setting, manner): (&Setting<'_>, Manner),
    ) -> Result<(Option<Members>, Vec<String>), Failure> {
        let Some(group) = &self.in_group else {
            return Ok((None, Vec::new()));
        };
        let together = Together {
            indexes: Indexes::Of(self.place.or(setting)),
            manner,
            issues: Mutex::default(),
        };
        let members = together.members_named(group.as_bytes());
        let members = members.map_err(|failure| Failure::Usage(why("--in-group", &failure)))?;
        let issues = std::mem::take(&mut *lock(&together.issues));
        Ok((Some(members), issues))
    }

    /// Returns the values as text.
    fn text(&self) -> Result<Option<&str>, String> {
        let Some(values) = &self.values else {
            return Ok(None);
        };
        let text = values.to_str().map(Some);
        text.ok_or_else(|| format!("{}: the value is not UTF-8", shown(values.as_bytes())))
    }
}

/// Shows the entries.
pub(super) fn run(args: &ShowArgs, setting: Setting<'_>) -> Result<Exit, Failure> {
    let manner = setting.manner.then(args.manner);
    if let Some(graph) = graph::asked_for(args, &setting)? {
        return graph.show(args, (&setting, manner));
    }
    let (members, issues) = args.members((&setting, manner))?;
    issues.iter().for_each(say);
    let mut session = Session::open(args.place.or(&setting), manner, Exit::Fatal)?;
    let ranges = |of: &Definition| match args.text()? {
        Some(text) => value::ranges(text, of.attributes()),
        None => Ok(Vec::new()),
    };
    let tests = |of: &Definition| value::test(args.text()?, of);
    let spans = |of: &Definition| value::span(args.values.as_deref(), of);
    let contents = documents::contents(args.place.or(&setting));
    let options = NamedOptions {
        ranges: &ranges,
        tests: &tests,
        spans: &spans,
        contents: &contents,
        members: members.as_ref(),
        limit: args.limit,
    };
    let Some(found) = named(&mut session, (&args.name, args.below()), &options)? else {
        return session.finish();
    };
    let mut report = rows::report(&SCHEMA, args.form());
    report.begin()?;
    let terminal = terminal();
    for entry in &found.entries {
        let path = printed_path(args.below().as_bytes(), &found.below, &entry.path);
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
        say_cut(args.limit);
    }
    let exit = exit.and(Exit::from_issues(issues.len() as u64));
    Ok(exit.and(session.finish()?))
}

/// Says that there are more entries than were asked for.
pub(super) fn say_cut(limit: usize) {
    say(format_args!(
        "only the first {limit} entries are shown: see --limit"
    ));
}

/// Names the files whose content decides and is not known.
fn tell_unread(args: &ShowArgs, found: &Named) -> Exit {
    for file in &found.unread {
        let path = printed_path(args.below().as_bytes(), &found.below, &file.path);
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
        Values::Xattr(value) => escape(value).into_owned(),
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
        Values::Content(_) | Values::Xattr(_) => {
            let one_line = plain(entry).replace(['\n', '\t'], " ");
            terminal.show(one_line.as_bytes()).into_owned()
        }
    };
    [&shown[..], b"\t", &terminal.show(path), b"\n"].concat()
}
