//! The loop of a worker: it gives up its rights, and then serves one request after the other.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use trawl_hooks::builtin::Builtin;
use trawl_hooks::format::FORMATS;
use trawl_hooks::found::{Extracted, Fault, Findings};
use trawl_hooks::wire::{MEMORY, READY, REQUEST_BYTES_MAX, Request, answer};
use trawl_sys::message::{Waiting, receive};
use trawl_sys::restricted::{Bounds, Lifetime, Restriction, Role, allow_cpu_secs};

use crate::parse;

/// Processor time of a worker in seconds; each file has a limit of its own besides.
const CPU_SECS: u64 = 24 * 3600;
/// Address space in bytes, unless the parent says otherwise.
const MEMORY_BYTES: u64 = 1 << 30;
/// Standard streams, the socket, a file, and one to spare.
const DESCRIPTORS: u64 = 8;

/// Serves requests on standard input until its other end is closed.
#[must_use]
pub fn serve() -> ExitCode {
    // A panic is a problem of a file, and there is nobody to read about it.
    std::panic::set_hook(Box::new(|_| {}));
    let Ok(socket) = std::io::stdin().as_fd().try_clone_to_owned() else {
        return ExitCode::FAILURE;
    };
    // As a file it is written with write(2): the sandbox allows no send(2).
    let mut socket = File::from(socket);
    let greeted = match restrict() {
        Ok(()) => socket.write_all(READY),
        Err(error) => {
            let why = format!("the sandbox cannot be set up: {error}\n");
            let _ = socket.write_all(why.as_bytes());
            return ExitCode::FAILURE;
        }
    };
    match greeted.and_then(|()| answer_all(&mut socket)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn restrict() -> std::io::Result<()> {
    let memory = std::env::var(MEMORY).ok();
    let memory = memory.and_then(|text| text.parse().ok());
    let bounds = Bounds {
        cpu_secs: CPU_SECS,
        memory_bytes: memory.unwrap_or(MEMORY_BYTES),
        descriptors: DESCRIPTORS,
    };
    Restriction::new(Role::Reader, &[], bounds, Lifetime::Own)?.apply()
}

fn answer_all(socket: &mut File) -> std::io::Result<()> {
    let mut text = vec![0; REQUEST_BYTES_MAX];
    loop {
        let (length, descriptor) = receive(&*socket, &mut text, Waiting::Allowed)?;
        let Some(descriptor) = descriptor else {
            return Ok(());
        };
        let request = Request::parse(&text[..length])?;
        allow_cpu_secs(request.limits.cpu_secs)?;
        let found = read(&request, File::from(descriptor));
        socket.write_all(&answer(&found)?)?;
    }
}

fn read(request: &Request, file: File) -> Extracted {
    let row = FORMATS.iter().find(|row| row.format == request.format);
    let hook = row.map_or(Builtin::Text, |row| row.hook);
    let parse = || {
        parse(
            hook,
            request.format,
            file,
            request.size_bytes,
            &request.limits,
        )
    };
    catch_unwind(AssertUnwindSafe(parse)).unwrap_or_else(|_| {
        let mut findings = Findings::new(hook.name(), &request.limits);
        findings.problem(Fault::Crash, "the parser gave up on this file");
        findings.finish()
    })
}
