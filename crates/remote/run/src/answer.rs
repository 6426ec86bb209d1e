//! Answers a server's clients: from the index where a daemon confirms that it is up to date,
//! elsewhere from the file system. Both are read as the user of this process.

use std::path::PathBuf;

use trawl_call::{CallError, Executor, LiveWalk, Request, Stream};
use trawl_open::barrier::DEADLINE;

/// Executor that asks the daemons again for each search.
pub(crate) struct FreshOrLive {
    /// The index that the user named, if any.
    pub(crate) index: Option<PathBuf>,
}

impl Executor for FreshOrLive {
    fn begin(&self, request: Request) -> Result<Box<dyn Stream>, CallError> {
        // Trees of exports are never answered from an index, so no daemon need be asked.
        let mut roots = request.roots().iter();
        if roots.all(|root| root.confined().is_some()) {
            return LiveWalk::default().begin(request);
        }
        match trawl_open::search::auto(self.index.clone(), Some(DEADLINE)) {
            Ok(auto) => auto.begin(request),
            // If the index cannot be used for any reason, the file system still can.
            Err(_) => LiveWalk::default().begin(request),
        }
    }
}
