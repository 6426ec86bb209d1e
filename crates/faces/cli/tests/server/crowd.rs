//! Thousands of connections, and more than the maximum.

use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit, setrlimit};
use trawl_remote::wire::{
    End, Ending, Frame, Hello, Message, Question, QuestionRoot, Refusal, VERSION, feature,
};
use trawl_remote::{Address, Remote};
use trawl_testkit::skip::Skip;

use crate::site::{LONG, Server, Site, found, live, request};

/// Number of connections that the server must hold.
const MANY: usize = 10_000;
/// Longer than any connection waits for its turn here.
const TURN: Duration = Duration::from_secs(1100);

fn hello() -> Vec<u8> {
    let hello = Hello {
        lowest: VERSION,
        highest: VERSION,
        requests: 0,
        features: feature::ALL,
    };
    Message::Hello(hello).encode(0)
}

fn question(root: &Path, id: u32) -> Vec<u8> {
    let path = root.as_os_str().as_bytes().to_vec();
    let question = Question {
        flags: 0,
        max_depth: 8192,
        credit: u32::MAX,
        cookie: Vec::new(),
        patterns: vec![b"x.c".to_vec()],
        roots: vec![QuestionRoot {
            pattern: 0,
            number: 0,
            path: path.clone(),
            shown: path,
            prefix: Vec::new(),
            skip: Vec::new(),
        }],
    };
    Message::Search(question).encode(id)
}

fn frame(socket: &mut UnixStream) -> std::io::Result<Message> {
    let mut head = [0; 12];
    socket.read_exact(&mut head)?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
    let mut body = vec![0; length - 8];
    socket.read_exact(&mut body)?;
    let id = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
    let frame = Frame {
        kind: head[4],
        id,
        body,
    };
    Message::decode(frame).map_err(std::io::Error::other)
}

/// Returns the number of records in an answer, which must be complete.
fn answer(socket: &mut UnixStream) -> u64 {
    loop {
        match frame(socket).expect("an answer") {
            Message::End(End { records, ending }) => {
                assert_eq!(ending, Ending::Whole);
                return records;
            }
            Message::Error(Refusal { text, .. }) => panic!("{text}"),
            _ => {}
        }
    }
}

/// Returns a reason to skip if this process may not have this many descriptors.
fn without_descriptors(what: &str, many: usize) -> Option<Skip> {
    let mut limit = getrlimit(Resource::Nofile);
    let many = many as u64;
    if limit.maximum.is_some_and(|most| most < many) {
        limit.maximum = Some(many);
    }
    limit.current = limit.maximum;
    let raised = setrlimit(Resource::Nofile, limit);
    raised
        .err()
        .map(|errno| Skip::new(what, format_args!("of descriptors there are few: {errno}")))
}

fn connect(socket: &Path) -> UnixStream {
    let stream = UnixStream::connect(socket).expect("it listens");
    stream.set_read_timeout(Some(TURN)).expect("a socket");
    stream
}

fn wait_until(what: &str, server: &Server, is_so: impl Fn() -> bool) {
    let until = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < until, "{what}: {}", server.said());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn ten_thousand_connections_are_held_and_answered() {
    if let Some(skip) = without_descriptors("ten thousand connections", MANY + 600) {
        return skip.say();
    }
    let site = Site::new("crowd");
    let (server, path) = site.at_socket(&[
        "--connections=10001",
        "--user-connections=10001",
        "--patience=1000s",
    ]);
    let mut sockets: Vec<UnixStream> = (0..MANY).map(|_| connect(&path)).collect();
    // Connections that ask nothing cost no process and little memory.
    let one = Remote::new(Address::Unix(path.clone()));
    let ask = || request("x.c", &site.tree());
    assert_eq!(found(&one, ask()).expect("an answer"), live(ask()));
    assert!(server.children().len() <= 1, "{:?}", server.children());
    assert!(
        server.memory_kib() < 64 << 10,
        "{} KiB",
        server.memory_kib()
    );
    // A connection beyond the maximum is told so immediately.
    let mut refused = connect(&path);
    match frame(&mut refused).expect("it is told") {
        Message::Error(Refusal { text, .. }) => {
            assert!(text.contains("too many connections"), "{text}")
        }
        other => panic!("{other:?}"),
    }
    assert!(frame(&mut refused).is_err());
    // All ask, at the same time.
    for socket in &mut sockets {
        socket
            .write_all(&[hello(), question(&site.tree().join("open"), 1)].concat())
            .expect("room");
    }
    for socket in &mut sockets {
        assert_eq!(answer(socket), 1);
    }
    assert!(server.children().len() <= 1, "{:?}", server.children());
    assert!(
        server.memory_kib() < 64 << 10,
        "{} KiB",
        server.memory_kib()
    );
    // Some of them ask again later: they are known.
    for socket in sockets.iter_mut().take(500) {
        socket
            .write_all(&question(&site.tree().join("open"), 2))
            .expect("room");
    }
    for socket in sockets.iter_mut().take(500) {
        assert_eq!(answer(socket), 1);
    }
    // Connections that end make room.
    sockets.truncate(1);
    wait_until("there is no room", &server, || {
        let mut socket = connect(&path);
        socket
            .write_all(&[hello(), question(&site.tree(), 1)].concat())
            .is_ok()
            && matches!(frame(&mut socket), Ok(Message::Hello(_)))
    });
}

#[test]
fn who_must_wait_too_long_is_told() {
    let site = Site::new("crowd-wait");
    // One connection takes the only place, because it never reads its answer.
    let words = ["--user-served=1", "--patience=300ms", "--stall=60s"];
    let (server, path) = site.at_socket(&words);
    let large = crate::site::large(&site, 3000);
    let mut first = connect(&path);
    let mut greedy = question(&large, 1);
    let at = greedy
        .windows(3)
        .position(|bytes| bytes == b"x.c")
        .expect("the pattern");
    greedy[at..at + 3].copy_from_slice(b"*|*");
    first.write_all(&[hello(), greedy].concat()).expect("room");
    assert!(matches!(frame(&mut first), Ok(Message::Hello(_))));
    let mut second = connect(&path);
    second
        .write_all(&[hello(), question(&site.tree(), 1)].concat())
        .expect("room");
    match frame(&mut second).expect("it is told") {
        Message::Error(Refusal { text, .. }) => assert!(text.contains("try again later"), "{text}"),
        other => panic!("{other:?}: {}", server.said()),
    }
    // The first one gets its answer all the same.
    assert_eq!(answer(&mut first), 6000);
}

#[test]
fn who_says_half_a_hello_holds_up_nobody() {
    let site = Site::new("crowd-half");
    let (_server, path) = site.at_socket(&["--user-served=40"]);
    let mut kept = Vec::new();
    for _ in 0..20 {
        let mut socket = connect(&path);
        socket.write_all(&hello()[..9]).expect("room");
        kept.push(socket);
    }
    let remote = Remote::new(Address::Unix(path));
    let ask = || request("x.c", &site.tree());
    assert_eq!(found(&remote, ask()).expect("an answer"), live(ask()));
}
