//! Which part of a tree is visited, in what order, and through which links.

/// Which symbolic links lead on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Follow {
    /// None (`-P`).
    #[default]
    Never,
    /// Those that are start points or named by arguments (`-H`).
    Arguments,
    /// All (`-L`, `-follow`).
    Always,
}

/// Which part of the tree is visited, and in what order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traversal {
    /// Rows nearer to the start point than this are not tested.
    pub min_depth: usize,
    /// Rows further from the start point than this are not visited.
    pub max_depth: usize,
    /// True if the contents of a directory come before it (`-depth`).
    pub contents_first: bool,
    /// True if other file systems are left out (`-xdev`).
    pub one_file_system: bool,
    /// Which links are followed.
    pub follow: Follow,
}

impl Traversal {
    /// True for an entry that is not put to the expression before the search
    /// may go into it: it is too near, or a directory whose contents come
    /// first.
    pub(crate) fn is_early(&self, depth: usize, descends: bool) -> bool {
        depth < self.min_depth || descends && self.contents_first
    }
}

impl Default for Traversal {
    fn default() -> Self {
        Traversal {
            min_depth: 0,
            max_depth: usize::MAX,
            contents_first: false,
            one_file_system: false,
            follow: Follow::Never,
        }
    }
}
