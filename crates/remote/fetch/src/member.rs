//! Fetches one member: whole into memory if it is small enough, else its first bytes and a stream.
//!
//! Invariant: all pieces have one version. A file that changes meanwhile is fetched again, and is a
//! problem if it changes each time.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use trawl_remote::client::{Fetched as Piece, Pipeline, pipeline};
use trawl_remote::wire::READ_MAX_BYTES;
use trawl_remote::wire::version::Version;
use trawl_remote::{Remote, RemoteError};
use trawl_sets::member::{Op, Problem};
use trawl_sets::opener::{Done, Fetched};
use trawl_sys::Errno;

use crate::stream;

/// Number of times that a file which changes is fetched.
const TRIES: u8 = 4;
/// Smallest number of bytes that is fetched at once.
const LEAST_BYTES: u64 = 64 << 10;

/// A member that is being fetched.
pub(crate) struct Member {
    pub(crate) pipeline: Pipeline,
    pub(crate) remote: Remote,
    /// Name of the member in the set.
    pub(crate) name: Vec<u8>,
    /// Path on the server.
    pub(crate) path: Vec<u8>,
    /// Maximum size in bytes of a file that is held in memory.
    pub(crate) ahead_bytes: u64,
    /// Size of the file, if known.
    pub(crate) size_bytes: Option<u64>,
    pub(crate) tries: u8,
}

/// Returns whether bytes of these versions belong together.
pub(crate) fn is_same(one: &Version, other: &Version) -> bool {
    let parts = |version: &Version| {
        let file = &version.attributes;
        (
            file.dev,
            file.ino,
            file.size,
            file.mtime,
            file.ctime,
            version.born,
        )
    };
    parts(one) == parts(other)
}

/// Returns the length of the next piece of a file in bytes.
pub(crate) fn piece_bytes(left: u64) -> u32 {
    u32::try_from(left).unwrap_or(u32::MAX).min(READ_MAX_BYTES)
}

/// Returns the error of a member for an error of its server.
pub(crate) fn io_error(error: &RemoteError) -> io::Error {
    match error {
        RemoteError::Refused { errno, .. } if *errno != 0 => io::Error::from_raw_os_error(*errno),
        RemoteError::Connect { source, .. } | RemoteError::Broken { source, .. } => {
            io::Error::new(source.kind(), error.to_string())
        }
        RemoteError::Silent { .. } => io::Error::new(io::ErrorKind::TimedOut, error.to_string()),
        RemoteError::Cancelled { .. } => {
            io::Error::new(io::ErrorKind::Interrupted, error.to_string())
        }
        error => io::Error::other(error.to_string()),
    }
}

/// Returns the error for a file that is changed again and again.
pub(crate) fn changing() -> io::Error {
    let text = "the file changes while it is read; try again later";
    io::Error::new(io::ErrorKind::ResourceBusy, text)
}

impl Member {
    fn problem(self, source: io::Error) -> Problem {
        let is_errno = source.raw_os_error().is_some();
        Problem {
            name: self.name,
            op: if is_errno { Op::Open } else { Op::Fetch },
            source,
        }
    }

    /// Sends the first request; `done` gets the member.
    pub(crate) fn begin(mut self, done: Done) {
        self.tries += 1;
        let most = self.ahead_bytes.max(LEAST_BYTES);
        // One byte more than the file has shows whether it has grown.
        let wanted = match self.size_bytes {
            // Files of /proc say 0.
            None | Some(0) => most,
            Some(size) => most.min(size.saturating_add(1)),
        };
        let (pipeline, path) = (self.pipeline.clone(), self.path.clone());
        let next: pipeline::Done = Box::new(move |answer| self.first(answer, done));
        pipeline.fetch(&path, 0, piece_bytes(wanted), next);
    }

    fn first(self, answer: Result<Piece, Arc<RemoteError>>, done: Done) {
        let piece = match answer {
            Ok(piece) => piece,
            Err(error) => return done(Err(self.problem(io_error(&error)))),
        };
        let size = piece.version.attributes.size;
        let most = self.ahead_bytes.max(LEAST_BYTES);
        let had = piece.bytes.len() as u64;
        match had >= size {
            // It grew while it was read, or has no size, and there may be more.
            true if had > size && (size > 0 || had >= most) => self.again(done),
            true => self.whole(piece.bytes, done),
            // Later changes might not be visible in the version.
            false if !piece.version.is_settled => self.again(done),
            false if size <= most => self.more(piece.version, piece.bytes, done),
            false => self.stream(piece, done),
        }
    }

    /// Begins again after a pause in which the version can settle. A thread waits for that: it
    /// happens rarely.
    fn again(self, done: Done) {
        if self.tries >= TRIES {
            return done(Err(self.problem(changing())));
        }
        // 60 ms, then long enough for file systems that store whole seconds.
        let pause = match self.tries {
            1 => Duration::from_millis(60),
            _ => Duration::from_millis(1_100),
        };
        let member = Member {
            size_bytes: None,
            ..self
        };
        let wait = move || {
            std::thread::sleep(pause);
            member.begin(done);
        };
        // If there is no thread, the caller learns it from the dropped `done` alone, so it waits
        // here instead.
        let thread = std::thread::Builder::new().name("settle".to_owned());
        let work: Arc<std::sync::Mutex<Option<_>>> = Arc::new(Some(wait).into());
        let there = Arc::clone(&work);
        let run = move || {
            if let Some(wait) = trawl_model::sync::lock(&there).take() {
                wait();
            }
        };
        if thread.spawn(run).is_err()
            && let Some(wait) = trawl_model::sync::lock(&work).take()
        {
            wait();
        }
    }

    /// Requests the next piece of a file that is held in memory.
    fn more(self, version: Version, mut bytes: Vec<u8>, done: Done) {
        let left = version.attributes.size - bytes.len() as u64;
        let (pipeline, path) = (self.pipeline.clone(), self.path.clone());
        let at = bytes.len() as u64;
        let next: pipeline::Done = Box::new(move |answer| match answer {
            Err(error) => done(Err(self.problem(io_error(&error)))),
            Ok(piece) if !is_same(&version, &piece.version) || piece.bytes.is_empty() => {
                self.again(done);
            }
            Ok(piece) => {
                bytes.extend_from_slice(&piece.bytes);
                match bytes.len() as u64 >= version.attributes.size {
                    true => self.whole(bytes, done),
                    false => self.more(version, bytes, done),
                }
            }
        });
        pipeline.fetch(&path, at, piece_bytes(left), next);
    }

    fn whole(self, bytes: Vec<u8>, done: Done) {
        done(match trawl_sys::file::sealed(c"trawl-member", &bytes) {
            Ok(file) => Ok(Fetched::of(file, bytes.len() as u64)),
            Err(error) => Err(self.problem(errno(error.errno))),
        });
    }

    fn stream(self, piece: Piece, done: Done) {
        let ahead_bytes = piece.bytes.len() as u64;
        let begun = stream::begin(self.remote.clone(), self.path.clone(), piece);
        done(match begun {
            Ok(file) => Ok(Fetched {
                is_stream: true,
                ..Fetched::of(file, ahead_bytes)
            }),
            Err(error) => Err(self.problem(error)),
        });
    }
}

fn errno(errno: Errno) -> io::Error {
    io::Error::from_raw_os_error(errno.0)
}
