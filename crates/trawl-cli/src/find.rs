//! `trawl find`: hands its words to [`trawl_find`], and adds to the language
//! what belongs to every question: `--json`, `--csv`, `-0` and `--status` as
//! first words.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use trawl_find::context::Context;
use trawl_find::driver::{DriverError, RunOptions, Search, Streams};
use trawl_find::expr::Node;
use trawl_find::leaf::{Effect, Leaf};
use trawl_find::predicate::{Cost, Kind, Parse, Predicate, Standard};
use trawl_find::reference::error_text;
use trawl_find::{Environment, Parsed, Program};
use trawl_model::rows::Row;
use trawl_query::Located;
use trawl_text::quote::Terminal;

use crate::arguments::Manner;
use crate::exit::Exit;
use crate::failure::{Failure, quoted};
use crate::live;
use crate::ls::item::{COLUMNS, Item};
use crate::output::Output;
use crate::resolve::Resolved;
use crate::rows;
use crate::scope::{Denials, Depth, Follow, Session, not_indexed};

/// How matches are written where the words hold no action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writing {
    /// As find writes them.
    Usual,
    /// One JSON object a line.
    Json,
    /// Lines below a header.
    Csv,
    /// Paths that end with a zero byte.
    Zero,
}

/// Our own words in front of find's.
const OURS: &str = "\nOptions of every question, before the paths:\n  \
    --json, --csv, -0              print matches as JSON objects, as CSV, or NUL-ended\n  \
    --status                       say as of when the answer is true and what was not read\n";

/// What `trawl find --help` prints, and the manual page says.
pub(crate) fn help() -> String {
    trawl_find::help::text() + OURS
}

/// Runs the command. Exit codes are those of GNU find.
pub(crate) fn run(
    index: Option<PathBuf>,
    words: &[OsString],
    mut manner: Manner,
) -> Result<Exit, Failure> {
    let (writing, words) = take_ours(words, &mut manner);
    let words: Vec<Vec<u8>> = words.iter().map(|word| word.clone().into_vec()).collect();
    let env = Environment::of_process();
    let program = match trawl_find::parse(&words, &env) {
        Ok(Parsed::Search(program)) => program,
        Ok(Parsed::Help) => return print(&help()),
        Ok(Parsed::Version) => return print(concat!("trawl ", env!("CARGO_PKG_VERSION"), "\n")),
        Err(error) => {
            complain(&error);
            return Ok(Exit::Find(1));
        }
    };
    match search(index, *program, writing, &env, manner) {
        // Whoever read the output has enough.
        Err(failure) if failure.is_closed_pipe() => Ok(Exit::Find(0)),
        Err(failure) => {
            complain(&failure);
            Ok(Exit::Find(1))
        }
        done => done,
    }
}

/// In find's words, behind its name.
fn complain(message: &dyn std::fmt::Display) {
    use io::Write;
    let _ = writeln!(io::stderr().lock(), "find: {message}");
}

fn print(text: &str) -> Result<Exit, Failure> {
    let mut output = Output::stdout();
    output.put(text)?;
    output.finish()?;
    Ok(Exit::Complete)
}

/// Splits our words off the front.
fn take_ours<'w>(mut words: &'w [OsString], manner: &mut Manner) -> (Writing, &'w [OsString]) {
    let mut writing = Writing::Usual;
    while let Some((word, rest)) = words.split_first() {
        match word.as_encoded_bytes() {
            b"--json" => writing = Writing::Json,
            b"--csv" => writing = Writing::Csv,
            b"-0" => writing = Writing::Zero,
            b"--status" => manner.status = true,
            _ => break,
        }
        words = rest;
    }
    (writing, words)
}

fn search(
    index: Option<PathBuf>,
    mut program: Program,
    writing: Writing,
    env: &Environment,
    manner: Manner,
) -> Result<Exit, Failure> {
    if let Some(node) = writing.node()
        && !program.print_with(node)
    {
        let text = "--json, --csv and -0 print matches themselves: leave out -print and the like";
        return Err(Failure::Usage(text.into()));
    }
    let mut session = Session::open(index, manner, Exit::Issues)?;
    session.tell_denials(Denials::Counted);
    if program.traversal.max_depth == 0 {
        session.reach_to(Depth::Itself);
    }
    let shared = session.share_index();
    let (mut output, mut errors) = (Output::stdout(), io::stderr());
    if writing == Writing::Csv {
        output.put(rows::CSV_HEADER)?;
    }
    let streams = Streams {
        out: &mut output,
        err: &mut errors,
    };
    let options = RunOptions {
        cancel: live::cancel(),
        ..RunOptions::default()
    };
    let mut search = Search::new(&shared, &program, env, options, streams);
    let mut failed = false;
    for spelled in &program.starts {
        let located = match session.resolve(spelled, Follow::Never)? {
            Some(Resolved::To(Located::NotIndexed { nearest }, path)) => {
                complain(&not_indexed(&path, nearest.as_deref()));
                failed = true;
                continue;
            }
            Some(Resolved::To(Located::Missing { root }, path)) => {
                search
                    .visit_missing(spelled, &root, &path)
                    .map_err(failure)?;
                continue;
            }
            Some(Resolved::Unread(error)) => {
                complain(&format_args!("{}: {}", quoted(spelled), error_text(&error)));
                failed = true;
                continue;
            }
            Some(Resolved::To(located, _)) => Some(located),
            Some(Resolved::Loop) | None => None,
        };
        if manner.status
            && let Some(Located::Found(start)) = &located
        {
            session.note(start, Depth::All)?;
        }
        search.visit(spelled, located).map_err(failure)?;
    }
    let code = search.exit_code().max(u8::from(failed));
    drop(search);
    output.finish()?;
    if manner.status {
        session.finish()?;
    }
    Ok(Exit::Find(code))
}

fn failure(error: DriverError) -> Failure {
    match error {
        DriverError::Query(error) => Failure::Query(error),
        DriverError::Write(error) => Failure::Write(error),
        other => Failure::Usage(other.to_string()),
    }
}

impl Writing {
    /// The action that takes the place of `-print`.
    fn node(self) -> Option<Node> {
        let (predicate, leaf): (_, Box<dyn Leaf>) = match self {
            Writing::Usual => return None,
            Writing::Json => (&JSON, Box::new(Written(Writing::Json))),
            Writing::Csv => (&CSV, Box::new(Written(Writing::Csv))),
            Writing::Zero => (&ZERO, Box::new(Written(Writing::Zero))),
        };
        Some(Node { predicate, leaf })
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

static JSON: Predicate = written("--json", "print each match as a JSON object");
static CSV: Predicate = written("--csv", "print each match as comma-separated values");
static ZERO: Predicate = written("-0", "print each path with a NUL byte behind it");

#[derive(Debug)]
struct Written(Writing);

impl Leaf for Written {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        if self.0 == Writing::Zero {
            cx.print_path(row, 0, Terminal::Absent);
            return true;
        }
        let path = cx.path(row).to_vec();
        let item = Item::from_row(row, &path);
        let owners = &cx.world.owners;
        let line = match self.0 {
            Writing::Csv => rows::csv(&path, &item, owners),
            _ => (rows::json(&path, &item, owners).close() + "\n").into_bytes(),
        };
        cx.out.bytes.extend(line);
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
        let mut manner = Manner::default();
        let (writing, rest) = take_ours(&words, &mut manner);
        assert_eq!((writing, rest), (Writing::Json, &words[2..]));
        assert!(manner.status);
    }

    #[test]
    fn the_help_has_both_languages() {
        let text = help();
        assert!(text.contains("-name") && text.contains("--json"), "{text}");
    }
}
