//! Makes missing or damaged name sidecars, packs and bundles of committed snapshots again.

use crate::error::Result;
use crate::sidecar::{NAMES_ROWS_LEAST, NamesChanges};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use trawl_format::{Hash, Source, Table};
use trawl_model::guard::Credentials;
use trawl_names::Names;
use trawl_query::View;

/// Result of [`rebuild_names`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// Number of sidecars that were already valid.
    pub sound: u64,
    /// Number of sidecars written.
    pub written: u64,
}

/// Makes the missing, damaged or mismatched name sidecars of a source's
/// snapshots, and their packs.
///
/// # Errors
/// If a segment cannot be read, a file cannot be written, or the source is
/// being written by another process.
pub fn rebuild_names(source: &Source) -> Result<Rebuilt> {
    let changes = NamesChanges::begin(source)?;
    let mut done = Rebuilt::default();
    for info in source.snapshots()? {
        let snapshot = source.snapshot(info.id)?.without_bundle();
        let view = View::new(snapshot.clone(), Arc::new(Credentials::default()));
        for segment in 0..view.stored_segments() {
            let Some((_, shard, info)) = view.stored_segment(segment) else {
                continue;
            };
            if info.rows < NAMES_ROWS_LEAST as u64 {
                continue;
            }
            if is_sound(&view, segment) {
                done.sound += 1;
                continue;
            }
            if let Some(bytes) = view.names_of(segment)? {
                changes.put(&snapshot, shard, info.id, &bytes)?;
                done.written += 1;
            }
        }
        changes.pack(snapshot.info.id)?;
    }
    Ok(done)
}

/// True if a segment's sidecar matches its manifest and can be read completely.
fn is_sound(view: &View, segment: usize) -> bool {
    let Some((_, shard, info)) = view.stored_segment(segment) else {
        return false;
    };
    let Ok(Some((file, len, path))) = shard.open_names(info) else {
        return false;
    };
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
    let is_whole = file.metadata().is_ok_and(|meta| meta.len() == len);
    if !is_whole || file.read_exact_at(&mut bytes, 0).is_err() {
        return false;
    }
    let hash = info.names.map(|names| names.hash);
    let entries = info.files.get(&Table::Entries).map(|file| file.hash.0);
    let names = Names::open(&bytes, len, &path);
    hash == Some(Hash::of(&bytes))
        && names.is_ok_and(|names| Some(names.segment()) == entries && names.check().is_ok())
}
