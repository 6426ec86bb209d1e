//! Trees, servers in this process, and sockets that misbehave.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use trawl_call::LiveWalk;
use trawl_fetch::Servers;
use trawl_remote::client::Patience;
use trawl_remote::tls::Certificates;
use trawl_remote::transport::Transport;
use trawl_remote::{Exports, Limits, Serving, serve};
use trawl_sets::opener::{Fetched, Opener};
use trawl_sets::{Found, Opened, Problem, Set};

/// Longer than anything in these tests takes.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A limit that no test reaches: what waits for it hangs.
pub(crate) const NEVER: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) type Outcome = Result<Fetched, Problem>;

pub(crate) fn serving() -> Serving {
    Serving {
        exports: Exports::Everything,
        executor: Arc::new(LiveWalk::default()),
        limits: Limits::default(),
        delay: Duration::ZERO,
        commands: None,
    }
}

/// Listens at a socket, and calls `each` with every connection and its number.
pub(crate) fn listen(path: &Path, mut each: impl FnMut(usize, UnixStream) + Send + 'static) {
    let listener = UnixListener::bind(path).unwrap();
    std::thread::spawn(move || {
        for number in 0.. {
            let Ok((client, _)) = listener.accept() else {
                return;
            };
            each(number, client);
        }
    });
}

/// Starts a server in this process.
pub(crate) fn server(socket: &Path, serving: Serving) {
    listen(socket, move |_, client| {
        let serving = serving.clone();
        std::thread::spawn(move || {
            let transport = Transport::over_socket(client.into()).unwrap();
            serve(transport, &serving)
        });
    });
}

/// Starts a proxy; `cut` says after how many bytes from the server each connection ends. Returns
/// the number of connections so far.
pub(crate) fn proxy(
    socket: &Path,
    to: PathBuf,
    cut: impl Fn(usize) -> Option<usize> + Send + 'static,
) -> Arc<Mutex<usize>> {
    let connections = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&connections);
    listen(socket, move |number, mut client| {
        *counted.lock().unwrap() += 1;
        let mut server = UnixStream::connect(&to).unwrap();
        let (mut up, mut down) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let mut left = cut(number).unwrap_or(usize::MAX);
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut up, &mut down);
            let _ = down.shutdown(Shutdown::Both);
        });
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while left > 0 {
                let most = left.min(buffer.len());
                let Ok(count @ 1..) = server.read(&mut buffer[..most]) else {
                    break;
                };
                if client.write_all(&buffer[..count]).is_err() {
                    break;
                }
                left -= count;
            }
            let _ = client.shutdown(Shutdown::Both);
            let _ = server.shutdown(Shutdown::Both);
        });
    });
    connections
}

/// Starts a proxy that passes on the server's greeting, and no answer before `passes` is true, which is
/// given the number of bytes that the client has sent on this connection. Returns the number of
/// connections so far.
pub(crate) fn holding(
    socket: &Path,
    to: PathBuf,
    passes: impl Fn(u64) -> bool + Clone + Send + 'static,
) -> Arc<Mutex<usize>> {
    let connections = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&connections);
    listen(socket, move |_, mut client| {
        *counted.lock().unwrap() += 1;
        let mut server = UnixStream::connect(&to).unwrap();
        let (mut up, mut down) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let sent = Arc::new(AtomicU64::new(0));
        let (counting, passes) = (Arc::clone(&sent), passes.clone());
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = up.read(&mut buffer) {
                counting.fetch_add(count as u64, Ordering::SeqCst);
                if down.write_all(&buffer[..count]).is_err() {
                    break;
                }
            }
            let _ = down.shutdown(Shutdown::Both);
        });
        std::thread::spawn(move || {
            // The greeting is the first frame. What follows may arrive together with it, and is held.
            let mut length = [0; 4];
            server.read_exact(&mut length).unwrap();
            let mut greeting = vec![0; u32::from_le_bytes(length) as usize];
            server.read_exact(&mut greeting).unwrap();
            client
                .write_all(&[&length[..], &greeting].concat())
                .unwrap();
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = server.read(&mut buffer) {
                while !passes(sent.load(Ordering::SeqCst)) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                if client.write_all(&buffer[..count]).is_err() {
                    break;
                }
            }
            let _ = client.shutdown(Shutdown::Both);
        });
    });
    connections
}

/// Returns the name of a file at the server that listens at this socket.
pub(crate) fn name(socket: &Path, file: &Path) -> Vec<u8> {
    format!("unix://{}:{}", socket.display(), file.display()).into_bytes()
}

/// Servers with a limit on their silence.
pub(crate) fn servers(silence: Duration) -> Arc<Servers> {
    let patience = Patience {
        silence,
        ..Patience::default()
    };
    Arc::new(Servers::new(Certificates::default(), patience))
}

/// Starts all members at once; the receiver gets each with its number.
pub(crate) fn start(
    servers: &Servers,
    names: &[Vec<u8>],
    ahead_bytes: u64,
) -> Receiver<(usize, Outcome)> {
    let (give, get) = channel();
    for (number, name) in names.iter().enumerate() {
        let give = give.clone();
        let done = Box::new(move |outcome| {
            let _ = give.send((number, outcome));
        });
        let found = Found::named(name.clone());
        assert!(servers.start(&found, ahead_bytes, done).is_none());
    }
    get
}

/// Returns what the work returns. Panics if it takes longer than `limit`, as work that hangs does.
pub(crate) fn within<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (give, get) = channel();
    std::thread::spawn(move || give.send(work()));
    get.recv_timeout(limit).expect("it ends")
}

/// Fetches all members at once.
pub(crate) fn fetch_all(servers: &Servers, names: &[Vec<u8>], ahead_bytes: u64) -> Vec<Outcome> {
    let get = start(servers, names, ahead_bytes);
    let mut outcomes: Vec<Option<Outcome>> = names.iter().map(|_| None).collect();
    for _ in names {
        let (number, outcome) = get.recv_timeout(LONG).expect("each member has an outcome");
        assert!(outcomes[number].replace(outcome).is_none());
    }
    outcomes.into_iter().flatten().collect()
}

/// Reads a member to its end.
pub(crate) fn content(mut fetched: Fetched) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fetched.file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads all members of a set, and returns their sizes in order.
pub(crate) fn sizes(set: &Set) -> Vec<usize> {
    let members = std::iter::from_fn(|| set.iterate());
    let size = |member: Result<Opened, Problem>| {
        let mut bytes = Vec::new();
        let read = member.unwrap().file.read_to_end(&mut bytes);
        read.unwrap()
    };
    let mut sizes: Vec<usize> = members.map(size).collect();
    sizes.sort_unstable();
    sizes
}

/// Returns the error of a problem.
pub(crate) fn error(outcome: Outcome) -> std::io::Error {
    outcome.expect_err("the member is a problem").source
}
