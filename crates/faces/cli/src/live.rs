//! Signals of questions: an interrupt sets a flag that ends the question, once there is something
//! to clean up.

use std::sync::atomic::{AtomicBool, Ordering};

use trawl_session::Interrupts;
use trawl_sys::SysError;

/// Returns how sessions are ended early.
pub(crate) fn interrupts() -> Interrupts<'static> {
    Interrupts {
        cancel: cancel(),
        outlive_signals: Some(outlive_signals),
    }
}

/// From now on, an interrupt sets a flag and a closed pipe is a write error, so that the process
/// has time to clean up.
pub(crate) fn outlive_signals() -> Result<(), SysError> {
    trawl_sys::signal::ignore_broken_pipe()?;
    trawl_sys::signal::watch_interrupts().map(drop)
}

/// Returns the flag that ends a question after an interrupt.
pub(crate) fn cancel() -> Option<&'static AtomicBool> {
    Some(trawl_sys::signal::interrupted())
}

/// Returns true if an interrupt was recorded.
pub(crate) fn is_interrupted() -> bool {
    trawl_sys::signal::interrupted().load(Ordering::Relaxed)
}
