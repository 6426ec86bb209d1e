//! The context that a leaf is evaluated in besides the row: the row's position
//! below the start point, the world, the probe that answers further questions,
//! and the destination of output.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use trawl_keywords::Contents;
use trawl_model::Timestamp;
use trawl_model::rows::{Row, RowBatch};
use trawl_query::{Beginning, Trail};
use trawl_sys::link::{TargetBuffer, read_link_at};
use trawl_sys::{Errno, SysError};
use trawl_text::owners::Owners;
use trawl_text::quote::{self, Terminal};
use trawl_text::zone::Zone;

use crate::base_name::bare_name;
use crate::environment::Environment;
use crate::file_systems::FileSystems;
use crate::foresight::Foresight;
use crate::leaf::{Effect, Facts};
use crate::output::{Output, Sink};
use crate::probe::{LateLook, Probe};
use crate::questions::Questions;
use crate::reference::error_text;
use crate::regex::{Manner, Regex};
use crate::traversal::Follow;

/// State that is the same for every row of a search.
#[derive(Debug)]
pub struct World {
    /// The time at which the search began; ages are measured from it.
    pub now: Timestamp,
    /// The zone that times are printed in.
    pub zone: Zone,
    /// Names of owners.
    pub owners: Owners,
    /// The character encoding of the locale.
    pub locale: trawl_text::locale::Locale,
    /// Whether standard output is a terminal.
    pub terminal: Terminal,
    /// Size in bytes of the blocks that `-ls` counts: 1024, or 512 if
    /// `POSIXLY_CORRECT` is set.
    pub ls_block_bytes: u64,
    /// See [`Environment::started`].
    pub started: fn(i32),
    /// See [`Environment::foresight`].
    pub foresight: fn() -> Option<Box<dyn Foresight>>,
    /// See [`Environment::contents`].
    pub contents: Arc<Contents>,
    /// The questions about contents.
    pub questions: Questions,
    /// Types of file systems by device.
    pub file_systems: FileSystems,
    /// Which symbolic links are followed.
    pub follow: Follow,
    /// How to treat entries that vanish during the search.
    pub races: Races,
}

/// How to treat entries that vanish while they are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Races {
    /// Report them.
    #[default]
    Told,
    /// Ignore them (`-ignore_readdir_race`).
    Ignored,
}

impl World {
    /// The world of a search in `env`.
    pub fn new(env: &Environment) -> World {
        World {
            now: env.now,
            zone: (env.zone)(),
            owners: Owners::default(),
            locale: env.locale,
            terminal: env.terminal,
            ls_block_bytes: env.ls_block_bytes,
            started: env.started,
            foresight: env.foresight,
            contents: Arc::clone(&env.contents),
            questions: Questions::default(),
            file_systems: FileSystems::default(),
            follow: Follow::default(),
            races: Races::default(),
        }
    }
}

/// Whether an evaluation may perform effects that have to happen in order.
///
/// Many threads test rows at once. Effects that depend on order, or that change
/// something, are left to one thread, which takes the rows concerned one after
/// the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It may print; it stops at a leaf that needs its turn.
    Any,
    /// It stops at every leaf with an effect other than pruning.
    Scout,
    /// It may do everything.
    Mine,
}

/// The leaf at which an evaluation stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The address of its node in the expression.
    pub(crate) leaf: usize,
    /// Its effect.
    pub effect: Effect,
}

/// The program's real output, which only the evaluation in order may use.
pub trait Hands {
    /// Writes out everything printed so far, so that it precedes the output of
    /// a command.
    fn flush(&self, out: Output, others: Vec<Output>);

    /// Writes messages to standard error, each line after the prefix `find: `.
    fn tell(&self, complaints: &[u8]);

    /// Writes text to standard error as it is.
    fn say(&self, text: &[u8]);
}

/// Buffers that one context passes on to the next.
#[derive(Debug, Default)]
pub struct Buffers {
    prefix: Vec<u8>,
    path: Vec<u8>,
}

/// A start point of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartPoint {
    /// The path as the user wrote it.
    pub spelled: Vec<u8>,
    /// The path in the index (see [`trawl_model::path`]).
    pub stored: Vec<u8>,
}

impl StartPoint {
    /// Returns the path of the entry at `below`, as it is printed.
    pub fn spell(&self, below: &[u8]) -> Vec<u8> {
        let mut spelled = self.spelled.clone();
        if !below.is_empty() {
            if !spelled.ends_with(b"/") {
                spelled.push(b'/');
            }
            spelled.extend_from_slice(below);
        }
        spelled
    }
}

/// The state of a regular expression after the path of the current directory.
#[derive(Debug)]
struct LeafTrail {
    /// The address of its leaf.
    leaf: usize,
    trail: Trail,
    /// The trail's answer, once it was asked.
    known: Option<Beginning>,
}

impl LeafTrail {
    fn new(leaf: usize) -> LeafTrail {
        LeafTrail {
            leaf,
            trail: Trail::default(),
            known: None,
        }
    }
}

/// Position of the current row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// It is the start point itself.
    Start,
    /// It lies in the directory whose path is the prefix.
    Below,
}

/// The surroundings of the current row. Each worker has one, and moves it from
/// directory to directory.
pub struct Context<'a> {
    /// State that is the same for every row.
    pub world: &'a World,
    /// The start point.
    pub start: &'a StartPoint,
    /// Answers questions that the row does not.
    pub probe: &'a dyn Probe,
    /// Number of levels that the row lies below the start point.
    pub depth: usize,
    /// Output to the current sink.
    pub out: Output,
    /// Output to the other sinks, by their numbers.
    pub others: Vec<Output>,
    /// Whether the current sink is a terminal.
    pub terminal: Terminal,
    /// Which effects this evaluation may perform.
    pub turn: Turn,
    /// The facts that are known of the row.
    pub known: Facts,
    /// Looks at the row's entry when a leaf needs more facts than are known.
    pub late: Option<&'a dyn LateLook>,
    /// The row that `late` returned.
    looked: Option<Rc<RowBatch>>,
    /// Set once it was reported that the row's entry cannot be looked at; GNU
    /// find reports that once per entry.
    is_told: bool,
    /// The real output, if it is this evaluation's turn.
    pub hands: Option<&'a dyn Hands>,
    /// The leaf that needs its turn, at which evaluation stopped.
    pub deferred: Option<Stop>,
    /// Set when a leaf has performed an effect that needs its turn.
    pub acted: bool,
    /// Set when something went wrong that has already been reported.
    pub failed: bool,
    /// True if only pruning counts, and all other effects are discarded.
    pub is_trial: bool,
    /// Set by `-prune` on a directory.
    pub pruned: bool,
    /// Set by `-quit`.
    pub quit: bool,
    /// Messages about the row for standard error, one per line.
    pub complaints: Vec<u8>,
    position: Position,
    /// The path of the row's directory as printed, with a slash at its end.
    prefix: Vec<u8>,
    /// The path, as printed, of the row `path_of`.
    path: Vec<u8>,
    path_of: Option<usize>,
    /// States of regular expressions after the prefix.
    trails: Vec<LeafTrail>,
}

impl<'a> Context<'a> {
    /// Creates a context that stands at the start point.
    pub fn new(world: &'a World, start: &'a StartPoint, probe: &'a dyn Probe) -> Context<'a> {
        Context {
            world,
            start,
            probe,
            depth: 0,
            out: Output::default(),
            others: Vec::new(),
            terminal: world.terminal,
            turn: Turn::Any,
            known: Facts::Attributes,
            late: None,
            looked: None,
            is_told: false,
            hands: None,
            deferred: None,
            acted: false,
            failed: false,
            is_trial: false,
            pruned: false,
            quit: false,
            complaints: Vec::new(),
            position: Position::Start,
            prefix: Vec::new(),
            path: Vec::new(),
            path_of: None,
            trails: Vec::new(),
        }
    }

    /// Uses these buffers. [`Context::take_buffers`] returns them.
    #[must_use]
    pub fn with_buffers(mut self, buffers: Buffers) -> Context<'a> {
        self.prefix = buffers.prefix;
        self.path = buffers.path;
        self.path_of = None;
        self
    }

    /// Takes the buffers out, for the next context.
    pub fn take_buffers(&mut self) -> Buffers {
        Buffers {
            prefix: std::mem::take(&mut self.prefix),
            path: std::mem::take(&mut self.path),
        }
    }

    /// Returns true once evaluation of this row must stop.
    #[inline]
    pub fn is_halted(&self) -> bool {
        self.quit || self.deferred.is_some()
    }

    /// Moves to the next row, which has not been evaluated yet.
    pub fn next_row(&mut self) {
        (self.path_of, self.pruned) = (None, false);
        (self.deferred, self.acted) = (None, false);
        (self.looked, self.is_told) = (None, false);
    }

    /// Begins a row of which only `known` facts are known until a leaf needs
    /// more.
    pub(crate) fn look_late(&mut self, known: Facts) {
        (self.known, self.looked) = (known, None);
    }

    /// Returns the row for a leaf that needs these facts, and looks at the
    /// entry if that has not been done yet. `None` if the facts are already
    /// known or the entry cannot be looked at, which is reported.
    pub(crate) fn looked(&mut self, row: &Row<'_>, facts: Facts) -> Option<Rc<RowBatch>> {
        if self.looked.is_some() || facts <= self.known {
            return self.looked.clone();
        }
        match self.late?.look(row) {
            Ok(batch) => self.looked = Some(batch),
            Err(error) if error.errno == Errno::NOENT && self.world.races == Races::Ignored => {}
            Err(error) => self.cannot_look(row, error),
        }
        self.looked.clone()
    }

    /// Returns whether the row's entry can be looked at, and reports it if not.
    pub(crate) fn is_there(&mut self, row: &Row<'_>) -> bool {
        let is_known = self.knows_attributes();
        self.looked(row, Facts::Attributes).is_some() || is_known
    }

    /// Returns whether the row has the entry's attributes.
    pub(crate) fn knows_attributes(&self) -> bool {
        self.known == Facts::Attributes || self.late.is_none()
    }

    /// Returns the target of the row's link. It is read again once a command
    /// was run, which may have changed it. Returns `None` if it cannot be read,
    /// after calling `told`.
    pub(crate) fn link_target<'r>(
        &mut self,
        row: &Row<'r>,
        told: impl FnOnce(&mut Self, SysError),
    ) -> Option<Cow<'r, [u8]>> {
        let place = match self.acted {
            true => {
                let path = self.path(row).to_vec();
                self.probe.place(row, &path)
            }
            false => None,
        };
        let Some(place) = place else {
            return Some(Cow::Borrowed(row.link_target()));
        };
        let mut buffer = TargetBuffer::default();
        match read_link_at(place.dir, &place.name, &mut buffer) {
            Ok(target) => Some(Cow::Owned(target.to_vec())),
            Err(error) => {
                told(self, error);
                None
            }
        }
    }

    /// Reports, once per row, why the entry cannot be looked at.
    pub(crate) fn cannot_look(&mut self, row: &Row<'_>, error: SysError) {
        if !std::mem::replace(&mut self.is_told, true) {
            let locale = self.world.locale;
            let quoted = quote::message(self.path(row), locale);
            self.complain(&format!("{quoted}: {}", error_text(&error.into())));
        }
    }

    /// Runs `print` with another sink as the current one.
    pub fn print_to(&mut self, sink: Sink, print: impl FnOnce(&mut Context<'a>)) {
        let Some(number) = sink.number() else {
            return print(self);
        };
        if self.others.len() <= number {
            self.others.resize_with(number + 1, Output::default);
        }
        std::mem::swap(&mut self.out, &mut self.others[number]);
        let watched = std::mem::replace(&mut self.terminal, sink.terminal());
        print(self);
        self.terminal = watched;
        std::mem::swap(&mut self.out, &mut self.others[number]);
    }

    /// Writes out everything that was printed, before another process prints.
    pub fn flush(&mut self) {
        if let Some(hands) = self.hands {
            let out = std::mem::take(&mut self.out);
            hands.flush(out, std::mem::take(&mut self.others));
            hands.tell(&std::mem::take(&mut self.complaints));
        }
    }

    /// Writes to standard error at once.
    pub fn say(&mut self, text: &[u8]) {
        if let Some(hands) = self.hands {
            hands.say(text);
        }
    }

    /// Writes a message that is not a failure to standard error at once.
    pub fn remark(&mut self, line: &str) {
        self.say(format!("find: {line}\n").as_bytes());
    }

    /// Moves to the rows of the directory at `below` the start point, which
    /// lies `depth` levels deep. Its path may be given in parts.
    pub fn enter_below(&mut self, below: &[&[u8]], depth: usize) {
        self.position = Position::Below;
        self.depth = depth + 1;
        self.path_of = None;
        self.trails.iter_mut().for_each(|trail| trail.known = None);
        self.prefix.clear();
        self.prefix.extend_from_slice(&self.start.spelled);
        if !self.prefix.ends_with(b"/") {
            self.prefix.push(b'/');
        }
        for part in below.iter().filter(|part| !part.is_empty()) {
            self.prefix.extend_from_slice(part);
            self.prefix.push(b'/');
        }
    }

    /// Returns the row's path as find prints it: beginning with the start point
    /// as given.
    pub fn path(&mut self, row: &Row<'_>) -> &[u8] {
        self.fill_path(row);
        &self.path
    }

    /// Returns whether the row's path as a whole matches the expression of the
    /// leaf at this address.
    pub(crate) fn path_matches(&mut self, row: &Row<'_>, regex: &Regex, leaf: usize) -> bool {
        let told = match self.position {
            Position::Start => None,
            Position::Below => match self.beginning(regex, leaf) {
                Beginning::Decided(told) => Some(told),
                Beginning::Open(place) => regex.goes_on(Manner::Whole, place, row.name()),
                Beginning::Unknown => None,
            },
        };
        told.unwrap_or_else(|| regex.matches(self.path(row)))
    }

    /// Returns what is known of the expression for all paths in the current
    /// directory.
    fn beginning(&mut self, regex: &Regex, leaf: usize) -> Beginning {
        let known = self.trails.iter().position(|trail| trail.leaf == leaf);
        let at = known.unwrap_or_else(|| {
            self.trails.push(LeafTrail::new(leaf));
            self.trails.len() - 1
        });
        let LeafTrail { trail, known, .. } = &mut self.trails[at];
        *known.get_or_insert_with(|| regex.begin(Manner::Whole, &self.prefix, trail))
    }

    fn fill_path(&mut self, row: &Row<'_>) {
        if self.path_of == Some(row.at) {
            return;
        }
        self.path.clear();
        match self.position {
            Position::Start => self.path.extend_from_slice(&self.start.spelled),
            Position::Below => {
                self.path.extend_from_slice(&self.prefix);
                self.path.extend_from_slice(row.name());
            }
        }
        self.path_of = Some(row.at);
    }

    /// Returns the part of the path below the start point; empty for the start
    /// point itself.
    pub fn path_below_start(&mut self, row: &Row<'_>) -> &[u8] {
        if self.position == Position::Start {
            return b"";
        }
        self.fill_path(row);
        let start = &self.start.spelled;
        let slash = usize::from(!start.ends_with(b"/"));
        self.path.get(start.len() + slash..).unwrap_or_default()
    }

    /// Returns the name that `-name` tests: for a start point, the last
    /// component as it was spelled.
    pub fn name<'r>(&self, row: &Row<'r>) -> &'r [u8]
    where
        'a: 'r,
    {
        match self.position {
            Position::Start => bare_name(&self.start.spelled),
            Position::Below => row.name(),
        }
    }

    /// Prints the path and one byte after it.
    pub fn print_path(&mut self, row: &Row<'_>, end: u8, terminal: Terminal) {
        let Output { bytes, .. } = &mut self.out;
        match (self.position, terminal) {
            (Position::Below, Terminal::Absent) => {
                bytes.extend_from_slice(&self.prefix);
                bytes.extend_from_slice(row.name());
            }
            _ => {
                self.fill_path(row);
                self.out.bytes.extend_from_slice(&terminal.show(&self.path));
            }
        }
        self.out.bytes.push(end);
    }

    /// The path of the current directory as printed, with a slash at its end.
    pub(crate) fn directory(&self) -> &[u8] {
        &self.prefix
    }

    /// Returns true at the start point itself.
    pub fn is_at_start(&self) -> bool {
        self.position == Position::Start
    }

    /// Adds a message for standard error, and sets the exit code to 1.
    pub fn complain(&mut self, line: &str) {
        self.failed = true;
        self.mention(line);
    }

    /// Adds a message for standard error that does not change the exit code.
    pub fn mention(&mut self, line: &str) {
        self.complaints.extend_from_slice(line.as_bytes());
        self.complaints.push(b'\n');
    }

    /// Drops the messages after the first `told` bytes, and restores `failed`
    /// to its value at that point.
    pub(crate) fn take_back_complaints(&mut self, (told, failed): (usize, bool)) {
        self.complaints.truncate(told);
        self.failed = failed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::NoProbe;
    use crate::testing::{batch_of_names, world};

    #[test]
    fn paths_are_spelled_from_the_start() {
        let world = world();
        let batch = batch_of_names(&[b"n"]);
        for (spelled, stored, dir, expected, below) in [
            (".", "/w", "/w", "./n", "n"),
            ("a/", "/w/a", "/w/a/b", "a/b/n", "b/n"),
            ("a//", "/w/a", "/w/a", "a//n", "n"),
            ("/", "", "", "/n", "n"),
            ("//", "", "/x", "//x/n", "x/n"),
            ("..", "", "/x/y", "../x/y/n", "x/y/n"),
        ] {
            let start = StartPoint {
                spelled: spelled.into(),
                stored: stored.into(),
            };
            let mut cx = Context::new(&world, &start, &NoProbe);
            let row = Row {
                batch: &batch,
                at: 0,
                dir: dir.as_bytes(),
            };
            assert_eq!(cx.path(&row), spelled.as_bytes());
            assert_eq!(cx.path_below_start(&row), b"");
            let in_dir = dir.strip_prefix(stored).unwrap_or(dir);
            cx.enter_below(&[in_dir.trim_start_matches('/').as_bytes()], 0);
            assert_eq!(cx.path(&row), expected.as_bytes());
            assert_eq!(cx.path_below_start(&row), below.as_bytes());
        }
    }
}
