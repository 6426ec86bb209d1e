//! The tables: what they are called, which columns they have, how rows of
//! the index become columns.
//!
//! A table is one row of [`TABLES`] and a module that makes batches. Columns
//! of `entries` come from the model's own table of columns.

mod acl;
mod dirs;
mod entries;
mod issues;
mod places;
mod values;
mod xattrs;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Schema, SchemaRef};
use std::num::NonZeroUsize;
use trawl_model::column::Column;
use trawl_model::filter::Filter;
use trawl_model::{Subtrees, path};
use trawl_query::{Index, SnapshotInfo, Start};

use crate::catalog::{Catalog, Edition};
use crate::error::Result;

pub(crate) use values::{Kind, Values, nanoseconds};

/// Rows of a batch, about.
const BATCH_ROWS: usize = 8192;

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    /// Entries of one snapshot of each source.
    Entries,
    /// Directories of one snapshot of each source.
    Dirs,
    /// Extended attributes.
    Xattrs,
    /// What could not be read.
    Issues,
    /// Entries of every snapshot.
    EntriesHistory,
    /// Directories of every snapshot.
    DirsHistory,
    /// What is indexed.
    Sources,
    /// Its snapshots.
    Snapshots,
}

/// A table, as the engine and its documentation know it.
pub(crate) struct TableInfo {
    /// Which one.
    pub(crate) table: Table,
    /// Its name.
    pub(crate) name: &'static str,
    /// What a row of it is.
    pub(crate) doc: &'static str,
}

/// Every table.
pub(crate) static TABLES: &[TableInfo] = &[
    TableInfo {
        table: Table::Entries,
        name: "entries",
        doc: "Every name in the indexed trees, with what it leads to, as of the current snapshots (or of --at)",
    },
    TableInfo {
        table: Table::Dirs,
        name: "dirs",
        doc: "Every directory that was listed, with sums over its entries and over all below it",
    },
    TableInfo {
        table: Table::Xattrs,
        name: "xattrs",
        doc: "Every extended attribute that may be read, with its value",
    },
    TableInfo {
        table: Table::Issues,
        name: "issues",
        doc: "What could not be read when the index was made, and directories that this user may not list",
    },
    TableInfo {
        table: Table::EntriesHistory,
        name: "entries_history",
        doc: "As entries, of every snapshot that is kept: say which in WHERE, by snapshot or as_of",
    },
    TableInfo {
        table: Table::DirsHistory,
        name: "dirs_history",
        doc: "As dirs, of every snapshot that is kept",
    },
    TableInfo {
        table: Table::Sources,
        name: "sources",
        doc: "The trees that are indexed",
    },
    TableInfo {
        table: Table::Snapshots,
        name: "snapshots",
        doc: "Their snapshots, with sums over what this user may see of each",
    },
];

/// A column of a table.
#[derive(Clone, Debug)]
pub(crate) struct TableColumn {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its type.
    pub(crate) kind: Kind,
    /// True if it may be null.
    pub(crate) nullable: bool,
    /// What it says.
    pub(crate) doc: &'static str,
}

/// Columns that tell of which snapshot a row is, in every table of rows.
pub(crate) const EDITION_COLUMNS: [TableColumn; 3] = [
    column("source", Kind::Text, "Root of the indexed tree"),
    column("snapshot", Kind::Text, "Id of the snapshot"),
    column("as_of", Kind::Time, "When the scan of the snapshot began"),
];

/// A column that is never null.
const fn column(name: &'static str, kind: Kind, doc: &'static str) -> TableColumn {
    TableColumn {
        name,
        kind,
        nullable: false,
        doc,
    }
}

/// A column that may be null.
const fn nullable(name: &'static str, kind: Kind, doc: &'static str) -> TableColumn {
    TableColumn {
        name,
        kind,
        nullable: true,
        doc,
    }
}

/// One part of a snapshot that is read.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// Where.
    pub(crate) start: Start,
    /// How far.
    pub(crate) reach: Reach,
    /// Subtrees that another source answers for.
    pub(crate) skip: Subtrees,
}

impl Target {
    /// All that lies so far below a start.
    pub(crate) fn new(start: Start, reach: Reach) -> Target {
        let skip = Subtrees::new();
        Target { start, reach, skip }
    }

    /// Leaves to sources with these roots what lies in them, if they are nearer to it than this
    /// one's: each path has one row.
    pub(crate) fn leave_to(&mut self, roots: &[&[u8]]) {
        let own = self.start.view.root();
        let is_nearer = |root: &&&[u8]| root.len() > own.len();
        let inner = roots.iter().filter(is_nearer);
        self.skip = inner
            .filter(|root| path::is_within(root, &self.start.path))
            .map(|root| root.to_vec())
            .collect();
    }

    /// True for what another source answers about.
    fn skips(&self, wanted: &[u8]) -> bool {
        self.skip.contains(wanted)
    }
}

/// How far below a start rows are taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The start itself and all below it.
    Subtree,
    /// What it holds.
    Children,
    /// What it holds, and itself: for the root of everything, whose row has
    /// no directory.
    ChildrenAndItself,
    /// The start itself.
    Itself,
}

impl Reach {
    /// True if the start's own row is among the rows.
    fn has_own(self) -> bool {
        self != Reach::Children
    }

    /// Levels below the start, as a walk counts them.
    fn max_depth(self) -> Option<usize> {
        match self {
            Reach::Subtree => None,
            Reach::Children | Reach::ChildrenAndItself => Some(1),
            Reach::Itself => Some(0),
        }
    }
}

/// What a table's rows are made of.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    /// The index.
    pub(crate) catalog: &'a Catalog,
    /// Places of the wanted columns among the table's.
    pub(crate) columns: &'a [usize],
    /// Where to read; for tables of rows.
    pub(crate) targets: &'a [Target],
    /// Snapshots to tell of; for tables about them.
    pub(crate) editions: &'a [Arc<Edition>],
    /// What rows must fulfil.
    pub(crate) filter: &'a Filter,
    /// Threads.
    pub(crate) threads: NonZeroUsize,
    /// Ends it soon after it is set.
    pub(crate) cancel: &'a AtomicBool,
}

impl Job<'_> {
    fn index(&self) -> &Index {
        self.catalog.index()
    }
}

/// Takes batches; may end the work.
pub(crate) type Take<'a> = &'a mut dyn FnMut(RecordBatch) -> ControlFlow<()>;

impl Table {
    /// Its row in [`TABLES`].
    pub(crate) fn info(self) -> &'static TableInfo {
        let of_it = |info: &&TableInfo| info.table == self;
        TABLES.iter().find(of_it).unwrap_or(&TABLES[0])
    }

    /// Its columns.
    pub(crate) fn columns(self) -> Vec<TableColumn> {
        match self {
            Table::Entries | Table::EntriesHistory => entries::columns(),
            Table::Dirs | Table::DirsHistory => dirs::columns(),
            Table::Xattrs => xattrs::columns(),
            Table::Issues => issues::columns(),
            Table::Sources => places::source_columns(),
            Table::Snapshots => places::snapshot_columns(),
        }
    }

    /// The Arrow schema.
    pub(crate) fn schema(self) -> SchemaRef {
        let columns = self.columns().into_iter();
        let fields = columns.map(|one| Field::new(one.name, one.kind.arrow(), one.nullable));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// True if it has rows of all snapshots.
    pub(crate) fn is_history(self) -> bool {
        matches!(self, Table::EntriesHistory | Table::DirsHistory)
    }

    /// True if it tells of sources and snapshots, and not of what is in them.
    pub(crate) fn is_about_places(self) -> bool {
        matches!(self, Table::Sources | Table::Snapshots)
    }

    /// The stored column that a number of a row can be ruled out by.
    pub(crate) fn stored(self, name: &str) -> Option<Column> {
        match self {
            Table::Entries | Table::EntriesHistory => entries::stored(name),
            _ => None,
        }
    }

    /// Makes the rows.
    pub(crate) fn produce(self, job: &Job<'_>, take: Take<'_>) -> Result<()> {
        match self {
            Table::Entries | Table::EntriesHistory => entries::produce(job, take),
            Table::Dirs | Table::DirsHistory => dirs::produce(job, take),
            Table::Xattrs => xattrs::produce(job, take),
            Table::Issues => issues::produce(job, take),
            Table::Sources => places::sources(job, take),
            Table::Snapshots => places::snapshots(job, take),
        }
    }
}

/// The wanted columns of some rows, under construction.
#[derive(Debug)]
struct Rows {
    schema: SchemaRef,
    columns: Vec<(usize, Values)>,
    len: usize,
    /// Columns that have as many rows as a batch, and how many.
    full: Vec<(Vec<Values>, usize)>,
}

impl Rows {
    fn new(table: &[TableColumn], wanted: &[usize]) -> Rows {
        let chosen = wanted.iter().filter_map(|at| Some((*at, table.get(*at)?)));
        let fields = chosen.clone();
        let fields = fields.map(|(_, one)| Field::new(one.name, one.kind.arrow(), one.nullable));
        Rows {
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            columns: chosen
                .map(|(at, one)| (at, Values::new(one.kind)))
                .collect(),
            len: 0,
            full: Vec::new(),
        }
    }

    /// How many rows to add next, at most: the engine counts the memory of
    /// whole batches, and large ones leave it no way to sort with little.
    fn room(&mut self) -> usize {
        if self.is_full() {
            let new = |(at, values): &(usize, Values)| (*at, values.new_like());
            let new = self.columns.iter().map(new).collect();
            let columns = std::mem::replace(&mut self.columns, new);
            let columns = columns.into_iter().map(|(_, values)| values).collect();
            self.full.push((columns, std::mem::take(&mut self.len)));
        }
        BATCH_ROWS - self.len
    }

    fn is_full(&self) -> bool {
        self.len >= BATCH_ROWS
    }

    /// What was added since [`Rows::room`] was asked last.
    fn finish(self) -> Result<RecordBatch> {
        let columns = self.columns.into_iter().map(|(_, values)| values);
        batch(&self.schema, columns.collect(), self.len)
    }

    /// Everything, in batches.
    fn finish_all(mut self) -> impl Iterator<Item = Result<RecordBatch>> {
        let columns = self.columns.into_iter().map(|(_, values)| values);
        self.full.push((columns.collect(), self.len));
        let some = self.full.into_iter().filter(|(_, rows)| *rows > 0);
        some.map(move |(columns, rows)| batch(&self.schema, columns, rows))
    }
}

fn batch(schema: &SchemaRef, columns: Vec<Values>, rows: usize) -> Result<RecordBatch> {
    let arrays: std::result::Result<Vec<ArrayRef>, _> =
        columns.into_iter().map(Values::finish).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let arrays = arrays.map_err(engine)?;
    RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options).map_err(engine)
}

fn engine(error: arrow::error::ArrowError) -> crate::error::SqlError {
    datafusion::error::DataFusionError::from(error).into()
}

/// Fills a column that is the same for all rows of a snapshot, `after` the
/// table's own columns.
fn fill_edition(values: &mut Values, which: usize, info: &SnapshotInfo, rows: usize) {
    match (values, which) {
        (Values::Text(texts), 0) => {
            let root = trawl_model::path::display(&info.root);
            texts.push_times(trawl_model::escape::escape(root).as_bytes(), rows);
        }
        (Values::Text(texts), _) => texts.push_times(info.id.to_string().as_bytes(), rows),
        (Values::Time(times), _) => {
            times.resize(times.len() + rows, Some(nanoseconds(info.started)));
        }
        _ => {}
    }
}

/// What the shell and the documentation say about the tables.
pub fn help() -> String {
    let mut out = String::new();
    for info in TABLES {
        out.push_str(&format!("\n### {}\n\n{}.\n\n", info.name, info.doc));
        if info.table.is_history() {
            out.push_str("Columns as above.\n");
            continue;
        }
        out.push_str("| column | type | what it says |\n|---|---|---|\n");
        for one in info.table.columns() {
            let or_null = if one.nullable { ", may be null" } else { "" };
            let (name, kind) = (one.name, one.kind.name());
            out.push_str(&format!("| `{name}` | {kind}{or_null} | {} |\n", one.doc));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_rows_tell_where_they_are_from() {
        for info in TABLES {
            let columns = info.table.columns();
            for (at, one) in columns.iter().enumerate() {
                assert!(
                    columns[..at].iter().all(|other| other.name != one.name),
                    "{}",
                    one.name
                );
            }
            if !info.table.is_about_places() {
                let last: Vec<_> = columns.iter().rev().take(3).map(|one| one.name).collect();
                assert_eq!(last, ["as_of", "snapshot", "source"], "{}", info.name);
            }
            assert_eq!(info.table.info().name, info.name);
        }
    }
}
