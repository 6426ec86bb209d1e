//! Errors as exceptions: what makes no sense is a `ValueError`, all else an `OSError` with a number.

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use trawl_ask::{AskError, errno};
use trawl_call::CallError;
use trawl_remote::RemoteError;

pyo3::create_exception!(
    trawl,
    SearchError,
    PyOSError,
    "A search has no answer, or its answer ended early."
);
pyo3::create_exception!(trawl, Cancelled, SearchError, "The search was cancelled.");

/// What kind of exception it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Value,
    Search,
    Cancelled,
}

/// Why a search cannot be begun, or gone on with. It can be told again and again.
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

    /// The thread that waited ended in a panic, with the search.
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
