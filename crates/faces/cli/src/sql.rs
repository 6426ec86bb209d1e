//! `trawl sql` and `trawl export`: their options, and the hand-over to the program that runs them.
//!
//! The SQL engine is large, and starting it takes longer than a whole answer of the other commands.
//! So it is a separate program, `trawl-sql`, which takes the same words. This module is all that
//! the two programs share: `trawl` parses the words (so that help, man pages and completions come
//! from one place) and hands them over, and `trawl-sql` parses them again with [`read`].

use std::ffi::{OsStr, OsString};
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};
use trawl_groups::Grouper;
use trawl_keywords::Contents;
use trawl_model::guard::Credentials;
use trawl_open::barrier::Daemons;
use trawl_query::{AsOf, Index, QueryError};
pub use trawl_session::shown_index;

use crate::Command;
use crate::arguments::{self, Manner};
pub use crate::at::why_none;
use crate::beside;
use crate::commands::{Setting, Spec};
pub use crate::csv::{Cells, protected};
use crate::documents;
use crate::exit::Exit;
use crate::failure::Failure;
pub use crate::failure::cause;
use crate::forms::{FormArgs, Offer};
use crate::fresh::Freshness;
use crate::output::{print_about_words, say};
use crate::own;
pub use crate::related::Relater;
pub use crate::rows::Form;
use crate::scope::say_notice;
use crate::settings;

/// Name of the program.
pub const PROGRAM: &str = "trawl-sql";

const SQL_HELP: &str = "\
Tables: entries, dirs, xattrs, attributes, file_groups, group_members, relations,
issues (as of now, or as of --at), entries_history and dirs_history (every
snapshot that is kept), sources, snapshots. Functions ask about the words and
attributes of contents: keyword(), phrase(), attr(), attribute(), score().
Queries only read: no statement writes a file, reads a file outside the index or
reaches the network.

Examples:
  trawl sql \"SELECT path, size FROM entries WHERE type = 'f' ORDER BY size DESC LIMIT 10\"
  trawl sql \"SELECT user_name(uid), human_size(sum(size)) FROM entries
             WHERE path LIKE '/scratch/%' AND mtime > now() - INTERVAL '7 days' GROUP BY 1\"
  trawl sql -0 \"SELECT path FROM entries WHERE ext(name) = 'tmp'\" | xargs -0 ls -ld
  trawl sql --format parquet -o big.parquet 'SELECT * FROM entries WHERE size > 1e9'
  trawl sql --below /home \"SELECT path FROM entries WHERE size > 1e9 LIMIT 10\"
  trawl sql \"SELECT path FROM entries WHERE keyword('ssd AND flash') AND size > 1000\"
  trawl sql --table t=jobs.parquet 'SELECT user, sum(hours) FROM t GROUP BY user'
  trawl sql                     open a shell; \\? lists its commands

docs/sql-cookbook.md has queries for common questions of administrators.";

const EXPORT_HELP: &str = "\
Writes the tables, limited to what this user may see, to DIR/entries, DIR/dirs,
DIR/xattrs and DIR/issues, each in parts of bounded size. DIR must not exist,
unless --force replaces it. --tables chooses others, too: attributes, file-groups,
group-members and relations, for which files are read.

Examples:
  trawl export --parquet /tmp/index             export everything
  trawl export --csv /tmp/home --tables entries /home
  trawl --remote ssh:index1 export --parquet /tmp/index1
  duckdb -c \"SELECT count(*) FROM '/tmp/index/entries/*.parquet'\"";

/// Format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Aligned columns for people.
    Table,
    /// One JSON object per line.
    Json,
    /// Comma-separated values with a header.
    Csv,
    /// Tab-separated values with a header; `\t`, `\n` and `\\` are escaped.
    Tsv,
    /// A Parquet file.
    Parquet,
    /// An Arrow IPC file.
    Arrow,
}

/// The forms of rows.
#[derive(Clone, Copy, Debug)]
struct Offered;

impl Offer for Offered {
    const JSON: &'static str = "Print one JSON object per line (--format json)";
    const CSV: Option<&'static str> =
        Some("Print comma-separated values with a header (--format csv)");
    const NULL: Option<&'static str> =
        Some("Print only the first column, each value terminated by a NUL byte");
    const ARROW: Option<&'static str> =
        Some("Write an Arrow IPC stream (--format arrow: an Arrow IPC file)");
    // There is `-o`.
    const TO_STDOUT: bool = false;
}

// Options of `trawl sql`.
#[allow(missing_docs, reason = "it would be the command's text")]
#[derive(Debug, clap::Args)]
#[command(after_help = SQL_HELP)]
pub struct SqlArgs {
    /// Run these statements, separated by semicolons
    ///
    /// Without it, statements come from a shell on a terminal, else from standard input.
    #[arg(value_name = "SQL", conflicts_with = "file")]
    pub query: Option<String>,
    /// Read the statements from FILE (- is standard input)
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Write rows in this format [default: table]
    #[arg(long, value_name = "FORMAT", value_enum, overrides_with_all = ["json", "csv", "arrow", "null"])]
    pub format: Option<Format>,
    #[command(flatten)]
    form: FormArgs<Offered>,
    /// Write the rows to FILE, which must not exist
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print only paths, each terminated by a NUL byte
    ///
    /// The paths are in the column named path, else in the first one. Rows without one are left
    /// out; a column that is neither text nor bytes is an error.
    #[arg(long, conflicts_with_all = ["format", "json", "csv", "arrow", "null"])]
    pub paths: bool,
    /// Ask only about DIR and everything below it
    ///
    /// The tables have no rows of other paths: LIMIT, sums and counts are about DIR.
    #[arg(long, value_name = "DIR")]
    pub below: Option<PathBuf>,
    /// Ask the Parquet file FILE as the table NAME, instead of the index
    ///
    /// The option may be repeated. The tables of the index are not there then.
    #[arg(
        long = "table",
        value_name = "NAME=FILE",
        value_parser = OsStringValueParser::new().try_map(named_file),
        conflicts_with_all = ["below", "at"]
    )]
    pub tables: Vec<NamedFile>,
    /// Use up to SIZE of memory [default: a quarter of the machine's]
    ///
    /// The limit is for sorting, grouping and joining; larger data goes to temporary files.
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub memory_limit: Option<u64>,
    /// Create temporary files in DIR [default: TMPDIR or /tmp]
    #[arg(long, value_name = "DIR")]
    pub temp_dir: Option<PathBuf>,
    /// Stop a statement after SECONDS
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<Duration>,
    /// Use N threads [default: one per processor]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) manner: Manner,
}

/// A Parquet file and its name as a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// The table's name.
    pub name: String,
    /// The file's path.
    pub path: PathBuf,
}

impl SqlArgs {
    /// Returns the form that `--json`, `--csv` or `-0` chose.
    pub fn form(&self) -> Form {
        self.form.form()
    }
}

impl Spec for SqlArgs {
    const ABOUT: &'static str = "Query the index with SQL";
    const SEE_ALSO: &'static [&'static str] = &["trawl-export(1)", "trawl-stats(1)"];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        Err(beside::hand_over(PROGRAM, setting.words))
    }
}

// Options of `trawl export`.
#[allow(missing_docs, reason = "it would be the command's text")]
#[derive(Debug, clap::Args)]
#[command(after_help = EXPORT_HELP)]
#[group(id = "to", required = true, multiple = false, args = ["parquet", "csv", "json"])]
pub struct ExportArgs {
    /// Write Parquet files below this new directory
    #[arg(long, value_name = "DIR")]
    pub parquet: Option<PathBuf>,
    /// Write CSV files below this new directory
    #[arg(long, value_name = "DIR")]
    pub csv: Option<PathBuf>,
    /// Write files of JSON lines below this new directory
    #[arg(long, value_name = "DIR")]
    pub json: Option<PathBuf>,
    /// Export these paths [default: everything that is indexed]
    #[arg(value_name = "PATH")]
    pub paths: Vec<OsString>,
    /// Export these tables [default: entries, dirs, xattrs, issues]
    #[arg(long, value_name = "TABLE", value_delimiter = ',', value_enum)]
    pub tables: Vec<ExportTable>,
    /// Replace the files of an earlier export in the directory
    #[arg(long)]
    pub force: bool,
    /// Write at most N rows to each part
    #[arg(long, value_name = "N", default_value = "4000000")]
    pub part_rows: NonZeroUsize,
    /// Use N threads [default: one per processor]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) manner: Manner,
}

impl Spec for ExportArgs {
    const ABOUT: &'static str = "Write the index's content to files for other programs";
    const SEE_ALSO: &'static [&'static str] = &["trawl-sql(1)"];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        Err(beside::hand_over(PROGRAM, setting.words))
    }
}

/// Table that can be exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ExportTable {
    /// Every entry.
    Entries,
    /// Directories with the sums of what is below them.
    Dirs,
    /// Extended attributes.
    Xattrs,
    /// Named attributes of contents; every file is read.
    Attributes,
    /// Groups of files that belong together.
    FileGroups,
    /// Files with their groups.
    GroupMembers,
    /// Relations of files; every file is read.
    Relations,
    /// Paths that could not be read.
    Issues,
}

/// Task for `trawl-sql`.
#[derive(Debug)]
pub enum Task {
    /// Run queries.
    Sql(Box<SqlArgs>),
    /// Export tables to files.
    Export(Box<ExportArgs>),
}

/// Indexes that are asked together, and their daemons.
#[derive(Clone, Debug)]
pub struct Indexes {
    /// Directories of the indexes.
    pub dirs: Vec<PathBuf>,
    daemons: Option<Arc<Daemons>>,
    who: Credentials,
}

impl Indexes {
    /// Opens the indexes as they are now.
    ///
    /// # Errors
    /// Fails if one of them cannot be opened.
    pub fn open(&self, as_of: AsOf) -> Result<Index, QueryError> {
        trawl_open::search::open(&self.dirs, self.daemons.clone(), self.who.clone(), as_of)
    }

    /// Returns what the indexes know of contents, which is looked at when the first question is
    /// asked.
    pub fn contents(&self) -> Arc<Contents> {
        let dirs = self.dirs.clone();
        documents::contents_of(move || dirs.clone())
    }
}

/// A task and the indexes that it concerns.
#[derive(Debug)]
pub struct Order {
    /// The indexes, which are asked together.
    pub indexes: Indexes,
    /// Moment that the answers are about.
    pub as_of: AsOf,
    /// Freshness of the index.
    pub(crate) fresh: Mutex<Freshness>,
    /// True if the user wants to know how fresh the answer is.
    pub status: bool,
    /// True if no text in comma-separated values may begin like a formula.
    pub spreadsheet: bool,
    /// True if files are sent to a client on another machine.
    pub is_sent: bool,
    /// The task.
    pub task: Task,
}

impl Order {
    /// Reports sources that may be out of date and were not reported before.
    pub fn say_if_behind(&self) {
        self.fresh().tell(&say_notice);
    }

    fn fresh(&self) -> MutexGuard<'_, Freshness> {
        self.fresh.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the groups of the rules in effect, with the user's edits and what the user's programs
/// taught.
///
/// # Errors
/// With the reason, if rules, edits, lists of packages or what was learnt cannot be read.
pub fn grouper() -> Result<Grouper, String> {
    let found = crate::groups::grouper(None).map_err(|failure| failure.to_string())?;
    match found {
        (grouper, None) => Ok(grouper),
        (_, Some(why)) => Err(why),
    }
}

/// Writes the recording of this process's operations, if `--profile` asked for one. To be called
/// when the program ends.
pub fn finish() {
    own::finish();
}

/// Prints a line on standard error; on a terminal, control characters are hidden.
pub fn tell(line: impl std::fmt::Display) {
    crate::output::tell(line);
}

/// Parses the words that `trawl` was called with. Prints help and usage errors itself; then the
/// program only has to end.
///
/// # Errors
/// Returns how the program ends.
pub fn read(words: Vec<OsString>) -> Result<Order, Exit> {
    let given = words.clone();
    let arguments = arguments::parse(words).map_err(|error| {
        let _ = print_about_words(&error);
        match error.use_stderr() {
            true => Exit::Fatal,
            false => Exit::Complete,
        }
    })?;
    if let Some(path) = &arguments.profile {
        own::begin(path, &given).map_err(|failure| {
            say(&failure);
            failure.exit()
        })?;
    }
    let (task, manner) = match arguments.command {
        Command::Sql(args) => {
            let manner = arguments.manner.then(args.manner);
            (Task::Sql(args), manner)
        }
        Command::Export(args) => {
            let manner = arguments.manner.then(args.manner);
            (Task::Export(args), manner)
        }
        _ => {
            say(format_args!(
                "{PROGRAM} answers sql and export; everything else is asked of trawl"
            ));
            return Err(Exit::Fatal);
        }
    };
    let is_sent = arguments.answers && arguments.gives_rows;
    let order = order(arguments.index, manner, task).map_err(|failure| {
        say(&failure);
        failure.exit()
    });
    Ok(Order { is_sent, ..order? })
}

fn order(index: Option<PathBuf>, manner: Manner, task: Task) -> Result<Order, Failure> {
    let dirs = match &task {
        Task::Sql(args) if !args.tables.is_empty() => Vec::new(),
        _ => settings::indexes_to_ask(index)?,
    };
    // Later statements of a shell see the index as it is then.
    let mut fresh = Freshness::ask(&dirs, manner.when());
    let indexes = Indexes {
        dirs,
        daemons: fresh.daemons(),
        who: settings::asker()?,
    };
    let as_of = manner.at.unwrap_or_default();
    if indexes.dirs.len() > 1 {
        fresh.is_about(&Arc::new(indexes.open(as_of)?));
    }
    fresh.tell(&say_notice);
    Ok(Order {
        fresh: Mutex::new(fresh),
        indexes,
        as_of,
        status: manner.status,
        spreadsheet: manner.spreadsheet,
        is_sent: false,
        task,
    })
}

/// Parses a number of bytes with an optional unit.
fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || "not a size; examples: 500M, 4G".to_owned();
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match text[digits.len()..].trim_end_matches(['B', 'i']) {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        "t" | "T" => 40,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).ok_or_else(wrong)
}

/// Parses a table's name and the path of its file.
fn named_file(word: OsString) -> Result<NamedFile, String> {
    let wrong = || "not a table's name and a file; example: t=/data/report.parquet".to_owned();
    let bytes = word.as_bytes();
    let at = bytes.iter().position(|byte| *byte == b'=');
    let (name, path) = bytes.split_at(at.ok_or_else(wrong)?);
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let name = std::str::from_utf8(name).map_err(|_| wrong())?;
    if name.is_empty() || path.len() < 2 || !name.bytes().all(|byte| is_word(&byte)) {
        return Err(wrong());
    }
    Ok(NamedFile {
        name: name.to_owned(),
        path: PathBuf::from(OsStr::from_bytes(&path[1..])),
    })
}

/// Parses a number of seconds, which may have a fraction.
fn seconds(text: &str) -> Result<Duration, String> {
    let number: Option<f64> = text.trim_end_matches('s').parse().ok();
    number
        .filter(|seconds| *seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "not a number of seconds; examples: 30, 0.5".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_read() {
        assert_eq!(bytes("512"), Ok(512));
        assert_eq!(bytes("4G"), Ok(4 << 30));
        assert_eq!(bytes("4GiB"), Ok(4 << 30));
        assert!(bytes("lots").is_err() && bytes("99999999999T").is_err());
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        let named = named_file("t=a=b".into()).unwrap();
        assert_eq!((&named.name[..], named.path), ("t", PathBuf::from("a=b")));
        for wrong in ["t", "=a", "t=", "a b=c", "t'=c"] {
            assert!(named_file(wrong.into()).is_err(), "{wrong}");
        }
        assert!(seconds("0").is_err() && seconds("-1").is_err() && seconds("x").is_err());
    }

    #[test]
    fn a_task_is_read_with_what_stands_before_it() {
        let words = "trawl -i /idx --status sql --at 1 --csv -0 --json SELECT";
        let order = read(words.split(' ').map(OsString::from).collect()).unwrap();
        assert_eq!(order.indexes.dirs, [PathBuf::from("/idx")]);
        assert!(order.status);
        let Task::Sql(args) = order.task else {
            panic!("not sql")
        };
        assert_eq!(args.form(), Form::Json);
        assert_eq!(args.query.as_deref(), Some("SELECT"));
    }
}
