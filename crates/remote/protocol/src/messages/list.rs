//! `list`: the entries of a directory with their own attributes. The answer is records, as of a
//! search for all names in it.

use trawl_call::Record;
use trawl_call::options::Flags;

use super::search::serving::{of_one, search};
use super::{Ask, Body, End, Refusal, Serve};
use crate::client::{Patience, Remote, records};
use crate::error::RemoteError;
use crate::server::Job;
use crate::wire::BadFrame;
use crate::wire::fields::{Fields, Reader};

/// A request for the entries of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRequest {
    /// Number of bytes of blocks that may be sent before more credit is granted.
    pub credit: u32,
    /// The directory.
    pub path: Vec<u8>,
}

impl Body for ListRequest {
    fn write(&self, out: &mut Fields) {
        out.u32(self.credit).bytes(&self.path);
    }

    fn read(body: &mut Reader<'_>) -> Result<ListRequest, BadFrame> {
        Ok(ListRequest {
            credit: body.u32("credit")?,
            path: body.bytes("path")?.to_vec(),
        })
    }
}

impl Serve for ListRequest {
    fn credit(&self) -> u32 {
        self.credit
    }

    fn serve(self: Box<Self>, job: &Job<'_>) -> Result<End, Refusal> {
        let flags = Flags(Flags::METADATA | Flags::NOFOLLOW);
        search(job, of_one(&self.path, b"/*", flags, job.exports())?, None)
    }
}

impl Ask for ListRequest {
    const SUBJECT: Option<&'static str> = None;
    type Answer = Vec<Record>;

    fn most_bytes(&self, patience: &Patience) -> usize {
        patience.list_max_bytes
    }

    fn answer(&self, bytes: Vec<u8>) -> Result<Vec<Record>, BadFrame> {
        Ok(records(&bytes))
    }
}

impl Remote {
    /// Returns all entries of a directory by name, with their attributes as by lstat(2). An error
    /// about the directory is a record, too.
    ///
    /// # Errors
    /// Fails if the server cannot be asked; [`RemoteError::TooMuch`] if the listing needs more than
    /// [`Patience::list_max_bytes`].
    pub fn list(&self, path: &[u8]) -> Result<Vec<Record>, RemoteError> {
        let credit = self.0.patience.credit;
        let path = path.to_vec();
        self.ask(&ListRequest { credit, path })
    }
}

#[cfg(test)]
impl super::Sample for ListRequest {
    fn example() -> ListRequest {
        ListRequest {
            credit: 1 << 20,
            path: b"/srv/x".to_vec(),
        }
    }

    fn any() -> proptest::strategy::BoxedStrategy<ListRequest> {
        use proptest::prelude::*;
        let request = |(credit, path)| ListRequest { credit, path };
        (any::<u32>(), super::tests::bytes())
            .prop_map(request)
            .boxed()
    }
}
