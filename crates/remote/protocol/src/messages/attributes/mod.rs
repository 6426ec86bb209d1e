//! `attributes`: the extended attributes of everything below a directory, part by part. The answer is
//! data: [`items`].

pub mod items;
mod serving;

use trawl_sys::Errno;

use super::{Ask, Body, End, Refusal, Serve};
use crate::client::{Patience, Remote};
use crate::error::RemoteError;
use crate::server::Job;
use crate::wire::fields::{Fields, Reader};
use crate::wire::{ATTRIBUTES_MAX_BYTES, BadFrame};

use items::{ExtendedAttributes, Item};

/// Maximum size of an answer about attributes: the size at which it pauses, plus the object at
/// which it does (attributes of at most 64 KiB each, and a path).
const ATTRIBUTES_MOST_BYTES: usize = 3 * ATTRIBUTES_MAX_BYTES;

/// A request for the extended attributes of an object and of objects after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributesRequest {
    /// Maximum number of objects after the first one.
    pub entries: u32,
    /// The directory.
    pub top: Vec<u8>,
    /// Path of the first object below the directory.
    pub from: Vec<u8>,
}

impl Body for AttributesRequest {
    fn write(&self, out: &mut Fields) {
        out.u32(self.entries).bytes(&self.top).bytes(&self.from);
    }

    fn read(body: &mut Reader<'_>) -> Result<AttributesRequest, BadFrame> {
        Ok(AttributesRequest {
            entries: body.u32("number of entries")?,
            top: body.bytes("path")?.to_vec(),
            from: body.bytes("path")?.to_vec(),
        })
    }
}

impl Serve for AttributesRequest {
    fn serve(self: Box<Self>, job: &Job<'_>) -> Result<End, Refusal> {
        serving::attributes(job, &self)
    }
}

impl Ask for AttributesRequest {
    const SUBJECT: Option<&'static str> = Some("extended attributes");
    type Answer = AttributesBelow;

    fn most_bytes(&self, _: &Patience) -> usize {
        ATTRIBUTES_MOST_BYTES
    }

    fn answer(&self, bytes: Vec<u8>) -> Result<AttributesBelow, BadFrame> {
        let found = AttributesBelow::decode(&bytes)?;
        match found.objects.first() {
            Some((path, _)) if *path == self.from => Ok(found),
            _ => Err(BadFrame::Field("first object")),
        }
    }
}

impl Remote {
    /// Returns the extended attributes of the object `from` below a directory (of the directory
    /// itself, with links followed, if `from` is empty), and of at most `entries` objects after it
    /// in the order of a search.
    ///
    /// # Errors
    /// [`RemoteError::Lacks`] if the server does not know this request; fails if the server cannot
    /// be asked.
    pub fn attributes(
        &self,
        top: &[u8],
        from: &[u8],
        entries: u32,
    ) -> Result<AttributesBelow, RemoteError> {
        self.ask(&AttributesRequest {
            entries,
            top: top.to_vec(),
            from: from.to_vec(),
        })
    }
}

/// An answer about extended attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributesBelow {
    /// Objects that have attributes, by path below the top, with the attributes or the errno of
    /// reading them. The first is the requested object, even if it has none.
    pub objects: Vec<(Vec<u8>, Result<ExtendedAttributes, Errno>)>,
    /// Directories that were not examined.
    pub left_out: Vec<Vec<u8>>,
    /// Path of the last object of this part of the answer, if there is more.
    pub behind: Option<Vec<u8>>,
    /// The result for all objects that the answer does not name.
    pub others: Result<(), Errno>,
}

impl AttributesBelow {
    fn decode(bytes: &[u8]) -> Result<AttributesBelow, BadFrame> {
        let (mut objects, mut left_out) = (Vec::new(), Vec::new());
        let mut rest = bytes;
        loop {
            let (item, length) = Item::decode(rest)?;
            rest = &rest[length..];
            match item {
                Item::Object { path, found } => objects.push((path, found)),
                Item::LeftOut { dir } => left_out.push(dir),
                Item::End { behind, others } if rest.is_empty() => {
                    return Ok(AttributesBelow {
                        objects,
                        left_out,
                        behind,
                        others,
                    });
                }
                Item::End { .. } => return Err(BadFrame::Field("end")),
            }
        }
    }
}

#[cfg(test)]
impl super::Sample for AttributesRequest {
    fn example() -> AttributesRequest {
        AttributesRequest {
            entries: 9,
            top: b"/srv/x".to_vec(),
            from: b"a/b".to_vec(),
        }
    }

    fn any() -> proptest::strategy::BoxedStrategy<AttributesRequest> {
        use super::tests::bytes;
        use proptest::prelude::*;
        let request = |(entries, top, from)| AttributesRequest { entries, top, from };
        (any::<u32>(), bytes(), bytes()).prop_map(request).boxed()
    }
}
