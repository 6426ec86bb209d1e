//! The process that serves one user's connections: one after the other is given to it, each has a
//! thread, and those that ask nothing are given back.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use super::job::{Greeting, Job, Others, Protocol, Report};
use super::pass::{Waiting, give, take};
use crate::chirp;
use crate::error::RemoteError;
use crate::server::{Left, Serving, serve_for_now};

/// A connection that asks nothing for so long is given back.
const LINGER: Duration = Duration::from_millis(25);
/// The same while others wait for a turn.
const CROWDED_LINGER: Duration = Duration::from_millis(2);

/// Serves what the other end of `control` gives, until it is closed and all clients are gone.
///
/// # Errors
/// If what is given makes no sense.
pub fn work(control: OwnedFd, serving: &Serving) -> Result<(), RemoteError> {
    let failed = |source| RemoteError::File {
        action: "serve connections of",
        path: "the server".into(),
        source,
    };
    let control = Arc::new(control);
    let mut buffer = [0; super::job::BYTES + 1];
    loop {
        let taken = take(&*control, &mut buffer, Waiting::Allowed);
        let (length, socket) = taken.map_err(failed)?;
        if length == 0 {
            break;
        }
        let job = Job::from_bytes(&buffer[..length]).map_err(failed)?;
        let socket = socket.ok_or_else(|| failed(io::Error::other("no socket came")))?;
        let (serving, reports) = (serving.clone(), Arc::clone(&control));
        let work = move || {
            let report = serve_one(job, socket, &serving);
            // Nobody listens if the server is gone: then the connection ends here.
            let _ = give(reports.as_fd(), &report.to_bytes(), None, Waiting::Allowed);
        };
        let name = format!("client-{}", job.number);
        if std::thread::Builder::new().name(name).spawn(work).is_err() {
            let report = Report::Closed(job.number).to_bytes();
            give(control.as_fd(), &report, None, Waiting::Allowed).map_err(failed)?;
        }
    }
    // Threads hold the other end for as long as they serve.
    while Arc::strong_count(&control) > 1 {
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn serve_one(job: Job, socket: OwnedFd, serving: &Serving) -> Report {
    let linger = match job.others {
        Others::None => LINGER,
        Others::Wait => CROWDED_LINGER,
    };
    let left = match job.protocol {
        Protocol::Trawl => serve_for_now(socket, serving, job.greeting, linger),
        Protocol::Chirp => chirp::serve(socket, serving).map(|()| Left::Gone),
    };
    match left {
        Ok(Left::Idle(features)) => Report::Idle(job.number, features),
        Ok(Left::Gone) => Report::Closed(job.number),
        Err(error) => {
            eprintln!("trawl: a client was left: {error}");
            Report::Closed(job.number)
        }
    }
}

impl Greeting {
    /// What the client can do.
    pub(crate) fn features(self) -> u64 {
        match self {
            Greeting::Due => 0,
            Greeting::Done(features) => features,
        }
    }
}
