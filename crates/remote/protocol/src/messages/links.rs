//! `links`: where links lead. The answer is data: for each path an errno and the target.

use trawl_call::CallError;
use trawl_sys::directory::Links;
use trawl_sys::link::{TargetBuffer, read_link_at};
use trawl_sys::{Errno, Op};

use super::{Ask, Body, Data, End, Refusal, Serve};
use crate::client::{Patience, Remote};
use crate::error::RemoteError;
use crate::exports::PathTranslator;
use crate::server::{BLOCK_BYTES, Job};
use crate::wire::fields::{Fields, Reader};
use crate::wire::{BadFrame, LINKS_MAX};

/// Maximum size of a link's target in an answer: an errno, a length, and Linux's longest target.
const TARGET_MAX_BYTES: usize = 4 + 4 + 4096;

/// The target of a link, or the errno of reading it.
pub type Target = Result<Vec<u8>, Errno>;

/// A request for the targets of the links at these paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinksRequest(pub Vec<Vec<u8>>);

impl Body for LinksRequest {
    fn write(&self, out: &mut Fields) {
        out.list(&self.0);
    }

    fn read(body: &mut Reader<'_>) -> Result<LinksRequest, BadFrame> {
        body.list("number of links", "path").map(LinksRequest)
    }
}

impl Serve for LinksRequest {
    fn serve(self: Box<Self>, job: &Job<'_>) -> Result<End, Refusal> {
        let paths = self.0;
        if paths.len() > LINKS_MAX {
            return Err(Refusal::bad("there are too many links"));
        }
        let (mut places, mut buffer) =
            (PathTranslator::new(job.exports()), TargetBuffer::default());
        let (mut data, mut sent) = (Vec::new(), 0u64);
        for (at, path) in paths.iter().enumerate() {
            let (errno, target) = target_of(&mut places, path, &mut buffer);
            data.extend_from_slice(&errno.to_le_bytes());
            data.extend_from_slice(&(target.len() as u32).to_le_bytes());
            data.extend_from_slice(target);
            if data.len() >= BLOCK_BYTES || at + 1 == paths.len() {
                sent += data.len() as u64;
                job.say(&Data(std::mem::take(&mut data)));
            }
            if job.is_over() {
                return Err(Refusal::of_call(CallError::Cancelled));
            }
        }
        Ok(End::whole(sent))
    }
}

/// Reads a link; returns an errno (or 0) and its target.
fn target_of<'a>(
    places: &mut PathTranslator<'_>,
    path: &[u8],
    buffer: &'a mut TargetBuffer,
) -> (i32, &'a [u8]) {
    let opened = places.find(path).look(b"", Links::Refused);
    match opened.and_then(|link| read_link_at(link, c"", buffer)) {
        Ok(target) => (0, target),
        // readlinkat(2) with an empty path reports an object that is no link as `ENOENT`.
        Err(error) if error.errno == Errno::NOENT && error.op == Op::Readlinkat => {
            (Errno::INVAL.0, b"")
        }
        Err(error) => (error.errno.0, b""),
    }
}

impl Ask for LinksRequest {
    const SUBJECT: Option<&'static str> = Some("links");
    type Answer = Vec<Target>;

    fn most_bytes(&self, _: &Patience) -> usize {
        self.0.len() * TARGET_MAX_BYTES
    }

    fn answer(&self, bytes: Vec<u8>) -> Result<Vec<Target>, BadFrame> {
        let mut rest = &bytes[..];
        let mut targets = Vec::with_capacity(self.0.len());
        while let Some((target, behind)) = target(rest) {
            targets.push(target);
            rest = behind;
        }
        match rest.is_empty() && targets.len() == self.0.len() {
            true => Ok(targets),
            false => Err(BadFrame::Field("answer")),
        }
    }
}

/// Decodes the first target in an answer, and returns the rest.
fn target(bytes: &[u8]) -> Option<(Target, &[u8])> {
    let (errno, rest) = bytes.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let length = u32::from_le_bytes(*length) as usize;
    let (target, rest) = rest.split_at_checked(length)?;
    let target = match i32::from_le_bytes(*errno) {
        0 => Ok(target.to_vec()),
        errno @ 1.. => Err(Errno(errno)),
        _ => return None,
    };
    Some((target, rest))
}

impl Remote {
    /// Returns the targets of links, in the order of the paths; an errno for a path that is no
    /// link. At most [`LINKS_MAX`] paths are asked about.
    ///
    /// # Errors
    /// Fails if the server cannot be asked, or does not know this request; [`RemoteError::TooMuch`]
    /// if it sends more than any targets can have.
    pub fn links(&self, paths: &[Vec<u8>]) -> Result<Vec<Target>, RemoteError> {
        let paths = &paths[..paths.len().min(LINKS_MAX)];
        self.ask(&LinksRequest(paths.to_vec()))
    }
}

#[cfg(test)]
impl super::Sample for LinksRequest {
    fn example() -> LinksRequest {
        LinksRequest(vec![b"/srv/x".to_vec(), b"y".to_vec()])
    }

    fn any() -> proptest::strategy::BoxedStrategy<LinksRequest> {
        use proptest::prelude::*;
        let paths = proptest::collection::vec(super::tests::bytes(), 0..4);
        paths.prop_map(LinksRequest).boxed()
    }
}
