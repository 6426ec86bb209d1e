//! Which part of a search lies on which mount, and what is left of the pattern there.
//!
//! A search above mount points is cut at each of them: what lies below one is searched for what
//! is left of the pattern behind the way there, by whoever answers for that mount; the rest is
//! searched without it. A pure function: no file system is asked. [`Request::for_part`] asks about a
//! part; its records name paths as those of the whole do.

use trawl_model::path;

use crate::options::Mounts;
use crate::pattern::Pattern;
use crate::request::{Request, Root};

/// A part of a search that one executor answers.
#[derive(Clone, Debug)]
pub struct Part {
    /// Which mount it lies on: its place in the list; `None` for what lies on none.
    pub mount: Option<usize>,
    /// What is searched there, by the path that it has on this machine.
    pub root: Root,
}

/// Cuts one root's search at these mount points, which are absolute and normal paths, as the
/// root's own path `at` is (see [`trawl_model::path::normalize`]). Parts below which nothing can
/// match are left out, and so are those at mount points that are not crossed.
///
/// Together the parts give just the matches that the whole has.
pub fn decompose(request: &Request, root: &Root, at: &[u8], mounts: &[Vec<u8>]) -> Vec<Part> {
    let home = home_of(at, mounts);
    if request.options().mounts == Mounts::Stay {
        // What is mounted below is not gone into; the mount points themselves may match.
        let root = root.clone();
        return vec![Part { mount: home, root }];
    }
    let mut below = mounts_below(root, at, mounts);
    // What is too deep is not gone into, and told as that, by whoever answers for what is above.
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

/// The mounts that a search of a root comes to, by their paths below it, in path order.
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
    // Of those mounted on the same path the last one is on top.
    below.sort_by(|a, b| path::cmp(a.1, b.1).then(b.0.cmp(&a.0)));
    below.dedup_by(|later, top| later.1 == top.1);
    below
}

/// The mount that a path lies on.
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

/// The part of a root at a path below it, without the mounts below that.
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
    // What lies within another is gone with it.
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
