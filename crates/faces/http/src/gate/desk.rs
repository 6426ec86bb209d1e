//! The process that answers a user's questions. It receives connections from the keeper, and serves
//! them as `trawl web` serves a browser.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use trawl_questions::child::Program;
use trawl_questions::desk::Desk;
use trawl_questions::limits::Limits;
use trawl_sys::message::{Waiting, receive};

use crate::limits::{ANSWERS, ANSWERS_OF_ONE_USER, CALLS_OF_ONE_USER};
use crate::metrics::Metrics;
use crate::options::Options;
use crate::server::answer;
use crate::service::{App, answers};
use crate::sessions::Sessions;

/// Serves the connections that come over standard input, until that is closed and the last of them has
/// ended.
///
/// # Errors
/// Says which word is invalid, or why connections cannot be received.
pub async fn serve(words: impl IntoIterator<Item = OsString>) -> Result<(), String> {
    let options = Options::parse(words).map_err(|error| error.to_string())?;
    let failed = |error: io::Error| format!("cannot receive connections: {error}");
    let control = io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
    let mut connections = received(control).map_err(failed)?;
    let program = Program {
        path: options.program,
        index: options.index,
    };
    let limits = Limits {
        open: ANSWERS_OF_ONE_USER,
        calls: CALLS_OF_ONE_USER,
        call: options.limits.call,
        ..ANSWERS
    };
    let router = answers(Arc::new(App {
        desk: Desk::new(program, limits),
        sessions: Sessions::default(),
        metrics: Arc::new(Metrics::default()),
    }));
    let mut served = JoinSet::new();
    while let Some(connection) = connections.recv().await {
        let Ok(stream) = stream(connection) else {
            continue;
        };
        served.spawn(answer(stream, router.clone()));
        while served.try_join_next().is_some() {}
    }
    while served.join_next().await.is_some() {}
    Ok(())
}

/// Receives connections on a thread of its own, until the keeper sends no more.
fn received(control: OwnedFd) -> io::Result<mpsc::UnboundedReceiver<OwnedFd>> {
    let (sender, receiver) = mpsc::unbounded_channel();
    let listen = move || {
        let mut byte = [0; 8];
        while let Ok((1.., Some(connection))) = receive(&control, &mut byte, Waiting::Allowed) {
            if sender.send(connection).is_err() {
                return;
            }
        }
    };
    let thread = std::thread::Builder::new().name("keeper".into());
    thread.spawn(listen)?;
    Ok(receiver)
}

/// Returns a connection that came with a message.
///
/// # Errors
/// Fails if the descriptor is no socket.
pub fn stream(connection: OwnedFd) -> io::Result<UnixStream> {
    let stream = std::os::unix::net::UnixStream::from(connection);
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}
