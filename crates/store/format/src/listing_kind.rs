//! Tells what a row of the dirs table describes.

/// Meaning of a row of the dirs table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListingKind {
    /// The source root's own row; sorts before a listing of the same path.
    Root,
    /// The own row of a directory behind a barrier: a copy for users who may not list the directory
    /// that contains it.
    Barrier,
    /// A listed directory.
    Listed,
}
