//! Components with wildcards: one search call for all of them, and a walk below symbolic links.
//!
//! csh goes through symbolic links to directories; a search call that does so is answered by no
//! index and by no server. So the call does not follow links, but also returns the entries that the
//! components in the middle match. Links among these are walked here; those at a server begin
//! searches of their own there.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::Arc;

use trawl_call::options::{Metadata, Options as CallOptions, RootForm};
use trawl_call::pattern::{Language, Mode, Pattern, Period};
use trawl_call::request::Cancel;
use trawl_call::{Attributes, CallError, Executor, LiveWalk, Outcome, Request, Search};
use trawl_sys::CWD;
use trawl_sys::stat::stat_at_followed;

use super::{Attribute, Order, is_absent, is_there, object};
use crate::member::{Op, Problem};
use crate::name::{Step, server_prefix};
use crate::source::{Found, Names};

const LANGUAGE: Language = Language {
    mode: Mode::Fnmatch,
    period: Period::Explicit,
};

/// The names that a list of components matches below some directories.
pub(super) struct Run {
    executor: Arc<dyn Executor>,
    steps: Vec<Step>,
    /// Directories as they precede names: empty, or with a slash at the end.
    roots: Vec<Vec<u8>>,
    attributes: Attribute,
    order: Order,
    search: Option<Search>,
    walk: Walk,
    /// Whether the roots are at a server.
    is_at_server: bool,
    /// The search below a symbolic link at a server.
    below_link: Option<Box<Run>>,
    sorted: Option<std::vec::IntoIter<Result<Found, Problem>>>,
    is_begun: bool,
}

impl Run {
    pub(super) fn new(
        executor: &Arc<dyn Executor>,
        roots: Vec<Vec<u8>>,
        steps: &[Step],
        (attributes, order): (Attribute, Order),
    ) -> Run {
        Run {
            is_at_server: roots.iter().any(|root| server_prefix(root).is_some()),
            below_link: None,
            executor: Arc::clone(executor),
            steps: steps.to_vec(),
            roots,
            attributes,
            order,
            search: None,
            walk: Walk::default(),
            sorted: None,
            is_begun: false,
        }
    }

    fn begin(&mut self, cancel: &Cancel) -> Result<(), CallError> {
        // Each alternative is one component longer than the one before.
        let mut parts: Vec<Vec<u8>> = Vec::new();
        for step in &self.steps {
            let above = parts.last().map_or(&b""[..], Vec::as_slice);
            let part = [above, b"/", &step.text()].concat();
            parts.push(part);
        }
        let pattern = Pattern::new(&parts.join(&b'|'), LANGUAGE)?;
        for step in &self.steps {
            let text = [b"/", &step.text()[..]].concat();
            self.walk
                .steps
                .push((step.clone(), Pattern::new(&text, LANGUAGE)?));
        }
        let options = CallOptions {
            metadata: match self.steps.len() > 1 || self.attributes == Attribute::Wanted {
                true => Metadata::OfLink,
                false => Metadata::Omit,
            },
            // Files that arrive with the answer have the names that their records have.
            root_form: match self.is_at_server {
                true => RootForm::Included,
                false => RootForm::Omitted,
            },
            ..CallOptions::default()
        };
        let roots: Vec<Vec<u8>> = self.roots.iter().map(|root| object(root)).collect();
        let request = Request::new(&pattern, &roots, options)?.cancelled_by(cancel.clone());
        self.search = Some(match Search::open(&*self.executor, request.clone()) {
            Err(CallError::NotServed { .. }) if !self.is_at_server => {
                Search::open(&LiveWalk::default(), request)?
            }
            other => other?,
        });
        Ok(())
    }

    /// Returns the next name or problem in the order of the search.
    fn pull(&mut self, cancel: &Cancel) -> Option<(usize, Result<Found, Problem>)> {
        loop {
            if let Some(found) = self.walk.next(cancel) {
                return Some((self.walk.root, found));
            }
            if let Some(below) = &mut self.below_link {
                match below.next(cancel) {
                    Some(found) => return Some((self.walk.root, found)),
                    None => self.below_link = None,
                }
            }
            let record = match self.search.as_mut()?.next_record() {
                Ok(Some(record)) => record,
                Ok(None) => {
                    self.search = None;
                    return None;
                }
                Err(CallError::Cancelled) => return None,
                Err(error) => {
                    self.search = None;
                    return Some((usize::MAX, Err(self.failed(error))));
                }
            };
            let root = record.root as usize;
            let above = self.roots.get(root).map_or(&b""[..], |root| &root[..]);
            let (name, below) = match record.path {
                path if self.is_at_server => (path.to_vec(), path.get(object(above).len() + 1..)),
                b"." => (object(above), None),
                path => ([above, path].concat(), Some(path)),
            };
            let below = below.unwrap_or_default();
            let depth = 1 + below.iter().filter(|byte| **byte == b'/').count();
            let is_last = depth == self.steps.len();
            match record.outcome {
                Outcome::Match(attributes) if is_last => {
                    let attributes = attributes.and_then(|own| self.own_or_target(own, &name));
                    let mut found = Found::named(name);
                    found.attributes = attributes;
                    return Some((root, Ok(found)));
                }
                Outcome::Match(attributes) => {
                    if !attributes.is_some_and(|own| is_link(&own)) {
                        continue;
                    }
                    if self.is_at_server {
                        self.walk.root = root;
                        self.below_link = Some(self.below(name, depth));
                    } else {
                        (self.walk.root, self.walk.wanted) = (root, self.attributes);
                        self.walk.places.push((name, depth));
                    }
                }
                Outcome::Error(trouble) => {
                    let source = io::Error::from_raw_os_error(trouble.errno);
                    if !is_absent(&source) {
                        return Some((root, Err(expand_problem(name, source))));
                    }
                }
            }
        }
    }

    /// Returns the search for the rest of the components below a link.
    fn below(&self, mut link: Vec<u8>, taken: usize) -> Box<Run> {
        link.push(b'/');
        let wishes = (self.attributes, self.order);
        Box::new(Run::new(
            &self.executor,
            vec![link],
            &self.steps[taken..],
            wishes,
        ))
    }

    /// Returns the attributes that opening the name would show.
    fn own_or_target(&self, own: Attributes, name: &[u8]) -> Option<Attributes> {
        match (self.attributes, is_link(&own)) {
            (Attribute::Omitted, _) => None,
            (Attribute::Wanted, false) => Some(own),
            (Attribute::Wanted, true) if self.is_at_server => None,
            (Attribute::Wanted, true) => attributes(name),
        }
    }

    fn failed(&self, error: CallError) -> Problem {
        let root = self.roots.first().map_or(&b""[..], |root| &root[..]);
        let steps: Vec<Vec<u8>> = self.steps.iter().map(Step::text).collect();
        let name = [root, &steps.join(&b'/')].concat();
        expand_problem(name, io::Error::other(error))
    }

    /// Reads the whole answer, and orders the names of each directory by their bytes, as csh does.
    fn sort(&mut self, cancel: &Cancel) -> std::vec::IntoIter<Result<Found, Problem>> {
        let mut all = Vec::new();
        while let Some(item) = self.pull(cancel) {
            all.push(item);
        }
        let key = |item: &Result<Found, Problem>| match item {
            Ok(found) => found.name.clone(),
            Err(problem) => problem.name.clone(),
        };
        all.sort_by_cached_key(|(root, item)| (*root, key(item)));
        let items: Vec<_> = all.into_iter().map(|(_, item)| item).collect();
        items.into_iter()
    }
}

impl Names for Run {
    fn next(&mut self, cancel: &Cancel) -> Option<Result<Found, Problem>> {
        if !self.is_begun {
            self.is_begun = true;
            if let Err(error) = self.begin(cancel) {
                return Some(Err(self.failed(error)));
            }
        }
        if self.order == Order::Free {
            return self.pull(cancel).map(|(_, item)| item);
        }
        if self.sorted.is_none() {
            self.sorted = Some(self.sort(cancel));
        }
        self.sorted.as_mut()?.next()
    }
}

/// A walk of what lies below symbolic links. Its depth is the number of steps, so that links cannot
/// lead it in circles.
#[derive(Default)]
struct Walk {
    steps: Vec<(Step, Pattern)>,
    /// Paths, each with the number of steps that it has taken; the next one last.
    places: Vec<(Vec<u8>, usize)>,
    /// Index of the root that it lies below.
    root: usize,
    wanted: Attribute,
}

impl Walk {
    fn next(&mut self, cancel: &Cancel) -> Option<Result<Found, Problem>> {
        while let Some((path, taken)) = self.places.pop() {
            if cancel.is_cancelled() {
                return None;
            }
            let Some((step, pattern)) = self.steps.get(taken) else {
                match is_there(&path) {
                    Ok(false) => continue,
                    Ok(true) => {}
                    Err(error) => return Some(Err(expand_problem(path, error))),
                }
                let mut found = Found::named(path);
                if self.wanted == Attribute::Wanted {
                    found.attributes = attributes(&found.name);
                }
                return Some(Ok(found));
            };
            if let Step::Name(name) = step {
                self.places
                    .push(([&path, &b"/"[..], name].concat(), taken + 1));
                continue;
            }
            let mut names = match list(&path, pattern) {
                Ok(names) => names,
                Err(error) if is_absent(&error) => continue,
                Err(error) => return Some(Err(expand_problem(path, error))),
            };
            names.sort_unstable_by(|a, b| b.cmp(a));
            let below = |name: Vec<u8>| ([&path, &b"/"[..], &name].concat(), taken + 1);
            self.places.extend(names.into_iter().map(below));
        }
        None
    }
}

fn list(path: &[u8], pattern: &Pattern) -> io::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(OsStr::from_bytes(path))? {
        let name = entry?.file_name().into_vec();
        if pattern.matches(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

fn attributes(name: &[u8]) -> Option<Attributes> {
    let name = CString::new(name).ok()?;
    let stat = stat_at_followed(CWD, &name).ok()?;
    Some(Attributes::of(&stat))
}

fn is_link(attributes: &Attributes) -> bool {
    attributes.mode & 0o170_000 == 0o120_000
}

fn expand_problem(name: Vec<u8>, source: io::Error) -> Problem {
    let op = Op::Expand;
    Problem { name, op, source }
}
