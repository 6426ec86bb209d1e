//! Connections that break, ends that stop, and versions that differ lead to an error or a resumed
//! answer, never to a short answer that looks complete.

use std::io::Write;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use trawl_call::{Block, CallError, Executor, LiveWalk, Request, Search, Stream};
use trawl_remote::client::Patience;
use trawl_remote::wire::{
    Alive, Block as Records, Code, End, Ending, Hello, Interrupt, Message, Refusal, VERSION,
};
use trawl_remote::{Address, Exports, Limits, Remote, Serving};

use crate::support::{
    LONG, Raw, binary_tree, bytes, hello, listen, packed, proxy, question, remote, request, server,
    serving,
};

/// A short limit, for tests in which it is exceeded.
const SHORT: Duration = Duration::from_millis(200);

#[test]
fn a_connection_that_breaks_is_gone_on_with() {
    let scratch = binary_tree(8);
    let top = scratch.join("tree");
    let ask = || request("*", trawl_call::options::Flags::METADATA, &[bytes(&top)]);
    let live = packed(&LiveWalk::default(), ask()).unwrap();
    let Address::Unix(socket) = server(&scratch, "server", serving(Exports::Everything)) else {
        unreachable!();
    };
    let mut gone_on = 0;
    for (number, cut) in (0..live.len() + 300).step_by(live.len() / 40).enumerate() {
        let name = format!("proxy-{number}");
        let first = move |connection| (connection == 0).then_some(cut);
        let (address, _) = proxy(&scratch, &name, socket.clone(), first);
        match packed(&Remote::new(address), ask()) {
            Ok(answer) => {
                assert!(answer == live, "cut at {cut}");
                gone_on += 1;
            }
            // Before the first record there is no position to resume from.
            Err(error) => assert!(error.to_string().contains("complete"), "{cut}: {error}"),
        }
    }
    assert!(gone_on > 3, "{gone_on}");
    // Every connection breaks: there is an answer as long as there is progress, else an error.
    let (address, _) = proxy(&scratch, "always", socket, |_| Some(70_000));
    match packed(&Remote::new(address), ask()) {
        Ok(answer) => assert!(answer == live),
        Err(error) => assert!(error.to_string().contains("complete"), "{error}"),
    }
}

/// A server that sends these frames and closes.
fn says(scratch: &trawl_testkit::Scratch, name: &str, frames: Vec<Vec<u8>>) -> Remote {
    Remote::new(listen(scratch.join(name), move |_, mut client| {
        // Reads the question first, so that closing does not discard sent bytes.
        let _ = std::io::Read::read(&mut client, &mut [0; 4096]);
        for frame in &frames {
            let _ = client.write_all(frame);
        }
    }))
}

#[test]
fn what_is_not_said_to_be_whole_is_an_error() {
    let scratch = binary_tree(2);
    let top = scratch.join("tree");
    let ask = || request("x.c", 0, &[bytes(&top)]);
    let block = packed(&LiveWalk::default(), ask()).unwrap();
    let welcome = hello().encode(0);
    let block_of = |bytes: &[u8]| Message::Block(Records(bytes.to_vec())).encode(1);
    let end = |records| {
        let ending = Ending::Whole;
        Message::End(End { records, ending }).encode(1)
    };
    let one = block.len() / 3;
    let cases: Vec<(&str, Vec<Vec<u8>>)> = vec![
        ("nothing", vec![]),
        ("hello", vec![welcome.clone()]),
        ("no-end", vec![welcome.clone(), block_of(&block)]),
        (
            "few",
            vec![welcome.clone(), block_of(&block[..one]), end(3)],
        ),
        ("many", vec![welcome.clone(), block_of(&block), end(2)]),
        (
            "half",
            vec![welcome.clone(), block_of(&block)[..30].to_vec()],
        ),
        ("no-hello", vec![block_of(&block), end(3)]),
        (
            "torn",
            vec![welcome.clone(), block_of(&block[..one + 8]), end(3)],
        ),
        ("empty", vec![welcome.clone(), block_of(&[]), end(0)]),
        (
            "other",
            vec![welcome.clone(), Message::Interrupt(Interrupt).encode(1)],
        ),
        ("noise", vec![vec![7; 100]]),
    ];
    for (name, frames) in cases {
        let answer = packed(&says(&scratch, name, frames), ask());
        assert!(
            matches!(answer, Err(CallError::Remote(_))),
            "{name}: {answer:?}"
        );
    }
    let whole = vec![welcome, block_of(&block), end(3)];
    assert_eq!(
        packed(&says(&scratch, "whole", whole), ask()).unwrap(),
        block
    );
}

#[test]
fn versions_that_differ_are_told() {
    let scratch = binary_tree(1);
    let later = Hello {
        lowest: VERSION + 1,
        highest: VERSION + 6,
        requests: 0,
        features: 0,
    };
    let frames = vec![Message::Hello(later).encode(0)];
    let remote = says(&scratch, "later", frames);
    let error = packed(&remote, request("*", 0, &[b"/"])).unwrap_err();
    let versions = format!("versions {} to {}", VERSION + 1, VERSION + 6);
    assert!(error.to_string().contains(&versions), "{error}");
    let mut raw = Raw::new(serving(Exports::Everything));
    raw.say(0, &Message::Hello(later));
    assert!(matches!(raw.hear(), Some((0, Message::Hello(ours))) if ours.highest == VERSION));
    let Some((0, Message::Error(Refusal { code, .. }))) = raw.hear() else {
        panic!("no error");
    };
    assert_eq!(code, Code::Version);
    assert!(raw.hear().is_none());
    raw.end().unwrap();
    // Requests of later versions are refused, without further effect.
    let mut raw = Raw::new(serving(Exports::Everything));
    raw.say(0, &hello());
    let mut unknown = Message::Alive(Alive).encode(5);
    unknown[4] = 99;
    raw.socket.write_all(&unknown).unwrap();
    raw.say(6, &Message::Search(question("nothing", b"/dev/null", 1)));
    assert!(matches!(raw.hear(), Some((0, Message::Hello(_)))));
    assert!(matches!(
        raw.hear(),
        Some((
            5,
            Message::Error(Refusal {
                code: Code::Unsupported,
                ..
            })
        ))
    ));
    // Reads to the end: the server may report a client that leaves earlier as an error.
    loop {
        match raw.hear() {
            Some((6, Message::End(_) | Message::Error(_))) => break,
            Some((6, _)) => {}
            other => panic!("{other:?}"),
        }
    }
    raw.end().unwrap();
}

#[test]
fn a_server_that_says_nothing_is_left() {
    let scratch = binary_tree(1);
    let mut kept = Vec::new();
    let address = listen(scratch.join("silent"), move |_, client| kept.push(client));
    let patience = Patience {
        silence: SHORT,
        ..Patience::default()
    };
    let remote = Remote::with(address, patience);
    let error = packed(&remote, request("*", 0, &[b"/"])).unwrap_err();
    assert!(error.to_string().contains("has sent nothing"), "{error}");
    let gone = Remote::new(Address::Unix(scratch.join("gone")));
    let error = packed(&gone, request("*", 0, &[b"/"])).unwrap_err();
    assert!(error.to_string().contains("cannot reach"), "{error}");
    let ended = Remote::new(Address::Command(vec!["false".into()]));
    let error = packed(&ended, request("*", 0, &[b"/"])).unwrap_err();
    assert!(error.to_string().contains("exit status: 1"), "{error}");
}

/// A server that soon pauses an answer for which it has no credit, and soon leaves a client that
/// reads nothing.
fn impatient() -> Serving {
    Serving {
        limits: Limits {
            half_frame: LONG,
            stall: SHORT,
            requests: NonZeroU32::MIN,
            ..Limits::default()
        },
        ..serving(Exports::Everything)
    }
}

#[test]
fn half_a_frame_is_not_waited_for() {
    for half in [&hello().encode(0)[..9], b""] {
        let limits = Limits {
            half_frame: SHORT,
            ..Limits::default()
        };
        let mut raw = Raw::new(Serving {
            limits,
            ..serving(Exports::Everything)
        });
        raw.socket.write_all(half).unwrap();
        assert!(matches!(raw.hear(), Some((0, Message::Error(_)))));
        assert!(raw.hear().is_none());
        assert!(raw.end().is_err());
    }
}

/// Takes the records of an answer; returns the place at which it paused, `None` at its end.
fn take(raw: &mut Raw, id: u32, into: &mut Vec<u8>) -> Option<Vec<u8>> {
    loop {
        match raw.hear().unwrap() {
            (of, Message::Block(Records(block))) if of == id => into.extend_from_slice(&block),
            (of, Message::End(End { ending, .. })) if of == id => {
                return match ending {
                    Ending::Paused(cookie) => Some(cookie),
                    Ending::Whole => None,
                };
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn who_takes_nothing_gets_no_more_than_was_allowed_and_can_go_on() {
    let scratch = binary_tree(11);
    let top = scratch.join("tree");
    let mut raw = Raw::new(impatient());
    raw.say(0, &hello());
    assert!(matches!(raw.hear(), Some((0, Message::Hello(_)))));
    // The socket has room for what is allowed: the server need not wait for this end.
    let credit = 8000;
    let mut rest = question("*", bytes(&top), credit);
    let (mut taken, mut pauses) = (Vec::new(), 0);
    loop {
        let (id, before) = (pauses + 1, taken.len());
        raw.say(id, &Message::Search(rest.clone()));
        let paused = take(&mut raw, id, &mut taken);
        let more = taken.len() - before;
        assert!(more < (credit as usize) + (70 << 10), "{more}");
        let Some(cookie) = paused else { break };
        rest.cookie = cookie;
        pauses += 1;
    }
    assert!(pauses > 0);
    let live = packed(&LiveWalk::default(), request("*", 0, &[bytes(&top)])).unwrap();
    assert!(taken == live);
    // A client that grants unlimited credit and reads nothing is disconnected.
    let until = Instant::now() + LONG;
    for id in pauses + 2.. {
        let frame = Message::Search(question("*", bytes(&top), u32::MAX)).encode(id);
        if raw.socket.write_all(&frame).is_err() {
            break;
        }
        assert!(Instant::now() < until, "it is still served");
        std::thread::sleep(SHORT / 10);
    }
    let server = raw.server.take().unwrap();
    assert!(server.join().unwrap().is_err());
}

#[test]
fn a_client_that_pauses_has_the_whole_answer() {
    let scratch = binary_tree(11);
    let top = scratch.join("tree");
    let address = server(&scratch, "socket", impatient());
    let patience = Patience {
        credit: 20_000,
        ..Patience::default()
    };
    let remote = Remote::with(address, patience);
    let ask = || request("*", 0, &[bytes(&top)]);
    let mut search = Search::open(&remote, ask()).unwrap();
    let (mut answer, mut buffer) = (Vec::new(), vec![0; 8000]);
    loop {
        let filled = search.fill(&mut buffer).unwrap();
        answer.extend_from_slice(&buffer[..filled.bytes]);
        if filled.records == 0 {
            break;
        }
        if answer.len() < 30_000 {
            std::thread::sleep(SHORT * 2);
        }
    }
    assert!(answer == packed(&LiveWalk::default(), ask()).unwrap());
}

/// Works until it is cancelled, and notes that it ended.
#[derive(Clone, Default)]
struct Endless(Arc<AtomicBool>, Arc<AtomicBool>);

struct EndlessStream(Endless, Request);

impl Executor for Endless {
    fn begin(&self, request: Request) -> Result<Box<dyn Stream>, CallError> {
        Ok(Box::new(EndlessStream(self.clone(), request)))
    }
}

impl Stream for EndlessStream {
    fn next_block(&mut self) -> Result<Option<Block>, CallError> {
        self.0.1.store(true, Ordering::SeqCst);
        while !self.1.cancel().is_cancelled() {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.0.0.store(true, Ordering::SeqCst);
        Err(CallError::Cancelled)
    }
}

fn wait_for(flag: &AtomicBool) {
    let until = Instant::now() + LONG;
    while !flag.swap(false, Ordering::SeqCst) {
        assert!(Instant::now() < until, "it does not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn an_interrupt_ends_the_work_and_so_does_leaving() {
    let endless = Endless::default();
    let serving = Serving {
        executor: Arc::new(endless.clone()),
        limits: Limits {
            requests: NonZeroU32::MIN,
            ..Limits::default()
        },
        ..serving(Exports::Everything)
    };
    let mut raw = Raw::new(serving.clone());
    raw.say(0, &hello());
    raw.say(1, &Message::Search(question("*", b"/", 1)));
    raw.say(2, &Message::Search(question("*", b"/", 1)));
    assert!(matches!(raw.hear(), Some((0, Message::Hello(_)))));
    assert!(matches!(
        raw.hear(),
        Some((
            2,
            Message::Error(Refusal {
                code: Code::Busy,
                ..
            })
        ))
    ));
    wait_for(&endless.1);
    raw.say(1, &Message::Interrupt(Interrupt));
    assert!(matches!(
        raw.hear(),
        Some((
            1,
            Message::Error(Refusal {
                code: Code::Interrupted,
                ..
            })
        ))
    ));
    assert!(endless.0.swap(false, Ordering::SeqCst));
    raw.say(3, &Message::Search(question("*", b"/", 1)));
    wait_for(&endless.1);
    raw.end().unwrap();
    assert!(endless.0.swap(false, Ordering::SeqCst));
    // Through the client: cancelled from another thread.
    let scratch = binary_tree(1);
    let remote = remote(&scratch, serving);
    let request = request("*", 0, &[b"/"]);
    let cancel = request.cancel().clone();
    let begun = Arc::clone(&endless.1);
    let other = std::thread::spawn(move || {
        wait_for(&begun);
        cancel.cancel();
    });
    assert!(matches!(
        packed(&remote, request),
        Err(CallError::Cancelled)
    ));
    other.join().unwrap();
    wait_for(&endless.0);
}
