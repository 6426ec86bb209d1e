//! Writes name sidecars beside segments, and derives sidecars, packs and bundles of committed
//! snapshots again.
//!
//! A sidecar is derived and optional: a segment with names that it cannot hold (ones that no file
//! system has) has no sidecar.

use crate::bundle::{self, Bundle, BundleTarget};
use crate::clean::{Kept, remove_stale_lists};
use crate::encode::Compressor;
use crate::lock::SourceLock;
use crate::segment::Target;
use crate::writer::DEFAULT_MEMORY_BYTES;
use std::io::Write;
use std::sync::Arc;
use trawl_format::error::{IndexError, Result};
use trawl_format::id::{Edition, Hash, SegmentId, SnapshotId};
use trawl_format::index::temporary_name;
use trawl_format::layout;
use trawl_format::manifest::{FileRef, Manifest, NamesRef};
use trawl_format::pack::{self, Contents, Packing};
use trawl_format::snapshot::{Shard, ShardList, Snapshot};
use trawl_format::source::{Source, snapshot_ids};
use trawl_format::store::if_there;
use trawl_model::{DirBatch, FileType};
use trawl_names::{NamesWriter, RowKind};

/// Minimum number of rows of a segment with a sidecar: reading the name column of fewer rows is as
/// fast.
pub const NAMES_ROWS_LEAST: usize = 1000;

/// Begins a sidecar if there are enough rows.
pub(crate) fn begin(rows: u64) -> Option<NamesWriter> {
    match rows >= NAMES_ROWS_LEAST as u64 {
        true => NamesWriter::new().ok(),
        false => None,
    }
}

/// Adds a directory and its rows. Drops the sidecar when one cannot be added.
pub(crate) fn add(names: &mut Option<NamesWriter>, batch: &DirBatch) {
    if let Some(writer) = names
        && put(writer, batch).is_err()
    {
        *names = None;
    }
}

fn put(writer: &mut NamesWriter, batch: &DirBatch) -> trawl_names::Result<()> {
    writer.dir(&batch.path)?;
    for entry in &batch.entries {
        let kind = match entry.meta.file_type() {
            FileType::Directory => RowKind::Directory,
            _ => RowKind::Other,
        };
        writer.row(batch.bytes(entry.name), kind)?;
    }
    Ok(())
}

/// Writes the file without syncing it.
pub(crate) fn finish(
    names: NamesWriter,
    entries: &FileRef,
    target: &Target<'_>,
) -> Result<Option<NamesRef>> {
    let Ok(bytes) = names.finish(entries.hash.0) else {
        return Ok(None);
    };
    let name = layout::names_file(target.id);
    let mut file = target.dir.create_file(&name)?;
    let written = file.write_all(&bytes);
    written.map_err(|cause| IndexError::io("write", target.dir.join(&name), cause))?;
    Ok(Some(reference(&bytes)))
}

/// Adds name sidecars to segments of a source that have none or an unusable one. Holds the source's
/// lock.
pub(crate) struct NamesChanges<'s> {
    source: &'s Source,
    _lock: SourceLock,
}

impl<'s> NamesChanges<'s> {
    /// Locks the source.
    ///
    /// # Errors
    /// [`IndexError::Busy`] if the source is being written.
    pub(crate) fn begin(source: &'s Source) -> Result<NamesChanges<'s>> {
        Ok(NamesChanges {
            source,
            _lock: SourceLock::take(source.dir())?,
        })
    }

    /// Replaces a segment's sidecar and names it in the manifest of a snapshot that has the
    /// segment.
    ///
    /// # Errors
    /// If a file cannot be written. The sidecar is replaced first: a reader with the old manifest
    /// sees that its length or hash differs and reads the segment's tables instead.
    pub(crate) fn put(
        &self,
        snapshot: &Snapshot,
        shard: &Shard,
        segment: SegmentId,
        bytes: &[u8],
    ) -> Result<()> {
        let top = self.source.dir().open_dir(layout::DATA)?;
        let dir = top.open_below(shard.components())?;
        let name = layout::names_file(segment);
        dir.replace(&name, &temporary_name(&name), bytes)?;
        let edition = snapshot.info.edition();
        let name = layout::manifest_file(edition);
        let path = dir.join(&name);
        let mut manifest = Manifest::from_bytes(&dir.read(&name)?, &path, edition.id)?;
        let new = Some(reference(bytes));
        let mut changed = false;
        for info in manifest
            .segments
            .iter_mut()
            .filter(|info| info.id == segment)
        {
            changed |= info.names != new;
            info.names = new;
        }
        if changed {
            self.unpack(edition)?;
            dir.replace(&name, &temporary_name(&name), &manifest.to_bytes(&path)?)?;
        }
        Ok(())
    }

    /// Makes the pack of a snapshot again, with its bundle, if they are missing, unusable or
    /// outdated.
    ///
    /// # Errors
    /// If manifests cannot be read or the pack cannot be written.
    pub(crate) fn pack(&self, id: SnapshotId) -> Result<()> {
        let source = self.source.dir();
        let top = Arc::new(source.open_dir(layout::DATA)?);
        let snapshot = Snapshot::open_locked(source, top, self.source.root(), id)?;
        let private = self.source.private()?;
        let edition = snapshot.info.edition();
        let before = pack::read(&private, edition).ok();
        let list = ShardList::read(source, edition)?;
        let Some(list) = list.filter(|_| !snapshot.is_partial) else {
            return Ok(());
        };
        let place = BundleTarget {
            private: &private,
            writer: id,
            memory_bytes: DEFAULT_MEMORY_BYTES,
        };
        let mut compressor = Compressor::new(self.source.path())?;
        let bundle = bundle::make(&place, &snapshot, before.as_ref(), &mut compressor);
        if before.is_some_and(|before| Bundle::of_pack(&before) == bundle) {
            return Ok(());
        }
        bundle.sync(&private, id)?;
        self.unpack(edition)?;
        let contents = Contents {
            edition,
            root: self.source.root(),
            above: &list.above,
            key: list.key,
            shards: (snapshot.shards.iter())
                .map(|shard| packing(shard, &bundle))
                .collect(),
            bundle: bundle.segments(),
        };
        pack::write(&private, &contents)?;
        private.sync()?;
        let kept = Kept::read(self.source, snapshot_ids(source)?);
        remove_stale_lists(&private, &kept).map(drop)
    }

    /// Removes a pack before the change that makes it outdated.
    fn unpack(&self, edition: Edition) -> Result<()> {
        let private = self.source.private()?;
        match if_there(private.remove_file(&layout::pack_file(edition)))? {
            Some(()) => private.sync(),
            None => Ok(()),
        }
    }
}

/// Returns a shard's content for a pack.
fn packing<'a>(shard: &'a Shard, bundle: &Bundle) -> Packing<'a> {
    Packing {
        components: shard.components(),
        snapshot: shard.manifest.snapshot,
        guard: shard.manifest.guard.clone(),
        segments: &shard.manifest.segments,
        totals: &shard.manifest.totals,
        digest: shard.digest.map(|digest| digest.sum),
        bundled: bundle.numbers(shard.components(), &shard.manifest.segments),
    }
}

/// Returns a manifest's reference to a sidecar.
pub(crate) fn reference(bytes: &[u8]) -> NamesRef {
    NamesRef {
        size_bytes: bytes.len() as u64,
        hash: Hash::of(bytes),
    }
}
