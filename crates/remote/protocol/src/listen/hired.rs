//! The serving processes, one for each user and set of groups.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

use trawl_sys::become_user::User;
use trawl_sys::command::{spawn_as, spawn_untraced};
use trawl_sys::message::{Waiting, pair, send};

use super::job::Job;

/// Idle time after which a process is told to end.
const IDLE: Duration = Duration::from_secs(10);
/// Maximum time for a process to end before it is killed.
const FAREWELL: Duration = Duration::from_secs(5);

/// Minimum time between two profiles of a process that are read.
const TELLS_APART: Duration = Duration::from_millis(500);

/// The program to start for a user, with its end of the server's socket pair as standard input and
/// output.
#[derive(Clone, Debug)]
pub struct Worker {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub words: Vec<OsString>,
}

impl Worker {
    /// Starts it as this user; returns the process and our end of the socket pair.
    pub(crate) fn start(&self, user: &User) -> io::Result<(Child, OwnedFd)> {
        let (ours, theirs) = pair()?;
        let child = spawn_as(user, &self.program, &self.words, theirs)?;
        Ok((child, ours))
    }

    /// As [`Worker::start`], for a program that will hold a secret, and becomes this user by itself.
    pub(super) fn start_untraced(&self, user: &User) -> io::Result<(Child, OwnedFd)> {
        let (ours, theirs) = pair()?;
        let child = spawn_untraced(user, &self.program, &self.words, theirs)?;
        Ok((child, ours))
    }
}

/// A serving process.
#[derive(Debug)]
pub(super) struct Hired {
    control: OwnedFd,
    child: Child,
    user: User,
    /// Number of connections that it serves.
    busy: usize,
    idle_since: Instant,
    /// When it told its profile last.
    told: Option<Instant>,
}

impl Hired {
    /// Returns whether its profile is worth reading, which takes time.
    pub(super) fn may_tell(&self) -> bool {
        self.told.is_none_or(|told| told.elapsed() >= TELLS_APART)
    }
}

impl AsFd for Hired {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }
}

/// All serving processes.
#[derive(Debug, Default)]
pub(super) struct Staff {
    hired: HashMap<u64, Hired>,
    by_user: HashMap<User, u64>,
    /// Processes that were told to end.
    leaving: Vec<(Child, Instant)>,
    /// Numbers of the processes that were dismissed since the last look.
    dismissed: Vec<u64>,
}

impl Staff {
    pub(super) fn get(&self, number: u64) -> Option<&Hired> {
        self.hired.get(&number)
    }

    /// Returns the process of a user, if there is one.
    pub(super) fn of(&self, user: &User) -> Option<u64> {
        self.by_user.get(user).copied()
    }

    /// Starts a process under an unused number.
    pub(super) fn hire(&mut self, number: u64, user: &User, worker: &Worker) -> io::Result<&Hired> {
        // A user may connect with ever new sets of groups, so the user's idle processes are
        // dismissed first.
        let idle: Vec<u64> = self
            .hired
            .iter()
            .filter_map(|(number, hired)| {
                (hired.user.uid == user.uid && hired.busy == 0).then_some(*number)
            })
            .collect();
        for number in idle {
            self.dismiss(number);
        }
        let (child, control) = worker.start(user)?;
        self.by_user.insert(user.clone(), number);
        let hired = Hired {
            control,
            child,
            user: user.clone(),
            busy: 0,
            idle_since: Instant::now(),
            told: None,
        };
        Ok(self.hired.entry(number).or_insert(hired))
    }

    /// Passes a connection to a process.
    pub(super) fn give(&mut self, number: u64, job: Job, socket: BorrowedFd<'_>) -> io::Result<()> {
        let hired = self.hired.get_mut(&number).ok_or(io::ErrorKind::NotFound)?;
        send(
            &hired.control,
            &job.to_bytes(),
            Some(socket),
            Waiting::Never,
        )?;
        hired.busy += 1;
        Ok(())
    }

    /// Counts a connection that a process serves no more.
    pub(super) fn done(&mut self, number: u64) {
        if let Some(hired) = self.hired.get_mut(&number) {
            hired.busy = hired.busy.saturating_sub(1);
            hired.idle_since = Instant::now();
        }
    }

    /// Lets a process end by closing its control socket.
    pub(super) fn dismiss(&mut self, number: u64) {
        if let Some(hired) = self.hired.remove(&number) {
            if self.by_user.get(&hired.user) == Some(&number) {
                self.by_user.remove(&hired.user);
            }
            self.leaving.push((hired.child, Instant::now()));
            self.dismissed.push(number);
        }
    }

    /// Notes that a process told its profile.
    pub(super) fn has_told(&mut self, number: u64) {
        if let Some(hired) = self.hired.get_mut(&number).filter(|hired| hired.may_tell()) {
            hired.told = Some(Instant::now());
        }
    }

    /// Returns the numbers of the processes that were dismissed since the last call.
    pub(super) fn take_dismissed(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.dismissed)
    }

    /// Dismisses idle processes, and reaps those that have ended.
    pub(super) fn tidy(&mut self) {
        let is_idle = |hired: &Hired| hired.busy == 0 && hired.idle_since.elapsed() > IDLE;
        let idle = self.hired.iter().filter(|(_, hired)| is_idle(hired));
        let idle: Vec<u64> = idle.map(|(number, _)| *number).collect();
        for number in idle {
            self.dismiss(number);
        }
        self.leaving.retain_mut(|(child, since)| {
            if since.elapsed() > FAREWELL {
                let _ = child.kill();
            }
            matches!(child.try_wait(), Ok(None))
        });
    }

    /// Returns whether there are no processes, so that nothing depends on time.
    pub(super) fn is_empty(&self) -> bool {
        self.hired.is_empty() && self.leaving.is_empty()
    }
}
