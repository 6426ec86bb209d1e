//! Entries whose names or paths match, in the manner of plocate(1).
//!
//! The order is that of paths; every user sees what the index shows them.

mod fuzzy;
mod pattern;
mod places;

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use trawl_model::need::Within;
use trawl_model::path;
use trawl_query::{Event, Hit, Matcher, NameRequest};
use trawl_session::{Depth, Session};

use self::fuzzy::Best;
pub use self::fuzzy::{Capitals, Fuzzy, Scored};
pub use self::pattern::{Language, Patterns};
use self::places::{Itself, Place, places};
use crate::error::{AnswerError, Ended};

/// Which of the entries that match are answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// All.
    Any,
    /// Those that the user can see now in the live file system.
    Now,
}

/// A question about the names in some places.
pub struct Locate<'a, 's> {
    session: &'a mut Session<'s>,
    places: Vec<Place>,
    existing: Existing,
}

impl<'a, 's> Locate<'a, 's> {
    /// Looks up the directories below which names are looked for; without any, all sources that the
    /// user may list. The session reports directories that cannot be looked at.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn new(
        session: &'a mut Session<'s>,
        below: &[OsString],
        existing: Existing,
    ) -> Result<Locate<'a, 's>, AnswerError> {
        let places = places(session, below)?;
        Ok(Locate {
            session,
            places,
            existing,
        })
    }

    /// Returns the session.
    pub fn session(&self) -> &Session<'s> {
        self.session
    }

    /// Records that the answer is about all of the places, so that the session reports their gaps.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn note_places(&mut self) -> Result<(), AnswerError> {
        for place in &self.places {
            self.session.note(&place.start, Depth::All)?;
        }
        Ok(())
    }

    /// Passes the matches to `visit` as they arrive, until the visitor ends the answer.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn list(
        &self,
        patterns: &Patterns,
        visit: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<(), AnswerError> {
        let each = |visit: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>| {
            for place in &self.places {
                let request = self.request(place, patterns, patterns);
                if let Some(hit) = itself(place, &request) {
                    Ended::check(visit(Event::Hit(hit)))?;
                }
                let mut flow = ControlFlow::Continue(());
                let mut emit = |event: Event<'_>| {
                    flow = visit(event);
                    flow
                };
                let index = self.session.index();
                index.search_names(&place.start, &request, &mut emit)?;
                Ended::check(flow)?;
            }
            Ok(())
        };
        Ended::error(each(visit))
    }

    /// Returns the number of matches, at most `limit`.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn count(&self, patterns: &Patterns, limit: u64) -> Result<u64, AnswerError> {
        let mut sum = 0u64;
        for place in &self.places {
            let request = self.request(place, patterns, patterns);
            sum += u64::from(itself(place, &request).is_some());
            let tally = |_: Hit<'_>, count: &mut u64| *count += 1;
            let index = self.session.index();
            index.search_names_apart(&place.start, &request, tally, |count| {
                sum = sum.saturating_add(count);
                match sum >= limit {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            })?;
        }
        Ok(sum.min(limit))
    }

    /// Returns the paths that fit typed letters best, the best first, at most `limit`. Letters are
    /// looked for in names or in whole paths.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn guess(
        &self,
        fuzzy: &Fuzzy,
        within: Within,
        limit: usize,
    ) -> Result<Vec<Scored>, AnswerError> {
        let (any, mut best) = (Patterns::any(within), Best::default());
        let test = |text: &[u8]| fuzzy.fits(text);
        let score = |hit: Hit<'_>, best: &mut Best| {
            let path = path::join(hit.dir, hit.name);
            let text = match within {
                Within::Name => hit.name,
                Within::Path => &path[..],
            };
            if let Some(score) = fuzzy.score(text) {
                best.add(Scored { score, path }, limit);
            }
        };
        for place in &self.places {
            let request = self.request(place, &any, &test);
            if let Some(hit) = itself(place, &request) {
                score(hit, &mut best);
            }
            let index = self.session.index();
            index.search_names_apart(&place.start, &request, score, |found| {
                best.join(found, limit);
                ControlFlow::Continue(())
            })?;
        }
        Ok(best.finish(limit))
    }

    /// Returns a request for the names in one place that pass the test.
    fn request<'r>(
        &self,
        place: &'r Place,
        patterns: &'r Patterns,
        test: &'r dyn Matcher,
    ) -> NameRequest<'r>
    where
        's: 'r,
    {
        NameRequest {
            within: patterns.within,
            need: &patterns.need,
            test,
            literal: patterns.literal.as_ref(),
            keep: (self.existing == Existing::Now).then_some(&is_there),
            skip: &place.skip,
            threads: None,
            cancel: self.session.cancel(),
        }
    }
}

/// Returns true if the user can see the path now.
fn is_there(hit: Hit<'_>) -> bool {
    let path = path::join(hit.dir, hit.name);
    Path::new(OsStr::from_bytes(&path))
        .symlink_metadata()
        .is_ok()
}

/// Returns the place itself, if it matches.
fn itself<'p>(place: &'p Place, request: &NameRequest<'_>) -> Option<Hit<'p>> {
    let (dir, name) = path::split(&place.start.path)?;
    let hit = Hit { dir, name };
    (place.itself == Itself::Included && request.admits(hit)).then_some(hit)
}
