//! What the caller of a session chooses.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use trawl_query::AsOf;
use trawl_sys::SysError;

use crate::freshness::DEADLINE;
use crate::notice::Notice;

/// Whether a question waits for the daemons that watch the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// Where a daemon watches, up to [`DEADLINE`](crate::freshness::DEADLINE).
    #[default]
    IfWatched,
    /// Never: the index is read as it is.
    Never,
    /// Up to this time. Sources that no daemon watches are reported.
    UpTo(Duration),
}

impl Wait {
    /// Returns the maximum time to wait for a daemon that watches; `None` if it is not asked.
    pub fn deadline(self) -> Option<Duration> {
        match self {
            Wait::IfWatched => Some(DEADLINE),
            Wait::Never => None,
            Wait::UpTo(deadline) => Some(deadline),
        }
    }
}

/// The time that a question is about, and how fresh the answer must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct When {
    /// A moment in the past; `None` for now.
    pub at: Option<AsOf>,
    /// Waiting for daemons.
    pub wait: Wait,
    /// Age up to which answers are accepted.
    pub max_age: Option<Duration>,
}

/// What a session reports when it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Report {
    /// That parts are missing.
    #[default]
    Gaps,
    /// How fresh the answer is, and each part that is missing.
    Status,
}

/// How a question is ended early.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interrupts<'a> {
    /// The question ends soon after this is set.
    pub cancel: Option<&'a AtomicBool>,
    /// Called before temporary files are made, which are removed when the session is dropped: from
    /// then on signals should set the flag instead of ending the process.
    pub outlive_signals: Option<fn() -> Result<(), SysError>>,
}

/// Options of a session.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The time that the question is about.
    pub when: When,
    /// The notices at the end.
    pub report: Report,
    /// How the question is ended early.
    pub interrupts: Interrupts<'a>,
    /// Receives the notices, in order.
    pub listener: &'a dyn Fn(Notice),
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            when: When::default(),
            report: Report::default(),
            interrupts: Interrupts::default(),
            listener: &silent,
        }
    }
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("when", &self.when)
            .field("report", &self.report)
            .field("interrupts", &self.interrupts)
            .finish_non_exhaustive()
    }
}

/// A listener that ignores notices.
pub fn silent(_: Notice) {}
