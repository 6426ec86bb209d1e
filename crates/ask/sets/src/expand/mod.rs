//! Expansion: from set pathnames to the names of their members, as a stream.
//!
//! A name is expanded from left to right, one component after the other, and depth first, so that
//! the first names are there before the others are known:
//! - [`engine`]: what evaluates queries, implemented outside this crate; [`program`]: an engine that
//!   is another program.
//! - `several`: searches at several servers, at the same time.
//! - `run`: components with wildcards, answered by one search call.
//! - [`process`]: commands, whose output is names.
//!
//! Invariants: memory does not depend on the number of words that braces make, nor, unless
//! [`Order::Csh`] is wished, on the number of names; what cannot be expanded is a problem in the
//! place of the missing names; an object that does not exist or is of the wrong kind has no names.

pub mod engine;
pub mod process;
pub mod program;
mod run;
mod several;

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use trawl_call::Executor;
use trawl_call::request::Cancel;
use trawl_sys::child::SignalMask;

pub use engine::Engine;
pub use process::Records;
pub use program::Program;

use crate::member::{Op, Problem};
use crate::name::{Piece, SetName, Step, Word, is_url, server_prefix};
use crate::source::{Found, Names};
use process::Process;
use run::Run;
use several::Several;

/// Maximum number of directories in one search call.
const ROOTS_MAX: usize = 1024;

/// Whether attributes come with names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Attribute {
    /// They do not.
    #[default]
    Omitted,
    /// Attributes of the targets of links come with names that wildcards match.
    Wanted,
}

/// The order of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Any.
    #[default]
    Free,
    /// As csh: braces in the order in which they are written, and the names that wildcards match
    /// ordered by their bytes.
    Csh,
}

/// Whether commands in names are run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Commands {
    /// They become a problem.
    #[default]
    Refused,
    /// `sh -c` runs them, as this user.
    Run(Records),
}

/// Finds the home directory of a user; of the asking user if the name is empty.
pub type Homes = Arc<dyn Fn(&[u8]) -> io::Result<Option<Vec<u8>>> + Send + Sync>;

/// Limits and helpers of an expansion.
#[derive(Clone)]
pub struct Expander {
    /// Answers searches for wildcards.
    pub executor: Arc<dyn Executor>,
    /// Answers searches at servers, for roots that begin with the address of one server
    /// ([`server_prefix`]); without it, such names become a problem.
    pub servers: Option<Arc<dyn Executor>>,
    /// Evaluate queries; the first that accepts an object is asked.
    pub engines: Vec<Arc<dyn Engine>>,
    /// Whether commands are run.
    pub commands: Commands,
    /// Order of names.
    pub order: Order,
    /// Whether attributes come with names.
    pub attributes: Attribute,
    /// Finds home directories.
    pub homes: Homes,
}

impl std::fmt::Debug for Expander {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Expander").finish_non_exhaustive()
    }
}

impl Expander {
    /// Creates an expander with this executor, without engines, that runs no commands.
    pub fn new(executor: Arc<dyn Executor>) -> Expander {
        Expander {
            executor,
            servers: None,
            engines: Vec::new(),
            commands: Commands::default(),
            order: Order::default(),
            attributes: Attribute::default(),
            homes: Arc::new(home),
        }
    }

    /// Returns the names of the members of all these sets, one set after the other. Nothing is
    /// looked at before the first name is pulled.
    pub fn expand(&self, names: Vec<SetName>) -> Expansion {
        Expansion {
            expander: self.clone(),
            words: Words {
                names,
                at: 0,
                number: 0,
            },
            next: None,
            stack: Vec::new(),
            mask: SignalMask::current(),
            sorted: None,
            is_sorting: false,
        }
    }
}

/// Finds home directories: `HOME` for the asking user, and the database of users for others.
fn home(user: &[u8]) -> io::Result<Option<Vec<u8>>> {
    if user.is_empty() {
        return Ok(std::env::home_dir().map(|home| home.into_os_string().into_vec()));
    }
    let found = trawl_sys::identity::home_of(user);
    found.map_err(io::Error::from)
}

/// The words of several names, one at a time.
struct Words {
    names: Vec<SetName>,
    at: usize,
    number: u128,
}

impl Iterator for Words {
    type Item = Word;

    fn next(&mut self) -> Option<Word> {
        let mut name = self.names.get(self.at)?;
        while self.number >= name.word_count() {
            (self.at, self.number) = (self.at + 1, 0);
            name = self.names.get(self.at)?;
        }
        self.number += 1;
        Some(name.word(self.number - 1))
    }
}

/// A stream of names, and what is to be appended to each.
struct Frame {
    names: Box<dyn Names>,
    /// Directory of relative names, if the names are not complete.
    base: Option<Vec<u8>>,
    pieces: Arc<[Piece]>,
    /// Index of the piece that follows.
    next: usize,
}

/// The names of an expansion.
pub struct Expansion {
    expander: Expander,
    words: Words,
    /// A word that was taken but not expanded yet.
    next: Option<Word>,
    stack: Vec<Frame>,
    /// The signals that commands block.
    mask: SignalMask,
    /// The ordered rest of a word.
    sorted: Option<std::vec::IntoIter<Result<Found, Problem>>>,
    /// Whether the word that is being expanded has to be ordered as a whole.
    is_sorting: bool,
}

impl std::fmt::Debug for Expansion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Expansion").finish_non_exhaustive()
    }
}

impl Names for Expansion {
    fn next(&mut self, cancel: &Cancel) -> Option<Result<Found, Problem>> {
        loop {
            if let Some(next) = self.sorted.as_mut().and_then(Iterator::next) {
                return Some(next);
            }
            self.sorted = None;
            let first = self.pull(cancel)?;
            if !self.is_sorting {
                return Some(first);
            }
            let mut items = vec![first];
            while !self.stack.is_empty() {
                items.extend(self.step(cancel).flatten());
            }
            items.sort_by_cached_key(|item| match item {
                Ok(found) => found.name.clone(),
                Err(problem) => problem.name.clone(),
            });
            self.sorted = Some(items.into_iter());
        }
    }
}

impl Expansion {
    /// Returns the next name or problem in the order in which they are found.
    fn pull(&mut self, cancel: &Cancel) -> Option<Result<Found, Problem>> {
        loop {
            if let Some(item) = self.step(cancel)? {
                return Some(item);
            }
        }
    }

    /// Expands a little; `None` at the end.
    fn step(&mut self, cancel: &Cancel) -> Option<Option<Result<Found, Problem>>> {
        if cancel.is_cancelled() {
            self.stack.clear();
            return None;
        }
        let Some(frame) = self.stack.last_mut() else {
            let word = self.next.take().or_else(|| self.words.next())?;
            return Some(self.begin(word, cancel).transpose());
        };
        Some(match frame.names.next(cancel) {
            None => {
                self.stack.pop();
                None
            }
            Some(Err(problem)) => Some(Err(problem)),
            Some(Ok(found)) => {
                let found = joined(frame.base.as_deref(), found);
                let (pieces, next) = (Arc::clone(&frame.pieces), frame.next);
                let is_checked = !is_url(&found.name);
                self.append(found, &pieces, next, is_checked, cancel)
                    .transpose()
            }
        })
    }
}

impl Expansion {
    /// Begins to expand a word, together with those that follow and differ only in the directory
    /// that wildcards begin at.
    fn begin(&mut self, word: Word, cancel: &Cancel) -> Result<Option<Found>, Problem> {
        let is_checked = word.is_checked;
        let pieces = self.with_home(word)?;
        self.is_sorting = false;
        let Some((root, rest)) = split(&pieces) else {
            let start = Found::named(Vec::new());
            return self.append(start, &pieces.into(), 0, is_checked, cancel);
        };
        let is_plain = |piece: &Piece| matches!(piece, Piece::Text(_) | Piece::Run(_));
        // One run orders its names itself; what follows it can change their order.
        let has_order = self.expander.order == Order::Csh && rest.len() > 1;
        self.is_sorting = has_order && rest.iter().all(is_plain);
        let is_server = is_server(&root);
        let mut roots = vec![root];
        while !has_order
            && roots.len() < ROOTS_MAX
            && let Some(word) = self.words.next()
        {
            let same = match word.home {
                Some(_) => None,
                None => split(&word.pieces)
                    .filter(|(root, other)| *other == rest && self::is_server(root) == is_server),
            };
            match same {
                Some((root, _)) => roots.push(root),
                None => {
                    self.next = Some(word);
                    break;
                }
            }
        }
        self.run(roots, &Arc::from(rest), 0)?;
        Ok(None)
    }

    fn with_home(&self, word: Word) -> Result<Vec<Piece>, Problem> {
        let Some(user) = word.home else {
            return Ok(word.pieces);
        };
        let shown = [b"~", &user[..]].concat();
        let home = (self.expander.homes)(&user).and_then(|home| {
            home.ok_or_else(|| {
                io::Error::other("there is no such user; write [~] for the character")
            })
        });
        let mut home = home.map_err(|source| problem(shown, source))?;
        let mut pieces = word.pieces;
        match pieces.first_mut() {
            Some(Piece::Text(text)) => {
                if home == b"/" && text.starts_with(b"/") {
                    home.clear();
                }
                text.splice(..0, home);
            }
            _ => pieces.insert(0, Piece::Text(home)),
        }
        Ok(pieces)
    }

    fn run(
        &mut self,
        roots: Vec<Vec<u8>>,
        pieces: &Arc<[Piece]>,
        at: usize,
    ) -> Result<(), Problem> {
        let Some(Piece::Run(steps)) = pieces.get(at) else {
            return Ok(());
        };
        let expander = &self.expander;
        let wishes = (expander.attributes, expander.order);
        let names: Box<dyn Names> = match roots.first() {
            Some(root) if is_server(root) => self.at_servers(roots, steps)?,
            _ => Box::new(Run::new(&expander.executor, roots, steps, wishes)),
        };
        self.push(names, None, pieces, at);
        Ok(())
    }

    /// Returns the names that match at servers: one search for each of them, all at the same time.
    fn at_servers(
        &self,
        mut roots: Vec<Vec<u8>>,
        steps: &[Step],
    ) -> Result<Box<dyn Names>, Problem> {
        let expander = &self.expander;
        let Some(executor) = &expander.servers else {
            let why = "no servers are asked here";
            let source = io::Error::new(io::ErrorKind::Unsupported, why);
            return Err(problem(roots.swap_remove(0), source));
        };
        let mut all: Vec<Vec<Vec<u8>>> = Vec::new();
        for root in roots {
            let is_same = |roots: &&mut Vec<Vec<u8>>| address(&roots[0]) == address(&root);
            match all.iter_mut().find(is_same) {
                Some(roots) => roots.push(root),
                None => all.push(vec![root]),
            }
        }
        let wishes = (expander.attributes, expander.order);
        let run = |roots| Box::new(Run::new(executor, roots, steps, wishes)) as Box<dyn Names>;
        let mut runs: Vec<Box<dyn Names>> = all.into_iter().map(run).collect();
        Ok(match (runs.len(), expander.order) {
            (1, _) => runs.swap_remove(0),
            (_, Order::Free) => Box::new(Several::start(runs)),
            (_, Order::Csh) => Box::new(several::chained(runs)),
        })
    }

    fn push(
        &mut self,
        names: Box<dyn Names>,
        base: Option<Vec<u8>>,
        pieces: &Arc<[Piece]>,
        at: usize,
    ) {
        self.stack.push(Frame {
            names,
            base,
            pieces: Arc::clone(pieces),
            next: at + 1,
        });
    }

    /// Appends pieces to a name, up to one that begins another stream. Returns the name if it is
    /// whole and names a member.
    fn append(
        &mut self,
        mut found: Found,
        pieces: &Arc<[Piece]>,
        mut at: usize,
        is_checked: bool,
        cancel: &Cancel,
    ) -> Result<Option<Found>, Problem> {
        let is_changed = at < pieces.len();
        while let Some(piece) = pieces.get(at) {
            match piece {
                Piece::Text(text) => found.name.extend_from_slice(text),
                Piece::Misplaced => {
                    let why = "a wildcard follows a query or command: put a / between them";
                    return Err(problem(found.name, invalid(why)));
                }
                Piece::Run(_) if is_url(&found.name) && !is_server(&found.name) => {
                    let why = "a URL cannot be listed: remove the wildcards behind it";
                    return Err(problem(found.name, invalid(why)));
                }
                Piece::Run(_) => {
                    self.run(vec![found.name], pieces, at)?;
                    return Ok(None);
                }
                Piece::Query(_) | Piece::Command(_) if is_server(&found.name) => {
                    let why = "queries and commands are not run at a server: mount its tree with \
                               trawl mount, and name the mount";
                    return Err(problem(
                        found.name,
                        io::Error::new(io::ErrorKind::Unsupported, why),
                    ));
                }
                Piece::Query(query) => {
                    self.query(&found.name, query, (pieces, at), cancel)?;
                    return Ok(None);
                }
                Piece::Command(text) => {
                    self.command(&found.name, text, (pieces, at))?;
                    return Ok(None);
                }
            }
            at += 1;
        }
        if !is_changed {
            return Ok(Some(found));
        }
        let found = Found::named(found.name);
        if !is_checked || is_url(&found.name) {
            return Ok(Some(found));
        }
        match is_there(&found.name) {
            Ok(true) => Ok(Some(found)),
            Ok(false) => Ok(None),
            Err(source) => Err(problem(found.name, source)),
        }
    }

    fn query(
        &mut self,
        prefix: &[u8],
        query: &[u8],
        (pieces, at): (&Arc<[Piece]>, usize),
        cancel: &Cancel,
    ) -> Result<(), Problem> {
        let object = object(prefix);
        if self.expander.engines.is_empty() {
            let why = "no engine evaluates queries here";
            return Err(problem(
                object,
                io::Error::new(io::ErrorKind::Unsupported, why),
            ));
        }
        let mut engines = self.expander.engines.iter();
        let Some(engine) = engines.find(|engine| engine.accepts(&object)) else {
            return Ok(());
        };
        let names = engine.run(&object, query, cancel)?;
        let base = match is_url(&object) {
            true => None,
            false => Some(directory_before(&object, prefix)),
        };
        self.push(names, base, pieces, at);
        Ok(())
    }

    fn command(
        &mut self,
        prefix: &[u8],
        text: &[u8],
        (pieces, at): (&Arc<[Piece]>, usize),
    ) -> Result<(), Problem> {
        let shown = [prefix, b"%", text, b"%"].concat();
        let Commands::Run(records) = self.expander.commands else {
            let why = "commands in names are not run unless an option allows it; write %% for a \
                       percent sign in a name";
            let source = io::Error::new(io::ErrorKind::PermissionDenied, why);
            return Err(problem(shown, source));
        };
        let folder = object(prefix);
        match std::fs::metadata(OsStr::from_bytes(&folder)) {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => return Ok(()),
            Err(error) if is_absent(&error) => return Ok(()),
            Err(source) => return Err(problem(folder, source)),
        }
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(OsStr::from_bytes(text));
        command.current_dir(OsStr::from_bytes(&folder));
        let process = Process::start(command, records, self.mask);
        let process = process.map_err(|source| problem(shown.clone(), source))?;
        self.push(
            Box::new(Output { process, shown }),
            Some(prefix.to_vec()),
            pieces,
            at,
        );
        Ok(())
    }
}

/// The names that a command prints.
struct Output {
    process: Process,
    /// The specification, for problems.
    shown: Vec<u8>,
}

impl Names for Output {
    fn next(&mut self, cancel: &Cancel) -> Option<Result<Found, Problem>> {
        let name = self.process.next_name(cancel)?;
        Some(match name {
            Ok(name) => Ok(Found::named(name)),
            Err(source) => Err(problem(self.shown.clone(), source)),
        })
    }
}

fn is_server(name: &[u8]) -> bool {
    server_prefix(name).is_some()
}

/// Returns the part of a name that says which server it means.
fn address(name: &[u8]) -> &[u8] {
    &name[..server_prefix(name).unwrap_or(0)]
}

/// Splits pieces that begin with wildcards, or text and wildcards, into the directory to search and
/// the pieces from the wildcards on.
fn split(pieces: &[Piece]) -> Option<(Vec<u8>, &[Piece])> {
    match pieces {
        [Piece::Run(_), ..] => Some((Vec::new(), pieces)),
        [Piece::Text(text), rest @ ..] if matches!(rest, [Piece::Run(_), ..]) => {
            (!is_url(text) || is_server(text)).then(|| (text.clone(), rest))
        }
        _ => None,
    }
}

/// Returns the object that a prefix names: without slashes at its end, and `.` for nothing.
fn object(prefix: &[u8]) -> Vec<u8> {
    let end = prefix.iter().rposition(|byte| *byte != b'/');
    match (end, prefix.is_empty()) {
        (Some(end), _) => prefix[..=end].to_vec(),
        (None, true) => b".".to_vec(),
        (None, false) => b"/".to_vec(),
    }
}

/// Returns the object if it is a directory, and otherwise the directory that contains it.
fn directory_of(object: &[u8]) -> Vec<u8> {
    let path = Path::new(OsStr::from_bytes(object));
    if is_url(object) || path.is_dir() {
        return object.to_vec();
    }
    let above = path.parent().map(|above| above.as_os_str().as_bytes());
    above.unwrap_or_default().to_vec()
}

/// Returns what precedes names relative to an object, as the prefix was written.
fn directory_before(object: &[u8], prefix: &[u8]) -> Vec<u8> {
    match directory_of(object) {
        folder if folder == object => prefix.to_vec(),
        folder => folder,
    }
}

/// Returns a found name below the directory that it is relative to.
fn joined(base: Option<&[u8]>, mut found: Found) -> Found {
    let is_whole = found.name.starts_with(b"/") || is_url(&found.name);
    if let Some(base) = base.filter(|base| !is_whole && !base.is_empty()) {
        let slash: &[u8] = if base.ends_with(b"/") { b"" } else { b"/" };
        found.name = [base, slash, &found.name].concat();
    }
    found
}

/// Returns whether an object with this name exists.
fn is_there(name: &[u8]) -> io::Result<bool> {
    match std::fs::symlink_metadata(OsStr::from_bytes(name)) {
        Ok(_) => Ok(true),
        Err(error) if is_absent(&error) || has_long_component(name) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns whether a component is longer than any name.
fn has_long_component(name: &[u8]) -> bool {
    const NAME_MAX_BYTES: usize = 255;
    let mut components = name.split(|byte| *byte == b'/');
    components.any(|component| component.len() > NAME_MAX_BYTES)
}

/// Returns whether an error says that there is no such object, or that a component is none to go
/// through: a link that leads back to itself leads nowhere.
fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    let is_loop = error.raw_os_error() == Some(trawl_sys::Errno::LOOP.0);
    is_loop || matches!(error.kind(), NotFound | NotADirectory)
}

fn problem(name: Vec<u8>, source: io::Error) -> Problem {
    let op = Op::Expand;
    Problem { name, op, source }
}

fn invalid(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}
