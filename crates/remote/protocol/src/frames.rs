//! Assembles frames from pieces of a byte stream, and sends frames.

use std::io;
use std::time::{Duration, Instant};

use crate::transport::{Receive, Transmit};
use crate::wire::{BadFrame, Frame, HEAD_BYTES};

/// Number of bytes received at once; the buffer grows by one piece at a time, as bytes arrive.
const PIECE_BYTES: usize = 64 << 10;

/// The result of waiting for a frame.
#[derive(Debug, PartialEq, Eq)]
pub enum Came {
    /// A frame.
    Frame(Frame),
    /// Nothing yet; the frame that has begun, if any, still has time.
    Nothing,
    /// The other end closed the connection, between two frames.
    End,
}

/// Why no more frames can be read.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The connection is broken.
    #[error("{0}")]
    Broken(#[from] io::Error),
    /// The connection ended within a frame.
    #[error("the connection ended within a frame")]
    Cut,
    /// A frame has begun and does not continue.
    #[error("a frame broke off: nothing arrived for {} s", .0.as_secs())]
    Half(Duration),
    /// The frame is invalid.
    #[error("{0}")]
    Bad(#[from] BadFrame),
}

/// Reads frames.
#[derive(Debug)]
pub struct FrameReader {
    from: Box<dyn Receive>,
    /// Received bytes; those before `given` were returned.
    bytes: Vec<u8>,
    /// Number of bytes at the beginning of `bytes` that were returned as frames.
    given: usize,
    /// When the current frame began to arrive.
    since: Option<Instant>,
    longest: usize,
    half_frame: Duration,
}

impl FrameReader {
    /// Creates a reader of frames that have at most `longest` bytes and arrive within `half_frame`.
    pub fn new(from: Box<dyn Receive>, longest: usize, half_frame: Duration) -> FrameReader {
        FrameReader {
            from,
            bytes: Vec::new(),
            given: 0,
            since: None,
            longest,
            half_frame,
        }
    }

    /// Returns the next frame, if it arrives within `wait`.
    ///
    /// # Errors
    /// Fails if no more frames can be read.
    pub fn next(&mut self, wait: Duration) -> Result<Came, FrameError> {
        let until = Instant::now() + wait;
        loop {
            if let Some(frame) = self.take()? {
                return Ok(Came::Frame(frame));
            }
            let now = Instant::now();
            let mut patience = until.saturating_duration_since(now);
            if let Some(since) = self.since {
                let left = self.half_frame.saturating_sub(now - since);
                if left.is_zero() {
                    return Err(FrameError::Half(self.half_frame));
                }
                patience = patience.min(left);
            }
            match self.receive(patience) {
                Ok(0) if self.bytes.is_empty() => return Ok(Came::End),
                Ok(0) => return Err(FrameError::Cut),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    if Instant::now() >= until {
                        return Ok(Came::Nothing);
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Returns whether no byte of the next frame has arrived.
    pub(crate) fn is_between(&self) -> bool {
        self.given == self.bytes.len()
    }

    fn receive(&mut self, wait: Duration) -> io::Result<usize> {
        let before = self.bytes.len();
        self.bytes.resize(before + PIECE_BYTES, 0);
        let received = self.from.receive(&mut self.bytes[before..], wait);
        let length = received.as_ref().map_or(0, |length| *length);
        self.bytes.truncate(before + length.min(PIECE_BYTES));
        if length > 0 && self.since.is_none() {
            self.since = Some(Instant::now());
        }
        received
    }

    /// Takes a complete frame out of the received bytes.
    fn take(&mut self) -> Result<Option<Frame>, BadFrame> {
        let rest = &self.bytes[self.given..];
        let Some(head) = rest.first_chunk::<{ 4 + HEAD_BYTES }>() else {
            // An invalid length is reported before the rest of the head arrives.
            if let Some(length) = rest.first_chunk::<4>() {
                self.check(u32::from_le_bytes(*length) as usize)?;
            }
            self.tidy();
            return Ok(None);
        };
        let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        self.check(length)?;
        if head[5..8] != [0; 3] {
            return Err(BadFrame::Field("padding"));
        }
        let Some(body) = rest.get(4 + HEAD_BYTES..4 + length) else {
            self.tidy();
            return Ok(None);
        };
        let frame = Frame {
            kind: head[4],
            id: u32::from_le_bytes([head[8], head[9], head[10], head[11]]),
            body: body.to_vec(),
        };
        self.given += 4 + length;
        // The next frame has a time limit of its own.
        self.since = (self.given < self.bytes.len()).then(Instant::now);
        Ok(Some(frame))
    }

    fn check(&self, length: usize) -> Result<(), BadFrame> {
        match (HEAD_BYTES..=self.longest).contains(&length) {
            true => Ok(()),
            false => Err(BadFrame::Length(length)),
        }
    }

    /// Drops the bytes that were returned.
    fn tidy(&mut self) {
        self.bytes.drain(..self.given);
        self.given = 0;
        if self.bytes.is_empty() {
            self.bytes.shrink_to(2 * PIECE_BYTES);
        }
    }
}

/// Sends a whole frame. Each step of it may take at most `stall`.
///
/// # Errors
/// [`io::ErrorKind::TimedOut`] if no byte can be sent for that long, and any error that breaks the
/// connection. Part of the frame may have been sent then, so nothing else can be sent.
pub fn send(to: &mut dyn Transmit, frame: &[u8], stall: Duration) -> io::Result<()> {
    let mut rest = frame;
    while !rest.is_empty() {
        match to.transmit(rest, stall)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            sent => rest = rest.get(sent..).unwrap_or_default(),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Alive, Block, Message};
    use proptest::prelude::*;

    /// Bytes that arrive in pieces of these lengths.
    #[derive(Debug)]
    struct Pieces(Vec<u8>, Vec<usize>);

    impl Receive for Pieces {
        fn receive(&mut self, buffer: &mut [u8], _: Duration) -> io::Result<usize> {
            let most = self.1.pop().unwrap_or(7).max(1);
            let length = most.min(self.0.len()).min(buffer.len());
            let rest = self.0.split_off(length);
            buffer[..length].copy_from_slice(&self.0);
            self.0 = rest;
            Ok(length)
        }
    }

    const SECOND: Duration = Duration::from_secs(1);

    proptest! {
        #[test]
        fn frames_come_whole_however_they_are_cut(
            bodies in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 0..6),
            pieces in proptest::collection::vec(1usize..60, 0..40),
        ) {
            let frames = bodies.iter().map(|body| Message::Block(Block(body.clone())).encode(3));
            let bytes: Vec<u8> = frames.flatten().collect();
            let mut reader = FrameReader::new(Box::new(Pieces(bytes, pieces)), 1 << 10, SECOND);
            for body in &bodies {
                let frame = Frame { kind: 3, id: 3, body: body.clone() };
                prop_assert_eq!(reader.next(SECOND).unwrap(), Came::Frame(frame));
            }
            prop_assert_eq!(reader.next(SECOND).unwrap(), Came::End);
        }

        #[test]
        fn no_bytes_panic_or_make_much_room(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let mut reader = FrameReader::new(Box::new(Pieces(bytes, Vec::new())), 1 << 20, SECOND);
            while let Ok(Came::Frame(frame)) = reader.next(SECOND) {
                let _ = Message::decode(frame);
            }
            prop_assert!(reader.bytes.capacity() < 4 * PIECE_BYTES);
        }
    }

    #[test]
    fn what_is_too_long_or_cut_is_an_error() {
        let read = |bytes: &[u8]| {
            let pieces = Pieces(bytes.to_vec(), Vec::new());
            FrameReader::new(Box::new(pieces), 100, SECOND).next(SECOND)
        };
        assert!(matches!(
            read(&[101, 0, 0, 0]),
            Err(FrameError::Bad(BadFrame::Length(101)))
        ));
        assert!(matches!(
            read(&[7, 0, 0, 0]),
            Err(FrameError::Bad(BadFrame::Length(7)))
        ));
        let whole = Message::Alive(Alive).encode(0);
        for cut in 1..whole.len() {
            assert!(matches!(read(&whole[..cut]), Err(FrameError::Cut)), "{cut}");
        }
    }
}
