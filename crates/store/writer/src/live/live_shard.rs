//! Holds the changes of a shard beside the snapshot while a writer runs.

use std::ops::Range;
use trawl_format::id::SegmentId;
use trawl_format::live::ranges;
use trawl_format::live::{Dead, DeadRows, Overlay};
use trawl_format::schema::Table;

/// A shard that has an overlay or will get one.
#[derive(Clone)]
pub(super) struct LiveShard {
    pub(super) overlay: Overlay,
}

impl LiveShard {
    /// Marks rows of a segment's table as dead.
    pub(super) fn kill(&mut self, segment: SegmentId, table: Table, rows: Range<u64>) {
        let dead = &mut self.overlay.dead;
        let at = match dead.iter().position(|dead| dead.segment == segment) {
            Some(at) => at,
            None => {
                let rows = Dead::default();
                dead.push(DeadRows { segment, rows });
                dead.len() - 1
            }
        };
        if let Some(known) = dead.get_mut(at).and_then(|dead| dead.rows.of_mut(table)) {
            ranges::add(known, rows);
        }
    }

    /// Removes segments without valid rows from the overlay, and returns the names of their files.
    pub(super) fn drop_dead(&mut self) -> Vec<String> {
        let Overlay { segments, dead, .. } = &mut self.overlay;
        let mut names = Vec::new();
        segments.retain(|segment| {
            let rows = dead.iter().find(|dead| dead.segment == segment.id);
            if !rows.is_some_and(|dead| dead.rows.is_all_of(segment)) {
                return true;
            }
            names.extend(segment.named_files().map(|(name, _, _)| name));
            dead.retain(|dead| dead.segment != segment.id);
            false
        });
        names
    }
}
