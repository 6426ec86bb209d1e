//! Patterns of paths that scans leave out: given now, or remembered from the last scan of the
//! source.

use std::os::unix::ffi::OsStrExt;

use trawl_format::IndexDir;
use trawl_scan::Excludes;

use super::IndexArgs;
use crate::failure::{Failure, quoted, shown};

/// Patterns and their origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// The patterns as they were given.
    pub(crate) patterns: Vec<Vec<u8>>,
    /// True if they were given to an earlier scan.
    pub(crate) is_remembered: bool,
}

impl LeftOut {
    /// Returns the patterns for the source with this root: those given now, else those of its last
    /// scan.
    pub(crate) fn of(args: &IndexArgs, index: &IndexDir, root: &[u8]) -> Result<LeftOut, Failure> {
        let given = args.exclude.iter().map(|pattern| pattern.as_bytes());
        let given: Vec<Vec<u8>> = given.map(<[u8]>::to_vec).collect();
        if !given.is_empty() || args.no_exclude || args.from_trace.is_some() {
            return Ok(LeftOut {
                patterns: given,
                is_remembered: false,
            });
        }
        let last = match index.source(root)? {
            Some(source) => source.snapshots()?.pop(),
            None => None,
        };
        Ok(LeftOut {
            patterns: last.map_or(Vec::new(), |info| info.excludes()),
            is_remembered: true,
        })
    }

    /// Returns the patterns for the scanner.
    pub(crate) fn excludes(&self) -> Result<Excludes, Failure> {
        excludes(self.patterns.iter().map(|pattern| &pattern[..]))
    }

    /// Returns a line for people; empty if nothing is left out.
    pub(crate) fn line(&self) -> String {
        let why = match self.is_remembered {
            true => " (as in the last scan; --no-exclude reads everything)",
            false => "",
        };
        match self.patterns.is_empty() {
            true => String::new(),
            false => format!("  left out: {}{why}\n", listed(&self.patterns)),
        }
    }
}

/// Converts patterns for the scanner.
pub(crate) fn excludes<'p>(patterns: impl Iterator<Item = &'p [u8]>) -> Result<Excludes, Failure> {
    let mut excludes = Excludes::default();
    for pattern in patterns {
        excludes.add(pattern).map_err(|_| {
            let text = shown(pattern);
            Failure::Usage(format!("--exclude {text}: the pattern is invalid"))
        })?;
    }
    Ok(excludes)
}

/// Returns the patterns as text, quoted and separated by commas.
pub(crate) fn listed(patterns: &[Vec<u8>]) -> String {
    let all = patterns.iter().map(|pattern| quoted(pattern));
    all.collect::<Vec<_>>().join(", ")
}
