//! A search in the index.
//!
//! Rows are tested in parallel, since no test depends on another row. What
//! does depend on order is kept apart: output is written in order; `-quit`
//! drops what comes after it; what `-prune` and `-xdev` keep out is found by
//! a first pass over the directories alone. Where leaves need their turn,
//! threads only find the rows that these leaves, or any action, would see;
//! one thread takes them in order (`turns`).

mod access;
mod exclusion;
mod links;
mod need;
mod probe;
mod sieve;
mod turns;
mod walk;

use std::io;

use trawl_model::relative_path::join;
use trawl_model::rows::Row;
use trawl_model::{Dev, FileType, Issue, Op, path};
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

/// What workers share: the question and where it is asked.
#[derive(Clone, Copy)]
struct Scope<'s> {
    program: &'s Program,
    world: &'s World,
    point: &'s StartPoint,
    probe: &'s IndexProbe<'s>,
    place: &'s Place,
    /// True if rows of links are left to others (`links`).
    follows: bool,
    /// What threads may do.
    turn: Turn,
    /// What ends each path, if all that happens is that paths are printed.
    path_end: Option<u8>,
}

/// Where the directory lies in which a walk began: the start point, or what a
/// link leads to that was followed on the way.
struct Place {
    /// As stored.
    stored: Vec<u8>,
    /// How it is reached from the start point.
    below: Vec<u8>,
    /// How many levels that is.
    depth: usize,
    /// The device of the start point.
    device: Dev,
    /// The walks on the way.
    way: Vec<Stretch>,
}

/// A part of the way to a place: from where a walk began to the directory in
/// which it met a link.
#[derive(Clone)]
struct Stretch {
    /// As stored.
    from: Vec<u8>,
    /// As stored.
    to: Vec<u8>,
    /// How `from` is reached from the start point.
    below: Vec<u8>,
}

impl Stretch {
    /// True if the way goes through the directory.
    fn leads_through(&self, stored: &[u8]) -> bool {
        path::is_within(&self.to, stored) && path::is_within(stored, &self.from)
    }
}

impl Place {
    fn of_start(found: &Start) -> Place {
        Place {
            stored: found.path.clone(),
            below: Vec::new(),
            depth: 0,
            device: row_of(found, b"").dev(),
            way: Vec::new(),
        }
    }

    /// How a directory is reached from the start point, in two parts.
    fn parts<'p>(&'p self, dir: &'p [u8]) -> [&'p [u8]; 2] {
        [&self.below, rest(dir, &self.stored)]
    }

    /// Directories below that the way here went through: to go into them
    /// again would have no end.
    fn loops(&self) -> impl Iterator<Item = &Stretch> {
        self.way
            .iter()
            .filter(|stretch| is_below(&stretch.from, &self.stored))
    }

    /// How an entry is reached from the start point.
    fn below(&self, stored: &[u8]) -> Vec<u8> {
        let [above, rest] = self.parts(stored);
        join(above, rest)
    }
}

/// What is left of a path below a directory.
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
        // Whoever can ask the live system about what is hidden does so before.
        Some(Located::Denied { .. } | Located::Hidden { .. }) => {
            return search.complain(spelled, DENIED);
        }
        Some(Located::NotIndexed { nearest }) => {
            let locale = search.question.world.locale;
            let why = match nearest {
                Some(root) => format!(
                    "Not in the index; the nearest path that is: {}",
                    quote::message(path::display(&root), locale)
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
    let place = Place::of_start(&found);
    Walk::new(search, index, &point, &found, place)?.run()
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
    /// Whether the expression prunes the row; nothing else that it does
    /// counts.
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

fn is_below(path: &[u8], dir: &[u8]) -> bool {
    path.len() > dir.len() && path::is_within(path, dir)
}

/// True if the issue is of listing a directory, which happens only if the
/// search goes into it.
fn lists(issue: &Issue) -> bool {
    matches!(issue.op, Op::OpenDir | Op::ReadDir)
}

/// The part of a stored path that is below the start point.
fn below<'p>(point: &StartPoint, stored: &'p [u8]) -> &'p [u8] {
    rest(stored, &point.stored)
}

fn cause(issue: &Issue) -> String {
    match issue.errno.0 {
        0 => issue.detail.clone(),
        errno => crate::reference::error_text(&io::Error::from_raw_os_error(errno)),
    }
}
