//! How long this process waits for another one: until a deadline, or until it is told to end.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longest wait before the flag is looked at again.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The end of a wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Until<'c> {
    deadline: Instant,
    cancel: &'c AtomicBool,
}

impl<'c> Until<'c> {
    /// Waits as long as this, unless the flag is set.
    pub(crate) fn new(time: Duration, cancel: &'c AtomicBool) -> Until<'c> {
        Until {
            deadline: Instant::now() + time,
            cancel,
        }
    }

    /// Returns whether the flag is set.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Returns how long to wait before asking again; `None` if the wait is over.
    pub(crate) fn left(&self) -> Option<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        (!left.is_zero() && !self.is_cancelled()).then(|| left.min(LOOK_EVERY))
    }

    /// As [`Until::left`].
    ///
    /// # Errors
    /// `TimedOut` if the wait is over.
    pub(crate) fn left_or_over(&self) -> io::Result<Duration> {
        self.left().ok_or_else(|| io::ErrorKind::TimedOut.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_at_its_deadline_or_with_the_flag() {
        let cancel = AtomicBool::new(false);
        let until = |secs| Until::new(Duration::from_secs(secs), &cancel);
        assert_eq!(until(0).left(), None);
        assert_eq!(until(60).left(), Some(LOOK_EVERY));
        cancel.store(true, Ordering::Relaxed);
        assert_eq!(until(60).left(), None);
        let error = until(60).left_or_over().map_err(|error| error.kind());
        assert_eq!(error, Err(io::ErrorKind::TimedOut));
    }
}
