//! Finds changes through the times of each file: every file in the index is asked for them, many
//! per call where the kernel has io_uring, otherwise one by one on each thread.

use std::ffi::{CStr, CString};
use std::sync::Mutex;

use trawl_model::column::ColumnSet;
use trawl_model::rows::Row;
use trawl_model::sync::lock;
use trawl_query::{Batch, Start};
use trawl_sys::ring::Ring;
use trawl_sys::stat::stat_at;

use super::{COMPARED, CatchUpResult, Judge, Method, Piece, Search, Suspect, Top, Unfit};

struct Times<'a> {
    search: &'a Search<'a>,
    top: &'a Top,
    /// Rings that no thread uses at the moment; `None` where rings are not available.
    rings: Option<Mutex<Vec<Ring>>>,
}

/// Finds rows whose files have other times or do not exist.
pub(super) fn find(
    search: &Search<'_>,
    start: &Start,
    top: &Top,
) -> std::result::Result<CatchUpResult, Unfit> {
    let mut found = CatchUpResult::by(Method::Times);
    let first = Ring::new().ok();
    let judge = Times {
        search,
        top,
        rings: first.map(|ring| Mutex::new(vec![ring])),
    };
    search.judge(start, &judge, &mut found)?;
    Ok(found)
}

impl Judge for Times<'_> {
    fn columns(&self) -> ColumnSet {
        COMPARED
    }

    fn judge(&self, batch: &mut Batch<'_>, into: &mut Piece) -> trawl_query::Result<()> {
        let Some(mut ring) = self.ring() else {
            return batch.for_each_listing(|listing| {
                for at in listing.range.clone() {
                    let (batch, dir) = (listing.batch, listing.dir.path);
                    self.judge_row(&Row { batch, at, dir }, into);
                }
            });
        };
        // All names are collected first: they must not move while the kernel reads them.
        let mut names: Vec<CString> = Vec::new();
        batch.for_each_listing(|listing| {
            for at in listing.range.clone() {
                let name = listing.batch.name.get(at);
                let path = self.top.below(listing.dir.path, name);
                names.push(path.unwrap_or_default());
            }
        })?;
        let asked: Vec<&CStr> = names.iter().map(|name| &name[..]).collect();
        let mut now = vec![None; asked.len()];
        let looked = ring.stat_all(&self.top.fd, &asked, |at, found| {
            if let (Some(slot), Ok(found)) = (now.get_mut(at), found) {
                *slot = Some(found);
            }
        });
        let mut next = now.into_iter();
        batch.for_each_listing(|listing| {
            for at in listing.range.clone() {
                let (batch, dir) = (listing.batch, listing.dir.path);
                let row = Row { batch, at, dir };
                if looked.is_err() {
                    self.judge_row(&row, into);
                    continue;
                }
                into.looked_at += 1;
                let now = next.next().flatten();
                if now.is_none_or(|now| self.search.is_changed(&row, &now)) {
                    into.suspects.push(Suspect::of(&row));
                }
            }
        })?;
        if looked.is_ok() {
            self.give_back(ring);
        }
        Ok(())
    }
}

impl Times<'_> {
    fn judge_row(&self, row: &Row<'_>, into: &mut Piece) {
        into.looked_at += 1;
        let path = self.top.below(row.dir, row.name());
        let now = path.and_then(|path| stat_at(&self.top.fd, &path).ok());
        if now.is_none_or(|now| self.search.is_changed(row, &now)) {
            into.suspects.push(Suspect::of(row));
        }
    }

    fn ring(&self) -> Option<Ring> {
        let rings = self.rings.as_ref()?;
        let kept = lock(rings).pop();
        kept.or_else(|| Ring::new().ok())
    }

    fn give_back(&self, ring: Ring) {
        if let Some(rings) = &self.rings {
            lock(rings).push(ring);
        }
    }
}
