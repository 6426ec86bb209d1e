//! Signals: an interrupt sets a flag that loops can check, or makes a descriptor readable.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use crate::child::SignalMask;
use crate::error::{Errno, Op, SysError};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn note(_signal: libc::c_int) {
    // A store to an atomic is async-signal-safe, and nothing else is needed (signal-safety(7)).
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// Makes the first SIGINT, SIGTERM or SIGHUP only set the returned flag. A second signal of the
/// same kind ends the process as usual. A signal that was already ignored (`nohup`) stays ignored.
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

/// A counter that a caught signal raises; -1 until [`Caught::take`].
static CAUGHT_COUNTER: AtomicI32 = AtomicI32::new(-1);
/// The first signal that was caught; 0 until then.
static CAUGHT: AtomicI32 = AtomicI32::new(0);

/// How long a thread that wrote into a closed pipe waits before it ends the process itself.
const LAST_WORK_SECS: libc::time_t = 2;

extern "C" fn catch(signal: libc::c_int) {
    let _ = CAUGHT.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
    let one = 1_u64;
    // SAFETY: write(2), nanosleep(2), signal(2) and raise(3) are async-signal-safe
    // (signal-safety(7)); `one` and `time` are valid for reads, and errno is restored.
    unsafe {
        let errno = *libc::__errno_location();
        let counter = CAUGHT_COUNTER.load(Ordering::Relaxed);
        libc::write(counter, (&raw const one).cast(), size_of::<u64>());
        if signal == libc::SIGPIPE {
            // The process is about to end: the write must not fail before that.
            let time = libc::timespec {
                tv_sec: LAST_WORK_SECS,
                tv_nsec: 0,
            };
            libc::nanosleep(&raw const time, std::ptr::null_mut());
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
        *libc::__errno_location() = errno;
    }
}

/// Signals that end the process, held up for some last work.
#[derive(Debug)]
pub struct Caught(OwnedFd);

impl Caught {
    /// Catches SIGINT, SIGTERM and SIGHUP where they would end the process, until something else
    /// handles them. Only one caller may do so.
    ///
    /// # Errors
    /// Fails if there are too many descriptors.
    pub fn take() -> Result<Caught, SysError> {
        // SAFETY: no pointers are passed.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(SysError::last(Op::Eventfd));
        }
        // SAFETY: the call returned a new descriptor that nothing else owns.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        CAUGHT_COUNTER.store(fd.as_raw_fd(), Ordering::Relaxed);
        for signal in STOPPING {
            if kernel_handler(signal) == Some(libc::SIG_DFL) {
                catch_signal(signal)?;
            }
        }
        Ok(Caught(fd))
    }

    /// Waits for a signal.
    pub fn wait(&self) {
        let mut count = [0; 8];
        while rustix::io::read(&self.0, &mut count).is_err() {}
    }

    /// Lets the signal that was caught end the process.
    pub fn end(&self) {
        let signal = CAUGHT.load(Ordering::Relaxed);
        let set = set_of(&[signal]);
        // SAFETY: setting a signal to its default action installs no handler; `set` is valid.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
            libc::raise(signal);
        }
    }
}

/// Like [`restore_broken_pipe`], but the signal is held up as by [`Caught`], which must exist.
///
/// # Errors
/// Fails if the signal cannot be set.
pub fn catch_broken_pipe() -> Result<(), SysError> {
    match inherits_ignored_broken_pipe() || CAUGHT_COUNTER.load(Ordering::Relaxed) < 0 {
        true => restore_broken_pipe(),
        false => catch_signal(libc::SIGPIPE),
    }
}

fn catch_signal(signal: libc::c_int) -> Result<(), SysError> {
    // SAFETY: an all-zero sigaction is valid: no flags, an empty mask, the default action.
    let mut new: libc::sigaction = unsafe { std::mem::zeroed() };
    new.sa_sigaction = catch as *const () as usize;
    new.sa_flags = libc::SA_RESTART;
    // SAFETY: `catch` has the type of a handler without SA_SIGINFO and is async-signal-safe.
    match unsafe { libc::sigaction(signal, &raw const new, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(SysError::last(Op::Sigaction)),
    }
}

/// The signals that stop a daemon, as a descriptor that becomes readable.
#[derive(Debug)]
pub struct StopSignals(OwnedFd);

impl StopSignals {
    /// Blocks SIGINT, SIGTERM and SIGHUP in this thread and in the threads that it starts later;
    /// they make the descriptor readable instead.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/signalfd.2.html>
    pub fn take() -> Result<Self, SysError> {
        descriptor_of(&STOPPING).map(StopSignals)
    }

    /// Does the same, except for signals that this process was started to ignore, as by `nohup`:
    /// these stay ignored.
    ///
    /// # Errors
    /// Fails if there are too many descriptors.
    pub fn take_unless_ignored() -> Result<Self, SysError> {
        let mut signals = STOPPING.to_vec();
        signals.retain(|signal| kernel_handler(*signal) != Some(libc::SIG_IGN));
        descriptor_of(&signals).map(StopSignals)
    }

    /// Returns the next signal if one has arrived.
    pub fn next(&self) -> Option<Passed> {
        next_of(&self.0)
    }

    /// Sets the flag of [`interrupted`], and lets the next signal end the process as usual.
    pub fn stop(&self) {
        INTERRUPTED.store(true, Ordering::Relaxed);
        // Consumes the received signal first; otherwise it would be delivered after unblocking.
        let mut taken = [0; 128];
        while rustix::io::read(&self.0, &mut taken).is_ok_and(|bytes| bytes > 0) {}
        for signal in STOPPING {
            // SAFETY: setting a signal to its default action installs no handler.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        let set = set_of(&STOPPING);
        // SAFETY: `set` is valid; no old mask is requested.
        unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) };
    }
}

impl AsFd for StopSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The signals that a program passes on to a program that it runs, as a descriptor that becomes
/// readable.
pub struct PassedOn {
    descriptor: OwnedFd,
    /// The calling thread's signal mask before [`PassedOn::take`].
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
    /// The signal number.
    pub signal: i32,
    /// True if the kernel sent it, as it does for a key press, to all foreground processes of the
    /// terminal.
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
    /// Blocks these signals in this thread and in the threads that it starts later; they make the
    /// descriptor readable instead.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/signalfd.2.html>
    ///
    /// # Errors
    /// Fails if there are too many descriptors.
    pub fn take() -> Result<PassedOn, SysError> {
        let before = SignalMask::current().0;
        let descriptor = descriptor_of(&PASSED_ON)?;
        Ok(PassedOn { descriptor, before })
    }

    /// Restores the earlier signal state in a command: both the signal mask and an ignored SIGPIPE
    /// are inherited.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/sigprocmask.2.html>
    pub fn leave_to(&self, command: &mut std::process::Command) {
        let before = self.before;
        let ignores_pipe = inherits_ignored_broken_pipe();
        let go = move || {
            // SAFETY: the kernel filled the set; no old mask is requested. Ignoring a signal
            // installs no handler.
            unsafe {
                libc::sigprocmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
                if ignores_pipe {
                    libc::signal(libc::SIGPIPE, libc::SIG_IGN);
                }
            };
            Ok(())
        };
        // SAFETY: between fork and exec, the closure calls only sigprocmask(2) and signal(2), which
        // are async-signal-safe.
        unsafe { std::os::unix::process::CommandExt::pre_exec(command, go) };
    }

    /// Returns the next signal if one has arrived.
    pub fn next(&self) -> Option<Passed> {
        next_of(&self.descriptor)
    }
}

/// Reads a signal from a descriptor of signals, if one has arrived.
fn next_of(descriptor: &OwnedFd) -> Option<Passed> {
    let mut taken = [0; 128];
    let length = rustix::io::read(descriptor, &mut taken).ok()?;
    let number = |at: usize| {
        let bytes = [taken[at], taken[at + 1], taken[at + 2], taken[at + 3]];
        i32::from_ne_bytes(bytes)
    };
    (length == taken.len()).then(|| Passed {
        signal: number(0),
        is_from_kernel: number(8) == libc::SI_KERNEL,
    })
}

impl AsFd for PassedOn {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

const STOPPING: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Blocks signals and returns the descriptor that they make readable.
fn descriptor_of(signals: &[libc::c_int]) -> Result<OwnedFd, SysError> {
    let set = set_of(signals);
    // SAFETY: `set` is valid; no old mask is requested.
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
    // SAFETY: the call returned a new descriptor that nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Runs `body` with all signals blocked. Threads that it starts keep them blocked for their whole
/// life, so that other threads receive the process's signals.
///
/// Source: <https://man7.org/linux/man-pages/man3/pthread_sigmask.3.html>
pub fn without_signals<T>(body: impl FnOnce() -> T) -> T {
    struct Restore(libc::sigset_t);
    impl Drop for Restore {
        fn drop(&mut self) {
            // SAFETY: the set is the thread's earlier mask; no old mask is requested.
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
    // SAFETY: `set` is valid for writes; the signals exist.
    unsafe {
        libc::sigemptyset(&raw mut set);
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
    }
    set
}

/// Returns the flag that [`watch_interrupts`] returns, without installing a handler.
#[must_use]
pub fn interrupted() -> &'static AtomicBool {
    &INTERRUPTED
}

/// Makes a write beyond the file size limit fail with `EFBIG`; by default it would end the process.
///
/// Source: <https://man7.org/linux/man-pages/man2/setrlimit.2.html>
pub fn ignore_file_size_limit() -> Result<(), SysError> {
    // SAFETY: ignoring a signal installs no handler.
    if unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) } == libc::SIG_ERR {
        return Err(SysError::last(Op::Sigaction));
    }
    Ok(())
}

/// Signals reserved by the C library: 32 to 34 in musl; glibc reserves the first two.
const KEPT: [libc::c_int; 3] = [32, 33, 34];
/// Which of them were ignored when the process was started.
static KEPT_IGNORED: [AtomicBool; KEPT.len()] = [const { AtomicBool::new(false) }; KEPT.len()];
/// At least as many words as the kernel's `struct sigaction` has; the first one is the handler.
type KernelAction = [usize; 8];
/// Size of the kernel's signal set in bytes.
const KERNEL_SET_BYTES: usize = 8;

/// Returns the handler of a signal. The C library's own function refuses the signals that it
/// reserves.
///
/// Source: <https://man7.org/linux/man-pages/man2/rt_sigaction.2.html>
fn kernel_handler(signal: libc::c_int) -> Option<usize> {
    let mut action: KernelAction = [0; 8];
    let no_new = std::ptr::null::<KernelAction>();
    let old = &raw mut action;
    // SAFETY: without a new action, the call fills in the old one, for which there is more space
    // than it needs.
    let code = unsafe {
        let number = libc::SYS_rt_sigaction;
        libc::syscall(number, signal, no_new, old, KERNEL_SET_BYTES)
    };
    (code == 0).then_some(action[0])
}

/// Ignores a signal that the C library reserves; for a process that is about to execute another
/// program.
pub(crate) fn ignore_kept_signal(signal: libc::c_int) {
    let mut action: KernelAction = [0; 8];
    action[0] = libc::SIG_IGN;
    let no_old = std::ptr::null_mut::<KernelAction>();
    // SAFETY: the action is at least as large as the call reads, and installs no handler.
    unsafe {
        let number = libc::SYS_rt_sigaction;
        libc::syscall(number, signal, &raw const action, no_old, KERNEL_SET_BYTES)
    };
}

/// Returns the signals that the C library reserves, each with whether it was ignored when the
/// process was started. Programs started through posix_spawn(3) have them ignored; fork(2) passes
/// that on.
pub(crate) fn kept_signals_ignored() -> [(libc::c_int, bool); KEPT.len()] {
    let mut at = 0;
    KEPT.map(|signal| {
        let is_ignored = KEPT_IGNORED[at].load(Ordering::Relaxed);
        at += 1;
        (signal, is_ignored)
    })
}

/// Whether SIGPIPE was ignored when the process was started.
static STARTED_WITHOUT_PIPE_SIGNAL: AtomicBool = AtomicBool::new(false);

/// Records the state before the Rust runtime starts, which ignores SIGPIPE regardless of what was
/// inherited, and before there are threads, for which the C library handles its reserved signals.
extern "C" fn note_ignored_signals() {
    for (signal, is_ignored) in KEPT.into_iter().zip(&KEPT_IGNORED) {
        is_ignored.store(
            kernel_handler(signal) == Some(libc::SIG_IGN),
            Ordering::Relaxed,
        );
    }
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action, the call fills in the old one, which has the size that it
    // needs; if it fails, all zeroes are a valid value.
    let action = unsafe {
        libc::sigaction(libc::SIGPIPE, std::ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    let is_ignored = action.sa_sigaction == libc::SIG_IGN;
    STARTED_WITHOUT_PIPE_SIGNAL.store(is_ignored, Ordering::Relaxed);
}

// SAFETY: the C library calls the functions in this section before `main`, on the only thread, when
// nothing of Rust's runtime is set up; the function needs none of it and cannot unwind.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = note_ignored_signals;

/// Returns true if SIGPIPE was ignored when the process was started, as service managers do it. A
/// write to a closed pipe then fails with an error, here and in programs that this process starts.
#[must_use]
pub fn inherits_ignored_broken_pipe() -> bool {
    STARTED_WITHOUT_PIPE_SIGNAL.load(Ordering::Relaxed)
}

/// Lets a write to a closed pipe end the process quietly, as in other command-line tools, unless
/// the process was started with SIGPIPE ignored. (The Rust runtime always ignores it.)
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

/// Makes a write to a closed pipe fail with `EPIPE`, for programs that have to clean up. (Rust
/// programs start in this state.)
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
        // SAFETY: this raises a signal whose handler only stores to an atomic.
        assert_eq!(unsafe { libc::raise(libc::SIGTERM) }, 0);
        assert!(flag.load(Ordering::Relaxed));
    }
}
