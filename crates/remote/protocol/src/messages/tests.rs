//! Tests of all messages in the table: their published bytes, their encoding, and hostile bytes for
//! both ends.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use trawl_call::{Block, CallError, Executor, Request, Stream};

use super::samples::{answer_all, any_message, examples};
use super::*;
use crate::measured;
use crate::transport::{Receive, Transmit, Transport};
use crate::wire::{Frame, VERSION, fields::Fields};
use crate::{Exports, Limits, Serving, serve};

const ID: u32 = 0x0403_0201;

pub(super) fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..12)
}

fn line(message: &Message) -> String {
    let bytes = message.encode(ID);
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{} {}: {hex}", bytes[4], message.name())
}

/// `tests/golden/messages.txt` has one line for each kind: its number, its name, and the frame of
/// its example. `BLESS=1` adds lines for new kinds; it never changes a line.
#[test]
fn frames_are_as_published() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/messages.txt");
    let published = std::fs::read_to_string(path).unwrap_or_default();
    let mut lines: Vec<String> = published.lines().map(str::to_owned).collect();
    let known = lines.len();
    for (at, message) in examples().iter().enumerate() {
        let now = line(message);
        match lines.get(at) {
            Some(line) => assert_eq!(*line, now, "the bytes of a published message changed"),
            None => lines.push(now),
        }
    }
    assert_eq!(lines.len(), examples().len(), "a published message is gone");
    if lines.len() > known {
        assert!(
            std::env::var_os("BLESS").is_some(),
            "{path} lacks a message: add it with BLESS=1"
        );
        std::fs::write(path, lines.join("\n") + "\n").unwrap();
    }
}

fn frame(bytes: &[u8]) -> Frame {
    Frame {
        kind: bytes[4],
        id: u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]),
        body: bytes[12..].to_vec(),
    }
}

#[derive(Debug)]
struct From(Vec<u8>);

impl Receive for From {
    fn receive(&mut self, buffer: &mut [u8], _: Duration) -> io::Result<usize> {
        let length = self.0.len().min(buffer.len());
        buffer[..length].copy_from_slice(&self.0[..length]);
        self.0.drain(..length);
        Ok(length)
    }
}

#[derive(Debug)]
struct Nowhere;

impl Transmit for Nowhere {
    fn transmit(&mut self, bytes: &[u8], _: Duration) -> io::Result<usize> {
        Ok(bytes.len())
    }
}

/// Finds nothing.
struct Nothing;

impl Stream for Nothing {
    fn next_block(&mut self) -> Result<Option<Block>, CallError> {
        Ok(None)
    }
}

impl Executor for Nothing {
    fn begin(&self, _: Request) -> Result<Box<dyn Stream>, CallError> {
        Ok(Box::new(Nothing))
    }
}

/// Serves a client that says hello and sends these bytes.
fn serve_bytes(bytes: &[u8]) {
    let hello = Message::Hello(Hello {
        lowest: VERSION,
        highest: VERSION,
        requests: 0,
        features: feature::ALL,
    });
    let transport = Transport {
        receive: Box::new(From([&hello.encode(0), bytes].concat())),
        transmit: Box::new(Nowhere),
    };
    let serving = Serving {
        exports: Exports::Everything,
        executor: Arc::new(Nothing),
        limits: Limits::default(),
        delay: Duration::ZERO,
        commands: None,
    };
    // The result does not matter, only that it ends.
    let _ = serve(transport, &serving);
}

proptest! {
    #[test]
    fn what_was_written_is_read(message in any_message(), id: u32) {
        let bytes = message.encode(id);
        prop_assert_eq!(&bytes[..4], &u32::try_from(bytes.len() - 4).unwrap().to_le_bytes());
        let frame = frame(&bytes);
        prop_assert_eq!(frame.id, id);
        prop_assert_eq!(Message::decode(frame), Ok(message));
    }

    /// Bytes that decode to a message are exactly the bytes that the message encodes to.
    #[test]
    fn nothing_else_is_read(message in any_message(), at: usize, value: u8, cut: usize) {
        let mut bytes = message.encode(7);
        if bytes.len() > 12 {
            let at = 12 + at % (bytes.len() - 12);
            bytes[at] = value;
            if cut % 3 == 0 {
                bytes.truncate(at);
            }
        }
        let frame = frame(&bytes);
        let body = frame.body.clone();
        if let Ok(message) = Message::decode(frame) {
            prop_assert_eq!(&message.encode(7)[12..], &body[..]);
        }
    }

    #[test]
    fn no_bytes_panic(kind: u8, body in vec(any::<u8>(), 0..300)) {
        let _ = Message::decode(Frame { kind, id: 1, body });
    }

    #[test]
    fn no_answer_panics(bytes in vec(any::<u8>(), 0..300)) {
        answer_all(&bytes);
    }

    /// Each kind of message, also those that no client sends.
    #[test]
    fn a_server_survives_every_message(message in any_message(), at: usize, value: u8, id in 0u32..3) {
        let mut bytes = message.encode(id);
        serve_bytes(&bytes);
        let at = at % bytes.len();
        bytes[at] = value;
        serve_bytes(&bytes);
    }
}

#[test]
fn a_server_survives_every_example() {
    for message in examples() {
        serve_bytes(&message.encode(1));
        serve_bytes(&[message.encode(1), message.encode(1)].concat());
    }
}

#[test]
fn counts_are_not_believed() {
    let mut body = Fields::default();
    body.u32(0).u32(0).u32(0).bytes(b"").u32(u32::MAX);
    let frame = Frame {
        kind: 2,
        id: 1,
        body: body.0,
    };
    let bad = BadFrame::Field("number of patterns");
    assert_eq!(Message::decode(frame), Err(bad));
}

/// Each message that is a request, except `watch`, is an operation at both ends, and no other one.
#[test]
fn each_request_is_measured() {
    for message in examples() {
        let name = message.name();
        let is_request = matches!(message.arrived(), Arrived::Request(_));
        let is_measured = is_request && name != "watch";
        assert_eq!(measured::asking(name).is_some(), is_measured, "{name}");
        assert_eq!(measured::serving(name).is_some(), is_measured, "{name}");
    }
}
