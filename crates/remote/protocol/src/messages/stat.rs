//! `stat`: the attributes of one path. The answer is one record.

use trawl_call::packed::encode;
use trawl_call::{Attributes, Outcome, Record, RecordRef, Source, Trouble};
use trawl_sys::directory::Links;
use trawl_sys::stat::stat_fd;

use super::{Ask, Block, Body, End, Refusal, Serve};
use crate::client::{Patience, Remote, records};
use crate::error::RemoteError;
use crate::exports::PathTranslator;
use crate::server::Job;
use crate::wire::BadFrame;
use crate::wire::fields::{Fields, Reader};

/// Maximum size of the answer about one path, in bytes.
pub(crate) const STAT_MAX_BYTES: usize = 64 << 10;

/// A request for the attributes of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatRequest {
    /// Whether a link itself is meant, rather than its target.
    pub of_link: bool,
    /// The path.
    pub path: Vec<u8>,
}

impl Body for StatRequest {
    fn write(&self, out: &mut Fields) {
        out.put(&[u8::from(self.of_link), 0, 0, 0])
            .bytes(&self.path);
    }

    fn read(body: &mut Reader<'_>) -> Result<StatRequest, BadFrame> {
        let of_link = match body.u8("kind of stat")? {
            0 => false,
            1 => true,
            _ => return Err(BadFrame::Field("kind of stat")),
        };
        body.exactly(&[0; 3], "padding")?;
        let path = body.bytes("path")?.to_vec();
        Ok(StatRequest { of_link, path })
    }
}

impl Serve for StatRequest {
    fn serve(self: Box<Self>, job: &Job<'_>) -> Result<End, Refusal> {
        let links = [Links::Followed, Links::Refused][usize::from(self.of_link)];
        let found = PathTranslator::new(job.exports())
            .find(&self.path)
            .look(b"", links);
        let outcome = match found.and_then(stat_fd) {
            Ok(stat) => Outcome::Match(Some(Attributes::of(&stat))),
            Err(error) => Outcome::Error(Trouble {
                source: Source::Stat,
                errno: error.errno.0,
            }),
        };
        let record = RecordRef {
            root: 0,
            path: b".",
            outcome,
        };
        let mut packed = Vec::new();
        encode(&record, &mut packed);
        job.say(&Block(packed));
        Ok(End::whole(1))
    }
}

impl Ask for StatRequest {
    const SUBJECT: Option<&'static str> = None;
    type Answer = Record;

    fn most_bytes(&self, _: &Patience) -> usize {
        STAT_MAX_BYTES
    }

    fn answer(&self, bytes: Vec<u8>) -> Result<Record, BadFrame> {
        let first = records(&bytes).into_iter().next();
        first.ok_or(BadFrame::Field("answer"))
    }
}

impl Remote {
    /// Returns the attributes of a path, as by stat(2), or lstat(2) if links are refused; or the
    /// error, as a record.
    ///
    /// # Errors
    /// Fails if the server cannot be asked.
    pub fn stat(&self, path: &[u8], links: Links) -> Result<Record, RemoteError> {
        let of_link = links == Links::Refused;
        let path = path.to_vec();
        self.ask(&StatRequest { of_link, path })
    }
}

#[cfg(test)]
impl super::Sample for StatRequest {
    fn example() -> StatRequest {
        StatRequest {
            of_link: true,
            path: b"/srv/x".to_vec(),
        }
    }

    fn any() -> proptest::strategy::BoxedStrategy<StatRequest> {
        use proptest::prelude::*;
        let request = |(of_link, path)| StatRequest { of_link, path };
        (any::<bool>(), super::tests::bytes())
            .prop_map(request)
            .boxed()
    }
}
