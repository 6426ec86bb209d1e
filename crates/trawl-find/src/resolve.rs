//! From a path as the user writes it to a path of the index, the way the
//! kernel would go: relative to the working directory, through symbolic
//! links, `..` from where a link led.
//!
//! Links inside indexed trees are read from the index; those above them, and
//! those that the index keeps from this user, from the live system.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use trawl_model::rows::Row;
use trawl_model::{ColumnSet, FileType, path};
use trawl_query::{Index, Located, QueryError, Start, View};

/// Whether a link at the end of a path is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// The link itself is meant.
    Never,
    /// What it leads to is meant.
    Last,
    /// What it leads to is meant if that is a directory (`ls link`).
    ToDirectory,
}

/// As many links as the kernel follows in one path, path_resolution(7).
const LINKS_MAX: usize = 40;

/// What an index says about a path; [`trawl_query::Index`] in the program.
pub trait Places {
    /// See [`trawl_query::Index::locate`].
    fn locate(&self, path: &[u8]) -> Result<Located, QueryError>;

    /// The target, if there is a link at `path`.
    ///
    /// # Errors
    /// Whatever cannot be read of the index.
    fn link_at(&self, path: &[u8]) -> Result<Option<Vec<u8>>, QueryError> {
        Ok(link_of(path, &self.locate(path)?))
    }
}

/// The target of the link that was located at `path`, if it is one.
fn link_of(path: &[u8], located: &Located) -> Option<Vec<u8>> {
    match located {
        Located::Found(start) => is_link(start).then(|| start.row.link_target.get(0).to_vec()),
        Located::NotIndexed { .. } => live_target(path),
        Located::Hidden { view, .. } if !is_recorded(view) => live_target(path),
        _ => None,
    }
}

/// An index of which answers are remembered, for one who asks about many
/// paths.
#[derive(Debug)]
pub struct Remembered<I> {
    index: I,
    /// What is read of each entry.
    columns: ColumnSet,
    located: RefCell<HashMap<Vec<u8>, Located>>,
    links: RefCell<HashMap<Vec<u8>, Option<Vec<u8>>>>,
    /// What was asked for and is not known, while it is being found out what
    /// will be.
    missed: RefCell<Option<BTreeSet<Vec<u8>>>>,
}

/// So many targets of links are remembered.
const REMEMBERED_MAX: usize = 1 << 16;
/// With more entries than these, all are forgotten before more are looked up.
const LOCATED_MAX: usize = 1 << 14;

impl<I: Borrow<Index>> Remembered<I> {
    /// The index, of which nothing is known yet. `columns` are read of what
    /// is looked up ahead.
    pub fn new(index: I, columns: ColumnSet) -> Remembered<I> {
        Remembered {
            index,
            columns,
            located: RefCell::default(),
            links: RefCell::default(),
            missed: RefCell::default(),
        }
    }

    /// Looks up what will be asked for when these are resolved, each a
    /// working directory and a path (not empty): all that is needed next is
    /// looked up together, as often as links lead on.
    ///
    /// # Errors
    /// Whatever cannot be read of the index.
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

    /// Forgets everything, since the index may answer otherwise now.
    pub fn forget(&self) {
        self.located.borrow_mut().clear();
        self.links.borrow_mut().clear();
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

    /// Notes that a path, and what is above it, will have to be known; false
    /// if nothing is noted.
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

impl<I: Borrow<Index>> Places for Remembered<I> {
    fn locate(&self, path: &[u8]) -> Result<Located, QueryError> {
        if let Some(known) = self.located.borrow().get(path) {
            return Ok(known.clone());
        }
        match self.miss(path) {
            // Whatever was asked next would be beside the point.
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
        // The target itself will be asked for, if no link turns it.
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

impl Places for Index {
    fn locate(&self, path: &[u8]) -> Result<Located, QueryError> {
        Index::locate(self, path)
    }
}

/// Where a path led.
#[derive(Debug)]
pub enum Resolved {
    /// To what the index says.
    To(Located, Vec<u8>),
    /// Nowhere: too many links, as in a circle.
    Loop,
    /// To something that only the live system knows of, and cannot read.
    Unread(std::io::Error),
}

/// Resolves `given` (not empty) from the working directory `cwd`, as
/// path_resolution(7) has it.
///
/// # Errors
/// Whatever cannot be read of the index.
pub fn resolve(
    places: &impl Places,
    cwd: &[u8],
    given: &[u8],
    follow: Follow,
) -> Result<Resolved, QueryError> {
    let absolute = absolute(cwd, given);
    // A slash at the end asks for a directory, through a link if need be.
    let follow = if ends_in_directory(given) {
        Follow::Last
    } else {
        follow
    };
    if let Some(direct) = direct(&absolute) {
        let found = places.locate(&direct)?;
        let is_final = match &found {
            Located::Found(start) => follow == Follow::Never || !is_link(start),
            Located::Missing { .. } | Located::Denied { .. } => true,
            _ => false,
        };
        if is_final {
            let found = through_dot(found, &absolute);
            return Ok(Resolved::To(found, direct));
        }
    }
    let resolved = walk(places, &absolute, follow)?;
    if follow == Follow::ToDirectory {
        // A link that leads to no directory stands for itself.
        let leads = match &resolved {
            Some(Resolved::To(Located::Found(start), _)) => start.is_dir,
            Some(Resolved::To(Located::Hidden { view, .. }, path)) if !is_recorded(view) => {
                is_directory(path)
            }
            // What cannot be reached is told, as ls does; a link to nothing is shown.
            None | Some(Resolved::To(Located::NotDirectory { .. } | Located::Denied { .. }, _)) => {
                true
            }
            _ => false,
        };
        if !leads {
            return Ok(walk(places, &absolute, Follow::Never)?.unwrap_or(Resolved::Loop));
        }
    }
    Ok(resolved.unwrap_or(Resolved::Loop))
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

/// The path by text alone, if it holds no `..` that a link could turn.
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

/// Goes component by component; `None` after too many links.
fn walk(
    places: &impl Places,
    absolute: &[u8],
    follow: Follow,
) -> Result<Option<Resolved>, QueryError> {
    let mut done: Vec<u8> = Vec::new();
    let mut rest: VecDeque<Vec<u8>> = parts(absolute).collect();
    let mut links = 0;
    while let Some(part) = rest.pop_front() {
        if part == b".." {
            let through = match places.locate(&done)? {
                Located::Found(start) => may_pass(&start),
                // Only the live system knows what is there.
                Located::NotIndexed { .. } | Located::Hidden { .. } => {
                    let live = path::join(path::display(&done), b".");
                    let live = std::path::Path::new(OsStr::from_bytes(&live));
                    match live.symlink_metadata() {
                        Ok(_) => Ok(()),
                        Err(error) => return Ok(Some(Resolved::Unread(error))),
                    }
                }
                nothing => Err(nothing),
            };
            if let Err(nothing) = through {
                return Ok(Some(Resolved::To(nothing, done)));
            }
            done.truncate(path::split(&done).map_or(0, |(above, _)| above.len()));
            continue;
        }
        let next = path::join(&done, &part);
        if rest.is_empty() && follow == Follow::Never {
            done = next;
            continue;
        }
        match places.link_at(&next)? {
            None => done = next,
            Some(target) => {
                links += 1;
                if links > LINKS_MAX {
                    return Ok(None);
                }
                if target.first() == Some(&b'/') {
                    done.clear();
                }
                for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
                    rest.push_front(part);
                }
            }
        }
    }
    let found = through_dot(places.locate(&done)?, absolute);
    Ok(Some(Resolved::To(found, done)))
}

/// What is there, if the path ends with `.`: whoever may not search a
/// directory cannot reach it so.
fn through_dot(found: Located, absolute: &[u8]) -> Located {
    match found {
        Located::Found(start) if absolute.ends_with(b"/.") => match may_pass(&start) {
            Ok(()) => Located::Found(start),
            Err(why) => why,
        },
        found => found,
    }
}

/// Whether the kernel would go through `start` to `.` or `..`.
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

/// Components that lead somewhere.
fn parts(path: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let parts = path
        .split(|b| *b == b'/')
        .filter(|part| !matches!(*part, b"" | b"."));
    parts.map(<[u8]>::to_vec)
}

/// True if there is a directory at `path` on the live system.
fn is_directory(path: &[u8]) -> bool {
    let path = std::path::Path::new(OsStr::from_bytes(path::display(path)));
    path.symlink_metadata().is_ok_and(|meta| meta.is_dir())
}

fn live_target(path: &[u8]) -> Option<Vec<u8>> {
    let target = std::fs::read_link(OsStr::from_bytes(path)).ok()?;
    Some(target.into_os_string().into_vec())
}

/// True if the live system knows nothing of what a view shows: of a recording,
/// and of the past.
pub fn is_recorded(view: &View) -> bool {
    view.is_past() || view.info().options.contains_key("from-trace")
}
