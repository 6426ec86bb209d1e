//! Who answers a server's clients: the index where a daemon says that it is as of now, and the
//! file system elsewhere, both as the user that this process is.

use std::path::PathBuf;

use trawl_call::{CallError, Executor, LiveWalk, Request, Stream};

use crate::fresh::DEADLINE;

/// Asks daemons anew for each search.
pub(super) struct FreshOrLive {
    /// The index that was named, if one was.
    pub(super) index: Option<PathBuf>,
}

impl Executor for FreshOrLive {
    fn begin(&self, request: Request) -> Result<Box<dyn Stream>, CallError> {
        // What lies in an export is never answered from an index: nobody need be asked.
        let mut roots = request.roots().iter();
        if roots.all(|root| root.confined().is_some()) {
            return LiveWalk::default().begin(request);
        }
        match trawl_ask::search::auto(self.index.clone(), Some(DEADLINE)) {
            Ok(auto) => auto.begin(request),
            // Whatever is wrong with the index, the file system is there.
            Err(_) => LiveWalk::default().begin(request),
        }
    }
}
