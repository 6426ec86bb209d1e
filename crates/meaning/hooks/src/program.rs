//! Runs a user's hook on a file: one process, with the file as standard input, in a sandbox. A
//! WebAssembly module is run by [`crate::PROGRAM`], which restricts itself when it has compiled it.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use trawl_sys::restricted::{Bounds, Lifetime, Restriction, Role, keep_only_standard_streams};
use trawl_sys::wait::readable;
use trawl_text::words::cause;

use crate::found::{Extracted, Fault, Findings};
use crate::limits::Limits;
use crate::lines;
use crate::manifest::UserHook;
use crate::until::Until;

/// Where programs and libraries are, which every hook may read and execute.
pub const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc/ld.so.cache",
    "/dev/null",
    "/dev/zero",
    "/dev/urandom",
];

/// What a program that needs no others has in its environment.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ("LC_ALL", "C.UTF-8"),
    ("TZ", "UTC0"),
    ("HOME", "/"),
    // Python writes no compiled modules, and does not look for a user's packages.
    ("PYTHONDONTWRITEBYTECODE", "1"),
    ("PYTHONNOUSERSITE", "1"),
];

/// Descriptors of a hook.
const DESCRIPTORS: u64 = 64;
/// Maximum number of bytes that are kept of standard error.
const ERRORS_BYTES_MAX: usize = 4096;
/// Maximum number of bytes that are read from standard output.
const OUTPUT_BYTES_MAX: usize = 32 << 20;
/// Time between two looks at a program that has closed its output, but not ended.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Why a hook did not answer that was ended because this process ends.
pub(crate) const ENDED: &str = "it was ended, because trawl was told to end";

/// What a program wrote, and how it ended.
struct Ran {
    output: Vec<u8>,
    errors: Vec<u8>,
    end: End,
}

enum End {
    Exited(ExitStatus),
    TooLong,
    TooMuch,
    Told,
}

/// Runs a hook; a module by `runner`.
pub(crate) fn run(
    hook: &UserHook,
    runner: &Path,
    file: &File,
    general: &Limits,
    cancel: &AtomicBool,
) -> Extracted {
    let limits = hook.limits(general);
    let mut findings = Findings::new(&hook.name, &limits);
    let started = match hook.is_module {
        true => start_module(hook, runner, file, &limits),
        false => start(hook, file, &limits),
    };
    match started.and_then(|child| attend(child, &limits, cancel)) {
        Ok(ran) => {
            let complaint = complaint(&ran, &limits);
            let end = ran.output.iter().rposition(|byte| *byte == b'\n');
            // The last line of a program that was ended may be a part.
            let whole = match complaint {
                Some(_) => &ran.output[..end.unwrap_or(0)],
                None => &ran.output[..],
            };
            lines::read(whole, &mut findings);
            if let Some((fault, message)) = complaint {
                findings.problem(fault, &message);
            }
        }
        Err(error) => {
            let why = format!("cannot run {}: {}", hook.program.display(), cause(&error));
            findings.problem(Fault::Unavailable, &why);
        }
    }
    findings.finish()
}

fn output_bytes_max(limits: &Limits) -> usize {
    limits.answer_bytes().min(OUTPUT_BYTES_MAX)
}

fn start(hook: &UserHook, file: &File, limits: &Limits) -> io::Result<Child> {
    let mut readable: Vec<&Path> = SYSTEM.iter().map(Path::new).collect();
    readable.push(&hook.program);
    readable.extend(hook.reads.iter().map(|path| path.as_path()));
    let bounds = Bounds {
        cpu_secs: limits.cpu_secs,
        memory_bytes: limits.memory_bytes,
        descriptors: DESCRIPTORS,
    };
    // This thread waits for the program, so that it ends with the thread.
    let restriction = Restriction::new(Role::Program, &readable, bounds, Lifetime::OfParent)?;
    let mut command = Command::new(&hook.program);
    command.args(&hook.arguments);
    restriction.apply_to(&mut command);
    spawn(command, file)
}

fn start_module(hook: &UserHook, runner: &Path, file: &File, limits: &Limits) -> io::Result<Child> {
    let numbers = [limits.cpu_secs, limits.memory_bytes].map(|number| number.to_string());
    let mut command = Command::new(runner);
    command
        .arg(&hook.program)
        .args(numbers)
        .args(&hook.arguments);
    keep_only_standard_streams(&mut command);
    spawn(command, file)
}

fn spawn(mut command: Command, mut file: &File) -> io::Result<Child> {
    file.rewind()?;
    command
        .env_clear()
        .envs(ENVIRONMENT.iter().copied())
        .current_dir("/")
        .stdin(file.try_clone()?)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn()
}

/// Reads what a program writes until it ends, or exceeds a limit and is killed.
fn attend(mut child: Child, limits: &Limits, cancel: &AtomicBool) -> io::Result<Ran> {
    let until = Until::new(limits.wall(), cancel);
    let mut ran = Ran {
        output: Vec::new(),
        errors: Vec::new(),
        end: End::TooLong,
    };
    let listened = listen(&mut child, &mut ran, until, output_bytes_max(limits));
    let status = match (listened, &ran.end) {
        (Ok(true), _) => wait_until(&mut child, until),
        (Ok(false), _) => Ok(None),
        (Err(error), _) => Err(error),
    };
    if !matches!(status, Ok(Some(_))) {
        // It may have ended meanwhile.
        let _ = child.kill();
        let _ = child.wait();
    }
    match status? {
        Some(status) => ran.end = End::Exited(status),
        None if until.is_cancelled() => ran.end = End::Told,
        None => {}
    }
    Ok(ran)
}

/// Reads until both streams end. Returns false if a limit was exceeded, which `ran` then says.
fn listen(
    child: &mut Child,
    ran: &mut Ran,
    until: Until<'_>,
    output_bytes_max: usize,
) -> io::Result<bool> {
    let (Some(mut output), Some(mut errors)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    let mut is_open = [true, true];
    let mut piece = vec![0; 64 << 10];
    while is_open != [false, false] {
        let Some(left) = until.left() else {
            ran.end = End::TooLong;
            return Ok(false);
        };
        let ready = match is_open {
            [true, true] => readable([output.as_fd(), errors.as_fd()], Some(left))?,
            [true, false] => [readable([output.as_fd()], Some(left))?[0], false],
            _ => [false, readable([errors.as_fd()], Some(left))?[0]],
        };
        if ready[0] {
            let read = output.read(&mut piece)?;
            is_open[0] = read > 0;
            if ran.output.len() + read > output_bytes_max {
                ran.end = End::TooMuch;
                return Ok(false);
            }
            ran.output.extend_from_slice(&piece[..read]);
        }
        if ready[1] {
            let read = errors.read(&mut piece)?;
            is_open[1] = read > 0;
            ran.errors.extend_from_slice(&piece[..read]);
            // The last words say why it ended.
            let excess = ran.errors.len().saturating_sub(ERRORS_BYTES_MAX);
            ran.errors.drain(..excess);
        }
    }
    Ok(true)
}

/// Waits for the end of a program that has closed its output.
fn wait_until(child: &mut Child, until: Until<'_>) -> io::Result<Option<ExitStatus>> {
    loop {
        match child.try_wait()? {
            Some(status) => return Ok(Some(status)),
            None if until.left().is_none() => return Ok(None),
            None => std::thread::sleep(LOOK_EVERY),
        }
    }
}

/// Returns the problem that a program's end is.
fn complaint(ran: &Ran, limits: &Limits) -> Option<(Fault, String)> {
    match &ran.end {
        End::Exited(status) if status.success() => None,
        End::Exited(status) => Some(ended(*status, limits, &ran.errors)),
        End::TooLong => {
            let secs = limits.wall().as_secs_f64();
            Some((
                Fault::Timeout,
                format!("it had not ended after {secs} s and was killed"),
            ))
        }
        End::Told => Some((Fault::Unavailable, ENDED.to_owned())),
        End::TooMuch => {
            let message = format!(
                "it wrote more than {} bytes and was killed",
                output_bytes_max(limits)
            );
            Some((Fault::Limit, message))
        }
    }
}

/// Describes the end of a process that did not end well.
pub(crate) fn ended(status: ExitStatus, limits: &Limits, errors: &[u8]) -> (Fault, String) {
    /// The kernel's signal at the limit on processor time.
    const SIGXCPU: i32 = 24;
    let errors = String::from_utf8_lossy(errors);
    let last = errors.lines().rev().find(|line| !line.trim().is_empty());
    let last = last.map_or_else(String::new, |line| format!(": {}", line.trim()));
    match (status.code(), status.signal()) {
        (_, Some(SIGXCPU)) => {
            let message = format!("it used more than {} s of processor time", limits.cpu_secs);
            (Fault::Timeout, message)
        }
        (_, Some(signal)) => (Fault::Crash, format!("signal {signal} ended it{last}")),
        (code, None) => {
            let code = code.unwrap_or_default();
            (
                Fault::Crash,
                format!("it ended with exit code {code}{last}"),
            )
        }
    }
}
