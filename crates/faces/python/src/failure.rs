//! Converts errors to exceptions: an invalid argument is a `ValueError`, everything else an
//! `OSError` with a number.

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use trawl_call::CallError;
use trawl_open::{AskError, errno};
use trawl_remote::RemoteError;
use trawl_sets::SetError;

pyo3::create_exception!(
    trawl,
    SearchError,
    PyOSError,
    "A search has no answer, or its answer ended early."
);
pyo3::create_exception!(trawl, Cancelled, SearchError, "The search was cancelled.");

/// The kind of exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Value,
    Search,
    Cancelled,
}

/// The reason why a search cannot begin or continue. It can be raised repeatedly.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    kind: Kind,
    errno: i32,
    text: String,
}

impl Failure {
    pub(crate) fn value(text: impl Into<String>) -> Failure {
        Failure {
            kind: Kind::Value,
            errno: libc::EINVAL,
            text: text.into(),
        }
    }

    /// The error after the waiting thread panicked, which loses the search.
    pub(crate) fn lost() -> Failure {
        Failure {
            kind: Kind::Search,
            errno: libc::EIO,
            text: "the library failed in this search".into(),
        }
    }

    pub(crate) fn cancelled() -> Failure {
        CallError::Cancelled.into()
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Failure {
        let errno = errno::of_call(&error);
        let kind = match error {
            CallError::Cancelled => Kind::Cancelled,
            _ if errno == libc::EINVAL => Kind::Value,
            _ => Kind::Search,
        };
        let text = error.to_string();
        Failure { kind, errno, text }
    }
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Failure {
        Failure {
            kind: Kind::Search,
            errno: errno::of_ask(&error),
            text: error.to_string(),
        }
    }
}

impl From<RemoteError> for Failure {
    fn from(error: RemoteError) -> Failure {
        Failure::value(error.to_string())
    }
}

impl From<SetError> for Failure {
    fn from(error: SetError) -> Failure {
        match error {
            SetError::Name { .. } => Failure::value(error.to_string()),
            SetError::Cancelled => Failure::value("the set is closed"),
            _ => Failure {
                kind: Kind::Search,
                errno: libc::EIO,
                text: error.to_string(),
            },
        }
    }
}

impl From<&Failure> for PyErr {
    fn from(failure: &Failure) -> PyErr {
        let text = failure.text.clone();
        match failure.kind {
            Kind::Value => PyValueError::new_err(text),
            Kind::Search => SearchError::new_err((failure.errno, text)),
            Kind::Cancelled => Cancelled::new_err((failure.errno, text)),
        }
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        PyErr::from(&failure)
    }
}
