//! Bytes that no client or server would send.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use trawl_call::{Block, CallError, Executor, Request, Stream};
use trawl_remote::transport::{Receive, Transmit, Transport};
use trawl_remote::wire::Message;
use trawl_remote::{Exports, Remote, Serving, serve};

use crate::support::{binary_tree, hello, listen, packed, question, request, serving};

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

fn serve_bytes(bytes: Vec<u8>) {
    let transport = Transport {
        receive: Box::new(From(bytes)),
        transmit: Box::new(Nowhere),
    };
    let serving = Serving {
        executor: Arc::new(Nothing),
        ..serving(Exports::Everything)
    };
    // However it ends: it ends.
    let _ = serve(transport, &serving);
}

proptest! {
    #[test]
    fn a_server_survives_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300), is_greeted: bool) {
        let mut all = if is_greeted { hello().encode(0) } else { Vec::new() };
        all.extend(bytes);
        serve_bytes(all);
    }

    #[test]
    fn a_server_survives_requests_that_were_tampered_with(at: usize, value: u8, cut: usize, id in 0u32..3) {
        let requests = [
            Message::Search(question("a*|b", b"/tmp", 100)),
            Message::Stat { of_link: true, path: b"/tmp".to_vec() },
            Message::List { credit: 1, path: b"/tmp".to_vec() },
            Message::Read { offset: 0, length: 9, path: b"/dev/null".to_vec() },
            Message::Links(vec![b"/tmp".to_vec()]),
            Message::Attributes { entries: 9, top: b"/tmp".to_vec(), from: b"a/b".to_vec() },
            Message::Credit(1),
        ];
        let mut bytes: Vec<u8> = requests.iter().flat_map(|request| request.encode(id)).collect();
        let at = at % bytes.len();
        bytes[at] = value;
        bytes.truncate(bytes.len() - cut % 40);
        serve_bytes([hello().encode(0), bytes].concat());
    }
}

#[test]
fn a_client_survives_any_bytes() {
    let scratch = binary_tree(1);
    let mut random = trawl_testkit::Prng::new(7);
    let answers: Vec<Vec<u8>> = (0..200)
        .map(|_| {
            let mut bytes = hello().encode(0);
            bytes.extend(Message::Block(vec![1; 40]).encode(1));
            bytes.extend(Message::Alive.encode(0));
            for _ in 0..3 {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] = random.below(256) as u8;
            }
            bytes
        })
        .collect();
    let many = answers.len();
    let address = listen(scratch.join("hostile"), move |number, mut client| {
        let _ = io::Read::read(&mut client, &mut [0; 4096]);
        let _ = io::Write::write_all(&mut client, &answers[number % answers.len()]);
    });
    for _ in 0..many {
        let remote = Remote::new(address.clone());
        assert!(packed(&remote, request("*", 0, &[b"/"])).is_err());
    }
}
