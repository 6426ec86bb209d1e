//! Who answers: one trait for the live walk, the index, and whoever else can.

use crate::error::CallError;
use crate::request::Request;

/// Who answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ServedBy {
    /// A walk of the file system as it is.
    Live,
    /// An index.
    Index,
    /// A server on another machine, which does not say more.
    Remote,
    /// A walk on another machine.
    RemoteLive,
    /// An index on another machine.
    RemoteIndex,
}

impl ServedBy {
    /// Its name.
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

/// Some records of an answer that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Who answered.
    pub served_by: ServedBy,
    /// Whole records, as [`crate::packed`] has them.
    pub packed: Vec<u8>,
}

/// An answer, block by block.
///
/// Records come root by root; of each root first the root itself if it matches, then its
/// directories in depth-first path order, and of each directory what is wrong with it and its
/// matches by name bytes. With [`crate::options::Extent::First`] nothing follows the first match.
/// Dropping it ends the search.
pub trait Stream: Send {
    /// The next block; `None` at the end. Blocks are not empty.
    ///
    /// # Errors
    /// [`CallError::Cancelled`], and what keeps an executor from going on.
    fn next_block(&mut self) -> Result<Option<Block>, CallError>;
}

/// Answers searches.
pub trait Executor: Send + Sync {
    /// Begins to answer. What is wrong with single roots is in the answer.
    ///
    /// # Errors
    /// If it cannot answer the question at all; [`CallError::NotServed`] if another executor may.
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
