//! The entries of a named index, in the order of their values.

mod contents;
mod xattrs;

use std::collections::BinaryHeap;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;

use trawl_find::grouping::Members;
use trawl_find::resolve::Follow;
use trawl_indices::Definition;
use trawl_keywords::{AttributeValue, Contents, ValueTest};
use trawl_model::Regions;
use trawl_model::column::{Column, ColumnSet};
use trawl_model::filter::{Clause, Filter};
use trawl_model::path::{self, display};
use trawl_model::rows::{self, RowBatch};
use trawl_query::{Listing, Request, Start};
use trawl_session::{Depth, Part, Session};

use crate::error::AnswerError;

/// Returns the smallest and the largest value of the first attributes of an index, inclusive, or
/// why it cannot.
pub type Ranges<'r> = dyn Fn(&Definition) -> Result<Vec<(i128, i128)>, String> + 'r;

/// Returns which values of an index over an attribute of contents are wanted, or why it cannot.
pub type Tests<'r> = dyn Fn(&Definition) -> Result<ValueTest, String> + 'r;

/// Values of an extended attribute, in the order of their bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The smallest; without it, the first that there is.
    pub low: Option<Vec<u8>>,
    /// The largest, inclusive; without it, the last that there is.
    pub high: Option<Vec<u8>>,
}

impl Span {
    fn admits(&self, value: &[u8]) -> bool {
        let is_before = |low: &Vec<u8>| value < &low[..];
        let is_behind = |high: &Vec<u8>| value > &high[..];
        !self.low.as_ref().is_some_and(is_before) && !self.high.as_ref().is_some_and(is_behind)
    }
}

/// Returns which values of an index over an extended attribute are wanted.
pub type Spans<'r> = dyn Fn(&Definition) -> Span + 'r;

/// Which entries are wanted.
pub struct NamedOptions<'r> {
    /// The values of an index over columns.
    pub ranges: &'r Ranges<'r>,
    /// The values of an index over contents.
    pub tests: &'r Tests<'r>,
    /// The values of an index over an extended attribute.
    pub spans: &'r Spans<'r>,
    /// What packs know of contents. Has answered nothing yet.
    pub contents: &'r Contents,
    /// If given, only these files are wanted.
    pub members: Option<&'r Members>,
    /// Maximum number of entries.
    pub limit: usize,
}

/// The files that are wanted.
struct Among<'r> {
    /// All if `None`; otherwise these, and the directories that they are in.
    members: Option<(&'r Members, Regions)>,
}

impl<'r> Among<'r> {
    fn new(members: Option<&'r Members>) -> Among<'r> {
        Among {
            members: members.map(|members| (members, members.directories())),
        }
    }

    /// Returns the only directories to read, if there are others.
    fn only(&self) -> Option<&Regions> {
        self.members.as_ref().map(|(_, dirs)| dirs)
    }

    fn has(&self, dir: &[u8], name: &[u8]) -> bool {
        self.members
            .as_ref()
            .is_none_or(|(members, _)| members.has(dir, name))
    }
}

/// The values that an entry has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Values {
    /// Those of the columns of the index.
    Columns(Vec<i128>),
    /// One of the attribute of contents. An entry with several values occurs with each.
    Content(AttributeValue),
    /// That of the extended attribute.
    Xattr(Vec<u8>),
}

/// An entry. Values are compared first, then paths.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Valued {
    /// Values of the attributes of the index.
    pub values: Values,
    /// Path components, so that paths are in the order of walks.
    order: Vec<u8>,
    /// The path as stored.
    pub path: Vec<u8>,
}

impl Valued {
    fn new(values: Values, path: Vec<u8>) -> Valued {
        // A separator before every other byte, so that what is below a directory follows it.
        let order = path
            .iter()
            .map(|byte| if *byte == b'/' { 0 } else { *byte });
        Valued {
            values,
            order: order.collect(),
            path,
        }
    }
}

/// A file whose content decides and is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// Its path, as stored.
    pub path: Vec<u8>,
    /// The reason, in words.
    pub reason: String,
}

/// The entries, and what they are entries of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The index.
    pub definition: Definition,
    /// The path, as stored, that they are below.
    pub below: Vec<u8>,
    /// The entries, in order.
    pub entries: Vec<Valued>,
    /// Whether there are more.
    pub is_cut: bool,
    /// Files that may belong here, too.
    pub unread: Vec<Unread>,
}

/// Returns the entries at and below `given` whose values lie in the ranges: the first in the order
/// of the index. `None` if `given` does not exist, which the session reports.
///
/// # Errors
/// [`AnswerError::NoNamedIndex`], [`AnswerError::NoXattrs`], [`AnswerError::Graph`], and if the index
/// cannot be read.
pub fn named(
    session: &mut Session<'_>,
    (name, given): (&str, &OsStr),
    options: &NamedOptions<'_>,
) -> Result<Option<Named>, AnswerError> {
    let Some(start) = session.locate(given, Follow::Last)? else {
        return Ok(None);
    };
    let is_it = |one: &&Definition| one.name() == name;
    let found = start.view.named_indices().iter().find(is_it).cloned();
    let Some(definition) = found else {
        return Err(AnswerError::NoNamedIndex {
            name: name.to_owned(),
            root: display(start.view.root()).to_vec(),
        });
    };
    session.note_part(&start, given.as_bytes(), &Part::whole(Depth::All))?;
    let among = Among::new(options.members);
    let (mut entries, unread) = entries(session, &start, (&definition, &among), options)?;
    let is_cut = entries.len() > options.limit;
    entries.truncate(options.limit);
    Ok(Some(Named {
        definition,
        below: start.path.clone(),
        entries,
        is_cut,
        unread,
    }))
}

/// Returns the first entries in order, one more than the limit if there are more, and the files whose
/// values are not known.
fn entries(
    session: &Session<'_>,
    start: &Start,
    (definition, among): (&Definition, &Among<'_>),
    options: &NamedOptions<'_>,
) -> Result<(Vec<Valued>, Vec<Unread>), AnswerError> {
    if definition.relations().is_some() {
        return Err(AnswerError::Graph {
            name: definition.name().to_owned(),
            root: display(start.view.root()).to_vec(),
        });
    }
    if definition.content().is_some() {
        let test = (options.tests)(definition).map_err(AnswerError::Expression)?;
        let asked = (options.contents, &test, among);
        return contents::first(session, start, asked, options.limit);
    }
    let entries = match definition.xattr() {
        Some(name) => {
            let span = (options.spans)(definition);
            xattrs::first(session, start, (name, &span, among), options.limit)?
        }
        None => of_columns(session, start, (definition, among), options)?,
    };
    Ok((entries, Vec::new()))
}

fn of_columns(
    session: &Session<'_>,
    start: &Start,
    (definition, among): (&Definition, &Among<'_>),
    options: &NamedOptions<'_>,
) -> Result<Vec<Valued>, AnswerError> {
    let columns = definition.attributes();
    let ranges = (options.ranges)(definition).map_err(AnswerError::Expression)?;
    let filter = filter(columns, &ranges);
    first(session, start, (columns, filter, among), options.limit)
}

fn filter(columns: &[Column], ranges: &[(i128, i128)]) -> Filter {
    let mut filter = Filter::default();
    for (column, (low, high)) in columns.iter().zip(ranges) {
        filter.add(Clause {
            column: *column,
            low: *low,
            high: *high,
        });
    }
    filter
}

/// Returns the first entries in order, and one more than the limit if there are more.
fn first(
    session: &Session<'_>,
    start: &Start,
    (columns, filter, among): (&[Column], Filter, &Among<'_>),
    limit: usize,
) -> Result<Vec<Valued>, AnswerError> {
    let request = Request {
        columns: ColumnSet::of(columns).union(ColumnSet::of(&[Column::Name])),
        filter: filter.clone(),
        only: among.only(),
        cancel: session.cancel(),
        ..Request::default()
    };
    let kept = limit.saturating_add(1);
    let work = |listing: &Listing<'_>, out: &mut BinaryHeap<Valued>| {
        for at in listing.range.clone() {
            if among.has(listing.dir.path, listing.batch.name.get(at))
                && let Some(one) = valued(listing, at, (columns, &filter))
            {
                keep(out, one, kept);
            }
        }
    };
    let mut all = BinaryHeap::new();
    start.walk(&request, work, |found| {
        found.into_iter().for_each(|one| keep(&mut all, one, kept));
        ControlFlow::Continue(())
    })?;
    Ok(all.into_sorted_vec())
}

/// Adds an entry to the smallest `most`.
fn keep(heap: &mut BinaryHeap<Valued>, one: Valued, most: usize) {
    if heap.len() < most {
        heap.push(one);
    } else if let Some(mut last) = heap.peek_mut()
        && one < *last
    {
        *last = one;
    }
}

/// Returns an entry of a listing; `None` if its values lie outside the filter.
fn valued(
    listing: &Listing<'_>,
    at: usize,
    (columns, filter): (&[Column], &Filter),
) -> Option<Valued> {
    let values = columns
        .iter()
        .map(|column| number(listing.batch, *column, at));
    let values: Vec<i128> = values.collect::<Option<_>>()?;
    let admits = |clause: &Clause| {
        let place = columns.iter().position(|column| *column == clause.column);
        place.is_none_or(|place| clause.admits(values[place]))
    };
    if !filter.clauses.iter().all(admits) {
        return None;
    }
    let path = path::join(listing.dir.path, listing.batch.name.get(at));
    Some(Valued::new(Values::Columns(values), path))
}

fn number(batch: &RowBatch, column: Column, at: usize) -> Option<i128> {
    match batch.values(column) {
        rows::Values::U32(numbers, _) => numbers.get(at).map(|number| i128::from(*number)),
        rows::Values::U64(numbers, _) => numbers.get(at).map(|number| i128::from(*number)),
        rows::Values::I64(numbers, _) => numbers.get(at).map(|number| i128::from(*number)),
        rows::Values::Bytes(_) | rows::Values::Derived => None,
    }
}
