//! Runs a program, start point by start point, and prints as GNU find prints.
//!
//! [`crate::indexed`] and [`crate::live`] supply rows. This module holds what
//! they share: the world, the printer and the end of a search.

use std::io;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};

use trawl_model::mapped;
use trawl_query::{Index, Located, QueryError};

use crate::context::{Context, StartPoint, Turn, World};
use crate::environment::Environment;
use crate::indexed;
use crate::live;
use crate::parser::Program;
use crate::printer::{Part, Printer};
use crate::probe::NoProbe;
use crate::reference::error_text;
use crate::resolve::{self, Resolved, resolve};
use crate::traversal::Follow;

pub use crate::printer::Streams;

/// Message for a start point that does not exist.
pub(crate) const ABSENT: &str = "No such file or directory";
/// Message for symbolic links that form a loop.
pub(crate) const LOOP: &str = "Too many levels of symbolic links";
/// Message for a path that the current user may not see.
pub(crate) const DENIED: &str = "Permission denied";

/// Why a search ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The index could not be read.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// Standard output, standard error or a file could not be written.
    #[error("cannot write the output: {0}")]
    Write(#[from] io::Error),
    /// A thread panicked, so a part of the output is missing.
    #[error("cannot continue the search: {0}")]
    Thread(#[from] trawl_walk::Lost),
}

/// Options for running a search.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunOptions<'a> {
    /// Number of threads; `None` means one per processor.
    pub threads: Option<NonZeroUsize>,
    /// A flag that ends the search soon after it is set.
    pub cancel: Option<&'a AtomicBool>,
}

impl RunOptions<'_> {
    /// Returns true once the search has been cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

/// Runs a program over all its start points, relative to the directory `cwd`,
/// and returns find's exit code: 0, or 1 if something could not be read.
///
/// # Errors
/// If the index cannot be read or the output cannot be written. A closed pipe
/// is not an error.
pub fn run<'a>(
    index: &'a Index,
    program: &'a Program,
    env: &Environment,
    cwd: &[u8],
    options: RunOptions<'a>,
    streams: Streams<'a>,
) -> Result<u8, DriverError> {
    let search = Search::new(program, env, options, streams)?;
    for spelled in &program.starts {
        if spelled.is_empty() {
            search.complain(spelled, ABSENT)?;
            continue;
        }
        let follow = search.question.follow_at_start();
        let Some(path) = mapped::ours(spelled) else {
            search.complain(spelled, ABSENT)?;
            continue;
        };
        match resolve(index, cwd, &path, follow)? {
            Resolved::To(Located::Missing { root }, stored) => {
                search.visit_missing(index, spelled, &root, &stored)?;
            }
            Resolved::To(located, _) => search.visit(index, spelled, Some(located))?,
            Resolved::Loop => search.complain(spelled, LOOP)?,
            Resolved::Unread(error) => search.complain(spelled, &error_text(&error))?,
        }
    }
    search.finish()
}

/// The question and the world that it is asked in, which all threads share.
pub(crate) struct Question<'a> {
    pub(crate) program: &'a Program,
    pub(crate) world: World,
    pub(crate) options: RunOptions<'a>,
}

impl Question<'_> {
    /// How a start point that is a symbolic link is resolved.
    fn follow_at_start(&self) -> resolve::Follow {
        match self.world.follow {
            Follow::Never => resolve::Follow::Never,
            Follow::Arguments | Follow::Always => resolve::Follow::Last,
        }
    }
}

/// A search in progress.
pub struct Search<'a> {
    pub(crate) question: Question<'a>,
    pub(crate) printer: Printer<'a>,
}

impl<'a> Search<'a> {
    /// Creates a search, and prints the program's warnings.
    ///
    /// # Errors
    /// [`DriverError::Write`].
    pub fn new(
        program: &'a Program,
        env: &Environment,
        options: RunOptions<'a>,
        streams: Streams<'a>,
    ) -> Result<Search<'a>, DriverError> {
        let mut world = World::new(env);
        world.follow = program.traversal.follow;
        world.races = program.races;
        world.questions = program.questions.clone();
        let printer = Printer::new(streams, &program.files, world.locale);
        for warning in &program.warnings {
            printer.remark(warning)?;
        }
        Ok(Search {
            question: Question {
                program,
                world,
                options,
            },
            printer,
        })
    }

    /// Returns true once the search has ended early (`-quit`, a closed pipe).
    pub fn has_ended(&self) -> bool {
        self.printer.has_ended()
    }

    /// Searches one start point in the index. `located` is `None` for a path
    /// that cannot exist.
    ///
    /// # Errors
    /// See [`run`].
    pub fn visit(
        &self,
        index: &Index,
        spelled: &[u8],
        located: Option<Located>,
    ) -> Result<(), DriverError> {
        match self.has_ended() {
            true => Ok(()),
            false => indexed::visit(self, index, spelled, located),
        }
    }

    /// Reports a start point that is missing from the source at `root`: either
    /// nothing exists at the path `stored`, or the scan was not permitted to
    /// see it.
    ///
    /// # Errors
    /// See [`run`].
    pub fn visit_missing(
        &self,
        index: &Index,
        spelled: &[u8],
        root: &[u8],
        stored: &[u8],
    ) -> Result<(), DriverError> {
        match self.has_ended() {
            true => Ok(()),
            false => indexed::visit_missing(self, index, spelled, root, stored),
        }
    }

    /// Searches one start point in the live file system.
    ///
    /// # Errors
    /// [`DriverError::Write`].
    pub fn visit_live(&self, spelled: &[u8]) -> Result<(), DriverError> {
        match self.has_ended() {
            true => Ok(()),
            false => live::visit(self, spelled),
        }
    }

    /// Lets leaves act that need their turn, if the expression has any.
    pub(crate) fn take_turn<'c>(&'c self, cx: &mut Context<'c>) {
        if self.question.program.expr.needs_turns() {
            cx.turn = Turn::Mine;
            cx.hands = Some(&self.printer);
        }
    }

    /// Tells leaves the depth of the entries that come next.
    pub(crate) fn move_on(&self, cx: &mut Context<'_>) {
        let (expr, depth) = (&self.question.program.expr, cx.depth);
        if expr.needs_turns() {
            expr.leaves(&mut |node| node.leaf.move_on(depth, cx));
        }
    }

    /// Tells leaves that a start point is done.
    pub(crate) fn leave(&self) -> Result<(), DriverError> {
        if self.is_over() {
            return Ok(());
        }
        let (nowhere, mut part) = (StartPoint::default(), Part::default());
        let mut cx = Context::new(&self.question.world, &nowhere, &NoProbe);
        self.take_turn(&mut cx);
        self.move_on(&mut cx);
        part.take_back(cx);
        Ok(self.printer.emit(part)?)
    }

    /// Returns true if the search has ended or was cancelled.
    pub(crate) fn is_over(&self) -> bool {
        self.has_ended() || self.question.options.is_cancelled()
    }

    /// Prints a message about a path, and sets the exit code to 1.
    ///
    /// # Errors
    /// [`DriverError::Write`].
    pub fn complain(&self, spelled: &[u8], why: &str) -> Result<(), DriverError> {
        Ok(self.printer.complain(spelled, why)?)
    }

    /// Prints a message, and sets the exit code to 1.
    ///
    /// # Errors
    /// [`DriverError::Write`].
    pub fn tell(&self, line: &str) -> Result<(), DriverError> {
        self.printer.fail();
        Ok(self.printer.tell(format!("{line}\n").as_bytes())?)
    }

    /// Prints a message that does not change the exit code.
    ///
    /// # Errors
    /// [`DriverError::Write`].
    pub fn remark(&self, line: &str) -> Result<(), DriverError> {
        Ok(self.printer.remark(line)?)
    }

    /// Runs the commands that were put off to the end, and returns the exit
    /// code: 0, or 1 if something could not be read or done.
    ///
    /// # Errors
    /// [`DriverError::Write`].
    pub fn finish(self) -> Result<u8, DriverError> {
        let (nowhere, part) = (StartPoint::default(), Part::default());
        let question = &self.question;
        let mut cx = Context::new(&question.world, &nowhere, &NoProbe);
        cx.turn = Turn::Mine;
        cx.hands = Some(&self.printer);
        // A user who interrupts a search wants no more commands to run.
        if !question.options.is_cancelled() {
            let expr = &question.program.expr;
            expr.leaves(&mut |node| node.leaf.finish(&mut cx));
            expr.leaves(&mut |node| node.leaf.move_on(0, &mut cx));
        }
        let mut part = part;
        part.take_back(cx);
        self.printer.emit(part)?;
        self.printer.finish()?;
        Ok(u8::from(self.printer.has_failed()))
    }
}
