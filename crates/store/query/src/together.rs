//! Queries several indexes as one, and decides which of them answers for a
//! path.
//!
//! A path is answered by the source whose root is nearest to it, whichever
//! index holds that source. Among sources with the same root, the one with the
//! freshest snapshot answers. An index with fewer sources hides nothing of
//! another.

use crate::as_of::AsOf;
use crate::error::Result;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use trawl_format::{IndexDir, Source};
use trawl_model::{Timestamp, path};

/// The indexes to query, and what daemons say about them.
pub struct Places<'a> {
    /// Directories of the indexes. If two answer equally well, the first is
    /// used.
    pub dirs: &'a [PathBuf],
    /// Returns the time up to which a source is current, given the path of its
    /// index and its root, if a daemon knows it.
    pub known: &'a dyn Fn(&Path, &[u8]) -> Option<Timestamp>,
}

/// Knows nothing about any source.
pub(crate) const UNKNOWN: fn(&Path, &[u8]) -> Option<Timestamp> = |_, _| None;

impl std::fmt::Debug for Places<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Places").field("dirs", &self.dirs).finish()
    }
}

/// A source, and the number of the index that holds it.
#[derive(Debug)]
pub(crate) struct HeldSource {
    pub(crate) index: usize,
    pub(crate) source: Source,
}

/// The sources of all indexes: one that answers for each root, and the others.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    pub(crate) chosen: Vec<HeldSource>,
    pub(crate) others: Vec<HeldSource>,
}

/// Chooses among the sources of several indexes.
pub(crate) fn merge(dirs: &[IndexDir], as_of: AsOf, places: &Places<'_>) -> Result<Merged> {
    let mut all = Vec::new();
    for (index, dir) in dirs.iter().enumerate() {
        let held = |source| HeldSource { index, source };
        all.extend(dir.sources()?.into_iter().map(held));
    }
    // No two sources of one index have the same root.
    if dirs.len() > 1 {
        all.sort_by(|a, b| path::cmp(a.source.root(), b.source.root()));
    }
    let mut merged = Merged::default();
    let mut rest = all.into_iter().peekable();
    while let Some(first) = rest.next() {
        let mut alike = vec![first];
        while let Some(next) = rest.next_if(|next| next.source.root() == alike[0].source.root()) {
            alike.push(next);
        }
        if alike.len() > 1 {
            alike.sort_by_cached_key(|held| {
                let known = (places.known)(dirs[held.index].path(), held.source.root());
                Reverse(freshness(&held.source, as_of).max(known.filter(|_| !as_of.is_past())))
            });
        }
        let mut alike = alike.into_iter();
        merged.chosen.extend(alike.next());
        merged.others.extend(alike);
    }
    Ok(merged)
}

/// The time up to which a source's answer is current, according to the source
/// itself; `None` if it has no readable snapshot. Then another source answers,
/// if there is one.
fn freshness(source: &Source, as_of: AsOf) -> Option<Timestamp> {
    if as_of.is_past() {
        let snapshots = source.snapshots().ok()?;
        return as_of.choose(&snapshots).map(|info| info.started);
    }
    let snapshot = source.now().ok()??;
    let live = snapshot.live().map(|live| live.as_of);
    Some(
        live.unwrap_or(snapshot.info.started)
            .max(snapshot.info.started),
    )
}
