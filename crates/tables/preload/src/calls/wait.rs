//! Children that have ended: they may have made changes without the C library, so their end counts
//! as a change. Stops, continuations and a tracer's observations do not.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::calls::exec::{environment, expected};
use crate::real::real;
use crate::{descriptors, page};

/// The shell that the C library starts.
const SHELL: &[u8] = b"/bin/sh";
/// Its substitute where the shell does not load this library: no program is executed under this
/// name.
const OTHER_SHELL: &[u8] = b"";

/// Notes a child that was waited for, if it has ended.
fn waited(child: c_int, status: c_int) -> c_int {
    if child > 0 && !libc::WIFSTOPPED(status) && !libc::WIFCONTINUED(status) {
        page::has_ended(child);
    }
    child
}

/// Waits, with a status buffer of its own if the caller gave none.
unsafe fn wait_for(status: *mut c_int, call: impl FnOnce(*mut c_int) -> c_int) -> c_int {
    let mut own = 0;
    let into = match status.is_null() {
        true => &raw mut own,
        false => status,
    };
    let child = call(into);
    // SAFETY: our variable or the caller's.
    waited(child, unsafe { *into })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn wait(status: *mut c_int) -> c_int {
    let call = |status| real!(wait(status => *mut c_int) -> c_int, -1);
    // SAFETY: the caller's status.
    unsafe { wait_for(status, call) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn waitpid(child: c_int, status: *mut c_int, options: c_int) -> c_int {
    let call = |status| real!(waitpid(child => c_int, status => *mut c_int, options => c_int) -> c_int, -1);
    // SAFETY: as above.
    unsafe { wait_for(status, call) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn wait3(status: *mut c_int, options: c_int, usage: *mut c_void) -> c_int {
    let call = |status| real!(wait3(status => *mut c_int, options => c_int, usage => *mut c_void) -> c_int, -1);
    // SAFETY: as above.
    unsafe { wait_for(status, call) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn wait4(
    child: c_int,
    status: *mut c_int,
    options: c_int,
    usage: *mut c_void,
) -> c_int {
    let call = |status| {
        real!(wait4(
            child => c_int, status => *mut c_int, options => c_int, usage => *mut c_void,
        ) -> c_int, -1)
    };
    // SAFETY: as above.
    unsafe { wait_for(status, call) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn waitid(
    kind: c_int,
    child: c_uint,
    into: *mut libc::siginfo_t,
    options: c_int,
) -> c_int {
    // SAFETY: all zeros are a valid value.
    let mut own: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let into = match into.is_null() {
        true => &raw mut own,
        false => into,
    };
    let code = real!(waitid(
        kind => c_int, child => c_uint, into => *mut libc::siginfo_t, options => c_int,
    ) -> c_int, -1);
    // SAFETY: our variable or the caller's, and filled in.
    let (child, how) = unsafe { ((*into).si_pid(), (*into).si_code) };
    let has_ended = matches!(how, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED);
    if code == 0 && child > 0 && has_ended {
        page::has_ended(child);
    }
    code
}

/// Called before the C library starts the shell.
fn starts_shell() -> Option<page::Note> {
    descriptors::make_all_real();
    // SAFETY: the C library's own environment.
    let file = unsafe { expected(Some(SHELL), environment()) };
    page::starts(page::Starter::Parent, Some(file.unwrap_or(OTHER_SHELL)))
}

/// system(3), pclose(3): the C library starts the shell and waits by itself.
#[unsafe(no_mangle)]
unsafe extern "C" fn system(command: *const c_char) -> c_int {
    let noted = starts_shell();
    let code = real!(system(command => *const c_char) -> c_int, -1);
    page::change();
    page::did_not_start(noted);
    code
}

#[unsafe(no_mangle)]
unsafe extern "C" fn popen(command: *const c_char, mode: *const c_char) -> *mut c_void {
    let noted = starts_shell();
    let stream = real!(popen(
        command => *const c_char, mode => *const c_char,
    ) -> *mut c_void, std::ptr::null_mut());
    if stream.is_null() {
        page::did_not_start(noted);
    }
    stream
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pclose(stream: *mut c_void) -> c_int {
    let code = real!(pclose(stream => *mut c_void) -> c_int, -1);
    page::have_ended(SHELL);
    page::have_ended(OTHER_SHELL);
    code
}
