//! Runs `trawl sql`: reads the statements and reports on their answers.

use std::io::{IsTerminal, Read};
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

use datafusion::sql::parser::Statement;
use trawl_cli::exit::Exit;
use trawl_cli::sql::{Form as Chosen, Format, Order, SqlArgs};
use trawl_model::escape::escape;
use trawl_model::path;
use trawl_text::time_style::full_iso;
use trawl_text::zone::Zone;

use crate::catalog::{Read as ReadSnapshot, Remarks};
use crate::error::{Result, SqlError};
use crate::files::FileTable;
use crate::output::{self, Cells, Form, Paths, Writer};
use crate::session::{Engine, Settings};
use crate::shell;

/// Minimum of the default memory limit.
const LEAST_MEMORY_BYTES: u64 = 256 << 20;

/// Settings that hold for every statement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// The output format.
    pub(crate) form: Form,
    /// How texts of comma-separated values are written.
    pub(crate) cells: Cells,
    /// The columns that are printed.
    pub(crate) columns: Columns,
    /// Whether the time of the answer's data is reported.
    pub(crate) status: Status,
    /// Whether the duration is reported.
    pub(crate) timing: Timing,
}

/// The columns that are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Columns {
    /// All that the statement selects.
    All,
    /// The one with paths.
    Paths,
}

/// Whether the time of the answer's data is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Reported on standard error.
    Told,
    /// Not reported.
    Untold,
}

impl Status {
    /// Reads the user's choice.
    pub(crate) fn of(order: &Order) -> Status {
        match order.status {
            true => Status::Told,
            false => Status::Untold,
        }
    }
}

/// Whether a statement's duration is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timing {
    /// Reported on standard error.
    On,
    /// Not reported.
    Off,
}

/// Runs the command.
pub(crate) fn run(order: &Order, args: &SqlArgs) -> Result<Exit> {
    let manner = Manner {
        form: form(args),
        cells: Cells::of(order.spreadsheet),
        columns: match args.paths {
            true => Columns::Paths,
            false => Columns::All,
        },
        status: Status::of(order),
        timing: Timing::Off,
    };
    output::check(manner.form, args.output.as_deref())?;
    let text = statements(args)?;
    let mut engine = Engine::new(settings(order, args)?)?;
    // Opened first, so that a missing index is reported at once.
    engine.catalog()?;
    let done = match text {
        Some(text) => run_all(&engine, &text, manner, args.output.as_deref()),
        None => shell::run(&mut engine, manner),
    };
    engine.close();
    order.say_if_behind();
    done
}

fn form(args: &SqlArgs) -> Form {
    match args.form() {
        _ if args.paths => Form::Null,
        Chosen::Null => Form::Null,
        Chosen::Json => Form::Named(Format::Json),
        Chosen::Csv => Form::Named(Format::Csv),
        Chosen::Arrow => Form::Stream,
        Chosen::Text => Form::Named(args.format.unwrap_or(Format::Table)),
    }
}

fn settings(order: &Order, args: &SqlArgs) -> Result<Settings> {
    let mut files = Vec::new();
    for named in &args.tables {
        files.push((named.name.clone(), FileTable::open(named)?));
    }
    Ok(Settings {
        below: args.below.as_deref().map(directory).transpose()?,
        files,
        indexes: order.indexes.clone(),
        as_of: order.as_of,
        threads: args.threads.unwrap_or_else(threads),
        memory_bytes: args.memory_limit.unwrap_or_else(default_memory),
        temp_dir: args.temp_dir.clone().unwrap_or_else(std::env::temp_dir),
        timeout: args.timeout,
    })
}

/// Returns the absolute path of a directory, without links, as paths of the index are.
fn directory(path: &Path) -> Result<Vec<u8>> {
    let failed = |source| SqlError::File {
        action: "find",
        path: path.to_owned(),
        source,
    };
    let found = std::fs::canonicalize(path).map_err(failed)?;
    let found = found.into_os_string().into_vec();
    Ok(if found == b"/" { Vec::new() } else { found })
}

/// Returns one thread per processor.
pub(crate) fn threads() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Returns a quarter of the machine's memory, but at least `LEAST_MEMORY_BYTES`.
pub(crate) fn default_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kibibytes = total.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    let total = kibibytes.unwrap_or_default().saturating_mul(1024);
    (total / 4).max(LEAST_MEMORY_BYTES)
}

/// Returns the statements' text; `None` for the interactive shell.
fn statements(args: &SqlArgs) -> Result<Option<String>> {
    if let Some(query) = &args.query {
        return Ok(Some(query.clone()));
    }
    let file = match &args.file {
        Some(file) if file != Path::new("-") => {
            let failed = |source| SqlError::File {
                action: "read",
                path: file.clone(),
                source,
            };
            return std::fs::read_to_string(file).map(Some).map_err(failed);
        }
        file => file,
    };
    if file.is_none() && std::io::stdin().is_terminal() {
        return Ok(None);
    }
    let mut text = String::new();
    let read = std::io::stdin().lock().read_to_string(&mut text);
    read.map_err(|source| SqlError::File {
        action: "read",
        path: "standard input".into(),
        source,
    })?;
    Ok(Some(text))
}

fn run_all(engine: &Engine, text: &str, manner: Manner, file: Option<&Path>) -> Result<Exit> {
    let statements = Engine::parse(text)?;
    if statements.is_empty() {
        return Err(SqlError::Usage(
            "there is no statement to run; see trawl sql --help".into(),
        ));
    }
    // Readers of these formats stop at the end of the first file.
    let is_one_file = matches!(
        manner.form,
        Form::Stream | Form::Named(Format::Parquet | Format::Arrow)
    );
    let is_for_one = file.is_some() || manner.columns == Columns::Paths || is_one_file;
    if is_for_one && statements.len() > 1 {
        return Err(SqlError::Usage(
            "--output, --paths and the formats parquet and arrow take the rows of one statement \
             only: run trawl sql once for each"
                .into(),
        ));
    }
    let mut exit = Exit::Complete;
    for statement in statements {
        exit = exit.and(run_one(engine, statement, manner, file)?);
    }
    Ok(exit)
}

/// Runs a statement and writes its rows.
pub(crate) fn run_one(
    engine: &Engine,
    statement: Statement,
    manner: Manner,
    file: Option<&Path>,
) -> Result<Exit> {
    let begun = Instant::now();
    let cancel =
        trawl_sys::signal::watch_interrupts().unwrap_or_else(|_| trawl_sys::signal::interrupted());
    cancel.store(false, Ordering::Relaxed);
    let mut answer = engine.ask(statement, cancel)?;
    let paths = match manner.columns {
        Columns::Paths => Some(Paths::of(&answer.schema)?),
        Columns::All => None,
    };
    let schema = paths.as_ref().map_or(&answer.schema, |paths| &paths.schema);
    let mut writer = Writer::open((manner.form, manner.cells), schema, file)?;
    let mut rows = 0u64;
    while let Some(batch) = engine.next(&mut answer, cancel)? {
        let batch = match &paths {
            Some(paths) => paths.in_rows(&batch)?,
            None => batch,
        };
        rows += batch.num_rows() as u64;
        writer.write(&batch)?;
    }
    writer.finish()?;
    if manner.timing == Timing::On {
        let millis = begun.elapsed().as_secs_f64() * 1000.0;
        let noun = if rows == 1 { "row" } else { "rows" };
        eprintln!("{rows} {noun}, {millis:.1} ms");
    }
    Ok(tell(&answer.told(), manner.status))
}

/// Reports the remarks on an answer and returns the exit code.
pub(crate) fn tell(told: &Remarks, status: Status) -> Exit {
    for (unseen, why) in &told.unseen {
        output::say(format_args!("cannot access '{}': {why}", escape(unseen)));
    }
    for (unread, why) in &told.unread {
        let path = escape(unread);
        output::say(format_args!("cannot search the content of '{path}': {why}"));
    }
    if status == Status::Told {
        for ReadSnapshot { info, by } in &told.read {
            let mut time = String::new();
            full_iso(&mut time, info.started, &Zone::local());
            let root = escape(path::display(&info.root));
            output::say(format_args!(
                "{root} as of {time}, snapshot {}{by}",
                info.id
            ));
        }
    }
    Exit::from_issues(told.lacking())
}
