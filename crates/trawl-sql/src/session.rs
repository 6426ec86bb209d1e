//! The engine, set up for one index; a statement from text to rows.
//!
//! Each statement gets a session of its own, with tables over a fresh
//! [`Catalog`]; memory, temporary files and threads are the engine's. The
//! session knows no file format, no way to make a table and no object store,
//! so that no plan could read anything else even if it were let through.

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
use crate::catalog::{Catalog, Told};
use crate::error::{Result, SqlError};
use crate::functions;
use crate::nesting;
use crate::scan::IndexTable;
use crate::tables::TABLES;

/// How often it is looked whether a statement is to end.
const LOOK: Duration = Duration::from_millis(50);
/// Batches that wait for the output.
const WAITING: usize = 4;
/// Temporary files take no more than this.
const MOST_TEMPORARY_BYTES: u64 = 100 << 30;
/// Who uses most memory is named in errors: so many of them.
const NAMED_CONSUMERS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(2);
/// Stack for what goes as deep as a statement nests; what is not used of it takes no memory.
const STACK_BYTES: usize = 256 << 20;
/// The results of one call of a function take no more than this part of the memory: they are
/// copied on their way to the output.
const SHARE_OF_ONE_CALL: u64 = 4;

/// How statements are run.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The indexes.
    pub(crate) indexes: Indexes,
    /// Of when answers are.
    pub(crate) as_of: AsOf,
    /// Threads.
    pub(crate) threads: NonZeroUsize,
    /// Memory for sorting, grouping and joining.
    pub(crate) memory_bytes: u64,
    /// Where more than that goes.
    pub(crate) temp_dir: PathBuf,
    /// How long a statement may take.
    pub(crate) timeout: Option<Duration>,
}

impl Settings {
    /// What each sort keeps free to merge what it holds. Sorted by text, it
    /// makes keys as large as the rows themselves; where there is no room for
    /// them a sort gives up instead of writing temporary files.
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
        Ok(Arc::new(Catalog::open(indexes, *as_of)?))
    }

    /// Cuts a text into statements.
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
        // Values that do not depend on rows are computed here.
        let planned = self.runtime.spawn(async move {
            check_statement(&statement)?;
            let plan = context.state().statement_to_plan(statement).await?;
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

    /// What planning came to, unless that is given up.
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

    /// The next rows of an answer.
    ///
    /// # Errors
    /// What goes wrong below, an interrupt, and the end of the time.
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

    /// All rows came; unless the task was lost that sent them.
    fn end(&self, answer: &mut Answer) -> Result<Option<RecordBatch>> {
        match answer.task.take().map(|task| self.runtime.block_on(task)) {
            Some(Err(error)) => Err(failed(&error)),
            _ => Ok(None),
        }
    }

    /// Starts other threads with memory of their own: those there are may be
    /// busy for long with a statement that was given up.
    pub(crate) fn renew(&mut self) -> Result<()> {
        let new = Engine::new(self.settings.clone())?;
        std::mem::replace(self, new).close();
        Ok(())
    }

    /// Lets threads go that are still busy with what nobody waits for.
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
        let series: Vec<Arc<TableFunction>> = SessionStateDefaults::default_table_functions();
        let state = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(Arc::clone(&self.environment))
            .with_expr_planners(SessionStateDefaults::default_expr_planners())
            .with_scalar_functions(scalars)
            .with_higher_order_functions(SessionStateDefaults::default_higher_order_functions())
            .with_aggregate_functions(SessionStateDefaults::default_aggregate_functions())
            .with_window_functions(SessionStateDefaults::default_window_functions())
            .with_table_function_list(series)
            .build();
        let context = SessionContext::new_with_state(state);
        for info in TABLES {
            let table = IndexTable::new(info.table, Arc::clone(catalog), threads);
            context.register_table(info.name, Arc::new(table))?;
        }
        Ok(context.state())
    }
}

impl Answer {
    /// What is to be said of the answer.
    pub(crate) fn told(&self) -> Told {
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

/// When a statement ends at the latest, and how long it may take.
type Deadline = (Instant, Duration);

/// # Errors
/// If a statement is to end.
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

/// Does this on a thread that can go as deep as statements nest.
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

/// The next batch, if it comes within [`LOOK`].
///
/// The engine's own timers run on its threads, all of which a join can keep
/// busy for minutes: this one is the calling thread's.
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

/// The time now.
pub(crate) fn now() -> Timestamp {
    let time = trawl_sys::process::now();
    Timestamp {
        secs: time.secs,
        nanos: time.nanos,
    }
}

/// There is nothing to read but the index.
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
