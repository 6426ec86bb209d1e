//! A record as a Python object.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyType};
use trawl_call::{Attributes, Outcome, RecordRef, Trouble};
use trawl_sys::stat::Time;

/// How paths are represented in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// `str`, as os.fsdecode() makes it.
    Text,
    Bytes,
}

impl Spelling {
    /// Returns how the package spells paths.
    pub(crate) fn of(is_bytes: bool) -> Spelling {
        match is_bytes {
            true => Spelling::Bytes,
            false => Spelling::Text,
        }
    }

    pub(crate) fn path<'py>(self, py: Python<'py>, path: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Spelling::Text => Ok(OsStr::from_bytes(path).into_pyobject(py)?.into_any()),
            Spelling::Bytes => Ok(PyBytes::new(py, path).into_any()),
        }
    }
}

/// A match, or an operation that failed.
#[pyclass(frozen, module = "trawl")]
pub(crate) struct Record {
    /// Path relative to the searched directory, or as include_root says; "." is the directory
    /// itself.
    #[pyo3(get)]
    path: Py<PyAny>,
    /// Index of the directory in the list, from 0.
    #[pyo3(get)]
    root: u32,
    outcome: Outcome,
}

impl Record {
    pub(crate) fn new(
        py: Python<'_>,
        record: &RecordRef<'_>,
        spelling: Spelling,
    ) -> PyResult<Record> {
        Ok(Record {
            path: spelling.path(py, record.path)?.unbind(),
            root: record.root,
            outcome: record.outcome,
        })
    }

    fn trouble(&self) -> Option<Trouble> {
        match self.outcome {
            Outcome::Match(_) => None,
            Outcome::Error(trouble) => Some(trouble),
        }
    }
}

#[pymethods]
impl Record {
    /// Result of stat(2), like that of os.stat(); None for errors, and if it was not requested.
    #[getter]
    fn stat<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.outcome {
            Outcome::Match(Some(attributes)) => stat_result(py, &attributes).map(Some),
            _ => Ok(None),
        }
    }

    /// Reason of the failure, as an OSError with number and path; None for a match.
    #[getter]
    fn error<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(trouble) = self.trouble() else {
            return Ok(None);
        };
        let text = py
            .import("os")?
            .call_method1("strerror", (trouble.errno,))?;
        let path = self.path.clone_ref(py);
        let class = py.get_type::<PyOSError>();
        class.call1((trouble.errno, text, path)).map(Some)
    }

    /// The operation that failed: open, read, close, stat, depth or loop; None for a match.
    #[getter]
    fn source(&self) -> Option<&'static str> {
        self.trouble().map(|trouble| trouble.source.name())
    }

    /// For annotations: the type of its path.
    #[classmethod]
    fn __class_getitem__<'py>(
        class: &Bound<'py, PyType>,
        key: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        alias(class, key)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let path = self.path.bind(py).repr()?;
        Ok(match self.trouble() {
            None => format!("<trawl.Record {path}>"),
            Some(Trouble { source, errno }) => {
                format!(
                    "<trawl.Record {path}: {} failed, errno {errno}>",
                    source.name()
                )
            }
        })
    }
}

/// The description of a member of a set.
#[pyclass(frozen, module = "trawl")]
pub(crate) struct Digest {
    /// Path or URL, as it would be opened.
    #[pyo3(get)]
    name: Py<PyAny>,
    attributes: Option<Attributes>,
}

impl Digest {
    pub(crate) fn new(
        py: Python<'_>,
        found: trawl_sets::Digest,
        spelling: Spelling,
    ) -> PyResult<Digest> {
        Ok(Digest {
            name: spelling.path(py, &found.name)?.unbind(),
            attributes: found.attributes,
        })
    }
}

#[pymethods]
impl Digest {
    /// Result of stat(2), like that of os.stat(), if it was requested and came with the name;
    /// otherwise None.
    #[getter]
    fn stat<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let attributes = self.attributes.as_ref();
        attributes.map(|of| stat_result(py, of)).transpose()
    }

    /// For annotations: the type of its name.
    #[classmethod]
    fn __class_getitem__<'py>(
        class: &Bound<'py, PyType>,
        key: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        alias(class, key)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<trawl.Digest {}>", self.name.bind(py).repr()?))
    }
}

/// Returns a type with a parameter.
fn alias<'py>(class: &Bound<'py, PyType>, key: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let alias = class.py().import("types")?.getattr("GenericAlias")?;
    alias.call1((class, key))
}

fn nanoseconds(time: Time) -> i128 {
    i128::from(time.secs) * 1_000_000_000 + i128::from(time.nanos)
}

fn seconds(time: Time) -> f64 {
    time.secs as f64 + 1e-9 * f64::from(time.nanos)
}

/// Makes an os.stat_result.
fn stat_result<'py>(py: Python<'py>, of: &Attributes) -> PyResult<Bound<'py, PyAny>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = CLASS.import(py, "os", "stat_result")?;
    let times = (of.atime.secs, of.mtime.secs, of.ctime.secs);
    let members = (
        of.mode, of.ino, of.dev, of.nlink, of.uid, of.gid, of.size, times.0, times.1, times.2,
    );
    let more = PyDict::new(py);
    more.set_item("st_atime", seconds(of.atime))?;
    more.set_item("st_mtime", seconds(of.mtime))?;
    more.set_item("st_ctime", seconds(of.ctime))?;
    more.set_item("st_atime_ns", nanoseconds(of.atime))?;
    more.set_item("st_mtime_ns", nanoseconds(of.mtime))?;
    more.set_item("st_ctime_ns", nanoseconds(of.ctime))?;
    more.set_item("st_blksize", of.blksize)?;
    more.set_item("st_blocks", of.blocks)?;
    more.set_item("st_rdev", of.rdev)?;
    class.call1((members, more))
}
