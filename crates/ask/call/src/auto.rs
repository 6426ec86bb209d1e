//! Answers from the index where it is known to be as of now, and walks the file system elsewhere.

use crate::error::CallError;
use crate::executor::{Executor, Stream};
use crate::index::{Chain, IndexRead, canonical};
use crate::live::LiveWalk;
use crate::request::Request;
use crate::rescued::Rescued;

/// Tells whether the index of a source, named by its root, has every change that was made before
/// the index was opened, that is, whether a daemon answered a barrier for the source.
pub type IsFresh = std::sync::Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// Answers each root from the index if the index is fresh and able to, and otherwise from the file
/// system.
pub struct Auto {
    index: Option<(IndexRead, IsFresh)>,
    live: LiveWalk,
}

impl std::fmt::Debug for Auto {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Auto").finish_non_exhaustive()
    }
}

impl Auto {
    /// Creates an executor over this index, or over the file system alone if `index` is `None`.
    pub fn new(index: Option<(IndexRead, IsFresh)>, live: LiveWalk) -> Auto {
        Auto { index, live }
    }
}

impl Executor for Auto {
    fn begin(&self, request: Request) -> Result<Box<dyn Stream>, CallError> {
        let Some((index, is_fresh)) = self.index.clone() else {
            return self.live.begin(request);
        };
        let live = self.live;
        let choose = move |_, request| match from_index(&index, &is_fresh, &request) {
            Some(Ok(stream)) => Ok(Box::new(Rescued::new(stream, request, live)) as _),
            Some(Err(error)) => Err(error),
            None => live.begin(request),
        };
        Ok(Box::new(Chain::new(request, choose)))
    }
}

/// Returns the index's answer about the request's only root. `None` if the index cannot answer, is
/// not fresh, or is not worth opening.
fn from_index(
    index: &IndexRead,
    is_fresh: &IsFresh,
    request: &Request,
) -> Option<Result<Box<dyn Stream>, CallError>> {
    let root = &request.roots()[0];
    let pattern = root.pattern();
    // Looking up a few names costs less than opening a snapshot.
    if pattern.names(pattern.start()).is_some() {
        return None;
    }
    let place = canonical(root).ok()?;
    // An index that fails is no error here: the file system can answer instead.
    let prepared = index.prepare(request, 0, &place).ok()?;
    is_fresh(prepared.source()).then(|| prepared.begin())
}
