//! The `trawl` program. All of its code is in the library of this crate.

#![forbid(unsafe_code)]

use std::process::ExitCode;

/// Minimum stack size in bytes: with less, the program runs on a thread that has this much. Scripts
/// lower the limit to make find build shorter command lines.
const STACK_BYTES: usize = 4 << 20;

fn main() -> ExitCode {
    let run = || trawl_cli::run(std::env::args_os().collect());
    if trawl_sys::process::stack_limit() >= STACK_BYTES as u64 {
        return run().into();
    }
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    match thread.spawn(run).map(std::thread::JoinHandle::join) {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(_) => run().into(),
    }
}
