//! Splits a search into one part per mount, and computes the rest of the pattern for each part.
//!
//! A search above mount points is cut at each of them. The executor for a mount searches the tree
//! below its mount point for the rest of the pattern; the other part of the search leaves that tree
//! out. A pure function: it does not access the file system. [`Request::for_part`] makes a request
//! of a part; its records have the paths that they have in the whole search.

use trawl_model::path;

use crate::options::Mounts;
use crate::pattern::Pattern;
use crate::request::{Request, Root};

/// A part of a search that one executor answers.
#[derive(Clone, Debug)]
pub struct Part {
    /// Index of the mount in the list; `None` for the part that lies on no listed mount.
    pub mount: Option<usize>,
    /// The part's root, with its path on this machine.
    pub root: Root,
}

/// Cuts one root's search at these mount points. Mount points and the root's own path `at` are
/// absolute and normalized (see [`trawl_model::path::normalize`]). Parts below which nothing can
/// match are left out, and so are mount points that the search does not cross.
///
/// Together the parts give exactly the matches of the whole search.
pub fn decompose(request: &Request, root: &Root, at: &[u8], mounts: &[Vec<u8>]) -> Vec<Part> {
    let home = home_of(at, mounts);
    if request.options().mounts == Mounts::Stay {
        // The search does not enter mounts below, but the mount points themselves may match.
        let root = root.clone();
        return vec![Part { mount: home, root }];
    }
    let mut below = mounts_below(root, at, mounts);
    // A mount point beyond the maximum depth is not entered; the part above reports it as too deep.
    let depth = |path: &[u8]| crate::pattern::components(path).count();
    below.retain(|(_, path)| depth(path) <= request.options().max_depth);
    let whole = root.pattern();
    let mut parts: Vec<Part> = Vec::new();
    parts.extend(part(root, home, b"", Some(whole.clone()), &below));
    for (index, relative) in &below {
        let left = whole.below(relative);
        parts.extend(part(root, Some(*index), relative, left, &below));
    }
    parts
}

/// Returns the mounts that a search of a root reaches, with their paths below the root, in path
/// order.
fn mounts_below<'m>(root: &Root, at: &[u8], mounts: &'m [Vec<u8>]) -> Vec<(usize, &'m [u8])> {
    let relative = |mount: &'m Vec<u8>| mount.strip_prefix(at)?.strip_prefix(b"/");
    let mut below: Vec<(usize, &[u8])> = Vec::new();
    for (index, mount) in mounts.iter().enumerate() {
        if let Some(path) = relative(mount)
            && !path.is_empty()
            && !is_inside_any(path, root.skip())
        {
            below.push((index, path));
        }
    }
    // Of several mounts on the same path, the last one is on top.
    below.sort_by(|a, b| path::cmp(a.1, b.1).then(b.0.cmp(&a.0)));
    below.dedup_by(|later, top| later.1 == top.1);
    below
}

/// Returns the mount that a path lies on.
fn home_of(at: &[u8], mounts: &[Vec<u8>]) -> Option<usize> {
    let around = mounts.iter().enumerate();
    let around = around.filter(|(_, mount)| path::is_within(at, root_as_empty(mount)));
    let nearest = around.max_by_key(|(_, mount)| root_as_empty(mount).len());
    nearest.map(|(index, _)| index)
}

fn root_as_empty(mount: &[u8]) -> &[u8] {
    mount.strip_suffix(b"/").unwrap_or(mount)
}

fn is_inside_any(relative: &[u8], paths: &[Vec<u8>]) -> bool {
    paths.iter().any(|path| path::is_within(relative, path))
}

/// Returns the part of a root at a path below it, without the mounts below that path.
fn part(
    root: &Root,
    mount: Option<usize>,
    relative: &[u8],
    pattern: Option<Pattern>,
    mounts: &[(usize, &[u8])],
) -> Option<Part> {
    let pattern = pattern?;
    let inside = |path: &[u8]| -> Option<Vec<u8>> {
        let rest = match relative {
            b"" => Some(path),
            relative => path.strip_prefix(relative)?.strip_prefix(b"/"),
        };
        rest.filter(|rest| !rest.is_empty()).map(<[u8]>::to_vec)
    };
    let others = mounts.iter().filter_map(|(_, path)| inside(path));
    let mut skip: Vec<Vec<u8>> = others.collect();
    skip.extend(root.skip().iter().filter_map(|path| inside(path)));
    skip.sort_by(|a, b| path::cmp(a, b));
    // A path within another skipped path is skipped with it.
    skip.dedup_by(|later, earlier| path::is_within(later, earlier));
    let place = match relative {
        b"" => root.path().to_vec(),
        relative => {
            let slash: &[u8] = if root.path().ends_with(b"/") {
                b""
            } else {
                b"/"
            };
            [root.path(), slash, relative].concat()
        }
    };
    Some(Part {
        mount,
        root: root.part(relative, place, pattern, skip),
    })
}
