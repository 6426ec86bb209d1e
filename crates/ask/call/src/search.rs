//! A running search: reads its records one by one, or as many as fit into a buffer.

use crate::cookie::{Cookie, Stage};
use crate::error::CallError;
use crate::executor::{Block, Executor, ServedBy, Stream};
use crate::packed::{LENGTH_MIN, decode};
use crate::record::{Outcome, RecordRef, Source};
use crate::request::{Cancel, Request};
use trawl_model::operation::Operation;

/// The result of [`Search::fill`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled {
    /// Number of bytes written to the buffer.
    pub bytes: usize,
    /// Number of records in these bytes.
    pub records: usize,
    /// The rest of the answer.
    pub rest: Rest,
}

/// How long [`Search::fill`] waits for records.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Patience {
    /// Until the buffer is full.
    Full,
    /// Until there is one record.
    First,
}

/// How a directory that is too deep is treated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// It becomes an error record.
    Told,
    /// It ends the search.
    Ends,
}

/// The rest of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Nothing.
    Nothing,
    /// More records, the next of which has `next_bytes` bytes; or an error, if `next_bytes` is 0.
    More {
        /// Minimum size of the next buffer, in bytes.
        next_bytes: usize,
    },
}

/// A running search.
pub struct Search {
    request: Request,
    stream: Box<dyn Stream>,
    block: Block,
    /// Offset of the next record in the block.
    at: usize,
    /// Offset of the record returned last, if it is in the block.
    last: Option<usize>,
    /// Position after the previous block.
    place: Cookie,
    served_by: Option<ServedBy>,
    is_over: bool,
    /// The search ended early; later reads must not report a complete answer.
    has_failed: bool,
    /// The error that ended the search, until it has been returned.
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

/// The stream of a search that resumes at its end.
struct Nothing;

impl Stream for Nothing {
    fn next_block(&mut self) -> Result<Option<Block>, CallError> {
        Ok(None)
    }
}

impl Search {
    /// Starts a search with an executor.
    ///
    /// # Errors
    /// Fails if the executor cannot answer the request at all.
    pub fn open(executor: &dyn Executor, request: Request) -> Result<Search, CallError> {
        let place = match request.resume() {
            Some(cookie) => cookie.clone(),
            None => Cookie::begin(&request),
        };
        let stream: Box<dyn Stream> = match place.stage {
            Stage::End => Box::new(Nothing),
            _ => {
                let _span = Operation::BeginSearch.span();
                executor.begin(request.clone())?
            }
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

    /// Makes the search fail with [`CallError::TooDeep`] at a directory that is too deep, as in the
    /// paper, instead of reporting the directory and going on.
    #[must_use]
    pub fn ending_where_too_deep(mut self) -> Search {
        self.depth = Depth::Ends;
        self
    }

    /// Returns the next record; `None` at the end.
    ///
    /// # Errors
    /// Returns the error that ends the search early. A path that cannot be read is a record, not an
    /// error.
    pub fn next_record(&mut self) -> Result<Option<RecordRef<'_>>, CallError> {
        match self.advance()? {
            true => self.record(),
            false => Ok(None),
        }
    }

    /// Advances to the next record, which [`Search::record`] then returns; false at the end.
    ///
    /// # Errors
    /// Returns the error that ends the search early.
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

    /// Returns the current record, to which [`Search::advance`] went last.
    ///
    /// # Errors
    /// Never fails where [`Search::advance`] succeeded.
    pub fn record(&self) -> Result<Option<RecordRef<'_>>, CallError> {
        match self.last {
            Some(last) => Ok(Some(decode(&self.block.packed[last..])?.0)),
            None => Ok(None),
        }
    }

    /// Returns whether reading the next record may block.
    pub fn is_waiting(&self) -> bool {
        self.at >= self.block.packed.len()
    }

    /// Waits until there is a next record, the end, or an error that ends the search early; the
    /// next read returns it.
    pub fn wait(&mut self) {
        if let Err(error) = self.is_loaded() {
            self.failure = Some(error);
        }
    }

    /// Writes whole records to a buffer until the buffer is full or the answer ends. If the next
    /// record does not fit into an empty buffer, nothing is written and [`Rest::More`] says how
    /// large the buffer must be.
    ///
    /// # Errors
    /// Returns the error that ends the search early. Records that precede it are returned first;
    /// then the next call returns the error.
    pub fn fill(&mut self, buffer: &mut [u8]) -> Result<Filled, CallError> {
        self.fill_with(buffer, Patience::Full)
    }

    /// Like [`Search::fill`], but waits for the first record only. Where the next record is not
    /// there yet, [`Rest::More`] gives the length of the shortest record.
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

    /// Waits for the next record; false at the end.
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
            let next = {
                let _span = Operation::NextBlock.span();
                self.stream.next_block()?
            };
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

    /// Fails if the next record is a directory that is too deep and that is to end the search.
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

    /// Returns the search's position: after the record returned last.
    pub fn cookie(&self) -> Cookie {
        let mut place = self.place.clone();
        if self.is_over {
            place.end();
        } else if let Ok(Some(record)) = self.record() {
            place.advance(&self.request, &record);
        }
        place
    }

    /// Returns the executor that served the last record; `None` before the first one.
    pub fn served_by(&self) -> Option<ServedBy> {
        self.served_by
    }

    /// Returns a handle that ends the search from any thread.
    pub fn cancel(&self) -> Cancel {
        self.request.cancel().clone()
    }
}

/// Returns whether this record completes the answer.
fn is_enough(request: &Request, record: &RecordRef<'_>) -> bool {
    request.is_first() && matches!(record.outcome, Outcome::Match(_))
}
