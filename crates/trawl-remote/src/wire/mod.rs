//! What is said: frames, and the bytes that they are.
//!
//! A frame is a length (4 bytes: of what follows), a kind (1), zeros (3), the number of the
//! request that it belongs to (4; 0 for the connection itself), and a body. All numbers are
//! little-endian; *bytes* are a length (4) and so many bytes.
//!
//! | kind | from | body |
//! |---|---|---|
//! | 1 hello | both | `trawl\0rp`, lowest and highest version (2 each; of a server both the one that is spoken), requests at once (4; of a client 0), features (8) |
//! | 2 search | client | flags (4), depth (4), credit (4), cookie (bytes; none: empty), number of patterns (4), these (bytes), number of roots (4), of each: its pattern (4), number (4), path, what is shown, prefix (bytes), number of skipped paths (4), these (bytes) |
//! | 3 block | server | whole records, as `trawl_call::packed` has them |
//! | 4 end | server | 0 whole, 1 to be gone on with (1), zeros (7), records that were sent (8), for 1 a cookie (bytes, else empty) |
//! | 5 error | server | code (2), zeros (2), errno (4), words (bytes) |
//! | 6 interrupt | client | nothing |
//! | 7 credit | client | so many more bytes of blocks (4) |
//! | 8 stat | client | 0 of a link's target, 1 of a link itself (1), zeros (3), path (bytes) |
//! | 9 list | client | credit (4), path (bytes) |
//! | 10 read | client | offset (8), length (4), path (bytes) |
//! | 11 data | server | bytes of a file, to the end of the frame |
//! | 12 alive | server | nothing: work goes on |
//! | 13 served by | server, to clients with that feature | who gives the blocks that follow: 1 a walk, 2 an index (1), zeros (3) |
//! | 14 links | client | number of paths (4), these (bytes); the answer is data: of each path an errno (4) and a link's target (bytes) |
//! | 15 attributes | client | entries at most (4), path of a directory, path below it (bytes); the answer is data: [`attributes`] of that object (with an empty path of the directory itself, links followed), then of what a search of the directory has behind it |
//! | 16 watch | client | the top (bytes), number of directories (4), these, relative to the top (bytes). The answer is news, until it is interrupted; with the number of one that goes on: these, too, once all before have been answered |
//! | 17 news | server | number of these (4), of each: 0 watched, 1 not watched, 2 changed, 3 lost (1), zeros (3), path relative to the top (bytes), for 2 a number of names (4), of each: 0 attributes or contents, 1 which file it is (1), zeros (3), the name (bytes; `.`: the directory itself). None: everything is as it was |
//! | 18 fetch | client | offset (8), length (4), path (bytes); the answer is data: [`version`] of the file, then its bytes under that version |
//!
//! Invariants: bytes are untrusted. No length is believed before so many bytes are there; just
//! what [`Message::encode`] writes is accepted; a frame of an unknown kind can be passed over.

pub mod attributes;
mod fields;
mod message;
mod news;
pub mod version;

pub use message::{Answerer, Code, Ending, Hello, Message, Question, QuestionRoot};
pub use news::{Happened, News, NewsName};

/// The version that this program speaks. In version 1 the pattern `/` was the searched directory
/// itself; it is what that directory holds.
pub const VERSION: u16 = 2;

/// What a server can do besides searching, and a client understand.
pub mod feature {
    /// `stat`.
    pub const STAT: u64 = 1;
    /// `list`.
    pub const LIST: u64 = 1 << 1;
    /// `read`.
    pub const READ: u64 = 1 << 2;
    /// Says who answers, and understands it.
    pub const SERVED_BY: u64 = 1 << 3;
    /// `links`.
    pub const LINKS: u64 = 1 << 4;
    /// `attributes`.
    pub const ATTRIBUTES: u64 = 1 << 5;
    /// `watch`.
    pub const WATCH: u64 = 1 << 6;
    /// `fetch`.
    pub const FETCH: u64 = 1 << 7;
    /// All of this version.
    pub const ALL: u64 = STAT | LIST | READ | SERVED_BY | LINKS | ATTRIBUTES | WATCH | FETCH;
}

/// The longest frame that a client sends.
pub const REQUEST_MAX_BYTES: usize = 4 << 20;
/// The longest frame that a server sends: one record can have more than 16 MiB.
pub const ANSWER_MAX_BYTES: usize = (16 << 20) + (64 << 10);
/// The most that one `read` or `fetch` gives.
pub const READ_MAX_BYTES: u32 = 1 << 20;
/// The most paths of one `links`.
pub const LINKS_MAX: usize = 4096;
/// The most directories of one `watch`.
pub const WATCH_MAX: usize = 4096;
/// So many bytes of answers to `attributes` are sent, and then the end for now; what one object has
/// is no more either, or what is more is `E2BIG`.
pub const ATTRIBUTES_MAX_BYTES: usize = 4 << 20;
/// What follows the length besides the body.
pub const HEAD_BYTES: usize = 8;

/// A frame that makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadFrame {
    /// It says that it is longer than allowed, or shorter than possible.
    #[error("a frame of {0} bytes is not allowed")]
    Length(usize),
    /// There is no such kind.
    #[error("there are no frames of kind {0}")]
    Kind(u8),
    /// A part has a value that it cannot have, or is missing.
    #[error("the {0} makes no sense")]
    Field(&'static str),
    /// It is of a kind that is not expected there.
    #[error("a frame came that nobody asked for: {0}")]
    Unexpected(&'static str),
}

/// A frame as it came: not looked into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What it is.
    pub kind: u8,
    /// The request that it belongs to.
    pub id: u32,
    /// The rest.
    pub body: Vec<u8>,
}
