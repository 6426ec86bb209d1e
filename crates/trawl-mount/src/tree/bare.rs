//! Which names in a directory have no extended attributes: asked for at once as far as a table
//! goes, said of each name by itself.
//!
//! Invariant: a name is said to have none only if that may be told; what is not known is left out.

use std::time::{Duration, Instant};

use trawl_model::relative_path::join;

use super::listing::{Entry, Listing};
use super::store::is_fresh;
use super::watched::Term;
use super::{Holds, Inner, State};

/// So many names are gone over at once: nobody else is told anything meanwhile.
const AT_ONCE: usize = 1024;

/// How the server is asked by who goes on from one directory to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ahead {
    /// So many names are gone over, in the order of bulk answers.
    pub(crate) entries: u32,
    /// What is told must last so long.
    pub(crate) least: Duration,
    /// How often the server may still be asked.
    pub(crate) questions: u32,
}

/// The names in a directory, from one on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names<'a> {
    pub(crate) dir: &'a [u8],
    pub(crate) listing: &'a Listing,
    pub(crate) holds: &'a Holds,
    pub(crate) first: usize,
}

/// What is known of names in a directory.
#[derive(Debug)]
pub(crate) struct Bare {
    /// Of each name, in the order of the listing, whether it is known to have no attribute; of the
    /// last ones nothing if it was too late to ask.
    pub(crate) names: Vec<bool>,
    /// Of what is known, as of when that still holds.
    pub(crate) as_of: Instant,
}

impl Inner {
    /// See [`super::Tree::bare`].
    pub(super) fn bare(&self, of: Names<'_>, ahead: &mut Ahead, until: Instant) -> Bare {
        let mut bare = Bare {
            names: vec![false; of.first],
            as_of: Instant::now(),
        };
        let mut asked_for = None;
        loop {
            while self.go_over(of, &mut bare, ahead.least) {}
            let at = bare.names.len();
            let Some(entry) = of.listing.entries.get(at) else {
                return bare;
            };
            // It cannot be asked, or takes longer than what it says may be told.
            if asked_for == Some(at) {
                ahead.questions = 0;
            }
            if ahead.questions == 0 {
                bare.names.resize(of.listing.entries.len(), false);
                return bare;
            }
            if Instant::now() >= until {
                return bare;
            }
            ahead.questions -= 1;
            asked_for = Some(at);
            // What it has, or why that is not known, is looked at above.
            let path = join(of.dir, &entry.name);
            let _ = self.xattrs_and(&path, Some(ahead.entries), ahead.least);
        }
    }

    /// Goes on to the first name of which nothing may be told; true if it has not come to one yet.
    fn go_over(&self, of: Names<'_>, bare: &mut Bare, least: Duration) -> bool {
        let state = self.state();
        let entries = of.listing.entries.iter().enumerate();
        for (at, entry) in entries.skip(bare.names.len()).take(AT_ONCE) {
            if !of.holds.is_certain(at) {
                bare.names.push(false);
                continue;
            }
            let Some(as_of) = self.bare_as_of(&state, of.dir, entry, least) else {
                return false;
            };
            bare.as_of = as_of.map_or(bare.as_of, |as_of| as_of.min(bare.as_of));
            bare.names.push(as_of.is_some());
        }
        bare.names.len() < of.listing.entries.len()
    }

    /// As of when a name has no attribute; `None` within if it has any, or that cannot be told.
    #[allow(
        clippy::option_option,
        reason = "not known, known to have some, none as of then"
    )]
    fn bare_as_of(
        &self,
        state: &State,
        dir: &[u8],
        entry: &Entry,
        least: Duration,
    ) -> Option<Option<Instant>> {
        let term = |asked| match &entry.found {
            Ok(found) => state.watched.entry(dir, asked, &entry.name, found),
            Err(_) => Term::Short,
        };
        let is_told = |asked| is_fresh(asked, self.age(term(asked)).saturating_sub(least));
        let (asked, found) = state.xattrs.told(&join(dir, &entry.name), is_told)?;
        let is_bare = found.is_ok_and(|all| all.is_empty());
        Some(is_bare.then(|| match term(asked) {
            Term::Long => Instant::now(),
            _ => asked,
        }))
    }
}
