//! Searches the index.
//!
//! Rows are tested in parallel, since no test depends on another row. Effects
//! that depend on order are treated separately: output is written in order;
//! `-quit` discards everything after it; a first pass over the directories
//! alone finds the directories that `-prune` and `-xdev` exclude. If leaves
//! need their turn, worker threads only find the rows on which these leaves, or
//! any action, would be evaluated, and one thread takes those rows in order
//! (`turns`).

mod access;
mod ahead;
mod exclusion;
mod links;
mod need;
mod probe;
mod sieve;
mod targets;
mod turns;
mod walk;

use std::io;

use trawl_model::relative_path::join;
use trawl_model::rows::Row;
use trawl_model::{Dev, FileType, Issue, Op, mapped, path};
use trawl_query::{Index, Located, Start};
use trawl_text::quote;

use crate::context::{Context, StartPoint, Turn, World};
use crate::driver::{ABSENT, DENIED, DriverError, Search};
use crate::output::Output;
use crate::parser::Program;
use crate::start;
use probe::IndexProbe;
pub use sieve::{Sieve, SieveAt};
use walk::Walk;

/// State that workers share: the question, and the part of the index that it is
/// asked of.
#[derive(Clone, Copy)]
struct Scope<'s> {
    program: &'s Program,
    world: &'s World,
    point: &'s StartPoint,
    probe: &'s IndexProbe<'s>,
    place: &'s WalkTop,
    /// True if rows of links are skipped, because `links` handles them.
    follows: bool,
    /// Which effects worker threads may perform.
    turn: Turn,
    /// The byte after each path, if the expression only prints paths.
    path_end: Option<u8>,
}

/// The directory in which a walk began: the start point, or the target of a
/// link that was followed.
struct WalkTop {
    /// Its stored path.
    stored: Vec<u8>,
    /// Its path below the start point.
    below: Vec<u8>,
    /// Number of levels below the start point.
    depth: usize,
    /// The device of the start point.
    device: Dev,
    /// The walks that led here.
    way: Vec<Stretch>,
}

/// One part of the way to a place: from the directory where a walk began to the
/// directory in which it met a link.
#[derive(Clone)]
struct Stretch {
    /// The stored path where it begins.
    from: Vec<u8>,
    /// The stored path where it ends.
    to: Vec<u8>,
    /// The path of `from` below the start point.
    below: Vec<u8>,
}

impl Stretch {
    /// Returns true if the way goes through the directory.
    fn leads_through(&self, stored: &[u8]) -> bool {
        path::is_within(&self.to, stored) && path::is_within(stored, &self.from)
    }
}

impl WalkTop {
    fn of_start(found: &Start) -> WalkTop {
        WalkTop {
            stored: found.path.clone(),
            below: Vec::new(),
            depth: 0,
            device: row_of(found, b"").dev(),
            way: Vec::new(),
        }
    }

    /// The path of a directory below the start point, in two parts.
    fn parts<'p>(&'p self, dir: &'p [u8]) -> [&'p [u8]; 2] {
        [&self.below, rest(dir, &self.stored)]
    }

    /// Directories below this place that the way here went through. Descending
    /// into them again would never end.
    fn loops(&self) -> impl Iterator<Item = &Stretch> {
        self.way
            .iter()
            .filter(|stretch| is_below(&stretch.from, &self.stored))
    }

    /// The path of an entry below the start point.
    fn below(&self, stored: &[u8]) -> Vec<u8> {
        let [above, rest] = self.parts(stored);
        join(above, rest)
    }
}

/// The rest of a path below a directory.
fn rest<'p>(path: &'p [u8], dir: &[u8]) -> &'p [u8] {
    let rest = path.strip_prefix(dir).unwrap_or(path);
    rest.strip_prefix(b"/").unwrap_or(rest)
}

/// See [`Search::visit`].
pub(crate) fn visit(
    search: &Search<'_>,
    index: &Index,
    spelled: &[u8],
    located: Option<Located>,
) -> Result<(), DriverError> {
    let found = match located {
        Some(Located::Found(found)) => found,
        Some(Located::NotDirectory { .. }) => return search.complain(spelled, "Not a directory"),
        // Callers that can ask the live file system about a hidden path do so
        // before.
        Some(Located::Denied { .. } | Located::Hidden { .. }) => {
            return search.complain(spelled, DENIED);
        }
        Some(Located::NotIndexed { nearest }) => {
            let locale = search.question.world.locale;
            let why = match nearest {
                Some(root) => format!(
                    "Not in the index; the nearest path that is: {}",
                    quote::message(&mapped::theirs(&root), locale)
                ),
                None => "Not in the index, which is empty; run `trawl index` first".into(),
            };
            return search.complain(spelled, &why);
        }
        _ => return search.complain(spelled, ABSENT),
    };
    if start::asks_for_directory(spelled) && !found.is_dir {
        let is_link = row_of(&found, b"").file_type() == FileType::Symlink;
        let why = if is_link { ABSENT } else { "Not a directory" };
        return search.complain(spelled, why);
    }
    let point = StartPoint {
        spelled: spelled.to_vec(),
        stored: found.path.clone(),
    };
    let place = WalkTop::of_start(&found);
    Walk::new(search, index, &point, &found, place)?.run()?;
    if search.question.program.tells_indices {
        for name in indices_used(search, &found) {
            search.remark(&format!("the named index {name} answered"))?;
        }
    }
    Ok(())
}

/// Returns the names of the named indices that answered: those over columns, and those over contents,
/// which packs of keywords serve.
fn indices_used(search: &Search<'_>, found: &Start) -> Vec<String> {
    let questions = &search.question.world.questions;
    let mut names = found.view.indices_used();
    for index in found.view.named_indices() {
        let is_used =
            |attribute| questions.used(attribute, |test| index.has_order() || test.is_equality());
        if index.content().is_some_and(is_used) {
            names.push(index.name().to_owned());
        }
    }
    names
}

/// See [`Search::visit_missing`].
pub(crate) fn visit_missing(
    search: &Search<'_>,
    index: &Index,
    spelled: &[u8],
    root: &[u8],
    stored: &[u8],
) -> Result<(), DriverError> {
    if let Located::Found(source) = index.locate(root)? {
        let hides = |issue: &Issue| match lists(issue) {
            true => is_below(stored, &issue.path),
            false => issue.op.hides_entries() && path::is_within(stored, &issue.path),
        };
        let recorded = index.recorded_issues(&source, None)?;
        if let Some(issue) = recorded.iter().find(|i| hides(i)) {
            return search.complain(spelled, &cause(issue));
        }
    }
    search.complain(spelled, ABSENT)
}

impl Scope<'_> {
    /// Returns whether the expression prunes the row. All its other effects are
    /// discarded.
    fn prunes(&self, row: &Row<'_>, cx: &mut Context<'_>) -> bool {
        if row.file_type() != FileType::Directory {
            return false;
        }
        let traversal = &self.program.traversal;
        let expr = match traversal.contents_first || cx.depth < traversal.min_depth {
            true => self.program.exclusion(),
            false => Some(&self.program.expr),
        };
        cx.next_row();
        cx.is_trial = true;
        expr.map(|expr| expr.eval(row, cx));
        cx.quit = false;
        cx.out = Output::default();
        cx.others.clear();
        cx.complaints.clear();
        cx.pruned
    }
}

/// The start point's own row, in the directory `dir`.
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

fn is_below(path: &[u8], dir: &[u8]) -> bool {
    path.len() > dir.len() && path::is_within(path, dir)
}

/// Returns true if the issue is about listing a directory, which only happens
/// when the search descends into it.
fn lists(issue: &Issue) -> bool {
    matches!(issue.op, Op::OpenDir | Op::ReadDir)
}

/// The part of a stored path below the start point.
fn below<'p>(point: &StartPoint, stored: &'p [u8]) -> &'p [u8] {
    rest(stored, &point.stored)
}

fn cause(issue: &Issue) -> String {
    match issue.errno.0 {
        0 => issue.detail.clone(),
        errno => crate::reference::error_text(&io::Error::from_raw_os_error(errno)),
    }
}
