//! `--refresh PATH`: brings one directory and everything below it up to date. The daemon that
//! watches it does this, also for the directory's owner. Without a daemon, a user who may write the
//! index scans the source.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use trawl_format::{IndexDir, Source};
use trawl_model::path;
use trawl_serve::client;
use trawl_serve::protocol::Outcome;

use super::{IndexArgs, scan_all};
use crate::exit::Exit;
use crate::failure::{Failure, quoted};
use crate::output::say;
use crate::sources;
use crate::watch::plain::words_again;

/// Maximum time for which a daemon may scan a directory.
const DEADLINE: Duration = Duration::from_secs(600);

/// Refreshes the given paths one after the other.
pub(super) fn run(index: Option<PathBuf>, args: &IndexArgs) -> Result<Exit, Failure> {
    let indexes = sources::opened(index)?;
    let mut exit = Exit::Complete;
    for given in &args.refresh {
        let done = refresh_in(&indexes, given);
        exit = exit.and(done.unwrap_or_else(|failure| {
            say(&failure);
            failure.exit()
        }));
    }
    Ok(exit)
}

/// Refreshes a path in the index whose source is nearest to it; of two equally near ones, in the
/// first.
fn refresh_in(indexes: &[IndexDir], given: &OsStr) -> Result<Exit, Failure> {
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
    let first = indexes.first();
    match best.map(|(_, index)| index).or(first) {
        Some(index) => refresh(index.path(), index, given),
        None => Err(Failure::Usage(format!("{} is not indexed", quoted(&path)))),
    }
}

pub(super) fn refresh(dir: &Path, index: &IndexDir, given: &OsStr) -> Result<Exit, Failure> {
    let path = resolved(given)?;
    let around = index.sources_around(&path)?.into_iter();
    let Some(source) = around.max_by_key(|source| source.root().len()) else {
        let text = "is not indexed: trawl index PATH indexes it";
        return Err(Failure::Usage(format!("{} {text}", quoted(&path))));
    };
    let Some(answer) = client::ask_refresh(&source, &path, DEADLINE)? else {
        return without_daemon(dir, &source, &path);
    };
    let tell = |what: &str| {
        say(format_args!(
            "{} {what}: {}",
            quoted(&path),
            answer.reasons()
        ))
    };
    Ok(match answer.outcome {
        Outcome::Fresh => Exit::Complete,
        Outcome::Stale | Outcome::Late => {
            tell("is not up to date yet");
            Exit::Issues
        }
        Outcome::Refused => {
            tell("is not refreshed");
            Exit::Fatal
        }
    })
}

/// Returns the directory as the index spells it. A symbolic link at the end is not followed,
/// because the daemon would not follow it either.
fn resolved(given: &OsStr) -> Result<Vec<u8>, Failure> {
    let failed = |source| Failure::File {
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

/// Scans the source with the options of its last scan, if this user may.
fn without_daemon(dir: &Path, source: &Source, path: &[u8]) -> Result<Exit, Failure> {
    let owner = std::fs::metadata(dir).map(|found| std::os::unix::fs::MetadataExt::uid(&found));
    let us = trawl_sys::identity::effective_uid();
    if owner.ok() != Some(us) {
        let text = "no daemon watches it, and the index is another user's: ask them to run \
                    trawl index, or trawl watch";
        return Err(Failure::Usage(format!(
            "{} cannot be refreshed: {text}",
            quoted(path)
        )));
    }
    let options = source.snapshots()?.pop().map(|info| info.options);
    let options = options.unwrap_or_default();
    if options.contains_key("from-trace") {
        let text = "it was indexed from a trace";
        return Err(Failure::Usage(format!(
            "{} cannot be refreshed: {text}",
            quoted(path)
        )));
    }
    let mut args = IndexArgs::of_words(words_again(&options, &[], false))?;
    args.paths = vec![OsStr::from_bytes(path::display(source.root())).to_owned()];
    scan_all(dir, &args)
}
