//! Old snapshots stay guarded by the stricter of then and now; and a new one
//! shares what an old one holds already ([`SegmentReader`]).
//!
//! When a new snapshot of a source is written and not yet current, every
//! older one that is kept is held against it: what lies behind a guard that
//! does not ask for all that the new snapshot's asks for moves behind both
//! (`docs/history.md` says what counts as *now* for what is gone). The older
//! snapshot is replaced as a whole, by one rename, before the new one becomes
//! current.
//!
//! Invariants:
//!
//! - whoever can read something of an old snapshot afterwards could before;
//! - memory is bounded by batches of rows, by the runs of rows that move, and by the paths of
//!   directories that are elsewhere now, where fewer reach them;
//! - nothing is read where digests say that all directories are guarded as
//!   they were and nothing new lies behind a guard, and no more than which
//!   directories there are and the names of attributes where nothing has to
//!   move.
//!
//! Read first: [`tighten`]; `now` finds what guards a path in the new
//! snapshot, `moved` which directories are elsewhere in it, `plan` what has to
//! move, `apply` moves it.
#![forbid(unsafe_code)]

mod apply;
mod error;
mod guards;
mod moved;
mod now;
mod plan;
mod read_back;

pub use error::{HistoryError, Result};
pub use read_back::SegmentReader;

use std::sync::Arc;
use trawl_index::{Prepared, Readers, Snapshot, SnapshotId};
use trawl_model::guard::Credentials;
use trawl_query::View;

/// What was done to older snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tightened {
    /// Those of which something moved.
    pub snapshots: Vec<SnapshotId>,
    /// Directories whose rows moved, over all snapshots.
    pub directories: u64,
    /// Attribute values, issues and rows that stand apart which moved.
    pub others: u64,
    /// Snapshots that are damaged, so that they are as they were: they must
    /// not be kept.
    pub damaged: Vec<SnapshotId>,
}

/// Makes the older snapshots of a source as strict as `prepared`, which is
/// about to become current.
///
/// # Errors
/// If a file cannot be read or written. Snapshots that come before the
/// failure stay tightened, which is right whatever happens to the new one.
pub fn tighten(prepared: &Prepared) -> Result<Tightened> {
    let source = prepared.source();
    let mut done = Tightened::default();
    // An index for its owner alone shows nothing to anyone else.
    if source.readers() == Readers::Owner {
        return Ok(done);
    }
    let older = source.snapshots()?;
    if older.is_empty() {
        return Ok(done);
    }
    let mut now = None;
    // Then what there is has been held against these guards before.
    let is_same = match older.last() {
        Some(current) => is_placed_as(prepared, current.id, &mut now)?,
        None => true,
    };
    // The current one comes last: if it is guarded as the new one is, nothing
    // is left to do for those before it, also where a run was cut short.
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
            .map_err(HistoryError::from)
            .and_then(|snapshot| tighten_one(prepared, now, snapshot, &mut done));
        match tightened {
            Ok(()) => {}
            Err(error) if error.is_damage() => done.damaged.push(info.id),
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

/// True if the directories of the snapshot `id` are the same in the new one, and guarded alike.
fn is_placed_as(prepared: &Prepared, id: SnapshotId, now: &mut Option<now::Now>) -> Result<bool> {
    if !prepared.is_placed_as(id) {
        return Ok(false);
    }
    // Directories may have taken each other's paths.
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

/// A snapshot as its owner reads it.
fn view_of(snapshot: Snapshot) -> Arc<View> {
    let who = Credentials::default();
    Arc::new(View::new(snapshot, Arc::new(who)))
}
