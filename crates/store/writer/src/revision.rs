//! Rewrites a committed snapshot with rows behind stricter guards.
//!
//! Segments stay as they are unless some of their rows must move. The rows of the other segments
//! are added one by one, to their old shard or another one. New files have names that nothing
//! refers to until the snapshot's description is replaced by one that names the new edition: that
//! rename is the commit. Then the files that only the old edition needed are removed. A crash
//! before the commit leaves the old edition, one after it the new edition; the next writer or gc
//! removes the leftovers.
//!
//! Rows can be added in any order; fragments of one directory are merged if they are in memory
//! together.

use crate::bundle::Bundle;
use crate::clean::{Kept, remove_stale_lists, sweep_data};
use crate::encode::Compressor;
use crate::gc::Collected;
use crate::guard_dirs::{self, GuardDirs};
use crate::segment::{Lifetime, Listing, Sums, XattrRow, has_links};
use crate::shard::{Digests, ShardBuffer, Snapshotting};
use std::collections::{BTreeMap, BTreeSet};
use trawl_format::ListingKind;
use trawl_format::digest::DigestKey;
use trawl_format::error::{IndexError, Result};
use trawl_format::id::{Edition, Hash, SnapshotId};
use trawl_format::index::temporary_name;
use trawl_format::layout::{self, DataName, GuardName};
use trawl_format::manifest::{GuardStep, SegmentInfo, Totals};
use trawl_format::pack::{self, Contents};
use trawl_format::schema::FORMAT;
use trawl_format::snapshot::{Shard, ShardList, Snapshot, SnapshotInfo};
use trawl_format::source::{Source, snapshot_ids};
use trawl_format::store::{Dir, if_there, sync_file};
use trawl_format::{crash, sealed};
use trawl_model::guard::Guard;
use trawl_model::{DirBatch, Issue};

/// Above this number of files one syncfs(2) is cheaper than an fsync(2) for each.
const SYNC_EACH_FILES: usize = 32;

/// The snapshot that a new edition is made for, and its purpose.
pub(crate) struct NewEdition<'a> {
    pub(crate) source: &'a Source,
    /// The source's `data` directory.
    pub(crate) top: &'a Dir,
    /// The new guard of the source as a whole.
    pub(crate) above: &'a Guard,
    /// The snapshot that is being made.
    pub(crate) writer: SnapshotId,
    pub(crate) memory_bytes: usize,
}

/// One part of a shard's content.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "no value outlives a call")]
pub(crate) enum Stored {
    /// Rows of a directory, or an own row. Attribute values and issues in the batch are ignored.
    Rows(ListingKind, DirBatch),
    /// The value of an extended attribute.
    Value {
        /// The directory of the entry.
        dir: Vec<u8>,
        /// The entry's name.
        name: Vec<u8>,
        /// The attribute's full name.
        attr: Vec<u8>,
        /// Its value.
        value: Vec<u8>,
    },
    /// A path that could not be read.
    Issue(Issue),
}

/// A new edition of a snapshot while it is being written. Dropping it before it is finished removes
/// it.
pub(crate) struct Revision<'a> {
    place: NewEdition<'a>,
    info: SnapshotInfo,
    list: ShardList,
    /// Shards by directory names from the source's `data` directory.
    shards: BTreeMap<Vec<String>, ShardBuffer>,
    dirs: GuardDirs,
    compressor: Compressor,
    memory_bytes: usize,
    committed: bool,
}

impl<'a> Revision<'a> {
    pub(crate) fn begin(place: NewEdition<'a>, older: &Snapshot) -> Result<Revision<'a>> {
        let source = place.source.dir();
        let mut info = SnapshotInfo::read(source, older.info.id)?;
        let list = ShardList::read(source, info.edition())?;
        let list = list.filter(|_| info == older.info).ok_or_else(|| {
            let name = layout::shard_list_file(info.edition());
            IndexError::damaged(
                &source.join(&name),
                "it does not belong to the snapshot to revise",
            )
        })?;
        info.revision = Some(place.writer);
        let mut revision = Revision {
            compressor: Compressor::new(place.source.path())?,
            place,
            info,
            list,
            shards: BTreeMap::new(),
            dirs: GuardDirs::default(),
            memory_bytes: 0,
            committed: false,
        };
        for shard in &older.shards {
            let next = revision.next_segment(shard.components())?;
            let mut buffer = ShardBuffer::of(&shard.manifest, next)?;
            let digest = shard
                .digest
                .filter(|digest| digest.key == revision.list.key);
            buffer.add_digest(digest.map(|digest| digest.sum).unwrap_or_default());
            revision.shards.insert(shard.components().to_vec(), buffer);
        }
        Ok(revision)
    }

    /// Returns the first number that no segment of the snapshot in this directory has, needed or
    /// not.
    fn next_segment(&self, components: &[String]) -> Result<u32> {
        let Some(dir) = if_there(self.place.top.open_below(components))? else {
            return Ok(0);
        };
        let number = |name: &String| match layout::data_name(name) {
            DataName::Segment(id, _) if id.snapshot == self.info.id => Some(id.number + 1),
            _ => None,
        };
        Ok(dir.list()?.iter().filter_map(number).max().unwrap_or(0))
    }

    /// Removes a segment from its shard. The caller must then [`Revision::put`] each of its rows
    /// once.
    pub(crate) fn take_segment(&mut self, shard: &Shard, segment: &SegmentInfo) {
        if let Some(buffer) = self.shards.get_mut(shard.components()) {
            buffer.remove_segment(segment.id);
        }
    }

    /// Moves content of a segment that was removed from `from` to the shard behind `to`, a guard
    /// below the guard of the source as a whole. `None` means the shard `from`.
    pub(crate) fn put(&mut self, from: &Shard, to: Option<&Guard>, what: Stored) -> Result<()> {
        if let Some(buffer) = self.shards.get_mut(from.components()) {
            buffer.uncount(&totals_of(&what));
            if let Some(digest) = digest_of(&self.list.key, &what) {
                buffer.subtract_digest(digest);
            }
        }
        match to {
            Some(guard) => self.add(guard, what),
            None => self.add(&from.manifest.guard()?, what),
        }
    }

    /// Adds content that was not in the snapshot, or not in this shard.
    pub(crate) fn add(&mut self, guard: &Guard, what: Stored) -> Result<()> {
        let components = layout::data_components(&guard.0);
        if !self.shards.contains_key(&components) {
            let mut buffer = ShardBuffer::new(guard.clone());
            buffer.number_from(self.next_segment(&components)?);
            self.shards.insert(components.clone(), buffer);
        }
        let digest = digest_of(&self.list.key, &what);
        if let Some(buffer) = self.shards.get_mut(&components) {
            buffer.add_digest(digest.unwrap_or_default());
            if buffer.guard() != guard {
                let path = layout::display_path(&components);
                return Err(IndexError::damaged(&path, "two guards have the same hash"));
            }
            self.memory_bytes += match what {
                Stored::Rows(kind, batch) => buffer.add_listing(Listing { kind, batch }),
                Stored::Issue(issue) => buffer.add_issue(issue),
                Stored::Value {
                    dir,
                    name,
                    attr,
                    value,
                } => buffer.add_xattr(XattrRow {
                    dir,
                    name,
                    attr,
                    value,
                }),
            };
        }
        self.make_room()
    }

    /// Writes all waiting rows if they exceed the memory budget.
    fn make_room(&mut self) -> Result<()> {
        if self.memory_bytes > self.place.memory_bytes {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let shared = shared(&self.place, self.info.edition());
        for shard in self.shards.values_mut() {
            self.memory_bytes -= shard.flush(&shared, &mut self.dirs, &mut self.compressor)?;
        }
        Ok(())
    }

    /// Replaces the snapshot by this edition.
    ///
    /// # Errors
    /// A failure before the new description is in place leaves the snapshot as it was.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.flush()?;
        let shared = shared(&self.place, self.info.edition());
        let used: Vec<&ShardBuffer> = self.shards.values().filter(|s| s.is_used()).collect();
        used.iter()
            .try_for_each(|shard| shard.write_manifest(&shared, None))?;
        let barriers = self.disguise_barriers(&used)?;
        let id = self.info.id;
        let files = |shard: &&ShardBuffer| shard.files(|writer| writer == id) + 1;
        match used.iter().map(files).sum::<usize>() > SYNC_EACH_FILES {
            true => self.place.top.sync_filesystem()?,
            false => used
                .iter()
                .try_for_each(|shard| shard.sync(&shared, None))?,
        }
        self.list.format = FORMAT;
        self.list.above = GuardStep::of_guard(self.place.above);
        self.list.shards = used.iter().map(|s| s.components().to_vec()).collect();
        self.list.digests = match self.list.digests.is_empty() {
            true => Vec::new(),
            false => used.iter().map(|shard| shard.digest()).collect(),
        };
        self.list.values = used.iter().map(|shard| shard.totals().xattrs).sum();
        self.list.packed = true;
        self.list.barriers = barriers.into_iter().collect();
        self.replace_description()?;
        self.remove_other_editions()
    }

    /// Disguises the directories of barriers that lead to the shards, and returns all that the
    /// snapshot has.
    fn disguise_barriers(&self, used: &[&ShardBuffer]) -> Result<BTreeSet<Vec<String>>> {
        let mut barriers: BTreeSet<Vec<String>> = self.list.barriers.iter().cloned().collect();
        for shard in used {
            let names = shard.components();
            let is_barriers =
                |end: &usize| layout::guard_name(&names[end - 1]) == GuardName::Barriers;
            let ends = (1..=names.len()).filter(is_barriers);
            barriers.extend(ends.map(|end| names[..end].to_vec()));
        }
        for components in &barriers {
            if let Some(dir) = if_there(self.place.top.open_below(components))? {
                guard_dirs::disguise(&dir, self.place.writer.time())?;
            }
        }
        Ok(barriers)
    }

    fn replace_description(&mut self) -> Result<()> {
        let edition = self.info.edition();
        let private = self.place.source.private()?;
        let name = layout::shard_list_file(edition);
        let bytes = sealed::seal_json(&self.list, &private.join(&name))?;
        sync_file(&private.write_new(&name, &bytes)?, &private.join(&name))?;
        self.write_pack(&private)?;
        private.sync()?;
        let dir = self.place.source.dir().open_dir(layout::SNAPSHOTS)?;
        let name = layout::snapshot_file(edition.id);
        let bytes = sealed::seal_json(&self.info, &dir.join(&name))?;
        let temporary = temporary_name(&name);
        let file = dir.write_new(&temporary, &bytes)?;
        sync_file(&file, &dir.join(&temporary))?;
        crash::point("before a new edition");
        dir.rename(&temporary, &name)?;
        // The rename is the commit: from now on the new files must stay, whatever else fails.
        self.committed = true;
        dir.sync()
    }

    fn write_pack(&self, private: &Dir) -> Result<()> {
        let digests = match self.list.digests.is_empty() {
            true => Digests::Unknown,
            false => Digests::Known,
        };
        let used = self.shards.values().filter(|shard| shard.is_used());
        let contents = Contents {
            edition: self.info.edition(),
            root: self.place.source.root(),
            above: &self.list.above,
            key: self.list.key,
            shards: used
                .map(|s| s.packing(self.info.id, digests, &Bundle::default()))
                .collect(),
            // No bundle: readers use the small segments.
            bundle: &[],
        };
        pack::write(private, &contents)
    }

    /// Removes the files that only other editions of the snapshot need; if the new edition was not
    /// committed, these are its own.
    fn remove_other_editions(&self) -> Result<()> {
        let source = self.place.source;
        let ids = snapshot_ids(source.dir())?;
        let kept = Kept::read(source, ids.into_iter().chain([self.place.writer]));
        let mut done = Collected::default();
        for components in self.shards.keys() {
            if let Some(data) = if_there(self.place.top.open_below(components))? {
                sweep_data(&data, &kept, &mut done)?;
                crate::clean::remove_empty(self.place.top, components);
            }
        }
        let snapshots = source.dir().open_dir(layout::SNAPSHOTS)?;
        remove_stale_lists(&source.private()?, &kept)?;
        if_there(snapshots.remove_file(&temporary_name(&layout::snapshot_file(self.info.id))))?;
        Ok(())
    }
}

impl Drop for Revision<'_> {
    /// Removes the files of an unfinished edition. If this fails, gc removes them.
    fn drop(&mut self) {
        if !self.committed {
            let _ = self.remove_other_editions();
        }
    }
}

fn shared<'a>(place: &'a NewEdition<'_>, edition: Edition) -> Snapshotting<'a> {
    Snapshotting {
        top: place.top,
        edition,
        root: place.source.root(),
        stay: Lifetime::Long,
    }
}

/// Returns the share of the content in the digest of its shard.
fn digest_of(key: &DigestKey, what: &Stored) -> Option<Hash> {
    match what {
        Stored::Rows(ListingKind::Listed, batch) if batch.fragment == 0 => {
            Some(key.of(ListingKind::Listed, &batch.path))
        }
        _ => None,
    }
}

/// Returns the share of rows in the sums over their shard.
pub(crate) fn totals_of_rows(kind: ListingKind, batch: &DirBatch) -> Totals {
    let linked = batch.entries.iter().filter(|e| has_links(&e.meta));
    Totals {
        links: linked.count() as u64,
        ..Sums::of(&batch.entries).totals(kind, batch.fragment)
    }
}

/// Returns the share of the content in the sums over its shard.
fn totals_of(what: &Stored) -> Totals {
    match what {
        Stored::Rows(kind, batch) => totals_of_rows(*kind, batch),
        Stored::Value { .. } => Totals {
            xattrs: 1,
            ..Totals::default()
        },
        Stored::Issue(_) => Totals {
            issues: 1,
            ..Totals::default()
        },
    }
}
