//! What a message must have: encoding and decoding, and, by its role in the table, its part on the
//! server and its part on the client. A message that lacks a part does not compile.

use crate::client::{Patience, Remote};
use crate::error::RemoteError;
use crate::server::{Job, Task};
use crate::wire::fields::{Fields, Reader};
use crate::wire::{BadFrame, HEAD_BYTES};

use super::watch::feed::Feed;
use super::{End, Refusal};

/// A message's row in the table. The table implements it.
pub(crate) trait Kind {
    /// Number of the kind.
    const NUMBER: u8;
    /// Name of the kind, for error messages.
    const NAME: &'static str;
    /// The feature bit, or 0 if every end of this version knows the message.
    const FEATURE: u64;
}

/// The encoding of a message.
pub(crate) trait Body: Kind + Sized {
    /// Appends the encoded body.
    fn write(&self, out: &mut Fields);

    /// Decodes the body; must fail for anything that [`Body::write`] does not write.
    fn read(body: &mut Reader<'_>) -> Result<Self, BadFrame>;

    /// Decodes a whole body.
    fn decode(bytes: Vec<u8>) -> Result<Self, BadFrame> {
        let mut body = Reader::new(&bytes);
        let message = Self::read(&mut body)?;
        body.end()?;
        Ok(message)
    }
}

/// Encodes a message as a whole frame.
pub(crate) fn encode<M: Body>(message: &M, id: u32) -> Vec<u8> {
    let mut out = Fields(vec![0; 4 + HEAD_BYTES]);
    message.write(&mut out);
    let mut bytes = out.0;
    let length = u32::try_from(bytes.len() - 4).unwrap_or(u32::MAX);
    bytes[0..4].copy_from_slice(&length.to_le_bytes());
    bytes[4] = M::NUMBER;
    bytes[8..12].copy_from_slice(&id.to_le_bytes());
    bytes
}

/// The server's part of a request. A request has a thread of its own.
pub(crate) trait Serve: Send {
    /// Number of bytes of blocks that may be sent before more credit is granted.
    fn credit(&self) -> u32 {
        u32::MAX
    }

    /// Creates the place for further batches, if the request accepts them.
    fn feed(&self) -> Option<Feed> {
        None
    }

    /// Sends the answer, and returns the final message.
    fn serve(self: Box<Self>, job: &Job<'_>) -> Result<End, Refusal>;

    /// Adds this request to the running one that has its number.
    fn join(self: Box<Self>, _running: &Task) -> Result<(), BadFrame> {
        Err(BadFrame::Field("number of the request"))
    }
}

/// The client's part of a request whose answer is taken as a whole; sent by [`Remote::ask`].
pub(crate) trait Ask: Body {
    /// The subject of the request, for the error about servers without its feature. `None`: it is
    /// sent to every server.
    const SUBJECT: Option<&'static str>;

    /// The answer for the caller.
    type Answer;

    /// Maximum memory for the answer in bytes.
    fn most_bytes(&self, patience: &Patience) -> usize;

    /// Decodes the answer: the records or the data that the server sent.
    fn answer(&self, bytes: Vec<u8>) -> Result<Self::Answer, BadFrame>;
}

/// The client's part of a request whose answer is taken piece by piece.
pub(crate) trait Open: Body {
    /// The subject of the request.
    type About;
    /// The type that sends the request and receives the answer.
    type Asker;

    /// Begins to ask.
    fn open(remote: &Remote, about: Self::About) -> Result<Self::Asker, RemoteError>;
}

/// The server's part of a message about a running request.
pub(crate) trait Steer {
    /// Changes how the request goes on.
    fn steer(&self, running: &Task);
}

/// A message that has arrived at a server.
pub(crate) enum Arrived {
    /// A request.
    Request(Box<dyn Serve>),
    /// A message about a running request.
    About(Box<dyn Steer>),
    /// A message that no client sends at this point.
    Unexpected,
}

/// Examples of a message, for the tests of all messages.
#[cfg(test)]
pub(crate) trait Sample: Sized {
    /// The example whose bytes are recorded; of a request, one that a server can answer.
    fn example() -> Self;

    /// Any message of the kind.
    fn any() -> proptest::strategy::BoxedStrategy<Self>;
}
