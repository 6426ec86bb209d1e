//! Signals: an interrupt becomes a flag that loops can look at, or a descriptor to wait for.

use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Errno, Op, SysError};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn note(_signal: libc::c_int) {
    // Storing to an atomic is all that is safe and needed here (signal-safety(7)).
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// From now on the first SIGINT, SIGTERM or SIGHUP only sets the returned flag; a second one of
/// the same kind ends the process as usual. A signal that was ignored before (`nohup`) stays so.
///
/// Source: <https://man7.org/linux/man-pages/man2/sigaction.2.html>
pub fn watch_interrupts() -> Result<&'static AtomicBool, SysError> {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        watch(signal)?;
    }
    Ok(&INTERRUPTED)
}

fn watch(signal: libc::c_int) -> Result<(), SysError> {
    // SAFETY: an all-zero sigaction is valid: no flags, an empty mask, the default action.
    let (mut old, mut new): (libc::sigaction, libc::sigaction) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    // SAFETY: `old` is valid for writes; no new action is given.
    if unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut old) } != 0 {
        return Err(SysError::last(Op::Sigaction));
    }
    if old.sa_sigaction == libc::SIG_IGN {
        return Ok(());
    }
    new.sa_sigaction = note as *const () as usize;
    new.sa_flags = libc::SA_RESETHAND;
    // SAFETY: `note` has the type of a handler without SA_SIGINFO and is async-signal-safe.
    if unsafe { libc::sigaction(signal, &raw const new, std::ptr::null_mut()) } != 0 {
        return Err(SysError::last(Op::Sigaction));
    }
    Ok(())
}

/// Signals that a daemon is asked with to stop, as a descriptor that becomes readable.
#[derive(Debug)]
pub struct StopSignals(OwnedFd);

impl StopSignals {
    /// From now on SIGINT, SIGTERM and SIGHUP do nothing to this thread, nor to those that it
    /// starts later, but make the descriptor readable.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/signalfd.2.html>
    pub fn take() -> Result<Self, SysError> {
        descriptor_of(&STOPPING).map(StopSignals)
    }

    /// Sets the flag of [`interrupted`], and lets the next signal end the process as usual.
    pub fn stop(&self) {
        INTERRUPTED.store(true, Ordering::Relaxed);
        // The one that was received is taken first, or it would be delivered now.
        let mut taken = [0; 128];
        while rustix::io::read(&self.0, &mut taken).is_ok_and(|bytes| bytes > 0) {}
        for signal in STOPPING {
            // SAFETY: setting a signal to its default action installs no handler.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        let set = set_of(&STOPPING);
        // SAFETY: `set` is valid; no old mask is asked for.
        unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) };
    }
}

impl AsFd for StopSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Signals that a program that runs another one passes on, as a descriptor that becomes readable.
pub struct PassedOn {
    descriptor: OwnedFd,
    /// What this thread had blocked before.
    before: libc::sigset_t,
}

impl std::fmt::Debug for PassedOn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PassedOn").field(&self.descriptor).finish()
    }
}

/// A signal to pass on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Its number.
    pub signal: i32,
    /// Whether the kernel sent it, as it does when a key is pressed: to all processes in the
    /// foreground of the terminal.
    pub is_from_kernel: bool,
}

const PASSED_ON: [libc::c_int; 6] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
];

impl PassedOn {
    /// From now on these signals do nothing to this thread, nor to those that it starts later, but
    /// make the descriptor readable.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/signalfd.2.html>
    ///
    /// # Errors
    /// If there are too many descriptors.
    pub fn take() -> Result<PassedOn, SysError> {
        // SAFETY: an all-zero set is memory that the call may fill.
        let mut before: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: `before` is valid for writes; nothing is blocked or unblocked.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut before) };
        let descriptor = descriptor_of(&PASSED_ON)?;
        Ok(PassedOn { descriptor, before })
    }

    /// Lets a command have these signals as they were before: what is blocked is inherited, and so
    /// is that the signal of closed pipes is ignored.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/sigprocmask.2.html>
    pub fn leave_to(&self, command: &mut std::process::Command) {
        let before = self.before;
        let ignores_pipe = inherits_ignored_broken_pipe();
        let go = move || {
            // SAFETY: the set was filled by the kernel; no old mask is asked for. Ignoring a signal
            // installs no handler.
            unsafe {
                libc::sigprocmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
                if ignores_pipe {
                    libc::signal(libc::SIGPIPE, libc::SIG_IGN);
                }
            };
            Ok(())
        };
        // SAFETY: between fork and exec it calls nothing but sigprocmask(2) and signal(2), which
        // are async-signal-safe.
        unsafe { std::os::unix::process::CommandExt::pre_exec(command, go) };
    }

    /// The next signal, if one has come.
    pub fn next(&self) -> Option<Passed> {
        let mut taken = [0; 128];
        let length = rustix::io::read(&self.descriptor, &mut taken).ok()?;
        let number = |at: usize| {
            let bytes = [taken[at], taken[at + 1], taken[at + 2], taken[at + 3]];
            i32::from_ne_bytes(bytes)
        };
        (length == taken.len()).then(|| Passed {
            signal: number(0),
            is_from_kernel: number(8) == libc::SI_KERNEL,
        })
    }
}

impl AsFd for PassedOn {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

const STOPPING: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Blocks signals and gives the descriptor that they make readable.
fn descriptor_of(signals: &[libc::c_int]) -> Result<OwnedFd, SysError> {
    let set = set_of(signals);
    // SAFETY: `set` is valid; no old mask is asked for.
    let code =
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
    if code != 0 {
        return Err(SysError::new(Op::Sigaction, Errno(code)));
    }
    let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
    // SAFETY: `set` is valid.
    let fd = unsafe { libc::signalfd(-1, &raw const set, flags) };
    if fd < 0 {
        return Err(SysError::last(Op::Signalfd));
    }
    // SAFETY: the call returned a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Runs something with all signals blocked, and so the threads that it starts, for good: signals
/// of the process come to other threads.
///
/// Source: <https://man7.org/linux/man-pages/man3/pthread_sigmask.3.html>
pub fn without_signals<T>(body: impl FnOnce() -> T) -> T {
    struct Restore(libc::sigset_t);
    impl Drop for Restore {
        fn drop(&mut self) {
            // SAFETY: the set is the one that the thread had; no old one is asked for.
            unsafe {
                libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut());
            }
        }
    }
    let mut before = set_of(&[]);
    let mut all = set_of(&[]);
    // SAFETY: both sets are valid for reads and writes.
    let code = unsafe {
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before)
    };
    let _restore = (code == 0).then_some(Restore(before));
    body()
}

fn set_of(signals: &[libc::c_int]) -> libc::sigset_t {
    // SAFETY: an all-zero set is memory that sigemptyset may fill.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is valid for writes, the signals exist.
    unsafe {
        libc::sigemptyset(&raw mut set);
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
    }
    set
}

/// The flag that [`watch_interrupts`] returns, without installing anything.
#[must_use]
pub fn interrupted() -> &'static AtomicBool {
    &INTERRUPTED
}

/// Lets a write beyond the limit on file sizes fail with `EFBIG`, where it would end the process.
///
/// Source: <https://man7.org/linux/man-pages/man2/setrlimit.2.html>
pub fn ignore_file_size_limit() -> Result<(), SysError> {
    // SAFETY: ignoring a signal installs no handler.
    if unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) } == libc::SIG_ERR {
        return Err(SysError::last(Op::Sigaction));
    }
    Ok(())
}

/// Signals that a C library keeps to itself: 32 to 34 of musl, of which glibc has the first two.
const KEPT: [libc::c_int; 3] = [32, 33, 34];
/// Which of them the process was started with ignored.
static KEPT_IGNORED: [AtomicBool; KEPT.len()] = [const { AtomicBool::new(false) }; KEPT.len()];
/// Words of the kernel's `struct sigaction`, or more; the first one is the handler.
type KernelAction = [usize; 8];
/// Bytes of the kernel's signal set.
const KERNEL_SET_BYTES: usize = 8;

/// What is done on a signal; the C library's own function refuses those that it keeps.
///
/// Source: <https://man7.org/linux/man-pages/man2/rt_sigaction.2.html>
fn kernel_handler(signal: libc::c_int) -> Option<usize> {
    let mut action: KernelAction = [0; 8];
    let no_new = std::ptr::null::<KernelAction>();
    let old = &raw mut action;
    // SAFETY: without a new action the call fills in the old one, for which there is more room than
    // it takes.
    let code = unsafe {
        let number = libc::SYS_rt_sigaction;
        libc::syscall(number, signal, no_new, old, KERNEL_SET_BYTES)
    };
    (code == 0).then_some(action[0])
}

/// Ignores a signal that the C library keeps to itself; for a process that is about to become
/// another program.
pub(crate) fn ignore_kept_signal(signal: libc::c_int) {
    let mut action: KernelAction = [0; 8];
    action[0] = libc::SIG_IGN;
    let no_old = std::ptr::null_mut::<KernelAction>();
    // SAFETY: the action is as large as the call reads, or larger, and installs no handler.
    unsafe {
        let number = libc::SYS_rt_sigaction;
        libc::syscall(number, signal, &raw const action, no_old, KERNEL_SET_BYTES)
    };
}

/// The signals that a C library keeps to itself, each with whether the process was started with it
/// ignored. What starts programs by posix_spawn(3) leaves them so; fork(2) hands that on.
pub(crate) fn kept_signals_ignored() -> [(libc::c_int, bool); KEPT.len()] {
    let mut at = 0;
    KEPT.map(|signal| {
        let is_ignored = KEPT_IGNORED[at].load(Ordering::Relaxed);
        at += 1;
        (signal, is_ignored)
    })
}

/// Whether the process was started with the signal of closed pipes ignored.
static STARTED_WITHOUT_PIPE_SIGNAL: AtomicBool = AtomicBool::new(false);

/// Notes it before the runtime of Rust, which ignores the signal whatever was inherited, and before
/// there are threads, for which the C library handles those that it keeps.
extern "C" fn note_ignored_signals() {
    for (signal, is_ignored) in KEPT.into_iter().zip(&KEPT_IGNORED) {
        is_ignored.store(
            kernel_handler(signal) == Some(libc::SIG_IGN),
            Ordering::Relaxed,
        );
    }
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action it fills in the old one, which is as large as it takes; all
    // zeros are a valid value should it fail.
    let action = unsafe {
        libc::sigaction(libc::SIGPIPE, std::ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    let is_ignored = action.sa_sigaction == libc::SIG_IGN;
    STARTED_WITHOUT_PIPE_SIGNAL.store(is_ignored, Ordering::Relaxed);
}

// SAFETY: the C library calls what this section holds before `main`, on the only thread, with
// nothing of Rust's runtime set up; the function needs none of it and cannot unwind.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = note_ignored_signals;

/// Whether the process was started with the signal of closed pipes ignored, as service managers
/// start programs: then a write to one fails, here and in programs that are started.
#[must_use]
pub fn inherits_ignored_broken_pipe() -> bool {
    STARTED_WITHOUT_PIPE_SIGNAL.load(Ordering::Relaxed)
}

/// Lets a write to a closed pipe end the process quietly, as other command-line tools do, unless
/// it was started with the signal ignored. (The runtime of Rust ignores it always.)
///
/// Source: <https://man7.org/linux/man-pages/man7/signal.7.html>
pub fn restore_broken_pipe() -> Result<(), SysError> {
    let action = match inherits_ignored_broken_pipe() {
        true => libc::SIG_IGN,
        false => libc::SIG_DFL,
    };
    // SAFETY: setting a signal to its default action or ignoring it installs no handler.
    if unsafe { libc::signal(libc::SIGPIPE, action) } == libc::SIG_ERR {
        return Err(SysError::last(Op::Sigaction));
    }
    Ok(())
}

/// Lets a write to a closed pipe fail with `EPIPE`, for programs that have something to clean up.
/// (Rust programs start so.)
///
/// Source: <https://man7.org/linux/man-pages/man7/signal.7.html>
pub fn ignore_broken_pipe() -> Result<(), SysError> {
    // SAFETY: ignoring a signal installs no handler.
    if unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) } == libc::SIG_ERR {
        return Err(SysError::last(Op::Sigaction));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_sets_the_flag() {
        let flag = watch_interrupts().unwrap();
        assert!(!flag.load(Ordering::Relaxed));
        // SAFETY: raising a signal whose handler only stores to an atomic.
        assert_eq!(unsafe { libc::raise(libc::SIGTERM) }, 0);
        assert!(flag.load(Ordering::Relaxed));
    }
}
