//! Patterns of paths that scans leave out: given now, or remembered from the last scan of the
//! source.

use std::path::Path;

use trawl_format::IndexDir;
use trawl_scan::Excludes;

use crate::error::{IndexerError, Result};
use crate::options::Exclusion;

/// Patterns and their origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// The patterns as they were given.
    pub patterns: Vec<Vec<u8>>,
    /// True if they were given to an earlier scan.
    pub is_remembered: bool,
}

impl LeftOut {
    /// Returns the patterns for the source with this root in this index: those given now, else
    /// those of its last scan. A trace is never read with patterns of another scan.
    pub(crate) fn of(
        exclusion: &Exclusion,
        trace: Option<&Path>,
        (index, root): (&IndexDir, &[u8]),
    ) -> Result<LeftOut> {
        if let Exclusion::Patterns(given) = exclusion {
            return Ok(LeftOut {
                patterns: given.clone(),
                is_remembered: false,
            });
        }
        if trace.is_some() {
            return Ok(LeftOut::default());
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
    pub(crate) fn excludes(&self) -> Result<Excludes> {
        excludes(&self.patterns)
    }
}

impl Exclusion {
    /// Returns an error if a pattern is invalid.
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Exclusion::AsBefore => Ok(()),
            Exclusion::Patterns(patterns) => excludes(patterns).map(drop),
        }
    }
}

/// Converts patterns for the scanner.
fn excludes(patterns: &[Vec<u8>]) -> Result<Excludes> {
    let mut excludes = Excludes::default();
    for pattern in patterns {
        excludes.add(pattern).map_err(|_| IndexerError::Pattern {
            pattern: pattern.clone(),
        })?;
    }
    Ok(excludes)
}
