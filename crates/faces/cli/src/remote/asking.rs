//! Sends a command line to servers, to all at once, and prints their answers: merged if their rows
//! have an order ([`super::merging`]), else in the order of the servers.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use trawl_answers::expression::Expression;
use trawl_remote::client::{Command, CommandLine, OutputStream, Part, TerminalSize, Terminals};
use trawl_remote::client::{VARIABLES, is_variable};
use trawl_remote::{Remote, RemoteError};
use trawl_sys::process::{terminal_columns, terminal_rows};

use super::servers::Server;
use super::{merging, questions};
use crate::arguments::{Arguments, without_remote};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::live;
use crate::output::say;
use crate::{Command as Asked, export};

/// Asks each server, and returns how the whole ended. A server that fails is named; the answers of
/// the others are printed.
pub(super) fn ask(
    servers: &[Server],
    arguments: &Arguments,
    words: &[OsString],
) -> Result<Exit, Failure> {
    if let Some(why) = questions::why_not_from_here(arguments) {
        return Err(Failure::Usage(why));
    }
    let is_joined = servers.len() > 1;
    if let Some(why) = is_joined
        .then(|| merging::why_not_joined(arguments))
        .flatten()
    {
        return Err(Failure::Usage(why));
    }
    let all = Expression::default();
    let merged = match is_joined {
        true => merging::of(arguments, &all)?,
        false => None,
    };
    live::outlive_signals().map_err(|why| Failure::Usage(why.to_string()))?;
    let line = command_line(words)?;
    let export = match &arguments.command {
        Asked::Export(args) => Some(args),
        _ => None,
    };
    let form = match merged.is_some() || export.is_some() {
        true => Form::Rows,
        false => Form::Text,
    };
    let begun = servers.iter().map(|server| begin(server, &line, form));
    let begun: Vec<_> = begun.collect();
    match (merged, export) {
        (Some(merged), _) => merging::print(begun, merged),
        (None, Some(args)) => print_in_turn(begun, |server, command| {
            export::receive(server, command, args, print_errors)
        }),
        (None, None) => print_in_turn(begun, |_, command| print_answer(command)),
    }
}

/// Prints the answers one after the other: `print` returns the exit code there.
fn print_in_turn(
    begun: Vec<Result<Begun, Failure>>,
    print: impl Fn(&str, Command) -> Result<u8, Failure>,
) -> Result<Exit, Failure> {
    let is_only = begun.len() == 1;
    let mut exit = Exit::Complete;
    for begun in begun {
        let answered = begun.and_then(|begun| {
            let server = begun.server().to_owned();
            print(&server, begun.command()?)
        });
        match answered {
            Ok(code) => exit = worse(exit, Exit::Command(code)),
            Err(Failure::Remote(RemoteError::Cancelled { .. })) => return Ok(Exit::Interrupted),
            Err(failure @ Failure::Remote(_)) if !is_only => {
                say(&failure);
                exit = worse(exit, Exit::Command(Exit::Issues.code()));
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(exit)
}

/// Returns the end with the higher exit code.
pub(super) fn worse(one: Exit, other: Exit) -> Exit {
    match other.code() > one.code() {
        true => other,
        false => one,
    }
}

/// What a server is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// What the command prints.
    Text,
    /// Rows that are merged with those of other servers.
    Rows,
}

/// A question on its way to a server.
pub(super) struct Begun {
    server: String,
    /// The command, once the server has been asked.
    command: Receiver<Result<Command, RemoteError>>,
}

/// Asks a server on a thread of its own, so that nobody waits for a connection to another.
fn begin(server: &Server, line: &CommandLine, form: Form) -> Result<Begun, Failure> {
    let (give, command) = channel();
    let (remote, line) = (Remote::new(server.address.clone()), line.clone());
    let trees = server.trees.clone();
    let server = server.address.to_string();
    // Nobody takes the command if the question was interrupted; dropping it ends it.
    let work = move || {
        drop(give.send(match form {
            Form::Rows => remote.ranked_command(line, trees),
            Form::Text if trees.is_empty() => remote.command(line),
            Form::Text => remote.mapped_command(line, trees),
        }));
    };
    let thread = std::thread::Builder::new().name("ask".into()).spawn(work);
    match thread {
        Ok(_) => Ok(Begun { server, command }),
        Err(source) => Err(RemoteError::Connect { server, source }.into()),
    }
}

impl Begun {
    /// Returns the address of the server.
    pub(super) fn server(&self) -> &str {
        &self.server
    }

    /// Waits until the server has been asked, or for an interrupt.
    pub(super) fn command(self) -> Result<Command, RemoteError> {
        loop {
            match self.command.recv_timeout(LOOK) {
                Ok(command) => return command,
                Err(RecvTimeoutError::Timeout) if !live::is_interrupted() => {}
                Err(_) => {
                    return Err(RemoteError::Cancelled {
                        server: self.server,
                    });
                }
            }
        }
    }
}

/// Prints the answer of a server, and returns the exit code there.
fn print_answer(mut command: Command) -> Result<u8, Failure> {
    let mut output = standard_output()?;
    loop {
        match command.next_part(&|| !live::is_interrupted())? {
            Part::Printed(OutputStream::Output, bytes) => {
                write_all(&mut output, &bytes).map_err(Failure::Write)?;
            }
            Part::Printed(OutputStream::Errors, bytes) => print_errors(&bytes),
            Part::Exited(code) => return Ok(u8::try_from(code).unwrap_or(Exit::Fatal.code())),
        }
    }
}

/// Returns standard output without a buffer.
pub(super) fn standard_output() -> Result<File, Failure> {
    let output = io::stdout().as_fd().try_clone_to_owned();
    Ok(File::from(output.map_err(Failure::Write)?))
}

/// Prints messages of a server. As with messages of this process, a failure to print them ends
/// nothing.
pub(super) fn print_errors(bytes: &[u8]) {
    let _ = io::stderr().lock().write_all(bytes);
}

/// Number of bytes that a pipe takes at once when it has room, pipe(7).
const PIPE_BYTES: usize = 4096;
/// How often somebody who waits for a server or a reader checks for interrupts: another thread may
/// have received the signal.
const LOOK: Duration = Duration::from_millis(50);

/// Writes all bytes, unless an interrupt comes while a reader pauses. The next part is not asked for
/// then.
pub(super) fn write_all(output: &mut File, bytes: &[u8]) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() && !live::is_interrupted() {
        if !trawl_sys::process::has_room(&*output, LOOK)? {
            continue;
        }
        match output.write(&rest[..rest.len().min(PIPE_BYTES)]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => rest = rest.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns the command line as it is sent, with what the answer depends on besides its words.
fn command_line(words: &[OsString]) -> Result<CommandLine, Failure> {
    let directory = std::env::current_dir().map_err(Failure::NoWorkingDirectory)?;
    let set = VARIABLES.iter().filter_map(|name| {
        let value = std::env::var_os(name)?;
        let variable = [name.as_bytes(), b"=", value.as_bytes()].concat();
        is_variable(&variable).then_some(variable)
    });
    Ok(CommandLine {
        words: without_remote(words)
            .into_iter()
            .map(OsString::into_vec)
            .collect(),
        directory: directory.into_os_string().into_vec(),
        variables: set.collect(),
        terminals: Terminals {
            output: io::stdout().is_terminal(),
            errors: io::stderr().is_terminal(),
            size: TerminalSize {
                columns: terminal_columns(io::stdout())
                    .or_else(|| terminal_columns(io::stderr()))
                    .unwrap_or(0),
                rows: terminal_rows(io::stdout())
                    .or_else(|| terminal_rows(io::stderr()))
                    .unwrap_or(0),
            },
        },
    })
}
