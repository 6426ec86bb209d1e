//! Who answers the search call: the index where a daemon's barrier was answered, and the file
//! system elsewhere.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use trawl_call::auto::IsFresh;
use trawl_call::index::IndexRead;
use trawl_call::{Auto, Executor, LiveWalk, Pattern};
use trawl_index::IndexDir;
use trawl_query::Index;

use crate::barrier;
use crate::error::AskError;
use crate::place::{asker, index_to_ask, is_named};

/// Who a program asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Who {
    /// The index where it is as of now, and the file system elsewhere.
    #[default]
    Auto,
    /// The file system.
    Live,
    /// The index as it is, behind the daemons that could be asked.
    Index,
}

/// What a program says of who is to answer.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Who is asked.
    pub who: Who,
    /// Which index; `None`: that of the user's settings.
    pub index: Option<PathBuf>,
    /// How long daemons are waited for; `None`: they are not asked.
    pub wait: Option<Duration>,
}

impl Choice {
    /// Who answers a search for this pattern. Daemons are asked here, so this may take as long as
    /// they are waited for; it never does where [`is_quick`].
    ///
    /// # Errors
    /// If there is something wrong with an index that has to be asked.
    pub fn executor(self, pattern: &Pattern) -> Result<Box<dyn Executor>, AskError> {
        match self.who {
            Who::Index => {
                let dir = index_to_ask(self.index)?;
                if let Some(wait) = self.wait.filter(|_| barrier::is_watched(&dir)) {
                    // What is behind is asked as it is.
                    barrier::ask(&dir, wait, Duration::ZERO);
                }
                Ok(Box::new(index(&dir)?))
            }
            Who::Auto if !is_quick(pattern) => Ok(Box::new(auto(self.index, self.wait)?)),
            Who::Auto | Who::Live => Ok(Box::new(LiveWalk::default())),
        }
    }
}

/// Whether names can simply be looked for: that costs less than asking a daemon.
pub fn is_quick(pattern: &Pattern) -> bool {
    pattern.names(pattern.start()).is_some()
}

/// Asks the index at `given`, or that of the user's settings, where daemons say within `deadline`
/// that it is as of now, else the file system. Without a deadline nobody is asked.
///
/// # Errors
/// If there is something wrong with an index that somebody named.
pub fn auto(given: Option<PathBuf>, deadline: Option<Duration>) -> Result<Auto, AskError> {
    let is_named = is_named(&given);
    let index = match index_to_ask(given).and_then(|dir| if_fresh(&dir, deadline)) {
        // Nobody said that there is one.
        Err(_) if !is_named => None,
        index => index?,
    };
    Ok(Auto::new(index, LiveWalk::default()))
}

/// Asks the index in a directory as it is.
///
/// # Errors
/// If it cannot be opened.
pub fn index(dir: &Path) -> Result<IndexRead, AskError> {
    Ok(IndexRead::new(Arc::new(Index::open(dir, asker()?)?), dir))
}

/// The index, if a daemon has brought at least one of its sources up to date.
fn if_fresh(
    dir: &Path,
    deadline: Option<Duration>,
) -> Result<Option<(IndexRead, IsFresh)>, AskError> {
    let Some(deadline) = deadline.filter(|_| IndexDir::is_watched(dir)) else {
        return Ok(None);
    };
    let asked = barrier::ask(dir, deadline, Duration::ZERO).into_iter();
    let fresh = asked.filter(barrier::Asked::is_as_of_now);
    let roots: HashSet<Vec<u8>> = fresh.map(|asked| asked.root).collect();
    if roots.is_empty() {
        return Ok(None);
    }
    let is_fresh: IsFresh = Arc::new(move |root: &[u8]| roots.contains(root));
    Ok(Some((index(dir)?, is_fresh)))
}
