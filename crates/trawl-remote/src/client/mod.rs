//! Asks a server: an executor like the live walk and the index.

mod address;
mod connection;
mod contents;
mod stream;
mod watch;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use trawl_call::packed::decode;
use trawl_call::{CallError, Executor, Record, Request, Stream};
use trawl_sys::Errno;
use trawl_sys::directory::Links;

use crate::error::RemoteError;
use crate::wire::attributes::Item;
use crate::wire::{ATTRIBUTES_MAX_BYTES, BadFrame, Code, Ending, LINKS_MAX, Message, feature};

pub use crate::wire::attributes::ExtendedAttributes;
pub use address::Address;
use connection::Connection;
pub use contents::Fetched;
use stream::RemoteStream;
pub use watch::Watch;

/// Number of bytes of an answer that may be in flight: enough that even a distant server never
/// waits for more credit.
const CREDIT_BYTES: u32 = 4 << 20;
/// Maximum number of connections kept for later requests.
const IDLE_MAX: usize = 4;

/// Maximum size of the answer about one path, in bytes.
const STAT_MAX_BYTES: usize = 64 << 10;
/// Maximum memory for a directory listing: some 1.7 million names of usual length.
const LIST_MAX_BYTES: usize = 512 << 20;
/// Maximum size of a link's target in an answer: an errno, a length, and Linux's longest target.
const TARGET_MAX_BYTES: usize = 4 + 4 + 4096;
/// Maximum size of an answer about attributes: the size at which it pauses, plus the object at
/// which it does (attributes of at most 64 KiB each, and a path).
const ATTRIBUTES_MOST_BYTES: usize = 3 * ATTRIBUTES_MAX_BYTES;

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
pub struct Remote(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    address: Address,
    patience: Patience,
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

    /// Returns the attributes of a path, as by stat(2), or lstat(2) if links are refused; or the
    /// error, as a record.
    ///
    /// # Errors
    /// Fails if the server cannot be asked.
    pub fn stat(&self, path: &[u8], links: Links) -> Result<Record, RemoteError> {
        let of_link = links == Links::Refused;
        let path = path.to_vec();
        let records = records(self.ask(&Message::Stat { of_link, path }, STAT_MAX_BYTES)?)?;
        let first = records.into_iter().next();
        first.ok_or_else(|| self.nonsense(BadFrame::Field("answer")))
    }

    /// Returns all entries of a directory by name, with their attributes as by lstat(2). An error
    /// about the directory is a record, too.
    ///
    /// # Errors
    /// Fails if the server cannot be asked; [`RemoteError::TooMuch`] if the listing needs more than
    /// [`Patience::list_max_bytes`].
    pub fn list(&self, path: &[u8]) -> Result<Vec<Record>, RemoteError> {
        let credit = self.0.patience.credit;
        let path = path.to_vec();
        let most = self.0.patience.list_max_bytes;
        records(self.ask(&Message::List { credit, path }, most)?)
    }

    /// Reads bytes of a regular file, at most 1 MiB; a shorter result means the end of the file.
    ///
    /// # Errors
    /// Fails if the server cannot be asked, or the file cannot be read.
    pub fn read(&self, path: &[u8], offset: u64, length: u32) -> Result<Vec<u8>, RemoteError> {
        let path = path.to_vec();
        let request = Message::Read {
            offset,
            length,
            path,
        };
        self.ask(&request, length as usize)
    }

    /// Returns the targets of links, in the order of the paths; an errno for a path that is no
    /// link. At most [`LINKS_MAX`] paths are asked about.
    ///
    /// # Errors
    /// Fails if the server cannot be asked, or does not know this request; [`RemoteError::TooMuch`]
    /// if it sends more than any targets can have.
    pub fn links(&self, paths: &[Vec<u8>]) -> Result<Vec<Target>, RemoteError> {
        let paths = &paths[..paths.len().min(LINKS_MAX)];
        let request = Message::Links(paths.to_vec());
        let most = paths.len() * TARGET_MAX_BYTES;
        let bytes = self.ask_if(feature::LINKS, "links", &request, most)?;
        let mut rest = &bytes[..];
        let mut targets = Vec::with_capacity(paths.len());
        while let Some((target, behind)) = target(rest) {
            targets.push(target);
            rest = behind;
        }
        match rest.is_empty() && targets.len() == paths.len() {
            true => Ok(targets),
            false => Err(self.nonsense(BadFrame::Field("answer"))),
        }
    }

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
        let request = Message::Attributes {
            entries,
            top: top.to_vec(),
            from: from.to_vec(),
        };
        let what = "extended attributes";
        let bytes = self.ask_if(feature::ATTRIBUTES, what, &request, ATTRIBUTES_MOST_BYTES)?;
        let found = AttributesBelow::decode(&bytes);
        match found {
            Ok(found) if found.objects.first().is_some_and(|(path, _)| path == from) => Ok(found),
            Ok(_) => Err(self.nonsense(BadFrame::Field("first object"))),
            Err(source) => Err(self.nonsense(source)),
        }
    }

    /// Sends a request that some servers do not know, and returns its answer.
    fn ask_if(
        &self,
        feature: u64,
        what: &'static str,
        request: &Message,
        most: usize,
    ) -> Result<Vec<u8>, RemoteError> {
        let lacks = || RemoteError::Lacks {
            server: self.0.address.to_string(),
            what,
        };
        let known = *self.0.features();
        if known.is_some_and(|features| features & feature == 0) {
            return Err(lacks());
        }
        match self.ask(request, most) {
            // The server had not sent its hello before, or was replaced by another version.
            Err(RemoteError::Refused {
                code: Code::Unsupported,
                ..
            }) => Err(lacks()),
            answer => answer,
        }
    }

    fn nonsense(&self, source: BadFrame) -> RemoteError {
        RemoteError::Nonsense {
            server: self.0.address.to_string(),
            source,
        }
    }

    /// Sends a request other than a search, and returns the whole answer, for which at most `most`
    /// bytes of memory are needed.
    fn ask(&self, request: &Message, most: usize) -> Result<Vec<u8>, RemoteError> {
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

    fn ask_on(
        &self,
        connection: &mut Connection,
        request: &Message,
        most: usize,
    ) -> Result<Vec<u8>, RemoteError> {
        let id = connection.request(request)?;
        let (mut bytes, mut count) = (Vec::new(), 0u64);
        // Small records take more memory once they are decoded.
        let mut records_bytes = 0;
        let silence = self.0.patience.silence;
        loop {
            match connection.answer(id, silence, &mut || Ok(()))? {
                Message::Block(block) => {
                    let mut rest = &block[..];
                    while !rest.is_empty() {
                        let bad = |_| self.nonsense(BadFrame::Field("record"));
                        rest = &rest[decode(rest).map_err(bad)?.1..];
                        count += 1;
                        records_bytes += size_of::<Record>();
                    }
                    self.expect_room(bytes.len() + block.len() + records_bytes, most)?;
                    let more = u32::try_from(block.len()).unwrap_or(u32::MAX);
                    connection.say(id, &Message::Credit(more))?;
                    bytes.extend_from_slice(&block);
                }
                Message::ServedBy(_) => {}
                Message::Data(data) => {
                    self.expect_room(bytes.len() + data.len(), most)?;
                    count += data.len() as u64;
                    bytes.extend_from_slice(&data);
                }
                Message::End {
                    records,
                    ending: Ending::Whole,
                } if records == count => return Ok(bytes),
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

/// The target of a link, or the errno of reading it.
pub type Target = Result<Vec<u8>, Errno>;

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

fn records(bytes: Vec<u8>) -> Result<Vec<Record>, RemoteError> {
    let (mut rest, mut records) = (&bytes[..], Vec::new());
    // The records were decoded once before.
    while let Ok((record, length)) = decode(rest) {
        records.push(record.to_owned());
        rest = &rest[length..];
    }
    Ok(records)
}

impl RemoteError {
    /// Returns whether the connection is gone, so that a new one may succeed.
    fn is_break(&self) -> bool {
        use RemoteError::{Broken, Cut, Silent};
        matches!(self, Broken { .. } | Cut { .. } | Silent { .. })
    }
}

impl Inner {
    /// Returns a connection without a running request.
    fn connection(&self) -> Result<Connection, RemoteError> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        match idle.pop() {
            Some(connection) => Ok(connection),
            None => {
                drop(idle);
                Connection::open(&self.address)
            }
        }
    }

    /// Returns the feature bits that the server sent last.
    fn features(&self) -> std::sync::MutexGuard<'_, Option<u64>> {
        self.features.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a connection for later requests.
    fn keep(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX {
            idle.push(connection);
        }
    }
}

impl Executor for Remote {
    fn begin(&self, request: Request) -> Result<Box<dyn Stream>, CallError> {
        let stream = RemoteStream::begin(Arc::clone(&self.0), request)?;
        Ok(Box::new(stream))
    }
}
