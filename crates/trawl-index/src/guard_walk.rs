//! Finding `data` directories below another one, as this process may.
//!
//! What may not be opened is not there. A directory of name barriers that
//! may be passed but not listed is remembered: behind it lies what someone
//! finds who knows its path ([`Reached::behind`]).

use crate::error::Result;
use crate::layout::{self, GuardName};
use crate::store::{Dir, if_there};

/// What a walk came upon beside `data` directories.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reached {
    /// Directories of barriers that may not be listed: the names that lead
    /// to them.
    closed: Vec<Vec<String>>,
    /// Guard directories that may not be entered.
    refused: bool,
}

/// The names that lead to a `data` directory, and it.
type Visit<'v> = &'v mut dyn FnMut(&[String], &Dir) -> Result<()>;

/// Visits `top`, which is a `data` directory itself, and every one below it
/// that a listing leads to, each before those below. Does not recurse:
/// chains of guards may be deep.
pub(crate) fn walk(top: &Dir, visit: Visit<'_>) -> Result<Reached> {
    Walk::new(top, None, vec![Vec::new()]).run(visit)
}

impl Reached {
    /// True if there is more than was visited.
    pub(crate) fn is_partial(&self) -> bool {
        self.refused || !self.closed.is_empty()
    }

    /// Visits what lies behind the barriers in front of `asked` and of what
    /// is above it, where they could not be listed.
    pub(crate) fn behind(&self, top: &Dir, asked: &[u8], visit: Visit<'_>) -> Result<()> {
        let mut walk = Walk::new(top, Some(asked), Vec::new());
        for barriers in &self.closed {
            walk.push_known(barriers);
        }
        walk.run(visit).map(drop)
    }
}

struct Walk<'a> {
    top: &'a Dir,
    asked: Option<&'a [u8]>,
    pending: Vec<Vec<String>>,
    reached: Reached,
}

impl<'a> Walk<'a> {
    fn new(top: &'a Dir, asked: Option<&'a [u8]>, pending: Vec<Vec<String>>) -> Walk<'a> {
        Walk {
            top,
            asked,
            pending,
            reached: Reached::default(),
        }
    }

    fn run(mut self, visit: Visit<'_>) -> Result<Reached> {
        while let Some(components) = self.pending.pop() {
            let Some(dir) = self.if_open(self.top.open_below(&components))? else {
                continue;
            };
            visit(&components, &dir)?;
            // Pushed in reverse, visited in order.
            for name in dir.list()?.into_iter().rev() {
                let mut below = [&components[..], &[name]].concat();
                match below.last().map(|name| layout::guard_name(name)) {
                    Some(GuardName::Predicate) => {
                        below.push(layout::DATA.to_owned());
                        self.pending.push(below);
                    }
                    Some(GuardName::Barriers) => self.push_barriers(below)?,
                    _ => {}
                }
            }
        }
        Ok(self.reached)
    }

    /// Adds what lies in a directory of barriers.
    fn push_barriers(&mut self, barriers: Vec<String>) -> Result<()> {
        let listed = self
            .top
            .open_below(&barriers)
            .and_then(|dir| dir.list())
            .map(Some);
        match listed {
            Err(error) if error.is_denied() => {
                self.push_known(&barriers);
                self.reached.closed.push(barriers);
            }
            listed => {
                let names = if_there(listed)?.flatten().unwrap_or_default();
                for name in names.into_iter().rev() {
                    if layout::is_barrier_name(&name) {
                        self.push_behind(&barriers, name);
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds what lies behind the barriers of which the path is known.
    fn push_known(&mut self, barriers: &[String]) {
        let asked = self.asked.unwrap_or_default();
        let ends = asked.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        for end in ends.map(|(at, _)| at).chain([asked.len()]) {
            if end > 0 {
                self.push_behind(barriers, layout::barrier_dir(&asked[..end]));
            }
        }
    }

    fn push_behind(&mut self, barriers: &[String], name: String) {
        let data = [name, layout::DATA.to_owned()];
        self.pending.push([barriers, &data].concat());
    }

    /// Nothing there is not an error, nor is no access.
    fn if_open<T>(&mut self, result: Result<T>) -> Result<Option<T>> {
        match result {
            Err(error) if error.is_denied() => {
                self.reached.refused = true;
                Ok(None)
            }
            other => if_there(other),
        }
    }
}
