//! The wire protocol: frames and their encoding.
//!
//! A frame is a length (4 bytes: of the bytes that follow), a kind (1), zeros (3), the number of
//! the request that it belongs to (4; 0 for the connection itself), and a body. All numbers are
//! little-endian; *bytes* stands for a length (4) and that many bytes.
//!
//! [`Message`] lists the kinds, and what the body of each is.
//!
//! Invariants: bytes are untrusted. No length is believed before that many bytes are there; exactly
//! the bytes that [`Message::encode`] writes are accepted; a frame of an unknown kind can be
//! skipped.

pub(crate) mod fields;

pub use crate::messages::attributes::items as attributes;
pub use crate::messages::fetch::version;
pub use crate::messages::*;

/// The version that this program speaks. In version 1 the pattern `/` matched the searched
/// directory itself; it matches the entries of that directory now.
pub const VERSION: u16 = 2;

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
