//! Puts index rows into the answer's order: joins the parts of one directory that come from several
//! segments, and inserts a live walk's records of the directories that the index does not answer
//! about.

use std::collections::VecDeque;
use std::ops::{ControlFlow, Range};
use std::sync::mpsc::SyncSender;

use trawl_model::path;

use super::chain::has_match;
use super::read::Message;
use super::{Prepared, relative};
use crate::cookie::{Cookie, Stage};
use crate::error::CallError;
use crate::executor::Stream;
use crate::live::LiveWalk;
use crate::live::records::Records;
use crate::packed::{decode, encode};
use crate::pattern::{self, Pattern};
use crate::request::{Request, Root};

/// Minimum size of a block before it is sent, in bytes.
const BLOCK_BYTES: usize = 64 << 10;

/// Records made of the rows of some directories, in the index's order.
#[derive(Default)]
pub(super) struct Turned {
    pub(super) packed: Vec<u8>,
    pub(super) listed: Vec<Listed>,
}

/// Records made of one directory's rows, or of a part of them.
pub(super) struct Listed {
    /// Path of the directory below the root.
    pub(super) dir: Vec<u8>,
    /// Range of its records in [`Turned::packed`].
    pub(super) packed: Range<usize>,
    pub(super) has_match: bool,
}

/// Collects the answer and sends it in blocks.
pub(super) struct Merge<'a> {
    prepared: &'a Prepared,
    sender: &'a SyncSender<Message>,
    root: &'a Root,
    /// Directories that a live walk covers, the next one first.
    closed: VecDeque<&'a [u8]>,
    /// The current directory; more parts of it may follow.
    last: Option<Vec<u8>>,
    /// Records of the current directory.
    records: Records,
    /// Whether the current directory came in more than one part.
    is_in_parts: bool,
    out: Vec<u8>,
}

impl<'a> Merge<'a> {
    pub(super) fn new(prepared: &'a Prepared, sender: &'a SyncSender<Message>) -> Merge<'a> {
        let root = &prepared.request.roots()[0];
        let most = prepared.request.options().max_depth;
        // A directory that is too deep is reported with its parent directory.
        let depth = |dir: &[u8]| crate::pattern::components(dir).count();
        let closed = prepared.live.iter().map(|dir| &dir[..]);
        Merge {
            prepared,
            sender,
            root,
            closed: closed.filter(|dir| depth(dir) <= most).collect(),
            last: None,
            records: Records::default(),
            is_in_parts: false,
            out: Vec::new(),
        }
    }

    /// Writes the root itself if it matches.
    pub(super) fn root(&mut self) -> Result<ControlFlow<()>, CallError> {
        let resume = self.prepared.request.resume();
        let was_given = resume.is_some_and(|cookie| cookie.stage > Stage::Begin);
        let pattern = self.root.pattern();
        if !pattern.matches_root() || was_given {
            return Ok(ControlFlow::Continue(()));
        }
        let itself = Pattern::new(pattern::ROOT, pattern.language())?;
        self.walk_live(b"", itself, None)
    }

    /// Adds the next records, in the index's order.
    pub(super) fn add(&mut self, turned: &Turned) -> Result<ControlFlow<()>, CallError> {
        for listed in &turned.listed {
            if self.last.as_deref() == Some(&listed.dir) {
                self.is_in_parts = true;
            } else {
                if self.end_last()?.is_break() || self.walk_before(Some(&listed.dir))?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                self.last = Some(listed.dir.clone());
            }
            let packed = &turned.packed[listed.packed.clone()];
            self.records.packed.extend_from_slice(packed);
            self.records.has_match |= listed.has_match;
        }
        Ok(self.send(0))
    }

    /// Ends the answer.
    pub(super) fn finish(mut self) -> Result<(), CallError> {
        if self.end_last()?.is_continue() && self.walk_before(None)?.is_continue() {
            let _ = self.send(0);
        }
        Ok(())
    }

    /// Ends the current directory.
    fn end_last(&mut self) -> Result<ControlFlow<()>, CallError> {
        if self.last.take().is_none() {
            return Ok(ControlFlow::Continue(()));
        }
        match std::mem::take(&mut self.is_in_parts) {
            false => self.out.extend_from_slice(&self.records.packed),
            true => sort(&self.records.packed, &mut self.out)?,
        }
        self.records.packed.clear();
        let has_match = std::mem::take(&mut self.records.has_match);
        Ok(self.check(has_match))
    }

    /// Sends a block if it is large enough. Sends everything and breaks if this match ends the
    /// search.
    fn check(&mut self, has_match: bool) -> ControlFlow<()> {
        match has_match && self.prepared.request.is_first() {
            true => {
                let _ = self.send(0);
                ControlFlow::Break(())
            }
            false => self.send(BLOCK_BYTES),
        }
    }

    /// Walks the live directories that come before this one; all of them for `None`.
    fn walk_before(&mut self, dir: Option<&[u8]>) -> Result<ControlFlow<()>, CallError> {
        let comes_before = |closed: &[u8]| dir.is_none_or(|dir| path::cmp(closed, dir).is_lt());
        while let Some(closed) = self.closed.front().copied()
            && comes_before(closed)
        {
            self.closed.pop_front();
            let resume = self.prepared.request.resume();
            let resume = match resume {
                None => None,
                Some(cookie) => match relative(&cookie.dir, closed) {
                    Some(rest) => Some(cookie.seen_from(rest)),
                    None if path::cmp(closed, &cookie.dir).is_lt() => continue,
                    None => None,
                },
            };
            let pattern = self.root.pattern().below(closed);
            if let Some(pattern) = pattern
                && self
                    .walk_live(closed, pattern.without_root(), resume)?
                    .is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Adds the records of a live walk of a directory below the root.
    fn walk_live(
        &mut self,
        below: &[u8],
        pattern: Pattern,
        resume: Option<Cookie>,
    ) -> Result<ControlFlow<()>, CallError> {
        let request = &self.prepared.request;
        let place = path::append(&self.prepared.start.path, below);
        let place = path::display(&place).to_vec();
        let root = self.root.part(below, place, pattern, Vec::new());
        let mut options = *request.options();
        options.max_depth -= crate::pattern::components(below).count();
        let request = Request::of_roots(vec![root], options)?
            .cancelled_by(request.cancel().clone())
            .begun_at(resume);
        let mut walk = LiveWalk::default().walk(request);
        while let Some(block) = walk.next_block()? {
            self.out.extend_from_slice(&block.packed);
            if self.check(has_match(&block.packed)?).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Sends the collected records if they have more than `more_than` bytes. Breaks if the receiver
    /// is gone.
    fn send(&mut self, more_than: usize) -> ControlFlow<()> {
        if self.out.len() <= more_than {
            return ControlFlow::Continue(());
        }
        let packed = std::mem::take(&mut self.out);
        match self.sender.send(Message::Block(packed)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

/// Appends records in path order.
fn sort(packed: &[u8], out: &mut Vec<u8>) -> Result<(), CallError> {
    let mut records = Vec::new();
    let mut rest = packed;
    while !rest.is_empty() {
        let (record, length) = decode(rest)?;
        records.push(record);
        rest = &rest[length..];
    }
    // Reports of directories that are too deep come after all entries.
    let is_own = |record: &crate::record::RecordRef<'_>| match record.outcome {
        crate::record::Outcome::Error(trouble) => trouble.source != crate::record::Source::Stat,
        crate::record::Outcome::Match(_) => false,
    };
    records.sort_by(|a, b| (is_own(a), a.path).cmp(&(is_own(b), b.path)));
    records.iter().for_each(|record| encode(record, out));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Outcome, RecordRef, Source, Trouble};

    #[test]
    fn parts_of_a_directory_are_put_together_by_name() {
        let errno = 75;
        let trouble = |source| Outcome::Error(Trouble { source, errno });
        let all = [
            (&b"d/a"[..], Outcome::Match(None)),
            (b"d/a-b", trouble(Source::Stat)),
            (b"d/c", Outcome::Match(None)),
            (b"d/b", trouble(Source::Depth)),
            (b"d/c", trouble(Source::Depth)),
        ];
        let packed = |order: [usize; 5]| {
            let mut packed = Vec::new();
            for (path, outcome) in order.map(|at| all[at]) {
                let root = 0;
                encode(
                    &RecordRef {
                        root,
                        path,
                        outcome,
                    },
                    &mut packed,
                );
            }
            packed
        };
        let mut sorted = Vec::new();
        sort(&packed([2, 4, 0, 1, 3]), &mut sorted).unwrap();
        assert_eq!(sorted, packed([0, 1, 2, 3, 4]));
    }
}
