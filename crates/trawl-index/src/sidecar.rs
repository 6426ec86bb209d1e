//! Writing a segment's name sidecar beside its tables.
//!
//! A sidecar is a help, not data: what cannot be put into one (names that are
//! not of a file system) leaves the segment without.

use crate::error::{IndexError, Result};
use crate::id::{Hash, SegmentId};
use crate::index::temporary_name;
use crate::layout;
use crate::lock::SourceLock;
use crate::manifest::{FileRef, Manifest, NamesRef};
use crate::segment::{Listing, Target};
use crate::snapshot::{Shard, Snapshot};
use crate::source::Source;
use std::io::Write;
use trawl_model::{DirBatch, FileType};
use trawl_names::{NamesWriter, RowKind};

/// A segment of fewer rows has no sidecar: its name column is read as fast.
pub const NAMES_ROWS_LEAST: usize = 1000;

/// Begins a sidecar if there are enough rows.
pub(crate) fn begin(listings: &[Listing]) -> Option<NamesWriter> {
    let rows: usize = listings.iter().map(|l| l.batch.entries.len()).sum();
    match rows >= NAMES_ROWS_LEAST {
        true => NamesWriter::new().ok(),
        false => None,
    }
}

/// Adds a directory and its rows; none from the first that cannot be added.
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

/// Writes the file (not synced).
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

/// Puts name sidecars beside segments of a source that have none or one that
/// cannot be used. Holds the source's lock.
pub struct NamesChanges<'s> {
    source: &'s Source,
    _lock: SourceLock,
}

impl<'s> NamesChanges<'s> {
    /// # Errors
    /// [`IndexError::Busy`] if the source is being written, or its last
    /// writer was killed and left work to undo.
    pub fn begin(source: &'s Source) -> Result<NamesChanges<'s>> {
        Ok(NamesChanges {
            source,
            _lock: SourceLock::take(source.dir())?,
        })
    }

    /// Replaces a segment's sidecar and names it in the manifest of a
    /// snapshot that has the segment.
    ///
    /// # Errors
    /// If a file cannot be written. The sidecar is replaced first: whoever
    /// reads the old manifest with it finds another length or another hash,
    /// and reads the segment's tables.
    pub fn put(
        &self,
        snapshot: &Snapshot,
        shard: &Shard,
        segment: SegmentId,
        bytes: &[u8],
    ) -> Result<()> {
        let top = self.source.dir().open_dir(layout::DATA)?;
        let dir = top.open_below(&shard.components)?;
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
        match changed {
            true => dir.replace(&name, &temporary_name(&name), &manifest.to_bytes(&path)?),
            false => Ok(()),
        }
    }
}

/// What a manifest says of a sidecar.
pub(crate) fn reference(bytes: &[u8]) -> NamesRef {
    NamesRef {
        size_bytes: bytes.len() as u64,
        hash: Hash::of(bytes),
    }
}
