//! Processes that serve, one for each user (with the groups that its clients have).

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

use trawl_sys::become_user::User;
use trawl_sys::command::spawn_as;

use super::job::Job;
use super::pass::{Waiting, give, pair};

/// A process that has nothing to do for so long ends.
const IDLE: Duration = Duration::from_secs(10);
/// So long one that should end may take.
const FAREWELL: Duration = Duration::from_secs(5);

/// What is started for a user, with the server's other end as its standard input and output.
#[derive(Clone, Debug)]
pub struct Worker {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub words: Vec<OsString>,
}

impl Worker {
    /// Starts it as this user: the process, and the way to it.
    pub(crate) fn start(&self, user: &User) -> io::Result<(Child, OwnedFd)> {
        let (ours, theirs) = pair()?;
        let child = spawn_as(user, &self.program, &self.words, theirs)?;
        Ok((child, ours))
    }
}

/// A process that serves.
#[derive(Debug)]
pub(super) struct Hired {
    control: OwnedFd,
    child: Child,
    user: User,
    /// Connections that it serves.
    busy: usize,
    idle_since: Instant,
}

impl AsFd for Hired {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Staff {
    hired: HashMap<u64, Hired>,
    by_user: HashMap<User, u64>,
    /// Those that should end.
    leaving: Vec<(Child, Instant)>,
}

impl Staff {
    pub(super) fn get(&self, number: u64) -> Option<&Hired> {
        self.hired.get(&number)
    }

    /// The process of a user, if there is one.
    pub(super) fn of(&self, user: &User) -> Option<u64> {
        self.by_user.get(user).copied()
    }

    /// Starts one under a number that nobody has.
    pub(super) fn hire(&mut self, number: u64, user: &User, worker: &Worker) -> io::Result<&Hired> {
        // Of a user who comes with ever new groups just those are kept that serve.
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
        };
        Ok(self.hired.entry(number).or_insert(hired))
    }

    /// Gives a connection to a process.
    pub(super) fn give(&mut self, number: u64, job: Job, socket: BorrowedFd<'_>) -> io::Result<()> {
        let hired = self.hired.get_mut(&number).ok_or(io::ErrorKind::NotFound)?;
        give(
            &hired.control,
            &job.to_bytes(),
            Some(socket),
            Waiting::Never,
        )?;
        hired.busy += 1;
        Ok(())
    }

    /// A process serves one connection less.
    pub(super) fn done(&mut self, number: u64) {
        if let Some(hired) = self.hired.get_mut(&number) {
            hired.busy = hired.busy.saturating_sub(1);
            hired.idle_since = Instant::now();
        }
    }

    /// Lets a process end: it is given nothing more.
    pub(super) fn dismiss(&mut self, number: u64) {
        if let Some(hired) = self.hired.remove(&number) {
            if self.by_user.get(&hired.user) == Some(&number) {
                self.by_user.remove(&hired.user);
            }
            self.leaving.push((hired.child, Instant::now()));
        }
    }

    /// Lets those end that have nothing to do, and sees to those that have ended.
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

    /// Whether time matters to anybody.
    pub(super) fn is_empty(&self) -> bool {
        self.hired.is_empty() && self.leaving.is_empty()
    }
}
