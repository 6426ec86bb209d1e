//! Moves rows as planned: reads the affected segments in full, and puts their rows where they
//! belong now.

use crate::revision::{Revision, Stored};
use trawl_format::{ListingKind, SegmentInfo, Shard, Table};
use trawl_model::{DirBatch, Entry, FileType, path};
use trawl_query::View;
use trawl_query::stored::RowAddress;

use super::now::Now;
use super::plan::{Plan, SegmentMoves};
use crate::error::{Result, WriterError};

/// Number of issues read at a time.
const ISSUES_AT_A_TIME: usize = 4096;

/// Rewrites the snapshot `then` according to `plan`.
pub(crate) fn apply(
    mut revision: Revision<'_>,
    then: &View,
    now: &mut Now,
    plan: &mut Plan,
) -> Result<()> {
    let segments = std::mem::take(&mut plan.segments);
    for (segment, moves) in &segments {
        let Some((number, shard, info)) = then.stored_segment(*segment) else {
            continue;
        };
        revision.take_segment(shard, info);
        let mut mover = Mover {
            revision: &mut revision,
            then,
            now,
            plan,
            segment: *segment,
            number,
            shard,
            info,
            moves,
        };
        mover.listings()?;
        mover.values()?;
        mover.issues()?;
    }
    revision.finish()?;
    Ok(())
}

struct Mover<'m, 'r> {
    revision: &'m mut Revision<'r>,
    then: &'m View,
    now: &'m mut Now,
    plan: &'m mut Plan,
    segment: usize,
    /// Index of the shard among those of `then`.
    number: usize,
    shard: &'m Shard,
    info: &'m SegmentInfo,
    moves: &'m SegmentMoves,
}

impl Mover<'_, '_> {
    fn listings(&mut self) -> Result<()> {
        let (then, segment, dirs) = (self.then, self.segment, self.info.dirs);
        then.stored_listings::<WriterError>(segment, 0..dirs, |stored, mut batch| {
            let row = stored.row;
            if self.plan.continued.contains(&RowAddress { segment, row }) {
                batch.fragment += 1;
            }
            let target = self.moves.dirs.get(row);
            if target.is_some() && stored.kind == ListingKind::Listed {
                self.copy_own_rows(&batch)?;
            }
            let guard = target.and_then(|target| self.plan.guards.get(target));
            let rows = Stored::Rows(stored.kind, batch);
            Ok(self.revision.put(self.shard, guard, rows)?)
        })
    }

    /// Copies the rows of directories that are behind barriers now to these barriers, for users who
    /// know their names and may not list the containing directory. If that directory was moved and
    /// another has taken its place, the copies also lie behind the guard of its present place.
    fn copy_own_rows(&mut self, batch: &DirBatch) -> Result<()> {
        if !self.now.has_barriers_in(&batch.path) {
            return Ok(());
        }
        for entry in &batch.entries {
            if entry.meta.file_type() != FileType::Directory {
                continue;
            }
            let at = path::join(&batch.path, batch.bytes(entry.name));
            if self.plan.apart.contains(&at) {
                continue;
            }
            if let Some(barrier) = self.now.barrier(&at) {
                let all = self.plan.with_moved(self.now, barrier, &batch.path);
                let [barrier, now] = [barrier, all].map(|at| self.now.guard(at));
                let target = self.plan.guards.copy_target(self.number, &barrier, &now);
                if let Some(guard) = target.and_then(|to| self.plan.guards.get(to)) {
                    let own = Stored::Rows(ListingKind::Barrier, own_row(batch, entry));
                    self.revision.add(guard, own)?;
                }
            }
        }
        Ok(())
    }

    fn values(&mut self) -> Result<()> {
        let then = self.then;
        then.stored_values::<WriterError>(self.segment, |row, value| {
            let target = self.moves.values.get(row);
            let guard = target.and_then(|target| self.plan.guards.get(target));
            let [dir, name, attr, value] = value.map(<[u8]>::to_vec);
            let value = Stored::Value {
                dir,
                name,
                attr,
                value,
            };
            Ok(self.revision.put(self.shard, guard, value)?)
        })
    }

    fn issues(&mut self) -> Result<()> {
        let end = self.info.files.get(&Table::Issues).map_or(0, |f| f.rows);
        for start in (0..end).step_by(ISSUES_AT_A_TIME) {
            let rows = start..end.min(start + ISSUES_AT_A_TIME as u64);
            let issues = self.then.stored_issues(self.segment, rows.clone())?;
            for (row, issue) in rows.zip(issues) {
                let target = self.moves.issues.get(row);
                let guard = target.and_then(|target| self.plan.guards.get(target));
                let issue = Stored::Issue(issue);
                self.revision.put(self.shard, guard, issue)?;
            }
        }
        Ok(())
    }
}

/// Copies one row of a batch to a batch of its own.
fn own_row(batch: &DirBatch, entry: &Entry) -> DirBatch {
    let mut own = DirBatch {
        path: batch.path.clone(),
        ..DirBatch::default()
    };
    let copy = entry.with_spans(|span| own.push_bytes(batch.bytes(span)));
    own.entries.push(copy);
    own
}
