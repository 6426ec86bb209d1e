//! `trawl sql` and `trawl export`: their options, and the way to the program
//! that answers them.
//!
//! The SQL engine is large, and starting it costs more than a whole answer of
//! the other commands; so it lies in a program of its own, `trawl-sql`, which
//! takes the same words. This module is all that both know of each other:
//! `trawl` reads the words (so that help, man pages and completions are made
//! from one place) and hands them over; `trawl-sql` reads them again with
//! [`read`].

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command as Program;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use trawl_ask::barrier::Daemons;
use trawl_model::guard::Credentials;
use trawl_query::{AsOf, Index, QueryError};

use crate::arguments::{self, Manner};
pub use crate::at::why_none;
pub use crate::csv::protected;
use crate::exit::Exit;
use crate::failure::Failure;
pub use crate::failure::cause;
use crate::fresh::Freshness;
use crate::output::{print_about_words, say};
pub use crate::scope::shown_index;
use crate::settings;

/// The name of the program.
pub const PROGRAM: &str = "trawl-sql";

const SQL_HELP: &str = "\
Tables: entries, dirs, xattrs, issues (of now, or of --at), entries_history and
dirs_history (every snapshot that is kept), sources, snapshots. Queries only
read: no statement writes a file, reads another one or reaches the network.

Examples:
  trawl sql \"SELECT path, size FROM entries WHERE type = 'f' ORDER BY size DESC LIMIT 10\"
  trawl sql \"SELECT user_name(uid), human_size(sum(size)) FROM entries
             WHERE path LIKE '/scratch/%' AND mtime > now() - INTERVAL '7 days' GROUP BY 1\"
  trawl sql -0 \"SELECT path FROM entries WHERE ext(name) = 'tmp'\" | xargs -0 ls -ld
  trawl sql --format parquet -o big.parquet 'SELECT * FROM entries WHERE size > 1e9'
  trawl sql                     a shell; \\? lists its commands

Questions that administrators ask, with their SQL: docs/sql-cookbook.md.";

const EXPORT_HELP: &str = "\
Writes what this user may see: DIR/entries, DIR/dirs, DIR/xattrs and DIR/issues,
each in parts of bounded size. DIR must not exist, unless --force replaces it.

Examples:
  trawl export --parquet /tmp/index             everything
  trawl export --csv /tmp/home --tables entries /home
  duckdb -c \"SELECT count(*) FROM '/tmp/index/entries/*.parquet'\"";

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Columns for people.
    Table,
    /// One JSON object a line.
    Json,
    /// Comma-separated values with a header.
    Csv,
    /// Tab-separated values with a header; `\t`, `\n`, `\\` escaped.
    Tsv,
    /// A Parquet file.
    Parquet,
    /// An Arrow IPC file.
    Arrow,
}

// Options of `trawl sql`.
#[allow(missing_docs, reason = "it would be the command's text")]
#[derive(Debug, clap::Args)]
#[command(after_help = SQL_HELP)]
pub struct SqlArgs {
    /// What to ask; several statements are separated by semicolons [default:
    /// a shell on a terminal, else standard input]
    #[arg(value_name = "SQL", conflicts_with = "file")]
    pub query: Option<String>,
    /// Read the statements from a file (`-` is standard input)
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// How rows are written [default: table]
    #[arg(long, value_name = "FORMAT", value_enum, overrides_with_all = ["json", "csv", "null"])]
    pub format: Option<Format>,
    /// One JSON object a line (--format json)
    #[arg(long, overrides_with_all = ["format", "csv", "null"])]
    pub json: bool,
    /// Comma-separated values with a header (--format csv)
    #[arg(long, overrides_with_all = ["format", "json", "null"])]
    pub csv: bool,
    /// The first column alone, each value ended by a NUL
    #[arg(short = '0', long, overrides_with_all = ["format", "json", "csv"])]
    pub null: bool,
    /// Write the rows to this file, which must not exist
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Memory for sorting, grouping and joining; more goes to temporary files
    /// [default: a quarter of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub memory_limit: Option<u64>,
    /// Directory for temporary files [default: TMPDIR or /tmp]
    #[arg(long, value_name = "DIR")]
    pub temp_dir: Option<PathBuf>,
    /// Give up a statement after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<Duration>,
    /// Threads [default: one a processor]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) manner: Manner,
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
    /// What to export [default: everything that is indexed]
    #[arg(value_name = "PATH")]
    pub paths: Vec<OsString>,
    /// Only these tables
    #[arg(long, value_name = "TABLE", value_delimiter = ',', value_enum)]
    pub tables: Vec<ExportTable>,
    /// Replace what an earlier export left in the directory
    #[arg(long)]
    pub force: bool,
    /// Rows of a part, at most
    #[arg(long, value_name = "N", default_value = "4000000")]
    pub part_rows: NonZeroUsize,
    /// Threads [default: one a processor]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) manner: Manner,
}

/// What can be exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ExportTable {
    /// Every entry.
    Entries,
    /// Directories with sums.
    Dirs,
    /// Extended attributes.
    Xattrs,
    /// What could not be read.
    Issues,
}

/// What `trawl-sql` is to do.
#[derive(Debug)]
pub enum Task {
    /// Answer queries.
    Sql(Box<SqlArgs>),
    /// Write files.
    Export(Box<ExportArgs>),
}

/// Indexes that are asked together, and their daemons.
#[derive(Clone, Debug)]
pub struct Indexes {
    /// Where they lie.
    pub dirs: Vec<PathBuf>,
    daemons: Option<Arc<Daemons>>,
    who: Credentials,
}

impl Indexes {
    /// Opens them as they are now.
    ///
    /// # Errors
    /// If one of them cannot be opened.
    pub fn open(&self, as_of: AsOf) -> Result<Index, QueryError> {
        trawl_ask::search::open(&self.dirs, self.daemons.clone(), self.who.clone(), as_of)
    }
}

/// A task and the indexes that it is about.
#[derive(Debug)]
pub struct Order {
    /// The indexes, which answer together.
    pub indexes: Indexes,
    /// Of when the answers are to be.
    pub as_of: AsOf,
    /// How fresh the index is.
    pub(crate) fresh: Mutex<Freshness>,
    /// True if the user wants to know of when the answer is.
    pub status: bool,
    /// True if no text in comma-separated values may begin as a formula does.
    pub spreadsheet: bool,
    /// What to do.
    pub task: Task,
}

impl Order {
    /// Says which sources may be out of date that were come upon later.
    pub fn say_if_behind(&self) {
        self.fresh().tell(|line| say(line));
    }

    fn fresh(&self) -> MutexGuard<'_, Freshness> {
        self.fresh.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Prints a line on standard error; a terminal is sent none of its control characters.
pub fn tell(line: impl std::fmt::Display) {
    crate::output::tell(line);
}

/// Reads the words that `trawl` was called with. Help and mistakes are told
/// here; then there is nothing to do but to end.
///
/// # Errors
/// How the program ends.
pub fn read(words: Vec<OsString>) -> Result<Order, Exit> {
    let arguments = arguments::parse(words).map_err(|error| {
        let _ = print_about_words(&error);
        match error.use_stderr() {
            true => Exit::Fatal,
            false => Exit::Complete,
        }
    })?;
    let (task, manner) = match arguments.command {
        arguments::Command::Sql(args) => {
            let manner = arguments.manner.then(args.manner);
            (Task::Sql(args), manner)
        }
        arguments::Command::Export(args) => {
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
    order(arguments.index, manner, task).map_err(|failure| {
        say(&failure);
        failure.exit()
    })
}

fn order(index: Option<PathBuf>, manner: Manner, task: Task) -> Result<Order, Failure> {
    let dirs = settings::indexes_to_ask(index)?;
    // Statements of a shell that come later are answered from what is there then.
    let mut fresh = Freshness::ask(&dirs, manner);
    let indexes = Indexes {
        dirs,
        daemons: fresh.daemons(),
        who: settings::asker()?,
    };
    let as_of = manner.at.unwrap_or_default();
    if indexes.dirs.len() > 1 {
        fresh.is_about(&Arc::new(indexes.open(as_of)?));
    }
    fresh.tell(|line| say(line));
    Ok(Order {
        fresh: Mutex::new(fresh),
        indexes,
        as_of,
        status: manner.status,
        spreadsheet: manner.spreadsheet,
        task,
    })
}

/// Becomes the program that answers, with the same words; returns only if
/// that cannot be done.
pub(crate) fn hand_over(words: &[OsString]) -> Failure {
    let rest = words.get(1..).unwrap_or_default();
    let mut missing = None;
    for program in candidates() {
        let error = Program::new(&program).arg0("trawl").args(rest).exec();
        match error.kind() {
            std::io::ErrorKind::NotFound => missing = Some(error),
            _ => {
                return Failure::File {
                    action: "run",
                    path: program,
                    source: error,
                };
            }
        }
    }
    let why = missing.as_ref().map_or_else(String::new, cause);
    Failure::Usage(format!(
        "cannot run {PROGRAM}: {why}; it is looked for beside trawl, in ../libexec and in PATH: \
         install it, or build it with make"
    ))
}

/// Where the program may lie, the likeliest first.
fn candidates() -> Vec<PathBuf> {
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent);
    let mut places: Vec<PathBuf> = Vec::new();
    if let Some(dir) = beside {
        places.push(dir.join(PROGRAM));
        places.push(dir.join("../libexec/trawl").join(PROGRAM));
        places.push(dir.join("../libexec").join(PROGRAM));
    }
    // A name without a slash is looked for in PATH.
    places.push(PathBuf::from(PROGRAM));
    places
}

/// Reads a number of bytes with an optional unit.
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

/// Reads a number of seconds, which may have a fraction.
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
        assert!(args.json && !args.csv && !args.null);
        assert_eq!(args.query.as_deref(), Some("SELECT"));
    }
}
