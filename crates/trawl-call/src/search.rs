//! A search that is under way: its records one by one, or as many as a buffer holds.

use crate::cookie::{Cookie, Stage};
use crate::error::CallError;
use crate::executor::{Block, Executor, ServedBy, Stream};
use crate::packed::{LENGTH_MIN, decode};
use crate::record::{Outcome, RecordRef, Source};
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

/// How long records are waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Patience {
    /// Until the buffer is full.
    Full,
    /// Until there is one.
    First,
}

/// What becomes of a directory that is too deep.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// It is an error record.
    Told,
    /// It ends the search.
    Ends,
}

/// What is left of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Nothing.
    Nothing,
    /// Records, of which the next has so many bytes, or an error, if they are 0.
    More {
        /// What a buffer needs at least.
        next_bytes: usize,
    },
}

/// A search that is under way.
pub struct Search {
    request: Request,
    stream: Box<dyn Stream>,
    block: Block,
    /// Where the next record of the block begins.
    at: usize,
    /// Where the record begins that was given last, if it is in the block.
    last: Option<usize>,
    /// The place behind the block before.
    place: Cookie,
    served_by: Option<ServedBy>,
    is_over: bool,
    /// It ended early, and is not to look as if it were whole.
    has_failed: bool,
    /// Why, if that was not said yet.
    failure: Option<CallError>,
    depth: Depth,
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
        let block = Block {
            served_by: ServedBy::Live,
            packed: Vec::new(),
        };
        Ok(Search {
            is_over: place.stage == Stage::End,
            request,
            stream,
            block,
            at: 0,
            last: None,
            place,
            served_by: None,
            has_failed: false,
            failure: None,
            depth: Depth::Told,
        })
    }

    /// The same, which ends with [`CallError::TooDeep`] where a directory is too deep, as in the
    /// paper, instead of telling of it and going on.
    #[must_use]
    pub fn ending_where_too_deep(mut self) -> Search {
        self.depth = Depth::Ends;
        self
    }

    /// The next record; `None` at the end.
    ///
    /// # Errors
    /// What ends the search early. What could not be read is a record.
    pub fn next_record(&mut self) -> Result<Option<RecordRef<'_>>, CallError> {
        match self.advance()? {
            true => self.record(),
            false => Ok(None),
        }
    }

    /// Goes to the next record, which [`Search::record`] then has; false at the end.
    ///
    /// # Errors
    /// What ends the search early.
    pub fn advance(&mut self) -> Result<bool, CallError> {
        if !self.is_loaded()? {
            return Ok(false);
        }
        let (record, length) = decode(&self.block.packed[self.at..])?;
        self.is_over = is_enough(&self.request, &record);
        self.last = Some(self.at);
        self.at += length;
        Ok(true)
    }

    /// The record that the search went to.
    ///
    /// # Errors
    /// None, where [`Search::advance`] had none.
    pub fn record(&self) -> Result<Option<RecordRef<'_>>, CallError> {
        match self.last {
            Some(last) => Ok(Some(decode(&self.block.packed[last..])?.0)),
            None => Ok(None),
        }
    }

    /// Whether the next record may have to be waited for.
    pub fn is_waiting(&self) -> bool {
        self.at >= self.block.packed.len()
    }

    /// Waits until there is a next record, the end, or what ends the search early; whoever reads
    /// next is told which.
    pub fn wait(&mut self) {
        if let Err(error) = self.is_loaded() {
            self.failure = Some(error);
        }
    }

    /// Puts whole records into a buffer until it is full or there are no more. A buffer too small
    /// for the next record gets none: [`Rest::More`] says how large it must be.
    ///
    /// # Errors
    /// What ends the search early. If there were records before that, they are given first, and
    /// the next call has the error.
    pub fn fill(&mut self, buffer: &mut [u8]) -> Result<Filled, CallError> {
        self.fill_with(buffer, Patience::Full)
    }

    /// The same, but waits for the first record alone: [`Rest::More`] then says the least that a
    /// record has, where the next one is not there yet.
    ///
    /// # Errors
    /// As [`Search::fill`].
    pub fn fill_ready(&mut self, buffer: &mut [u8]) -> Result<Filled, CallError> {
        self.fill_with(buffer, Patience::First)
    }

    fn fill_with(&mut self, buffer: &mut [u8], patience: Patience) -> Result<Filled, CallError> {
        let mut filled = Filled {
            bytes: 0,
            records: 0,
            rest: Rest::Nothing,
        };
        loop {
            if patience == Patience::First && filled.records > 0 && self.is_waiting() {
                filled.rest = Rest::More {
                    next_bytes: LENGTH_MIN,
                };
                break;
            }
            match self.is_loaded() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) if filled.records == 0 => return Err(error),
                Err(error) => {
                    self.failure = Some(error);
                    filled.rest = Rest::More { next_bytes: 0 };
                    break;
                }
            }
            let packed = &self.block.packed[self.at..];
            let (record, length) = decode(packed)?;
            let Some(space) = buffer.get_mut(filled.bytes..filled.bytes + length) else {
                filled.rest = Rest::More { next_bytes: length };
                break;
            };
            space.copy_from_slice(&packed[..length]);
            filled.bytes += length;
            filled.records += 1;
            self.is_over = is_enough(&self.request, &record);
            self.last = Some(self.at);
            self.at += length;
        }
        Ok(filled)
    }

    /// Whether there is a next record; waits for it.
    fn is_loaded(&mut self) -> Result<bool, CallError> {
        if self.has_failed {
            return Err(self.failure.take().unwrap_or(CallError::Ended));
        }
        let loaded = self.load();
        self.has_failed = loaded.is_err();
        loaded
    }

    fn load(&mut self) -> Result<bool, CallError> {
        while !self.is_over {
            if self.at < self.block.packed.len() {
                self.check_depth()?;
                return Ok(true);
            }
            self.request.cancel().check()?;
            let next = self.stream.next_block()?;
            self.place = self.cookie();
            (self.at, self.last) = (0, None);
            match next {
                None => self.is_over = true,
                Some(block) => {
                    self.served_by = Some(block.served_by);
                    self.block = block;
                }
            }
        }
        Ok(false)
    }

    /// Whether the next record lets the search go on.
    fn check_depth(&self) -> Result<(), CallError> {
        if self.depth == Depth::Told {
            return Ok(());
        }
        let (record, _) = decode(&self.block.packed[self.at..])?;
        match record.outcome {
            Outcome::Error(trouble) if trouble.source == Source::Depth => Err(CallError::TooDeep {
                path: record.path.escape_ascii().to_string(),
                most: self.request.options().max_depth,
            }),
            _ => Ok(()),
        }
    }

    /// Where the search is: behind the record that was given last.
    pub fn cookie(&self) -> Cookie {
        let mut place = self.place.clone();
        if self.is_over {
            place.end();
        } else if let Ok(Some(record)) = self.record() {
            place.advance(&self.request, &record);
        }
        place
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

/// Whether nothing is wanted behind this record.
fn is_enough(request: &Request, record: &RecordRef<'_>) -> bool {
    request.is_first() && matches!(record.outcome, Outcome::Match(_))
}
