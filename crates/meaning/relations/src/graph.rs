//! The access graph: files, and how often they were opened together. Weights halve every
//! [`HALF_LIFE_DAYS`], so that what is no longer used is forgotten.
//!
//! Two files are *opened together* if an execution opens them within [`WINDOW_NS`] with at most
//! [`WINDOW_FILES`] − 1 other files between them. The weight of the edge is the number of such
//! executions, and the weight of a file the number of executions that opened it, each halved as it
//! ages. What every program opens, such as the C library, is thereby told from files that belong
//! together: [`AccessGraph::likeness`] sets the one in relation to the other.

use std::collections::{BTreeMap, HashMap, HashSet};

use trawl_model::accesses::{Accesses, FileIdentity, FileNumber};

use crate::trace::{built, executions};

/// Time in which weights halve, in days.
pub const HALF_LIFE_DAYS: i64 = 30;
const HALF_LIFE_NS: f64 = HALF_LIFE_DAYS as f64 * 86_400e9;
/// Distance in an execution's order of files within which files are opened together.
pub const WINDOW_FILES: usize = 32;
/// Time within which files are opened together, in nanoseconds.
pub const WINDOW_NS: i64 = 60_000_000_000;
/// Maximum number of files in a graph. Beyond, those opened least are forgotten.
pub const FILES_MAX: usize = 1 << 16;
/// Maximum number of edges in a graph. Beyond, the lightest are forgotten.
pub const EDGES_MAX: usize = 1 << 19;
/// Maximum length of all paths together, in bytes.
pub const PATHS_BYTES_MAX: usize = 16 << 20;
/// Weight below which an edge is forgotten: that of one execution ten half-lives ago.
pub const WEIGHT_MIN: f64 = 1.0 / 1024.0;

/// Index of a file in a graph.
pub type Node = u32;

/// A file that was opened.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenedFile {
    /// Absolute path, without links and dots.
    pub path: Vec<u8>,
    /// The file that had the path when it was last seen.
    pub identity: FileIdentity,
    /// Number of executions that opened it, aged.
    pub executions: f64,
    /// The program that opened it last.
    pub program: Option<Node>,
}

/// The access graph of one user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AccessGraph {
    /// The time to which all weights are aged, in nanoseconds since the epoch.
    pub(crate) as_of_ns: i64,
    pub(crate) files: Vec<OpenedFile>,
    /// Pairs of files, the smaller index first.
    pub(crate) together: BTreeMap<(Node, Node), f64>,
    /// Files, and files from which they were built.
    pub(crate) built: BTreeMap<(Node, Node), f64>,
}

impl AccessGraph {
    /// Returns the files.
    #[must_use]
    pub fn files(&self) -> &[OpenedFile] {
        &self.files
    }

    /// Returns the number of edges.
    #[must_use]
    pub fn edges_count(&self) -> usize {
        self.together.len() + self.built.len()
    }

    /// Returns the file with a path.
    #[must_use]
    pub fn find(&self, path: &[u8]) -> Option<Node> {
        let at = self.files.iter().position(|file| file.path == path)?;
        Node::try_from(at).ok()
    }

    /// Ages all weights to a time. A time before the last one changes nothing.
    pub fn age(&mut self, now_ns: i64) {
        if now_ns <= self.as_of_ns {
            return;
        }
        let passed = now_ns.saturating_sub(self.as_of_ns) as f64;
        let factor = (-passed / HALF_LIFE_NS).exp2();
        self.files
            .iter_mut()
            .for_each(|file| file.executions *= factor);
        for weights in [&mut self.together, &mut self.built] {
            weights.values_mut().for_each(|weight| *weight *= factor);
            weights.retain(|_, weight| *weight >= WEIGHT_MIN);
        }
        self.as_of_ns = now_ns;
    }

    /// Adds what a command did, at a time in nanoseconds since the epoch. Files that are gone by
    /// then are left out.
    pub fn learn(&mut self, accesses: &Accesses, now_ns: i64) {
        self.age(now_ns);
        let executions = executions(accesses);
        let nodes = self.nodes(accesses);
        for execution in &executions {
            let program = execution.program.and_then(|file| nodes.get(&file).copied());
            let opened = execution.opened.iter();
            let opened: Vec<(Node, i64)> = opened
                .filter_map(|(file, at_ns)| Some((*nodes.get(file)?, *at_ns)))
                .collect();
            for (at, (node, at_ns)) in opened.iter().enumerate() {
                let file = &mut self.files[*node as usize];
                file.executions += 1.0;
                file.program = program.or(file.program);
                for (before, before_ns) in &opened[at.saturating_sub(WINDOW_FILES)..at] {
                    if at_ns.saturating_sub(*before_ns) <= WINDOW_NS && before != node {
                        let pair = (*before.min(node), *before.max(node));
                        *self.together.entry(pair).or_default() += 1.0;
                    }
                }
            }
        }
        self.learn_built(&built(accesses, &executions), &nodes);
        self.forget();
    }

    /// Files that were written anew are built from what they were built from last.
    fn learn_built(
        &mut self,
        built: &[(FileNumber, Vec<FileNumber>)],
        nodes: &HashMap<FileNumber, Node>,
    ) {
        let outputs: HashSet<Node> = built
            .iter()
            .filter_map(|(output, _)| nodes.get(output).copied())
            .collect();
        self.built
            .retain(|(output, _), _| !outputs.contains(output));
        for (output, sources) in built {
            let Some(output) = nodes.get(output) else {
                continue;
            };
            let sources = sources.iter().filter_map(|source| nodes.get(source));
            self.built
                .extend(sources.map(|source| ((*output, *source), 1.0)));
        }
    }

    /// Returns the nodes of a recording's files, which are added if they are new.
    fn nodes(&mut self, accesses: &Accesses) -> HashMap<FileNumber, Node> {
        let known = self.files.iter().enumerate();
        let mut known: HashMap<Vec<u8>, usize> =
            known.map(|(at, file)| (file.path.clone(), at)).collect();
        let mut nodes = HashMap::new();
        for (number, file) in accesses.files.iter().enumerate() {
            let Some(found) = file.at_end else {
                continue;
            };
            let at = *known.entry(file.path.clone()).or_insert_with(|| {
                self.files.push(OpenedFile {
                    path: file.path.clone(),
                    identity: found.identity,
                    executions: 0.0,
                    program: None,
                });
                self.files.len() - 1
            });
            self.files[at].identity = found.identity;
            nodes.insert(number as FileNumber, at as Node);
        }
        nodes
    }

    /// Keeps to the bounds.
    fn forget(&mut self) {
        let room = EDGES_MAX.saturating_sub(self.built.len());
        if self.together.len() > room {
            let mut edges: Vec<_> = std::mem::take(&mut self.together).into_iter().collect();
            edges.sort_by(|(a, heavy), (b, light)| light.total_cmp(heavy).then(a.cmp(b)));
            edges.truncate(room);
            self.together = edges.into_iter().collect();
        }
        while self.built.len() > EDGES_MAX {
            self.built.pop_first();
        }
        let mut order: Vec<usize> = (0..self.files.len()).collect();
        order.sort_by(|a, b| {
            let count = |at: &usize| self.files[*at].executions;
            count(b).total_cmp(&count(a)).then(a.cmp(b))
        });
        let mut bytes = 0;
        order.retain(|at| {
            bytes += self.files[*at].path.len();
            bytes <= PATHS_BYTES_MAX && self.files[*at].executions >= WEIGHT_MIN
        });
        order.truncate(FILES_MAX);
        order.sort_unstable();
        if order.len() < self.files.len() {
            self.keep(&order);
        }
    }

    /// Forgets all files but these, given in order.
    fn keep(&mut self, kept: &[usize]) {
        let moved: HashMap<Node, Node> = kept
            .iter()
            .enumerate()
            .map(|(new, old)| (*old as Node, new as Node))
            .collect();
        let files = kept.iter().map(|at| {
            let mut file = self.files[*at].clone();
            file.program = file.program.and_then(|node| moved.get(&node).copied());
            file
        });
        self.files = files.collect();
        for weights in [&mut self.together, &mut self.built] {
            *weights = std::mem::take(weights)
                .into_iter()
                .filter_map(|((a, b), weight)| Some(((*moved.get(&a)?, *moved.get(&b)?), weight)))
                .collect();
        }
    }

    /// Returns how much two files belong together, from 0 to 1: the number of executions that opened
    /// both together in relation to the number that opened either (Jaccard's coefficient).
    #[must_use]
    pub fn likeness(&self, a: Node, b: Node) -> f64 {
        let weight = self.together.get(&(a.min(b), a.max(b))).copied();
        self.relative(a, b, weight.unwrap_or(0.0))
    }

    fn relative(&self, a: Node, b: Node, weight: f64) -> f64 {
        let count = |node: Node| self.files[node as usize].executions;
        let either = count(a) + count(b) - weight;
        // A pair may be opened together more often than its files are counted, by rounding.
        (weight / either.max(weight).max(WEIGHT_MIN)).min(1.0)
    }

    /// Returns the edges between files by how much they belong together, from 0 to 1. What was built
    /// belongs to its sources entirely, however many other programs read these.
    #[must_use]
    pub fn likenesses(&self) -> Vec<(Node, Node, f64)> {
        let mut all: BTreeMap<(Node, Node), f64> = BTreeMap::new();
        for ((a, b), weight) in &self.together {
            all.insert((*a, *b), self.relative(*a, *b, *weight));
        }
        for (output, source) in self.built.keys() {
            all.insert((*output.min(source), *output.max(source)), 1.0);
        }
        all.into_iter()
            .map(|((a, b), weight)| (a, b, weight))
            .collect()
    }

    /// Returns the files opened together with a file, those that belong together most first.
    #[must_use]
    pub fn opened_with(&self, node: Node) -> Vec<(Node, f64)> {
        let pairs = self.together.keys();
        let others = pairs.filter_map(|(a, b)| match (*a == node, *b == node) {
            (true, _) => Some(*b),
            (_, true) => Some(*a),
            _ => None,
        });
        let mut found: Vec<(Node, f64)> = others
            .map(|other| (other, self.likeness(node, other)))
            .collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found
    }

    /// Returns the files from which a file was built.
    #[must_use]
    pub fn built_from(&self, output: Node) -> Vec<(Node, f64)> {
        let range = self.built.range((output, 0)..=(output, Node::MAX));
        range
            .map(|((_, source), weight)| (*source, *weight))
            .collect()
    }

    /// Returns the files that were built from a file.
    #[must_use]
    pub fn built_of(&self, source: Node) -> Vec<(Node, f64)> {
        let edges = self.built.iter().filter(|((_, from), _)| *from == source);
        edges
            .map(|((output, _), weight)| (*output, *weight))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_model::accesses::{Access, AccessKind, AccessedFile, FileAtEnd};

    const DAY_NS: i64 = 86_400_000_000_000;

    /// Runs of a program that reads these files one second apart; each run is a process.
    fn recording(runs: &[&[&str]], gap_ns: i64) -> Accesses {
        let mut all = Accesses::default();
        let number = |name: &str, all: &mut Accesses| {
            let path = format!("/{name}").into_bytes();
            let known = all.files.iter().position(|file| file.path == path);
            known.unwrap_or_else(|| {
                let at_end = Some(FileAtEnd {
                    identity: FileIdentity::default(),
                    modified_ns: 0,
                });
                all.files.push(AccessedFile { path, at_end });
                all.files.len() - 1
            }) as FileNumber
        };
        for (process, run) in runs.iter().enumerate() {
            for (at, name) in run.iter().enumerate() {
                let file = number(name, &mut all);
                all.events.push(Access {
                    at_ns: at as i64 * gap_ns,
                    process: process as u32 + 1,
                    parent: 0,
                    file,
                    kind: match at {
                        0 => AccessKind::Executed,
                        _ => AccessKind::Read,
                    },
                });
            }
        }
        all
    }

    fn weight(graph: &AccessGraph, a: &str, b: &str) -> f64 {
        let node = |name: &str| graph.find(format!("/{name}").as_bytes()).unwrap();
        let (a, b) = (node(a), node(b));
        graph
            .together
            .get(&(a.min(b), a.max(b)))
            .copied()
            .unwrap_or(0.0)
    }

    #[test]
    fn weights_halve_every_half_life() {
        let mut graph = AccessGraph::default();
        let start = 20_000 * DAY_NS;
        // Each recording's weight, aged by itself: the sum over recordings of 2^(−age/half-life).
        let days = [0, 1, 17, 30, 31, 90, 200];
        for day in days {
            graph.learn(&recording(&[&["p", "a", "b"]], 1), start + day * DAY_NS);
            let wanted: f64 = days
                .iter()
                .filter(|earlier| **earlier <= day)
                .map(|earlier| 0.5f64.powf((day - earlier) as f64 / 30.0))
                .sum();
            assert!(
                (weight(&graph, "a", "b") - wanted).abs() < 1e-9,
                "day {day}"
            );
            let file = &graph.files()[graph.find(b"/a").unwrap() as usize];
            assert!((file.executions - wanted).abs() < 1e-9);
        }
        // A clock that was set back changes nothing.
        let before = graph.clone();
        graph.age(start);
        assert_eq!(graph, before);
        // In the end everything is forgotten.
        graph.learn(&Accesses::default(), start + 2000 * DAY_NS);
        assert_eq!((graph.files().len(), graph.edges_count()), (0, 0));
    }

    #[test]
    fn only_files_close_in_order_and_time_are_opened_together() {
        let mut graph = AccessGraph::default();
        graph.learn(&recording(&[&["p", "a", "b"], &["q", "b", "c"]], 1), 1);
        assert_eq!(weight(&graph, "a", "b"), 1.0);
        assert_eq!(weight(&graph, "p", "b"), 1.0);
        assert_eq!(weight(&graph, "a", "c"), 0.0);
        let mut graph = AccessGraph::default();
        graph.learn(&recording(&[&["p", "a", "b"]], WINDOW_NS + 1), 1);
        assert_eq!(weight(&graph, "a", "b"), 0.0);
        let names: Vec<String> = (0..40).map(|at| format!("f{at}")).collect();
        let run: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut graph = AccessGraph::default();
        graph.learn(&recording(&[&run], 1), 1);
        assert_eq!(weight(&graph, "f0", "f32"), 1.0);
        assert_eq!(weight(&graph, "f0", "f33"), 0.0);
    }

    #[test]
    fn what_every_program_opens_belongs_to_none() {
        let mut graph = AccessGraph::default();
        let runs: Vec<Vec<String>> = (0..100)
            .map(|at| vec![format!("p{at}"), "libc".into(), format!("a{at}")])
            .collect();
        let runs: Vec<Vec<&str>> = runs
            .iter()
            .map(|run| run.iter().map(String::as_str).collect())
            .collect();
        let runs: Vec<&[&str]> = runs.iter().map(Vec::as_slice).collect();
        graph.learn(&recording(&runs, 1), 1);
        let node = |name: &str| graph.find(name.as_bytes()).unwrap();
        // 1 execution of both, of 100 that opened either.
        assert_eq!(graph.likeness(node("/libc"), node("/a7")), 0.01);
        assert_eq!(graph.likeness(node("/p7"), node("/a7")), 1.0);
    }

    #[test]
    fn bounds_hold_and_the_heaviest_stay() {
        let names: Vec<String> = (0..FILES_MAX + 100).map(|at| format!("f{at}")).collect();
        let mut runs: Vec<Vec<&str>> = names
            .chunks(20)
            .map(|some| some.iter().map(String::as_str).collect())
            .collect();
        runs.push(vec!["f7", "f8"]);
        let runs: Vec<&[&str]> = runs.iter().map(Vec::as_slice).collect();
        let mut all = Accesses::default();
        // Like `recording`, without its search for each name.
        let at_end = Some(FileAtEnd {
            identity: FileIdentity::default(),
            modified_ns: 0,
        });
        let file = |name: &String| AccessedFile {
            path: format!("/{name}").into_bytes(),
            at_end,
        };
        all.files.extend(names.iter().map(file));
        for (process, run) in runs.iter().enumerate() {
            all.events.extend(run.iter().map(|name| Access {
                at_ns: 0,
                process: process as u32 + 1,
                parent: 0,
                file: name[1..].parse().unwrap(),
                kind: AccessKind::Read,
            }));
        }
        let mut graph = AccessGraph::default();
        graph.learn(&all, 1);
        assert!(graph.files().len() <= FILES_MAX);
        assert!(graph.edges_count() <= EDGES_MAX);
        assert_eq!(weight(&graph, "f7", "f8"), 2.0);
    }
}
