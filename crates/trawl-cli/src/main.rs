//! The `trawl` program: everything is in the library beside it.

#![forbid(unsafe_code)]

use std::process::ExitCode;

/// With less than this the main thread's stack may not do; scripts lower it to have find's command
/// lines cut shorter.
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
