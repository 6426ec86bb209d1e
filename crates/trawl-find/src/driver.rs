//! Runs a program over an index, start point by start point, and prints as
//! find prints.
//!
//! Rows are tested in parallel, since no test depends on another row. What
//! does depend on order is kept apart: output is written in order; `-quit`
//! drops what comes after it; what `-prune` and `-xdev` keep out is found by
//! a first pass over the directories alone.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use trawl_model::filter::{Clause, Filter};
use trawl_model::rows::Row;
use trawl_model::{Column, ColumnSet, FileType, Issue, Op, path};
use trawl_query::{
    DeniedRequest, DirRequest, Index, Listing, Located, Order, QueryError, Request, Start,
};
use trawl_text::quote;

use crate::context::{Buffers, Context, StartPoint, World};
use crate::environment::Environment;
use crate::leaf::Effect;
use crate::lookups::{Emptiness, Lookups, Paths};
use crate::output::{Output, Widths};
use crate::parser::Program;
use crate::start;

/// What is said of a start point that is not there.
const ABSENT: &str = "No such file or directory";
/// What is said of what the asker may not see.
const DENIED: &str = "Permission denied";

/// Why a search ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The index could not be read.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// Standard output or standard error could not be written.
    #[error("cannot write the output: {0}")]
    Write(io::Error),
}

/// How a search is run.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunOptions<'a> {
    /// Threads; as many as there are processors if `None`.
    pub threads: Option<NonZeroUsize>,
    /// Ends the search soon after it is set.
    pub cancel: Option<&'a AtomicBool>,
}

/// Runs a program over all its start points, seen from the directory `cwd`,
/// and returns find's exit code: 0, or 1 if something could not be read.
///
/// # Errors
/// If the index cannot be read or the output not be written. A closed pipe
/// is no error.
pub fn run<'a>(
    index: &'a Index,
    program: &'a Program,
    env: &Environment,
    cwd: &[u8],
    options: RunOptions<'a>,
    streams: Streams<'a>,
) -> Result<u8, DriverError> {
    let mut search = Search::new(index, program, env, options, streams);
    for spelled in &program.starts {
        match start::locate(index, cwd, spelled)? {
            Some(Located::Missing { root }) => {
                let stored = start::stored_path(cwd, spelled).unwrap_or_default();
                search.visit_missing(spelled, &root, &stored)?;
            }
            located => search.visit(spelled, located)?,
        }
    }
    Ok(search.exit_code())
}

/// Where output and messages go.
pub struct Streams<'a> {
    /// Standard output.
    pub out: &'a mut dyn Write,
    /// Standard error.
    pub err: &'a mut dyn Write,
}

/// A search under way.
pub struct Search<'a> {
    index: &'a Index,
    program: &'a Program,
    world: World,
    options: RunOptions<'a>,
    streams: Streams<'a>,
    widths: Widths,
    failed: bool,
    /// Set by `-quit` and by a closed pipe: nothing more is to be done.
    ended: bool,
}

/// What a worker hands over: the output of some listings.
#[derive(Default)]
struct Part {
    out: Output,
    complaints: Vec<u8>,
    pruned: Vec<Vec<u8>>,
    quit: bool,
    buffers: Buffers,
}

/// What workers share: the question and where it is asked.
#[derive(Clone, Copy)]
struct Scope<'s> {
    program: &'s Program,
    world: &'s World,
    point: &'s StartPoint,
    lookups: &'s Lookups,
}

/// Which rows of a listing are put to the expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// All, for what they print.
    Print,
    /// Directories, for what they keep the search out of.
    Prune,
}

impl<'a> Search<'a> {
    /// A search that has not begun. Prints the program's warnings.
    pub fn new(
        index: &'a Index,
        program: &'a Program,
        env: &Environment,
        options: RunOptions<'a>,
        streams: Streams<'a>,
    ) -> Search<'a> {
        for warning in &program.warnings {
            // Nobody can be told if this fails.
            let _ = writeln!(streams.err, "find: {warning}");
        }
        Search {
            index,
            program,
            world: World::new(env),
            options,
            streams,
            widths: Widths::default(),
            failed: false,
            ended: false,
        }
    }

    /// 0, or 1 if something could not be read or found.
    pub fn exit_code(&self) -> u8 {
        u8::from(self.failed)
    }

    /// Searches one start point. `None` for a path that can be nowhere.
    ///
    /// # Errors
    /// See [`run`].
    pub fn visit(&mut self, spelled: &[u8], located: Option<Located>) -> Result<(), DriverError> {
        if self.ended {
            return Ok(());
        }
        let found = match located {
            Some(Located::Found(found)) => found,
            Some(Located::NotDirectory { .. }) => return self.complain(spelled, "Not a directory"),
            // Whoever can ask the live system about what is hidden does so before.
            Some(Located::Denied { .. } | Located::Hidden { .. }) => {
                return self.complain(spelled, DENIED);
            }
            Some(Located::NotIndexed { nearest }) => {
                let locale = self.world.locale;
                let why = match nearest {
                    Some(root) => format!(
                        "Not in the index; the nearest path that is: {}",
                        quote::message(path::display(&root), locale)
                    ),
                    None => "Not in the index, which is empty; run `trawl index` first".into(),
                };
                return self.complain(spelled, &why);
            }
            _ => return self.complain(spelled, ABSENT),
        };
        if start::asks_for_directory(spelled) && !found.is_dir {
            let is_link = row_of(&found, b"").file_type() == FileType::Symlink;
            let why = if is_link { ABSENT } else { "Not a directory" };
            return self.complain(spelled, why);
        }
        self.search(spelled, &found)
    }

    /// Complains about a start point of which the source at `root` has no
    /// entry at the path `stored`: either there is none, or the scan was not
    /// allowed to see it.
    ///
    /// # Errors
    /// See [`run`].
    pub fn visit_missing(
        &mut self,
        spelled: &[u8],
        root: &[u8],
        stored: &[u8],
    ) -> Result<(), DriverError> {
        if self.ended {
            return Ok(());
        }
        if let Located::Found(source) = self.index.locate(root)? {
            let hides = |issue: &Issue| match lists(issue) {
                true => is_below(stored, &issue.path),
                false => issue.op.hides_entries() && path::is_within(stored, &issue.path),
            };
            let recorded = self.index.recorded_issues(&source, None)?;
            if let Some(issue) = recorded.iter().find(|i| hides(i)) {
                return self.complain(spelled, &cause(issue));
            }
        }
        self.complain(spelled, ABSENT)
    }

    fn search(&mut self, spelled: &[u8], found: &Start) -> Result<(), DriverError> {
        let point = StartPoint {
            spelled: spelled.to_vec(),
            stored: found.path.clone(),
        };
        let lookups = Lookups {
            empty_directories: self.empty_directories(found)?,
            with_attribute: self.with_attribute(found)?,
        };
        let first = self.program.traversal.contents_first;
        let mut pruned = false;
        if !first {
            pruned = self.start_row(&point, found, &lookups)?;
        }
        if !self.ended && !pruned && found.is_dir && self.program.traversal.max_depth > 0 {
            let skip = self.find_pruned(&point, found, &lookups)?;
            self.walk(&point, found, &lookups, skip.clone())?;
            self.report_issues(&point, found, &skip)?;
        }
        if first && !self.ended {
            self.start_row(&point, found, &lookups)?;
        }
        Ok(())
    }

    /// Puts the start point's own row to the expression; whether it was
    /// pruned.
    fn start_row(
        &mut self,
        point: &StartPoint,
        found: &Start,
        lookups: &Lookups,
    ) -> Result<bool, DriverError> {
        if self.program.traversal.min_depth > 0 {
            return Ok(false);
        }
        let parent = path::split(&found.path).map_or(&b""[..], |(dir, _)| dir);
        let mut cx = Context::new(&self.world, point, lookups);
        self.program.expr.eval(&row_of(found, parent), &mut cx);
        let (pruned, quit) = (cx.pruned, cx.quit);
        let (_, out, complaints) = cx.into_buffers();
        self.emit(Part {
            out,
            complaints,
            quit,
            ..Part::default()
        })?;
        Ok(pruned)
    }

    /// Directories of the scope that were listed and have no entry, and those
    /// of which that cannot be told.
    fn empty_directories(&self, found: &Start) -> Result<Emptiness, DriverError> {
        let mut known = Emptiness::default();
        if !found.is_dir || !self.program.expr.needs_empty_directories() {
            return Ok(known);
        }
        let max_depth = self.program.traversal.max_depth;
        let request = DirRequest {
            // A directory at the greatest depth is tested, too.
            max_depth: depth_limit(max_depth),
            cancel: self.options.cancel,
            ..DirRequest::default()
        };
        self.index.directories(found, &request, |directory| {
            if directory.sums.entries() == 0 {
                known.empty.insert(directory.path.clone());
            }
            ControlFlow::Continue(())
        })?;
        for issue in self.index.issues(found, deeper(max_depth))? {
            if lists(&issue) {
                if cause(&issue) == DENIED {
                    known.denied.insert(issue.path);
                }
            } else if issue.op.hides_entries()
                && let Some((dir, _)) = path::split(&issue.path)
            {
                // An entry whose attributes could not be read has no row, but
                // it is there.
                known.empty.remove(dir);
            }
        }
        Ok(known)
    }

    /// For each test of extended attributes, the entries that pass it as far
    /// as rows do not tell.
    fn with_attribute(&self, found: &Start) -> Result<HashMap<Vec<u8>, Paths>, DriverError> {
        let mut tests = Vec::new();
        self.program.expr.leaves(&mut |node| {
            let test = node.leaf.attribute_test();
            tests.extend(test.filter(|test| test.needs_lookup()));
        });
        let mut passed: HashMap<Vec<u8>, Paths> = HashMap::new();
        if tests.is_empty() {
            return Ok(passed);
        }
        let wanted = |name: &[u8]| tests.iter().any(|test| test.looks_up(name));
        let cancel = self.options.cancel;
        self.index
            .attribute_values(found, cancel, wanted, |path, name, value| {
                for test in &tests {
                    if test.looks_up(name) && test.admits(value) {
                        let paths = passed.entry(test.word.clone()).or_default();
                        paths.insert(path.to_vec());
                    }
                }
            })?;
        Ok(passed)
    }

    /// Directories that `-prune` and `-xdev` keep the search out of, in path
    /// order, none within another.
    fn find_pruned(
        &self,
        point: &StartPoint,
        found: &Start,
        lookups: &Lookups,
    ) -> Result<Vec<Vec<u8>>, DriverError> {
        let traversal = &self.program.traversal;
        let by_action = match traversal.contents_first {
            true => None,
            false => self.program.expr.filter_for(&[Effect::Prune]),
        };
        let one_device = traversal.one_file_system.then(|| row_of(found, b"").dev());
        if by_action.is_none() && one_device.is_none() || traversal.max_depth < 2 {
            return Ok(Vec::new());
        }
        let mut filter = match one_device {
            Some(_) => Filter::default(),
            None => by_action.clone().unwrap_or_default(),
        };
        filter.add(Clause {
            column: Column::Mode,
            low: 0o040_000,
            high: 0o047_777,
        });
        let columns = self.columns(Pass::Prune);
        let mut request = self.request(columns, filter);
        request.min_depth = 1;
        request.max_depth = depth_limit(traversal.max_depth - 1);
        let mut pruned: Vec<Vec<u8>> = Vec::new();
        let min_depth = traversal.min_depth;
        let scope = Scope {
            program: self.program,
            world: &self.world,
            point,
            lookups,
        };
        let work = |listing: &Listing<'_>, part: &mut Part| {
            for row in rows_of(listing) {
                if row.file_type() == FileType::Directory
                    && one_device.is_some_and(|dev| row.dev() != dev)
                {
                    part.pruned.push(row.path());
                }
            }
            if by_action.is_some() && listing.dir.depth + 1 >= min_depth {
                scope.eval(listing, Pass::Prune, part);
            }
        };
        self.index.walk(found, &request, work, |part: Part| {
            pruned.extend(part.pruned);
            ControlFlow::Continue(())
        })?;
        pruned.sort_by(|a, b| path::cmp(a, b));
        pruned.dedup_by(|later, kept| path::is_within(later, kept));
        Ok(pruned)
    }

    fn walk(
        &mut self,
        point: &StartPoint,
        found: &Start,
        lookups: &Lookups,
        skip: Vec<Vec<u8>>,
    ) -> Result<(), DriverError> {
        let effects = [Effect::Output, Effect::Quit];
        let Some(filter) = self.program.expr.filter_for(&effects) else {
            return Ok(());
        };
        let mut request = self.request(self.columns(Pass::Print), filter);
        request.skip = skip;
        let (index, mut failure) = (self.index, None);
        let mut parts = Emitter {
            streams: &mut self.streams,
            widths: &mut self.widths,
            failed: &mut self.failed,
            ended: &mut self.ended,
        };
        let scope = Scope {
            program: self.program,
            world: &self.world,
            point,
            lookups,
        };
        let work = |listing: &Listing<'_>, part: &mut Part| {
            scope.eval(listing, Pass::Print, part);
        };
        index.walk(found, &request, work, |part: Part| match parts.emit(part) {
            Ok(()) if *parts.ended => ControlFlow::Break(()),
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
        })?;
        failure.map_or(Ok(()), Err)
    }

    fn columns(&self, pass: Pass) -> ColumnSet {
        let columns = self.program.expr.columns();
        match pass {
            Pass::Print => columns,
            Pass::Prune => columns.union(ColumnSet::of(&[Column::Name, Column::Mode, Column::Dev])),
        }
    }

    fn request(&self, columns: ColumnSet, filter: Filter) -> Request<'a> {
        let traversal = &self.program.traversal;
        Request {
            columns,
            filter,
            min_depth: traversal.min_depth.max(1),
            max_depth: depth_limit(traversal.max_depth),
            order: match traversal.contents_first {
                true => Order::Backward,
                false => Order::Forward,
            },
            threads: self.options.threads,
            cancel: self.options.cancel,
            ..Request::default()
        }
    }

    /// Prints what could not be read of the part that was visited.
    fn report_issues(
        &mut self,
        point: &StartPoint,
        found: &Start,
        skip: &[Vec<u8>],
    ) -> Result<(), DriverError> {
        if self.ended {
            return Ok(());
        }
        let index = self.index;
        let max_depth = depth_limit(self.program.traversal.max_depth);
        let mut told: HashSet<Vec<u8>> = HashSet::new();
        for issue in index.recorded_issues(found, max_depth)? {
            let skipped = skip.iter().any(|dir| match is_below(&issue.path, dir) {
                true => true,
                false => issue.path == *dir && lists(&issue),
            });
            if !skipped && issue.op.hides_entries() && !told.contains(&issue.path) {
                self.complain(&spell(point, &issue.path), &cause(&issue))?;
                told.insert(issue.path);
            }
        }
        self.report_denied(point, found, skip, &told)
    }

    /// Prints which directories the asker may not list, but for those of
    /// which something was told already.
    fn report_denied(
        &mut self,
        point: &StartPoint,
        found: &Start,
        skip: &[Vec<u8>],
        told: &HashSet<Vec<u8>>,
    ) -> Result<(), DriverError> {
        let index = self.index;
        let request = DeniedRequest {
            max_depth: depth_limit(self.program.traversal.max_depth),
            skip: skip.to_vec(),
            cancel: self.options.cancel,
        };
        let mut done = Ok(());
        index.denied(found, &request, |path| {
            if !told.contains(path) {
                done = self.complain(&spell(point, path), DENIED);
            }
            match done {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        done
    }

    /// Prints a message about a path; the exit code becomes 1.
    fn complain(&mut self, spelled: &[u8], why: &str) -> Result<(), DriverError> {
        self.failed = true;
        let quoted = quote::message(spelled, self.world.locale);
        let line = format!("find: {quoted}: {why}\n");
        self.streams
            .err
            .write_all(line.as_bytes())
            .map_err(DriverError::Write)
    }

    fn emit(&mut self, part: Part) -> Result<(), DriverError> {
        let mut emitter = Emitter {
            streams: &mut self.streams,
            widths: &mut self.widths,
            failed: &mut self.failed,
            ended: &mut self.ended,
        };
        emitter.emit(part)
    }
}

/// Writes parts in order.
struct Emitter<'s, 'a> {
    streams: &'s mut Streams<'a>,
    widths: &'s mut Widths,
    failed: &'s mut bool,
    ended: &'s mut bool,
}

impl Emitter<'_, '_> {
    fn emit(&mut self, part: Part) -> Result<(), DriverError> {
        for line in part.complaints.split_inclusive(|b| *b == b'\n') {
            *self.failed = true;
            let line = [b"find: ", line].concat();
            self.streams
                .err
                .write_all(&line)
                .map_err(DriverError::Write)?;
        }
        *self.ended |= part.quit;
        let bytes = part.out.finish(self.widths);
        match self.streams.out.write_all(&bytes) {
            // Whoever read the output has enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                *self.ended = true;
                Ok(())
            }
            other => other.map_err(DriverError::Write),
        }
    }
}

impl Scope<'_> {
    /// Puts the rows of a listing to the expression, backwards if contents
    /// come first.
    fn eval(&self, listing: &Listing<'_>, pass: Pass, part: &mut Part) {
        if part.quit {
            return;
        }
        let buffers = std::mem::take(&mut part.buffers);
        let mut cx = Context::new(self.world, self.point, self.lookups).with_buffers(buffers);
        cx.out = std::mem::take(&mut part.out);
        cx.complaints = std::mem::take(&mut part.complaints);
        cx.enter(listing.dir.path, listing.dir.depth);
        let visit = |row: Row<'_>| match pass {
            Pass::Print => {
                self.program.expr.eval(&row, &mut cx);
                if cx.quit {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            }
            Pass::Prune => {
                if self.prunes(&row, &mut cx) {
                    part.pruned.push(row.path());
                }
                ControlFlow::Continue(())
            }
        };
        let _ = match self.program.traversal.contents_first {
            true => rows_of(listing).rev().try_for_each(visit),
            false => rows_of(listing).try_for_each(visit),
        };
        part.quit = cx.quit;
        (part.buffers, part.out, part.complaints) = cx.into_buffers();
    }

    /// Whether the expression prunes the row; nothing else that it does
    /// counts.
    fn prunes(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        if row.file_type() != FileType::Directory {
            return false;
        }
        cx.pruned = false;
        self.program.expr.eval(row, cx);
        cx.quit = false;
        cx.out = Output::default();
        cx.complaints.clear();
        cx.pruned
    }
}

fn rows_of<'l>(listing: &Listing<'l>) -> impl DoubleEndedIterator<Item = Row<'l>> + use<'l> {
    let (batch, dir) = (listing.batch, listing.dir.path);
    listing.range.clone().map(move |at| Row { batch, at, dir })
}

/// The start point's own row, which lies in `dir`.
fn row_of<'r>(found: &'r Start, dir: &'r [u8]) -> Row<'r> {
    Row {
        batch: &found.row,
        at: 0,
        dir,
    }
}

fn depth_limit(max_depth: usize) -> Option<usize> {
    (max_depth != usize::MAX).then_some(max_depth)
}

/// As [`depth_limit`], one level deeper.
fn deeper(max_depth: usize) -> Option<usize> {
    depth_limit(max_depth.saturating_add(1))
}

fn is_below(path: &[u8], dir: &[u8]) -> bool {
    path.len() > dir.len() && path::is_within(path, dir)
}

/// True if the issue is of listing a directory, which happens only if the
/// search goes into it.
fn lists(issue: &Issue) -> bool {
    matches!(issue.op, Op::OpenDir | Op::ReadDir)
}

/// A stored path below the start point as it is printed.
fn spell(point: &StartPoint, stored: &[u8]) -> Vec<u8> {
    let below = stored.strip_prefix(&point.stored[..]).unwrap_or(stored);
    let below = below.strip_prefix(b"/").unwrap_or(below);
    let mut spelled = point.spelled.clone();
    if !below.is_empty() {
        if !spelled.ends_with(b"/") {
            spelled.push(b'/');
        }
        spelled.extend_from_slice(below);
    }
    spelled
}

fn cause(issue: &Issue) -> String {
    match issue.errno.0 {
        0 => issue.detail.clone(),
        errno => crate::reference::error_text(&io::Error::from_raw_os_error(errno)),
    }
}
