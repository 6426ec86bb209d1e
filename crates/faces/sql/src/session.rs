//! Configures the engine for one index, and runs a statement from text to rows.
//!
//! Each statement gets a session of its own, with tables over a fresh [`Catalog`]; memory,
//! temporary files and threads belong to the engine. The session has no file format, no table
//! factory and no object store, so that no plan could read anything else even if it passed the
//! checks.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::catalog::TableFunction;
use datafusion::common::DataFusionError;
use datafusion::execution::SessionStateDefaults;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::object_store::ObjectStoreRegistry;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::object_store::ObjectStore;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::{DFParserBuilder, Statement};
use futures::StreamExt;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinHandle};
use trawl_cli::sql::Indexes;
use trawl_model::Timestamp;
use trawl_query::AsOf;
use url::Url;

use crate::allowed::{check_plan, check_statement};
use crate::catalog::{Catalog, Remarks};
use crate::contents;
use crate::error::{Result, SqlError};
use crate::files::FileTable;
use crate::functions;
use crate::nesting;
use crate::scan::IndexTable;
use crate::tables::TABLES;

/// Interval at which it is checked whether a statement is to end.
const LOOK: Duration = Duration::from_millis(50);
/// Maximum number of batches that wait for the output.
const WAITING: usize = 4;
/// Maximum size of temporary files.
const MOST_TEMPORARY_BYTES: u64 = 100 << 30;
/// Number of the largest memory consumers that errors name.
const NAMED_CONSUMERS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(2);
/// Stack size for code that recurses as deep as a statement nests; unused stack takes no memory.
const STACK_BYTES: usize = 256 << 20;
/// The result of one function call may take at most this fraction (1/4) of the memory, since it is
/// copied on its way to the output.
const SHARE_OF_ONE_CALL: u64 = 4;

/// Settings for running statements.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The indexes.
    pub(crate) indexes: Indexes,
    /// The directory that the tables are restricted to.
    pub(crate) below: Option<Vec<u8>>,
    /// Parquet files that are asked instead of the index, as tables with these names.
    pub(crate) files: Vec<(String, FileTable)>,
    /// The time that answers are about.
    pub(crate) as_of: AsOf,
    /// Number of threads.
    pub(crate) threads: NonZeroUsize,
    /// Memory limit for sorting, grouping and joining.
    pub(crate) memory_bytes: u64,
    /// Directory for data beyond that limit.
    pub(crate) temp_dir: PathBuf,
    /// Time limit of a statement.
    pub(crate) timeout: Option<Duration>,
}

impl Settings {
    /// Returns the bytes that each sort reserves for merging. When it sorts by text, it makes keys
    /// as large as the rows; without room for them it fails instead of writing temporary files.
    fn merge_bytes(&self) -> usize {
        let all = usize::try_from(self.memory_bytes).unwrap_or(usize::MAX);
        all / 5 * 2 / self.threads.get()
    }
}

/// The engine.
pub(crate) struct Engine {
    settings: Settings,
    runtime: Runtime,
    environment: Arc<RuntimeEnv>,
}

/// The rows of a statement.
pub(crate) struct Answer {
    /// Their columns.
    pub(crate) schema: SchemaRef,
    rows: mpsc::Receiver<Result<RecordBatch>>,
    task: Option<JoinHandle<()>>,
    catalog: Arc<Catalog>,
    deadline: Option<Deadline>,
}

impl Engine {
    /// Starts threads; opens nothing yet.
    pub(crate) fn new(settings: Settings) -> Result<Engine> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(settings.threads.get())
            .thread_stack_size(STACK_BYTES)
            .build()
            .map_err(SqlError::Threads)?;
        let memory = usize::try_from(settings.memory_bytes).unwrap_or(usize::MAX);
        let pool = TrackConsumersPool::new(FairSpillPool::new(memory), NAMED_CONSUMERS);
        let disk = DiskManagerBuilder::default()
            .with_mode(DiskManagerMode::Directories(vec![
                settings.temp_dir.clone(),
            ]))
            .with_max_temp_directory_size(MOST_TEMPORARY_BYTES);
        let environment = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(pool))
            .with_disk_manager_builder(disk)
            .with_object_store_registry(Arc::new(NoStores))
            .build_arc()?;
        Ok(Engine {
            settings,
            runtime,
            environment,
        })
    }

    /// Opens the index as it is now.
    pub(crate) fn catalog(&self) -> Result<Arc<Catalog>> {
        let Settings { indexes, as_of, .. } = &self.settings;
        let catalog = Catalog::open(indexes, *as_of)?;
        if let Some(top) = &self.settings.below {
            catalog.contents().limit_to(vec![top.clone()]);
        }
        Ok(Arc::new(catalog))
    }

    /// Splits a text into statements.
    pub(crate) fn parse(text: &str) -> Result<Vec<Statement>> {
        nesting::check(text)?;
        let parse = || -> Result<Vec<Statement>> {
            let mut parser = DFParserBuilder::new(text).build()?;
            Ok(parser.parse_statements()?.into())
        };
        on_large_stack(parse)?
    }

    /// Starts to answer a statement, if it only reads.
    pub(crate) fn ask(&self, statement: Statement, cancel: &AtomicBool) -> Result<Answer> {
        let deadline = self
            .settings
            .timeout
            .map(|most| (Instant::now() + most, most));
        let catalog = self.catalog()?;
        let context = SessionContext::new_with_state(self.state(&catalog)?);
        let (known, threads) = (Arc::clone(&catalog), self.settings.threads);
        // Expressions that do not depend on rows are evaluated here.
        let planned = self.runtime.spawn(async move {
            check_statement(&statement)?;
            let plan = context.state().statement_to_plan(statement).await?;
            let plan = contents::place(plan, &known, threads)?;
            check_plan(&plan)?;
            let rows = context.execute_logical_plan(plan).await?;
            Ok::<_, SqlError>(rows.execute_stream().await?)
        });
        let mut stream = self.planned(planned, deadline, cancel)??;
        let schema = stream.schema();
        let (send, rows) = mpsc::channel(WAITING);
        let task = self.runtime.spawn(async move {
            while let Some(batch) = stream.next().await {
                if send.send(batch.map_err(SqlError::from)).await.is_err() {
                    break;
                }
            }
        });
        Ok(Answer {
            schema,
            rows,
            task: Some(task),
            catalog,
            deadline,
        })
    }

    /// Waits for the planning task, unless the statement is given up.
    fn planned<T>(
        &self,
        mut task: JoinHandle<T>,
        deadline: Option<Deadline>,
        cancel: &AtomicBool,
    ) -> Result<T> {
        loop {
            go_on(deadline, cancel)?;
            let waker = Waker::from(Arc::new(Caller(std::thread::current())));
            match Pin::new(&mut task).poll(&mut Context::from_waker(&waker)) {
                Poll::Pending => std::thread::park_timeout(LOOK),
                Poll::Ready(done) => return done.map_err(|error| failed(&error)),
            }
        }
    }

    /// Returns the next rows of an answer.
    ///
    /// # Errors
    /// Errors of the engine and the index, an interrupt, and the time limit.
    pub(crate) fn next(
        &self,
        answer: &mut Answer,
        cancel: &AtomicBool,
    ) -> Result<Option<RecordBatch>> {
        loop {
            go_on(answer.deadline, cancel)?;
            match wait(&mut answer.rows) {
                Poll::Pending => {}
                Poll::Ready(None) => return self.end(answer),
                Poll::Ready(Some(batch)) => return batch.map(Some),
            }
        }
    }

    /// Ends an answer whose rows were all received; an error if the task that sent them failed.
    fn end(&self, answer: &mut Answer) -> Result<Option<RecordBatch>> {
        match answer.task.take().map(|task| self.runtime.block_on(task)) {
            Some(Err(error)) => Err(failed(&error)),
            _ => Ok(None),
        }
    }

    /// Starts new threads with memory of their own: the present ones may be busy for long with a
    /// statement that was given up.
    pub(crate) fn renew(&mut self) -> Result<()> {
        let new = Engine::new(self.settings.clone())?;
        std::mem::replace(self, new).close();
        Ok(())
    }

    /// Abandons threads that are still busy with statements nobody waits for.
    pub(crate) fn close(self) {
        self.runtime.shutdown_background();
    }

    fn state(&self, catalog: &Arc<Catalog>) -> Result<SessionState> {
        let threads = self.settings.threads;
        let config = SessionConfig::new()
            .with_target_partitions(threads.get())
            .with_information_schema(true)
            .with_collect_statistics(false)
            .with_sort_spill_reservation_bytes(self.settings.merge_bytes());
        let mut scalars = SessionStateDefaults::default_scalar_functions();
        functions::bound(&mut scalars, self.settings.memory_bytes / SHARE_OF_ONE_CALL);
        scalars.extend(functions::all(now()));
        let mut aggregates = SessionStateDefaults::default_aggregate_functions();
        functions::exact_sums(&mut aggregates);
        let series: Vec<Arc<TableFunction>> = SessionStateDefaults::default_table_functions();
        let state = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(Arc::clone(&self.environment))
            .with_expr_planners(SessionStateDefaults::default_expr_planners())
            .with_scalar_functions(scalars)
            .with_higher_order_functions(SessionStateDefaults::default_higher_order_functions())
            .with_aggregate_functions(aggregates)
            .with_window_functions(SessionStateDefaults::default_window_functions())
            .with_table_function_list(series)
            .build();
        let context = SessionContext::new_with_state(state);
        for (name, file) in &self.settings.files {
            context.register_table(&name[..], Arc::new(file.clone()))?;
        }
        let is_about_index = self.settings.files.is_empty();
        for info in TABLES.iter().filter(|_| is_about_index) {
            let table = IndexTable::new(info.table, Arc::clone(catalog), threads);
            let table = table.below(self.settings.below.clone());
            context.register_table(info.name, Arc::new(table))?;
        }
        Ok(context.state())
    }
}

impl Answer {
    /// Takes the remarks on the answer.
    pub(crate) fn told(&self) -> Remarks {
        self.catalog.told()
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// When a statement must end, and its time limit.
type Deadline = (Instant, Duration);

/// Checks whether a statement may continue.
///
/// # Errors
/// If it was interrupted or exceeded its time limit.
fn go_on(deadline: Option<Deadline>, cancel: &AtomicBool) -> Result<()> {
    if cancel.load(Ordering::Relaxed) {
        return Err(SqlError::Interrupted);
    }
    match deadline.filter(|(end, _)| Instant::now() >= *end) {
        Some((_, most)) => Err(SqlError::TimedOut {
            seconds: most.as_secs_f64(),
        }),
        None => Ok(()),
    }
}

fn failed(error: &JoinError) -> SqlError {
    SqlError::Engine(DataFusionError::Execution(format!(
        "the engine failed: {error}"
    )))
}

/// Runs `work` on a thread whose stack is deep enough for any accepted statement.
fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        let thread = thread
            .spawn_scoped(scope, work)
            .map_err(SqlError::Threads)?;
        let ended = thread.join();
        ended.map_err(|_| SqlError::Usage("the statement cannot be read".into()))
    })
}

/// Returns the next batch, if it comes within [`LOOK`].
///
/// The engine's own timers run on its threads, and a join can keep all of these busy for minutes.
/// So this waits on the calling thread.
fn wait(rows: &mut mpsc::Receiver<Result<RecordBatch>>) -> Poll<Option<Result<RecordBatch>>> {
    let waker = Waker::from(Arc::new(Caller(std::thread::current())));
    let got = rows.poll_recv(&mut Context::from_waker(&waker));
    if got.is_pending() {
        std::thread::park_timeout(LOOK);
    }
    got
}

/// Wakes the thread that waits for rows.
struct Caller(Thread);

impl Wake for Caller {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Returns the present time.
pub(crate) fn now() -> Timestamp {
    let time = trawl_sys::process::now();
    Timestamp {
        secs: time.secs,
        nanos: time.nanos,
    }
}

/// An object store registry without stores: only the index can be read.
#[derive(Debug)]
struct NoStores;

impl ObjectStoreRegistry for NoStores {
    fn register_store(&self, _: &Url, _: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        None
    }

    fn get_store(&self, url: &Url) -> datafusion::error::Result<Arc<dyn ObjectStore>> {
        Err(DataFusionError::Plan(format!(
            "{url} cannot be read: queries only read the index"
        )))
    }
}
