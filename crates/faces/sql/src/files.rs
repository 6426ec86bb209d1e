//! Parquet files that the command line names, as tables.
//!
//! A file is opened for each scan, as the user that this process is, and only if it is a regular
//! file, since anything else could block. It must keep the columns that it had at first. Rows are
//! decoded in a thread that ends soon after its stream is dropped. The content is not trusted: what
//! the decoder refuses, and a panic of the decoder, are errors that name the file.

use std::any::Any;
use std::ffi::CString;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result as EngineResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tokio::sync::mpsc;
use trawl_cli::sql::NamedFile;

use crate::error::{Result, SqlError};
use crate::scan::{ScanStream, Sent};

/// Maximum number of batches that wait to be taken.
const WAITING: usize = 4;
/// Rows of a batch.
const BATCH_ROWS: usize = 8192;

type Builder = ParquetRecordBatchReaderBuilder<File>;

/// A Parquet file as a table.
#[derive(Clone, Debug)]
pub(crate) struct FileTable {
    path: Arc<PathBuf>,
    schema: SchemaRef,
}

impl FileTable {
    /// Reads the columns of a file.
    ///
    /// # Errors
    /// If it cannot be opened, is no regular file, or is no Parquet file.
    pub(crate) fn open(named: &NamedFile) -> Result<FileTable> {
        let schema = Arc::clone(builder(&named.path)?.schema());
        Ok(FileTable {
            path: Arc::new(named.path.clone()),
            schema,
        })
    }
}

/// Returns true if a provider is a table of this module.
pub(crate) fn is_file(provider: &dyn TableProvider) -> bool {
    (provider as &dyn Any).is::<FileTable>()
}

/// Opens a file and reads its footer.
fn builder(path: &Path) -> Result<Builder> {
    let failed = |source: io::Error| SqlError::File {
        action: "read",
        path: path.to_owned(),
        source,
    };
    let name = CString::new(path.as_os_str().as_bytes());
    let name = name.map_err(|_| failed(io::ErrorKind::InvalidInput.into()))?;
    let file = trawl_sys::confined::open_file_anywhere(&name).map_err(|e| failed(e.into()))?;
    unpanicked(path, || Builder::try_new(File::from(file)))
}

/// Calls the decoder; returns its error or its panic as an error about the file.
fn unpanicked<T>(path: &Path, work: impl FnOnce() -> parquet::errors::Result<T>) -> Result<T> {
    let bad = |why: String| SqlError::BadParquet {
        path: path.to_owned(),
        why,
    };
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done.map_err(|error| bad(error.to_string())),
        Err(_) => Err(bad("its content makes no sense".into())),
    }
}

#[async_trait]
impl TableProvider for FileTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        limit: Option<usize>,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        let all = || (0..self.schema.fields().len()).collect();
        let columns: Vec<usize> = projection.cloned().unwrap_or_else(all);
        let schema = Arc::new(self.schema.project(&columns)?);
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(Arc::new(FileScan {
            table: self.clone(),
            columns,
            limit,
            schema,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }
}

/// A scan of a file.
#[derive(Debug)]
struct FileScan {
    table: FileTable,
    columns: Vec<usize>,
    limit: Option<usize>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl DisplayAs for FileScan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = trawl_model::escape::escape(self.table.path.as_os_str().as_bytes());
        let columns: Vec<&str> = self.schema.fields().iter().map(|f| &f.name()[..]).collect();
        write!(f, "ParquetScan: {path}, columns=[{}]", columns.join(", "))
    }
}

impl ExecutionPlan for FileScan {
    fn name(&self) -> &str {
        "ParquetScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> EngineResult<TreeNodeRecursion>,
    ) -> EngineResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> EngineResult<SendableRecordBatchStream> {
        let (send, receive) = mpsc::channel(WAITING);
        let work = Work {
            table: self.table.clone(),
            columns: self.columns.clone(),
            limit: self.limit,
            schema: Arc::clone(&self.schema),
        };
        let named = std::thread::Builder::new().name("parquet".into());
        named.spawn(move || {
            let done = work.run(&send);
            let _ = send.blocking_send(done.map(|()| None));
        })?;
        // The thread ends when it can send no more.
        let cancel = Arc::default();
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
}

/// The input of a scan's thread.
struct Work {
    table: FileTable,
    columns: Vec<usize>,
    limit: Option<usize>,
    schema: SchemaRef,
}

impl Work {
    fn run(&self, send: &mpsc::Sender<Sent>) -> Result<()> {
        let path = &self.table.path;
        let builder = builder(path)?;
        if builder.schema() != &self.table.schema {
            return Err(SqlError::BadParquet {
                path: path.to_path_buf(),
                why: "it was replaced while it was read: ask again".into(),
            });
        }
        let wanted = ProjectionMask::roots(builder.parquet_schema(), self.columns.iter().copied());
        let mut builder = builder.with_projection(wanted).with_batch_size(BATCH_ROWS);
        if let Some(limit) = self.limit {
            builder = builder.with_limit(limit);
        }
        let mut reader = unpanicked(path, || builder.build())?;
        loop {
            let next = unpanicked(path, || Ok(reader.next().transpose()?))?;
            let Some(batch) = next else { return Ok(()) };
            if send
                .blocking_send(Ok(Some(self.arranged(&batch)?)))
                .is_err()
            {
                return Ok(());
            }
        }
    }

    /// Returns a batch with the columns in the order that the plan wants. The decoder has them in
    /// the file's order.
    fn arranged(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let mut order = self.columns.clone();
        order.sort_unstable();
        let at = |column: &usize| order.binary_search(column).ok();
        let arrays = self.columns.iter().filter_map(at);
        let arrays = arrays.map(|at| Arc::clone(batch.column(at))).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let schema = Arc::clone(&self.schema);
        let arranged = RecordBatch::try_new_with_options(schema, arrays, &options);
        Ok(arranged.map_err(datafusion::error::DataFusionError::from)?)
    }
}
