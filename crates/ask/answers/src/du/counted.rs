//! The paths counted so far, and what was left out of them.
//!
//! A path above another one has not always counted it: other file systems may have been left out,
//! and the snapshot of a source need not contain a source below it.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use trawl_model::Subtrees;
use trawl_model::path::{ancestors, join};
use trawl_query::{Index, Located, Start, Usage, View};

use super::correction::Part;
use crate::error::AnswerError;

/// What earlier paths counted of a path.
pub(crate) enum Earlier {
    /// Nothing.
    Nothing,
    /// The directory itself, with this space, but nothing below it.
    Itself(Usage),
    /// Everything.
    Everything,
}

/// Paths counted so far.
#[derive(Default)]
pub(crate) struct Counted {
    paths: BTreeMap<Vec<u8>, One>,
}

/// A path that was counted.
struct One {
    view: Arc<View>,
    is_dir: bool,
    /// True if it is a file with several names.
    has_names: bool,
    /// Parts on other file systems, which were not counted.
    left_out: Subtrees,
}

impl Counted {
    /// Adds a path of which everything was counted except `left_out`.
    pub(crate) fn insert(&mut self, start: &Start, left_out: Subtrees) {
        let added = One {
            view: Arc::clone(&start.view),
            is_dir: start.is_dir,
            has_names: !start.is_dir && start.own_row().nlink() > 1,
            left_out,
        };
        // Paths that are now part of this one need not be remembered.
        let below = self.strictly_below(&start.path);
        let needless = below.filter(|(path, one)| {
            one.view.root() == added.view.root() && !added.left_out.contains(path)
        });
        let needless: Vec<Vec<u8>> = needless.map(|(path, _)| path.clone()).collect();
        for path in needless {
            self.paths.remove(&path);
        }
        self.paths.insert(start.path.clone(), added);
    }

    /// Returns what was counted of `start` as part of earlier paths.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub(crate) fn earlier(&self, index: &Index, start: &Start) -> Result<Earlier, AnswerError> {
        let mut found = Earlier::Nothing;
        let itself = std::iter::once(&start.path[..]);
        for path in itself.chain(ancestors(&start.path)) {
            let Some(one) = self.paths.get(path) else {
                continue;
            };
            match one.has_counted(index, start)? {
                Earlier::Nothing => {}
                Earlier::Itself(own) => found = Earlier::Itself(own),
                Earlier::Everything => return Ok(Earlier::Everything),
            }
        }
        Ok(found)
    }

    /// Returns the counted parts below `dir`. Files with several names are not among them: these
    /// are known by their inode numbers.
    pub(crate) fn below(&self, dir: &[u8]) -> impl Iterator<Item = Part> {
        let parts = self.strictly_below(dir).filter(|(_, one)| !one.has_names);
        parts.map(|(path, one)| Part {
            path: path.clone(),
            is_dir: one.is_dir,
        })
    }

    fn strictly_below(&self, dir: &[u8]) -> impl Iterator<Item = (&Vec<u8>, &One)> {
        self.paths.range(bounds_below(dir))
    }
}

/// Returns the bounds of the paths below a directory: they begin with its path and a slash. The root's
/// path is empty.
fn bounds_below(dir: &[u8]) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let first = join(dir, b"");
    let mut end = first.clone();
    end.pop();
    end.push(b'/' + 1);
    (Bound::Excluded(first), Bound::Excluded(end))
}

impl One {
    /// Returns what was counted of `later`, which is this path or lies below it.
    fn has_counted(&self, index: &Index, later: &Start) -> Result<Earlier, AnswerError> {
        if self.left_out.contains(&later.path) {
            return Ok(Earlier::Nothing);
        }
        if self.view.root() == later.view.root() {
            return Ok(Earlier::Everything);
        }
        // The other source may end at a mount point, whose content it does not have.
        let Located::Found(here) = self.view.locate(&later.path)? else {
            return Ok(Earlier::Nothing);
        };
        let is_end = index.totals(&here)?.sums.entries() == 0;
        if !is_end || index.totals(later)?.sums.entries() == 0 {
            return Ok(Earlier::Everything);
        }
        let row = here.own_row();
        Ok(Earlier::Itself(Usage {
            blocks: row.blocks(),
            size_bytes: row.size(),
            dir_size_bytes: row.size(),
            inodes: 1,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::RangeBounds;

    #[test]
    fn a_path_is_below_if_it_goes_on_after_a_slash() {
        for (dir, path, expected) in [
            ("", "/usr", true),
            ("", "", false),
            ("/a", "/a/b", true),
            ("/a", "/a/b/c", true),
            ("/a", "/a/\u{ff}", true),
            ("/a", "/a", false),
            ("/a", "/a-", false),
            ("/a", "/a0", false),
            ("/a", "/ab", false),
            ("/a", "/b", false),
        ] {
            let bounds = bounds_below(dir.as_bytes());
            let path = path.as_bytes().to_vec();
            assert_eq!(bounds.contains(&path), expected, "{path:?} below {dir}");
        }
    }
}
