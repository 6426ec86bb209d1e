//! How long a caller waits.

use std::sync::MutexGuard;
use std::time::{Duration, Instant};

use super::bell::Bell;
use crate::error::TimedOut;

/// The time until which a caller waits; `None` for no limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience(Option<Instant>);

impl Patience {
    /// Waits without a limit.
    pub(crate) const ENDLESS: Patience = Patience(None);

    /// Waits for this long from now; a time that the clock cannot count is no limit.
    pub(crate) fn of(limit: Duration) -> Patience {
        Patience(Instant::now().checked_add(limit))
    }

    /// Returns whether there is a limit: such a caller does nothing itself that may block.
    pub(crate) fn is_limited(self) -> bool {
        self.0.is_some()
    }

    /// Fails if the time is over.
    pub(crate) fn check(self) -> Result<(), TimedOut> {
        match self.0 {
            Some(until) if Instant::now() >= until => Err(TimedOut),
            _ => Ok(()),
        }
    }

    /// Waits for a change, for no longer than this and than `limit`.
    pub(crate) fn wait<'a, T>(
        self,
        changed: &Bell,
        guard: MutexGuard<'a, T>,
        limit: Option<Duration>,
    ) -> MutexGuard<'a, T> {
        let left = |until: Instant| until.saturating_duration_since(Instant::now());
        changed.wait_up_to(guard, self.0.map(left).into_iter().chain(limit).min())
    }
}
