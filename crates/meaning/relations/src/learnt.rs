//! Relations from the user's access graph: *opened with* and *built from*.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::graph::{AccessGraph, Node};
use crate::kind::{Direction, Kind};
use crate::related::{Edge, Found, Source};

/// Maximum number of files that are named as opened with one file: those that belong to it most.
pub const OPENED_WITH_MAX: usize = 32;

/// Relations from an access graph.
#[derive(Debug)]
pub struct Learnt<'g> {
    graph: &'g AccessGraph,
}

impl<'g> Learnt<'g> {
    /// Uses a graph.
    #[must_use]
    pub fn new(graph: &'g AccessGraph) -> Learnt<'g> {
        Learnt { graph }
    }

    fn edge(&self, node: Node, weight: f64, kind: Kind, direction: Direction) -> Edge {
        let file = &self.graph.files()[node as usize];
        Edge {
            kind,
            direction,
            path: PathBuf::from(OsStr::from_bytes(&file.path)),
            weight,
            identity: Some(file.identity),
        }
    }
}

impl Source for Learnt<'_> {
    fn kinds(&self, kind: &Kind) -> bool {
        matches!(kind, Kind::OpenedWith | Kind::BuiltFrom)
    }

    fn edges(&mut self, file: &Path) -> Found {
        let Some(node) = self.graph.find(file.as_os_str().as_bytes()) else {
            return Found::default();
        };
        let (opened, built) = (Kind::OpenedWith, Kind::BuiltFrom);
        let (forward, backward) = (Direction::Forward, Direction::Backward);
        let with = self.graph.opened_with(node).into_iter();
        let with = with
            .take(OPENED_WITH_MAX)
            .map(|(node, weight)| self.edge(node, weight, opened.clone(), forward));
        let from = self.graph.built_from(node).into_iter();
        let from = from.map(|(node, weight)| self.edge(node, weight, built.clone(), forward));
        let of = self.graph.built_of(node).into_iter();
        let of = of.map(|(node, weight)| self.edge(node, weight, built.clone(), backward));
        Found {
            edges: with.chain(from).chain(of).collect(),
            issues: Vec::new(),
        }
    }
}
