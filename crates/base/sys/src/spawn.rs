//! Starts a command with posix_spawn(3), with the signal state that this process was started with.
//!
//! The standard library's way leaves the signals that the C library reserves ignored in the
//! command: posix_spawn(3) of glibc and musl ignores them unless told otherwise, and sigaddset(3)
//! refuses these signals. So the set of signals to reset is built here bit by bit.

use std::ffi::{CString, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use crate::command::Input;
use crate::signal::{inherits_ignored_broken_pipe, kept_signals_ignored};

unsafe extern "C" {
    static environ: *const *mut libc::c_char;
}

/// Number of bits in a word of a signal set.
const WORD_BITS: usize = libc::c_ulong::BITS as usize;

/// Runs a command until it ends, in the working directory of this process; `started` is called with
/// its process id. Fails with `ENOEXEC` for
/// a script without an interpreter line.
///
/// Source: <https://man7.org/linux/man-pages/man3/posix_spawn.3.html>
///
/// # Errors
/// Fails if the command cannot be started.
pub(crate) fn run(
    words: &[OsString],
    input: Input,
    started: &dyn Fn(i32),
) -> io::Result<ExitStatus> {
    run_with(words, input, &signals_to_reset(), started)
}

/// What a command gets besides its words.
#[derive(Default)]
pub(crate) struct Plan {
    /// Whether its standard input is `/dev/null`.
    pub(crate) has_null_input: bool,
    /// Descriptors and the numbers that they get. One that keeps its number is left open.
    pub(crate) moved: Vec<(i32, i32)>,
    /// Whether it leads a process group of its own.
    pub(crate) leads_group: bool,
    /// The signals that it blocks; those of this thread if `None`.
    pub(crate) mask: Option<libc::sigset_t>,
}

/// Starts a command in the working directory of this process, and returns its process id, which
/// [`wait`] must be called with. Fails as [`run`] does.
pub(crate) fn start(words: &[OsString], plan: &Plan) -> io::Result<libc::pid_t> {
    start_with(words, plan, &signals_to_reset())
}

/// Returns the signals that must have their default action in a command: SIGPIPE, which the Rust
/// runtime ignores, and those that posix_spawn(3) ignores, except for signals that were ignored
/// when this process began.
fn signals_to_reset() -> Vec<libc::c_int> {
    let kept = kept_signals_ignored().into_iter();
    let kept = kept.filter_map(|(signal, is_ignored)| (!is_ignored).then_some(signal));
    let pipe = (!inherits_ignored_broken_pipe()).then_some(libc::SIGPIPE);
    kept.chain(pipe).collect()
}

fn run_with(
    words: &[OsString],
    input: Input,
    reset: &[libc::c_int],
    started: &dyn Fn(i32),
) -> io::Result<ExitStatus> {
    let plan = Plan {
        has_null_input: input == Input::Nothing,
        ..Plan::default()
    };
    let pid = start_with(words, &plan, reset)?;
    started(pid);
    wait(pid)
}

fn start_with(words: &[OsString], plan: &Plan, reset: &[libc::c_int]) -> io::Result<libc::pid_t> {
    let words: Result<Vec<CString>, _> = words.iter().map(|w| CString::new(w.as_bytes())).collect();
    let words = words?;
    let mut pointers: Vec<*mut libc::c_char> =
        words.iter().map(|w| w.as_ptr().cast_mut()).collect();
    pointers.push(std::ptr::null_mut());
    let program = words.first().map_or(c"", |word| word.as_c_str());
    let attributes = Attributes::new(reset, plan)?;
    let actions = Actions::new(plan)?;
    let mut pid = 0;
    // SAFETY: `program` and the strings in `pointers` are NUL-terminated and live until the call
    // returns; `pointers` ends with a null pointer; both objects are initialised; nothing in the
    // process changes its environment.
    let code = unsafe {
        libc::posix_spawnp(
            &raw mut pid,
            program.as_ptr(),
            &raw const actions.0,
            &raw const attributes.0,
            pointers.as_ptr(),
            environ,
        )
    };
    done(code)?;
    Ok(pid)
}

/// Waits for a command and takes its result.
pub(crate) fn wait(pid: libc::pid_t) -> io::Result<ExitStatus> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is valid for writes; the child belongs to this function alone.
        if unsafe { libc::waitpid(pid, &raw mut status, 0) } != -1 {
            return Ok(ExitStatus::from_raw(status));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Converts the result of a function that returns an error number.
fn done(code: libc::c_int) -> io::Result<()> {
    match code {
        0 => Ok(()),
        _ => Err(io::Error::from_raw_os_error(code)),
    }
}

struct Attributes(libc::posix_spawnattr_t);

impl Attributes {
    fn new(reset: &[libc::c_int], plan: &Plan) -> io::Result<Attributes> {
        let mut raw = MaybeUninit::uninit();
        // SAFETY: `raw` is valid for writes.
        done(unsafe { libc::posix_spawnattr_init(raw.as_mut_ptr()) })?;
        // SAFETY: the call has initialised it.
        let mut attributes = Attributes(unsafe { raw.assume_init() });
        let set = set_of(reset);
        let mut flags = libc::POSIX_SPAWN_SETSIGDEF;
        let raw = &raw mut attributes.0;
        // SAFETY: `raw` is initialised; `set` is a valid set, which is copied.
        done(unsafe { libc::posix_spawnattr_setsigdefault(raw, &raw const set) })?;
        if let Some(mask) = &plan.mask {
            flags |= libc::POSIX_SPAWN_SETSIGMASK;
            // SAFETY: as above.
            done(unsafe { libc::posix_spawnattr_setsigmask(raw, &raw const *mask) })?;
        }
        if plan.leads_group {
            flags |= libc::POSIX_SPAWN_SETPGROUP;
            // SAFETY: `raw` is initialised; group 0 is one that the command leads.
            done(unsafe { libc::posix_spawnattr_setpgroup(raw, 0) })?;
        }
        // SAFETY: `raw` is initialised; the flags are those of posix_spawn(3).
        done(unsafe { libc::posix_spawnattr_setflags(raw, flags as libc::c_short) })?;
        Ok(attributes)
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: it was initialised, and nothing uses it any more.
        unsafe { libc::posix_spawnattr_destroy(&raw mut self.0) };
    }
}

struct Actions(libc::posix_spawn_file_actions_t);

impl Actions {
    fn new(plan: &Plan) -> io::Result<Actions> {
        let mut raw = MaybeUninit::uninit();
        // SAFETY: `raw` is valid for writes.
        done(unsafe { libc::posix_spawn_file_actions_init(raw.as_mut_ptr()) })?;
        // SAFETY: the call has initialised it.
        let mut actions = Actions(unsafe { raw.assume_init() });
        if plan.has_null_input {
            let (raw, null) = (&raw mut actions.0, c"/dev/null".as_ptr());
            // SAFETY: `raw` is initialised; the path is copied.
            done(unsafe {
                libc::posix_spawn_file_actions_addopen(raw, 0, null, libc::O_RDONLY, 0)
            })?;
        }
        for (from, to) in &plan.moved {
            let raw = &raw mut actions.0;
            // SAFETY: `raw` is initialised; the numbers are copied. The C library leaves a
            // descriptor open on exec that is moved onto itself.
            done(unsafe { libc::posix_spawn_file_actions_adddup2(raw, *from, *to) })?;
        }
        Ok(actions)
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        // SAFETY: it was initialised, and nothing uses it any more.
        unsafe { libc::posix_spawn_file_actions_destroy(&raw mut self.0) };
    }
}

/// Returns a set of these signals, including those reserved by the C library, which sigaddset(3)
/// refuses. Signal N is bit N - 1 of an array of `unsigned long`, for the kernel and for every C
/// library on Linux.
fn set_of(signals: &[libc::c_int]) -> libc::sigset_t {
    const WORDS: usize = size_of::<libc::sigset_t>() / size_of::<libc::c_ulong>();
    let mut words: [libc::c_ulong; WORDS] = [0; WORDS];
    for bit in signals
        .iter()
        .filter_map(|signal| usize::try_from(signal - 1).ok())
    {
        if let Some(word) = words.get_mut(bit / WORD_BITS) {
            *word |= 1 << (bit % WORD_BITS);
        }
    }
    // SAFETY: both are arrays of the same number of words, in which every value is valid.
    unsafe { std::mem::transmute::<[libc::c_ulong; WORDS], libc::sigset_t>(words) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The signals that a command ignores if these signals are reset.
    fn ignored(reset: &[libc::c_int]) -> u64 {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        std::fs::write(&script, "grep ^SigIgn: /proc/self/status > \"$1\"").unwrap();
        let out = folder.path().join("out");
        let words = [&"sh".into(), &script, &out].map(|word: &std::path::PathBuf| word.into());
        assert!(
            run_with(&words, Input::Nothing, reset, &|_| {})
                .unwrap()
                .success()
        );
        let text = std::fs::read_to_string(out).unwrap();
        u64::from_str_radix(text.trim_start_matches("SigIgn:").trim(), 16).unwrap()
    }

    #[test]
    fn signals_of_the_c_library_are_reset_like_others() {
        let bit = |signal: libc::c_int| 1u64 << (signal - 1);
        let kept = bit(32) | bit(33);
        let pipe = bit(libc::SIGPIPE);
        assert_eq!(ignored(&[32, 33, 34, libc::SIGPIPE]) & (kept | pipe), 0);
        assert_eq!(ignored(&[libc::SIGPIPE]) & (kept | pipe), kept);
        assert_eq!(ignored(&[32, 33, 34]) & (kept | pipe), pipe);
    }
}
