//! Asks a server, and completes its answer with facts that only this machine knows.

use std::ffi::CString;
use std::sync::Arc;

use trawl_model::{path, relative_path};
use trawl_sys::CWD;
use trawl_sys::access;
use trawl_sys::stat::{stat_at, stat_at_followed};

use super::{Mount, Server};
use crate::error::CallError;
use crate::executor::{Block, Executor, Stream};
use crate::live::LiveWalk;
use crate::options::{Access, Extent, Metadata};
use crate::packed::{decode, encode};
use crate::record::{Attributes, Outcome, RecordRef, Source, Trouble};
use crate::request::{Request, Root, RootParts};
use crate::rescued::Rescued;

/// The type bits of a mode, and their value for a symbolic link; inode(7).
const TYPE_BITS: u32 = 0o170_000;
const LINK_BITS: u32 = 0o120_000;

/// Asks the mount's server about roots that lie on the mount.
pub(super) fn ask_server(
    mount: &Mount,
    request: Request,
    here: &Arc<dyn Executor>,
) -> Result<Box<dyn Stream>, CallError> {
    let Some(server) = &mount.server else {
        return here.begin(request);
    };
    let asked = asked(server, &mount.point, &request);
    let begun = asked.and_then(|asked| server.executor.begin(asked));
    let stream = match begun {
        Ok(stream) => stream,
        Err(CallError::Cancelled) => return Err(CallError::Cancelled),
        // The search goes through the mount, which may still answer from its cache and otherwise
        // reports errors.
        Err(_) => return here.begin(request),
    };
    let stream: Box<dyn Stream> = match needs_look(&request) {
        false => stream,
        true => Box::new(Looked {
            request: request.clone(),
            device: mount.device,
            stream,
            is_over: false,
        }),
    };
    Ok(Box::new(Rescued::new(stream, request, LiveWalk::default())))
}

/// Returns whether the server's records have to be completed here: links may lead elsewhere, rights
/// may differ, and the device is another.
fn needs_look(request: &Request) -> bool {
    let options = request.options();
    !options.access.is_none() || options.metadata != Metadata::Omit
}

/// Returns the request that is sent to the server.
fn asked(server: &Server, point: &[u8], request: &Request) -> Result<Request, CallError> {
    let mut options = *request.options();
    if needs_look(request) {
        options.access = Access::NONE;
        // The first match on the server may not match here.
        options.extent = Extent::All;
        if options.metadata == Metadata::OfTarget {
            options.metadata = Metadata::OfLink;
        }
    }
    let mut roots = Vec::with_capacity(request.roots().len());
    for root in request.roots() {
        let parts = RootParts {
            number: root.number(),
            path: place(server, point, root)?,
            shown: root.shown().to_vec(),
            prefix: root.prefix().to_vec(),
            pattern: root.pattern().clone(),
            skip: root.skip().to_vec(),
        };
        roots.push(Root::of_parts(parts, None));
    }
    let asked = Request::of_roots(roots, options)?.cancelled_by(request.cancel().clone());
    let resume = request.resume().map(|place| place.of_question(&asked));
    Ok(asked.begun_at(resume))
}

/// Returns a root's path on the server.
fn place(server: &Server, point: &[u8], root: &Root) -> Result<Vec<u8>, CallError> {
    let elsewhere = || CallError::not_served(root.path(), "it does not lie on the mount");
    let at = crate::index::canonical(root).map_err(|_| elsewhere())?;
    let below = crate::index::relative(&at, point).ok_or_else(elsewhere)?;
    let top = server.path.strip_suffix(b"/").unwrap_or(&server.path);
    Ok(path::display(&path::append(top, below)).to_vec())
}

/// A server's answer, completed match by match.
struct Looked {
    /// The request as it is asked here.
    request: Request,
    /// Device number of the mount.
    device: u64,
    stream: Box<dyn Stream>,
    is_over: bool,
}

impl Stream for Looked {
    fn next_block(&mut self) -> Result<Option<Block>, CallError> {
        while !self.is_over {
            let Some(block) = self.stream.next_block()? else {
                self.is_over = true;
                break;
            };
            let (mut packed, mut rest) =
                (Vec::with_capacity(block.packed.len()), &block.packed[..]);
            while !rest.is_empty() && !self.is_over {
                self.request.cancel().check()?;
                let (record, length) = decode(rest)?;
                rest = &rest[length..];
                if let Some(outcome) = self.look(&record) {
                    let is_match = matches!(outcome, Outcome::Match(_));
                    self.is_over = is_match && self.request.is_first();
                    encode(&RecordRef { outcome, ..record }, &mut packed);
                }
            }
            if !packed.is_empty() {
                let served_by = block.served_by;
                return Ok(Some(Block { served_by, packed }));
            }
        }
        Ok(None)
    }
}

impl Looked {
    /// Returns the record's outcome on this machine; `None` if it is no match here.
    fn look(&self, record: &RecordRef<'_>) -> Option<Outcome> {
        let (Outcome::Match(known), Some(root)) = (record.outcome, self.request.root(record.root))
        else {
            return Some(record.outcome);
        };
        let below = self.request.unspell(root, record.path);
        let path = CString::new(relative_path::join(root.path(), below)).unwrap_or_default();
        let options = self.request.options();
        let mut wishes = options.access.wishes();
        if wishes.any(|wish| access::check(CWD, &path, wish).is_err()) {
            return None;
        }
        let is_link = known.is_some_and(|known| known.mode & TYPE_BITS == LINK_BITS);
        if options.metadata != Metadata::OfTarget || !is_link {
            let device = self.device;
            let here = |known| Attributes {
                dev: device,
                ..known
            };
            return Some(Outcome::Match(known.map(here)));
        }
        match stat_at_followed(CWD, &path) {
            Ok(stat) => Some(Outcome::Match(Some(Attributes::of(&stat)))),
            Err(error) if error.is_vanished() && stat_at(CWD, &path).is_err() => None,
            Err(error) => Some(Outcome::Error(Trouble {
                source: Source::Stat,
                errno: error.errno.0,
            })),
        }
    }
}
