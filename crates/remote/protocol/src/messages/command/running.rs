//! The process that answers a command line: started, read and ended.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use trawl_sys::command::{end_with_this_thread, kill_group, send_signal, watch_end};
use trawl_sys::pseudo_terminal;

use super::{CommandLine, TerminalSize, name_and_value};
use crate::messages::OutputStream;
use crate::server::Commands;

/// How long an interrupted command may take to clean up.
const FAREWELL: Duration = Duration::from_secs(2);
/// SIGINT, signal(7).
const INTERRUPT: i32 = 2;
/// `EIO`, errno(3): how the end of a pseudo-terminal is reported.
const TERMINAL_CLOSED: i32 = 5;
/// Added to the number of a signal to give an exit code, as in a shell.
const BY_SIGNAL: i32 = 128;

/// A command that was started. When it is dropped, the command ends.
pub(super) struct Running {
    child: Child,
    /// The streams that are still open.
    streams: Vec<(OutputStream, File)>,
}

/// The result of a read.
#[derive(Debug)]
pub(super) enum Came {
    /// Bytes of a stream.
    Bytes(OutputStream, usize),
    /// Nothing, in the time given.
    Nothing,
    /// Both streams are closed.
    End,
}

impl Running {
    /// Starts the command. `before` are words of the server before those of the command line.
    pub(super) fn start(
        commands: &Commands,
        before: &[Vec<u8>],
        line: &CommandLine,
    ) -> io::Result<Running> {
        let mut command = Command::new(&commands.program);
        command.args(&commands.words).env_clear();
        let words = before.iter().chain(&line.words);
        command.args(words.map(|word| OsStr::from_bytes(word)));
        command.envs(commands.variables.iter().map(|(name, value)| (name, value)));
        let named = line.variables.iter().filter_map(|one| name_and_value(one));
        command
            .envs(named.map(|(name, value)| (OsStr::from_bytes(name), OsStr::from_bytes(value))));
        command.current_dir(OsStr::from_bytes(&line.directory));
        let size = line.terminals.size;
        let (output, theirs) = stream(line.terminals.output.then_some(size))?;
        command.stdin(Stdio::null()).stdout(theirs);
        let (errors, theirs) = stream(line.terminals.errors.then_some(size))?;
        command.stderr(theirs);
        end_with_this_thread(&mut command);
        // The other ends are dropped with `command`, so that reading comes to an end.
        let child = command.spawn()?;
        drop(command);
        Ok(Running {
            child,
            streams: vec![
                (OutputStream::Output, output.into()),
                (OutputStream::Errors, errors.into()),
            ],
        })
    }

    /// Reads from the stream that has something, standard error first; waits up to `wait`.
    pub(super) fn read(&mut self, buffer: &mut [u8], wait: Duration) -> io::Result<Came> {
        let until = Instant::now() + wait;
        loop {
            if self.streams.is_empty() {
                return Ok(Came::End);
            }
            let left = until.saturating_duration_since(Instant::now());
            let Some(at) = self.ready(left)? else {
                return Ok(Came::Nothing);
            };
            let (stream, file) = &mut self.streams[at];
            match file.read(buffer) {
                Ok(0) => drop(self.streams.remove(at)),
                Ok(count) => return Ok(Came::Bytes(*stream, count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.raw_os_error() == Some(TERMINAL_CLOSED) => {
                    self.streams.remove(at);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the place of a stream that can be read or has ended.
    fn ready(&self, wait: Duration) -> io::Result<Option<usize>> {
        let polled = self
            .streams
            .iter()
            .map(|(_, file)| PollFd::new(file, PollFlags::IN));
        let mut polled: Vec<PollFd<'_>> = polled.collect();
        let wait = Timespec::try_from(wait).map_err(io::Error::other)?;
        match poll(&mut polled, Some(&wait)) {
            Ok(_) => Ok(polled.iter().rposition(|one| !one.revents().is_empty())),
            Err(rustix::io::Errno::INTR) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Waits for the end of the command, whose streams are closed, and returns its exit code.
    pub(super) fn wait(&mut self) -> io::Result<u32> {
        self.child.wait().map(code)
    }
}

impl Drop for Running {
    /// Interrupts the command, and kills it if it does not end soon.
    fn drop(&mut self) {
        let is_over = |child: &mut Child| !matches!(child.try_wait(), Ok(None));
        if is_over(&mut self.child) {
            return;
        }
        if let Ok(process) = watch_end(&self.child) {
            let _ = send_signal(&process, INTERRUPT);
        }
        self.streams.clear();
        let until = Instant::now() + FAREWELL;
        while Instant::now() < until {
            if is_over(&mut self.child) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        kill_group(&self.child);
        let _ = self.child.wait();
    }
}

/// Returns our end and the command's end of a stream.
fn stream(terminal: Option<TerminalSize>) -> io::Result<(OwnedFd, Stdio)> {
    match terminal {
        Some(size) => {
            let pair = pseudo_terminal::open(size.columns, size.rows)?;
            Ok((pair.ours, pair.theirs.into()))
        }
        None => {
            let (ours, theirs) = io::pipe()?;
            Ok((ours.into(), theirs.into()))
        }
    }
}

fn code(status: ExitStatus) -> u32 {
    let number = status.code().or_else(|| Some(BY_SIGNAL + status.signal()?));
    number
        .and_then(|number| u32::try_from(number).ok())
        .unwrap_or(2)
}
