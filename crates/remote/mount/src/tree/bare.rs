//! Finds the names in a directory that have no extended attributes. The server is asked for as many
//! names ahead as a table covers; the result is per name.
//!
//! Invariant: a name is reported as having none only if that may be told; names without a known
//! answer are left out.

use std::time::{Duration, Instant};

use trawl_model::relative_path::join;

use super::listing::{Entry, Listing};
use super::store::is_fresh;
use super::watched::Term;
use super::{Holds, Inner, State};

/// Number of names examined per lock, because other threads cannot be answered meanwhile.
const AT_ONCE: usize = 1024;

/// Limits for a caller that goes from one directory to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ahead {
    /// Number of names to prefetch, in the order of bulk answers.
    pub(crate) entries: u32,
    /// Minimum time for which answers must stay valid.
    pub(crate) least: Duration,
    /// Number of questions that may still be sent to the server.
    pub(crate) questions: u32,
}

/// The names in a directory, beginning with one of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names<'a> {
    pub(crate) dir: &'a [u8],
    pub(crate) listing: &'a Listing,
    pub(crate) holds: &'a Holds,
    pub(crate) first: usize,
}

/// The result for names in a directory.
#[derive(Debug)]
pub(crate) struct Bare {
    /// For each name, in the order of the listing, whether it is known to have no attributes. The
    /// last names are missing if there was no time to ask.
    pub(crate) names: Vec<bool>,
    /// The time as of which these results hold.
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
            // The server cannot answer, or takes longer than its answers stay valid.
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
            // The result, or its error, is evaluated in the next iteration.
            let path = join(of.dir, &entry.name);
            let _ = self.xattrs_and(&path, Some(ahead.entries), ahead.least);
        }
    }

    /// Continues to the first name without an answer that may be told; true if it has not reached
    /// one yet.
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

    /// Returns the time as of which a name has no attributes. The inner `None` means that it has
    /// some, or that reading them fails; the outer `None` that the answer is unknown.
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
