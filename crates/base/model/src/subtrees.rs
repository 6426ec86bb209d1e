//! A set of subtrees: directories, each with everything below it.
//!
//! Invariant: the roots are in path order and no root lies within another, whatever the order in
//! which they are added. A look-up can therefore use binary search.

use std::cmp::Ordering;

use crate::path;

/// Subtrees, each named by the path of its root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subtrees {
    roots: Vec<Vec<u8>>,
}

impl Subtrees {
    /// An empty set.
    pub const fn new() -> Subtrees {
        Subtrees { roots: Vec::new() }
    }

    /// True if the set holds no subtree.
    pub fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }

    /// Number of separate subtrees.
    pub fn len(&self) -> usize {
        self.roots.len()
    }

    /// The roots in path order; none lies within another.
    pub fn roots(&self) -> &[Vec<u8>] {
        &self.roots
    }

    /// True if `path` lies in one of the subtrees or is the root of one.
    pub fn contains(&self, path: &[u8]) -> bool {
        self.covers(self.after(path), path)
    }

    /// Adds one subtree, which takes the place of those below it. Fast when subtrees are added in
    /// path order.
    pub fn insert(&mut self, root: Vec<u8>) {
        let at = self.after(&root);
        if self.covers(at, &root) {
            return;
        }
        let below = self.roots[at..]
            .iter()
            .take_while(|inner| path::is_within(inner, &root));
        let end = at + below.count();
        self.roots.splice(at..end, [root]);
    }

    /// Number of roots that do not sort after `path`.
    fn after(&self, path: &[u8]) -> usize {
        self.roots
            .partition_point(|root| path::cmp(root, path) != Ordering::Greater)
    }

    /// True if `path` lies in a subtree, given the number of roots that do not sort after it: only
    /// the last of these can be above it.
    fn covers(&self, after: usize, path: &[u8]) -> bool {
        let nearest = after.checked_sub(1).and_then(|at| self.roots.get(at));
        nearest.is_some_and(|root| path::is_within(path, root))
    }

    /// The roots in path order.
    pub fn into_roots(self) -> Vec<Vec<u8>> {
        self.roots
    }

    /// True if `path` is the root of one of the subtrees.
    pub fn has_root(&self, path: &[u8]) -> bool {
        self.roots
            .binary_search_by(|root| path::cmp(root, path))
            .is_ok()
    }
}

impl Extend<Vec<u8>> for Subtrees {
    fn extend<I: IntoIterator<Item = Vec<u8>>>(&mut self, roots: I) {
        let before = self.roots.len();
        self.roots.extend(roots);
        if self.roots.len() > before {
            self.roots.sort_by(|a, b| path::cmp(a, b));
            self.roots
                .dedup_by(|later, kept| path::is_within(later, kept));
        }
    }
}

impl FromIterator<Vec<u8>> for Subtrees {
    fn from_iter<I: IntoIterator<Item = Vec<u8>>>(roots: I) -> Subtrees {
        let mut subtrees = Subtrees::new();
        subtrees.extend(roots);
        subtrees
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tree_path() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec("[-a-b]{1,2}", 0..4).prop_map(|names| {
            let bytes = names.iter().flat_map(|name| [b"/", name.as_bytes()]);
            bytes.flatten().copied().collect()
        })
    }

    proptest! {
        /// The oracle is a plain search through all roots, in the order in which they were added.
        #[test]
        fn the_order_of_adding_does_not_matter(
            first in proptest::collection::vec(tree_path(), 0..6),
            more in proptest::collection::vec(tree_path(), 0..6),
            path in tree_path(),
        ) {
            let mut subtrees: Subtrees = first.iter().cloned().collect();
            subtrees.extend(more.iter().cloned());
            let mut one_by_one = Subtrees::new();
            first.iter().chain(&more).cloned().for_each(|root| one_by_one.insert(root));
            prop_assert_eq!(&one_by_one, &subtrees);
            let mut all = first.iter().chain(&more);
            prop_assert_eq!(subtrees.contains(&path), all.any(|root| path::is_within(&path, root)));
            for root in subtrees.roots() {
                let others = subtrees.roots().iter().filter(|other| *other != root);
                prop_assert!(others.clone().all(|other| !path::is_within(root, other)));
                prop_assert_eq!(others.count() + 1, subtrees.len());
                prop_assert!(subtrees.has_root(root) && subtrees.contains(root));
            }
        }
    }

    #[test]
    fn a_root_covers_what_lies_below_it_and_no_sibling() {
        let of = |paths: &[&str]| -> Subtrees {
            paths.iter().map(|path| path.as_bytes().to_vec()).collect()
        };
        let subtrees = of(&["/b/c", "/a-b", "/b", "/a/z"]);
        assert_eq!(subtrees, of(&["/a/z", "/a-b", "/b"]));
        for (path, is_in, is_root) in [
            ("/a", false, false),
            ("/a/z", true, true),
            ("/a/z/y", true, false),
            ("/a/zy", false, false),
            ("/b/c", true, false),
            ("/c", false, false),
            ("", false, false),
        ] {
            assert_eq!(subtrees.contains(path.as_bytes()), is_in, "{path}");
            assert_eq!(subtrees.has_root(path.as_bytes()), is_root, "{path}");
        }
    }
}
