//! The search: several threads iterate one set, each with a searcher and a printer of its own.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Condvar, Mutex};
use std::time::Instant;

use grep_matcher::LineTerminator;
use grep_printer::Stats;
use grep_regex::RegexMatcherBuilder;
use grep_searcher::{BinaryDetection, Encoding, MmapChoice, SearcherBuilder};
use trawl_model::mapped::spelled;
use trawl_model::sync::{lock, wait_while};
use trawl_sets::{Opened, Problem, Set};

use crate::error::GrepError;
use crate::matcher::LineMatcher;
use crate::options::{Binary, Case, Ending, Extent, Options, Print, Select, Syntax};
use crate::printer::{Looked, Printer, Searchers};

/// Number of members whose output may wait for its turn.
const WAITING_MAX: usize = 1024;

/// Order of the members' output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As members are done.
    #[default]
    AsDone,
    /// As members were found.
    AsFound,
}

/// Where results and problems go.
pub struct Target<'t> {
    /// Receives the output of one member at a time.
    pub out: &'t mut (dyn Write + Send),
    /// Receives problems of members.
    pub problem: &'t (dyn Fn(&Problem) + Sync),
    /// Order of the output.
    pub order: Order,
}

/// What a search found.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Whether a line was selected.
    pub has_match: bool,
    /// Number of members that could not be read.
    pub problems: u64,
    /// Counts, if they were asked for or JSON was printed.
    pub stats: Stats,
}

struct Shared<'s, 't> {
    set: &'s Set,
    options: &'s Options,
    order: Order,
    /// Number of the next member or problem, in the order in which the set delivers them.
    next: Mutex<u64>,
    target: Mutex<Progress<'t>>,
    /// Notified when output that others wait for was written.
    written: Condvar,
}

struct Progress<'t> {
    target: Target<'t>,
    summary: Summary,
    /// Output that waits for members before it, if the order matters.
    waiting: BTreeMap<u64, Vec<u8>>,
    /// Number of the member that is written next.
    due: u64,
    has_written: bool,
    failed: Option<io::Error>,
}

/// Searches the members of a set. `counts` says whether statistics are wanted.
///
/// With [`Order::AsFound`], the set must be ordered, too.
///
/// # Errors
/// Fails if a pattern or the encoding is invalid, or if the output cannot be written.
pub fn search(
    set: &Set,
    options: &Options,
    counts: bool,
    target: Target<'_>,
) -> Result<Summary, GrepError> {
    let begun = Instant::now();
    let matcher = matcher(options)?;
    let searcher = searcher(options)?;
    let shared = Shared {
        set,
        options,
        order: target.order,
        next: Mutex::new(0),
        written: Condvar::new(),
        target: Mutex::new(Progress {
            target,
            summary: Summary::default(),
            waiting: BTreeMap::new(),
            due: 0,
            has_written: false,
            failed: None,
        }),
    };
    let threads = match options.threads {
        0 => trawl_model::sync::processors(),
        threads => threads,
    };
    std::thread::scope(|scope| {
        let work = || {
            let searchers = Searchers::new(&searcher, options);
            shared.work(&matcher, searchers, Printer::new(options, counts));
        };
        for _ in 1..threads {
            let spawned = std::thread::Builder::new().spawn_scoped(scope, work);
            // Fewer threads do the same work.
            if spawned.is_err() {
                break;
            }
        }
        work();
    });
    let progress = shared
        .target
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    progress.finish(begun)
}

/// Returns the matcher of the patterns.
pub(crate) fn matcher(options: &Options) -> Result<LineMatcher, GrepError> {
    let patterns = &options.patterns;
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .case_insensitive(patterns.case == Case::Insensitive)
        .case_smart(patterns.case == Case::Smart)
        .word(patterns.extent == Extent::Word)
        .whole_line(patterns.extent == Extent::Line)
        .fixed_strings(patterns.syntax == Syntax::Fixed)
        .line_terminator(Some(match options.ending {
            Ending::Newline => b'\n',
            Ending::Nul => 0,
        }));
    if options.binary != Binary::Text && options.ending == Ending::Newline {
        builder.ban_byte(Some(0));
    }
    let regex = builder.build_many(&patterns.texts)?;
    Ok(LineMatcher::new(regex, patterns, options.ending))
}

pub(crate) fn searcher(options: &Options) -> Result<SearcherBuilder, GrepError> {
    let shows_lines = matches!(options.print, Print::Lines | Print::Parts | Print::Json);
    let mut builder = SearcherBuilder::new();
    builder
        .memory_map(MmapChoice::never())
        .invert_match(options.select == Select::Others)
        .line_number(options.line_numbers.is_yes())
        .before_context(if shows_lines { options.before } else { 0 })
        .after_context(if shows_lines { options.after } else { 0 })
        .max_matches(options.max_count)
        .binary_detection(match (options.ending, options.binary) {
            (Ending::Nul, _) | (_, Binary::Text) => BinaryDetection::none(),
            (_, Binary::Message) => BinaryDetection::convert(0),
            (_, Binary::Skip) => BinaryDetection::quit(0),
        })
        .line_terminator(match options.ending {
            Ending::Newline => LineTerminator::byte(b'\n'),
            Ending::Nul => LineTerminator::byte(0),
        });
    if let Some(label) = &options.encoding {
        builder.encoding(Some(Encoding::new(label)?));
    }
    Ok(builder)
}

impl Shared<'_, '_> {
    /// Searches members until none is left.
    fn work(&self, matcher: &LineMatcher, mut searchers: Searchers, mut printer: Printer) {
        while let Some((number, member)) = self.take() {
            self.room(number);
            let goes_on = match member {
                Ok(member) => self.member(matcher, &mut searchers, &mut printer, (number, &member)),
                Err(problem) => {
                    let mut target = lock(&self.target);
                    target.problem(&problem);
                    target.put(number, b"", self.options)
                }
            };
            if self.order == Order::AsFound {
                self.written.notify_all();
            }
            if !goes_on {
                self.set.cancel();
                return;
            }
        }
    }

    /// Returns the next member or problem with its number.
    fn take(&self) -> Option<(u64, Result<Opened, Problem>)> {
        // In order, the lock is held while the set is iterated, so that numbers follow its order.
        if self.order == Order::AsDone {
            return Some((0, self.set.iterate()?));
        }
        let mut next = lock(&self.next);
        let member = self.set.iterate()?;
        *next += 1;
        Some((*next - 1, member))
    }

    /// Waits while too much output waits for members before this one.
    fn room(&self, number: u64) {
        if self.order == Order::AsDone {
            return;
        }
        let target = lock(&self.target);
        drop(wait_while(&self.written, target, |target| {
            number > target.due && target.waiting.len() >= WAITING_MAX && target.failed.is_none()
        }));
    }

    fn member(
        &self,
        matcher: &LineMatcher,
        searchers: &mut Searchers,
        printer: &mut Printer,
        (number, member): (u64, &Opened),
    ) -> bool {
        let name = spelled(&member.name);
        let path = Path::new(OsStr::from_bytes(&name));
        let looked = printer.search(matcher, searchers, path, member);
        lock(&self.target).member((number, member), looked, printer, self.options)
    }
}

impl Progress<'_> {
    fn problem(&mut self, problem: &Problem) {
        self.summary.problems += 1;
        (self.target.problem)(problem);
    }

    fn member(
        &mut self,
        (number, member): (u64, &Opened),
        looked: io::Result<Looked>,
        printer: &mut Printer,
        options: &Options,
    ) -> bool {
        match looked {
            Ok(looked) => {
                self.summary.has_match |= looked.has_match;
                if let Some(stats) = &looked.stats {
                    self.summary.stats += stats;
                }
            }
            Err(source) => {
                let name = member.name.clone();
                let op = trawl_sets::member::Op::Fetch;
                self.problem(&Problem { name, op, source });
            }
        }
        let goes_on = self.put(number, printer.buffer().as_slice(), options);
        let is_done = options.print == Print::Nothing && self.summary.has_match;
        goes_on && !is_done
    }

    /// Writes the output of a member, or keeps it until its turn. Returns whether the search goes
    /// on.
    fn put(&mut self, number: u64, bytes: &[u8], options: &Options) -> bool {
        if let Err(error) = self.try_put(number, bytes, options) {
            self.failed.get_or_insert(error);
        }
        self.failed.is_none()
    }

    fn try_put(&mut self, number: u64, bytes: &[u8], options: &Options) -> io::Result<()> {
        if self.target.order == Order::AsDone {
            return self.write(bytes, options);
        }
        self.waiting.insert(number, bytes.to_vec());
        while let Some(bytes) = self.waiting.remove(&self.due) {
            self.due += 1;
            self.write(&bytes, options)?;
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8], options: &Options) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let is_lines = matches!(options.print, Print::Lines | Print::Parts);
        if self.has_written && is_lines {
            if options.heading.is_yes() && options.names.is_yes() {
                self.target.out.write_all(b"\n")?;
            } else if options.before.max(options.after) > 0 {
                self.target.out.write_all(b"--\n")?;
            }
        }
        self.has_written = true;
        self.target.out.write_all(bytes)
    }

    fn finish(mut self, begun: Instant) -> Result<Summary, GrepError> {
        if let Some(error) = self.failed {
            return Err(GrepError::Write(error));
        }
        self.summary.stats.add_elapsed(begun.elapsed());
        Ok(self.summary)
    }
}
