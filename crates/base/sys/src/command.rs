//! Running commands and waiting for them, in a directory given by its descriptor.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};

use crate::process::closed_streams;
use crate::signal::{ignore_kept_signal, inherits_ignored_broken_pipe, kept_signals_ignored};
use crate::spawn;

/// Standard input of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The standard input of this process.
    Inherited,
    /// `/dev/null`.
    Nothing,
}

/// How a command terminated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It exited with this code.
    Code(i32),
    /// It was terminated by this signal.
    Signal(i32),
}

impl From<std::process::ExitStatus> for Ended {
    fn from(status: std::process::ExitStatus) -> Ended {
        match status.signal() {
            Some(signal) => Ended::Signal(signal),
            None => Ended::Code(status.code().unwrap_or(0)),
        }
    }
}

/// A command to run.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'l> {
    /// The program, searched in `PATH`, and its arguments.
    pub words: &'l [OsString],
    /// Its working directory; that of this process if `None`.
    pub dir: Option<BorrowedFd<'l>>,
    /// Its standard input.
    pub input: Input,
}

impl Launch<'_> {
    /// Runs the command and waits for it. A script without an interpreter line is run by `/bin/sh`,
    /// as execvp(3) does it.
    ///
    /// Source: <https://man7.org/linux/man-pages/man3/exec.3.html>
    ///
    /// # Errors
    /// Fails if the command cannot be started or the directory cannot be entered.
    pub fn run(&self) -> io::Result<Ended> {
        self.run_told(|_| {})
    }

    /// Like [`Launch::run`], and calls `started` with the process id as soon as the process runs
    /// the program.
    ///
    /// # Errors
    /// As [`Launch::run`].
    pub fn run_told(&self, started: impl Fn(i32)) -> io::Result<Ended> {
        let ended = match self.dir {
            None if closed_streams().contains(&true) => {
                self.run_after_fork(libc::AT_FDCWD, started)
            }
            None => match spawn::run(self.words, self.input, &started) {
                // The fast path does not run such files with a shell.
                Err(error) if error.raw_os_error() == Some(libc::ENOEXEC) => {
                    self.run_after_fork(libc::AT_FDCWD, started)
                }
                other => other,
            },
            Some(dir) => self.run_after_fork(dir.as_raw_fd(), started),
        };
        Ok(Ended::from(ended?))
    }

    fn command(&self) -> Command {
        let empty = OsStr::new("");
        let program = self.words.first().map_or(empty, |word| word.as_os_str());
        let mut command = Command::new(program);
        command.args(self.words.iter().skip(1));
        if self.input == Input::Nothing {
            command.stdin(Stdio::null());
        }
        command
    }

    /// Forks, restores the signals and closed streams that this process was started with, changes
    /// to the directory `dir` unless it is `AT_FDCWD`, and calls execvp(3).
    fn run_after_fork(
        &self,
        dir: i32,
        started: impl Fn(i32),
    ) -> io::Result<std::process::ExitStatus> {
        let mut command = self.command();
        let ignores_pipe = inherits_ignored_broken_pipe();
        let kept = kept_signals_ignored();
        let mut closed = closed_streams();
        closed[0] &= self.input == Input::Inherited;
        let go = move || {
            if ignores_pipe {
                // SAFETY: ignoring a signal installs no handler.
                let before = unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
                if before == libc::SIG_ERR {
                    return Err(io::Error::last_os_error());
                }
            }
            kept.iter()
                .filter(|(_, is_ignored)| *is_ignored)
                .for_each(|(signal, _)| ignore_kept_signal(*signal));
            for (number, _) in (0..).zip(closed).filter(|(_, is_closed)| *is_closed) {
                // SAFETY: the runtime opened `/dev/null` there, and nothing in the child uses it.
                unsafe { libc::close(number) };
            }
            // SAFETY: fchdir(2) takes a number and touches no memory; the descriptor stays open
            // until the child has called exec, because `self` borrows it until then.
            if dir != libc::AT_FDCWD && unsafe { libc::fchdir(dir) } != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        };
        // SAFETY: between fork and exec, `go` calls only signal(2), rt_sigaction(2), close(2) and
        // fchdir(2), which are async-signal-safe (signal-safety(7)), and it allocates nothing.
        unsafe { command.pre_exec(go) };
        let mut child = command.spawn()?;
        started(child.id().cast_signed());
        child.wait()
    }
}

/// Starts a program that runs as this user from its first instruction: groups, group and user are
/// set between fork and exec, so nothing is accessed as another user, including the program file.
/// Its environment is empty; its standard input and output are `socket`.
///
/// The user may trace the program, and use whatever it can reach. So it leads a session of its own,
/// without a controlling terminal; no signal is blocked; and its standard error is a pipe: lines that come out of it are
/// printed here, with everything escaped that could move a terminal's cursor or end a line.
///
/// Source: <https://man7.org/linux/man-pages/man2/setresuid.2.html>,
/// <https://man7.org/linux/man-pages/man2/setsid.2.html>
///
/// # Errors
/// Fails if the program cannot be started or this process may not become that user.
pub fn spawn_as(
    user: &crate::become_user::User,
    program: &std::path::Path,
    words: &[OsString],
    socket: std::os::fd::OwnedFd,
) -> io::Result<std::process::Child> {
    spawn_apart(user, Becomes::Before, (program, words), socket)
}

/// Starts a program that will hold secrets and shall run as this user. Between fork and exec the kernel
/// would let the user's other processes trace it, until it forbids that itself. So it begins as the
/// user of this process, and must first call [`become_untraced`], which finds the user in its
/// environment. Everything else is as by [`spawn_as`].
///
/// Source: `PR_SET_DUMPABLE`, <https://man7.org/linux/man-pages/man2/PR_SET_DUMPABLE.2const.html>: the
/// flag is set again by execve(2), and reset when the user id changes.
///
/// # Errors
/// As [`spawn_as`].
pub fn spawn_untraced(
    user: &crate::become_user::User,
    program: &std::path::Path,
    words: &[OsString],
    socket: std::os::fd::OwnedFd,
) -> io::Result<std::process::Child> {
    spawn_apart(user, Becomes::Itself, (program, words), socket)
}

/// When a program becomes its user.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Becomes {
    /// Before it runs.
    Before,
    /// By itself.
    Itself,
}

fn spawn_apart(
    user: &crate::become_user::User,
    becomes: Becomes,
    (program, words): (&std::path::Path, &[OsString]),
    socket: std::os::fd::OwnedFd,
) -> io::Result<std::process::Child> {
    let (uid, gid, groups) = (user.uid, user.gid, user.groups.clone());
    let mut command = Command::new(program);
    let output = socket.try_clone()?;
    command.args(words).env_clear().current_dir("/");
    if becomes == Becomes::Itself {
        command.env(crate::become_user::VARIABLE, user.to_words());
    }
    command
        .stdin(Stdio::from(socket))
        .stdout(Stdio::from(output))
        .stderr(Stdio::piped());
    let is_root = crate::identity::effective_uid() == 0;
    // An id of −1 would leave the process as it is.
    let changes_nothing = uid == u32::MAX || gid == u32::MAX || groups.contains(&u32::MAX);
    if changes_nothing || (!is_root && crate::identity::effective_uid() != uid) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let changes_here = is_root && becomes == Becomes::Before;
    let become_user = move || {
        // SAFETY: five system calls, which take numbers, an array of `groups.len()` groups, and a set
        // of signals of the given length.
        let codes = unsafe {
            let session = libc::syscall(libc::SYS_setsid).min(0);
            let (no_signals, how) = (0_u64, libc::SIG_SETMASK);
            let none = std::ptr::null_mut::<u64>();
            let size = size_of_val(&no_signals);
            let mask = libc::syscall(libc::SYS_rt_sigprocmask, how, &no_signals, none, size);
            match changes_here {
                false => [session, mask, 0, 0, 0],
                true => [
                    session,
                    mask,
                    libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()),
                    libc::syscall(libc::SYS_setresgid, gid, gid, gid),
                    libc::syscall(libc::SYS_setresuid, uid, uid, uid),
                ],
            }
        };
        match codes {
            [0, 0, 0, 0, 0] => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: between fork and exec, the closure makes only five system calls, which are
    // async-signal-safe, and it allocates nothing.
    unsafe { command.pre_exec(become_user) };
    let mut child = command.spawn()?;
    if let Some(said) = child.stderr.take() {
        // Without the thread, the messages are lost, and nothing else.
        let name = std::thread::Builder::new().name("messages".into());
        let _ = name.spawn(move || pass_on(said));
    }
    Ok(child)
}

/// Most bytes of a line that is passed on; the rest begins a line of its own.
const LINE_BYTES: u64 = 4096;

/// Prints the lines that come out of a pipe, escaped, until its other end is closed.
fn pass_on(said: impl io::Read) {
    use io::{BufRead, Read};
    let mut lines = io::BufReader::new(said);
    loop {
        let mut line = Vec::new();
        match lines.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(1..) => {
                let line = line.strip_suffix(b"\n").unwrap_or(&line);
                let line = String::from_utf8_lossy(line);
                let shown = line.chars().fold(String::new(), |mut shown, one| {
                    match one {
                        '\u{200b}'..='\u{200f}'
                        | '\u{2028}'..='\u{202e}'
                        | '\u{2060}'..='\u{2069}'
                        | '\u{feff}' => shown.extend(one.escape_unicode()),
                        one if one.is_control() => shown.extend(one.escape_unicode()),
                        one => shown.push(one),
                    }
                    shown
                });
                eprintln!("{shown}");
            }
            Ok(0) | Err(_) => return,
        }
    }
}

/// Returns a descriptor for a child process that becomes readable when the process ends.
///
/// Source: <https://man7.org/linux/man-pages/man2/pidfd_open.2.html>
///
/// # Errors
/// Fails if there are too many descriptors, or if the kernel lacks the call (before Linux 5.3).
pub fn watch_end(child: &std::process::Child) -> io::Result<std::os::fd::OwnedFd> {
    let pid = rustix::process::Pid::from_child(child);
    let watched = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty());
    Ok(watched?)
}

/// Returns a descriptor that becomes readable when the process of this number ends, which need not be
/// a child.
///
/// Source: <https://man7.org/linux/man-pages/man2/pidfd_open.2.html>
///
/// # Errors
/// Fails if there is no such process.
pub fn watch_process(process: u32) -> io::Result<std::os::fd::OwnedFd> {
    let number = i32::try_from(process).ok();
    let pid = number.and_then(rustix::process::Pid::from_raw);
    let pid = pid.ok_or(io::ErrorKind::InvalidInput)?;
    let watched = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty());
    Ok(watched?)
}

/// Sends a signal to the process of a descriptor from [`watch_end`].
///
/// Source: <https://man7.org/linux/man-pages/man2/pidfd_send_signal.2.html>
///
/// # Errors
/// Fails if the process has ended or may not be signalled (it belongs to another user by now), or
/// if `signal` is not a named signal.
pub fn send_signal(process: impl std::os::fd::AsFd, signal: i32) -> io::Result<()> {
    let signal = rustix::process::Signal::from_named_raw(signal);
    let signal = signal.ok_or(io::ErrorKind::InvalidInput)?;
    Ok(rustix::process::pidfd_send_signal(process, signal)?)
}

/// Kills a child that leads its own process group, with everything in the group. The child must not
/// have been waited for: its number could belong to another process by then.
///
/// Source: <https://man7.org/linux/man-pages/man2/kill.2.html>
pub fn kill_group(child: &std::process::Child) {
    let group = rustix::process::Pid::from_child(child);
    // It fails if all processes of the group have ended.
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
}

/// Makes the command the leader of a new session, so that no terminal sends it signals.
///
/// Source: <https://man7.org/linux/man-pages/man2/setsid.2.html>
pub fn own_session(command: &mut Command) {
    let go = || match rustix::process::setsid() {
        Ok(_) => Ok(()),
        Err(errno) => Err(errno.into()),
    };
    // SAFETY: between fork and exec, the closure calls only setsid(2), which is async-signal-safe.
    unsafe { command.pre_exec(go) };
}

/// Makes the command the leader of its own process group, and lets the kernel kill it when the
/// thread that starts it ends, so that it does not outlive its purpose.
///
/// Source: `PR_SET_PDEATHSIG`, <https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html>
pub fn end_with_this_thread(command: &mut Command) {
    command.process_group(0);
    // SAFETY: between fork and exec, the closure calls only prctl(2) with numbers, which is
    // async-signal-safe.
    let go = || match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    // SAFETY: see the closure.
    unsafe { command.pre_exec(go) };
}

/// Returns how many blocks of 512 bytes have been read from devices for children that have ended
/// and were waited for.
///
/// Source: `RUSAGE_CHILDREN`, <https://man7.org/linux/man-pages/man2/getrusage.2.html>
pub fn children_read_blocks() -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills the structure, for which all zeros are valid, or leaves it alone.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    u64::try_from(usage.ru_inblock).unwrap_or(0)
}

/// Returns the maximum total size in bytes of a command's arguments and environment.
///
/// Source: <https://man7.org/linux/man-pages/man3/sysconf.3.html>
#[must_use]
pub fn argument_limit_bytes() -> usize {
    // SAFETY: sysconf takes a number and touches no memory.
    let limit = unsafe { libc::sysconf(libc::_SC_ARG_MAX) };
    usize::try_from(limit).unwrap_or(128 << 10)
}

/// Limits on the words of one command, computed as GNU find and xargs compute them, so that
/// commands are split at the same places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all words, including the NUL after each.
    pub bytes: usize,
    /// Number of words.
    pub words: usize,
}

impl Limits {
    /// Maximum bytes of words per command.
    const SENSIBLE_BYTES: usize = 128 << 10;
    /// Bytes reserved for additions of the command to its environment.
    const HEADROOM_BYTES: usize = 2048;

    /// Returns the limits of this process; `None` if its environment leaves no room.
    pub fn of_process() -> Option<Limits> {
        let of_one = |(name, value): (OsString, OsString)| name.len() + value.len() + b"=\0".len();
        let environment = std::env::vars_os().map(of_one).sum();
        Limits::new(argument_limit_bytes(), environment)
    }

    fn new(system_bytes: usize, environment_bytes: usize) -> Option<Limits> {
        let left = system_bytes
            .checked_sub(environment_bytes.checked_add(Self::HEADROOM_BYTES)?)
            .filter(|left| *left > 0)?;
        Some(Limits {
            bytes: Self::SENSIBLE_BYTES.min(left),
            words: (left / size_of::<usize>()).saturating_sub(2).max(1),
        })
    }
}

/// The placeholder in the words of a command.
pub const BRACES: &[u8] = b"{}";

/// Returns a word with each pair of braces replaced by `with`.
pub fn fill_in(word: &[u8], with: &[u8]) -> OsString {
    let mut filled = Vec::with_capacity(word.len() + with.len());
    let mut rest = word;
    while let Some(at) = rest.windows(BRACES.len()).position(|two| two == BRACES) {
        filled.extend_from_slice(&rest[..at]);
        filled.extend_from_slice(with);
        rest = &rest[at + BRACES.len()..];
    }
    filled.extend_from_slice(rest);
    OsString::from_vec(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn the_environment_counts() {
        let limits = |system, environment| Limits::new(system, environment);
        let plenty = limits(2 << 20, 1000).unwrap();
        assert_eq!(plenty.bytes, 128 << 10);
        assert_eq!(plenty.words, ((2 << 20) - 1000 - 2048) / 8 - 2);
        assert_eq!(limits(128 << 10, 1000).unwrap().bytes, (128 << 10) - 3048);
        assert_eq!(limits(4096, 4096), None);
        assert_eq!(limits(4096, 2048), None);
    }

    #[test]
    fn braces_are_filled_in_wherever_they_stand() {
        for (word, expected) in [
            ("{}", "./a{}"),
            ("x{}y{}", "x./a{}y./a{}"),
            ("{{}}", "{./a{}}"),
            ("{", "{"),
            ("", ""),
        ] {
            assert_eq!(fill_in(word.as_bytes(), b"./a{}"), *expected, "{word}");
        }
    }

    fn run(words: &[&str], dir: Option<BorrowedFd<'_>>) -> io::Result<Ended> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let input = Input::Nothing;
        let words = &words;
        Launch { words, dir, input }.run()
    }

    #[test]
    fn commands_end_as_they_end() {
        assert_eq!(run(&["sh", "-c", "exit 3"], None).unwrap(), Ended::Code(3));
        assert_eq!(
            run(&["sh", "-c", "kill -9 $$"], None).unwrap(),
            Ended::Signal(9)
        );
        let error = run(&["no such command"], None).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
        assert!(argument_limit_bytes() >= 4096);
    }

    #[test]
    fn commands_run_in_the_directory_of_a_descriptor() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("in")).unwrap();
        let dir = std::fs::File::open(folder.path().join("in")).unwrap();
        // The command runs in the directory even after it was moved.
        std::fs::rename(folder.path().join("in"), folder.path().join("moved")).unwrap();
        let ended = run(&["sh", "-c", ": > here"], Some(dir.as_fd())).unwrap();
        assert_eq!(ended, Ended::Code(0));
        assert!(folder.path().join("moved/here").exists());
    }

    #[test]
    fn scripts_without_an_interpreter_go_to_the_shell() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        let path = script.to_str().unwrap();
        // Written by another process: what another test starts meanwhile would have the script open
        // for writing, and nobody could run it.
        let write = "echo 'exit 4' >\"$0\" && chmod 755 \"$0\"";
        let written = run(&["sh", "-c", write, path], None);
        assert_eq!(written.unwrap(), Ended::Code(0));
        assert_eq!(run(&[path], None).unwrap(), Ended::Code(4));
        let dir = std::fs::File::open("/").unwrap();
        assert_eq!(run(&[path], Some(dir.as_fd())).unwrap(), Ended::Code(4));
    }
}
