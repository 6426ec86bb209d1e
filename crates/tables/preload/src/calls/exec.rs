//! Execution of other programs, and their search in `PATH`.
//!
//! The C library searches for a program by trying to execute one file after the other, with an
//! internal function. Here the same is done, except for files that are known not to exist. It also
//! runs in the child of vfork(2), which uses tables as a thread of its parent would.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::kernel::{self, Quiet, set_errno};
use crate::page::{self, Starter};
use crate::real::real;
use crate::{descriptors, search_path, settings};

/// The search path if `PATH` is not set, as returned by confstr(3) (`_CS_PATH`).
const USUAL_PATH: &[u8] = b"/bin:/usr/bin";
const SHELL: &CStr = c"/bin/sh";

pub(crate) const NAME_BYTES_MAX: usize = 255;
/// Longer elements of `PATH` are skipped; for the C library `PATH` itself is never longer.
const PATH_BYTES_MAX: usize = 4095;
const ROOM: usize = PATH_BYTES_MAX + 1 + NAME_BYTES_MAX + 1;

pub(crate) type Words = *const *const c_char;

/// Returns whether the next directory is tried after this error.
pub(crate) fn goes_on(errno: c_int) -> bool {
    matches!(
        errno,
        libc::EACCES | libc::ENOENT | libc::ESTALE | libc::ENOTDIR | libc::ENODEV | libc::ETIMEDOUT
    )
}

/// Returns the search path for programs.
fn path() -> &'static [u8] {
    // SAFETY: the name ends in NUL; the value stays as long as the program does not change its
    // environment, which the C library's own functions rely on, too.
    let path = unsafe { kernel::bytes(libc::getenv(c"PATH".as_ptr())) };
    path.unwrap_or(USUAL_PATH)
}

/// The path of a file in a directory, as a C string.
pub(crate) struct Candidate {
    bytes: [u8; ROOM],
}

impl Candidate {
    /// Makes an empty one.
    pub(crate) fn new() -> Candidate {
        Candidate { bytes: [0; ROOM] }
    }

    /// Sets the path of the file with this name in an element of `PATH`; an empty element means the
    /// working directory.
    fn set(&mut self, directory: &[u8], name: &[u8]) -> Option<&CStr> {
        let mut length = 0;
        let slash: &[u8] = match directory {
            b"" => b"",
            _ => b"/",
        };
        for part in [directory, slash, name, b"\0"] {
            let room = self.bytes.get_mut(length..length + part.len())?;
            room.copy_from_slice(part);
            length += part.len();
        }
        CStr::from_bytes_with_nul(self.bytes.get(..length)?).ok()
    }
}

/// Calls execve(2). Returns if it fails.
unsafe fn execute(path: *const c_char, words: Words, environment: Words) {
    // SAFETY: the caller's string.
    let name = unsafe { kernel::bytes(path) };
    descriptors::before_name(name.unwrap_or_default());
    // SAFETY: the caller's environment.
    let expected = unsafe { expected(name, environment) };
    noted(
        expected,
        || real!(execve(path => *const c_char, words => Words, environment => Words) -> c_int, -1),
    );
}

/// Returns the file name of a program that is expected to load this library. A program that loads
/// it unexpectedly was another program before, perhaps from a file of that name.
///
/// # Safety
/// `environment` is NULL or an environment.
pub(crate) unsafe fn expected(file: Option<&[u8]>, environment: Words) -> Option<&[u8]> {
    let (mut is_preloaded, mut has_page) = (false, false);
    if environment.is_null() {
        return None;
    }
    let mut at = environment;
    // SAFETY: guaranteed by the caller.
    while let Some(text) = unsafe { kernel::bytes(*at) } {
        if let Some(libraries) = text.strip_prefix(b"LD_PRELOAD=") {
            is_preloaded = libraries.windows(LIBRARY.len()).any(|part| part == LIBRARY);
        }
        has_page |= text.starts_with(b"TRAWL_BULK_PAGE=");
        // SAFETY: it was not the last element.
        at = unsafe { at.add(1) };
    }
    file.filter(|_| is_preloaded && has_page)
}

/// The beginning of the library's file name, whoever has built it.
const LIBRARY: &[u8] = b"/libtrawl";

/// Executes another program, which is noted until it reports its changes itself.
fn noted(file: Option<&[u8]>, execute: impl FnOnce() -> c_int) -> c_int {
    let noted = page::starts(Starter::Itself, file);
    let code = execute();
    page::did_not_start(noted);
    code
}

/// Has the shell execute a file that is not an executable program, as the C library does.
unsafe fn execute_by_shell(path: *const c_char, words: Words, environment: Words) {
    let mut count = 0;
    // SAFETY: the caller's words end in NULL.
    while !words.is_null() && unsafe { !(*words.add(count)).is_null() } {
        count += 1;
    }
    if count >= c_int::MAX as usize - 1 {
        set_errno(libc::E2BIG);
        return;
    }
    let bytes = (count + 3) * size_of::<*const c_char>();
    // Memory comes from mmap(2) and not from an allocator: this may be the child of vfork(2), or a
    // signal handler.
    // SAFETY: a new mapping at an address of the kernel's choice.
    let at = unsafe {
        libc::mmap(
            ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if at == libc::MAP_FAILED {
        return;
    }
    let new: *mut *const c_char = at.cast();
    // SAFETY: there is room for the shell, the file, and all but the first of the caller's words;
    // the rest is zero.
    unsafe {
        new.write(SHELL.as_ptr());
        new.add(1).write(path);
        if count > 1 {
            ptr::copy_nonoverlapping(words.add(1), new.add(2), count - 1);
        }
        execute(SHELL.as_ptr(), new, environment);
    }
    let _quiet = Quiet::new();
    // SAFETY: it was mapped above, and no other code knows it.
    unsafe { libc::munmap(at, bytes) };
}

/// execvpe(3).
///
/// Source: glibc 2.36, `posix/execvpe.c`.
unsafe fn search_and_execute(file: *const c_char, words: Words, environment: Words) -> c_int {
    // SAFETY: the caller's string.
    let Some(name) = (unsafe { kernel::bytes(file) }) else {
        set_errno(libc::EFAULT);
        return -1;
    };
    if name.is_empty() {
        set_errno(libc::ENOENT);
        return -1;
    }
    if name.contains(&b'/') {
        // SAFETY: the caller's strings.
        unsafe { try_one(file, words, environment) };
        return -1;
    }
    if name.len() > NAME_BYTES_MAX {
        set_errno(libc::ENAMETOOLONG);
        return -1;
    }
    let path = path();
    prepare(path);
    let mut candidate = Candidate::new();
    let mut is_denied = false;
    for directory in path.split(|byte| *byte == b':') {
        let Some(path) = candidate.set(directory, name) else {
            continue;
        };
        match search_path::says_absent(path.to_bytes()) {
            true => set_errno(libc::ENOENT),
            // SAFETY: the caller's strings, and one of our own.
            false => unsafe { try_one(path.as_ptr(), words, environment) },
        }
        match kernel::errno() {
            libc::EACCES => is_denied = true,
            errno if goes_on(errno) => {}
            _ => return -1,
        }
    }
    if is_denied {
        set_errno(libc::EACCES);
    }
    -1
}

/// Executes a file, by the shell if it is not an executable program. Returns if it fails.
unsafe fn try_one(path: *const c_char, words: Words, environment: Words) {
    // SAFETY: the caller's strings.
    unsafe {
        execute(path, words, environment);
        if kernel::errno() == libc::ENOEXEC {
            execute_by_shell(path, words, environment);
        }
    }
}

/// Asks about the directories of `PATH`, if that is worthwhile.
fn prepare(path: &[u8]) {
    if !settings::is_on_here() {
        return;
    }
    let looks = path.split(|byte| *byte == b':').count();
    let first = path
        .split(|byte| *byte == b':')
        .find(|one| settings::is_covered(one));
    // If the first directory is known, all of them are.
    let is_known = first.is_some_and(search_path::is_known);
    if !is_known {
        let _quiet = Quiet::new();
        search_path::ask_for_those(path, u32::try_from(looks).unwrap_or(u32::MAX));
    }
}

/// Returns the program's environment.
pub(crate) unsafe fn environment() -> Words {
    unsafe extern "C" {
        static environ: Words;
    }
    // SAFETY: the C library's variable.
    unsafe { environ }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execvpe(file: *const c_char, words: Words, environment: Words) -> c_int {
    if !settings::is_on_here() {
        return noted(None, || {
            real!(execvpe(
                file => *const c_char, words => Words, environment => Words,
            ) -> c_int, -1)
        });
    }
    // SAFETY: the caller's strings.
    unsafe { search_and_execute(file, words, environment) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execvp(file: *const c_char, words: Words) -> c_int {
    if !settings::is_on_here() {
        return noted(
            None,
            || real!(execvp(file => *const c_char, words => Words) -> c_int, -1),
        );
    }
    // SAFETY: the caller's strings.
    unsafe { search_and_execute(file, words, environment()) }
}

/// Implements execle(3): the environment follows the words.
unsafe extern "C" fn execve_behind(path: *const c_char, words: Words) -> c_int {
    let mut end = words;
    // SAFETY: the caller's words end in NULL, and the environment follows.
    unsafe {
        while !(*end).is_null() {
            end = end.add(1);
        }
        execve(path, words, end.add(1).cast::<Words>().read())
    }
}

/// execl(3) and similar functions take the words as separate arguments. Those in registers are
/// pushed onto the stack before the others, so that all form an array.
macro_rules! word_by_word {
    ($($name:ident, $as_array:ident;)*) => {$(
        #[cfg(target_arch = "x86_64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name(file: *const c_char, word: *const c_char) -> c_int {
            std::arch::naked_asm!(
                "endbr64",
                "pop rax",
                "push r9",
                "push r8",
                "push rcx",
                "push rdx",
                "push rsi",
                "mov rsi, rsp",
                "push rax",
                "call {as_array}",
                "pop rcx",
                "add rsp, 40",
                "push rcx",
                "ret",
                as_array = sym $as_array,
            )
        }

        #[cfg(target_arch = "aarch64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name(file: *const c_char, word: *const c_char) -> c_int {
            std::arch::naked_asm!(
                "sub sp, sp, #80",
                "stp x29, x30, [sp]",
                "stp x1, x2, [sp, #24]",
                "stp x3, x4, [sp, #40]",
                "stp x5, x6, [sp, #56]",
                "str x7, [sp, #72]",
                "mov x29, sp",
                "add x1, sp, #24",
                "bl {as_array}",
                "ldp x29, x30, [sp]",
                "add sp, sp, #80",
                "ret",
                as_array = sym $as_array,
            )
        }
    )*};
}

word_by_word! {
    execl, execv;
    execlp, execvp;
    execle, execve_behind;
}

/// Number of files that could not be executed: a program that tries one after the other searches
/// `PATH` by itself, as Python does.
static REFUSED: AtomicU32 = AtomicU32::new(0);

#[unsafe(no_mangle)]
unsafe extern "C" fn execve(path: *const c_char, words: Words, environment: Words) -> c_int {
    // SAFETY: the caller's string.
    let name = unsafe { kernel::bytes(path) }.unwrap_or_default();
    let is_absent = || search_path::says_absent(name);
    let is_searching = REFUSED.load(Ordering::Relaxed) > 0 && settings::is_on_here();
    if is_absent() || (is_searching && learns_about(name) && is_absent()) {
        set_errno(libc::ENOENT);
        return -1;
    }
    // SAFETY: the caller's strings.
    unsafe { execute(path, words, environment) };
    REFUSED.fetch_add(1, Ordering::Relaxed);
    -1
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execv(path: *const c_char, words: Words) -> c_int {
    // SAFETY: the caller's strings.
    unsafe { execve(path, words, environment()) }
}

/// Asks about `PATH` if the file is in one of its directories; returns whether there is an answer.
fn learns_about(path: &[u8]) -> bool {
    let slash = path.iter().rposition(|byte| *byte == b'/');
    let Some(directory) = slash.and_then(|at| path.get(..at)) else {
        return false;
    };
    let _quiet = Quiet::new();
    search_path::has(directory) && !search_path::is_known(directory) && search_path::ask_for()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fexecve(fd: c_int, words: Words, environment: Words) -> c_int {
    descriptors::make_real(fd);
    noted(
        None,
        || real!(fexecve(fd => c_int, words => Words, environment => Words) -> c_int, -1),
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execveat(
    at: c_int,
    path: *const c_char,
    words: Words,
    environment: Words,
    flags: c_int,
) -> c_int {
    descriptors::make_real(at);
    // SAFETY: the caller's string.
    unsafe { descriptors::before_path(path) };
    noted(None, || {
        real!(execveat(
            at => c_int, path => *const c_char, words => Words, environment => Words,
            flags => c_int,
        ) -> c_int, -1)
    })
}

/// Returns the only file that can be executed, if all others of `PATH` are known not to exist, and
/// whether it is the last candidate.
pub(crate) fn only_candidate(
    name: &[u8],
    candidate: &mut Candidate,
) -> Option<(*const c_char, bool)> {
    if !settings::is_on_here() {
        return None;
    }
    let path = path();
    prepare(path);
    let directories = || path.split(|byte| *byte == b':');
    let mut only = None;
    for (at, directory) in directories().enumerate() {
        let path = candidate.set(directory, name)?.to_bytes();
        if !search_path::says_absent(path) && only.replace(at).is_some() {
            return None;
        }
    }
    let only = only?;
    let directory = directories().nth(only)?;
    let is_last = directories().count() == only + 1;
    Some((candidate.set(directory, name)?.as_ptr(), is_last))
}
