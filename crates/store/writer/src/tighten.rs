//! Makes older snapshots as strict as a new one, so that they stay behind the stricter of the old
//! and the new guards.
//!
//! When a new snapshot of a source is written and not yet current, every older snapshot that is
//! kept is compared with it. Content behind a guard that is weaker than the new snapshot's guard
//! moves behind both guards (`docs/history.md` defines the new guard of content that no longer
//! exists). An older snapshot is replaced as a whole, by one rename, before the new one becomes
//! current.
//!
//! Invariants:
//!
//! - Nobody can read more of an old snapshot afterwards than before.
//! - Memory is bounded by batches of rows, by the runs of rows that move, and by the paths of
//!   directories that have moved to a place that fewer users reach.
//! - If digests show that all directories are guarded as before and no guarded shard has new rows,
//!   nothing is read. If nothing has to move, only the directories and the names of attributes are
//!   read.
//!
//! Read first: [`tighten`]. `now` finds the guard of a path in the new snapshot, `moved` the
//! directories that have another path in it, `plan` the rows that have to move; `apply` moves them.

mod apply;
mod guards;
mod moved;
mod now;
mod plan;

use crate::error::{Result, WriterError};
use crate::writer::Prepared;
use std::sync::Arc;
use trawl_format::{Readers, Snapshot, SnapshotId};
use trawl_model::guard::Credentials;
use trawl_query::View;

/// Result of tightening older snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tightened {
    /// Snapshots with content that moved.
    pub snapshots: Vec<SnapshotId>,
    /// Number of directories whose rows moved, over all snapshots.
    pub directories: u64,
    /// Number of attribute values, issues and own rows that moved.
    pub others: u64,
    /// Snapshots that are damaged and therefore unchanged: they must not be kept.
    pub damaged: Vec<SnapshotId>,
}

/// Makes the older snapshots of a source as strict as `prepared`, which is about to become current.
///
/// # Errors
/// If a file cannot be read or written. Snapshots processed before the failure stay tightened,
/// which is right whatever happens to the new one.
pub(crate) fn tighten(prepared: &Prepared) -> Result<Tightened> {
    let source = prepared.source();
    let mut done = Tightened::default();
    // An index for its owner alone shows nothing to other users.
    if source.readers() == Readers::Owner {
        return Ok(done);
    }
    let older = source.snapshots()?;
    if older.is_empty() {
        return Ok(done);
    }
    let mut now = None;
    // If the current snapshot is guarded like the new one, the older ones have been compared with
    // these guards before.
    let is_same = match older.last() {
        Some(current) => is_placed_as(prepared, current.id, &mut now)?,
        None => true,
    };
    // The current snapshot comes last: if it is guarded like the new one, nothing is left to do for
    // those before it, even if an earlier run was interrupted.
    for info in &older {
        if is_same && !prepared.may_have_values(info.id) {
            continue;
        }
        let now = match &mut now {
            Some(now) => now,
            None => now.insert(now::Now::of(prepared)?),
        };
        let tightened = prepared
            .older(info.id)
            .map_err(WriterError::from)
            .and_then(|snapshot| tighten_one(prepared, now, snapshot, &mut done));
        match tightened {
            Ok(()) => {}
            Err(error) if error.is_damage() => done.damaged.push(info.id),
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// True if the snapshot `id` has the same directories as the new one, behind the same guards.
fn is_placed_as(prepared: &Prepared, id: SnapshotId, now: &mut Option<now::Now>) -> Result<bool> {
    if !prepared.is_placed_as(id) {
        return Ok(false);
    }
    // Directories may have exchanged their paths.
    let Ok(before) = prepared.older(id) else {
        return Ok(false);
    };
    let now = match now {
        Some(now) => now,
        None => now.insert(now::Now::of(prepared)?),
    };
    Ok(!moved::may_have(&view_of(before), now))
}

fn tighten_one(
    prepared: &Prepared,
    now: &mut now::Now,
    snapshot: Snapshot,
    done: &mut Tightened,
) -> Result<()> {
    let id = snapshot.info.id;
    let then = view_of(snapshot.clone());
    let mut plan = plan::make(&then, &snapshot, now)?;
    if plan.is_empty() {
        return Ok(());
    }
    apply::apply(prepared.revise(&snapshot)?, &then, now, &mut plan)?;
    done.snapshots.push(id);
    done.directories += plan.directories;
    done.others += plan.others;
    Ok(())
}

/// Returns a view of a snapshot as its owner reads it.
pub(crate) fn view_of(snapshot: Snapshot) -> Arc<View> {
    let who = Credentials::default();
    Arc::new(View::new(snapshot, Arc::new(who)))
}
