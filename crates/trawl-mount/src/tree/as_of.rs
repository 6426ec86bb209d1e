//! As of when what is known holds, for who puts it together to tell it later (tables): now, where
//! the server would have told of changes.

use std::time::Instant;

use trawl_call::Attributes;
use trawl_model::relative_path::{join, split};

use super::bare::{Ahead, Bare, Names};
use super::listing::{Listing, is_directory};
use super::watched::Term;
use super::{Known, State, Tree};

/// As of when what a listing says holds.
#[derive(Debug)]
pub(crate) struct Holds {
    pub(crate) as_of: Instant,
    /// Which of its names are there, in order, but of which no more is certain.
    pub(crate) uncertain: Vec<usize>,
}

impl Holds {
    /// Whether all that is said of a name holds.
    pub(crate) fn is_certain(&self, at: usize) -> bool {
        self.uncertain.binary_search(&at).is_err()
    }
}

impl Tree {
    /// As of when a listing still holds, with what it says of names: now, where the server would
    /// have told of changes.
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

    /// Whether a directory could not be listed when it was asked for last.
    pub(crate) fn is_shut(&self, dir: &[u8]) -> bool {
        self.0.state().is_shut(dir)
    }

    /// As of when what is known of a name in a directory holds, or of the top, which has none.
    pub(crate) fn entry_as_of(
        &self,
        dir: &[u8],
        name: &[u8],
        known: &Known<Attributes>,
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

    /// The same of where a link leads.
    pub(crate) fn target_as_of<T>(&self, path: &[u8], known: &Known<T>) -> Instant {
        match self.0.state().watched.listing(split(path).0, known.asked) {
            Term::Long => Instant::now(),
            _ => known.at,
        }
    }

    /// Which names of a directory are known to have no extended attribute. The server is asked for
    /// those, and no question is begun after this.
    pub(crate) fn bare(&self, of: Names<'_>, ahead: &mut Ahead, until: Instant) -> Bare {
        self.0.bare(of, ahead, until)
    }
}

impl State {
    fn is_shut(&self, dir: &[u8]) -> bool {
        let listing = self.store.newest(dir);
        listing.is_some_and(|listing| listing.trouble.is_some())
    }

    /// If the server would have said if a listing, or what it says of names, were otherwise: all but
    /// these names. Those are of directories that cannot be listed, and so not watched.
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
