//! Find expressions, answered as `trawl find` answers them: by the index after a barrier, and by
//! the live file system where the index cannot.

use std::io::{self, Write};
use std::sync::Arc;

use trawl_answers::AnswerError;
use trawl_answers::find::{ProgramSearch, Remarks};
use trawl_call::packed::{BadRecord, decode, encode};
use trawl_call::{Attributes, Outcome, RecordRef};
use trawl_find::context::Context;
use trawl_find::driver::{RunOptions, Search, Streams};
use trawl_find::expr::Node;
use trawl_find::leaf::{Effect, Leaf};
use trawl_find::predicate::{Cost, Kind, Parse, Predicate, Standard};
use trawl_find::{Environment, Parsed, Program, registry};
use trawl_model::rows::Row;
use trawl_session::{Denials, Interrupts, Options, Session, SessionError, settings};
use trawl_sets::Found;

use crate::Settings;
use crate::error::EngineError;
use crate::relay::Sender;

/// Actions without an effect outside of the search.
const HARMLESS: [&str; 2] = ["-prune", "-quit"];

/// Refuses words of an expression that do more than select.
///
/// # Errors
/// If the first word is no test, or a word is an action. This happens before the words are parsed:
/// parsing `-fprint` makes a file.
pub(crate) fn checked(words: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, EngineError> {
    let shown = |word: &[u8]| String::from_utf8_lossy(word).into_owned();
    if let Some(first) = words.first()
        && !(first.starts_with(b"-") || matches!(&first[..], b"(" | b"!" | b","))
    {
        return Err(EngineError::NoTest(shown(first)));
    }
    let is_action = |word: &&Vec<u8>| {
        let found = std::str::from_utf8(word).ok();
        let found = found.and_then(|word| registry().iter().find(|p| p.names().any(|n| n == word)));
        let acts = found.is_some_and(|p| p.kind == Kind::Action && !HARMLESS.contains(&p.name));
        acts || &word[..] == b"-files0-from"
    };
    match words.iter().find(is_action) {
        Some(word) => Err(EngineError::Action(shown(word))),
        None => Ok(words),
    }
}

/// Passes on what the expression selects at and below a directory.
pub(crate) fn ask(
    asked: &Settings,
    prefix: &[u8],
    words: &[Vec<u8>],
    sender: &Sender,
) -> Result<(), EngineError> {
    let env = Environment {
        contents: Arc::clone(&asked.contents),
        ..Environment::of_process()
    };
    let program = program(prefix, words, &env)?;
    let options = Options {
        interrupts: Interrupts {
            cancel: Some(sender.stop()),
            outlive_signals: None,
        },
        ..Options::default()
    };
    let session = session(asked, options)?;
    let prefix = start_of(prefix);
    let (mut out, mut err) = (Records::new(&prefix, sender), Complaints::default());
    let streams = Streams {
        out: &mut out,
        err: &mut err,
    };
    let options = RunOptions {
        cancel: Some(sender.stop()),
        ..RunOptions::default()
    };
    let search = Search::new(&program, &env, options, streams).map_err(AnswerError::from)?;
    let mut search = ProgramSearch::new(&program, search, session, Remarks::default());
    match program.start_points(env.locale) {
        Ok(points) => search.visit_all(points)?,
        Err(why) => search.tell(&why)?,
    }
    if let Some(mut session) = search.finish()?.session {
        session.say_if_behind(&|notice| {
            let _ = sender.send(Err(EngineError::Incomplete(notice.to_string()).at(&prefix)));
        });
    }
    for line in String::from_utf8_lossy(&err.0).lines() {
        let line = line.strip_prefix("find: ").unwrap_or(line).to_owned();
        let _ = sender.send(Err(EngineError::Incomplete(line).at(&prefix)));
    }
    Ok(())
}

/// Returns the start point: a name that find cannot take for an option.
fn start_of(prefix: &[u8]) -> Vec<u8> {
    let is_plain = !matches!(prefix.first(), Some(b'-' | b'(' | b'!' | b',' | b')'));
    match is_plain {
        true => prefix.to_vec(),
        false => [b"./", prefix].concat(),
    }
}

fn program(prefix: &[u8], words: &[Vec<u8>], env: &Environment) -> Result<Program, EngineError> {
    let wrong = |why: String| EngineError::Expression(why);
    // A link that is the directory itself is followed, as by `accepts`.
    let all = [&[b"-H".to_vec(), start_of(prefix)][..], words].concat();
    let mut program = match trawl_find::parse(&all, env) {
        Ok(Parsed::Search(program)) => *program,
        Ok(_) => return Err(wrong("-help and -version are no tests".into())),
        Err(refusal) => return Err(wrong(refusal.error.to_string())),
    };
    let changes = program.expr.has(Effect::Change);
    if changes || !program.print_with(Node::new(&HAND_OVER, Box::new(HandOver))) {
        return Err(EngineError::Action("an action".into()));
    }
    program.warnings.clear();
    Ok(program)
}

/// Opens the index; `None` if the default index does not exist.
fn session<'a>(asked: &Settings, options: Options<'a>) -> Result<Option<Session<'a>>, EngineError> {
    use trawl_format::IndexError::NoIndex;
    use trawl_query::QueryError;
    let dirs = settings::indexes_to_ask(asked.index.clone());
    match dirs.and_then(|dirs| Session::open(&dirs, options)) {
        Ok(mut session) => {
            session.tell_denials(Denials::Counted);
            Ok(Some(session))
        }
        Err(
            SessionError::Index(NoIndex { .. })
            | SessionError::Query(QueryError::Index(NoIndex { .. })),
        ) if !settings::is_named(&asked.index) => Ok(None),
        Err(error) => Err(AnswerError::from(error).into()),
    }
}

static HAND_OVER: Predicate = Predicate {
    name: "-set",
    aliases: &[],
    args: "",
    kind: Kind::Action,
    help: "hand each match over to the set",
    cost: Cost::Output,
    columns: trawl_find::record::COLUMNS,
    standard: Standard::Trawl,
    parse: Parse::Option(|_| Ok(())),
};

/// Writes each match as a record of the search call.
#[derive(Debug)]
struct HandOver;

impl Leaf for HandOver {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        let path = cx.path(row).to_vec();
        let record = RecordRef {
            root: 0,
            path: &path,
            outcome: Outcome::Match(Some(Attributes::of(&row.meta()))),
        };
        encode(&record, &mut cx.out.bytes);
        true
    }

    fn effect(&self) -> Effect {
        Effect::Output
    }
}

/// Reads records and passes them on, with paths relative to the start point.
struct Records<'a> {
    start: &'a [u8],
    sender: &'a Sender,
    rest: Vec<u8>,
}

impl<'a> Records<'a> {
    fn new(start: &'a [u8], sender: &'a Sender) -> Records<'a> {
        Records {
            start,
            sender,
            rest: Vec::new(),
        }
    }

    /// Returns the name of a match. The start point itself is the directory that names are relative
    /// to.
    fn name(&self, path: &[u8]) -> Vec<u8> {
        let below = path.strip_prefix(self.start).unwrap_or(path);
        let below = match below.strip_prefix(b"/") {
            Some(below) if !self.start.is_empty() => below,
            _ => below,
        };
        match below.is_empty() {
            true => b".".to_vec(),
            false => below.to_vec(),
        }
    }
}

impl Write for Records<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rest.extend_from_slice(bytes);
        let all = std::mem::take(&mut self.rest);
        let mut left = &all[..];
        loop {
            let (record, length) = match decode(left) {
                Ok(decoded) => decoded,
                Err(BadRecord::Short { .. }) => break,
                Err(error) => return Err(io::Error::other(error)),
            };
            left = &left[length..];
            let mut found = Found::named(self.name(record.path));
            if let Outcome::Match(attributes) = record.outcome {
                found.attributes = attributes;
            }
            let sent = self.sender.send(Ok(found));
            sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        }
        self.rest = left.to_vec();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Maximum number of bytes of messages that are kept.
const COMPLAINTS_BYTES: usize = 16 << 20;

/// Keeps the messages of a search.
#[derive(Default)]
struct Complaints(Vec<u8>);

impl Write for Complaints {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() < COMPLAINTS_BYTES {
            self.0.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
