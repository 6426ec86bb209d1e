//! The opener of members that are URLs.

use trawl_sets::member::Op;
use trawl_sets::opener::Fetched;
use trawl_sets::{Found, Opener, PlaceId, Problem};

use super::address::{Address, is_url};
use super::client::Client;
use super::hold::{as_stream, in_memory};
use crate::error::WebError;

/// Minimum number of bytes that are waited for, so that a member that is ready has something to
/// read.
const HEAD_BYTES: u64 = 64 << 10;

/// Opens members whose names begin with `http://` or `https://`. Their place is the server.
///
/// A member whose whole body is within the bytes that are fetched ahead, at most
/// [`Limits::memory_bytes`](super::Limits::memory_bytes), is a file in memory that can seek. A
/// larger one is a stream; a read of a stream fails with `ECONNRESET` if the body breaks off.
#[derive(Clone)]
pub struct Web(Client);

impl Web {
    /// Returns an opener that fetches with this client.
    pub fn new(client: Client) -> Web {
        Web(client)
    }

    fn open(&self, name: &[u8], ahead_bytes: u64) -> Result<Fetched, WebError> {
        let limits = self.0.limits();
        let address = Address::parse(name)?;
        let mut response = self.0.get(&address)?;
        let wanted = ahead_bytes.max(HEAD_BYTES).min(limits.memory_bytes);
        // Of a body that is too large for memory, only the first bytes are waited for.
        let head = match response.size_bytes {
            Some(size) if size > wanted => HEAD_BYTES,
            // One byte more, to see the end of an object that just fits.
            _ => wanted.saturating_add(1),
        };
        let (bytes, has_ended) = response.body.begin(head, limits.head)?;
        let ahead_bytes = bytes.len() as u64;
        let file = match has_ended {
            true => in_memory(&bytes)?,
            false => as_stream(bytes, response.body)?,
        };
        Ok(Fetched {
            is_stream: !has_ended,
            ..Fetched::of(file, ahead_bytes)
        })
    }
}

impl Opener for Web {
    fn place(&self, found: &Found) -> Option<PlaceId> {
        if !is_url(&found.name) {
            return None;
        }
        // An invalid URL is this opener's, too: fetching it reports the mistake.
        let server = Address::parse(&found.name).map_or_else(|_| String::new(), |a| a.server());
        Some(PlaceId::Server(server))
    }

    fn fetch(&self, found: &Found, ahead_bytes: u64) -> Result<Fetched, Problem> {
        self.open(&found.name, ahead_bytes)
            .map_err(|error| Problem {
                name: found.name.clone(),
                op: Op::Fetch,
                source: error.into(),
            })
    }
}
