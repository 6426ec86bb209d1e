//! Represents a shard's manifest, either as read or still packed. A packed manifest is unpacked on
//! first use; the facts that tell whether that is necessary are available before.

use crate::digest::Digest;
use crate::layout;
use crate::manifest::{GuardStep, Manifest, Totals};
use crate::pack::{Glance, Pack};
use crate::schema::FORMAT;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// A shard's manifest, which dereferences to [`Manifest`].
#[derive(Clone, Debug)]
pub struct ShardManifest(Held);

#[derive(Clone, Debug)]
enum Held {
    Read(Arc<Whole>),
    Packed {
        pack: Arc<Pack>,
        shard: usize,
        whole: OnceLock<Arc<Whole>>,
    },
}

/// A manifest and its location.
#[derive(Debug)]
struct Whole {
    /// Directory names from the source's `data` directory.
    components: Vec<String>,
    manifest: Manifest,
}

impl ShardManifest {
    pub(crate) fn read(components: Vec<String>, manifest: Manifest) -> ShardManifest {
        ShardManifest(Held::Read(Arc::new(Whole {
            components,
            manifest,
        })))
    }

    /// Returns the manifests of all shards of a pack.
    pub(crate) fn all_of(
        pack: &Arc<Pack>,
    ) -> impl Iterator<Item = (ShardManifest, Option<Digest>)> {
        (0..pack.shard_count()).map(move |shard| {
            let key = pack.key;
            let digest = pack.digest(shard).map(|sum| Digest { key, sum });
            (ShardManifest::packed(pack, shard), digest)
        })
    }

    /// Returns the manifest of a pack's bundle, if it has one.
    pub(crate) fn bundle_of(pack: &Arc<Pack>) -> Option<ShardManifest> {
        let bundle = pack.shard_count();
        (pack.segment_count(bundle) > 0).then(|| ShardManifest::packed(pack, bundle))
    }

    fn packed(pack: &Arc<Pack>, shard: usize) -> ShardManifest {
        ShardManifest(Held::Packed {
            pack: Arc::clone(pack),
            shard,
            whole: OnceLock::new(),
        })
    }

    /// Returns the number, from 1, of the bundle's segment with a segment's rows.
    pub fn bundled(&self, segment: usize) -> Option<u32> {
        match &self.0 {
            Held::Read(_) => None,
            Held::Packed { pack, shard, .. } => pack.bundled(*shard, segment),
        }
    }

    pub(crate) fn components(&self) -> &[String] {
        &self.whole().components
    }

    pub(crate) fn barrier(&self) -> Option<&[u8]> {
        match &self.0 {
            Held::Read(whole) => match whole.manifest.guard.last() {
                Some(GuardStep::Barrier { path, .. }) => Some(path),
                _ => None,
            },
            Held::Packed { pack, shard, .. } => pack.barrier(*shard),
        }
    }

    pub(crate) fn segment_count(&self) -> usize {
        match &self.0 {
            Held::Read(whole) => whole.manifest.segments.len(),
            Held::Packed { pack, shard, .. } => pack.segment_count(*shard),
        }
    }

    pub(crate) fn glance(&self, segment: usize) -> Option<Glance<'_>> {
        match &self.0 {
            Held::Read(whole) => whole.manifest.segments.get(segment).map(Glance::of),
            Held::Packed { pack, shard, .. } => pack.glance(*shard, segment),
        }
    }

    fn whole(&self) -> &Whole {
        match &self.0 {
            Held::Read(whole) => whole,
            Held::Packed { pack, shard, whole } => whole.get_or_init(|| {
                // A validated pack always unpacks. If it did not, this would be an empty shard.
                let unpacked = pack.unpack(*shard);
                let (components, manifest) =
                    unpacked.unwrap_or_else(|| (vec![layout::DATA.to_owned()], nothing()));
                Arc::new(Whole {
                    components,
                    manifest,
                })
            }),
        }
    }
}

impl Deref for ShardManifest {
    type Target = Manifest;

    fn deref(&self) -> &Manifest {
        &self.whole().manifest
    }
}

fn nothing() -> Manifest {
    Manifest {
        format: FORMAT,
        snapshot: crate::id::SnapshotId(0),
        root: Vec::new(),
        guard: Vec::new(),
        segments: Vec::new(),
        totals: Totals::default(),
    }
}
