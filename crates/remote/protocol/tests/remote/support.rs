//! Trees, servers in this process, and proxies between a server and a client.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use trawl_call::options::Flags;
use trawl_call::{CallError, Executor, LiveWalk, Pattern, Request, Search};
use trawl_remote::frames::{Came, FrameReader};
use trawl_remote::transport::Transport;
use trawl_remote::wire::{
    ANSWER_MAX_BYTES, Frame, Hello, Message, Question, QuestionRoot, VERSION, feature,
};
use trawl_remote::{Address, Exports, Limits, Remote, RemoteError, Serving, serve};
use trawl_testkit::Scratch;

/// Longer than anything in these tests takes.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Makes the complete binary tree with this number of levels, and a file in each directory.
pub(crate) fn binary_tree(levels: u32) -> Scratch {
    fn grow(dir: &Path, levels: u32) {
        std::fs::write(dir.join("x.c"), "x").unwrap();
        if levels > 1 {
            for name in ["0", "1"] {
                std::fs::create_dir(dir.join(name)).unwrap();
                grow(&dir.join(name), levels - 1);
            }
        }
    }
    let scratch = Scratch::new("remote");
    let top = scratch.join("tree");
    std::fs::create_dir(&top).unwrap();
    grow(&top, levels);
    settle(&top);
    scratch
}

/// Lists all directories once, because the first listing sets their access times.
pub(crate) fn settle(top: &Path) {
    trawl_testkit::tick();
    lines(&LiveWalk::default(), request("*", 0, &[bytes(top)]));
}

pub(crate) fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

pub(crate) fn request(pattern: &str, flags: u32, roots: &[&[u8]]) -> Request {
    let (language, options) = Flags(flags).read().unwrap();
    let pattern = Pattern::new(pattern.as_bytes(), language).unwrap();
    Request::new(&pattern, roots, options).unwrap()
}

/// Returns all bytes of an answer.
pub(crate) fn packed(executor: &dyn Executor, request: Request) -> Result<Vec<u8>, CallError> {
    let mut search = Search::open(executor, request)?;
    let mut answer = Vec::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let filled = search.fill(&mut buffer)?;
        if filled.records == 0 {
            return Ok(answer);
        }
        answer.extend_from_slice(&buffer[..filled.bytes]);
    }
}

/// Returns the paths of all records; errors begin with `!` and the errno.
pub(crate) fn lines(executor: &dyn Executor, request: Request) -> Vec<String> {
    let mut search = Search::open(executor, request).unwrap();
    let mut lines = Vec::new();
    while let Some(record) = search.next_record().unwrap() {
        let path = record.path.escape_ascii();
        lines.push(match record.outcome {
            trawl_call::Outcome::Match(_) => path.to_string(),
            trawl_call::Outcome::Error(trouble) => format!("!{} {path}", trouble.errno),
        });
    }
    lines
}

pub(crate) fn serving(exports: Exports) -> Serving {
    Serving {
        exports,
        executor: Arc::new(LiveWalk::default()),
        limits: Limits::default(),
        delay: Duration::ZERO,
        commands: None,
    }
}

/// Listens at a socket, and calls `each` with every connection and its number.
pub(crate) fn listen(
    path: PathBuf,
    mut each: impl FnMut(usize, UnixStream) + Send + 'static,
) -> Address {
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for number in 0.. {
            let Ok((client, _)) = listener.accept() else {
                return;
            };
            each(number, client);
        }
    });
    Address::Unix(path)
}

pub(crate) fn transport(socket: UnixStream) -> Transport {
    Transport::over_socket(socket.into()).unwrap()
}

/// Starts a server in this process.
pub(crate) fn server(scratch: &Scratch, name: &str, serving: Serving) -> Address {
    listen(scratch.join(name), move |_, client| {
        let serving = serving.clone();
        std::thread::spawn(move || serve(transport(client), &serving));
    })
}

pub(crate) fn remote(scratch: &Scratch, serving: Serving) -> Remote {
    Remote::new(server(scratch, "socket", serving))
}

/// What passed through a proxy: the bytes that clients sent, and the number that servers sent.
#[derive(Debug, Default)]
pub(crate) struct Passed {
    pub(crate) from_client: Vec<u8>,
    pub(crate) from_server: usize,
}

/// Starts a proxy; `cut` says after how many bytes from the server each connection ends.
pub(crate) fn proxy(
    scratch: &Scratch,
    name: &str,
    to: PathBuf,
    cut: impl Fn(usize) -> Option<usize> + Send + 'static,
) -> (Address, Arc<Mutex<Passed>>) {
    let passed = Arc::new(Mutex::new(Passed::default()));
    let noted = Arc::clone(&passed);
    let address = listen(scratch.join(name), move |number, mut client| {
        let mut server = UnixStream::connect(&to).unwrap();
        let mut left = cut(number).unwrap_or(usize::MAX);
        let noted = Arc::clone(&noted);
        let (mut up, mut down) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let notes = Arc::clone(&noted);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = up.read(&mut buffer) {
                notes
                    .lock()
                    .unwrap()
                    .from_client
                    .extend_from_slice(&buffer[..count]);
                if down.write_all(&buffer[..count]).is_err() {
                    break;
                }
            }
            let _ = down.shutdown(Shutdown::Both);
        });
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while left > 0 {
                let most = left.min(buffer.len());
                let Ok(count @ 1..) = server.read(&mut buffer[..most]) else {
                    break;
                };
                noted.lock().unwrap().from_server += count;
                if client.write_all(&buffer[..count]).is_err() {
                    break;
                }
                left -= count;
            }
            let _ = client.shutdown(Shutdown::Both);
            let _ = server.shutdown(Shutdown::Both);
        });
    });
    (address, passed)
}

pub(crate) fn hello() -> Message {
    Message::Hello(Hello {
        lowest: VERSION,
        highest: VERSION,
        requests: 0,
        // `served by` has tests of its own.
        features: feature::ALL & !feature::SERVED_BY,
    })
}

pub(crate) fn question(pattern: &str, root: &[u8], credit: u32) -> Question {
    Question {
        flags: 0,
        max_depth: 8192,
        credit,
        cookie: Vec::new(),
        patterns: vec![pattern.into()],
        roots: vec![QuestionRoot {
            pattern: 0,
            number: 0,
            path: root.to_vec(),
            shown: root.to_vec(),
            prefix: Vec::new(),
            skip: Vec::new(),
        }],
    }
}

/// A client that sends arbitrary frames.
pub(crate) struct Raw {
    pub(crate) socket: UnixStream,
    reader: FrameReader,
    pub(crate) server: Option<std::thread::JoinHandle<Result<(), RemoteError>>>,
}

impl Raw {
    /// Connects to a server with this configuration.
    pub(crate) fn new(serving: Serving) -> Raw {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let server = std::thread::spawn(move || serve(transport(theirs), &serving));
        let receive = transport(ours.try_clone().unwrap()).receive;
        Raw {
            socket: ours,
            reader: FrameReader::new(receive, ANSWER_MAX_BYTES, LONG),
            server: Some(server),
        }
    }

    pub(crate) fn say(&mut self, id: u32, message: &Message) {
        self.socket.write_all(&message.encode(id)).unwrap();
    }

    /// Returns the next message; `None` when the server has closed the connection.
    pub(crate) fn hear(&mut self) -> Option<(u32, Message)> {
        match self.reader.next(LONG) {
            Ok(Came::Frame(Frame { kind, id, body })) => {
                let frame = Frame { kind, id, body };
                Some((id, Message::decode(frame).unwrap()))
            }
            Ok(Came::End) => None,
            other => panic!("{other:?}"),
        }
    }

    /// Returns the result of the server.
    pub(crate) fn end(mut self) -> Result<(), RemoteError> {
        let _ = self.socket.shutdown(Shutdown::Both);
        self.server.take().unwrap().join().unwrap()
    }
}
