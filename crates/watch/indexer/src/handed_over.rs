//! Hands a scan over to the daemon that watches the tree: the daemon holds the source's lock while
//! it watches.

use std::os::unix::ffi::OsStrExt;

use trawl_barrier::client;
use trawl_format::IndexDir;
use trawl_model::path;
use trawl_query::SnapshotInfo;
use trawl_scan::{Mounts, Xattrs};

use crate::error::{IndexerError, Result};
use crate::event::{Event, Listener, Notice};
use crate::id_map::IdMapChoice;
use crate::left_out::LeftOut;
use crate::options::{ScanOptions, Unchanged};
use crate::refresh::{Refreshed, refresh};
use crate::scan::Job;

/// The process that scans a tree.
#[derive(Debug)]
pub enum HandedOver {
    /// The caller: no daemon watches the tree.
    ToNobody,
    /// The daemon that watches the tree, unless it went away meanwhile.
    ToDaemon(Refreshed),
}

/// Has the daemon that watches this tree scan it.
///
/// # Errors
/// Fails with [`IndexerError::Watched`] if the options differ from those of the source's last scan;
/// fails if the daemon cannot be asked.
pub fn hand_over(
    index_path: &std::path::Path,
    options: &ScanOptions,
    job: &Job,
    listener: &mut dyn Listener,
) -> Result<HandedOver> {
    let Job::Walk(tree) = job else {
        return Ok(HandedOver::ToNobody);
    };
    // Errors about the path or the index are reported by the scan itself.
    let (Ok(tree), Ok(index)) = (tree.canonicalize(), IndexDir::open(index_path)) else {
        return Ok(HandedOver::ToNobody);
    };
    let root = path::normalize(tree.as_os_str().as_bytes()).unwrap_or_default();
    let Ok(Some(source)) = index.source(&root) else {
        return Ok(HandedOver::ToNobody);
    };
    if !matches!(client::ask_status(&source), Ok(Some(_))) {
        return Ok(HandedOver::ToNobody);
    }
    let last = source.snapshots()?.pop();
    if !last.is_some_and(|info| is_as_before(options, (&index, &root), &info)) {
        return Err(IndexerError::Watched { root });
    }
    let watched = Notice::HandedOver { root: root.clone() };
    listener.hear(&Event::Notice(watched));
    let done = refresh(&index, tree.as_os_str())?;
    if matches!(done, Refreshed::Fresh) {
        listener.hear(&Event::Notice(Notice::UpToDate { root }));
    }
    Ok(HandedOver::ToDaemon(done))
}

/// Forgets the state that a killed daemon left behind: the tree has been scanned since.
///
/// # Errors
/// If the index cannot be read or written.
pub fn forget_killed(index: &IndexDir, root: &[u8]) -> Result<()> {
    match index.source(root)?.filter(client::is_left) {
        Some(source) => Ok(source.forget_killed()?),
        None => Ok(()),
    }
}

/// Returns true if these options ask for nothing other than the last scan did.
fn is_as_before(
    options: &ScanOptions,
    (index, root): (&IndexDir, &[u8]),
    last: &SnapshotInfo,
) -> bool {
    let had = |name: &str| last.options.contains_key(name);
    let left_out = LeftOut::of(&options.exclusion, None, (index, root));
    left_out.is_ok_and(|now| now.patterns == last.excludes())
        && matches!(options.id_map, IdMapChoice::AsBefore)
        && options.retention.rule().is_none()
        && options.unchanged != Unchanged::Rewritten
        && (options.xattrs == Xattrs::Read || had("no-xattr"))
        && (options.mounts == Mounts::Stay || had("cross-file-systems"))
}
