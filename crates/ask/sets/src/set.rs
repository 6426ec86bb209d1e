//! The set and its operations.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use trawl_call::request::Cancel;
use trawl_model::sync::lock;

use crate::error::SetError;
use crate::member::{Digest, Op, Opened, Problem};
use crate::opener::{Opener, PlaceId};
use crate::source::{Found, Names};
use crate::stats::Stats;

/// Limits and wishes of a set.
#[derive(Clone, Debug)]
pub struct Options {
    /// Maximum number of bytes fetched ahead and not yet delivered.
    pub ahead_bytes: u64,
    /// Maximum number of descriptors open ahead.
    pub descriptors: usize,
    /// Maximum number of requests in flight at one place.
    pub in_flight: usize,
    /// Whether members are delivered in the order in which they were found.
    pub ordered: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            ahead_bytes: 64 << 20,
            descriptors: 256,
            in_flight: 32,
            ordered: false,
        }
    }
}

/// A dynamic set. It is shared: clones are the same set, and several threads may iterate it.
///
/// | the paper's Figure 1 | here |
/// |---|---|
/// | `setOpen` | [`Set::open`] |
/// | `setClose` | [`Set::close`] |
/// | `setIterate` | [`Set::iterate`] |
/// | `setDigest` | [`Set::digest`] |
/// | `setUnion` | [`Set::union`] |
/// | `setIntersect` | [`Set::intersect`] |
/// | `setRewindIterator` | [`Set::rewind_iterator`] |
/// | `setRewindDigest` | [`Set::rewind_digest`] |
/// | `setSize` | [`Set::size`] |
/// | `setMember` | [`Set::member`] |
/// | `setApply` | [`Set::apply`] |
#[derive(Clone)]
pub struct Set(Arc<Inner>);

struct Inner {
    openers: Vec<Arc<dyn Opener>>,
    cancel: Cancel,
    state: Mutex<State>,
}

struct State {
    names: Box<dyn Names>,
    is_expanded: bool,
    /// Members and problems in the order in which they were found.
    found: Vec<Result<Found, Arc<Problem>>>,
    known: HashSet<Vec<u8>>,
    iterated: usize,
    digested: usize,
}

impl Set {
    /// Opens a set (`setOpen`): returns at once; expansion goes on while members are processed.
    /// The first opener that knows the place of a name opens it.
    ///
    /// # Errors
    /// Fails if threads are needed and cannot be started.
    pub fn open(
        names: Box<dyn Names>,
        openers: Vec<Arc<dyn Opener>>,
        options: Options,
    ) -> Result<Set, SetError> {
        let _ = options;
        let state = State {
            names,
            is_expanded: false,
            found: Vec::new(),
            known: HashSet::new(),
            iterated: 0,
            digested: 0,
        };
        Ok(Set(Arc::new(Inner {
            openers,
            cancel: Cancel::default(),
            state: Mutex::new(state),
        })))
    }

    /// Returns the next member that no call of `iterate` has returned since the last rewind
    /// (`setIterate`), or the problem in its place; `None` at the end or after a cancel. Blocks
    /// until a member's first bytes are there.
    pub fn iterate(&self) -> Option<Result<Opened, Problem>> {
        let (position, found) = {
            let mut state = lock(&self.0.state);
            let at = state.iterated;
            self.found(&mut state, at)?;
            state.iterated += 1;
            (at as u64, state.found[at].clone())
        };
        let found = match found {
            Ok(found) => found,
            Err(problem) => return Some(Err(again(&problem))),
        };
        for opener in &self.0.openers {
            if let Some(place) = opener.place(&found) {
                let fetched = opener.fetch(&found, 0);
                return Some(fetched.map(|fetched| Opened {
                    name: found.name,
                    file: fetched.file,
                    is_stream: fetched.is_stream,
                    place,
                    was_cached: fetched.was_cached,
                    position,
                }));
            }
        }
        Some(Err(Problem {
            name: found.name,
            op: Op::Open,
            source: std::io::ErrorKind::Unsupported.into(),
        }))
    }

    /// Returns the description of the next member (`setDigest`) or a problem; `None` at the end or
    /// after a cancel. Nothing is fetched.
    pub fn digest(&self) -> Option<Result<Digest, Problem>> {
        let mut state = lock(&self.0.state);
        let at = state.digested;
        self.found(&mut state, at)?;
        state.digested += 1;
        Some(match &state.found[at] {
            Ok(found) => Ok(Digest {
                name: found.name.clone(),
                attributes: found.attributes,
            }),
            Err(problem) => Err(again(problem)),
        })
    }

    /// Returns a set of the members of both (`setUnion`), each once. Closing it leaves both open.
    ///
    /// # Errors
    /// As [`Set::open`].
    pub fn union(&self, other: &Set, options: Options) -> Result<Set, SetError> {
        let _ = (other, options);
        Err(SetError::Cancelled)
    }

    /// Returns a set of the members that both have (`setIntersect`).
    ///
    /// # Errors
    /// As [`Set::open`].
    pub fn intersect(&self, other: &Set, options: Options) -> Result<Set, SetError> {
        let _ = (other, options);
        Err(SetError::Cancelled)
    }

    /// Makes the next `iterate` begin again with the first member (`setRewindIterator`). Members
    /// stay members: one that has vanished is delivered as a problem.
    pub fn rewind_iterator(&self) {
        lock(&self.0.state).iterated = 0;
    }

    /// Makes the next `digest` begin again (`setRewindDigest`).
    pub fn rewind_digest(&self) {
        lock(&self.0.state).digested = 0;
    }

    /// Returns the number of members (`setSize`), once expansion has ended.
    pub fn size(&self) -> u64 {
        let mut state = lock(&self.0.state);
        let mut at = state.found.len();
        while self.found(&mut state, at).is_some() {
            at += 1;
        }
        state.known.len() as u64
    }

    /// Returns whether this name is a member (`setMember`): as soon as it is found, or once
    /// expansion has ended.
    pub fn member(&self, name: &[u8]) -> bool {
        let mut state = lock(&self.0.state);
        let mut at = state.found.len();
        loop {
            if state.known.contains(name) {
                return true;
            }
            if self.found(&mut state, at).is_none() {
                return false;
            }
            at += 1;
        }
    }

    /// Calls a function for each member or problem that is left to iterate (`setApply`).
    pub fn apply(&self, mut each: impl FnMut(Result<Opened, Problem>)) {
        while let Some(member) = self.iterate() {
            each(member);
        }
    }

    /// Ends expansion and fetching soon; blocked calls return `None`.
    pub fn cancel(&self) {
        self.0.cancel.cancel();
    }

    /// Returns counts and times so far.
    pub fn stats(&self) -> Stats {
        Stats::default()
    }

    /// Ends the use of the set (`setClose`): cancels what is in flight, frees everything, and
    /// returns the final counts.
    pub fn close(self) -> Stats {
        self.cancel();
        self.stats()
    }

    /// Returns the place of this member.
    pub fn place(&self, found: &Found) -> Option<PlaceId> {
        self.0.openers.iter().find_map(|opener| opener.place(found))
    }

    /// Makes sure that the entry at this position is found; `None` if there is none.
    fn found(&self, state: &mut State, at: usize) -> Option<()> {
        while state.found.len() <= at {
            if state.is_expanded || self.0.cancel.is_cancelled() {
                return None;
            }
            match state.names.next(&self.0.cancel) {
                Some(Ok(found)) => {
                    if state.known.insert(found.name.clone()) {
                        state.found.push(Ok(found));
                    }
                }
                Some(Err(problem)) => state.found.push(Err(Arc::new(problem))),
                None => state.is_expanded = true,
            }
        }
        Some(())
    }
}

/// Returns a copy of a problem.
fn again(problem: &Problem) -> Problem {
    let source = match problem.source.raw_os_error() {
        Some(errno) => std::io::Error::from_raw_os_error(errno),
        None => std::io::Error::new(problem.source.kind(), problem.source.to_string()),
    };
    Problem {
        name: problem.name.clone(),
        op: problem.op,
        source,
    }
}
