//! One start point: its own row, what is kept out, everything below, and what
//! could not be read.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Mutex;

use trawl_model::filter::{Clause, Filter};
use trawl_model::rows::{Row, RowBatch};
use trawl_model::sync::lock;
use trawl_model::{Column, ColumnSet, FileType, Subtrees, path};
use trawl_query::{
    Asker, Batch, DeniedRequest, DirRequest, Index, Listing, Order, QueryError, Request, Start,
    asker,
};
use trawl_text::quote::Terminal;

use super::need::Beginnings;
use super::probe::IndexProbe;
use super::targets::KnownTargets;
use super::turns::Turns;
use super::{Scope, WalkTop, cause, depth_limit, is_below, lists, row_of};
use crate::context::{Context, StartPoint, Stop, Turn};
use crate::driver::{DENIED, DriverError, Search};
use crate::leaf::Effect;
use crate::lookups::{Emptiness, Lookups, Paths};
use crate::path_lines::PathLines;
use crate::printer::Part;
use crate::traversal::Follow;

/// The option of a snapshot that was scanned across file systems.
const CROSSES: &str = "cross-file-systems";

/// Bytes of messages that are written together: usually no more than the 4,096 that a pipe takes at once
/// (PIPE_BUF), so that messages of other programs do not tear them apart.
const MESSAGE_BYTES: usize = 3 << 10;

/// A row that has to wait for its turn.
pub(super) struct Waiting {
    /// The event that it waits for.
    pub(super) stop: Stop,
    /// The row alone.
    pub(super) batch: RowBatch,
    /// Its directory, as stored.
    pub(super) dir: Vec<u8>,
    /// How deep its directory lies below the start point.
    pub(super) dir_depth: usize,
}

/// The result of some listings, as a worker hands it over.
#[derive(Default)]
struct Found {
    part: Part,
    pruned: Vec<Vec<u8>>,
    waiting: Vec<Waiting>,
}

/// Which rows of a listing are put to the expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// All, for what they print.
    Print,
    /// Directories, for what they keep the search out of.
    Prune,
}

/// The search of one start point.
pub(super) struct Walk<'w, 's> {
    pub(super) search: &'w Search<'s>,
    pub(super) index: &'w Index,
    pub(super) point: &'w StartPoint,
    pub(super) found: &'w Start,
    pub(super) place: WalkTop,
    pub(super) probe: IndexProbe<'w>,
}

impl<'w, 's> Walk<'w, 's> {
    pub(super) fn new(
        search: &'w Search<'s>,
        index: &'w Index,
        point: &'w StartPoint,
        found: &'w Start,
        place: WalkTop,
    ) -> Result<Walk<'w, 's>, DriverError> {
        let mut walk = Walk {
            search,
            index,
            point,
            found,
            place,
            probe: IndexProbe::new(index, &search.question.world, &found.view),
        };
        walk.probe.lookups = Lookups {
            empty_directories: walk.empty_directories()?,
            with_attribute: walk.with_attribute()?,
        };
        Ok(walk)
    }

    pub(super) fn run(&self) -> Result<(), DriverError> {
        let traversal = &self.search.question.program.traversal;
        let (first, printer) = (traversal.contents_first, &self.search.printer);
        let mut turns = Turns::new(self.search, self.point, &self.probe);
        if self.leaves_out_start() {
            return Ok(());
        }
        let mut pruned = false;
        if !first {
            pruned = self.start_row(&mut turns)?;
        }
        if !printer.has_ended() && !pruned && self.found.is_dir && traversal.max_depth > 0 {
            self.contents(&mut turns)?;
        }
        if first && !printer.has_ended() {
            self.start_row(&mut turns)?;
        }
        Ok(())
    }

    /// Searches what is in the directory.
    pub(super) fn contents(&self, turns: &mut Turns<'_, '_>) -> Result<(), DriverError> {
        let first = self.search.question.program.traversal.contents_first;
        let mut skip = self.find_pruned()?;
        self.keep_out_of_loops(&mut skip)?;
        let mut not_entered = skip.clone();
        self.keep_out_of_closed(&mut skip)?;
        let around = turns.enter();
        // What a directory holds, and that is behind its links, is on the
        // same side of the directory's own row.
        if self.follows() && first {
            self.follow_links(&skip, turns)?;
        }
        self.walk(skip.clone(), turns)?;
        if self.follows() && !first {
            self.follow_links(&skip, turns)?;
        }
        not_entered.extend(turns.leave(around).into_roots());
        self.report_issues(&not_entered)
    }

    /// Adds the directories that the kernel would not list for a superuser
    /// who is none to it; the index has what is in them.
    fn keep_out_of_closed(&self, skip: &mut Subtrees) -> Result<(), DriverError> {
        if asker() != Asker::Limited {
            return Ok(());
        }
        let request = DeniedRequest {
            max_depth: depth_limit(self.levels()),
            skip: skip.clone(),
            cancel: self.search.question.options.cancel,
        };
        let mut closed = Vec::new();
        self.index.denied(self.found, &request, |path| {
            closed.push(path.to_vec());
            ControlFlow::Continue(())
        })?;
        skip.extend(closed);
        Ok(())
    }

    /// Adds the directories that the way here went through.
    fn keep_out_of_loops(&self, skip: &mut Subtrees) -> Result<(), DriverError> {
        for stretch in self.place.loops() {
            let is_out = skip.roots().iter().any(|dir| is_below(&stretch.from, dir));
            let depth = stretch.from.iter().filter(|byte| **byte == b'/').count()
                - self
                    .place
                    .stored
                    .iter()
                    .filter(|byte| **byte == b'/')
                    .count();
            if is_out || depth > self.levels() {
                continue;
            }
            self.tell_of_loop(&self.place.below(&stretch.from), &stretch.below)?;
            skip.extend([stretch.from.clone()]);
        }
        Ok(())
    }

    fn follows(&self) -> bool {
        self.search.question.program.traversal.follow == Follow::Always
    }

    fn scope(&self) -> Scope<'_> {
        Scope {
            program: self.search.question.program,
            world: &self.search.question.world,
            point: self.point,
            probe: &self.probe,
            place: &self.place,
            follows: self.follows(),
            turn: match self.search.question.program.expr.needs_turns() {
                true => Turn::Scout,
                false => Turn::Any,
            },
            path_end: self.path_end(),
        }
    }

    /// What ends each path, if printing the paths of all rows in order is all
    /// that is to be done.
    fn path_end(&self) -> Option<u8> {
        let program = self.search.question.program;
        let is_plain = !self.follows() && !program.traversal.contents_first;
        let end = program.expr.path_end().filter(|_| is_plain)?;
        let is_raw = end == 0 || self.search.question.world.terminal == Terminal::Absent;
        is_raw.then_some(end)
    }

    /// Puts the start point's own row to the expression; whether it was
    /// pruned.
    fn start_row(&self, turns: &mut Turns<'_, '_>) -> Result<bool, DriverError> {
        let program = self.search.question.program;
        if program.traversal.min_depth > 0 && !program.notes_all() {
            return Ok(false);
        }
        let parent = path::split(&self.found.path).map_or(&b""[..], |(dir, _)| dir);
        let row = row_of(self.found, parent);
        let mut part = Part::default();
        let mut cx = Context::new(&self.search.question.world, self.point, &self.probe);
        cx.turn = self.scope().turn;
        self.search.question.program.expr.eval(&row, &mut cx);
        let pruned = cx.pruned;
        if let Some(stop) = cx.deferred {
            return turns.start(&row, stop);
        }
        part.take_back(cx);
        self.search.printer.emit(part)?;
        Ok(pruned)
    }

    /// Directories of the scope that were listed and have no entry, and those
    /// of which that cannot be told.
    fn empty_directories(&self) -> Result<Emptiness, DriverError> {
        let mut known = Emptiness::default();
        if !self.found.is_dir || !self.search.question.program.expr.needs_empty_directories() {
            return Ok(known);
        }
        // What is mounted below was listed only if the source crosses.
        let crosses = (self.found.view.info().options).contains_key(CROSSES);
        known.device = (!crosses).then(|| row_of(self.found, b"").dev());
        let max_depth = self.levels();
        let request = DirRequest {
            // A directory at the greatest depth is tested, too.
            max_depth: depth_limit(max_depth),
            cancel: self.search.question.options.cancel,
            ..DirRequest::default()
        };
        self.index.directories(self.found, &request, |directory| {
            if directory.sums.entries() == 0 {
                known.empty.insert(directory.path.clone());
            }
            ControlFlow::Continue(())
        })?;
        let deeper = depth_limit(max_depth.saturating_add(1));
        for issue in self.index.issues(self.found, deeper)? {
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
    fn with_attribute(&self) -> Result<HashMap<Vec<u8>, Paths>, DriverError> {
        let mut tests = Vec::new();
        self.search.question.program.expr.leaves(&mut |node| {
            let test = node.leaf.attribute_test();
            tests.extend(test.filter(|test| test.needs_lookup()));
        });
        let mut passed: HashMap<Vec<u8>, Paths> = HashMap::new();
        if tests.is_empty() {
            return Ok(passed);
        }
        let wanted = |name: &[u8]| tests.iter().any(|test| test.looks_up(name));
        let cancel = self.search.question.options.cancel;
        self.index
            .attribute_values(self.found, cancel, wanted, |path, name, value| {
                for test in &tests {
                    if test.looks_up(name) && test.admits(value) {
                        let paths = passed.entry(test.word.clone()).or_default();
                        paths.insert(path.to_vec());
                    }
                }
            })?;
        Ok(passed)
    }

    /// Directories that `-prune` and `-xdev` keep the search out of.
    fn find_pruned(&self) -> Result<Subtrees, DriverError> {
        let program = self.search.question.program;
        let traversal = &program.traversal;
        let asked = match traversal.contents_first {
            true => program.exclusion(),
            false => Some(&program.expr),
        };
        let by_action = asked.and_then(|expr| expr.filter_for(&[Effect::Prune]));
        let one_device = traversal.one_file_system.then_some(self.place.device);
        if by_action.is_none() && one_device.is_none() || self.levels() < 2 {
            return Ok(Subtrees::new());
        }
        let mut filter = match one_device {
            Some(_) => Filter::default(),
            None => by_action.clone().unwrap_or_default(),
        };
        filter.add(Clause::directories());
        let mut request = self.request(self.columns(Pass::Prune), filter);
        request.min_depth = 1;
        request.max_depth = depth_limit(self.levels() - 1);
        let mut pruned: Vec<Vec<u8>> = Vec::new();
        let scope = self.scope();
        let work = |batch: &mut Batch<'_>, found: &mut Found| {
            batch.for_each_listing(|listing| {
                for row in rows_of(listing) {
                    if row.file_type() == FileType::Directory
                        && one_device.is_some_and(|dev| row.dev() != dev)
                    {
                        found.pruned.push(row.path());
                    }
                }
            })?;
            match by_action {
                Some(_) => scope.eval(batch, Pass::Prune, found),
                None => Ok(()),
            }
        };
        self.index
            .walk_batches(self.found, &request, work, |found: Found| {
                pruned.extend(found.pruned);
                ControlFlow::Continue(())
            })?;
        Ok(pruned.into_iter().collect())
    }

    fn walk(&self, skip: Subtrees, turns: &mut Turns<'_, '_>) -> Result<(), DriverError> {
        let program = self.search.question.program;
        let mut visible = Effect::VISIBLE.to_vec();
        if program.expr.needs_turns() && !program.traversal.contents_first {
            // What is kept out may depend on what is done.
            visible.push(Effect::Prune);
        }
        let Some(filter) = program.expr.filter_for(&visible) else {
            return Ok(());
        };
        let dirs = filter.dirs.clone();
        let mut request = self.request(self.columns(Pass::Print), filter);
        request.skip = skip;
        request.only = dirs.as_deref();
        let (scope, printer) = (self.scope(), &self.search.printer);
        let memory = Mutex::new(Vec::new());
        let work = |batch: &mut Batch<'_>, found: &mut Found| {
            let mut bytes = lock(&memory).pop().unwrap_or_default();
            if let Some(end) = scope.path_end {
                return scope.print_paths(batch, PathLines::new(bytes, end), found);
            }
            bytes.clear();
            found.part.out.bytes = bytes;
            scope.eval(batch, Pass::Print, found)
        };
        let mut failure = None;
        let take = |found: Found| {
            let done = printer.emit_and_return(found.part);
            let done = done.map(|bytes| lock(&memory).push(bytes));
            let done = done.map_err(DriverError::Write);
            let done = done.and_then(|()| turns.take(found.waiting));
            // Whoever reads along waits for no further part.
            printer.flush_printed();
            match done {
                Ok(()) if printer.has_ended() => ControlFlow::Break(()),
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failure = Some(error);
                    ControlFlow::Break(())
                }
            }
        };
        self.index.walk_batches(self.found, &request, work, take)?;
        failure.map_or(Ok(()), Err)
    }

    fn columns(&self, pass: Pass) -> ColumnSet {
        let columns = self.search.question.program.expr.columns();
        match pass {
            Pass::Print if !self.search.question.program.expr.needs_turns() => {
                match self.follows() {
                    true => columns.union(ColumnSet::of(&[Column::Mode])),
                    false => columns,
                }
            }
            _ => columns.union(ColumnSet::of(&[Column::Name, Column::Mode, Column::Dev])),
        }
    }

    /// A stored path as it is printed.
    fn spell(&self, stored: &[u8]) -> Vec<u8> {
        self.point.spell(&self.place.below(stored))
    }

    /// How many levels there are below the directory.
    pub(super) fn levels(&self) -> usize {
        match self.search.question.program.traversal.max_depth {
            usize::MAX => usize::MAX,
            levels => levels.saturating_sub(self.place.depth),
        }
    }

    pub(super) fn request(&self, columns: ColumnSet, mut filter: Filter) -> Request<'_> {
        let beginnings = Beginnings::new(self.spell(&self.place.stored), &self.place.stored);
        filter.need = beginnings.stored(&filter.need);
        let program = self.search.question.program;
        let traversal = &program.traversal;
        let min_depth = match program.notes_all() {
            true => 1,
            false => traversal.min_depth,
        };
        Request {
            columns,
            filter,
            min_depth: min_depth.saturating_sub(self.place.depth).max(1),
            max_depth: depth_limit(self.levels()),
            order: match traversal.contents_first {
                true => Order::Backward,
                false => Order::Forward,
            },
            threads: self.search.question.options.threads,
            cancel: self.search.question.options.cancel,
            ..Request::default()
        }
    }

    /// Prints what could not be read of the part that was visited.
    fn report_issues(&self, skip: &Subtrees) -> Result<(), DriverError> {
        if self.search.printer.has_ended() {
            return Ok(());
        }
        let max_depth = depth_limit(self.levels());
        let mut told: HashSet<Vec<u8>> = HashSet::new();
        for issue in self.index.recorded_issues(self.found, max_depth)? {
            let skipped = skip
                .roots()
                .iter()
                .any(|dir| match is_below(&issue.path, dir) {
                    true => true,
                    false => issue.path == *dir && lists(&issue),
                });
            if !skipped && issue.op.hides_entries() && !told.contains(&issue.path) {
                self.search
                    .complain(&self.spell(&issue.path), &cause(&issue))?;
                told.insert(issue.path);
            }
        }
        self.report_denied(skip, &told)
    }

    /// Prints which directories the asker may not list, but for those of
    /// which something was told already.
    fn report_denied(&self, skip: &Subtrees, told: &HashSet<Vec<u8>>) -> Result<(), DriverError> {
        let request = DeniedRequest {
            max_depth: depth_limit(self.levels()),
            skip: skip.clone(),
            cancel: self.search.question.options.cancel,
        };
        let printer = &self.search.printer;
        let (mut lines, mut done) = (Vec::new(), Ok(()));
        self.index.denied(self.found, &request, |path| {
            if !told.contains(path) {
                printer.add_complaint(&self.spell(path), DENIED, &mut lines);
            }
            if lines.len() >= MESSAGE_BYTES {
                done = printer.tell(&std::mem::take(&mut lines));
            }
            match done {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        done?;
        Ok(printer.tell(&lines)?)
    }
}

impl Scope<'_> {
    /// Links are followed elsewhere, and directories on the way here end it.
    fn is_left_out(&self, row: &Row<'_>) -> bool {
        match row.file_type() {
            FileType::Symlink => true,
            FileType::Directory => {
                let mut loops = self.place.loops().peekable();
                loops.peek().is_some() && {
                    let path = row.path();
                    loops.any(|stretch| stretch.from == path)
                }
            }
            _ => false,
        }
    }

    /// Puts rows to the expression, a directory's backwards if contents come
    /// first.
    fn eval(&self, batch: &mut Batch<'_>, pass: Pass, found: &mut Found) -> Result<(), QueryError> {
        let known = KnownTargets::of(self, batch)?;
        let buffers = std::mem::take(&mut found.part.buffers);
        let mut cx = Context::new(self.world, self.point, &known).with_buffers(buffers);
        found.part.lend(&mut cx);
        cx.turn = self.turn;
        let done = batch.for_each_listing(|listing| {
            if cx.quit {
                return;
            }
            let depth = self.place.depth + listing.dir.depth;
            cx.enter_below(&self.place.parts(listing.dir.path), depth);
            match pass {
                Pass::Print => self.print(listing, &mut cx, found),
                Pass::Prune => self.prune(listing, &mut cx, found),
            }
        });
        found.part.take_back(cx);
        done
    }

    /// Prints the paths of all rows.
    fn print_paths(
        &self,
        batch: &mut Batch<'_>,
        mut lines: PathLines,
        found: &mut Found,
    ) -> Result<(), QueryError> {
        let mut cx = Context::new(self.world, self.point, self.probe);
        let done = batch.for_each_listing(|listing| {
            let depth = self.place.depth + listing.dir.depth;
            cx.enter_below(&self.place.parts(listing.dir.path), depth);
            lines.enter(cx.directory());
            lines.push(&listing.batch.name, listing.range.clone());
        });
        found.part.out.bytes = lines.finish();
        done
    }

    fn print(&self, listing: &Listing<'_>, cx: &mut Context<'_>, found: &mut Found) {
        let visit = |row: Row<'_>| {
            if self.follows && self.is_left_out(&row) {
                return ControlFlow::Continue(());
            }
            cx.next_row();
            let told = (cx.complaints.len(), cx.failed);
            self.program.expr.eval(&row, cx);
            if let Some(stop) = cx.deferred {
                // It is evaluated again when its turn comes, and complains then.
                cx.take_back_complaints(told);
                found.waiting.push(Waiting {
                    stop,
                    batch: row.alone(),
                    dir: listing.dir.path.to_vec(),
                    dir_depth: listing.dir.depth,
                });
            }
            match cx.quit {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        let _ = match self.program.traversal.contents_first {
            true => rows_of(listing).rev().try_for_each(visit),
            false => rows_of(listing).try_for_each(visit),
        };
    }

    fn prune(&self, listing: &Listing<'_>, cx: &mut Context<'_>, found: &mut Found) {
        for row in rows_of(listing) {
            if self.prunes(&row, cx) {
                found.pruned.push(row.path());
            }
        }
    }
}

pub(super) fn rows_of<'l>(
    listing: &Listing<'l>,
) -> impl DoubleEndedIterator<Item = Row<'l>> + use<'l> {
    let (batch, dir) = (listing.batch, listing.dir.path);
    listing.range.clone().map(move |at| Row { batch, at, dir })
}
