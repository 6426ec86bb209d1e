//! What a worker is asked, and how it answers. The two ends are connected by a stream socket, which
//! is the worker's standard input.
//!
//! The worker sends [`READY`], or why it cannot serve. Then the parent sends a request, as JSON with
//! the file's descriptor, and the worker answers with a length of four bytes (little endian) and as
//! many bytes of JSON, an [`Extracted`]. Only one request is on its way.

use serde::{Deserialize, Serialize};

use crate::format::Format;
use crate::found::Extracted;
use crate::limits::Limits;

/// The first message of a worker that has given up its rights.
pub const READY: &[u8] = b"ready\n";

/// Maximum length of a request in bytes.
pub const REQUEST_BYTES_MAX: usize = 4096;

/// Environment variable with the address space of a worker in bytes.
pub const MEMORY: &str = "TRAWL_HOOK_MEMORY";

/// What is asked of a worker. The file's name is not part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The file's format.
    pub format: Format,
    /// The file's size in bytes when it was looked at.
    pub size_bytes: u64,
    /// The limits.
    pub limits: Limits,
}

impl Request {
    /// Returns the request as bytes.
    ///
    /// # Errors
    /// Never fails in practice: the types have a form in JSON.
    pub fn to_bytes(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }

    /// Reads a request.
    ///
    /// # Errors
    /// Fails if the bytes are no request.
    pub fn parse(bytes: &[u8]) -> serde_json::Result<Request> {
        serde_json::from_slice(bytes)
    }
}

/// Returns an answer as bytes, with its length.
///
/// # Errors
/// Never fails in practice: the types have a form in JSON.
pub fn answer(found: &Extracted) -> serde_json::Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, found)?;
    let length = u32::try_from(bytes.len() - 4).unwrap_or(u32::MAX);
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}
