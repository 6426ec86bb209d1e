//! Brings one directory and everything below it up to date. The daemon that watches it does this,
//! also for the directory's owner. Without a daemon, a user who may write the index scans the
//! source.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use trawl_barrier::client;
use trawl_barrier::protocol::Outcome;
use trawl_format::{IndexDir, Source};
use trawl_model::path;
use trawl_scan::Xattrs;
use trawl_text::words::quoted;

use crate::error::{IndexerError, Result};
use crate::options::ScanOptions;
use crate::scan::Job;

/// Maximum time for which a daemon may scan a directory.
const DEADLINE: Duration = Duration::from_secs(600);

/// How a refresh ended.
#[derive(Debug)]
pub enum Refreshed {
    /// The daemon has brought the directory up to date.
    Fresh,
    /// The daemon has not brought it up to date yet.
    Late(Unrefreshed),
    /// The daemon refuses to refresh it.
    Refused(Unrefreshed),
    /// No daemon watches it: the caller must scan the whole source with these options.
    Unwatched(Job, Box<ScanOptions>),
}

/// A directory that a daemon did not refresh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unrefreshed {
    /// The directory.
    pub path: Vec<u8>,
    /// The daemon's reasons, separated by semicolons.
    pub reasons: String,
}

impl fmt::Display for Refreshed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, Unrefreshed { path, reasons }) = match self {
            Refreshed::Fresh => return out.write_str("up to date"),
            Refreshed::Unwatched(..) => return out.write_str("not watched"),
            Refreshed::Late(which) => ("is not up to date yet", which),
            Refreshed::Refused(which) => ("is not refreshed", which),
        };
        write!(out, "{} {what}: {reasons}", quoted(path))
    }
}

/// Refreshes a path in the index whose source is nearest to it; of two equally near ones, in the
/// first. Returns that index, too.
///
/// # Errors
/// Like [`refresh`]; also if there are no indexes.
pub fn refresh_in<'i>(indexes: &'i [IndexDir], given: &OsStr) -> Result<(&'i IndexDir, Refreshed)> {
    let path = resolved(given)?;
    let mut best: Option<(usize, &IndexDir)> = None;
    for index in indexes {
        let around = index.sources_around(&path)?.into_iter();
        let nearest = around.map(|source| source.root().len()).max();
        if let Some(nearest) = nearest.filter(|nearest| best.is_none_or(|(has, _)| *nearest > has))
        {
            best = Some((nearest, index));
        }
    }
    match best.map(|(_, index)| index).or(indexes.first()) {
        Some(index) => Ok((index, refresh(index, given)?)),
        None => Err(IndexerError::NotIndexed { path }),
    }
}

/// Has the daemon that watches this directory refresh it and everything below it.
///
/// # Errors
/// If the directory does not exist or is not indexed, or no daemon watches it and the caller may
/// not scan the source.
pub fn refresh(index: &IndexDir, given: &OsStr) -> Result<Refreshed> {
    let path = resolved(given)?;
    let around = index.sources_around(&path)?.into_iter();
    let Some(source) = around.max_by_key(|source| source.root().len()) else {
        return Err(IndexerError::NotIndexed { path });
    };
    let Some(answer) = client::ask_refresh(&source, &path, DEADLINE)? else {
        return without_daemon(index.path(), &source, path);
    };
    let reasons = answer.reasons();
    let which = Unrefreshed { path, reasons };
    Ok(match answer.outcome {
        Outcome::Fresh => Refreshed::Fresh,
        Outcome::Stale | Outcome::Late => Refreshed::Late(which),
        Outcome::Refused => Refreshed::Refused(which),
    })
}

/// Returns the directory as the index spells it. A symbolic link at the end is not followed,
/// because the daemon would not follow it either.
fn resolved(given: &OsStr) -> Result<Vec<u8>> {
    let failed = |source| IndexerError::File {
        action: "refresh",
        path: PathBuf::from(given),
        source,
    };
    let given_path = Path::new(given);
    let is_link = given_path.symlink_metadata().map_err(failed)?.is_symlink();
    let found = match (is_link, given_path.parent(), given_path.file_name()) {
        (true, Some(parent), Some(name)) => {
            let parent = if parent.as_os_str().is_empty() {
                Path::new(".")
            } else {
                parent
            };
            parent.canonicalize().map(|parent| parent.join(name))
        }
        _ => given_path.canonicalize(),
    };
    let found = OsString::from(found.map_err(failed)?);
    Ok(path::normalize(found.as_bytes()).unwrap_or_default())
}

/// Returns how to scan the source with the options of its last scan, if this user may.
fn without_daemon(dir: &Path, source: &Source, path: Vec<u8>) -> Result<Refreshed> {
    let owner = std::fs::metadata(dir).map(|found| std::os::unix::fs::MetadataExt::uid(&found));
    let us = trawl_sys::identity::effective_uid();
    if owner.ok() != Some(us) {
        return Err(IndexerError::OthersIndex { path });
    }
    let options = source.snapshots()?.pop().map(|info| info.options);
    let options = options.unwrap_or_default();
    if options.contains_key("from-trace") {
        return Err(IndexerError::Recorded { path });
    }
    let root = OsStr::from_bytes(path::display(source.root()));
    let options = ScanOptions::again(&options, &[], Xattrs::default());
    Ok(Refreshed::Unwatched(
        Job::Walk(root.into()),
        Box::new(options),
    ))
}
