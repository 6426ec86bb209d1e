//! Resolves a path as the user writes it to a path of the index, as the kernel
//! would: relative to the working directory, through symbolic links, with `..`
//! taken from where a link led.
//!
//! Links inside indexed trees are read from the index. Links above those trees,
//! and links that the index hides from this user, are read from the live file
//! system.
//!
//! The rules are those of the kernel's `link_path_walk`, see
//! path_resolution(7). A slash after the last component, in the path or in the
//! target of a link that ends it, asks for a directory. `.` and `..` need
//! permission to search the directory that they stand in. All links of one walk
//! count against one limit.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, VecDeque};

use trawl_model::rows::Row;
use trawl_model::{ColumnSet, FileType, path};
use trawl_query::{Index, Located, QueryError, Start, View};
use trawl_sys::far;

/// Whether to follow a symbolic link at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// Resolve to the link itself.
    Never,
    /// Resolve to the link's target.
    Last,
    /// Resolve to the link's target if that is a directory, else to the link
    /// itself (`ls link`).
    ToDirectory,
}

/// Maximum number of links that the kernel follows in one path,
/// path_resolution(7).
const LINKS_MAX: usize = 40;
/// Maximum length of a name, in bytes, in all common file systems.
const NAME_MAX: usize = 255;
/// The errno for a longer name.
const ENAMETOOLONG: i32 = 36;

/// A source that locates paths; [`trawl_query::Index`] in the program.
pub trait PathSource {
    /// See [`trawl_query::Index::locate`].
    fn locate(&self, path: &[u8]) -> Result<Located, QueryError>;

    /// Returns the target of the link at `path`; `None` if there is no link.
    ///
    /// # Errors
    /// If the index cannot be read.
    fn link_at(&self, path: &[u8]) -> Result<Option<Vec<u8>>, QueryError> {
        Ok(link_of(path, &self.locate(path)?))
    }
}

/// Returns the target of the link that was located at `path`; `None` if it is
/// not a link.
fn link_of(path: &[u8], located: &Located) -> Option<Vec<u8>> {
    match located {
        Located::Found(start) => is_link(start).then(|| start.row.link_target.get(0).to_vec()),
        Located::NotIndexed { .. } => live_target(path),
        Located::Hidden { view, .. } if !is_recorded(view) => live_target(path),
        _ => None,
    }
}

/// An index whose answers are cached, for callers that resolve many paths.
#[derive(Debug)]
pub struct Remembered<I> {
    index: I,
    /// Columns read for each entry.
    columns: ColumnSet,
    located: RefCell<HashMap<Vec<u8>, Located>>,
    links: RefCell<HashMap<Vec<u8>, Option<Vec<u8>>>>,
    /// While [`Remembered::prepare`] collects the paths to look up: the paths
    /// that were asked for and are not cached.
    missed: RefCell<Option<BTreeSet<Vec<u8>>>>,
}

/// Maximum number of link targets in the cache.
const REMEMBERED_MAX: usize = 1 << 16;
/// If the cache holds more entries than this, it is emptied before more are
/// looked up.
const LOCATED_MAX: usize = 1 << 14;

impl<I: Borrow<Index>> Remembered<I> {
    /// Creates an empty cache over the index. `columns` are read of entries
    /// that are looked up ahead.
    pub fn new(index: I, columns: ColumnSet) -> Remembered<I> {
        Remembered {
            index,
            columns,
            located: RefCell::default(),
            links: RefCell::default(),
            missed: RefCell::default(),
        }
    }

    /// Looks up everything that resolving these paths will ask for. Each path
    /// is a working directory and a path, which must not be empty. One batch is
    /// looked up per level of links.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn prepare(&self, paths: &[(&[u8], &[u8])], follow: Follow) -> Result<(), QueryError> {
        if self.located.borrow().len() > LOCATED_MAX {
            self.located.borrow_mut().clear();
        }
        let mut pending: Vec<usize> = (0..paths.len()).collect();
        for _ in 0..LINKS_MAX {
            let mut all = BTreeSet::new();
            let mut unclear = Vec::new();
            for at in pending {
                *self.missed.borrow_mut() = Some(BTreeSet::new());
                let (cwd, given) = paths[at];
                let resolved = resolve(self, cwd, given, follow);
                let missed = self.missed.borrow_mut().take().unwrap_or_default();
                resolved?;
                if !missed.is_empty() {
                    unclear.push(at);
                    all.extend(missed);
                }
            }
            if all.is_empty() {
                break;
            }
            pending = unclear;
            self.look_up(all)?;
        }
        Ok(())
    }

    /// Looks up everything that following these links will ask for. Their paths are absolute.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn prepare_links<'p>(
        &self,
        links: impl IntoIterator<Item = &'p [u8]>,
    ) -> Result<(), QueryError> {
        let paths: Vec<_> = links.into_iter().map(|link| (&b""[..], link)).collect();
        self.prepare(&paths, Follow::Last)
    }

    /// Forgets what it knows of `dir` and of everything below it, since the index may now answer
    /// differently there.
    pub fn forget(&self, dir: &[u8]) {
        let is_elsewhere = |path: &[u8]| !path::is_within(path, dir);
        self.located
            .borrow_mut()
            .retain(|path, _| is_elsewhere(path));
        self.links.borrow_mut().retain(|path, _| is_elsewhere(path));
    }

    fn look_up(&self, missed: BTreeSet<Vec<u8>>) -> Result<(), QueryError> {
        let known = self.located.borrow();
        let unknown = missed.into_iter().filter(|path| !known.contains_key(path));
        let paths: Vec<Vec<u8>> = unknown.collect();
        drop(known);
        let located = self.index.borrow().locate_all(&paths, self.columns)?;
        self.located
            .borrow_mut()
            .extend(paths.into_iter().zip(located));
        Ok(())
    }

    /// Records that a path and the directories above it have to be looked up.
    /// Returns false if nothing is being collected.
    fn miss(&self, path: &[u8]) -> bool {
        let mut missed = self.missed.borrow_mut();
        let Some(missed) = missed.as_mut() else {
            return false;
        };
        let known = self.located.borrow();
        let mut next = Some(path);
        while let Some(path) = next {
            if !known.contains_key(path) && !missed.insert(path.to_vec()) {
                break;
            }
            next = path::split(path).map(|(dir, _)| dir);
        }
        true
    }
}

impl<I: Borrow<Index>> PathSource for Remembered<I> {
    fn locate(&self, path: &[u8]) -> Result<Located, QueryError> {
        if let Some(known) = self.located.borrow().get(path) {
            return Ok(known.clone());
        }
        match self.miss(path) {
            // A placeholder: the answer is discarded, since the path is
            // resolved again.
            true => Ok(Located::Missing { root: Vec::new() }),
            false => self.index.borrow().locate(path),
        }
    }

    fn link_at(&self, path: &[u8]) -> Result<Option<Vec<u8>>, QueryError> {
        if let Some(known) = self.links.borrow().get(path) {
            return Ok(known.clone());
        }
        let target = match self.located.borrow().get(path) {
            Some(located) => link_of(path, located),
            None if self.miss(path) => return Ok(None),
            None => link_of(path, &self.index.borrow().locate(path)?),
        };
        // Unless a link intervenes, the target itself is asked for next.
        if let Some(target) = &target
            && let Some((dir, _)) = path::split(path)
            && let Some(direct) = direct(&absolute(dir, target))
            && !self.located.borrow().contains_key(&direct)
        {
            self.miss(&direct);
        }
        let mut links = self.links.borrow_mut();
        if links.len() < REMEMBERED_MAX {
            links.insert(path.to_vec(), target.clone());
        }
        Ok(target)
    }
}

impl PathSource for Index {
    fn locate(&self, path: &[u8]) -> Result<Located, QueryError> {
        Index::locate(self, path)
    }
}

/// The result of resolving a path.
#[derive(Debug)]
pub enum Resolved {
    /// A place that the index knows about, and its path.
    To(Located, Vec<u8>),
    /// Too many links, as in a loop.
    Loop,
    /// A place that only the live file system knows about, and that cannot be
    /// read.
    Unread(std::io::Error),
}

/// Resolves `given`, which must not be empty, from the working directory `cwd`,
/// as path_resolution(7) describes.
///
/// # Errors
/// If the index cannot be read.
pub fn resolve(
    places: &impl PathSource,
    cwd: &[u8],
    given: &[u8],
    follow: Follow,
) -> Result<Resolved, QueryError> {
    let absolute = absolute(cwd, given);
    // A slash at the end asks for a directory, through a link if necessary.
    let follow = if ends_in_directory(given) {
        Follow::Last
    } else {
        follow
    };
    let resolved = resolve_from(places, &absolute, follow, 0)?;
    // A link that does not lead to a directory stands for itself.
    match follow == Follow::ToDirectory && !is_told(&resolved) {
        true => resolve_from(places, &absolute, Follow::Never, 0),
        false => Ok(resolved),
    }
}

/// Resolves the target of a link in the directory `dir`. The target must not be
/// empty; the link itself counts as one link.
///
/// # Errors
/// If the index cannot be read.
pub fn resolve_target(
    places: &impl PathSource,
    dir: &[u8],
    target: &[u8],
) -> Result<Resolved, QueryError> {
    resolve_from(places, &absolute(dir, target), Follow::Last, 1)
}

/// Resolves an absolute path after `links` links have been followed.
fn resolve_from(
    places: &impl PathSource,
    absolute: &[u8],
    follow: Follow,
    links: usize,
) -> Result<Resolved, QueryError> {
    if let Some(direct) = direct(absolute) {
        let found = places.locate(&direct)?;
        let is_final = match &found {
            Located::Found(start) => follow == Follow::Never || !is_link(start),
            Located::Missing { .. } => !parts(absolute).iter().any(|part| part.len() > NAME_MAX),
            Located::Denied { .. } => true,
            _ => false,
        };
        if is_final {
            let found = as_directory(through_dot(found, absolute), absolute.ends_with(b"/"));
            return Ok(Resolved::To(found, direct));
        }
    }
    let mut way = Resolution {
        places,
        follow,
        links,
        done: Vec::new(),
        rest: parts(absolute).into(),
        wants_directory: absolute.ends_with(b"/"),
    };
    way.walk()
}

/// Returns true if `ls link` shows the link's target or reports that it cannot
/// be reached, rather than showing the link itself.
fn is_told(resolved: &Resolved) -> bool {
    match resolved {
        Resolved::To(Located::Found(start), _) => start.is_dir,
        Resolved::To(Located::Hidden { view, .. }, path) if !is_recorded(view) => {
            is_directory(path)
        }
        Resolved::To(Located::NotDirectory { .. } | Located::Denied { .. }, _) | Resolved::Loop => {
            true
        }
        _ => false,
    }
}

fn absolute(cwd: &[u8], given: &[u8]) -> Vec<u8> {
    match given.first() {
        Some(b'/') => given.to_vec(),
        _ => path::join(cwd, given),
    }
}

fn ends_in_directory(given: &[u8]) -> bool {
    let last = given.rsplit(|b| *b == b'/').next().unwrap_or_default();
    matches!(last, b"" | b"." | b"..")
}

/// Normalizes the path textually; `None` if it holds a `..`, which a link could
/// redirect.
fn direct(absolute: &[u8]) -> Option<Vec<u8>> {
    let turns = absolute.split(|b| *b == b'/').any(|part| part == b"..");
    if turns {
        None
    } else {
        path::normalize(absolute)
    }
}

fn is_link(start: &Start) -> bool {
    let row = Row {
        batch: &start.row,
        at: 0,
        dir: b"",
    };
    row.file_type() == FileType::Symlink
}

/// A path that is being resolved component by component.
struct Resolution<'p, P> {
    places: &'p P,
    follow: Follow,
    /// Number of links followed so far.
    links: usize,
    /// The path resolved so far.
    done: Vec<u8>,
    /// The components that remain.
    rest: VecDeque<Vec<u8>>,
    /// True if a slash follows the last component.
    wants_directory: bool,
}

impl<P: PathSource> Resolution<'_, P> {
    fn walk(&mut self) -> Result<Resolved, QueryError> {
        while let Some(part) = self.rest.pop_front() {
            let ended = match &part[..] {
                b"." => self.stay()?,
                b".." => match self.stay()? {
                    None => {
                        let above = path::split(&self.done).map_or(0, |(above, _)| above.len());
                        self.done.truncate(above);
                        None
                    }
                    ended => ended,
                },
                name => self.enter(name)?,
            };
            if let Some(ended) = ended {
                return Ok(ended);
            }
        }
        let mut found = as_directory(self.places.locate(&self.done)?, self.wants_directory);
        let is_live = match &found {
            Located::NotIndexed { .. } => true,
            Located::Hidden { view, .. } => !is_recorded(view),
            _ => false,
        };
        if self.wants_directory && is_live {
            let there = far::stat_itself(path::display(&self.done));
            if there.is_ok_and(|stat| !stat.is_directory()) {
                let path = self.done.clone();
                found = Located::NotDirectory { path };
            }
        }
        Ok(Resolved::To(found, std::mem::take(&mut self.done)))
    }

    /// Returns the result if the kernel would refuse to look up a name in the
    /// directory reached so far; `None` if it would not.
    fn stay(&self) -> Result<Option<Resolved>, QueryError> {
        let nothing = match self.places.locate(&self.done)? {
            Located::Found(start) => match may_pass(&start) {
                Ok(()) => return Ok(None),
                Err(nothing) => nothing,
            },
            Located::Hidden { view, dir } if is_recorded(&view) => Located::Hidden { view, dir },
            // Only the live file system knows what is there.
            Located::NotIndexed { .. } | Located::Hidden { .. } => {
                let itself = path::join(path::display(&self.done), b".");
                return Ok(far::stat_itself(&itself)
                    .err()
                    .map(|error| Resolved::Unread(error.into())));
            }
            nothing => nothing,
        };
        Ok(Some(Resolved::To(nothing, self.done.clone())))
    }

    /// Goes to a name in the directory reached so far, or to the target of the
    /// link of that name.
    fn enter(&mut self, name: &[u8]) -> Result<Option<Resolved>, QueryError> {
        if name.len() > NAME_MAX {
            let too_long = || Resolved::Unread(std::io::Error::from_raw_os_error(ENAMETOOLONG));
            return Ok(Some(self.stay()?.unwrap_or_else(too_long)));
        }
        let next = path::join(&self.done, name);
        let is_last = self.rest.is_empty();
        let is_meant = is_last && self.follow == Follow::Never && !self.wants_directory;
        let target = match is_meant {
            true => None,
            false => self.places.link_at(&next)?,
        };
        let Some(target) = target else {
            self.done = next;
            return Ok(None);
        };
        self.links += 1;
        if self.links > LINKS_MAX {
            return Ok(Some(Resolved::Loop));
        }
        self.wants_directory |= is_last && target.ends_with(b"/");
        if target.first() == Some(&b'/') {
            self.done.clear();
        }
        for part in parts(&target).into_iter().rev() {
            self.rest.push_front(part);
        }
        Ok(None)
    }
}

/// Returns `found`, but an error if it is not a directory and a trailing slash
/// asks for one.
fn as_directory(found: Located, wants_directory: bool) -> Located {
    let path = match &found {
        Located::Found(start) if !start.is_dir => start.path.clone(),
        _ => return found,
    };
    match wants_directory {
        true => Located::NotDirectory { path },
        false => found,
    }
}

/// Returns `found`, but an error if the path ends in `.` and the user may not
/// search the directory.
fn through_dot(found: Located, absolute: &[u8]) -> Located {
    match found {
        Located::Found(start) if ends_in_dot(absolute) => match may_pass(&start) {
            Ok(()) => Located::Found(start),
            Err(why) => why,
        },
        found => found,
    }
}

fn ends_in_dot(absolute: &[u8]) -> bool {
    let mut parts = absolute.rsplit(|byte| *byte == b'/');
    parts.find(|part| !part.is_empty()) == Some(b".")
}

/// Returns the error of the kernel if it would not resolve `.` or `..` in
/// `start`.
fn may_pass(start: &Start) -> Result<(), Located> {
    match (start.is_dir, start.may_search()) {
        (false, _) => Err(Located::NotDirectory {
            path: start.path.clone(),
        }),
        (true, false) => Err(Located::Denied {
            dir: start.path.clone(),
        }),
        (true, true) => Ok(()),
    }
}

/// Splits a path into components. A `.` before another component is dropped,
/// since it needs no permission that the component itself does not need.
fn parts(path: &[u8]) -> Vec<Vec<u8>> {
    let parts = path.split(|b| *b == b'/').filter(|part| !part.is_empty());
    let mut parts: Vec<Vec<u8>> = parts.map(<[u8]>::to_vec).collect();
    let ends_here = parts.last().is_some_and(|part| part == b".");
    parts.retain(|part| part != b".");
    if ends_here {
        parts.push(b".".to_vec());
    }
    parts
}

/// Returns true if there is a directory at `path` in the live file system.
fn is_directory(path: &[u8]) -> bool {
    far::stat_itself(path::display(path)).is_ok_and(|stat| stat.is_directory())
}

fn live_target(path: &[u8]) -> Option<Vec<u8>> {
    far::read_link(path).ok()
}

/// Returns true if the live file system does not have the tree that a view
/// shows: for a recorded trace, and for a past snapshot.
pub fn is_recorded(view: &View) -> bool {
    view.is_past() || view.info().options.contains_key("from-trace")
}
