//! Searches the live file system.
//!
//! | module | purpose |
//! |---|---|
//! | `looker` | reads one entry's attributes into a row |
//! | `probe` | answers questions that leaves ask beyond the row |
//! | `node` | the directories on the way from a start point |
//! | `entries` | reads a directory's entries, in GNU find's order |
//! | `visitor` | evaluates the expression on an entry, with as few system calls as possible |
//! | `parallel` | reads many directories at once, and writes in GNU find's order |
//! | `sequential` | visits one entry after the other, if leaves change files |
//!
//! Invariants: only those symbolic links are followed that the options say;
//! every directory is opened by names below its start point; descriptors stay
//! below the limit of the process; output comes in the order in which GNU find
//! would print it on the same file system.

mod entries;
pub(crate) mod looker;
mod node;
mod parallel;
pub(crate) mod probe;
mod sequential;
mod visitor;

use std::ffi::CString;

use trawl_model::mapped;
use trawl_sys::directory::Links;
use trawl_sys::far::Far;
use trawl_sys::{CWD, Errno, Op, SysError};

use crate::base_name::bare_name as base_name;
use crate::context::{Context, StartPoint};
use crate::driver::{ABSENT, DriverError, Search};
use crate::printer::Part;
use looker::Looked;
use node::Node;
use probe::{LiveProbe, cause};
use visitor::Visitor;

/// See [`Search::visit_live`].
pub(crate) fn visit(search: &Search<'_>, spelled: &[u8]) -> Result<(), DriverError> {
    let point = StartPoint {
        spelled: spelled.to_vec(),
        stored: Vec::new(),
    };
    let mut visitor = Visitor::new(&search.question);
    let Some(path) = path_of(spelled) else {
        return search.complain(spelled, ABSENT);
    };
    match visitor.look_at_start(&path) {
        Err(error) => search.complain(spelled, &cause(&error).0),
        Ok(looked) => {
            if let Some(trouble) = &looked.trouble {
                return search.complain(spelled, &cause(trouble).0);
            }
            let entry = Entry {
                search,
                point: &point,
                path,
                below: None,
                device: looked.dev,
            };
            entry.visit(&mut visitor, &looked)
        }
    }
}

/// The result of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visited {
    /// The visit is complete.
    Whole,
    /// The entry could not be looked at, which was reported. The expression may
    /// still be evaluated on its path.
    Unread,
}

fn unread(search: &Search<'_>, spelled: &[u8], error: &SysError) -> Result<Visited, DriverError> {
    search.complain(spelled, &cause(error).0)?;
    Ok(match error.errno {
        Errno::LOOP => Visited::Whole,
        _ => Visited::Unread,
    })
}

/// Searches the target of a link. `below` is the link's path below the start
/// point and its depth; the start point lies on `device`.
pub(crate) fn visit_link(
    search: &Search<'_>,
    point: &StartPoint,
    below: (&[u8], usize),
    device: u64,
) -> Result<Visited, DriverError> {
    let spelled = point.spell(below.0);
    let mut visitor = Visitor::new(&search.question);
    let Some(path) = mapped::ours(&spelled) else {
        return unread(search, &spelled, &SysError::new(Op::Openat, Errno::NOENT));
    };
    let far = match Far::at(&path) {
        Ok(far) => far,
        Err(error) => return unread(search, &spelled, &error),
    };
    let path = far.short_path();
    match visitor.look_at_path(&path, base_name(below.0)) {
        Err(error) => unread(search, &spelled, &error),
        Ok(looked) => {
            if let Some(trouble) = &looked.trouble {
                search.complain(&spelled, &cause(trouble).0)?;
            }
            let entry = Entry {
                search,
                point,
                path,
                below: Some(below),
                device,
            };
            entry.visit(&mut visitor, &looked).map(|()| Visited::Whole)
        }
    }
}

/// Returns the path for system calls; `None` if it is empty or holds a NUL, or leads to no tree of
/// this machine.
pub(crate) fn path_of(spelled: &[u8]) -> Option<CString> {
    let path = mapped::ours(spelled)?;
    CString::new(path).ok().filter(|path| !path.is_empty())
}

/// Which part of the expression is evaluated on an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// All of it.
    Everything,
    /// Whether the search leaves the entry out.
    Exclusion,
    /// All of it except exclusions.
    Rest,
}

/// An entry that is reached by its path from the working directory, with
/// everything below it.
struct Entry<'e, 's> {
    search: &'e Search<'s>,
    point: &'e StartPoint,
    path: CString,
    /// Its path below the start point and its depth, if it is not the start
    /// point itself.
    below: Option<(&'e [u8], usize)>,
    device: u64,
}

impl Entry<'_, '_> {
    fn visit(self, visitor: &mut Visitor<'_>, looked: &Looked) -> Result<(), DriverError> {
        let traversal = &self.search.question.program.traversal;
        let (below, depth) = self.below.unwrap_or_default();
        let goes_in = looked.is_dir
            && depth < traversal.max_depth
            && !(traversal.one_file_system && looked.dev != self.device);
        let is_early = traversal.is_early(depth, goes_in);
        if is_early && self.evaluate(visitor, Asked::Exclusion)? {
            return Ok(());
        }
        let mut pruned = false;
        if !traversal.contents_first {
            pruned = self.evaluate(visitor, Asked::Everything)?;
        }
        if goes_in && !pruned && !self.search.has_ended() {
            let links = match self.below {
                None => visitor.links_at_start(),
                Some(_) => Links::Followed,
            };
            let root = node::start(self.path.clone(), links, looked, self.device, depth);
            walk(self.search, self.point, root, below.to_vec())?;
            if self.below.is_none() {
                self.search.leave()?;
            }
        }
        if traversal.contents_first && !self.search.has_ended() {
            let asked = match is_early {
                true => Asked::Rest,
                false => Asked::Everything,
            };
            self.evaluate(visitor, asked)?;
        }
        Ok(())
    }

    /// Evaluates the expression on the entry, which was looked at last. Returns
    /// whether it was pruned or excluded.
    fn evaluate(&self, visitor: &mut Visitor<'_>, asked: Asked) -> Result<bool, DriverError> {
        let question = &self.search.question;
        let (below, depth) = self.below.unwrap_or_default();
        if asked != Asked::Exclusion && question.program.traversal.min_depth > depth {
            return Ok(false);
        }
        let probe = match self.below {
            None => LiveProbe::at_start(CWD, question.world.follow),
            Some(_) => LiveProbe::behind(&self.path),
        };
        let mut part = Part::default();
        let mut cx = Context::new(&question.world, self.point, &probe);
        if self.below.is_some() {
            let dir = below.len() - base_name(below).len();
            let dir = below[..dir].strip_suffix(b"/").unwrap_or_default();
            cx.enter_below(&[dir], depth.saturating_sub(1));
        }
        self.search.take_turn(&mut cx);
        self.search.move_on(&mut cx);
        let program = question.program;
        let expr = match asked {
            Asked::Everything => Some(&program.expr),
            Asked::Exclusion => program.exclusion(),
            Asked::Rest => Some(program.inclusion()),
        };
        let is_true = expr.is_some_and(|expr| visitor.evaluate_looked(expr, &mut cx));
        let ends_here = match asked {
            Asked::Exclusion => is_true,
            Asked::Everything | Asked::Rest => cx.pruned,
        };
        part.take_back(cx);
        self.search.printer.emit(part)?;
        Ok(ends_here)
    }
}

fn walk(
    search: &Search<'_>,
    point: &StartPoint,
    root: Node,
    below: Vec<u8>,
) -> Result<(), DriverError> {
    if search.question.program.expr.needs_turns() {
        sequential::walk(search, point, root, below)
    } else {
        parallel::walk(search, point, root, below)
    }
}
