//! A dynamic set for Python. Everything that takes a member from the set is here and not in Python,
//! so that no KeyboardInterrupt comes between taking a member and returning it.
//!
//! Waits are cut into slices, between which signals are handled. A member that was taken for a task
//! of an event loop lies in `returned` until somebody takes it from there.

use std::collections::VecDeque;
use std::ffi::CString;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyRuntimeWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyList, PyType};
use trawl_sets::{Opened, Options, Problem, Set, TimedOut};

use crate::failure::Failure;
use crate::record::{Digest, Spelling};
use crate::wishes::{Given, Limits, options};

/// How long a wait goes on before signals are handled.
const SLICE: Duration = Duration::from_millis(50);

/// A member, or the problem in its place.
type Outcome = Result<Opened, Problem>;

/// Result of a step.
enum Step {
    Member(Py<PyAny>),
    /// A problem, which is recorded.
    Problem,
    End,
    NotYet,
}

/// trawl.Set without the parts written in Python.
#[pyclass(subclass, frozen, weakref, module = "trawl")]
pub(crate) struct Members {
    /// `None` only while this is dropped.
    set: Option<Set>,
    /// The process that it belongs to.
    owner: u32,
    is_closed: AtomicBool,
    spelling: Spelling,
    /// Outcomes that were taken from the set for whoever comes next. Locked while one is awaited, so
    /// that no later one overtakes it.
    returned: Mutex<VecDeque<Outcome>>,
    /// Errors in the place of members.
    #[pyo3(get)]
    errors: Py<PyList>,
    /// Those of them that were not raised; unused if they only are collected.
    unreported: Py<PyList>,
    is_raising: bool,
    on_error: Option<Py<PyAny>>,
}

#[pymethods]
impl Members {
    #[new]
    #[pyo3(signature = (names, operands, is_bytes, is_literal, limits, commands, metadata, served_by, index, wait, share, is_raising, on_error))]
    #[allow(
        clippy::too_many_arguments,
        reason = "the package gives them all, by place"
    )]
    fn new(
        py: Python<'_>,
        names: Vec<Vec<u8>>,
        operands: Option<(PyRef<'_, Members>, PyRef<'_, Members>, bool)>,
        is_bytes: bool,
        is_literal: bool,
        limits: Limits,
        commands: bool,
        metadata: bool,
        served_by: String,
        index: Option<Vec<u8>>,
        wait: Option<f64>,
        share: Option<(u64, u64)>,
        is_raising: bool,
        on_error: Option<Py<PyAny>>,
    ) -> PyResult<Members> {
        let given = Given {
            names,
            is_literal,
            limits,
            commands,
            metadata,
            served_by,
            index,
            wait,
            share,
        };
        let set = match operands {
            Some((left, right, is_union)) => combine(&left, &right, is_union, options(limits))?,
            None => given.open()?,
        };
        Ok(Members {
            set: Some(set),
            owner: std::process::id(),
            is_closed: AtomicBool::new(false),
            spelling: Spelling::of(is_bytes),
            returned: Mutex::default(),
            errors: PyList::empty(py).unbind(),
            unreported: PyList::empty(py).unbind(),
            is_raising,
            on_error,
        })
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        loop {
            match self.step(py, SLICE)? {
                Step::Member(member) => return Ok(Some(member)),
                Step::End => return self.end(py).map(|()| None),
                Step::Problem | Step::NotYet => py.check_signals()?,
            }
        }
    }

    /// Returns the next member if it is available, with patience within a slice: (True, member);
    /// (True, None) at the end; (False, None) if it has to be waited for.
    fn _poll(&self, py: Python<'_>, is_patient: bool) -> PyResult<(bool, Option<Py<PyAny>>)> {
        let limit = if is_patient { SLICE } else { Duration::ZERO };
        loop {
            match self.step(py, limit)? {
                Step::Member(member) => return Ok((true, Some(member))),
                Step::End => return self.end(py).map(|()| (true, None)),
                Step::NotYet => return Ok((false, None)),
                Step::Problem => {}
            }
        }
    }

    /// Waits until `_poll` gives a member or the end; False if that takes longer than a slice. What
    /// arrives stays here until somebody takes it.
    fn _await(&self, py: Python<'_>) -> PyResult<bool> {
        let set = self.set()?;
        Ok(py.detach(|| {
            let mut returned = self.returned();
            if !returned.is_empty() {
                return true;
            }
            match set.iterate_timeout(SLICE) {
                Err(TimedOut) => return false,
                Ok(None) => {}
                Ok(Some(outcome)) => returned.push_back(outcome),
            }
            true
        }))
    }

    /// Returns the description of the next member; None at the end.
    fn _describe(&self, py: Python<'_>) -> PyResult<Option<Digest>> {
        let set = self.set()?;
        loop {
            match py.detach(|| set.digest_timeout(SLICE)) {
                Ok(Some(Ok(found))) => return Digest::new(py, found, self.spelling).map(Some),
                Ok(Some(Err(problem))) => self.note(py, &problem)?,
                Ok(None) => return self.end(py).map(|()| None),
                Err(TimedOut) => py.check_signals()?,
            }
        }
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let size = self.waited(py, |set| set.size_timeout(SLICE))?;
        Ok(usize::try_from(size)?)
    }

    /// Returns whether this name is a member.
    fn _has(&self, py: Python<'_>, name: Vec<u8>) -> PyResult<bool> {
        self.waited(py, |set| set.member_timeout(&name, SLICE))
    }

    /// Makes the next iteration begin again with the first member. A member that has vanished since
    /// then is an error, one that was rewritten has its new content.
    fn rewind(&self, py: Python<'_>) -> PyResult<()> {
        let set = self.set()?;
        py.detach(|| {
            let mut returned = self.returned();
            returned.clear();
            set.rewind_iterator();
        });
        Ok(())
    }

    /// Makes the next digest begin again.
    fn rewind_digest(&self) -> PyResult<()> {
        self.set()?.rewind_digest();
        Ok(())
    }

    /// Raises SetError with the errors that were not raised yet.
    fn _raise(&self, py: Python<'_>) -> PyResult<()> {
        self.end(py)
    }

    /// Warns of the errors that were not raised, where they cannot be.
    fn _warn(&self, py: Python<'_>) -> PyResult<()> {
        let unreported = self.unreported.bind(py);
        let count = unreported.len();
        if count == 0 {
            return Ok(());
        }
        let first = unreported.get_item(0)?;
        unreported.del_slice(0, count)?;
        let text = format!("{count} members of a set cannot be read, the first of which: {first}");
        let text = CString::new(text.replace('\0', "\\0"))?;
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 2)
    }

    /// Ends expansion and fetching, and frees what was fetched; waits for no request.
    fn _close(&self, py: Python<'_>) {
        let Ok(set) = self.set() else {
            // The set of another process.
            return;
        };
        self.is_closed.store(true, Ordering::Relaxed);
        py.detach(|| {
            // First, so that nobody keeps the lock.
            set.cancel();
            self.returned().clear();
        });
    }

    /// Whether the set is closed: iterating it then gives nothing.
    #[getter]
    fn closed(&self) -> bool {
        self.is_closed()
    }

    /// Returns counts, and times in seconds, so far.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let now = self.set()?.stats();
        let stats = PyDict::new(py);
        stats.set_item("members", now.members)?;
        stats.set_item("delivered", now.delivered)?;
        stats.set_item("problems", now.problems)?;
        stats.set_item("cached", now.cached)?;
        stats.set_item("fetched_bytes", now.fetched_bytes)?;
        stats.set_item("unused_bytes", now.unused_bytes)?;
        stats.set_item("fetch_seconds", now.fetch_time.as_secs_f64())?;
        stats.set_item("wait_seconds", now.wait_time.as_secs_f64())?;
        stats.set_item("elapsed_seconds", now.elapsed.as_secs_f64())?;
        stats.set_item("saved_seconds", now.saved_time.as_secs_f64())?;
        Ok(stats)
    }
}

impl Members {
    /// Returns the set.
    fn set(&self) -> PyResult<&Set> {
        match &self.set {
            Some(set) if self.owner == std::process::id() => Ok(set),
            _ => Err(PyRuntimeError::new_err(
                "this set belongs to the process that this one was forked from",
            )),
        }
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    fn returned(&self) -> MutexGuard<'_, VecDeque<Outcome>> {
        self.returned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what lies in `returned`; `TimedOut` if a thread is about to put something there.
    fn take_returned(&self) -> Result<Option<Outcome>, TimedOut> {
        match self.returned.try_lock() {
            Ok(mut returned) => Ok(returned.pop_front()),
            Err(TryLockError::Poisoned(returned)) => Ok(returned.into_inner().pop_front()),
            Err(TryLockError::WouldBlock) => Err(TimedOut),
        }
    }

    /// Takes the next outcome; waits for no longer than `limit`.
    fn take(&self, set: &Set, limit: Duration) -> Result<Option<Outcome>, TimedOut> {
        match self.take_returned() {
            Ok(Some(outcome)) => return Ok(Some(outcome)),
            // Another thread waits for the next outcome: a caller that waits, too, goes its own way.
            Err(TimedOut) if limit.is_zero() => return Err(TimedOut),
            Ok(None) | Err(TimedOut) => {}
        }
        match set.iterate_timeout(limit)? {
            Some(outcome) => Ok(Some(outcome)),
            // The other thread may have got the last one.
            None => self.take_returned(),
        }
    }

    fn step(&self, py: Python<'_>, limit: Duration) -> PyResult<Step> {
        let set = self.set()?;
        match py.detach(|| self.take(set, limit)) {
            Err(TimedOut) => Ok(Step::NotYet),
            Ok(None) => Ok(Step::End),
            Ok(Some(Ok(opened))) => member(py, opened, self.spelling).map(Step::Member),
            Ok(Some(Err(problem))) => self.note(py, &problem).map(|()| Step::Problem),
        }
    }

    /// Waits for what is known once names are found; fails if the set is closed before.
    fn waited<T: Send>(
        &self,
        py: Python<'_>,
        look: impl Fn(&Set) -> Result<T, TimedOut> + Sync,
    ) -> PyResult<T> {
        let set = self.set()?;
        loop {
            let found = py.detach(|| look(set));
            if self.is_closed() {
                return Err(PyValueError::new_err("the set is closed"));
            }
            match found {
                Ok(found) => return Ok(found),
                Err(TimedOut) => py.check_signals()?,
            }
        }
    }

    /// Records a problem, or hands it to the caller's function.
    fn note(&self, py: Python<'_>, problem: &Problem) -> PyResult<()> {
        let error = error(py, problem, self.spelling)?;
        if let Some(on_error) = &self.on_error {
            return on_error.call1(py, (error,)).map(drop);
        }
        self.errors.bind(py).append(&error)?;
        match self.is_raising {
            true => self.unreported.bind(py).append(&error),
            false => Ok(()),
        }
    }

    /// Raises what was recorded and not raised.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        let unreported = self.unreported.bind(py);
        if unreported.is_empty() {
            return Ok(());
        }
        let count = unreported.len();
        let errors = unreported.get_slice(0, count);
        unreported.del_slice(0, count)?;
        let text = match count {
            1 => "1 member of the set cannot be read".to_owned(),
            count => format!("{count} members of the set cannot be read"),
        };
        static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let class = CLASS.import(py, "trawl._sets", "SetError")?;
        Err(PyErr::from_value(class.call1((text, errors))?))
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        let mut set = self.set.take();
        if self.owner != std::process::id() {
            // A child of fork(2) has the set's memory, but not its threads, whose locks stay locked.
            std::mem::forget(set);
            return;
        }
        // Ends commands, without the interpreter's lock, unless the interpreter is gone.
        let _ = Python::try_attach(|py| {
            py.detach(|| drop(set.take()));
            if let Err(error) = self._warn(py) {
                error.write_unraisable(py, None);
            }
        });
    }
}

fn combine(left: &Members, right: &Members, is_union: bool, options: Options) -> PyResult<Set> {
    let (left, right) = (left.set()?, right.set()?);
    let combined = match is_union {
        true => left.union(right, options),
        false => left.intersect(right, options),
    };
    Ok(combined.map_err(Failure::from)?)
}

/// Makes a trawl.Member, which owns the descriptor.
fn member(py: Python<'_>, opened: Opened, spelling: Spelling) -> PyResult<Py<PyAny>> {
    static RAW: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let descriptor = opened.file.as_raw_fd();
    let raw = RAW.import(py, "io", "FileIO")?.call1((descriptor, "rb"))?;
    // The Python object closes it from now on.
    let _ = opened.file.into_raw_fd();
    raw.setattr("name", spelling.path(py, &opened.name)?)?;
    // No ResourceWarning if it is dropped: `for member in members` has no other place to close it.
    // A function in Python, such as `__del__`, would swallow a KeyboardInterrupt.
    raw.setattr("_dealloc_warn", py.get_type::<PyBool>())?;
    let class = CLASS.import(py, "trawl._sets", "Member")?;
    let member = class.call1((raw,))?;
    member.setattr("was_cached", opened.was_cached)?;
    member.setattr("is_stream", opened.is_stream)?;
    member.setattr("position", opened.position)?;
    Ok(member.unbind())
}

/// Makes an OSError with number, text and path.
fn error<'py>(
    py: Python<'py>,
    problem: &Problem,
    spelling: Spelling,
) -> PyResult<Bound<'py, PyAny>> {
    let (errno, text) = match problem.source.raw_os_error() {
        Some(errno) => {
            let text = py.import("os")?.call_method1("strerror", (errno,))?;
            (errno, text.extract::<String>()?)
        }
        None => (libc::EIO, problem.source.to_string()),
    };
    let path = spelling.path(py, &problem.name)?;
    py.get_type::<PyOSError>().call1((errno, text, path))
}
