//! The `search` line of the Chirp protocol, for programs that speak it: line by line, one request
//! after the other. Everything else in Chirp is refused.
//!
//! A client first offers a method of authentication. The methods `hostname` and `address` are
//! accepted, so any client may connect, and is served as the one user that this process runs as.
//! Then come `whoami LENGTH`, which clients send before anything else and which returns their name,
//! and `search PATTERN PATHS FLAGS`, where `|` or `:` separates paths and `%` introduces two
//! hexadecimal digits in them. The answer is `0`, a line for each record, and an empty line; or a
//! negative number that gives the reason for a refusal.
//!
//! | record | line |
//! |---|---|
//! | a match | `0:PATH:ATTRIBUTES:`, with attributes only if they were requested |
//! | an error | `ERRNO:SOURCE:PATH:` |
//!
//! The flag for periods is accepted and ignored, as other servers of this line do.
//!
//! Invariants: nothing but searches is executed; lines and memory are bounded; a name that a line
//! cannot represent (because it contains `:` or a line break, or is too long) is reported as an
//! error of its directory, never omitted and never misrepresented.

mod line;
mod lines;

use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use trawl_call::{CallError, Request, Root, RootParts, Search};

use crate::error::RemoteError;
use crate::exports::{ExportedPath, Exports, PathTranslator};
use crate::server::Serving;
use crate::transport::Transport;
use line::{ChirpRequest, Question, parse};
use lines::{LineReader, LineWriter};

/// Maximum idle time between two requests.
const IDLE: Duration = Duration::from_secs(60);
/// The answer to a line that is invalid, or asks for something unsupported.
const INVALID: &[u8] = b"-8\n";

/// Serves a client until it disconnects.
pub(crate) fn serve(socket: OwnedFd, serving: &Serving) -> Result<(), RemoteError> {
    let failed = |error: std::io::Error| RemoteError::Client {
        why: error.to_string(),
    };
    let socket = TcpStream::from(socket);
    let subject = socket
        .peer_addr()
        .map(|address: SocketAddr| address.ip().to_string());
    let transport = Transport::over_socket(socket.into()).map_err(failed)?;
    let half = serving.limits.half_frame;
    let mut from = LineReader::new(transport.receive, half);
    let mut to = LineWriter::new(transport.transmit, serving.limits.stall);
    let name = greet(&mut from, &mut to, &subject.unwrap_or_default(), half).map_err(failed)?;
    let Some(name) = name else {
        return Ok(());
    };
    while let Some(line) = from.next(IDLE).map_err(failed)? {
        match parse(&line) {
            Ok(ChirpRequest::Search(question)) => {
                answer(&question, serving, &mut to).map_err(failed)?
            }
            Ok(ChirpRequest::Whoami { most }) => {
                let told = &name[..name.len().min(most)];
                to.put(format!("{}\n", told.len()).as_bytes())
                    .and_then(|()| to.put(told))
                    .map_err(failed)?;
            }
            Ok(ChirpRequest::Other) | Err(_) => to.put(INVALID).map_err(failed)?,
        }
        to.flush().map_err(failed)?;
    }
    Ok(())
}

/// Authenticates a client. Returns its name in Chirp's form, or `None` if it disconnects.
fn greet(
    from: &mut LineReader,
    to: &mut LineWriter,
    subject: &str,
    patience: Duration,
) -> std::io::Result<Option<Vec<u8>>> {
    while let Some(line) = from.next(patience)? {
        match &line[..] {
            b"hostname" | b"address" => {
                // The method is accepted; the client is identified; the client is admitted under
                // this name.
                to.put(b"yes\nyes\nyes\n")?;
                to.put(&line)?;
                to.put(format!("\n{subject}\n").as_bytes())?;
                to.flush()?;
                return Ok(Some([&line[..], b":", subject.as_bytes()].concat()));
            }
            _ => {
                to.put(b"no\n")?;
                to.flush()?;
            }
        }
    }
    Ok(None)
}

/// Answers a search, or says that it is invalid.
fn answer(question: &Question, serving: &Serving, to: &mut LineWriter) -> std::io::Result<()> {
    if !serving.delay.is_zero() {
        std::thread::sleep(serving.delay);
    }
    let begun = request(question, &serving.exports)
        .and_then(|request| Search::open(&*serving.executor, request));
    let Ok(mut search) = begun else {
        return to.put(INVALID);
    };
    to.put(b"0\n")?;
    // If the answer breaks off, no empty line is sent and the connection is closed.
    while search.advance().map_err(std::io::Error::other)? {
        if let Some(record) = search.record().map_err(std::io::Error::other)? {
            let line = question.line(&record);
            to.put(&line)?;
        }
        if search.is_waiting() {
            to.flush()?;
        }
    }
    to.put(b"\n")
}

/// Returns the request for a question, within the exports.
fn request(question: &Question, exports: &Exports) -> Result<Request, CallError> {
    let (language, options) = question.flags().read()?;
    let pattern = trawl_call::Pattern::new(&question.pattern, language)?;
    let mut places = PathTranslator::new(exports);
    let root = |(number, path): (usize, &Vec<u8>)| {
        let parts = RootParts {
            number: u32::try_from(number).unwrap_or(u32::MAX),
            path: path.clone(),
            shown: path.clone(),
            prefix: Vec::new(),
            pattern: pattern.clone(),
            skip: Vec::new(),
        };
        let confined = match places.find(path) {
            ExportedPath::Anywhere(_) => None,
            ExportedPath::Confined(confined) => Some(confined),
        };
        Root::of_parts(parts, confined)
    };
    let roots = question.paths.iter().enumerate().map(root).collect();
    Request::of_roots(roots, options)
}
