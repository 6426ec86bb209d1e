//! A cache of the open name sidecars of a view.
//!
//! A sidecar is optional: one that is missing, unreadable or made for another
//! segment is treated as absent.

use crate::index::SegmentAt;
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::Result;
use std::sync::Arc;
use trawl_format::schema::Table;
use trawl_format::{SegmentInfo, Shard};
use trawl_names::{Names, ReadAt};

/// Shorter sidecars are read into memory.
const SMALL_BYTES: u64 = 64 << 10;
/// Maximum number of sidecars kept open.
const OPEN: usize = 256;
/// Maximum number of sidecars kept in memory.
const IN_MEMORY: usize = 256;

/// The bytes of a sidecar.
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

/// Sidecars that were used recently; the oldest are dropped first.
#[derive(Debug, Default)]
pub(crate) struct Sidecars {
    known: HashMap<SegmentAt, Option<Arc<Sidecar>>>,
    with_descriptor: VecDeque<SegmentAt>,
    in_memory: VecDeque<SegmentAt>,
}

impl Sidecars {
    /// Returns the cached sidecar of a segment: `None` if it is not cached,
    /// `Some(None)` if the segment has none.
    pub(crate) fn known(&self, at: SegmentAt) -> Option<Option<Arc<Sidecar>>> {
        self.known.get(&at).cloned()
    }

    /// Caches a segment's sidecar, or the fact that it has none.
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

/// Opens a segment's sidecar and returns it with its length; `None` if it is
/// missing, unreadable or belongs to another segment.
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
