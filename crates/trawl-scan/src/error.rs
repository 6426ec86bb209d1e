//! What ends a scan early. Everything else that goes wrong is an issue and goes to the sink.

use std::io;

use trawl_model::escape::escape;
use trawl_sys::SysError;

/// Why a scan did not reach its end. `E` is the sink's own error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScanError<E> {
    /// The root can't be reached or opened.
    #[error("cannot open the root {}: {source}; check that it exists and that you may list it", shown(.path))]
    Root {
        /// The root, or the component of it that failed.
        path: Vec<u8>,
        /// What failed.
        source: SysError,
    },
    /// The root is no directory.
    #[error("the root {} is not a directory; give the directory that holds it", shown(.path))]
    NotADirectory {
        /// The root.
        path: Vec<u8>,
    },
    /// The root's path can't be resolved.
    #[error("cannot resolve the root {}: {}; check its spelling", shown(.path), cause(.source))]
    Resolve {
        /// The root as it was given.
        path: Vec<u8>,
        /// What failed.
        source: io::Error,
    },
    /// A recorded source can't be read.
    #[error("cannot read the trace {}: {}", shown(.path), cause(.source))]
    Trace {
        /// The trace file.
        path: Vec<u8>,
        /// What failed.
        source: io::Error,
    },
    /// A recorded source holds no directory at all.
    #[error("the trace {} holds no directory; is it one of GUFI's text traces?", shown(.path))]
    EmptyTrace {
        /// The trace file.
        path: Vec<u8>,
    },
    /// A recorded source that can be read only once is not in the order that this takes.
    #[error(
        "the trace {} cannot be read from a pipe: the directory in line {line} does not come in depth-first order, sorted by name, after the one that holds it; write the trace to a file and give that",
        shown(.path)
    )]
    TraceOrder {
        /// The trace's name.
        path: Vec<u8>,
        /// Where, from 1.
        line: u64,
    },
    /// A thread could not be started.
    #[error("cannot start a thread: {source}; try again with fewer threads")]
    Thread {
        /// What failed.
        source: io::Error,
    },
    /// The cancel flag was set.
    #[error("the scan was cancelled")]
    Cancelled,
    /// The sink can take no more.
    #[error(transparent)]
    Sink(E),
}

/// The system's words in lower case, without the number behind them.
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
