//! Runs a command, and reports how it ended.

use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;

use trawl_sys::command::{Ended, Input, Launch};
use trawl_text::quote;

use crate::context::Context;
use crate::reference::error_text;

/// Whether a command succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It ended with code 0.
    Success,
    /// It ended otherwise, or could not be run.
    Failure,
}

/// Writes out everything printed so far, then runs a command and waits for it
/// to end. `started` is called with its process id.
pub(super) fn launch(
    words: &[OsString],
    dir: Option<BorrowedFd<'_>>,
    input: Input,
    started: fn(i32),
    cx: &mut Context<'_>,
) -> Outcome {
    cx.acted = true;
    cx.flush();
    let program = words.first().map_or(&b""[..], |word| word.as_bytes());
    let quoted = quote::message(program, cx.world.locale);
    match (Launch { words, dir, input }).run_told(started) {
        Ok(Ended::Code(0)) => return Outcome::Success,
        Ok(Ended::Code(_)) => {}
        Ok(Ended::Signal(signal)) => cx.remark(&format!("{quoted} terminated by signal {signal}")),
        Err(error) => cx.remark(&format!("{quoted}: {}", error_text(&error))),
    }
    Outcome::Failure
}
