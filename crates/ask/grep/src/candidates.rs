//! The seam for a content index: it may rule out members before they are read.

use std::sync::Arc;

use trawl_call::request::Cancel;
use trawl_sets::{Found, Names, Problem};

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

/// Names without those that cannot match, which are then never fetched. Not for searches that
/// report members without a match: inverted ones, counts, and names without a match.
pub struct Filtered<N> {
    /// All names.
    pub names: N,
    /// The filter.
    pub candidates: Arc<dyn Candidates>,
    /// What is known about the pattern.
    pub literals: Option<Literals>,
}

impl<N: Names> Names for Filtered<N> {
    fn next(&mut self, cancel: &Cancel) -> Option<Result<Found, Problem>> {
        loop {
            let next = self.names.next(cancel)?;
            let is_out = |found: &Found| {
                let literals = self.literals.as_ref();
                !self.candidates.may_match(literals, found)
            };
            if !next.as_ref().is_ok_and(is_out) {
                return Some(next);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct WithX;

    impl Candidates for WithX {
        fn may_match(&self, _: Option<&Literals>, found: &Found) -> bool {
            found.name.contains(&b'x')
        }
    }

    #[test]
    fn what_cannot_match_is_no_member() {
        let names = [&b"ax"[..], b"b", b"x"].map(<[u8]>::to_vec);
        let mut filtered = Filtered {
            names: names.into_iter(),
            candidates: Arc::new(WithX),
            literals: None,
        };
        let mut left = Vec::new();
        while let Some(found) = filtered.next(&Cancel::default()) {
            left.push(found.unwrap().name);
        }
        assert_eq!(left, [&b"ax"[..], b"x"]);
    }
}
