//! Feeds files from the rows of an index that is up to date, instead of a walk: a daemon's updates
//! look only at files that are new or changed.
//!
//! A row may be older than the file. That does no harm: a file is only read into a pack if it is
//! what the row says.

use std::collections::HashMap;
use std::ops::ControlFlow;

use trawl_format::{IndexDir, IndexError};
use trawl_model::column::{Column, ColumnSet};
use trawl_model::guard::Credentials;
use trawl_model::rows::Row;
use trawl_model::sink::SourceRoot;
use trawl_model::{Acl, DirAccess, DirBatch, DirId, FileType, Gid, Sink, Uid, path};
use trawl_query::{Index, Listing, Located, QueryError, Request, Start};
use trawl_scan::{Parts, ScanError, WalkOptions};

use crate::error::{IndexerError, Result};
use crate::options::Control;

/// A directory whose subtree is being fed.
struct Level {
    /// Length of its path, with which the path of the current directory begins: paths of their own would
    /// take memory that grows with the square of the depth.
    path_bytes: usize,
    id: DirId,
    /// Permissions of the directories in it, by name.
    below: HashMap<Vec<u8>, DirAccess>,
}

/// The directories from the root to the current one.
struct Levels {
    all: Vec<Level>,
    /// Path of the current directory.
    path: Vec<u8>,
    root: DirAccess,
    next: u64,
}

/// Feeds all rows of a source to a sink, in depth-first order.
pub(super) fn feed<S: Sink<Error = IndexError>>(
    (index, root): (&IndexDir, &[u8]),
    options: &WalkOptions<'_>,
    sink: &mut S,
    control: Control<'_>,
) -> Result<()> {
    sink.root(root_of(root, options)?)?;
    let index = Index::open(index.dir().path(), who())?;
    let Located::Found(start) = index.locate(root)? else {
        return Err(IndexerError::NotIndexed {
            path: root.to_vec(),
        });
    };
    let mut levels = Levels {
        all: Vec::new(),
        path: Vec::new(),
        root: access_of(&start.own_row()),
        next: 0,
    };
    let fed = walk(&start, control, |batches| {
        let mut batches = batches.into_iter();
        batches.try_for_each(|batch| levels.feed(batch, sink))
    })?;
    fed?;
    levels.leave(0, sink)?;
    Ok(())
}

/// Calls `take` with the listings in order, until it fails.
fn walk(
    start: &Start,
    control: Control<'_>,
    mut take: impl FnMut(Vec<DirBatch>) -> trawl_format::Result<()>,
) -> Result<trawl_format::Result<()>> {
    let request = Request {
        columns: columns(),
        threads: std::num::NonZeroUsize::new(1),
        cancel: Some(control.cancel),
        ..Request::default()
    };
    let mut fed = Ok(());
    let work = |listing: &Listing<'_>, out: &mut Vec<DirBatch>| out.push(batch_of(listing));
    let walked = start.walk(&request, work, |batches| {
        fed = take(batches);
        match fed.is_ok() {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    match walked {
        Err(QueryError::Cancelled) => Err(IndexerError::Interrupted),
        walked => Ok(walked.map(|()| fed)?),
    }
}

impl Levels {
    fn feed<S: Sink<Error = IndexError>>(
        &mut self,
        mut batch: DirBatch,
        sink: &mut S,
    ) -> trawl_format::Result<()> {
        // The current directory of before, and this one, have as much in common.
        let same = (self.path.iter().zip(&batch.path)).take_while(|(before, now)| before == now);
        let same = same.count();
        let is_around = |level: &&Level| {
            let next = batch.path.get(level.path_bytes);
            level.path_bytes <= same && matches!(next, None | Some(b'/'))
        };
        let depth = self.all.iter().take_while(is_around).count();
        self.leave(depth, sink)?;
        let is_more = (self.all.last()).is_some_and(|level| level.path_bytes == batch.path.len());
        if is_more {
            batch.fragment = 1;
            batch.dir = self.all.last().map_or(DirId(0), |level| level.id);
        } else {
            batch.dir = DirId(self.next);
            self.next += 1;
            batch.parent = self.all.last().map(|level| level.id);
            batch.access = self.access(&batch.path);
            self.path.clone_from(&batch.path);
            self.all.push(Level {
                path_bytes: batch.path.len(),
                id: batch.dir,
                below: HashMap::new(),
            });
        }
        self.note(&batch);
        sink.batch(batch)
    }

    /// Takes the permissions of a directory from its row. One without a row is closed.
    fn access(&mut self, dir: &[u8]) -> DirAccess {
        let Some(above) = self.all.last_mut() else {
            return self.root.clone();
        };
        let name = path::split(dir).map_or(dir, |(_, name)| name);
        // `above` contains the directory, so a parent of the same length is that one.
        let is_in = path::split(dir).is_some_and(|(parent, _)| parent.len() == above.path_bytes);
        let known = is_in.then(|| above.below.remove(name)).flatten();
        known.unwrap_or_default()
    }

    /// Notes the permissions of the directories in a batch.
    fn note(&mut self, batch: &DirBatch) {
        let Some(level) = self.all.last_mut() else {
            return;
        };
        for entry in &batch.entries {
            if entry.meta.file_type() == FileType::Directory {
                let access = DirAccess {
                    mode: entry.meta.mode,
                    uid: entry.meta.uid,
                    gid: entry.meta.gid,
                    acl: Acl::parse(batch.bytes(entry.acl)),
                };
                level.below.insert(batch.bytes(entry.name).to_vec(), access);
            }
        }
    }

    /// Ends the subtrees that lie deeper than this.
    fn leave<S: Sink<Error = IndexError>>(
        &mut self,
        depth: usize,
        sink: &mut S,
    ) -> trawl_format::Result<()> {
        while self.all.len() > depth
            && let Some(level) = self.all.pop()
        {
            sink.subtree_done(level.id)?;
        }
        Ok(())
    }
}

fn batch_of(listing: &Listing<'_>) -> DirBatch {
    let (batch, dir) = (listing.batch, listing.dir.path);
    let mut made = DirBatch {
        path: dir.to_vec(),
        ..DirBatch::default()
    };
    for at in listing.range.clone() {
        Row { batch, at, dir }.push_to(&mut made);
    }
    made
}

fn access_of(row: &Row<'_>) -> DirAccess {
    DirAccess {
        mode: row.mode(),
        uid: row.uid(),
        gid: row.gid(),
        acl: Acl::parse(row.acl()),
    }
}

/// Returns the root as it is now, with the permissions of the directories above it.
fn root_of(root: &[u8], options: &WalkOptions<'_>) -> Result<SourceRoot> {
    let opened = Parts::open::<IndexError>(path::display(root), options);
    let (_, root) = opened.map_err(|error| match error {
        ScanError::Cancelled => IndexerError::Interrupted,
        other => IndexerError::Scan(other),
    })?;
    Ok(root)
}

/// The process's own ids, which only explain what cannot be seen.
fn who() -> Credentials {
    Credentials {
        uid: Uid(trawl_sys::identity::effective_uid()),
        groups: vec![Gid(trawl_sys::identity::effective_gid())],
    }
}

fn columns() -> ColumnSet {
    ColumnSet::of(&[
        Column::Name,
        Column::Mode,
        Column::Uid,
        Column::Gid,
        Column::Acl,
        Column::Dev,
        Column::Ino,
        Column::Size,
        Column::Mtime,
        Column::MtimeNs,
        Column::Ctime,
        Column::CtimeNs,
    ])
}
