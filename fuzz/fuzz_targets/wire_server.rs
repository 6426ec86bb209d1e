//! Any bytes from a client, after a hello or not: the server ends, and has said an error if it did
//! not like them.

#![no_main]

use std::io;
use std::sync::Arc;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use trawl_call::{Block, CallError, Executor, Request, Stream};
use trawl_remote::transport::{Receive, Transmit, Transport};
use trawl_remote::wire::{Hello, Message, VERSION, feature};
use trawl_remote::{Exports, Limits, Serving, serve};

#[derive(Debug)]
struct From(Vec<u8>, usize);

impl Receive for From {
    fn receive(&mut self, buffer: &mut [u8], _: Duration) -> io::Result<usize> {
        let rest = &self.0[self.1..];
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.1 += length;
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

/// Finds nothing at once.
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

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else {
        return;
    };
    let hello = Message::Hello(Hello {
        lowest: VERSION,
        highest: VERSION,
        requests: 0,
        features: feature::ALL,
    });
    let mut bytes = if first & 1 == 0 { hello.encode(0) } else { Vec::new() };
    bytes.extend_from_slice(rest);
    let transport = Transport {
        receive: Box::new(From(bytes, 0)),
        transmit: Box::new(Nowhere),
    };
    let serving = Serving {
        exports: Exports::from_lines(b"t=/nonexistent").expect("an export"),
        executor: Arc::new(Nothing),
        limits: Limits::default(),
        delay: Duration::ZERO,
        commands: None,
    };
    let _ = serve(transport, &serving);
});
