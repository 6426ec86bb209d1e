//! The seam for a content index: it may rule out members before they are read.

use trawl_sets::Found;

/// Strings of which each matching member contains at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literals(pub Vec<Vec<u8>>);

/// Decides which members may match. A content index implements it.
pub trait Candidates: Send + Sync {
    /// Returns whether a member may contain one of these strings. `None` means that nothing is
    /// known about the pattern. It must return true if in doubt: for members that changed since
    /// they were indexed, and for members in UTF-16, whose bytes are decoded before the search.
    fn may_match(&self, literals: Option<&Literals>, found: &Found) -> bool;
}

/// The default: every member may match.
#[derive(Clone, Copy, Debug, Default)]
pub struct Everything;

impl Candidates for Everything {
    fn may_match(&self, _: Option<&Literals>, _: &Found) -> bool {
        true
    }
}
