//! Starts the process of the asking user that answers a question, and reads its answer.
//!
//! The process is in its own hands: whatever it writes is its own user's answer, shown to this user
//! alone. It is killed when nobody reads its answer any more.

use std::io::{self, BufRead, BufReader};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use trawl_sys::become_user::User;
use trawl_sys::command::spawn_as;

use crate::asker::{ANSWERING, is_killed};
use crate::crowd::Permit;
use crate::wire::{Asked, RECORD_BYTES_MAX, Record, record};

/// How often a waiting request looks whether its process was killed.
const LOOK: Duration = Duration::from_millis(200);

/// Why there is no next record.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The process that waits was killed.
    Interrupted,
    /// The answer was cut short.
    Cut,
}

/// A process that answers a question.
#[derive(Debug)]
pub(crate) struct Worker {
    child: Child,
    stream: BufReader<UnixStream>,
    partial: Vec<u8>,
    _permit: Permit,
}

impl Worker {
    /// Starts the process and asks it.
    pub(crate) fn start(
        program: &Path,
        user: &User,
        asked: &Asked,
        permit: Permit,
    ) -> io::Result<Worker> {
        let (mut ours, theirs) = UnixStream::pair()?;
        let words = ANSWERING.map(Into::into);
        let child = spawn_as(user, program, &words, theirs.into())?;
        ours.set_read_timeout(Some(LOOK))?;
        let worker = Worker {
            child,
            stream: BufReader::new(ours.try_clone()?),
            partial: Vec::new(),
            _permit: permit,
        };
        asked.write(&mut ours)?;
        ours.shutdown(Shutdown::Write)?;
        Ok(worker)
    }

    /// Waits for the next record, for a request of this thread.
    pub(crate) fn next(&mut self, thread: u32) -> Result<Record, Trouble> {
        loop {
            match self.read() {
                Ok(true) => break,
                Ok(false) => return Err(Trouble::Cut),
                Err(error) if is_pause(&error) => {
                    if is_killed(thread) {
                        return Err(Trouble::Interrupted);
                    }
                }
                Err(_) => return Err(Trouble::Cut),
            }
        }
        let mut bytes = std::mem::take(&mut self.partial);
        bytes.pop();
        record(bytes).ok_or(Trouble::Cut)
    }

    /// Reads on in a record. Returns true at its end, and false at the end of the stream.
    fn read(&mut self) -> io::Result<bool> {
        loop {
            let ready = self.stream.fill_buf()?;
            if ready.is_empty() || self.partial.len() > RECORD_BYTES_MAX {
                return Ok(false);
            }
            let end = ready.iter().position(|byte| *byte == 0);
            let length = end.map_or(ready.len(), |at| at + 1);
            self.partial.extend_from_slice(&ready[..length]);
            self.stream.consume(length);
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    /// Returns true if the next record is there already.
    pub(crate) fn has_next(&self) -> bool {
        self.stream.buffer().contains(&0)
    }
}

fn is_pause(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
