//! A search in progress. No thread waits for it while it holds the interpreter's lock, or where a
//! signal could not wake it. A separate thread begins the search and waits for its records; the
//! caller waits for a descriptor, or has an event loop do so.

use std::os::fd::{AsFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use trawl_call::waiter::Waiter;
use trawl_call::{Cancel, Cookie, Search, ServedBy};
use trawl_sys::wait::readable;

use crate::failure::Failure;
use crate::question::{Given, Question};
use crate::record::{Record, Spelling};

/// Result of the waiting thread: the search, whose next record, end or error is available.
type Waited = Result<Search, Failure>;

/// The state of a search.
enum Phase {
    /// It has not begun.
    Asked(Question),
    /// The waiting thread has it.
    Away,
    Here(Search),
    Ended(Option<Failure>),
}

struct State {
    phase: Phase,
    waiter: Option<Waiter<Waited>>,
    /// The descriptor is polled: when the search has to be waited for, it is handed over at once.
    is_polled: bool,
    /// Any wait is shorter than handing the search over.
    is_quick: bool,
    /// The place behind the last record, while the search is elsewhere.
    place: Cookie,
    served_by: Option<ServedBy>,
}

/// Whether the caller waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Patience {
    Wait,
    Try,
}

/// Result of a step.
enum Step {
    Record(Record),
    End,
    NotYet,
}

/// A search in progress: trawl.Search without the parts written in Python.
#[pyclass(subclass, frozen, weakref, module = "trawl")]
pub(crate) struct Stream {
    cancel: Cancel,
    is_closed: AtomicBool,
    /// The process that it belongs to.
    owner: u32,
    spelling: Spelling,
    state: Mutex<State>,
}

#[pymethods]
impl Stream {
    #[new]
    #[pyo3(signature = (pattern, roots, flags, is_bytes, max_depth, depth16, served_by, index, remote, cookie, wait))]
    #[allow(
        clippy::too_many_arguments,
        reason = "the package gives them all, by place"
    )]
    fn new(
        pattern: Vec<u8>,
        roots: Vec<Vec<u8>>,
        flags: u32,
        is_bytes: bool,
        max_depth: Option<usize>,
        depth16: bool,
        served_by: String,
        index: Option<Vec<u8>>,
        remote: Option<Vec<u8>>,
        cookie: Option<Vec<u8>>,
        wait: Option<f64>,
    ) -> PyResult<Stream> {
        let given = Given {
            pattern,
            roots,
            flags,
            max_depth,
            depth16,
            served_by,
            index,
            remote,
            cookie,
            wait,
        };
        Ok(Stream::begin(given.read()?, Spelling::of(is_bytes)))
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Record>> {
        match self.step(py, Patience::Wait)? {
            Step::Record(record) => Ok(Some(record)),
            _ => Ok(None),
        }
    }

    /// Returns the next record if it is available: (True, record); (True, None) at the end; (False,
    /// None) if it has to be waited for.
    fn _poll<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        match self.step(py, Patience::Try)? {
            Step::Record(record) => (true, Some(record)).into_pyobject(py),
            Step::End => (true, None::<Record>).into_pyobject(py),
            Step::NotYet => (false, None::<Record>).into_pyobject(py),
        }
    }

    /// Returns a descriptor that is readable while a record, the end or an error can be read
    /// without waiting. It belongs to the search.
    fn fileno(&self) -> PyResult<RawFd> {
        let mut state = self.lock()?;
        let waiter = state.waiter()?;
        let descriptor = waiter.descriptor();
        if !state.is_polled {
            state.is_polled = true;
            state.settle();
            if let (Phase::Here(_) | Phase::Ended(_), Some(waiter)) = (&state.phase, &state.waiter)
            {
                waiter.make_readable();
            }
        }
        Ok(descriptor)
    }

    /// Cancels the search, from any thread: a thread that waits for it gets Cancelled.
    fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Ends the search and frees its resources. Iterating it then gives nothing, also in another
    /// thread that waits. Safe to call again, and from signal handlers.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.check_owner()?;
        self.is_closed.store(true, Ordering::Relaxed);
        self.cancel.cancel();
        // If the state is in use, its user ends the search: another thread, or this one, below a
        // signal handler.
        if let Ok(mut locked) = self.state.try_lock() {
            let state = &mut *locked;
            py.detach(|| state.close());
        }
        Ok(())
    }

    /// The place behind the last record, where a search can continue: in any process and with any
    /// executor, for the same pattern, directories and options.
    #[getter]
    fn cookie<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let state = self.lock()?;
        let bytes = match &state.phase {
            Phase::Here(search) => search.cookie().to_bytes(),
            _ => state.place.to_bytes(),
        };
        Ok(PyBytes::new(py, &bytes))
    }

    /// The executor of the last record: live, index or remote; None before the first record.
    #[getter]
    fn served_by(&self) -> PyResult<Option<&'static str>> {
        Ok(self.lock()?.served_by.map(ServedBy::name))
    }
}

impl Stream {
    fn begin(question: Question, spelling: Spelling) -> Stream {
        Stream {
            cancel: question.cancel(),
            is_closed: AtomicBool::new(false),
            owner: std::process::id(),
            spelling,
            state: Mutex::new(State {
                place: question.place(),
                is_quick: question.is_quick(),
                phase: Phase::Asked(question),
                waiter: None,
                is_polled: false,
                served_by: None,
            }),
        }
    }

    fn check_owner(&self) -> PyResult<()> {
        match self.owner == std::process::id() {
            true => Ok(()),
            false => Err(PyRuntimeError::new_err(
                "this search belongs to the process that this one was forked from",
            )),
        }
    }

    fn lock(&self) -> PyResult<MutexGuard<'_, State>> {
        self.check_owner()?;
        self.state.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                PyRuntimeError::new_err("another thread is using this search")
            }
            TryLockError::Poisoned(_) => Failure::lost().into(),
        })
    }

    fn step(&self, py: Python<'_>, patience: Patience) -> PyResult<Step> {
        loop {
            if let Some(step) = self.look(py, &mut *self.lock()?, patience)? {
                return Ok(step);
            }
            // Without the lock: a signal handler may close the search.
            py.check_signals()?;
        }
    }

    /// Returns the available step; `None` after a wait.
    fn look(
        &self,
        py: Python<'_>,
        state: &mut State,
        patience: Patience,
    ) -> PyResult<Option<Step>> {
        loop {
            match &state.phase {
                Phase::Ended(None) => return Ok(Some(Step::End)),
                Phase::Ended(Some(failure)) => return Err(failure.into()),
                _ if self.is_closed.load(Ordering::Relaxed) => py.detach(|| state.close()),
                _ if self.cancel.is_cancelled() => state.end(Some(Failure::cancelled())),
                Phase::Here(search) if !search.is_waiting() => return self.take(py, state),
                Phase::Asked(_) | Phase::Here(_) if state.is_quick => {
                    py.detach(|| state.wait_here());
                    if let Phase::Here(_) = state.phase {
                        return self.take(py, state);
                    }
                }
                Phase::Asked(_) | Phase::Here(_) => state.hand_over()?,
                Phase::Away if state.is_back()? => {
                    state.take_back();
                    if let Phase::Here(_) = state.phase {
                        return self.take(py, state);
                    }
                }
                Phase::Away if patience == Patience::Try => return Ok(Some(Step::NotYet)),
                Phase::Away => {
                    py.detach(|| state.wait())?;
                    return Ok(None);
                }
            }
        }
    }

    /// Takes the available record, the end, or the error.
    fn take(&self, py: Python<'_>, state: &mut State) -> PyResult<Option<Step>> {
        let Phase::Here(search) = &mut state.phase else {
            return Err(Failure::lost().into());
        };
        let step = match search.advance() {
            Err(error) => {
                let failure = Failure::from(error);
                state.end(Some(failure.clone()));
                return Err(failure.into());
            }
            Ok(false) => {
                state.end(None);
                return Ok(Some(Step::End));
            }
            Ok(true) => search.record().map_err(Failure::from)?,
        };
        let step = match &step {
            Some(record) => Step::Record(Record::new(py, record, self.spelling)?),
            None => Step::End,
        };
        state.served_by = search.served_by();
        state.settle();
        Ok(Some(step))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.cancel.cancel();
        let state = match self.state.get_mut() {
            Ok(state) => state,
            Err(poisoned) => poisoned.into_inner(),
        };
        let waiter = state.waiter.take();
        let mut phase = Some(std::mem::replace(&mut state.phase, Phase::Ended(None)));
        if self.owner != std::process::id() {
            // A child of fork(2) has only its memory and descriptors, not its threads: these stay.
            std::mem::forget((waiter, phase));
            return;
        }
        if let Some(waiter) = waiter {
            waiter.leave();
        }
        // Waits for walking threads, without the interpreter's lock, unless the interpreter is
        // gone.
        let _ = Python::try_attach(|py| py.detach(|| drop(phase.take())));
    }
}

impl State {
    fn waiter(&mut self) -> Result<&Waiter<Waited>, Failure> {
        if self.waiter.is_none() {
            self.waiter = Some(Waiter::start()?);
        }
        self.waiter.as_ref().ok_or_else(Failure::lost)
    }

    /// Hands the search to the waiting thread.
    fn hand_over(&mut self) -> Result<(), Failure> {
        if let Phase::Here(search) = &self.phase {
            self.place = search.cookie();
        }
        self.waiter()?;
        let Some(waiter) = &self.waiter else {
            return Err(Failure::lost());
        };
        match std::mem::replace(&mut self.phase, Phase::Away) {
            Phase::Asked(question) => waiter.hand_over(move || question.ask().map(waited)),
            Phase::Here(search) => waiter.hand_over(move || Ok(waited(search))),
            other => self.phase = other,
        }
        Ok(())
    }

    /// Waits in this thread.
    fn wait_here(&mut self) {
        self.phase = match std::mem::replace(&mut self.phase, Phase::Ended(None)) {
            Phase::Asked(question) => match question.ask() {
                Ok(search) => Phase::Here(waited(search)),
                Err(failure) => Phase::Ended(Some(failure)),
            },
            Phase::Here(search) => Phase::Here(waited(search)),
            other => other,
        };
    }

    fn look(&self, timeout: Option<Duration>) -> PyResult<bool> {
        let Some(waiter) = &self.waiter else {
            return Ok(true);
        };
        let [is_readable] = readable([waiter.as_fd()], timeout)
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        Ok(is_readable)
    }

    fn is_back(&self) -> PyResult<bool> {
        self.look(Some(Duration::ZERO))
    }

    /// Waits until the search is back, or a signal arrived.
    fn wait(&mut self) -> PyResult<()> {
        self.look(None).map(|_| ())
    }

    fn take_back(&mut self) {
        let back = self.waiter.as_ref().and_then(Waiter::take_back);
        self.phase = match back.unwrap_or_else(|| Err(Failure::lost())) {
            Ok(search) => Phase::Here(search),
            Err(failure) => Phase::Ended(Some(failure)),
        };
    }

    fn close(&mut self) {
        self.end(None);
        // An event loop may poll the descriptor.
        if !self.is_polled
            && let Some(waiter) = self.waiter.take()
        {
            waiter.leave();
        }
    }

    fn end(&mut self, failure: Option<Failure>) {
        if let Phase::Here(search) = &self.phase {
            self.place = search.cookie();
        }
        // A search that the waiting thread has ends by itself; nobody takes it back.
        self.phase = Phase::Ended(failure);
        if let Some(waiter) = &self.waiter {
            waiter.make_readable();
        }
    }

    /// If the descriptor is polled and the search has to be waited for, hands the search over, so
    /// that the descriptor is not readable in the meantime.
    fn settle(&mut self) {
        let is_waiting = match &self.phase {
            Phase::Asked(_) => true,
            Phase::Here(search) => search.is_waiting(),
            Phase::Away | Phase::Ended(_) => false,
        };
        if self.is_polled && is_waiting {
            // The next read reports a failure.
            let _ = self.hand_over();
        }
    }
}

/// Waits for the search's next record, end or error.
fn waited(mut search: Search) -> Search {
    search.wait();
    search
}
