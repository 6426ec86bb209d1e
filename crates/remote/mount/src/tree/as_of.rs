//! The time as of which known facts hold, for callers that tell them later (tables). It is now
//! where the server would have reported changes.

use std::time::Instant;

use trawl_call::Attributes;
use trawl_model::relative_path::{join, split};

use super::bare::{Ahead, Bare, Names};
use super::listing::{Listing, is_directory};
use super::watched::Term;
use super::{State, Timed, Tree};

/// The time as of which a listing holds.
#[derive(Debug)]
pub(crate) struct Holds {
    pub(crate) as_of: Instant,
    /// Positions of names that exist, in order, about which nothing else is certain.
    pub(crate) uncertain: Vec<usize>,
}

impl Holds {
    /// Returns whether everything about a name holds.
    pub(crate) fn is_certain(&self, at: usize) -> bool {
        self.uncertain.binary_search(&at).is_err()
    }
}

impl Tree {
    /// Returns the time as of which a listing and its entries still hold: now, where the server
    /// would have reported changes.
    pub(crate) fn holds(&self, dir: &[u8], listing: &Listing) -> Holds {
        match self.0.state().uncertain(dir, listing) {
            Some(uncertain) => Holds {
                as_of: Instant::now(),
                uncertain,
            },
            None => Holds {
                as_of: listing.at,
                uncertain: Vec::new(),
            },
        }
    }

    /// Returns whether a directory could not be listed when it was last requested.
    pub(crate) fn is_shut(&self, dir: &[u8]) -> bool {
        self.0.state().is_shut(dir)
    }

    /// Returns the time as of which the attributes of a name hold, or those of the top, which has
    /// no name.
    pub(crate) fn entry_as_of(
        &self,
        dir: &[u8],
        name: &[u8],
        known: &Timed<Attributes>,
    ) -> Instant {
        let state = self.0.state();
        let term = match name {
            b"" => state.watched.own(b"", known.asked),
            name => state.watched.entry(dir, known.asked, name, &known.what),
        };
        match term {
            Term::Long => Instant::now(),
            _ => known.at,
        }
    }

    /// Returns the time as of which the target of a link holds.
    pub(crate) fn target_as_of<T>(&self, path: &[u8], known: &Timed<T>) -> Instant {
        match self.0.state().watched.listing(split(path).0, known.asked) {
            Term::Long => Instant::now(),
            _ => known.at,
        }
    }

    /// Returns which names of a directory are known to have no extended attributes. Asks the server
    /// about them, but begins no question after `until`.
    pub(crate) fn bare(&self, of: Names<'_>, ahead: &mut Ahead, until: Instant) -> Bare {
        self.0.bare(of, ahead, until)
    }
}

impl State {
    fn is_shut(&self, dir: &[u8]) -> bool {
        let listing = self.store.newest(dir);
        listing.is_some_and(|listing| listing.trouble.is_some())
    }

    /// Returns the names about which nothing but their existence is certain, if the server would
    /// have reported any change of the listing and its other entries; `None` otherwise. Those names
    /// are of directories that cannot be listed and are therefore not watched.
    pub(super) fn uncertain(&self, dir: &[u8], listing: &Listing) -> Option<Vec<usize>> {
        if self.watched.listing(dir, listing.asked) != Term::Long {
            return None;
        }
        let mut uncertain = Vec::new();
        for (at, entry) in listing.entries.iter().enumerate() {
            let (name, found) = (&entry.name, entry.found.as_ref().ok()?);
            match self.watched.entry(dir, listing.asked, name, found) {
                Term::Long => {}
                _ if is_directory(found) && self.is_shut(&join(dir, name)) => uncertain.push(at),
                _ => return None,
            }
        }
        Some(uncertain)
    }
}
