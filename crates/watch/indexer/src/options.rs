//! Options of scans: how a source is read, and what a scan needs of the process that runs it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use trawl_format::{EXCLUDE, read_list};
use trawl_model::Timestamp;
use trawl_scan::{Mounts, Xattrs};

use crate::error::{IndexerError, Result};
use crate::id_map::IdMapChoice;
use crate::upkeep::Retention;

/// What work needs of the process that runs it.
#[derive(Clone, Copy, Debug)]
pub struct Control<'a> {
    /// Flag that ends the work soon after it becomes true.
    pub cancel: &'a AtomicBool,
    /// Returns the current time.
    pub clock: fn() -> Timestamp,
}

impl Control<'_> {
    /// Returns an error if the work must end.
    pub(crate) fn check(&self) -> Result<()> {
        match self.cancel.load(Ordering::Relaxed) {
            true => Err(IndexerError::Interrupted),
            false => Ok(()),
        }
    }
}

/// How sources are scanned. The default scans like `trawl index PATH`.
#[derive(Clone, Debug, Default)]
pub struct ScanOptions {
    /// Paths that are left out.
    pub exclusion: Exclusion,
    /// Whether file systems that are mounted below are entered.
    pub mounts: Mounts,
    /// Whether extended attributes are read.
    pub xattrs: Xattrs,
    /// Number of reading threads; 0 means one per core, at most 8.
    pub threads: usize,
    /// Treatment of what has not changed since the last scan.
    pub unchanged: Unchanged,
    /// Map that is applied to user and group ids.
    pub id_map: IdMapChoice,
    /// Snapshots to keep.
    pub retention: Retention,
}

/// Paths that a scan leaves out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Exclusion {
    /// The patterns of the source's last scan.
    #[default]
    AsBefore,
    /// Names or paths that match these patterns; none leaves nothing out.
    Patterns(Vec<Vec<u8>>),
}

/// Treatment of content that is unchanged since the source's last scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unchanged {
    /// It is read again; equal content is stored once.
    #[default]
    Shared,
    /// Like `Shared`, but extended attributes are not read again where ctimes say that nothing
    /// has changed.
    TrustCtime,
    /// It is read and written again.
    Rewritten,
}

impl ScanOptions {
    /// Returns the options with which a source is scanned again: those of its last snapshot,
    /// except that `exclude`, unless it is empty, replaces its patterns, and that
    /// [`Xattrs::Skip`] skips extended attributes even if the last scan read them.
    pub fn again(
        last: &BTreeMap<String, String>,
        exclude: &[Vec<u8>],
        xattrs: Xattrs,
    ) -> ScanOptions {
        let has = |name: &str| last.contains_key(name);
        let before = last.get(EXCLUDE).map_or(Vec::new(), |text| read_list(text));
        let patterns = match exclude {
            [] => before,
            given => given.to_vec(),
        };
        ScanOptions {
            // Given explicitly, so that the last scan's patterns are not looked up again.
            exclusion: Exclusion::Patterns(patterns),
            mounts: match has("cross-file-systems") {
                true => Mounts::Cross,
                false => Mounts::default(),
            },
            xattrs: match xattrs == Xattrs::Skip || has("no-xattr") {
                true => Xattrs::Skip,
                false => Xattrs::default(),
            },
            ..ScanOptions::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_format::write_list;

    #[test]
    fn a_source_is_scanned_as_it_was() {
        let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let patterns = [b"*.o".to_vec(), b"My Music".to_vec(), b"a\xff\n".to_vec()];
        let last = BTreeMap::from([
            option("exclude", &write_list(&patterns)),
            option("no-xattr", "yes"),
        ]);
        let again = ScanOptions::again(&last, &[], Xattrs::default());
        assert_eq!(again.xattrs, Xattrs::Skip);
        assert_eq!(again.exclusion, Exclusion::Patterns(patterns.to_vec()));
        let again = ScanOptions::again(&last, &[b"a b".to_vec()], Xattrs::default());
        assert_eq!(again.xattrs, Xattrs::Skip);
        assert_eq!(again.exclusion, Exclusion::Patterns(vec![b"a b".to_vec()]));
        let again = ScanOptions::again(&BTreeMap::new(), &[], Xattrs::Skip);
        assert_eq!(again.xattrs, Xattrs::Skip);
        assert_eq!(again.exclusion, Exclusion::Patterns(Vec::new()));
        assert_eq!(again.mounts, Mounts::default());
    }
}
