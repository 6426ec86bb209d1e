//! Compares two snapshots side by side.
//!
//! If only one snapshot has a listing of a directory, the directory was created
//! or deleted if its row was. Otherwise the other snapshot has the directory
//! but no listing of it, because the scanner or the asking user could not read
//! it. Then nothing is known of its contents, and nothing is reported about
//! them.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::ops::ControlFlow;
use trawl_model::rows::{Row, RowBatch};
use trawl_model::{Column, ColumnSet, FileType, path};
use trawl_query::{Request, Start};

use crate::attribute::{AttributeSet, changed, find_unlike};
use crate::side::Side;
use crate::{Devices, Question, Result, Which};

/// A finding of the merge.
pub(crate) enum Event<'a> {
    /// Only the first snapshot has the entry.
    Deleted(Row<'a>),
    /// Only the second snapshot has the entry.
    Created(Row<'a>),
    /// Both snapshots have the entry, and these attributes differ.
    Changed(Row<'a>, Row<'a>, AttributeSet),
    /// Only the given snapshot has a listing of a directory that both have.
    NotCompared(&'a [u8], Which),
}

/// Receives events; may end the merge.
type Visit<'v> = dyn FnMut(Event<'_>) -> ControlFlow<()> + 'v;

/// Reads both snapshots, compares the attributes in `compare` and also reads
/// those in `read`.
pub(crate) fn merge(
    question: &Question<'_>,
    compare: AttributeSet,
    read: AttributeSet,
    visit: &mut Visit<'_>,
) -> Result<()> {
    let request = Request {
        columns: compare.columns().union(read.columns()),
        cancel: question.cancel,
        ..Request::default()
    };
    let (without_before, without_after) = match (question.before, question.after) {
        (Some(before), Some(after)) => before.view.shared_with(&after.view),
        _ => Default::default(),
    };
    let shares = !without_before.is_empty();
    std::thread::scope(|scope| {
        let mut merge = Merge {
            before: Side::open(scope, question.before, &request, without_before)?,
            after: Side::open(scope, question.after, &request, without_after)?,
            shares,
            skipped: None,
            teller: Teller {
                compare,
                columns: compare.compared(),
                devices: Devices::of(question),
                came: HashSet::new(),
                went: HashSet::new(),
                unlike: Vec::new(),
                visit,
            },
        };
        merge.run(question)
    })
}

struct Merge<'a, 'v, 'w> {
    before: Side<'a>,
    after: Side<'a>,
    /// True if segments that both snapshots share were left out.
    shares: bool,
    /// The last directory that was not compared; nothing below it is reported.
    skipped: Option<Vec<u8>>,
    teller: Teller<'v, 'w>,
}

impl Merge<'_, '_, '_> {
    fn run(&mut self, question: &Question<'_>) -> Result<()> {
        if self.teller.start(question).is_break() {
            return Ok(());
        }
        loop {
            let order = match (self.before.next_dir(), self.after.next_dir()) {
                (None, None) => return Ok(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(before), Some(after)) => path::cmp(before, after),
            };
            let flow = match order {
                Ordering::Less => self.one_sided(Which::Before)?,
                Ordering::Greater => self.one_sided(Which::After)?,
                Ordering::Equal => self.both()?,
            };
            if flow.is_break() {
                return Ok(());
            }
        }
    }

    /// Handles the next directory of one side, which the other side has no rows
    /// of.
    fn one_sided(&mut self, which: Which) -> Result<ControlFlow<()>> {
        let (side, other) = match which {
            Which::Before => (&mut self.before, &self.after),
            Which::After => (&mut self.after, &self.before),
        };
        side.enter()?;
        let dir = side.dir().to_vec();
        let is_alone = self.teller.is_alone(&dir, which)
            // The other side's rows are in shared segments, which were left
            // out.
            || (self.shares && other.parts_of(&dir)? > 0);
        if !is_alone {
            return Ok(self.skip(dir, which));
        }
        while let Some((batch, start, end)) = side.rows() {
            for at in start..end {
                if self.teller.alone(which, batch, at, &dir).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            side.advance(end - start)?;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Reports a directory as not compared, once for the whole subtree.
    fn skip(&mut self, dir: Vec<u8>, which: Which) -> ControlFlow<()> {
        let is_told = |skipped: &Vec<u8>| path::is_within(&dir, skipped);
        if self.skipped.as_ref().is_some_and(is_told) {
            return ControlFlow::Continue(());
        }
        let flow = (self.teller.visit)(Event::NotCompared(&dir, which));
        self.skipped = Some(dir);
        flow
    }

    /// Handles the next directory, which both sides have.
    fn both(&mut self) -> Result<ControlFlow<()>> {
        let Merge {
            before,
            after,
            teller,
            ..
        } = self;
        before.enter()?;
        after.enter()?;
        let dir = after.dir().to_vec();
        loop {
            let (taken, flow) = match (before.rows(), after.rows()) {
                (None, None) => return Ok(ControlFlow::Continue(())),
                (Some((batch, at, _)), None) => ((1, 0), teller.gone(batch, at, &dir)),
                (None, Some((batch, at, _))) => ((0, 1), teller.come(batch, at, &dir)),
                (Some(a), Some(b)) => teller.step(a, b, &dir),
            };
            if flow.is_break() {
                return Ok(flow);
            }
            before.advance(taken.0)?;
            after.advance(taken.1)?;
        }
    }
}

/// A batch and a range of its rows: first row, and the row after the last.
type Span<'a> = (&'a RowBatch, usize, usize);

/// Reports differences, and remembers what they imply for the subtrees below.
struct Teller<'v, 'w> {
    compare: AttributeSet,
    /// The columns that the attributes in `compare` are read from.
    columns: ColumnSet,
    devices: Devices,
    /// Directories that only the second snapshot has and whose listings may
    /// follow.
    came: HashSet<Vec<u8>>,
    /// Directories that only the first snapshot has and whose listings may
    /// follow.
    went: HashSet<Vec<u8>>,
    /// Buffer for row positions, reused between calls.
    unlike: Vec<u32>,
    visit: &'v mut Visit<'w>,
}

impl Teller<'_, '_> {
    /// Compares the rows of the start paths themselves.
    fn start(&mut self, question: &Question<'_>) -> ControlFlow<()> {
        let dir =
            |start: &Start| path::split(&start.path).map_or(Vec::new(), |(dir, _)| dir.to_vec());
        match (question.before, question.after) {
            (None, None) => ControlFlow::Break(()),
            (Some(start), None) => self.gone(&start.row, 0, &dir(start)),
            (None, Some(start)) => self.come(&start.row, 0, &dir(start)),
            (Some(before), Some(after)) => {
                let dir = dir(after);
                self.pairs((&before.row, 0), (&after.row, 0), 1, &dir)
            }
        }
    }

    /// True if the other snapshot does not have the directory. Forgets the
    /// directory, so it can be asked only once.
    fn is_alone(&mut self, dir: &[u8], which: Which) -> bool {
        match which {
            Which::Before => self.went.remove(dir),
            Which::After => self.came.remove(dir),
        }
    }

    fn alone(&mut self, which: Which, batch: &RowBatch, at: usize, dir: &[u8]) -> ControlFlow<()> {
        match which {
            Which::Before => self.gone(batch, at, dir),
            Which::After => self.come(batch, at, dir),
        }
    }

    fn gone(&mut self, batch: &RowBatch, at: usize, dir: &[u8]) -> ControlFlow<()> {
        let row = Row { batch, at, dir };
        if row.file_type() == FileType::Directory {
            self.went.insert(row.path());
        }
        (self.visit)(Event::Deleted(row))
    }

    fn come(&mut self, batch: &RowBatch, at: usize, dir: &[u8]) -> ControlFlow<()> {
        let row = Row { batch, at, dir };
        if row.file_type() == FileType::Directory {
            self.came.insert(row.path());
        }
        (self.visit)(Event::Created(row))
    }

    /// Compares the next rows of both sides. Returns how many rows of each are
    /// done.
    fn step<'a>(
        &mut self,
        a: Span<'a>,
        b: Span<'a>,
        dir: &[u8],
    ) -> ((usize, usize), ControlFlow<()>) {
        let most = (a.2 - a.1).min(b.2 - b.1);
        let name = |span: Span<'a>, at: usize| span.0.name.get(span.1 + at);
        let same = (0..most)
            .take_while(|at| name(a, *at) == name(b, *at))
            .count();
        if same > 0 {
            return ((same, same), self.pairs((a.0, a.1), (b.0, b.1), same, dir));
        }
        match name(a, 0).cmp(name(b, 0)) {
            Ordering::Less => ((1, 0), self.gone(a.0, a.1, dir)),
            _ => ((0, 1), self.come(b.0, b.1, dir)),
        }
    }

    /// Compares rows with equal names.
    fn pairs(
        &mut self,
        a: (&RowBatch, usize),
        b: (&RowBatch, usize),
        count: usize,
        dir: &[u8],
    ) -> ControlFlow<()> {
        if !self.compare.contains(Column::Type) {
            self.compare_types(a, b, count, dir);
        }
        let mut unlike = std::mem::take(&mut self.unlike);
        let (before, after) = ((a.0, a.1..a.1 + count), (b.0, b.1..b.1 + count));
        find_unlike(before, after, self.columns, &mut unlike);
        let mut flow = ControlFlow::Continue(());
        for at in &unlike {
            let at = *at as usize;
            flow = self.pair((a.0, a.1 + at), (b.0, b.1 + at), dir);
            if flow.is_break() {
                break;
            }
        }
        self.unlike = unlike;
        flow
    }

    fn pair(
        &mut self,
        a: (&RowBatch, usize),
        b: (&RowBatch, usize),
        dir: &[u8],
    ) -> ControlFlow<()> {
        let row = |(batch, at)| Row { batch, at, dir };
        let (before, after) = (row(a), row(b));
        self.note_type(&before, &after);
        let device = |row: &Row<'_>, which| self.devices.common(row.dev().as_u64(), which);
        let is_same = device(&before, Which::Before) == device(&after, Which::After);
        let attributes = changed(&before, &after, self.compare, is_same);
        match attributes.is_empty() {
            true => ControlFlow::Continue(()),
            false => (self.visit)(Event::Changed(before, after, attributes)),
        }
    }

    /// Records an entry that became a directory or ceased to be one: the other
    /// snapshot can have no listing of it.
    fn note_type(&mut self, before: &Row<'_>, after: &Row<'_>) {
        let is_dir = |row: &Row<'_>| row.file_type() == FileType::Directory;
        match (is_dir(before), is_dir(after)) {
            (false, true) => drop(self.came.insert(after.path())),
            (true, false) => drop(self.went.insert(before.path())),
            _ => {}
        }
    }

    fn compare_types(
        &mut self,
        a: (&RowBatch, usize),
        b: (&RowBatch, usize),
        count: usize,
        dir: &[u8],
    ) {
        for at in 0..count {
            let row = |(batch, first): (_, usize)| Row {
                batch,
                at: first + at,
                dir,
            };
            self.note_type(&row(a), &row(b));
        }
    }
}
