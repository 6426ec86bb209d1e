//! Reports a moved directory once, without the entries that moved with it.

use std::collections::HashMap;

use crate::attribute::AttributeSet;
use crate::record::{Difference, Kind};
use trawl_model::{Column, path};

/// Filters out differences that follow from the move of a directory above. It
/// expects differences in the order of [`crate::differences`], where a
/// directory comes before its contents.
#[derive(Clone, Debug, Default)]
pub struct Collapse {
    /// Moved directories: the new path, and the old one.
    moved: HashMap<Vec<u8>, Vec<u8>>,
}

impl Collapse {
    /// True if the difference adds nothing to the move of a directory above:
    /// the entry has the same name and place in that directory, and nothing but
    /// `ctime` has changed.
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
        let ctime = AttributeSet::of(&[Column::Ctime]);
        follows && difference.attributes.minus(ctime).is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_model::rows::OwnedRow;

    fn moved(from: &str, to: &str, mode: u32, attributes: AttributeSet) -> Difference {
        let mut state = OwnedRow::default();
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
        let (none, size) = (AttributeSet::EMPTY, AttributeSet::of(&[Column::Size]));
        let ctime = AttributeSet::of(&[Column::Ctime]);
        let mut collapse = Collapse::default();
        for (from, to, mode, attributes, hidden) in [
            ("/a", "/b", dir, ctime, false),
            // A file that left the directory; it sorts before the directory's
            // contents.
            ("/a/k", "/c", file, none, false),
            ("/a/x", "/b/x", file, none, true),
            ("/a/y", "/b/y", file, size, false),
            ("/a/d", "/b/d", dir, ctime, true),
            ("/a/d/f", "/b/d/f", file, none, true),
            // Still in the directory, but under another name.
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
