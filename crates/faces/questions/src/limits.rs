//! Limits of answers, of arguments and of what is open at a time.

use std::time::Duration;

/// Most bytes of a matching line that are shown.
pub const TEXT_BYTES: usize = 500;

/// Most messages of an answer, and the most bytes of each.
pub const ISSUES: usize = 50;
/// See [`ISSUES`].
pub const ISSUE_BYTES: usize = 400;

/// Most paths of a question, and words of an expression.
pub const PATHS: usize = 64;
/// See [`PATHS`].
pub const EXPRESSION_WORDS: usize = 256;

/// Most bytes of all words of a command line.
pub const WORDS_BYTES: usize = 64 << 10;

/// Bytes that `read` returns if the client does not say how many, and the most.
pub const READ_DEFAULT: u32 = 16 << 10;
/// See [`READ_DEFAULT`].
pub const READ_MAX: u32 = 64 << 10;

/// Time that a full answer waits to see whether a row follows.
pub const PEEK: Duration = Duration::from_secs(1);

/// Time after the end of a command line in which its last messages are read.
pub const LAST_MESSAGES: Duration = Duration::from_secs(1);

/// Limits of the answers to one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Rows of a page if the client does not say how many.
    pub rows_default: u32,
    /// Most rows of a page.
    pub rows_max: u32,
    /// Most bytes of the rows of a page, as JSON. A row that is longer is left out.
    pub bytes: usize,
    /// Time in which a call is answered, with what has been found so far.
    pub call: Duration,
    /// Time after which an answer that nobody continues is closed.
    pub silence: Duration,
    /// Most answers that can be continued at a time. A further one closes the one that has been
    /// silent for the longest time.
    pub open: usize,
    /// Most command lines that run for calls at a time; further calls wait.
    pub calls: usize,
}

/// Limits for an assistant, whose memory is short.
pub const ASSISTANT: Limits = Limits {
    rows_default: 100,
    rows_max: 1_000,
    bytes: 64 << 10,
    call: Duration::from_secs(30),
    silence: Duration::from_secs(300),
    open: 16,
    calls: 16,
};
