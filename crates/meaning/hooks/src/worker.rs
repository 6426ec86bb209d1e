//! Workers: processes of the program `trawl-hook` that run built-in hooks, and a pool of them.
//!
//! A worker serves many files, one after the other. Whatever goes wrong with one, the worker is
//! killed, the problem belongs to the file at hand, and the next file gets another worker. All its
//! files have the same owner, group and mode: one that a file has taken over could remember others.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use trawl_sys::message::{Waiting, send};
use trawl_sys::restricted::keep_only_standard_streams;
use trawl_text::words::cause;

use crate::found::{Extracted, Fault};
use crate::program::{ENDED, ended};
use crate::until::Until;
use crate::wire::{MEMORY, READY, Request};

/// Number of files that a worker serves; a parser that loses memory loses it only so long.
const FILES_PER_WORKER: u32 = 1000;
/// Number of idle workers that are kept.
const IDLE_MAX: usize = 8;
/// Time that a worker may take to start.
const START: Duration = Duration::from_secs(30);
/// Maximum length of a worker's reason why it cannot serve.
const WHY_BYTES_MAX: usize = 256;

/// A running worker.
#[derive(Debug)]
struct Worker {
    child: Child,
    socket: UnixStream,
    serves: Serves,
    served: u32,
}

/// What the files of a worker have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Serves {
    memory_bytes: u64,
    owner: u32,
    group: u32,
    mode: u32,
}

impl Serves {
    fn of(file: &File, memory_bytes: u64) -> io::Result<Serves> {
        let file = file.metadata()?;
        Ok(Serves {
            memory_bytes,
            owner: file.uid(),
            group: file.gid(),
            mode: file.mode(),
        })
    }
}

/// Idle workers, the one that served last behind the others.
#[derive(Debug, Default)]
pub(crate) struct Pool(Mutex<Vec<Worker>>);

/// Why a request was not answered.
type Failed = (Fault, String);

impl Pool {
    /// Has a file read.
    pub(crate) fn ask(
        &self,
        program: &Path,
        file: &File,
        request: &Request,
        cancel: &AtomicBool,
    ) -> Result<Extracted, Failed> {
        let serves = Serves::of(file, request.limits.memory_bytes)
            .map_err(|error| (Fault::Unavailable, cause(&error)))?;
        let idle = self.take(serves);
        let mut worker = match idle {
            Some(worker) => worker,
            None => {
                Worker::start(program, serves, cancel).map_err(|why| (Fault::Unavailable, why))?
            }
        };
        let until = Until::new(request.limits.wall(), cancel);
        match worker.ask(file, request, until) {
            Ok(found) => {
                worker.served += 1;
                self.put(worker);
                Ok(found)
            }
            Err(_) if until.is_cancelled() => Err((Fault::Unavailable, ENDED.to_owned())),
            Err(error) => Err(worker.failed(&error, request)),
        }
    }

    fn take(&self, serves: Serves) -> Option<Worker> {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = idle.iter().rposition(|one| one.serves == serves)?;
        Some(idle.remove(at))
    }

    fn put(&self, worker: Worker) {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if worker.served >= FILES_PER_WORKER {
            return;
        }
        if idle.len() >= IDLE_MAX {
            idle.remove(0);
        }
        idle.push(worker);
    }
}

impl Worker {
    fn start(program: &Path, serves: Serves, cancel: &AtomicBool) -> Result<Worker, String> {
        let failed =
            |error: &io::Error| format!("cannot run {}: {}", program.display(), cause(error));
        let (ours, theirs) = UnixStream::pair().map_err(|error| failed(&error))?;
        let mut command = Command::new(program);
        keep_only_standard_streams(&mut command);
        let child = command
            .env_clear()
            .env(MEMORY, serves.memory_bytes.to_string())
            .current_dir("/")
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| failed(&error))?;
        let mut worker = Worker {
            child,
            socket: ours,
            serves,
            served: 0,
        };
        match worker.greeting(Until::new(START, cancel)) {
            Ok(greeting) if greeting == READY => Ok(worker),
            Ok(why) if why.is_empty() => Err(format!("{} ended at once", program.display())),
            Ok(why) => Err(String::from_utf8_lossy(&why).trim_end().to_owned()),
            Err(error) => Err(failed(&error)),
        }
    }

    /// Reads the first line.
    fn greeting(&mut self, until: Until<'_>) -> io::Result<Vec<u8>> {
        let (mut line, mut byte) = (Vec::new(), [0]);
        while line.len() < WHY_BYTES_MAX && line.last() != Some(&b'\n') {
            if self.read_some(&mut byte, until)? == 0 {
                break;
            }
            line.push(byte[0]);
        }
        Ok(line)
    }

    fn ask(&mut self, file: &File, request: &Request, until: Until<'_>) -> io::Result<Extracted> {
        let bytes = request.to_bytes()?;
        send(&self.socket, &bytes, Some(file.as_fd()), Waiting::Allowed)?;
        let mut length = [0; 4];
        self.read(&mut length, until)?;
        let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
        if length > request.limits.answer_bytes() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut answer = vec![0; length];
        self.read(&mut answer, until)?;
        serde_json::from_slice(&answer).map_err(io::Error::from)
    }

    /// Fills a buffer, or fails with `TimedOut` or `UnexpectedEof`.
    fn read(&mut self, into: &mut [u8], until: Until<'_>) -> io::Result<()> {
        let mut filled = 0;
        while filled < into.len() {
            match self.read_some(&mut into[filled..], until)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => filled += read,
            }
        }
        Ok(())
    }

    fn read_some(&mut self, into: &mut [u8], until: Until<'_>) -> io::Result<usize> {
        loop {
            self.socket.set_read_timeout(Some(until.left_or_over()?))?;
            match self.socket.read(into) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
        }
    }

    /// Ends the worker, and returns why it did not answer.
    fn failed(mut self, error: &io::Error, request: &Request) -> Failed {
        match error.kind() {
            io::ErrorKind::TimedOut => {
                let secs = request.limits.wall().as_secs_f64();
                (
                    Fault::Timeout,
                    format!("reading the file took longer than {secs} s"),
                )
            }
            // The socket ends when the process does.
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionReset => match self.child.wait() {
                Ok(status) => ended(status, &request.limits, b""),
                Err(error) => (Fault::Crash, cause(&error)),
            },
            _ => (
                Fault::Nonsense,
                format!("the answer is invalid: {}", cause(error)),
            ),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;
    use trawl_sys::command::{Ended, Input, Launch};

    fn serves(owner: u32) -> Serves {
        Serves {
            memory_bytes: 1 << 20,
            owner,
            group: 7,
            mode: 0o100_600,
        }
    }

    /// Returns a program that gets ready, and serves nothing. Another process writes it: what another
    /// test starts meanwhile would have it open for writing, and nobody could run it.
    fn program() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("worker");
        let ready = std::str::from_utf8(READY).unwrap();
        let text = format!("#!/bin/sh\nprintf %s '{ready}' >&0\nexec sleep 1000\n");
        let write = "printf %s \"$1\" >\"$0\" && chmod 755 \"$0\"";
        let words = ["sh", "-c", write, path.to_str().unwrap(), text.as_str()];
        let words = words.map(OsString::from);
        let (words, dir, input) = (&words, None, Input::Nothing);
        let written = Launch { words, dir, input }.run();
        assert_eq!(written.unwrap(), Ended::Code(0));
        folder
    }

    /// A worker that a file has taken over could put what it has read of one user's files into what it
    /// answers about another's.
    #[test]
    fn a_worker_serves_files_of_one_owner_only() {
        let (folder, pool, never) = (program(), Pool::default(), AtomicBool::new(false));
        let program = folder.path().join("worker");
        let worker = |owner| Worker::start(&program, serves(owner), &never).unwrap();
        pool.put(worker(1));
        assert!(pool.take(serves(2)).is_none());
        let others = Serves {
            mode: 0o100_644,
            ..serves(1)
        };
        assert!(pool.take(others).is_none());
        assert!(pool.take(serves(1)).is_some());
        assert!(pool.take(serves(1)).is_none());
        // The one that served last is kept.
        for owner in 0..=IDLE_MAX as u32 {
            pool.put(worker(owner));
        }
        assert!(pool.take(serves(0)).is_none());
        assert!(pool.take(serves(IDLE_MAX as u32)).is_some());
    }
}
