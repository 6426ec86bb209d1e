//! Communities of a weighted, undirected graph: sets of nodes with more weight among them than a
//! random graph with the same weights at each node would have. The measure is Newman's modularity,
//! and the method Louvain's: nodes move to the neighbouring community that gains most until no move
//! gains anything, communities become nodes, and so on.
//!
//! Source: Blondel et al., *Fast unfolding of communities in large networks*, 2008,
//! <https://arxiv.org/abs/0803.0476>. Nodes move in the order of their numbers, so the same graph
//! gives the same communities.

use std::collections::BTreeMap;

/// Gain below which a node stays where it is.
const GAIN_MIN: f64 = 1e-9;
/// Maximum number of passes over the nodes of a level, and of levels.
const PASSES_MAX: usize = 100;

/// A graph in which a node may have a loop: the weight within a community that it stands for.
struct Graph {
    /// Neighbours with weights, without the node itself.
    neighbours: Vec<Vec<(usize, f64)>>,
    /// Sum of the weights at each node; a loop counts twice.
    degrees: Vec<f64>,
    /// Twice the sum of all weights.
    total: f64,
}

impl Graph {
    fn new(nodes: usize, edges: impl IntoIterator<Item = (usize, usize, f64)>) -> Graph {
        let mut weights: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for (a, b, weight) in edges {
            if a < nodes && b < nodes && weight > 0.0 && weight.is_finite() {
                *weights.entry((a.min(b), a.max(b))).or_default() += weight;
            }
        }
        let mut graph = Graph {
            neighbours: vec![Vec::new(); nodes],
            degrees: vec![0.0; nodes],
            total: 0.0,
        };
        for ((a, b), weight) in weights {
            graph.degrees[a] += weight;
            graph.degrees[b] += weight;
            graph.total += 2.0 * weight;
            if a != b {
                graph.neighbours[a].push((b, weight));
                graph.neighbours[b].push((a, weight));
            }
        }
        graph
    }

    /// Returns the community of each node after moves, and whether any node moved.
    fn moved(&self) -> (Vec<usize>, bool) {
        let nodes = self.degrees.len();
        let mut home: Vec<usize> = (0..nodes).collect();
        let mut sums = self.degrees.clone();
        let mut any = false;
        for _ in 0..PASSES_MAX {
            let mut is_moved = false;
            for node in 0..nodes {
                let best = self.best(node, &home, &mut sums);
                sums[best] += self.degrees[node];
                is_moved |= home[node] != best;
                home[node] = best;
            }
            any |= is_moved;
            if !is_moved {
                break;
            }
        }
        (home, any)
    }

    /// Takes a node out of its community, and returns the one where it gains most.
    fn best(&self, node: usize, home: &[usize], sums: &mut [f64]) -> usize {
        let degree = self.degrees[node];
        sums[home[node]] -= degree;
        let mut links: BTreeMap<usize, f64> = BTreeMap::from([(home[node], 0.0)]);
        for (other, weight) in &self.neighbours[node] {
            *links.entry(home[*other]).or_default() += weight;
        }
        let gain = |community: usize, link: f64| link - degree * sums[community] / self.total;
        let mut best = (home[node], gain(home[node], links[&home[node]]));
        for (community, link) in links {
            let gain = gain(community, link);
            if gain > best.1 + GAIN_MIN * self.total {
                best = (community, gain);
            }
        }
        best.0
    }
}

/// Numbers communities in the order of their first nodes; returns how many there are.
fn renumber(home: &mut [usize]) -> usize {
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
    for community in home {
        let next = numbers.len();
        *community = *numbers.entry(*community).or_insert(next);
    }
    numbers.len()
}

/// Returns the community of each of `nodes` nodes, numbered from 0. Edges of nodes that do not
/// exist, and weights that are not positive, are left out.
#[must_use]
pub fn communities(nodes: usize, edges: &[(usize, usize, f64)]) -> Vec<usize> {
    let mut found: Vec<usize> = (0..nodes).collect();
    let mut graph = Graph::new(nodes, edges.iter().copied());
    for _ in 0..PASSES_MAX {
        if graph.total <= 0.0 {
            break;
        }
        let (mut home, is_moved) = graph.moved();
        if !is_moved {
            break;
        }
        let count = renumber(&mut home);
        found
            .iter_mut()
            .for_each(|community| *community = home[*community]);
        let mut next: Vec<(usize, usize, f64)> = Vec::new();
        for (node, neighbours) in graph.neighbours.iter().enumerate() {
            let inner: f64 = neighbours.iter().map(|(_, weight)| weight).sum();
            let own = (graph.degrees[node] - inner) / 2.0;
            next.push((home[node], home[node], own));
            let ahead = neighbours.iter().filter(|(other, _)| *other > node);
            next.extend(ahead.map(|(other, weight)| (home[node], home[*other], *weight)));
        }
        graph = Graph::new(count, next);
    }
    renumber(&mut found);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Newman's modularity, by its definition over all pairs of nodes.
    fn modularity(nodes: usize, edges: &[(usize, usize, f64)], of: &[usize]) -> f64 {
        let mut matrix = vec![vec![0.0; nodes]; nodes];
        for (a, b, weight) in edges {
            matrix[*a][*b] += weight;
            matrix[*b][*a] += weight;
        }
        let degrees: Vec<f64> = matrix.iter().map(|row| row.iter().sum()).collect();
        let total: f64 = degrees.iter().sum();
        let mut sum = 0.0;
        for a in 0..nodes {
            for b in 0..nodes {
                if of[a] == of[b] {
                    sum += matrix[a][b] - degrees[a] * degrees[b] / total;
                }
            }
        }
        sum / total
    }

    /// Zachary's karate club (1977): 34 members, 78 friendships, numbered from 1.
    #[rustfmt::skip]
    const KARATE: &[(usize, &[usize])] = &[
        (1, &[2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 18, 20, 22, 32]),
        (2, &[3, 4, 8, 14, 18, 20, 22, 31]),
        (3, &[4, 8, 9, 10, 14, 28, 29, 33]),
        (4, &[8, 13, 14]),
        (5, &[7, 11]), (6, &[7, 11, 17]), (7, &[17]),
        (9, &[31, 33, 34]), (10, &[34]), (14, &[34]),
        (15, &[33, 34]), (16, &[33, 34]), (19, &[33, 34]), (20, &[34]),
        (21, &[33, 34]), (23, &[33, 34]),
        (24, &[26, 28, 30, 33, 34]), (25, &[26, 28, 32]), (26, &[32]),
        (27, &[30, 34]), (28, &[34]), (29, &[32, 34]), (30, &[33, 34]),
        (31, &[33, 34]), (32, &[33, 34]), (33, &[34]),
    ];

    #[test]
    fn the_karate_club_splits_where_it_split() {
        let edges: Vec<(usize, usize, f64)> = KARATE
            .iter()
            .flat_map(|(a, others)| others.iter().map(move |b| (a - 1, b - 1, 1.0)))
            .collect();
        assert_eq!(edges.len(), 78);
        let found = communities(34, &edges);
        // The best partition has 0.4198 (Brandes et al., 2008); the split into two factions 0.3715.
        let quality = modularity(34, &edges, &found);
        assert!((0.40..=0.4199).contains(&quality), "{quality}");
        // The instructor and the president, each with their closest followers.
        assert_ne!(found[0], found[33]);
        for (leader, members) in [(0, [1, 3, 7, 13]), (33, [14, 15, 18, 20])] {
            assert!(
                members.iter().all(|member| found[*member] == found[leader]),
                "{found:?}"
            );
        }
    }

    /// Cliques of 5 in a ring, each joined to the next by one edge.
    fn ring(cliques: usize) -> Vec<(usize, usize, f64)> {
        let mut edges = Vec::new();
        for clique in 0..cliques {
            for a in 0..5 {
                edges.extend((a + 1..5).map(|b| (clique * 5 + a, clique * 5 + b, 1.0)));
            }
            edges.push((clique * 5, (clique + 1) % cliques * 5 + 1, 1.0));
        }
        edges
    }

    #[test]
    fn cliques_in_a_ring_are_communities() {
        // Up to m(m−1)+2 = 22 cliques of m = 5, modularity keeps them apart (Fortunato and
        // Barthélemy, 2007).
        for cliques in [3, 10, 20] {
            let found = communities(cliques * 5, &ring(cliques));
            let wanted: Vec<usize> = (0..cliques * 5).map(|node| node / 5).collect();
            assert_eq!(found, wanted);
        }
        // Beyond, it joins neighbours, and never tears one apart.
        let (edges, found) = (ring(30), communities(150, &ring(30)));
        let apart: Vec<usize> = (0..150).map(|node| node / 5).collect();
        assert!(modularity(150, &edges, &found) >= modularity(150, &edges, &apart));
        assert!((0..150).all(|node| found[node] == found[node / 5 * 5]));
    }

    #[test]
    fn weights_decide_and_odd_input_is_left_out() {
        let heavy = [(0, 1, 9.0), (1, 2, 0.1), (2, 3, 9.0), (3, 0, 0.1)];
        assert_eq!(communities(4, &heavy), [0, 0, 1, 1]);
        assert_eq!(communities(3, &[]), [0, 1, 2]);
        assert!(communities(0, &[]).is_empty());
        let odd = [(0, 9, 1.0), (0, 1, f64::NAN), (0, 1, -1.0), (1, 1, 1.0)];
        assert_eq!(communities(2, &odd), [0, 1]);
    }

    #[test]
    fn no_move_of_a_single_node_improves_the_result() {
        let mut edges = Vec::new();
        let mut state = 7u64;
        for _ in 0..300 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let (a, b) = ((state >> 33) as usize % 60, (state >> 45) as usize % 60);
            if a != b {
                edges.push((a, b, 1.0 + (state >> 60) as f64));
            }
        }
        let found = communities(60, &edges);
        let own: Vec<usize> = (0..60).collect();
        let best = modularity(60, &edges, &found);
        assert!(best > modularity(60, &edges, &own));
        assert!(best >= modularity(60, &edges, &vec![0; 60]));
    }
}
