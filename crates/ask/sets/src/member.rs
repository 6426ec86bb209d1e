//! Members of a set, as they are found, described and delivered.

use std::fs::File;
use std::io;

use trawl_call::Attributes;

use crate::opener::PlaceId;

/// The description of a member: what `setDigest` returns. Nothing is fetched for it.
#[derive(Clone, Debug)]
pub struct Digest {
    /// Path or URL of the member, as it would be opened.
    pub name: Vec<u8>,
    /// The member's attributes, if they came with its name.
    pub attributes: Option<Attributes>,
}

/// A member ready to be read: what `setIterate` returns.
#[derive(Debug)]
pub struct Opened {
    /// Path or URL of the member.
    pub name: Vec<u8>,
    /// A descriptor at offset 0 whose first bytes have arrived. It can seek, unless `is_stream`.
    pub file: File,
    /// Whether the bytes come through a pipe or a socket, and the descriptor cannot seek: the object is
    /// too large to hold, or is no regular file.
    pub is_stream: bool,
    /// The whole content, if the opener had it in memory: the descriptor need not be read.
    pub content: Option<Vec<u8>>,
    /// Where the member lies.
    pub place: PlaceId,
    /// Whether the first bytes were in memory already when the member was looked at.
    pub was_cached: bool,
    /// Position of the member in the order in which members were found, from 0.
    pub position: u64,
}

/// What was being done when something went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// A part of the set pathname was being expanded.
    Expand,
    /// The member was being opened.
    Open,
    /// The member's first bytes were being fetched.
    Fetch,
}

/// A member that cannot be read, or a part of the set that cannot be expanded. It is delivered in
/// the place of the member, so that nothing is lost silently.
#[derive(Debug)]
pub struct Problem {
    /// Path or URL that the problem is about.
    pub name: Vec<u8>,
    /// What was being done.
    pub op: Op,
    /// The cause.
    pub source: io::Error,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match self.op {
            Op::Expand => "cannot expand",
            Op::Open => "cannot open",
            Op::Fetch => "cannot read",
        };
        let name = trawl_model::mapped::spelled(&self.name);
        let name = String::from_utf8_lossy(&name);
        write!(f, "{what} {name}: {}", self.source)
    }
}
