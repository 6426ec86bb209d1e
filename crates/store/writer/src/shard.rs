//! Collects the rows of one guard while a snapshot is being written.

use crate::bundle::Bundle;
use crate::encode::Compressor;
use crate::guard_dirs::GuardDirs;
use crate::item_file::{Continues, SectionHead, shard_hash};
use crate::items::Item;
use crate::segment::{self, Lifetime, Listing, SegmentInput, Target, XattrRow};
use std::collections::HashSet;
use trawl_format::error::{IndexError, Result};
use trawl_format::id::{Edition, Hash, SegmentId, SnapshotId};
use trawl_format::layout;
use trawl_format::manifest::{GuardStep, Manifest, SegmentInfo, Totals};
use trawl_format::pack::Packing;
use trawl_format::schema::FORMAT;
use trawl_format::store::{Dir, sync_file};
use trawl_model::Issue;
use trawl_model::guard::Guard;

/// One shard's rows that wait to be written, and the segments already written.
#[derive(Debug)]
pub(crate) struct ShardBuffer {
    /// The shard's guard, below the guard of the source as a whole.
    guard: Guard,
    components: Vec<String>,
    input: SegmentInput,
    memory_bytes: usize,
    /// Time of the last addition, counted in batches received by the writer.
    used: u64,
    next_segment: u32,
    segments: Vec<SegmentInfo>,
    totals: Totals,
    /// Sum that identifies the set of directories: see [`trawl_format::digest`].
    digest: u128,
    /// Items of the waiting rows, if anyone needs them later.
    items: Vec<Item>,
    /// Whether waiting rows continue directories of segments already written.
    continues: Continues,
    /// Index of this shard among the shards of the previous snapshot.
    previous: Option<usize>,
}

/// Whether a snapshot records digests of its shards' directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Digests {
    Known,
    Unknown,
}

/// Data that all shards of a snapshot share.
pub(crate) struct Snapshotting<'a> {
    /// The source's `data` directory.
    pub(crate) top: &'a Dir,
    pub(crate) edition: Edition,
    /// The source's root path.
    pub(crate) root: &'a [u8],
    pub(crate) stay: Lifetime,
}

impl ShardBuffer {
    pub(crate) fn new(guard: Guard) -> ShardBuffer {
        ShardBuffer {
            components: layout::data_components(&guard.0),
            guard,
            input: SegmentInput::default(),
            memory_bytes: 0,
            used: 0,
            next_segment: 0,
            segments: Vec::new(),
            totals: Totals::default(),
            digest: 0,
            items: Vec::new(),
            continues: Continues::No,
            previous: None,
        }
    }

    /// Makes a buffer for a shard that has segments already. New segments are numbered from
    /// `next_segment`.
    pub(crate) fn of(manifest: &Manifest, next_segment: u32) -> Result<ShardBuffer> {
        let mut shard = ShardBuffer::new(manifest.guard()?);
        shard.segments = manifest.segments.clone();
        shard.totals = manifest.totals;
        shard.next_segment = next_segment;
        Ok(shard)
    }

    /// Removes a segment from the list; its rows still count in the totals.
    pub(crate) fn remove_segment(&mut self, id: SegmentId) {
        self.segments.retain(|segment| segment.id != id);
    }

    /// Subtracts the rows of a removed segment from the totals.
    pub(crate) fn uncount(&mut self, totals: &Totals) {
        self.totals.subtract(totals);
    }

    pub(crate) fn number_from(&mut self, next_segment: u32) {
        self.next_segment = next_segment;
    }

    /// Records the shard's index in the previous snapshot.
    pub(crate) fn with_previous(mut self, previous: Option<usize>) -> ShardBuffer {
        self.previous = previous;
        self
    }

    pub(crate) fn previous(&self) -> Option<usize> {
        self.previous
    }

    /// Inserts segments of the previous snapshot before those written here.
    pub(crate) fn share(&mut self, mut segments: Vec<SegmentInfo>) {
        segments.append(&mut self.segments);
        self.segments = segments;
    }

    /// Sets the number of directories listed in the shard, including those counted before.
    pub(crate) fn count_listed(&mut self, listed: u64) {
        self.totals.listed = listed;
    }

    /// Adds rows to the totals that no segment written here holds.
    pub(crate) fn count(&mut self, totals: &Totals) {
        self.totals.add(totals);
    }

    /// Records the item of the rows added last.
    pub(crate) fn add_item(&mut self, item: Item, continues: Continues) {
        self.items.push(item);
        if continues == Continues::Yes {
            self.continues = continues;
        }
    }

    /// Tells whether the waiting rows continue directories of other segments.
    pub(crate) fn continues(&self) -> Continues {
        self.continues
    }

    /// Removes and returns the items of the waiting rows, with the head for the next segment.
    pub(crate) fn take_items(&mut self) -> (SectionHead, Vec<Item>) {
        let items = std::mem::take(&mut self.items);
        let head = SectionHead {
            shard: shard_hash(&self.components),
            number: self.next_segment,
            continues: std::mem::take(&mut self.continues),
            count: items.len() as u32,
        };
        (head, items)
    }

    /// Adds a directory to the digest; [`ShardBuffer::subtract_digest`] removes one.
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

    /// Records that the shard is given something at `clock`, the number of batches received so far.
    pub(crate) fn note_use(&mut self, clock: u64) {
        self.used = clock;
    }

    /// Returns the priority for writing the shard: it grows with memory used and with the time
    /// since the last addition.
    pub(crate) fn weight(&self, clock: u64) -> u128 {
        let idle = clock.saturating_sub(self.used).saturating_add(1);
        self.memory_bytes as u128 * u128::from(idle)
    }

    pub(crate) fn components(&self) -> &[String] {
        &self.components
    }

    pub(crate) fn totals(&self) -> &Totals {
        &self.totals
    }

    /// True if the shard was given any rows, written or not.
    pub(crate) fn is_used(&self) -> bool {
        !self.segments.is_empty() || !self.input.is_empty()
    }

    /// Returns the number of files written so far by the writers that `is_theirs` accepts.
    pub(crate) fn files(&self, is_theirs: impl Fn(SnapshotId) -> bool) -> usize {
        let own = self.segments.iter().filter(|s| is_theirs(s.id.snapshot));
        own.map(SegmentInfo::file_count).sum()
    }

    /// Returns the shard's segments, including those of older snapshots.
    pub(crate) fn segments(&self) -> &[SegmentInfo] {
        &self.segments
    }

    /// Adds rows of one listing. This and the other `add_` functions return the memory that the new
    /// rows take, in bytes.
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

    /// Writes the waiting rows as a segment and returns the memory that they took, in bytes.
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
            stay: shared.stay,
            guard: Some(&self.guard),
        };
        self.next_segment += 1;
        let (info, totals) = segment::write(&target, input, compressor)?;
        self.segments.push(info);
        self.totals.add(&totals);
        Ok(bytes)
    }

    pub(crate) fn manifest(&self, shared: &Snapshotting<'_>) -> Manifest {
        Manifest {
            format: FORMAT,
            snapshot: shared.edition.id,
            root: shared.root.to_vec(),
            guard: GuardStep::of_guard(&self.guard),
            segments: self.segments.clone(),
            totals: self.totals,
        }
    }

    /// Writes the manifest without syncing it. If it equals the previous snapshot's apart from the
    /// snapshot's id, makes a hard link to that file instead, where the file system supports hard
    /// links.
    pub(crate) fn write_manifest(
        &self,
        shared: &Snapshotting<'_>,
        previous: Option<(&Manifest, &str)>,
    ) -> Result<()> {
        let dir = shared.top.open_below(&self.components)?;
        let name = layout::manifest_file(shared.edition);
        let manifest = self.manifest(shared);
        if let Some((before, file_name)) = previous
            && manifest.says_the_same(before)
            && dir.link(file_name, &name).is_ok()
        {
            return Ok(());
        }
        let bytes = manifest.to_bytes(&dir.join(&name))?;
        dir.write_new(&name, &bytes).map(drop)
    }

    /// Returns the manifest's content for the pack. `digests` tells whether the shard's digest is
    /// included.
    pub(crate) fn packing(
        &self,
        snapshot: SnapshotId,
        digests: Digests,
        bundle: &Bundle,
    ) -> Packing<'_> {
        Packing {
            components: &self.components,
            snapshot,
            guard: GuardStep::of_guard(&self.guard),
            segments: &self.segments,
            totals: &self.totals,
            digest: (digests == Digests::Known).then(|| self.digest()),
            bundled: bundle.numbers(&self.components, &self.segments),
        }
    }

    /// Syncs this shard's files of the snapshot and the directories that lead to them. If `beside`
    /// is given, also syncs the shard's segments that were written beside that snapshot.
    pub(crate) fn sync(&self, shared: &Snapshotting<'_>, beside: Option<SnapshotId>) -> Result<()> {
        let mut dirs = vec![shared.top.try_clone()?];
        for name in &self.components {
            if let Some(dir) = dirs.last() {
                dirs.push(dir.open_dir(name)?);
            }
        }
        let Some(data) = dirs.last() else {
            return Ok(());
        };
        let own = self.segments.iter().map(|segment| segment.id);
        let adopted: HashSet<SegmentId> = own.filter(|id| Some(id.snapshot) == beside).collect();
        for name in data.list()? {
            let is_adopted = layout::segment_of(&name).is_some_and(|id| adopted.contains(&id));
            if is_adopted || layout::snapshot_of(&name) == Some(shared.edition.id) {
                sync_file(&data.open_file(&name)?, &data.join(&name))?;
            }
        }
        dirs.iter().rev().try_for_each(Dir::sync)
    }

    /// Returns an error if another guard of this snapshot maps to the same directories.
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
