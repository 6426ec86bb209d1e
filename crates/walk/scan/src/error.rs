//! Errors that end a scan early. All other errors are issues, which go to the sink.

use std::io;

use trawl_model::escape::escape;
use trawl_sys::SysError;

/// The reason why a scan ended early. `E` is the sink's own error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScanError<E> {
    /// The root cannot be reached or opened.
    #[error("cannot open the root {}: {source}; check that it exists and that you may list it", shown(.path))]
    Root {
        /// The root, or the component of its path that failed.
        path: Vec<u8>,
        /// The cause.
        source: SysError,
    },
    /// The root is not a directory.
    #[error("the root {} is not a directory; give the directory that holds it", shown(.path))]
    NotADirectory {
        /// The root.
        path: Vec<u8>,
    },
    /// The path of the root cannot be resolved.
    #[error("cannot resolve the root {}: {}; check its spelling", shown(.path), cause(.source))]
    Resolve {
        /// The root as given.
        path: Vec<u8>,
        /// The cause.
        source: io::Error,
    },
    /// A recorded source cannot be read.
    #[error("cannot read the trace {}: {}", shown(.path), cause(.source))]
    Trace {
        /// The trace file.
        path: Vec<u8>,
        /// The cause.
        source: io::Error,
    },
    /// A recorded source contains no directory.
    #[error("the trace {} holds no directory; is it one of GUFI's text traces?", shown(.path))]
    EmptyTrace {
        /// The trace file.
        path: Vec<u8>,
    },
    /// A recorded source that can be read only once is not in depth-first order.
    #[error(
        "the trace {} cannot be read from a pipe: the directory in line {line} does not follow its parent in depth-first order, sorted by name; write the trace to a file and read that file",
        shown(.path)
    )]
    TraceOrder {
        /// The trace's name.
        path: Vec<u8>,
        /// The line number, from 1.
        line: u64,
    },
    /// A thread could not be started.
    #[error("cannot start a thread: {source}; try again with fewer threads")]
    Thread {
        /// The cause.
        source: io::Error,
    },
    /// The cancel flag was set.
    #[error("the scan was cancelled")]
    Cancelled,
    /// The sink failed.
    #[error(transparent)]
    Sink(E),
}

/// Returns the system's message in lower case, without the error number at its end.
fn cause(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_lowercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

fn shown(path: &[u8]) -> String {
    escape(trawl_model::path::display(path)).into_owned()
}
