//! Directories and their entries, read from the index: one directory, or everything below a start,
//! in the index's order or in any other.

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use trawl_model::rows::Row;
use trawl_query::{Index, Located, QueryError, Request, Start};
use trawl_report::listing::Item;
use trawl_session::Session;
use trawl_session::spelling::{join_printed, printed_path};

use super::{COLUMNS, Ignored};

/// Maximum number of subtrees whose listings are kept, in case they are visited again.
const SUBTREES_KEPT: usize = 4;
/// Maximum number of entries in a subtree that is read at once if directories are not wanted in the
/// index's order: some ten megabytes.
const AT_ONCE_ENTRIES: u64 = 50_000;

/// The listing of a directory.
#[derive(Clone, Debug)]
pub struct Directory {
    /// Name as it is printed, spelled from the argument.
    pub name: Vec<u8>,
    /// Path in the index.
    pub path: Vec<u8>,
    /// Entries, except those that are left out.
    pub items: Vec<Item>,
}

/// Depth of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Only the directory.
    Alone,
    /// The directory and everything below it.
    Below,
}

/// Whether a listing was found: a directory that could not be opened when it was indexed has no
/// listing; an empty directory has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// There was a listing.
    Listed,
    /// There was no listing.
    Unread,
}

/// Reader of listings.
pub struct Reader<'a> {
    index: Arc<Index>,
    ignored: Ignored,
    cancel: Option<&'a AtomicBool>,
}

impl<'a> Reader<'a> {
    /// Returns a reader that leaves out these names.
    pub fn new(session: &Session<'a>, ignored: Ignored) -> Reader<'a> {
        Reader {
            index: session.share_index(),
            ignored,
            cancel: session.cancel(),
        }
    }

    /// Visits the listing of `start`, printed as `name`, and with [`Reach::Below`] of all
    /// directories below it in the index's order: depth first, by bytes.
    ///
    /// # Errors
    /// If the index cannot be read, and the visitor's, which end the reading.
    pub fn listings<E: From<QueryError>>(
        &self,
        start: &Start,
        name: &[u8],
        reach: Reach,
        mut visit: impl FnMut(Directory) -> Result<(), E>,
    ) -> Result<Found, E> {
        let request = Request {
            columns: COLUMNS,
            max_depth: (reach == Reach::Alone).then_some(1),
            // Items are large and printing takes most of the time, so reading ahead gains nothing.
            threads: Some(NonZeroUsize::MIN),
            cancel: self.cancel,
            ..Request::default()
        };
        let mut open: Option<Directory> = None;
        let mut failed: Option<E> = None;
        self.index.walk(
            start,
            &request,
            |listing, found: &mut Vec<Directory>| {
                if self.ignored.has_between(&start.path, listing.dir.path) {
                    return;
                }
                found.push(Directory {
                    name: printed_path(name, &start.path, listing.dir.path),
                    path: listing.dir.path.to_vec(),
                    items: self.items(listing),
                });
            },
            |found| {
                for directory in found {
                    // A large directory comes in several listings.
                    if let Some(known) = open.as_mut().filter(|open| open.path == directory.path) {
                        known.items.extend(directory.items);
                    } else if let Some(done) = open.replace(directory)
                        && let Err(failure) = visit(done)
                    {
                        failed = Some(failure);
                        return ControlFlow::Break(());
                    }
                }
                ControlFlow::Continue(())
            },
        )?;
        match (failed, open) {
            (Some(failure), _) => Err(failure),
            (None, None) => Ok(Found::Unread),
            (None, Some(last)) => visit(last).map(|()| Found::Listed),
        }
    }

    fn items(&self, listing: &trawl_query::Listing<'_>) -> Vec<Item> {
        let rows = listing.range.clone().map(|at| Row {
            batch: listing.batch,
            at,
            dir: listing.dir.path,
        });
        let shown = rows.filter(|row| !self.ignored.has(row.name()));
        shown.map(|row| Item::from_row(&row, row.name())).collect()
    }

    /// Visits the listings of `start` and of all directories below it. The subdirectories of a
    /// directory are visited in the order in which `visit` returns their names.
    ///
    /// Small subtrees are read at once, large ones directory by directory, so that memory does not
    /// grow with the tree.
    ///
    /// # Errors
    /// If the index cannot be read, and the visitor's, which end the reading.
    pub fn in_order<E: From<QueryError>>(
        &self,
        start: &Start,
        name: &[u8],
        mut visit: impl FnMut(Directory) -> Result<Vec<Vec<u8>>, E>,
    ) -> Result<Found, E> {
        let mut found = Found::Unread;
        let mut ahead = Ahead::default();
        let mut pending = vec![(name.to_vec(), start.path.clone())];
        while let Some((name, path)) = pending.pop() {
            if !ahead.covers(&path) {
                let Located::Found(start) = self.index.locate(&path)? else {
                    continue;
                };
                ahead = self.read_ahead(&start, &name)?;
            }
            let Some(directory) = ahead.listings.remove(&path) else {
                continue;
            };
            found = Found::Listed;
            for child in visit(directory)?.into_iter().rev() {
                let below = trawl_model::path::join(&path, &child);
                pending.push((join_printed(&name, &child), below));
            }
        }
        Ok(found)
    }

    /// Returns the listing of a directory that may be visited again, as `ls -RL` does. `known` has
    /// what was read before; if it does not cover the directory, `locate` finds it.
    ///
    /// Returns `None` if there is no directory or no listing of it.
    ///
    /// # Errors
    /// If the index cannot be read, and those of `locate`.
    pub fn again<E: From<QueryError>>(
        &self,
        known: &mut KnownListings,
        path: &[u8],
        name: &[u8],
        locate: impl FnOnce() -> Result<Option<Start>, E>,
    ) -> Result<Option<Directory>, E> {
        if let Some(directory) = known.get(path) {
            let name = name.to_vec();
            return Ok(Some(Directory { name, ..directory }));
        }
        let Some(start) = locate()? else {
            return Ok(None);
        };
        if known.covers(path) {
            let mut listing = None;
            self.listings(&start, name, Reach::Alone, |directory| {
                listing = Some(directory);
                Ok::<(), QueryError>(())
            })?;
            return Ok(listing);
        }
        known.add(self.read_ahead(&start, name)?);
        Ok(known.get(path))
    }

    /// Reads a directory, and everything below it if that is small.
    fn read_ahead(&self, start: &Start, name: &[u8]) -> Result<Ahead, QueryError> {
        let mut ahead = Ahead::default();
        let entries = self.index.totals(start)?.sums.entries();
        let reach = if entries <= AT_ONCE_ENTRIES {
            ahead.root = Some(start.path.clone());
            Reach::Below
        } else {
            Reach::Alone
        };
        self.listings(start, name, reach, |directory| {
            ahead.listings.insert(directory.path.clone(), directory);
            Ok::<(), QueryError>(())
        })?;
        Ok(ahead)
    }
}

/// Listings that were read before their turn.
#[derive(Default)]
struct Ahead {
    /// Root of the subtree that was read completely; `None` if there is none.
    root: Option<Vec<u8>>,
    listings: HashMap<Vec<u8>, Directory>,
}

impl Ahead {
    fn covers(&self, path: &[u8]) -> bool {
        let root = self.root.as_deref();
        root.is_some_and(|root| trawl_model::path::is_within(path, root))
    }
}

/// Listings of the subtrees that were read last: at most four, each of at most 50,000 entries or a
/// single directory.
#[derive(Default)]
pub struct KnownListings {
    subtrees: VecDeque<Ahead>,
}

impl KnownListings {
    fn covers(&self, path: &[u8]) -> bool {
        self.subtrees.iter().any(|subtree| subtree.covers(path))
    }

    fn get(&self, path: &[u8]) -> Option<Directory> {
        let mut known = self.subtrees.iter();
        known
            .find_map(|subtree| subtree.listings.get(path))
            .cloned()
    }

    fn add(&mut self, subtree: Ahead) {
        if self.subtrees.len() >= SUBTREES_KEPT {
            self.subtrees.pop_back();
        }
        self.subtrees.push_front(subtree);
    }
}
