//! The plain applier: after any change, it indexes the source again, as `trawl index` does;
//! unchanged segments are shared. This is correct, but expensive for a large source.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use trawl_apply::ApplyOptions;
use trawl_format::{EXCLUDE, IndexDir, IndexError, read_list};
use trawl_live::Places;
use trawl_serve::{Applier, ApplyError, ApplyErrorKind, Published, Scope, Taken};

use crate::failure::Failure;
use crate::index::scan::{Job, Scanner};
use crate::index::upkeep::RetentionArgs;
use crate::index::{IndexArgs, upkeep};

/// After a scan, the source is left alone for this many times the scan's duration, unless somebody
/// asks.
const REST: u32 = 20;

/// Scanner that indexes a source repeatedly.
pub(crate) struct Plain {
    index: PathBuf,
    root: PathBuf,
    args: IndexArgs,
    took: Duration,
}

impl Plain {
    /// Creates the applier of a source that is scanned with these options of `trawl index`.
    pub(crate) fn new(index: PathBuf, root: PathBuf, args: IndexArgs) -> Plain {
        Plain {
            index,
            root,
            args,
            took: Duration::ZERO,
        }
    }

    /// Scans the whole source and makes the result the current snapshot.
    pub(crate) fn scan(&mut self) -> Result<Published, Failure> {
        let begun = Instant::now();
        let index = IndexDir::open(&self.index)?;
        let scanner = Scanner::new(&index, &self.args)?;
        let done = scanner.run(&Job::Walk(self.root.clone()))?;
        upkeep::retain(&index, &done.root, self.args.retention())?;
        self.took = begun.elapsed();
        Ok(Published {
            snapshot: Some(done.committed.id),
            ..Published::default()
        })
    }

    pub(crate) fn try_scan(&mut self) -> Result<Published, ApplyError> {
        self.scan().map_err(|failure| told(&failure))
    }

    /// Returns the directory of the index.
    pub(crate) fn index(&self) -> &Path {
        &self.index
    }

    /// Returns the options about snapshots to keep.
    pub(crate) fn retention(&self) -> &RetentionArgs {
        self.args.retention()
    }

    /// Returns why a part that is read now would not fit the index, because the index was made in
    /// another way; `None` if it fits.
    pub(crate) fn goes_on(&self, root: &[u8]) -> Result<Option<&'static str>, Failure> {
        let index = IndexDir::open(&self.index)?;
        let source = index.source(root)?;
        let current = match source {
            Some(source) => source.snapshots()?.pop(),
            None => None,
        };
        let Some(current) = current else {
            return Ok(Some("there is no snapshot"));
        };
        if current.version != env!("CARGO_PKG_VERSION") {
            return Ok(Some("another version of the program indexed it"));
        }
        let scanner = Scanner::new(&index, &self.args)?;
        match scanner.reads_as(root, &current.options)? {
            true => Ok(None),
            false => Ok(Some("it was indexed with other options")),
        }
    }

    /// Returns the options for reading a part of the source.
    pub(crate) fn apply_options(&self) -> Result<ApplyOptions, Failure> {
        let index = IndexDir::open(&self.index)?;
        let root = self.root.as_os_str().as_bytes();
        let root = trawl_model::path::normalize(root).unwrap_or_default();
        Scanner::new(&index, &self.args)?.apply_options(&root)
    }
}

/// Converts a failure for the daemon.
pub(crate) fn told(failure: &Failure) -> ApplyError {
    ApplyError {
        kind: kind_of(failure),
        message: failure.to_string(),
    }
}

fn kind_of(failure: &Failure) -> ApplyErrorKind {
    match failure {
        Failure::Interrupted => ApplyErrorKind::Stopped,
        Failure::Index(IndexError::Busy { .. }) => ApplyErrorKind::Busy,
        Failure::Index(IndexError::Io { cause, .. })
            if matches!(
                cause.0.kind(),
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded
            ) =>
        {
            ApplyErrorKind::NoSpace
        }
        _ => ApplyErrorKind::Broken,
    }
}

impl Applier for Plain {
    fn apply(&mut self, _: &Taken, _: &mut dyn Places) -> Result<Published, ApplyError> {
        self.try_scan()
    }

    fn rescan(&mut self, _: &Scope, _: &str, _: &mut dyn Places) -> Result<Published, ApplyError> {
        self.try_scan()
    }

    fn rest(&self) -> Duration {
        self.took * REST
    }
}

/// Returns the options for scanning a source as words of `trawl index`: those of its last snapshot,
/// unless they are given again.
pub(crate) fn words_again(
    last: &BTreeMap<String, String>,
    exclude: &[OsString],
    no_xattr: bool,
) -> Vec<OsString> {
    let has = |name: &str| last.contains_key(name);
    let mut words: Vec<OsString> = ["--quiet", "--progress=none", "--issues=none"]
        .map(OsString::from)
        .to_vec();
    if has("cross-file-systems") {
        words.push("--cross-file-systems".into());
    }
    if no_xattr || has("no-xattr") {
        words.push("--no-xattr".into());
    }
    let before = last.get(EXCLUDE).map_or(Vec::new(), |text| read_list(text));
    let patterns: Vec<OsString> = match exclude {
        [] => before.into_iter().map(OsString::from_vec).collect(),
        given => given.to_vec(),
    };
    if patterns.is_empty() {
        // Given explicitly, so that the last scan's patterns are not looked up again.
        words.push("--no-exclude".into());
    }
    for pattern in patterns {
        let mut word = OsString::from("--exclude=");
        word.push(pattern);
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_format::write_list;

    #[test]
    fn a_source_is_scanned_as_it_was() {
        let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let patterns = [b"*.o".to_vec(), b"My Music".to_vec(), b"a\xff\n".to_vec()];
        let patterns = write_list(&patterns);
        let last = BTreeMap::from([option("exclude", &patterns), option("no-xattr", "yes")]);
        let words = words_again(&last, &[], false);
        assert_eq!(
            words[3..6],
            ["--no-xattr", "--exclude=*.o", "--exclude=My Music"]
        );
        assert_eq!(words[6].as_bytes(), b"--exclude=a\xff\n");
        let words = words_again(&last, &["a b".into()], false);
        assert_eq!(words[4..], ["--exclude=a b"]);
        assert_eq!(
            words_again(&BTreeMap::new(), &[], true)[3..],
            ["--no-xattr", "--no-exclude"]
        );
    }
}
