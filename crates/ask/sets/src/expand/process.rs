//! Programs whose output is names: commands of executable specifications, and engines that are
//! programs.
//!
//! A program runs in a process group of its own, with `/dev/null` as its standard input. Its group
//! is killed when the stream is dropped or cancelled before the end of its output.

use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use trawl_call::request::Cancel;
use trawl_sys::child::SignalMask;
use trawl_sys::signal::without_signals;

/// How the names in the output of a command are separated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Records {
    /// By NUL bytes if a NUL byte comes before the first newline, otherwise by newlines.
    #[default]
    Either,
    /// By newlines.
    Lines,
    /// By NUL bytes.
    Nul,
}

/// Time after which a waiting reader looks at the switch that cancels it.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Maximum length of a name in an output.
const NAME_MAX_BYTES: usize = 1 << 20;
/// Maximum length of the message that is kept.
const MESSAGE_MAX_BYTES: usize = 1000;

/// A running program.
pub struct Process {
    child: Child,
    chunks: Receiver<io::Result<Vec<u8>>>,
    message: Receiver<Vec<u8>>,
    buffer: Vec<u8>,
    /// Number of bytes of `buffer` that were returned already.
    at: usize,
    mark: Option<u8>,
    has_output: bool,
    is_over: bool,
}

impl Process {
    /// Starts a command that blocks the signals of `mask`: the thread that expands a set blocks
    /// all signals.
    ///
    /// # Errors
    /// Fails if the command or a thread cannot be started.
    pub fn start(mut command: Command, records: Records, mask: SignalMask) -> io::Result<Process> {
        mask.leave_to(&mut command);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut child = command.spawn()?;
        let (chunk, chunks) = sync_channel(4);
        let (said, message) = sync_channel(1);
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let process = Process {
            child,
            chunks,
            message,
            buffer: Vec::new(),
            at: 0,
            mark: match records {
                Records::Either => None,
                Records::Lines => Some(b'\n'),
                Records::Nul => Some(0),
            },
            has_output: true,
            is_over: false,
        };
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        if let (Some(out), Some(err)) = (out, err) {
            without_signals(|| -> io::Result<()> {
                thread("set-names").spawn(move || send_chunks(out, &chunk))?;
                thread("set-message").spawn(move || send_message(err, &said))?;
                Ok(())
            })?;
        }
        Ok(process)
    }

    /// Returns the next name; `None` at the end of a program that succeeded, or after a cancel. The
    /// failure of a program comes last.
    pub fn next_name(&mut self, cancel: &Cancel) -> Option<io::Result<Vec<u8>>> {
        while !self.is_over {
            if cancel.is_cancelled() {
                self.kill();
                return None;
            }
            match self.take_name() {
                Some(name) if name.is_empty() => {}
                Some(name) => return Some(Ok(name)),
                None if !self.has_output => return self.finish(cancel),
                None if self.buffer.len() - self.at > NAME_MAX_BYTES => {
                    self.kill();
                    let why = "a name in its output is longer than a mebibyte";
                    return Some(Err(io::Error::new(io::ErrorKind::InvalidData, why)));
                }
                None => match self.chunks.recv_timeout(LOOK_AGAIN) {
                    Ok(Ok(chunk)) => {
                        self.buffer.drain(..self.at);
                        self.at = 0;
                        self.buffer.extend_from_slice(&chunk);
                    }
                    Ok(Err(error)) => {
                        self.kill();
                        return Some(Err(error));
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => self.has_output = false,
                },
            }
        }
        None
    }

    fn take_name(&mut self) -> Option<Vec<u8>> {
        let rest = &self.buffer[self.at..];
        if self.mark.is_none() {
            self.mark = rest.iter().copied().find(|byte| matches!(byte, 0 | b'\n'));
        }
        let mark = self.mark;
        match rest.iter().position(|byte| Some(*byte) == mark) {
            Some(end) => {
                let name = rest[..end].to_vec();
                self.at += end + 1;
                Some(name)
            }
            None if self.has_output || rest.is_empty() => None,
            None => {
                let name = rest.to_vec();
                self.at = self.buffer.len();
                Some(name)
            }
        }
    }

    /// Waits for the program, whose output has ended.
    fn finish(&mut self, cancel: &Cancel) -> Option<io::Result<Vec<u8>>> {
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if cancel.is_cancelled() => {
                    self.kill();
                    return None;
                }
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Err(error) => {
                    self.is_over = true;
                    return Some(Err(error));
                }
            }
        };
        self.is_over = true;
        if status.success() {
            return None;
        }
        // A process that outlives the command may keep its standard error open.
        let message = self.message.recv_timeout(50 * LOOK_AGAIN);
        Some(Err(failure(status, &message.unwrap_or_default())))
    }

    fn kill(&mut self) {
        if !self.is_over {
            self.is_over = true;
            trawl_sys::command::kill_group(&self.child);
            let _ = self.child.wait();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

fn failure(status: ExitStatus, message: &[u8]) -> io::Error {
    let ended = match (status.code(), status.signal()) {
        (Some(code), _) => format!("it exited with status {code}"),
        (None, Some(signal)) => format!("it was ended by signal {signal}"),
        (None, None) => "it failed".to_owned(),
    };
    let message = String::from_utf8_lossy(message);
    io::Error::other(match message.trim_end() {
        "" => ended,
        message => format!("{ended}: {message}"),
    })
}

fn send_chunks(mut output: impl Read, chunks: &SyncSender<io::Result<Vec<u8>>>) {
    let mut buffer = vec![0; 32 << 10];
    loop {
        let chunk = match output.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => Ok(buffer[..length].to_vec()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_last = chunk.is_err();
        if chunks.send(chunk).is_err() || is_last {
            return;
        }
    }
}

/// Reads messages to their end, so that the program never waits, and keeps the first line.
fn send_message(mut output: impl Read, said: &SyncSender<Vec<u8>>) {
    let (mut line, mut is_whole) = (Vec::new(), false);
    let mut buffer = [0; 4096];
    while let Ok(length) = output.read(&mut buffer) {
        if length == 0 {
            break;
        }
        if is_whole {
            continue;
        }
        line.extend_from_slice(&buffer[..length]);
        let end = line.iter().position(|byte| *byte == b'\n');
        is_whole = end.is_some() || line.len() > MESSAGE_MAX_BYTES;
        line.truncate(end.unwrap_or(MESSAGE_MAX_BYTES));
    }
    let _ = said.send(line);
}
