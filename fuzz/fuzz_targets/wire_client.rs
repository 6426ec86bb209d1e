//! Any bytes as a server's answer, of each kind that a client reads: an error, or an answer that the
//! server said to be whole.

#![no_main]

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::sync::{Mutex, OnceLock, mpsc};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use trawl_call::options::Flags;
use trawl_call::{Pattern, Request, Search};
use trawl_remote::client::Patience;
use trawl_remote::wire::{Hello, Message, VERSION, feature};
use trawl_remote::{Address, Remote};

/// A server that says what it is given, to one client after the other.
fn server() -> &'static Mutex<(mpsc::Sender<Vec<u8>>, Address)> {
    static SERVER: OnceLock<Mutex<(mpsc::Sender<Vec<u8>>, Address)>> = OnceLock::new();
    SERVER.get_or_init(|| {
        let path = trawl_fuzz::scratch("wire-client").join("socket");
        let listener = UnixListener::bind(&path).expect("room for a socket");
        let (give, take) = mpsc::channel::<Vec<u8>>();
        std::thread::spawn(move || {
            let mut answer = Vec::new();
            for client in listener.incoming() {
                let mut client = client.expect("a client");
                while let Ok(next) = take.try_recv() {
                    answer = next;
                }
                // The question is taken first, so that closing loses nothing.
                let _ = client.read(&mut [0; 4096]);
                let _ = client.write_all(&answer);
            }
        });
        Mutex::new((give, Address::Unix(path)))
    })
}

fuzz_target!(|data: &[u8]| {
    let hello = Message::Hello(Hello {
        lowest: VERSION,
        highest: VERSION,
        requests: 1,
        features: feature::ALL,
    });
    let server = server().lock().expect("no panic");
    // The first byte says what is asked.
    let answer = [&hello.encode(0)[..], data.get(1..).unwrap_or_default()].concat();
    server.0.send(answer).expect("the server lives");
    let patience = Patience {
        silence: Duration::from_secs(5),
        ..Patience::default()
    };
    let remote = Remote::with(server.1.clone(), patience);
    match data.first().map(|first| first % 4) {
        Some(1) => {
            let _ = remote.attributes(b"/", b"", 9);
        }
        Some(2) => {
            let _ = remote.links(&[b"/x".to_vec()]);
        }
        _ => search(&remote),
    }
});

fn search(remote: &Remote) {
    let (language, options) = Flags(0).read().expect("flags that there are");
    let pattern = Pattern::new(b"*", language).expect("a pattern");
    let request = Request::new(&pattern, &[b"/"], options).expect("a question");
    if let Ok(mut search) = Search::open(remote, request) {
        while let Ok(Some(_)) = search.next_record() {}
    }
}
