//! Writes a snapshot's metadata: its list of shards, its pack with the bundle, and its description.

use super::{Committed, Work};
use crate::bundle::{self, BundleTarget};
use crate::shard::{Digests, ShardBuffer};
use crate::tighten::Tightened;
use std::sync::Arc;
use trawl_format::error::Result;
use trawl_format::manifest::{GuardStep, SegmentInfo, Totals};
use trawl_format::pack::{self, Contents, Pack};
use trawl_format::schema::FORMAT;
use trawl_format::snapshot::{ShardList, Snapshot, SnapshotInfo};
use trawl_format::store::{Dir, sync_file};
use trawl_format::{layout, sealed};
use trawl_model::Timestamp;

impl Work {
    /// Returns the used shards in the order of the list of shards.
    fn used_shards(&self) -> Vec<&ShardBuffer> {
        let used = self.shards.values().filter(|shard| shard.is_used());
        let mut used: Vec<&ShardBuffer> = used.collect();
        used.sort_unstable_by_key(|shard| shard.components());
        used
    }

    pub(super) fn shard_list(&self) -> ShardList {
        let used = self.used_shards();
        ShardList {
            format: FORMAT,
            snapshot: self.id,
            above: GuardStep::of_guard(&self.above),
            shards: used.iter().map(|s| s.components().to_vec()).collect(),
            digests: used.iter().map(|s| s.digest()).collect(),
            key: self.key,
            values: used.iter().map(|s| s.totals().xattrs).sum(),
            items: self.item_files(&used),
            packed: true,
            barriers: self.barriers.clone(),
            large_open: self.placer.large_open().to_vec(),
            id_map: self.id_map.clone(),
            keep: self.keep.clone(),
        }
    }

    /// Returns the result of a commit.
    pub(super) fn told(&self) -> Committed {
        let mut done = Committed {
            id: self.id,
            totals: Totals::default(),
            shards: 0,
            shard_rows: Vec::new(),
            size_bytes: 0,
            new_bytes: 0,
            tightened: Tightened::default(),
        };
        let mut segments: Vec<&SegmentInfo> = self.bundle.segments().iter().collect();
        for shard in self.shards.values().filter(|shard| shard.is_used()) {
            done.shards += 1;
            done.shard_rows.push(shard.totals().entries);
            done.totals.add(shard.totals());
            segments.extend(shard.segments());
        }
        for segment in segments {
            let bytes = segment.size_bytes();
            done.size_bytes += bytes;
            if self.writes(segment.id.snapshot) {
                done.new_bytes += bytes;
            }
        }
        done.shard_rows.sort_unstable();
        done
    }

    fn info(&self, finished: Timestamp) -> SnapshotInfo {
        SnapshotInfo {
            format: FORMAT,
            id: self.id,
            revision: None,
            root: self.source.root().to_vec(),
            started: self.options.started,
            finished,
            version: self.options.version.clone(),
            options: self.options.options.clone(),
        }
    }

    /// Makes the bundle, which repeats the rows of small segments, if it was asked for.
    pub(super) fn make_bundle(&mut self, finished: Timestamp) -> Result<()> {
        if !self.makes_bundle {
            return Ok(());
        }
        let shared = self.shared();
        let shards = self.used_shards().into_iter();
        let shards = shards.map(|shard| (shard.components().to_vec(), shard.manifest(&shared)));
        let (info, top) = (self.info(finished), Arc::clone(&self.top));
        let snapshot = Snapshot::being_written(info, top, shards.collect());
        let private = self.source.private()?;
        let before = self.pack_before(&private);
        let place = BundleTarget {
            private: &private,
            writer: self.id,
            memory_bytes: self.options.memory_bytes,
        };
        let (before, compressor) = (before.as_ref(), &mut self.compressor);
        self.bundle = bundle::make(&place, &snapshot, before, compressor);
        Ok(())
    }

    /// Reads the pack of the current snapshot; `None` if it is lost or damaged, which those who
    /// need it report.
    fn pack_before(&self, private: &Dir) -> Option<Pack> {
        let id = self.source.current_id().ok()??;
        let info = SnapshotInfo::read(self.source.dir(), id).ok()?;
        pack::read(private, info.edition()).ok()
    }

    pub(super) fn write_description(&self, finished: Timestamp) -> Result<()> {
        let info = self.info(finished);
        let list = self.shard_list();
        let dir = self.source.dir().open_dir(layout::SNAPSHOTS)?;
        let private = self.source.private()?;
        let name = layout::shard_list_file(self.id.into());
        let bytes = sealed::seal_json(&list, &private.join(&name))?;
        sync_file(&private.write_new(&name, &bytes)?, &private.join(&name))?;
        self.write_pack(&private, &list)?;
        private.sync()?;
        let name = layout::snapshot_file(self.id);
        let bytes = sealed::seal_json(&info, &dir.join(&name))?;
        sync_file(&dir.write_new(&name, &bytes)?, &dir.join(&name))?;
        dir.sync()
    }

    fn write_pack(&self, private: &Dir, list: &ShardList) -> Result<()> {
        let used = self.used_shards().into_iter();
        let contents = Contents {
            edition: self.id.into(),
            root: self.source.root(),
            above: &list.above,
            key: list.key,
            shards: used
                .map(|s| s.packing(self.id, Digests::Known, &self.bundle))
                .collect(),
            bundle: self.bundle.segments(),
        };
        pack::write(private, &contents)
    }
}
