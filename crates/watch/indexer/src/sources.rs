//! The sources of several indexes, and removal of a source.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use trawl_format::usage::{Usage, usage};
use trawl_format::{IndexDir, Source};
use trawl_model::path;

use crate::error::Result;

/// Returns the sources of all these indexes, ordered by root, each with the index that holds it.
///
/// # Errors
/// If an index cannot be read.
pub fn in_all(indexes: &[IndexDir]) -> Result<Vec<(Source, &IndexDir)>> {
    let mut all = Vec::new();
    for index in indexes {
        all.extend(index.sources()?.into_iter().map(|source| (source, index)));
    }
    all.sort_by(|(a, _), (b, _)| path::cmp(a.root(), b.root()));
    Ok(all)
}

/// Returns the space that all snapshots of a source take together; `None` if one cannot be read. A
/// question about that snapshot reports the error.
pub fn kept(source: &Source) -> Option<Usage> {
    usage(source).ok()
}

/// Removes a source by its root, which is tried as it is given and as the live file system resolves
/// it, for relative paths and symbolic links. The tree itself stays unchanged. Returns the source's
/// root; `None` if the index has no source with this root.
///
/// # Errors
/// If the index cannot be read or written, or the source is being written by another process.
pub fn remove(index: &IndexDir, given: &OsStr) -> Result<Option<Vec<u8>>> {
    let as_given = path::normalize(given.as_bytes());
    let resolved = std::fs::canonicalize(given).ok();
    let resolved = resolved.and_then(|path| path::normalize(path.as_os_str().as_bytes()));
    for root in [as_given, resolved].into_iter().flatten() {
        if index.source(&root)?.is_some() {
            trawl_writer::gc::remove_source(index, &root)?;
            return Ok(Some(root));
        }
    }
    Ok(None)
}
