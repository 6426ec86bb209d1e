//! The rows of one guard while a snapshot is being written.

use crate::encode::Compressor;
use crate::error::{IndexError, Result};
use crate::guard_dirs::GuardDirs;
use crate::id::{Edition, Hash, SegmentId};
use crate::layout;
use crate::manifest::{GuardStep, Manifest, SegmentInfo, Totals};
use crate::schema::FORMAT;
use crate::segment::{self, Listing, SegmentInput, Target, XattrRow};
use crate::store::{Dir, sync_file};
use trawl_model::Issue;
use trawl_model::guard::Guard;

/// One shard's rows that wait to be written, and the segments that were.
#[derive(Debug)]
pub(crate) struct ShardBuffer {
    /// Below what guards the source as a whole.
    guard: Guard,
    components: Vec<String>,
    input: SegmentInput,
    memory_bytes: usize,
    next_segment: u32,
    segments: Vec<SegmentInfo>,
    totals: Totals,
    /// Which directories there are: see [`crate::digest`].
    digest: u128,
}

/// What all shards of a snapshot share.
pub(crate) struct Snapshotting<'a> {
    /// The source's `data`.
    pub(crate) top: &'a Dir,
    pub(crate) edition: Edition,
    /// The source's root path.
    pub(crate) root: &'a [u8],
}

impl ShardBuffer {
    pub(crate) fn new(guard: Guard) -> ShardBuffer {
        ShardBuffer {
            components: layout::data_components(&guard.0),
            guard,
            input: SegmentInput::default(),
            memory_bytes: 0,
            next_segment: 0,
            segments: Vec::new(),
            totals: Totals::default(),
            digest: 0,
        }
    }

    /// A shard of which there is something already. New segments are
    /// numbered from `next_segment`.
    pub(crate) fn of(manifest: &Manifest, next_segment: u32) -> Result<ShardBuffer> {
        let mut shard = ShardBuffer::new(manifest.guard()?);
        shard.segments = manifest.segments.clone();
        shard.totals = manifest.totals;
        shard.next_segment = next_segment;
        Ok(shard)
    }

    /// Takes a segment out; its rows still count.
    pub(crate) fn remove_segment(&mut self, id: SegmentId) {
        self.segments.retain(|segment| segment.id != id);
    }

    /// Rows of a segment that was taken out count no longer.
    pub(crate) fn uncount(&mut self, totals: &Totals) {
        self.totals.subtract(totals);
    }

    pub(crate) fn number_from(&mut self, next_segment: u32) {
        self.next_segment = next_segment;
    }

    /// Another directory, or one less, is in it.
    pub(crate) fn add_digest(&mut self, digest: Hash) {
        self.digest = self.digest.wrapping_add(digest.0);
    }

    pub(crate) fn subtract_digest(&mut self, digest: Hash) {
        self.digest = self.digest.wrapping_sub(digest.0);
    }

    pub(crate) fn digest(&self) -> Hash {
        Hash(self.digest)
    }

    pub(crate) fn guard(&self) -> &Guard {
        &self.guard
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    pub(crate) fn components(&self) -> &[String] {
        &self.components
    }

    pub(crate) fn totals(&self) -> &Totals {
        &self.totals
    }

    /// True if the shard was given anything, written or not.
    pub(crate) fn is_used(&self) -> bool {
        !self.segments.is_empty() || !self.input.is_empty()
    }

    /// Files written so far.
    pub(crate) fn files(&self) -> usize {
        self.segments.iter().map(|s| s.files.len()).sum()
    }

    /// Bytes of the segments written so far.
    pub(crate) fn size_bytes(&self) -> u64 {
        let files = self.segments.iter().flat_map(|s| s.files.values());
        files.map(|file| file.size_bytes).sum()
    }

    /// Each returns the memory that the new rows take.
    pub(crate) fn add_listing(&mut self, listing: Listing) -> usize {
        let bytes = listing.batch.memory_bytes();
        self.input.listings.push(listing);
        self.memory_bytes += bytes;
        bytes
    }

    pub(crate) fn add_xattr(&mut self, row: XattrRow) -> usize {
        let bytes = row.memory_bytes();
        self.input.xattrs.push(row);
        self.memory_bytes += bytes;
        bytes
    }

    pub(crate) fn add_issue(&mut self, issue: Issue) -> usize {
        let bytes = size_of::<Issue>() + issue.path.len() + issue.detail.len();
        self.input.issues.push(issue);
        self.memory_bytes += bytes;
        bytes
    }

    /// Writes what waits as a segment; returns the memory it took.
    pub(crate) fn flush(
        &mut self,
        shared: &Snapshotting<'_>,
        dirs: &mut GuardDirs,
        compressor: &mut Compressor,
    ) -> Result<usize> {
        if self.input.is_empty() {
            return Ok(0);
        }
        let input = std::mem::take(&mut self.input);
        let bytes = std::mem::take(&mut self.memory_bytes);
        let dir = dirs.open(shared.top, &self.guard.0)?;
        let root = trawl_model::escape::escape(shared.root);
        let target = Target {
            dir: &dir,
            id: SegmentId {
                snapshot: shared.edition.id,
                number: self.next_segment,
            },
            root: &root,
        };
        self.next_segment += 1;
        let (info, totals) = segment::write(&target, input, compressor)?;
        self.segments.push(info);
        self.totals.add(&totals);
        Ok(bytes)
    }

    /// Writes the manifest (not synced).
    pub(crate) fn write_manifest(&self, shared: &Snapshotting<'_>) -> Result<()> {
        let dir = shared.top.open_below(&self.components)?;
        let name = layout::manifest_file(shared.edition);
        let manifest = Manifest {
            format: FORMAT,
            snapshot: shared.edition.id,
            root: shared.root.to_vec(),
            guard: GuardStep::of_guard(&self.guard),
            segments: self.segments.clone(),
            totals: self.totals,
        };
        let bytes = manifest.to_bytes(&dir.join(&name))?;
        dir.write_new(&name, &bytes).map(drop)
    }

    /// Makes this shard's files of the snapshot durable, and the directories
    /// that lead to them.
    pub(crate) fn sync(&self, shared: &Snapshotting<'_>) -> Result<()> {
        let mut dirs = vec![shared.top.try_clone()?];
        for name in &self.components {
            if let Some(dir) = dirs.last() {
                dirs.push(dir.open_dir(name)?);
            }
        }
        let Some(data) = dirs.last() else {
            return Ok(());
        };
        for name in data.list()? {
            if layout::snapshot_of(&name) == Some(shared.edition.id) {
                sync_file(&data.open_file(&name)?, &data.join(&name))?;
            }
        }
        dirs.iter().rev().try_for_each(Dir::sync)
    }

    /// Refuses a guard whose directories another guard of this snapshot has.
    pub(crate) fn check_distinct(&self, other: &ShardBuffer) -> Result<()> {
        if self.components == other.components && self.guard != other.guard {
            return Err(IndexError::Damaged {
                path: layout::display_path(&self.components),
                problem: "two guards have the same hash".to_owned(),
            });
        }
        Ok(())
    }
}
