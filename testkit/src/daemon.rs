//! Runs a daemon for a test until it is dropped.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::oracle::{Ran, command, run};

/// Time limit for a daemon to find the changes made before it watched.
const CATCH_UP: Duration = Duration::from_secs(100);

/// A running daemon, killed on drop.
#[derive(Debug)]
pub struct Daemon(Child);

impl Daemon {
    /// Starts a daemon and waits until it reports that it watches. Its standard error is passed on.
    ///
    /// # Panics
    /// If it cannot be started, or ends before it watches.
    #[track_caller]
    pub fn start(command: &mut Command) -> Daemon {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
        let daemon = Daemon(child);
        let mut line = String::new();
        while !line.contains("watching") {
            line.clear();
            assert!(said.read_line(&mut line).expect("text") > 0, "it ended");
        }
        // Read to the end: a full pipe would block the daemon.
        std::thread::spawn(move || {
            let lines = said.lines().map_while(Result::ok);
            lines.for_each(|line| eprintln!("{line}"));
        });
        daemon
    }

    /// Takes over a daemon that the caller started.
    pub fn of(child: Child) -> Daemon {
        Daemon(child)
    }

    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Sends a signal, such as `-TERM`, and waits until the daemon ends.
    ///
    /// # Panics
    /// If there is no such process or signal.
    #[track_caller]
    pub fn end(&mut self, signal: &str) -> ExitStatus {
        run(command("kill").args([signal, &self.id().to_string()])).expect_code(0);
        self.wait()
    }

    /// Waits until the daemon ends.
    ///
    /// # Panics
    /// If its status cannot be obtained.
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        self.0.wait().expect("it ends")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Asks until an answer is up to date, and returns that answer. While a daemon finds the changes
/// made before it watched, answers have exit code 1 and say that they may be out of date.
///
/// # Panics
/// If an answer fails for another reason, or none is up to date in time.
#[track_caller]
pub fn until_as_of_now(mut ask: impl FnMut() -> Ran) -> Ran {
    let until = Instant::now() + CATCH_UP;
    loop {
        let answer = ask();
        if answer.code == Some(0) {
            return answer;
        }
        assert!(answer.errors().contains("may be out of date"), "{answer}");
        assert!(Instant::now() < until, "still out of date: {answer}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
