//! What a snapshot says of itself: its list of shards, its pack, its
//! description.

use super::Work;
use crate::error::Result;
use crate::manifest::GuardStep;
use crate::pack::{self, Contents};
use crate::schema::FORMAT;
use crate::shard::{Digests, ShardBuffer};
use crate::snapshot::{ShardList, SnapshotInfo};
use crate::store::{Dir, sync_file};
use crate::{layout, sealed};
use trawl_model::Timestamp;

impl Work {
    /// Its shards, in the order of the list of shards.
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

    pub(super) fn write_description(&self, finished: Timestamp) -> Result<()> {
        let info = SnapshotInfo {
            format: FORMAT,
            id: self.id,
            revision: None,
            root: self.source.root().to_vec(),
            started: self.options.started,
            finished,
            version: self.options.version.clone(),
            options: self.options.options.clone(),
        };
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
            shards: used.map(|s| s.packing(self.id, Digests::Known)).collect(),
        };
        pack::write(private, &contents)
    }
}
