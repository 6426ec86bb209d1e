//! Tells whether a shard still contains directories that some users may
//! traverse but not list. The index keeps a separate directory of name barriers
//! only for these.

use crate::error::Result;
use crate::index::View;
use crate::locate::{Located, Span};
use crate::merge::Merge;
use crate::selection::without;
use crate::walk::Order;
use std::sync::Arc;
use trawl_format::Shard;
use trawl_format::schema::{DirColumn, Table};
use trawl_model::guard::{Bit, Element, Predicate};
use trawl_model::rows::Row;
use trawl_model::{Acl, DirAccess, Gid, Uid, path};

/// Columns read for each directory.
const COLUMNS: [DirColumn; 3] = [DirColumn::OwnMode, DirColumn::OwnUid, DirColumn::OwnGid];

impl View {
    /// True if the shard at `place` (directory names below the source's `data`)
    /// has the listing of a directory that fewer users may list than may
    /// traverse. The users who may list are those that the last predicate of
    /// the shard's guard admits.
    ///
    /// # Errors
    /// If part of the index cannot be read.
    pub fn hides_names(self: &Arc<Self>, place: &[String]) -> Result<bool> {
        let mut spans = Vec::new();
        let mut list = None;
        for (segment, shard, info) in self.segments() {
            if shard.components() != place {
                continue;
            }
            list = last_of(shard)?;
            let rows = u64::from(info.own_row)..info.dirs;
            let live = without(self.dead(segment, Table::Dirs), &rows);
            spans.extend(live.map(|dirs| Span { segment, dirs }));
        }
        match list {
            Some(list) if !spans.is_empty() => self.is_one_hidden(spans, &list),
            _ => Ok(false),
        }
    }

    fn is_one_hidden(self: &Arc<Self>, spans: Vec<Span>, list: &Predicate) -> Result<bool> {
        let mut merge = Merge::new(self, spans, &COLUMNS, Order::Forward)?;
        // A directory below one that only these users may traverse is theirs
        // alone, whatever its own permissions.
        let mut top: Option<Vec<u8>> = None;
        while let Some(run) = merge.next_run()? {
            for row in run.range.clone() {
                let dir = run.chunk.path(row);
                if top.as_ref().is_some_and(|top| path::is_within(dir, top)) {
                    continue;
                }
                let number = |column| run.chunk.number(column, row) as u32;
                let access = self.access_of(dir, [0, 1, 2].map(number))?;
                if Predicate::of(&access, Bit::Search) != *list {
                    return Ok(true);
                }
                top = Some(dir.to_vec());
            }
        }
        Ok(false)
    }

    /// Returns the permissions of the directory at `dir` with this mode, owner
    /// and group.
    fn access_of(self: &Arc<Self>, dir: &[u8], [mode, uid, gid]: [u32; 3]) -> Result<DirAccess> {
        let mut access = DirAccess {
            mode,
            uid: Uid(uid),
            gid: Gid(gid),
            acl: None,
        };
        // With an access ACL, the mode's group bits are its mask; if they are
        // empty, the kernel does not consult the ACL.
        if mode & 0o070 != 0
            && let Located::Found(start) = self.locate(dir)?
        {
            let row = Row {
                batch: &start.row,
                at: 0,
                dir: b"",
            };
            access.acl = Acl::parse(row.acl());
        }
        Ok(access)
    }
}

/// Returns the predicate at the end of a shard's guard, if there is one.
fn last_of(shard: &Shard) -> Result<Option<Predicate>> {
    let guard = shard.manifest.guard()?;
    Ok(match guard.0.last() {
        Some(Element::Predicate(who)) => Some(who.clone()),
        _ => None,
    })
}
