//! Recording: one recorder for each thread or CPU, which only its owner writes, and readers that
//! merge them all at any time.
//!
//! # Why there is one recorder for each thread
//!
//! The paper's recorder lets all CPUs increment shared buckets without atomic operations and loses
//! some increments: "out of 10,000,000 total updates there are 95,116 total lost updates" (§3.4.2).
//! It names the remedy: "each thread may be assigned a separate set of buckets to avoid any lost
//! bucket updates. This increases memory overheads but eliminates all the aforementioned problems
//! completely." So it is done here: no event is lost, and since no cache line has two writers, none
//! travels between CPUs when a call is recorded. As §3.4.3 remarks, calls also contend less for CPUs
//! there: what is measured is the workload, not the recorder.
//!
//! # What recording costs
//!
//! Memory is allocated when a recorder starts: at most [`RECORDER_BYTES_MAX`]. The hot path
//! ([`Recorder::enter`], [`Recorder::leave`]) neither allocates nor locks nor uses an atomic
//! read-modify-write operation. Its cells have atomic types, because Rust shares no others between
//! threads, but are only loaded and stored with relaxed or release order: ordinary moves on x86-64
//! ("aligned 64-bit-wide writes are also atomic", §3.4.2).
//!
//! # How readers get consistent numbers
//!
//! A block holds the counts of one operation and begins with a sequence number. The owner makes it
//! odd, changes the block, and makes it even again. A reader copies the block and keeps the copy if
//! the number was even and is unchanged: then the copy is the block's state at one moment, and
//! `entered = Σ buckets + in flight + dropped` holds for it. Counting an entering call changes one
//! cell only, so that both states are consistent and the number stays.
//!
//! An owner that records without pause could make a reader try for ever. After some attempts the
//! reader therefore leaves a buffer and asks: the owner sees the request when the next call leaves,
//! and copies its cells into the buffer itself. An owner that makes no further call changes nothing,
//! and the reader's own attempt succeeds. So a reader waits only for an owner that was stopped in the
//! middle of a change: until it runs again, or for about half a second ([`Error::Busy`]).
//!
//! # Ended threads
//!
//! A recorder that is dropped leaves its counts behind, and the next one that starts continues them.
//! Nothing is lost, and memory is bounded by the greatest number of recorders at one time.

mod cells;
mod plan;

use std::sync::{Arc, Mutex, PoisonError};

use crate::{Capture, Correlated, Error, Peak, Profile};
use cells::Cells;
use plan::Layout;
pub use plan::{OperationId, Plan, ValueId};

/// The most bytes that a recorder's counts take.
pub const RECORDER_BYTES_MAX: usize = 64 << 10;

/// Makes recorders for the threads of a program, and reads them.
#[derive(Clone, Debug)]
pub struct Recorders(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    plan: Plan,
    layout: Layout,
    kept: Mutex<Kept>,
}

/// The cells of all recorders, running or ended.
#[derive(Debug, Default)]
struct Kept {
    all: Vec<Arc<Cells>>,
    /// Those whose recorder has ended.
    free: Vec<Arc<Cells>>,
}

/// The calls recorded so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// All operations of the plan.
    pub profile: Profile,
    /// All values of the plan.
    pub correlated: Vec<Correlated>,
}

impl Recorders {
    /// Returns a maker of recorders that follow a plan. It fails if a recorder would take more than
    /// [`RECORDER_BYTES_MAX`].
    pub fn new(plan: Plan) -> Result<Recorders, Error> {
        let layout = Layout::of(&plan);
        match layout.bytes() <= RECORDER_BYTES_MAX {
            true => Ok(Recorders(Arc::new(Shared {
                plan,
                layout,
                kept: Mutex::default(),
            }))),
            false => Err(Error::TooMany {
                what: "bytes of a recorder",
                amount: layout.bytes(),
                limit: RECORDER_BYTES_MAX,
            }),
        }
    }

    /// Returns a recorder for a thread or a CPU.
    pub fn start(&self) -> Recorder {
        let mut kept = self.kept();
        let cells = kept.free.pop().unwrap_or_else(|| {
            let cells = Arc::new(Cells::new(&self.0.layout));
            kept.all.push(Arc::clone(&cells));
            cells
        });
        Recorder {
            recorders: self.clone(),
            cells,
        }
    }

    /// Returns what all recorders counted, running or ended, and checks it. `duration_ns` is the time
    /// since the plan's start.
    pub fn read(&self, duration_ns: Option<u64>) -> Result<Reading, Error> {
        let all = self.kept().all.clone();
        let mut sums = self.0.layout.empty();
        for cells in all {
            let copy = cells
                .read(&self.0.layout)
                .map_err(|block| Error::Busy(self.0.plan.name_of(block)))?;
            for (block, sum) in self.0.layout.blocks.iter().zip(&mut sums) {
                let name = || self.0.plan.name_of(block);
                let one = block.histogram(&copy).map_err(|fault| fault.of(&name()))?;
                sum.merge(&one).map_err(|fault| fault.of(&name()))?;
            }
        }
        let reading = self.reading(sums, duration_ns)?;
        reading.profile.check()?;
        reading.correlated.iter().try_for_each(Correlated::check)?;
        Ok(reading)
    }

    fn reading(
        &self,
        sums: Vec<crate::Histogram>,
        duration_ns: Option<u64>,
    ) -> Result<Reading, Error> {
        let plan = &self.0.plan;
        let mut sums = sums.into_iter();
        let mut profile = plan.template().clone();
        profile.duration_ns = duration_ns;
        for (name, sum) in plan.operations().zip(&mut sums) {
            profile.insert(name, sum)?;
        }
        let mut correlated = plan.correlated()?;
        for watch in plan.watches() {
            let values = watch.peaks.iter().cloned().zip(&mut sums);
            let peaks = values.map(|(buckets, values)| Peak::new(buckets, values));
            let peaks = peaks.collect();
            if let Some(one) = correlated.get_mut(watch.value) {
                one.insert(plan.operation_name(watch.operation), peaks)?;
            }
        }
        Ok(Reading {
            profile,
            correlated,
        })
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that entered: to be handed to [`Recorder::leave`] of the same recorder.
#[must_use = "a call that never leaves stays in flight"]
#[derive(Debug)]
pub struct Started {
    operation: OperationId,
    since: u64,
}

impl Started {
    /// Returns a call that entered at time `since`, for callers that keep only the time.
    pub fn since(operation: OperationId, since: u64) -> Started {
        Started { operation, since }
    }
}

/// Records the calls of one thread or CPU. Ids of another plan are ignored.
#[derive(Debug)]
pub struct Recorder {
    recorders: Recorders,
    cells: Arc<Cells>,
}

impl Recorder {
    /// Counts a call that enters at time `now`, in the plan's unit.
    #[inline]
    pub fn enter(&mut self, operation: OperationId, now: u64) -> Started {
        if let Some(block) = self.recorders.0.layout.operation(operation) {
            self.cells.enter(block);
        }
        Started {
            operation,
            since: now,
        }
    }

    /// Counts a call that leaves at time `now`. If that is before the call entered, which unsynchronised
    /// cycle counters can cause (§3.4.1), the call is counted as dropped.
    #[inline]
    pub fn leave(&mut self, started: Started, now: u64) {
        self.leave_with(started, now, &[]);
    }

    /// Counts a call that leaves at time `now`, and for each value of the call the histogram of the
    /// peak in which its latency lies, if there is one.
    #[inline]
    pub fn leave_with(&mut self, started: Started, now: u64, values: &[(ValueId, u64)]) {
        let Some(latency) = now.checked_sub(started.since) else {
            return self.drop_one(started);
        };
        let layout = &self.recorders.0.layout;
        let Some(block) = layout.operation(started.operation) else {
            return;
        };
        let bucket = block.resolution.bucket(latency);
        self.cells.leave(block, bucket, latency);
        for (value, amount) in values {
            if let Some(block) = layout.peak(started.operation, *value, bucket) {
                self.cells.enter(block);
                self.cells
                    .leave(block, block.resolution.bucket(*amount), *amount);
            }
        }
        self.cells.answer();
    }

    /// Counts a call that leaves without a latency that can be used.
    pub fn drop_one(&mut self, started: Started) {
        if let Some(block) = self.recorders.0.layout.operation(started.operation) {
            self.cells.drop_one(block);
        }
        self.cells.answer();
    }

    /// Returns the recorders to which this one belongs.
    pub fn recorders(&self) -> &Recorders {
        &self.recorders
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.recorders.kept().free.push(Arc::clone(&self.cells));
    }
}

impl From<Reading> for Capture {
    /// Returns the reading with a timeline of one slice.
    fn from(reading: Reading) -> Capture {
        Capture {
            profile: reading.profile.into(),
            correlated: reading.correlated,
        }
    }
}

#[cfg(test)]
mod tests;
