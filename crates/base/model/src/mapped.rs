//! Paths of somebody whose machine shows trees of this machine at other places.
//!
//! A process that answers such a question installs a [`Mapping`] before it does anything else. From
//! then on [`ours`] turns what the asker wrote into a path of this machine, and [`theirs`] turns a
//! path of this machine into what the asker calls it. Without a mapping both return what they are
//! given. What an answer spells from the asker's own words needs neither.
//!
//! Invariants: a mapping only renames, and the kernel still decides what this process may see. A
//! path that the asker cannot name is never written as if it were one of the asker's: it begins
//! with [`ELSEWHERE`]. Targets of symbolic links are contents, and are never mapped.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

use crate::path::{display, is_within, join};

/// The beginning of a path that exists on this machine and that the asker has no name for.
pub const ELSEWHERE: &[u8] = b"server:";

/// A tree, and what the asker calls it. Both paths are absolute and in the form of the index: `/`
/// is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The asker's path.
    pub theirs: Vec<u8>,
    /// The path on this machine.
    pub ours: Vec<u8>,
}

/// The trees that an asker can name. Neither the asker's paths nor those of this machine lie within
/// each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    trees: Vec<Tree>,
    /// The asker's working directory, as the asker calls it.
    directory: Vec<u8>,
}

impl Mapping {
    /// Creates a mapping for somebody who asks from this directory. If it lies in a tree, it must be
    /// the working directory of this process, too. Returns `None` if a tree lies within another one,
    /// on either side.
    #[must_use]
    pub fn new(directory: Vec<u8>, trees: Vec<Tree>) -> Option<Mapping> {
        let meet = |a: &[u8], b: &[u8]| is_within(a, b) || is_within(b, a);
        let overlaps = |(at, one): (usize, &Tree)| {
            let others = trees.iter().skip(at + 1);
            let mut others =
                others.filter(|it| meet(&it.theirs, &one.theirs) || meet(&it.ours, &one.ours));
            others.next().is_some()
        };
        let overlap = trees.iter().enumerate().any(overlaps);
        (!overlap).then_some(Mapping { trees, directory })
    }

    /// Returns the asker's working directory, as the asker calls it.
    pub fn directory(&self) -> &[u8] {
        &self.directory
    }

    /// The trees.
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// Returns the path on this machine for a path as the asker writes it; `None` if it is outside
    /// the trees. What follows the tree's own path is kept as it was written, and so is a relative
    /// path.
    #[must_use]
    pub fn ours<'p>(&self, given: &'p [u8]) -> Option<Cow<'p, [u8]>> {
        match given.starts_with(b"/") {
            true => self.of_absolute(given).map(Cow::Owned),
            false => {
                self.of_absolute(&join(&self.directory, given))?;
                Some(Cow::Borrowed(given))
            }
        }
    }

    /// Splits an absolute path as the asker writes it into the tree that contains it and what
    /// follows the tree's path; `None` if it is outside the trees.
    pub fn split<'p>(&self, given: &'p [u8]) -> Option<(&Tree, &'p [u8])> {
        let mut trees = self.trees.iter();
        trees.find_map(|tree| Some((tree, rest_below(given, &tree.theirs)?)))
    }

    fn of_absolute(&self, given: &[u8]) -> Option<Vec<u8>> {
        let (tree, rest) = self.split(given)?;
        let path = [&tree.ours[..], rest].concat();
        Some(display(&path).to_vec())
    }

    /// Returns what the asker calls a path of this machine. Relative paths are the same for both.
    #[must_use]
    pub fn theirs<'p>(&self, path: &'p [u8]) -> Cow<'p, [u8]> {
        let path = if path == b"/" { &b""[..] } else { path };
        if !path.is_empty() && !path.starts_with(b"/") {
            return Cow::Borrowed(path);
        }
        let tree = self.trees.iter().find(|tree| is_within(path, &tree.ours));
        let Some(tree) = tree else {
            return Cow::Owned([ELSEWHERE, display(path)].concat());
        };
        let named = [&tree.theirs, &path[tree.ours.len()..]].concat();
        Cow::Owned(display(&named).to_vec())
    }
}

/// Returns whether no `..` leads above the directory where a path begins, by its text.
fn never_rises(path: &[u8]) -> bool {
    let mut depth = 0usize;
    path.split(|byte| *byte == b'/').all(|part| {
        match part {
            b"" | b"." => {}
            b".." => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return false,
            },
            _ => depth += 1,
        }
        true
    })
}

/// Returns what follows `top` in an absolute path as somebody writes it, with the slash before it.
/// Slashes and `.` between the names of `top` count for nothing. `None` if it lies elsewhere.
fn rest_below<'p>(given: &'p [u8], top: &[u8]) -> Option<&'p [u8]> {
    let mut rest = given;
    let names = top.split(|byte| *byte == b'/');
    for name in names.filter(|name| !name.is_empty()) {
        loop {
            let start = rest.iter().position(|byte| *byte != b'/')?;
            match rest[start..].strip_prefix(b".") {
                Some(after) if after.starts_with(b"/") => rest = after,
                _ => {
                    rest = &rest[start..];
                    break;
                }
            }
        }
        rest = rest.strip_prefix(name)?;
        if !rest.is_empty() && !rest.starts_with(b"/") {
            return None;
        }
    }
    never_rises(rest).then_some(rest)
}

static MAPPING: OnceLock<Mapping> = OnceLock::new();

/// Makes this process answer somebody with this mapping. Only the first call has an effect.
pub fn install(mapping: Mapping) {
    let _ = MAPPING.set(mapping);
}

/// Returns the mapping of this process, if the asker has one.
#[must_use]
pub fn mapping() -> Option<&'static Mapping> {
    MAPPING.get()
}

/// Returns the path on this machine for a path as the asker writes it; `None` if the asker's path
/// leads to no tree of this machine.
#[must_use]
pub fn ours(given: &[u8]) -> Option<Cow<'_, [u8]>> {
    match mapping() {
        Some(mapping) => mapping.ours(given),
        None => Some(Cow::Borrowed(given)),
    }
}

/// Returns the name of a file of this machine as the asker calls it. Names that are not absolute
/// paths are the same for both.
#[must_use]
pub fn spelled(name: &[u8]) -> Cow<'_, [u8]> {
    match mapping() {
        Some(mapping) if name.starts_with(b"/") => mapping.theirs(name),
        _ => Cow::Borrowed(name),
    }
}

/// Returns the path of a file of this machine as messages to the asker show it.
#[must_use]
pub fn shown_file(path: &Path) -> String {
    String::from_utf8_lossy(&spelled(path.as_os_str().as_bytes())).into_owned()
}

/// Returns a path of this machine as the asker calls it; `/` for the root, which is empty in the
/// index.
#[must_use]
pub fn theirs(path: &[u8]) -> Cow<'_, [u8]> {
    match mapping() {
        Some(mapping) => mapping.theirs(path),
        None => Cow::Borrowed(display(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tree(theirs: &str, ours: &str) -> Tree {
        Tree {
            theirs: theirs.into(),
            ours: ours.into(),
        }
    }

    fn mapping(trees: &[(&str, &str)]) -> Mapping {
        let trees = trees.iter().map(|(theirs, ours)| tree(theirs, ours));
        Mapping::new(b"/data/d".to_vec(), trees.collect()).unwrap()
    }

    #[test]
    fn what_the_asker_writes_below_a_tree_is_kept() {
        let two = mapping(&[("/gpfs", "/export/gpfs"), ("/data", "/gpfs/data")]);
        for (given, ours) in [
            ("/gpfs", Some("/export/gpfs")),
            ("/gpfs/", Some("/export/gpfs/")),
            ("//./gpfs//a/./b\n/", Some("/export/gpfs//a/./b\n/")),
            ("/gpfs/a/../b", Some("/export/gpfs/a/../b")),
            ("/data/x", Some("/gpfs/data/x")),
            ("/gpfs2", None),
            ("/export/gpfs/a", None),
            ("/gpfs/../etc", None),
            ("/gpfs/a/../../gpfs/b", None),
            ("/x/../gpfs", None),
            ("/", None),
            ("a/../../b", Some("a/../../b")),
            ("a/../../../b", None),
            ("", Some("")),
        ] {
            let mapped = two.ours(given.as_bytes());
            assert_eq!(mapped.as_deref(), ours.map(str::as_bytes), "{given:?}");
        }
        // A relative path means nothing here if the working directory is not in a tree.
        let one = mapping(&[("/gpfs", "/export/gpfs")]);
        assert_eq!(one.ours(b"a"), None);
    }

    #[test]
    fn a_path_without_a_name_is_not_shown_as_one_of_the_asker() {
        let one = mapping(&[("/gpfs", "/export/gpfs")]);
        for (path, theirs) in [
            ("/export/gpfs", "/gpfs"),
            ("/export/gpfs/a", "/gpfs/a"),
            ("/export/gpfs2", "server:/export/gpfs2"),
            ("/gpfs/a", "server:/gpfs/a"),
            ("", "server:/"),
            ("/", "server:/"),
            ("./a", "./a"),
        ] {
            assert_eq!(&*one.theirs(path.as_bytes()), theirs.as_bytes(), "{path:?}");
        }
    }

    #[test]
    fn the_whole_of_either_machine_can_be_mapped() {
        let whole = mapping(&[("/net/one", "")]);
        assert_eq!(&*whole.ours(b"/net/one").unwrap(), b"/");
        assert_eq!(&*whole.ours(b"/net/one/etc").unwrap(), b"/etc");
        assert_eq!(&*whole.theirs(b""), b"/net/one");
        assert_eq!(&*whole.theirs(b"/etc"), b"/net/one/etc");
        let root = mapping(&[("", "/export/root")]);
        assert_eq!(&*root.ours(b"/").unwrap(), b"/export/root/");
        assert_eq!(&*root.ours(b"/etc").unwrap(), b"/export/root/etc");
        assert_eq!(root.ours(b"/.."), None);
        assert_eq!(&*root.theirs(b"/export/root"), b"/");
        assert_eq!(&*root.theirs(b"/export/root/etc"), b"/etc");
    }

    #[test]
    fn trees_within_each_other_are_no_mapping() {
        for trees in [
            [("/a", "/x"), ("/a/b", "/y")],
            [("/a", "/x"), ("/b", "/x/y")],
            [("/a", "/x"), ("/b", "/x")],
            [("", "/x"), ("/b", "/y")],
        ] {
            let trees = trees.iter().map(|(theirs, ours)| tree(theirs, ours));
            assert_eq!(Mapping::new(Vec::new(), trees.collect()), None);
        }
    }

    proptest! {
        /// Whatever is found below a tree, the asker can ask about under the name that is shown.
        #[test]
        fn a_shown_path_leads_back(
            theirs in "(/[a-c.]{1,2}[a-c]){0,3}",
            ours in "(/[a-c.]{1,2}[a-c]){0,3}",
            below in "(/[^/\0]{1,3}[a-c]){0,3}",
        ) {
            let one = mapping(&[(&theirs, &ours)]);
            let path = [ours.as_bytes(), below.as_bytes()].concat();
            let shown = one.theirs(&path).into_owned();
            let back = one.ours(&shown).unwrap();
            prop_assert_eq!(crate::path::normalize(&back), Some(path));
        }
    }
}
