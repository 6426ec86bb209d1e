//! Requests as operations of Trawl's own profile: as many as were made, and as long as they took,
//! at both ends. A program of its own, because an observer sees the whole process.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use trawl_call::options::Flags;
use trawl_call::{LiveWalk, Pattern, Request, Search};
use trawl_model::operation::{self, Observer, Operation};
use trawl_remote::client::Pipeline;
use trawl_remote::transport::Transport;
use trawl_remote::{Address, Exports, Limits, Remote, Serving, serve};
use trawl_sys::directory::Links;
use trawl_testkit::Scratch;

/// Keeps the latency of each operation that has ended.
#[derive(Debug)]
struct Log {
    began: Mutex<Option<Instant>>,
    ended: Mutex<BTreeMap<Operation, Vec<u64>>>,
}

static LOG: Log = Log {
    began: Mutex::new(None),
    ended: Mutex::new(BTreeMap::new()),
};

impl Log {
    fn note(&self, operation: Operation, since_ns: u64) {
        let latency_ns = self.now_ns() - since_ns;
        let mut ended = self.ended.lock().unwrap();
        ended.entry(operation).or_default().push(latency_ns);
    }

    fn take(&self) -> BTreeMap<Operation, Vec<u64>> {
        std::mem::take(&mut *self.ended.lock().unwrap())
    }
}

impl Observer for Log {
    fn now_ns(&self) -> u64 {
        let mut began = self.began.lock().unwrap();
        began.get_or_insert_with(Instant::now).elapsed().as_nanos() as u64
    }

    fn enter(&self, _: Operation) -> u64 {
        self.now_ns()
    }

    fn leave(&self, operation: Operation, since_ns: u64) {
        self.note(operation, since_ns);
    }

    fn record(&self, operation: Operation, since_ns: u64) {
        self.note(operation, since_ns);
    }
}

/// Accepts connections at a socket.
fn listen(path: &Path, mut each: impl FnMut(UnixStream) + Send + 'static) -> Address {
    let listener = UnixListener::bind(path).unwrap();
    std::thread::spawn(move || {
        while let Ok((client, _)) = listener.accept() {
            each(client);
        }
    });
    Address::Unix(path.to_owned())
}

fn server(path: &Path) -> Address {
    let serving = Serving {
        exports: Exports::Everything,
        executor: Arc::new(LiveWalk::default()),
        limits: Limits::default(),
        delay: Duration::ZERO,
        commands: None,
    };
    listen(path, move |client| {
        let serving = serving.clone();
        let transport = Transport::over_socket(client.into()).unwrap();
        std::thread::spawn(move || serve(transport, &serving));
    })
}

/// Passes bytes on in order, each `delay` after it came, as a long line does.
fn pass_late(mut from: UnixStream, mut to: UnixStream, delay: Duration) {
    let (give, take) = mpsc::channel::<(Instant, Vec<u8>)>();
    std::thread::spawn(move || {
        let mut buffer = [0; 65_536];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let sent = give.send((Instant::now() + delay, buffer[..count].to_vec()));
            if sent.is_err() {
                return;
            }
        }
    });
    std::thread::spawn(move || {
        for (due, bytes) in take {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                return;
            }
        }
        let _ = to.shutdown(std::net::Shutdown::Both);
    });
}

/// A relay to a server; the way there takes `delay`, and so does the way back.
fn relay(path: &Path, to: &Path, delay: Duration) -> Address {
    let to = to.to_owned();
    listen(path, move |client| {
        let server = UnixStream::connect(&to).unwrap();
        let (up, down) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        pass_late(up, down, delay);
        pass_late(server, client, delay);
    })
}

fn search(remote: &Remote, top: &[u8]) {
    let (language, options) = Flags(0).read().unwrap();
    let pattern = Pattern::new(b"*", language).unwrap();
    let request = Request::new(&pattern, &[top], options).unwrap();
    let mut search = Search::open(remote, request).unwrap();
    while search.next_record().unwrap().is_some() {}
}

/// "counts equal the known number of requests of a test; injected delay via a relay recovered
/// within half a bucket": in the client's operations, and in no operation of the server.
#[test]
fn requests_are_counted_and_their_latencies_are_the_networks() {
    assert!(operation::observe(&LOG));
    let scratch = Scratch::new("measured");
    let file = scratch.join("file");
    std::fs::write(&file, "content").unwrap();
    let (top, path) = (
        scratch.path().as_os_str().as_bytes(),
        file.as_os_str().as_bytes(),
    );
    let socket = scratch.join("server");
    let near = Remote::new(server(&socket));
    let delay = Duration::from_millis(20);
    let far = Remote::new(relay(&scratch.join("relay"), &socket, delay));
    for (remote, round_trip) in [(&near, Duration::ZERO), (&far, delay * 2)] {
        LOG.take();
        (0..3).for_each(|_| search(remote, top));
        (0..7).for_each(|_| drop(remote.stat(path, Links::Refused).unwrap()));
        (0..5).for_each(|_| drop(remote.list(top).unwrap()));
        (0..4).for_each(|_| drop(remote.read(path, 0, 7).unwrap()));
        (0..6).for_each(|_| drop(remote.fetch(path, 0, 7).unwrap()));
        (0..2).for_each(|_| drop(remote.links(&[path.to_vec()]).unwrap()));
        drop(remote.attributes(top, b"", 9).unwrap());
        // A request that is refused is one, too.
        assert!(remote.read(b"/nowhere/at/all", 0, 7).is_err());
        let pipeline = Pipeline::new(remote);
        let (give, take) = mpsc::channel();
        for _ in 0..10 {
            let give = give.clone();
            let done = Box::new(move |answer: Result<_, _>| give.send(answer.is_ok()).unwrap());
            pipeline.fetch(path, 0, 7, done);
        }
        (0..10).for_each(|_| assert!(take.recv().unwrap()));
        check(&LOG.take(), round_trip);
    }
}

fn check(ended: &BTreeMap<Operation, Vec<u64>>, round_trip: Duration) {
    let expected = [
        (Operation::AskSearch, Operation::ServeSearch, 3),
        (Operation::AskStat, Operation::ServeStat, 7),
        (Operation::AskList, Operation::ServeList, 5),
        (Operation::AskRead, Operation::ServeRead, 5),
        (Operation::AskFetch, Operation::ServeFetch, 16),
        (Operation::AskLinks, Operation::ServeLinks, 2),
        (Operation::AskAttributes, Operation::ServeAttributes, 1),
    ];
    for (asking, serving, count) in expected {
        for operation in [asking, serving] {
            let found = ended.get(&operation).map_or(0, Vec::len);
            assert_eq!(found, count, "{}", operation.name());
        }
        let mut latencies_ns = ended[&asking].clone();
        latencies_ns.sort_unstable();
        let round_trip_ns = round_trip.as_nanos() as u64;
        assert!(latencies_ns[0] >= round_trip_ns, "{}", asking.name());
        // The first request on a connection, and those in a queue, take longer.
        let fastest = (latencies_ns[0] as f64).log2() - (round_trip_ns.max(1) as f64).log2();
        assert!(
            round_trip_ns == 0 || fastest <= 0.5,
            "{}: {latencies_ns:?}",
            asking.name()
        );
        let least_ns = ended[&serving].iter().min().unwrap();
        assert!(
            round_trip_ns == 0 || *least_ns < round_trip_ns / 2,
            "{}",
            serving.name()
        );
    }
    let others: Vec<_> = ended
        .keys()
        .filter(|one| one.layer() == operation::Layer::Network)
        .collect();
    assert_eq!(others.len(), 2 * expected.len(), "{others:?}");
}
