//! Find expressions, answered as `trawl find` answers them: by the index after a barrier, and by
//! the live file system where the index cannot.

use std::io::{self, Write};

use trawl_answers::AnswerError;
use trawl_answers::find::{ProgramSearch, Remarks};
use trawl_call::Attributes;
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
use crate::words::split;

/// Actions without an effect outside of the search.
const HARMLESS: [&str; 2] = ["-prune", "-quit"];

/// Splits a query into the words of an expression; see [`checked`].
///
/// # Errors
/// As [`checked`], and if a quotation does not end.
pub(crate) fn words(query: &[u8]) -> Result<Vec<Vec<u8>>, EngineError> {
    checked(split(query)?)
}

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
    let env = Environment::of_process();
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
    search.finish()?;
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
    let all = [&[start_of(prefix)], words].concat();
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

/// Opens the index; `None` if there is none and the user named none.
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

/// Number of 64-bit words of a record's attributes.
const FIELDS: usize = 16;

/// Writes each match as a record: the length of its path, the path, the attributes.
#[derive(Debug)]
struct HandOver;

impl Leaf for HandOver {
    fn eval(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        let path = cx.path(row).to_vec();
        let bytes = &mut cx.out.bytes;
        bytes.extend((path.len() as u64).to_le_bytes());
        bytes.extend(path);
        for word in packed(&Attributes::of(&row.meta())) {
            bytes.extend(word.to_le_bytes());
        }
        true
    }

    fn effect(&self) -> Effect {
        Effect::Output
    }
}

fn packed(of: &Attributes) -> [u64; FIELDS] {
    let secs = |secs: i64| secs.cast_unsigned();
    [
        of.dev,
        of.ino,
        of.nlink,
        of.rdev,
        of.size,
        of.blocks,
        u64::from(of.mode),
        u64::from(of.uid),
        u64::from(of.gid),
        u64::from(of.blksize),
        secs(of.atime.secs),
        u64::from(of.atime.nanos),
        secs(of.mtime.secs),
        u64::from(of.mtime.nanos),
        secs(of.ctime.secs),
        u64::from(of.ctime.nanos),
    ]
}

fn unpacked(words: [u64; FIELDS]) -> Attributes {
    let small = |at: usize| u32::try_from(words[at]).unwrap_or_default();
    let time = |at: usize| trawl_sys::stat::Time {
        secs: words[at].cast_signed(),
        nanos: small(at + 1),
    };
    Attributes {
        dev: words[0],
        ino: words[1],
        nlink: words[2],
        rdev: words[3],
        size: words[4],
        blocks: words[5],
        mode: small(6),
        uid: small(7),
        gid: small(8),
        blksize: small(9),
        atime: time(10),
        mtime: time(12),
        ctime: time(14),
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
        while let Some((path, attributes, rest)) = take(left) {
            left = rest;
            let found = Found {
                name: self.name(path),
                attributes: Some(attributes),
                content: None,
            };
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

/// Takes a whole record off the front.
fn take(bytes: &[u8]) -> Option<(&[u8], Attributes, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (path, mut rest) = rest.split_at_checked(length)?;
    let mut words = [0; FIELDS];
    for word in &mut words {
        let (bytes, next) = rest.split_first_chunk::<8>()?;
        (*word, rest) = (u64::from_le_bytes(*bytes), next);
    }
    Some((path, unpacked(words), rest))
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
