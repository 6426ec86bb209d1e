//! A search that is under way: its records one by one, or as many as a buffer holds.

use crate::cookie::{Cookie, Stage};
use crate::error::CallError;
use crate::executor::{Block, Executor, ServedBy, Stream};
use crate::packed::decode;
use crate::record::{Outcome, RecordRef};
use crate::request::{Cancel, Request};

/// What [`Search::fill`] has put into a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled {
    /// Bytes of the buffer that are used.
    pub bytes: usize,
    /// Records in them.
    pub records: usize,
    /// What is behind them.
    pub rest: Rest,
}

/// What is left of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Nothing.
    Nothing,
    /// Records, of which the next has so many bytes.
    More {
        /// What a buffer needs at least.
        next_bytes: usize,
    },
}

/// A search that is under way.
pub struct Search {
    request: Request,
    stream: Box<dyn Stream>,
    block: Option<Block>,
    /// Where the next record of the block begins.
    at: usize,
    /// Where the record begins that the search went to.
    current: Option<usize>,
    place: Cookie,
    served_by: Option<ServedBy>,
}

impl std::fmt::Debug for Search {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Search")
            .field("request", &self.request)
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

/// The answer to what was at its end before.
struct Nothing;

impl Stream for Nothing {
    fn next_block(&mut self) -> Result<Option<Block>, CallError> {
        Ok(None)
    }
}

impl Search {
    /// Asks an executor.
    ///
    /// # Errors
    /// If it cannot answer the question at all.
    pub fn open(executor: &dyn Executor, request: Request) -> Result<Search, CallError> {
        let place = match request.resume() {
            Some(cookie) => cookie.clone(),
            None => Cookie::begin(&request),
        };
        let stream: Box<dyn Stream> = match place.stage {
            Stage::End => Box::new(Nothing),
            _ => executor.begin(request.clone())?,
        };
        Ok(Search {
            request,
            stream,
            block: None,
            at: 0,
            current: None,
            place,
            served_by: None,
        })
    }

    /// The next record; `None` at the end.
    ///
    /// # Errors
    /// What ends the search early. What could not be read is a record.
    pub fn next_record(&mut self) -> Result<Option<RecordRef<'_>>, CallError> {
        self.advance()?;
        self.record()
    }

    /// Goes to the next record, which [`Search::record`] then has; false at the end.
    ///
    /// # Errors
    /// What ends the search early.
    pub fn advance(&mut self) -> Result<bool, CallError> {
        self.current = None;
        if !self.is_loaded()? {
            return Ok(false);
        }
        let packed = self.block.as_ref().map_or(&[][..], |block| &block.packed);
        let (record, length) = decode(&packed[self.at..])?;
        pass(&mut self.place, &self.request, &record);
        self.current = Some(self.at);
        self.at += length;
        Ok(true)
    }

    /// The record that the search went to.
    ///
    /// # Errors
    /// None, where [`Search::advance`] had none.
    pub fn record(&self) -> Result<Option<RecordRef<'_>>, CallError> {
        match (&self.block, self.current) {
            (Some(block), Some(at)) => Ok(Some(decode(&block.packed[at..])?.0)),
            _ => Ok(None),
        }
    }

    /// Whether the next record may have to be waited for.
    pub fn is_waiting(&self) -> bool {
        let block = self.block.as_ref();
        block.is_none_or(|block| self.at >= block.packed.len())
    }

    /// Puts as many whole records into a buffer as it holds, waiting for at least one. A buffer
    /// too small for the next record gets none: [`Rest::More`] says how large it must be.
    ///
    /// # Errors
    /// As [`Search::next_record`], before anything is put into the buffer.
    pub fn fill(&mut self, buffer: &mut [u8]) -> Result<Filled, CallError> {
        self.current = None;
        let mut filled = Filled {
            bytes: 0,
            records: 0,
            rest: Rest::Nothing,
        };
        while self.is_loaded()? {
            let packed = self.block.as_ref().map_or(&[][..], |block| &block.packed);
            let (record, length) = decode(&packed[self.at..])?;
            let Some(space) = buffer.get_mut(filled.bytes..filled.bytes + length) else {
                filled.rest = Rest::More { next_bytes: length };
                break;
            };
            space.copy_from_slice(&packed[self.at..self.at + length]);
            filled.bytes += length;
            filled.records += 1;
            pass(&mut self.place, &self.request, &record);
            self.at += length;
        }
        Ok(filled)
    }

    /// Whether there is a next record; waits for it.
    fn is_loaded(&mut self) -> Result<bool, CallError> {
        loop {
            if let Some(block) = &self.block
                && self.at < block.packed.len()
            {
                return Ok(true);
            }
            self.block = None;
            self.at = 0;
            if self.place.stage == Stage::End {
                return Ok(false);
            }
            self.request.cancel().check()?;
            match self.stream.next_block()? {
                None => self.place.end(),
                Some(block) => {
                    self.served_by = Some(block.served_by);
                    self.block = Some(block);
                }
            }
        }
    }

    /// Where the search is: behind the record that was given last.
    pub fn cookie(&self) -> Cookie {
        self.place.clone()
    }

    /// Who gave the last record; `None` before the first one.
    pub fn served_by(&self) -> Option<ServedBy> {
        self.served_by
    }

    /// Ends it from anywhere.
    pub fn cancel(&self) -> Cancel {
        self.request.cancel().clone()
    }
}

/// Goes past a record.
fn pass(place: &mut Cookie, request: &Request, record: &RecordRef<'_>) {
    place.advance(request, record);
    if request.is_first() && matches!(record.outcome, Outcome::Match(_)) {
        place.end();
    }
}
