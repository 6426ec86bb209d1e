//! The name sidecars of a view that are open.
//!
//! A sidecar is a help: one that is missing, unreadable or of another segment
//! is as if there were none.

use crate::index::SegmentAt;
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::Result;
use std::sync::Arc;
use trawl_index::schema::Table;
use trawl_index::{SegmentInfo, Shard};
use trawl_names::{Names, ReadAt};

/// Shorter ones are read whole.
const SMALL_BYTES: u64 = 64 << 10;
/// Sidecars that are kept open, at most.
const OPEN: usize = 256;
/// Sidecars that are kept in memory, at most.
const IN_MEMORY: usize = 256;

/// A sidecar's bytes.
#[derive(Debug)]
pub(crate) enum Bytes {
    Whole(Vec<u8>),
    File(File),
}

impl ReadAt for Bytes {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        match self {
            Bytes::Whole(bytes) => bytes.read_at(buffer, offset),
            Bytes::File(file) => ReadAt::read_at(file, buffer, offset),
        }
    }
}

/// An open sidecar.
pub(crate) type Sidecar = Names<Bytes>;

/// Sidecars that were used lately; the oldest are dropped first.
#[derive(Debug, Default)]
pub(crate) struct Sidecars {
    known: HashMap<SegmentAt, Option<Arc<Sidecar>>>,
    with_descriptor: VecDeque<SegmentAt>,
    in_memory: VecDeque<SegmentAt>,
}

impl Sidecars {
    /// The sidecar of a segment, if it was asked for lately.
    pub(crate) fn known(&self, at: SegmentAt) -> Option<Option<Arc<Sidecar>>> {
        self.known.get(&at).cloned()
    }

    /// Remembers a segment's sidecar, or that it has none.
    pub(crate) fn keep(&mut self, at: SegmentAt, length: u64, sidecar: Option<Arc<Sidecar>>) {
        let is_there = sidecar.is_some();
        if self.known.insert(at, sidecar).is_some() || !is_there {
            return;
        }
        let (places, most) = match length <= SMALL_BYTES {
            true => (&mut self.in_memory, IN_MEMORY),
            false => (&mut self.with_descriptor, OPEN),
        };
        places.push_back(at);
        if places.len() > most {
            let oldest = places.pop_front();
            oldest.map(|oldest| self.known.remove(&oldest));
        }
    }
}

/// Opens a segment's sidecar, if it has one of its own that can be read.
pub(crate) fn open(shard: &Shard, segment: &SegmentInfo) -> Option<(u64, Sidecar)> {
    let (file, length, path) = shard.open_names(segment).ok()??;
    let bytes = match length <= SMALL_BYTES {
        true => {
            let mut bytes = vec![0; length as usize];
            ReadAt::read_at(&file, &mut bytes, 0).ok()?;
            Bytes::Whole(bytes)
        }
        false => Bytes::File(file),
    };
    let names = Names::open(bytes, length, &path).ok()?;
    let entries = segment.files.get(&Table::Entries)?;
    let is_its_own = names.segment() == entries.hash.0
        && names.rows() == segment.rows
        && names.dirs() == segment.dirs;
    is_its_own.then_some((length, names))
}
