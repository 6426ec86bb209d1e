//! Commands that run beside this process: started with chosen descriptors, signalled and awaited.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use crate::command::Ended;
use crate::spawn::{self, Plan};

/// Process group of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The group of this process: the terminal's keys reach the command, and it may use the
    /// terminal.
    Shared,
    /// A group that the command leads, so that one signal reaches what it starts, too.
    Own,
}

/// Standard input of a command.
#[derive(Clone, Copy, Debug)]
pub enum Stdin<'s> {
    /// The standard input of this process.
    Inherited,
    /// `/dev/null`.
    Nothing,
    /// This descriptor.
    From(BorrowedFd<'s>),
}

/// The signals that a thread blocks.
#[derive(Clone, Copy)]
pub struct SignalMask(pub(crate) libc::sigset_t);

impl std::fmt::Debug for SignalMask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SignalMask").finish_non_exhaustive()
    }
}

impl SignalMask {
    /// Returns the mask of the calling thread.
    ///
    /// Source: <https://man7.org/linux/man-pages/man3/pthread_sigmask.3.html>
    #[must_use]
    pub fn current() -> SignalMask {
        // SAFETY: an all-zero set is memory that the call may fill.
        let mut mask: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: `mask` is valid for writes; nothing is blocked or unblocked.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut mask) };
        SignalMask(mask)
    }

    /// Gives a command this mask, which it would else have from the thread that starts it.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/sigprocmask.2.html>
    pub fn leave_to(self, command: &mut std::process::Command) {
        let mask = self.0;
        let go = move || {
            // SAFETY: the kernel filled the set; no old mask is requested.
            unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const mask, std::ptr::null_mut()) };
            Ok(())
        };
        // SAFETY: between fork and exec, the closure calls only sigprocmask(2), which is
        // async-signal-safe.
        unsafe { std::os::unix::process::CommandExt::pre_exec(command, go) };
    }
}

/// A command to start.
#[derive(Clone, Copy, Debug)]
pub struct Start<'s> {
    /// The program, searched in `PATH`, and its arguments.
    pub words: &'s [OsString],
    /// Its standard input.
    pub stdin: Stdin<'s>,
    /// Its standard output; that of this process if `None`.
    pub stdout: Option<BorrowedFd<'s>>,
    /// Further descriptors that it has, under the same numbers. It has no others: all descriptors
    /// that this process opens are closed on exec.
    pub inherited: &'s [BorrowedFd<'s>],
    /// Its process group.
    pub group: Group,
    /// The signals that it blocks; those of the calling thread if `None`.
    pub mask: Option<SignalMask>,
}

impl Start<'_> {
    /// Starts the command with posix_spawn(3). A script without an interpreter line is run by
    /// `/bin/sh`, if its path is given.
    ///
    /// Source: <https://man7.org/linux/man-pages/man3/posix_spawn.3.html>
    ///
    /// # Errors
    /// Fails if the command cannot be started.
    pub fn start(&self) -> io::Result<Child> {
        let error = match spawn::start(self.words, &self.plan()) {
            Ok(pid) => return Ok(Child { pid }),
            Err(error) => error,
        };
        let is_path = self
            .words
            .first()
            .is_some_and(|word| word.as_encoded_bytes().contains(&b'/'));
        if error.raw_os_error() != Some(libc::ENOEXEC) || !is_path {
            return Err(error);
        }
        let words = [&["/bin/sh".into()], self.words].concat();
        let pid = spawn::start(&words, &self.plan())?;
        Ok(Child { pid })
    }

    fn plan(&self) -> Plan {
        let mut moved = Vec::new();
        if let Stdin::From(file) = self.stdin {
            moved.push((file.as_raw_fd(), 0));
        }
        if let Some(file) = self.stdout {
            moved.push((file.as_raw_fd(), 1));
        }
        // A descriptor that is moved onto itself is kept open.
        moved.extend(self.inherited.iter().map(|file| {
            let number = file.as_raw_fd();
            (number, number)
        }));
        Plan {
            has_null_input: matches!(self.stdin, Stdin::Nothing),
            moved,
            leads_group: self.group == Group::Own,
            mask: self.mask.map(|mask| mask.0),
        }
    }
}

/// A command that was started. It stays a zombie until [`Child::reap`].
#[derive(Debug)]
pub struct Child {
    pid: libc::pid_t,
}

impl Child {
    /// Waits until the command has ended, without taking its result: its process id stays its own,
    /// so that [`Child::signal`] is safe until [`Child::reap`].
    ///
    /// Source: `WNOWAIT`, <https://man7.org/linux/man-pages/man2/waitid.2.html>
    ///
    /// # Errors
    /// Fails if the result was taken already.
    pub fn wait(&self) -> io::Result<()> {
        let pid = self.pid()?;
        let how = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        loop {
            match rustix::process::waitid(WaitId::Pid(pid), how) {
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Takes the result of the command, waiting for its end.
    ///
    /// # Errors
    /// Fails if the result was taken already.
    pub fn reap(&self) -> io::Result<Ended> {
        spawn::wait(self.pid).map(Ended::from)
    }

    /// Sends a signal to the command, and with [`Group::Own`] to its whole group. The command must
    /// not have been reaped.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/kill.2.html>
    ///
    /// # Errors
    /// Fails if the command may not be signalled, or if `signal` is not a named signal.
    pub fn signal(&self, group: Group, signal: i32) -> io::Result<()> {
        let signal = Signal::from_named_raw(signal).ok_or(io::ErrorKind::InvalidInput)?;
        let pid = self.pid()?;
        match group {
            Group::Own => rustix::process::kill_process_group(pid, signal)?,
            Group::Shared => rustix::process::kill_process(pid, signal)?,
        }
        Ok(())
    }

    fn pid(&self) -> io::Result<Pid> {
        Pid::from_raw(self.pid).ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Seek, Write};
    use std::os::fd::AsFd;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    fn start<'s>(words: &'s [OsString], inherited: &'s [BorrowedFd<'s>]) -> Start<'s> {
        Start {
            words,
            stdin: Stdin::Nothing,
            stdout: None,
            inherited,
            group: Group::Own,
            mask: None,
        }
    }

    fn output_of(start: Start<'_>) -> String {
        let mut out = tempfile::tempfile().unwrap();
        let stdout = out.try_clone().unwrap();
        let stdout = Some(stdout.as_fd());
        let child = Start { stdout, ..start }.start().unwrap();
        assert_eq!(child.reap().unwrap(), Ended::Code(0));
        let mut text = String::new();
        out.rewind().unwrap();
        out.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_command_has_the_chosen_descriptors_and_no_others() {
        let file = File::open("/dev/zero").unwrap();
        let number = file.as_raw_fd();
        let kept = [file.as_fd()];
        let other = File::open("/dev/full").unwrap();
        let words = words(&[
            "sh",
            "-c",
            "for f in /proc/self/fd/*; do readlink $f; done; :",
        ]);
        let all = output_of(start(&words, &kept));
        assert!(all.contains("/dev/zero"), "{all}");
        assert!(!all.contains("/dev/full"), "{all}");
        drop(other);
        let words = vec![
            "test".into(),
            "-e".into(),
            format!("/dev/fd/{number}").into(),
        ];
        output_of(start(&words, &kept));
    }

    #[test]
    fn standard_input_comes_from_a_descriptor() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"hello").unwrap();
        file.rewind().unwrap();
        let words = words(&["cat"]);
        let stdin = Stdin::From(file.as_fd());
        let start = Start {
            stdin,
            ..start(&words, &[])
        };
        assert_eq!(output_of(start), "hello");
    }

    #[test]
    fn a_signal_reaches_the_whole_group() {
        let (mut ours, theirs) = std::io::pipe().unwrap();
        let line = words(&["sh", "-c", "sleep 1000 & sleep 1000; :"]);
        let start = Start {
            stdout: Some(theirs.as_fd()),
            ..start(&line, &[])
        };
        let child = start.start().unwrap();
        drop(theirs);
        child.signal(Group::Own, libc::SIGTERM).unwrap();
        child.wait().unwrap();
        assert_eq!(child.reap().unwrap(), Ended::Signal(libc::SIGTERM));
        // The pipe ends when the last process of the group has ended.
        assert_eq!(ours.read(&mut [0; 1]).unwrap(), 0);
        assert!(child.reap().is_err());
    }

    #[test]
    fn the_mask_is_the_one_that_was_given() {
        let mask = SignalMask::current();
        let words = words(&["grep", "SigBlk", "/proc/self/status"]);
        let start = Start {
            mask: Some(mask),
            ..start(&words, &[])
        };
        let text = crate::signal::without_signals(|| output_of(start));
        let ours = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let ours = ours.lines().find(|line| line.starts_with("SigBlk"));
        assert_eq!(ours, Some(text.trim_end()));
    }

    #[test]
    fn what_does_not_exist_is_an_error() {
        let words = words(&["no such command"]);
        let error = start(&words, &[]).start().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
    }
}
