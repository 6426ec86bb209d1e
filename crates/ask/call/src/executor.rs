//! The trait of everything that answers searches: the live walk, the index, servers.

use crate::error::CallError;
use crate::request::Request;

/// The kind of executor that answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ServedBy {
    /// A walk of the live file system.
    Live,
    /// An index.
    Index,
    /// A server on another machine, which does not say how it answered.
    Remote,
    /// A live walk on another machine.
    RemoteLive,
    /// An index on another machine.
    RemoteIndex,
}

impl ServedBy {
    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            ServedBy::Live => "live",
            ServedBy::Index => "index",
            ServedBy::Remote => "remote",
            ServedBy::RemoteLive => "remote (live)",
            ServedBy::RemoteIndex => "remote (index)",
        }
    }
}

/// Consecutive records of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The executor that answered.
    pub served_by: ServedBy,
    /// Whole records, encoded as in [`crate::packed`].
    pub packed: Vec<u8>,
}

/// An answer, block by block.
///
/// Records come root by root. For each root: first the root itself if it matches, then its
/// directories in depth-first path order; for each directory: the error about it, if any, then its
/// matches ordered by name bytes. With [`crate::options::Extent::First`] nothing follows the first
/// match. Dropping the stream ends the search.
pub trait Stream: Send {
    /// Returns the next block; `None` at the end. Blocks are never empty.
    ///
    /// # Errors
    /// [`CallError::Cancelled`], and any error that keeps the executor from going on.
    fn next_block(&mut self) -> Result<Option<Block>, CallError>;
}

/// Answers searches.
pub trait Executor: Send + Sync {
    /// Begins to answer. Errors about single roots are records of the answer.
    ///
    /// # Errors
    /// Fails if the executor cannot answer the request at all: [`CallError::NotServed`] if another
    /// executor may be able to.
    fn begin(&self, request: Request) -> Result<Box<dyn Stream>, CallError>;
}

impl<E: Executor + ?Sized> Executor for &E {
    fn begin(&self, request: Request) -> Result<Box<dyn Stream>, CallError> {
        (**self).begin(request)
    }
}

impl<E: Executor + ?Sized> Executor for Box<E> {
    fn begin(&self, request: Request) -> Result<Box<dyn Stream>, CallError> {
        (**self).begin(request)
    }
}
