//! Places in which names are looked for: the sources that the user may list, or the given
//! directories.

use std::ffi::OsString;
use std::sync::Arc;

use trawl_model::{Subtrees, path};
use trawl_query::{Located, Start};

use trawl_session::{Follow, Session};

use crate::error::AnswerError;

/// A directory to look in.
pub(crate) struct Place {
    pub(crate) start: Start,
    /// Whether the directory itself may be an answer.
    pub(crate) itself: Itself,
    /// Other places within this one, which are searched separately.
    pub(crate) skip: Subtrees,
}

/// Scope of a search in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Itself {
    /// The directory and everything below it.
    Included,
    /// Only what is below the directory.
    LeftOut,
}

/// Returns the places in path order. Reports directories that cannot be looked at.
pub(crate) fn places(
    session: &mut Session<'_>,
    below: &[OsString],
) -> Result<Vec<Place>, AnswerError> {
    let mut starts = Vec::new();
    for given in below {
        let found = session.locate(given, Follow::Last)?;
        starts.extend(found.map(|start| (start, Itself::LeftOut)));
    }
    let mut roots = Vec::new();
    let index = session.share_index();
    for source in index.sources() {
        if let Located::Found(root) = index.locate(source.root())? {
            // The root of the file system has no name to match.
            let itself = match root.path.is_empty() {
                true => Itself::LeftOut,
                false => Itself::Included,
            };
            roots.push((*root, itself));
        }
    }
    if below.is_empty() {
        starts = roots;
    } else {
        let asked: Vec<Vec<u8>> = starts.iter().map(|(start, _)| start.path.clone()).collect();
        let is_asked = |path: &[u8]| asked.iter().any(|dir| path::is_within(path, dir));
        starts.extend(roots.into_iter().filter(|(root, _)| is_asked(&root.path)));
    }
    starts.sort_by(|(a, _), (b, _)| path::cmp(&a.path, &b.path));
    Ok(without_repeats(starts))
}

/// Removes places that lie in another place of the same snapshot. Every remaining place is skipped
/// by the places around it.
fn without_repeats(starts: Vec<(Start, Itself)>) -> Vec<Place> {
    let mut kept: Vec<(Start, Itself)> = Vec::new();
    for (start, itself) in starts {
        let nearest = kept
            .iter()
            .rev()
            .find(|(around, _)| path::is_within(&start.path, &around.path));
        let is_in = nearest.is_some_and(|(around, _)| {
            Arc::ptr_eq(&around.view, &start.view) || around.path == start.path
        });
        if !is_in {
            kept.push((start, itself));
        }
    }
    let paths: Vec<Vec<u8>> = kept.iter().map(|(start, _)| start.path.clone()).collect();
    let places = kept.into_iter().map(|(start, itself)| {
        let inner = |other: &&Vec<u8>| {
            other.len() > start.path.len() && path::is_within(other, &start.path)
        };
        let skip = paths.iter().filter(inner).cloned().collect();
        Place {
            start,
            itself,
            skip,
        }
    });
    places.collect()
}
