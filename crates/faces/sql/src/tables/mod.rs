//! Defines the tables: their names, their columns, and how rows of the index become columns.
//!
//! A table is one row of [`TABLES`] and a module that makes batches. The columns of `entries` come
//! from the model's own table of columns.

mod acl;
mod attributes;
mod dirs;
mod entries;
mod files;
mod groups;
mod issues;
mod places;
mod relations;
mod values;
mod xattrs;

use std::collections::BTreeSet;
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

/// Approximate rows per batch.
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
    /// Named attributes of contents.
    Attributes,
    /// Groups of files.
    FileGroups,
    /// Files with their groups.
    GroupMembers,
    /// Relations that files have to others.
    Relations,
    /// Paths that could not be read.
    Issues,
    /// Entries of every snapshot.
    EntriesHistory,
    /// Directories of every snapshot.
    DirsHistory,
    /// Indexed sources.
    Sources,
    /// Their snapshots.
    Snapshots,
}

/// A table with its documentation.
pub(crate) struct TableInfo {
    /// The table.
    pub(crate) table: Table,
    /// Its name.
    pub(crate) name: &'static str,
    /// The meaning of its rows.
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
        doc: "Every directory that was listed, with sums over its entries and over everything below it",
    },
    TableInfo {
        table: Table::Xattrs,
        name: "xattrs",
        doc: "Every extended attribute that the user may know of, with its value if readable",
    },
    TableInfo {
        table: Table::Attributes,
        name: "attributes",
        doc: "Every value of every named attribute that hooks find in regular files or programs set; files are read for it, so name attributes (`attr = 'artist'`) or a part of the tree",
    },
    TableInfo {
        table: Table::FileGroups,
        name: "file_groups",
        doc: "Every group of files that belong together (packages, projects, albums, events, directories), with a summary of the members that this user may see",
    },
    TableInfo {
        table: Table::GroupMembers,
        name: "group_members",
        doc: "Every file with the group that it belongs to, and why",
    },
    TableInfo {
        table: Table::Relations,
        name: "relations",
        doc: "Every relation that a regular file has to another, as this user sees both now; files are read for it, so name a part of the tree, or kinds that programs taught (`kind = 'built-from'`)",
    },
    TableInfo {
        table: Table::Issues,
        name: "issues",
        doc: "Paths that could not be read when the index was made, and directories that this user may not list",
    },
    TableInfo {
        table: Table::EntriesHistory,
        name: "entries_history",
        doc: "Like entries, for every retained snapshot: choose one in WHERE, by snapshot or as_of",
    },
    TableInfo {
        table: Table::DirsHistory,
        name: "dirs_history",
        doc: "Like dirs, for every retained snapshot",
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
    /// Whether it may be null.
    pub(crate) nullable: bool,
    /// Its meaning.
    pub(crate) doc: &'static str,
}

/// Columns that identify a row's snapshot, in every table of rows.
pub(crate) const EDITION_COLUMNS: [TableColumn; 3] = [
    column("source", Kind::Text, "Root of the indexed tree"),
    column("snapshot", Kind::Text, "Id of the snapshot"),
    column("as_of", Kind::Time, "When the scan of the snapshot began"),
];

/// Makes a column that is never null.
const fn column(name: &'static str, kind: Kind, doc: &'static str) -> TableColumn {
    TableColumn {
        name,
        kind,
        nullable: false,
        doc,
    }
}

/// Makes a column that may be null.
const fn nullable(name: &'static str, kind: Kind, doc: &'static str) -> TableColumn {
    TableColumn {
        name,
        kind,
        nullable: true,
        doc,
    }
}

/// A part of a snapshot to read.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// Where it starts.
    pub(crate) start: Start,
    /// How far below the start it reaches.
    pub(crate) reach: Reach,
    /// Subtrees that another source answers for.
    pub(crate) skip: Subtrees,
}

impl Target {
    /// Makes a target without skipped subtrees.
    pub(crate) fn new(start: Start, reach: Reach) -> Target {
        let skip = Subtrees::new();
        Target { start, reach, skip }
    }

    /// Leaves to sources with these roots the paths that lie in them, if their roots are nearer
    /// than this source's: each path has one row.
    pub(crate) fn leave_to(&mut self, roots: &[&[u8]]) {
        let own = self.start.view.root();
        let is_nearer = |root: &&&[u8]| root.len() > own.len();
        let inner = roots.iter().filter(is_nearer);
        self.skip = inner
            .filter(|root| path::is_within(root, &self.start.path))
            .map(|root| root.to_vec())
            .collect();
    }

    /// Returns true for paths that another source answers for.
    fn skips(&self, wanted: &[u8]) -> bool {
        self.skip.contains(wanted)
    }
}

/// How far below a start rows are taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The start and everything below it.
    Subtree,
    /// The start's entries.
    Children,
    /// The start's entries and the start: for `/`, whose row has no directory.
    ChildrenAndItself,
    /// The start only.
    Itself,
}

impl Reach {
    /// Returns true if the start's own row is included.
    fn has_own(self) -> bool {
        self != Reach::Children
    }

    /// Returns the number of levels below the start, as a walk counts them.
    fn max_depth(self) -> Option<usize> {
        match self {
            Reach::Subtree => None,
            Reach::Children | Reach::ChildrenAndItself => Some(1),
            Reach::Itself => Some(0),
        }
    }
}

/// The input from which a table's rows are made.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    /// The index.
    pub(crate) catalog: &'a Catalog,
    /// Indexes of the requested columns among the table's.
    pub(crate) columns: &'a [usize],
    /// Parts to read, for tables of rows.
    pub(crate) targets: &'a [Target],
    /// Snapshots to describe, for tables about snapshots.
    pub(crate) editions: &'a [Arc<Edition>],
    /// Necessary conditions on rows.
    pub(crate) filter: &'a Filter,
    /// Attributes, or kinds of relations, of which each row has one; `None` if conditions name none.
    pub(crate) names: Option<&'a BTreeSet<String>>,
    /// Number of threads.
    pub(crate) threads: NonZeroUsize,
    /// Ends the work soon after it is set.
    pub(crate) cancel: &'a AtomicBool,
}

impl Job<'_> {
    fn index(&self) -> &Index {
        self.catalog.index()
    }
}

/// Receives batches; may end the work.
pub(crate) type Take<'a> = &'a mut dyn FnMut(RecordBatch) -> ControlFlow<()>;

impl Table {
    /// Returns its row in [`TABLES`].
    pub(crate) fn info(self) -> &'static TableInfo {
        let of_it = |info: &&TableInfo| info.table == self;
        TABLES.iter().find(of_it).unwrap_or(&TABLES[0])
    }

    /// Returns its columns.
    pub(crate) fn columns(self) -> Vec<TableColumn> {
        match self {
            Table::Entries | Table::EntriesHistory => entries::columns(),
            Table::Dirs | Table::DirsHistory => dirs::columns(),
            Table::Xattrs => xattrs::columns(),
            Table::Attributes => attributes::columns(),
            Table::FileGroups => groups::group_columns(),
            Table::GroupMembers => groups::member_columns(),
            Table::Relations => relations::columns(),
            Table::Issues => issues::columns(),
            Table::Sources => places::source_columns(),
            Table::Snapshots => places::snapshot_columns(),
        }
    }

    /// Returns the Arrow schema.
    pub(crate) fn schema(self) -> SchemaRef {
        let columns = self.columns().into_iter();
        let fields = columns.map(|one| Field::new(one.name, one.kind.arrow(), one.nullable));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// Returns true if it has rows of all snapshots.
    pub(crate) fn is_history(self) -> bool {
        matches!(self, Table::EntriesHistory | Table::DirsHistory)
    }

    /// Returns true if each of its rows is a name with what it leads to.
    pub(crate) fn has_entries(self) -> bool {
        matches!(self, Table::Entries | Table::EntriesHistory)
    }

    /// Returns the column by whose value rows are left out before files are read.
    pub(crate) fn name_column(self) -> Option<&'static str> {
        match self {
            Table::Attributes => Some("attr"),
            Table::Relations => Some("kind"),
            _ => None,
        }
    }

    /// Returns true if it describes sources and snapshots, not their content.
    pub(crate) fn is_about_places(self) -> bool {
        matches!(self, Table::Sources | Table::Snapshots)
    }

    /// Returns the stored column by which a condition on the column `name` can rule out rows.
    pub(crate) fn stored(self, name: &str) -> Option<Column> {
        match self {
            Table::Entries | Table::EntriesHistory => entries::stored(name),
            _ => None,
        }
    }

    /// Produces the rows.
    pub(crate) fn produce(self, job: &Job<'_>, take: Take<'_>) -> Result<()> {
        match self {
            Table::Entries | Table::EntriesHistory => entries::produce(job, take),
            Table::Dirs | Table::DirsHistory => dirs::produce(job, take),
            Table::Xattrs => xattrs::produce(job, take),
            Table::Attributes => attributes::produce(job, take),
            Table::FileGroups => groups::groups(job, take),
            Table::GroupMembers => groups::members(job, take),
            Table::Relations => relations::produce(job, take),
            Table::Issues => issues::produce(job, take),
            Table::Sources => places::sources(job, take),
            Table::Snapshots => places::snapshots(job, take),
        }
    }
}

/// The requested columns of some rows, under construction.
#[derive(Debug)]
struct Rows {
    schema: SchemaRef,
    columns: Vec<(usize, Values)>,
    len: usize,
    /// Complete batches of columns, each with its number of rows.
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

    /// Returns how many rows to add next, at most. The engine counts the memory of whole batches,
    /// and large ones leave it no way to sort with little memory.
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

    /// Returns the rows added since the last call of [`Rows::room`].
    fn finish(self) -> Result<RecordBatch> {
        let columns = self.columns.into_iter().map(|(_, values)| values);
        batch(&self.schema, columns.collect(), self.len)
    }

    /// Returns all rows, in batches.
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

/// Fills column `which` of [`EDITION_COLUMNS`], whose value is the same for all rows of a snapshot.
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

/// Renders the tables for the shell and the documentation.
pub fn help() -> String {
    let mut out = String::new();
    for info in TABLES {
        out.push_str(&format!("\n### {}\n\n{}.\n\n", info.name, info.doc));
        if info.table.is_history() {
            out.push_str("Columns as above.\n");
            continue;
        }
        out.push_str("| column | type | meaning |\n|---|---|---|\n");
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
            // A group can have members in several sources.
            if !info.table.is_about_places() && info.table != Table::FileGroups {
                let last: Vec<_> = columns.iter().rev().take(3).map(|one| one.name).collect();
                assert_eq!(last, ["as_of", "snapshot", "source"], "{}", info.name);
            }
            assert_eq!(info.table.info().name, info.name);
        }
    }
}
