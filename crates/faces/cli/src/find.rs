//! `trawl find`: passes its words to [`trawl_find`], and accepts before them the options of every
//! question, such as `--json`, `--csv`, `-0`, `--at` and `--status`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use trawl_answers::find::{ProgramSearch, Remarks, Searched};
use trawl_find::context::Context;
use trawl_find::driver::{RunOptions, Search, Streams};
use trawl_find::expr::Node;
use trawl_find::leaf::{Effect, Leaf};
use trawl_find::predicate::{Cost, Kind, Parse, Predicate, Standard};
use trawl_find::record;
use trawl_find::reference::error_text;
use trawl_find::{Environment, FindError, Parsed, Program};
use trawl_keywords::Contents;
use trawl_model::rows::Row;
use trawl_model::sync::lock;
use trawl_model::{SortKey, Timestamp, mapped};
use trawl_query::AsOf;
use trawl_remote::rows::Piece;
use trawl_report::{Renderer, ReportError, Schema, csv_header, csv_line, render_row, schema};
use trawl_session::{AsOfWhen, Denials, Depth, Notice, Session};
use trawl_text::quote::Terminal;

use crate::again;
use crate::arguments::{self, Manner};
use crate::at;
use crate::beside;
use crate::commands::{IndexOption, Setting, Spec};
use crate::documents;
use crate::exit::Exit;
use crate::failure::{Failure, quoted};
use crate::foresight;
use crate::groups::{Indexes, Together};
use crate::live;
use crate::output::{Output, cells, say};
use crate::rows;
use crate::settings;
use trawl_answers::listing::COLUMNS;

/// Format of matches where the words contain no action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Writing {
    /// As find writes them.
    #[default]
    Usual,
    /// One JSON object per line.
    Json,
    /// CSV lines below a header.
    Csv,
    /// An Arrow IPC stream.
    Arrow,
    /// Paths that end with a NUL byte.
    Zero,
}

/// Source of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Source {
    /// The index, and the live file system for paths that are not indexed.
    #[default]
    Index,
    /// The live file system.
    Live,
}

/// Name under which the program was called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Called {
    /// As `trawl find`.
    #[default]
    Trawl,
    /// As `find`: prints nothing that find would not print.
    Find,
}

/// Variable that says where the program looks when it is called `find`: with `index` in the index,
/// else in the live file system, as scripts expect.
const SOURCE_VARIABLE: &str = "TRAWL_FIND";

/// Help text for trawl's own options, which come before find's words.
const OURS: &str = "\nOptions of every question, before the paths:\n  \
    --live                         walk the file system instead of asking the index\n  \
    --json, --csv, --arrow, -0     print JSON objects, CSV, an Arrow stream or NUL-terminated paths\n  \
    --at TIME                      answer from the newest snapshot begun by TIME:\n                                 \
                                   a date as in date(1), a snapshot id, latest, -N\n  \
    --fresh[=TIME]                 wait up to TIME [10s] until the index includes\n                                 \
                                   earlier changes; default where a daemon watches\n  \
    --no-wait                      do not wait\n  \
    --max-age AGE                  accept answers up to AGE old\n  \
    --status                       report the answer's time and what is missing\n  \
    -i, --index DIR                ask the index in DIR\n  \
    --profile FILE                 record how long each operation takes\n\n\
Called as `find` (by a symbolic link), the program walks the file system, unless\n\
TRAWL_FIND=index is set.\n";

/// Version text. Scripts look in it for the version of GNU findutils.
const VERSION: &str = concat!(
    "find (trawl ",
    env!("CARGO_PKG_VERSION"),
    ") with the language of GNU findutils 4.9.0\n"
);

/// Returns the text that `trawl find --help` prints and that the manual page contains.
pub(crate) fn help() -> String {
    trawl_find::help::text() + OURS
}

/// Options that are not find's own words.
#[derive(Default)]
struct Ours {
    index: Option<PathBuf>,
    writing: Writing,
    source: Source,
    called: Called,
    manner: Manner,
    /// Where the recording of this process's operations goes.
    profile: Option<PathBuf>,
}

// Arguments of `find`, which parses them itself.
#[derive(Debug, clap::Args)]
pub(crate) struct FindArgs {
    /// Search these start points with this expression, as find(1) does
    ///
    /// trawl find --help lists the words of the expression.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENT"
    )]
    pub(crate) arguments: Vec<OsString>,
    /// Name under which the program was called.
    #[arg(skip)]
    pub(crate) called: Called,
}

/// Rows for programs.
static SCHEMA: Schema = Schema {
    row: "an entry that the expression selects",
    fields: &record::FIELDS,
    forms: schema::ROWS,
    samples: &["find", "find --live ."],
};

impl Spec for FindArgs {
    const ABOUT: &'static str = "Find entries with GNU find's language";
    const INDEX: IndexOption = IndexOption::None;
    const HAS_OWN_HELP: bool = true;
    const EXAMPLES: &'static [(&'static str, &'static str)] = &[
        (
            "trawl find /home -name '*.c'",
            "print the paths that find would print",
        ),
        ("trawl find . -type f -size +1G -mtime +90", ""),
        (
            "trawl find /srv -name '*.tmp' -delete",
            "delete files, after checking each again",
        ),
        (
            "trawl find --live . -newer stamp",
            "walk the file system instead",
        ),
    ];
    const SEE_ALSO: &'static [&'static str] = &["find(1)", "trawl-locate(1)", "trawl-search(1)"];
    const REPORTS: &'static [&'static Schema] = &[&SCHEMA];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        run(setting.index, &self.arguments, self.called, setting.manner)
    }
}

/// Runs the command. Exit codes are those of GNU find.
pub(crate) fn run(
    index: Option<PathBuf>,
    words: &[OsString],
    called: Called,
    manner: Manner,
) -> Result<Exit, Failure> {
    let mut ours = Ours {
        index,
        called,
        manner,
        ..Ours::default()
    };
    let all = words;
    let words = match called {
        Called::Trawl => match ours.take(words) {
            Ok(words) => words,
            Err(why) => {
                complain(&why);
                return Ok(Exit::Find(1));
            }
        },
        Called::Find => {
            let asks_index = std::env::var_os(SOURCE_VARIABLE).is_some_and(|v| v == "index");
            if !asks_index {
                ours.source = Source::Live;
            }
            words
        }
    };
    if let Some(path) = &ours.profile {
        let said = ["trawl", "find"].map(OsString::from);
        crate::own::begin(path, &[&said, all].concat())?;
        crate::output::end_quietly_on_closed_pipe();
    }
    let words: Vec<Vec<u8>> = words.iter().map(|word| word.clone().into_vec()).collect();
    if std::env::var_os("FIND_BLOCK_SIZE").is_some() {
        complain(
            &"The environment variable FIND_BLOCK_SIZE is not supported, the only thing that \
              affects the block size is the POSIXLY_CORRECT environment variable",
        );
        return Ok(Exit::Find(1));
    }
    let together = Arc::new(Together {
        indexes: Indexes::Of(ours.index.clone()),
        manner: ours.manner,
        issues: Mutex::default(),
    });
    let env = Environment {
        started: foresight::of_arguments,
        foresight: foresight::of_turns,
        contents: documents::contents(ours.index.clone()),
        grouping: Arc::<Together>::clone(&together),
        framing: crate::output::gives_rows().then_some(framed),
        ..Environment::of_process()
    };
    let program = match trawl_find::parse(&words, &env) {
        Ok(Parsed::Search(program)) => program,
        Ok(Parsed::Help) => return print(&help()),
        Ok(Parsed::Version) => return print(VERSION),
        Err(refusal) => {
            refusal.warnings.iter().for_each(|line| complain(line));
            complain(&refusal.error);
            if called == Called::Trawl && is_late(&refusal.error) {
                complain(&"options of trawl come before the paths");
            }
            if called == Called::Trawl && is_server(&refusal.error) {
                complain(&arguments::remote_comes_first("find"));
            }
            return Ok(Exit::Find(1));
        }
    };
    limit(&env.contents, &program);
    let reads_starts = words.iter().any(|word| word == b"-files0-from");
    if program.expr.has(Effect::Change) || reads_starts {
        // It changes something, or reads input that can be read only once.
        again::note_begun();
    }
    let issues = std::mem::take(&mut *lock(&together.issues));
    issues.iter().for_each(|issue| complain(issue));
    match search(ours, *program, &env) {
        Ok(Exit::Find(0)) if !issues.is_empty() => Ok(Exit::Find(1)),
        Err(failure) if again::is_possible(&failure) => Err(failure),
        // The reader of the output has closed the pipe.
        Err(failure) if failure.is_closed_pipe() => Ok(Exit::Find(0)),
        Err(failure) => {
            match &failure {
                Failure::Write(error) => complain_of_output(error),
                other => complain(other),
            }
            Ok(Exit::Find(1))
        }
        done => done,
    }
}

/// Reports, as find does, that standard output cannot be written, and reports it again as at exit:
/// the second message has a reason only if the descriptor was never open.
fn complain_of_output(error: &io::Error) {
    let why = error_text(error);
    complain(&format_args!("{}: {why}", quoted(b"standard output")));
    match error.raw_os_error() {
        Some(EBADF) => complain(&format_args!("write error: {why}")),
        _ => complain(&"write error"),
    }
}

/// Bad file descriptor (errno(3)).
const EBADF: i32 = 9;

/// Long options of trawl that come before find's words.
const LONG_OPTIONS: [&str; 11] = [
    "--live",
    "--json",
    "--csv",
    "--arrow",
    "--status",
    "--no-wait",
    "--fresh",
    "--max-age",
    "--at",
    "--index",
    "--profile",
];

/// Returns true if the word that find does not know is an option of trawl.
fn is_late(error: &FindError) -> bool {
    let FindError::UnknownPredicate { name } = error else {
        return false;
    };
    let option = name.split('=').next().unwrap_or_default();
    LONG_OPTIONS.contains(&option)
}

/// Returns true if the word that find does not know names a server.
fn is_server(error: &FindError) -> bool {
    matches!(error, FindError::UnknownPredicate { name } if arguments::is_remote(name.as_bytes()))
}

/// Name of the operand that has all of find's words.
pub(crate) const WORDS: &str = "arguments";

/// Returns the start points of find's words; `.` if there is none.
pub(crate) fn start_points(words: &[OsString]) -> Vec<OsString> {
    let mut ours = Ours::default();
    let words = ours.take(words).unwrap_or_default();
    let words: Vec<Vec<u8>> = words.iter().map(|word| word.clone().into_vec()).collect();
    let starts = trawl_find::start_words(&words).iter();
    let starts: Vec<OsString> = starts.cloned().map(OsString::from_vec).collect();
    match starts.is_empty() {
        true => vec![".".into()],
        false => starts,
    }
}

/// Returns whether find's words may sort its output. A word that only looks like `-sort` counts.
pub(crate) fn may_sort(words: &[OsString]) -> bool {
    words.iter().any(|word| word == "-sort")
}

/// Returns whether find's words ask for an Arrow stream.
pub(crate) fn writes_arrow(words: &[OsString]) -> bool {
    let mut ours = Ours::default();
    ours.take(words).is_ok() && ours.writing == Writing::Arrow
}

/// Returns a row for somebody who merges it with those of other servers.
fn framed(key: SortKey, out: trawl_find::output::Output) -> Vec<u8> {
    let (key, fields) = (key.into_bytes(), vec![out.encode()]);
    Piece::Row(trawl_remote::rows::Row { key, fields }).encode()
}

/// Returns whether find's words name an index.
pub(crate) fn names_index(words: &[OsString]) -> bool {
    let mut ours = Ours::default();
    ours.take(words).is_ok() && ours.index.is_some()
}

/// Returns why a server does not answer find with these words, if it does not. What the expression
/// may contain is checked when it is parsed.
pub(crate) fn why_not_afar(words: &[OsString]) -> Option<String> {
    let mut ours = Ours::default();
    ours.take(words).err().or_else(|| {
        let given = ours.index.is_some() || ours.profile.is_some();
        given.then(|| "a server does not answer --index and --profile of trawl find".into())
    })
}

/// Limits the indexes of contents that are opened to those of the start points.
fn limit(contents: &Contents, program: &Program) {
    if program.questions.is_empty() || program.starts_from.is_some() {
        return;
    }
    let real = |start: &Vec<u8>| {
        let path = std::fs::canonicalize(OsStr::from_bytes(&mapped::ours(start)?)).ok()?;
        Some(path.into_os_string().into_vec())
    };
    let starts: Option<Vec<Vec<u8>>> = program.starts.iter().map(real).collect();
    if let Some(starts) = starts {
        contents.limit_to(starts);
    }
}

/// Prints a message with find's name before it.
fn complain(message: &dyn std::fmt::Display) {
    crate::output::tell(format_args!("find: {message}"));
}

fn print(text: &str) -> Result<Exit, Failure> {
    let mut output = Output::stdout();
    let written = output.put(text).and_then(|()| output.finish());
    match written {
        Err(Failure::Write(error)) if error.kind() != io::ErrorKind::BrokenPipe => {
            complain(&format_args!("write error: {}", error_text(&error)));
            Ok(Exit::Find(1))
        }
        _ => Ok(Exit::Complete),
    }
}

impl Ours {
    /// Takes trawl's own options off the front and returns the remaining words.
    fn take<'w>(&mut self, mut words: &'w [OsString]) -> Result<&'w [OsString], String> {
        while let Some((word, rest)) = words.split_first() {
            match word.as_encoded_bytes() {
                b"--live" => self.source = Source::Live,
                b"--json" => self.writing = Writing::Json,
                b"--csv" => self.writing = Writing::Csv,
                b"--arrow" => self.writing = Writing::Arrow,
                b"-0" => self.writing = Writing::Zero,
                b"--status" => self.manner.status = true,
                b"--spreadsheet" => self.manner.spreadsheet = true,
                b"--no-wait" => self.manner.fresh.no_wait = true,
                b"--fresh" => self.manner.fresh.fresh = Some(crate::fresh::DEADLINE),
                option @ (b"--max-age" | b"--at" | b"-i" | b"--index" | b"--profile") => {
                    let shown = word.to_string_lossy();
                    let (value, rest) = rest
                        .split_first()
                        .ok_or_else(|| format!("{shown} needs a value after it"))?;
                    self.set(option, value)?;
                    words = rest;
                    continue;
                }
                other => {
                    let Some(end) = other.iter().position(|byte| *byte == b'=') else {
                        break;
                    };
                    if !self.set(&other[..end], OsStr::from_bytes(&other[end + 1..]))? {
                        break;
                    }
                }
            }
            words = rest;
        }
        Ok(words)
    }

    /// Sets the value of an option. Returns false if the option takes no value or is not one of
    /// trawl's.
    fn set(&mut self, option: &[u8], value: &OsStr) -> Result<bool, String> {
        let fresh = &mut self.manner.fresh;
        match option {
            b"--at" => self.manner.at = Some(time_of(value)?),
            b"--fresh" => fresh.fresh = Some(duration_of(value)?),
            b"--max-age" => fresh.max_age = Some(duration_of(value)?),
            b"-i" | b"--index" => self.index = Some(value.into()),
            b"--profile" => self.profile = Some(value.into()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Refuses options and actions that make no sense for the past.
    fn check(&self, program: &Program) -> Result<(), Failure> {
        let why = match self.manner.at {
            None => return Ok(()),
            Some(_) if self.source == Source::Live => "the live file system has no past",
            Some(_) if program.expr.has(Effect::Change) => {
                "actions that run commands or change files need the files of now"
            }
            Some(_) => return Ok(()),
        };
        Err(Failure::Usage(format!("--at cannot be used here: {why}")))
    }

    /// Opens the index; `None` if there is none, or if the live file system is to be searched.
    fn open(&self, program: &Program) -> Result<Option<Session<'static>>, Failure> {
        if self.source == Source::Live {
            return Ok(None);
        }
        let indexes = settings::indexes_to_ask(self.index.clone());
        let session = indexes.and_then(|dirs| Session::open(&dirs, self.manner.options()));
        match session.map_err(Failure::from) {
            Ok(mut session) => {
                session.tell_denials(Denials::Counted);
                if program.traversal.max_depth == 0 {
                    session.reach_to(Depth::Itself);
                }
                Ok(Some(session))
            }
            // An index may be missing only if the user did not name it.
            Err(failure)
                if !settings::is_named(&self.index)
                    && self.manner.at.is_none()
                    && failure.is_missing_index() =>
            {
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }
}

fn search(ours: Ours, mut program: Program, env: &Environment) -> Result<Exit, Failure> {
    let arrow = match ours.writing {
        Writing::Arrow => Some(Arc::new(Mutex::new(beside::arrow()?))),
        _ => None,
    };
    if let Some(node) = ours.writing.node(arrow.as_ref())
        && !program.print_with(node)
    {
        let text = "--json, --csv, --arrow and -0 already print matches: leave out -print and similar actions";
        return Err(Failure::Usage(text.into()));
    }
    ours.check(&program)?;
    ours.manner.prepare();
    let session = ours.open(&program)?;
    let (mut output, mut errors) = (Output::stdout().with_own_controls(), io::stderr());
    if ours.writing == Writing::Csv {
        output.put(csv_header(&record::FIELDS))?;
    }
    if let Some(arrow) = &arrow {
        rows::refuse_terminal()?;
        let mut begin = Vec::new();
        let begun = lock(arrow).begin(&record::FIELDS, &mut begin);
        begun.map_err(ReportError::Write)?;
        output.put(begin)?;
    }
    if program.is_sorted {
        output.begin_rows(program.limit.map(|limit| limit as u64), &[])?;
        output = output.of_pieces();
    }
    let streams = Streams {
        out: &mut output,
        err: &mut errors,
    };
    let options = RunOptions {
        cancel: live::cancel(),
        ..RunOptions::default()
    };
    let search = Search::new(&program, env, options, streams)?;
    let remarks = Remarks {
        on_live: ours.source == Source::Index && ours.called == Called::Trawl,
        of_places: ours.manner.status,
    };
    let mut search = ProgramSearch::new(&program, search, session, remarks);
    match program.start_points(env.locale) {
        Ok(points) => search.visit_all(points)?,
        Err(why) => search.tell(&why)?,
    }
    let Searched {
        mut code,
        mut session,
        live,
    } = search.finish()?;
    if let Some(arrow) = &arrow {
        let mut end = Vec::new();
        lock(arrow).finish(&mut end).map_err(ReportError::Write)?;
        output.put(end)?;
    }
    output.finish()?;
    let behind = session
        .as_mut()
        .map(|session| session.say_if_behind(&|notice| complain(&notice)));
    if behind == Some(true) {
        code = code.max(1);
    }
    if ours.manner.status {
        finish_status(session, live);
    }
    Ok(Exit::Find(code))
}

/// Reports how fresh the parts of an answer are, and which parts are missing.
fn finish_status(session: Option<Session<'_>>, live: BTreeMap<Vec<u8>, Timestamp>) {
    match session {
        Some(mut session) => {
            for (place, time) in live {
                session.note_live(&place, time);
            }
            session.finish();
        }
        None => {
            for (place, time) in live {
                let when = AsOfWhen::Live;
                say(Notice::AsOf { place, time, when });
            }
        }
    }
}

/// Parses a word that is an age or a waiting time.
fn duration_of(word: &OsStr) -> Result<Duration, String> {
    let text = word.to_string_lossy();
    crate::fresh::parse_time(&text).map_err(|why| format!("cannot read the time {text}: {why}"))
}

fn time_of(word: &OsStr) -> Result<AsOf, String> {
    let text = word.to_string_lossy();
    at::parse(&text)
        .map_err(|why| format!("cannot read the time {}: {why}", quoted(word.as_bytes())))
}

impl Writing {
    /// Returns the action that takes the place of `-print`; Arrow streams are written to `arrow`.
    fn node(self, arrow: Option<&Stream>) -> Option<Node> {
        let (predicate, leaf): (_, Box<dyn Leaf>) = match self {
            Writing::Usual => return None,
            Writing::Json => return Some(record::node()),
            Writing::Csv => (&CSV, Box::new(Written(Writing::Csv))),
            Writing::Arrow => (&ARROW, Box::new(WrittenArrow(Arc::clone(arrow?)))),
            Writing::Zero => (&ZERO, Box::new(Written(Writing::Zero))),
        };
        Some(Node::new(predicate, leaf))
    }
}

const fn written(name: &'static str, help: &'static str) -> Predicate {
    Predicate {
        name,
        aliases: &[],
        args: "",
        kind: Kind::Action,
        help,
        cost: Cost::Output,
        columns: COLUMNS,
        standard: Standard::Gnu,
        parse: Parse::Option(|_| Ok(())),
    }
}

static CSV: Predicate = written("--csv", "print each match as comma-separated values");
static ARROW: Predicate = written("--arrow", "write each match to an Arrow IPC stream");
static ZERO: Predicate = written("-0", "print each path, terminated by a NUL byte");

#[derive(Debug)]
struct Written(Writing);

impl Leaf for Written {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        if self.0 == Writing::Zero {
            cx.print_path(row, 0, Terminal::Absent);
            return true;
        }
        let path = cx.path(row).to_vec();
        let (meta, target) = (row.meta(), row.link_target());
        let line = csv_line(&record::FIELDS, cells(), |printed| {
            record::fill(printed, &path, Some(&meta), target, &cx.world.owners);
        });
        cx.out.bytes.extend(line);
        true
    }

    fn effect(&self) -> Effect {
        Effect::Output
    }
}

/// An Arrow stream.
type Stream = Arc<Mutex<Box<dyn Renderer + Send>>>;

/// Writes matches to a stream whose beginning and end the caller writes.
struct WrittenArrow(Stream);

impl std::fmt::Debug for WrittenArrow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WrittenArrow")
    }
}

impl Leaf for WrittenArrow {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        let path = cx.path(row).to_vec();
        let (meta, target) = (row.meta(), row.link_target());
        let mut arrow = lock(&self.0);
        let fill = |printed: &mut trawl_report::Row<'_>| {
            record::fill(printed, &path, Some(&meta), target, &cx.world.owners);
        };
        let mut made = Vec::new();
        let done = render_row(&record::FIELDS, &mut **arrow, &mut made, fill);
        drop(arrow);
        cx.out.bytes.extend(made);
        if let Err(error) = done {
            cx.complain(&error.to_string());
        }
        true
    }

    fn effect(&self) -> Effect {
        Effect::Output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_words_are_only_taken_from_the_front() {
        let words: Vec<OsString> = ["--status", "--json", ".", "--csv"]
            .map(OsString::from)
            .to_vec();
        let mut ours = Ours {
            index: None,
            writing: Writing::Usual,
            source: Source::Index,
            called: Called::Trawl,
            manner: Manner::default(),
            profile: None,
        };
        assert_eq!(ours.take(&words), Ok(&words[2..]));
        assert_eq!(ours.writing, Writing::Json);
        assert!(ours.manner.status);
        for given in [
            &["-i", "x", "."][..],
            &["--index", "x", "."],
            &["--index=x", "."],
        ] {
            let words: Vec<OsString> = given.iter().map(OsString::from).collect();
            assert_eq!(ours.take(&words).unwrap(), ["."], "{given:?}");
            assert_eq!(ours.index.take(), Some("x".into()), "{given:?}");
        }
        let alone = ["--index"].map(OsString::from);
        assert!(ours.take(&alone).is_err());
    }

    #[test]
    fn the_help_has_both_languages() {
        let text = help();
        assert!(text.contains("-name") && text.contains("--json"), "{text}");
    }
}
