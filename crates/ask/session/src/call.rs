//! The executor of a search call, and the freshness of the index that it asks.

use std::path::PathBuf;

use trawl_call::{Executor, Pattern};
use trawl_open::search::{AskedSource, Choice, index};

use crate::error::SessionError;
use crate::freshness::Freshness;
use crate::options::When;
use crate::settings::indexes_to_ask;

/// The executor of a search.
pub struct Asked {
    /// The executor.
    pub executor: Box<dyn Executor>,
    /// How fresh the index is, if it is asked in any case. Otherwise it is asked only where it is
    /// as of now.
    pub freshness: Option<Freshness>,
}

/// Returns the executor for a search for this pattern, and waits for daemons as `when` says.
/// `with_servers` wraps an executor so that servers answer about their mounts.
///
/// # Errors
/// Fails if an index that has to be asked cannot be found or opened.
pub fn executor(
    given: Option<PathBuf>,
    who: AskedSource,
    when: When,
    pattern: &Pattern,
    with_servers: impl FnOnce(Box<dyn Executor>) -> Box<dyn Executor>,
) -> Result<Asked, SessionError> {
    if who == AskedSource::Index {
        let dirs = indexes_to_ask(given)?;
        let freshness = Freshness::ask(&dirs, when);
        return Ok(Asked {
            executor: Box::new(index(&dirs, freshness.daemons())?),
            freshness: Some(freshness),
        });
    }
    let choice = Choice {
        who,
        index: given,
        wait: when.wait.deadline(),
    };
    Ok(Asked {
        executor: choice.executor(pattern, with_servers)?,
        freshness: None,
    })
}
