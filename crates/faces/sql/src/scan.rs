//! Provides a table of the index as a source of the engine's plans.
//!
//! Planning a scan determines what must be read: the snapshots (predicates on `source`, `snapshot`
//! and `as_of` are evaluated for each), the areas of the tree, and the intervals of numbers
//! ([`crate::narrow`]); EXPLAIN shows the result. The engine filters the rows read. Rows come in
//! path order, from threads of the index's own reader. A scan ends soon after its stream is
//! dropped.

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DFSchema, DataFusionError, Statistics, stats::Precision};
use datafusion::error::Result;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::expr_rewriter::unnormalize_col;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::Stream;
use tokio::sync::mpsc;
use trawl_model::filter::Filter;
use trawl_model::need::{At, Need};
use trawl_model::path;

use crate::areas::{Area, Areas};
use crate::catalog::{Catalog, Edition};
use crate::contents::{Sift, Wanted, is_about_contents};
use crate::error::SqlError;
use crate::narrow::{Narrowed, narrow};
use crate::tables::{EDITION_COLUMNS, Job, Reach, Table, Target, Values, nanoseconds};

/// Maximum number of batches that wait to be taken.
const WAITING: usize = 4;

/// A table for the engine.
#[derive(Debug)]
pub(crate) struct IndexTable {
    table: Table,
    catalog: Arc<Catalog>,
    threads: NonZeroUsize,
    schema: SchemaRef,
    /// What rows are restricted to.
    scope: Areas,
}

impl IndexTable {
    /// Makes a table over a catalogue.
    pub(crate) fn new(table: Table, catalog: Arc<Catalog>, threads: NonZeroUsize) -> IndexTable {
        IndexTable {
            schema: table.schema(),
            table,
            catalog,
            threads,
            scope: Areas::Everywhere,
        }
    }

    /// Restricts the rows to a directory and what lies below it, before any other condition.
    pub(crate) fn below(self, top: Option<Vec<u8>>) -> IndexTable {
        let scope = top.map(|top| Areas::one(Area::Subtree(top)));
        IndexTable {
            scope: scope.unwrap_or(self.scope),
            ..self
        }
    }

    /// Returns the snapshots that satisfy the predicates about snapshots.
    fn editions(&self, state: &dyn Session, filters: &[Expr]) -> Result<Chosen> {
        let all = match self.table.is_history() || self.table.is_about_places() {
            true => self.catalog.all(),
            false => self.catalog.chosen(),
        };
        let all = all.map_err(external)?;
        let about: Vec<&Expr> = filters.iter().filter(|one| is_about_edition(one)).collect();
        let mut kept = Vec::new();
        for edition in all {
            if self.table.is_about_places() || admits(state, &about, edition)? {
                kept.push(Arc::clone(edition));
            }
        }
        Ok(Chosen {
            of: all.len(),
            kept,
        })
    }

    /// Returns the parts of these snapshots to read.
    fn targets(&self, editions: &[Arc<Edition>], areas: &Areas) -> crate::error::Result<Parts> {
        let mut parts = Parts::default();
        for edition in editions {
            let Some(view) = self.catalog.view(edition)? else {
                continue;
            };
            let root = view.root().to_vec();
            let before = parts.targets.len();
            for area in clipped(&root, areas) {
                if let Some(start) = self.catalog.start(&view, area.path())? {
                    let reach = reach(&area, start.is_dir);
                    if reach != Reach::Itself && self.names(areas, area.path()) {
                        self.catalog.note_unlisted(&start)?;
                    }
                    parts.targets.push(Target::new(start, reach));
                }
            }
            let targets = &parts.targets[before..];
            parts.segments += view.stored_segments();
            parts.segments_read += segments_of(&view, targets);
            parts.rows_of += rows_of(&view);
            self.catalog.note(&edition.info);
        }
        if let (Areas::These(areas), false) = (areas, self.table.is_history()) {
            for area in areas {
                let hidden = self.catalog.hidden_start(area.path())?;
                let target = |start: trawl_query::Start| {
                    let reach = reach(area, start.is_dir);
                    Target::new(start, reach)
                };
                parts.targets.extend(hidden.map(target));
            }
        }
        if !self.table.is_history() {
            leave_to_nearer(editions, &mut parts.targets);
        }
        parts.count(&self.catalog, areas)?;
        Ok(parts)
    }

    /// Returns true if a condition names exactly this path.
    fn names(&self, areas: &Areas, wanted: &[u8]) -> bool {
        match areas {
            Areas::Everywhere => false,
            Areas::These(areas) => areas.iter().any(|area| area.path() == wanted),
        }
    }

    /// Notes requested data that the chosen snapshots lack: sources without a snapshot for the
    /// requested time, and paths in conditions that are not indexed.
    fn note_absent(&self, state: &dyn Session, filters: &[Expr], areas: &Areas) -> Result<()> {
        if self.table.is_about_places() {
            return Ok(());
        }
        let is_past = !self.table.is_history();
        let catalog = &self.catalog;
        let mut lacking = Vec::new();
        if is_past {
            catalog.check_any().map_err(external)?;
            lacking = catalog.lacking().map_err(external)?;
        }
        let about: Vec<&Expr> = filters.iter().filter(|one| is_about_source(one)).collect();
        for (root, why) in &lacking {
            let is_asked =
                !clipped(root, areas).is_empty() && admits(state, &about, &catalog.stand_in(root))?;
            if is_asked {
                catalog.unseen(root, why.clone());
            }
        }
        let Areas::These(named) = areas else {
            return Ok(());
        };
        for area in named {
            let only = Areas::one(area.clone());
            let roots = catalog.index().sources().iter().map(|source| source.root());
            if roots
                .into_iter()
                .all(|root| clipped(root, &only).is_empty())
            {
                catalog.note_unindexed(area.path()).map_err(external)?;
            }
        }
        Ok(())
    }
}

/// Assigns each path to the snapshot whose root is nearest to it.
pub(crate) fn leave_to_nearer(editions: &[Arc<Edition>], targets: &mut [Target]) {
    let roots: Vec<&[u8]> = editions.iter().map(|one| &one.info.root[..]).collect();
    if roots.len() > 1 {
        targets
            .iter_mut()
            .for_each(|target| target.leave_to(&roots));
    }
}

/// The snapshots to read, and the number of candidates.
struct Chosen {
    of: usize,
    kept: Vec<Arc<Edition>>,
}

/// The parts that a scan reads, with counts of what is read and of the whole.
#[derive(Debug, Default)]
struct Parts {
    targets: Vec<Target>,
    segments: usize,
    segments_read: usize,
    /// Rows of the targets, as far as sums tell.
    rows: u64,
    rows_of: u64,
}

impl Parts {
    fn count(&mut self, catalog: &Catalog, areas: &Areas) -> crate::error::Result<()> {
        if *areas == Areas::Everywhere {
            self.rows = self.rows_of;
            return Ok(());
        }
        for target in &self.targets {
            self.rows += match target.reach {
                Reach::Itself => 1,
                Reach::Subtree => {
                    let below = catalog.index().totals(&target.start)?;
                    below.sums.entries().saturating_add(1)
                }
                Reach::Children | Reach::ChildrenAndItself => children(catalog, target)?,
            };
        }
        Ok(())
    }
}

/// Returns the number of rows of one directory.
fn children(catalog: &Catalog, target: &Target) -> crate::error::Result<u64> {
    let request = trawl_query::DirRequest {
        max_depth: Some(0),
        ..trawl_query::DirRequest::default()
    };
    let mut rows = 0;
    catalog
        .index()
        .directories(&target.start, &request, |directory| {
            rows = directory.rows();
            ControlFlow::Break(())
        })?;
    Ok(rows)
}

/// Returns the number of entry rows of a view.
fn rows_of(view: &trawl_query::View) -> u64 {
    let shards = view.shards().iter();
    shards.fold(0u64, |sum, shard| {
        sum.saturating_add(shard.manifest.totals.entries)
    })
}

/// Returns the number of segments of a view that may have rows of these targets.
fn segments_of(view: &trawl_query::View, targets: &[Target]) -> usize {
    let segments = view
        .shards()
        .iter()
        .flat_map(|shard| &shard.manifest.segments);
    let is_read = |segment: &&trawl_format::SegmentInfo| {
        let (Some(first), Some(last)) = (&segment.first_dir, &segment.last_dir) else {
            return true;
        };
        targets.iter().any(|target| match target.reach {
            Reach::Subtree => {
                let top = &target.start.path;
                path::cmp_subtree(last, top).is_ge() && path::cmp_subtree(first, top).is_le()
            }
            Reach::Children | Reach::ChildrenAndItself => {
                let dir = &target.start.path;
                path::cmp(first, dir).is_le() && path::cmp(dir, last).is_le()
            }
            Reach::Itself => false,
        })
    };
    segments.filter(is_read).count()
}

/// Restricts areas to a source with this root.
fn clipped(root: &[u8], areas: &Areas) -> Vec<Area> {
    let Areas::These(areas) = areas else {
        return vec![Area::Subtree(root.to_vec())];
    };
    let clip = |area: &Area| match area {
        _ if path::is_within(area.path(), root) => Some(area.clone()),
        Area::Subtree(top) if path::is_within(root, top) => Some(Area::Subtree(root.to_vec())),
        // The root's own row.
        Area::Children(dir) if path::split(root).is_some_and(|(above, _)| above == dir) => {
            Some(Area::Entry(root.to_vec()))
        }
        _ => None,
    };
    areas.iter().filter_map(clip).collect()
}

fn reach(area: &Area, is_dir: bool) -> Reach {
    match area {
        Area::Entry(_) => Reach::Itself,
        _ if !is_dir => match area {
            Area::Subtree(_) => Reach::Itself,
            _ => Reach::Children,
        },
        Area::Subtree(_) => Reach::Subtree,
        // The root's row has the root's own path as its directory.
        Area::Children(dir) if dir.is_empty() => Reach::ChildrenAndItself,
        Area::Children(_) => Reach::Children,
    }
}

/// Returns true if a predicate is only about the source.
fn is_about_source(predicate: &Expr) -> bool {
    let columns = predicate.column_refs();
    !columns.is_empty() && columns.iter().all(|column| column.name == "source")
}

/// Returns true if a predicate is only about the snapshot.
fn is_about_edition(predicate: &Expr) -> bool {
    let columns = predicate.column_refs();
    let is_known = |name: &str| EDITION_COLUMNS.iter().any(|one| one.name == name);
    !columns.is_empty() && columns.iter().all(|column| is_known(&column.name))
}

/// Returns true if rows of a snapshot can satisfy all these predicates.
fn admits(state: &dyn Session, predicates: &[&Expr], edition: &Edition) -> Result<bool> {
    if predicates.is_empty() {
        return Ok(true);
    }
    let row = edition_row(edition)?;
    let schema = DFSchema::try_from(row.schema())?;
    for predicate in predicates {
        // Columns may carry the table's name, which the row lacks.
        let bare = unnormalize_col((*predicate).clone());
        let test = state.create_physical_expr(bare, &schema)?;
        let value = test.evaluate(&row)?.into_array(1)?;
        let holds = value
            .as_boolean_opt()
            .is_none_or(|value| value.iter().next().flatten().unwrap_or(false));
        if !holds {
            return Ok(false);
        }
    }
    Ok(true)
}

fn edition_row(edition: &Edition) -> Result<RecordBatch> {
    let text = |bytes: &[u8]| {
        let mut values = Values::new(EDITION_COLUMNS[0].kind);
        if let Values::Text(texts) = &mut values {
            texts.push(bytes);
        }
        values
    };
    let root = trawl_model::escape::escape(path::display(&edition.info.root));
    let time = Values::Time(vec![Some(nanoseconds(edition.info.started))]);
    let id = edition.info.id.to_string();
    let columns = [text(root.as_bytes()), text(id.as_bytes()), time];
    let names = EDITION_COLUMNS.iter().map(|one| one.name);
    let arrays: std::result::Result<Vec<_>, _> = columns.into_iter().map(Values::finish).collect();
    Ok(RecordBatch::try_from_iter(names.zip(arrays?))?)
}

/// Wraps our error for the engine.
pub(crate) fn external(error: SqlError) -> DataFusionError {
    match error {
        SqlError::Engine(error) => error,
        error => DataFusionError::External(Box::new(error)),
    }
}

#[async_trait]
impl TableProvider for IndexTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        // The engine filters the rows read, unless all other conditions have to be evaluated before
        // one about contents.
        let pushed = match filters.iter().any(|one| is_about_contents(one)) {
            true => TableProviderFilterPushDown::Exact,
            false => TableProviderFilterPushDown::Inexact,
        };
        Ok(vec![pushed; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut narrowed = narrow(self.table, filters);
        narrowed.areas = self.scope.clone().and(narrowed.areas);
        let mut chosen = self.editions(state, filters)?;
        if self.table.is_about_places() {
            let is_met = |one: &Arc<Edition>| !clipped(&one.info.root, &self.scope).is_empty();
            chosen.kept.retain(is_met);
        }
        let parts = match self.table.is_about_places() {
            true => Parts::default(),
            false => self
                .targets(&chosen.kept, &narrowed.areas)
                .map_err(external)?,
        };
        self.note_absent(state, filters, &narrowed.areas)?;
        let all = || (0..self.schema.fields().len()).collect();
        let mut columns: Vec<usize> = projection.cloned().unwrap_or_else(all);
        let mut sift = None;
        if filters.iter().any(is_about_contents) {
            let wanted = Wanted {
                columns: &columns,
                filters,
                limit,
            };
            let (new, read) = Sift::new(state, &self.schema, &wanted)?;
            sift = Some(Arc::new(new));
            columns = read;
        }
        let scan = IndexScan::new(self, (columns, sift), chosen, parts, narrowed)?;
        Ok(Arc::new(scan))
    }
}

/// A scan of a table.
#[derive(Debug)]
struct IndexScan {
    table: Table,
    catalog: Arc<Catalog>,
    threads: NonZeroUsize,
    columns: Vec<usize>,
    parts: Parts,
    editions: Vec<Arc<Edition>>,
    editions_of: usize,
    filter: Filter,
    names: Option<BTreeSet<String>>,
    areas: Areas,
    /// Conditions that the engine does not evaluate.
    sift: Option<Arc<Sift>>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl IndexScan {
    fn new(
        table: &IndexTable,
        (columns, sift): (Vec<usize>, Option<Arc<Sift>>),
        chosen: Chosen,
        parts: Parts,
        narrowed: Narrowed,
    ) -> Result<IndexScan> {
        let read = Arc::new(table.schema.project(&columns)?);
        let schema = match &sift {
            Some(sift) => sift.schema(&read)?,
            None => read,
        };
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(IndexScan {
            table: table.table,
            catalog: Arc::clone(&table.catalog),
            threads: table.threads,
            columns,
            parts,
            editions: chosen.kept,
            editions_of: chosen.of,
            filter: narrowed.filter,
            names: narrowed.names,
            areas: narrowed.areas,
            sift,
            schema,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }
}

impl DisplayAs for IndexScan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IndexScan: {}", self.table.info().name)?;
        if self.table.is_about_places() {
            return Ok(());
        }
        let parts = &self.parts;
        let (kept, of) = (self.editions.len(), self.editions_of);
        write!(f, ", snapshots={kept} of {of}")?;
        write!(
            f,
            ", segments={} of {}",
            parts.segments_read, parts.segments
        )?;
        write!(f, ", rows={} of {}", parts.rows, parts.rows_of)?;
        if let Areas::These(areas) = &self.areas {
            let names: Vec<String> = areas.iter().map(shown_area).collect();
            write!(f, ", below=[{}]", names.join(", "))?;
        }
        let clauses = self.filter.clauses.iter().map(shown_clause);
        let clauses: Vec<String> = clauses.collect();
        if !clauses.is_empty() {
            write!(f, ", rows_with=[{}]", clauses.join(", "))?;
        }
        if !self.filter.need.is_nothing() {
            write!(f, ", names_with=[{}]", shown_need(&self.filter.need))?;
        }
        if let Some(names) = &self.names {
            let names: Vec<&str> = names.iter().map(|name| &name[..]).collect();
            let what = match self.table {
                Table::Relations => "kinds",
                _ => "attributes",
            };
            write!(f, ", {what}=[{}]", names.join(", "))?;
        }
        if let Some(sift) = &self.sift {
            write!(f, ", contents=[{}]", sift.shown())?;
        }
        let columns: Vec<&str> = self.schema.fields().iter().map(|f| &f.name()[..]).collect();
        write!(f, ", columns=[{}]", columns.join(", "))
    }
}

fn shown_area(area: &Area) -> String {
    let path = trawl_model::escape::escape(path::display(area.path()));
    match area {
        Area::Subtree(_) => format!("{path} and all below"),
        Area::Children(_) => format!("names in {path}"),
        Area::Entry(_) => path.into_owned(),
    }
}

fn shown_clause(clause: &trawl_model::filter::Clause) -> String {
    let name = clause.column.info().name;
    match (clause.low, clause.high) {
        (i128::MIN, high) => format!("{name} <= {high}"),
        (low, i128::MAX) => format!("{name} >= {low}"),
        (low, high) if low == high => format!("{name} = {low}"),
        (low, high) => format!("{name} in {low}..={high}"),
    }
}

fn shown_need(need: &Need) -> String {
    let joined = |parts: &[Need], word: &str| {
        let parts: Vec<String> = parts.iter().map(shown_need).collect();
        format!("({})", parts.join(word))
    };
    match need {
        Need::Nothing => "anything".into(),
        Need::Has(literal) => {
            let text = trawl_model::escape::escape(&literal.bytes).into_owned();
            match literal.at {
                At::Anywhere => format!("*{text}*"),
                At::Start => format!("{text}*"),
                At::End => format!("*{text}"),
                At::Whole => text,
            }
        }
        Need::All(parts) => joined(parts, " and "),
        Need::Either(parts) => joined(parts, " or "),
    }
}

impl ExecutionPlan for IndexScan {
    fn name(&self) -> &str {
        "IndexScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (send, receive) = mpsc::channel(WAITING);
        let cancel = Arc::new(AtomicBool::new(false));
        let work = Work {
            table: self.table,
            catalog: Arc::clone(&self.catalog),
            columns: self.columns.clone(),
            targets: self.parts.targets.clone(),
            editions: self.editions.clone(),
            filter: self.filter.clone(),
            names: self.names.clone(),
            sift: self.sift.clone(),
            threads: self.threads,
            cancel: Arc::clone(&cancel),
        };
        let named = std::thread::Builder::new().name("scan".into());
        named.spawn(move || work.run(&send))?;
        Ok(Box::pin(ScanStream::new(
            &self.schema,
            receive,
            cancel,
            &self.metrics,
        )))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn partition_statistics(&self, _: Option<usize>) -> Result<Arc<Statistics>> {
        let mut known = Statistics::new_unknown(&self.schema);
        if matches!(self.table, Table::Entries | Table::EntriesHistory) {
            let rows = usize::try_from(self.parts.rows).unwrap_or(usize::MAX);
            known.num_rows = Precision::Inexact(rows);
        }
        Ok(Arc::new(known))
    }
}

/// The input of a scan's thread.
struct Work {
    table: Table,
    catalog: Arc<Catalog>,
    columns: Vec<usize>,
    targets: Vec<Target>,
    editions: Vec<Arc<Edition>>,
    filter: Filter,
    names: Option<BTreeSet<String>>,
    sift: Option<Arc<Sift>>,
    threads: NonZeroUsize,
    cancel: Arc<AtomicBool>,
}

/// A batch; `None` at the end, so that a lost thread is not mistaken for it.
pub(crate) type Sent = std::result::Result<Option<RecordBatch>, SqlError>;

impl Work {
    fn run(&self, send: &mpsc::Sender<Sent>) {
        let job = Job {
            catalog: &self.catalog,
            columns: &self.columns,
            targets: &self.targets,
            editions: &self.editions,
            filter: &self.filter,
            names: self.names.as_ref(),
            threads: self.threads,
            cancel: &self.cancel,
        };
        let mut sent_rows = 0;
        let mut failed = Ok(());
        let mut take = |batch| {
            let flow = self.give(batch, send, &mut sent_rows);
            flow.unwrap_or_else(|error| {
                failed = Err(error);
                ControlFlow::Break(())
            })
        };
        let done = self.table.produce(&job, &mut take).and(failed);
        let _ = send.blocking_send(done.map(|()| None));
    }

    /// Sends the rows of a batch that are wanted.
    fn give(
        &self,
        batch: RecordBatch,
        send: &mpsc::Sender<Sent>,
        sent_rows: &mut usize,
    ) -> std::result::Result<ControlFlow<()>, SqlError> {
        let send = |batch| send.blocking_send(Ok(Some(batch)));
        let Some(sift) = &self.sift else {
            return Ok(match send(batch) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            });
        };
        for part in Sift::parts(&batch) {
            let is_done = sift.limit().is_some_and(|limit| *sent_rows >= limit);
            if is_done || self.cancel.load(Ordering::Relaxed) {
                return Ok(ControlFlow::Break(()));
            }
            let left = sift.sift(&part)?;
            *sent_rows += left.num_rows();
            if left.num_rows() > 0 && send(left).is_err() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// The batches of a scan.
pub(crate) struct ScanStream {
    schema: SchemaRef,
    receive: mpsc::Receiver<Sent>,
    cancel: Arc<AtomicBool>,
    ended: bool,
    metrics: BaselineMetrics,
}

impl ScanStream {
    /// Returns the batches that a thread sends. `cancel` is set when nobody wants more.
    pub(crate) fn new(
        schema: &SchemaRef,
        receive: mpsc::Receiver<Sent>,
        cancel: Arc<AtomicBool>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> ScanStream {
        ScanStream {
            schema: Arc::clone(schema),
            receive,
            cancel,
            ended: false,
            metrics: BaselineMetrics::new(metrics, 0),
        }
    }
}

impl Stream for ScanStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let polled = self.receive.poll_recv(context).map(|sent| match sent {
            Some(Ok(Some(batch))) => Some(Ok(batch)),
            Some(Ok(None)) => None,
            Some(Err(error)) => Some(Err(external(error))),
            None => Some(Err(DataFusionError::Execution(
                "the thread that reads the table has died".into(),
            ))),
        });
        self.ended = matches!(polled, Poll::Ready(None | Some(Err(_))));
        self.metrics.record_poll(polled)
    }
}

impl RecordBatchStream for ScanStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl Drop for ScanStream {
    fn drop(&mut self) {
        self.cancel.store(true, Ordering::Relaxed);
    }
}

/// Returns true if a provider is a table of the index.
pub(crate) fn is_ours(provider: &dyn TableProvider) -> bool {
    table_of(provider).is_some()
}

/// Returns the table of the index that a provider is.
pub(crate) fn table_of(provider: &dyn TableProvider) -> Option<Table> {
    let ours: Option<&IndexTable> = (provider as &dyn Any).downcast_ref();
    ours.map(|ours| ours.table)
}
