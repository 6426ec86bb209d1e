//! Chooses the executor of the search call: the index where a daemon answered a barrier, and the
//! file system elsewhere.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use trawl_call::auto::IsFresh;
use trawl_call::index::IndexRead;
use trawl_call::{Auto, CallError, Executor, LiveWalk, Pattern, Request, Stream};
use trawl_format::IndexDir;
use trawl_model::guard::Credentials;
use trawl_model::sync::lock;
use trawl_query::{AsOf, Index, IndexPlaces, Promises, QueryError};

use crate::barrier::{self, DaemonAnswer, Daemons};
use crate::error::AskError;
use crate::place::{asker, indexes_to_ask, is_named};

/// Which executor a program asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AskedSource {
    /// The index where it is as of now, servers about their mounts, and the file system elsewhere.
    #[default]
    Auto,
    /// The file system.
    Live,
    /// The index as it is, after the daemons were asked.
    Index,
}

/// A program's choice of executor.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The executor to ask.
    pub who: AskedSource,
    /// The index directory; `None` for the indexes of the user's settings.
    pub index: Option<PathBuf>,
    /// Maximum time to wait for daemons; `None` to ask no daemons.
    pub wait: Option<Duration>,
}

impl Choice {
    /// Returns the executor for a search for this pattern. This asks daemons and waits for them up
    /// to `wait`, except where [`is_quick`] holds. `with_servers` wraps an executor so that servers
    /// answer about their mounts.
    ///
    /// # Errors
    /// Fails if an index that has to be asked cannot be found or opened.
    pub fn executor(
        self,
        pattern: &Pattern,
        with_servers: impl FnOnce(Box<dyn Executor>) -> Box<dyn Executor>,
    ) -> Result<Box<dyn Executor>, AskError> {
        match self.who {
            AskedSource::Index => {
                let dirs = indexes_to_ask(self.index)?;
                let is_watched = || dirs.iter().any(|dir| barrier::is_watched(dir));
                let wait = self.wait.filter(|_| is_watched());
                // An index that is out of date is asked as it is.
                let daemons = wait.map(|wait| Daemons::ask(&dirs, wait, Duration::ZERO));
                Ok(Box::new(index(&dirs, daemons)?))
            }
            AskedSource::Auto if !is_quick(pattern) => {
                Ok(with_servers(Box::new(auto(self.index, self.wait)?)))
            }
            AskedSource::Auto => Ok(with_servers(Box::new(LiveWalk::default()))),
            AskedSource::Live => Ok(Box::new(LiveWalk::default())),
        }
    }
}

/// An executor that is chosen when the first search needs one: a program that only names files asks
/// no daemon.
pub struct Deferred {
    choice: Choice,
    with_servers: fn(Box<dyn Executor>) -> Box<dyn Executor>,
    chosen: Mutex<Option<Arc<dyn Executor>>>,
}

impl Deferred {
    /// Creates an executor for this choice; see [`Choice::executor`].
    pub fn new(
        choice: Choice,
        with_servers: fn(Box<dyn Executor>) -> Box<dyn Executor>,
    ) -> Deferred {
        Deferred {
            choice,
            with_servers,
            chosen: Mutex::default(),
        }
    }

    fn chosen(&self, pattern: &Pattern) -> Result<Arc<dyn Executor>, CallError> {
        let mut chosen = lock(&self.chosen);
        if let Some(executor) = &*chosen {
            return Ok(Arc::clone(executor));
        }
        let executor = self.choice.clone().executor(pattern, self.with_servers);
        let executor = executor.map_err(|error| CallError::NotServed {
            path: String::from("the search"),
            why: error.to_string(),
        })?;
        let executor: Arc<dyn Executor> = Arc::from(executor);
        // The file system alone was chosen because this pattern is quick; the next may not be.
        if self.choice.who != AskedSource::Auto || !is_quick(pattern) {
            *chosen = Some(Arc::clone(&executor));
        }
        Ok(executor)
    }
}

impl Executor for Deferred {
    fn begin(&self, request: Request) -> Result<Box<dyn Stream>, CallError> {
        let slow = request
            .roots()
            .iter()
            .find(|root| !is_quick(root.pattern()));
        match slow.or_else(|| request.roots().first()) {
            Some(root) => self.chosen(root.pattern())?.begin(request),
            None => LiveWalk::default().begin(request),
        }
    }
}

/// Returns whether names can simply be looked up, which costs less than asking a daemon.
pub fn is_quick(pattern: &Pattern) -> bool {
    pattern.names(pattern.start()).is_some()
}

/// Returns an executor that asks the index at `given`, or the indexes of the user's settings, where
/// daemons say within `deadline` that they are as of now, and the file system elsewhere. Without a
/// deadline no daemon is asked.
///
/// # Errors
/// Fails if an index that the user named cannot be found or opened.
pub fn auto(given: Option<PathBuf>, deadline: Option<Duration>) -> Result<Auto, AskError> {
    let is_named = is_named(&given);
    let index = match indexes_to_ask(given).and_then(|dirs| if_fresh(dirs, deadline)) {
        // The user named no index, so a missing default is no error.
        Err(_) if !is_named => None,
        index => index?,
    };
    Ok(Auto::new(index, LiveWalk::default()))
}

/// Opens the indexes in these directories as they are, or as these daemons bring them up to date.
///
/// # Errors
/// Fails if one of them cannot be opened.
pub fn index(dirs: &[PathBuf], daemons: Option<Arc<Daemons>>) -> Result<IndexRead, AskError> {
    Ok(read(Arc::new(open(dirs, daemons, asker()?, AsOf::Now)?)))
}

/// Opens indexes so that they answer together, as of a time, as these daemons bring them up to
/// date.
///
/// # Errors
/// Fails if one of them cannot be opened.
pub fn open(
    dirs: &[PathBuf],
    daemons: Option<Arc<Daemons>>,
    who: Credentials,
    as_of: AsOf,
) -> Result<Index, QueryError> {
    let known = |index: &Path, root: &[u8]| daemons.as_ref()?.known(index, root);
    let places = IndexPlaces {
        dirs,
        known: &known,
    };
    let opened = Index::open_all(&places, who, as_of)?;
    Ok(opened.promised(daemons.map(|daemons| daemons as Arc<dyn Promises>)))
}

fn read(index: Arc<Index>) -> IndexRead {
    let places: Vec<PathBuf> = index.paths().map(Path::to_owned).collect();
    IndexRead::of_all(index, &places)
}

/// Opens those indexes of which a daemon says within `deadline`, about a source that one of these
/// paths lies in, that the times of rows show every change of contents. `None` if there are none,
/// which costs a lookup of a file for each index that nobody watches.
///
/// # Errors
/// Fails if such an index cannot be opened.
pub fn knowing_contents(
    mut dirs: Vec<PathBuf>,
    paths: &[Vec<u8>],
    deadline: Duration,
) -> Result<Option<(IndexRead, IsFresh)>, AskError> {
    dirs.retain(|dir| IndexDir::is_watched(dir));
    if dirs.is_empty() {
        return Ok(None);
    }
    let daemons = Daemons::ask_around(&dirs, paths, deadline);
    open_if(
        dirs,
        daemons,
        DaemonAnswer::knows_contents,
        Daemons::knows_contents,
    )
}

/// Opens those indexes of which a daemon has brought at least one source up to date.
fn if_fresh(
    mut dirs: Vec<PathBuf>,
    deadline: Option<Duration>,
) -> Result<Option<(IndexRead, IsFresh)>, AskError> {
    dirs.retain(|dir| IndexDir::is_watched(dir));
    let Some(deadline) = deadline.filter(|_| !dirs.is_empty()) else {
        return Ok(None);
    };
    let daemons = Daemons::ask(&dirs, deadline, Duration::ZERO);
    open_if(
        dirs,
        daemons,
        DaemonAnswer::is_as_of_now,
        Daemons::is_as_of_now,
    )
}

/// Opens those indexes about which a daemon's answer is good enough, and returns which sources of
/// them are.
fn open_if(
    mut dirs: Vec<PathBuf>,
    daemons: Arc<Daemons>,
    is_good: fn(&DaemonAnswer) -> bool,
    is_good_of: fn(&Daemons, &Path, &[u8]) -> bool,
) -> Result<Option<(IndexRead, IsFresh)>, AskError> {
    let asked = daemons.asked();
    dirs.retain(|dir| asked.iter().any(|one| one.index == *dir && is_good(one)));
    if dirs.is_empty() {
        return Ok(None);
    }
    let opened = open(&dirs, Some(Arc::clone(&daemons)), asker()?, AsOf::Now)?;
    let index = Arc::new(opened);
    let opened = Arc::clone(&index);
    // Another index may have a source with the same root that is not fresh, and may be the one that
    // answers.
    let is_fresh: IsFresh = Arc::new(move |root: &[u8]| {
        let by = opened.path_of(root);
        by.is_some_and(|by| is_good_of(&daemons, by, root))
    });
    Ok(Some((read(index), is_fresh)))
}
