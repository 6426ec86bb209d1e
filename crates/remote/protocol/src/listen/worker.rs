//! The process that serves one user's connections. It receives one connection after the other,
//! serves each in its own thread, and returns those that have no requests.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use super::job::{Greeting, Job, Others, Protocol, Report};
use crate::chirp;
use crate::error::RemoteError;
use crate::server::{Serving, ServingEnd, serve_for_now};
use trawl_sys::message::{Waiting, receive, send};

/// Time without requests after which a connection is returned.
const LINGER: Duration = Duration::from_millis(25);
/// The same while other connections wait to be served.
const CROWDED_LINGER: Duration = Duration::from_millis(2);

/// How often the server is told this process's own profile.
const TELL: Duration = Duration::from_secs(1);

/// Returns this process's own profile, as bytes for [`Told::Profile`](super::Told::Profile); `None`
/// if there is none.
pub type OwnProfile = fn() -> Option<Vec<u8>>;

/// Tells the server this process's own profile where it has changed, until `control` is closed.
fn tell_profile(control: &Arc<OwnedFd>, profile: OwnProfile) {
    let control = Arc::downgrade(control);
    let work = move || {
        let mut told = Vec::new();
        loop {
            std::thread::sleep(TELL);
            let Some(control) = control.upgrade() else {
                return;
            };
            let Some(now) = profile().filter(|now| *now != told) else {
                continue;
            };
            let message = [&[super::job::PROFILE][..], &now].concat();
            // A server that is busy is told next time.
            if send(control.as_fd(), &message, None, Waiting::Never).is_ok() {
                told = now;
            }
        }
    };
    // Without the thread, only the profile is missing.
    let _ = std::thread::Builder::new()
        .name("profile".into())
        .spawn(work);
}

/// Serves the connections that the other end of `control` sends, until `control` is closed and all
/// clients are gone.
///
/// # Errors
/// Fails if a message is invalid.
pub fn work(control: OwnedFd, serving: &Serving, profile: OwnProfile) -> Result<(), RemoteError> {
    let failed = |source| RemoteError::File {
        action: "serve connections of",
        path: "the server".into(),
        source,
    };
    let control = Arc::new(control);
    tell_profile(&control, profile);
    let mut buffer = [0; super::job::BYTES + 1];
    loop {
        let taken = receive(&*control, &mut buffer, Waiting::Allowed);
        let (length, socket) = taken.map_err(failed)?;
        if length == 0 {
            break;
        }
        let job = Job::from_bytes(&buffer[..length]).map_err(failed)?;
        let socket = socket.ok_or_else(|| failed(io::Error::other("no socket came")))?;
        let (serving, reports) = (serving.clone(), Arc::clone(&control));
        let work = move || {
            let report = serve_one(job, socket, &serving);
            // If the server is gone, nobody receives the report, and the connection ends here.
            let _ = send(reports.as_fd(), &report.to_bytes(), None, Waiting::Allowed);
        };
        let name = format!("client-{}", job.number);
        if std::thread::Builder::new().name(name).spawn(work).is_err() {
            let report = Report::Closed(job.number).to_bytes();
            send(control.as_fd(), &report, None, Waiting::Allowed).map_err(failed)?;
        }
    }
    // Each serving thread holds a reference to the control socket.
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
        Protocol::Chirp => chirp::serve(socket, serving).map(|()| ServingEnd::Gone),
    };
    match left {
        Ok(ServingEnd::Idle(features)) => Report::Idle(job.number, features),
        Ok(ServingEnd::Gone) => Report::Closed(job.number),
        Err(error) => {
            eprintln!("trawl: a client was disconnected: {error}");
            Report::Closed(job.number)
        }
    }
}

impl Greeting {
    /// Returns the client's feature bits.
    pub(crate) fn features(self) -> u64 {
        match self {
            Greeting::Due => 0,
            Greeting::Done(features) => features,
        }
    }
}
