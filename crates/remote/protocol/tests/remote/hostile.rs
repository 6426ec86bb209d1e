//! Bytes that no proper client or server sends.

use std::io;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use proptest::prelude::*;
use trawl_call::packed::encode;
use trawl_call::{Attributes, Block, CallError, Executor, Outcome, RecordRef, Request, Stream};
use trawl_remote::client::Patience;
use trawl_remote::transport::{Receive, Transmit, Transport};
use trawl_remote::wire::{
    Alive, AttributesRequest, Block as Records, ByteRange, Credit, Data, End, LinksRequest,
    ListRequest, Message, ReadRequest, StatRequest,
};
use trawl_remote::{Exports, Remote, RemoteError, Serving, serve};

use crate::support::{LONG, binary_tree, hello, listen, packed, question, request, serving};

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

/// A stream without records.
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
    // The result does not matter, only that it ends.
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
            Message::Stat(StatRequest { of_link: true, path: b"/tmp".to_vec() }),
            Message::List(ListRequest { credit: 1, path: b"/tmp".to_vec() }),
            Message::Read(ReadRequest(ByteRange { offset: 0, length: 9, path: b"/dev/null".to_vec() })),
            Message::Links(LinksRequest(vec![b"/tmp".to_vec()])),
            Message::Attributes(AttributesRequest { entries: 9, top: b"/tmp".to_vec(), from: b"a/b".to_vec() }),
            Message::Credit(Credit(1)),
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
            bytes.extend(Message::Block(Records(vec![1; 40])).encode(1));
            bytes.extend(Message::Alive(Alive).encode(0));
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

/// Commands are given the paths of records: those of a server must lie below what was searched.
#[test]
fn a_server_names_nothing_outside_of_what_was_searched() {
    let cases: [(&[u8], bool); 9] = [
        (b"name", true),
        (b"a/name", true),
        (b"../.bashrc", false),
        (b"a/../../.bashrc", false),
        (b"..", false),
        (b"/etc/passwd", false),
        (b"./name", false),
        (b"a//name", false),
        (b"", false),
    ];
    for (path, is_right) in cases {
        let (mut block, record) = (
            Vec::new(),
            RecordRef {
                root: 0,
                path,
                outcome: Outcome::Match(None),
            },
        );
        encode(&record, &mut block);
        let end = Message::End(End {
            records: 1,
            ending: trawl_remote::wire::Ending::Whole,
        });
        let block = Message::Block(Records(block)).encode(1);
        let answer = [hello().encode(0), block, end.encode(1)].concat();
        let scratch = trawl_testkit::Scratch::new("remote-outside");
        let address = listen(scratch.join("outside"), move |_, mut client| {
            let _ = io::Read::read(&mut client, &mut [0; 4096]);
            let _ = io::Write::write_all(&mut client, &answer);
            // Waits until the client has closed.
            let _ = io::Read::read(&mut client, &mut [0; 1]);
        });
        let answered = packed(&Remote::new(address), request("*", 0, &[b"/srv"]));
        let shown = path.escape_ascii();
        match answered {
            Ok(_) => assert!(is_right, "{shown}"),
            Err(error) => {
                let text = error.to_string();
                assert!(!is_right && text.contains("path"), "{shown}: {text}");
            }
        }
    }
}

/// Returns a client of a server that answers its first request with this message again and again,
/// and the number of bytes that the server could send before the client closed the connection.
fn endless(
    name: &str,
    patience: Patience,
    answer: &Message,
) -> (trawl_testkit::Scratch, Remote, mpsc::Receiver<usize>) {
    let scratch = trawl_testkit::Scratch::new(name);
    let (said, answer) = (mpsc::channel(), answer.encode(1));
    let address = listen(scratch.join("endless"), move |_, mut client| {
        let _ = io::Read::read(&mut client, &mut [0; 4096]);
        let _ = io::Write::write_all(&mut client, &hello().encode(0));
        let mut sent = 0;
        while let Ok(count) = io::Write::write(&mut client, &answer[sent % answer.len()..]) {
            sent += count;
            if sent > 1 << 30 {
                break;
            }
        }
        let _ = said.0.send(sent);
    });
    (scratch, Remote::with(address, patience), said.1)
}

/// Checks that the answer was refused because of its size, soon after the limit was exceeded.
#[track_caller]
fn expect_too_much(error: &RemoteError, most: usize, sent: &mpsc::Receiver<usize>) {
    let text = error.to_string();
    assert!(matches!(error, RemoteError::TooMuch { .. }), "{text}");
    assert!(
        text.contains(&format!("more than the {most} bytes")),
        "{text}"
    );
    let sent = sent.recv_timeout(LONG).expect("it is given up");
    // Bytes buffered between the two processes, and one frame.
    assert!(sent < most + (8 << 20), "{sent} of {most}");
}

#[test]
fn a_directory_without_end_fills_no_memory() {
    let record = RecordRef {
        root: 0,
        path: b"name",
        outcome: Outcome::Match(Some(Attributes::default())),
    };
    let mut block = Vec::new();
    for _ in 0..1000 {
        encode(&record, &mut block);
    }
    let list_max_bytes = 16 << 20;
    let patience = Patience {
        list_max_bytes,
        ..Patience::default()
    };
    let (_scratch, remote, sent) =
        endless("remote-list", patience, &Message::Block(Records(block)));
    let error = remote.list(b"/tmp").expect_err("it does not end");
    expect_too_much(&error, list_max_bytes, &sent);
}

#[test]
fn links_that_lead_too_far_fill_no_memory() {
    let answer = Message::Data(Data(vec![b'x'; 1 << 20]));
    let (_scratch, remote, sent) = endless("remote-links", Patience::default(), &answer);
    let paths = vec![b"/tmp/link".to_vec(); 100];
    let error = remote.links(&paths).expect_err("it does not end");
    expect_too_much(&error, 100 * (8 + 4096), &sent);
    // The longest possible targets stay within the limit.
    let targets: Vec<u8> = (0..100)
        .flat_map(|_| {
            [
                &0i32.to_le_bytes()[..],
                &4096u32.to_le_bytes(),
                &[b'x'; 4096],
            ]
            .concat()
        })
        .collect();
    let whole = Message::Data(Data(targets)).encode(1);
    let end = Message::End(End {
        records: 100 * (8 + 4096),
        ending: trawl_remote::wire::Ending::Whole,
    });
    let answer = [hello().encode(0), whole, end.encode(1)].concat();
    let scratch = trawl_testkit::Scratch::new("remote-links-whole");
    let address = listen(scratch.join("whole"), move |_, mut client| {
        let _ = io::Read::read(&mut client, &mut [0; 4096]);
        let _ = io::Write::write_all(&mut client, &answer);
        // Waits until the client has closed.
        let _ = io::Read::read(&mut client, &mut [0; 1]);
    });
    let targets = Remote::new(address).links(&paths).expect("all are there");
    assert!(
        targets.len() == 100
            && targets
                .iter()
                .all(|target| target.as_ref().unwrap().len() == 4096)
    );
}
