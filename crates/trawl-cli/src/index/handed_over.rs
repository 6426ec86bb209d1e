//! Hands a scan over to the daemon that watches the tree: the daemon holds the source's lock while
//! it watches.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use trawl_format::IndexDir;
use trawl_model::path;
use trawl_query::SnapshotInfo;
use trawl_serve::client;

use super::left_out::LeftOut;
use super::scan::Job;
use super::{IndexArgs, refresh};
use crate::exit::Exit;
use crate::failure::{Failure, quoted};
use crate::output::say;

/// Has the daemon that watches this tree scan it; returns `None` if no daemon watches it.
pub(super) fn hand_over(dir: &Path, args: &IndexArgs, job: &Job) -> Result<Option<Exit>, Failure> {
    let Job::Walk(tree) = job else {
        return Ok(None);
    };
    // Errors about the path or the index are reported by the scan itself.
    let (Ok(tree), Ok(index)) = (tree.canonicalize(), IndexDir::open(dir)) else {
        return Ok(None);
    };
    let root = path::normalize(tree.as_os_str().as_bytes()).unwrap_or_default();
    let Ok(Some(source)) = index.source(&root) else {
        return Ok(None);
    };
    if !matches!(client::ask_status(&source), Ok(Some(_))) {
        return Ok(None);
    }
    let shown = quoted(path::display(&root));
    let last = source.snapshots()?.pop();
    if !last.is_some_and(|info| is_as_before(args, &index, &root, &info)) {
        let text = "is watched by a daemon, which uses the options of the last scan: \
                    stop the daemon first, or leave out other options";
        return Err(Failure::Usage(format!("{shown} {text}")));
    }
    if !args.quiet {
        say(format_args!("{shown} is watched: its daemon scans it now"));
    }
    let done = refresh::refresh(dir, &index, tree.as_os_str())?;
    if !args.quiet && done == Exit::Complete {
        say(format_args!("{shown} is up to date"));
    }
    Ok(Some(done))
}

/// Forgets the state that a killed daemon left behind: the tree has been scanned since.
pub(super) fn forget_killed(index: &IndexDir, root: &[u8]) -> Result<(), Failure> {
    match index.source(root)?.filter(client::is_left) {
        Some(source) => Ok(source.forget_killed()?),
        None => Ok(()),
    }
}

/// Returns true if these options ask for nothing other than the last scan did.
fn is_as_before(args: &IndexArgs, index: &IndexDir, root: &[u8], last: &SnapshotInfo) -> bool {
    let had = |name: &str| last.options.contains_key(name);
    let is_left_out = LeftOut::of(args, index, root).map(|now| now.patterns);
    let crosses = !args.one_file_system && had("cross-file-systems");
    is_left_out.is_ok_and(|patterns| patterns == last.excludes())
        && args.id_map.is_none()
        && args.retention.rule().is_none()
        && !args.full
        && (!args.no_xattr || had("no-xattr"))
        && (crosses || !args.cross_file_systems)
}
