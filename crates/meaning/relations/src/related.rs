//! Relations of a file, collected from sources, to a depth.
//!
//! "Guarded at both ends": every answer is checked by looking at both files now, as the asking user.
//! A file that this process cannot reach is never named, whatever a source says of it.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use trawl_model::accesses::FileIdentity;

use crate::candidates::name;
use crate::error::RelationError;
use crate::kind::{Direction, Kind};

/// Maximum number of files that are named.
pub const FILES_MAX: usize = 10_000;

/// A source of relations.
pub trait Source {
    /// Returns whether it may know relations of a kind.
    fn kinds(&self, kind: &Kind) -> bool;

    /// Returns what it knows of a file, which is given by an absolute path without links. The files
    /// at the other end need not exist.
    fn edges(&mut self, file: &Path) -> Found;

    /// Is told all files of a depth before it is asked about each, and may look for them at once.
    fn prepare(&mut self, _files: &[&Path]) {}
}

/// What a source knows of a file.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The relations.
    pub edges: Vec<Edge>,
    /// Messages about what could not be looked at.
    pub issues: Vec<String>,
}

/// A relation of the file that a source was asked about.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// The kind.
    pub kind: Kind,
    /// Which end the file that was asked about is.
    pub direction: Direction,
    /// The file at the other end.
    pub path: PathBuf,
    /// How strong the relation is, from 0 to 1.
    pub weight: f64,
    /// Which file the path was when the relation was recorded, if that is known.
    pub identity: Option<FileIdentity>,
}

/// Which relations are asked for.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The kinds; all if there are none.
    pub kinds: Vec<Kind>,
    /// The direction; both if `None`.
    pub direction: Option<Direction>,
    /// The number of relations from the file to the last one named; at least 1.
    pub depth: u32,
}

impl Wanted {
    /// Returns whether a source may know relations that are asked for.
    fn concerns(&self, source: &dyn Source) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|kind| source.kinds(kind))
    }
}

/// A related file.
#[derive(Clone, Debug, PartialEq)]
pub struct Related {
    /// The relation, as seen from `via`.
    pub edge: Edge,
    /// The number of relations from the file that was asked about.
    pub depth: u32,
    /// The file whose relation it is.
    pub via: PathBuf,
    /// Whether another file has taken the path since the relation was recorded.
    pub is_replaced: bool,
}

/// Related files, and what could not be looked at.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// By depth; then by kind, weight and path.
    pub related: Vec<Related>,
    /// Messages.
    pub issues: Vec<String>,
}

/// Returns the path without links of a file that is asked about.
///
/// # Errors
/// Fails if the asking user cannot reach the file, or it is not a regular file.
pub fn start(file: &Path) -> Result<PathBuf, RelationError> {
    let failed = |source| RelationError::file("find", file, source);
    let start = fs::canonicalize(file).map_err(failed)?;
    let found = start.symlink_metadata().map_err(failed)?;
    if found.is_file() {
        return Ok(start);
    }
    Err(RelationError::NotFile {
        path: file.to_owned(),
        what: match found.is_dir() {
            true => "a directory",
            false => "not a regular file",
        },
    })
}

/// Returns the files related to a file.
///
/// # Errors
/// As [`start`].
pub fn related(
    file: &Path,
    wanted: &Wanted,
    sources: &mut [&mut dyn Source],
) -> Result<Answer, RelationError> {
    let start = start(file)?;
    let mut answer = Answer::default();
    let mut issues = HashSet::new();
    let mut met = HashSet::from([start.clone()]);
    let mut left = VecDeque::from([(start, 0)]);
    let mut prepared = None;
    while let Some((here, depth)) = left.pop_front() {
        if depth >= wanted.depth {
            continue;
        }
        if prepared != Some(depth) {
            prepared = Some(depth);
            // The files that are left are those of this depth.
            let files = left.iter().map(|(path, _)| path.as_path());
            let files: Vec<&Path> = files.chain([here.as_path()]).collect();
            prepare(&files, wanted, sources);
        }
        let found = edges(&here, wanted, sources);
        issues.extend(found.issues);
        for (edge, is_replaced) in reachable(found.edges) {
            if met.len() > FILES_MAX {
                issues.insert(format!("only the first {FILES_MAX} files are named"));
                left.clear();
                break;
            }
            let is_new = met.insert(edge.path.clone());
            // A file may be related in several ways to the one that was asked about.
            if !is_new && (depth > 0 || edge.path == here) {
                continue;
            }
            if is_new {
                left.push_back((edge.path.clone(), depth + 1));
            }
            answer.related.push(Related {
                edge,
                depth: depth + 1,
                via: here.clone(),
                is_replaced,
            });
        }
    }
    answer.issues = issues.into_iter().collect();
    answer.issues.sort_unstable();
    Ok(answer)
}

fn prepare(files: &[&Path], wanted: &Wanted, sources: &mut [&mut dyn Source]) {
    for source in sources {
        if wanted.concerns(&**source) {
            source.prepare(files);
        }
    }
}

/// Returns the wanted relations of a file from all sources, ordered, each once.
fn edges(file: &Path, wanted: &Wanted, sources: &mut [&mut dyn Source]) -> Found {
    let is_wanted = |kind: &Kind| wanted.kinds.is_empty() || wanted.kinds.contains(kind);
    let mut all: BTreeMap<(Kind, Direction, PathBuf), Edge> = BTreeMap::new();
    let mut issues = Vec::new();
    for source in sources {
        if !wanted.concerns(&**source) {
            continue;
        }
        let found = source.edges(file);
        issues.extend(found.issues);
        for edge in found.edges {
            let is_direction = wanted.direction.is_none_or(|one| {
                one == edge.direction || matches!(edge.kind, Kind::OpenedWith | Kind::SameContent)
            });
            if is_direction && is_wanted(&edge.kind) {
                let key = (edge.kind.clone(), edge.direction, edge.path.clone());
                all.entry(key).or_insert(edge);
            }
        }
    }
    let mut edges: Vec<Edge> = all.into_values().collect();
    edges.sort_by(|a, b| {
        let kinds = a.kind.cmp(&b.kind).then(a.direction.cmp(&b.direction));
        let weights = b.weight.total_cmp(&a.weight);
        kinds.then(weights).then_with(|| a.path.cmp(&b.path))
    });
    Found { edges, issues }
}

/// Returns the relations to regular files that this process can reach now, and whether another file
/// has taken the path. A file that it cannot reach leaves no trace.
fn reachable(edges: Vec<Edge>) -> Vec<(Edge, bool)> {
    let look = |edge: Edge| {
        let found = edge.path.symlink_metadata().ok()?;
        let is_replaced = edge.identity.is_some_and(|then| {
            let born = found.created().ok();
            let born = born.and_then(|born| born.duration_since(UNIX_EPOCH).ok());
            let born_ns = born.map_or(0, |born| born.as_nanos() as i64);
            let now = (found.dev(), found.ino(), born_ns);
            (then.device, then.inode, then.born_ns) != now
        });
        found.is_file().then_some((edge, is_replaced))
    };
    edges.into_iter().filter_map(look).collect()
}

/// Returns a message about a file.
pub(crate) fn about(file: &Path, what: &str) -> String {
    format!("{}: {what}", name(file))
}
