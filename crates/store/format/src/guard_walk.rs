//! Finds `data` directories below another one, as far as this process may open them.
//!
//! Directories that may not be opened are skipped. A directory of name barriers that may be
//! traversed but not listed is remembered: a process that knows the path behind a barrier can find
//! it later ([`Reached::behind`]).

use crate::error::Result;
use crate::layout::{self, GuardName};
use crate::store::{Dir, if_there};

/// Closed directories that a walk met.
#[derive(Clone, Debug, Default)]
pub struct Reached {
    /// Directories of barriers that may not be listed, by the directory names that lead to them.
    closed: Vec<Vec<String>>,
    /// True if some guard directories may not be entered.
    refused: bool,
}

/// Function that is called with the directory names that lead to a `data` directory, and with that
/// directory.
type Visit<'v> = &'v mut dyn FnMut(&[String], &Dir) -> Result<()>;

/// Visits `top`, which is a `data` directory itself, and every `data` directory below it that
/// listings lead to, parents first. Not recursive, since chains of guards may be deep.
pub fn walk(top: &Dir, visit: Visit<'_>) -> Result<Reached> {
    Walk::new(top, None, vec![Vec::new()]).run(visit)
}

impl Reached {
    /// True if there is more than the walk visited.
    pub fn is_partial(&self) -> bool {
        self.refused || !self.closed.is_empty()
    }

    /// Visits the `data` directories behind the barriers for `asked` and for the directories above
    /// it, where these barriers could not be listed.
    pub fn behind(&self, top: &Dir, asked: &[u8], visit: Visit<'_>) -> Result<()> {
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
            // Pushed in reverse so that they are visited in order.
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

    /// Adds the barriers in a directory of barriers.
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

    /// Adds the barriers whose paths are known.
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

    /// Turns the errors for missing and for closed directories into `None`.
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
