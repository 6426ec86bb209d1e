//! How members are opened, and the places that they lie at.

use std::fs::File;

pub use crate::local::Local;
use crate::member::Problem;
use crate::source::Found;

/// A place: a block device, a mount or a server. Members at one place compete for the same disk or
/// connection; members at different places do not.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlaceId {
    /// The block device with this number, for local file systems.
    Device(u64),
    /// The mount with this mount id, for network and other file systems without a block device.
    Mount(u64),
    /// The server with this address.
    Server(String),
}

/// A member whose first bytes are there.
#[derive(Debug)]
pub struct Fetched {
    /// Descriptor at offset 0.
    pub file: File,
    /// Whether the bytes come through a pipe or a socket, and the descriptor cannot seek.
    pub is_stream: bool,
    /// Number of bytes that were fetched ahead.
    pub ahead_bytes: u64,
    /// Whether the first bytes were cached already.
    pub was_cached: bool,
    /// The whole content, if the opener has it in memory; the descriptor has the same bytes.
    pub content: Option<Vec<u8>>,
}

impl Fetched {
    /// Returns a member that was fetched, and whose descriptor can seek.
    pub fn of(file: File, ahead_bytes: u64) -> Fetched {
        Fetched {
            file,
            is_stream: false,
            ahead_bytes,
            was_cached: false,
            content: None,
        }
    }
}

/// Function that takes a fetched member or its problem; any thread may call it.
pub type Done = Box<dyn FnOnce(Result<Fetched, Problem>) + Send>;

/// Facts about a member before it is fetched, which decide on the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// The member's size in bytes.
    pub bytes: Option<u64>,
    /// Where the member lies on its place, if moving there takes time: a byte on a rotating disk.
    pub extent: Option<u64>,
}

/// What a look at a member found, without waiting for a device or a network.
#[derive(Debug)]
pub enum Look {
    /// The member is in memory, or it is known that it cannot be read.
    Here(PlaceId, Result<Fetched, Problem>),
    /// The member has to be fetched from this place.
    Away(PlaceId, Expected),
}

/// Opens members of one kind: local files, objects of a server, links.
pub trait Opener: Send + Sync {
    /// Returns the place of a member, or `None` if this opener does not open such names. May look
    /// at the file system, but not fetch.
    fn place(&self, found: &Found) -> Option<PlaceId>;

    /// Returns the member at once if its first bytes are in memory, without waiting for a device or
    /// a network; `None` if it has to be fetched.
    fn cached(&self, found: &Found) -> Option<Result<Fetched, Problem>> {
        let _ = found;
        None
    }

    /// Looks at a member: its place, and the member itself if it is in memory; `None` if this
    /// opener does not open such names. Openers that learn both in one go override this.
    fn look(&self, found: &Found) -> Option<Look> {
        let place = self.place(found)?;
        let bytes = found.attributes.map(|known| known.size);
        Some(match self.cached(found) {
            Some(outcome) => Look::Here(place, outcome),
            None => Look::Away(
                place,
                Expected {
                    bytes,
                    extent: None,
                },
            ),
        })
    }

    /// Fetches a member: opens it and waits for its first bytes, up to `ahead_bytes` of them. The
    /// set calls this from one of the place's threads.
    ///
    /// # Errors
    /// Fails with the problem that stands in the member's place.
    fn fetch(&self, found: &Found, ahead_bytes: u64) -> Result<Fetched, Problem>;

    /// Starts to fetch a member, and returns `None` and calls `done` later; or returns `done` if
    /// the caller has to call [`Opener::fetch`] on a thread. Openers that send several requests on
    /// one connection override this; no thread is kept for such a request. `done` may be called
    /// before this returns. A `done` that is dropped is a problem in the member's place.
    fn start(&self, found: &Found, ahead_bytes: u64, done: Done) -> Option<Done> {
        let _ = (found, ahead_bytes);
        Some(done)
    }
}
