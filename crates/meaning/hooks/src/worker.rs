//! Workers: processes of the program `trawl-hook` that run built-in hooks, and a pool of them.
//!
//! A worker serves many files, one after the other. Whatever goes wrong with one, the worker is
//! killed, the problem belongs to the file at hand, and the next file gets another worker.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
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
    memory_bytes: u64,
    served: u32,
}

/// Idle workers.
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
        let memory = request.limits.memory_bytes;
        let idle = self.take(memory);
        let mut worker = match idle {
            Some(worker) => worker,
            None => {
                Worker::start(program, memory, cancel).map_err(|why| (Fault::Unavailable, why))?
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

    fn take(&self, memory_bytes: u64) -> Option<Worker> {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = idle
            .iter()
            .rposition(|one| one.memory_bytes == memory_bytes)?;
        Some(idle.swap_remove(at))
    }

    fn put(&self, worker: Worker) {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if worker.served < FILES_PER_WORKER && idle.len() < IDLE_MAX {
            idle.push(worker);
        }
    }
}

impl Worker {
    fn start(program: &Path, memory_bytes: u64, cancel: &AtomicBool) -> Result<Worker, String> {
        let failed =
            |error: &io::Error| format!("cannot run {}: {}", program.display(), cause(error));
        let (ours, theirs) = UnixStream::pair().map_err(|error| failed(&error))?;
        let mut command = Command::new(program);
        keep_only_standard_streams(&mut command);
        let child = command
            .env_clear()
            .env(MEMORY, memory_bytes.to_string())
            .current_dir("/")
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| failed(&error))?;
        let mut worker = Worker {
            child,
            socket: ours,
            memory_bytes,
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
