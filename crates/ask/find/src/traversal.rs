//! Which part of a tree is visited, in what order, and through which symbolic
//! links.

/// Which symbolic links are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Follow {
    /// None (`-P`).
    #[default]
    Never,
    /// Start points and files named by arguments (`-H`).
    Arguments,
    /// All (`-L`, `-follow`).
    Always,
}

/// Which part of the tree is visited, and in what order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traversal {
    /// Entries less than this many levels below the start point are not
    /// evaluated.
    pub min_depth: usize,
    /// Entries more than this many levels below the start point are not
    /// visited.
    pub max_depth: usize,
    /// True if the contents of a directory come before the directory
    /// (`-depth`).
    pub contents_first: bool,
    /// True if other file systems are left out (`-xdev`).
    pub one_file_system: bool,
    /// Which symbolic links are followed.
    pub follow: Follow,
}

impl Traversal {
    /// Returns true for an entry that is not evaluated before the search may
    /// descend into it: it is nearer than `min_depth`, or a directory whose
    /// contents come first.
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
