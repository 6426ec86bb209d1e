//! The directories that a question is about: sources of the index, or given directories, each with
//! the directories above it, whose entries may mark it as part of a project.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Arc;

use trawl_model::column::{Column, ColumnSet};
use trawl_model::need::{At, Letters, Literal, Need, Within};
use trawl_model::rows::Row;
use trawl_model::{FileType, Regions, Subtrees, path};
use trawl_names::Matcher;
use trawl_query::{DirRequest, Event, Index, Listing, Located, NameRequest, Request, Start};
use trawl_session::{Depth, Part, Session};

use crate::directory::{Directory, Entry};
use crate::error::GroupsError;
use crate::source::Look;

/// Columns that groups and summaries are computed from.
const COLUMNS: ColumnSet = ColumnSet::of(&[
    Column::Name,
    Column::Mode,
    Column::Size,
    Column::Blocks,
    Column::Mtime,
    Column::MtimeNs,
    Column::Atime,
    Column::AtimeNs,
    Column::Ctime,
    Column::CtimeNs,
]);

/// Columns that groups are computed from.
const NAMES: ColumnSet =
    ColumnSet::of(&[Column::Name, Column::Mode, Column::Mtime, Column::MtimeNs]);

/// What to read of a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sight<'r> {
    pub(crate) columns: ColumnSet,
    /// Other directories are left out; each has those above it in the set.
    pub(crate) regions: Option<&'r Regions>,
}

impl<'r> Sight<'r> {
    /// All directories, with all that summaries need.
    pub(crate) const ALL: Sight<'static> = Sight {
        columns: COLUMNS,
        regions: None,
    };

    /// These directories, with what groups are computed from; sizes and other times are zero.
    pub(crate) fn names(regions: Option<&'r Regions>) -> Sight<'r> {
        Sight {
            columns: NAMES,
            regions,
        }
    }
}

/// How far below a directory a question reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Only its own entries.
    Itself,
    /// Everything below.
    Below,
}

/// A directory to look in.
pub(crate) struct Place {
    start: Start,
    reach: Reach,
    /// Other places within this one, which are visited separately.
    skip: Subtrees,
}

/// Returns the places below these directories, in path order: the directories, and sources of the
/// index that lie within them. The session is told what the answer is about.
pub(crate) fn places(
    session: &mut Session<'_>,
    starts: Vec<Start>,
    reach: Reach,
) -> Result<Vec<Place>, GroupsError> {
    let mut starts = starts;
    if reach == Reach::Below {
        let asked: Vec<Vec<u8>> = starts.iter().map(|start| start.path.clone()).collect();
        let is_asked = |root: &[u8]| asked.iter().any(|dir| path::is_within(root, dir));
        let roots = roots(session)?.into_iter();
        starts.extend(roots.filter(|root| is_asked(&root.path)));
    }
    let places = without_repeats(starts, reach);
    for place in &places {
        let part = Part {
            skip: place.skip.clone(),
            ..Part::whole(match reach {
                Reach::Itself => Depth::Children,
                Reach::Below => Depth::All,
            })
        };
        session.note_part(&place.start, path::display(&place.start.path), &part)?;
    }
    Ok(places)
}

/// Returns the roots of all sources that the user can see.
pub(crate) fn roots(session: &Session<'_>) -> Result<Vec<Start>, GroupsError> {
    let mut roots = Vec::new();
    for source in session.index().sources() {
        if let Located::Found(root) = session.index().locate(source.root())?
            && root.is_dir
        {
            roots.push(*root);
        }
    }
    Ok(roots)
}

/// Removes places that lie in another place of the same snapshot. Every place that is left is
/// skipped by the places around it.
fn without_repeats(mut starts: Vec<Start>, reach: Reach) -> Vec<Place> {
    starts.sort_by(|a, b| path::cmp(&a.path, &b.path));
    let mut kept: Vec<Start> = Vec::new();
    for start in starts {
        let mut around = kept.iter().rev();
        let nearest = around.find(|around| path::is_within(&start.path, &around.path));
        let is_in = nearest.is_some_and(|around| {
            let is_same = Arc::ptr_eq(&around.view, &start.view) && reach == Reach::Below;
            is_same || around.path == start.path
        });
        if !is_in {
            kept.push(start);
        }
    }
    let paths: Vec<Vec<u8>> = kept.iter().map(|start| start.path.clone()).collect();
    let places = kept.into_iter().map(|start| {
        let is_inner = |other: &&Vec<u8>| {
            other.len() > start.path.len() && path::is_within(other, &start.path)
        };
        let skip = paths.iter().filter(is_inner).cloned().collect();
        Place { start, reach, skip }
    });
    places.collect()
}

/// Matches one name.
struct Whole<'n>(&'n [u8]);

impl Matcher for Whole<'_> {
    fn is_match(&self, name: &[u8]) -> bool {
        name == self.0
    }
}

/// A directory whose entries are owned.
#[derive(Debug)]
struct Listed {
    path: Vec<u8>,
    entries: Vec<Entry>,
    is_sorted: bool,
}

impl Listed {
    fn new(listing: &Listing<'_>) -> Listed {
        let entry = |at| {
            let row = Row {
                batch: listing.batch,
                at,
                dir: listing.dir.path,
            };
            Entry {
                name: row.name().to_vec(),
                is_dir: row.file_type() == FileType::Directory,
                size_bytes: row.size(),
                blocks: row.blocks(),
                mtime: row.mtime(),
                atime: row.atime(),
                ctime: row.ctime(),
            }
        };
        Listed {
            path: listing.dir.path.to_vec(),
            entries: listing.range.clone().map(entry).collect(),
            is_sorted: true,
        }
    }

    /// Passes the whole directory on.
    fn visit<E>(
        mut self,
        visit: &mut dyn FnMut(&Directory<'_>) -> Result<ControlFlow<()>, E>,
    ) -> Result<ControlFlow<()>, E> {
        if !self.is_sorted {
            self.entries.sort_by(|a, b| a.name.cmp(&b.name));
        }
        visit(&Directory {
            path: &self.path,
            entries: &self.entries,
        })
    }
}

/// Directories that are visited one by one, although they come in parts: a large directory, or one
/// that several segments have, is whole only when the next one begins.
#[derive(Debug, Default)]
struct Parts(Option<Listed>);

impl Parts {
    /// Adds a part; returns the directory before it, which is whole now.
    fn add(&mut self, listed: Listed) -> Option<Listed> {
        match &mut self.0 {
            Some(known) if known.path == listed.path => {
                known.entries.extend(listed.entries);
                known.is_sorted = false;
                None
            }
            _ => self.0.replace(listed),
        }
    }
}

impl Place {
    /// Visits the directory and, as far as the place reaches, those below, each before its own
    /// subdirectories, with all entries.
    pub(crate) fn visit(
        &self,
        session: &Session<'_>,
        sight: Sight<'_>,
        visit: &mut dyn FnMut(&Directory<'_>) -> Result<ControlFlow<()>, GroupsError>,
    ) -> Result<ControlFlow<()>, GroupsError> {
        let request = Request {
            columns: sight.columns,
            only: sight.regions,
            max_depth: (self.reach == Reach::Itself).then_some(1),
            skip: self.skip.clone(),
            threads: (self.reach == Reach::Itself).then_some(NonZeroUsize::MIN),
            cancel: session.cancel(),
            ..Request::default()
        };
        let mut parts = Parts::default();
        let mut last = Ok(ControlFlow::Continue(()));
        let collect = |listing: &Listing<'_>, found: &mut Vec<Listed>| {
            found.push(Listed::new(listing));
        };
        self.start.walk(&request, collect, |found| {
            for done in found.into_iter().filter_map(|listed| parts.add(listed)) {
                last = done.visit(visit);
                if !matches!(last, Ok(ControlFlow::Continue(()))) {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        })?;
        match (last, parts.0) {
            (Ok(ControlFlow::Continue(())), Some(whole)) => whole.visit(visit),
            (last, _) => last,
        }
    }

    /// Adds what lies below directories of these names to the regions.
    pub(crate) fn directories_named(
        &self,
        session: &Session<'_>,
        names: &HashSet<Vec<u8>>,
        regions: &mut Regions,
    ) -> Result<(), GroupsError> {
        for dir in self.with_those_above() {
            if path::split(dir).is_some_and(|(_, name)| names.contains(name)) {
                regions.add_below(dir);
            }
        }
        for name in names {
            let literal = Literal {
                bytes: name.clone(),
                within: Within::Name,
                at: At::Whole,
                letters: Letters::Exact,
            };
            let request = NameRequest {
                within: Within::Name,
                need: &Need::Has(literal.clone()),
                test: &Whole(name),
                literal: Some(&literal),
                keep: None,
                skip: &self.skip,
                threads: None,
                cancel: session.cancel(),
            };
            let index = session.index();
            index.search_names(&self.start, &request, &mut |event| {
                if let Event::Hit(hit) = event {
                    regions.add_below(&path::join(hit.dir, hit.name));
                }
                ControlFlow::Continue(())
            })?;
        }
        Ok(())
    }

    /// Returns the place's directory and those above it: an album begins above the directory of its
    /// disc, which may be all that is indexed.
    fn with_those_above(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::successors(Some(&self.start.path[..]), |dir| {
            path::split(dir).map(|(above, _)| above)
        })
    }

    /// Passes the path of every directory to `visit`, and of those above the place.
    pub(crate) fn each_path(
        &self,
        session: &Session<'_>,
        visit: &mut dyn FnMut(&[u8]),
    ) -> Result<(), GroupsError> {
        self.with_those_above().for_each(&mut *visit);
        let request = DirRequest {
            cancel: session.cancel(),
            ..DirRequest::default()
        };
        let index = session.index();
        index.directories(&self.start, &request, |dir| {
            visit(&dir.path);
            ControlFlow::Continue(())
        })?;
        Ok(())
    }

    /// Visits the directories above, from the top, as far as the user can list them.
    pub(crate) fn visit_above(
        &self,
        session: &Session<'_>,
        visit: &mut dyn FnMut(&Directory<'_>) -> Result<(), GroupsError>,
    ) -> Result<(), GroupsError> {
        let mut above = Vec::new();
        let mut path = &self.start.path[..];
        while let Some((dir, _)) = path::split(path) {
            above.push(dir);
            path = dir;
        }
        for dir in above.into_iter().rev() {
            if let Located::Found(start) = session.index().locate(dir)? {
                let place = Place {
                    start: *start,
                    reach: Reach::Itself,
                    skip: Subtrees::new(),
                };
                let _ = place.visit(session, Sight::names(None), &mut |dir| {
                    visit(dir).map(|()| ControlFlow::Continue(()))
                })?;
            }
        }
        Ok(())
    }
}

/// Answers from the index.
pub(crate) struct IndexLook<'i>(pub(crate) &'i Index);

impl Look for IndexLook<'_> {
    fn is_file(&self, path: &[u8]) -> Result<bool, GroupsError> {
        Ok(match self.0.locate(path)? {
            Located::Found(found) => !found.is_dir,
            _ => false,
        })
    }
}
