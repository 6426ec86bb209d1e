//! Reads the rows of one snapshot on demand, directory by directory.
//!
//! The rows of a directory come in pieces, sorted by name. If a directory has
//! rows in several segments, each sorted on its own, they are merged first.

use std::collections::HashSet;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, Scope};
use trawl_model::rows::{Row, RowBatch};
use trawl_query::{Block, BlockListing, Blocks, QueryError, Request, Start, View};

use crate::Result;

/// Number of blocks decoded ahead.
const AHEAD: usize = 1;

/// A reader over one of the two snapshots.
pub(crate) struct Side<'a> {
    blocks: Option<Receiver<Result<Block>>>,
    view: Option<&'a View>,
    /// The current block, and the position of its next listing.
    block: Option<(Rc<Block>, usize)>,
    /// The remaining rows of the current directory.
    piece: Option<Piece>,
    /// The current directory.
    dir: Vec<u8>,
    /// True if the directory's rows may continue in the next listing.
    goes_on: bool,
}

/// Rows of one directory, sorted by name.
struct Piece {
    from: From,
    start: usize,
    end: usize,
}

enum From {
    Block(Rc<Block>, usize),
    Together(Box<RowBatch>),
}

impl Piece {
    fn batch(&self) -> Option<&RowBatch> {
        match &self.from {
            From::Block(block, at) => block.get(*at).map(|listing| listing.batch),
            From::Together(batch) => Some(batch),
        }
    }
}

impl<'a> Side<'a> {
    /// Opens the rows below a start, without the segments in `without`. Without
    /// a start there are no rows. A thread of its own decodes them.
    pub(crate) fn open<'s>(
        scope: &'s Scope<'s, '_>,
        start: Option<&'a Start>,
        request: &'s Request<'s>,
        without: HashSet<usize>,
    ) -> Result<Side<'a>>
    where
        'a: 's,
    {
        let mut side = Side {
            blocks: None,
            view: start.map(|start| &*start.view),
            block: None,
            piece: None,
            dir: Vec::new(),
            goes_on: false,
        };
        if let Some(start) = start {
            let (sender, receiver) = sync_channel(AHEAD);
            let work = move || feed(start, request, &without, &sender);
            let thread = Builder::new().spawn_scoped(scope, work);
            thread.map_err(|cause| QueryError::Thread { cause })?;
            side.blocks = Some(receiver);
        }
        side.fetch()?;
        Ok(side)
    }

    /// Loads blocks until the next listing is available or the end is reached.
    fn fetch(&mut self) -> Result<()> {
        while self
            .block
            .as_ref()
            .is_none_or(|(block, at)| *at >= block.len())
        {
            let next = self.blocks.as_ref().and_then(|blocks| blocks.recv().ok());
            match next.transpose()? {
                Some(block) => self.block = Some((Rc::new(block), 0)),
                None => {
                    self.block = None;
                    self.blocks = None;
                    break;
                }
            }
        }
        Ok(())
    }

    fn next_listing(&self) -> Option<BlockListing<'_>> {
        let (block, at) = self.block.as_ref()?;
        block.get(*at)
    }

    /// Returns the next directory; `None` at the end.
    pub(crate) fn next_dir(&self) -> Option<&[u8]> {
        self.next_listing().map(|listing| listing.dir)
    }

    /// Returns the number of segments in which the snapshot has rows of a
    /// directory.
    pub(crate) fn parts_of(&self, dir: &[u8]) -> Result<usize> {
        self.view.map_or(Ok(0), |view| view.parts_of(dir))
    }

    /// Enters the next directory.
    pub(crate) fn enter(&mut self) -> Result<()> {
        let Some(listing) = self.next_listing() else {
            return Ok(());
        };
        let dir = listing.dir.to_vec();
        let is_cut = (listing.rows.1 - listing.rows.0) as u64 != listing.dir_rows;
        self.goes_on = is_cut && self.parts_of(&dir)? == 1;
        self.dir = dir;
        self.take_listing()?;
        if !self.goes_on && self.next_dir() == Some(&self.dir) {
            self.put_together()?;
        }
        self.skip_empty()
    }

    /// Makes the next listing the current piece.
    fn take_listing(&mut self) -> Result<()> {
        if let Some((block, at)) = &mut self.block
            && let Some(listing) = block.get(*at)
        {
            let (start, end) = listing.rows;
            let from = From::Block(Rc::clone(block), *at);
            self.piece = Some(Piece { from, start, end });
            *at += 1;
        }
        self.fetch()
    }

    /// Collects all listings of the directory and sorts their rows.
    fn put_together(&mut self) -> Result<()> {
        let mut all = RowBatch::default();
        loop {
            if let Some(piece) = &self.piece
                && let Some(batch) = piece.batch()
            {
                for at in piece.start..piece.end {
                    all.push(&Row {
                        batch,
                        at,
                        dir: b"",
                    });
                }
            }
            if self.next_dir() != Some(&self.dir) {
                break;
            }
            self.take_listing()?;
        }
        let mut order: Vec<usize> = (0..all.len).collect();
        order.sort_by(|a, b| all.name.get(*a).cmp(all.name.get(*b)));
        let mut sorted = RowBatch::default();
        for at in order {
            sorted.push(&Row {
                batch: &all,
                at,
                dir: b"",
            });
        }
        self.piece = Some(Piece {
            start: 0,
            end: sorted.len,
            from: From::Together(Box::new(sorted)),
        });
        Ok(())
    }

    /// Returns the available rows of the current directory as (batch, start,
    /// end). More may follow after [`Side::advance`]; `None` when there are no
    /// more.
    pub(crate) fn rows(&self) -> Option<(&RowBatch, usize, usize)> {
        let piece = self.piece.as_ref()?;
        Some((piece.batch()?, piece.start, piece.end))
    }

    /// The current directory.
    pub(crate) fn dir(&self) -> &[u8] {
        &self.dir
    }

    /// Skips the next `rows` rows.
    pub(crate) fn advance(&mut self, rows: usize) -> Result<()> {
        if let Some(piece) = &mut self.piece {
            piece.start += rows;
        }
        self.skip_empty()
    }

    /// Moves to the next piece if the current one is exhausted.
    fn skip_empty(&mut self) -> Result<()> {
        while self
            .piece
            .as_ref()
            .is_some_and(|piece| piece.start >= piece.end)
        {
            self.piece = None;
            if self.goes_on && self.next_dir() == Some(&self.dir) {
                self.take_listing()?;
            }
        }
        Ok(())
    }
}

/// Sends blocks until all are sent or the receiver is gone.
fn feed(
    start: &Start,
    request: &Request<'_>,
    without: &HashSet<usize>,
    sender: &SyncSender<Result<Block>>,
) {
    let mut blocks = match Blocks::new(start, request, without) {
        Ok(blocks) => blocks,
        Err(error) => {
            let _ = sender.send(Err(error));
            return;
        }
    };
    while let Some(next) = blocks.next_block().transpose() {
        let is_last = next.is_err();
        if sender.send(next).is_err() || is_last {
            return;
        }
    }
}
