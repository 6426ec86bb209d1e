//! A connection to a server. Its owner receives; requests can also be sent from other threads.

use std::process::Child;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use trawl_model::sync::lock;

use super::Address;
use crate::error::RemoteError;
use crate::frames::{Came, FrameError, FrameReader, send};
use crate::messages::{Body, Code, Hello, Message, Refusal, encode, feature};
use crate::tls::client::Trouble;
use crate::transport::Transmit;
use crate::wire::{ANSWER_MAX_BYTES, BadFrame, HEAD_BYTES, REQUEST_MAX_BYTES, VERSION};

/// Interval of checks whether the caller has cancelled the search.
const LOOK: Duration = Duration::from_millis(100);
/// Maximum time for sending a request: the server reads all the time, so one that does not is gone.
const STALL: Duration = Duration::from_secs(60);
/// Maximum time to wait for the exit status of a server process that has closed its end.
const FAREWELL: Duration = Duration::from_millis(500);

/// The sending half of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Sender(Arc<Mutex<Box<dyn Transmit>>>);

impl Sender {
    /// Sends whole frames.
    pub(crate) fn send(&self, bytes: &[u8]) -> std::io::Result<()> {
        send(&mut **lock(&self.0), bytes, STALL)
    }
}

/// What arrived on a connection with several requests.
pub(crate) enum Event {
    /// Nothing, in the time given.
    Nothing,
    /// The server's hello, or a sign that it works.
    Sign,
    /// Part of the answer to this request.
    Answer(u32, Message),
    /// This request was refused.
    Refused(u32, RemoteError),
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    server: String,
    reader: FrameReader,
    sender: Sender,
    child: Option<Child>,
    /// Number of the last request.
    id: u32,
    /// Whether the server's hello was received.
    is_greeted: bool,
    /// Maximum number of concurrent requests, once known.
    requests: Option<u32>,
    /// The server's feature bits, once known.
    features: Option<u64>,
}

/// Returns the frame with which a client begins a connection.
pub(crate) fn greeting() -> Vec<u8> {
    let hello = Hello {
        lowest: VERSION,
        highest: VERSION,
        requests: 0,
        features: feature::ALL,
    };
    encode(&hello, 0)
}

/// Encodes a request, which must fit into one frame.
pub(crate) fn framed<M: Body>(request: &M, id: u32) -> Result<Vec<u8>, RemoteError> {
    let frame = encode(request, id);
    match frame.len() > REQUEST_MAX_BYTES + 4 {
        true => Err(RemoteError::TooLong {
            bytes: frame.len() - 4 - HEAD_BYTES,
            most: REQUEST_MAX_BYTES - HEAD_BYTES,
        }),
        false => Ok(frame),
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Connection {
    /// Connects; see [`Address::connect`].
    pub(crate) fn open(address: &Address, silence: Duration) -> Result<Connection, RemoteError> {
        let server = address.to_string();
        let (transport, child) = address.connect(silence)?;
        Ok(Connection {
            server,
            reader: FrameReader::new(transport.receive, ANSWER_MAX_BYTES, STALL),
            sender: Sender(Arc::new(Mutex::new(transport.transmit))),
            child,
            id: 0,
            is_greeted: false,
            requests: None,
            features: None,
        })
    }

    /// Returns the server's feature bits, once known.
    pub(crate) fn features(&self) -> Option<u64> {
        self.features
    }

    /// Returns the maximum number of concurrent requests, once known.
    pub(crate) fn requests(&self) -> Option<u32> {
        self.requests
    }

    /// Returns the sending half. Frames that are sent through it begin with [`greeting`], and
    /// number the requests.
    pub(crate) fn sender(&self) -> Sender {
        self.sender.clone()
    }

    /// Returns whether no request was sent on it.
    pub(crate) fn is_new(&self) -> bool {
        self.id == 0
    }

    /// Returns whether the server, whose hello was received, has this feature.
    pub(crate) fn can(&self, feature: u64) -> bool {
        self.features
            .is_some_and(|features| features & feature != 0)
    }

    /// Sends a request, preceded by a hello if it is the first, and returns its number.
    pub(crate) fn request<M: Body>(&mut self, request: &M) -> Result<u32, RemoteError> {
        let mut bytes = match self.is_new() {
            true => greeting(),
            false => Vec::new(),
        };
        self.id = self.id.checked_add(1).unwrap_or(1);
        bytes.extend_from_slice(&framed(request, self.id)?);
        self.send(&bytes)?;
        Ok(self.id)
    }

    /// Sends a message about a request.
    pub(crate) fn say<M: Body>(&mut self, id: u32, message: &M) -> Result<(), RemoteError> {
        self.send(&encode(message, id))
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), RemoteError> {
        match self.sender.send(bytes) {
            Ok(()) => Ok(()),
            // The server may have sent the reason before it closed the connection.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            Err(source) => Err(self.broken(source)),
        }
    }

    fn broken(&self, source: std::io::Error) -> RemoteError {
        let server = self.server.clone();
        match Trouble::of(&source) {
            Some(trouble) => RemoteError::Tls {
                server,
                why: trouble.to_string(),
            },
            None => RemoteError::Broken { server, source },
        }
    }

    /// Returns the next message of the answer to a request; calls `look` repeatedly while nothing
    /// arrives.
    pub(crate) fn answer(
        &mut self,
        id: u32,
        silence: Duration,
        look: &mut dyn FnMut() -> Result<(), RemoteError>,
    ) -> Result<Message, RemoteError> {
        let mut since = Instant::now();
        loop {
            look()?;
            match self.came(LOOK.min(silence))? {
                Some((of, message)) => {
                    since = Instant::now();
                    if let Some(message) = self.admit(id, of, message)? {
                        return Ok(message);
                    }
                }
                None if since.elapsed() < silence => {}
                None => return Err(self.silent(silence)),
            }
        }
    }

    /// Returns the next message of the answer to a request, if it arrives within `wait`.
    pub(crate) fn poll(&mut self, id: u32, wait: Duration) -> Result<Option<Message>, RemoteError> {
        match self.came(wait)? {
            Some((of, message)) => self.admit(id, of, message),
            None => Ok(None),
        }
    }

    /// Returns what arrives next, for a connection with several requests.
    pub(crate) fn event(&mut self, wait: Duration) -> Result<Event, RemoteError> {
        let Some((of, message)) = self.came(wait)? else {
            return Ok(Event::Nothing);
        };
        let is_refusal = of != 0 && matches!(message, Message::Error(_));
        match self.admit(of, of, message) {
            Ok(Some(message)) => Ok(Event::Answer(of, message)),
            Ok(None) => Ok(Event::Sign),
            Err(error) if is_refusal => Ok(Event::Refused(of, error)),
            Err(error) => Err(error),
        }
    }

    /// Returns the next message, and the number of the request that it belongs to.
    fn came(&mut self, wait: Duration) -> Result<Option<(u32, Message)>, RemoteError> {
        match self.reader.next(wait) {
            Ok(Came::Frame(frame)) => {
                let of = frame.id;
                let message = Message::decode(frame);
                let message = message.map_err(|source| self.nonsense(source))?;
                Ok(Some((of, message)))
            }
            Ok(Came::Nothing) => Ok(None),
            Ok(Came::End) | Err(FrameError::Cut) => Err(self.cut()),
            Err(FrameError::Bad(source)) => Err(self.nonsense(source)),
            Err(FrameError::Half(time)) => Err(self.silent(time)),
            Err(FrameError::Broken(source)) => Err(self.broken(source)),
        }
    }

    /// Returns the error for a server that sent nothing for too long.
    pub(crate) fn silent(&self, time: Duration) -> RemoteError {
        RemoteError::Silent {
            server: self.server.clone(),
            seconds: time.as_secs(),
        }
    }

    /// Returns the message if it is part of the answer; fails if it is unexpected or an error.
    fn admit(
        &mut self,
        id: u32,
        of: u32,
        message: Message,
    ) -> Result<Option<Message>, RemoteError> {
        let unexpected = BadFrame::Unexpected(message.name());
        match message {
            Message::Error(Refusal { code, errno, text }) if of == id || of == 0 => {
                Err(RemoteError::Refused {
                    server: self.server.clone(),
                    code,
                    errno,
                    text: text.escape_debug().to_string(),
                })
            }
            Message::Hello(hello) if of == 0 && !self.is_greeted => {
                self.is_greeted = true;
                self.features = Some(hello.features);
                self.requests = Some(hello.requests);
                if !(hello.lowest..=hello.highest).contains(&VERSION) {
                    let (lowest, highest) = (hello.lowest, hello.highest);
                    return Err(RemoteError::Refused {
                        server: self.server.clone(),
                        code: Code::Version,
                        errno: 0,
                        text: format!(
                            "it speaks versions {lowest} to {highest}, this program {VERSION}"
                        ),
                    });
                }
                Ok(None)
            }
            Message::Alive(_) if of == 0 && self.is_greeted => Ok(None),
            message if message.is_answer() && of == id && self.is_greeted => Ok(Some(message)),
            _ => Err(self.nonsense(unexpected)),
        }
    }

    /// Returns the error for a server that closed the connection.
    fn cut(&mut self) -> RemoteError {
        let until = Instant::now() + FAREWELL;
        let mut how = String::new();
        while let Some(child) = &mut self.child {
            match child.try_wait() {
                Ok(Some(status)) => how = format!(": {status}"),
                Ok(None) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(5));
                    continue;
                }
                _ => {}
            }
            break;
        }
        RemoteError::Cut {
            server: self.server.clone(),
            how,
        }
    }

    pub(crate) fn nonsense(&self, source: BadFrame) -> RemoteError {
        RemoteError::Nonsense {
            server: self.server.clone(),
            source,
        }
    }
}
