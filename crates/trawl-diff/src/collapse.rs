//! A directory that moved is told of once, without what moved with it.

use std::collections::HashMap;

use crate::attribute::{Attribute, AttributeSet};
use crate::record::{Difference, Kind};
use trawl_model::path;

/// Leaves out what follows from the move of a directory above. Differences
/// come to it as [`crate::differences`] gives them, a directory's own before
/// those in it.
#[derive(Clone, Debug, Default)]
pub struct Collapse {
    /// Directories that moved: where they are, and where they were.
    moved: HashMap<Vec<u8>, Vec<u8>>,
}

impl Collapse {
    /// True if this difference tells nothing that the move of a directory
    /// above does not: the same name in the same place of it, and nothing has
    /// changed but `ctime`.
    pub fn hides(&mut self, difference: &Difference) -> bool {
        let (Kind::Moved, Some(from)) = (difference.kind, &difference.from) else {
            return false;
        };
        let follows = match (path::split(&difference.path), path::split(from)) {
            (Some((dir, name)), Some((old_dir, old_name))) => {
                name == old_name && self.moved.get(dir).is_some_and(|then| then == old_dir)
            }
            _ => false,
        };
        if difference.is_dir() {
            self.moved.insert(difference.path.clone(), from.clone());
        }
        let ctime = AttributeSet::of(&[Attribute::Ctime]);
        follows && difference.attributes.minus(ctime).is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::State;

    fn moved(from: &str, to: &str, mode: u32, attributes: AttributeSet) -> Difference {
        let mut state = State::default();
        state.meta.mode = mode;
        Difference {
            kind: Kind::Moved,
            path: to.into(),
            from: Some(from.into()),
            before: Some(state.clone()),
            after: Some(state),
            attributes,
        }
    }

    #[test]
    fn what_moved_with_its_directory_is_left_out() {
        let (dir, file) = (0o040_755, 0o100_644);
        let (none, size) = (AttributeSet::EMPTY, AttributeSet::of(&[Attribute::Size]));
        let ctime = AttributeSet::of(&[Attribute::Ctime]);
        let mut collapse = Collapse::default();
        for (from, to, mode, attributes, hidden) in [
            ("/a", "/b", dir, ctime, false),
            // Beside it, before what is in it.
            ("/a/k", "/c", file, none, false),
            ("/a/x", "/b/x", file, none, true),
            ("/a/y", "/b/y", file, size, false),
            ("/a/d", "/b/d", dir, ctime, true),
            ("/a/d/f", "/b/d/f", file, none, true),
            // Within, but under another name.
            ("/a/e", "/b/f", dir, none, false),
            ("/a/e/g", "/b/f/g", file, none, true),
            ("/a/z", "/b/z", file, none, true),
            ("/a/q", "/bb", file, none, false),
        ] {
            let is = collapse.hides(&moved(from, to, mode, attributes));
            assert_eq!(is, hidden, "{from} -> {to}");
        }
    }
}
