//! Bytes from a program at the socket of the service that makes tables for preloaded libraries: it
//! leaves the client, or answers each question with a table or an errno, and goes on to serve others.

#![no_main]

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use trawl_table::wire::{ANSWER_BYTES, Answer, QUESTION_BYTES_MAX, QUESTION_HEAD_BYTES, Question};
use trawl_table::{Level, wire::Extent};
use trawl_table_service::{Config, Running, Service};

/// Longer than any answer takes.
const LONG: Duration = Duration::from_secs(60);

struct Place {
    _service: Running,
    socket: PathBuf,
    top: Vec<u8>,
}

static PLACE: OnceLock<Place> = OnceLock::new();

fn place() -> &'static Place {
    PLACE.get_or_init(|| {
        let top = trawl_fuzz::scratch("preload");
        for name in ["a/b/c", "a/d", "e"] {
            std::fs::create_dir_all(top.join(name)).expect("room");
            std::fs::write(top.join(name).join("file"), "x").expect("room");
        }
        std::os::unix::fs::symlink("/etc", top.join("out")).expect("room");
        let service = Service::start(Config::local(vec![top.clone()])).expect("a directory");
        let variables = service.environment();
        let socket = variables
            .iter()
            .find(|(name, _)| name == "TRAWL_BULK_SOCKET");
        let socket = PathBuf::from(&socket.expect("a variable").1);
        Place {
            _service: service,
            socket,
            top: top.as_os_str().as_bytes().to_vec(),
        }
    })
}

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else {
        return;
    };
    match first % 3 {
        0 => check(rest),
        1 => check(&with_length(rest)),
        _ => check(&question(rest)),
    }
});

/// Puts the right marks and lengths into a question's head.
fn with_length(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.resize(
        bytes.len().clamp(QUESTION_HEAD_BYTES, QUESTION_BYTES_MAX),
        0,
    );
    let length = (bytes.len() - QUESTION_HEAD_BYTES) as u16;
    bytes[..4].copy_from_slice(b"TBQ1");
    bytes[6..8].copy_from_slice(&length.to_le_bytes());
    bytes
}

/// Returns questions about directories at and around the top.
fn question(bytes: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    for part in bytes.chunks(24) {
        let [level, extent, entries, split, below @ ..] = part else {
            continue;
        };
        let path = [&place().top, below].concat();
        let (path, from) = path.split_at(path.len() - usize::from(*split) % (below.len() + 1));
        let mut space = [0; QUESTION_BYTES_MAX];
        let question = Question {
            path,
            from,
            level: Level::from_number(level % 3).expect("there are three"),
            extent: [Extent::Alone, Extent::Below, Extent::Each][usize::from(extent % 3)],
            entries_max: (*entries).into(),
        };
        all.extend(question.encode(&mut space).expect("it is short"));
    }
    all
}

/// Sends bytes, and looks at the answers. Then another program asks.
fn check(bytes: &[u8]) {
    let answers = ask(bytes);
    assert!(answers.len() * QUESTION_HEAD_BYTES <= bytes.len());
    let mut space = [0; QUESTION_BYTES_MAX];
    let question = Question {
        path: &place().top,
        from: b"",
        level: Level::from_number(0).expect("there is one"),
        extent: Extent::Alone,
        entries_max: 100,
    };
    let answers = ask(question.encode(&mut space).expect("it is short"));
    assert!(matches!(answers[..], [Answer::Table(1..)]), "{answers:?}");
}

/// Returns the answers to bytes, until the service leaves.
fn ask(bytes: &[u8]) -> Vec<Answer> {
    let mut client = UnixStream::connect(&place().socket).expect("it listens");
    client.set_read_timeout(Some(LONG)).expect("a time");
    // The service may have left.
    let _ = client.write_all(bytes);
    let _ = client.shutdown(Shutdown::Write);
    let mut said = Vec::new();
    if let Err(error) = client.read_to_end(&mut said) {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
    }
    let (answers, rest) = said.as_chunks::<ANSWER_BYTES>();
    assert!(rest.is_empty(), "an answer is cut off");
    let answers = answers.iter().map(Answer::decode);
    answers.map(|answer| answer.expect("an answer")).collect()
}
