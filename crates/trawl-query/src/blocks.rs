//! Rows below a start as blocks that their taker keeps: what [`Index::walk`]
//! lends to its callers, given away, in the same order.
//!
//! For those who go through two walks side by side and therefore take rows
//! when they need them.
//!
//! [`Index::walk`]: crate::Index::walk

use crate::decode::{Decoded, decode};
use crate::error::Result;
use crate::index::{SegmentAt, Start, View};
use crate::locate::{Reach, scope};
use crate::plan::{Morsel, Plan};
use crate::segment::Scratch;
use crate::walk::{Request, check_cancelled_by};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::path::PathBuf;
use trawl_index::schema::Table;
use trawl_index::{FileRef, SegmentId};
use trawl_model::rows::RowBatch;

/// Some ten thousand rows, or fewer, in listings.
pub struct Block {
    morsel: Morsel,
    decoded: Decoded,
    /// Where each listing's rows are: which part, and which rows of it.
    places: Vec<(usize, Range<usize>)>,
}

/// Rows of one directory in a [`Block`].
#[derive(Clone, Copy, Debug)]
pub struct BlockListing<'a> {
    /// The directory's absolute path, as stored.
    pub dir: &'a [u8],
    /// Rows that this segment's listing of it has, those in other blocks
    /// included.
    pub dir_rows: u64,
    /// Decoded columns.
    pub batch: &'a RowBatch,
    /// First and last but one of the rows that are meant.
    pub rows: (usize, usize),
}

impl Block {
    /// The number of listings.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// True if it has no listing.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// A listing by its place.
    pub fn get(&self, at: usize) -> Option<BlockListing<'_>> {
        let item = self.morsel.items.get(at)?;
        let (part, rows) = self.places.get(at)?;
        Some(BlockListing {
            dir: self.morsel.path(item),
            dir_rows: item.dir_rows,
            batch: self.decoded.batch(*part)?,
            rows: (rows.start, rows.end),
        })
    }
}

/// The blocks of a walk, one by one.
pub struct Blocks<'a> {
    view: &'a View,
    plan: Plan<'a>,
    request: &'a Request<'a>,
    scratch: Scratch,
}

impl<'a> Blocks<'a> {
    /// The rows below `start`, without those of some segments. Requests with
    /// a filter or backwards are not for this.
    pub fn new(
        start: &'a Start,
        request: &'a Request<'a>,
        without: &HashSet<usize>,
    ) -> Result<Blocks<'a>> {
        Ok(Blocks {
            view: &start.view,
            plan: Plan::without(start, request, without)?,
            request,
            scratch: Scratch::default(),
        })
    }

    /// The next block; `None` at the end.
    pub fn next_block(&mut self) -> Result<Option<Block>> {
        check_cancelled_by(self.request.cancel)?;
        let Some(morsel) = self.plan.next_morsel()? else {
            return Ok(None);
        };
        let decoded = decode(self.view, &morsel, self.request, &mut self.scratch)?;
        let places = decoded.places(&morsel);
        Ok(Some(Block {
            morsel,
            decoded,
            places,
        }))
    }
}

impl View {
    /// Segments that both views have, in this and in the other: the same file
    /// with the same checksum. What is in them is in both.
    pub fn shared_with(&self, other: &View) -> (HashSet<usize>, HashSet<usize>) {
        let (ours, theirs) = (self.keys(), other.keys());
        let mut shared = (HashSet::new(), HashSet::new());
        for (key, at) in &ours {
            if let Some(there) = theirs.get(key) {
                shared.0.insert(*at);
                shared.1.insert(*there);
            }
        }
        shared
    }

    fn keys(&self) -> HashMap<SegmentKey, SegmentAt> {
        let key =
            |(at, shard, segment): (SegmentAt, &trawl_index::Shard, &trawl_index::SegmentInfo)| {
                let is_row_table = |table: &Table| matches!(table, Table::Entries | Table::Dirs);
                let files = segment
                    .files
                    .iter()
                    .filter(|(table, _)| is_row_table(table));
                let files = files.map(|(table, file)| (*table, hash_of(file))).collect();
                ((shard.dir_path(), segment.id, files), at)
            };
        // Of one that is partly dead, something else is in each view.
        let whole = self
            .segments()
            .filter(|(_, shard, segment)| shard.dead(segment.id).is_none());
        whole.map(key).collect()
    }

    /// In how many segments `dir` has rows.
    pub fn parts_of(&self, dir: &[u8]) -> Result<usize> {
        let spans = scope(self, dir, Reach::Itself, &mut Scratch::default())?;
        Ok(spans.len())
    }
}

/// What makes a segment the same: where it lies, its id, what is in it.
type SegmentKey = (PathBuf, SegmentId, BTreeMap<Table, (u64, u128)>);

fn hash_of(file: &FileRef) -> (u64, u128) {
    (file.rows, file.hash.0)
}
