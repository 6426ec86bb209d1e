//! `watch`: news about directories, from the moment when they are reported as watched until the
//! request is interrupted. With the number of a running watch it adds directories to that one.

pub(crate) mod asking;
pub(crate) mod feed;
mod marks;
mod serving;

use std::time::Duration;

use super::{Body, End, Open, Refusal, Serve};
use crate::client::Remote;
use crate::error::RemoteError;
use crate::server::{Job, Task};
use crate::wire::BadFrame;
use crate::wire::fields::{Fields, Reader};

use asking::Watch;
use feed::Feed;

/// A request for news about directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchRequest {
    /// The top.
    pub top: Vec<u8>,
    /// The directories, relative to the top.
    pub dirs: Vec<Vec<u8>>,
}

impl Body for WatchRequest {
    fn write(&self, out: &mut Fields) {
        out.bytes(&self.top).list(&self.dirs);
    }

    fn read(body: &mut Reader<'_>) -> Result<WatchRequest, BadFrame> {
        Ok(WatchRequest {
            top: body.bytes("path")?.to_vec(),
            dirs: body.list("number of directories", "path")?,
        })
    }
}

impl Serve for WatchRequest {
    fn feed(&self) -> Option<Feed> {
        Feed::new().ok()
    }

    fn serve(self: Box<Self>, job: &Job<'_>) -> Result<End, Refusal> {
        serving::watch(job, &self.top, self.dirs).map(|never| match never {})
    }

    fn join(self: Box<Self>, running: &Task) -> Result<(), BadFrame> {
        let put = running.feed().and_then(|feed| feed.put(self.dirs).ok());
        put.ok_or(BadFrame::Unexpected("watch"))
    }
}

impl Open for WatchRequest {
    /// The top, and the longest silence of the server.
    type About = (Vec<u8>, Duration);
    type Asker = Option<Watch>;

    fn open(remote: &Remote, (top, silence): Self::About) -> Result<Option<Watch>, RemoteError> {
        Watch::open(remote, top, silence)
    }
}

impl Remote {
    /// Opens a watch of directories below `top`; `None` if the server does not support it. The
    /// server must send something at least once in each `silence`.
    ///
    /// # Errors
    /// Fails if the server cannot be asked.
    pub fn watch(&self, top: &[u8], silence: Duration) -> Result<Option<Watch>, RemoteError> {
        WatchRequest::open(self, (top.to_vec(), silence))
    }
}

#[cfg(test)]
impl super::Sample for WatchRequest {
    fn example() -> WatchRequest {
        WatchRequest {
            top: b"/srv/x".to_vec(),
            dirs: vec![Vec::new(), b"d".to_vec()],
        }
    }

    fn any() -> proptest::strategy::BoxedStrategy<WatchRequest> {
        use super::tests::bytes;
        use proptest::prelude::*;
        let request = |(top, dirs)| WatchRequest { top, dirs };
        (bytes(), proptest::collection::vec(bytes(), 0..4))
            .prop_map(request)
            .boxed()
    }
}
