//! `trawl duplicates`: files that may be duplicates, and with `--verify` those that are.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::PathBuf;

use trawl_answers::duplicates::{DuplicatesOptions, Set, Verify, duplicates};
use trawl_query::{Alike, Entry};
use trawl_report::{Field, Schema, fields};
use trawl_text::locale::Locale;
use trawl_text::quote::Terminal;
use trawl_text::units::{Scale, format, parse_block_size};

use crate::answer::Failing;
use crate::arguments::Manner;
use crate::commands::{Setting, Spec};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::forms::{FormArgs, Offer};
use crate::index::progress::counted;
use crate::output::{Device, say};
use crate::rows::{self, Form, Report};
use crate::scope::Session;

const EXAMPLES: &str = "\
Without --verify the files are candidates: they have the same size. Several
names of one file are not duplicates. Large files come first.

Examples:
  trawl duplicates /srv --min-size 1M           find files of the same size
  trawl duplicates /srv --name                  find same size and same name
  trawl duplicates ~ --min-size 1M --verify     find files of the same content";

/// The forms of the answer.
#[derive(Clone, Copy, Debug)]
struct Offered;

impl Offer for Offered {
    const JSON: &'static str = "Print one JSON object per group";
    const CSV: Option<&'static str> =
        Some("Print comma-separated values with a header, one file per line");
    const NULL: Option<&'static str> = Some(
        "Print only paths, each terminated by a NUL byte\n\nAnother NUL byte follows each group.",
    );
}

const RECLAIMABLE_BYTES: Field = Field::integer(
    "reclaimable_bytes",
    "space that all but one of the files take",
)
.in_units("bytes");
const VERIFIED: Field = Field::flag("verified", "whether the files were compared byte by byte");
const FILES: Field = Field::objects(
    "files",
    &[fields::PATH.always()],
    "identical files, each an object with `path`",
);
const GROUP: Field = Field::integer("group", "number of the group").without_json();
const PATH: Field = fields::PATH.with_null();

/// Rows for programs: groups.
static SCHEMA: Schema = Schema {
    row: "a group of files that may be duplicates",
    fields: &[
        fields::SIZE.always(),
        RECLAIMABLE_BYTES.always(),
        VERIFIED.always(),
        FILES.always(),
    ],
    forms: &[Form::Json, Form::Arrow],
    samples: &["duplicates --min-size 1"],
};

/// Rows for programs that want a row for each file: CSV, and paths before a NUL.
static FILE: Schema = Schema {
    row: "a file that may be a duplicate",
    fields: &[GROUP, fields::SIZE, fields::DISK_BYTES, PATH],
    forms: &[Form::Csv],
    samples: &["duplicates --min-size 1"],
};

// Options of `trawl duplicates`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DuplicatesArgs {
    /// Look below this path [default: the working directory]
    #[arg(value_name = "PATH")]
    path: Option<OsString>,
    /// Require the same name, too
    #[arg(long)]
    name: bool,
    /// Read the files, and show only those with the same content now
    #[arg(long)]
    verify: bool,
    /// Leave out files smaller than SIZE; units as in 10K, 1M, 2G
    #[arg(long, value_name = "SIZE", default_value = "1", value_parser = size)]
    min_size: u64,
    /// Stop after N groups
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
    #[command(flatten)]
    form: FormArgs<Offered>,
    #[command(flatten)]
    pub(crate) manner: Manner,
}

impl Spec for DuplicatesArgs {
    const ABOUT: &'static str = "Find files that may be duplicates";
    const SEE_ALSO: &'static [&'static str] = &["trawl-top(1)", "cmp(1)"];
    const REPORTS: &'static [&'static Schema] = &[&SCHEMA, &FILE];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        run(setting.index, self, setting.manner)
    }
}

/// Parses a size, as in `10K`.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    if let Ok(bytes) = text.parse() {
        return Ok(bytes);
    }
    match parse_block_size(text) {
        Some(Scale::Blocks(bytes)) => Ok(bytes),
        _ => Err("use a number of bytes, or one with a unit such as 10K or 1M".into()),
    }
}

/// Runs the command.
pub(crate) fn run(
    index: Option<PathBuf>,
    args: &DuplicatesArgs,
    manner: Manner,
) -> Result<Exit, Failure> {
    let mut session = Session::open(index, manner.then(args.manner), Exit::Fatal)?;
    let given = args.path.clone().unwrap_or_else(|| OsString::from("."));
    let options = DuplicatesOptions {
        alike: match args.name {
            true => Alike::SizeAndName,
            false => Alike::Size,
        },
        least_bytes: args.min_size,
        verify: match args.verify {
            true => Verify::Content,
            false => Verify::No,
        },
    };
    let mut writer = Writer::new(args);
    let mut failing = Failing::default();
    let searched = duplicates(&mut session, &given, &options, &mut |set| {
        failing.check(writer.write(set))?;
        match writer.is_full() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    let Some(searched) = failing.end(searched)? else {
        return session.finish();
    };
    writer.finish()?;
    if searched.unread > 0 {
        let files = counted(searched.unread, "file");
        say(format_args!(
            "left out {files} that could not be read or changed since they were indexed"
        ));
        session.worsen(Exit::Issues);
    }
    session.finish()
}

struct Writer<'a> {
    args: &'a DuplicatesArgs,
    report: Report,
    terminal: Terminal,
    groups: usize,
    files: u64,
    reclaimable: u64,
}

impl<'a> Writer<'a> {
    fn new(args: &'a DuplicatesArgs) -> Writer<'a> {
        let schema = match args.form.form() {
            Form::Csv | Form::Null => &FILE,
            Form::Text | Form::Json | Form::Arrow => &SCHEMA,
        };
        Writer {
            args,
            report: rows::report(schema, args.form.form()),
            terminal: match Device::of_stdout() {
                Device::Terminal => Terminal::Watched(Locale::from_env()),
                Device::Other => Terminal::Absent,
            },
            groups: 0,
            files: 0,
            reclaimable: 0,
        }
    }

    fn is_full(&self) -> bool {
        self.args.limit.is_some_and(|limit| self.groups >= limit)
    }

    fn write(&mut self, set: &Set<'_>) -> Result<(), Failure> {
        if self.is_full() {
            return Ok(());
        }
        self.groups += 1;
        self.files += set.files.len() as u64;
        let (size, reclaimable) = (set.size_bytes(), set.reclaimable_bytes());
        self.reclaimable = self.reclaimable.saturating_add(reclaimable);
        let paths = set.paths;
        match self.report.form() {
            Form::Text => self.text(size, reclaimable, paths),
            Form::Json | Form::Arrow => Ok(self.report.row(|row| {
                row.put(&fields::SIZE, size)
                    .put(&RECLAIMABLE_BYTES, reclaimable)
                    .put(&VERIFIED, self.args.verify)
                    .objects(&FILES, paths, |row, path| {
                        row.put(&fields::PATH, path);
                    });
            })?),
            Form::Csv | Form::Null => self.files(size, set.files, paths),
        }
    }

    /// Writes a row for each file.
    fn files(&mut self, size: u64, group: &[&Entry], paths: &[Vec<u8>]) -> Result<(), Failure> {
        for (entry, path) in group.iter().zip(paths) {
            self.report.row(|row| {
                row.put(&GROUP, self.groups)
                    .put(&fields::SIZE, size)
                    .put(
                        &fields::DISK_BYTES,
                        entry.row().blocks().saturating_mul(512),
                    )
                    .put(&PATH, path);
            })?;
        }
        match self.report.form() {
            Form::Null => Ok(self.report.put(b"\0")?),
            _ => Ok(()),
        }
    }

    fn text(&mut self, size: u64, reclaimable: u64, paths: &[Vec<u8>]) -> Result<(), Failure> {
        let human = |bytes: u64| format(u128::from(bytes), Scale::Binary);
        let files = counted(paths.len() as u64, "file");
        let head = format!(
            "{} each, {files}, {} to gain\n",
            human(size),
            human(reclaimable)
        );
        self.report.put(head)?;
        for path in paths {
            self.report.put(b"  ")?;
            self.report.put(self.terminal.show(path))?;
            self.report.put(b"\n")?;
        }
        Ok(self.report.put(b"\n")?)
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.report.begin()?;
        if self.report.form() == Form::Text {
            let line = format!(
                "{} in {}, {} to gain\n",
                counted(self.files, "file"),
                counted(self.groups as u64, "group"),
                format(u128::from(self.reclaimable), Scale::Binary)
            );
            self.report.put(line)?;
        }
        rows::finish(self.report)
    }
}
