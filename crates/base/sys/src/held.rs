//! Commands that are held before they execute, so that an observer can be attached first and misses
//! nothing that the command does.

use std::io::{self, PipeReader, PipeWriter, Read, Write, pipe};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::thread::JoinHandle;

/// A process that will become a command, and waits to be told so. If it is dropped, the process ends
/// without executing anything.
#[derive(Debug)]
pub struct Held {
    pid: u32,
    go: PipeWriter,
    /// `Command::spawn` returns only once the command executes.
    spawned: JoinHandle<io::Result<Child>>,
}

impl Held {
    /// Starts a process for a command and holds it after fork(2), before execve(2).
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/pipe.2.html>
    ///
    /// # Errors
    /// Fails if no process, thread or pipe is to be had.
    pub fn start(mut command: Command) -> io::Result<Held> {
        let (mut pid_from, pid_to) = pipe()?;
        let (wait_on, go) = pipe()?;
        hold(&mut command, pid_to, wait_on, &go);
        let spawned = std::thread::Builder::new()
            .name("held-command".to_owned())
            .spawn(move || command.spawn())?;
        let mut pid = [0; 4];
        match pid_from.read_exact(&mut pid) {
            Ok(()) => Ok(Held {
                pid: u32::from_ne_bytes(pid),
                go,
                spawned,
            }),
            // No process was made: the thread knows why.
            Err(error) => {
                drop(go);
                match joined(spawned) {
                    Ok(_) => Err(error),
                    Err(cause) => Err(cause),
                }
            }
        }
    }

    /// Returns the number of the process, which the command keeps.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Lets the command execute.
    ///
    /// # Errors
    /// Fails if the command cannot be executed.
    pub fn release(mut self) -> io::Result<Child> {
        self.go.write_all(&[1])?;
        drop(self.go);
        joined(self.spawned)
    }
}

fn joined(spawned: JoinHandle<io::Result<Child>>) -> io::Result<Child> {
    let ended = || {
        Err(io::Error::other(
            "the thread that starts a command panicked",
        ))
    };
    spawned.join().unwrap_or_else(|_| ended())
}

/// Makes the command's process report its number and wait for a byte.
fn hold(command: &mut Command, pid_to: PipeWriter, wait_on: PipeReader, go: &PipeWriter) {
    let own_end = go.as_raw_fd();
    let wait = move || {
        // SAFETY: this is the child's copy of the end that its parent writes to, which nothing in
        // the child uses. While it is open, the pipe would not end if the parent did.
        unsafe { libc::close(own_end) };
        let pid = rustix::process::getpid().as_raw_pid();
        rustix::io::write(&pid_to, &pid.to_ne_bytes())?;
        let mut byte = [0];
        match rustix::io::retry_on_intr(|| rustix::io::read(&wait_on, &mut byte))? {
            // The standard library passes on only the number of an error.
            0 => Err(io::Error::from_raw_os_error(libc::EPIPE)),
            _ => Ok(()),
        }
    };
    // SAFETY: between fork and exec, the closure makes only the calls close(2), getpid(2), write(2)
    // and read(2), which are async-signal-safe, and allocates nothing.
    unsafe { command.pre_exec(wait) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    #[test]
    fn a_held_command_runs_only_when_released() {
        let mut command = trawl_testkit::oracle::command("/bin/echo");
        command.arg("ran").stdout(Stdio::piped());
        let held = Held::start(command).unwrap();
        let program = std::fs::read_link(format!("/proc/{}/exe", held.pid())).unwrap();
        assert!(!program.ends_with("echo"), "{}", program.display());
        let pid = held.pid();
        let child = held.release().unwrap();
        assert_eq!(child.id(), pid);
        assert_eq!(child.wait_with_output().unwrap().stdout, b"ran\n");
    }

    #[test]
    fn a_command_that_does_not_exist_is_an_error_on_release() {
        let held = Held::start(trawl_testkit::oracle::command("/nonexistent/program")).unwrap();
        let error = held.release().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_dropped_command_ends() {
        let held = Held::start(trawl_testkit::oracle::command("/bin/true")).unwrap();
        let Held { go, spawned, .. } = held;
        drop(go);
        assert_eq!(
            joined(spawned).unwrap_err().kind(),
            io::ErrorKind::BrokenPipe
        );
    }
}
