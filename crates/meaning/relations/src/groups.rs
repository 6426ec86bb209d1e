//! Learnt groups: communities of the access graph.
//!
//! "By grouping files according to the access patterns, this execution-related semantic knowledge can
//! be captured and then utilized" (Propeller, section 2.3).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use trawl_model::relative_path::split;
use xxhash_rust::xxh3::xxh3_64;

use crate::community::communities;
use crate::error::RelationError;
use crate::graph::{AccessGraph, Node};
use crate::store::Place;

/// Fewer files are no group.
pub const MEMBERS_MIN: usize = 3;

/// A group of files that programs open together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LearntGroup {
    /// `learnt-` and 16 hexadecimal digits. It stays as long as the group's central file does.
    pub id: String,
    /// File name of the program that opened most of the members; the most common directory, if no
    /// program is known.
    pub name: Vec<u8>,
    /// The directory that most of the members lie in.
    pub directory: PathBuf,
    /// The files, sorted.
    pub members: Vec<PathBuf>,
}

/// Returns the groups learnt from what this user's programs opened, without members that the user
/// cannot reach now. Larger groups come first.
///
/// # Errors
/// Fails if the access graph cannot be read.
pub fn learnt_groups(place: &Place) -> Result<Vec<LearntGroup>, RelationError> {
    let is_reachable = |path: &[u8]| {
        let found = Path::new(OsStr::from_bytes(path)).symlink_metadata();
        found.is_ok_and(|found| found.is_file())
    };
    Ok(groups_of(&place.read()?, is_reachable))
}

/// Returns the groups of a graph, with those members that are admitted.
#[must_use]
pub fn groups_of(graph: &AccessGraph, admits: impl Fn(&[u8]) -> bool) -> Vec<LearntGroup> {
    let edges: Vec<(usize, usize, f64)> = graph
        .likenesses()
        .into_iter()
        .map(|(a, b, weight)| (a as usize, b as usize, weight))
        .collect();
    let found = communities(graph.files().len(), &edges);
    // How much each file belongs to its group.
    let mut within = vec![0.0; found.len()];
    for (a, b, weight) in &edges {
        if found[*a] == found[*b] {
            within[*a] += weight;
            within[*b] += weight;
        }
    }
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (file, community) in found.iter().enumerate() {
        if admits(&graph.files()[file].path) {
            members.entry(*community).or_default().push(file);
        }
    }
    let groups = members.into_values().filter(|all| all.len() >= MEMBERS_MIN);
    let mut groups: Vec<LearntGroup> = groups.map(|all| group(graph, &all, &within)).collect();
    groups.sort_by(|a, b| b.members.len().cmp(&a.members.len()).then(a.id.cmp(&b.id)));
    groups
}

fn group(graph: &AccessGraph, members: &[usize], within: &[f64]) -> LearntGroup {
    let path = |file: usize| &graph.files()[file].path;
    let central = members.iter().copied().max_by(|a, b| {
        let weights = within[*a].total_cmp(&within[*b]);
        weights.then_with(|| path(*b).cmp(path(*a)))
    });
    let central = central.map_or(&[][..], |file| &**path(file));
    let directory = most_common(members.iter().map(|file| split(path(*file)).0));
    let programs = members
        .iter()
        .filter_map(|file| graph.files()[*file].program);
    let programs = programs.map(|program: Node| split(path(program as usize)).1);
    let name = most_common(programs).or(directory).unwrap_or_default();
    let mut paths: Vec<PathBuf> = members
        .iter()
        .map(|file| PathBuf::from(OsStr::from_bytes(path(*file))))
        .collect();
    paths.sort_unstable();
    LearntGroup {
        id: format!("learnt-{:016x}", xxh3_64(central)),
        name: name.to_owned(),
        directory: PathBuf::from(OsStr::from_bytes(directory.unwrap_or_default())),
        members: paths,
    }
}

/// Returns the value that occurs most often; of several, the first in byte order.
fn most_common<'v>(values: impl Iterator<Item = &'v [u8]>) -> Option<&'v [u8]> {
    let mut counts: BTreeMap<&[u8], usize> = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    let best = counts.into_iter().rev().max_by_key(|(_, count)| *count);
    best.map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_model::accesses::{Access, AccessKind, AccessedFile, Accesses, FileAtEnd};

    /// Two programs that share a library, each run three times with its own files.
    fn graph() -> AccessGraph {
        let mut all = Accesses::default();
        let paths = [
            "/bin/edit",
            "/lib/libc",
            "/e/1",
            "/e/2",
            "/e/3",
            "/bin/play",
            "/m/1",
            "/m/2",
            "/m/3",
        ];
        for path in paths {
            all.files.push(AccessedFile {
                path: path.as_bytes().to_vec(),
                at_end: Some(FileAtEnd {
                    identity: Default::default(),
                    modified_ns: 0,
                }),
            });
        }
        for process in 1..=6 {
            let files: [u32; 5] = match process % 2 {
                0 => [0, 1, 2, 3, 4],
                _ => [5, 1, 6, 7, 8],
            };
            for (at, file) in files.into_iter().enumerate() {
                all.events.push(Access {
                    at_ns: at as i64,
                    process,
                    parent: 0,
                    file,
                    kind: match at {
                        0 => AccessKind::Executed,
                        _ => AccessKind::Read,
                    },
                });
            }
        }
        let mut graph = AccessGraph::default();
        graph.learn(&all, 1);
        graph
    }

    #[test]
    fn files_of_a_program_are_a_group_named_after_it() {
        let groups = groups_of(&graph(), |path| path != b"/lib/libc");
        let paths = |group: &LearntGroup| -> Vec<String> {
            let names = group.members.iter().map(|path| path.display().to_string());
            names.collect()
        };
        assert_eq!(groups.len(), 2);
        for (name, directory, members) in [
            ("edit", "/e", ["/bin/edit", "/e/1", "/e/2", "/e/3"]),
            ("play", "/m", ["/bin/play", "/m/1", "/m/2", "/m/3"]),
        ] {
            let group = groups.iter().find(|one| one.name == name.as_bytes());
            let group = group.unwrap_or_else(|| panic!("{groups:?}"));
            assert_eq!(group.directory, Path::new(directory));
            assert_eq!(paths(group), members);
            assert_eq!(group.id.len(), "learnt-".len() + 16);
        }
        assert_ne!(groups[0].id, groups[1].id);
        assert_eq!(groups_of(&graph(), |path| path != b"/lib/libc"), groups);
        // Two files are no group.
        assert!(groups_of(&graph(), |path| path.ends_with(b"1")).len() < 2);
    }
}
