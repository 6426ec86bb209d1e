//! What the index shows. The calling user opens the index anew, so that the kernel decides which
//! parts of it they see.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use trawl_model::FileType;
use trawl_model::column::{Column, ColumnSet};
use trawl_model::guard::Credentials;
use trawl_model::rows::Row;
use trawl_query::{AttributeRequest, Index, Links, Listing, Located, QueryError, Request};

use super::facts::{Entries, Facts};

const COMPARED: ColumnSet = ColumnSet::of(&[
    Column::Name,
    Column::Ino,
    Column::Mode,
    Column::Nlink,
    Column::Uid,
    Column::Gid,
    Column::Size,
    Column::Mtime,
    Column::MtimeNs,
    Column::Ctime,
    Column::CtimeNs,
    Column::LinkTarget,
]);

/// What the index shows of a directory whose path is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// The directory's entries.
    Listing(Entries),
    /// Nothing; the live file system must be asked instead.
    Live,
    /// Nothing.
    Nothing,
}

/// An index as one user reads it.
pub(super) struct Reading<'a> {
    index: Index,
    cancel: &'a AtomicBool,
}

impl<'a> Reading<'a> {
    /// Opens the index.
    pub(super) fn open(
        dir: &Path,
        who: Credentials,
        cancel: &'a AtomicBool,
    ) -> Result<Reading<'a>, QueryError> {
        let index = Index::open(dir, who)?;
        Ok(Reading { index, cancel })
    }

    /// Returns what the index shows of a directory.
    pub(super) fn list(&self, dir: &[u8]) -> Result<Shown, QueryError> {
        let start = match self.index.locate(dir)? {
            Located::Found(start) if start.is_dir => start,
            Located::Hidden { .. } => return Ok(Shown::Live),
            _ => return Ok(Shown::Nothing),
        };
        let request = Request {
            columns: COMPARED,
            max_depth: Some(1),
            cancel: Some(self.cancel),
            ..Request::default()
        };
        let mut shown: Option<Entries> = None;
        self.index.walk(
            &start,
            &request,
            |listing, out: &mut Vec<Entries>| {
                if listing.dir.path == dir {
                    out.push(rows(listing).map(|row| entry(&row)).collect());
                }
            },
            |listings| {
                for entries in listings {
                    shown.get_or_insert_default().extend(entries);
                }
                ControlFlow::Continue(())
            },
        )?;
        let Some(mut shown) = shown else {
            return Ok(Shown::Nothing);
        };
        let request = AttributeRequest {
            max_depth: Some(1),
            links: Links::LikeOthers,
            cancel: Some(self.cancel),
        };
        self.index.attributes_below(&start, &request, |found| {
            let (_, name) = trawl_model::path::split(&found.path).unwrap_or_default();
            if let Some(facts) = shown.get_mut(name) {
                let pairs = found.attributes.into_iter();
                facts.attributes = pairs.map(|pair| (pair.name, pair.value)).collect();
            }
            ControlFlow::Continue(())
        })?;
        Ok(Shown::Listing(shown))
    }

    /// Walks from `root` listing by listing. `work` gets each listing: the path of a directory and
    /// the rows of its entries.
    pub(super) fn walk<O: Default + Send>(
        &self,
        root: &[u8],
        columns: ColumnSet,
        work: impl Fn(&Listing<'_>, &mut O) + Sync,
        mut emit: impl FnMut(O),
    ) -> Result<(), QueryError> {
        let Located::Found(start) = self.index.locate(root)? else {
            return Ok(());
        };
        let request = Request {
            columns,
            cancel: Some(self.cancel),
            ..Request::default()
        };
        self.index.walk(&start, &request, work, |out| {
            emit(out);
            ControlFlow::Continue(())
        })
    }

    /// Returns those of the directories that a walk from `root` lists.
    pub(super) fn comes_to(
        &self,
        root: &[u8],
        wanted: &HashSet<&[u8]>,
    ) -> Result<HashSet<Vec<u8>>, QueryError> {
        let mut found = HashSet::new();
        self.walk(
            root,
            ColumnSet::EMPTY,
            |listing, out: &mut Vec<Vec<u8>>| {
                if wanted.contains(listing.dir.path) {
                    out.push(listing.dir.path.to_vec());
                }
            },
            |paths| found.extend(paths),
        )?;
        Ok(found)
    }

    /// Returns the facts of one entry, with its access ACL among the attributes.
    pub(super) fn facts(&self, path: &[u8]) -> Result<Option<Facts>, QueryError> {
        let Located::Found(start) = self.index.locate(path)? else {
            return Ok(None);
        };
        let row = start.own_row();
        let mut facts = Facts::of_row(&row);
        if !row.acl().is_empty() {
            let acl = Some(row.acl().to_vec());
            facts
                .attributes
                .insert(trawl_query::ACL_ACCESS.to_vec(), acl);
        }
        Ok(Some(facts))
    }
}

/// Returns the rows of a listing.
pub(super) fn rows<'l>(listing: &'l Listing<'l>) -> impl Iterator<Item = Row<'l>> {
    let (batch, dir) = (listing.batch, listing.dir.path);
    listing.range.clone().map(move |at| Row { batch, at, dir })
}

/// Returns the directories of a listing.
pub(super) fn directories<'l>(listing: &'l Listing<'l>) -> impl Iterator<Item = Row<'l>> {
    rows(listing).filter(|row| row.file_type() == FileType::Directory)
}

fn entry(row: &Row<'_>) -> (Vec<u8>, Facts) {
    (row.name().to_vec(), Facts::of_row(row))
}
