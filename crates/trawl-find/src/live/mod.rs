//! A search in the live file system.
//!
//! | part | what it knows |
//! |---|---|
//! | `looker` | one entry's attributes, as a row |
//! | `probe` | what leaves ask beyond the row |
//! | `node` | a directory, and how to open it |
//! | `entries` | what a directory holds, in the order in which find takes it |
//! | `visitor` | one entry: looked at as little as its expression needs, put to it |
//! | `parallel` | many directories at once, written in find's order |
//! | `sequential` | one after the other, where leaves change something |
//!
//! Invariants: no link is followed but those that are to be; every directory
//! is opened by names below its start point; descriptors stay below the
//! limit of the process; output comes in the order in which GNU find, on the
//! same file system, would print it.

mod entries;
pub(crate) mod looker;
mod node;
mod parallel;
pub(crate) mod probe;
mod sequential;
mod visitor;

use std::ffi::CString;

use trawl_sys::CWD;

use crate::context::{Context, StartPoint};
use crate::driver::{ABSENT, DriverError, Search};
use crate::printer::Part;
use node::Node;
use probe::LiveProbe;
use visitor::Visitor;

/// See [`Search::visit_live`].
pub(crate) fn visit(search: &Search<'_>, spelled: &[u8]) -> Result<(), DriverError> {
    let Some(name) = name_of(spelled) else {
        return search.complain(spelled, ABSENT);
    };
    let point = StartPoint {
        spelled: spelled.to_vec(),
        stored: Vec::new(),
    };
    let mut visitor = Visitor::new(&search.question);
    let looked = match visitor.look_at_start(&name) {
        Ok(looked) => looked,
        Err(error) => return search.complain(spelled, &error.to_string()),
    };
    let traversal = &search.question.program.traversal;
    let descends = looked.is_dir && traversal.max_depth > 0;
    let mut pruned = false;
    if !traversal.contents_first {
        pruned = start_row(search, &point, &mut visitor)?;
    }
    if descends && !pruned && !search.has_ended() {
        let root = Node::start(name.clone(), visitor.links_at_start(), &looked);
        walk(search, &point, root)?;
        search.leave()?;
    }
    if traversal.contents_first && !search.has_ended() {
        visitor
            .look_at_start(&name)
            .map_or(Ok(false), |_| start_row(search, &point, &mut visitor))?;
    }
    Ok(())
}

fn walk(search: &Search<'_>, point: &StartPoint, root: Node) -> Result<(), DriverError> {
    if search.question.program.expr.needs_turns() {
        sequential::walk(search, point, root)
    } else {
        parallel::walk(search, point, root)
    }
}

/// The empty path leads nowhere, and no path holds a NUL.
fn name_of(spelled: &[u8]) -> Option<CString> {
    CString::new(spelled).ok().filter(|name| !name.is_empty())
}

/// Puts the start point's own row to the expression; whether it was pruned.
fn start_row(
    search: &Search<'_>,
    point: &StartPoint,
    visitor: &mut Visitor<'_>,
) -> Result<bool, DriverError> {
    if search.question.program.traversal.min_depth > 0 {
        return Ok(false);
    }
    let probe = LiveProbe::at_start(CWD, search.question.world.follow);
    let mut part = Part::default();
    let mut cx = Context::new(&search.question.world, point, &probe);
    search.take_turn(&mut cx);
    search.move_on(&mut cx);
    visitor.evaluate_start(&mut cx);
    let pruned = cx.pruned;
    part.take_back(cx);
    search.printer.emit(part)?;
    Ok(pruned)
}
