//! Asks a server: an executor like the live walk and the index.

mod address;
mod connection;
pub mod pipeline;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use trawl_call::packed::decode;
use trawl_call::{CallError, Executor, Record, Request, Stream};
use trawl_model::operation::Operation;
use trawl_model::sync::lock;

use crate::error::RemoteError;
use crate::measured;
use crate::messages::contents::Wanted;
use crate::messages::{
    Ask, Block, Body, Code, Credit, Data, End, Ending, Message, Open, Question, SearchContents,
};
use crate::wire::BadFrame;

pub use crate::messages::OutputStream;
pub use crate::messages::attributes::AttributesBelow;
pub use crate::messages::attributes::items::ExtendedAttributes;
pub use crate::messages::command::asking::{Command, Part};
pub use crate::messages::command::{
    CommandLine, MAPPED, ROWS, TerminalSize, Terminals, VARIABLES, is_variable,
};
pub use crate::messages::contents::Sink;
pub use crate::messages::fetch::Fetched;
pub use crate::messages::watch::asking::Watch;
pub use crate::messages::{ContentsWish, Target};
pub use address::Address;
pub(crate) use connection::{Connection, Sender};
pub use pipeline::Pipeline;

/// Number of bytes of an answer that may be in flight: enough that even a distant server never
/// waits for more credit.
const CREDIT_BYTES: u32 = 4 << 20;
/// Maximum number of connections kept for later requests.
const IDLE_MAX: usize = 4;

/// Maximum memory for a directory listing: some 1.7 million names of usual length.
const LIST_MAX_BYTES: usize = 512 << 20;
/// Limits on waiting and memory when asking a server.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Maximum silence of the server; while it works, it reports so every 10 s.
    pub silence: Duration,
    /// Number of bytes of an answer that may be in flight.
    pub credit: u32,
    /// Maximum memory for the listing of one directory, in bytes. Other answers have limits of
    /// their own.
    pub list_max_bytes: usize,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            silence: Duration::from_secs(60),
            credit: CREDIT_BYTES,
            list_max_bytes: LIST_MAX_BYTES,
        }
    }
}

/// A server.
///
/// A search takes one round trip, even on a new connection: hello and question are sent together.
/// If a connection breaks within an answer, the search resumes on a new connection, after the last
/// record received. If that yields no further record, the search fails.
#[derive(Clone, Debug)]
pub struct Remote(pub(crate) Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) address: Address,
    pub(crate) patience: Patience,
    idle: Mutex<Vec<Connection>>,
    /// The feature bits that the server sent last.
    features: Mutex<Option<u64>>,
}

impl Remote {
    /// Creates a client of the server at this address. It does not connect yet.
    pub fn new(address: Address) -> Remote {
        Remote::with(address, Patience::default())
    }

    /// Like [`Remote::new`], with these limits.
    pub fn with(address: Address, patience: Patience) -> Remote {
        let idle = Mutex::default();
        Remote(Arc::new(Inner {
            address,
            patience,
            idle,
            features: Mutex::default(),
        }))
    }

    /// Returns the address of the server.
    pub fn address(&self) -> &Address {
        &self.0.address
    }

    /// Sends a request, if the server knows it, and returns its answer.
    pub(crate) fn ask<M: Ask>(&self, request: &M) -> Result<M::Answer, RemoteError> {
        let _span = measured::asking(M::NAME).map(Operation::span);
        let most = request.most_bytes(&self.0.patience);
        let bytes = match M::SUBJECT {
            Some(what) => self.whole_answer_if(what, request, most)?,
            None => self.whole_answer(request, most)?,
        };
        request
            .answer(bytes)
            .map_err(|source| self.nonsense(source))
    }

    /// Sends a request that some servers do not know, and returns the whole answer.
    fn whole_answer_if<M: Body>(
        &self,
        what: &'static str,
        request: &M,
        most: usize,
    ) -> Result<Vec<u8>, RemoteError> {
        let lacks = || RemoteError::Lacks {
            server: self.0.address.to_string(),
            what,
        };
        let known = *self.0.features();
        if known.is_some_and(|features| features & M::FEATURE == 0) {
            return Err(lacks());
        }
        match self.whole_answer(request, most) {
            // The server had not sent its hello before, or was replaced by another version.
            Err(RemoteError::Refused {
                code: Code::Unsupported,
                ..
            }) => Err(lacks()),
            answer => answer,
        }
    }

    pub(crate) fn nonsense(&self, source: BadFrame) -> RemoteError {
        RemoteError::Nonsense {
            server: self.0.address.to_string(),
            source,
        }
    }

    /// Sends a request other than a search, and returns the whole answer, for which at most `most`
    /// bytes of memory are needed.
    fn whole_answer<M: Body>(&self, request: &M, most: usize) -> Result<Vec<u8>, RemoteError> {
        loop {
            let mut connection = self.0.connection()?;
            let is_new = connection.is_new();
            let answer = self.ask_on(&mut connection, request, most);
            if let Some(features) = connection.features() {
                *self.0.features() = Some(features);
            }
            match answer {
                // The server may have ended while the connection was idle.
                Err(error) if !is_new && error.is_break() => {}
                Err(error) => return Err(error),
                Ok(bytes) => {
                    self.0.keep(connection);
                    return Ok(bytes);
                }
            }
        }
    }

    /// Sends a request on a connection, and returns the whole answer.
    pub(crate) fn ask_on<M: Body>(
        &self,
        connection: &mut Connection,
        request: &M,
        most: usize,
    ) -> Result<Vec<u8>, RemoteError> {
        let id = connection.request(request)?;
        let (mut bytes, mut count) = (Vec::new(), 0u64);
        // Small records take more memory once they are decoded.
        let mut records_bytes = 0;
        let silence = self.0.patience.silence;
        loop {
            match connection.answer(id, silence, &mut || Ok(()))? {
                Message::Block(Block(block)) => {
                    let mut rest = &block[..];
                    while !rest.is_empty() {
                        let bad = |_| self.nonsense(BadFrame::Field("record"));
                        rest = &rest[decode(rest).map_err(bad)?.1..];
                        count += 1;
                        records_bytes += size_of::<Record>();
                    }
                    self.expect_room(bytes.len() + block.len() + records_bytes, most)?;
                    let more = u32::try_from(block.len()).unwrap_or(u32::MAX);
                    connection.say(id, &Credit(more))?;
                    bytes.extend_from_slice(&block);
                }
                Message::ServedBy(_) => {}
                Message::Data(Data(data)) => {
                    self.expect_room(bytes.len() + data.len(), most)?;
                    count += data.len() as u64;
                    bytes.extend_from_slice(&data);
                }
                Message::End(End {
                    records,
                    ending: Ending::Whole,
                }) if records == count => return Ok(bytes),
                _ => return Err(self.nonsense(BadFrame::Field("end"))),
            }
        }
    }

    /// Fails if the answer is too large, so that an endless answer does not fill the memory.
    fn expect_room(&self, bytes: usize, most: usize) -> Result<(), RemoteError> {
        match bytes > most {
            true => Err(RemoteError::TooMuch {
                server: self.0.address.to_string(),
                most,
            }),
            false => Ok(()),
        }
    }
}

/// Decodes the records of an answer, which were decoded once before.
pub(crate) fn records(bytes: &[u8]) -> Vec<Record> {
    let (mut rest, mut records) = (bytes, Vec::new());
    while let Ok((record, length)) = decode(rest) {
        records.push(record.to_owned());
        rest = &rest[length..];
    }
    records
}

impl RemoteError {
    /// Returns whether the connection is gone, so that a new one may succeed.
    pub(crate) fn is_break(&self) -> bool {
        use RemoteError::{Broken, Cut, Silent};
        matches!(self, Broken { .. } | Cut { .. } | Silent { .. })
    }
}

impl Inner {
    /// Returns a connection without a running request.
    pub(crate) fn connection(&self) -> Result<Connection, RemoteError> {
        let mut idle = lock(&self.idle);
        match idle.pop() {
            Some(connection) => Ok(connection),
            None => {
                drop(idle);
                Connection::open(&self.address, self.patience.silence)
            }
        }
    }

    /// Returns the feature bits that the server sent last.
    fn features(&self) -> std::sync::MutexGuard<'_, Option<u64>> {
        lock(&self.features)
    }

    /// Keeps a connection for later requests.
    pub(crate) fn keep(&self, connection: Connection) {
        let mut idle = lock(&self.idle);
        if idle.len() < IDLE_MAX {
            idle.push(connection);
        }
    }
}

/// Asks a server for small files together with the records of a search. Servers without this ability
/// answer without files.
#[derive(Clone)]
pub struct WithContents {
    /// The server.
    pub remote: Remote,
    /// Which files are taken of one search.
    pub wish: ContentsWish,
    /// Gets the files.
    pub sink: Sink,
}

impl Executor for WithContents {
    fn begin(&self, request: Request) -> Result<Box<dyn Stream>, CallError> {
        let wanted = Wanted {
            request,
            wish: self.wish,
            sink: Arc::clone(&self.sink),
        };
        let stream = SearchContents::open(&self.remote, wanted)?;
        Ok(Box::new(stream))
    }
}

impl Executor for Remote {
    fn begin(&self, request: Request) -> Result<Box<dyn Stream>, CallError> {
        let stream = Question::open(self, request)?;
        Ok(Box::new(stream))
    }
}
