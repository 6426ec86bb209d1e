//! Chirp's line `search`, for programs that speak that protocol: line by line, one question after
//! the other. Everything else that Chirp can do is refused.
//!
//! What a client says first is how it may say who it is: `hostname` and `address` are agreed to, which is
//! to say that whoever connects is let in, as the one user that this process is. Then
//! `whoami LENGTH`, which clients ask before anything else and are told their name, and
//! `search PATTERN PATHS FLAGS`, with `|` or `:` between paths and `%` before hexadecimal digits in
//! them. Answered is `0`, a line for each record, and an empty line; a number below 0 instead of the `0`
//! says why not.
//!
//! | record | line |
//! |---|---|
//! | a match | `0:PATH:ATTRIBUTES:`, attributes only if they were asked for |
//! | an error | `ERRNO:SOURCE:PATH:` |
//!
//! The flag for periods is taken and does nothing, as with the other servers of this line.
//!
//! Invariants: nothing but searches is done; lines and memory are bounded; a name that the lines
//! cannot tell (with `:` or a line's end in it, or too long) is told as an error of its directory, never
//! left out and never told wrong.

mod line;
mod lines;

use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use trawl_call::{CallError, Request, Root, RootParts, Search};

use crate::error::RemoteError;
use crate::exports::{Exports, Place, Places};
use crate::server::Serving;
use crate::transport::Transport;
use line::{Asked, Question, parse};
use lines::{LineReader, LineWriter};

/// So long a client may say nothing between two questions.
const IDLE: Duration = Duration::from_secs(60);
/// The line made no sense, or asks for something that is not done.
const INVALID: &[u8] = b"-8\n";

/// Serves a client until it leaves.
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
            Ok(Asked::Search(question)) => answer(&question, serving, &mut to).map_err(failed)?,
            Ok(Asked::Whoami { most }) => {
                let told = &name[..name.len().min(most)];
                to.put(format!("{}\n", told.len()).as_bytes())
                    .and_then(|()| to.put(told))
                    .map_err(failed)?;
            }
            Ok(Asked::Other) | Err(_) => to.put(INVALID).map_err(failed)?,
        }
        to.flush().map_err(failed)?;
    }
    Ok(())
}

/// Lets a client say who it is: its name, as Chirp has names, or `None` if it leaves.
fn greet(
    from: &mut LineReader,
    to: &mut LineWriter,
    subject: &str,
    patience: Duration,
) -> std::io::Result<Option<Vec<u8>>> {
    while let Some(line) = from.next(patience)? {
        match &line[..] {
            b"hostname" | b"address" => {
                // Agreed; known; let in, as this.
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

/// Answers a question, or says that it makes no sense.
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
    // An answer that breaks off has no empty line: the client is left.
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

/// What is asked, in the places that are shown.
fn request(question: &Question, exports: &Exports) -> Result<Request, CallError> {
    let (language, options) = question.flags().read()?;
    let pattern = trawl_call::Pattern::new(&question.pattern, language)?;
    let mut places = Places::new(exports);
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
            Place::Anywhere(_) => None,
            Place::Confined(confined) => Some(confined),
        };
        Root::of_parts(parts, confined)
    };
    let roots = question.paths.iter().enumerate().map(root).collect();
    Request::of_roots(roots, options)
}
