//! Waits until the names of a closed set are no longer being found, because that ends the commands
//! in names, which would outlive this process.

use std::sync::Arc;
use std::time::{Duration, Instant};

use trawl_call::Cancel;
use trawl_sets::{Found, Names, Problem};

/// How long to wait for a search that does not notice that it was cancelled.
const PATIENCE: Duration = Duration::from_secs(2);
/// How soon the end is noticed.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// The sources of names that have not ended.
#[derive(Default)]
pub(super) struct Alive(Arc<()>);

impl Alive {
    /// Returns the names, which count until they are dropped.
    pub(super) fn watch(&self, names: Box<dyn Names>) -> Box<dyn Names> {
        let alive = Arc::clone(&self.0);
        Box::new(Watched {
            names,
            _alive: alive,
        })
    }

    /// Waits until all names were dropped. Their sets must have been closed.
    pub(super) fn wait(self) {
        let begun = Instant::now();
        while Arc::strong_count(&self.0) > 1 && begun.elapsed() < PATIENCE {
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}

struct Watched {
    /// Dropped before the mark.
    names: Box<dyn Names>,
    _alive: Arc<()>,
}

impl Names for Watched {
    fn next(&mut self, cancel: &Cancel) -> Option<Result<Found, Problem>> {
        self.names.next(cancel)
    }
}
