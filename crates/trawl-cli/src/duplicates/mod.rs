//! `trawl duplicates`: files that may be duplicates, and with `--verify` those that are.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::PathBuf;

use trawl_answers::duplicates::{DuplicatesOptions, Set, Verify, duplicates};
use trawl_query::Alike;
use trawl_text::locale::Locale;
use trawl_text::quote::Terminal;
use trawl_text::units::{Scale, format, parse_block_size};

use crate::answer::Failing;
use crate::arguments::Manner;
use crate::csv::Line;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::index::progress::counted;
use crate::output::{Device, Output, say};
use crate::rows::Form;
use crate::scope::Session;
use trawl_text::json::Object;

const EXAMPLES: &str = "\
Without --verify the files are candidates: they have the same size. Several
names of one file are not duplicates. Large files come first.

Examples:
  trawl duplicates /srv --min-size 1M           find files of the same size
  trawl duplicates /srv --name                  find same size and same name
  trawl duplicates ~ --min-size 1M --verify     find files of the same content";

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
    /// Print one JSON object per group
    #[arg(long, overrides_with_all = ["csv", "null"])]
    json: bool,
    /// Print comma-separated values with a header, one file per line
    #[arg(long, overrides_with_all = ["json", "null"])]
    csv: bool,
    /// Print only paths, each terminated by a NUL byte
    ///
    /// Another NUL byte follows each group.
    #[arg(short = '0', long, overrides_with_all = ["json", "csv"])]
    null: bool,
    #[command(flatten)]
    pub(crate) manner: Manner,
}

fn size(text: &str) -> Result<u64, String> {
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

/// Format of groups.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writing {
    Rows(Form),
    Null,
}

struct Writer<'a> {
    args: &'a DuplicatesArgs,
    writing: Writing,
    output: Output,
    terminal: Terminal,
    has_begun: bool,
    groups: usize,
    files: u64,
    reclaimable: u64,
}

impl<'a> Writer<'a> {
    fn new(args: &'a DuplicatesArgs) -> Writer<'a> {
        Writer {
            args,
            writing: match args.null {
                true => Writing::Null,
                false => Writing::Rows(Form::new(args.json, args.csv)),
            },
            output: Output::stdout(),
            terminal: match Device::of_stdout() {
                Device::Terminal => Terminal::Watched(Locale::from_env()),
                Device::Other => Terminal::Absent,
            },
            has_begun: false,
            groups: 0,
            files: 0,
            reclaimable: 0,
        }
    }

    fn is_full(&self) -> bool {
        self.args.limit.is_some_and(|limit| self.groups >= limit)
    }

    /// Writes the header, once.
    fn begin(&mut self) -> Result<(), Failure> {
        let has_begun = std::mem::replace(&mut self.has_begun, true);
        match self.writing {
            Writing::Rows(Form::Csv) if !has_begun => {
                self.output.put("group,size,disk_bytes,path,path_raw\n")
            }
            _ => Ok(()),
        }
    }

    fn write(&mut self, set: &Set<'_>) -> Result<(), Failure> {
        if self.is_full() {
            return Ok(());
        }
        self.begin()?;
        self.groups += 1;
        self.files += set.files.len() as u64;
        let (size, reclaimable) = (set.size_bytes(), set.reclaimable_bytes());
        self.reclaimable = self.reclaimable.saturating_add(reclaimable);
        let paths = set.paths;
        match self.writing {
            Writing::Null => {
                for path in paths {
                    self.output.put(path)?;
                    self.output.put(b"\0")?;
                }
                self.output.put(b"\0")
            }
            Writing::Rows(Form::Json) => {
                let object = Object::new()
                    .number("size", size)
                    .number("reclaimable_bytes", reclaimable)
                    .flag("verified", self.args.verify);
                let each = paths
                    .iter()
                    .map(|path| Object::new().bytes("path", path).close());
                self.output.put(object.array("files", each).close() + "\n")
            }
            Writing::Rows(Form::Csv) => {
                for (entry, path) in set.files.iter().zip(paths) {
                    let line = Line::new()
                        .value(self.groups)
                        .value(size)
                        .value(entry.row().blocks().saturating_mul(512))
                        .path(path);
                    self.output.put(line.close())?;
                }
                Ok(())
            }
            Writing::Rows(Form::Text) => self.text(size, reclaimable, paths),
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
        self.output.put(head)?;
        for path in paths {
            self.output.put(b"  ")?;
            self.output.put(self.terminal.show(path))?;
            self.output.put(b"\n")?;
        }
        self.output.put(b"\n")
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.begin()?;
        if self.writing == Writing::Rows(Form::Text) {
            let line = format!(
                "{} in {}, {} to gain\n",
                counted(self.files, "file"),
                counted(self.groups as u64, "group"),
                format(u128::from(self.reclaimable), Scale::Binary)
            );
            self.output.put(line)?;
        }
        self.output.finish()
    }
}
