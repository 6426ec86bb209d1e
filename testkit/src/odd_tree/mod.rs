//! One tree with everything that ever broke a tree walker.
//!
//! - `names`: the table of odd names.
//! - `kinds`: every file type, sizes around block limits, symbolic links.
//! - `metadata`: modes, owners, times, extended attributes, ACLs.
//! - `shape`: deep, wide, hard links, a private folder.
//!
//! Entries that the machine, the user or the file system does not allow are left out and listed in
//! [`OddTree::skipped`]. Names, kinds, sizes, modes, owners and the times under `times` depend only
//! on the plan; other times are those of the build.

mod kinds;
mod metadata;
mod names;
mod shape;

use std::io;
use std::path::{Path, PathBuf};

use crate::folder::Folder;
use crate::prng::Prng;
use crate::skip::{Skip, is_root};

pub use names::ODD_NAMES;

/// What to build. [`Plan::default`] has everything, in sizes suitable for every test run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Determines random names and contents.
    pub seed: u64,
    /// Number of files in the wide folder.
    pub wide_files: usize,
    /// Levels of the chain of one-letter folders; its path takes two bytes per level.
    pub deep_levels: usize,
    /// Levels of the chain of folders with names of 250 bytes.
    pub long_levels: usize,
    /// Number of random names, most of them not UTF-8.
    pub random_names: usize,
}

impl Default for Plan {
    fn default() -> Self {
        // Both chains end well beyond PATH_MAX (4,096).
        Self {
            seed: 1,
            wide_files: 1_000,
            deep_levels: 2_500,
            long_levels: 20,
            random_names: 60,
        }
    }
}

/// A tree that was built.
#[derive(Debug)]
pub struct OddTree {
    /// Its root directory.
    pub root: PathBuf,
    /// Parts that could not be built, with the reasons.
    pub skipped: Vec<Skip>,
}

impl OddTree {
    /// Builds the tree in an empty directory that exists.
    ///
    /// Fails only where plain folders cannot be made.
    pub fn build(root: &Path, plan: &Plan) -> io::Result<Self> {
        let top = Folder::open(root)?;
        let mut site = Site {
            prng: Prng::new(plan.seed),
            skipped: Vec::new(),
            is_root: is_root(),
            root,
        };
        kinds::build(&mut site, &top)?;
        names::build(&mut site, &top, plan)?;
        metadata::build(&mut site, &top)?;
        shape::build(&mut site, &top, plan)?;
        Ok(Self {
            root: root.to_path_buf(),
            skipped: site.skipped,
        })
    }

    /// Prints the parts that were left out, one line each.
    pub fn say_skipped(&self) {
        for skip in &self.skipped {
            skip.say();
        }
    }
}

/// State shared by the builders.
struct Site<'a> {
    root: &'a Path,
    prng: Prng,
    skipped: Vec<Skip>,
    is_root: bool,
}

impl Site<'_> {
    /// Records a failure as a skipped part; returns true on success.
    fn attempt(&mut self, what: impl Into<String>, done: io::Result<()>) -> bool {
        match done {
            Ok(()) => true,
            Err(error) => {
                self.skipped.push(Skip::new(what, error));
                false
            }
        }
    }

    /// Records a part that needs root; returns true if this is root.
    fn needs_root(&mut self, what: &str) -> bool {
        if !self.is_root {
            self.skipped.push(Skip::new(what, "it needs root"));
        }
        self.is_root
    }
}
