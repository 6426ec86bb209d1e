//! Merges the parts of one root's answer, in the order of the whole answer.
//!
//! A part is begun when its turn comes: at its mount point, where its first record lies in the
//! whole answer.

use std::sync::Arc;

use super::{Mount, begin_part};
use crate::cookie::{Cookie, Stage};
use crate::decompose::Part;
use crate::error::CallError;
use crate::executor::{Block, Executor, ServedBy, Stream};
use crate::packed::decode;
use crate::pattern::components;
use crate::record::Outcome;
use crate::request::Request;

/// Size of a block before it is returned, in bytes.
const BLOCK_BYTES: usize = 32 << 10;

/// One part of the answer.
struct Branch {
    mount: Option<usize>,
    /// The request, until the part is begun.
    request: Option<Request>,
    stream: Option<Box<dyn Stream>>,
    block: Block,
    /// Offset of the next record in the block.
    at: usize,
    /// Position of the part's next record in the whole answer.
    place: Cookie,
}

/// The answer about one root.
pub(super) struct Merge {
    here: Arc<dyn Executor>,
    mounts: Arc<[Mount]>,
    request: Request,
    /// The parts that have not ended.
    branches: Vec<Branch>,
    is_over: bool,
}

impl Merge {
    /// Creates the merge of the parts of a request about one root.
    pub(super) fn new(
        request: Request,
        parts: Vec<Part>,
        here: Arc<dyn Executor>,
        mounts: Arc<[Mount]>,
    ) -> Result<Merge, CallError> {
        let mut branches = Vec::with_capacity(parts.len());
        for part in parts {
            let place = beginning(&request, part.root.prefix());
            let resume = match resume(&request, &place, part.root.prefix()) {
                From::Beginning => None,
                From::Place(place) => Some(place),
                From::End => continue,
            };
            let asked = request.for_part(&part)?;
            let resume = resume.map(|place| place.of_question(&asked));
            branches.push(Branch {
                mount: part.mount,
                request: Some(asked.begun_at(resume)),
                stream: None,
                block: Block {
                    served_by: ServedBy::Live,
                    packed: Vec::new(),
                },
                at: 0,
                place,
            });
        }
        Ok(Merge {
            here,
            mounts,
            request,
            branches,
            is_over: false,
        })
    }

    /// Returns the branch with the next record of the whole answer; `None` at the end.
    fn next(&mut self) -> Result<Option<usize>, CallError> {
        loop {
            let all = self.branches.iter().enumerate();
            let next = all.reduce(
                |first, other| match first.1.place.is_behind(&other.1.place) {
                    true => other,
                    false => first,
                },
            );
            let Some((at, branch)) = next else {
                return Ok(None);
            };
            if branch.at < branch.block.packed.len() {
                return Ok(Some(at));
            }
            if !self.load(at)? {
                self.branches.swap_remove(at);
            }
        }
    }

    /// Loads the next block of a branch; false at its end.
    fn load(&mut self, at: usize) -> Result<bool, CallError> {
        let branch = &mut self.branches[at];
        if let Some(request) = branch.request.take() {
            let mount = branch.mount.and_then(|mount| self.mounts.get(mount));
            branch.stream = Some(begin_part(&self.here, mount, request)?);
        }
        let next = branch.stream.as_mut().map(|stream| stream.next_block());
        let Some(block) = next.transpose()?.flatten() else {
            return Ok(false);
        };
        (branch.block, branch.at) = (block, 0);
        branch.settle(&self.request)?;
        Ok(true)
    }
}

impl Branch {
    /// Moves `place` to the next record of the block, if there is one.
    fn settle(&mut self, request: &Request) -> Result<(), CallError> {
        if self.at < self.block.packed.len() {
            let (record, _) = decode(&self.block.packed[self.at..])?;
            self.place.advance(request, &record);
        }
        Ok(())
    }
}

impl Stream for Merge {
    fn next_block(&mut self) -> Result<Option<Block>, CallError> {
        let mut out: Option<Block> = None;
        while !self.is_over {
            let Some(at) = self.next()? else {
                self.is_over = true;
                break;
            };
            let branch = &mut self.branches[at];
            let served_by = branch.block.served_by;
            let block = out.get_or_insert_with(|| Block {
                served_by,
                packed: Vec::new(),
            });
            if block.served_by != served_by {
                break;
            }
            let (record, length) = decode(&branch.block.packed[branch.at..])?;
            self.is_over = self.request.is_first() && matches!(record.outcome, Outcome::Match(_));
            let packed = &branch.block.packed[branch.at..branch.at + length];
            block.packed.extend_from_slice(packed);
            branch.at += length;
            let is_read = branch.at >= branch.block.packed.len();
            branch.settle(&self.request)?;
            // Returns the records so far instead of waiting for more.
            if is_read || block.packed.len() >= BLOCK_BYTES {
                break;
            }
        }
        Ok(out)
    }
}

/// Returns the position of a part's first record in the whole answer: that of its mount point.
fn beginning(request: &Request, prefix: &[u8]) -> Cookie {
    let mut place = Cookie::begin(request);
    if let Some(root) = request.roots().first() {
        place.root = root.number();
    }
    if !prefix.is_empty() {
        let cut = prefix.iter().rposition(|byte| *byte == b'/');
        place.dir = prefix[..cut.unwrap_or(0)].to_vec();
        place.stage = Stage::Name(prefix[cut.map_or(0, |cut| cut + 1)..].to_vec());
    }
    place
}

/// Where a part begins or resumes.
enum From {
    Beginning,
    Place(Cookie),
    /// All of the part was already returned.
    End,
}

fn resume(request: &Request, first: &Cookie, prefix: &[u8]) -> From {
    let Some(place) = request.resume() else {
        return From::Beginning;
    };
    if prefix.is_empty() {
        return From::Place(place.clone());
    }
    if let Some(below) = crate::index::relative(&place.dir, prefix) {
        return From::Place(place.seen_from(below));
    }
    if components(&place.dir).gt(components(prefix)) || place.stage == Stage::End {
        return From::End;
    }
    // The match of its mount point may already have been returned.
    match first.is_behind(place) {
        true => From::Beginning,
        false => {
            let mut itself = place.seen_from(b"");
            itself.stage = Stage::Itself;
            From::Place(itself)
        }
    }
}
