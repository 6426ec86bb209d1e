//! The wire protocol: frames and their encoding.
//!
//! A frame is a length (4 bytes: of the bytes that follow), a kind (1), zeros (3), the number of
//! the request that it belongs to (4; 0 for the connection itself), and a body. All numbers are
//! little-endian; *bytes* stands for a length (4) and that many bytes.
//!
//! | kind | from | body |
//! |---|---|---|
//! | 1 hello | both | `trawl\0rp`, lowest and highest version (2 each; from a server both are the version that it speaks), maximum number of concurrent requests (4; from a client 0), features (8) |
//! | 2 search | client | flags (4), depth (4), credit (4), cookie (bytes; empty if none), number of patterns (4), the patterns (bytes), number of roots (4), for each root: index of its pattern (4), number (4), path, path as shown, prefix (bytes), number of skipped paths (4), the skipped paths (bytes) |
//! | 3 block | server | whole records, encoded as in `trawl_call::packed` |
//! | 4 end | server | 0 complete or 1 paused (1), zeros (7), number of records sent (8), for 1 a cookie to resume with (bytes, else empty) |
//! | 5 error | server | code (2), zeros (2), errno (4), text (bytes) |
//! | 6 interrupt | client | nothing |
//! | 7 credit | client | number of additional bytes of blocks that may be sent (4) |
//! | 8 stat | client | 0 for a link's target, 1 for a link itself (1), zeros (3), path (bytes) |
//! | 9 list | client | credit (4), path (bytes) |
//! | 10 read | client | offset (8), length (4), path (bytes) |
//! | 11 data | server | bytes of a file, to the end of the frame |
//! | 12 alive | server | nothing: work continues |
//! | 13 served by | server, to clients with that feature | who gives the blocks that follow: 1 a walk, 2 an index (1), zeros (3) |
//! | 14 links | client | number of paths (4), the paths (bytes); the answer is data: for each path an errno (4) and the link's target (bytes) |
//! | 15 attributes | client | maximum number of entries (4), path of a directory, path of an object below it (bytes); the answer is data: the [`attributes`] of that object (with an empty path those of the directory itself, links followed), then those of the objects after it in a search of the directory |
//! | 16 watch | client | the top (bytes), number of directories (4), the directories, relative to the top (bytes). The answer is news, until the request is interrupted. With the number of a running watch: watches these directories, too; only after all earlier ones were answered |
//! | 17 news | server | number of items (4), for each item: 0 watched, 1 not watched, 2 changed, 3 lost (1), zeros (3), path relative to the top (bytes), for 2 a number of names (4), for each name: 0 attributes or contents changed, 1 names another file (1), zeros (3), the name (bytes; `.` is the directory itself). No items: nothing changed |
//! | 18 fetch | client | offset (8), length (4), path (bytes); the answer is data: the [`version`] of the file, then its bytes in that version |
//!
//! Invariants: bytes are untrusted. No length is believed before that many bytes are there; exactly
//! the bytes that [`Message::encode`] writes are accepted; a frame of an unknown kind can be
//! skipped.

pub mod attributes;
mod fields;
#[cfg(test)]
mod golden;
mod message;
mod news;
pub mod version;

pub use message::{Answerer, Code, Ending, Hello, Message, Question, QuestionRoot};
pub use news::{Happened, News, NewsName};

/// The version that this program speaks. In version 1 the pattern `/` matched the searched
/// directory itself; it matches the entries of that directory now.
pub const VERSION: u16 = 2;

/// Feature bits: requests that a server knows besides search, and messages that a client
/// understands.
pub mod feature {
    /// Knows `stat`.
    pub const STAT: u64 = 1;
    /// Knows `list`.
    pub const LIST: u64 = 1 << 1;
    /// Knows `read`.
    pub const READ: u64 = 1 << 2;
    /// Sends `served by`, or understands it.
    pub const SERVED_BY: u64 = 1 << 3;
    /// Knows `links`.
    pub const LINKS: u64 = 1 << 4;
    /// Knows `attributes`.
    pub const ATTRIBUTES: u64 = 1 << 5;
    /// Knows `watch`.
    pub const WATCH: u64 = 1 << 6;
    /// Knows `fetch`.
    pub const FETCH: u64 = 1 << 7;
    /// All features of this version.
    pub const ALL: u64 = STAT | LIST | READ | SERVED_BY | LINKS | ATTRIBUTES | WATCH | FETCH;
}

/// Maximum length of a client's frame.
pub const REQUEST_MAX_BYTES: usize = 4 << 20;
/// Maximum length of a server's frame: one record can have more than 16 MiB.
pub const ANSWER_MAX_BYTES: usize = (16 << 20) + (64 << 10);
/// Maximum number of bytes that one `read` or `fetch` returns.
pub const READ_MAX_BYTES: u32 = 1 << 20;
/// Maximum number of paths in one `links`.
pub const LINKS_MAX: usize = 4096;
/// Maximum number of directories in one `watch`.
pub const WATCH_MAX: usize = 4096;
/// Size at which an answer to `attributes` pauses. It is also the limit for the attributes of one
/// object: values beyond it are `E2BIG`.
pub const ATTRIBUTES_MAX_BYTES: usize = 4 << 20;
/// Length of the head after the length field.
pub const HEAD_BYTES: usize = 8;

/// An invalid frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadFrame {
    /// Its length exceeds the maximum, or is too short for a head.
    #[error("a frame of {0} bytes is not allowed")]
    Length(usize),
    /// Its kind is unknown.
    #[error("there are no frames of kind {0}")]
    Kind(u8),
    /// A field has an invalid value, or is missing.
    #[error("the {0} is invalid")]
    Field(&'static str),
    /// Its kind is not expected there.
    #[error("an unexpected frame arrived: {0}")]
    Unexpected(&'static str),
}

/// A received frame, not yet decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Kind of the frame.
    pub kind: u8,
    /// Number of the request that it belongs to.
    pub id: u32,
    /// The body.
    pub body: Vec<u8>,
}
