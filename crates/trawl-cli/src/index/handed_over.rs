//! A tree that a daemon watches is scanned by the daemon: it holds the source's lock as long as it
//! watches.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use trawl_index::IndexDir;
use trawl_model::path;
use trawl_query::SnapshotInfo;
use trawl_serve::client;

use super::left_out::LeftOut;
use super::scan::Job;
use super::{IndexArgs, refresh};
use crate::exit::Exit;
use crate::failure::{Failure, quoted};
use crate::output::say;

/// Has the daemon that watches this tree scan it; `None` if there is none.
pub(super) fn hand_over(dir: &Path, args: &IndexArgs, job: &Job) -> Result<Option<Exit>, Failure> {
    let Job::Walk(tree) = job else {
        return Ok(None);
    };
    // What is wrong with a path, or with the index, the scan tells.
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
        let text = "is watched by a daemon, which scans it as it was scanned before: \
                    stop the daemon first, or leave out options that change that";
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

/// The tree was scanned: what a daemon knew that was killed is no matter any more.
pub(super) fn forget_killed(index: &IndexDir, root: &[u8]) -> Result<(), Failure> {
    match index.source(root)?.filter(client::is_left) {
        Some(source) => Ok(source.forget_killed()?),
        None => Ok(()),
    }
}

/// True if these options ask for nothing else than the last scan did.
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
