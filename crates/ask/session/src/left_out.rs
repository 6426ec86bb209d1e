//! Patterns because of which an indexed tree lacks a path.

use std::ffi::CString;

use trawl_query::SnapshotInfo;
use trawl_scan::Excludes;

/// Returns the pattern because of which a snapshot does not have `path`, if there is one. `dir` is
/// the nearest directory above `path` that the snapshot has.
pub(crate) fn pattern_for(info: &SnapshotInfo, dir: &[u8], path: &[u8]) -> Option<Vec<u8>> {
    let below = path.strip_prefix(dir)?.strip_prefix(b"/")?;
    let name = below.split(|byte| *byte == b'/').next()?;
    let name = CString::new(name).ok()?;
    info.excludes().into_iter().find(|pattern| {
        let mut one = Excludes::default();
        one.add(pattern).is_ok() && one.excludes(dir, &name, &mut Vec::new())
    })
}
