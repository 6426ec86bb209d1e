//! Answers a command line.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::running::{Came, Running};
use super::{CommandLine, CommandRequest, MappedCommand, RankedCommand};
use crate::exports::Exports;
use crate::messages::read::of_file;
use crate::messages::{Code, End, Exited, Printed, Refusal, Serve};
use crate::server::{BLOCK_BYTES, Commands, Job, Leave};

/// How often a command that prints nothing is checked for whether it is still wanted.
const LOOK: Duration = Duration::from_millis(50);

/// Maximum number of command lines that a process, and so a user at a listening server, answers at the
/// same time. Each of them is a process.
const COMMANDS_MAX: usize = 32;

/// A place for a command line, until it is dropped.
struct Place;

static TAKEN: AtomicUsize = AtomicUsize::new(0);

impl Place {
    fn take() -> Option<Place> {
        let before = TAKEN.fetch_add(1, Ordering::Relaxed);
        let place = Place;
        (before < COMMANDS_MAX).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        TAKEN.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Serve for CommandRequest {
    fn credit(&self) -> u32 {
        self.credit
    }

    fn serve(self: Box<Self>, job: &Job<'_>) -> Result<End, Refusal> {
        answer(job, &self.line, self.line.fault(), |commands| {
            Running::start(commands, &[], &self.line)
        })
    }
}

impl Serve for MappedCommand {
    fn credit(&self) -> u32 {
        self.request.credit
    }

    fn serve(self: Box<Self>, job: &Job<'_>) -> Result<End, Refusal> {
        let line = self.placed();
        answer(job, &line, self.fault(), |commands| {
            Running::start(commands, &self.words(), &line)
        })
    }
}

impl MappedCommand {
    /// Returns the command line for a program that itself goes to the working directory that the
    /// client's stands for.
    fn placed(&self) -> CommandLine {
        CommandLine {
            directory: b"/".to_vec(),
            ..self.request.line.clone()
        }
    }
}

impl Serve for RankedCommand {
    fn credit(&self) -> u32 {
        self.0.request.credit
    }

    fn serve(self: Box<Self>, job: &Job<'_>) -> Result<End, Refusal> {
        let line = match self.is_mapped() {
            true => self.0.placed(),
            false => self.0.request.line.clone(),
        };
        answer(job, &line, self.fault(), |commands| {
            Running::start(commands, &self.words(), &line)
        })
    }
}

/// Answers a command line, unless something is wrong with it.
fn answer(
    job: &Job<'_>,
    line: &CommandLine,
    fault: Option<String>,
    start: impl FnOnce(&Commands) -> io::Result<Running>,
) -> Result<End, Refusal> {
    let Some(commands) = &job.serving.commands else {
        let text = "this server answers searches, but no command lines";
        return Err(Refusal::bad(text));
    };
    if !matches!(job.exports(), Exports::Everything) {
        let text = "this server shows exported trees only, and answers no command lines about them: \
                    use trawl search --remote, or trawl mount";
        return Err(Refusal::bad(text));
    }
    if let Some(fault) = fault {
        return Err(Refusal::bad(&fault));
    }
    let _place = Place::take().ok_or_else(|| {
        let text = format!("{COMMANDS_MAX} command lines are being answered: ask again later");
        Refusal::new(Code::Busy, 0, &text)
    })?;
    let mut running = start(commands).map_err(|error| {
        let place = line.directory.escape_ascii();
        let program = commands.program.display();
        let text = format!("cannot run {program} in the working directory {place}: {error}");
        Refusal::new(Code::System, error.raw_os_error().unwrap_or(0), &text)
    })?;
    let sent = send_output(&mut running, job)?;
    job.say(&Exited(running.wait().map_err(of_file)?));
    Ok(End::whole(sent))
}

/// Sends everything that the command prints; returns the number of bytes.
fn send_output(running: &mut Running, job: &Job<'_>) -> Result<u64, Refusal> {
    let mut buffer = vec![0; BLOCK_BYTES];
    let mut sent = 0;
    loop {
        if job.is_over() {
            return Err(of_file(io::ErrorKind::Interrupted.into()));
        }
        match running.read(&mut buffer, LOOK).map_err(of_file)? {
            Came::End => return Ok(sent),
            Came::Nothing => {}
            Came::Bytes(stream, count) => {
                wait_for_leave(job, count)?;
                let bytes = buffer[..count].to_vec();
                job.say(&Printed { stream, bytes });
                sent += count as u64;
            }
        }
    }
}

/// Waits until the client has room. Its reader may be a person who reads page by page, so only the
/// end of the connection ends the wait.
fn wait_for_leave(job: &Job<'_>, bytes: usize) -> Result<(), Refusal> {
    loop {
        match job.leave(bytes) {
            Leave::Granted => return Ok(()),
            Leave::Late if !job.is_over() => {}
            _ => {
                return Err(Refusal::new(
                    Code::Interrupted,
                    0,
                    "the command was interrupted",
                ));
            }
        }
    }
}
