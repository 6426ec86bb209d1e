//! Represents the parts of a tree that a predicate on paths leaves, as few disjoint areas.
//!
//! Areas are necessary conditions: an area may hold rows that do not match, but no matching row
//! lies outside all areas.

use trawl_model::path::{is_within, split};

/// A part of the tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Area {
    /// A path and everything below it.
    Subtree(Vec<u8>),
    /// The entries of a directory.
    Children(Vec<u8>),
    /// A single entry.
    Entry(Vec<u8>),
}

/// The parts of the tree that a query asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Areas {
    /// The whole tree.
    Everywhere,
    /// These areas, no two of which share an entry.
    These(Vec<Area>),
}

impl Area {
    /// Returns the path that names the area.
    pub(crate) fn path(&self) -> &[u8] {
        match self {
            Area::Subtree(path) | Area::Children(path) | Area::Entry(path) => path,
        }
    }

    /// Returns true if all of `other` lies in this area.
    fn covers(&self, other: &Area) -> bool {
        match (self, other) {
            (Area::Subtree(top), other) => is_within(other.path(), top),
            (Area::Children(dir), Area::Children(other)) => dir == other,
            (Area::Children(dir), Area::Entry(entry)) => holds(dir, entry),
            (Area::Entry(one), Area::Entry(other)) => one == other,
            _ => false,
        }
    }

    /// Returns an area around the intersection of both; `None` if it is empty.
    fn and(&self, other: &Area) -> Option<Area> {
        if self.covers(other) {
            return Some(other.clone());
        }
        if other.covers(self) {
            return Some(self.clone());
        }
        // The top of a subtree may be a child of the directory.
        match (self, other) {
            (Area::Subtree(top), Area::Children(dir))
            | (Area::Children(dir), Area::Subtree(top)) => {
                holds(dir, top).then(|| Area::Entry(top.clone()))
            }
            _ => None,
        }
    }

    /// Returns an area around both; `None` if they do not intersect.
    fn or(&self, other: &Area) -> Option<Area> {
        if self.covers(other) {
            return Some(self.clone());
        }
        if other.covers(self) {
            return Some(other.clone());
        }
        match (self, other) {
            (Area::Subtree(top), Area::Children(dir))
            | (Area::Children(dir), Area::Subtree(top)) => {
                holds(dir, top).then(|| Area::Subtree(dir.clone()))
            }
            _ => None,
        }
    }
}

/// Returns true if `entry` lies directly in `dir`.
fn holds(dir: &[u8], entry: &[u8]) -> bool {
    split(entry).is_some_and(|(above, _)| above == dir)
}

impl Areas {
    /// Makes a set of one area.
    pub(crate) fn one(area: Area) -> Areas {
        Areas::These(vec![area])
    }

    /// Returns areas around the intersection.
    pub(crate) fn and(self, other: Areas) -> Areas {
        let (ours, theirs) = match (self, other) {
            (Areas::Everywhere, other) => return other,
            (other, Areas::Everywhere) => return other,
            (Areas::These(ours), Areas::These(theirs)) => (ours, theirs),
        };
        let pairs = ours
            .iter()
            .flat_map(|a| theirs.iter().map(move |b| a.and(b)));
        Areas::disjoint(pairs.flatten())
    }

    /// Returns areas around the union.
    pub(crate) fn or(self, other: Areas) -> Areas {
        match (self, other) {
            (Areas::These(ours), Areas::These(theirs)) => {
                Areas::disjoint(ours.into_iter().chain(theirs))
            }
            _ => Areas::Everywhere,
        }
    }

    /// Merges overlapping areas.
    fn disjoint(parts: impl Iterator<Item = Area>) -> Areas {
        let mut out: Vec<Area> = Vec::new();
        for mut part in parts {
            // The merged area may overlap with others.
            while let Some(at) = out.iter().position(|known| known.or(&part).is_some()) {
                let known = out.swap_remove(at);
                part = known.or(&part).unwrap_or(part);
            }
            out.push(part);
        }
        out.sort();
        Areas::These(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns every path of up to three components made of two names.
    fn paths() -> Vec<Vec<u8>> {
        let mut paths = vec![Vec::new()];
        let mut last = 0..1;
        for _ in 0..3 {
            let end = paths.len();
            for at in last {
                paths.push([&paths[at][..], b"/a"].concat());
                paths.push([&paths[at][..], b"/b"].concat());
            }
            last = end..paths.len();
        }
        paths
    }

    fn all_areas() -> Vec<Area> {
        let kinds = [Area::Subtree, Area::Children, Area::Entry];
        let paths = paths();
        let each = kinds
            .iter()
            .flat_map(|kind| paths.iter().map(move |path| kind(path.clone())));
        each.collect()
    }

    fn has(area: &Area, entry: &[u8]) -> bool {
        match area {
            Area::Subtree(top) => is_within(entry, top),
            Area::Children(dir) => holds(dir, entry),
            Area::Entry(one) => one == entry,
        }
    }

    fn times(areas: &Areas, entry: &[u8]) -> usize {
        match areas {
            Areas::Everywhere => 1,
            Areas::These(parts) => parts.iter().filter(|part| has(part, entry)).count(),
        }
    }

    #[test]
    fn nothing_is_lost_and_nothing_is_read_twice() {
        let (all, entries) = (all_areas(), paths());
        for first in &all {
            for second in &all {
                let two = Areas::disjoint([first.clone(), second.clone()].into_iter());
                for third in all.iter().step_by(2) {
                    let one = Areas::one(third.clone());
                    let (both, either) = (two.clone().and(one.clone()), two.clone().or(one));
                    for entry in &entries {
                        let in_two = has(first, entry) || has(second, entry);
                        let in_one = has(third, entry);
                        let context = || format!("{first:?} {second:?} {third:?} {entry:?}");
                        assert!(times(&two, entry) <= 1, "{}", context());
                        let (both, either) = (times(&both, entry), times(&either, entry));
                        assert!(both <= 1 && either <= 1, "{}", context());
                        assert!(both == 1 || !(in_two && in_one), "{}", context());
                        assert!(either == 1 || !(in_two || in_one), "{}", context());
                    }
                }
            }
        }
    }

    #[test]
    fn the_narrower_part_remains() {
        let path = |text: &str| text.as_bytes().to_vec();
        let both =
            Areas::one(Area::Subtree(path("/a"))).and(Areas::one(Area::Children(path("/a/b"))));
        assert_eq!(both, Areas::one(Area::Children(path("/a/b"))));
        let none = Areas::one(Area::Entry(path("/a"))).and(Areas::one(Area::Entry(path("/b"))));
        assert_eq!(none, Areas::These(Vec::new()));
    }
}
