//! The access graph as bytes, little-endian:
//!
//! | bytes | content |
//! |---|---|
//! | 8 | `TRAWLACC` |
//! | 4 | version, 1 |
//! | 8 | time to which weights are aged |
//! | 4, 4, 4 | numbers of files, of edges *opened together*, of edges *built from* |
//! | for each file | length of its path (2), path, device (8), inode (8), birth (8), executions (8), program (4) |
//! | for each edge | two files (4, 4), weight (8), ascending |
//! | 8 | XXH3 of all bytes before |

use xxhash_rust::xxh3::xxh3_64;

use trawl_model::accesses::FileIdentity;

use crate::graph::{AccessGraph, EDGES_MAX, FILES_MAX, Node, OpenedFile, PATHS_BYTES_MAX};

const MAGIC: &[u8; 8] = b"TRAWLACC";
const VERSION: u32 = 1;
/// Size of an edge, and of a file without its path.
const EDGE_BYTES: usize = 16;
const FILE_BYTES: usize = 38;
/// Size of everything else.
const REST_BYTES: usize = 40;
/// Maximum size in bytes.
pub(crate) const BYTES_MAX: usize =
    REST_BYTES + PATHS_BYTES_MAX + FILES_MAX * FILE_BYTES + EDGES_MAX * EDGE_BYTES;
/// In place of a program that is not known.
const NOBODY: Node = Node::MAX;

/// What is wrong with bytes.
type Why = &'static str;

pub(crate) fn encode(graph: &AccessGraph) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend(VERSION.to_le_bytes());
    out.extend(graph.as_of_ns.to_le_bytes());
    for count in [graph.files.len(), graph.together.len(), graph.built.len()] {
        out.extend((count as u32).to_le_bytes());
    }
    for file in &graph.files {
        out.extend((file.path.len() as u16).to_le_bytes());
        out.extend(&file.path);
        out.extend(file.identity.device.to_le_bytes());
        out.extend(file.identity.inode.to_le_bytes());
        out.extend(file.identity.born_ns.to_le_bytes());
        out.extend(file.executions.to_le_bytes());
        out.extend(file.program.unwrap_or(NOBODY).to_le_bytes());
    }
    for ((a, b), weight) in graph.together.iter().chain(&graph.built) {
        out.extend(a.to_le_bytes());
        out.extend(b.to_le_bytes());
        out.extend(weight.to_le_bytes());
    }
    let sum = xxh3_64(&out);
    out.extend(sum.to_le_bytes());
    out
}

/// Reads numbers from bytes.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn bytes(&mut self, count: usize) -> Result<&'b [u8], Why> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or("it ends early")?;
        self.0 = rest;
        Ok(taken)
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N], Why> {
        let bytes = self.bytes(N)?;
        bytes.try_into().map_err(|_| "it ends early")
    }

    fn u32(&mut self) -> Result<u32, Why> {
        self.number().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, Why> {
        self.number().map(u64::from_le_bytes)
    }

    fn i64(&mut self) -> Result<i64, Why> {
        self.number().map(i64::from_le_bytes)
    }

    fn weight(&mut self) -> Result<f64, Why> {
        let weight = self.number().map(f64::from_le_bytes)?;
        match weight.is_finite() && weight >= 0.0 {
            true => Ok(weight),
            false => Err("a weight is no number of times"),
        }
    }

    fn count(&mut self, most: usize) -> Result<usize, Why> {
        let count = self.u32()? as usize;
        match count <= most {
            true => Ok(count),
            false => Err("it is larger than an access graph can be"),
        }
    }
}

/// Reads an access graph.
///
/// # Errors
/// Returns what is wrong with the bytes.
pub(crate) fn decode(bytes: &[u8]) -> Result<AccessGraph, Why> {
    let end = bytes.len().checked_sub(8).ok_or("it ends early")?;
    let (body, sum) = bytes.split_at(end);
    if Reader(sum).u64()? != xxh3_64(body) {
        return Err("its checksum is wrong");
    }
    let mut reader = Reader(body);
    if reader.bytes(MAGIC.len())? != MAGIC {
        return Err("it is no access graph");
    }
    if reader.u32()? != VERSION {
        return Err("another version of trawl wrote it");
    }
    let as_of_ns = reader.i64()?;
    let files_count = reader.count(FILES_MAX)?;
    let [together, built] = [reader.count(EDGES_MAX)?, reader.count(EDGES_MAX)?];
    let mut graph = AccessGraph {
        as_of_ns,
        ..AccessGraph::default()
    };
    let mut paths_bytes = 0;
    for _ in 0..files_count {
        let file = file(&mut reader, files_count)?;
        paths_bytes += file.path.len();
        graph.files.push(file);
    }
    let mut paths: Vec<&[u8]> = graph.files.iter().map(|file| &*file.path).collect();
    paths.sort_unstable();
    if paths_bytes > PATHS_BYTES_MAX || paths.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err("its paths are too long, or one occurs twice");
    }
    for _ in 0..together {
        let (pair, weight) = edge(&mut reader, files_count)?;
        if pair.0 >= pair.1 || graph.together.insert(pair, weight).is_some() {
            return Err("an edge is wrong");
        }
    }
    for _ in 0..built {
        let (pair, weight) = edge(&mut reader, files_count)?;
        if graph.built.insert(pair, weight).is_some() {
            return Err("an edge is wrong");
        }
    }
    match reader.0 {
        [] => Ok(graph),
        _ => Err("something follows its end"),
    }
}

fn file(reader: &mut Reader<'_>, files_count: usize) -> Result<OpenedFile, Why> {
    let length = reader.number().map(u16::from_le_bytes)?;
    let path = reader.bytes(length.into())?.to_vec();
    if !path.starts_with(b"/") || path.contains(&0) {
        return Err("a path is not absolute");
    }
    let identity = FileIdentity {
        device: reader.u64()?,
        inode: reader.u64()?,
        born_ns: reader.i64()?,
    };
    let executions = reader.weight()?;
    let program = Some(reader.u32()?).filter(|node| *node != NOBODY);
    if program.is_some_and(|node| node as usize >= files_count) {
        return Err("a program is no file of it");
    }
    Ok(OpenedFile {
        path,
        identity,
        executions,
        program,
    })
}

fn edge(reader: &mut Reader<'_>, files_count: usize) -> Result<((Node, Node), f64), Why> {
    let (a, b) = (reader.u32()?, reader.u32()?);
    if a.max(b) as usize >= files_count || a == b {
        return Err("an edge is wrong");
    }
    Ok(((a, b), reader.weight()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn graph(files: usize, edges: &[(u32, u32, f64)]) -> AccessGraph {
        let mut graph = AccessGraph {
            as_of_ns: 7,
            ..AccessGraph::default()
        };
        for at in 0..files {
            graph.files.push(OpenedFile {
                path: format!("/srv/{at}\u{ff}").into_bytes(),
                identity: FileIdentity {
                    device: 1,
                    inode: at as u64,
                    born_ns: -3,
                },
                executions: at as f64 + 0.5,
                program: (at % 3 == 1).then_some(0),
            });
        }
        for (a, b, weight) in edges {
            let (a, b) = (a % files as u32, b % files as u32);
            if a != b {
                graph.together.insert((a.min(b), a.max(b)), *weight);
                graph.built.insert((a, b), *weight);
            }
        }
        graph
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(
            files in 1usize..40,
            edges in prop::collection::vec((0u32..99, 0u32..99, 0.001f64..9.0), 0..60),
        ) {
            let graph = graph(files, &edges);
            prop_assert_eq!(decode(&encode(&graph)), Ok(graph));
        }

        /// Even with a checksum that is right.
        #[test]
        fn hostile_bytes_give_errors_or_graphs(
            at in 0usize..4000,
            byte in any::<u8>(),
            cut in 0usize..4000,
            edges in prop::collection::vec((0u32..99, 0u32..99, 0.001f64..9.0), 0..20),
        ) {
            let mut bytes = encode(&graph(9, &edges));
            bytes.truncate(bytes.len() - 8);
            let length = bytes.len();
            bytes[at % length] = byte;
            bytes.truncate(length - cut % length);
            let sum = xxh3_64(&bytes);
            bytes.extend(sum.to_le_bytes());
            if let Ok(graph) = decode(&bytes) {
                let count = graph.files.len() as u32;
                prop_assert!(graph.together.keys().chain(graph.built.keys()).all(
                    |(a, b)| *a < count && *b < count
                ));
            }
        }

        #[test]
        fn any_bytes_give_errors(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(decode(&bytes).is_err());
        }
    }
}
