//! Asks a server to answer a command line.
//!
//! A thread receives the answer while its reader writes, so that a reader who pauses does not keep
//! the server from sending: what may be under way is limited by credit instead.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use trawl_call::Cancel;
use trawl_model::mapped::Tree;
use trawl_model::operation::{Begun, Operation};

use super::{CommandLine, CommandRequest, MappedCommand, RankedCommand};
use crate::client::{Connection, Remote, Sender};
use crate::error::RemoteError;
use crate::messages::{
    Body, Code, Credit, End, Ending, Exited, Interrupt, Message, Open, OutputStream, Printed,
    encode,
};
use crate::wire::{ANSWER_MAX_BYTES, BadFrame};

/// How often a reader that waits is asked whether it still wants the answer.
const LOOK: Duration = Duration::from_millis(50);

/// A command line that a server answers. Dropping it ends the command there.
#[derive(Debug)]
pub struct Command {
    server: String,
    sender: Sender,
    id: u32,
    parts: Receiver<Result<Part, RemoteError>>,
    /// Number of bytes that may still come.
    allowed: Arc<AtomicU64>,
    credit: u32,
    /// Number of bytes taken since credit was last granted.
    taken: u32,
    cancel: Cancel,
    receiver: Option<JoinHandle<()>>,
    begun: Option<Begun>,
}

/// A part of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The command printed these bytes.
    Printed(OutputStream, Vec<u8>),
    /// The command ended with this exit code, and the answer is complete.
    Exited(u32),
}

impl Open for CommandRequest {
    type About = CommandLine;
    type Asker = Command;

    fn open(remote: &Remote, line: CommandLine) -> Result<Command, RemoteError> {
        let request = |credit| CommandRequest { credit, line };
        open(remote, request, "command lines")
    }
}

impl Open for MappedCommand {
    type About = (CommandLine, Vec<Tree>);
    type Asker = Command;

    fn open(
        remote: &Remote,
        (line, trees): (CommandLine, Vec<Tree>),
    ) -> Result<Command, RemoteError> {
        let request = |credit| MappedCommand {
            trees,
            request: CommandRequest { credit, line },
        };
        open(remote, request, "command lines with mapped paths")
    }
}

impl Open for RankedCommand {
    type About = (CommandLine, Vec<Tree>);
    type Asker = Command;

    fn open(
        remote: &Remote,
        (line, trees): (CommandLine, Vec<Tree>),
    ) -> Result<Command, RemoteError> {
        let request = |credit| {
            RankedCommand(MappedCommand {
                trees,
                request: CommandRequest { credit, line },
            })
        };
        open(remote, request, "rows in the order of several servers")
    }
}

/// Sends the request that is made for this much credit. `what` the server does not know if it refuses
/// the kind of request.
fn open<M: Body>(
    remote: &Remote,
    request: impl FnOnce(u32) -> M,
    what: &'static str,
) -> Result<Command, RemoteError> {
    let begun = Some(Operation::AskCommand.begin());
    let patience = remote.0.patience;
    // A connection of its own, so that a command that has begun is never asked again unnoticed.
    let mut connection = Connection::open(&remote.0.address, patience.silence)?;
    let credit = patience.credit;
    let id = connection.request(&request(credit))?;
    let (give, parts) = channel();
    let allowed = Arc::new(AtomicU64::new(credit.into()));
    let cancel = Cancel::default();
    let sender = connection.sender();
    let mut answer = Answer {
        server: remote.0.address.to_string(),
        connection,
        id,
        what,
        silence: patience.silence,
        bytes: 0,
        code: None,
        allowed: Arc::clone(&allowed),
        cancel: cancel.clone(),
    };
    let server = answer.server.clone();
    let work = move || {
        loop {
            let part = answer.next_part();
            let is_last = !matches!(part, Ok(Part::Printed(..)));
            if give.send(part).is_err() || is_last {
                return;
            }
        }
    };
    let thread = std::thread::Builder::new().name("answer".into());
    let receiver = thread.spawn(work).map_err(|source| RemoteError::Connect {
        server: server.clone(),
        source,
    })?;
    Ok(Command {
        server,
        sender,
        id,
        parts,
        allowed,
        credit,
        taken: 0,
        cancel,
        receiver: Some(receiver),
        begun,
    })
}

impl Remote {
    /// Asks the server to answer a command line, in one round trip.
    ///
    /// # Errors
    /// Fails if the server cannot be reached, or the command line is too long.
    pub fn command(&self, line: CommandLine) -> Result<Command, RemoteError> {
        CommandRequest::open(self, line)
    }

    /// Asks the server to answer a command line whose paths are this machine's: each tree of the
    /// server is at another place here.
    ///
    /// # Errors
    /// As [`Remote::command`].
    pub fn mapped_command(
        &self,
        line: CommandLine,
        trees: Vec<Tree>,
    ) -> Result<Command, RemoteError> {
        MappedCommand::open(self, (line, trees))
    }

    /// Asks the server to answer a command line in [`crate::rows`], which the caller merges with
    /// those of other servers. Each of the trees is at another place here; there may be none.
    ///
    /// # Errors
    /// As [`Remote::command`].
    pub fn ranked_command(
        &self,
        line: CommandLine,
        trees: Vec<Tree>,
    ) -> Result<Command, RemoteError> {
        RankedCommand::open(self, (line, trees))
    }
}

impl Command {
    /// Returns the next part of the answer; the last one is [`Part::Exited`]. `is_wanted` is called
    /// repeatedly while nothing arrives; when it returns false, the command is interrupted.
    ///
    /// # Errors
    /// Fails if the answer is incomplete, the server does not answer command lines, or nobody wants
    /// the answer any more.
    pub fn next_part(&mut self, is_wanted: &dyn Fn() -> bool) -> Result<Part, RemoteError> {
        loop {
            if !is_wanted() {
                self.end();
                return Err(self.cancelled());
            }
            match self.parts.recv_timeout(LOOK) {
                Ok(Ok(Part::Printed(stream, bytes))) => {
                    self.allow_more(bytes.len());
                    return Ok(Part::Printed(stream, bytes));
                }
                Ok(last) => {
                    if last.is_ok()
                        && let Some(begun) = self.begun.take()
                    {
                        begun.end();
                    }
                    return last;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.cancelled()),
            }
        }
    }

    fn cancelled(&self) -> RemoteError {
        let server = self.server.clone();
        RemoteError::Cancelled { server }
    }

    /// Grants more credit once half of the bytes in flight have been taken.
    fn allow_more(&mut self, bytes: usize) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.taken = self.taken.saturating_add(bytes);
        if self.taken >= self.credit / 2 {
            let more = std::mem::take(&mut self.taken);
            self.allowed.fetch_add(more.into(), Ordering::Relaxed);
            // If this cannot be sent, receiving the next message fails, too.
            let _ = self.sender.send(&encode(&Credit(more), self.id));
        }
    }

    /// Ends the command, and waits for the thread that receives the answer.
    fn end(&mut self) {
        if let Some(receiver) = self.receiver.take() {
            if !receiver.is_finished() {
                self.cancel.cancel();
                let _ = self.sender.send(&encode(&Interrupt, self.id));
            }
            let _ = receiver.join();
        }
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        self.end();
    }
}

/// The receiving side.
struct Answer {
    server: String,
    connection: Connection,
    id: u32,
    /// What a server lacks that refuses the kind of request.
    what: &'static str,
    silence: Duration,
    /// Number of bytes received, to be compared with what the server says that it sent.
    bytes: u64,
    code: Option<u32>,
    /// Number of bytes that may still come.
    allowed: Arc<AtomicU64>,
    cancel: Cancel,
}

impl Answer {
    fn next_part(&mut self) -> Result<Part, RemoteError> {
        loop {
            match self.message()? {
                Message::Printed(Printed { stream, bytes }) if self.code.is_none() => {
                    self.count(bytes.len())?;
                    return Ok(Part::Printed(stream, bytes));
                }
                Message::Exited(Exited(code)) if self.code.is_none() => self.code = Some(code),
                Message::End(End {
                    records,
                    ending: Ending::Whole,
                }) if records == self.bytes
                    && let Some(code) = self.code =>
                {
                    return Ok(Part::Exited(code));
                }
                _ => return Err(self.connection.nonsense(BadFrame::Field("end"))),
            }
        }
    }

    /// Counts bytes that came. A server that ignores credit by more than a frame is left, so that it
    /// cannot fill the memory of a reader who pauses.
    fn count(&mut self, count: usize) -> Result<(), RemoteError> {
        let count = count as u64;
        self.bytes += count;
        let left = self.allowed.load(Ordering::Relaxed) + ANSWER_MAX_BYTES as u64;
        match self.bytes > left {
            true => Err(self.connection.nonsense(BadFrame::Field("credit"))),
            false => Ok(()),
        }
    }

    fn message(&mut self) -> Result<Message, RemoteError> {
        let server = &self.server;
        let cancel = &self.cancel;
        let mut look = || match cancel.is_cancelled() {
            false => Ok(()),
            true => Err(RemoteError::Cancelled {
                server: server.clone(),
            }),
        };
        let message = self.connection.answer(self.id, self.silence, &mut look);
        message.map_err(|error| match error {
            RemoteError::Refused {
                code: Code::Unsupported,
                ..
            } => RemoteError::Lacks {
                server: server.clone(),
                what: self.what,
            },
            other => other,
        })
    }
}
