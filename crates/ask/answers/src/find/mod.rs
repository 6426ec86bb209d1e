//! Entries that a find expression selects.
//!
//! [`find`] passes on typed rows in path order, for expressions that only test entries.
//! [`ProgramSearch`] runs whole programs of find, which print and act by themselves.

mod program;

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;

use trawl_find::SieveAt;
use trawl_model::column::{Column, ColumnSet};
use trawl_model::rows::Row;
use trawl_query::{Entry, Listing, Request, RowTest, Start};
use trawl_session::spelling::printed_path;
use trawl_session::{Depth, Follow, Part, Session};

pub use self::program::{ProgramSearch, Remarks, Searched};
use crate::error::{AnswerError, Ended};
use crate::expression::Expression;

/// Which entries are found, and what is read of them.
pub struct FindOptions<'a> {
    /// The entries.
    pub expression: &'a Expression,
    /// Columns that the visitor looks at.
    pub columns: ColumnSet,
}

/// An entry that was found.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// Path, spelled as the user began.
    pub path: &'a [u8],
    /// The entry.
    pub entry: &'a Entry,
}

/// Receiver of entries.
pub type Visit<'v> = dyn FnMut(&Found<'_>) -> ControlFlow<()> + 'v;

/// Passes the entries at and below a path that the expression selects to `visit`, until the visitor
/// ends the answer. The session reports a path that does not exist.
///
/// # Errors
/// If the index cannot be read.
pub fn find(
    session: &mut Session<'_>,
    given: &OsStr,
    options: &FindOptions<'_>,
    visit: &mut Visit<'_>,
) -> Result<(), AnswerError> {
    let Some(start) = session.locate(given, Follow::Never)? else {
        return Ok(());
    };
    let name = given.as_bytes();
    Ended::error(search(session, &start, name, options, visit))?;
    Ok(session.note_part(&start, name, &Part::whole(Depth::All))?)
}

fn search(
    session: &Session<'_>,
    start: &Start,
    name: &[u8],
    options: &FindOptions<'_>,
    visit: &mut Visit<'_>,
) -> Result<(), Ended> {
    let sieve = options.expression.at(session.index(), start, name);
    let (nearest, farthest) = sieve.as_ref().map_or((0, None), RowTest::depths);
    let own = start.own_row();
    if nearest == 0 && admits(sieve.as_ref(), &own, 0) {
        Ended::check(visit(&Found {
            path: name,
            entry: &entry(&own),
        }))?;
    }
    if !start.is_dir {
        return Ok(());
    }
    let tested = sieve
        .as_ref()
        .map_or(ColumnSet::default(), RowTest::columns);
    let request = Request {
        columns: options
            .columns
            .union(tested)
            .union(ColumnSet::of(&[Column::Name])),
        filter: sieve.as_ref().map(RowTest::filter).unwrap_or_default(),
        min_depth: nearest,
        max_depth: farthest,
        cancel: session.cancel(),
        ..Request::default()
    };
    let work = |listing: &Listing<'_>, found: &mut Vec<Entry>| {
        let rows = listing.range.clone().map(|at| Row {
            batch: listing.batch,
            at,
            dir: listing.dir.path,
        });
        let depth = listing.dir.depth + 1;
        let rows = rows.filter(|row| admits(sieve.as_ref(), row, depth));
        found.extend(rows.map(|row| entry(&row)));
    };
    let mut flow = ControlFlow::Continue(());
    session.index().walk(start, &request, work, |found| {
        flow = found.iter().try_for_each(|entry| {
            let path = &printed_path(name, &start.path, &entry.path);
            visit(&Found { path, entry })
        });
        flow
    })?;
    Ended::check(flow)
}

fn admits(sieve: Option<&SieveAt<'_>>, row: &Row<'_>, depth: usize) -> bool {
    sieve.is_none_or(|sieve| sieve.admits(row, depth))
}

fn entry(row: &Row<'_>) -> Entry {
    Entry {
        path: row.path(),
        row: row.alone(),
    }
}
