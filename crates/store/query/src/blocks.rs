//! The rows below a start as owned blocks. [`Index::walk`] only lends rows to
//! its callers; blocks have the same rows in the same order.
//!
//! They serve callers that run two walks side by side and must therefore fetch
//! rows when they need them.
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
use trawl_format::schema::Table;
use trawl_format::{FileRef, SegmentId};
use trawl_model::rows::RowBatch;

/// A block of listings, with at most some ten thousand rows.
pub struct Block {
    morsel: Morsel,
    decoded: Decoded,
    /// For each listing, the part that holds its rows, and their range in it.
    places: Vec<(usize, Range<usize>)>,
}

/// Rows of one directory in a [`Block`].
#[derive(Clone, Copy, Debug)]
pub struct BlockListing<'a> {
    /// The directory's absolute path, as stored.
    pub dir: &'a [u8],
    /// Number of rows in this segment's listing of the directory, including
    /// those in other blocks.
    pub dir_rows: u64,
    /// The decoded columns.
    pub batch: &'a RowBatch,
    /// Range of this listing's rows in the batch: the first, and the one after
    /// the last.
    pub rows: (usize, usize),
}

impl Block {
    /// The number of listings.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// True if the block has no listing.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns a listing by its position.
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

/// Iterates over the blocks of a walk.
pub struct Blocks<'a> {
    view: &'a View,
    plan: Plan<'a>,
    request: &'a Request<'a>,
    scratch: Scratch,
}

impl<'a> Blocks<'a> {
    /// Opens the rows below `start`, without the segments in `without`. The
    /// request must have no filter and forward order.
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

    /// Returns the next block; `None` at the end.
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
    /// Returns the segments that both views share, as numbers in this view and
    /// in the other: the same file with the same checksum, and so the same
    /// rows.
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
        let key = |(at, shard, segment): (
            SegmentAt,
            &trawl_format::Shard,
            &trawl_format::SegmentInfo,
        )| {
            let is_row_table = |table: &Table| matches!(table, Table::Entries | Table::Dirs);
            let files = segment
                .files
                .iter()
                .filter(|(table, _)| is_row_table(table));
            let files = files.map(|(table, file)| (*table, hash_of(file))).collect();
            ((shard.dir_path(), segment.id, files), at)
        };
        // A segment of which some rows are dead may differ between views.
        let whole = self
            .segments()
            .filter(|(_, shard, segment)| shard.dead(segment.id).is_none());
        whole.map(key).collect()
    }

    /// Returns the number of segments in which `dir` has rows.
    pub fn parts_of(&self, dir: &[u8]) -> Result<usize> {
        let spans = scope(self, dir, Reach::Itself, &mut Scratch::default())?;
        Ok(spans.len())
    }
}

/// Identifies a segment: its shard's directory, its id, and the contents of its
/// row tables.
type SegmentKey = (PathBuf, SegmentId, BTreeMap<Table, (u64, u128)>);

fn hash_of(file: &FileRef) -> (u64, u128) {
    (file.rows, file.hash.0)
}
